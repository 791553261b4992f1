"""The `.puffer` accessor of pandas and Polars frames, and `of`, which gives it to any frame and to type checkers.

Type checkers and editors read accessor.pyi, where the arguments are written out: `.ci/stub.py` writes it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import pandas as pd
import polars as pl

from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import certificate_title, verdict_rows
from puffer_frames.errors import UncoveredFrameError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import check_frame
from puffer_frames.numbers.presentation import Rows, as_text
from puffer_frames.verbs.answers.aggregates import aggregate
from puffer_frames.verbs.answers.series import histogram
from puffer_frames.verbs.attached import certificate_of, collect, report, sink_parquet, verify, write_parquet
from puffer_frames.verbs.auditing.audited import audit
from puffer_frames.verbs.comparing import compare
from puffer_frames.verbs.estimating.estimation import estimate
from puffer_frames.verbs.plans.plan import calibrate
from puffer_frames.verbs.plans.plotted import plot
from puffer_frames.verbs.quality import quality
from puffer_frames.verbs.release import privatize
from puffer_frames.verbs.requests import bind

NAME = "puffer"
_BEFORE: tuple[str, Rows] = (
    "A frame without a certificate",
    [
        (
            "rows",
            "privatize(secret=..., epsilon=...) releases them; calibrate(...) looks first; compare(...) weighs ways",
        ),
        ("answers", "aggregate(...) and histogram(...) release sums, counts and series"),
    ],
)
_AFTER: Rows = [
    ("read", "certificate, report(path), verify(), plot(original), quality(original)"),
    ("compute", "estimate() gives figures of the raw rows, with standard errors, where it can"),
    ("attack", "audit(original)"),
]
"""What there is to call, in the text of an accessor."""

P = ParamSpec("P")
R = TypeVar("R")
Frame = TypeVar("Frame")
"""Type of the frame, and of its release."""
Answer = TypeVar("Answer")
"""Type of a small frame of its library."""


def _method(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[PufferAccessor[Any, Any], P], R]:
    """A method that passes the accessor's frame to the function; signature and help are the function's."""
    signature = inspect.signature(function)

    @wraps(function)
    def method(self: PufferAccessor[Any, Any], /, *args: P.args, **kwargs: P.kwargs) -> R:
        frame = self._open()
        bind(signature, function.__name__, (frame, *args), kwargs)
        return function(frame, *args, **kwargs)

    return short_traceback(method)


class PufferAccessor(Generic[Frame, Answer]):
    """Pufferfish privacy for this frame: `privatize`, `calibrate`, `aggregate`, `estimate`, `audit` and `verify`."""

    def __init__(self, frame: NativeFrame) -> None:
        self._frame = frame

    def _open(self) -> NativeFrame:
        getattr(self._frame, "__dict__", {}).pop(NAME, None)  # Polars caches it: the cycle would keep the frame alive
        return self._frame

    def __repr__(self) -> str:
        frame = self._open()
        try:
            found = certificate_of(frame)
        except UncoveredFrameError:
            return as_text(*_BEFORE)
        after = [row for row in _AFTER if not (found.table and row[0] == "compute")]  # `estimate` refuses whole tables
        return as_text(certificate_title(found), [*verdict_rows(found), *after])

    privatize = _method(privatize)
    calibrate = _method(calibrate)
    compare = _method(compare)
    aggregate = _method(aggregate)
    histogram = _method(histogram)
    audit = _method(audit)
    estimate = _method(estimate)
    quality = _method(quality)
    verify = _method(verify)
    plot = _method(plot)
    report = _method(report)
    write_parquet = _method(write_parquet)

    @property
    @short_traceback
    def certificate(self) -> Certificate:
        """The certificate attached to this release; raises UncoveredFrameError where there is none."""
        return certificate_of(self._open())


class LazyPufferAccessor(PufferAccessor[pl.LazyFrame, pl.DataFrame]):
    """The accessor of a lazy Polars frame; `collect` and `sink_parquet` run what `privatize` returned."""

    collect = _method(collect)
    sink_parquet = _method(sink_parquet)


@short_traceback
def of(frame: NativeFrame, /) -> PufferAccessor[Any, Any]:
    """The accessor of a frame of any kind: `of(frame).privatize(...)` is `frame.puffer.privatize(...)`.

    Type checkers know what it returns, with all arguments: of a pandas frame a pandas frame, of a Polars frame a Polars
    frame. They cannot know `frame.puffer`, which is added to classes of other packages when this one is imported.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table, pyspark.sql.DataFrame or \
    duckdb.DuckDBPyRelation

    Returns
    -------
    PufferAccessor, or LazyPufferAccessor for a Polars plan

    Raises
    ------
    ArgumentTypeError
        For something else.

    Examples
    --------
    >>> import numpy as np, polars as pl, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pl.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = puffer_frames.of(people).privatize(secret="group", public="score", epsilon=0.1)
    >>> puffer_frames.of(released).verify()
    'unsigned: cannot be trusted'
    """
    check_frame(frame)
    return LazyPufferAccessor(frame) if isinstance(frame, pl.LazyFrame) else PufferAccessor(frame)


def register() -> None:
    """Register the accessor with pandas and Polars."""
    pd.api.extensions.register_dataframe_accessor(NAME)(PufferAccessor)
    pl.api.register_dataframe_namespace(NAME)(PufferAccessor)
    pl.api.register_lazyframe_namespace(NAME)(LazyPufferAccessor)
