"""Rows whose order tells the secret or a public column are warned about; rows in a random order are not."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import LOCAL_KINDS, build_frame, laid_out, sweep, thinned

import puffer_frames
from puffer_frames import Layout, RowOrderWarning
from puffer_frames.errors import ArgumentError
from puffer_frames.frames import order
from puffer_frames.frames.order import (
    FEWER,
    WINDOW,
    WINDOWS,
    Sample,
    Windows,
    agreements,
    alike,
    chi_square_moments,
    look_at_order,
    ranked,
    window_places,
)

ROWS = 1000
RNG = np.random.default_rng(8)
GROUP, SCORE = RNG.integers(0, 3, ROWS), RNG.integers(0, 9, ROWS)
PLACE = np.arange(ROWS)


def last(entries, changed):
    """The last 40 % of the rows changed."""
    return np.concatenate([entries[:600], changed(entries[600:])])


# name: (secret, public, reasons)
ORDERS = {
    "sorted by the secret": (np.sort(GROUP), SCORE, {"runs", "drift"}),
    "two secrets in turns": (PLACE % 2, SCORE, {"repeats"}),
    "three secrets in turns": (PLACE % 3, SCORE, {"repeats"}),
    "pairs in turns": (PLACE // 2 % 2, SCORE, {"pattern"}),
    "a pattern of eight": (np.array([0, 1, 1, 0, 1, 0, 0, 1])[PLACE % 8], SCORE, {"pattern"}),
    "turns at the end": (last(GROUP % 2, lambda part: PLACE[:400] % 2), SCORE, {"pattern"}),
    "sorted by the secret at the end": (last(GROUP, np.sort), SCORE, {"drift"}),
    "a share that rises": ((np.random.default_rng(2).random(ROWS) < PLACE / ROWS).astype(int), SCORE, {"drift"}),
    "sorted by the public column": (GROUP, np.sort(SCORE), {"public"}),
    "falling": (GROUP, -np.sort(SCORE), {"public"}),
    "rising at the end": (GROUP, last(SCORE, np.sort), {"public"}),
    "waves": (GROUP, np.sin(PLACE / 9), {"public"}),
    "both": (np.sort(GROUP), np.sort(SCORE), {"runs", "drift", "public"}),
    "random": (GROUP, SCORE, set()),
}


def pairs_in_turns(rows, *, loose, seed=4):
    """Pairs of one secret and of another take turns; before a share of the pairs there is a random stretch."""
    rng, found, secret = np.random.default_rng(seed), [], 0
    while len(found) < rows:
        if rng.random() < loose:
            found += rng.integers(0, 2, rng.integers(1, 8)).tolist()
        found += [secret, secret]
        secret = 1 - secret
    return np.array(found[:rows])


def told_by_two_before(rows):
    """The secret is that of the row before or not, by the one two rows before; a tenth is random."""
    rng = np.random.default_rng(3)
    found = rng.integers(0, 2, rows)
    for k in range(2, rows):
        found[k] = found[k - 1] ^ found[k - 2] ^ (rng.random() < 0.1)
    return found


def at_a_distance(rows, lag):
    rng = np.random.default_rng(3)
    found = rng.integers(0, 4, rows)
    for k in range(lag, rows):
        if rng.random() < 0.4:
            found[k] = found[k - lag]
    return found


LONG = 4000
SORTED = np.sort(np.random.default_rng(8).integers(0, 2, LONG))
MANY = np.sort(np.random.default_rng(8).integers(0, 3000, LONG))
BY_RANK = np.argsort(np.arange(LONG) % 1000, kind="stable")
DRAWN = np.random.default_rng(7).integers(0, 50, LONG)
TELLING = {
    "pairs in turns, a third of them loose": [pairs_in_turns(LONG, loose=0.3)],
    "ranks of a sorted secret modulo 1,000": [SORTED[BY_RANK]],
    "of one with many values": [MANY[BY_RANK]],
    "of many words": [np.array([f"town {k:04}" for k in MANY])[BY_RANK]],
    "many values, sorted": [MANY],
    "told by two rows before": [told_by_two_before(LONG)],
    "by the row 60 rows before": [at_a_distance(LONG, 60)],
    "shares that change with blocks of 100 rows": [
        (np.random.default_rng(2).random(LONG) < np.repeat(np.arange(40) % 2 * 0.5 + 0.25, 100)).astype(int)
    ],
    "one of two columns sorted": [DRAWN, SORTED],
    "one of two columns sorted, which has many values": [DRAWN, MANY],
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy"])
@pytest.mark.parametrize("name", TELLING)
def test_orders_that_tell_otherwise(name, kind):
    """A random order of the same rows tells nothing."""
    data = {f"secret {k}": column for k, column in enumerate(TELLING[name])}
    secret, shuffled = list(data), np.random.default_rng(1).permutation(LONG)
    score = np.random.default_rng(6).integers(0, 5, LONG)
    labels = list(dict.fromkeys(zip(*(column.tolist() for column in data.values()), strict=True)))[:2]
    pairs = [labels if len(data) > 1 else [label for (label,) in labels]]  # one: of many secrets all take a minute
    asked = {"secret": secret, "public": "score", "epsilon": 1.0, "pairs": pairs, "allow_zero_noise": True, "rng": 1}
    for rows, tells in ((slice(None), True), (shuffled, False)):
        frame = build_frame(kind, {own: column[rows] for own, column in data.items()} | {"score": score})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
            puffer_frames.privatize(frame, **asked)
        assert any(isinstance(one.message, RowOrderWarning) for one in caught) is tells


def reasons(released):
    """The reasons of the one warning that a call gives, or none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        released()
    assert len(caught) <= 1
    return set(caught[0].message.reasons) if caught else set()


@pytest.mark.parametrize(("kind", "name"), thinned(LOCAL_KINDS, ORDERS, often=2), indirect=["kind"])
def test_orders(make_frame, name):
    secret, public, expected = ORDERS[name]
    frame = make_frame({"group": secret, "score": public})
    asked = {"secret": "group", "public": "score", "epsilon": 0.05, "allow_zero_noise": True}
    assert reasons(lambda: puffer_frames.privatize(frame, **asked)) == expected
    if not isinstance(frame, pl.LazyFrame):
        assert reasons(lambda: puffer_frames.privatize(frame, **asked, layout=Layout(shuffle=True))) == set()


def test_joint_secrets_and_numbered_rows():
    data = {"one": PLACE // 2 % 2, "two": PLACE % 2, "x": SCORE, "y": np.sort(SCORE)}
    for kind in ("pandas", "polars", "polars-lazy"):
        frame = build_frame(kind, data)
        with pytest.warns(RowOrderWarning, match="values of 'y' are alike") as caught:
            puffer_frames.privatize(frame, secret=["one", "two"], public=["x", "y"], epsilon=1.0)
        assert set(caught[0].message.reasons) == {"repeats", "public"}
    plan = pl.LazyFrame({"id": PLACE, "group": np.sort(GROUP), "score": SCORE})
    asked = {"secret": "group", "public": "score", "epsilon": 0.05, "layout": Layout(row_id="id")}
    assert reasons(lambda: puffer_frames.privatize(plan, **asked)) == {"runs", "drift"}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_kept_index_tells_the_order(kind):
    frame = build_frame(kind, {"group": GROUP, "score": SCORE})
    asked = {"secret": "group", "public": "score", "epsilon": 0.05, "layout": Layout(shuffle=True)}
    with pytest.raises(ArgumentError, match="tells the order"):
        puffer_frames.privatize(frame, **laid_out(asked, index="keep"))
    puffer_frames.privatize(frame, **laid_out(asked, index="drop"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy"])
def test_large_frames_are_looked_at_in_windows(kind):
    """What changes at the end is seen, and so are rows that come in pairs, in a part of the windows."""
    rows = 150_000  # more than a batch of a plan
    rng = np.random.default_rng(6)
    group, score = rng.integers(0, 3, rows), rng.integers(0, 9, rows)
    asked = {"secret": "group", "public": "score", "epsilon": 0.05, "allow_zero_noise": True}
    found = []
    for secret, public in (
        (group, score),
        (np.concatenate([group[:90_000], np.sort(group[90_000:])]), score),
        (np.arange(rows) // 2 % 2, score),
        (group, np.sort(score)),
    ):
        frame = build_frame(kind, {"group": secret, "score": public})
        found.append(reasons(lambda: puffer_frames.privatize(frame, **asked)))  # noqa: B023
    assert found == [set(), {"drift"}, {"pattern"}, {"public"}]


@pytest.mark.parametrize("rows", [0, 1, 127, 1 << 17, (1 << 17) + 1, 10**6, 10**9])
def test_windows_are_whole_and_apart(rows):
    places = window_places(rows, most=1 << 17, windows=256)
    assert places.size == (rows if rows <= 1 << 17 else 1 << 15)
    assert (np.diff(places) > 0).all()
    assert not rows or (places[0], places[-1]) == (0, rows - 1)
    if rows > places.size:
        assert (np.diff(places.reshape(-1, 128), axis=1) == 1).all()


@pytest.mark.parametrize("batch", [1, 100, 128, 5000])
def test_windows_of_batches_are_those_of_the_rows(batch, monkeypatch):
    monkeypatch.setattr(order, "WINDOWS", 16)
    monkeypatch.setattr(order, "FEWER", 10)
    rows = 9_000
    values = np.random.default_rng(1).permutation(rows)
    windows = Windows(1)
    for start in range(0, rows, batch):
        part = values[start : start + batch]
        wanted = windows.wanted(part.size)
        windows.take(wanted, [part[wanted] % 5, part[wanted].astype(float)], rows=part.size)
    sample = windows.sample()
    whole = values[: rows // 128 * 128].reshape(-1, 128)[::8][:8].astype(float)  # 70 windows: every eighth
    assert np.array_equal(sample.public[0].reshape(-1, 128), whole)
    assert np.array_equal(sample.secrets.reshape(-1, 128), whole % 5)


@pytest.mark.parametrize("entries", ["aabbc", "aaabb", "abcdd", "aaaa", "aabbccd"])
@pytest.mark.parametrize("lag", [1, 2, 3])
def test_moments_of_agreements(entries, lag):
    """Over all orders, one by one."""
    found = [sum(one == other for one, other in zip(p, p[lag:])) for p in itertools.permutations(entries)]
    counts = [entries.count(letter) for letter in set(entries)]
    n = len(entries)
    mean, variance = agreements(counts, pairs=n - lag, chained=max(0, n - 2 * lag))
    assert mean == pytest.approx(np.mean(found))
    assert variance == pytest.approx(np.var(found), abs=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [([3, 3], [4, 2]), ([2, 2, 3], [5, 2]), ([1, 3, 3], [2, 2, 3])])
def test_moments_of_chi_square(rows, columns):
    """Over all orders of the entries, one by one."""
    place, entries = np.repeat(range(len(rows)), rows), np.repeat(range(len(columns)), columns)
    expected = np.outer(rows, columns) / sum(rows)
    found = []
    for permuted in itertools.permutations(entries):
        table = np.zeros_like(expected)
        np.add.at(table, (place, np.array(permuted)), 1)
        found.append(((table - expected) ** 2 / expected).sum())
    mean, variance = chi_square_moments(np.array(rows, float), np.array(columns, float))
    assert mean == pytest.approx(np.mean(found))
    assert variance == pytest.approx(np.var(found))


def test_ranks_are_those_of_scipy():
    from scipy.stats import rankdata

    values = np.random.default_rng(0).integers(0, 30, 500).astype(float)
    assert np.allclose(ranked(values) + 250.5, rankdata(values))


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 40])
def test_tiny_tables_are_not_judged(rows):
    assert not alike(ranked(np.arange(rows, dtype=float))[None])


def random_table(rng):
    """Number of rows from 4 to 5,000, 2 to 50 secrets, equal or skewed shares, many or few or rare values."""
    n = int(math.exp(rng.uniform(math.log(4), math.log(5001))))
    kinds = int(rng.integers(2, 51))
    shares = rng.dirichlet(np.full(kinds, rng.choice([0.02, 0.1, 0.5, 2, 20])))
    secrets = np.unique(rng.choice(kinds, n, p=shares), return_inverse=True)[1]
    values = [
        rng.normal(size=n),
        rng.integers(0, 2, n),
        rng.random(n) < rng.choice([0.001, 0.01, 0.05, 0.3]),
        rng.integers(0, 40, n),
        np.exp(3 * rng.normal(size=n)).round(),
        rng.poisson(rng.choice([0.01, 0.1, 1, 5]), n),
    ][rng.integers(6)]
    return secrets, values.astype(float)


def false_alarms(tables, seed):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(tables):
        secrets, values = random_table(rng)
        sample, runs = Sample.of([secrets], [values], whole=True), 1 + int(np.count_nonzero(np.diff(secrets)))
        looked = look_at_order(sample, runs=runs, counts=np.bincount(secrets).tolist(), public=["x"])
        found += [reason for reason in looked if reason != "runs"]  # which is not a question of chance
    return found


@sweep(1000, 10_000)
def test_random_orders_are_not_warned_about(count):
    """At a rate of 1 in 1,000, 4 or more come in 10,000 tables 99 times in 100; hardly any at the rate there is."""
    assert len(false_alarms(count, seed=6)) <= count // 3000


def test_reasons_and_share_are_in_the_warning():
    frame = pd.DataFrame({"group": np.sort(GROUP), "score": SCORE})
    with pytest.warns(RowOrderWarning, match=r"0% of the runs .*, and shares of the secrets") as caught:
        frame.puffer.privatize(secret="group", public="score", epsilon=0.05, allow_zero_noise=True)
    warning = caught.pop(RowOrderWarning).message
    assert warning.reasons == ("runs", "drift")
    assert warning.share == pytest.approx(3 / (1 + ROWS * (1 - (np.bincount(GROUP) ** 2).sum() / ROWS**2)))


def large(name):
    """Secrets of more rows than are looked at one by one."""
    rng = np.random.default_rng(5)
    rows = WINDOW * WINDOWS * 2
    drawn = rng.integers(0, 3, rows)
    return {
        "random": drawn,
        "many secrets": rng.integers(0, 5_000, rows),
        "sorted": np.sort(drawn),
        "in pieces of ten": np.repeat(drawn[: rows // 10 + 1], 10)[:rows],
        "never twice": drawn % 2 + 2 * (np.arange(rows) % 2),
    }[name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("random", None),
        ("many secrets", None),
        ("sorted", "runs"),
        ("in pieces of ten", "runs"),
        ("never twice", "repeats"),
    ],
)
def test_runs_of_large_frames_are_those_of_their_windows(name, reason):
    secrets = large(name)
    frame = pl.DataFrame({"s": secrets, "x": np.random.default_rng(6).integers(0, 5, secrets.size)})
    codes = secrets[window_places(secrets.size, most=WINDOW * WINDOWS, windows=FEWER)]
    sample = Sample.of([codes], [], whole=False)
    true = 1 + int(np.count_nonzero(secrets[1:] != secrets[:-1]))
    assert sample.runs(secrets.size) == pytest.approx(true, rel=0.1, abs=secrets.size / 1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        puffer_frames.privatize(frame, secret="s", public="x", epsilon=1.0, allow_zero_noise=True)
    found = [one.message for one in caught if isinstance(one.message, RowOrderWarning)]
    reasons = [key for one in found for key in one.reasons if key in ("runs", "repeats")]
    assert reasons == ([] if reason is None else [reason])
