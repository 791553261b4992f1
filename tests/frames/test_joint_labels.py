"""Columns of labels beside numbers: the same plan on every kind of frame, and what becomes of a label."""

import functools
import pickle

import numpy as np
import pytest
from conftest import LOCAL_KINDS, build_frame, thinned
from kinds import both_releases, other_kind

import puffer_frames
from puffer_frames import Certificate, Channel, Noise, Unit, certificate_of
from puffer_frames.errors import ArgumentError, CalibrationError

ROWS = 1_000
RNG = np.random.default_rng(41)
GROUP = RNG.choice(["p", "q"], ROWS)
COLUMNS = {
    "group": GROUP,
    "other": RNG.choice([True, False], ROWS),
    "grade": RNG.integers(0, 5, ROWS) + (GROUP == "p"),
    "job": np.where(RNG.random(ROWS) < 0.3, np.where(GROUP == "p", "a", "b"), RNG.choice(["a", "b", "c", "d"], ROWS)),
    "pet": RNG.choice(["cat", "dog"], ROWS),
    "still": ["x"] * ROWS,
    "gaps": [None if k % 9 == 0 else "ab"[k % 2] for k in range(ROWS)],
    "id": RNG.permutation(ROWS),
}
REQUESTS = {
    "a number and labels": {"public": ["grade", "job"]},
    "labels first": {"public": ["job", "grade"]},
    "two of labels": {"public": ["job", "pet"]},
    "three": {"public": ["pet", "grade", "job"]},
    "two secrets": {"public": ["job", "grade"], "secret": ["group", "other"]},
    "constant": {"public": ["still", "grade", "job"]},
    "missing": {"public": ["grade", "gaps"], "nulls": "drop"},
    "weights": {"public": ["grade", "job"], "mechanism": Noise(weights={"job": 5.0})},
    "domain": {"public": ["grade", "job"], "domain": {"grade": (0, 3)}},
    "several": {"public": ["grade", "job"], "releases": 2},
}


def plan(frame, **options):
    return puffer_frames.calibrate(frame, **{"secret": "group", "public": ["grade", "job"], "epsilon": 0.9} | options)


@functools.cache
def planned(kind, name):
    return plan(build_frame(kind, COLUMNS), **REQUESTS[name])


CASES = [*thinned(LOCAL_KINDS, REQUESTS), pytest.param("spark", "a number and labels")]


@pytest.mark.parametrize(("kind", "name"), CASES, indirect=["kind"])
def test_same_plan_and_same_release(kind, make_frame, name):
    frame = make_frame(COLUMNS)
    made, other = plan(frame, **REQUESTS[name]), planned(other_kind(kind), name)
    assert made.theorem == "joint"
    assert made.fitted.all_scales == other.fitted.all_scales
    released, _ = both_releases(made, other, kind, frame, COLUMNS)
    certificate = certificate_of(released)
    assert set(certificate.channels) == set(REQUESTS[name]["public"]) & {"job", "pet", "still", "gaps"}
    assert set(certificate.scales) == set(REQUESTS[name]["public"]) - set(certificate.channels)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert puffer_frames.verify(released) == "unsigned: cannot be trusted"


def test_a_label_stays_as_often_as_the_certificate_says():
    frame = build_frame("pandas", COLUMNS)
    made = pickle.loads(pickle.dumps(plan(frame)))
    repeats = [made.release(frame, rng=seed) for seed in range(15)]
    changed = np.mean([released["job"].to_numpy() != frame["job"].to_numpy() for released in repeats])
    share = made.fitted.changed["job"]
    assert abs(changed - share) < 5 * np.sqrt(share * (1 - share) / (15 * ROWS))
    others = np.array([(released["job"] == "c").sum() for released in repeats])
    expected = (frame["job"] == "c").mean() * (1 - share) + (frame["job"] != "c").mean() * share / 3
    assert abs(others.mean() / ROWS - expected) < 5 * np.sqrt(expected / (15 * ROWS))
    said = {s.key: s.text for s in certificate_of(repeats[0]).statements}["randomised"]
    assert f"{1 - share:.6g}" in said
    assert "4 levels" in said


def test_other_rows():
    frame = build_frame("pandas", COLUMNS)
    made = plan(frame)
    swapped = frame.assign(job=np.where(GROUP == "p", "a", "b"))
    with pytest.raises(CalibrationError, match="other rows"):
        made.release(swapped)
    with pytest.raises(CalibrationError, match="loss of columns"):
        made.release(swapped, allow_other_frame=True)
    with pytest.raises(CalibrationError, match="level"):
        made.release(frame.assign(job=frame["job"].replace("d", "e")), allow_other_frame=True)


@pytest.mark.parametrize(
    "options",
    [
        {"mechanism": Noise("gaussian"), "delta": 1e-6},
        {"mechanism": Noise(calibration="theorem")},
        {"mechanism": Noise(remap=True)},
        {"nulls": "level"},
        {"mechanism": Channel(merge_rare=3)},
        {"domain": {"job": ["a", "b", "c", "d"]}},
        {"beliefs": "population"},
        {"mechanism": Noise(theorem="kantorovich"), "beliefs": "population"},
        {"mechanism": Noise(theorem="bounded"), "beliefs": "population"},
    ],
)
def test_what_is_refused(options):
    with pytest.raises(ArgumentError):
        plan(build_frame("pandas", COLUMNS), **options)


def test_labels_of_units_and_of_several_releases():
    twice = {name: [*values, *values] for name, values in COLUMNS.items()}
    asked = {"unit": Unit("id", rows="repeated"), "epsilon": 0.1}
    assert plan(build_frame("pandas", twice), **asked).fitted.request.repeats.copies == 2
    changed = twice | {"job": [*COLUMNS["job"], *np.roll(COLUMNS["job"], 1)]}
    with pytest.raises(ArgumentError, match="two values of 'job'"):
        plan(build_frame("pandas", changed), **asked)
    frame = build_frame("pandas", COLUMNS)
    first, second = (plan(frame).release(frame) for _ in "12")
    for table in (None, frame):
        with pytest.raises(CalibrationError, match="joint guarantee"):
            puffer_frames.compose([first, second], frame=table)
