"""Labels as numbers in their ascending order, and rows put together by such numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from puffer_frames.frames.summary import sort_key
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret

_SPREAD = 4
"""Integers within so many times their number are looked up in a table, not hashed."""
_FEW = 1 << 10
"""So many labels are sorted as Python has them."""
_OLD = int(pd.__version__.partition(".")[0]) < 3


def numbered(entries: nw.Series[Any], /) -> tuple[IndexArray, list[Secret]]:
    """Number of each entry's label, and the labels in the ascending order of `sort_key`.

    - `entries` (shape (rows,)): Text, categories, booleans or integers, none missing.

    **Cost**: integers close together, one pass over a table; else one hash of the rows and one sort of the labels, in
    NumPy or PyArrow. More than 1,024 labels of several types, and integers beyond 64 bits, are sorted by Python.
    """
    native: Any = entries.to_native()
    if isinstance(entries.dtype, (nw.Int128, nw.UInt128)):  # NumPy has no such integers
        return _in_order(*pd.factorize(np.array(entries.to_list(), dtype=object)))
    if entries.dtype.is_integer():
        integers = entries.to_numpy()
        if integers.dtype.kind in "iu":
            return _of_integers(integers)
    if isinstance(native, pl.Series) and not isinstance(entries.dtype, nw.Boolean):
        encoded = native.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.intp)  # UTF-8 and code points sort alike
        return _ranks(order)[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order)).to_pylist()
    return _in_order(*(factorized(native) if isinstance(native, pd.Series) else pd.factorize(native.to_numpy())))


def factorized(entries: pd.Series[Any], /) -> tuple[NDArray[np.intp], Any]:
    """Numbers of the entries, and an entry for each number.

    pandas 2 takes objects for equal whose texts differ after a NUL or in half of a surrogate pair.
    """
    hashed = entries.dtype == np.dtype(object) or isinstance(entries.dtype, pd.StringDtype)
    if not (_OLD and hashed and _is_odd(entries)):
        return entries.factorize(use_na_sentinel=False)
    numbers: dict[Any, int] = {}
    found = [None if null else entry for entry, null in zip(entries, entries.isna(), strict=True)]
    codes = np.array([numbers.setdefault((type(entry), entry), len(numbers)) for entry in found], dtype=np.intp)
    return codes, pd.Series([entry for _, entry in numbers], dtype=object)


def _is_odd(entries: pd.Series[Any]) -> bool:
    try:
        return bool(pl.Series(entries, dtype=pl.String).str.contains("\0", literal=True).any())
    except (UnicodeEncodeError, TypeError, pl.exceptions.PolarsError):
        return True


def _of_integers(integers: NDArray[Any]) -> tuple[IndexArray, list[Secret]]:
    """Of integers of at most 64 bits."""
    least, most = int(integers.min()), int(integers.max())
    if most - least >= _SPREAD * integers.size or most >= 2**63:
        return _in_order(*pd.factorize(integers))
    places = integers.astype(np.intp) - least
    here = np.zeros(most - least + 1, dtype=bool)
    here[places] = True
    return (np.cumsum(here) - 1)[places], list[Secret]((np.flatnonzero(here) + least).tolist())


def _in_order(codes: NDArray[Any], found: Any) -> tuple[IndexArray, list[Secret]]:
    """From numbers of labels in any order, and the labels: an array of NumPy or pandas."""
    labels = [plain_label(label) for label in found.tolist()]
    order = _ascending(labels)
    return _ranks(order)[codes], [labels[k] for k in order.tolist()]


def _ranks(order: IndexArray) -> IndexArray:
    """Where each place is in an order of all of them."""
    ranks = np.empty(order.size, dtype=np.intp)
    ranks[order] = np.arange(order.size)
    return ranks


def _ascending(labels: Sequence[Any]) -> IndexArray:
    """Places of different labels, in their ascending order."""
    types = set(map(type, labels)) if len(labels) > _FEW else set()
    order: IndexArray
    if types == {str}:  # UTF-8 and code points sort alike
        try:
            order = pc.sort_indices(pa.array(labels, type=pa.large_string())).to_numpy().astype(np.intp)
        except UnicodeEncodeError:  # text that UTF-8 cannot hold
            pass
        else:
            return order
    if types == {int}:
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= min(labels) and max(labels) <= np.iinfo(dtype).max:
                order = np.argsort(np.array(labels, dtype=dtype))
                return order
    order = np.array(sorted(range(len(labels)), key=lambda k: sort_key(labels[k])), dtype=np.intp)
    return order


def plain_label(label: Any, /) -> Secret:
    """A label as Python has it."""
    plain: Secret = label.item() if isinstance(label, np.generic) else label
    return plain


def by_unit(codes: IndexArray, values: FloatArray, /, *, units: int) -> tuple[IndexArray, IndexArray]:
    """Places of the rows by unit, ascending in value within one; and where each unit begins, and the end of the last.

    Equal values stay in the order of the rows.

    - `codes` (array of int, shape (rows,)): From 0 to units - 1.
    - `values` (array, shape (rows,)): Finite.

    **Cost**: one sort of the values; the units are only counted (the rows of a sparse matrix, one entry each).
    """
    order = np.argsort(values, kind="stable")
    ones = np.ones(codes.size, dtype=np.int8)
    matrix = sparse.csr_array((ones, (codes[order], np.arange(codes.size))), shape=(units, codes.size))
    return order[matrix.indices], matrix.indptr.astype(np.intp)
