"""Fixtures: the same data as every kind of frame, and the real tables of the papers."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

FRAME_KINDS = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy")
SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


def build_frame(kind, data):
    """The columns of `data` as a frame of the given kind."""
    if kind == "pandas":
        return pd.DataFrame(data)
    if kind == "pandas-nullable":
        return pd.DataFrame(data).convert_dtypes()
    if kind == "pandas-pyarrow":
        return pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow")
    return pl.DataFrame(data) if kind == "polars" else pl.LazyFrame(data)


@pytest.fixture(params=FRAME_KINDS)
def make_frame(request):
    return lambda data: build_frame(request.param, data)


@pytest.fixture
def people():
    """Two hundred rows, three groups, six values; its noise at epsilon 0.05 is about 2.2."""
    rng = np.random.default_rng(0)
    return {"group": rng.choice(["a", "b", "c"], 200), "score": rng.integers(0, 6, 200), "note": ["x", "y"] * 100}


def table(name, **options):
    path = SHARED_DATA / name
    if not path.exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    return pd.read_csv(path, **options)


@pytest.fixture(scope="session")
def adult():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[4, 8])
    return frame.set_axis(["education_num", "race"], axis=1)


@pytest.fixture(scope="session")
def hungarian():
    frame = table("processed.hungarian.data", header=None, na_values="?", usecols=[1, 4])
    return frame.set_axis(["sex", "chol"], axis=1).dropna(ignore_index=True)
