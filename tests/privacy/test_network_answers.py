"""Answers about the nodes of networks, against every joint state one by one and every place of a lattice."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import sweep

from puffer_frames import Stable, certificate_of, histogram
from puffer_frames.core import BayesianNetwork, network_scale
from puffer_frames.errors import CalibrationError
from puffer_frames.papers import network_quilt_scale


def random_tables(rng, *, nodes, states):
    """Nodes in an order of their own, up to two parents each; some probabilities are 0."""
    parents = {f"n{k}": [f"n{p}" for p in rng.permutation(k)[: rng.integers(0, 3)]] for k in range(nodes)}
    tables = {}
    for name, own in parents.items():
        table = rng.dirichlet(np.ones(states), size=(states,) * len(own))
        if rng.random() < 0.2:
            table[table < 0.15] = 0.0
        tables[name] = table / table.sum(axis=-1, keepdims=True)
    return tables, parents


def laws(tables, parents, answer, pairs=None):
    """For each node and state of positive probability, or each listed pair of them, the law of the answer, a tuple."""
    names, found = list(tables), {}
    states = np.shape(next(iter(tables.values())))[-1]
    for joint in itertools.product(range(states), repeat=len(names)):
        of = dict(zip(names, joint, strict=True))
        chance = math.prod(tables[name][(*(of[p] for p in parents[name]), of[name])] for name in names)
        if chance:
            for name in names:
                law = found.setdefault(name, {}).setdefault(of[name], {})
                law[answer(joint)] = law.get(answer(joint), 0.0) + chance
    every = [
        {state: {a: p / sum(law.values()) for a, p in law.items()} for state, law in of_states.items()}
        for of_states in found.values()
    ]
    if pairs is None:
        return [list(of_states.values()) for of_states in every]
    return [[of[s], of[t]] for of in every for s, t in pairs if {s, t} <= of.keys()]


def loss(laws_of_nodes, scale, rng):
    """Largest log-ratio of two densities at all places of the lattice of the answers, and at some others."""
    worst = 0.0
    for of_states in laws_of_nodes:
        atoms = sorted({a for law in of_states for a in law})
        axes = [sorted(set(axis)) for axis in zip(*atoms, strict=True)]
        places = np.array(list(itertools.product(*axes)), dtype=float)
        ends = np.array([[axis[0] - 1, axis[-1] + 1] for axis in axes], dtype=float)
        places = np.concatenate([places, rng.uniform(ends[:, 0], ends[:, 1], size=(50, len(axes)))])
        distances = np.abs(places[:, None, :] - np.array(atoms, dtype=float)[None]).sum(axis=2) / scale
        kernel = np.exp(distances.min(axis=1, keepdims=True) - distances)
        logs = np.log([kernel @ np.array([law.get(a, 0.0) for a in atoms]) for law in of_states])
        worst = max(worst, float(np.ptp(logs, axis=0).max()))
    return worst


LABELS = ["x", "y", "z"]
NUMBERS = [-3, 1, 9]


def random_case(rng):
    """Tables and parents of a class of networks, options of the call, and the answer as a function of the states."""
    states = int(rng.integers(2, 4))
    nodes = int(rng.integers(2, 5 if states == 3 else 7))
    several = [random_tables(rng, nodes=nodes, states=states) for _ in range(rng.integers(1, 3))]
    kind = rng.choice(["counts", "bins", "sum"])
    labels = (NUMBERS if kind == "sum" else LABELS)[:states]
    options = {"states": labels, "epsilon": float(rng.choice([0.2, 1.0, 3.0]))}
    if states == 3 and kind != "bins" and rng.random() < 0.7:
        listed = list(itertools.combinations(range(3), 2))
        options["pairs"] = [listed[k] for k in rng.permutation(3)[: rng.integers(1, 3)]]
    if kind == "sum":
        return several, options | {"query": "sum"}, lambda joint: (sum(labels[s] for s in joint),)
    released = list(range(states)) if kind == "counts" else sorted(rng.permutation(states)[: rng.integers(1, states)])
    options["bins"] = [labels[s] for s in released]
    counted = released[1:] if states == 2 and len(released) == 2 else released  # the other one follows
    return several, options, lambda joint: tuple(joint.count(s) for s in counted)


@pytest.mark.filterwarnings("ignore:the given network make")
@sweep(40, 1000)
def test_scales_against_every_joint_state(count):
    rng = np.random.default_rng(51)
    for case in range(count):
        several, options, answer = random_case(rng)
        networks = [BayesianNetwork.of(tables, parents=parents) for tables, parents in several]
        names = rng.permutation(list(several[0][0]))
        frame = pd.DataFrame({"who": names, "state": rng.choice(options["states"], len(names))})
        asked = {"state": "state", "unit": "who", "network": networks, "rng": 1, **options}
        asked |= {"pairs": [tuple(options["states"][s] for s in pair) for pair in options.get("pairs", [])] or "all"}
        epsilon, pairs = options["epsilon"], options.get("pairs")
        every = [law for tables, parents in several for law in laws(tables, parents, answer, pairs)]
        if pairs and (not every or loss(every, 0.05, rng) <= epsilon):  # no node has both states, or no noise is needed
            with pytest.raises(CalibrationError, match=r"states that some node may have|no noise"):
                histogram(frame, mechanism="exact", **asked)
            continue
        exact, quilt = (histogram(frame, mechanism=one, **asked) for one in ("exact", "quilt"))
        found = loss(every, exact["scale"].iloc[0], rng)
        assert epsilon * (1 - 1e-5) <= found <= epsilon * (1 + 1e-9), (case, found, epsilon)
        (measured,) = certificate_of(exact).verified["count" if "bins" in options else "sum"].values()
        assert measured.pure_loss.lower * (1 - 1e-9) <= found * (1 + 1e-9)
        assert found <= measured.pure_loss.upper * (1 + 1e-9) <= epsilon * (1 + 1e-9)
        assert quilt["scale"].iloc[0] >= exact["scale"].iloc[0] * (1 - 1e-7), case
        assert loss(every, quilt["scale"].iloc[0], rng) <= epsilon, case
        assert histogram(frame, **asked)["scale"].iloc[0] == exact["scale"].iloc[0]


@pytest.mark.filterwarnings("ignore:the given network make")
@sweep(12, 300)
def test_a_range_against_networks_between(count):
    """No network between the two ends loses more than epsilon at the scale, and one of them nearly epsilon."""
    rng, inside = np.random.default_rng(50), 0
    for case in range(count):
        states = int(rng.integers(2, 4))
        low, parents = random_tables(rng, nodes=int(rng.integers(2, 5)), states=states)
        high = {
            name: table if rng.random() < 0.3 else rng.dirichlet(np.ones(states), size=table.shape[:-1])
            for name, table in low.items()
        }
        ends = (BayesianNetwork.of(tables, parents=parents) for tables in (low, high))
        counted = int(rng.integers(states))
        frame = pd.DataFrame({"who": list(low), "state": rng.choice(LABELS[:states], len(low))})
        epsilon = float(rng.choice([0.2, 1.0, 3.0]))
        asked = {"state": "state", "unit": "who", "states": LABELS[:states], "bins": [LABELS[counted]]}
        released = histogram(frame, network=next(ends).to(next(ends)), epsilon=epsilon, rng=1, **asked)
        losses = []
        for w in (0, 1e-9, *np.linspace(0.02, 0.98, 49), 1 - 1e-9, 1):  # a state may be impossible at an end alone
            tables = {name: (1 - w) * low[name] + w * high[name] for name in low}
            every = laws(tables, parents, lambda joint, state=counted: (joint.count(state),))
            losses.append(loss(every, released["scale"].iloc[0], rng))
        assert epsilon * 0.995 <= max(losses) <= epsilon * (1 + 1e-9), (case, max(losses))
        inside += max(losses) > max(losses[0], losses[-1]) * 1.0001
    assert inside >= count / 20  # the ends are not always the worst


def flu(transmission=0.5):
    """Four people: dora is infected by ben, whom ann infects, as she does cem."""
    sick = [[0.9, 0.1], [1 - transmission, transmission]]
    tables = {"ann": [0.9, 0.1], "ben": sick, "cem": sick, "dora": sick}
    return BayesianNetwork.of(tables, parents={"ben": ["ann"], "cem": ["ann"], "dora": ["ben"]})


HOME = pd.DataFrame({"who": ["ben", "ann", "dora", "cem"], "flu": [1, 0, 0, 1]})
ASKED = {"state": "flu", "unit": "who", "bins": [1], "rng": 1}


def scale(frame=HOME, epsilon=1.0, **options):
    return histogram(frame, epsilon=epsilon, **ASKED, **options)["scale"].iloc[0]


def test_the_scales_of_the_core():
    for epsilon in (0.3, 1.0, 4.0):
        asked = {"network": flu(), "epsilon": epsilon}
        assert scale(**asked) == pytest.approx(network_scale(flu(), counted=1, epsilon=epsilon), rel=1e-6)
        quilt = network_quilt_scale(flu(), counted=1, epsilon=epsilon)
        assert scale(mechanism="quilt", **asked) == pytest.approx(quilt, rel=1e-6)
        assert scale(mechanism="group", **asked) == pytest.approx(4 / epsilon, rel=1e-6)


def test_a_class_is_as_safe_as_its_worst_network():
    """Transmission in [.1, .5]: the largest scale of all; the certificate says that others are not covered."""
    several = [flu(t) for t in (0.1, 0.3, 0.5)]
    released = histogram(HOME, epsilon=1.0, network=several, **ASKED)
    each = [scale(network=one) for one in several]
    assert released["scale"].iloc[0] == pytest.approx(max(each), rel=1e-7)
    assert max(each) > min(each)
    assert "each of 3 networks, and for no others" in str(certificate_of(released))


def test_a_comparison_of_mechanisms():
    found = histogram(HOME, state="flu", unit="who", network=flu(), epsilon=[1.0], mechanism="all")
    found = found.set_index("mechanism")
    loss, reason = found["loss"], found["reason"]
    assert loss["exact"] == pytest.approx(1.0, abs=1e-6)
    assert loss["wasserstein"] < 1
    assert loss["entry"] > 2
    assert [name for name, why in reason.items() if "with a network" in why] == ["transport", "quilt-approx", "gk16"]


def test_other_noise_takes_quilts():
    """They hold for every noise, and their releases add up."""
    gaussian = scale(network=flu(), noise="gaussian", delta=1e-6)
    assert gaussian == pytest.approx(scale(network=flu(), noise="gaussian", delta=1e-6, mechanism="quilt"))
    assert scale(network=flu(), noise=Stable(alpha=1.5)) > 0
    released = histogram(HOME, network=flu(), epsilon=1.0, mechanism="quilt", **ASKED)
    assert "Several releases of the same network under the same network add up" in " ".join(
        statement.text for statement in certificate_of(released).statements
    )


def test_a_hundred_nodes_of_a_chain():
    """Against the recursion over times, which knows nothing of networks; quilts are those of [SWC17] for chains."""
    matrix, start, n = [[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5], 100
    tables = {0: start} | dict.fromkeys(range(1, n), matrix)
    network = BayesianNetwork.of(tables, parents={k: [k - 1] for k in range(1, n)})
    frame = pd.DataFrame({"who": range(n), "flu": [0, 1] * (n // 2)})
    series = {"state": "flu", "time": "who", "chain": matrix, "initial": start, "bins": [1], "rng": 1}
    chained = histogram(frame, mechanism="exact", epsilon=1.0, **series)["scale"].iloc[0]
    assert scale(frame, network=network) == pytest.approx(chained, rel=1e-6)
    few = {"who": range(30), "flu": [0, 1] * 15}
    short = BayesianNetwork.of(dict(list(tables.items())[:30]), parents={k: [k - 1] for k in range(1, 30)})
    chained = histogram(pd.DataFrame(few), mechanism="quilt", epsilon=3.0, **series)["scale"].iloc[0]
    quilts = scale(pd.DataFrame(few), network=short, mechanism="quilt", epsilon=3.0)
    assert quilts == pytest.approx(chained, rel=1e-6)
