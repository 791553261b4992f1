"""The released frame: noisy columns in, secret out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import Frame, NativeFrame, column
from puffer_frames.frames.levels import check_level_names, is_trivial
from puffer_frames.frames.local.labels import Relabelled
from puffer_frames.frames.local.own import own_array, own_index, own_labels, own_series
from puffer_frames.noise.adding import Reals
from puffer_frames.priors.prior import FloatArray, IndexArray


def real_values(frame: Frame, name: str, /) -> Reals:
    """A checked public column as an array: of integers that are 64-bit floats too, or of these."""
    entries = column(frame, name)
    if entries.dtype.is_integer() and not isinstance(entries.dtype, (nw.Int128, nw.UInt128)):
        integers = np.asarray(entries.to_numpy())
        if integers.dtype.kind in "iu":
            return integers
    return np.asarray(entries.cast(nw.Float64).to_numpy(), dtype=np.float64)


def check_index(frame: Frame, index: str | None, /) -> None:
    """Require a decision on a pandas index that is not 0, 1, ..., n - 1.

    Raises ArgumentError for a non-trivial index and no decision, and for a kept level with the name of a column.
    """
    if index is None and frame.implementation.is_pandas() and not is_trivial(frame.to_native().index):
        raise ArgumentError(
            "the index of the frame",
            rule="0, 1, ..., n - 1, or decided on by Layout(index=...)",
            got=f"other labels ({type(frame.to_native().index).__name__}), as filtered and sorted frames have them",
            hint='Write Layout(index="drop") to number the rows anew, or "keep" to release the labels as they are.',
        )
    if index == "keep" and frame.implementation.is_pandas():
        check_level_names(frame.to_native())


def build_release(
    frame: Frame,
    native: NativeFrame,
    /,
    *,
    columns: Mapping[str, FloatArray | Relabelled],
    keep: Sequence[str],
    index: str | None,
    order: IndexArray | None,
) -> NativeFrame:
    """A new frame of the same library with the given columns and the kept ones, in the frame's order of columns.

    The columns are 64-bit floats of the column's own dtype family (NumPy, nullable or pyarrow in pandas), or labels in
    its own dtype. `order` rearranges the rows. `native` is the frame as it was given, with all its rows and labels. No
    memory is shared with either: what is dropped is gone.
    """
    names = [name for name in frame.columns if name in columns or name in keep]
    noisy = {name: _in_order(values, order) for name, values in columns.items()}
    if frame.implementation.is_pandas():
        return _pandas_release(frame, native, names, noisy=noisy, index=index, order=order)
    rows = frame.to_native()
    return pl.DataFrame(
        {
            name: _polars_column(noisy[name], rows[name]) if name in noisy else own_series(rows[name], order)
            for name in names
        }
    )


def _polars_column(values: FloatArray | Relabelled, given: pl.Series) -> pl.Series:
    return values.as_polars(given.dtype) if isinstance(values, Relabelled) else pl.Series(values)


def _pandas_release(
    frame: Frame,
    native: pd.DataFrame,
    names: Sequence[str],
    /,
    *,
    noisy: Mapping[str, FloatArray | Relabelled],
    index: str | None,
    order: IndexArray | None,
) -> pd.DataFrame:
    rows, all_names = frame.to_native(), list(frame.columns)
    places = [all_names.index(name) for name in names]
    labels = own_index(rows.index, order) if index == "keep" else pd.RangeIndex(len(rows))
    found: dict[int, pd.Series[Any]] = {}
    for place, name in zip(places, names, strict=True):
        released = noisy.get(name)
        if isinstance(released, Relabelled):
            array = released.as_pandas(rows.iloc[:, place].dtype)
            found[place] = pd.Series(array, index=labels, dtype=array.dtype, copy=False)
        elif released is not None:
            dtype = frame[name].head(0).cast(nw.Float64).to_native().dtype
            found[place] = pd.Series(released, index=labels, dtype=dtype, copy=False)
        else:
            values = own_array(rows.iloc[:, place], order)
            found[place] = pd.Series(values, index=labels, dtype=values.dtype, copy=False)
    table = pd.DataFrame(found, index=labels, copy=False)
    table.columns = own_labels(native.columns[places])
    return table


def _in_order(values: FloatArray | Relabelled, order: IndexArray | None) -> FloatArray | Relabelled:
    """Without noise they are still those of the frame."""
    if isinstance(values, Relabelled):
        return values.in_order(order)
    values = values if order is None else values[order]
    return values if values.flags.owndata else values.copy()
