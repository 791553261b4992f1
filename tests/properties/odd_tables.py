"""Tables with a secret, a public and sometimes a kept column, as every kind of frame, with odd labels and indexes."""

import datetime
import decimal
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.extra import pandas as pandas_st
from polars.testing import parametric as polars_st

# Columns that a table may hold: ordinary numbers and labels, and every odd one that a user could bring.

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


LEVELS = ("a", "b", "", "other", "None", "\0", "é", f"level {MARKER}")
LABELS_PANDAS = {
    "text": lambda v: _pandas(v, "str"),
    "object text": _pandas,
    "nullable text": lambda v: _pandas(v, "string"),
    "arrow text": lambda v: _arrow(v, pa.string()),
    "categories": lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(["unseen", *LEVELS]))),
    "ordered categories": lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(LEVELS), ordered=True)),
    "arrow dictionary": lambda v: pd.Series(pd.array(pa.array(v).dictionary_encode())),
}
LABELS_POLARS = {
    "text": lambda v: pl.Series(v, dtype=pl.String),
    "categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "enum": lambda v: pl.Series(v, dtype=pl.Enum(["unseen", *LEVELS])),
}


@st.composite
def label_columns(draw, library, n):
    """Text and categories, sometimes with missing entries."""
    number = draw(st.integers(2, len(LEVELS)))
    if n <= 60:
        values = draw(lists(st.sampled_from(LEVELS[:number]), n))
    else:
        values = [LEVELS[k] for k in np.random.default_rng(draw(st.integers(0, 99))).integers(0, number, n)]
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


# Secret columns: labels of every type, in groups of every shape.


@st.composite
def codes(draw, n, most=6):
    """n group numbers: random, clustered, alternating, one per row, or one rare group; rarely all the same."""
    k = 1 if rarely(draw, 20) else draw(st.integers(2, most))
    shape = draw(st.sampled_from(["random"] * 6 + ["cyclic", "sorted", "rows", "rare"]))
    if shape == "random" and n <= 60:
        return draw(lists(st.integers(0, k - 1), n))
    if shape == "random":
        return np.random.default_rng(draw(st.integers(0, 99))).integers(0, k, n).tolist()
    return {
        "cyclic": [row % k for row in range(n)],
        "sorted": [row * k // max(n, 1) for row in range(n)],
        "rows": list(range(n)) if n <= 60 else [row % 6 for row in range(n)],
        "rare": [int(row > 0) for row in range(n)],
    }[shape]


def text(code):
    return ("a", "b", "", "é", "value", "None")[code] if code < 6 else f"group {code}"


def time_of(code):
    return datetime.datetime(2020, 1, 1) + datetime.timedelta(code)


def _category(values, *, unseen, ordered=False):
    return pd.Series(pd.Categorical(values, categories=pd.Index([unseen, *dict.fromkeys(values)]), ordered=ordered))


def _objects(values):
    return pd.Series(values, dtype=object)


ORDINARY_PANDAS = {
    "text": lambda c: pd.Series([text(k) for k in c], dtype="str"),
    "object text": lambda c: _objects([text(k) for k in c]),
    "nullable text": lambda c: pd.Series([text(k) for k in c], dtype="string"),
    "arrow text": lambda c: pd.Series([text(k) for k in c], dtype="string[pyarrow]"),
    "category": lambda c: _category([text(k) for k in c], unseen="unseen"),
    "ordered category": lambda c: _category([text(k) for k in c], unseen="unseen", ordered=True),
    "category of integers": lambda c: _category(c, unseen=-1),
    "category of booleans": lambda c: pd.Series(pd.Categorical([k > 0 for k in c], categories=[True, False])),
}
ODD_PANDAS_SECRETS = {
    "mixed objects": lambda c: _objects([k if k % 2 else text(k) for k in c]),
    "one late number": lambda c: _objects([text(k) for k in c[:-1]] + [7] * bool(c)),
    "whole and true objects": lambda c: _objects([bool(k) if k < 2 else k for k in c]),
    "tuples": lambda c: _objects([(k, k) for k in c]),
    "lists": lambda c: _objects([[k] for k in c]),
    "category of fractions": lambda c: _category([k / 2 for k in c], unseen=-0.5),
    "category of times": lambda c: _category([time_of(k) for k in c], unseen=time_of(-1)),
    "category of intervals": lambda c: pd.Series(pd.cut(pd.Series(c, dtype=float), 3)) if c else _objects([]),
    "category of mixed": lambda c: pd.Series(pd.Categorical([k if k % 2 else text(k) for k in c])),
    "category of tuples": lambda c: pd.Series(pd.Categorical(pd.Index([(k, 0) for k in c], tupleize_cols=False))),
}
ORDINARY_POLARS = {
    "text": lambda c: pl.Series([text(k) for k in c], dtype=pl.String),
    "category": lambda c: pl.Series([text(k) for k in c], dtype=pl.Categorical),
    "enum": lambda c: pl.Series([text(k) for k in c], dtype=pl.Enum(["unseen", *map(text, sorted(set(c)))])),
}
ODD_POLARS_SECRETS = {
    "times": lambda c: pl.Series([time_of(k) for k in c], dtype=pl.Datetime("us")),
    "dates": lambda c: pl.Series([DAY + datetime.timedelta(k) for k in c], dtype=pl.Date),
    "objects": lambda c: pl.Series([text(k) for k in c], dtype=pl.Object),
    "lists": lambda c: pl.Series([[k] for k in c], dtype=pl.List(pl.Int64)),
}
NUMBERS = {
    "integers": lambda k: k,
    "negative integers": lambda k: -k,
    "booleans": lambda k: k > 0,
    "whole floats": float,
    "zeros of both signs": lambda k: (0.0, -0.0)[k] if k < 2 else float(k),
    "large integers": lambda k: 2**62 + k,
    "large whole floats": lambda k: 1e300 * k,
}
ODD_NUMBERS = {
    "fractions": lambda k: k / 2,
    "infinite": lambda k: float("inf") if k == 1 else float(k),
    "infinite both ways": lambda k: (float("-inf"), float("inf"))[k] if k < 2 else float(k),
}


@st.composite
def secret_columns(draw, library, n, *, most=6):
    """A secret column: mostly of a kind that is allowed, sometimes with nulls."""
    groups = draw(codes(n, most))
    odd = rarely(draw, 6)
    if odd and rarely(draw, 3):
        return draw(odd_columns(library, n))
    polars = library.startswith("polars")
    labels = (
        (ODD_POLARS_SECRETS if polars else ODD_PANDAS_SECRETS)
        if odd
        else ORDINARY_POLARS
        if polars
        else ORDINARY_PANDAS
    )
    counts = ODD_NUMBERS if odd else NUMBERS
    kind = draw(st.sampled_from([*labels, *counts]))
    nulls = draw(st.sets(st.integers(0, max(n - 1, 0)), max_size=3)) if n and rarely(draw, 6) else ()
    if kind in counts:
        values = [None if row in nulls else counts[kind](k) for row, k in enumerate(groups)]
        dtype = draw(st.sampled_from(_dtypes(kind, polars=polars)))
        return number_series(library, dtype, values)
    column = labels[kind](groups)
    return _with_nulls(column, nulls) if nulls else column


def _dtypes(kind, *, polars):
    if kind == "booleans":
        return ["bool"]
    if kind == "large whole floats":
        return ["float64"]
    if kind == "large integers":
        names = ("int64", "uint64", "int128")
    else:
        names = ("int64", "int8", "int32") if "integers" in kind else ("float64", "float32", "float16")
    return [name for name in names if name in (NUMBERS_POLARS if polars else NUMBERS_PANDAS)]


def _with_nulls(column, rows):
    if isinstance(column, pl.Series):
        if column.dtype == pl.Object:
            return column
        return pl.select(pl.when(pl.Series([row not in rows for row in range(len(column))])).then(column)).to_series()
    column = column.copy()
    column[column.index.isin(rows)] = None
    return column


LIBRARIES = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy")
POLARS_NAMES = (
    *("value", "count", "secret_0", "column", "", " ", "*", "^x.*$", "literal", "len", "a.b", "é\n'\"", "index"),
)
LABELS = (
    *("value", "count", "secret_0", "column", "", "index", "level_0"),
    *(0, 1, -1, 2.5, True, b"x", None, float("nan"), pd.NA, pd.NaT, ("a", "b"), ("a",), ()),
    *(datetime.date(2020, 1, 1), pd.Timestamp(2020, 1, 1), frozenset("a"), pd.Interval(0, 1)),
)
PLAIN = ("s", "x", "k", "t", "y", "z", "w", "v")


class Subclass(pd.DataFrame):
    """A DataFrame that keeps its class and a note."""

    _metadata = ("note",)

    @property
    def _constructor(self):
        return Subclass


class Forgetful(pd.DataFrame):
    """A DataFrame whose results are plain ones."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A frame, and the places of the columns that a request names."""

    library: str
    frame: Any
    secret: tuple[int, ...]
    public: tuple[int, ...]
    keep: tuple[int, ...]

    @property
    def eager(self):
        return self.frame.collect() if isinstance(self.frame, pl.LazyFrame) else self.frame

    @property
    def labels(self):
        return list(self.eager.columns)

    def values(self, place):
        """The entries of a column as Python objects."""
        frame = self.eager
        return frame.to_series(place).to_list() if isinstance(frame, pl.DataFrame) else frame.iloc[:, place].tolist()

    def dtype(self, place):
        return list(self.eager.dtypes)[place]

    def __repr__(self):
        columns = [
            f"  {label!r}: {self.dtype(place)} = {self.values(place)!r}" for place, label in enumerate(self.labels)
        ]
        extra = ""
        if isinstance(self.frame, pd.DataFrame):
            index = self.frame.index
            extra = f"\n  columns {type(self.frame.columns).__name__}, index {index!r}, attrs {self.frame.attrs}"
        return f"{self.library} {type(self.frame).__name__}\n" + "\n".join(columns) + extra


@st.composite
def tables(draw):
    library = draw(st.sampled_from(LIBRARIES))
    n = draw(st.sampled_from([0, 1, 2, 300])) if rarely(draw, 12) else draw(st.integers(2, 12) | st.integers(2, 60))
    secrets, publics = 1 + rarely(draw, 8), draw(st.sampled_from([1] * 6 + [2, 3]))
    kept, others = draw(st.sampled_from([0, 0, 1, 2])), int(rarely(draw, 4))
    columns = [draw(secret_columns(library, n, most=6 if secrets == 1 else 3)) for _ in range(secrets)]
    columns += [draw(_public_columns(library, n, publics)) for _ in range(publics)]
    columns += [draw(odd_columns(library, n) | number_columns(library, n)) for _ in range(kept + others)]
    order = draw(st.permutations(range(len(columns))))
    places = [order.index(k) for k in range(len(columns))]
    roles = {
        "secret": tuple(places[:secrets]),
        "public": tuple(places[secrets : secrets + publics]),
        "keep": tuple(places[secrets + publics : secrets + publics + kept]),
    }
    build = _polars_frames if library.startswith("polars") else _pandas_frames
    frame = draw(build([columns[k] for k in order]))
    frame = frame.lazy() if library == "polars-lazy" else frame
    return Table(library=library, frame=frame, **roles)


@st.composite
def _public_columns(draw, library, n, publics):
    """Mostly numbers; where it is the only one, labels too."""
    if rarely(draw, 12):
        return draw(odd_columns(library, n))
    if publics == 1 and rarely(draw, 4):
        return draw(label_columns(library, n))
    return draw(number_columns(library, n))


@st.composite
def _polars_frames(draw, columns):
    names = draw(st.permutations(POLARS_NAMES)) if rarely(draw, 4) else PLAIN
    frame = pl.DataFrame([column.alias(names[k]) for k, column in enumerate(columns)])
    if len(frame) > 1 and rarely(draw, 6):
        frame = pl.concat([frame.head(1), frame.tail(-1)], rechunk=False)
    return frame


@st.composite
def _pandas_frames(draw, columns):
    frame = pd.DataFrame(dict(enumerate(column.reset_index(drop=True) for column in columns)))
    frame.columns = draw(_column_labels(len(columns))) if rarely(draw, 3) else list(PLAIN[: len(columns)])
    if rarely(draw, 4):
        frame.index = draw(_row_labels(len(frame)))
    if rarely(draw, 8):
        frame = draw(st.sampled_from([Subclass, Forgetful]))(frame)
    if rarely(draw, 6):
        frame.attrs = {"source": {"rows": [1, 2]}, "puffer_frames": draw(st.sampled_from([None, 3, {}, {"a": 1}]))}
    return frame


@st.composite
def _column_labels(draw, k):
    if rarely(draw, 8):  # not different as text
        twice = pd.Index(list("xxskxstk")[:k]), pd.Index([1, "1", 2, "2", 3, "3", 4, "4"][:k], dtype=object)
        return draw(st.sampled_from([*twice, pd.MultiIndex.from_tuples([("a", j // 2) for j in range(k)])]))
    kinds = {
        "odd": lambda: pd.Index(draw(st.permutations(LABELS))[:k], dtype=object, tupleize_cols=False),
        "numbers": lambda: pd.RangeIndex(k),
        "floats": lambda: pd.Index([float(j) for j in range(k)]),
        "levels": lambda: pd.MultiIndex.from_tuples([("ab"[j % 2], j) for j in range(k)], names=["one", None]),
        "times": lambda: pd.date_range("2020-01-01", periods=k),
        "categories": lambda: pd.CategoricalIndex(["x", "s", "k", "t", "y", "z", "w", "v"][:k]),
        "named": lambda: pd.Index(PLAIN[:k], name="column"),
        "reserved": lambda: pd.Index(["count", "value", "secret_0", "column", "index", "level_0", "secret_1", ""][:k]),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


@st.composite
def _row_labels(draw, n):
    kinds = {
        "backwards": lambda: pd.Index(range(n)[::-1]),
        "from one": lambda: pd.RangeIndex(1, n + 1, name="id"),
        "numbers": lambda: pd.Index(range(n), dtype=draw(st.sampled_from(["int64", "float64", "object", "Int64"]))),
        "text": lambda: pd.Index([f"r{j}" for j in range(n)]),
        "repeated": lambda: pd.Index([j // 2 for j in range(n)]),
        "nulls": lambda: pd.Index([None if j % 2 else 1.0 for j in range(n)], dtype=object),
        "levels": lambda: pd.MultiIndex.from_tuples([("ab"[j % 2], j // 3) for j in range(n)], names=["x", "s"]),
        "times": lambda: pd.date_range("2020-01-01", periods=n, tz="UTC"),
        "intervals": lambda: pd.interval_range(0, n) if n else pd.RangeIndex(0),
        "categories": lambda: pd.CategoricalIndex(["ab"[j % 2] for j in range(n)]),
        "named like a column": lambda: pd.Index(np.arange(n), name="x"),
        "any": lambda: draw(pandas_st.indexes(dtype=np.dtype("int64"), min_size=n, max_size=n, unique=False)),
    }
    return kinds["text" if n > 60 else draw(st.sampled_from(sorted(kinds)))]()
