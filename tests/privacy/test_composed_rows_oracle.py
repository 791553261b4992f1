"""The loss of independent rows of a unit together, against direct double sums, random draws and closed forms.

Nothing here shares code with the engine: densities are sums over atoms, probabilities differences of SciPy's cdfs.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep
from scipy.stats import laplace, norm

import puffer_frames
from puffer_frames import Unit
from puffer_frames.core import Prior
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import UnitLoss
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
NOISES = {"laplace": (laplace, Laplace()), "gaussian": (norm, Gaussian())}


def random_laws(rng, *, secrets=2):
    """Atoms and probabilities per secret; some with few and rare atoms."""
    found = {}
    for secret in range(secrets):
        atoms = np.unique(rng.integers(0, 9, rng.integers(1, 6)) * 10.0 ** rng.integers(-1, 2))
        counts = rng.integers(1, 5, atoms.size) ** rng.integers(1, 4)
        found[secret] = atoms, counts
    return found


def priors_of(laws):
    return {secret: Prior.empirical(*law) for secret, law in laws.items()}


def span_of(laws):
    atoms = np.concatenate([atoms for atoms, _ in laws.values()])
    return float(np.ptp(atoms)) or 1.0


def on_cells(laws, scale, noise, *, cells):
    """Probabilities of the cells of a fine grid under each law; all else is in the outermost ones."""
    atoms = np.concatenate([atoms for atoms, _ in laws.values()])
    inner = np.linspace(atoms.min() - 5 * scale, atoms.max() + 5 * scale, cells - 1)
    edges = np.unique(np.concatenate([[-np.inf], inner, np.unique(atoms), [np.inf]]))
    return [
        np.diff(noise.cdf((edges[:, None] - atoms) / scale) @ (counts / counts.sum()))
        for atoms, counts in laws.values()
    ]


def stick_of_two(p, q, epsilon):
    """For two rows: at most the true one, since cells tell less than values."""
    return float(np.maximum(np.outer(p, p) - math.exp(epsilon) * np.outer(q, q), 0.0).sum())


@pytest.mark.parametrize("name", NOISES)
@sweep(8, 200)
def test_two_rows_against_double_sums(count, name):
    law, noise = NOISES[name]
    compared = 0
    for seed in range(count):
        rng = np.random.default_rng([4, seed])
        laws = random_laws(rng)
        scale, epsilon = span_of(laws) * float(rng.choice([0.3, 1.0, 3.0])), float(rng.choice([0.05, 0.5, 2.0]))
        p, q = on_cells(laws, scale, law, cells=1200)
        least = max(stick_of_two(p, q, epsilon), stick_of_two(q, p, epsilon))
        found = UnitLoss(privacy_loss(priors_of(laws), noise=noise), rows=2).hockey_stick(scale, epsilon=epsilon)
        assert found.bracket.upper >= least - 1e-15, (laws, scale, epsilon)
        if least > 1e-9:
            compared += 1
            assert found.bracket.upper <= least * 1.02 + 1e-9, (laws, scale, epsilon)
    assert compared >= count // 4


def draw(rng, law, scale, noise, size):
    atoms, counts = law
    return rng.choice(atoms, size=size, p=counts / counts.sum()) + noise.rvs(scale=scale, size=size, random_state=rng)


def log_density(y, law, scale, noise):
    atoms, counts = law
    return np.log(noise.pdf((y[..., None] - atoms) / scale) @ (counts / counts.sum()))


@few(2)
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("rows", [3, 12, 60])
def test_many_rows_against_random_draws(rows, name):
    noise, family = NOISES[name]
    rng, size = np.random.default_rng([rows, len(name)]), 200_000 if rows < 60 else 60_000
    laws = {0: (np.array([0.0, 1.0, 5.0]), np.array([5, 3, 2])), 1: (np.array([0.0, 2.0, 5.0]), np.array([3, 3, 4]))}
    scale, epsilon = 2.5 * math.sqrt(rows), 0.4
    sticks = []
    for one, other in ((0, 1), (1, 0)):
        losses = np.zeros(size)
        for _ in range(rows):
            y = draw(rng, laws[one], scale, noise, size)
            losses += log_density(y, laws[one], scale, noise) - log_density(y, laws[other], scale, noise)
        lost = np.maximum(-np.expm1(epsilon - losses), 0.0)
        sticks.append((lost.mean(), lost.std() / math.sqrt(size)))
    mean, error = max(sticks)
    upper = UnitLoss(privacy_loss(priors_of(laws), noise=family), rows=rows).hockey_stick(scale, epsilon=epsilon)
    assert upper.bracket.upper >= mean - 4 * error
    assert upper.bracket.upper <= mean + 4 * error + 0.002 * mean


@few(6)
@pytest.mark.parametrize("rows", [2, 7, 100, 12_345])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_shifts_by_gaussian_noise_in_closed_form(rows, epsilon):
    """k rows that are all shifted by 1 are one that is shifted by the root of k, down to deltas of 1e-14."""
    loss = UnitLoss(privacy_loss({0: Prior.empirical([0.0]), 1: Prior.empirical([1.0])}, noise=Gaussian()), rows=rows)
    for shift in (0.15, 0.5, 1.5):  # of all rows, in standard deviations
        scale = math.sqrt(rows) / shift
        exact = norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)
        upper = loss.hockey_stick(scale, epsilon=epsilon).bracket.upper
        assert upper >= exact
        assert upper <= exact * 1.02 + 1e-17


@pytest.mark.parametrize("rows", [2, 3, 8])
def test_shifts_by_laplace_noise_in_exact_sums(rows):
    """Point masses a distance g apart: between them the loss is uniform-like, and at both ends it has mass."""
    g, epsilon = 0.4, 0.5
    edges = np.linspace(0, g, 401)
    inner = 0.5 * (np.exp(-edges[:-1]) - np.exp(-edges[1:]))  # of Laplace(1) at 0 between the points
    p = np.concatenate([[0.5], inner, [0.5 * math.exp(-g)]])
    losses = np.concatenate([[g], g - (edges[1:] + edges[:-1]), [-g]])
    middles = {round(value, 9): 0.0 for value in losses}
    for value, mass in zip(losses, p, strict=True):
        middles[round(value, 9)] += mass
    lattice = np.rint((np.array(sorted(middles)) + g) / (g / 400)).astype(int)
    law = np.zeros(lattice.max() + 1)
    law[lattice] = [middles[value] for value in sorted(middles)]
    total = law
    for _ in range(rows - 1):
        total = np.convolve(total, law)
    values = -rows * g + np.arange(total.size) * (g / 400)
    exact = float((total * np.maximum(-np.expm1(epsilon - values), 0.0)).sum())
    loss = UnitLoss(privacy_loss({0: Prior.empirical([0.0]), 1: Prior.empirical([1.0])}), rows=rows)
    upper = loss.hockey_stick(1 / g, epsilon=epsilon).bracket.upper
    assert upper == pytest.approx(exact, rel=4e-4)


@sweep(2, 4)
def test_more_rows_lose_more_and_larger_scales_less(count):
    for seed, (_, noise) in itertools.product(range(count), NOISES.values()):
        laws = random_laws(np.random.default_rng([9, seed]), secrets=3)
        loss, span = privacy_loss(priors_of(laws), noise=noise), span_of(laws)
        of_rows = [UnitLoss(loss, rows=k).hockey_stick(2 * span, epsilon=0.5).bracket.upper for k in (1, 2, 4, 9)]
        of_scales = [UnitLoss(loss, rows=5).hockey_stick(b * span, epsilon=0.5).bracket.upper for b in (1, 2, 4)]
        assert of_rows == sorted(of_rows)
        assert of_scales == sorted(of_scales, reverse=True)


@sweep(3, 40)
def test_the_scale_of_a_plan(count):
    """Two rows of a unit, by a plan: the double sum at its scale is at most delta, and a little below it more."""
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        own = np.repeat(np.arange(40) % 2, 2)
        x = rng.integers(0, 4, 80) + own * rng.integers(0, 2, 80)
        frame = pd.DataFrame({"s": np.where(own, "p", "q"), "u": np.repeat(np.arange(40), 2), "x": x * 1.0})
        epsilon, delta = float(rng.choice([0.2, 1.0])), float(rng.choice([1e-2, 1e-4]))
        plan = puffer_frames.calibrate(
            frame, secret="s", public="x", epsilon=epsilon, delta=delta, unit=Unit("u", rows="independent")
        )
        laws = {s: np.unique(part["x"], return_counts=True) for s, part in frame.groupby("s")}
        sticks = []
        for scale in (plan.scale, 0.996 * plan.scale):
            p, q = on_cells(laws, scale, laplace, cells=2000)
            sticks.append(max(stick_of_two(p, q, epsilon), stick_of_two(q, p, epsilon)))
        assert sticks[0] <= delta < sticks[1], (seed, plan.scale)
        assert plan.verified["empirical"].hockey_stick.upper <= delta
