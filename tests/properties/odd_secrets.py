"""Secret columns: labels of every type, in groups of every shape."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from odd_columns import DAY, NUMBERS_PANDAS, NUMBERS_POLARS, lists, number_series, odd_columns, rarely


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
