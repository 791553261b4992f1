"""What a whole table is warned of, and the figures that decide it."""

import math
import re
import warnings
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import test_sequential_plan as whole_tables
from conftest import table
from test_sequential_plan import asked

from puffer_frames import (
    Sequential,
    SuspectValuesWarning,
    WideNoiseWarning,
    calibrate,
    certificate_of,
    compare_tables,
)
from puffer_frames.frames.coded import Numbered
from puffer_frames.mechanisms.sequential import fitted, measured
from puffer_frames.mechanisms.sequential.columns import TableColumn, number_column
from puffer_frames.mechanisms.sequential.fitted import Change
from puffer_frames.mechanisms.sequential.measured import _correlations, _unrelated, auc_margin
from puffer_frames.mechanisms.sequential.mechanism import _attack_hint, _measured, _next

people, plan, quick = whole_tables.people, whole_tables.plan, whole_tables.quick  # fixtures


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
        assert "ONE CONSTANT IS ABOUT AS NEAR" in text
        assert "SHARES OF" in text
    plan, found = planned(8.0)
    assert set(found) == {"unrelated"}  # the secret makes the correlation, and it is hidden with it
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


@pytest.mark.parametrize("labels", [False, True])
def test_correlations_that_are_mostly_lost_are_warned_of(labels):
    """Within a secret the two fall together, over all rows they rise: .42 became .01, and nothing was said; of labels
    .75 became .14.
    """
    rng, rows = np.random.default_rng(0), 3000
    group, one = rng.choice(["a", "b"], rows), rng.normal(size=rows)
    first = 3 * (group == "a")
    frame = pd.DataFrame({"group": group, "one": first + one, "two": first - 0.9 * one + 0.3 * rng.normal(size=rows)})
    frame = frame.assign(three=frame["one"] + rng.normal(size=rows), free=rng.choice(["p", "q", "r"], rows)).round(1)
    raw = frame
    if labels:
        frame = raw.assign(one=np.where(raw["one"] > 1.5, "x", "y"), two=np.where(raw["two"] > 1.5, "x", "y"))
    mechanism = Sequential(components=2, contexts=3, allow_unaudited=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = calibrate(frame, **asked(epsilon=3.0, mechanism=mechanism))
    (found,) = (each.message for each in caught if getattr(each.message, "reason", "") == "unrelated")
    assert "the correlation of 'one' and 'two', " in str(found)
    released = plan.release(frame)
    assert "table-unrelated" in certificate_of(released).warnings
    for text in (str(plan), str(certificate_of(released))):
        assert re.search(r"MOSTLY\s+LOST\s+BETWEEN\s+'one'\s+and\s+'two', ", text, re.I)
    numbers = [each.replace({"x": 1, "y": 0}) if labels else each for each in (frame, released)]
    before, after = (each[["one", "two", "three"]].astype(float).corr() for each in numbers)
    assert before.loc["one", "two"] > 0.3 > 0.15 > after.loc["one", "two"]
    assert labels or after.loc["one", "three"] > 0.1
    assert labels or ("turned" in str(compare_tables(frame, released))) == (after.loc["one", "two"] < 0)


def test_of_a_strong_correlation_half_of_its_square_must_be_left():
    """.93 became .26, and .95 became .56, and nothing was said."""
    rng, one = np.random.default_rng(0), np.arange(2000) % 9
    near, codes = np.clip(one + rng.integers(-1, 2, one.size), 0, 8), np.arange(9.0)

    def lost(moved):
        after = np.stack([one, np.where(rng.random(one.size) < moved, rng.permutation(near), near)], axis=1)
        before = np.stack([one, near], axis=1)
        kinds = (codes, codes), (None, codes), (codes, None), (None, None)  # with labels nothing was said
        return {bool([*_unrelated(before, after, {"x": x, "y": y}, (9, 9))]) for x, y in kinds}

    assert [lost(moved) for moved in (0.1, 0.2, 0.4, 0.7)] == [{False}, {False}, {True}, {True}]


def test_labels_that_chance_alone_relates_in_few_rows_have_lost_nothing():
    rng = np.random.default_rng(0)
    for rows, levels in product((30, 100, 400), (2, 8, 24)):
        before, after = rng.integers(0, levels, (2, rows, 2))
        for values in (None, np.arange(levels) + 0.5):
            assert not [*_unrelated(before, after, {"x": None, "y": values}, (levels, levels))]


def test_rare_labels_that_chance_relates_have_lost_nothing():
    """A label of five in 500 rows, beside one of 200 levels of which many have one row: a fifth was warned of."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, 201)
    for _ in range(40):
        many = rng.choice(200, (2, 500), p=shares / shares.sum())
        before, after = np.stack([many, rng.random((2, 500)) < 0.01], axis=2)
        assert not [*_unrelated(before, after, {"x": None, "y": None}, (200, 2))]


@pytest.mark.parametrize(
    ("distance", "constant", "share", "useless"),
    [(6.75, 6.72, 0.7, True), (7.76, 8.32, 0.6, True), (8.82, 12.1, 0.4, False), (None, 0.74, 0.74, True)],
)
def test_a_constant_that_is_about_as_near_is_one_that_is_nearer(distance, constant, share, useless):
    """Heights were off by as much as their median, and nothing was said."""
    change = Change(share=share, most=share, distance=distance, constant=constant, shift=0.0, times=1.0)
    assert change.is_useless == useless


def test_hours_and_codes_that_come_out_with_fewer_values_are_warned_of():
    """Eight of 24 hours never came out, and nothing was said; of few rows with another value nothing is."""
    rng, rows = np.random.default_rng(0), 1200
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], rows), "hour {h}": rng.integers(0, 24, rows)})
    frame["some"] = frame["hour {h}"].where(rng.random(rows) < 0.9)
    frame["visits"] = rng.geometric(0.3, rows)
    frame["pay"] = rng.normal(0, 1, rows).round(1)

    def planned(frame, **options):
        mechanism = Sequential(contexts=2, holdout=0.0, allow_unaudited=True, derived=None, **options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            plan = calibrate(frame, **asked(nulls="level", epsilon=4.0, mechanism=mechanism))
        return plan, [each.message for each in caught if getattr(each.message, "reason", "") == "cells"]

    plan, (found,) = planned(frame)
    assert frame["visits"].nunique() > 16
    assert found.columns == ("hour {h}", "some")
    assert "fewer values: 'hour {h}' with 16 of its 24 values, 'some' with 16 of its 24 values." in str(found)
    assert "Sequential(cells=24)" in str(found)
    assert "(16 of 24 values come out)" in " ".join(str(plan).split())
    released = plan.release(frame)
    assert released["hour {h}"].nunique() == 16
    assert "the other values of the cell never come out" in " ".join(str(certificate_of(released)).split())
    for again, options in ((frame, {"cells": 24}), (frame.assign(**{"hour {h}": frame["hour {h}"].astype(str)}), {})):
        plan, found = planned(again, **options)
        assert [each.columns for each in found] == [("some",)] * (not options)
        assert plan.release(again)["hour {h}"].nunique() == 24


def test_what_to_do_next_merges_no_numbers():
    """A plan said to merge the rare levels of a column of numbers."""
    for edges, merges in ((np.arange(3.0), False), (None, True)):
        column = TableColumn(name="x", levels=(0, 1, 2, 3), edges=edges)
        kept = SimpleNamespace(changed={"x": 0.5})
        plan = SimpleNamespace(beyond=(), is_idle=False, is_far=False, kept=kept, columns=(column,))
        assert ("merge rare levels" in _next(plan)) == merges
        assert "Leave out x, " in _next(plan)


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


@pytest.mark.parametrize("name", ["visits", "far apart", "incomes", "weights", "days of a year", "as a domain"])
def test_identifiers_of_several_rows_are_warned_of(name):
    """Of 749 patients with three visits each 16 numbers were released, and nothing was said."""
    rng = np.random.default_rng(0)
    values = {
        "visits": rng.integers(100_000, 100_800, 2200),
        "far apart": rng.choice(rng.integers(100_000, 1_000_000, 700), 2200),
        "incomes": rng.lognormal(10.3, 0.5, 2200).round(-2),
        "weights": rng.normal(5000, 200, 2200).round(),
        "days of a year": rng.integers(1, 366, 2200),
        "as a domain": rng.integers(100_000, 100_800, 2200),
    }[name]
    ends = (100_000.0, 101_000.0) if name == "as a domain" else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SuspectValuesWarning)
        entries = Numbered(values=values.astype(float), whole=True)
        number_column("number", entries, cells=16, ends=ends, nulls=False, whole=True)
    told = [str(each.message) for each in caught if each.category is SuspectValuesWarning]
    assert ["most of them in a few rows each, as identifiers do" in each for each in told] == [True] * (
        name in ("visits", "far apart")
    )


@pytest.mark.parametrize(
    ("file", "separator"), [("adult.data", ","), ("bank-full.csv", ";"), ("bank.csv", ";"), ("student-mat.csv", ";")]
)
def test_numbers_of_real_tables_are_no_identifiers(file, separator):
    frame = table(file, sep=separator, header=None if file == "adult.data" else "infer")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SuspectValuesWarning)
        for name in frame.select_dtypes("int"):
            entries = Numbered(values=frame[name].to_numpy(float), whole=True)
            number_column(str(name), entries, cells=16, ends=None, nulls=False, whole=True)
    assert not [each for each in caught if "identifiers" in str(each.message)]


def test_a_release_that_hides_nothing_from_attackers_is_warned_of(people):
    """Plans said not to publish it, but no warning or certificate did, and of columns that tell nothing, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(people, **asked(mechanism=Sequential(contexts=2, components=1), nulls="level"))
    for raw, best, changed, idle, beyond in (
        (0.68, 0.72, 0.5, True, False),
        (0.68, 0.72, 0.0, False, False),
        (0.90, 0.70, 0.5, False, False),
        (0.62, 0.62, 0.5, False, False),  # of so few rows by chance: a third of it was told in truth
        (0.49, 0.50, 0.5, False, False),  # nobody tells anything
        (0.90, 0.74, 0.5, False, False),  # above .731 by chance
        (0.98, 0.84, 0.0, False, True),
        (0.98, 0.95, 0.0, True, True),  # .90 of what the raw columns tell
    ):
        shares = dict.fromkeys(plan.kept.changed, changed)
        attacks = tuple(replace(each, auc=(best, best), shown=0.0) for each in plan.held.attacks)
        held = replace(plan.held, raw=(raw, raw), attacks=attacks)
        own = replace(plan.fitted, held=held, kept=replace(plan.kept, changed=shares))
        assert (own.is_idle, bool(own.beyond)) == (idle, beyond)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            own.warn(None)
        said = " ".join(str(each.message) for each in caught)
        assert [text in said for text in ("as well as from the raw columns", "that epsilon allows")] == [idle, beyond]
        rows, keys = dict(own.text(None)), {each.key for each in _measured(own, own=True)}
        assert ("RAW COLUMNS TELL" in rows["hidden"], "by over two" in rows["hidden"]) == (idle, beyond)
        assert ("less than two" in rows["hidden"]) == (best == 0.74)
        (told,) = (each.text for each in _measured(own, own=True) if each.key == "table-attacks")
        few = raw == 0.62
        assert ("or whether anything is hidden" in rows["hidden"], "does not say whether" in told) == (few, few)
        assert "the test is too small to say how much is lost" in rows["hidden"]  # as on the certificate
        assert f"AUC of {best:.2f} +- 0." in rows["hidden"]
        assert ("AUC 0.72 +- 0.09, and 0.68 +- 0.09)" in said) == (idle and not beyond)
        assert ("Do not publish" in rows.get("next", "")) == (idle or beyond)
        assert ("table-idle" in keys, "table-beyond" in keys) == (idle, beyond)


def test_attackers_of_the_raw_columns_learn_from_as_much_as_those_of_the_release(people):
    """Trees alone, from fewer rows, made raw columns seem to tell too little, and a release as much as they."""
    learned = []

    def blind(rows, secrets, asked, groups):
        learned.append(len(rows))
        return np.full((len(asked), groups), 1 / groups)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        patch.setattr(measured, "_guess", blind)
        plan = calibrate(people, **asked())
    assert learned[-1] == plan.planned + (len(people) - plan.planned) // 2
    assert min(plan.held.raw) > 0.6  # the network knows something


@pytest.mark.parametrize(
    ("rows", "tried", "tail", "hint"),
    [
        ((700, 200), (), 0.9, "Hold out more rows: mechanism=Sequential(holdout=0.4)."),
        ((700, 200), (), 1.7, "The table is too small"),  # 540 rows would not settle the network
        ((700, 130), (), 0.9, "Hold out more rows: mechanism=Sequential(holdout=0.5)."),  # it was too small
        ((700, 120), (), 0.9, "The table is too small"),
        (
            (300, 180, 120),
            (),
            0.9,
            "Merge secrets into two of similar size, and say mechanism=Sequential(holdout=0.25)",
        ),
        ((3000, 1800, 120), (0, 1), 0.9, "Merge rare secrets into larger ones."),
        ((3000, 1800, 200), (0, 1), 0.9, "Hold out more rows: mechanism=Sequential(holdout=0.4)."),
        ((900_000, 99_000, 1000), (0, 1), 0.9, "Merge rare secrets into larger ones."),  # 20,000 rows are held out
    ],
)
def test_the_hint_of_secrets_that_are_not_attacked_counts_the_rows(plan, rows, tried, tail, hint):
    own = replace(
        plan.fitted,
        rows_per_secret=dict(zip("abc", rows, strict=False)),
        rows=sum(rows),
        planned=sum(rows),
        held=replace(plan.held, secrets=tried) if tried else None,
        others=tuple(replace(each, tail=tail) for each in plan.others),
        options=replace(plan.options, holdout=0.2),
    )
    assert _attack_hint(own).startswith(hint)
