"""Density, survival, quantile, error and score of every noise, against SciPy and differences."""

import numpy as np
import pytest
from conftest import few
from scipy import stats
from scipy.special import log_ndtr

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.noise.families import GAUSSIAN, LAPLACE, noise_family
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick, unit_scale
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.target import Target

Z = np.array([-30.0, -4.1, -2.0, -0.3, 0.0, 0.3, 1.0, 2.0, 7.9, 55.0])
SCALE = 1.7
LAWS = {
    "laplace": (Laplace(scale=SCALE), stats.laplace(scale=SCALE)),
    "gaussian": (Gaussian(scale=SCALE), stats.norm(scale=SCALE)),
    "cauchy": (Stable(scale=SCALE, alpha=1.0), stats.cauchy(scale=SCALE)),
    "stable 1.3": (Stable(scale=SCALE, alpha=1.3), stats.levy_stable(1.3, 0, scale=SCALE)),
    "stable 1.8": (Stable(scale=SCALE, alpha=1.8), stats.levy_stable(1.8, 0, scale=SCALE)),
}


@pytest.mark.parametrize("name", LAWS)
def test_law_is_that_of_scipy(name):
    noise, law = LAWS[name]
    z = np.clip(Z, -8, 8) if name == "stable 1.8" else Z  # SciPy's own density is rough in its tails
    rtol = 1e-6 if name.startswith("stable") else 1e-12
    np.testing.assert_allclose(noise.log_density(z), law.logpdf(z), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(noise.survival(z), law.sf(z), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(noise.cdf(z), law.cdf(z), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_quantile_inverts_the_cdf(name):
    noise, _ = LAWS[name]
    for probability in (1e-6, 0.025, 0.4, 0.5, 0.75, 1 - 1e-9):
        assert float(noise.cdf(np.array(noise.quantile(probability)))) == pytest.approx(probability, rel=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_score_is_the_slope_of_the_log_density(name):
    noise, _ = LAWS[name]
    z, h = np.array([-3.0, -0.4, 0.7, 2.5]), 1e-5
    slope = (noise.log_density(z + h) - noise.log_density(z - h)) / (2 * h)
    np.testing.assert_allclose(noise.score(z), slope, rtol=1e-5)


@pytest.mark.parametrize(("name", "expected"), [("laplace", SCALE), ("gaussian", SCALE * (2 / np.pi) ** 0.5)])
def test_expected_absolute_error(name, expected):
    assert LAWS[name][0].expected_absolute_error == pytest.approx(expected)


def test_expected_absolute_error_of_stable_noise():
    noise = Stable(scale=2.0, alpha=1.6)
    z = np.concatenate((np.linspace(0, 50, 4_001), np.geomspace(50, 1e9, 8_001)[1:]))
    tail = np.trapezoid(noise.survival(z), z)  # E|N| = 2 times the integral of the survival function
    assert noise.expected_absolute_error == pytest.approx(2 * tail, rel=1e-4)
    assert LAWS["cauchy"][0].expected_absolute_error == np.inf


def test_shares_of_contributors_sum_to_the_noise():
    noise = Stable(scale=3.0, alpha=1.5)
    share = noise.share(100, drop_outs=10)
    assert (90 * share.scale**1.5) ** (1 / 1.5) == pytest.approx(3.0, rel=1e-12)
    assert 90 * share.scale**1.5 >= 3.0**1.5
    with pytest.raises(ArgumentError, match="drop_outs must be at least 0"):
        noise.share(5, drop_outs=5)


@few(2)
@pytest.mark.parametrize(("shift", "epsilon"), [(0.1, 1.0), (1.0, 1.0), (3.0, 0.5), (8.0, 2.0)])
def test_hockey_stick_of_a_shift_is_the_integral(shift, epsilon):
    y = np.linspace(-40, 40, 400_001)
    positive = np.maximum(stats.norm.pdf(y, loc=shift) - np.exp(epsilon) * stats.norm.pdf(y), 0)
    assert shift_hockey_stick(shift, epsilon=epsilon) == pytest.approx(np.trapezoid(positive, y), rel=1e-6, abs=1e-15)
    assert shift_hockey_stick(0.0, epsilon=epsilon) == 0


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12, 1e-200])
def test_unit_scale_is_the_smallest_on_the_private_side(epsilon, delta):
    scale = unit_scale(epsilon=epsilon, delta=delta)
    assert shift_hockey_stick(1 / scale, epsilon=epsilon) <= delta
    assert shift_hockey_stick(1 / scale * (1 + 1e-9), epsilon=epsilon) > delta


@pytest.mark.parametrize(
    "noise", ["cauchy", "stable", 3, None, Laplace, Laplace(scale=2.0), Stable(scale=3.0, alpha=1.5)]
)
def test_a_noise_that_is_not_known(noise):
    with pytest.raises(ArgumentError, match="noise"):
        noise_family(noise)


@pytest.mark.parametrize(
    ("alpha", "error"), [(2, ArgumentError), (True, ArgumentTypeError), ("1.5", ArgumentTypeError)]
)
def test_an_exponent_out_of_range(alpha, error):
    with pytest.raises(error, match="alpha"):
        Stable(alpha=alpha)


def test_what_a_noise_cannot_have():
    with pytest.raises(ArgumentError, match="log-ratio of Gaussians"):
        GAUSSIAN.check(Target(epsilon=1.0, delta=0.0))
    with pytest.raises(ArgumentError, match="at most 700"):
        GAUSSIAN.check(Target(epsilon=701.0, delta=0.1))
    with pytest.raises(ArgumentError, match="0 with stable noise"):
        Stable(alpha=1.5).check(Target(epsilon=1.0, delta=0.1))
    with pytest.raises(ArgumentError, match="grid of floats"):
        LAPLACE.check(Target(epsilon=1e-13, delta=0.0))


@pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN], ids=lambda family: family.name)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1e-6, 0.3), (600.0, 1e-280)])
def test_rounding_to_the_grid_is_paid_for(family, epsilon, delta):
    unrounded = family.unrounded(Target(epsilon=epsilon, delta=delta))
    less, share = unrounded.epsilon, unrounded.delta
    if family is LAPLACE:  # |x - x^| <= 2^-41 b: epsilon grows by 2^-40, delta by a factor e^(2^-41)
        assert less + 2.0**-40 <= epsilon
        assert share * np.exp(2.0**-41) <= delta
    else:  # the shift 2^-41 is (2^-35, d)-private
        log_d = log_ndtr(2.0**-42 - 2.0**-35 / 2.0**-41)  # the first term of [BW18] Theorem 8
        assert less + 2.0**-34 <= epsilon
        assert log_d + np.log1p(np.exp(epsilon)) <= np.log(delta) + np.log1p(-np.exp(2.0**-35) * (share / delta))


@few(1)
@pytest.mark.parametrize(
    ("family", "step", "epsilon"),
    [
        *((LAPLACE, 2.0**-40, epsilon) for epsilon in (1e-6, 0.1, 1.0)),
        *((Stable(alpha=1.5), 2.0**-30, epsilon) for epsilon in (1e-3, 0.1, 1.0)),
        pytest.param(Stable(alpha=1.5), 2.0**-30, 1e-6, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_distance_is_covered_on_the_grid(family, step, epsilon):
    # values a distance apart are up to a step of the grid farther apart on it
    scale = family.hide_on_grid(3.0, Target(epsilon=epsilon))
    assert scale >= (3.0 + step * scale) * family.unit(Target(epsilon=epsilon)) * (1 - 1e-8 * step * 2**30)
    assert scale <= 3.0 * family.unit(Target(epsilon=epsilon)) * (1 + 4 * step / epsilon)
