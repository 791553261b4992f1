"""Imports point one way, between folders and inside them, and only the seam knows dataframe libraries."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import puffer_frames

ROOT = Path(puffer_frames.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})

LAYERS = [
    {"errors"},
    {"numbers"},
    {"priors"},
    {"noise"},
    {"loss", "papers", "frames"},
    {"scales"},
    {"certificates"},
    {"mechanisms"},
    {"verbs"},
    {"doors", "core"},
    {"__init__", "__main__"},
]
"""A module may import what lies in its own folder or in a layer before it."""
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MOST_ENTRIES = 11
DOORS = {"doors", "core", "__main__"}
"""The accessor, the transformer, the command line and the names of the core: each hands on what is elsewhere."""

FRAME_LIBRARIES = {"pandas", "polars", "narwhals", "pyarrow", "pyspark", "duckdb"}


def dotted(path):
    """The name of a module."""
    return ".".join(["puffer_frames", *path.relative_to(ROOT).with_suffix("").parts])


NAMES = {dotted(path).removesuffix(".__init__") for path in MODULES}


def place(path):
    """The layer's name of a module: its top-level folder or file."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def tree_of(path):
    """A module as Python reads it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path):
    """Names of all modules that a module imports, also inside functions and for a type checker alone."""
    return list(imported(path))


def imported(path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & NAMES
            if inner - NAMES:
                yield node.module


def inside(folder):
    """What each module or folder in a folder imports of the others in it."""
    prefix = ".".join(["puffer_frames", *folder.relative_to(ROOT).parts]) + "."
    graph = {}
    for path in folder.rglob("*.py"):
        here = path.relative_to(folder).with_suffix("").parts[0]
        there = {name.removeprefix(prefix).partition(".")[0] for name in imports(path) if name.startswith(prefix)}
        graph.setdefault(here, set()).update(there - {here})
    return graph


def test_imports_point_down():
    for path in MODULES:
        here = place(path)
        for name in imports(path):
            top, _, rest = name.partition(".")
            if top != "puffer_frames":
                continue
            assert rest, f"{path} must name the module that it imports from"
            there = rest.partition(".")[0]
            assert there == here or RANK[there] < RANK[here], f"{path} must not import {there}"


def test_imports_inside_a_folder_go_round_in_no_circle():
    for folder in FOLDERS:
        try:
            TopologicalSorter(inside(folder)).prepare()
        except CycleError as error:
            pytest.fail(f"{folder}: " + " -> ".join(error.args[1]))


def test_frame_libraries_stay_behind_the_seam():
    for path in MODULES:
        if place(path) not in {"frames", "__init__"} and path != ROOT / "doors" / "accessor.py":
            assert not {name.partition(".")[0] for name in imports(path)} & FRAME_LIBRARIES, path


def test_a_newcomer_sees_few_entries():
    entries = {path.name.removesuffix(".py").removesuffix(".pyi") for path in ROOT.iterdir()} - {
        "__pycache__",
        "__init__",
        "py.typed",
    }
    assert len(entries - DOORS) <= MOST_ENTRIES
    assert entries == set().union(*LAYERS) - {"__init__"}


def test_no_module_shares_its_name_with_a_public_function():
    assert not {path.stem for path in MODULES} & set(puffer_frames.__all__) - {"__version__"}


def test_files_are_short():
    assert not [path for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > 800]


def lines_of(function):
    """Lines of a function without its docstring."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno + 1 - documented * (first.end_lineno - first.lineno + 1)


def test_functions_are_short():
    for path in MODULES:
        found = {node.name: lines_of(node) for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)}
        assert {name: lines for name, lines in found.items() if lines > 60} == {}, path


def names_read(path):
    """Attributes that a module reads, and names that it imports."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def test_no_sentence_of_a_certificate_is_read_to_learn_a_fact():
    """Outside the folder nobody can: what makes sentences hands them on unread. Inside, one module reads their keys.

    `statement.py` finds those that are printed together, `sentences.py` names those that warn.
    """
    read = {path: set(names_read(path)) for path in MODULES}
    outside = {path: names for path, names in read.items() if place(path) != "certificates"}
    assert not [path for path, names in outside.items() if names & {"statements", "of_keys", "of_kind"}]
    assert not [path for path, names in outside.items() if "Statement" in names and names & {"key", "text"}]
    inside = {path.name for path, names in read.items() if place(path) == "certificates" and "key" in names}
    assert inside == {"facts.py", "statement.py", "sentences.py"}
