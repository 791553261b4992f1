"""The plan of a whole table: what it refuses, what a file may not say, and what it states is so."""

import json
import math
import re
import warnings
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from certificate_cases import set_in
from html_page import Page

from puffer_frames import (
    Bootstrap,
    Certificate,
    Contamination,
    Layout,
    Sequential,
    WeakGuaranteeWarning,
    WideNoiseWarning,
    audit,
    calibrate,
    certificate_of,
    compose,
    estimate,
    load_plan,
)
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PlanFileError,
    PriorError,
    UncoveredFrameError,
)
from puffer_frames.mechanisms.sequential import fitted, measured, mechanism
from puffer_frames.mechanisms.sequential import mechanism as text_of_tables
from puffer_frames.mechanisms.sequential.measured import _ratio, _shown
from puffer_frames.mechanisms.sequential.mechanism import _measured, table_record, table_rows
from puffer_frames.verbs.estimating.bounds import WorstCase
from puffer_frames.verbs.plans import plan as plan_module
from puffer_frames.verbs.plans.file import digest_of

OPTIONS = Sequential(components=2, contexts=3, known="own", holdout=0.3)


@pytest.fixture(autouse=True, scope="module")
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "_FEW_SIMULATED", 1500)
        patch.setattr(fitted, "_SIMULATED", 1500)
        patch.setattr(measured, "_SIMULATED", 1000)
        patch.setattr(measured, "_ROUNDS", 10)
        patch.setattr(fitted, "WARNED", 100.0)
        patch.setattr(mechanism, "WARNED", 100.0)
        yield


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 1500)
    first = group == "a"
    town = np.where(rng.random(1500) < 0.3, np.where(first, "x", "y"), rng.choice(["x", "y", "z"], 1500))
    frame = pd.DataFrame({"group": group, "town": town, "own": rng.random(1500) < np.where(first, 0.65, 0.35)})
    return frame.assign(
        code=frame["town"].map({"x": 1, "y": 1, "z": 2}),
        age=rng.integers(20, 60, 1500) + 4 * first,
        pay=rng.normal(0, 1, 1500).round(3),
    )


def asked(**options):
    return {"secret": "group", "epsilon": 1.0, "mechanism": OPTIONS} | options


@pytest.fixture(scope="module")
def plan(quick, people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        return calibrate(people, **asked())


def test_what_a_plan_says_and_the_loss_of_its_rows(plan, people):
    text = str(plan)
    assert "AUC of" in text
    assert "code of town" in text
    assert plan.reader_loss == 3.0  # one for each drawn column but the known one
    assert plan.cap == 32.0
    assert plan.names == ("town", "own", "age", "pay")
    released = plan.release(people, rng=1)
    for name in plan.names:
        true = (released[name] != people[name]).mean() if name in ("town", "own") else None
        assert true is None or abs(true - plan.expected_error[name]) < 0.04
    losses = plan.loss(plan.release(people))
    assert list(losses.columns) == list(plan.beliefs) == ["fitted", "refit 1", "refit 2", "refit 3"]
    assert 0.1 < losses.max().max() <= 1.0
    with pytest.raises(CalibrationError, match="levels that were counted"):
        plan.loss(plan.release(people).assign(age=21.5))


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_an_audit_finds_a_column_that_was_put_back_where_it_would_have_changed(plan, people):
    released = plan.release(people)
    certificate = certificate_of(released)
    shares, found = certificate.table.changed, {}
    for name in shares:
        report = audit(people, released.assign(**{name: people[name]}), certificate=certificate)
        (found[name],) = (each.result for each in report.checks if each.name == "raw columns")
    assert found == {
        name: "failed" if 1500 * (share - 0.005) > 13.8 else "information" for name, share in shares.items()
    }
    assert "failed" in found.values()
    rare = replace(certificate, table=replace(certificate.table, changed=dict.fromkeys(shares, 0.01)))
    report = audit(people, released.assign(town=people["town"]), certificate=rare)
    assert [each.result for each in report.checks if each.name == "raw columns"] == ["information"]


def test_its_certificate(plan, people, tmp_path):
    released = plan.release(people)
    certificate = certificate_of(released)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    keys = [statement.key for statement in certificate.statements]
    assert {"table-loss", "table-readers", "table-refits", "table-attacks", "table-planned", "table-some"} <= set(keys)
    assert certificate.table.derived == {"code": "town"}
    assert certificate.table.planned == plan.planned == 1050
    assert certificate.table.attacks["auc"] == max(plan.held.best)
    assert "at most e^1 = 2.72" in str(certificate)
    with pytest.raises(CalibrationError, match="column by column"):
        compose([released, plan.release(people)])
    with pytest.raises(ArgumentError, match="column by column"):
        estimate(released, target="population")
    released.puffer.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Compute figures from the file as it is" in page
    assert 'figures.mean("X", by="GROUP", support=(LOWEST, HIGHEST))' in Page(page).text
    assert "replaced at random" in page
    assert "for rare secrets (where the network is least reliable) as for others" in page
    assert "Under other networks the promise may be weaker" in page
    assert "Besides the attacks above, no audit" in page
    assert "the key of the release or the plan" in page
    assert "there are at best the weaker limits" in page
    assert page.count("An exponent far above epsilon") == 1
    assert plan.check(people.head(500)).verdict == "covered"
    assert "under the network" in plan.check(people.head(500)).why
    assert "has moved" not in plan.check(people).why + plan.check(people.head(500)).why
    other = people.assign(pay=people["pay"] / 10, age=people["age"].clip(upper=50))  # another unit within the range
    assert plan.check(other).why.endswith("the law of age, pay has moved by more than chance explains")


def test_more_beliefs_are_lifted_for_when_asked(people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        patch.setattr(fitted, "_SMALL", 0)
        patch.setattr(fitted, "_RARE", 0)
        plain = calibrate(people, **asked())
        two = calibrate(people, **asked(beliefs=("fitted", Bootstrap(2))))
    assert plain.beliefs == ("fitted",)
    assert two.beliefs == ("fitted", "refit 1", "refit 2")
    assert two.loss(two.release(people)).max().max() <= 1.0


def test_the_hint_of_a_refused_table_asks_for_as_many_networks_as_it_takes():
    target = SimpleNamespace(epsilon=1.0)  # figures of the students of mathematics by sex: 24 are enough, 12 are not
    refused = SimpleNamespace(is_refused=True, refits=3, worst_tail=2.8, request=SimpleNamespace(target=target))
    assert fitted.TableFit.more_beliefs.fget(refused) == 'beliefs=("fitted", Bootstrap(24))'


def test_a_table_that_settles_no_large_network_is_planned_as_a_small_one(people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "_SMALL", 0)
        patch.setattr(fitted, "_RARE", 0)
        patch.setattr(fitted.TableFit, "is_refused", property(lambda plan: plan.refits == 0))
        found = calibrate(people, **asked(mechanism=Sequential(components=3, contexts=3)))
    assert (found.refits, len(found.plan.laws[0].trees)) == (3, 2)


def test_a_table_with_large_losses_under_other_networks_gets_smaller_steps(people, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        patch.setattr(fitted.TableFit, "is_far", property(lambda plan: plan.step == 0.25))
        found = calibrate(people, **asked())
        own = calibrate(people, **asked(mechanism=replace(OPTIONS, step=0.3)))
        found.save(tmp_path / "plan.json")
        assert "step 0.15)" in str(load_plan(tmp_path / "plan.json"))
    assert [found.step, own.step] == [0.15, 0.3]
    assert {step.most for step in found.plan.steps} == {0.15 * found.plan.epsilon}
    assert found.held is not None
    certificate = certificate_of(own.release(people))
    assert certificate.table.step == 0.3


def test_another_table_is_a_belief(people, tmp_path):
    other = people.sample(1200, random_state=1).reset_index(drop=True)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"REFUSED": 100.0, "_SMALL": 0, "_RARE": 0}.items():
            patch.setattr(fitted, name, value)
        plan = calibrate(people, **asked(beliefs=("fitted", other)))
        plan.save(tmp_path / "plan.json")
        again = load_plan(tmp_path / "plan.json")
    assert again.beliefs == ("fitted", "other table")
    assert "or of its trees fitted to another table" in " ".join(str(again).split())
    losses = again.loss(again.release(people))
    assert losses.max().max() <= 1.0
    assert (losses["fitted"] != losses["other table"]).any()
    for broken, error in (
        (other.drop(columns="age"), ColumnNotFoundError),
        (other[other["group"] == "a"].reset_index(drop=True), ArgumentError),
        (other.assign(town="elsewhere"), CalibrationError),
        (other.head(0), PriorError),
    ):
        with pytest.raises(error) as caught:
            calibrate(people, **asked(beliefs=("fitted", broken)))
        assert "elsewhere" not in str(caught.value)


def test_attacks_are_on_the_secrets_that_have_rows_enough(people, tmp_path):
    rare = people.assign(group=people["group"].where(people.index % 37 != 5, "c"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        with pytest.warns(WeakGuaranteeWarning, match="no attack was tried on 'c'"):
            plan = calibrate(rare, **asked())
        with pytest.warns(WeakGuaranteeWarning, match="no attack was tried on 'a', 'b', 'c'"):
            few = calibrate(rare.head(120), **asked())
    assert (plan.held.secrets, len(plan.held.raw), few.held) == ((0, 1), 2, None)
    none = certificate_of(few.release(rare.head(120)))  # is said as loudly as of one secret
    assert "table-few-attacked" in none.warnings
    for text in (str(few), str(none), few.release(rare.head(120)).puffer.__repr__()):
        assert "NO ATTACK WAS TRIED" in text
    (said,) = (one.text for one in none.statements if one.key == "table-sizes")  # it was not there
    assert "whether the rarest has fewer than 20 rows, or at least 20, 100 or 1,000, and that of fewer" in said
    assert "NOT attacked, of too few rows: 'c'" in re.sub(r"\s+", " ", str(plan))
    certificate = certificate_of(plan.release(rare))
    assert "those of the 2 of 3 secrets" in re.sub(r"\s+", " ", str(certificate))
    needed = f"60 held-out rows of a secret to try, which about {math.ceil(60 / plan.options.holdout)} rows of it"
    assert needed in re.sub(r"\s+", " ", str(certificate))
    assert certificate.warnings == ("table-few-attacked",)
    assert "table-sizes" in keys_of(plan.release(rare))
    other = certificate_of(plan.release(rare.head(1400), allow_other_frame=True))
    told = " ".join(one.text for one in other.statements)
    assert "NO ATTACK WAS TRIED ON 'c':" in told  # how many rows it had in the table of the plan is not said
    assert {one.key for one in other.statements} & {"table-sizes", "table-not-here"} == {"table-not-here"}
    assert ("+-" in str(certificate), "+-" in str(other)) == (True, False)
    certificate.report(tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    (rows,) = re.findall(r"NO ATTACK WAS TRIED ON 'c' \(at least (\d+) rows\)", text)[:1]
    assert int(rows) == max(size for size in (20, 100, 1000) if size <= (rare["group"] == "c").sum())
    allowed = 1 / (1 + math.exp(-plan.request.target.epsilon))
    (printed,) = re.findall(r"with an AUC above ([\d.]+) on average\. This is proved, not measured", text)[:1]
    assert allowed <= float(printed) < allowed + 0.0011


def test_expected_changes_follow_from_the_plan_and_are_near_what_a_release_does(plan, people, tmp_path):
    """Of levels, of cells and of functions of other columns; a file has them, and they are on the certificate."""
    released = plan.release(people, rng=3)
    changes, certificate = plan.changes, certificate_of(released)
    for name in ("town", "own", "code"):
        other = released[name] != people[name]
        assert abs(changes[name].share - other.mean()) < 0.05
        assert abs(changes[name].most - other.groupby(people["group"]).mean().max()) < 0.07
        assert certificate.table.changed[name] == round(changes[name].share, 2)
    assert abs(changes["age"].share - plan.kept.changed["age"]) < 0.05
    assert changes["code"].distance == pytest.approx(changes["code"].share)  # its values are 1 and 2
    with pytest.raises(ArgumentError, match="expected share of changed values"):
        plan.release(people, layout=Layout(publish="expected_error"))
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").changes == changes
    with_none = [replace(step, moves=None) for step in plan.plan.steps]
    earlier = replace(plan.fitted, plan=replace(plan.plan, steps=tuple(with_none)))
    assert not table_record(earlier).changed
    assert not {s.key for s in _measured(earlier, own=True)} & {"table-changed", "table-figures"}
    plain = certificate.to_dict()
    over = dict.fromkeys(plain["table"]["changed"], 7.0)
    for name, value, message in (
        ("changed", {}, "shares of changed values of other columns"),
        ("changed", over, r"table\.changed\.town"),
        ("changed_most", {**plain["table"]["changed"], "age": "much"}, r"table\.changed_most\.age"),
        ("moved", 3, r"table\.moved"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Certificate.from_dict(plain | {"table": plain["table"] | {name: value}})
    earlier = {name: entry for name, entry in plain["table"].items() if name not in ("attacks", "moved")}
    for table in (plain["table"], earlier | {"smoothing": 50, "moved": {}, "later": [1]}):  # as a signature covers it
        written = json.dumps(Certificate.from_dict(plain | {"table": table}).to_dict()["table"], sort_keys=True)
        assert written == json.dumps(table, sort_keys=True)
    with pytest.raises(ArgumentError, match="table-figures"):
        Certificate.from_dict(
            plain | {"statements": [one for one in plain["statements"] if one["key"] != "table-figures"]}
        )
    certificate.report(tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text())
    share = f"about {100 * certificate.table.changed['town']:.0f} %"
    assert page.row("town")[1] == share
    assert "at most the share of its values that change" in page.text
    assert page.row("networks beyond the beliefs")[0].endswith("in 99 % of rows")


def test_a_plan_of_many_columns_is_one_screen(plan, monkeypatch):
    monkeypatch.setattr(text_of_tables, "_MOST_SHOWN", 2)
    monkeypatch.setattr(text_of_tables, "_FEW_SECRETS", 1)
    monkeypatch.setattr(plan_module, "_MOST_NAMED", 3)
    text = re.sub(r"\s+", " ", str(plan))
    assert "release town, own, code and 2 more columns, hide group" in text
    assert "and 2 more (contexts)" in text
    changed = sorted(plan.kept.changed.items(), key=lambda entry: -entry[1])
    assert f"2 columns, each at least {math.floor(100 * (1 - changed[2][1]))} % unchanged" in text
    first, second = plan.kept.changed_of[changed[0][0]]
    low, high = sorted([(first, "a"), (second, "b")])
    assert f"from {100 * low[0]:.0f} % for {low[1]!r} to {100 * high[0]:.0f} % for {high[1]!r}" in text
    lines = [f" {name} {100 * (1 - share):.0f} %" in text for name, share in changed]
    assert lines == [True, True, False, False]


def test_what_to_do_next_is_said_where_something_stands_out(plan, people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_of_tables, "_MUCH", 0.0)
        names = sorted(plan.kept.changed, key=lambda name: -plan.kept.changed[name])[:3]
        assert f"Leave out {', '.join(names)}," in dict(table_rows(plan.fitted))["next"]
        own = replace(plan.fitted, held=replace(plan.held, raw=(0.7, 0.7)))
        patch.setattr(fitted.HeldOut, "best", (0.72, 0.72))
        patch.setattr(fitted.HeldOut, "shown", 0.5)
        assert "Do not publish this if that is too much" in dict(table_rows(own))["next"]
        patch.setattr(fitted.HeldOut, "best", (0.99, 0.99))
        assert "Do not publish this as it is" in dict(table_rows(plan.fitted))["next"]
        certificate = certificate_of(plan.release(people))
        assert "table-beyond" in certificate.warnings
        assert str(certificate).startswith(
            "Certificate of pure Pufferfish privacy, epsilon = 1; attackers who were tried TOLD MORE than that"
        )


def test_what_is_far_from_epsilon_is_refused(people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 0.5)
        with pytest.raises(CalibrationError, match=r"networks that are fitted again[^$]*Bootstrap\(80\)"):
            calibrate(people, **asked(beliefs=("fitted", Bootstrap(5))))
        patch.setattr(fitted, "REFUSED", 100.0)
        patch.setattr(fitted.HeldOut, "shown", 1.5)
        with pytest.raises(CalibrationError, match="attackers") as caught:
            calibrate(people, **asked())
        assert "allow_unaudited" in str(caught.value)
        bold = calibrate(people, **asked(mechanism=Sequential(contexts=2, allow_unaudited=True)))
        certificate = certificate_of(bold.release(people))
        assert "table-exceeds" in certificate.warnings
        assert "table-beyond" not in certificate.warnings
        patch.setattr(fitted.HeldOut, "shown", 0.0)
        assert "and one above 0.732 of more than epsilon." in " ".join(
            str(certificate_of(bold.release(people))).split()
        )
        assert "TOLD MORE than that\n" in str(certificate)


def test_a_secret_that_is_refused_is_called_the_secret(people):
    with pytest.raises(ArgumentTypeError, match="the secret column 'group' must be of strings"):
        calibrate(people.assign(group=people.index % 3 + 0.5), **asked())


@pytest.mark.parametrize(
    ("missing", "hint"), [("?", r"to_numeric\(frame\['chol'\]"), ("none", "Keep the 60 most frequent labels")]
)
def test_the_hint_of_too_many_labels_sees_numbers_that_a_mark_made_text(people, missing, hint):
    text = pd.Series([str(number % 90) for number in range(len(people))]).where(people.index > 0, missing)
    with pytest.raises(ArgumentError, match=f"at most 64 different labels.*\n.*\n.*{hint}"):
        calibrate(people.assign(chol=text if missing == "?" else "c" + text), **asked())


def test_without_held_out_rows_no_attack_is_claimed(people):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(people, **asked(mechanism=Sequential(contexts=2, holdout=0.0)))
    assert plan.held is None
    assert plan.planned == 1500
    keys = {statement.key for statement in certificate_of(plan.release(people)).statements}
    assert "table-few-attacked" in keys
    assert "table-attacks" not in keys


FIELDS = {
    "epsilon": (("plan", "epsilon"), 2.0),
    "reserve": (("plan", "reserve"), 0.0),
    "reader": (("plan", "steps", 0, "reader_cap"), 0.5),
    "unknown": (("options", "known"), []),
    "attack": (("held", "raw", 0), 1.47),
    "other": (("others", 0, "auc"), 1.47),
}
"""Of a plan, and what they become."""


def edits():
    def first_table(plan):
        return plan["plan"]["plan"]["steps"][0]["weights"]["entries"]

    def weights(plan):
        row = first_table(plan)[0][0][0]
        row[0], row[1] = row[0] - 2, row[1] + 1

    def cap(plan):
        table = first_table(plan)[0]
        total = sum(table[0][0])
        for x in range(len(table[0])):
            table[0][x] = [total - (len(table[0]) - 1), *[1] * (len(table[0]) - 1)]

    def law(plan):
        plan["plan"]["plan"]["laws"][0]["shares"]["entries"][0][0] += 0.1

    def twice(plan):
        steps = plan["plan"]["plan"]["steps"]
        steps[0]["column"] = steps[1]["column"]

    def source(plan):
        next(c for c in plan["plan"]["columns"] if c["name"] == "code")["source"] = "age"

    def edges(plan):
        column = next(c for c in plan["plan"]["columns"] if c["name"] == "age")
        column["edges"]["entries"][0] += 5.0

    def tree(plan):
        tree = plan["plan"]["plan"]["laws"][0]["trees"][0]
        tree["parents"] = [0, *tree["parents"][1:]]

    def rare(plan):
        row = first_table(plan)[0][0][0]
        row[row.index(max(row))] += row[-1] - 3
        row[-1] = 3

    def step(plan):
        plan["plan"]["options"]["step"] = plan["plan"]["request"]["mechanism"]["step"] = 1e-300
        for one in plan["plan"]["plan"]["steps"]:
            one["most"] = 1e-300

    def again(plan):
        laws = plan["plan"]["plan"]["laws"]
        laws.append(laws[0])

    def sees(plan):
        step = next(one for one in plan["plan"]["plan"]["steps"] if one["reader_cap"] == 0.0)
        row = step["weights"]["entries"][0][1][0]
        row[0], row[1] = row[0] - 1000, row[1] + 1000

    def moves(plan):
        plan["plan"]["plan"]["steps"][0]["moves"]["entries"][0][0][0] += 0.1

    def share(plan):
        plan["plan"]["kept"]["pairs"] += 1.0

    def unrelated(plan):
        plan["plan"]["kept"]["unrelated"] = [["age", "height"]]

    def rows(plan):
        plan["plan"]["kept"]["counts"]["town"][0][0] += 1

    def secrets(plan):
        town = plan["plan"]["kept"]["counts"]["town"]
        town[0][0], town[1][0] = town[0][0] - 1, town[1][0] + 1

    def releases(plan):
        plan["plan"]["request"]["repeats"]["releases"] = 2

    edited = (share, unrelated, rows, secrets, releases, weights, cap, law, twice, source, edges, tree, rare, step)
    edited += (again, sees, moves)
    found = [pytest.param(edit, id=edit.__name__) for edit in edited]
    for name, (way, value) in FIELDS.items():
        found.append(pytest.param(lambda plan, way=way, value=value: set_in(plan["plan"], way, value), id=name))
    return found


@pytest.mark.parametrize("edit", edits())
def test_edited_files_are_refused(plan, tmp_path, edit):
    path = tmp_path / "plan.json"
    plan.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document["plan"])
    document["digest"] = digest_of(document["plan"], schema=document["schema"])
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(PlanFileError):
        load_plan(path)


@pytest.mark.parametrize("what", ["likelihood", "rows"])
def test_another_network_and_other_counts_are_refused_for_the_rows_of_the_plan(plan, people, tmp_path, what):
    path = tmp_path / "plan.json"
    plan.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    shares = document["plan"]["plan"]["plan"]["laws"][0]["shares"]["entries"]
    if what == "rows":
        shares = document["plan"]["plan"]["kept"]["counts"]["town"][0]
    shares[0], shares[1] = shares[1], shares[0]
    document["digest"] = digest_of(document["plan"], schema=document["schema"])
    path.write_text(json.dumps(document), encoding="utf-8")
    edited = load_plan(path)
    with pytest.raises(PlanFileError, match=what):
        edited.release(people)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"components": 0}, ArgumentError),
        ({"contexts": 1.5}, ArgumentError),
        ({"cells": 1}, ArgumentError),
        ({"step": 0.0}, ArgumentError),
        ({"step": 1e-13}, ArgumentError),  # odds that floats cannot tell from 1 lift nothing: a loss of 4.6 epsilon
        ({"smoothing": 5e-324}, ArgumentError),
        ({"known": 5}, ArgumentTypeError),
        ({"preserve": np.array(["marginal"])}, ArgumentError),
        ({"step": 1.1}, ArgumentError),
        ({"reader_cap": 1e-4}, ArgumentError),
        ({"reader_cap": 9.0}, ArgumentError),
        ({"cap": math.inf}, ArgumentError),
        ({"holdout": 0.6}, ArgumentError),
        ({"preserve": "mean"}, ArgumentError),
        ({"derived": "all"}, ArgumentError),
        ({"smoothing": "50"}, ArgumentTypeError),
        ({"allow_unaudited": 1}, ArgumentTypeError),
    ],
)
def test_options_out_of_range(options, error):
    with pytest.raises(error, match=next(iter(options))):
        Sequential(**options)


def test_shown_losses_are_no_more_than_there_are():
    """Of guesses whose likelihood ratio is known: lower bounds hold, and are near for many rows."""
    rng = np.random.default_rng(0)
    secrets = rng.integers(0, 2, 40_000)
    told = rng.random(40_000) < np.where(secrets == 0, 0.6, 0.6 * math.exp(-1.0))
    guess = np.where(told[:, None], [0.8, 0.2], [0.4, 0.6])
    assert 0.9 < _shown(secrets, guess, attackers=2) <= 1.0
    over = [_shown(rng.permutation(secrets), guess, attackers=1) > 0 for _ in range(40)]
    assert sum(over) <= 6
    assert _ratio(np.zeros(9, dtype=bool), np.ones(9, dtype=bool), failure=0.1) == 0.0


ALWAYS = {
    *("beliefs", "records", "other-columns", "per-record", "learned"),
    *("table", "table-loss", "table-readers", "table-refits", "table-planned", "table-laws", "table-some"),
    *("table-again", "table-shifted", "channel-unlike", "channel-levels", "channel-draw"),
    *("table-changed", "table-figures"),
}


def keys_of(released):
    return {statement.key for statement in certificate_of(released).statements}


def test_when_each_sentence_is_there(people):
    labels = people[["group", "town", "own"]].assign(pet=people["town"] + "!", job=people["town"].str.upper())
    quick = {"contexts": 2, "components": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plain = calibrate(labels, **asked(mechanism=Sequential(holdout=0.0, derived=None, **quick))).release(labels)
        whole = calibrate(people, **asked(nulls="level", mechanism=Sequential(**quick)))
        patch.setattr(fitted, "WARNED", 0.01)
        patch.setattr(fitted, "_UNCHANGED", 1.0)
        with (
            pytest.warns(WeakGuaranteeWarning, match="networks that are fitted again"),
            pytest.warns(WeakGuaranteeWarning, match="fewer than 1 % of the cells are changed"),
        ):
            told = calibrate(people, **asked(mechanism=Sequential(holdout=0.0, **quick)))
        told = told.release(people, rng=1)
    assert keys_of(plain) == ALWAYS | {"table-few-attacked", "table-sizes", "table-unrelated"}  # of copies of a column
    more = {"table-attacks", "table-numbers", "table-derived", "channel-missing"}
    assert keys_of(whole.release(people)) == ALWAYS | more
    other = whole.release(people.head(900), allow_other_frame=True)
    assert keys_of(other) == ALWAYS | more | {"other-rows", "table-other-rows", "table-not-here"}
    with pytest.raises(ArgumentError, match="share of changed values is not known"):
        estimate(other)
    assert keys_of(told) >= ALWAYS | {"table-far", "table-unchanged", "warning-seed"}
    assert certificate_of(told).warnings == (
        *("warning-seed", "table-few-attacked", "table-far", "table-unchanged", "table-shares"),
    )


def test_declared_levels_are_not_called_learned(people):
    labels = people[["group", "town", "own"]].assign(pet=people["town"] + "!")
    quick = Sequential(holdout=0.0, derived=None, contexts=2, components=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(labels, **asked(mechanism=quick, domain={"town": [*sorted(set(labels["town"])), "far"]}))
    (said,) = (one.text for one in certificate_of(plan.release(labels)).statements if one.key == "channel-levels")
    assert "there are in own, pet: they were learned from the table" in said
    assert said.endswith("Those of town were declared.")


def test_a_column_before_the_one_that_it_is_a_function_of(people):
    frame = people[["group", "code", "town", "age", "own"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(frame, **asked(mechanism=Sequential(contexts=2, components=1, holdout=0.0)))
    assert plan.names == ("town", "age", "own")
    assert list(plan.release(frame).columns) == ["code", "town", "age", "own"]  # its own rows


def test_figures_are_on_the_safe_side_of_floats(people, plan):
    with pytest.raises(ArgumentError, match=r"epsilon must be from 0\.0001 to 100"):
        calibrate(people, **asked(epsilon=5e-5))
    told = " ".join(one.text for one in _measured(plan.fitted, own=True))
    auc = float(re.search(r"the best had an AUC of ([\d.]+) \+- 0\.\d\d \(", told)[1])
    shown = float(re.search(r"(?:guesses prove no loss|attacks prove that some rows lose ([\d.]+))", told)[1] or 0)
    assert max(plan.held.best) <= auc < max(plan.held.best) + 0.01
    assert plan.held.shown - 0.01 < shown <= max(0, plan.held.shown)


def test_a_known_column_is_drawn_by_itself_and_contradictions_are_other_rows(people):
    quick = {"contexts": 2, "components": 1, "holdout": 0.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        known = calibrate(people, **asked(mechanism=Sequential(known=["code", "town"], **quick)))
        plan = calibrate(people, **asked(mechanism=Sequential(**quick)))
    assert {known.names[step.column]: step.reader_cap for step in known.plan.steps}["code"] == 0.0
    other = people.assign(code=people["code"].where(people.index > 0, 3 - people["code"]))
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(other)
    with pytest.raises(ColumnNotFoundError):
        plan.loss(people.drop(columns="town"))
    with pytest.raises(PriorError):
        plan.loss(people.head(0))
    with pytest.raises(CalibrationError):
        plan.loss(people.assign(age="x"))
    with pytest.raises(PriorError, match="finite"):
        plan.release(people.assign(pay=np.inf), allow_other_frame=True)
    assert "loss" in dir(plan)


@pytest.mark.parametrize("beliefs", ["empirical", "population", ("fitted", Contamination(0.1))], ids=str)
def test_other_beliefs_are_refused(people, beliefs):
    with pytest.raises(ArgumentError, match="beliefs"):
        calibrate(people, **asked(beliefs=beliefs))


def test_a_record_of_a_table_has_its_sentences_and_figures(plan, people):
    record = certificate_of(plan.release(people)).to_dict()
    for key in ("table-loss", "table-readers", "table-planned", "table-laws", "table-some", "table-again"):
        left = [one for one in record["statements"] if one["key"] != key]
        with pytest.raises(ArgumentError, match=key):
            Certificate.from_dict(record | {"statements": left})
    with pytest.raises(ArgumentError, match="without its figures"):
        Certificate.from_dict({name: value for name, value in record.items() if name != "table"})


def test_integers_stay_within_a_domain_whose_ends_are_none(people):
    frame = people.assign(age=people["age"] - 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(
            frame, **asked(domain={"age": (10.5, 19.5)}, mechanism=Sequential(contexts=2, components=1, holdout=0.0))
        )
    released = plan.release(frame)["age"]
    assert released.dtype == frame["age"].dtype
    assert released.between(11, 19).all()


def test_a_missing_value_is_no_constant_for_numbers(people):
    """A column of numbers with missing values was always said to be of less use than a constant."""
    some = people.index % 50 == 0
    frame = people[["group", "town", "age"]].assign(age=people["age"].mask(some), town=people["town"].mask(some))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings("error", "the error of", WideNoiseWarning)
        patch.setattr(fitted, "REFUSED", 100.0)
        plan = calibrate(frame, **asked(epsilon=4.0, nulls="level", mechanism=Sequential(contexts=2, holdout=0.0)))
    numbers, labels = plan.changes["age"], plan.changes["town"]
    released = [plan.release(frame, rng=k)["age"] for k in range(5)]
    moved = np.mean([(each - frame["age"]).abs().mean() for each in released])  # of numbers on both sides
    spread = (frame["age"] - frame["age"].median()).abs().mean()
    assert abs(numbers.distance - moved) < 0.1 * spread
    assert abs(numbers.constant - spread) < 0.1 * spread
    assert abs(labels.constant - (1 - frame["town"].value_counts(normalize=True, dropna=False).max())) < 0.03
    assert not plan.useless_columns


def test_the_bounds_of_a_mean_hold_whatever_changed():
    """Against all raw tables with one other group and one other value: of six rows at 95 %, one more than expected."""
    values, groups = (2, 4, 9, 5, 0, 10), "aaabbb"
    own = np.array(values[:3], dtype=float)
    found = WorstCase(value=5.0, least=own, most=own, ends=(0, 10), rows=6, shares=(0.0, 0.0))
    low, high = np.add(found.interval(0.95), 5.0)
    assert (low, high) == pytest.approx(((2 + 0 + 0) / 3, (9 + 10 + 10) / 3))
    means = []
    for moved, changed, other in product(range(6), range(6), (0, 10)):
        raw_groups = "".join("ba"[group == "b"] if k == moved else group for k, group in enumerate(groups))
        raw = [other if k == changed else value for k, value in enumerate(values)]
        means.append(np.mean([value for value, group in zip(raw, raw_groups, strict=True) if group == "a"]))
    assert low <= min(means) < 4 < 7 < max(means) <= high
    cells = replace(found, least=own - 1, most=own + 1, shares=())
    assert np.add(cells.interval(0.95), 5.0).tolist() == [4.0, 6.0]


def test_a_whole_table_has_bounds_of_means_and_counts(plan, people):
    age, bins = {"support": (20, 64)}, [20, 30, 50, 64]
    groups = {"town": people["town"], "own": people["own"]}
    for seed in range(5):
        figures = estimate(plan.release(people, rng=seed))
        pairs = [(figures.mean("age", **age), people["age"].mean())]
        pairs.append((figures.histogram("age", bins, **age), np.histogram(people["age"], bins)[0]))
        for name, labels in groups.items():
            pairs.append((figures.mean("age", by=name, **age), people["age"].groupby(labels).mean()))
            pairs.append((figures.value_counts(name), labels.value_counts().sort_index()))
        for found, raw in pairs:
            low, high = found.interval()
            for number in (raw, found.value):
                assert np.all(low <= np.array(number)), found.what
                assert np.all(np.array(number) <= high), found.what
            assert np.isnan(found.standard_error).all()
    assert figures.mean("code", by="own").interval(0.99)[1].max() <= 2.0  # no cells: the range of the release
    assert "a bound, and wide" in str(found)
    assert "Bounds from a whole table" in str(figures)
    assert not any("nothing is known" in note for note in figures.mean("age", **age).notes)
    lost = figures.mean("age", by="town", **age)
    assert np.array(lost.interval()).tolist() == [[20] * 3, [64] * 3]
    assert lost.notes[0].startswith("nothing is known of any of them at 95 %")
    few = figures.value_counts("town")
    assert not any("nothing is known" in note for note in few.notes)
    assert figures.mean("age", support=range(20, 65)).interval() == figures.mean("age", **age).interval()
    part = plan.release(people, rng=1)[["age"]]
    assert "town" not in str(estimate(part, plan.release(people, rng=1).puffer.certificate))
    with pytest.raises(UncoveredFrameError, match="those of a whole table, 512 different ones at most; got more"):
        estimate(part + np.arange(1500)[:, None] / 1e6, plan.release(people, rng=1).puffer.certificate)
    for wrong, match in (
        (lambda: figures.mean("age"), "the least and the largest value that there may be; got nothing"),
        (lambda: figures.mean("age", support=1), "got a step alone"),
        (lambda: figures.mean("age", support=(64, 20)), "the larger value first"),
        (lambda: figures.mean("code", by="age"), "Hint: Others are: town, own, code"),
        (lambda: figures.mean("age", support=(30, 40)), "a narrower range"),
        (lambda: figures.mean("age", by="pay", **age), "by must be"),
        (lambda: figures.mean("age", weights="code", **age), "weights"),
        (lambda: figures.value_counts("age"), r"column must be(.|\n)*\.histogram\(column, bins, support=\(LOWEST"),
        *(
            (lambda f=f: f(), "released column by column")
            for f in (
                lambda: figures.regress("age", on="town"),
                lambda: figures.regress("town", on="age"),
                lambda: figures.var("age", by="own"),
                lambda: figures.corr("age", "pay"),
                lambda: figures.quantile("age"),
            )
        ),
    ):
        with pytest.raises(ArgumentError, match=match):
            wrong()


def test_what_kept_columns_have_beside_a_whole_table(people):
    """Nothing by a changed column is exact, and what was kept is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "REFUSED", 100.0)
        options = asked(public=["age", "town", "own"], mechanism=Sequential(components=1, contexts=2, holdout=0.0))
        released = calibrate(people, **options).release(people, layout=Layout(keep="code"), rng=1)
    figures = estimate(released)
    assert figures.mean("code").interval() == pytest.approx((people["code"].mean(),) * 2)
    for method, role in (("var", "by"), ("quantile", "by"), ("regress", "on")):
        with pytest.raises(ArgumentError):
            getattr(figures, method)("code", **{role: "town"})
