"""Arrays as frames, and frames as arrays or as frames of another library, for callers that know no frames."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.frames.columns import NativeFrame


def frame_of(array: NDArray[Any], /) -> NativeFrame:
    """A pandas frame of the columns x0, x1, ... of an array; those of objects get the type of their entries."""
    objects = array.dtype.kind == "O"
    columns: dict[str, Any] = {f"x{k}": list(part) if objects else part.copy() for k, part in enumerate(array.T)}
    return nw.from_dict(columns, backend="pandas").to_native()


def array_of(frame: NativeFrame, /) -> NDArray[Any]:
    """The columns of a frame as those of an array, of objects where one of them holds labels."""
    columns = [column.to_numpy() for column in nw.from_native(frame, eager_only=True).iter_columns()]
    numbers = all(column.dtype.kind in "fiub" for column in columns)
    return np.column_stack(columns if numbers else [column.astype(object) for column in columns])


def in_library(frame: NativeFrame, library: str, /) -> NativeFrame:
    """A frame in memory as one of "pandas" or "polars", which has no index; the same where it is one."""
    opened = nw.from_native(frame, eager_only=True)
    if opened.implementation.name.lower() == library:
        return frame
    return opened.to_pandas() if library == "pandas" else opened.to_polars()
