"""Columns in memory that must stay as they were counted until the noise is drawn: another thread may write to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.columns import Frame
from puffer_frames.frames.gmac import Gmac, new_key
from puffer_frames.frames.local.write import float_values
from puffer_frames.priors.prior import FloatArray

_CHUNK = 1 << 17
"""Entries that are taken in together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Codes of the memory of some columns, GMAC under a key of its own: any change of an entry or of the order shows.

    A change that is undone before a column is read again does not.
    """

    key: bytes = field(repr=False)
    codes: Mapping[str, bytes]
    """By the name of the column."""
    rows: int
    """Number of rows."""

    @classmethod
    def of(cls, frame: Frame, names: Iterable[str], /) -> Seal:
        """Of columns as they are now; those that are not of numbers or booleans are left out."""
        key = new_key()
        own = [name for name in names if _is_number(frame[name].dtype)]
        return cls(key=key, codes={name: _code(key, k, frame[name]) for k, name in enumerate(own)}, rows=len(frame))

    def floats(self, frame: Frame, name: str, /) -> FloatArray:
        """A public column as 64-bit floats, perhaps its own memory: to be checked after its use.

        Raises
        ------
        CalibrationError
            Where the column is plainly another one.
        """
        if not self._is_there(frame, name):
            raise changed(f"the column {name!r}")
        return float_values(frame, name)

    def check_columns(self, frame: Frame, /) -> None:
        """Raise CalibrationError where a column is plainly another one, or is gone."""
        for name in self.codes:
            if not self._is_there(frame, name):
                raise changed(f"the column {name!r}")

    def check(self, frame: Frame, /) -> None:
        """Raise CalibrationError where a column has changed."""
        for place, (name, code) in enumerate(self.codes.items()):
            if not self._is_there(frame, name) or _code(self.key, place, frame[name]) != code:
                raise changed(f"the column {name!r}")

    def _is_there(self, frame: Frame, name: str) -> bool:
        return name in frame.columns and _is_number(frame[name].dtype) and len(frame) == self.rows


def changed(what: str, /) -> CalibrationError:
    """The error of a frame that was written to."""
    return CalibrationError(
        what,
        rule="the same while the frame is released",
        got="other entries than when they were counted",
        hint="Release a copy of the frame, or wait until nothing else writes to it.",
    )


def _is_number(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, nw.Boolean)


def _code(key: bytes, place: int, entries: nw.Series[Any]) -> bytes:
    """The code of a column."""
    code = Gmac(key, place)
    for part in _memory(entries):
        code.take_text(f"{part.dtype.str}{part.size};")
        for start in range(0, part.size, _CHUNK):  # where entries are apart, they are copied part by part
            code.take(part[start : start + _CHUNK])
    return code.code()


def _memory(entries: nw.Series[Any]) -> list[NDArray[Any]]:
    """Where a column lies, and which entries are there where that is said beside them; a copy where it is no array."""
    native = entries.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, np.dtype):
        return [native.to_numpy()]
    if isinstance(entries.dtype, (nw.Int128, nw.UInt128)):  # neither NumPy nor Arrow has such integers
        return [np.asarray(entries.cast(nw.Float64).to_numpy())]
    if isinstance(native, pd.Series):
        whole: Any = pa.array(native.array)
        chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
    else:
        chunks = [chunk.to_arrow() for chunk in native.get_chunks()]
    return [part for chunk in chunks for part in (_bits(chunk, chunk.buffers()[0]), _entries(chunk))]


def _entries(chunk: Any) -> NDArray[Any]:
    """The entries of an Arrow array, booleans eight to a byte."""
    buffer = chunk.buffers()[1]
    if pa.types.is_boolean(chunk.type) or buffer is None:
        return _bits(chunk, buffer)
    dtype = np.dtype(chunk.type.to_pandas_dtype())
    return np.frombuffer(buffer, dtype, count=chunk.offset + len(chunk))[chunk.offset :]


def _bits(chunk: Any, buffer: Any) -> NDArray[np.uint8]:
    """The bytes with the bits of an Arrow array's entries."""
    if buffer is None:
        return np.zeros(0, dtype=np.uint8)
    return np.frombuffer(buffer, np.uint8, count=-(-(chunk.offset + len(chunk)) // 8))[chunk.offset // 8 :]
