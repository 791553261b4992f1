"""Quilts of series with gaps, of which only the observed nodes near a value count, against brute force."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import sweep
from sequence_oracle import gapped_count_loss, stationary

from puffer_frames import MarkovChain
from puffer_frames.papers import quilt_scale
from puffer_frames.papers.quilt import gaps
from puffer_frames.papers.quilt.gaps import Windows
from puffer_frames.papers.quilt.nodes import Quilt
from puffer_frames.priors.series_rows import SeriesRows

TOLERANCE = 1 + 1e-12
STAY = [[0.9, 0.1], [0.1, 0.9]]


def released(transition, times, *, epsilon, start):
    states = dict(zip(times, np.arange(len(times)) % 2, strict=True))
    every = range(times[-1] + 1)
    frame = pd.DataFrame({"t": every, "s": [float(states.get(time, np.nan)) for time in every]})
    asked = {"state": "s", "time": "t", "epsilon": epsilon, "chain": transition, "initial": start, "bins": [1]}
    return float(frame.puffer.histogram(**asked, nulls="drop", mechanism="quilt", rng=1)["scale"].iloc[0])


def cases(count, *, seed):
    """Chains of two states that forget fast, up to 12 times of which about half are observed."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        stays = 0.5 + rng.uniform(-0.35, 0.35, 2)
        transition = np.array([[stays[0], 1 - stays[0]], [1 - stays[1], stays[1]]])
        length = int(rng.integers(6, 12))
        inner = np.flatnonzero(rng.random(length - 2) < 0.5) + 1
        times = [0, *inner.tolist(), length - 1]
        yield transition, times, float(rng.choice([1.0, 2.0, 4.0])), ["stationary", "any", "law"][k % 3], rng


def largest_loss(transition, times, start, scale):
    observed = [time + 1 for time in times]
    laws = [np.eye(2)[0], np.eye(2)[1], np.full(2, 0.5)] if isinstance(start, str) else [start]
    if isinstance(start, str) and start == "stationary":
        laws = [stationary(transition)]
    return max(gapped_count_loss(transition, law, observed, 1, scale) for law in laws)


@sweep(12, 150)
def test_no_release_loses_more_than_epsilon(count):
    fewer = 0
    for transition, times, epsilon, start, rng in cases(count, seed=3):
        start = rng.dirichlet([1, 1]) if start == "law" else start
        scale = released(transition, times, epsilon=epsilon, start=start)
        whole = quilt_scale(MarkovChain.of(transition, initial=start), length=times[-1] + 1, epsilon=epsilon)
        fewer += scale < min(whole, len(times) / epsilon) * 0.999
        assert largest_loss(transition, times, start, scale) <= epsilon * TOLERANCE
    assert fewer >= count / 6


def test_a_planted_fault_is_found(monkeypatch):
    """The oracle can fail: what the quilt tells is forgotten."""
    monkeypatch.setattr(gaps, "Quilt", lambda *, card, influence: Quilt(card=card, influence=0.0 * influence))
    lost = [
        largest_loss(transition, times, "stationary", released(transition, times, epsilon=epsilon, start="stationary"))
        / epsilon
        for transition, times, epsilon, _, _ in cases(40, seed=5)
    ]
    assert max(lost) > 1.01


@pytest.mark.parametrize("initial", ["stationary", "any", [0.5, 0.5]])
def test_two_of_five_times(initial):
    """docs/theory.md, section 10, "Gaps": 31.74 where unobserved nodes count."""
    times = [k for k in range(120) if k % 5 in (0, 1)]
    scale = released(STAY, times, epsilon=1.0, start=initial)
    if isinstance(initial, str) and initial == "stationary":
        assert scale == pytest.approx(11.487603, rel=1e-6)
    assert scale < 13.2


def test_one_quilt_for_all_nodes_needs_a_little_more(monkeypatch):
    """Where there are too many nodes for quilts of their own."""
    monkeypatch.setattr(gaps, "_MOST_NODES", 0.0)
    times = [k for k in range(120) if k % 5 in (0, 1)]
    assert released(STAY, times, epsilon=1.0, start="stationary") == pytest.approx(12.822556, rel=1e-6)


def rows_of(units):
    """Rows of units that are observed at these times; the most usual step has to be 1."""
    return SeriesRows(
        states=["a"],
        units=list(range(len(units))),
        lengths=np.array([run.size for u in units for run in runs(u)]),
        first=np.zeros(sum(len(runs(u)) for u in units), dtype=np.intp),
        unit_of=np.array([k for k, u in enumerate(units) for _ in runs(u)]),
        skipped=np.array(
            [gap for u in units for gap in (0, *(run[0] - 1 - u[u < run[0]].max() for run in runs(u)[1:]))]
        ),
        bridged=True,
        counts=np.array([[sum(u.size for u in units)]]),
        transitions=np.array([[0]]),
    )


def runs(times):
    return np.split(times, np.flatnonzero(np.diff(times) > 1) + 1)


def test_windows_hold_the_most_observed_times():
    rng = np.random.default_rng(1)
    for _ in range(20):
        units = [np.flatnonzero(rng.random(int(rng.integers(3, 40))) < 0.4) for _ in range(3)]
        units = [times for times in units if times.size]
        rows = rows_of(units)
        spans = np.arange(1, 45)
        by_hand = [max(int(((u >= t) & (u < t + span)).sum()) for u in units for t in u) for span in spans]
        assert rows.most_within(spans).tolist() == by_hand
        assert Windows.of(rows, length=44).at(spans).tolist() == by_hand
        nodes, before = rows.timeline(apart=5)
        assert nodes.size == rows.times == sum(u[-1] - u[0] + 1 for u in units)
        assert (np.diff(before)[nodes] == np.concatenate([np.isin(np.arange(u[0], u[-1] + 1), u) for u in units])).all()


@pytest.mark.parametrize("power", [40, 53, 56, 60])
def test_times_far_apart_are_numbered_exactly(power):
    """As floats they would fall together beyond 2**53: a scale of 2.25 and a loss of 2.9 for 1."""
    times = np.append([0, 1], 2**power + np.arange(1000))
    frame = pd.DataFrame({"t": times, "s": np.arange(1002) % 2})
    released = frame.puffer.histogram(
        state="s", time="t", epsilon=1.0, chain=STAY, initial="stationary", bins=[1], rng=1, mechanism="quilt"
    )
    assert released["scale"].iloc[0] == pytest.approx(31.737789, rel=1e-6)


@pytest.mark.parametrize(("units", "power"), [(100, 40), (1000, 44), (3000, 50)])
def test_so_are_those_of_many_units(units, power):
    short = [0, 1, 2**power, 2**power + 1]
    names = np.repeat(np.arange(units), 4)
    long = np.append([0, 1], 2**power + np.arange(1000))
    frame = pd.DataFrame(
        {"u": np.append(names, np.full(1002, units)), "t": np.append(np.tile(short, units), long), "s": 0}
    )
    frame["s"] = np.arange(len(frame)) % 2
    asked = {"state": "s", "time": "t", "unit": "u", "epsilon": 1.0, "chain": STAY, "bins": [1], "rng": 1}
    assert frame.puffer.histogram(**asked, mechanism="quilt")["scale"].iloc[0] == pytest.approx(31.737789, rel=1e-6)


def test_many_short_units_and_a_slow_chain_take_little_memory():
    units, length, stay = 20_000, 50_000, 1 - 1e-6
    short = pd.DataFrame({"u": np.repeat(np.arange(units), 3), "t": np.tile([0, 1, 3], units)})
    long = pd.DataFrame({"u": units, "t": [0, 1, length - 3, length - 2, length - 1]})
    frame = pd.concat([short, long], ignore_index=True)
    frame["s"] = np.arange(len(frame)) % 2
    chain = [[stay, 1 - stay], [1 - stay, stay]]
    tracemalloc.start()
    released = frame.puffer.histogram(
        state="s", time="t", unit="u", epsilon=1.0, chain=chain, bins=[1], mechanism="quilt", rng=1
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert released["scale"].iloc[0] == pytest.approx(5.0, rel=1e-6)
    assert peak < 400e6
