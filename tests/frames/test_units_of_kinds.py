"""Units of several rows in every kind of frame: the same plan as in pandas, and the same refusals."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from conftest import build_frame, run
from kinds import other_kind

from puffer_frames import Layout, Unit, calibrate, certificate_of, privatize
from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, ColumnTypeError, PriorError
from puffer_frames.frames.local.units import factorise

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")

UNITS = 150
_RNG = np.random.default_rng(4)
SIZES = _RNG.integers(1, 5, UNITS)
OF = np.repeat(np.arange(UNITS), SIZES)
SECRET = np.where(_RNG.random(UNITS) < 0.5, "a", "b")
VALUE = _RNG.integers(0, 6, UNITS)


def columns(**changed):
    own = {
        "patient": [f"p{k}" for k in OF],
        "visit of": OF.tolist(),
        "group": SECRET[OF].tolist(),
        "score": (_RNG.integers(0, 6, len(OF)) + (SECRET[OF] == "a")).tolist(),
        "level": VALUE[OF].tolist(),
        "town": np.where(VALUE[OF] < 3, "x", "y").tolist(),
        "id": list(range(len(OF))),
    }
    return own | changed


COLUMNS = columns()
EQUAL = {name: [entries[k] for k in range(len(OF)) for _ in range(3)] for name, entries in COLUMNS.items()}
EQUAL["patient"] = [f"q{k}" for k in range(len(OF)) for _ in range(3)]
EQUAL["id"] = list(range(len(EQUAL["patient"])))
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0}


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


@pytest.mark.parametrize(
    "options",
    [
        {"unit": Unit("patient", rows="independent")},
        {"unit": Unit("visit of", rows="independent"), "delta": 1e-4},
        {"unit": Unit("patient", rows="any"), "public": ["score", "level"]},
        {"unit": Unit("patient", rows="independent", most=6), "public": ["score", "town"]},
    ],
)
def test_the_same_scales_as_elsewhere(kind, frame, options):
    plan = calibrate(frame, **ASKED | options)
    expected = calibrate(build_frame(other_kind(kind), COLUMNS), **ASKED | options)
    assert plan.scales == pytest.approx(dict(expected.scales), rel=1e-9)
    assert plan.fitted.request.repeats == expected.fitted.request.repeats


def test_rows_that_are_the_same(kind, make_frame):
    unit = Unit("patient", rows="repeated")
    frame = make_frame(EQUAL)
    plan = calibrate(frame, **ASKED | {"unit": unit})
    expected = calibrate(build_frame(other_kind(kind), EQUAL), **ASKED | {"unit": unit})
    assert plan.scales == pytest.approx(dict(expected.scales), rel=1e-9)
    for name in ("score", "town"):
        changed = EQUAL | {name: [EQUAL[name][-1], *EQUAL[name][1:]]}
        assert changed[name][0] != EQUAL[name][0] or name == "score"
        changed[name][0] = "y" if EQUAL[name][0] == "x" else "x" if name == "town" else 99
        with pytest.raises(ArgumentError, match="all rows of a unit hold the same values"):
            calibrate(make_frame(changed), **ASKED | {"unit": unit, "public": ["score", "town"]})
    fewer = {name: entries[:-1] for name, entries in EQUAL.items()}
    with pytest.raises(ArgumentError, match="the same number of rows"):
        calibrate(make_frame(fewer), **ASKED | {"unit": unit})


def test_a_release_says_whom_it_protects(frame):
    released = privatize(
        frame, **ASKED, unit=Unit("patient", rows="independent"), layout=Layout(keep="id", row_id="id"), rng=1
    )
    certificate = certificate_of(run(released))
    assert certificate.unit == "patient"
    assert certificate.unit_rows == int(SIZES.max())


@pytest.mark.parametrize("name", ["patient", "visit of"])
def test_a_unit_with_two_secrets(make_frame, name):
    wrong = list(COLUMNS["group"])
    place = int(np.flatnonzero(SIZES > 1)[0])
    row = int(np.flatnonzero(place == OF)[0])
    wrong[row] = "b" if wrong[row] == "a" else "a"
    with pytest.raises(PriorError, match="all have the same secret"):  # of the rows, not of the request
        calibrate(make_frame(columns(group=wrong)), **ASKED, unit=Unit(name, rows="independent"))


def test_units_that_are_missing_fractions_or_too_large(frame, make_frame):
    with pytest.raises(ArgumentError, match="at most 2 rows per unit"):
        calibrate(frame, **ASKED, unit=Unit("patient", rows="independent", most=2))
    missing = make_frame(columns(patient=[None, *COLUMNS["patient"][1:]]))
    unit = Unit("patient", rows="independent")
    with pytest.raises(PriorError, match="got 1 row with one"):
        calibrate(missing, **ASKED, unit=unit)
    assert calibrate(missing, **ASKED, unit=unit, nulls="drop").scales
    with pytest.raises(ColumnNotFoundError):
        calibrate(frame, **ASKED, unit=Unit("nobody", rows="independent"))
    halves = make_frame(columns(patient=[k / 2 for k in OF]))
    with pytest.raises((ArgumentTypeError, ArgumentError)):
        calibrate(halves, **ASKED, unit=Unit("patient", rows="independent"))
    for digits, dtype in ((11, "float16"), (24, "float32"), (53, "float64")):
        frame = nw.from_native(pd.DataFrame({"unit": np.array([2.0**digits, 1.0], dtype)}), eager_only=True)
        with pytest.raises(ColumnTypeError, match=rf"floats.* beyond 2\*\*{digits}, which merge integers"):
            factorise(frame, "unit")


def test_rows_in_memory_are_sampled_alone(kind, frame):
    unit = Unit("patient", rows="independent", most=2, over="sample")
    if kind not in ("polars-lazy", "duckdb", "spark"):
        assert calibrate(frame, **ASKED, unit=unit).fitted.request.repeats.rows == 2
        return
    with pytest.raises(ArgumentError, match="not in memory"):
        calibrate(frame, **ASKED, unit=unit)
