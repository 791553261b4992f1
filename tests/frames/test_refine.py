"""A release with less noise that refines an earlier one, on every kind of frame in memory; and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, few, laid_out

import puffer_frames
from puffer_frames import Layout, Noise, Strata, Unit, calibrate, certificate_of, compose, verify
from puffer_frames.certificates.about import today
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, UncoveredFrameError
from puffer_frames.verbs.ledgers.composition import without_refined

ROWS = 600
RNG = np.random.default_rng(7)
GROUP = RNG.choice(["a", "b"], ROWS)
COLUMNS = {
    "group": GROUP,
    "score": RNG.integers(0, 6, ROWS) + 2 * (GROUP == "a"),
    "height": np.round(RNG.normal(170, 9, ROWS) + 3 * (GROUP == "a"), 1),
    "some": [None if k % 10 == 0 else float(k * k % 17) for k in range(ROWS)],
    "note": [f"n{k}" for k in range(ROWS)],
}
PEOPLE = pd.DataFrame(COLUMNS)
ASKED = {"secret": "group", "public": "score", "epsilon": 0.3}
KINDS = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "pyarrow")


@pytest.fixture
def key(tmp_path):
    return tmp_path / "refine.key"


def column(frame, name):
    return np.asarray(frame[name].to_numpy(), dtype=float)


@few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_in_memory(kind, key, tmp_path):
    frame = build_frame(kind, COLUMNS)
    plan = calibrate(frame, **ASKED | {"public": ["score", "height"]})
    first = plan.release(frame, layout=Layout(keep="note"))
    second = plan.refine(frame, first, epsilon=0.8, key=key)
    third = plan.refine(frame, second, epsilon=1.5, key=str(key))
    assert type(second) is type(first)
    for released in (second, third):
        assert verify(released) == "unsigned: cannot be trusted"
        if kind.startswith("pandas"):
            assert released.dtypes.equals(first.dtypes)
        else:
            assert released.schema == first.schema or kind == "pyarrow"
        assert list(released["note"]) == list(first["note"])
    one, two, three = map(certificate_of, (first, second, third))
    assert one.refines == ()
    assert [link["fingerprint"] for link in three.refines] == [one.fingerprint, two.fingerprint]
    assert [link["epsilon"] for link in three.refines] == [0.3, 0.8]
    assert three.refines[0]["scales"] == one.scales
    assert all(three.scales[name] < two.scales[name] < one.scales[name] for name in one.scales)
    again = plan.refine(frame, first, epsilon=0.8, key=key)
    for name in ("score", "height"):
        assert np.array_equal(column(again, name), column(second, name))
        assert not np.array_equal(column(second, name), column(first, name))
    assert certificate_of(again) == two
    puffer_frames.write_parquet(third, tmp_path / "third.parquet")
    assert puffer_frames.read_certificate(tmp_path / "third.parquet") == three


def test_the_scale_is_that_of_the_request_at_the_new_epsilon(key):
    plan = calibrate(PEOPLE, **ASKED)
    second = plan.refine(PEOPLE, plan.release(PEOPLE), epsilon=1.0, key=key).puffer.certificate
    fresh = calibrate(PEOPLE, **ASKED | {"epsilon": 1.0})
    assert fresh.scale < second.scales["score"] == pytest.approx(fresh.scale, rel=1e-8)  # the coarser grid is paid for
    assert second.epsilon == 1.0
    assert second.verified["score"]["empirical"].pure_loss.upper <= 1.0


REQUESTS = {
    "nulls dropped": (PEOPLE, {"public": "some", "nulls": "drop", "epsilon": 0.05}, {}),
    "a domain": (PEOPLE, {"domain": {"score": (1, 5)}}, {}),
    "delta": (PEOPLE, {"delta": 1e-3}, {}),
    "several releases": (PEOPLE, {"releases": 3}, {}),
    "ranges": (PEOPLE, {"public": ["score", "height"], "mechanism": Noise(theorem="bounded")}, {}),
    "rows paired": (PEOPLE, {"public": ["score", "height"], "mechanism": Noise(theorem="kantorovich")}, {}),
    "one constant": (PEOPLE.assign(still=3), {"public": ["score", "still"]}, {}),
    "a kept index": (PEOPLE.set_index("note"), {}, {"layout": Layout(index="keep")}),
    "a dropped index": (PEOPLE.set_index("note"), {}, {"layout": Layout(index="drop")}),
    "labels of columns that are no text": (
        PEOPLE.rename(columns={"score": 7}),
        {"public": 7},
        {"layout": Layout(keep="note")},
    ),
    "the population": (PEOPLE, {"beliefs": "population"}, {}),
    "numbered rows": (PEOPLE.assign(id=RNG.permutation(ROWS)), {}, {"layout": Layout(row_id="id")}),
    "units": (PEOPLE.assign(who=np.arange(ROWS) // 2).assign(group=np.repeat(GROUP[::2], 2)), {}, {}),
}


@few(2)
@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name, key):
    frame, asked, layout = REQUESTS[name]
    if name == "units":
        asked = {"unit": Unit("who", rows="independent")}
    plan = frame.puffer.calibrate(**ASKED | asked)
    first = plan.release(frame, **laid_out(layout, refine_key=key))
    epsilon = 3 * plan.epsilon
    second = plan.refine(frame, first, epsilon=epsilon, key=key)
    certificate = second.puffer.certificate
    assert second.puffer.verify() == "unsigned: cannot be trusted"
    assert list(second.columns) == list(first.columns)
    assert second.index.equals(first.index)
    assert compose([first, second]).epsilon == epsilon
    assert compose([first, second]).delta == certificate.delta
    old = first.puffer.certificate
    for column_name, scale in certificate.scales.items():
        assert scale < old.scales[column_name] or scale == old.scales[column_name] == 0
    shared = ("secret", "public", "kept", "withheld", "pairs", "beliefs", "rows", "releases", "unit_rows", "adds_up")
    assert [getattr(certificate, field) for field in shared] == [getattr(old, field) for field in shared]


def test_what_an_office_says_is_kept(key):
    plan = calibrate(PEOPLE, **ASKED)
    about = {"dataset": "people", "issuer": "Office", "created": "2026-01-31T12:00:00Z"}
    first = plan.release(PEOPLE, about=about)
    second = plan.refine(PEOPLE, first, epsilon=0.8, key=key).puffer.certificate
    assert (second.dataset, second.issuer, second.created) == ("people", "Office", today())
    third = plan.refine(PEOPLE, first, epsilon=0.8, key=key, about={"issuer": "Other"}).puffer.certificate
    assert (third.dataset, third.issuer, third.fingerprint) == ("people", "Other", second.fingerprint)
    for other in ({"dataset": "others"}, {"dataset": "people", "batch": "second"}):
        with pytest.raises(CalibrationError, match="the data set and batch of the release"):
            plan.refine(PEOPLE, first, epsilon=0.8, key=key, about=other)


def test_a_release_is_refined_once(key, tmp_path):
    plan = calibrate(PEOPLE, **ASKED)
    first = plan.release(PEOPLE)
    second = plan.refine(PEOPLE, first, epsilon=0.8, key=key)
    with pytest.raises(CalibrationError, match=r"refined already, at epsilon 0\.8"):
        plan.refine(PEOPLE, first, epsilon=0.9, key=key)
    with pytest.raises(CalibrationError, match="does not know it"):
        plan.refine(PEOPLE, second, epsilon=0.9, key=tmp_path / "other.key")
    branch = plan.refine(PEOPLE, first, epsilon=0.8, key=tmp_path / "third.key")
    assert not np.array_equal(branch["score"], second["score"])
    for several in ([second, branch], [first, second, branch], [branch, first, second]):
        with pytest.raises(CalibrationError, match="two refinements of one release"):
            compose(several)
    assert compose([first, second, second]).epsilon == 0.8
    draws = [replace(frame.puffer.certificate, fingerprint="") for frame in (second, branch)]  # both interrupted
    with pytest.raises(CalibrationError, match="two refinements of one release"):
        without_refined([first.puffer.certificate, *draws])


def test_epsilon_and_scales_must_leave_less_noise(key):
    plan = calibrate(PEOPLE, **ASKED)
    first = plan.release(PEOPLE)
    for epsilon in (0.1, 0.3):
        with pytest.raises(ArgumentError, match=r"above that of the release, 0\.3"):
            plan.refine(PEOPLE, first, epsilon=epsilon, key=key)
    with pytest.raises(CalibrationError, match="at least 1 % below"):
        plan.refine(PEOPLE, first, epsilon=0.3001, key=key)
    with pytest.raises(ArgumentTypeError, match="epsilon"):
        plan.refine(PEOPLE, first, epsilon="1", key=key)
    wide = PEOPLE.assign(score=RNG.integers(0, 2, ROWS) * 1000.0)
    plan = calibrate(
        wide, **ASKED | {"public": ["score", "height"], "mechanism": Noise(theorem="bounded"), "epsilon": 1e-3}
    )
    with pytest.raises(CalibrationError, match="and at least"):
        plan.refine(wide, plan.release(wide), epsilon=2.0, key=key)
    assert not key.exists()


PLAN = calibrate(PEOPLE, **ASKED | {"public": ["score", "height"]})
FIRST = PLAN.release(PEOPLE, layout=Layout(keep="note"))


def other_plan():
    return calibrate(PEOPLE, **ASKED | {"public": ["score", "height"], "epsilon": 0.31})


def swapped(frame, name):
    """Two rows that differ have changed places."""
    places = np.arange(len(frame))
    places[[0, -1]] = places[[-1, 0]]
    return frame.assign(**{name: frame[name].to_numpy()[places]})


REFUSED = {
    "another frame": (lambda: (PLAN, PEOPLE.head(400), FIRST), "a frame with other rows"),
    "other values": (lambda: (PLAN, PEOPLE.assign(score=PEOPLE["score"] + 1), FIRST), "a frame with other rows"),
    "another order": (lambda: (PLAN, PEOPLE.iloc[::-1].reset_index(drop=True), FIRST), "kept columns|row by row"),
    "two kept rows exchanged": (lambda: (PLAN, swapped(PEOPLE, "note"), FIRST), "kept columns"),
    "a missing kept column": (lambda: (PLAN, PEOPLE.drop(columns="note"), FIRST), "kept columns"),
    "another plan": (lambda: (other_plan(), PEOPLE, FIRST), "one of another plan"),
    "fewer rows": (lambda: (PLAN, PEOPLE, FIRST.head(500)), "other values, rows or order"),
    "rounded later": (lambda: (PLAN, PEOPLE, FIRST.round(1)), "other values, rows or order"),
    "another order of the release": (lambda: (PLAN, PEOPLE, FIRST.iloc[::-1]), "other values, rows or order"),
    "shuffled": (lambda: (PLAN, PEOPLE, PLAN.release(PEOPLE, layout=Layout(shuffle=True))), "a random order"),
    "clipped": (
        lambda: (PLAN, PEOPLE, PLAN.release(PEOPLE, layout=Layout(clip={"score": (0, 9)}))),
        "clipped or rounded",
    ),
    "rounded": (lambda: (PLAN, PEOPLE, PLAN.release(PEOPLE, layout=Layout(round=True))), "clipped or rounded"),
    "a seed": (lambda: (PLAN, PEOPLE, PLAN.release(PEOPLE, rng=1)), "came from a seed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_release_of_the_plan_as_it_was(name, key):
    made, match = REFUSED[name]
    plan, frame, released = made()
    with pytest.raises(CalibrationError, match=match) as caught:
        plan.refine(frame, released, epsilon=1.0, key=key)
    assert "Hint:" in str(caught.value)
    assert not key.exists()


def test_an_order_that_no_kept_column_shows_is_found_by_the_noise(key):
    plan = calibrate(PEOPLE, **ASKED | {"public": ["score", "height"], "epsilon": 1.0})
    first = plan.release(PEOPLE)
    for frame in (PEOPLE.sort_values("height", ignore_index=True), PEOPLE.iloc[::-1].reset_index(drop=True)):
        with pytest.raises(CalibrationError, match="not those of the frame and noise, row by row"):
            plan.refine(frame, first, epsilon=2.0, key=key)
    second = plan.refine(PEOPLE, first, epsilon=2.0, key=key)
    third = plan.refine(PEOPLE, second, epsilon=4.0, key=key)
    for released in (second, third):
        assert "refined-order" in {statement.key for statement in released.puffer.certificate.statements}


def test_a_key_file_that_knew_the_release_finds_any_other_order(key):
    first = PLAN.release(PEOPLE, layout=Layout(refine_key=key))
    for name in ("score", "height"):
        a, b = 0, int(np.flatnonzero(PEOPLE[name] != PEOPLE[name][0])[0])
        places = np.arange(ROWS)
        places[[a, b]] = b, a
        swapped_rows = PEOPLE.iloc[places].reset_index(drop=True)
        with pytest.raises(CalibrationError, match="another order, or with other values"):
            PLAN.refine(swapped_rows, first, epsilon=1.0, key=key)
    second = PLAN.refine(PEOPLE, first, epsilon=1.0, key=key)
    assert "refined-order" not in {statement.key for statement in second.puffer.certificate.statements}
    with pytest.raises(CalibrationError, match="another order, or with other values"):
        PLAN.refine(swapped_rows, second, epsilon=2.0, key=key)
    third = PLAN.refine(PEOPLE, second, epsilon=2.0, key=key)
    assert "refined-order" not in {statement.key for statement in third.puffer.certificate.statements}
    for text in (str(value) for name in ("score", "height") for value in PEOPLE[name].unique()[:3]):
        assert f" {text}," not in key.read_text()


@pytest.mark.parametrize(
    ("asked", "layout"),
    [
        ({"mechanism": Noise("gaussian"), "delta": 1e-3}, {}),
        ({"public": "note"}, {}),
        ({}, {"layout": Layout(shuffle=True)}),
        ({}, {"layout": Layout(clip=(0, 9))}),
        ({}, {"rng": 1}),
    ],
)
def test_a_key_file_beside_what_cannot_be_refined(asked, layout, key):
    frame = PEOPLE.assign(note=RNG.choice(["x", "y"], ROWS))
    with pytest.raises(ArgumentError, match="refine_key"):
        puffer_frames.privatize(frame, **ASKED | asked, **laid_out(layout, refine_key=key))
    with pytest.raises(ArgumentError, match="frame in memory"):
        puffer_frames.privatize(pl.DataFrame(COLUMNS).lazy(), **ASKED, layout=Layout(refine_key=key))
    assert not key.exists()


@pytest.mark.parametrize(
    "asked",
    [
        {"mechanism": Noise("gaussian"), "delta": 1e-3},
        {"mechanism": Noise(remap=True)},
        {"given": Strata("note", minimum=1)},
        {"public": ["score", "note"]},
    ],
)
def test_plans_whose_releases_are_not_refined(asked, key):
    frame = PEOPLE.assign(note=RNG.choice(["x", "y"], ROWS))
    plan = calibrate(frame, **ASKED | asked)
    with pytest.raises(CalibrationError, match="Laplace noise on numbers alone"):
        plan.refine(frame, plan.release(frame), epsilon=1.0, key=key)


def test_other_kinds_of_frames(key):
    lazy = pl.DataFrame(COLUMNS).lazy()
    for frame in (lazy, pytest.importorskip("duckdb").from_arrow(pa.table(COLUMNS))):
        with pytest.raises(ArgumentTypeError, match="the frame"):
            PLAN.refine(frame, FIRST, epsilon=1.0, key=key)
    with pytest.raises(UncoveredFrameError):
        PLAN.refine(PEOPLE, PLAN.release(lazy), epsilon=1.0, key=key)
    with pytest.raises(UncoveredFrameError):
        PLAN.refine(PEOPLE, PEOPLE[["score", "height"]], epsilon=1.0, key=key)


def test_values_far_from_0_are_refused(key):
    far = PEOPLE.assign(score=PEOPLE["score"] + 2.0**20)
    plan = calibrate(far, **ASKED)
    with pytest.raises(CalibrationError, match="within 2,048 scales of 0"):
        plan.refine(far, plan.release(far), epsilon=1.0, key=key)
