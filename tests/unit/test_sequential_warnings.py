"""What a whole table is warned of, and the figures that decide it."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from test_sequential_plan import asked, quick  # noqa: F401 - an autouse fixture

from puffer_frames import (
    Sequential,
    WideNoiseWarning,
    calibrate,
    certificate_of,
    compare_tables,
)
from puffer_frames.frames.coded import Numbered
from puffer_frames.mechanisms.sequential.columns import number_column
from puffer_frames.mechanisms.sequential.measured import _correlations, auc_margin


def test_columns_that_a_constant_is_nearer_to_and_shares_that_are_off_are_warned_of():
    """Near-copies of the secret in a small table: the lifts for refitted networks decide what is released."""
    rng, rows = np.random.default_rng(0), 1200
    first = rng.random(rows) < 0.3
    frame = pd.DataFrame(
        {
            "group": np.where(first, "a", "b"),
            "near": np.where(rng.random(rows) < 0.1, "z", np.where(first, "x", "y")),
            "score": 10 * ~first + rng.integers(0, 6, rows),
            "free": rng.choice(["p", "q", "r"], rows),
        }
    )

    def planned(epsilon):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = calibrate(frame, **asked(epsilon=epsilon, mechanism=Sequential(contexts=2, holdout=0.0)))
        found = [each.message for each in caught if each.category is WideNoiseWarning]
        return plan, {each.reason: each.columns for each in found}

    plan, found = planned(0.3)
    assert set(found) == {"constant", "shares"}
    assert {"near", "score"} <= set(found["constant"])
    assert "near" in found["shares"]
    releases = [plan.release(frame, rng=k) for k in range(5)]
    changed = np.mean([(each["near"] != frame["near"]).mean() for each in releases])
    off = np.mean([(each["score"] - frame["score"]).abs().mean() for each in releases])
    shift = np.mean([(each["near"] == "z").mean() for each in releases]) - (frame["near"] == "z").mean()
    assert changed > 1 - frame["near"].value_counts(normalize=True).max()
    assert off > (frame["score"] - frame["score"].median()).abs().mean()
    assert shift > 0.05
    assert abs(plan.changes["near"].share - changed) < 0.03
    assert abs(plan.changes["near"].shift - shift) < 0.04
    certificate = certificate_of(releases[0])
    assert {"table-useless", "table-shares"} <= set(certificate.warnings)
    for text in (str(plan), str(certificate)):
        assert "ONE CONSTANT IS NEARER" in text
        assert "SHARES OF" in text
    plan, found = planned(8.0)
    assert not found
    assert not plan.useless_columns
    assert "ONE CONSTANT" not in str(plan)


def test_levels_that_come_twice_as_often_are_warned_of():
    """Of 2 % that said yes 4 % were made, which is off by less than 0.05."""
    rng, rows = np.random.default_rng(0), 1200
    first = rng.random(rows) < 0.5
    frame = pd.DataFrame(
        {
            "group": np.where(first, "a", "b"),
            "job": np.where(rng.random(rows) < 0.3 + 0.3 * first, "x", rng.choice(["p", "q", "r"], rows)),
            "rare": np.where(rng.random(rows) < 0.03, "yes", "no"),
            "free": rng.choice(["p", "q", "r"], rows),
        }
    )
    with pytest.warns(WideNoiseWarning, match="by a factor of more than 1.5"):
        plan = calibrate(frame, **asked(epsilon=0.5, mechanism=Sequential(contexts=2, holdout=0.0)))
    change = plan.changes["rare"]
    assert change.shift < 0.05 < 1.5 < change.times
    assert f"by a factor of {change.times:.1f}" in " ".join(str(plan).split())
    yes = np.mean([(plan.release(frame, rng=k)["rare"] == "yes").mean() for k in range(5)])
    assert abs(yes / (frame["rare"] == "yes").mean() - change.times) < 0.3
    assert plan.changes["free"].times < 1.5


def test_correlations_of_which_nothing_is_left_are_warned_of():
    """Within a secret the two fall together, over all rows they rise: .42 became .01, and nothing was said."""
    rng, rows = np.random.default_rng(0), 3000
    group, one = rng.choice(["a", "b"], rows), rng.normal(size=rows)
    first = 3 * (group == "a")
    frame = pd.DataFrame({"group": group, "one": first + one, "two": first - 0.9 * one + 0.3 * rng.normal(size=rows)})
    frame = frame.assign(three=frame["one"] + rng.normal(size=rows), free=rng.choice(["p", "q", "r"], rows)).round(1)
    mechanism = Sequential(components=2, contexts=3, allow_unaudited=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = calibrate(frame, **asked(epsilon=3.0, mechanism=mechanism))
    (found,) = (each.message for each in caught if getattr(each.message, "reason", "") == "unrelated")
    assert "hardly anything is left of the correlation of 'one' and 'two'" in str(found)
    assert "'one' and 'three'" not in str(found)
    released = plan.release(frame)
    before, after = (each[["one", "two", "three"]].corr() for each in (frame, released))
    assert before.loc["one", "two"] > 0.3 > 0.1 > after.loc["one", "two"]
    assert after.loc["one", "three"] > 0.1
    assert ("turned" in str(compare_tables(frame, released))) == (after.loc["one", "two"] < 0)


@pytest.mark.parametrize(("sigma", "cells", "warned"), [(1.5, 16, True), (1.5, 64, False), (0.5, 16, False)])
def test_cells_that_move_the_mean_are_warned_of(sigma, cells, warned):
    """Of lognormal incomes means were 18 % too small, and nothing was said."""
    values = np.random.default_rng(0).lognormal(3, sigma, 3000)
    entries = Numbered(values=values, whole=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        column = number_column("pay", entries, cells=cells, ends=None, nulls=False, whole=True)
    off = abs(np.array(column.levels)[column.coded(values)].mean() - values.mean())
    assert (off > 0.1 * np.abs(values - np.median(values)).mean()) == warned
    assert [each.message.reason for each in caught] == ["tail"] * warned


def test_correlations_are_those_of_the_places_with_both_numbers():
    values = np.random.default_rng(0).normal(5, 1, (3, 200))
    values[1] += values[0]
    values[0, ::7], values[1, 3::5] = np.nan, np.nan
    values = np.vstack([values, np.ones(200)])
    for unit in (1.0, 1e-9, 1e200):
        assert _correlations(unit * values)[:3, :3] == pytest.approx(pd.DataFrame(values[:3].T).corr().to_numpy())
    assert not _correlations(values)[3].any()


def test_two_standard_errors_of_an_auc():
    """That of a blind guess is exact, as of the statistic of Mann and Whitney; others beside draws of normal scores."""
    assert auc_margin(0.5, 40, 70) == pytest.approx(2 * math.sqrt(111 / (12 * 40 * 70)))
    rng = np.random.default_rng(0)
    first, second = rng.normal(1.0, 1, (2000, 40, 1)), rng.normal(0.0, 1, (2000, 1, 70))
    aucs = (first > second).mean(axis=(1, 2))
    assert auc_margin(aucs.mean(), 40, 70) == pytest.approx(2 * aucs.std(), rel=0.1)
    assert auc_margin(1.0, 30, 30) == 0.0
