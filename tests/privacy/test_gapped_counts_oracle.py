"""The exact scale of one count of series with gaps, against every sequence of states."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep, thinned
from sequence_oracle import count_loss as brute_count_loss
from sequence_oracle import random_chain, stationary, weighted_sum_loss

import puffer_frames
from puffer_frames import MarkovChain, histogram
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms import counts
from puffer_frames.loss.atoms.counts import WindowedCountLoss, count_loss
from puffer_frames.numbers.arguments import Target
from puffer_frames.scales.search import smallest_scale_of
from puffer_frames.scales.series import loss_in_windows

WORST = 1 + 1e-9


def loss_by_hand(transition, start, seen, state, scale):
    """Largest log-ratio of the noisy count, given two states at any time, seen or not."""
    size, length = len(start), len(seen)
    laws = np.zeros((length, size, sum(seen) + 1))
    for path in itertools.product(range(size), repeat=length):
        probability = start[path[0]] * math.prod(transition[a][b] for a, b in itertools.pairwise(path))
        count = sum(here and s == state for s, here in zip(path, seen, strict=True))
        for time, s in enumerate(path):
            laws[time, s, count] += probability
    points = np.arange(sum(seen) + 1)
    noise = np.exp(-np.abs(points[:, None] - points) / scale)
    worst = 0.0
    for law in laws:
        possible = law[law.any(axis=1)]
        densities = (possible / possible.sum(axis=1, keepdims=True)) @ noise
        logs = np.log(densities)
        worst = max(worst, float((logs.max(axis=0) - logs.min(axis=0)).max()))
    return worst


def random_series(rng):
    """Times with a state of up to three units, the first row of each with or without one."""
    seen = {}
    for who in range(int(rng.integers(1, 4))):
        own = rng.random(int(rng.integers(3, 8))) < 0.6
        own[-1] = True
        if own.sum() > 1:
            seen[who] = own.tolist()
    return seen or {0: [True, False, True]}


def frame_of(seen, states, rng, *, nulls):
    """Rows in random order; a time without a state is no row, or one without a state."""
    rows = [
        (who, time, str(rng.choice(states)) if here else None)
        for who, own in seen.items()
        for time, here in enumerate(own)
        if here or (nulls and time in (0, len(own)))
    ]
    return pd.DataFrame(rows, columns=["who", "time", "state"]).sample(frac=1, random_state=1)


@pytest.mark.filterwarnings("ignore:the given chain make")
@sweep(25, 400)
def test_scales_against_every_sequence(count):
    rng = np.random.default_rng(6)
    tight = 0
    for _ in range(count):
        size, epsilon = int(rng.integers(2, 4)), float(rng.choice([0.3, 1.0, 3.0]))
        transition = random_chain(rng, size)
        known = bool(rng.random() < 0.5)
        start = rng.dirichlet(np.ones(size)) if known else np.asarray(stationary(transition), dtype=float)
        seen, states = random_series(rng), list("abc")[:size]
        frame = frame_of(seen, states, rng, nulls=known)
        chain = MarkovChain.of(np.asarray(transition, dtype=float), initial=start if known else "stationary")
        asked = {"state": "state", "time": "time", "unit": "who", "nulls": "drop", "states": states, "bins": ["b"]}
        steps = frame.sort_values(["who", "time"]).groupby("who")["time"].diff().dropna()
        if not steps.size or steps.value_counts().sort_index().idxmax() != 1 or (steps == 1).sum() < (steps == 2).sum():
            continue  # the usual step is another
        found = puffer_frames.histogram(frame, **asked, epsilon=epsilon, mechanism="exact", chain=chain, rng=0)
        scale = float(found["scale"].iloc[0])
        patterns = [own if known else own[own.index(True) :] for own in seen.values()]
        worst = max(loss_by_hand(np.asarray(transition, dtype=float), start, own, 1, scale) for own in patterns)
        assert worst <= epsilon * WORST
        tight += worst >= epsilon * (1 - 1e-6)
    assert tight > count / 4


def test_a_gap_costs_less_than_its_times():
    """Rows at every second fifth: the exact scale lies below that of quilts, and gaps are said."""
    times = [k for k in range(60) if k % 5 in (0, 1)]
    frame = pd.DataFrame({"t": times, "s": ["ab"[k * k % 7 % 2] for k in times]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": [[0.9, 0.1], [0.1, 0.9]], "bins": ["a"], "rng": 1}
    exact, quilt = (frame.puffer.histogram(**asked, mechanism=mechanism) for mechanism in ("exact", "quilt"))
    assert exact["scale"].iloc[0] < 0.6 * quilt["scale"].iloc[0]
    assert "The chain runs on through the gaps" in " ".join(str(exact.puffer.certificate).split())


def test_series_of_too_many_times(monkeypatch):
    frame = pd.DataFrame({"t": [0, 1, 2, 5000], "s": list("abab")})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "mechanism": "exact", "chain": [[0.9, 0.1], [0.1, 0.9]]}
    with pytest.raises(ArgumentError, match="at most 2,000"):
        frame.puffer.histogram(**asked)
    monkeypatch.setattr("puffer_frames.scales.series._MOST_TIMES", 100)
    units = pd.DataFrame({"t": [0, 1, 3, 0, 1, 9], "s": list("ababab"), "u": [1, 1, 1, 2, 2, 2]})
    with pytest.raises(ArgumentError, match="2 series of different times"):
        units.puffer.histogram(**asked, unit="u")


def test_a_planted_fault_is_found(monkeypatch):
    """Times without a state that add to the count: another law, and another scale."""
    frame = pd.DataFrame({"t": [0, 1, 4, 5], "s": list("abab")})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": [[0.9, 0.1], [0.2, 0.8]], "bins": ["a"], "rng": 1}
    true = frame.puffer.histogram(**asked, mechanism="exact")["scale"].iloc[0]
    laws = counts._laws
    monkeypatch.setattr(counts, "_laws", lambda p, s, w, seen: laws(p, s, w, np.ones_like(seen)))
    assert frame.puffer.histogram(**asked, mechanism="exact")["scale"].iloc[0] > 1.05 * true


# Counts of long series from windows: never below the loss of all sequences, and as large as it for large windows.
@sweep(10, 600)
def test_small_windows_bound_the_loss_of_all_sequences(count, monkeypatch):
    monkeypatch.setattr(counts, "_SETTLED", 0.5)
    rng, compared = np.random.default_rng(31), 0
    for k in range(count):
        transition = random_chain(rng, 2 + k % 2)
        states, window, length = transition.shape[0], 1 + k % 3, 8
        start = rng.dirichlet(np.ones(states)) if k % 4 == 1 else None
        chain = MarkovChain.of(transition, initial="stationary" if start is None else start)
        state = k % states
        loss = WindowedCountLoss.of(chain, np.arange(states) == state, length=length, window=window)
        if loss is None:
            continue
        for scale in (0.4, 1.7, 9.0):
            true = brute_count_loss(
                transition, stationary(transition) if start is None else start, length, state, scale
            )
            bracket = loss.pure(scale).bracket
            assert bracket.lower <= true * (1 + 1e-9) <= bracket.upper * (1 + 2e-9)
            compared += 1
    assert compared > count


@few(2)
@pytest.mark.parametrize(
    ("transition", "initial"),
    [([[0.9, 0.1], [0.1, 0.9]], "stationary"), ([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], [0.0, 0.4, 0.6])],
)
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_large_windows_need_the_scale_of_the_whole_series(transition, initial, epsilon):
    chain, target = MarkovChain.of(transition, initial=initial), Target(epsilon=epsilon, delta=0.0)
    counted = np.arange(chain.states) == 1
    loss, scale = loss_in_windows(chain, counted, length=301, target=target)
    whole = smallest_scale_of(count_loss([chain], counted.tolist(), length=301), target)
    assert whole * (1 - 1e-8) <= scale <= whole * (1 + 2e-7)
    assert loss.pure(scale).bracket.lower >= epsilon * (1 - 2e-7)


@pytest.mark.parametrize("length", thinned([301, 420], few=[301]))
def test_no_window_is_taken_that_is_too_small_for_a_short_series(length):
    frame = pd.DataFrame({"time": np.arange(length), "state": np.arange(length) % 2})
    asked = {
        "state": "state",
        "time": "time",
        "epsilon": 1.0,
        "mechanism": "exact",
        "chain": [[0.97, 0.03], [0.03, 0.97]],
    }
    found = float(frame.puffer.histogram(**asked)["scale"].iloc[0])
    loss = count_loss([MarkovChain.of(asked["chain"])], [False, True], length=length)
    assert loss.pure(found).bracket.lower >= 1.0 - 3e-7
    assert loss.pure(found).bracket.upper <= 1.0


def test_the_largest_window_of_a_very_long_series_may_ask_for_a_little_more(monkeypatch):
    monkeypatch.setattr(counts, "_MOST_ENTRIES", 1 << 20)
    chain, counted = MarkovChain.of([[0.97, 0.03], [0.03, 0.97]]), np.array([False, True])
    loss, scale = loss_in_windows(chain, counted, length=5000, target=Target(epsilon=1.0, delta=0.0))
    assert 31.02574 < scale < 31.02574 * 1.001
    assert 1 - 1e-6 < loss.pure(scale).bracket.upper <= 1.0


def test_hardly_any_noise():
    """A state that never follows itself: its mean over all counts leaves the floats long before the scale is found."""
    frame = pd.DataFrame({"time": np.arange(501), "state": np.arange(501) % 2})
    chain = [[0.5, 0.5], [1.0, 0.0]]
    asked = {"state": "state", "time": "time", "epsilon": [800.0], "mechanism": "exact", "chain": chain}
    found = float(frame.puffer.histogram(**asked)["scale"].iloc[0])
    whole = count_loss([MarkovChain.of(chain)], [False, True], length=501)
    bracket = whole.pure(found).bracket  # wider than that of windows: more roundings
    assert bracket.lower <= 800.0
    assert bracket.upper >= 800.0 * (1 - 1e-6)


def test_chains_that_forget_slowly_have_no_windows():
    chain = MarkovChain.of([[0.9999, 0.0001], [0.0001, 0.9999]])
    assert loss_in_windows(chain, np.array([False, True]), length=500, target=Target(epsilon=1.0, delta=0.0)) is None
    turns = MarkovChain.of([[0.0, 1.0], [1.0, 0.0]])
    assert loss_in_windows(turns, np.array([False, True]), length=500, target=Target(epsilon=1.0, delta=0.0)) is None


def test_a_hundred_thousand_times():
    frame = pd.DataFrame({"time": np.arange(100_000), "state": np.arange(100_000) // 7 % 2})
    asked = {"state": "state", "time": "time", "epsilon": 1.0, "mechanism": "exact"}
    released = frame.puffer.histogram(chain=[[0.9, 0.1], [0.1, 0.9]], **asked)
    assert released["scale"].iloc[0] == pytest.approx(8.640477, rel=1e-6)


# Sums of series of numbers, against the loss of all sequences.
@pytest.mark.filterwarnings("ignore:the given chain make")
@sweep(12, 150)
def test_sums_are_private_on_random_chains(count):
    rng, close = np.random.default_rng(9), 0
    for _ in range(count):
        states, length = int(rng.integers(2, 4)), int(rng.integers(2, 7))
        transition = random_chain(rng, states)
        values = sorted(rng.choice(np.arange(-9, 10), states, replace=False).tolist())
        frame = pd.DataFrame({"t": range(length), "s": rng.choice(values, length)})
        asked = {"state": "s", "time": "t", "chain": transition, "states": values, "query": "sum", "epsilon": 1.0}
        scale = float(histogram(frame, **asked)["scale"].iloc[0])
        loss = weighted_sum_loss(transition, stationary(transition), length, values, scale)
        assert loss <= 1.0 + 1e-9
        close += loss > 0.3
    assert close  # less noise would show
