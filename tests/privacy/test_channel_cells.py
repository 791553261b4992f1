"""Channels of columns that were counted on a grid: the input of a value is the one that it was counted in."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import puffer_frames
from puffer_frames import Channel

ROWS = 140_000
EXACT = Channel(radius=0, cap=None)
MARGIN = Fraction(1, 10**12)


def counted(plan, secrets, values):
    """Rows of each input, by the edges that a release goes by."""
    inputs = np.searchsorted(plan.fitted.column.edges, values, side="right")
    levels = len(plan.fitted.column.levels)
    return {name: np.bincount(inputs[secrets == name], minlength=levels).tolist() for name in "ab"}


def worst_ratio(plan, counts):
    """The largest ratio of two probabilities of an output, in whole numbers."""
    weights = plan.channels["x"].weights.tolist()
    laws = {}
    for name, often in counts.items():
        sums = [sum(n * w for n, w in zip(often, column, strict=True)) for column in zip(*weights, strict=True)]
        laws[name] = [Fraction(entry, sum(often)) for entry in sums]
    pairs = zip(laws["a"], laws["b"], strict=True)
    return max(max(p, q) / min(p, q) if min(p, q) else math.inf for p, q in pairs if max(p, q))


def secrets_and_noise(seed):
    rng = np.random.default_rng(seed)
    return rng, rng.choice(["a", "b"], ROWS)


@pytest.mark.parametrize("bounds", [(-2.0, 1.0), (-1.2345678, 0.7770001)])
def test_values_just_inside_a_bound(bounds):
    rng, secrets = secrets_and_noise(1)
    values = rng.uniform(-2, 0.5, ROWS)
    inside = bounds[1] - 2.0**-12 * 1.5
    values[:20_000] = np.where(secrets[:20_000] == "a", inside, 1.5)
    frame = pl.DataFrame({"s": secrets, "x": values})
    plan = puffer_frames.calibrate(frame, secret="s", public="x", epsilon=1.0, mechanism=EXACT, domain={"x": bounds})
    counts = counted(plan, secrets, values.clip(*bounds))
    assert {name: plan.fitted.column.counts[name].tolist() for name in "ab"} == counts
    assert worst_ratio(plan, counts) <= Fraction(math.e) + MARGIN


@pytest.mark.parametrize("far", [3.0, 1e6])
def test_another_table_that_was_counted_on_a_coarser_grid(far):
    rng, secrets = secrets_and_noise(2)
    frame = pl.DataFrame({"s": secrets, "x": rng.normal(size=ROWS)})
    values = rng.normal(size=ROWS) + 0.5 * (secrets == "a")
    values[:2] = -far, far
    other = pl.DataFrame({"s": secrets, "x": values})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": Channel(radius=0)}
    plan = puffer_frames.calibrate(frame, beliefs=[other], **asked)
    assert worst_ratio(plan, counted(plan, secrets, values)) <= Fraction(math.e) + MARGIN


@pytest.mark.parametrize("far", [3.0, 1e6])
def test_the_measured_loss_of_other_rows_holds_the_exact_one(far):
    rng, secrets = secrets_and_noise(3)
    frame = pl.DataFrame({"s": secrets, "x": rng.normal(size=ROWS) + 0.1 * (secrets == "a")})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": Channel(radius=0)}
    plan = puffer_frames.calibrate(frame, **asked)
    values = rng.random(size=ROWS) + (secrets == "a")
    for name in "ab":
        values[np.flatnonzero(secrets == name)[:2]] = -far, far
    released = plan.release(pl.DataFrame({"s": secrets, "x": values}), allow_other_frame=True, allow_drift=True)
    said = [line for line in puffer_frames.certificate_of(released).statements if line.key == "observed-exceeds"]
    assert math.log(worst_ratio(plan, counted(plan, secrets, values))) > 1.0
    assert said


def test_beliefs_about_numbers_that_the_column_does_not_have():
    frame = pl.DataFrame({"s": ["a", "b"] * 300, "x": [0.0, 0.1, 0.2, 0.3, 0.4, 0.2] * 100})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": "channel"}
    with pytest.raises(puffer_frames.errors.CalibrationError, match="others in 600 rows"):
        puffer_frames.calibrate(frame, beliefs=[frame.with_columns(pl.col("x") + 0.05)], **asked)
    prior = puffer_frames.core.Prior.empirical([0.1, 0.30000000000000004], [1, 1])
    with pytest.raises(puffer_frames.errors.ArgumentTypeError, match="a level that the column does not have"):
        puffer_frames.calibrate(frame, beliefs=[{"a": prior, "b": prior}], **asked)
