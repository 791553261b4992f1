"""Imports point one way, and only the seam knows dataframe libraries."""

import ast
from pathlib import Path

import pytest

import puffer_frames

ROOT = Path(puffer_frames.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

LAYERS = [
    {"errors", "_version", "progress"},
    {"priors", "rounding", "arguments", "powers"},
    {"pairs", "bands", "moments", "transport", "postprocessing", "laws", "chains"},
    {"noise"},
    {"loss", "theorems"},
    {"search", "fitting", "presentation", "mechanism"},
    {"beliefs", "frames"},
    {"selection"},
    {"joint", "answers"},
    {"certificate"},
    {"attached"},
    {"calibration"},
    {"request"},
    {"release", "aggregates", "series"},
    {"accessor"},
    {"__init__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

FRAME_LIBRARIES = {"pandas", "polars", "narwhals", "pyarrow", "pyspark"}


def place(path):
    """The layer's name of a module: its top-level folder or file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    here = place(path)
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top != "puffer_frames" or not rest:
            continue
        there = rest.split(".")[0]
        assert there == here or RANK[there] < RANK[here], f"{here} must not import {there}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_frame_libraries_stay_behind_the_seam(path):
    if place(path) in {"frames", "accessor", "__init__"}:
        return
    assert not {name.partition(".")[0] for name in imports(path)} & FRAME_LIBRARIES


def test_no_module_shares_its_name_with_a_public_function():
    assert not {path.stem for path in MODULES} & set(puffer_frames.__all__) - {"__version__"}


def test_files_are_short():
    assert not [path for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > 400]
