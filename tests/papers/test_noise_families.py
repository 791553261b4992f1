"""Published and verified numbers of Gaussian and symmetric stable noise (docs/theory.md, sections 6 and 11)."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, table, thinned

from puffer_frames import Noise, calibrate, privatize
from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.noise import gaussian, stable
from puffer_frames.noise.stable import Stable, shift_loss, unit_scale

# docs/theory.md, section 11, scales rounded up
C = {
    1.0: (9.995835, 1.979318, 0.959518, 0.425460),
    1.2: (9.445121, 1.877089, 0.920043, 0.424308),
    1.5: (10.085719, 2.010043, 0.993877, 0.474330),
    1.8: (12.647458, 2.524583, 1.254575, 0.611483),
    1.95: (16.804333, 3.356806, 1.672040, 0.823149),
}
EPSILONS = (0.1, 0.5, 1.0, 2.0)
POINTS = {"s": Prior.empirical([0.0]), "t": Prior.empirical([1.0])}


@few(2)
@pytest.mark.parametrize("alpha", C)
def test_table_of_c(alpha):
    for epsilon, expected in zip(EPSILONS, C[alpha]):
        scale = stable.unit_scale(epsilon=epsilon, alpha=alpha)
        assert expected - 1e-6 < scale <= expected
        assert stable.shift_loss(1 / scale, alpha=alpha)[1] <= epsilon
        assert stable.shift_loss(1 / scale * (1 + 1e-7), alpha=alpha)[0] > epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_cauchy_in_closed_form(epsilon):
    assert stable.unit_scale(epsilon=epsilon, alpha=1.0) == pytest.approx(1 / (2 * math.sinh(epsilon / 2)), rel=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "laplace", "stable_"),
    [
        pytest.param(0.5, 14.15, 19.46, marks=pytest.mark.slow),
        pytest.param(1.0, 8.26, 8.23, marks=pytest.mark.slow),
        (4.0, 3.17, 2.24),
    ],
)
def test_stable_noise_can_cost_less_than_laplace(epsilon, laplace, stable_):
    ages = table("adult.data", header=None, skipinitialspace=True, usecols=[0, 8]).set_axis(["age", "race"], axis=1)
    for request, expected in (({}, laplace), ({"mechanism": Noise(Stable(alpha=1.7))}, stable_)):
        plan = calibrate(ages, secret="race", public="age", epsilon=epsilon, **request)
        assert plan.expected_error["age"] == pytest.approx(expected, abs=0.005)


def test_the_scale_of_one_shift():
    analytic = smallest_scale(POINTS, epsilon=1.0, delta=1e-5, noise="gaussian")
    assert gaussian.unit_scale(epsilon=1.0, delta=1e-5) == pytest.approx(analytic, rel=1e-7)


def test_pure_loss_of_atoms_under_gaussian_noise_is_that_of_their_tails():
    # docs/theory.md, section 6: Bernoulli(.2) against (.9) has log 8 at every scale
    p, q = Prior.bernoulli(0.2), Prior.bernoulli(0.9)
    for scale in (0.3, 1.0, 7.0):
        loss = pure_loss(p, q, scale=scale, noise="gaussian")
        assert loss.lower == pytest.approx(math.log(8), rel=1e-6)
        assert loss.upper == pytest.approx(math.log(8), rel=1e-6)
    assert pure_loss(Prior.gaussian(0, 1), Prior.gaussian(1, 2), scale=5.0, noise="gaussian").upper == math.inf


def test_gaussian_priors_have_the_hockey_stick_of_their_widened_densities():
    # [D24] section VI-B: Y | s is N(mu_s, sigma_s^2 + theta^2); the log-ratio is quadratic
    p, q, theta, epsilon = Prior.gaussian(0, 1), Prior.gaussian(1, 2), 1.5, 0.7
    y = np.linspace(-60, 60, 2_000_001)
    f, g = (
        np.exp(-0.5 * ((y - m) ** 2) / (s**2 + theta**2)) / math.sqrt(2 * math.pi * (s**2 + theta**2))
        for m, s in ((0, 1), (1, 2))
    )
    truth = max(
        np.trapezoid(np.maximum(f - math.exp(epsilon) * g, 0), y),
        np.trapezoid(np.maximum(g - math.exp(epsilon) * f, 0), y),
    )
    found = hockey_stick(p, q, epsilon=epsilon, scale=theta, noise="gaussian")
    assert found.lower <= truth * (1 + 1e-9)
    assert found.upper >= truth * (1 - 1e-9)
    assert found.upper - found.lower < 1e-8


def test_gaussian_noise_has_no_pure_privacy():
    frame = pd.DataFrame({"s": list("abab"), "x": [0, 1, 2, 3]})
    with pytest.raises(ArgumentError, match="delta must be greater than 0 with Gaussian noise"):
        privatize(frame, secret="s", public="x", epsilon=1.0, mechanism=Noise("gaussian"))
    with pytest.raises(ArgumentError, match="delta must be greater than 0 with Gaussian noise"):
        smallest_scale(POINTS, epsilon=1.0, noise="gaussian")


@pytest.mark.parametrize("alpha", [1.0, 1.6])
def test_a_coupling_within_a_distance_holds_for_stable_noise(alpha):
    # docs/theory.md, section 4, "Any noise": translation and kantorovich ask for distance x c(epsilon, alpha)
    frame = pd.DataFrame({"s": ["a", "b"] * 3, "x": [0, 2, 1, 3, 2, 4]})
    plan = calibrate(
        frame,
        secret="s",
        public="x",
        epsilon=0.5,
        mechanism=Noise(Stable(alpha=alpha), calibration="theorem", theorem="kantorovich"),
    )
    assert plan.published_scale == pytest.approx(2 * stable.unit_scale(epsilon=0.5, alpha=alpha), rel=1e-12)
    assert plan.scale == pytest.approx(plan.published_scale, rel=1e-6)
    exact = calibrate(frame, secret="s", public="x", epsilon=0.5, mechanism=Noise(Stable(alpha=alpha)))
    assert exact.scale < plan.scale
    assert exact.verified["empirical"].pure_loss.upper <= 0.5
    shifted = {"s": Prior.gaussian(0, 3), "t": Prior.gaussian(2, 3)}
    assert smallest_scale(shifted, epsilon=0.5, noise=Stable(alpha=alpha)) == pytest.approx(
        plan.published_scale, rel=1e-6
    )


def test_priors_without_a_coupling_have_no_stable_scale():
    with pytest.raises(CalibrationError):
        smallest_scale({"s": Prior.gaussian(0, 1), "t": Prior.gaussian(0, 2)}, epsilon=1.0, noise=Stable(alpha=1.5))
    frame = pd.DataFrame({"s": list("abab"), "x": [0.0, 1.0, 2.0, 5.0]})
    with pytest.raises(ArgumentError, match="one of a coupling within a distance"):
        privatize(frame, secret="s", public="x", epsilon=1.0, mechanism=Noise(Stable(alpha=1.5), theorem="gaussian"))


def test_several_columns_split_epsilon_and_delta():
    frame = pd.DataFrame({"s": ["a", "b"] * 4, "x": range(8), "y": [3, 1] * 4})
    options = {"secret": "s", "public": ["x", "y"], "epsilon": 1.0}
    stable_plan = calibrate(frame, mechanism=Noise(Stable(alpha=1.5)), **options)
    c = stable.unit_scale(epsilon=0.5, alpha=1.5)
    assert stable_plan.scales == pytest.approx({"x": 7 * c, "y": 2 * c}, rel=1e-8)  # the grid costs 2^-30 of epsilon
    gaussian_plan = calibrate(frame, mechanism=Noise("gaussian"), delta=1e-6, **options)
    theta = gaussian.unit_scale(epsilon=0.5, delta=5e-7)
    assert gaussian_plan.scales == pytest.approx({"x": 7 * theta, "y": 2 * theta}, rel=1e-8)


@pytest.mark.parametrize("bad", [None, 0.9, 2.0, "1.5"])
def test_alpha_must_be_said(bad):
    frame = pd.DataFrame({"s": list("abab"), "x": [0, 1, 2, 3]})
    with pytest.raises((ArgumentError, TypeError), match="alpha must be"):
        privatize(frame, secret="s", public="x", epsilon=1.0, mechanism=Noise(Stable(alpha=bad)))


@few(2)
@pytest.mark.parametrize(("alpha", "k", "epsilon"), thinned([1.0, 1.3, 1.7, 1.95], [2, 5], [2.0, 0.3]))
def test_several_coordinates_of_stable_noise(alpha, k, epsilon):
    """gamma = D c(eps/k, alpha)/k hides every way to share a change D among k coordinates; D c(eps, alpha) does not."""
    rng = np.random.default_rng(0)
    gamma = unit_scale(epsilon=epsilon / k, alpha=alpha) / k
    shares = [np.eye(k)[0], np.full(k, 1 / k), *rng.dirichlet(np.ones(k), size=2)]
    losses = [sum(shift_loss(share / gamma, alpha=alpha)[1] for share in row if share > 0) for row in shares]
    assert max(losses) <= epsilon * (1 + 1e-8)
    assert losses[1] == pytest.approx(epsilon, rel=1e-6)
    alone = unit_scale(epsilon=epsilon, alpha=alpha)
    assert k * shift_loss(1 / (k * alone), alpha=alpha)[0] > epsilon
