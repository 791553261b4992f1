"""Columns of lists as labels: what counts rows and draws labels sees each list as its JSON text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from puffer_frames.frames.columns import Frame, NativeFrame
from puffer_frames.priors.summary import OTHER

_BEFORE = '{"a":'
"""What Polars writes before a list that is the only field of a structure."""


def has_lists(entries: nw.Series[Any], /) -> bool:
    """Whether a column of Polars holds lists that are labels."""
    return is_of_lists(getattr(entries.to_native(), "dtype", None))


def is_of_lists(dtype: Any, /) -> bool:
    """Whether a dtype of Polars is that of lists of texts, or of whole numbers of at most 64 bits."""
    if not isinstance(dtype, pl.List):
        return False
    return dtype.inner == pl.String or (dtype.inner.is_integer() and dtype.inner not in (pl.Int128, pl.UInt128))


def list_texts(lists: pl.Series, /) -> pl.Series:
    """The JSON text of each list, another one for each other list; a missing list stays missing.

    That of the list of `OTHER` alone is `OTHER`: it joins merged levels, as the text does in a column of texts.
    """
    found = lists.alias("a").to_frame().to_struct().struct.json_encode()
    texts = found.str.slice(len(_BEFORE)).str.head(-1).replace(json.dumps([OTHER]), OTHER)
    return texts.set(lists.is_null(), None)


def in_texts(frame: Frame, names: Iterable[str], /) -> tuple[Frame, dict[str, pl.DataType]]:
    """A frame in memory with texts in place of the lists of some columns, and the dtypes that these had."""
    lists = {name: frame[name].to_native() for name in names if name in frame.columns and has_lists(frame[name])}
    if not lists:
        return frame, {}
    native = frame.to_native().with_columns(list_texts(own).alias(name) for name, own in lists.items())
    return nw.from_native(native, eager_only=True), {name: own.dtype for name, own in lists.items()}


def as_lists(texts: Iterable[Any], dtype: pl.DataType, /, *, levels: Iterable[Any]) -> pl.Series:
    """The lists of some texts, and null for None, of a dtype that holds those of all levels.

    Merged levels, whose text is no list, are a list of this text. Beside it, and where the levels are of another
    table, all entries are text.
    """
    try:
        pl.Series(map(_list_of, levels), dtype=dtype)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        dtype = pl.List(pl.String)
    found = [_list_of(text) for text in texts]
    if dtype == pl.List(pl.String):
        found = [own and [None if entry is None else str(entry) for entry in own] for own in found]
    return pl.Series(found, dtype=dtype)


def _list_of(text: str | None) -> list[Any] | None:
    return None if text is None else json.loads(text) if text.startswith("[") else [text]


def with_lists(frame: NativeFrame, dtypes: Mapping[str, pl.DataType], levels: Mapping[str, Any], /) -> NativeFrame:
    """A released frame with lists in place of the texts of columns that had these dtypes, and have these levels."""
    if not isinstance(frame, pl.DataFrame) or not dtypes:
        return frame
    columns = []
    for name, dtype in dtypes.items():
        used = frame[name].drop_nulls().unique()
        codes = frame[name].cast(pl.Enum(used)).to_physical()
        columns.append(as_lists(used, dtype, levels=levels[name]).gather(codes).alias(name))
    return frame.with_columns(columns)
