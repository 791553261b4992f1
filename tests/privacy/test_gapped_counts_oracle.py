"""The exact scale of one count of series with gaps, against every sequence of states."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import sweep
from sequence_oracle import random_chain, stationary

import puffer_frames
from puffer_frames import MarkovChain
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms import counts

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
