"""Independent rows of a unit with a delta: the figures of docs/theory.md, sections 8 and 17."""

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Noise, Unit, calibrate
from puffer_frames.core import Prior
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import UnitLoss
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.numbers.arguments import Target
from puffer_frames.scales.search import smallest_scale_of

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")


def laws(frame, column, by, secrets):
    parts = {s: frame.loc[frame[by] == s, column].to_numpy() for s in secrets}
    return {s: Prior.empirical(*np.unique(values, return_counts=True)) for s, values in parts.items()}


def at(priors, *, rows, scale, epsilon):
    return UnitLoss(privacy_loss(priors), rows=rows).hockey_stick(scale, epsilon=epsilon).bracket


@pytest.mark.parametrize(("rows", "scale", "epsilon", "delta"), [(1, 1.5, 0.2, 0.0454844), (10, 7.0, 0.5, 0.002931)])
def test_rows_of_education(adult, rows, scale, epsilon, delta):
    found = at(laws(adult, "education_num", "race", ("Black", "White")), rows=rows, scale=scale, epsilon=epsilon)
    assert found.upper == pytest.approx(delta, abs=6e-7)


def test_two_bernoulli_rows():
    found = at({"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}, rows=2, scale=1.2, epsilon=0.3)
    assert 0.19776359 <= found.upper <= 0.197770


@pytest.mark.parametrize(
    ("rows", "delta", "least", "most"),
    [
        (2, 1e-6, 1.0, 1.001),
        (10, 1e-6, 1.0, 1.08),
        (30, 1e-6, 1.38, 1.53),
        (100, 1e-6, 2.4, 2.56),
        (10, 1e-9, 1.0, 1.002),
        (30, 1e-9, 1.10, 1.2),
        (100, 1e-9, 1.89, 1.96),
    ],
)
def test_noise_for_shares_of_epsilon_and_delta_against_that_for_all_rows(adult, rows, delta, least, most):
    loss, target = privacy_loss(laws(adult, "education_num", "race", ("Black", "White"))), Target.of(1.0, delta)
    shares, together = (
        smallest_scale_of(one, asked)
        for one, asked in ((loss, target.share(rows)), (UnitLoss(loss, rows=rows), target))
    )
    assert least * (1 - 1e-6) <= shares / together <= most


def test_noise_of_all_rows_of_adult(adult):
    """The scale of 100 rows, and 2.5 times that for shares."""
    unit = pd.Series([f"{race} {k // 100}" for race, k in zip(adult.race, adult.groupby("race").cumcount())])
    frame = adult.assign(unit=unit)[adult.race.isin(["Black", "White"])].reset_index(drop=True)
    asked = {"secret": "race", "public": "education_num", "epsilon": 1.0, "delta": 1e-6}
    scales = {
        n: calibrate(frame, unit=Unit("unit", rows="independent"), mechanism=Noise(n), **asked).scale
        for n in ("laplace", "gaussian")
    }
    assert scales["laplace"] == pytest.approx(26.05, rel=1e-3)
    assert scales["gaussian"] == pytest.approx(27.78, rel=1e-3)


def test_gaussian_noise_needs_the_root_of_the_rows(adult):
    """Shares cost a factor of nearly k; all rows together about its root."""
    loss = privacy_loss(laws(adult, "education_num", "race", ("Black", "White")), noise=Gaussian())
    target = Target.of(1.0, 1e-6)
    together = smallest_scale_of(UnitLoss(loss, rows=100), target)
    assert smallest_scale_of(loss, target.share(100)) / together == pytest.approx(9.78, rel=0.01)
