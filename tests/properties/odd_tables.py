"""Tables with a secret, a public and sometimes a kept column, as every kind of frame, with odd labels and indexes."""

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from hypothesis.extra import pandas as pandas_st
from odd_columns import label_columns, number_columns, odd_columns, rarely
from odd_secrets import secret_columns

LIBRARIES = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy")
POLARS_NAMES = (
    "value",
    "count",
    "secret_0",
    "column",
    "",
    " ",
    "*",
    "^x.*$",
    "literal",
    "len",
    "a.b",
    "é\n'\"",
    "index",
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
