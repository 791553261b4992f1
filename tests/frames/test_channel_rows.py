"""Several columns of labels through one channel: one draw for all of them."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from conftest import build_frame, run
from kinds import entries, other_kind

from puffer_frames import Certificate, Channel, Layout, calibrate, certificate_of, load_plan, privatize
from puffer_frames.errors import ArgumentError, CalibrationError

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")

ROWS = 900
_RNG = np.random.default_rng(11)
GROUP = _RNG.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
JOB = np.where(_RNG.random(ROWS) < 0.4, np.where(GROUP == "a", "clerk", "smith"), _RNG.choice(["clerk", "cook"], ROWS))
TOWN = np.where(_RNG.random(ROWS) < 0.5, np.where((GROUP == "b") & (JOB == "cook"), "x", "y"), "z")
COLUMNS = {
    "group": GROUP.tolist(),
    "job": JOB.tolist(),
    "town": TOWN.tolist(),
    "member": (_RNG.random(ROWS) < 0.5 + 0.4 * (JOB == "cook")).tolist(),
    "id": _RNG.permutation(ROWS).tolist(),
    "age": _RNG.integers(20, 60, ROWS).tolist(),
}
PUBLIC = ["job", "town", "member"]
ASKED = {"secret": "group", "public": PUBLIC, "epsilon": 0.7, "mechanism": "channel"}


def rows_of(columns, names):
    return list(zip(*(columns[name] for name in names), strict=True))


def laws(plan, columns=COLUMNS, secret="group"):
    """The exact law of a released row given each secret, by sums over the raw rows."""
    channel = plan.fitted.channel
    place = {level: k for k, level in enumerate(channel.inputs)}
    found = {}
    for value in dict.fromkeys(columns[secret]):
        own = [place[r] for r, s in zip(rows_of(columns, plan.public), columns[secret], strict=True) if s == value]
        found[value] = channel.matrix[own].mean(axis=0)
    return found


def largest_log_ratio(found):
    return max(
        abs(math.log(p / q))
        for a, b in itertools.combinations(found.values(), 2)
        for p, q in zip(a, b, strict=True)
        if p or q
    )


def test_every_kind_releases_the_same_rows(kind, make_frame):
    """Row numbers say which noise is whose, where the order is of no kind."""
    asked = ASKED | {"rng": 3, "layout": Layout(row_id="id", keep="id", publish="levels")}
    released = privatize(make_frame(COLUMNS), **asked)
    expected = privatize(build_frame(other_kind(kind), COLUMNS), **asked)
    got, want = (sorted(zip(*dict(entries(run(one))).values(), strict=True)) for one in (released, expected))
    assert got == want
    certificate = certificate_of(run(released))
    assert certificate.theorem == "channel"
    assert certificate.public == tuple(PUBLIC)
    assert certificate.channels["town"]["columns"] == PUBLIC
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate


def test_released_rows_have_the_law_of_the_channel():
    frame = pd.DataFrame({name: COLUMNS[name] * 60 for name in COLUMNS})
    plan = calibrate(frame, **ASKED)
    released = plan.release(frame, rng=5)
    channel = plan.fitted.channel
    place = {level: k for k, level in enumerate(channel.outputs)}
    drawn = np.bincount(
        [place[row] for row in released[PUBLIC].itertuples(index=False, name=None)], minlength=len(place)
    )
    inputs = {level: k for k, level in enumerate(channel.inputs)}
    expected = channel.matrix[[inputs[row] for row in rows_of(frame, PUBLIC)]]
    std = np.sqrt((expected * (1 - expected)).sum(axis=0))
    assert (np.abs(drawn - expected.sum(axis=0)) <= 5 * std + 1e-9).all()


@pytest.mark.parametrize(
    "options", [{}, {"mechanism": Channel(radius=0, cap=None)}, {"epsilon": 0.2}, {"epsilon": 2.0}]
)
@pytest.mark.parametrize("public", [PUBLIC, PUBLIC[:2], ["town", "member"]])
def test_the_loss_of_the_whole_row_is_within_epsilon(options, public):
    asked = ASKED | {"public": public, "allow_zero_noise": True} | options
    plan = calibrate(pd.DataFrame(COLUMNS), **asked)
    assert largest_log_ratio(laws(plan)) <= asked["epsilon"] * (1 + 1e-12)


def test_channels_of_single_columns_lose_more_together():
    """Two equal bits against two opposite ones: each column by itself needs nothing, and both tell the secret."""
    columns = {"s": ["a", "a", "b", "b"] * 50, "x": ["0", "1", "0", "1"] * 50, "y": ["0", "1", "1", "0"] * 50}
    frame = pd.DataFrame(columns)
    asked = {"secret": "s", "epsilon": 1.0, "mechanism": Channel(radius=0, cap=None), "allow_zero_noise": True}
    for name in ("x", "y"):
        assert calibrate(frame, public=name, **asked).expected_error[name] <= 1e-9
    plan = calibrate(frame, public=["x", "y"], **asked)
    assert 0.99 <= largest_log_ratio(laws(plan, columns, "s")) <= 1.0 + 1e-12
    assert plan.expected_error["x, y"] > 0.1


def test_rows_that_nobody_has_are_not_released_unless_their_levels_are_declared():
    frame = pd.DataFrame(COLUMNS)
    seen = set(rows_of(COLUMNS, PUBLIC[:2]))
    asked = ASKED | {"public": PUBLIC[:2]}
    plan = calibrate(frame, **asked)
    assert set(plan.fitted.channel.outputs) <= seen
    assert plan.lower_bound == {"job, town": 0.0}
    declared = {"job": ["clerk", "cook", "smith", "nurse"], "town": ["x", "y", "z"]}
    wider = calibrate(frame, **asked, domain=declared)
    assert set(wider.fitted.channel.inputs) == set(itertools.product(*declared.values()))
    assert 0 < wider.lower_bound["job, town"] <= wider.expected_error["job, town"] * (1 + 1e-9)
    assert wider.expected_error["job, town"] <= plan.expected_error["job, town"] * (1 + 1e-9)
    with pytest.raises(ArgumentError, match="all levels of the column 'town'"):
        calibrate(frame, **asked, domain=declared | {"town": ["x", "y"]})


def test_rows_that_the_plan_does_not_know_and_its_file(tmp_path):
    plan = calibrate(pd.DataFrame(COLUMNS), **ASKED)
    known = set(rows_of(COLUMNS, PUBLIC))
    strange = next(row for row in itertools.product(*({*COLUMNS[n]} for n in PUBLIC)) if row not in known)
    other = {name: [*COLUMNS[name][:-1], value] for name, value in zip(PUBLIC, strange, strict=True)}
    frame = pd.DataFrame(COLUMNS | other)
    assert plan.check(frame).verdict == "refused"
    with pytest.raises(CalibrationError, match="others in 1 row"):
        plan.release(frame, allow_other_frame=True)
    frame = pd.DataFrame(COLUMNS)
    plan = calibrate(frame, **ASKED)
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json").release(frame, rng=3)
    pd.testing.assert_frame_equal(again, plan.release(frame, rng=3))


@pytest.mark.parametrize(
    ("options", "blamed"),
    [
        ({"public": ["job", "age"]}, "public"),
        ({"mechanism": Channel(merge_rare=5)}, "merge_rare"),
        ({"nulls": "level"}, "nulls"),
        ({"mechanism": Channel(preserve="mean")}, "preserve"),
        ({"given": "town", "public": ["job", "member"]}, "given"),
    ],
)
def test_what_is_refused(options, blamed):
    with pytest.raises(ArgumentError) as caught:
        calibrate(pd.DataFrame(COLUMNS), **ASKED | options)
    assert caught.value.what == blamed


def test_shares_of_whole_rows_and_each_secret_column():
    plan = calibrate(pd.DataFrame(COLUMNS), **ASKED | {"mechanism": Channel(preserve="marginal"), "public": PUBLIC[:2]})
    channel = plan.fitted.channel
    pooled = channel.problem.pooled
    assert np.allclose(pooled @ channel.matrix, pooled, atol=1e-9)
    columns = COLUMNS | {"old": [age > 40 for age in COLUMNS["age"]]}
    plan = calibrate(pd.DataFrame(columns), **ASKED | {"secret": ["group", "old"], "secrets": "each"})
    for secret in ("group", "old"):
        assert largest_log_ratio(laws(plan, columns, secret)) <= ASKED["epsilon"] * (1 + 1e-12)


def test_other_tables_and_side_knowledge_are_beliefs_about_whole_rows():
    frame = pd.DataFrame(COLUMNS)
    other = frame.sample(frac=0.5, random_state=2, ignore_index=True)
    known = {
        s: {row: 1.0 + 3 * (s == "a") * (row[0] == "cook") for row in set(rows_of(COLUMNS, PUBLIC))} for s in "abc"
    }
    plan = calibrate(frame, **ASKED, beliefs=("empirical", other, known))
    halves = laws(plan, {name: other[name].tolist() for name in other})
    assert largest_log_ratio(halves) <= ASKED["epsilon"] * (1 + 1e-12)
    channel = plan.fitted.channel
    side = {s: np.array([known[s][row] for row in channel.inputs]) for s in "abc"}
    assert (
        largest_log_ratio({s: (law / law.sum()) @ channel.matrix for s, law in side.items()}) <= ASKED["epsilon"] + 1e-9
    )
    certificate = certificate_of(plan.release(frame, rng=1))
    assert set(certificate.beliefs) == {"empirical", "other table", "given 1"}
