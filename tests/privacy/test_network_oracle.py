"""Counts of nodes in Bayesian networks, against every joint state one by one."""

import itertools
import math

import numpy as np
import pytest
from conftest import sweep, thinned
from scipy.special import logsumexp

from puffer_frames import MarkovChain
from puffer_frames.core import BayesianNetwork, Prior, network_scale, pure_loss, w_infinity
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.papers import network_quilt_scale, quilt_scale


def random_network(rng, *, most=6):
    """Nodes in random order of names, each with up to two parents among the earlier ones, some probabilities 0."""
    n = int(rng.integers(1, most))
    states = rng.integers(2, 4, n)
    tables, parents = {}, {}
    for k in range(n):
        own = [int(p) for p in rng.permutation(k)[: rng.integers(0, 3)]]
        table = rng.dirichlet(np.full(states[k], 0.7), size=tuple(states[p] for p in own))
        if rng.random() < 0.3:
            table[table < 0.2] = 0.0
            table /= table.sum(axis=-1, keepdims=True)
        tables[f"n{k}"], parents[f"n{k}"] = np.where(table < 1e-9, 0, table), [f"n{p}" for p in own]
    for table in tables.values():
        table /= table.sum(axis=-1, keepdims=True)
    return tables, parents


def every_state(tables, parents):
    """Joint states and their probabilities."""
    names = list(tables)
    for states in itertools.product(*(range(np.shape(tables[name])[-1]) for name in names)):
        of = dict(zip(names, states, strict=True))
        yield states, math.prod(float(tables[name][(*(of[p] for p in parents[name]), of[name])]) for name in names)


def laws_by_hand(tables, parents, counted):
    """Law of the count for each node and state that is possible."""
    names, found = list(tables), {}
    for states, probability in every_state(tables, parents):
        total = sum(s in counted.get(name, ()) for name, s in zip(names, states, strict=True))
        for name, state in zip(names, states, strict=True):
            law = found.setdefault(name, {}).setdefault(state, np.zeros(len(names) + 1))
            law[total] += probability
    return {name: {s: law / law.sum() for s, law in laws.items() if law.any()} for name, laws in found.items()}


def loss_by_hand(laws, scale):
    """Largest log-ratio of densities at the atoms and far out."""
    points = np.arange(-1.0, 40.0)
    worst = 0.0
    for of_states in laws.values():
        distances = -np.abs(points[:, None] - np.arange(next(iter(of_states.values())).size)) / scale
        logs = [logsumexp(distances, b=law, axis=1) for law in of_states.values()]
        worst = max(worst, float((np.max(logs, axis=0) - np.min(logs, axis=0)).max()))
    return worst


def counted_states(rng, tables):
    if rng.random() < 0.5:
        return 1, dict.fromkeys(tables, (1,))
    some = {name: [int(s) for s in range(np.shape(t)[-1]) if rng.random() < 0.5] for name, t in tables.items()}
    some[next(iter(tables))] = [0]
    return some, some


@sweep(40, 1500)
def test_scales_against_every_joint_state(count):
    rng = np.random.default_rng(9)
    for case in range(count):
        tables, parents = random_network(rng)
        network, (counted, states) = BayesianNetwork.of(tables, parents=parents), counted_states(rng, tables)
        epsilon = float(rng.choice([0.1, 0.7, 2.0, 5.0]))
        laws = laws_by_hand(tables, parents, states)
        scale = network_scale(network, counted=counted, epsilon=epsilon)
        if scale:
            assert epsilon * (1 - 1e-6) <= loss_by_hand(laws, scale) <= epsilon * (1 + 1e-12), case
        else:
            assert loss_by_hand(laws, 0.02) <= epsilon, case
        quilt = network_quilt_scale(network, counted=counted, epsilon=epsilon)
        assert scale <= quilt * (1 + 1e-8), case
        assert loss_by_hand(laws, max(quilt, 0.02)) <= epsilon * (1 + 1e-12), case
        for name, of_states in laws.items():
            chances = network.joint([network.names.index(name)])
            assert set(np.flatnonzero(chances)) == set(of_states)


@sweep(20, 300)
def test_joint_laws(count):
    rng = np.random.default_rng(2)
    for _ in range(count):
        tables, parents = random_network(rng)
        network = BayesianNetwork.of(tables, parents=parents)
        nodes = [int(k) for k in rng.permutation(len(network))[:3]]
        expected = np.zeros([network.states[k] for k in nodes])
        for states, probability in every_state(tables, parents):
            expected[tuple(states[k] for k in nodes)] += probability
        np.testing.assert_allclose(network.joint(nodes), expected, rtol=network.rounding, atol=1e-300)


@pytest.mark.parametrize(("length", "epsilon"), thinned([2, 7, 12], [0.5, 1.0, 3.0]))
def test_a_chain_is_a_network(epsilon, length):
    """Quilts of at most two nodes are those of [SWC17] for chains."""
    matrix, start = [[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5]
    tables = {k: matrix if k else start for k in range(length)}
    network = BayesianNetwork.of(tables, parents={k: [k - 1] for k in range(1, length)})
    chain = MarkovChain.of(matrix, initial=start)
    expected = quilt_scale(chain, length=length, epsilon=epsilon)
    assert network_quilt_scale(network, counted=1, epsilon=epsilon) == pytest.approx(expected, rel=1e-9)


def test_only_counted_nodes_are_on_a_card():
    """A hidden cause in the middle of a star: it moves no count itself."""
    tables = {"cause": [0.5, 0.5]} | {k: [[0.6, 0.4], [0.4, 0.6]] for k in range(4)}
    star = BayesianNetwork.of(tables, parents={k: ["cause"] for k in range(4)})
    every = network_quilt_scale(star, counted={k: [1] for k in range(4)}, epsilon=50.0)
    of_three = star.joint([1, 2, 3, 4]).reshape(2, 8) * 2  # the other children are a quilt, the cause is inside
    assert every == pytest.approx(1 / (50 - np.abs(np.log(of_three[0] / of_three[1])).max()), rel=1e-12)
    one = network_quilt_scale(star, counted={0: [1]}, epsilon=1.0)
    assert one == pytest.approx(1.0, rel=1e-12)


def clique():
    """[SWC17] section 3.1: flu among four people who meet, of whom 0 to 4 have it."""
    chances = np.array([0.1, 0.15, 0.5, 0.15, 0.1])
    each = chances / [math.comb(4, k) for k in range(5)]  # of one set of people that have it
    tables, parents = {}, {}
    for k in range(4):
        reached = np.zeros((2,) * (k + 1))
        for states in itertools.product((0, 1), repeat=k + 1):
            rest = 3 - k
            reached[states] = sum(math.comb(rest, j) * each[sum(states) + j] for j in range(rest + 1))
        tables[f"person {k}"] = reached / reached.sum(axis=-1, keepdims=True)
        parents[f"person {k}"] = [f"person {j}" for j in range(k)]
    return BayesianNetwork.of(tables, parents=parents)


def test_flu_in_a_clique():
    """The Wasserstein mechanism needs 2 / epsilon, group privacy 4 / epsilon; the exact scale is smaller than both."""
    network = clique()
    sick = network.counts([0], [np.array([0, 1])] * 4)
    laws = sick / sick.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(laws, [[0.2, 0.225, 0.5, 0.075, 0.0], [0.0, 0.075, 0.5, 0.225, 0.2]], atol=1e-12)
    priors = {s: Prior.empirical(np.arange(5.0)[law > 1e-15], law[law > 1e-15].round(6)) for s, law in enumerate(laws)}
    assert w_infinity(priors[0], priors[1]) == 2.0
    scale = network_scale(network, counted=1, epsilon=1.0)
    assert scale < 2.0
    assert pure_loss(priors[0], priors[1], scale=scale).upper == pytest.approx(1.0, rel=1e-6)
    assert scale < network_quilt_scale(network, counted=1, epsilon=1.0) < 4.0  # two of the others are a quilt


def test_twenty_nodes_of_a_tree():
    """A brother of each node: a quilt of few nodes does, and with a delta less noise."""
    tables = {0: [0.5, 0.3, 0.2]} | {k: [[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.2, 0.3, 0.5]] for k in range(1, 20)}
    tree = BayesianNetwork.of(tables, parents={k: [(k - 1) // 2] for k in range(1, 20)})
    exact = network_scale(tree, counted=2, epsilon=1.0)
    assert network_scale(tree, counted=2, epsilon=1.0, delta=1e-3) < exact
    assert exact < network_quilt_scale(tree, counted=2, epsilon=1.0) < 20.0


def test_a_planted_fault_is_found(monkeypatch):
    """No influence at all: the loss is above epsilon for some network."""
    from puffer_frames.papers.quilt import networks

    monkeypatch.setattr(networks, "_influence", lambda *_: 0.0)
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(60):
        tables, parents = random_network(rng)
        laws = laws_by_hand(tables, parents, dict.fromkeys(tables, (1,)))
        scale = network_quilt_scale(BayesianNetwork.of(tables, parents=parents), counted=1, epsilon=1.0)
        broken += loss_by_hand(laws, max(scale, 0.02)) > 1.001
    assert broken


def star(states, leaves):
    rng = np.random.default_rng(0)
    tables = {"c": np.full(states, 1 / states)} | {
        k: rng.dirichlet(np.ones(states), size=states) for k in range(leaves)
    }
    return BayesianNetwork.of(tables, parents={k: ["c"] for k in range(leaves)})


def test_a_quilt_that_is_too_large_is_left_out():
    """The Markov blanket of the centre is all the others: 3 ** 14 states."""
    network = star(3, 14)
    assert network_quilt_scale(network, counted=1, epsilon=1.0) <= 15 * (1 + 1e-9)
    with pytest.raises(ArgumentError, match="4 million entries"):
        network.joint(range(15))


GOOD = {"a": [0.9, 0.1], "b": [[0.5, 0.5], [0.2, 0.8]]}


@pytest.mark.parametrize(
    ("tables", "parents"),
    [
        ({}, None),
        ([0.5, 0.5], None),
        ({k: [0.5, 0.5] for k in range(201)}, None),
        (GOOD, None),
        (GOOD, {"b": ["c"]}),
        (GOOD, {"c": ["a"]}),
        (GOOD, {"b": "a"}),
        (GOOD, {"b": {"a"}}),
        (GOOD, {"b": iter(["a"])}),
        (GOOD, {"b": [["a"]]}),
        (GOOD, {"b": ["a", "a"]}),
        (GOOD, {"b": ["b"]}),
        (GOOD, "ab"),
        (GOOD, 5),
        ({"a": [0.9, 0.2]}, None),
        ({"a": [1.2, -0.2]}, None),
        ({"a": [1.0]}, None),
        ({"a": [1 - 1e-13, 1e-13]}, None),
        ({k: [1 - 1e-11, 1e-11] for k in range(27)}, None),
        ({"a": [float("nan"), 1.0]}, None),
        ({"a": "ab"}, None),
        ({"a": [10**400, 0]}, None),
        ({"a": 0.5}, None),
    ],
)
def test_what_is_no_network(tables, parents):
    with pytest.raises(PriorError):
        BayesianNetwork.of(tables, parents=parents)


@pytest.mark.parametrize("scale_of", [network_scale, network_quilt_scale])
@pytest.mark.parametrize(
    "counted", [True, {"a": [True, True]}, {"a": ["1"]}, {"a": None}, 7, -1, {"z": [1]}, {}, {"a": []}]
)
def test_what_is_no_state(scale_of, counted):
    network = BayesianNetwork.of({"a": [0.9, 0.1]})
    with pytest.raises(ArgumentError):
        scale_of(network, counted=counted, epsilon=1.0)
    with pytest.raises(ArgumentTypeError):
        scale_of(GOOD, counted=1, epsilon=1.0)
    assert scale_of(network, counted={"a": 1}, epsilon=1.0) == pytest.approx(1.0)
