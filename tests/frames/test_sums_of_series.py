"""Sums and means of series of numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from puffer_frames import certificate_of, histogram
from puffer_frames.errors import ArgumentError


def test_a_mean_is_the_sum_over_the_values():
    frame = pd.DataFrame({"t": range(10), "s": [3, 3, 7, 7, 7, 3, 11, 3, 3, 7]})
    chain = np.full((3, 3), 1 / 3)
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": chain}
    total, mean = (histogram(frame, query=query, rng=4, **asked) for query in ("sum", "mean"))
    assert list(total.columns) == ["query", "answer", "scale", "expected_error", "lower_95", "upper_95"]
    assert total["query"].tolist() == ["sum"]
    assert total["scale"].iloc[0] == pytest.approx(8.0, rel=1e-8)  # independent values: one of them, times the range
    assert mean["answer"].iloc[0] == pytest.approx(total["answer"].iloc[0] / 10)
    assert mean["expected_error"].iloc[0] == pytest.approx(0.8, rel=1e-3)
    assert abs(total["answer"].iloc[0] - 58) < 100
    wide = histogram(frame, query="sum", states=[3, 7, 11, 43], rng=4, **{**asked, "chain": np.full((4, 4), 1 / 4)})
    assert wide["scale"].iloc[0] == pytest.approx(40.0, rel=1e-8)


@pytest.mark.parametrize("library", [pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_frame_gives_the_same_sums(library):
    data = {"who": list("aaaabbbb"), "t": [0, 1, 2, 3] * 2, "s": [5, -2, -2, 5, 0, 0, 5, -2]}
    asked = {"state": "s", "time": "t", "unit": "who", "query": "sum", "per": "both", "epsilon": 0.7, "rng": 2}
    found = histogram(library(data), **asked)
    rows = found.to_pylist() if isinstance(found, pa.Table) else found.to_dicts()
    expected = histogram(pd.DataFrame(data), **asked)
    assert [row["answer"] for row in rows] == expected["answer"].tolist()
    assert [row["who"] for row in rows] == [None, "a", "b"]


def test_states_and_units_of_other_kinds():
    frame = pd.DataFrame({"query": [1, 1, 2, 2] * 3, "t": np.arange(12), "s": [0, 1, 1, 0] * 3})
    asked = {"state": "s", "time": "t", "query": "sum", "chain": np.full((4, 4), 0.25), "epsilon": 1.0}
    asked["mechanism"] = "quilt"
    found = histogram(frame, states=np.arange(4), **asked)
    assert found["scale"].iloc[0] == pytest.approx(3.0, rel=1e-9)
    assert "enough to hide one value" in str(certificate_of(found))
    pooled = histogram(frame, states=range(4), unit="query", gaps="independent", **asked)
    assert pooled["query"].tolist() == ["sum"]
    with pytest.raises(ArgumentError, match=r"^unit must be a column with another name"):
        histogram(frame, states=range(4), unit="query", gaps="independent", per="unit", **asked)


def test_a_curve_of_means():
    frame = pd.DataFrame({"t": range(8), "s": [0, 2] * 4})
    asked = {"state": "s", "time": "t", "chain": [[0.5, 0.5], [0.5, 0.5]], "query": "mean"}
    asked["mechanism"] = "quilt"
    curve = histogram(frame, epsilon=[1.0, 2.0], **asked)
    assert curve["query"].tolist() == ["mean", "mean"]
    np.testing.assert_allclose(curve["scale"], [0.25, 0.125], rtol=1e-9)  # of the mean
    np.testing.assert_allclose(curve["expected_error"], [0.25, 0.125], rtol=1e-3)
