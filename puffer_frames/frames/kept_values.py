"""Kept columns of any dtype as plain ones: what the values are decides, not how a library holds them."""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from puffer_frames.frames.codes import codes_of, order_of
from puffer_frames.frames.kept import FEW_VALUES, Column
from puffer_frames.frames.order import joined
from puffer_frames.frames.stamps.spelling import is_null, is_shortened, spelled
from puffer_frames.priors.prior import IndexArray

PLACES = 8
"""So many elements of a list are looked at one by one, and so many frequent words of a text."""
MOST_PARTS = 16
"""Fields and elements of a column, at most; what is beyond is looked at as text."""
_DEPTH = 4
"""So deep in nested objects their form is looked at."""
LETTERS = 256
"""Words are looked for in so many letters of a text."""
_COUNTED = 1 << 16
"""Words that are counted, evenly spread, to find the frequent ones."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
"""In the text of an object that has no text of its own."""
_NOT_OPENED = (
    ValueError,
    TypeError,
    NotImplementedError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
"""Errors of entries that Polars does not have."""


def kept_columns(entries: nw.Series[Any], /, *, name: str) -> list[Column]:
    """A kept column, and its fields or elements as columns of their own, under the same name."""
    native = nw.to_native(entries.alias("entries"))
    parts = _parts_of_pandas(native) if isinstance(native, pd.Series) else _parts(native)
    return [_column(part, name) for part in parts[: MOST_PARTS + 1]]


def _column(entries: pl.Series | Column, name: str) -> Column:
    """Plain entries with all that is looked at in them."""
    if isinstance(entries, Column):
        return replace(entries, name=name)
    codes = codes_of(nw.from_native(entries, series_only=True))
    numbers = order_of(entries)
    if entries.dtype.is_float() and (lower := (numbers == 0.0) & np.signbit(numbers)).any():
        codes = joined([codes, lower.astype(np.int64)])  # -0.0 and 0.0 are equal, and not the same
    looks = _looks(entries, codes) if int(codes.max()) >= FEW_VALUES else ()
    return Column(name=name, codes=codes, numbers=numbers, looks=tuple(looks))


def _looks(entries: pl.Series, codes: IndexArray) -> Iterator[IndexArray]:
    """Last letters or digits, lengths, frequent words, and how often an entry comes."""
    if entries.dtype.is_temporal():
        texts = entries.to_physical().cast(pl.String).str.strip_chars_end("0")  # below the unit that is used
    else:
        texts = entries.bin.encode("hex") if entries.dtype == pl.Binary else entries.cast(pl.String)
    yield _numbered(texts.str.slice(-1))
    yield _numbered(texts.str.len_chars())
    if entries.dtype == pl.String:
        yield _words(texts)
    yield np.unique(np.bincount(codes), return_inverse=True)[1][codes]


def _numbered(entries: pl.Series) -> IndexArray:
    """Numbers from 0 in the order of the entries, 0 for a missing one."""
    return entries.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _words(texts: pl.Series) -> IndexArray:
    """Which of the most frequent words are in each text, as bits."""
    found = texts.str.slice(0, LETTERS).str.extract_all(r"\w+")
    words = found.explode().drop_nulls()
    bits = np.zeros(len(texts), dtype=np.int64)
    if len(words):
        hashes = words.hash().alias("word")
        counts = hashes.gather_every(-(-len(words) // _COUNTED)).value_counts(name="n")
        counts = counts.sort("n", "word", descending=True)
        rows = np.repeat(np.arange(len(texts)), found.list.len().fill_null(0).to_numpy())
        own = hashes.to_numpy()
        for k, frequent in enumerate(counts["word"].to_numpy()[:PLACES]):
            bits[rows[own == frequent]] |= 1 << k
    return bits


def _parts_of_pandas(entries: pd.Series[Any]) -> list[pl.Series | Column]:
    dtype = entries.dtype
    if isinstance(dtype, pd.SparseDtype):
        return _parts_of_pandas(pd.Series(entries.array.to_dense()))
    if isinstance(dtype, pd.CategoricalDtype):
        codes = entries.cat.codes.to_numpy().astype(np.int64)
        labels, places = _parts_of_pandas(pd.Series(entries.cat.categories)), pl.Series(codes).replace(-1, None)
        return [
            replace(own, codes=np.unique(codes, return_inverse=True)[1])
            if isinstance(own, Column)
            else own.gather(places)
            for own in labels
        ]
    if isinstance(dtype, pd.IntervalDtype):
        ends = {"left": entries.array.left, "right": entries.array.right}
        return _parts(pl.from_pandas(pd.DataFrame(ends)).to_struct("entries"))
    if isinstance(dtype, pd.PeriodDtype):
        return [pl.from_pandas(entries.dt.start_time)]
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        return _parts(pl.DataFrame({"real": entries.to_numpy().real, "imag": entries.to_numpy().imag}).to_struct("e"))
    if not isinstance(dtype, np.dtype) or dtype.kind != "O":
        try:
            return _parts(nw.from_native(entries, series_only=True).to_polars())
        except _NOT_OPENED:
            pass
    return _parts_of_objects(entries.tolist())


def _parts(entries: pl.Series) -> list[pl.Series | Column]:
    """Plain entries; of nested ones their text, and their fields or elements, those of fewer levels first."""
    if entries.dtype == pl.Object:
        return _parts_of_objects(entries.to_list())
    if not entries.dtype.is_nested():
        return [entries]
    texts = [None if entry is None else str(entry) for entry in entries.to_list()]
    found, left = list[pl.Series | Column]([pl.Series("entries", texts, dtype=pl.String)]), [entries]
    while left and len(found) <= MOST_PARTS:
        for own in _inner(left.pop(0)):
            (left if own.dtype.is_nested() else found).append(own)
    return found


def _inner(entries: pl.Series) -> list[pl.Series]:
    """Fields of structures; of lists and maps the number of elements, and the first ones."""
    if isinstance(entries.dtype, pl.Struct):
        return entries.struct.unnest().get_columns()
    if isinstance(entries.dtype, pl.Array):
        entries = entries.arr.to_list()
    elif not isinstance(entries.dtype, pl.List):
        entries = entries.map.entries()  # from Polars 2 on
    lengths = entries.list.len()
    most = int(lengths.to_numpy().max(initial=0)) if not lengths.null_count() else PLACES
    return [lengths, *(entries.list.get(k, null_on_oob=True) for k in range(min(PLACES, most)))]


def _parts_of_objects(entries: Sequence[Any]) -> list[pl.Series | Column]:
    """Python objects by their values, and where these differ in form by that too: 1 and 1.0 are equal, not the same."""
    found = _values_of_objects(entries)
    missing = [is_null(entry) for entry in entries]
    if {type(entry) for entry, null in zip(entries, missing, strict=True) if not null} == {str} and not any(missing):
        return found
    forms = [_form(entry) for entry in entries]
    if len(set(zip(missing, forms, strict=True))) > len(set(missing)):
        texts = [_plain_text(f"{form} {entry}") for form, entry in zip(forms, entries, strict=True)]
        found += [pl.Series("entries", [_plain_text(form) for form in forms]), pl.Series("entries", texts)]
    return found


def _form(entry: Any, depth: int = 0) -> str:
    """What may differ between equal objects: type, digits, offset from UTC, sign of a zero, order of keys."""
    kind = type(entry).__name__
    if is_null(entry) or depth > _DEPTH:
        return kind
    if isinstance(entry, decimal.Decimal):
        return f"{kind} {entry.as_tuple().exponent} {entry.is_zero() and entry.is_signed()}"
    if isinstance(entry, (datetime.datetime, datetime.time)):
        return f"{kind} {entry.utcoffset()} {entry.tzinfo} {entry.fold} {getattr(entry, 'unit', '')}"
    if isinstance(entry, (float, np.floating)) and entry == 0:
        return f"{kind} {np.signbit(entry)}"
    if isinstance(entry, np.ndarray):
        return f"{kind} {entry.dtype} {entry.shape}"
    if isinstance(entry, dict):
        keys = ((key, _form(key, depth + 1), _form(own, depth + 1)) for key, own in entry.items())
        return f"{kind} {list(islice(keys, PLACES))}"
    if isinstance(entry, (list, tuple)):
        return f"{kind} {[_form(own, depth + 1) for own in entry[:PLACES]]}"
    return kind


def _plain_text(text: str) -> str:
    return _ADDRESS.sub(">", text).encode(errors="backslashreplace").decode()


def _values_of_objects(entries: Sequence[Any]) -> list[pl.Series | Column]:
    """Python objects as Polars has them, or in their own order, and by their text."""
    there = [None if is_null(entry) else entry for entry in entries]
    kinds = {type(entry) for entry in there if entry is not None}
    nested = {kind for kind in kinds if issubclass(kind, (tuple, list, dict))}
    if all(issubclass(kind, complex) for kind in kinds):
        there = [None if entry is None else (entry.real, entry.imag) for entry in there]
        nested = kinds
    if nested == kinds:
        there = [_fields(entry) for entry in there]
    try:
        typed = pl.Series("entries", there, strict=True)
        if typed.dtype != pl.Object:
            return _parts(typed)
    except (OverflowError, *_NOT_OPENED):
        pass
    texts = [None if entry is None else f"{type(entry).__name__} {entry}" for entry in there]
    if any(text is not None and _ADDRESS.search(text) for text in texts):
        codes = codes_of(nw.from_native(pd.Series(there, dtype=object), series_only=True))
        return [Column(name="", codes=codes, numbers=None, is_read=False)]
    short = any(is_shortened(entry, text) for entry, text in zip(there, texts, strict=True) if text is not None)
    texts = [None if text is None else _plain_text(text) for text in texts]
    found = list[pl.Series | Column]([pl.Series("entries", texts, dtype=pl.String)])
    if short:
        whole = pl.Series("entries", [None if entry is None else _plain_text(spelled(entry)) for entry in there])
        codes = codes_of(nw.from_native(whole, series_only=True))
        found.append(Column(name="", codes=codes, numbers=None, is_read=False))
    if kinds and nested == kinds:
        for field, _ in Counter(name for entry in there if entry for name in entry).most_common(PLACES):
            found += _parts_of_objects([entry and entry.get(field) for entry in there])
        return found
    try:
        ranks = {entry: rank for rank, entry in enumerate(sorted({entry for entry in there if entry is not None}))}
    except (TypeError, ValueError):
        return found
    return [pl.Series("entries", [None if entry is None else ranks[entry] for entry in there]), *found]


def _fields(entry: Any) -> dict[str, Any] | None:
    """Elements by their places, fields by their names; None for a missing entry."""
    if entry is None:
        return None
    named = entry.items() if isinstance(entry, dict) else enumerate(entry)
    return {str(name): own for name, own in named}
