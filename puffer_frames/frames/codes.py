"""Entries of some rows of a column as numbers, whatever they are."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.frames.columns import LARGEST_INTEGER
from puffer_frames.priors.prior import FloatArray, IndexArray


def codes_of(entries: nw.Series[Any], /) -> IndexArray:
    """Numbers from 0, equal for equal entries, of which missing ones are one. What has no hash goes by its text."""
    native = nw.to_native(entries.alias("entries"))  # Polars reads names like "^x$" as patterns
    if isinstance(native, pd.Series):
        try:
            return np.asarray(native.factorize(use_na_sentinel=False)[0], dtype=np.int64)
        except Exception:  # entries are objects of any kind: lists and arrays of theirs have no hash
            return _text_codes(native.tolist())
    assert isinstance(native, pl.Series)
    if is_plain(entries):
        return np.unique(native.hash().to_numpy(), return_inverse=True)[1]
    return _text_codes(native.to_list())


def ordered_codes_of(entries: nw.Series[Any], /) -> IndexArray:
    """The same in the order of the entries, where these are numbers, times or texts."""
    dtype = entries.dtype
    if not isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        numbers = None if isinstance(dtype, (nw.Int128, nw.UInt128)) else numbers_of(entries)
        return codes_of(entries) if numbers is None else np.unique(numbers, return_inverse=True)[1]
    try:
        texts = entries.alias("entries").to_polars().cast(pl.String)
    except Exception:  # text that UTF-8 does not hold, categories of several types, integers beyond 64 bits
        return codes_of(entries)
    ranks: IndexArray = texts.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    return np.unique(ranks, return_inverse=True)[1]


def is_plain(entries: nw.Series[Any], /) -> bool:
    """Whether every engine can group by such entries."""
    native = nw.to_native(entries)
    if isinstance(native, pl.Series):
        return is_plain_dtype(native.dtype)
    return not isinstance(entries.dtype, (nw.Object, nw.Unknown, nw.List, nw.Struct, nw.Array))


def is_plain_dtype(dtype: pl.DataType, /) -> bool:
    """Whether Polars can group by entries of this dtype."""
    return not (dtype.is_nested() or isinstance(dtype, (pl.Object, pl.Null)))


def _text_codes(entries: list[Any]) -> IndexArray:
    """By text, with the type's name: 1 and "1" differ."""
    return pd.factorize(np.array([f"{type(entry).__name__} {entry}" for entry in entries], dtype=object))[0]


def numbers_of(entries: nw.Series[Any], /) -> FloatArray | None:
    """Numbers, texts that are all numbers, and times in their order, NaN where one is missing; None for other kinds."""
    dtype = entries.dtype
    text, temporal = isinstance(dtype, nw.String), isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration, nw.Time))
    if not (text or temporal or dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
        return None
    plain = entries.alias("entries").to_polars()
    return _parsed(plain) if text else order_of(plain)


def order_of(entries: pl.Series, /) -> FloatArray:
    """Numbers in the order of plain entries, NaN where one is missing; texts that are all numbers in that of these."""
    dtype = entries.dtype
    if dtype == pl.String and (parsed := _parsed(entries)) is not None:
        return parsed
    exact = dtype.is_float() or dtype == pl.Boolean
    if not exact and dtype.is_integer():
        low, high = entries.min(), entries.max()
        exact = low is None or -LARGEST_INTEGER <= int(low) <= int(high) <= LARGEST_INTEGER  # type: ignore[arg-type]
    found: FloatArray = (entries if exact else entries.rank("dense")).cast(pl.Float64).to_numpy()
    return found


def _parsed(texts: pl.Series) -> FloatArray | None:
    """Texts that are all numbers as these."""
    values = texts.cast(pl.Float64, strict=False)
    return values.to_numpy() if values.null_count() == texts.null_count() < len(texts) else None
