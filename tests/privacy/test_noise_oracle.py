"""Gaussian and stable noise against an oracle that shares no code with the engine."""

import itertools
import math

import noise_oracle as oracle
import numpy as np
import pytest
from conftest import few, sweep, thinned
from mpmath import mp, mpf

from puffer_frames import Stable
from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale

FLOATS = 1e-15  # weights are normalised in floats by the library and exactly by the oracle
GRID = 1e-7  # stable noise is measured on atoms rounded to 2^-30 of the scale
BELOW = 0.999
ALPHAS = [1.0, 1.2, 1.5, 1.8, 1.95]
STYLES = [
    *("one Gaussian each", "mixtures", "few atoms", "atoms and Gaussians", "many atoms", "near-equal", "far apart"),
    "widths from 1e-3 to 1e3",
]


# ----------------------------------------------------------------------------------------------------------- cases
def mixture(rng, components, *, widths=(-1, 1), spread=2.0):
    weights, stds = rng.dirichlet(np.ones(components)), 10 ** rng.uniform(*widths, components)
    return [(float(w), float(m), float(s)) for w, m, s in zip(weights, rng.normal(size=components) * spread, stds)]


def atoms(rng, count, *, spread=2.0):
    return [(w, m, 0.0) for w, m, _ in mixture(rng, count, spread=spread)]


def shaken(rng, prior, size):
    """The same components with slightly other means and widths (atoms stay atoms)."""
    return [(w, m + size * float(rng.normal()), abs(s * (1 + size * float(rng.normal())))) for w, m, s in prior]


def random_pair(rng, style, many=(30, 61)):
    k, n = (int(x) for x in rng.integers(1, 4, 2))
    if style == "one Gaussian each":
        return mixture(rng, 1), mixture(rng, 1)
    if style == "few atoms":
        return atoms(rng, k), atoms(rng, n)
    if style == "atoms and Gaussians":
        return mixture(rng, k) + atoms(rng, n), atoms(rng, k + 1) + mixture(rng, n)
    if style == "many atoms":
        return atoms(rng, int(rng.integers(*many)), spread=10.0), atoms(rng, int(rng.integers(*many)), spread=10.0)
    if style == "near-equal":
        p = mixture(rng, k) + atoms(rng, n)
        return p, shaken(rng, p, 10 ** rng.uniform(-4, -1))
    if style == "far apart":  # other weights, so that the loss is neither 0 nor 1
        p = mixture(rng, k + 1, spread=10 ** rng.uniform(2, 5))
        return p, [(w, m, s) for (w, _, _), (_, m, s) in zip(mixture(rng, k + 1), shaken(rng, p, 0.3))]
    if style == "widths from 1e-3 to 1e3":
        return mixture(rng, k, widths=(-3, 3)), mixture(rng, n, widths=(-3, 3))
    return mixture(rng, k), mixture(rng, n)


def scaled(prior):
    """Weights that sum to 1."""
    total = math.fsum(w for w, _, _ in prior)
    return [(w / total, m, s) for w, m, s in prior]


def gaussian_cases(count, seed=11):
    """So many random pairs, of all styles in turn, and two by hand."""
    rng = np.random.default_rng(seed)
    for style in itertools.islice(itertools.cycle(STYLES), count):
        p, q = map(scaled, random_pair(rng, style, (30, 61) if count > len(STYLES) else (15, 31)))
        epsilon = 10 ** (rng.uniform(-4, -1) if style == "near-equal" else rng.uniform(-1, 0.6))
        yield p, q, float(epsilon), float(10 ** rng.uniform(-1, 0.7))
    two = [(0.5, 0.0, 1.0), (0.5, 3.0, 0.0)]
    yield two, [(1.0, 0.5, 1.5)], 0.0, 1.0
    yield [(1.0, 0.0, 0.0)], [(1.0, 1.0, 0.0)], 1.0, 0.2


def quick_cases():
    """One of each style, without the many atoms."""
    return [case for case in gaussian_cases(8) if len(case[0]) < 10]


def stable_cases():
    rng = np.random.default_rng(12)
    for k, alpha in enumerate(ALPHAS * 2):
        p, q = (atoms(rng, int(rng.integers(2, 6)), spread=(0.7, 5.0)[k >= len(ALPHAS)]) for _ in "pq")
        yield p, q, alpha, float(10 ** rng.uniform(-0.5, 1))


def as_prior(components):
    return Prior.mixture(*zip(*components))


def engine_hockey_stick(p, q, epsilon, scale):
    return hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=scale, noise="gaussian")


def engine_pure_loss(p, q, alpha, scale):
    return pure_loss(as_prior(p), as_prior(q), scale=scale, noise=Stable(alpha=alpha))


def holds(bracket, truth, *, relative=0.0, absolute=0.0):
    slack = relative * abs(truth) + absolute
    return bracket.lower - slack <= truth <= bracket.upper + slack


def gaussian_misses(truth, cases):
    """Whether one of the engine's brackets misses the given oracle."""
    return any(
        not holds(engine_hockey_stick(p, q, epsilon, scale), truth(p, q, epsilon=epsilon, scale=scale), absolute=FLOATS)
        for p, q, epsilon, scale in cases
    )


def stable_misses(truth, cases):
    return any(
        not holds(engine_pure_loss(p, q, alpha, scale), truth(p, q, alpha=alpha, scale=scale), relative=GRID)
        for p, q, alpha, scale in cases
    )


# ---------------------------------------------------------------------------------------------- the oracle by itself
def test_the_oracle_agrees_with_closed_forms_and_quadrature():
    for scale, epsilon in [(0.5, 0.3), (1.0, 1.0), (4.0, 0.01)]:
        found = oracle.hockey_stick([(1.0, 0.0, 0.0)], [(1.0, 1.0, 0.0)], epsilon=epsilon, scale=scale)
        with mp.workdps(30):
            half, far = 1 / (2 * mpf(scale)), mpf(epsilon) * mpf(scale)
            closed = mp.ncdf(half - far) - mp.exp(mpf(epsilon)) * mp.ncdf(-half - far)  # [BW18], theorem 8
            assert abs(found - closed) < mpf("1e-25")
    for p, q, epsilon, scale in list(gaussian_cases(8))[:2]:
        found = oracle.hockey_stick(p, q, epsilon=epsilon, scale=scale)
        assert abs(found - oracle.hockey_stick_quadrature(p, q, epsilon=epsilon, scale=scale)) < 1e-12
    p, q = (atoms(np.random.default_rng(seed), 8) for seed in (1, 2))
    truth = oracle.hockey_stick(p, q, epsilon=0.3, scale=0.5)
    assert truth * (1 - 1e-4) < oracle.hockey_stick_cells(p, q, epsilon=0.3, scale=0.5) <= truth + 1e-14
    with mp.workdps(oracle.DIGITS):
        for x in (0.0, 0.5, 3.0):
            assert abs(oracle.stable_near(2.0, x) - mp.npdf(mpf(x), 0, mp.sqrt(2))) < mpf("1e-38")
            assert abs(oracle.stable_inversion(1.0, x) * mp.pi * (1 + mpf(x) ** 2) - 1) < mpf("1e-28")
    for epsilon in (0.1, 1.0, 3.0):
        scale = 1 / (2 * math.sinh(epsilon / 2))
        loss = oracle.stable_pure_loss([(1.0, 0.0, 0.0)], [(1.0, 1.0, 0.0)], alpha=1.0, scale=scale)
        assert abs(loss / epsilon - 1) < 1e-14


@pytest.mark.parametrize(
    "alpha", [1.5, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (1.05, 1.2, 1.8, 1.95, 1.995))]
)
def test_both_series_of_the_stable_density_agree_with_the_inversion_integral(alpha):
    border = alpha * (oracle.SPLIT / (alpha - 1)) ** ((alpha - 1) / alpha)
    with mp.workdps(oracle.DIGITS):
        assert abs(oracle.stable_near(alpha, border) / oracle.stable_far(alpha, border) - 1) < mpf("1e-28")
        for x in (0.0, 0.7, 0.99 * border, 1.01 * border, 300.0):
            assert abs(oracle.stable_inversion(alpha, x) / oracle.stable_density(alpha, x) - 1) < mpf("1e-25")
            assert abs(oracle.float_density(alpha, np.array([x]))[0] / oracle.stable_density(alpha, x) - 1) < 1e-12


# --------------------------------------------------------------------------------------------------- Gaussian noise
@sweep(4, 40)
def test_gaussian_brackets_hold_the_oracle_values(count):
    assert not gaussian_misses(oracle.hockey_stick, gaussian_cases(count))


@sweep(8, 40)
def test_gaussian_brackets_are_narrow(count):
    for p, q, epsilon, scale in gaussian_cases(count):
        bracket = engine_hockey_stick(p, q, epsilon, scale)
        assert bracket.upper - bracket.lower <= max(1e-4 * bracket.upper, 1e-12)


def thousands_of_atoms(seed, count, width):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=count) * width
    return scaled([(float(w), float(m), 0.0) for w, m in zip(rng.uniform(0.5, 1.5, count), values)])


@pytest.mark.parametrize("epsilon", thinned([0.05, 0.5], few=[0.5]))
def test_the_upper_bound_for_thousands_of_atoms_is_at_least_the_truth(epsilon):
    p, q = thousands_of_atoms(1, 5500, 3.0), thousands_of_atoms(2, 5200, 2.0)
    bracket = engine_hockey_stick(p, q, epsilon, 1.0)
    truth = oracle.hockey_stick_cells(p, q, epsilon=epsilon, scale=1.0)
    assert truth > 0.01
    assert bracket.upper >= truth - 1e-12
    assert bracket.lower <= truth * (1 + 1e-3) + 1e-12  # cells err low, by less than this


CALIBRATED = ("one Gaussian each", "few atoms", "atoms and Gaussians", "mixtures", "near-equal")


@few(2)
@pytest.mark.parametrize(("style", "target"), thinned(CALIBRATED, [(0.2, 1e-6), (1.0, 1e-2)]), ids=str)
@sweep(1, 2)
def test_gaussian_scales_are_private_and_nearly_the_smallest(style, target, count):
    epsilon, delta = target
    rng = np.random.default_rng(13)
    for _ in range(count):
        p, q = map(scaled, random_pair(rng, style))
        scale = smallest_scale({"s": as_prior(p), "t": as_prior(q)}, epsilon=epsilon, delta=delta, noise="gaussian")
        if scale == 0:  # then so little noise that it changes nothing must be private
            scale = 1e-9
        else:
            assert oracle.hockey_stick(p, q, epsilon=epsilon, scale=scale * BELOW) > delta
        assert oracle.hockey_stick(p, q, epsilon=epsilon, scale=scale) <= delta


# ----------------------------------------------------------------------------------------------------- stable noise
@sweep(len(ALPHAS), 2 * len(ALPHAS))
def test_stable_brackets_hold_the_oracle_values(count):
    cases = list(stable_cases())
    few = [cases[k + len(ALPHAS) * (k % 2)] for k in range(len(ALPHAS))]  # one of each alpha, near and far in turn
    assert not stable_misses(oracle.stable_pure_loss, few if count == len(few) else cases)


def test_stable_brackets_are_narrow():
    for p, q, alpha, scale in stable_cases():
        bracket = engine_pure_loss(p, q, alpha, scale)
        assert bracket.upper - bracket.lower <= 1e-4 * bracket.upper


@few(2)
@pytest.mark.parametrize(("far", "place"), thinned([0, 1], range(len(ALPHAS))))
def test_stable_scales_are_private_and_nearly_the_smallest(far, place):
    case = place + len(ALPHAS) * far
    p, q, alpha, _ = list(stable_cases())[case]
    epsilon = (0.3, 1.0, 2.5)[case % 3]
    scale = smallest_scale({"s": as_prior(p), "t": as_prior(q)}, epsilon=epsilon, noise=Stable(alpha=alpha))
    assert scale > 0
    assert oracle.stable_pure_loss(p, q, alpha=alpha, scale=scale * (1 + GRID)) <= epsilon
    assert oracle.stable_pure_loss(p, q, alpha=alpha, scale=scale * BELOW) > epsilon


@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_stable_hockey_stick_says_no_more_than_the_pure_loss(alpha):
    p, q = [(0.8, 0.0, 0.0), (0.2, 1.0, 0.0)], [(0.1, 0.0, 0.0), (0.9, 1.0, 0.0)]
    loss = float(oracle.stable_pure_loss(p, q, alpha=alpha, scale=1.0))
    for epsilon, worst in ((1.01 * loss, 0.0), (0.99 * loss, 1.0)):
        stick = hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=1.0, noise=Stable(alpha=alpha))
        assert (stick.lower, stick.upper) == (0.0, worst)


# --------------------------------------------------------------------------------------------------- planted faults
def test_an_oracle_with_only_one_order_disagrees():
    assert gaussian_misses(oracle.ordered_hockey_stick, quick_cases())


@pytest.mark.parametrize(
    "wrong", [lambda std, scale: std * std or scale * scale, lambda std, scale: (std + scale) ** 2]
)
def test_an_oracle_that_does_not_add_variances_disagrees(monkeypatch, wrong):
    monkeypatch.setattr(oracle, "variance", wrong)
    assert gaussian_misses(oracle.hockey_stick, quick_cases())


def test_an_oracle_that_loses_a_crossing_disagrees(monkeypatch):
    right = oracle.crossings
    monkeypatch.setattr(oracle, "crossings", lambda *given: right(*given)[1:])
    assert gaussian_misses(oracle.hockey_stick, quick_cases())


def test_a_bracket_that_is_off_by_a_part_in_a_million_is_noticed():
    def shifted(*pair, **options):
        return oracle.hockey_stick(*pair, **options) * (1 + mpf("1e-6"))

    assert gaussian_misses(shifted, quick_cases())


def test_an_oracle_with_another_exponent_or_scale_of_stable_noise_disagrees():
    (case,) = list(stable_cases())[1:2]
    for alpha_factor, scale_factor in ((1.0001, 1.0), (1.0, 1.000001)):

        def changed(p, q, alpha, scale, factors=(alpha_factor, scale_factor)):
            return oracle.stable_pure_loss(p, q, alpha=alpha * factors[0], scale=scale * factors[1])

        assert stable_misses(changed, [case])
