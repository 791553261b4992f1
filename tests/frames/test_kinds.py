"""The same request of every kind of frame: the same numbers, kept columns, scales and certificate for the same key."""

import ast
import functools
from dataclasses import replace
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import FRAME_KINDS, LOCAL_KINDS, build_frame, laid_out, run, thinned
from kinds import ROWS, entries, make_columns, other_kind, release

import puffer_frames
from puffer_frames import Layout, Noise, Stable, certificate_of
from puffer_frames.errors import ArgumentTypeError, CalibrationError
from puffer_frames.frames import table
from puffer_frames.frames.table import KINDS, Kind, open_table

REQUESTS = {
    "one column": {},
    "two secrets": {"secret": ["group", "old"], "epsilon": 0.1},
    "whole floats as the secret": {"secret": "code", "epsilon": 0.01},
    "32-bit floats": {"public": "height", "epsilon": 1.0, "mechanism": Noise(theorem="gaussian")},
    "booleans": {"public": "smokes", "epsilon": 0.01},
    "two columns": {"public": ["score", "height"], "domain": {"height": (150, 190)}, "epsilon": 1.0},
    "Gaussian noise": {"mechanism": Noise("gaussian"), "delta": 1e-6},
    "stable noise": {"mechanism": Noise(Stable(alpha=1.5)), "pairs": [("a", "b")]},
    "published scale": {"mechanism": Noise(calibration="theorem")},
    "remap": {"mechanism": Noise(remap=True)},
    "remap of two columns": {
        "mechanism": Noise(remap=True),
        "public": ["score", "height"],
        "epsilon": 1.0,
        "layout": Layout(round=True),
    },
    "clip and round": {"layout": Layout(clip=(0, 5), round=True), "domain": {"score": (1, 5)}},
    "keep": {"layout": Layout(keep=["note", "code", "some", "old", "height", "id"])},
    "incomplete rows": {"public": "some", "nulls": "drop", "layout": Layout(keep="note"), "epsilon": 0.1},
    "rows with NaN": {"public": "part", "nulls": "drop", "epsilon": 1.0, "mechanism": Noise(theorem="gaussian")},
    "pairs": {"pairs": [("a", "b")], "epsilon": 0.1},
    "no noise": {"epsilon": 5.0, "delta": 0.9, "allow_zero_noise": True},
}
BY_POSITION = ("one column", "two columns", "keep", "incomplete rows")
"""Every request numbers the rows by a column, these ones by position too."""
CASES = [*((name, "id") for name in REQUESTS), *((name, None) for name in BY_POSITION)]
COLUMNS = make_columns()
COLUMNS["part"] = np.where(np.arange(ROWS) % 8 == 0, np.nan, np.random.default_rng(6).normal(24, 1.3, ROWS))


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


@functools.cache
def released_elsewhere(elsewhere, name, by):
    return run(release(build_frame(elsewhere, COLUMNS), **laid_out(REQUESTS[name], row_id=by)))


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize(("kind", "case"), thinned(FRAME_KINDS, CASES), indirect=["kind"], ids=lambda part: str(part))
def test_same_numbers_and_same_certificate(kind, frame, case):
    name, by = case
    released = run(release(frame, **laid_out(REQUESTS[name], row_id=by)))
    other = released_elsewhere(other_kind(kind), name, by)
    assert entries(released) == entries(other)
    ours, theirs = certificate_of(released), certificate_of(other)
    assert ours.scales == theirs.scales
    if kind == "spark":  # its rows have no order, which the fingerprints of the other kinds see
        assert ours.fingerprint.startswith("rows:")
        theirs = replace(theirs, fingerprint=ours.fingerprint, estimated=ours.estimated)
    assert ours == theirs
    assert ours.verify(other) == "unsigned: cannot be trusted"


@functools.cache
def numbered_elsewhere(elsewhere):
    return run(release(build_frame(elsewhere, COLUMNS), layout=Layout(row_id="id", keep=["note", "id"])))


def test_the_noise_follows_row_id_into_another_order(kind, make_frame):
    order = np.random.default_rng(3).permutation(ROWS)
    shuffled = make_frame({name: [values[k] for k in order] for name, values in COLUMNS.items()})
    ours = dict(entries(run(release(shuffled, layout=Layout(row_id="id", keep=["note", "id"])))))
    theirs = dict(entries(numbered_elsewhere(other_kind(kind))))
    assert ours == {name: [values[k] for k in order] for name, values in theirs.items()}


PLANS = {
    "integers": {"public": "score"},
    "reals": {"public": "part", "nulls": "drop"},
    "several": {"public": ["some", "height"], "nulls": "drop"},
}


def plan(frame, name):
    made = puffer_frames.calibrate(frame, secret=["group", "old"], epsilon=0.5, **PLANS[name])
    return str(made), made.checksum


@functools.cache
def planned_elsewhere(elsewhere, name):
    return plan(build_frame(elsewhere, COLUMNS), name)


@pytest.mark.parametrize(("kind", "name"), thinned(FRAME_KINDS, PLANS), indirect=["kind"])
def test_same_plan(kind, frame, name):
    assert plan(frame, name) == planned_elsewhere(other_kind(kind), name)


def test_a_plan_releases_the_same_rows_of_every_kind_and_no_other(kind, make_frame, frame):
    theirs = build_frame(other_kind(kind), COLUMNS)
    made = puffer_frames.calibrate(theirs, secret="group", public="score", epsilon=0.05)
    assert entries(run(made.release(frame, rng=7))) == entries(released_elsewhere(other_kind(kind), "one column", None))
    fewer = make_frame({name: values[:100] for name, values in COLUMNS.items()})
    with pytest.raises(CalibrationError, match="other rows"):
        made.release(fewer)


# The list of the kinds of frames: each is told from the others, opened by its own class, and the rest is refused.
DATA = {"group": ["a", "b"], "x": [1, 2]}
CLASSES = {"pandas": "PandasTable", "polars": "PolarsTable", "polars-lazy": "LazyTable"}
CLASSES |= {"pyarrow": "ArrowTable", "duckdb": "DuckTable"}


@pytest.mark.parametrize("kind", LOCAL_KINDS)
def test_each_kind_has_its_class(kind):
    frame = build_frame(kind, DATA)
    opened = open_table(frame)
    assert type(opened).__name__ == CLASSES.get(kind, "PandasTable")
    assert sum(one.has(frame) for one in KINDS) == 1
    assert opened.names == ("group", "x")


def test_a_subclass_is_of_the_kind():
    class Own(pd.DataFrame):
        pass

    assert open_table(Own(DATA)).names == ("group", "x")


OTHERS = [None, "path", np.zeros(3), pd.Series([1]), pl.Series([1]), DATA, nw.from_native(pl.DataFrame(DATA))]


@pytest.mark.parametrize("frame", OTHERS, ids=lambda frame: type(frame).__name__)
def test_others_are_refused(frame):
    with pytest.raises(ArgumentTypeError, match="or a DuckDB relation; got a"):
        open_table(frame)


def test_a_further_kind_is_a_line(monkeypatch):
    class Frame:
        columns = ("group", "x")

    Frame.__module__ = "_other.inner"
    kind = Kind(library="other", frame="Frame", table="duckdb:DuckTable")
    monkeypatch.setattr(table, "KINDS", (*KINDS, kind))
    assert open_table(Frame()).names == ("group", "x")


def test_no_kind_imports_the_list_of_kinds():
    """They are imported by name, which the test of the imports does not see."""
    root = Path(puffer_frames.__file__).parent / "frames"
    for kind in KINDS:
        folder = root / kind.table.partition(".")[0]
        for path in [*folder.glob("*.py"), *root.glob(f"{folder.name}.py")]:
            named = [
                node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
            ]
            assert not {"puffer_frames.frames.table", "puffer_frames.frames.matching"} & set(named), path
