"""The loss engine: exact privacy loss of any priors of the library."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from puffer_frames.arguments import check_epsilon, check_scale
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.discrete import DiscreteLoss
from puffer_frames.loss.displaced import DisplacedLoss
from puffer_frames.loss.gaussian_noise import GaussianNoiseLoss
from puffer_frames.loss.many_gaussians import FEWEST_BANDED, ManyGaussiansLoss
from puffer_frames.loss.many_widened import ManyWidenedLoss
from puffer_frames.loss.mixture import MixtureLoss
from puffer_frames.loss.outcome import Loss
from puffer_frames.loss.stable_noise import StableNoiseLoss
from puffer_frames.noise.family import GAUSSIAN, LAPLACE, Family, noise_family
from puffer_frames.pairs import Pairs
from puffer_frames.priors import Prior, Secret

MOST_SECRETS = 2000
"""With more, two million pairs would be compared one by one."""

_LEAST_WEIGHT = 2.0**-1022
"""Smaller floats have fewer digits. For atoms with Laplace noise the engine has exponents of its own."""


def privacy_loss(priors: Mapping[Secret, Prior], /, *, pairs: Pairs = "all", family: Family = LAPLACE) -> Loss:
    """Return the engine for these priors and a family of noises; atoms known up to a radius are paid for."""
    if pairs == "all":
        priors = _outermost_shifts(priors)
    radius = max(prior.radius for prior in priors.values())
    loss = _of_positions(priors, pairs=pairs, family=family)
    return DisplacedLoss(loss, radius=radius, family=family) if radius else loss


def _of_positions(priors: Mapping[Secret, Prior], /, *, pairs: Pairs, family: Family) -> Loss:
    if family == LAPLACE and all(prior.is_discrete for prior in priors.values()):
        return DiscreteLoss(priors, pairs=pairs)
    if any(prior.weights.min() < _LEAST_WEIGHT for prior in priors.values()):
        raise ArgumentError(
            "a prior",
            rule="of no weight below 2**-1022, except one of atoms with Laplace noise",
            got="a smaller weight, which floats would lose",
            hint='Take noise="laplace", or contribution="draw".',
        )
    gaussians = all(prior.means.size == 1 for prior in priors.values())
    if family in (LAPLACE, GAUSSIAN) and pairs == "all" and gaussians and len(priors) >= FEWEST_BANDED:
        return ManyGaussiansLoss(priors) if family == LAPLACE else ManyWidenedLoss(priors)
    if pairs == "all" and len(priors) > MOST_SECRETS:
        raise CalibrationError(
            "the secrets whose pairs are compared one by one",
            rule=f"at most {MOST_SECRETS:,} for mixtures of several components, observed frequencies under other noise "
            "than Laplace's, and stable noise",
            got=f"{len(priors):,}",
            hint='Take theorem="kantorovich" with Laplace noise, theorem="translation", or list the pairs that matter.',
        )
    if family.alpha is not None:
        return StableNoiseLoss(priors, pairs=pairs, alpha=family.alpha)
    if family == GAUSSIAN:
        return GaussianNoiseLoss(priors, pairs=pairs)
    return MixtureLoss(priors, pairs=pairs)


def _outermost_shifts(priors: Mapping[Secret, Prior]) -> Mapping[Secret, Prior]:
    """Of Gaussians of one variance, those of the smallest and the largest mean; other priors as they are.

    The density of a Gaussian plus log-concave noise is log-concave, so the ratio of two shifts of it is monotone: the
    best test is a half-line, and its power grows with the distance. The outermost pair has the largest loss.
    """
    if len(priors) < 3 or any(prior.means.size > 1 for prior in priors.values()):
        return priors
    stds = {float(prior.stds[0]) for prior in priors.values()}
    if len(stds) > 1 or stds == {0.0}:
        return priors
    ends = (min(priors, key=lambda s: priors[s].means[0]), max(priors, key=lambda s: priors[s].means[0]))
    if ends[0] == ends[1]:  # all alike
        return dict(islice(priors.items(), 2))
    return {secret: priors[secret] for secret in ends}


def pure_loss(p: Prior, q: Prior, /, *, scale: float, noise: str = "laplace", alpha: float | None = None) -> Bracket:
    r"""Pure privacy loss of two priors under added noise, both orders.

    .. math:: \varepsilon^*(b) = \sup_y |\log f_p(y) / f_q(y)|

    Parameters
    ----------
    p, q : Prior
    scale : float
        Laplace scale b, Gaussian scale (standard deviation) or stable scale gamma, in units of the column; 0 for the
        raw column.
    noise : "laplace", "gaussian" or "stable"
        "stable": exact for discrete priors; otherwise an upper bound by their W-infinity distance, infinite where they
        have none.
    alpha : float, optional
        Exponent of stable noise, from 1 (Cauchy) to 1.995.

    Returns
    -------
    Bracket
        Proved bounds, rounding error included.

    Raises
    ------
    ArgumentError
        For a negative or non-finite scale, and for a noise or alpha that is not known.

    Notes
    -----
    **Cost**: O(n) for n atoms; some milliseconds for Gaussian mixtures.

    References
    ----------
    Theory section 3.

    Examples
    --------
    >>> from puffer_frames import Prior
    >>> loss = pure_loss(Prior.bernoulli(0.2), Prior.bernoulli(0.9), scale=1.0)
    >>> round(loss.upper, 6)
    0.706275
    """
    check_scale(scale)
    return privacy_loss({0: p, 1: q}, family=noise_family(noise, alpha=alpha)).pure(scale).bracket


def hockey_stick(
    p: Prior, q: Prior, /, *, epsilon: float, scale: float, noise: str = "laplace", alpha: float | None = None
) -> Bracket:
    r"""Hockey-stick divergence of two priors under added noise, the larger of both orders.

    .. math:: \delta^*(\varepsilon, b) = \int [f_p(y) - e^\varepsilon f_q(y)]_+ \, dy

    The pair is (epsilon, delta)-private exactly where this is at most delta. For stable noise it is no more than what
    the pure loss says: 0 where that is at most epsilon, otherwise between 0 and 1.

    Parameters
    ----------
    p, q : Prior
    epsilon : float
        At least 0.
    scale : float
        Laplace scale b, Gaussian scale (standard deviation) or stable scale gamma, in units of the column; 0 for the
        raw column.
    noise : "laplace", "gaussian" or "stable"
        "stable": exact for discrete priors; otherwise an upper bound by their W-infinity distance, infinite where they
        have none.
    alpha : float, optional
        Exponent of stable noise, from 1 (Cauchy) to 1.995.

    Returns
    -------
    Bracket
        Proved bounds, rounding error included.

    Raises
    ------
    ArgumentError
        For a negative or non-finite scale or epsilon, and for a noise or alpha that is not known.

    Notes
    -----
    **Cost**: O(n) for n atoms; some milliseconds for Gaussian mixtures.

    References
    ----------
    Theory section 3.

    Examples
    --------
    >>> from puffer_frames import Prior
    >>> hockey_stick(Prior.bernoulli(0.2), Prior.bernoulli(0.9), epsilon=0.5, scale=1.0).lower > 0
    True
    """
    check_scale(scale)
    check_epsilon(epsilon, zero_allowed=True)
    engine = privacy_loss({0: p, 1: q}, family=noise_family(noise, alpha=alpha))
    return engine.hockey_stick(scale, epsilon=epsilon).bracket
