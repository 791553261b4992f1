"""Columns that a table may hold: ordinary numbers and labels, and every odd one that a user could bring.

A column is drawn for one kind of frame (pandas with NumPy, nullable or pyarrow dtypes, Polars) as a Series of it.
"""

import datetime
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.extra import pandas as pandas_st
from polars.testing import parametric as polars_st

MARKER = 8675309
"""A value of public columns whose digits no text may show."""

LARGEST = np.finfo(float).max
TINY = 5e-324
INTEGERS = {
    f"{'u' * unsigned}int{bits}": (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64, 128)
    for unsigned in (False, True)
}
FLOATS = ("float16", "float32", "float64")
UNITS = (1e-320, 1e-300, 1e-3, 0.1, 1e6, 1e12, 1e300)
_KINDS = ("few", "few", "few", "whole", "whole", "real", "real", "unit", "offset", "pool", "integers", "any", "one")
SPIKES = (None, math.nan, math.inf, -math.inf, MARKER, -0.0, TINY, 1e-300, 1e300, LARGEST, 2**53 + 2)
DAY = datetime.date(2020, 1, 1)


def _polars_name(dtype):
    return "Boolean" if dtype == "bool" else dtype.replace("ui", "UI").replace("i", "I").replace("f", "F")


NUMBERS_PANDAS = [d for d in (*INTEGERS, *FLOATS, "bool") if not d.endswith("128")]
NUMBERS_POLARS = [d for d in (*INTEGERS, *FLOATS, "bool") if hasattr(pl, _polars_name(d))]


def rarely(draw, one_in):
    return draw(st.integers(0, one_in - 1)) == one_in - 1


def lists(elements, n):
    return st.lists(elements, min_size=n, max_size=n)


@st.composite
def numbers(draw, n):
    """n numbers of one kind, sometimes with a few spikes; None is a null."""
    if n > 60:
        values = (
            np.random.default_rng(draw(st.integers(0, 99))).normal(0, draw(st.sampled_from([1, *UNITS])), n).tolist()
        )
    else:
        kind = draw(st.sampled_from(_KINDS))
        offset, unit = draw(st.sampled_from([1e12, 2.0**53 - 40, -1e15])), draw(st.sampled_from(UNITS))
        elements = {
            "few": st.integers(0, 4),
            "whole": st.integers(-1000, 1000),
            "real": st.floats(-5, 5),
            "unit": st.integers(-9, 9).map(lambda k: k * unit),
            "offset": st.floats(0, 1).map(lambda x: offset + x),
            "pool": st.sampled_from([0, 1, 2.5, MARKER, -0.0, TINY, 1e-300, 1e12, 1e300]),
            "integers": st.integers(-(2**63), 2**64 - 1) | st.integers(2**53 - 3, 2**53 + 3),
            "any": st.floats(allow_nan=False, allow_infinity=False),
            "one": st.just(draw(st.sampled_from([0, 3, MARKER, 1e300]))),
        }[kind]
        values = draw(lists(elements, n))
    if n and rarely(draw, 5):
        for place, spike in draw(st.lists(st.tuples(st.integers(0, n - 1), st.sampled_from(SPIKES)), max_size=3)):
            values[place] = spike
    return values


def _held(values, dtype):
    """The numbers as the dtype can hold them, nulls as None."""
    if dtype == "bool":
        return [None if v is None or v != v else bool(v) for v in values]
    if dtype in FLOATS:
        return [None if v is None else float(v) for v in values]
    low, high = INTEGERS[dtype]
    return [None if v is None or not math.isfinite(v) else min(max(int(v), low), high) for v in values]


def number_series(library, dtype, values):
    """Numbers as a Series of a dtype named as in NumPy."""
    held = _held(values, dtype)
    if library.startswith("polars"):
        kept = getattr(pl, _polars_name(dtype))
        return pl.Series(held, dtype=pl.Float64 if dtype in FLOATS else kept).cast(kept)
    null = np.array([v is None for v in held], dtype=bool)
    default = math.nan if dtype in FLOATS else 0
    with np.errstate(over="ignore"):
        array = np.array([default if v is None else v for v in held], dtype="float64" if dtype in FLOATS else dtype)
        array = array.astype(dtype)
    if library == "pandas":
        return pd.Series(array)
    if library == "pandas-pyarrow":
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(array, mask=null, from_pandas=False)))
    if dtype == "bool":
        return pd.Series(pd.arrays.BooleanArray(array, null))
    if dtype in FLOATS:
        return pd.Series(pd.arrays.FloatingArray(array.astype("float32" if dtype == "float16" else dtype), null))
    return pd.Series(pd.arrays.IntegerArray(array, null))


@st.composite
def number_columns(draw, library, n):
    values = draw(numbers(n))
    wide = ("int64", "float64", "float64")
    others = NUMBERS_POLARS if library.startswith("polars") else NUMBERS_PANDAS
    return number_series(library, draw(st.sampled_from(others if rarely(draw, 2) else wide)), values)


def _pandas(values, dtype=object):
    return pd.Series(values, dtype=dtype)


def _arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, type=kind)))


ODD_PANDAS = {
    "decimals": lambda v: _pandas([decimal.Decimal(x) for x in v]),
    "arrow decimals": lambda v: _arrow([decimal.Decimal(x) for x in v], pa.decimal128(12, 2)),
    "dates": lambda v: _pandas([DAY + datetime.timedelta(x % 99) for x in v]),
    "arrow dates": lambda v: _arrow([DAY + datetime.timedelta(x % 99) for x in v], pa.date32()),
    "times": lambda v: _pandas(v, "datetime64[ns]"),
    "zoned times": lambda v: _pandas(v, "datetime64[us]").dt.tz_localize("Europe/Zurich"),
    "durations": lambda v: _pandas(v, "timedelta64[s]"),
    "arrow durations": lambda v: _arrow(v, pa.duration("ns")),
    "lists": lambda v: _pandas([[x] for x in v]),
    "dicts": lambda v: _pandas([{"a": x} for x in v]),
    "arrow lists": lambda v: _arrow([[x] for x in v], pa.list_(pa.int64())),
    "arrow structs": lambda v: _arrow([{"a": x} for x in v], pa.struct([("a", pa.int64())])),
    "objects": lambda v: _pandas([(x, str(x), None, float(x), [x])[k % 5] for k, x in enumerate(v)]),
    "object integers": lambda v: _pandas(v),
    "object booleans": lambda v: _pandas([x > 1 for x in v]),
    "object nulls": lambda v: _pandas([None for _ in v]),
    "object NA": lambda v: _pandas([pd.NA if x == 1 else x for x in v]),
    "categories": lambda v: pd.Series(pd.Categorical(v, categories=sorted({-7, *v}))),
    "text": lambda v: _pandas([str(x) for x in v], "str"),
    "arrow dictionary": lambda v: pd.Series(pd.array(pa.array([str(x) for x in v]).dictionary_encode())),
    "bytes": lambda v: _pandas([str(x).encode() for x in v]),
    "complex": lambda v: _pandas(v, "complex128"),
    "long doubles": lambda v: _pandas(v, "longdouble"),
    "sparse": lambda v: _pandas(v, "Sparse[float64]"),
    "periods": lambda v: pd.Series(pd.PeriodIndex.from_ordinals([x % 99 for x in v], freq="M")),
    "intervals": lambda v: pd.Series(pd.arrays.IntervalArray.from_arrays(v, [x + 1 for x in v])),
}

ODD_POLARS = {
    "decimals": lambda v: pl.Series([decimal.Decimal(x) for x in v], dtype=pl.Decimal(12, 2)),
    "dates": lambda v: pl.Series([DAY + datetime.timedelta(x % 99) for x in v], dtype=pl.Date),
    "times": lambda v: pl.Series(v, dtype=pl.Int64).cast(pl.Datetime("ns")),
    "zoned times": lambda v: pl.Series(v, dtype=pl.Int64).cast(pl.Datetime("us", "Europe/Zurich")),
    "times of day": lambda v: pl.Series(v, dtype=pl.Int64).cast(pl.Time),
    "durations": lambda v: pl.Series(v, dtype=pl.Int64).cast(pl.Duration("us")),
    "lists": lambda v: pl.Series([[x] for x in v], dtype=pl.List(pl.Int64)),
    "arrays": lambda v: pl.Series([[x, 0] for x in v], dtype=pl.Array(pl.Int64, 2)),
    "structs": lambda v: pl.Series([{"a": x} for x in v], dtype=pl.Struct({"a": pl.Int64})),
    "objects": lambda v: pl.Series([(x, str(x), None)[k % 3] for k, x in enumerate(v)], dtype=pl.Object),
    "nulls": lambda v: pl.Series([None for _ in v], dtype=pl.Null),
    "text": lambda v: pl.Series([str(x) for x in v], dtype=pl.String),
    "categories": lambda v: pl.Series([str(x) for x in v], dtype=pl.Categorical),
    "enum": lambda v: pl.Series([str(x) for x in v], dtype=pl.Enum(["unseen", *map(str, sorted(set(v)))])),
    "bytes": lambda v: pl.Series([str(x).encode() for x in v], dtype=pl.Binary),
}


LABELS = ("a", "b", "", "other", "None", "\0", "é", f"level {MARKER}")
LABELS_PANDAS = {
    "text": lambda v: _pandas(v, "str"),
    "object text": _pandas,
    "nullable text": lambda v: _pandas(v, "string"),
    "arrow text": lambda v: _arrow(v, pa.string()),
    "categories": lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(["unseen", *LABELS]))),
    "ordered categories": lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(LABELS), ordered=True)),
    "arrow dictionary": lambda v: pd.Series(pd.array(pa.array(v).dictionary_encode())),
}
LABELS_POLARS = {
    "text": lambda v: pl.Series(v, dtype=pl.String),
    "categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "enum": lambda v: pl.Series(v, dtype=pl.Enum(["unseen", *LABELS])),
}


@st.composite
def label_columns(draw, library, n):
    """Text and categories, sometimes with missing entries."""
    number = draw(st.integers(2, len(LABELS)))
    if n <= 60:
        values = draw(lists(st.sampled_from(LABELS[:number]), n))
    else:
        values = [LABELS[k] for k in np.random.default_rng(draw(st.integers(0, 99))).integers(0, number, n)]
    for place in draw(st.sets(st.integers(0, max(n - 1, 0)), max_size=3)) if n and rarely(draw, 4) else ():
        values[place] = None
    kinds = LABELS_POLARS if library.startswith("polars") else LABELS_PANDAS
    return kinds[draw(st.sampled_from(sorted(kinds)))](values)


def holds_labels(column):
    """Whether a Series is of text or categories, so that it is released through a channel by default."""
    if isinstance(column, pl.Series):
        return column.dtype in (pl.String, pl.Categorical, pl.Enum)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return True
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    return dtype.kind == "O" and pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")


@st.composite
def odd_columns(draw, library, n):
    """A column of any dtype, numbers included."""
    if rarely(draw, 3) and n <= 60:
        return draw(_any_polars(n) if library.startswith("polars") else _any_pandas(n))
    values = draw(lists(st.sampled_from([0, 1, 2, MARKER]), n)) if n <= 60 else [k % 7 for k in range(n)]
    kinds = ODD_POLARS if library.startswith("polars") else ODD_PANDAS
    return kinds[draw(st.sampled_from(sorted(kinds)))](values)


def _any_polars(n):
    return polars_st.series(min_size=n, max_size=n, excluded_dtypes=[pl.Categorical])


def _any_pandas(n):
    dtypes = ("int16", "uint64", "float32", "float64", "bool", "complex64", "datetime64[ns]", "timedelta64[ns]", "U4")
    index = pandas_st.range_indexes(min_size=n, max_size=n)
    return st.sampled_from(dtypes).flatmap(lambda dtype: pandas_st.series(dtype=dtype, index=index))
