"""Losses of mixtures; density, score and survival of a Gaussian plus Laplace noise against mpmath; isolated mass."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.loss.atoms.recursion import raw_of_integers
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.mixtures import curve as curve_module
from puffer_frames.loss.mixtures.curve import (
    Curve,
    SharedWidthCurve,
    central_sharpness,
    convolve,
    parabola,
    survival,
    wedge,
)
from puffer_frames.loss.mixtures.mixture import MixtureLoss
from puffer_frames.noise.families import noise_family
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF


def random_prior(rng, components=4):
    widths = 10 ** rng.uniform(-1.5, 1, components)
    return Prior.mixture(rng.dirichlet(np.ones(components)), rng.normal(size=components) * 4, widths)


def test_bounds_of_slope_and_bend_hold_inside_cells():
    rng = np.random.default_rng(0)
    for _ in range(60):
        prior, scale = random_prior(rng), float(10 ** rng.uniform(-1, 1))
        curve = Curve(prior.weights, prior.means, prior.stds, scale=scale, centre=0.0)
        left = rng.normal(size=30) * 8
        width = 10 ** rng.uniform(-3, 0.5, 30)
        bounds = curve.bounds(curve.at(left), curve.at(left + width))
        for share in np.linspace(0.01, 0.99, 15):
            y, step = left + share * width, 1e-3 * min(scale, float(prior.stds.min()))
            before, here, after = (curve.at(y + k * step).log_f for k in (-1, 0, 1))
            slope, bend = (after - before) / (2 * step), (after - 2 * here + before) / step**2
            sizes = 1 / scale, 1 / scale**2 + 1 / float(prior.stds.min()) ** 2
            assert (slope >= bounds.least_slope - 1e-4 * sizes[0]).all()
            assert (slope <= bounds.most_slope + 1e-4 * sizes[0]).all()
            assert (bend >= bounds.least_bend - 1e-3 * sizes[1]).all()
            assert (bend <= bounds.most_bend + 1e-3 * sizes[1]).all()


def test_wedge_and_parabola_bound_functions_that_meet_them():
    rng = np.random.default_rng(1)
    for _ in range(200):
        h, a, b, c = rng.uniform(0.1, 3), *rng.normal(size=3)
        t = np.linspace(0, h, 1001)
        f = a * t**2 + b * t + c
        least, most = sorted((b, 2 * a * h + b))
        ends = np.array([f[0]]), np.array([f[-1]])
        top = wedge(*ends, np.array([least]), np.array([most]), np.array([h]))[0]
        assert f.max() - 1e-12 <= top
        assert parabola(*ends, np.array([-2 * a]), np.array([h]))[0] == pytest.approx(f.max(), abs=1e-5)


def test_masses_add_up_to_one():
    rng = np.random.default_rng(2)
    for scale in (0.0, 0.3, 5.0):
        prior = random_prior(rng)
        curve = Curve(prior.weights, prior.means, prior.stds, scale=scale, centre=1.0)
        cuts = np.concatenate([[-np.inf], np.sort(rng.normal(size=20) * 10), [np.inf]])
        assert curve.mass(cuts[:-1], cuts[1:]).sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("terms", [0, 1 << 18])
def test_masses_between_points_are_those_of_the_intervals(monkeypatch, terms):
    monkeypatch.setattr(curve_module, "_MOST_TERMS", terms)
    rng = np.random.default_rng(4)
    for scale in (0.0, 0.3, 5.0):
        means = np.sort(rng.normal(size=30)) * 4
        curve = Curve(rng.dirichlet(np.ones(30)), means, rng.uniform(0.1, 2, 30), scale=scale, centre=1.0)
        shared = SharedWidthCurve(rng.dirichlet(np.ones(30)), means, std=scale + 0.1, centre=means[0])
        y = np.union1d(rng.normal(size=20) * 10, curve.means[:9, 0])
        ends = np.append(-np.inf, y), np.append(y, np.inf)
        for one in (curve, shared):
            masses, errors = one.masses(one.at(y))
            expected, bound = one.mass(*ends), one.mass_errors(*ends)
            assert (np.abs(masses - expected) <= errors + bound).all()
            assert errors == pytest.approx(bound, rel=1 if one is shared and not terms else 1e-9, abs=2e-21)


def test_atoms_as_a_mixture_equal_the_discrete_engine():
    rng = np.random.default_rng(3)
    for _ in range(30):
        p, q = (Prior.empirical(rng.integers(0, 8, 5), rng.integers(1, 5, 5)) for _ in range(2))
        other = Prior.gaussian(0, 1)
        loss = MixtureLoss({0: p, 1: q, 2: other}, pairs=((0, 1),))
        loss._discrete.clear()  # so that the pair is treated as any mixture
        scale = float(rng.uniform(0.3, 3))
        exact = pure_loss(p, q, scale=scale)
        assert loss.pure(scale).bracket.upper == pytest.approx(exact.upper, rel=1e-8, abs=1e-12)
        stick = hockey_stick(p, q, epsilon=0.3, scale=scale)
        assert loss.hockey_stick(scale, epsilon=0.3).bracket.upper == pytest.approx(stick.upper, rel=1e-6, abs=1e-13)


def test_losses_that_are_known():
    p = Prior.mixture([0.3, 0.7], [0, 5], [1, 0])
    assert pure_loss(p, p, scale=1.0).upper == hockey_stick(p, p, epsilon=0.1, scale=1.0).upper == 0
    assert pure_loss(p, p, scale=0).upper == 0
    for s in (1e-6, 1e-3, 1.0, 1e3, 1e5):
        loss = pure_loss(Prior.gaussian(0, s), Prior.gaussian(2, s), scale=4.0)
        assert 0.5 in loss
        assert loss.width < 1e-4 * 0.5
    priors = {0: Prior.mixture([0.5, 0.5], [0, 9], [1, 1]), 1: Prior.mixture([0.4, 0.6], [0, 9], [1, 1])}
    assert smallest_scale(priors, epsilon=0.3) == 0
    assert smallest_scale(priors, epsilon=0.2) > 0


@pytest.mark.parametrize("offset", [1e9, -1e9])
def test_means_far_apart(offset):
    p = Prior.mixture([0.5, 0.5], [0, offset], [1.0, 1.0])
    q = Prior.mixture([0.4, 0.6], [0, offset], [1.0, 1.0])
    loss = pure_loss(p, q, scale=1.0)
    assert loss.lower <= math.log(0.5 / 0.4) <= loss.upper
    assert loss.width < 1e-4 * loss.upper


@pytest.mark.parametrize("offset", [1e9, -1e12])
def test_means_far_from_zero(offset):
    near, far = ({k: Prior.gaussian(x + k, 1 + k) for k in (0, 1)} for x in (0, offset))
    assert pure_loss(*far.values(), scale=3.0) == pure_loss(*near.values(), scale=3.0)
    assert hockey_stick(*far.values(), epsilon=0.1, scale=1.0) == hockey_stick(*near.values(), epsilon=0.1, scale=1.0)


def test_without_noise():
    # equal variances: delta* = Phi(d/2 - eps/d) - e^eps Phi(-d/2 - eps/d)
    from scipy.stats import norm

    p, q, d, e = Prior.gaussian(0, 1), Prior.gaussian(2, 1), 2.0, 0.7
    exact = norm.cdf(d / 2 - e / d) - math.exp(e) * norm.cdf(-d / 2 - e / d)
    stick = hockey_stick(p, q, epsilon=e, scale=0)
    assert stick.lower - 1e-15 <= exact <= stick.upper + 1e-15
    assert stick.width < 1e-8
    assert pure_loss(p, q, scale=0).lower == math.inf
    reweighted = Prior.mixture([0.2, 0.8], [0, 9], [1, 1]), Prior.mixture([0.6, 0.4], [0, 9], [1, 1])
    assert pure_loss(*reweighted, scale=0).upper == pytest.approx(math.log(3), rel=2e-8)
    wide = Prior.mixture([0.5, 0.5], [0, 0], [1, 3]), Prior.mixture([0.5, 0.5], [0, 1], [3, 1])
    loss = pure_loss(*wide, scale=0)
    assert 0 < loss.lower <= loss.upper < 1
    mixed = Prior.mixture([0.5, 0.5], [0, 0], [0, 1]), Prior.mixture([0.25, 0.75], [0, 0], [0, 1])
    assert 0.5 - 0.25 in hockey_stick(*mixed, epsilon=0.0, scale=0)
    assert math.log(2) in pure_loss(*mixed, scale=0)
    assert hockey_stick(mixed[0], Prior.bernoulli(0.5), epsilon=0.0, scale=0).upper == pytest.approx(0.5)


def test_the_worst_pair_of_many_is_found():
    rng = np.random.default_rng(4)
    priors = {s: random_prior(rng, 2) for s in "abcd"} | {"e": Prior.empirical([0, 3])}
    loss = MixtureLoss(priors, pairs="all")
    for scale in (0.5, 3.0):
        worst = loss.pure(scale)
        each = {(s, t): pure_loss(priors[s], priors[t], scale=scale) for s in priors for t in priors if s < t}
        assert worst.bracket.upper == pytest.approx(max(b.upper for b in each.values()), rel=1e-8)
        assert each[worst.pair].upper == pytest.approx(worst.bracket.upper, rel=1e-8)
        sticks = {pair: hockey_stick(priors[pair[0]], priors[pair[1]], epsilon=1.0, scale=scale) for pair in each}
        worst = loss.hockey_stick(scale, epsilon=1.0)
        assert worst.bracket.upper == pytest.approx(max(b.upper for b in sticks.values()), rel=1e-7)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_of_shifts_the_outermost_pair_has_the_largest_loss(noise):
    """Gaussians of one variance: what the engine says of all pairs is the largest over single pairs."""
    priors = {k: Prior.gaussian(mean, 2.0) for k, mean in enumerate([0.3, -1.0, 0.7, 2.5, 2.5])}
    family = noise_family(noise)
    together = privacy_loss(priors, noise=family)
    single = [privacy_loss({0: priors[a], 1: priors[b]}, noise=family) for a in priors for b in priors if a < b]
    for scale in (0.5, 3.0):
        found = together.hockey_stick(scale, epsilon=0.4).bracket
        assert found.upper == pytest.approx(max(s.hockey_stick(scale, epsilon=0.4).bracket.upper for s in single))
        if noise == "laplace":
            assert together.pure(scale).bracket.upper == pytest.approx(max(s.pure(scale).bracket.upper for s in single))
    same = privacy_loss({k: Prior.gaussian(1.0, 2.0) for k in range(3)}, noise=family)
    assert same.hockey_stick(1.0, epsilon=0.1).bracket.upper == 0


@pytest.mark.parametrize(
    ("distance", "std"), [(1e-17, 1e-202), (1.0, 1e-160), (1.0, 1e-155), (1e160, 1.0), (1e150, 1e-10)]
)
@pytest.mark.parametrize("weights", [(1.0,), (0.25, 0.75)])
def test_without_noise_densities_beyond_the_floats_tell_everything(distance, std, weights):
    # (distance/std)^2 is not a float: the two never overlap, so the hockey stick is 1 and the loss has no bound
    means = np.arange(len(weights)) * std
    p, q = (Prior.mixture(weights, means + shift, [std] * len(weights)) for shift in (0.0, distance))
    assert hockey_stick(p, q, epsilon=0.5, scale=0.0).upper == pytest.approx(1.0)
    assert pure_loss(p, q, scale=0.0).upper == math.inf


def test_priors_that_never_overlap_and_pairs_of_atoms():
    # Laplace noise of a shift d: delta = 1 - exp((eps - d/b)/2) where d/b > eps, so b = d / (eps - 2 log(1 - delta))
    p, q = Prior.gaussian(0, 1e-160), Prior.gaussian(1, 1e-160)
    scale = smallest_scale({"p": p, "q": q}, epsilon=0.5, delta=0.6)
    assert scale == pytest.approx(1 / (0.5 - 2 * math.log(0.4)), rel=1e-6)
    priors = {1: Prior.gaussian(-9, 0), 2: Prior.gaussian(-5.5, 0.5), 3: Prior.gaussian(6, 0)}
    scale = smallest_scale(priors, epsilon=17.0)
    assert scale == pytest.approx(15 / 17.0, rel=1e-6)
    assert MixtureLoss(priors, pairs="all").only((1, 3)).pure(1.0).bracket.upper == pytest.approx(15.0)
    # 0.3 is a little less than 3/10, so it is not met; the next float is.
    priors = {"s": Prior.empirical([0] * 7 + [10] * 3), "t": ZEROS}
    assert smallest_scale(priors, epsilon=1.0, delta=0.3) > 0
    assert smallest_scale(priors, epsilon=1.0, delta=math.nextafter(0.3, 1)) == 0


# Density, score and survival of a Gaussian plus Laplace noise against mpmath.
def reference(z, s, b):
    """log 2b f, score, log of the prior's density over f, and survival, at enough digits for e^{x^2/2} Phi(-x)."""
    with mp.workdps(60 + int(max(0, 6 * np.log10(s / b)))):
        z, s, b = mpf(z), mpf(s), mpf(b)

        def cdf(t):
            return mp.erfc(-t / mp.sqrt(2)) / 2

        p = mp.exp(s * s / 2 / b / b - z / b) * cdf(z / s - s / b)
        q = mp.exp(s * s / 2 / b / b + z / b) * cdf(-z / s - s / b)
        prior = mp.exp(-z * z / 2 / s / s) / s / mp.sqrt(2 * mp.pi)
        return mp.log(p + q), (q - p) / (p + q) / b, mp.log(2 * b * prior / (p + q)), cdf(-z / s) + (p - q) / 2


def random_points(count):
    rng = np.random.default_rng(8)
    for k in range(count):
        b, x = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-6, 6)
        s = b * x
        near_bend = s * x * (1 + 0.3 * rng.normal() / (1 + x))
        far = (s + b) * 10 ** rng.uniform(-8, 3) * rng.choice([-1, 1])
        yield float((s * rng.normal() * 3, b * rng.normal() * 5, near_bend, far)[k % 4]), float(s), float(b)


def test_errors_are_within_their_bounds():
    for z, s, b in random_points(400):
        log_f, score, log_sharpness, beyond = reference(z, s, b)
        found = convolve(np.array([[z]]), np.array([[s]]), scale=b)
        bound = float(found.error()[0, 0])
        assert abs(found.log_density[0, 0] - log_f) <= bound
        flat = 1 - (found.score_left[0, 0] * b) ** 2
        assert abs(found.score_left[0, 0] - score) * b <= bound * flat + 4 * UNIT_ROUNDOFF
        assert abs(found.log_sharpness[0, 0] - log_sharpness) <= 4 * bound + 1e-13 * abs(log_sharpness)
        if z >= 0 and log_f > -600:
            assert abs(survival(np.array([[z]]), np.array([[s]]), scale=b)[0, 0] / beyond - 1) <= bound


def test_limits_of_the_score():
    z = np.linspace(-5, 5, 401)[None, :]
    for s in (0.01, 1.0, 30.0):
        table = convolve(z * s, np.array([[s]]), scale=1.0).log_sharpness[0]
        largest = float(central_sharpness(np.array([[s]]), scale=1.0)[0, 0])
        assert np.exp(table.max()) == pytest.approx(largest, rel=1e-12)
        assert table.argmax() == 200
        assert (np.diff(table[:201]) >= -1e-12).all()
    table = convolve(np.array([[-1.0, 0.0, 1.0]]), np.array([[0.0]]), scale=2.0)
    assert table.log_density[0].tolist() == [-0.5, 0.0, -0.5]
    assert table.score_left[0].tolist() == [0.5, 0.5, -0.5]
    assert table.score_right[0].tolist() == [0.5, -0.5, -0.5]


# A delta that is the very mass that one secret has alone: the raw hockey stick adds up whole numbers.
ZEROS = Prior.empirical([0] * 1000)


@pytest.mark.parametrize(
    ("alone", "rows", "delta"), [(1, 1000, 1e-3), (1, 2, 0.5), (3, 4, 0.75), (1, 3, math.nextafter(1 / 3, 1))]
)
def test_no_noise_is_needed_at_the_mass_itself(alone, rows, delta):
    priors = {"s": Prior.empirical([0] * (rows - alone) + [1000] * alone), "t": ZEROS}
    assert Fraction(delta) >= Fraction(alone, rows)
    assert smallest_scale(priors, epsilon=1.0, delta=delta) == 0
    assert smallest_scale(priors, epsilon=1.0, delta=math.nextafter(alone / rows, 0) * (1 - 1e-9)) > 0


def test_the_raw_hockey_stick_holds_the_exact_one_and_is_nearly_it():
    rng = np.random.default_rng(8)
    for _ in range(60):
        values = [rng.choice(12, size=int(rng.integers(1, 40))) for _ in range(2)]
        p, q = (Prior.empirical(value) for value in values)
        epsilon = float(rng.choice([0.0, 0.1, 1.0, 3.0]))
        shares = [{v: Fraction(int((value == v).sum()), value.size) for v in range(12)} for value in values]
        above, below = Fraction(math.nextafter(math.exp(epsilon), 9e9)), Fraction(math.nextafter(math.exp(epsilon), 0))
        highest = sum(max(shares[0][v] - below * shares[1][v], 0) for v in range(12))
        lowest = sum(max(shares[0][v] - above * shares[1][v], 0) for v in range(12))
        found = raw_of_integers(p, q, epsilon=epsilon)
        assert Fraction(found) >= lowest
        assert found <= float(highest) + 1e-14
        if epsilon:
            bracket = hockey_stick(p, q, scale=0.0, epsilon=epsilon)
            assert bracket.upper >= found * (1 - 1e-15)
            assert bracket.lower <= bracket.upper
