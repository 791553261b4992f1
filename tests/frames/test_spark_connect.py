"""A frame of Spark Connect is released like any other; its session cannot be in one process with a classic one."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import puffer_frames

pytest.importorskip("grpc", reason="the extra connect is not installed")
pytest.importorskip("pyspark.sql.connect", reason="the extra connect is not installed")


@contextlib.contextmanager
def server_in(spark):
    """A server in the JVM that runs already: another one takes half a minute to start and to warm up."""
    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    context, jvm = spark.sparkContext._jsc.sc(), spark.sparkContext._jvm
    context.conf().set("spark.connect.grpc.binding.port", str(port))
    service, none = jvm.org.apache.spark.sql.connect.service.SparkConnectService, jvm.scala.Option.empty()
    service.start(context)
    try:
        yield f"sc://localhost:{port}"
    finally:
        service.stop(none, none)


@pytest.fixture(scope="module", params=["shared", pytest.param("its own", marks=pytest.mark.slow)])
def found(request):
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java runtime for Spark")
    script = Path(__file__).with_name("connect_release.py")
    shared = request.param == "shared"
    with server_in(request.getfixturevalue("spark")) if shared else contextlib.nullcontext("local[2]") as server:
        run = subprocess.run([sys.executable, str(script), server], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout[run.stdout.index("{") :])


@pytest.mark.parametrize("name", ["by number", "by position"])
def test_the_numbers_are_those_of_pandas(found, name):
    from connect_release import REQUESTS, rows

    expected = rows().puffer.privatize(**REQUESTS[name])
    got = found[name]
    assert got["kind"].startswith("pyspark.sql.connect")
    assert got["values"] == sorted(map(list, expected.itertuples(index=False)))
    assert got["scale"] == puffer_frames.certificate_of(expected).scales["value"]
    assert got["verdict"] == "unsigned: cannot be trusted"
