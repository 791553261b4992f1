"""Transport along a chain against brute force over all paths, and against the exact law of one count."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import few, thinned

from puffer_frames import MarkovChain, histogram
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss import transported
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.loss.transported import TransportedLoss
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import quilt_scale
from puffer_frames.scales.search import smallest_scale_of

ONE = Target.of(1.0, 0.0)
STAY = np.array([[0.9, 0.1], [0.1, 0.9]])


def changes(values):
    """How far the released numbers move where one state is put in the place of another."""
    return np.abs(values[:, None, :] - values[None, :, :]).sum(axis=-1)


def largest_loss(chain, values, seen, scale):
    """Over all times, pairs of states, and the product grid of the released numbers."""
    k, times = chain.states, len(seen)
    start = chain.stationary if isinstance(chain.initial, str) else np.asarray(chain.initial)
    paths = np.array(list(itertools.product(range(k), repeat=times)))
    weights = start[paths[:, 0]] * np.prod(chain.transition[paths[:, :-1], paths[:, 1:]], axis=1)
    paths, weights = paths[weights > 0], weights[weights > 0]
    sums = (values[paths] * np.array(seen)[None, :, None]).sum(axis=1)
    grid = np.array(list(itertools.product(*(np.unique(column) for column in sums.T))))
    kernels = np.exp(-np.abs(grid[:, None, :] - sums[None]).sum(axis=-1) / scale)
    worst = 0.0
    for time in range(times):
        held = [paths[:, time] == state for state in range(k)]
        logs = np.log([kernels[:, own] @ weights[own] / weights[own].sum() for own in held if own.any()])
        worst = max(worst, float((logs.max(axis=0) - logs.min(axis=0)).max()))
    return worst


def cases(count, *, seed):
    """Chains with zeros and slow ones, given starts, counts of some states, sums, and times that are not seen."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        k = int(rng.integers(2, 5))
        times = int(rng.integers(1, {2: 8, 3: 6, 4: 5}[k]))
        rows = rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 4.0])), size=k)
        rows = rows * (rng.random((k, k)) < rng.choice([0.7, 1.0])) + 1e-3 * np.eye(k)
        given = rng.random() < 0.5
        start = rng.dirichlet(np.full(k, 0.7)) * (rng.random(k) < 0.8) if given else "stationary"
        if given and not start.sum():
            continue
        try:
            initial = start / start.sum() if given else start
            chain = MarkovChain.of(rows / rows.sum(axis=1, keepdims=True), initial=initial)
        except ValueError:
            continue
        values = np.eye(k)[:, rng.random(k) < 0.6] if rng.random() < 0.6 else rng.integers(0, 6, (k, 1)).astype(float)
        if values.size and changes(values).any():
            found += 1
            seen = rng.random(times) < rng.choice([0.6, 1.0])
            yield chain, values, seen if seen.any() else np.ones(times, dtype=bool), float(rng.choice([0.5, 2.0, 8.0]))


def beyond(count, *, seed):
    """How many times the loss of random releases is beyond the bound."""
    found = 0
    for chain, values, seen, scale in cases(count, seed=seed):
        loss = largest_loss(chain, values, seen, scale)
        for times in (seen, seen.size):
            bound = TransportedLoss([chain], changes(values), times=times).pure(scale).bracket.upper
            found += loss > bound * (1 + 1e-9) + 1e-12
    return found


@few(1)
@pytest.mark.parametrize("seed", range(8))
def test_no_release_loses_more_than_the_bound(seed):
    assert beyond(60, seed=seed) == 0


def test_the_limit_of_long_series_holds_for_short_ones(monkeypatch):
    """Factors that serve any number of steps, of which so few are looked at."""
    monkeypatch.setattr(transported, "_MOST_STEPS", 2)
    monkeypatch.setattr(transported, "_SETTLED_AFTER", 0.0)
    found = []
    limit = transported._limit
    monkeypatch.setattr(
        transported, "_limit", lambda *given, **steps: found.append(limit(*given, **steps)) or found[-1]
    )
    assert beyond(50, seed=20) == 0
    assert sum(factors is not None for factors in found) > 10


def test_a_planted_fault_is_found(monkeypatch):
    """The oracle can fail: the places where mass is missing take in a little more than there is room for."""
    room = transported.TransportStep.room
    monkeypatch.setattr(transported.TransportStep, "room", lambda *given: 1.1 * room(*given))
    assert beyond(60, seed=0) > 5


@pytest.mark.parametrize(
    ("rows", "epsilon"), thinned([STAY, [[0.9, 0.1], [0.4, 0.6]], [[0.6, 0.4], [0.4, 0.6]]], [0.5, 3.0]), ids=str
)
def test_of_two_states_it_is_the_exact_scale(rows, epsilon):
    chain, target = MarkovChain.of(rows), Target.of(epsilon, 0.0)
    exact = smallest_scale_of(count_loss([chain], [False, True], length=100), target)
    found = smallest_scale_of(TransportedLoss([chain], changes(np.eye(2)[:, :1]), times=100), target)
    assert exact * (1 - 1e-8) <= found <= exact * (1 + 2e-5)


@pytest.mark.parametrize("states", [2, 3, 5])
def test_it_is_below_quilts(states):
    rng = np.random.default_rng(states)
    for _ in range(2):
        chain = MarkovChain.of(0.95 * rng.dirichlet(np.ones(states), size=states) + 0.05 / states)
        found = smallest_scale_of(TransportedLoss([chain], changes(np.eye(states)), times=200), ONE)
        assert found < 0.9 * 2 * quilt_scale(chain, length=200, epsilon=1.0)


@few(1)
@pytest.mark.parametrize("rows", [STAY, [[0.97, 0.03], [0.01, 0.99]], 0.9 * np.eye(3) + 0.1 / 3], ids=str)
@pytest.mark.parametrize("initial", ["stationary", "given"])
def test_limits_are_those_of_many_steps(monkeypatch, rows, initial):
    """Of a long series a limit is found from above, and not by steps."""
    k = len(rows)
    chain = MarkovChain.of(rows, initial=np.eye(k)[0] if initial == "given" else initial)

    def scale():
        return smallest_scale_of(TransportedLoss([chain], changes(np.eye(k)), times=10**6), ONE)

    found = scale()
    monkeypatch.setattr(transported, "_SETTLED_AFTER", np.inf)
    monkeypatch.setattr(transported, "_FEW_STEPS", 4000)
    monkeypatch.setattr(transported, "_MOST_STEPS", 5000)
    assert found == pytest.approx(scale(), rel=2e-5)


@pytest.mark.parametrize(("stay", "times", "most"), [(0.5, 10**12, 2.0), (0.999, 10**5, 2000.0), (0.0, 100, 200.0)])
def test_independent_slow_and_periodic_chains(stay, times, most):
    """A chain that forgets at once needs the noise of one value; one of period 2 that of the whole series."""
    chain = MarkovChain.of([[stay, 1 - stay], [1 - stay, stay]])
    scale = smallest_scale_of(TransportedLoss([chain], changes(np.eye(2)), times=times), ONE)
    assert 2.0 <= scale <= most * (1 + 1e-7)
    if stay in (0.5, 0.0):
        assert scale == pytest.approx(most, rel=1e-7)


def test_histograms_take_it():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"t": np.arange(150), "s": rng.integers(0, 3, 150)})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": 0.7 * np.eye(3) + 0.1, "rng": 2}
    scales = {
        name: histogram(frame, **asked, mechanism=name)["scale"].iloc[0]
        for name in ("auto", "transport", "quilt", "group")
    }
    assert scales["auto"] == scales["transport"] < 0.3 * scales["quilt"] < scales["group"]
    total = histogram(frame, **asked, query="sum")["scale"].iloc[0]
    assert total < scales["transport"]  # most changes are of one level, or none
    one = histogram(frame, **asked, bins=[1])["scale"].iloc[0]
    assert one == pytest.approx(histogram(frame, **asked, bins=[1], mechanism="exact")["scale"].iloc[0], rel=1e-4)


def test_gaps_count_only_times_with_rows():
    frame = pd.DataFrame({"t": [k for k in range(40) if k % 5 in (0, 1)]}).assign(s=lambda rows: rows["t"] % 2)
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": STAY, "bins": [1], "rng": 1}
    found, exact, quilt = (
        histogram(frame, **asked, mechanism=name)["scale"].iloc[0] for name in ("auto", "exact", "quilt")
    )
    assert exact * (1 - 1e-7) <= found <= exact * (1 + 1e-4) < 0.4 * quilt


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"noise": "gaussian", "delta": 1e-6}, "got Gaussian noise"),
        ({"chain": STAY, "initial": "any"}, "got any start"),
        ({"per": "both", "unit": "u"}, "whose releases do not add up"),
        ({"chain": "population"}, "quilt"),
    ],
)
def test_what_it_is_not_for(options, got):
    frame = pd.DataFrame({"u": 0, "t": range(6), "s": [0, 1, 1, 0, 0, 1]})
    with pytest.raises(ArgumentError, match=got):
        histogram(frame, state="s", time="t", epsilon=1.0, mechanism="transport", **options)
    if "chain" in options:  # "auto" takes quilts
        histogram(frame, state="s", time="t", epsilon=1.0, **options)


def test_a_series_without_a_secret():
    frame = pd.DataFrame({"t": range(4), "s": [0, 1, 0, 1]})
    with pytest.raises(CalibrationError, match="leaves the state open"):
        histogram(frame, state="s", time="t", epsilon=1.0, chain=[[0, 1], [1, 0]], initial=[1, 0])


def test_only_bounds_of_every_piece_hold_for_series_that_start_anew():
    """A certificate of the exact loss does not say so: it may be far below that of a piece."""
    frame = pd.DataFrame({"t": [0, 2, 3, 5, 6], "s": [0, 1, 0, 0, 1]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": [[0.5, 0.5], [1.0, 0.0]], "bins": [0], "rng": 1}
    found = {name: histogram(frame, **asked, mechanism=name) for name in ("auto", "transport", "exact")}
    said = {name: " ".join(str(one.puffer.certificate).split()) for name, one in found.items()}
    assert ["or starts anew after them" in text for text in said.values()] == [True, True, False]
    chain = MarkovChain.of(asked["chain"])
    for length, holds in ((1, ["auto", "transport"]), (2, ["auto", "transport"])):
        for name in holds:
            loss = largest_loss(chain, np.eye(2)[:, :1], np.ones(length, dtype=bool), found[name]["scale"].iloc[0])
            assert loss <= 1 + 1e-9
