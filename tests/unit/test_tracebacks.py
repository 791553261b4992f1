"""A mistake in one line is shown at that line: one frame of the package below it, whatever the frame."""

import inspect
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import puffer_frames
from puffer_frames import (
    Certificate,
    Channel,
    Layout,
    Noise,
    PufferError,
    PufferTransformer,
    Stable,
    Unit,
    core,
    papers,
)
from puffer_frames.core import Prior
from puffer_frames.doors import accessor
from puffer_frames.errors import FULL_TRACEBACK, CallError, FaultError, short_traceback
from puffer_frames.verbs import release

RNG = np.random.default_rng(3)
DATA = {"group": RNG.choice(["a", "b"], 60), "score": RNG.integers(0, 9, 60), "note": ["x", "y", "z"] * 20}
KINDS = {"pandas": pd.DataFrame(DATA), "polars": pl.DataFrame(DATA), "lazy": pl.LazyFrame(DATA)}
GOOD = {"secret": "group", "public": "score", "epsilon": 0.1}

MISTAKES = {
    "no such column": lambda frame: frame.puffer.privatize(**GOOD | {"secret": "grup"}),
    "no epsilon": lambda frame: frame.puffer.privatize(secret="group", public="score"),
    "a misspelt argument": lambda frame: frame.puffer.privatize(**GOOD, thoerem="gmm"),
    "an argument by place": lambda frame: frame.puffer.privatize("group", **GOOD),
    "an epsilon of 0": lambda frame: frame.puffer.calibrate(**GOOD | {"epsilon": 0}),
    "a text for epsilon": lambda frame: puffer_frames.privatize(frame, **GOOD | {"epsilon": "1"}),
    "an unknown word": lambda frame: frame.puffer.privatize(**GOOD, mechanism=Noise(theorem="gmn")),
    "the same column twice": lambda frame: frame.puffer.privatize(**GOOD | {"public": "group"}),
    "the secret kept": lambda frame: puffer_frames.of(frame).privatize(**GOOD, layout=Layout(keep="group")),
    "no noise needed": lambda frame: frame.puffer.privatize(**GOOD | {"epsilon": 9}),
    "no certificate": lambda frame: frame.puffer.certificate,
    "verify what is no release": lambda frame: frame.puffer.verify(),
    "a file of what is no release": lambda frame: frame.puffer.write_parquet("nothing.parquet"),
    "a sum of text": lambda frame: frame.puffer.aggregate(unit="group", value="note", epsilon=1.0),
    "a chain of no matrix": lambda frame: frame.puffer.histogram(state="note", time="score", epsilon=1.0, chain=3),
}
OTHERS = {
    "no frame": lambda: puffer_frames.privatize([1, 2], **GOOD),
    "of no frame": lambda: puffer_frames.of([1, 2]),
    "a unit of odd rows": lambda: Unit("patient", rows="odd"),
    "a noise of odd shape": lambda: Stable(alpha=3),
    "a prior of odd width": lambda: Prior.gaussian(0, -1),
    "a scale for no priors": lambda: puffer_frames.core.smallest_scale({}, epsilon=1.0),
    "a certificate of nothing": lambda: Certificate.from_dict({}),
    "no release in a composition": lambda: puffer_frames.compose([]),
    "other rows": lambda: PLAN.release(KINDS["pandas"].iloc[:30]),
    "a misspelt argument of a plan": lambda: PLAN.release(KINDS["pandas"], kep="note"),
    "a transformer for a missing column": lambda: PufferTransformer(**GOOD | {"secret": "x"}).fit(KINDS["pandas"]),
}
METHODS = {
    "Plan": "release check robustness",
    "Certificate": "from_dict load sign verify attach",
    "Ledger": "__init__ entries total withdraw",
    "MarkovChain": "of",
    "Prior": "gaussian mixture empirical bernoulli",
    "PufferTransformer": "fit",
    "Unit": "__init__",
}
PLAN = KINDS["pandas"].puffer.calibrate(**GOOD)


def met(call, *arguments):
    """The error of a call, and the files of the frames below this one."""
    try:
        call(*arguments)
    except PufferError as error:
        return error, [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)][1:]
    raise AssertionError("no error")


def assert_short(error, files):
    assert files[0] == Path(__file__)
    assert len(files) == 2, error
    assert error.__traceback__.tb_next.tb_next.tb_frame.f_locals["__tracebackhide__"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows_one_frame(mistake, kind):
    assert_short(*met(MISTAKES[mistake], KINDS[kind]))


@pytest.mark.parametrize("mistake", OTHERS)
def test_a_mistake_elsewhere_shows_one_frame(mistake):
    assert_short(*met(OTHERS[mistake]))


@pytest.mark.parametrize("mistake", ["no such column", "no noise needed", "a misspelt argument"])
def test_all_frames_on_request(monkeypatch, mistake):
    monkeypatch.setenv(FULL_TRACEBACK, "1")
    _, files = met(MISTAKES[mistake], KINDS["polars"])
    assert len(files) > 4


def test_a_fault_keeps_all_frames(monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(release, "release_rows", fail)
    with pytest.raises(FaultError, match=r"^privatize must run without .* got a ZeroDivisionError") as caught:
        KINDS["pandas"].puffer.privatize(**GOOD)
    assert caught.traceback[-1].name == "fail"
    assert len(caught.traceback) > 4
    for off in ("0", "false", "no", "off"):
        monkeypatch.setenv(FULL_TRACEBACK, off)
        with pytest.raises(FaultError):
            KINDS["pandas"].puffer.privatize(**GOOD)
    monkeypatch.setenv(FULL_TRACEBACK, "1")
    with pytest.raises(ZeroDivisionError):
        KINDS["pandas"].puffer.privatize(**GOOD)


def test_call_errors_and_what_was_handled_before():
    def handle():
        try:
            raise LookupError("first")
        except LookupError:
            KINDS["pandas"].puffer.privatize(**GOOD | {"epsilon": 0})

    error, _ = met(handle)
    assert isinstance(error.__context__, LookupError)
    assert not error.__suppress_context__
    error, _ = met(lambda: KINDS["pandas"].puffer.privatize(**GOOD, thoerem="gmm"))
    assert isinstance(error, CallError)
    assert isinstance(error, TypeError)
    said = "privatize() got an unexpected keyword argument 'thoerem'; did you mean mechanism=Noise(theorem=...)?"
    assert str(error) == said
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert error.hint == "See the help of privatize."


MARK = "HIV-positive"
LABELS = pd.DataFrame(DATA | {"note": ["1", "2", MARK] * 20})
RANK = {"1": 0, "2": 1}


class Beliefs(dict):
    def items(self):
        raise ValueError(MARK)


def broken_later():
    """A released plan whose rows cannot be read any more."""
    runs = []

    def entry(score):
        if len(runs) > 300:
            raise KeyError(MARK)
        runs.append(score)
        return score

    source = KINDS["lazy"].with_columns(pl.col("score").map_elements(entry, return_dtype=pl.Int64))
    released = source.puffer.privatize(**GOOD)
    runs.extend([0] * 300)
    return released


def in_duckdb():
    frame = LABELS  # noqa: F841 - DuckDB finds it by its name
    return duckdb.sql('select "group", cast(note as int) as note from frame')


LEAKS = {
    "a cost function": lambda: LABELS.puffer.privatize(
        **GOOD | {"public": "note"}, mechanism=Channel(cost=lambda a, b: RANK[a] - RANK[b])
    ),
    "a mapping": lambda: LABELS.puffer.calibrate(**GOOD | {"public": "note"}, beliefs={"a": Beliefs(), "b": {"1": 1}}),
    "a cast of Polars": lambda: (
        pl.from_pandas(LABELS)
        .lazy()
        .with_columns(pl.col("note").cast(pl.Int64))
        .puffer.privatize(**GOOD | {"public": "note"})
    ),
    "a cast of DuckDB": lambda: puffer_frames.privatize(in_duckdb(), **GOOD | {"public": "note"}),
    "a later run": lambda: broken_later().collect(),
    "complex numbers": lambda: PufferTransformer(**GOOD | {"secret": "x0", "public": "x1"}).fit(
        np.array([[0, 7 + 77j]] * 9)
    ),
}


def parts_of(error):
    """All that a traceback, a log or another process can show of an error."""
    yield "".join(traceback.format_exception(error))
    yield repr(error.__dict__) + repr(error.args)
    yield repr(pickle.loads(pickle.dumps(error))) + str(pickle.loads(pickle.dumps(error)))
    for other in (error.__cause__, error.__context__):
        if other is not None:
            yield from parts_of(other)


@pytest.mark.parametrize("leak", LEAKS)
def test_no_error_has_a_value(monkeypatch, leak):
    """Whoever raises it: the text of another library, of a function or a cause quotes the table."""
    with pytest.raises((PufferError, FaultError)) as caught:
        LEAKS[leak]()
    shown = "".join(parts_of(caught.value))
    assert MARK not in shown
    assert "77j" not in shown.replace("7 + 77j", "")
    monkeypatch.setenv(FULL_TRACEBACK, "1")
    with pytest.raises(Exception, match=r"must be|") as caught:
        LEAKS[leak]()
    assert (MARK in "".join(traceback.format_exception(caught.value))) == (leak != "complex numbers")


def decorated(function):
    return function.__code__.co_filename.endswith("errors.py") and hasattr(function, "__wrapped__")


def test_every_public_function_is_short():
    public = [getattr(module, name) for module in (puffer_frames, core, papers) for name in module.__all__]
    for function in filter(inspect.isfunction, public):
        assert decorated(function), function.__name__
    for kind in (accessor.PufferAccessor, accessor.LazyPufferAccessor):
        for name, method in vars(kind).items():
            assert name.startswith("_") or decorated(getattr(method, "fget", method)), name
    for kind, names in METHODS.items():
        for name in names.split():
            home = core if kind in core.__all__ else puffer_frames
            method = inspect.getattr_static(getattr(home, kind), name)
            assert decorated(getattr(method, "__func__", method)), f"{kind}.{name}"


def test_signature_help_and_types_are_kept():
    @short_traceback
    def double(number: int, /, *, by: int = 2) -> int:
        """Times two."""
        return number * by

    assert double(3) == 6
    assert str(inspect.signature(double)) == "(number: int, /, *, by: int = 2) -> int"
    assert (double.__doc__, double.__name__) == ("Times two.", "double")
    assert double.__wrapped__(3, by=3) == 9
    assert pickle.loads(pickle.dumps(puffer_frames.privatize)) is puffer_frames.privatize
    assert list(inspect.signature(Unit).parameters)[:2] == ["column", "rows"]


def test_it_costs_next_to_nothing():
    def nothing(*, epsilon):
        return epsilon

    calls = []
    short = short_traceback(nothing)
    sys.setprofile(lambda _frame, event, _: calls.append(event))
    try:
        short(epsilon=1.0)
    finally:
        sys.setprofile(None)
    assert calls.count("call") == 2  # itself and the function


SCRIPT = """
import pandas as pd, puffer_frames
frame = pd.DataFrame({"a": [1]})
frame.puffer.privatize(secret="b", public="a", epsilon=1.0)
"""


@pytest.mark.apart
def test_what_python_shows():
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert found.stderr.count("  File ") == 2
    assert "ColumnNotFoundError: secret must be a column of the frame; got 'b'." in found.stderr


def test_what_a_notebook_shows():
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    from IPython.utils.capture import capture_output

    notebook = shell.InteractiveShell()
    with capture_output() as printed:
        notebook.run_cell(SCRIPT)
    shown = re.sub(r"\x1b\[[\d;]*m", "", printed.stdout)
    assert re.search(r"^-+> \d+ frame.puffer.privatize\(", shown, flags=re.M)
    assert shown.count("File ") == 2
    assert len(shown.splitlines()) < 20
