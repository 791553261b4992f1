"""Fixtures: the same data as every kind of frame, and the real tables of the papers."""

import gc
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import FunctionType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

# Workers of xdist have a core each: threads of linear algebra in all of them wait for one another and take the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")  # the same cases on every machine, however busy it is
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # so that of the processes of tests only the first compiles the package
SPARK = re.compile(r"test_spark|_spark_|_in_spark|\[spark[-\]]")
"""Tests that use a Spark session, by their names: one worker runs them all, in one session."""
APART = re.compile(
    r"test_(command_killed|ledger_processes|forked|spark\w*|notebooks|pages|plans_page|recipes|editors|gallery|refine_key)\.py"
    r"|tests/(papers|statistical|privacy)/|unit/test_(many_\w+|estimate_moments|loss_law|search)\.py"
    r"|unit/test_(wide_noise|utility|statements|sequential_(plan|warnings)|comparison)\.py"
    r"|frames/test_(answers|units_of_plans|wider_beliefs|duckdb|epsilon_curves|suspect_values)\.py"
)
"""Files that start processes or make whole pages, that compute numbers of the package a second time, or take long."""
LOCAL_KINDS = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb")
FRAME_KINDS = (*LOCAL_KINDS, "spark")
RARE_KINDS = ("pandas-nullable", "pandas-pyarrow")
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def made(options):
    """Options of a request; a record that refuses what it is given is made here, by a function of no argument."""
    wanted = {name: options[name]() for name in ("mechanism", "layout") if isinstance(options.get(name), FunctionType)}
    return options | wanted


def laid_out(asked, /, **layout):
    """The options of a request with more of its layout."""
    from puffer_frames import Layout

    return asked | {"layout": replace(asked.get("layout", Layout()), **layout)}


def sweep(few, many):
    """For a test of `count` cases: few of them in the suite, many among the slow tests."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])


def few(count, rest="slow"):
    """For a test of many cases: so many of them in the suite, evenly spread, the rest among the slow or apart."""
    return pytest.mark.few(count, rest=rest)


def thinned(*axes, often=1, few=None):
    """Every combination of the entries of the axes: few of them in the suite, the others among the slow tests.

    The few walk along all axes at once, once round the longest, so every entry of every axis is in one of them at
    least; each further time round, the axes are shifted against each other. Of one axis they can be named.
    """
    lengths = [len(axis) for axis in axes]
    if few is None:
        walk = range(max(lengths))
        few = {tuple((k + 5 * turn * i) % n for i, n in enumerate(lengths)) for turn in range(often) for k in walk}
    else:
        few = {(axes[0].index(entry),) for entry in few}
    return [
        pytest.param(
            *(list(axis)[k] for axis, k in zip(axes, places, strict=True)),
            marks=() if places in few else pytest.mark.slow,
        )
        for places in itertools.product(*map(range, lengths))
    ]


gc.disable()  # while tests are collected: nothing of them is garbage, and looking for it is a third of the time


def pytest_collection_finish():
    """From here on garbage is collected, but not looked for among the tests."""
    gc.freeze()
    gc.enable()


def pytest_ignore_collect(collection_path, config):
    """What the suite leaves out as a whole is not read either."""
    if config.option.markexpr == "not slow and not apart" and APART.search(collection_path.as_posix()):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """What a test draws from the operating system, keys and unseeded generators, follows from its name.

    So it fails always or never. Processes that it starts draw as usual.
    """
    drawn = random.Random(item.nodeid).randbytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", drawn)
        patch.setattr(random, "_urandom", drawn)  # of `secrets`, from which NumPy has it
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(call):
    """Nothing is collected while a traceback is made: Python 3.11 cannot parse a file within the parsing of another."""
    if call.excinfo is None:
        return (yield)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of tests on every kind of frame the suite has the first case on every kind, the others on one kind each, in turn.

    The first case leaves out two of the three kinds of pandas in turn. All that is left out is among the slow tests.
    Tests of Spark, of other processes, of whole pages and of numbers are apart.
    """
    spread_out(items)
    for item in items:
        if APART.search(item.nodeid) or SPARK.search(item.nodeid):
            item.add_marker(pytest.mark.apart)
    seen = {}
    for item in items:
        params = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        name = params.pop("kind", None)
        if name not in FRAME_KINDS:
            continue
        turn, kinds, cases = seen.setdefault((item.path, item.originalname), (len(seen), {}, {}))
        kind = kinds.setdefault(name, len(kinds))
        parts = [part for part in item.callspec.id.split("-") if part not in name.split("-")]
        case = cases.setdefault("-".join(parts) if params else "", len(cases))
        in_turn = (kind - case - turn) % len(FRAME_KINDS) == 0
        first = case == 0 and (name not in RARE_KINDS or RARE_KINDS.index(name) == turn % 3)
        if not (in_turn or first):
            item.add_marker(pytest.mark.slow)


def spread_out(items):
    """Mark what `few` leaves out."""
    cases = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for found in cases.values():
        mark = found[0].get_closest_marker("few")
        (count,) = mark.args
        kept = {len(found) * k // count for k in range(count)}
        for k, item in enumerate(found):
            if k not in kept:
                item.add_marker(mark.kwargs["rest"])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """As `--dist loadfile`, with the tests of Spark as if they were of one file."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class OneSession(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return "spark" if SPARK.search(nodeid) else super()._split_scope(nodeid)

    return OneSession(config, log)


def build_frame(kind, data, spark=None):
    """The columns of `data` as a frame of the given kind, its rows in their order; one of Spark needs a session."""
    if kind == "pandas":
        return pd.DataFrame(data)
    if kind in ("pandas-nullable", "pandas-pyarrow"):
        backend = "pyarrow" if kind == "pandas-pyarrow" else "numpy_nullable"
        with np.errstate(invalid="ignore"):  # pandas 2.2 tries whether infinities are integers
            return pd.DataFrame(data).convert_dtypes(dtype_backend=backend)
    if kind == "pyarrow":
        return pa.table(data)
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
        return duckdb.from_arrow(pa.table(data))
    if kind == "spark":
        # Materialised in two partitions: rows that the plan itself holds are released in one.
        return spark.createDataFrame(pa.table(data)).localCheckpoint()
    return pl.DataFrame(data) if kind == "polars" else pl.LazyFrame(data)


def run(released):
    """A release in memory: that of a lazy frame is a plan."""
    return released.puffer.collect() if isinstance(released, pl.LazyFrame) else released


@pytest.fixture(scope="module", params=FRAME_KINDS)
def kind(request):
    return request.param


without_spark = pytest.mark.parametrize("kind", LOCAL_KINDS, indirect=True)
"""For what a Spark frame does not do."""


@pytest.fixture(scope="module")
def make_frame(request, kind):
    """From columns to a frame; the session is asked for by the kind that needs it, and the others run without it."""
    spark = request.getfixturevalue("spark") if kind == "spark" else None
    return lambda data: build_frame(kind, data, spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two cores, a task may fail three times; no interface, few partitions, few rows to an Arrow batch."""
    sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java runtime for Spark")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    options = {
        "spark.python.daemon.module": "spark_daemon",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent / "frames"), prepend=os.pathsep)  # there the daemon is
        session = sql.SparkSession.builder.master("local[2,4]").config(map=options).getOrCreate()
    yield session
    session.stop()


IMPORTED = """
import json, os, signal, sys
import numpy, pandas, polars, pyarrow.parquet, puffer_frames
from puffer_frames.doors.command import main

for line in sys.stdin:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    asked = json.loads(line)
    signal.alarm(600)
    os.chdir(asked["folder"])
    for number, path in enumerate(asked["files"]):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.argv = ["puffer", *asked["words"]]
    exec(compile(asked["code"], "<string>", "exec"), {"__name__": "__main__"})
    sys.exit()
"""


@pytest.fixture(scope="session")
def in_a_process():
    """Runs code with arguments in a process of its own: a child of one that has imported everything and used nothing,
    which takes seconds less than a new one. Gives its exit code, and what it has printed.
    """
    if not hasattr(os, "fork"):
        pytest.skip("this platform has no fork")
    command, root = [sys.executable, "-W", "ignore", "-c", IMPORTED], str(Path(__file__).parents[1])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=os.environ | {"PYTHONPATH": root}) as imported:

        def run(code, *words):
            with tempfile.TemporaryDirectory() as folder:
                files = [os.devnull, f"{folder}/out", f"{folder}/err"]
                asked = {"code": code, "words": list(map(str, words)), "folder": str(Path.cwd()), "files": files}
                print(json.dumps(asked), file=imported.stdin, flush=True)
                ended = int(imported.stdout.readline())
                return subprocess.CompletedProcess(words, ended, *(Path(path).read_text() for path in files[1:]))

        yield run
        imported.stdin.close()


@pytest.fixture(scope="module")
def people():
    """Two hundred rows, three groups, six values; its noise at epsilon 0.05 is about 2.2."""
    rng = np.random.default_rng(0)
    data = {"group": rng.choice(["a", "b", "c"], 200), "score": rng.integers(0, 6, 200)}
    return data | {"note": rng.permutation(["x", "y"] * 100).tolist()}


def table(name, **options):
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    return pd.read_csv(path, **options)


@pytest.fixture(scope="session")
def adult():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[4, 8])
    return frame.set_axis(["education_num", "race"], axis=1)


@pytest.fixture(scope="session")
def hungarian():
    frame = table("processed.hungarian.data", header=None, na_values="?", usecols=[1, 4])
    return frame.set_axis(["sex", "chol"], axis=1).dropna(ignore_index=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one table as files of every kind, which is the working directory."""
    from command_line import write_tables  # of the tests of the command

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUFFER_PASSWORD", raising=False)
    write_tables(tmp_path)
    return tmp_path
