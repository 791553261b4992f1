"""The list of the kinds of frames: each is told from the others, opened by its own class, and the rest is refused."""

import ast
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import LOCAL_KINDS, build_frame

import puffer_frames
from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames import table
from puffer_frames.frames.table import KINDS, Kind, open_table

DATA = {"group": ["a", "b"], "x": [1, 2]}
CLASSES = {"pandas": "PandasTable", "polars": "PolarsTable", "polars-lazy": "LazyTable"}
CLASSES |= {"pyarrow": "ArrowTable", "duckdb": "DuckTable"}
MEMBERS = [name for name in vars(table.Table) if not name.startswith("_")]


@pytest.mark.parametrize("kind", LOCAL_KINDS)
def test_each_kind_has_its_class(kind):
    frame = build_frame(kind, DATA)
    opened = open_table(frame)
    assert type(opened).__name__ == CLASSES.get(kind, "PandasTable")
    assert sum(one.has(frame) for one in KINDS) == 1
    assert opened.names == ("group", "x")
    assert [name for name in MEMBERS if not hasattr(opened, name)] == []


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
    kind = Kind(library="other", frame="Frame", table="duckdb.table:DuckTable")
    monkeypatch.setattr(table, "KINDS", (*KINDS, kind))
    assert open_table(Frame()).names == ("group", "x")


def test_no_kind_imports_the_list_of_kinds():
    """They are imported by name, which the test of the imports does not see."""
    root = Path(puffer_frames.__file__).parent / "frames"
    for kind in KINDS:
        folder = root / kind.table.partition(".")[0]
        for path in folder.glob("*.py"):
            named = [
                node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
            ]
            assert not {"puffer_frames.frames.table", "puffer_frames.frames.matching"} & set(named), path
