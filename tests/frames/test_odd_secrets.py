"""Secrets that a library takes for equal are told apart."""

import pandas as pd
import pytest

import puffer_frames


@pytest.mark.parametrize("labels", [["a\0b", "a\0c", "a"], ["\ud800x", "\ud800y", "x"]], ids=["NUL", "half of a pair"])
def test_text_that_differs_after_an_odd_character(labels):
    """pandas 2 numbers them alike in columns of objects."""
    frame = pd.DataFrame({"secret": pd.Series(labels * 40, dtype=object), "x": [0, 5, 9] * 40})
    plan = puffer_frames.calibrate(frame, secret="secret", public="x", epsilon=1.0)
    assert plan.rows_per_secret == dict.fromkeys(labels, 40)
    assert plan.scale == pytest.approx(9.0, rel=1e-6)


def test_several_columns_with_missing_and_mixed_objects():
    frame = pd.DataFrame(
        {
            "a": pd.Series(["p\0q", "p\0r"] * 60, dtype=object),
            "b": pd.Series(["u", "v", "v"] * 40, dtype=object),
            "x": [0, 1, 2, 3] * 30,
        }
    )
    plan = puffer_frames.calibrate(frame, secret=["a", "b"], public="x", epsilon=1.0)
    assert set(plan.rows_per_secret) == {(a, b) for a in ("p\0q", "p\0r") for b in ("u", "v")}
