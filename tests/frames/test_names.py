"""Column names that no file, stream or certificate can hold are refused on every kind of frame."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from puffer_frames import aggregate, calibrate, histogram, privatize
from puffer_frames.errors import ArgumentError

DATA = {"group": ["a", "b", "b", "a"] * 30, "x": [1, 2, 3, 5] * 30, "t": list(range(120))}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_with_nul(kind):
    frame = KINDS[kind]({**DATA, "no\0te": DATA["x"]})
    for verb, options in (
        (privatize, {"secret": "group", "public": "x"}),
        (calibrate, {"secret": "group", "public": "x"}),
        (aggregate, {"value": "x", "domain": (0, 1)}),
        (histogram, {"state": "group", "time": "t"}),
    ):
        with pytest.raises(ArgumentError, match="without the character NUL"):
            verb(frame, epsilon=1.0, **options)


@pytest.mark.parametrize("name", ["\ud800", "x\udfff"])
def test_half_of_a_surrogate_pair(name):
    frame = pd.DataFrame(DATA)
    frame.columns = pd.Index(["group", "x", name], dtype=object)
    with pytest.raises(ArgumentError, match="UTF-8"):
        privatize(frame, secret="group", public="x", epsilon=1.0)
