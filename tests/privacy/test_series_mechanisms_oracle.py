"""The Wasserstein mechanism, [GK16] and noise for one entry, of series of any number of states, by brute force."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import sweep
from scipy.optimize import linprog
from sequence_oracle import count_loss, gapped_count_loss, histogram_loss, random_chain, sequences, stationary

from puffer_frames import MarkovChain, binary_class
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.papers import neighbour_scale

STATES = "abc"


def cases(count, *, seed):
    """Random chains of two and three states that mix well, their starts, and a length."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        states = 2 + k % 2
        calm = (0.0, 0.6, 0.8, 0.9)[k // 2 % 4]
        transition = (1 - calm) * random_chain(rng, states) + calm / states
        given = rng.dirichlet(np.ones(states))
        yield transition, (given if k % 3 == 0 else stationary(transition)), k % 3 == 0, 3 + k % 3


def table(length, states, times=None):
    times = range(1, length + 1) if times is None else times
    return pd.DataFrame({"t": list(times), "s": [STATES[t % states] for t in times]})


def asked(frame, transition, start, mechanism, **words):
    """What the verb says of one or several mechanisms at several epsilons."""
    words = {"epsilon": 1.0, "states": list(STATES[: len(transition)]), "chain": transition, **words}
    words |= {} if start is None else {"initial": start}
    return frame.puffer.histogram(state="s", time="t", mechanism=mechanism, **words)


def farthest(transition, start, length, state, observed):
    """W-infinity of the count given two states of one time: a linear program for each distance."""
    paths, chances = sequences(transition, start, length)
    counts = (paths[:, [t - 1 for t in observed]] == state).sum(axis=1)
    found, most = 0, len(observed)
    grid = np.abs(np.subtract.outer(np.arange(most + 1), np.arange(most + 1)))
    sums = np.vstack([np.kron(np.eye(most + 1), np.ones(most + 1)), np.kron(np.ones(most + 1), np.eye(most + 1))])
    for time in range(length):
        laws = [
            np.bincount(counts, chances * (paths[:, time] == s), minlength=most + 1) for s in range(len(transition))
        ]
        laws = [law / law.sum() for law in laws if law.sum() > 0]
        for p, q in itertools.combinations(laws, 2):
            beyond = [
                linprog((grid > d).ravel().astype(float), A_eq=sums, b_eq=np.concatenate([p, q])).fun
                for d in range(found, most + 1)
            ]
            found += next(d for d, mass in enumerate(beyond) if mass < 1e-9)
    return found


def gamma(transition, start, length):
    """Half the largest log-ratio of P(X_k | the others) for two values of X_j, from all sequences."""
    paths, chances = sequences(transition, start, length)
    law, found = dict(zip(map(tuple, paths.tolist()), chances)), np.zeros((length, length))
    if not chances.all():
        return np.ones((length, length))  # a value may follow from its neighbour: the rule says nothing
    for path, k, j in itertools.product(law, range(length), range(length)):
        for other in range(len(transition)):
            changed = tuple(other if t == j else x for t, x in enumerate(path))
            if j == k:
                continue
            one, two = (
                law[p] / sum(law[(*p[:k], x, *p[k + 1 :])] for x in range(len(transition))) for p in (path, changed)
            )
            found[k, j] = max(found[k, j], abs(np.log(one / two)) / 2)
    return found


@sweep(6, 250)
def test_the_wasserstein_scale_is_the_farthest_of_all_plans(count):
    for k, (transition, start, given, length) in enumerate(cases(count, seed=1)):
        observed = [t for t in range(1, length + 1) if length < 5 or k % 2 or t != 2]
        frame = table(length, len(transition), observed)
        words = {"bins": ["a"], "epsilon": 0.7}
        row = asked(frame, transition, start if given else None, ["wasserstein"], **words).iloc[0]
        assert row["scale"] == pytest.approx(farthest(transition, start, length, 0, observed) / 0.7, rel=1e-9)
        assert gapped_count_loss(transition, start, observed, 0, row["scale"]) <= 0.7 * (1 + 1e-12)


@sweep(6, 250)
def test_neighbours_are_private_with_half_of_the_scale(count):
    served = 0
    for k, (transition, start, given, length) in enumerate(cases(count, seed=2)):
        influences = gamma(transition, start, length)
        chain = MarkovChain.of(transition, **({"initial": start} if given else {}))
        epsilon, frame = (0.5, 2.0)[k % 2], table(length, len(transition))
        words = {"epsilon": epsilon, "bins": ["a"]}
        row = asked(frame, transition, start if given else None, ["gk16"], **words).iloc[0]
        if np.linalg.norm(influences, 2) >= 1:
            assert "spectral norm below 1" in row["reason"]
            with pytest.raises(CalibrationError, match="norm"):
                neighbour_scale(chain, length=length, epsilon=epsilon)
            continue
        published = 2 * np.linalg.inv(np.eye(length) - influences).sum(axis=0).max() / epsilon
        assert neighbour_scale(chain, length=length, epsilon=epsilon) == pytest.approx(published, rel=1e-6)
        assert row["scale"] == pytest.approx(min(published, length / epsilon), rel=1e-6)
        assert count_loss(transition, start, length, 0, published / 2) <= epsilon * (1 + 1e-9)
        assert histogram_loss(transition, start, min(length, 4), published) <= epsilon * (1 + 1e-9)
        served += 1
    assert served >= count / 2


def test_any_start_has_the_largest_influence():
    transition = np.array([[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.25, 0.35, 0.4]])
    any_start = neighbour_scale(MarkovChain.of(transition, initial="any"), length=4, epsilon=1)
    rng = np.random.default_rng(3)
    for _ in range(50):
        start = rng.dirichlet(np.full(3, 0.2))
        assert neighbour_scale(MarkovChain.of(transition, initial=start), length=4, epsilon=1) <= any_start


def test_numbers_of_the_slides():
    """MQM and [GK16] cross with epsilon on the class [.4, .6]; noise for one entry is too little, T = 100."""
    series = pd.DataFrame({"t": range(100), "s": list("ab") * 50})
    found = asked(series, binary_class(0.4), None, "all", epsilon=[0.2, 5], states=["a", "b"])
    scales = {(row.mechanism, row.epsilon): row.scale for row in found.itertuples()}
    assert [scales["quilt", e] for e in (0.2, 5)] == pytest.approx([29.762, 0.23872], rel=1e-4)
    assert [scales["gk16", e] for e in (0.2, 5)] == pytest.approx([19.4366, 0.77747], rel=1e-4)
    for stay, loss in ((0.5, 1.0), (0.7, 2.052), (0.9, 4.499)):
        chain = [[stay, 1 - stay], [1 - stay, stay]]
        row = asked(series, chain, None, ["entry"], states=["a", "b"]).iloc[0]
        assert (row["scale"], row["loss"]) == (pytest.approx(1.0), pytest.approx(loss, abs=1e-3))
        assert row["reason"]


def test_one_entry_is_never_released_and_what_does_not_add_up_says_so():
    series = pd.DataFrame({"t": range(12), "s": list("ab") * 6})
    calm = [[0.6, 0.4], [0.4, 0.6]]
    for epsilon in (1.0, [1.0]):
        with pytest.raises(ArgumentError, match="entry"):
            asked(series, calm, None, "entry", epsilon=epsilon, states=["a", "b"])
    with pytest.raises(CalibrationError, match="spectral norm below 1"):
        asked(series, [[0.9, 0.1], [0.1, 0.9]], None, "gk16", states=["a", "b"], rng=1)
    for mechanism in ("gk16", "wasserstein"):
        released = asked(series, calm, None, mechanism, states=["a", "b"], rng=1)
        certificate = released.puffer.certificate
        assert not certificate.adds_up
        with pytest.raises(ArgumentError, match="do not add up"):
            asked(series.assign(u=1), calm, None, mechanism, states=["a", "b"], unit="u", per="both")


def loss_at(transition, start, length, states, scale):
    """Largest log-ratio of two densities of the counts of these states, at all places of their lattice."""
    paths = np.array(list(itertools.product(range(len(start)), repeat=length)))
    chances = start[paths[:, 0]] * np.prod(transition[paths[:, :-1], paths[:, 1:]], axis=1)
    counts = np.stack([(paths == s).sum(axis=1) for s in states], axis=1)
    atoms, of_path = np.unique(counts, axis=0, return_inverse=True)
    places = np.array(list(itertools.product(range(length + 1), repeat=len(states))))
    distances = np.abs(places[:, None] - atoms[None]).sum(axis=2) / scale
    kernel, worst = np.exp(distances.min(axis=1, keepdims=True) - distances), 0.0
    for time in range(length):
        masses = [chances * (paths[:, time] == s) for s in range(len(start))]
        laws = [np.bincount(of_path.ravel(), m, minlength=len(atoms)) / m.sum() for m in masses if m.sum() > 0]
        worst = max(worst, float(np.ptp(np.log([kernel @ law for law in laws]), axis=0).max()))
    return worst


OF_CHAINS = ("quilt", "quilt-approx", "transport", "exact", "wasserstein", "gk16", "entry", "group")


@sweep(8, 500)
def test_every_mechanism_of_chains_of_three_states(count):
    """At the scale of each the true loss is at most epsilon, and what a comparison says of it."""
    rng, served, ratios = np.random.default_rng(49), dict.fromkeys(OF_CHAINS, 0), dict.fromkeys(OF_CHAINS, 0.0)
    for k in range(count):
        calm, length = (0.0, 0.6, 0.85)[k % 3], int(rng.integers(2, 7))
        transition = (1 - calm) * random_chain(rng, 3) + calm / 3
        start = None if k % 2 else rng.dirichlet(np.ones(3))
        states, epsilon = [[0], [1, 2], [0, 1, 2]][int(rng.integers(3))], float(rng.choice([0.2, 1.0, 3.0]))
        words = {"bins": [STATES[s] for s in states], "epsilon": [epsilon]}
        first = stationary(transition) if start is None else start
        for row in asked(table(length, 3), transition, start, OF_CHAINS, **words).itertuples():
            if np.isnan(row.scale):
                assert row.reason
                continue
            true = loss_at(transition, first, length, states, row.scale)
            assert true <= row.loss * (1 + 1e-9), (k, row.mechanism)
            assert row.mechanism == "entry" or row.loss <= epsilon, (k, row.mechanism)
            if row.mechanism in ("quilt", "quilt-approx", "group"):  # two releases are one of half the scale
                assert loss_at(transition, first, length, states, row.scale / 2) <= 2 * epsilon * (1 + 1e-9)
            served[row.mechanism] += 1
            ratios[row.mechanism] = max(ratios[row.mechanism], true / row.loss)
    assert min(served.values()) >= count / 8
    assert ratios["exact"] >= 1 - 1e-5
