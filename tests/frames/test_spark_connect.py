"""A frame of Spark Connect is released like any other; its session cannot be in one process with a classic one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import puffer_frames

pytest.importorskip("grpc", reason="the extra connect is not installed")
pytest.importorskip("pyspark.sql.connect", reason="the extra connect is not installed")


@pytest.fixture(scope="module")
def found():
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java runtime for Spark")
    script = Path(__file__).with_name("connect_release.py")
    run = subprocess.run([sys.executable, str(script)], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout[run.stdout.index("{") :])


@pytest.mark.parametrize("row_id", ["id", None])
def test_the_numbers_are_those_of_pandas(found, row_id):
    from connect_release import REQUEST, rows

    expected = rows().puffer.privatize(**REQUEST, row_id=row_id)
    got = found[str(row_id)]
    assert got["kind"].startswith("pyspark.sql.connect")
    assert got["values"] == sorted(map(list, expected[["value", "kept"]].itertuples(index=False)))
    assert got["scale"] == puffer_frames.certificate_of(expected).scales["value"]
    assert got["verdict"] == "intact"
