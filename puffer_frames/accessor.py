"""The `.puffer` accessor of pandas and Polars frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd
import polars as pl

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.verbs.aggregates import aggregate
from puffer_frames.verbs.attached import certificate_of, collect, sink_parquet, verify, write_parquet
from puffer_frames.verbs.release import calibrate, privatize
from puffer_frames.verbs.series import histogram

NAME = "puffer"

P = ParamSpec("P")
R = TypeVar("R")


def _method(function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[PufferAccessor, P], R]:
    """A method that passes the accessor's frame to the function; signature and help are the function's."""

    @wraps(function)
    def method(self: PufferAccessor, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self._open(), *args, **kwargs)

    return method


class PufferAccessor:
    """Pufferfish privacy for this frame: `privatize`, `calibrate`, `aggregate`, `histogram`, and `verify`."""

    def __init__(self, frame: NativeFrame) -> None:
        self._frame = frame

    def _open(self) -> NativeFrame:
        getattr(self._frame, "__dict__", {}).pop(NAME, None)  # Polars caches it: the cycle would keep the frame alive
        return self._frame

    privatize = _method(privatize)
    calibrate = _method(calibrate)
    aggregate = _method(aggregate)
    histogram = _method(histogram)
    verify = _method(verify)
    write_parquet = _method(write_parquet)

    @property
    def certificate(self) -> Certificate:
        """The certificate attached to this release; raises UncoveredFrameError where there is none."""
        return certificate_of(self._open())


class LazyPufferAccessor(PufferAccessor):
    """The same for a Polars plan; `collect` and `sink_parquet` run what `privatize` returned."""

    collect = _method(collect)
    sink_parquet = _method(sink_parquet)


def register() -> None:
    """Register the accessor with pandas and Polars."""
    pd.api.extensions.register_dataframe_accessor(NAME)(PufferAccessor)
    pl.api.register_dataframe_namespace(NAME)(PufferAccessor)
    pl.api.register_lazyframe_namespace(NAME)(LazyPufferAccessor)
