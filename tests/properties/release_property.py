"""The property of every request: a private release or a documented error, and nothing but these."""

import inspect
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from conftest import run
from odd_columns import MARKER
from odd_requests import Once, Seed, in_records
from release_checks import check_release

import puffer_frames
from puffer_frames import PufferError, PufferWarning, privatize
from puffer_frames.verbs.requests import MOVED

OPTIONS = {*inspect.signature(privatize).parameters, *MOVED, "family"}
SECONDS = 60
"""No release of so small a table works longer, whatever else the machine does."""
OLD = int(pl.__version__.partition(".")[0]) < 2
"""Polars before 2."""


def check(case):
    """Require the property of a case; return what happened, as words to be counted."""
    table, options = case.table, _fresh(case.options)
    if OLD and isinstance(table.frame, pl.LazyFrame) and pl.Object in table.frame.collect_schema().dtypes():
        return ["objects in a plan of an old Polars, which reads them back as bytes"]
    before = snapshot(table)
    released = error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        try:
            with within(SECONDS):
                released = run(privatize(table.frame, **in_records(options)))
        except PufferError as raised:
            error = raised
        except pl.exceptions.PanicException as panic:
            raise AssertionError("a panic of Polars") from panic
    assert snapshot(table) == before, "the input frame has changed"
    for warning in caught:
        place = f"{Path(warning.filename).name}:{warning.lineno}"
        assert isinstance(warning.message, PufferWarning), f"{warning.category.__name__} at {place}: {warning.message}"
        named = map(str, getattr(warning.message, "secrets", ()))  # labels of secrets may be shown
        assert str(MARKER) not in str(warning.message) or any(str(MARKER) in label for label in named), (
            "a warning shows a public value"
        )
    events = [f"warning: {warning.category.__name__}" for warning in caught]
    if error is not None:
        check_error(error)
        lazy_order = error.what == "shuffle" and isinstance(table.frame, pl.LazyFrame)  # its rows are never together
        blamed = error.what in OPTIONS and not lazy_order
        assert case.invalid or names_none(case) or not blamed, f"a valid option is blamed: {error}"
        return [*events, f"error: {type(error).__name__}: {error.rule}"]
    assert case.invalid is None, f"a release in spite of {case.invalid}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        return [*events, "release", *check_release(case, released)]


@contextmanager
def within(seconds):
    """Interrupt what computes longer, where the platform can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise AssertionError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _fresh(options):
    """The options with new iterators and generators, so that a case can be run again."""
    made = {Once: iter, Seed: np.random.default_rng}
    return {name: made.get(type(value), lambda same: same)(value) for name, value in options.items()}


def snapshot(table):
    """Everything that there is to see of a frame, as text."""
    frame = table.frame
    columns = [(repr(label), repr(table.dtype(k)), repr(table.values(k))) for k, label in enumerate(table.labels)]
    if not isinstance(frame, pd.DataFrame):
        return type(frame), columns, sorted(vars(frame))
    index = type(frame.index), repr(frame.index.tolist()), str(frame.index.dtype), frame.index.names
    labels = type(frame.columns), str(frame.columns.dtype), frame.columns.names
    return type(frame), columns, index, labels, repr(frame.attrs), frame.flags.allows_duplicate_labels


def names_none(case):
    """Whether a named column has the label None or (), which alone say that none is named."""
    table = case.table
    named = [table.labels[place] for place in (*table.secret, *table.public, *table.keep)]
    return any(label is None or (isinstance(label, tuple) and not label) for label in named)


def check_error(error):
    text = str(error)
    assert " must be " in text, text
    assert "; got " in text, text
    assert "Hint:" in text, text
    for shown in _chain(error):
        assert str(MARKER) not in f"{shown} {shown!r} {shown.args}", f"an error shows a public value: {shown}"


def _chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
