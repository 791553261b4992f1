"""Counts of long series from windows: never below the loss of all sequences, and as large as it for large windows."""

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep, thinned
from sequence_oracle import count_loss as brute_count_loss
from sequence_oracle import random_chain, stationary

from puffer_frames import MarkovChain
from puffer_frames.loss.atoms import count_windows
from puffer_frames.loss.atoms.count_windows import WindowedCountLoss
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.numbers.target import Target
from puffer_frames.scales.search import smallest_scale_of
from puffer_frames.scales.series import loss_in_windows


@sweep(10, 600)
def test_small_windows_bound_the_loss_of_all_sequences(count, monkeypatch):
    monkeypatch.setattr(count_windows, "_SETTLED", 0.5)
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
    monkeypatch.setattr(count_windows, "_MOST_ENTRIES", 1 << 20)
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
