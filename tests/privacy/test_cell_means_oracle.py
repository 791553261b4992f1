"""What the means of cells tell of the loss, beside the exact values: random cells of all noises, and planted faults."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import few

from puffer_frames import Stable
from puffer_frames.core import Prior
from puffer_frames.loss.atoms import cell_means
from puffer_frames.loss.atoms.cell_means import CellMeansLoss
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.noises import narrow_cells
from puffer_frames.loss.noises.narrow_cells import GaussianCellMeansLoss
from puffer_frames.noise.families import GAUSSIAN
from puffer_frames.priors.prior import observed_priors
from puffer_frames.priors.summary import in_wider_cells


@few(1)
@pytest.mark.parametrize("seed", range(12))
def test_means_of_cells_hold_the_exact_loss(seed):
    """Values anywhere in their cells, wide ones too: the exact loss lies within the bounds."""
    assert outside(60, seed=seed) == 0


def test_faults_of_the_means_are_found(monkeypatch):
    """The oracle can fail: values are taken to lie at the means of their cells."""
    usual = cell_means._AtScale.largest_ratio

    def at_means(at, i, least):
        return usual(replace(at, mass=0.0 * at.mass, log_high=at.log_low), i, least)

    monkeypatch.setattr(cell_means._AtScale, "largest_ratio", at_means)
    monkeypatch.setattr(cell_means._AtScale, "growth", lambda *_: (1.0, 0.0))
    assert outside(60, seed=0) > 10


def random_cells(rng):
    """Values of some secrets: their width of cells, what is known by the means of these, and the exact laws."""
    width = 2.0 ** rng.integers(-4, 3)
    counts, exact = {}, {}
    for secret in range(int(rng.choice([2, 3, 10]))):
        size = int(rng.integers(1, 60))
        values = (
            rng.normal(rng.normal(), rng.choice([0.3, 2.0, 8.0]), size),
            rng.standard_cauchy(size),
            rng.integers(-6, 6, size) + rng.choice([0.0, 0.5, 1 - 1e-9], size),
        )[int(rng.integers(3))] * width
        often = rng.integers(1, 9, size)
        order = np.argsort(values)
        counts |= in_wider_cells({secret: (values[order], often[order])}, radius=width / 2)
        exact[secret] = Prior.empirical(values, often)
    return width, observed_priors(counts, radius=width / 2), exact


def outside(count, *, seed):
    """How many brackets of the means of random cells miss the exact loss."""
    rng, missed = np.random.default_rng(seed), 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        found, true = CellMeansLoss(known, pairs="all"), DiscreteLoss(exact, pairs="all")
        scale, epsilon = width * float(rng.choice([2.01, 5.0, 20.0, 100.0])), float(rng.choice([0.05, 0.3, 1.0]))
        for bound, loss in (
            (found.pure(scale), true.pure(scale)),
            (found.hockey_stick(scale, epsilon=epsilon), true.hockey_stick(scale, epsilon=epsilon)),
        ):
            missed += bound.bracket.lower > loss.bracket.upper or loss.bracket.lower > bound.bracket.upper
    return missed


def outside_gaussian(count, *, seed):
    """The same under Gaussian noise; and how many brackets there are of the means."""
    rng, missed, narrow = np.random.default_rng(seed), 0, 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        found, true = (privacy_loss(laws, noise=GAUSSIAN) for laws in (known, exact))
        scale, epsilon = width * float(rng.choice([4.01, 10.0, 40.0, 300.0])), float(rng.choice([0.05, 0.3, 1.0, 3.0]))
        bound = found.hockey_stick(scale, epsilon=epsilon).bracket
        loss = true.hockey_stick(scale, epsilon=epsilon).bracket
        missed += bound.lower > loss.upper or loss.lower > bound.upper
        coarse = found._coarse.hockey_stick(scale, epsilon=epsilon).bracket
        narrow += bound.upper < coarse.upper
    return missed, narrow


def outside_stable(count, *, seed):
    """The same under stable noise."""
    rng, missed, narrow = np.random.default_rng(seed), 0, 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        noise = Stable(alpha=float(rng.choice([1.0, 1.4, 1.8])))
        found, true = (privacy_loss(laws, noise=noise) for laws in (known, exact))
        scale = width * float(rng.choice([4.01, 10.0, 40.0, 300.0]))
        bound, loss = (each.pure(scale).bracket for each in (found, true))
        missed += bound.lower > loss.upper or loss.lower > bound.upper
        narrow += bound.upper < found._coarse.pure(scale).bracket.upper
    return missed, narrow


@few(1)
@pytest.mark.parametrize("seed", range(12))
def test_under_stable_noise_the_loss_is_within_what_the_means_of_cells_tell(seed):
    missed, narrow = outside_stable(12, seed=seed)
    assert not missed
    assert narrow > 7


def test_a_planted_fault_of_stable_means_is_found(monkeypatch):
    """As if all values were at the means of their cells."""
    monkeypatch.setattr(narrow_cells, "cost_of_means", lambda *_, **__: (0.0, 0.0))
    assert outside_stable(8, seed=0)[0] > 2


@few(1)
@pytest.mark.parametrize("seed", range(4))
def test_under_gaussian_noise_the_loss_is_within_what_the_means_of_cells_tell(seed):
    missed, narrow = outside_gaussian(12, seed=seed)
    assert not missed
    assert narrow > 5


def test_a_planted_fault_of_gaussian_means_is_found(monkeypatch):
    """As if all values were at the means of their cells."""
    made = GaussianCellMeansLoss.__init__

    def init(self, *losses, priors):
        made(self, *losses, priors=priors)
        self._width = self._unsure = 0.0

    monkeypatch.setattr(GaussianCellMeansLoss, "__init__", init)
    assert outside_gaussian(8, seed=0)[0] > 2
