"""The released frame: noisy columns in, secret out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.arrow import is_arrow, to_arrow
from puffer_frames.frames.columns import Frame, NativeFrame, column
from puffer_frames.priors import FloatArray, IndexArray


def float_values(frame: Frame, name: str, /) -> FloatArray:
    """A checked public column as an array of 64-bit floats."""
    return np.asarray(column(frame, name).cast(nw.Float64).to_numpy(), dtype=np.float64)


def check_index(frame: Frame, index: str | None, /) -> None:
    """Require a decision on a pandas index that is not 0, 1, ..., n - 1.

    Raises
    ------
    ArgumentError
        For a non-trivial index and no decision, or another word than "keep" and "drop".
    """
    if index not in (None, "keep", "drop"):
        raise ArgumentError("index", rule='"keep", "drop" or None', got=repr(index), hint='Write index="drop".')
    if index is None and frame.implementation.is_pandas() and not _trivial(frame.to_native().index):
        raise ArgumentError(
            "the index of the frame",
            rule="0, 1, ..., n - 1, or decided on by the argument index",
            got=f"other labels ({type(frame.to_native().index).__name__})",
            hint='Write index="drop" to number the rows anew, or index="keep" to release the labels as they are.',
        )


def _trivial(index: Any) -> bool:
    return bool(index.nlevels == 1 and index.equals(pd.RangeIndex(len(index))))


def as_given(frame: NativeFrame, native: NativeFrame, /) -> NativeFrame:
    """A frame of the library that an input was opened with, as one of the input's own kind."""
    return to_arrow(frame, like=native) if is_arrow(native) else frame


def build_release(
    frame: Frame,
    /,
    *,
    columns: Mapping[str, FloatArray],
    keep: Sequence[str],
    index: str | None,
    order: IndexArray | None,
    labels: Any,
) -> NativeFrame:
    """A new frame of the same library with the given columns and the kept ones, in the frame's order of columns.

    The columns are 64-bit floats of the column's own dtype family (NumPy, nullable or pyarrow in pandas). `order`
    rearranges the rows; `labels` are the column labels of the native frame.
    """
    places = [k for k, name in enumerate(frame.columns) if name in columns or name in keep]
    selected = frame.select(*(frame[frame.columns[k]] for k in places))
    if not frame.implementation.is_pandas():
        arrays = [nw.new_series(name, values, nw.Float64, backend="polars") for name, values in columns.items()]
        released = selected.with_columns(*arrays)
        return (released if order is None else released[order]).to_native()
    native = selected.to_native().copy()
    for name, values in columns.items():
        dtype = selected[name].cast(nw.Float64).to_native().dtype
        native[name] = pd.Series(values, index=native.index, dtype=dtype)
    native.attrs = {}
    if order is not None:
        native = native.iloc[order]
    if index != "keep":
        native = native.reset_index(drop=True)
    native.columns = labels[places]
    return native
