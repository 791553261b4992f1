"""Tables that users have, and what the library answers: the source of docs/tables.md."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
from conftest import made, run

import puffer_frames
from puffer_frames import Layout, PufferError, PufferWarning, privatize

ROWS = 240
RNG = np.random.default_rng(12)
GROUP = RNG.choice(["a", "b", "c"], ROWS)
SHIFT = (GROUP == "a") + 2 * (GROUP == "b")
WHOLE = RNG.integers(0, 9, ROWS) + SHIFT
REAL = RNG.normal(size=ROWS) + SHIFT


def table(public=WHOLE, secret=GROUP):
    return {"group": list(secret), "x": list(public)}


def pandas_of(data, *, dtypes=None):
    return pd.DataFrame(data).astype(dtypes or {})


def all_pandas(data, *, dtypes=None):
    frame = pandas_of(data, dtypes=dtypes)
    return [frame, frame.convert_dtypes(), frame.convert_dtypes(dtype_backend="pyarrow")]


def both(data, *, dtypes=None, schema=None):
    """pandas in three dtype families, and Polars."""
    return [
        *all_pandas(data, dtypes=dtypes),
        pl.DataFrame(data).with_columns(**{k: pl.col(k).cast(v) for k, v in (schema or {}).items()}),
    ]


class Subclass(pd.DataFrame):
    @property
    def _constructor(self):
        return Subclass


def spoil(values, *spoilt):
    values = [float(v) for v in values]
    values[: len(spoilt)] = spoilt
    return values


def labelled(columns):
    return pandas_of(table()).set_axis(columns, axis=1)


def integers():
    kinds = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
    numpy = [pandas_of(table(), dtypes={"x": kind.lower()}) for kind in kinds]
    nullable = [pandas_of(table(), dtypes={"x": kind}) for kind in kinds]
    arrow = [pandas_of(table(), dtypes={"x": f"{kind.lower()}[pyarrow]"}) for kind in kinds]
    return [
        *numpy,
        *nullable,
        *arrow,
        *(pl.DataFrame(table(), schema_overrides={"x": getattr(pl, kind)}) for kind in kinds),
    ]


def floats():
    arrow = [pandas_of(table(REAL), dtypes={"x": kind}) for kind in ("float[pyarrow]", "double[pyarrow]")]
    pandas = [pandas_of(table(REAL), dtypes={"x": kind}) for kind in ("float32", "float64", "Float32", "Float64")]
    return [
        *pandas,
        *arrow,
        *(pl.DataFrame(table(REAL), schema_overrides={"x": kind}) for kind in (pl.Float32, pl.Float64)),
    ]


CATEGORIES = pd.CategoricalDtype(["unseen", "a", "b", "c"])
ENUM = pl.Enum(["unseen", "a", "b", "c"])
DAY, MIDNIGHT = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)
TWO = {"group": ["a", "b"], "x": [3, 8]}

CASES = {
    # dtypes of the public column
    "integers of every width": (integers, {}),
    "floats of every width": (floats, {}),
    "booleans": (lambda: both(table(WHOLE > 4)), {"epsilon": 0.1}),
    "integers beyond 2^53": (lambda: both(table(WHOLE + 2**53)), {}),
    "negative zeros": (lambda: both(table([-0.0 if v == 0 else float(v) for v in WHOLE])), {}),
    "decimals": (lambda: [pl.DataFrame(table([decimal.Decimal(int(v)) for v in WHOLE]))], {}),
    "dates": (
        lambda: [
            frame(table([DAY + datetime.timedelta(int(v)) for v in WHOLE])) for frame in (pd.DataFrame, pl.DataFrame)
        ],
        {},
    ),
    "times at midnight": (lambda: both(table([MIDNIGHT + datetime.timedelta(int(v)) for v in WHOLE])), {}),
    "times of the day": (lambda: both(table([MIDNIGHT + datetime.timedelta(hours=int(v)) for v in WHOLE])), {}),
    "times of a zone": (lambda: both(table([MIDNIGHT.replace(tzinfo=datetime.UTC)] * ROWS)), {}),
    "durations": (
        lambda: [
            pd.DataFrame(table([datetime.timedelta(1)] * ROWS)),
            pl.DataFrame(table([datetime.timedelta(1)] * ROWS)),
        ],
        {},
    ),
    "lists, in pandas": (lambda: [pd.DataFrame(table([[1]] * ROWS))], {}),
    "numbers as text": (lambda: both(table([str(v) for v in WHOLE])), {}),
    "numbers in an object column": (lambda: [pandas_of(table(), dtypes={"x": object})], {}),
    # missing and special values
    "null in the public column": (lambda: both(table([None, *WHOLE[1:].tolist()])), {}),
    "null in the public column, nulls=drop": (lambda: both(table([None, *WHOLE[1:].tolist()])), {"nulls": "drop"}),
    "NaN in the public column": (
        lambda: [pandas_of(table(spoil(REAL, np.nan))), pl.DataFrame(table(spoil(REAL, np.nan)))],
        {},
    ),
    "NaN in the public column, nulls=drop": (
        lambda: [pandas_of(table(spoil(REAL, np.nan))), pl.DataFrame(table(spoil(REAL, np.nan)))],
        {"nulls": "drop"},
    ),
    "null secret": (lambda: both(table(secret=[None, *GROUP[1:]])), {}),
    "null secret, nulls=drop": (lambda: both(table(secret=[None, *GROUP[1:]])), {"nulls": "drop"}),
    "nothing but nulls, nulls=drop": (lambda: [pandas_of(table([np.nan] * ROWS))], {"nulls": "drop"}),
    "infinity": (
        lambda: [pandas_of(table(spoil(REAL, np.inf))), pl.DataFrame(table(spoil(REAL, -np.inf)))],
        {"nulls": "drop"},
    ),
    # secrets
    "secret: categories, some unobserved": (
        lambda: both(table(), dtypes={"group": CATEGORIES}, schema={"group": ENUM}),
        {},
    ),
    "secret: booleans": (lambda: both(table(secret=GROUP == "a")), {}),
    "secret: integers": (lambda: both(table(secret=SHIFT)), {}),
    "secret: whole floats": (lambda: both(table(secret=SHIFT.astype(float))), {}),
    "secret: other floats": (lambda: [pandas_of(table(secret=SHIFT / 2)), pl.DataFrame(table(secret=SHIFT / 2))], {}),
    "secret: dates": (lambda: [pl.DataFrame(table(secret=[DAY] * ROWS))], {}),
    "secret: text and numbers mixed": (lambda: [pandas_of(table(secret=["a", 1] * (ROWS // 2)))], {}),
    "secret: one value": (lambda: both(table(secret=["a"] * ROWS)), {}),
    # shapes
    "no rows": (lambda: [frame.head(0) for frame in both(table())], {}),
    "one row": (lambda: [frame.head(1) for frame in both(table())], {}),
    "one row per secret": (lambda: both({"group": list("abcdef"), "x": [1, 5, 2, 8, 3, 9]}), {}),
    "two secrets with one value each": (lambda: both(TWO), {}),
    "1,000 secrets": (
        lambda: both({"group": [k % 1000 for k in range(4000)], "x": [k * k % 31 for k in range(4000)]}),
        {},
    ),
    "very unequal groups": (lambda: both(table(secret=["rare"] + ["usual"] * (ROWS - 1))), {}),
    "constant group": (lambda: both(table(np.where(GROUP == "a", 3, WHOLE))), {}),
    "constant column": (lambda: both(table([3] * ROWS)), {}),
    "constant column, allow_zero_noise": (lambda: both(table([3] * ROWS)), {"allow_zero_noise": True}),
    "values near 1e300": (lambda: [pandas_of(table(REAL * 1e300)), pl.DataFrame(table(REAL * 1e300))], {}),
    "values near 1e-300": (lambda: [pandas_of(table(REAL * 1e-300)), pl.DataFrame(table(REAL * 1e-300))], {}),
    "offset 1e12, spread 1": (lambda: [pandas_of(table(REAL + 1e12)), pl.DataFrame(table(REAL + 1e12))], {}),
    # names, index, order
    "columns named value and count": (lambda: [labelled(["value", "count"])], {"secret": "value", "public": "count"}),
    "columns named 0 and 1": (lambda: [labelled([0, 1])], {"secret": 0, "public": 1}),
    "columns named by tuples": (
        lambda: [labelled(pd.MultiIndex.from_tuples([("a", "s"), ("a", "x")]))],
        {"secret": ("a", "s"), "public": ("a", "x")},
    ),
    "two columns of one name": (lambda: [pd.concat([pandas_of(table())] * 2, axis=1)], {}),
    "subclass of DataFrame": (lambda: [Subclass(table())], {}),
    "index of other labels": (lambda: [pandas_of(table()).iloc[::-1]], {}),
    "index of other labels, index=drop": (lambda: [pandas_of(table()).iloc[::-1]], {"layout": Layout(index="drop")}),
    "rows sorted by the secret": (
        lambda: (
            [f.sort_values("group", ignore_index=True) for f in all_pandas(table())]
            + [pl.DataFrame(table()).sort("group")]
        ),
        {},
    ),
    "rows sorted by the public column": (lambda: both(table(np.sort(WHOLE))), {}),
    "two secrets in turns": (lambda: both(table(secret=["a", "b"] * (ROWS // 2))), {"epsilon": 0.05}),
    "rows sorted by the secret, shuffle": (
        lambda: [pl.DataFrame(table()).sort("group")],
        {"layout": Layout(shuffle=True)},
    ),
    "index kept, shuffle": (lambda: [pandas_of(table())], {"layout": lambda: Layout(index="keep", shuffle=True)}),
    # kept columns
    "kept: other labels of the secret": (
        lambda: both(table() | {"more": SHIFT.tolist()}),
        {"layout": Layout(keep="more")},
    ),
    "kept: a copy of the public column": (
        lambda: both(table() | {"more": WHOLE.tolist()}),
        {"layout": Layout(keep="more")},
    ),
    "kept: numbers of the rows": (lambda: both(table() | {"more": list(range(ROWS))}), {"layout": Layout(keep="more")}),
    "lazy Polars frame": (lambda: [pl.LazyFrame(table())], {}),
}


def answer(name):
    """What the library says of a case: the same for all its frames."""
    make, options = CASES[name]
    answers = {_answer(frame, options) for frame in make()}
    assert len(answers) == 1, f"{name}: {answers}"
    return answers.pop()


def _answer(frame, options):
    request = {"secret": "group", "public": "x", "epsilon": 1.0} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        try:
            released = run(privatize(frame, **made(request)))
        except PufferError as error:
            return type(error).__name__
    assert released.puffer.verify() == "unsigned: cannot be trusted"
    assert all(issubclass(w.category, PufferWarning) for w in caught), [str(w.message) for w in caught]
    kinds = sorted({w.category.__name__ for w in caught})
    return ", ".join(["release", *kinds])
