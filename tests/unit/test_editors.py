"""What type checkers and editors know of the package, by mypy, pyright and jedi themselves."""

import ast
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, thinned

import puffer_frames
from puffer_frames import verify
from puffer_frames.doors import accessor
from puffer_frames.errors import ArgumentTypeError

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).with_name("typed_sample.py")
LIBRARIES = {
    "pd.DataFrame": "import pandas as pd",
    "pl.DataFrame": "import polars as pl",
    "pl.LazyFrame": "import polars as pl",
}
VERBS = {"privatize", "calibrate", "compare", "aggregate", "audit", "estimate", "histogram"}
VERBS |= {"verify", "plot", "quality", "report", "write_parquet", "certificate"}


def run(*command):
    """What a tool says, and whether it has found nothing."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"MYPYPATH": str(ROOT), "PYTHONPATH": paths}
    found = subprocess.run(
        [sys.executable, "-m", *map(str, command)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    return found.returncode, found.stdout + found.stderr


@pytest.mark.slow  # pyright reads the same sample in the suite
def test_mypy_knows_what_comes_back():
    pytest.importorskip("mypy", reason="mypy is in the extra dev")
    if not importlib.util.find_spec("pandas-stubs"):
        pytest.skip("pandas-stubs are in the extra dev")
    code, said = run("mypy", "--strict", SAMPLE)
    assert code == 0, said


def test_pyright_knows_what_comes_back(tmp_path):
    pytest.importorskip("basedpyright", reason="basedpyright is in the extra dev")
    options = {
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": "error",
        "enableTypeIgnoreComments": False,
        "include": [str(SAMPLE)],
        "extraPaths": [str(ROOT)],
    }
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(options), encoding="utf-8")
    code, said = run("basedpyright", "-p", config, "--pythonpath", sys.executable)
    assert code == 0, said


def names(completions):
    return {each.name for each in completions if not each.name.startswith("_")}


@pytest.mark.parametrize("frame", thinned(list(LIBRARIES), few=list(LIBRARIES)[:1]))
def test_jedi_completes_a_file(frame):
    jedi = pytest.importorskip("jedi", reason="jedi is in the extra test")
    head = f"{LIBRARIES[frame]}\nimport puffer_frames\npeople = {frame}({{'a': [1]}})\n"
    project = jedi.Project(ROOT)
    plan = {"collect", "sink_parquet"} if "Lazy" in frame else set()
    assert names(jedi.Script(head + "puffer_frames.of(people).", project=project).complete()) == VERBS | plan
    (found,) = jedi.Script(head + "puffer_frames.of(people).privatize(", project=project).get_signatures()
    expected = list(inspect.signature(accessor.PufferAccessor.privatize).parameters)
    assert [parameter.name for parameter in found.params] == expected[1:]
    again = head + "puffer_frames.of(puffer_frames.of(people).privatize(secret='a')).verif"
    assert names(jedi.Script(again, project=project).complete()) == {"verify"}


@pytest.mark.parametrize("frame", thinned(list(LIBRARIES), few=list(LIBRARIES)[:1]))
def test_jedi_completes_a_notebook(frame):
    """There it sees the frame itself, and the accessor on it."""
    jedi = pytest.importorskip("jedi", reason="jedi is in the extra test")
    kind = {"pd": pd, "pl": pl}[frame[:2]]
    people = getattr(kind, frame[3:])({"a": [1]})
    assert names(jedi.Interpreter("people.puffer.", [{"people": people}]).complete()) >= VERBS
    (found,) = jedi.Interpreter("people.puffer.privatize(", [{"people": people}]).get_signatures()
    assert [parameter.name for parameter in found.params][:3] == ["secret", "public", "epsilon"]


def stub_writer():
    path = ROOT / ".ci" / "stub.py"
    if not path.exists():
        pytest.skip("the source distribution has no .ci")
    spec = importlib.util.spec_from_file_location("stub", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts(text):
    """Imported names, and the dump of everything else."""
    tree = ast.parse(text)
    listed = {
        (node.module, alias.name) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    return listed, [ast.dump(node) for node in tree.body if not isinstance(node, (ast.ImportFrom, ast.Import))]


def test_the_stub_is_that_of_the_verbs():
    writer = stub_writer()
    assert parts(writer.stub()) == parts(writer.STUB.read_text(encoding="utf-8")), "run .ci/stub.py"


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
def test_of_is_the_accessor_of_any_frame(kind, people):
    frame = build_frame(kind, people)
    found = puffer_frames.of(frame)
    assert isinstance(found, accessor.LazyPufferAccessor) == (kind == "polars-lazy")
    released = found.privatize(secret="group", public="score", epsilon=0.05, rng=1)
    assert isinstance(released, pa.Table if kind == "duckdb" else type(frame))
    if kind == "polars-lazy":
        released = puffer_frames.of(released).collect()
    assert verify(released) == puffer_frames.of(released).verify() == "unsigned: cannot be trusted"
    if kind in ("pandas", "polars"):
        assert released.equals(frame.puffer.privatize(secret="group", public="score", epsilon=0.05, rng=1))


def test_of_refuses_what_is_no_frame():
    with pytest.raises(ArgumentTypeError, match="the frame must be a pandas or Polars DataFrame"):
        puffer_frames.of(np.zeros((3, 2)))
