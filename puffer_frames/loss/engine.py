"""The loss engine: exact privacy loss of any priors of the library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, cast

from puffer_frames.errors import ArgumentError, CalibrationError, short_traceback
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.displaced import CellMeansLoss, DisplacedLoss, in_cells_of_one_width
from puffer_frames.loss.loss_law import UnitLoss
from puffer_frames.loss.mixtures.mixture import FEWEST_BANDED, ManyGaussiansLoss, MixtureLoss
from puffer_frames.loss.noises.coupled import CoupledLoss, CoupledSetsLoss
from puffer_frames.loss.noises.gaussian_noise import GaussianNoiseLoss, ManyWidenedLoss
from puffer_frames.loss.noises.stable_noise import GaussianCellMeansLoss, StableCellMeansLoss, StableNoiseLoss
from puffer_frames.loss.outcome import Bracket, Loss, WorstCase
from puffer_frames.loss.sets import GaussianSetsLoss, LaplaceSetsLoss, check_pairs_of_sets
from puffer_frames.noise.families import LAPLACE, NoiseArgument, noise_family
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.numbers.arguments import check_epsilon, check_scale
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import Prior, Secret, check_priors


class LargestLoss:
    """The largest of several losses of the same pairs."""

    def __init__(self, losses: Sequence[Loss], /) -> None:
        self._losses = losses
        self.span = max(loss.span for loss in losses)
        self.resolution = min(loss.resolution for loss in losses)

    def only(self, pair: Pair, /) -> LargestLoss:
        return LargestLoss([loss.only(pair) for loss in self._losses])

    def pure(self, scale: float, /) -> WorstCase:
        return _largest([loss.pure(scale) for loss in self._losses])

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        return _largest([loss.hockey_stick(scale, epsilon=epsilon) for loss in self._losses])


def _largest(found: Sequence[WorstCase]) -> WorstCase:
    worst = max(found, key=lambda each: each.bracket.upper)
    lower = max(each.bracket.lower for each in found)
    return WorstCase(bracket=Bracket(lower=lower, upper=worst.bracket.upper), pair=worst.pair)


MOST_PAIRS_OF_SETS = 300
"""The most pairs of secrets with sets of laws under noise other than Laplace's: each takes milliseconds per scale."""
MOST_SECRETS = 2000
"""With more, two million pairs would be compared one by one."""

_LEAST_WEIGHT = 2.0**-1022
"""Smaller floats have fewer digits. For atoms with Laplace noise the engine has exponents of its own."""


Laws: TypeAlias = Mapping[Secret, Prior] | Mapping[Secret, LawSet]
"""One law per secret, or a set of laws per secret."""


def belief_loss(laws: Laws | Sequence[Laws], /, *, pairs: Pairs, noise: NoiseFamily, rows: int = 1) -> Loss:
    """The engine for one belief: the worst of its laws, which are several mappings for resamples.

    With `rows` it is that of so many independent rows of a unit, with the noises of `COMPOSED`.
    """
    if not isinstance(laws, Mapping):
        return LargestLoss([belief_loss(each, pairs=pairs, noise=noise, rows=rows) for each in laws])
    sets = {secret: law for secret, law in laws.items() if isinstance(law, LawSet)}
    if not sets:
        return privacy_loss(cast(Mapping[Secret, Prior], laws), pairs=pairs, noise=noise, rows=rows)
    loss = _loss_of_sets(sets, pairs, noise)
    return UnitLoss(loss, rows=rows) if rows > 1 else loss


def _loss_of_sets(sets: Mapping[Secret, LawSet], pairs: Pairs, noise: NoiseFamily) -> Loss:
    if isinstance(noise, Laplace):
        return LaplaceSetsLoss(sets, pairs=pairs)
    check_pairs_of_sets(len(sets), pairs, most=MOST_PAIRS_OF_SETS)
    if isinstance(noise, Gaussian):
        return GaussianSetsLoss(sets, pairs=pairs)
    return CoupledSetsLoss(sets, pairs=pairs, noise=noise)


COMPOSED = (Laplace, Gaussian)
"""Noises for which the loss of several independent rows is known."""


def privacy_loss(
    priors: Mapping[Secret, Prior], /, *, pairs: Pairs = "all", noise: NoiseFamily = LAPLACE, rows: int = 1
) -> Loss:
    """Return the engine for these priors and a family of noises; atoms known up to a radius are paid for.

    With `rows` it is that of so many independent rows of a unit, with the noises of `COMPOSED`.
    """
    if isinstance(noise, Laplace) and rows == 1 and CellMeansLoss.suits(priors):
        return CellMeansLoss(priors, pairs=pairs)
    given, priors = priors, {secret: prior.at_middles() for secret, prior in priors.items()}
    if pairs == "all":
        priors = _outermost_shifts(priors)
    radius = max(prior.radius for prior in priors.values())
    loss = ENGINES.get(type(noise), _coupled)(priors, pairs, noise)
    if rows > 1:
        loss = UnitLoss(loss, rows=rows)
        radius *= math.nextafter(math.sqrt(rows), math.inf) if isinstance(noise, Gaussian) else rows  # of all together
    if not radius:
        return loss
    coarse = DisplacedLoss(loss, radius=radius, noise=noise)
    if not isinstance(noise, (Gaussian, Stable)) or rows > 1 or not in_cells_of_one_width(given):
        return coarse
    means = ENGINES[type(noise)]({secret: prior.at_means() for secret, prior in given.items()}, pairs, noise)
    if isinstance(noise, Gaussian):
        return GaussianCellMeansLoss(means, coarse, priors=given)
    return StableCellMeansLoss(means, coarse, priors=given, shape=stable_shape(noise.alpha))


def _laplace(priors: Mapping[Secret, Prior], pairs: Pairs, noise: NoiseFamily) -> Loss:
    del noise
    if all(prior.is_discrete for prior in priors.values()):
        return DiscreteLoss(priors, pairs=pairs)
    if _is_banded(priors, pairs):
        return ManyGaussiansLoss(priors)
    _check_priors(priors, pairs)
    return MixtureLoss(priors, pairs=pairs)


def _gaussian(priors: Mapping[Secret, Prior], pairs: Pairs, noise: NoiseFamily) -> Loss:
    del noise
    if _is_banded(priors, pairs):
        return ManyWidenedLoss(priors)
    _check_priors(priors, pairs)
    return GaussianNoiseLoss(priors, pairs=pairs)


def _stable(priors: Mapping[Secret, Prior], pairs: Pairs, noise: NoiseFamily) -> Loss:
    _check_priors(priors, pairs)
    return StableNoiseLoss(priors, pairs=pairs, noise=noise)


def _coupled(priors: Mapping[Secret, Prior], pairs: Pairs, noise: NoiseFamily) -> Loss:
    _check_priors(priors, pairs)
    return CoupledLoss(priors, pairs=pairs, noise=noise)


Engine: TypeAlias = Callable[[Mapping[Secret, Prior], Pairs, NoiseFamily], Loss]

ENGINES: Mapping[type[NoiseFamily], Engine] = {Laplace: _laplace, Gaussian: _gaussian, Stable: _stable}
"""Engines that know more of a noise than the loss of a shift, by which every other is held to a coupling."""


def _is_banded(priors: Mapping[Secret, Prior], pairs: Pairs) -> bool:
    """Whether there are so many Gaussians that bands of them are compared."""
    gaussians = all(prior.means.size == 1 for prior in priors.values())
    return pairs == "all" and gaussians and len(priors) >= FEWEST_BANDED


def _check_priors(priors: Mapping[Secret, Prior], pairs: Pairs) -> None:
    """Raise ArgumentError for a weight that floats would lose, CalibrationError for too many secrets."""
    if any(prior.weights.min() < _LEAST_WEIGHT for prior in priors.values()):
        raise ArgumentError(
            "a prior",
            rule="of no weight below 2**-1022, except one of atoms with Laplace noise",
            got="a smaller weight, which floats would lose",
            hint='Take Laplace noise, or contribution="draw".',
        )
    if pairs == "all" and len(priors) > MOST_SECRETS:
        raise CalibrationError(
            "the secrets whose pairs are compared one by one",
            rule=f"at most {MOST_SECRETS:,} for mixtures of several components, observed frequencies under other noise "
            "than Laplace's, and stable noise",
            got=f"{len(priors):,}",
            hint='Take Laplace noise with theorem="kantorovich", theorem="translation", or list the pairs that matter.',
        )


def _outermost_shifts(priors: Mapping[Secret, Prior]) -> Mapping[Secret, Prior]:
    """The Gaussians of smallest and largest mean, where all have one variance; other priors as they are.

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


@short_traceback
def pure_loss(p: Prior, q: Prior, /, *, scale: float, noise: NoiseArgument = "laplace") -> Bracket:
    r"""Pure privacy loss of two priors under added noise, both orders.

    .. math:: \varepsilon^*(b) = \sup_y |\log f_p(y) / f_q(y)|

    Parameters
    ----------
    p, q : Prior
    scale : float
        Laplace scale b, Gaussian scale (standard deviation) or stable scale gamma, in units of the column; 0 for the
        raw column.
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
        "gaussian": for discrete priors of more than 24 atoms the loss is not computed, and the bracket is from 0 to
        infinity; `hockey_stick` has no such limit. Stable noise: tight for discrete priors; otherwise an upper
        bound by their W-infinity distance, infinite where none is known.

    Returns
    -------
    Bracket
        Proved bounds, rounding error included.

    Raises
    ------
    ArgumentError
        For a negative or non-finite scale, and for a noise that is not known.

    Notes
    -----
    **Cost**: O(n) for n atoms; some milliseconds for Gaussian mixtures.

    References
    ----------
    docs/theory.md, section 3.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> loss = pure_loss(Prior.bernoulli(0.2), Prior.bernoulli(0.9), scale=1.0)
    >>> round(loss.upper, 6)
    0.706275
    """
    scale = check_scale(scale)
    check_priors((p, q))
    return privacy_loss({0: p, 1: q}, noise=noise_family(noise)).pure(scale).bracket


@short_traceback
def hockey_stick(p: Prior, q: Prior, /, *, epsilon: float, scale: float, noise: NoiseArgument = "laplace") -> Bracket:
    r"""Hockey-stick divergence of two priors under added noise, the larger of both orders.

    .. math:: \delta^*(\varepsilon, b) = \int [f_p(y) - e^\varepsilon f_q(y)]_+ \, dy

    The pair is (epsilon, delta)-private exactly where this is at most delta. For stable noise it is not computed: the
    bracket is what the pure loss says, 0 where that is at most epsilon, otherwise from 0 to 1.

    Parameters
    ----------
    p, q : Prior
    epsilon : float
        At least 0.
    scale : float
        Laplace scale b, Gaussian scale (standard deviation) or stable scale gamma, in units of the column; 0 for the
        raw column.
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)

    Returns
    -------
    Bracket
        Proved bounds, rounding error included.

    Raises
    ------
    ArgumentError
        For a negative or non-finite scale or epsilon, and for a noise that is not known.
    ArgumentTypeError
        For something else than two priors.

    Notes
    -----
    **Cost**: O(n) for n atoms; some milliseconds for Gaussian mixtures.

    References
    ----------
    docs/theory.md, section 3.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> hockey_stick(Prior.bernoulli(0.2), Prior.bernoulli(0.9), epsilon=0.5, scale=1.0).lower > 0
    True
    """
    scale, epsilon = check_scale(scale), check_epsilon(epsilon, zero_allowed=True)
    check_priors((p, q))
    engine = privacy_loss({0: p, 1: q}, noise=noise_family(noise))
    return engine.hockey_stick(scale, epsilon=epsilon).bracket
