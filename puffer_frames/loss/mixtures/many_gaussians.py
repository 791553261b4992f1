"""Exact privacy loss of many Gaussian priors under Laplace noise: most pairs are left out by proved bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.mixtures.curve import Curve
from puffer_frames.loss.mixtures.mixture import MixtureLoss
from puffer_frames.loss.mixtures.refine import largest_log_ratio, positive_mass
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.bands import Band, Bands, PairOfBands, largest_loss
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import Prior, Secret

FEWEST_BANDED = 8
"""With fewer Gaussians, comparing all pairs one by one is as fast as bounding most of them."""
_TOLERANCE = 1e-8
"""Relative width that the brackets aim for."""
_FINELY, _ROUGHLY = 1e-9, 1e-3
"""The same for bounds of a pair of bands: of hockey sticks far from the worst one, and for one without noise."""
_FAR_FROM_PRIVATE = 0.5
"""A hockey stick without noise above this is as good as 1: no delta of use is there."""
_NO_NOISE = 1e-40
"""Below this fraction of the narrowest Gaussian the noise is bounded by none at all."""
_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF
_ORDINARY = 300
"""Values beyond 2**300 or below 2**-300 are measured in another unit, a power of two, to keep squares in range."""
_LARGEST_LOGARITHM = 700.0
"""Its exponential is still a float."""
_SLOPES = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
_ONE = np.ones(1)


class ManyGaussiansLoss:
    r"""Privacy loss of Gaussians and atoms, one per secret, over all pairs, without a loop over the pairs.

    With :math:`f_\sigma` the density of :math:`N(0, \sigma^2)` plus Laplace noise of scale b:

    - **Distance.** :math:`1 - \int [f(y) - c\, g(y - d)]_+ dy = \int_0^\infty |\{f > t\} \cap (\{c g > t\} + d)|\, dt`,
      and the level sets of symmetric log-concave densities are intervals about their centres, whose overlap falls with
      :math:`|d|`. So every hockey stick, and with them the pure loss, grows with the distance of the means.
    - **Width.** For :math:`s \le \sigma`: :math:`\tfrac{s}{\sigma} f_s \le f_\sigma \le
      e^{(\sigma^2 - s^2)/2b^2} f_s`. The first because :math:`\varphi(z/\sigma)` grows with sigma; the second because
      :math:`\partial f / \partial(\sigma^2) = \tfrac12 f''` and :math:`b^2 f'' = f - \varphi_\sigma \le f`.
    - **Wider over narrower.** Both together: :math:`\sup \log f_i/f_j = |\mu_i - \mu_j|/b +
      (\sigma_i^2 - \sigma_j^2)/2b^2` for :math:`\sigma_i \ge \sigma_j`, which the tails attain; over all pairs it is
      the larger range of :math:`\mu/b \pm \sigma^2/2b^2`.

    So a pair of bands of standard deviations has no larger loss than one pair of Gaussians at the largest distance, up
    to factors of the densities that tend to 1 with the width of the bands. The bands are halved where that bound is
    above the largest loss of a pair that was measured (`puffer_frames.priors.bands`).

    - `priors` (mapping of secret to Prior): One component each.

    **Cost**: one sort; per evaluation mostly some hundred pairs of Gaussians, each as in `MixtureLoss`, however many
    secrets there are. **Rounding**: a pair is measured by `MixtureLoss`; bounds are rounded up.
    See docs/theory.md, section 3, "Many Gaussians".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /) -> None:
        self._priors, self._secrets = priors, list(priors)
        means = np.concatenate([prior.means for prior in priors.values()])
        stds = np.concatenate([prior.stds for prior in priors.values()])
        exponent = math.frexp(max(float(np.abs(means).max()), float(stds.max())))[1]
        self._unit = math.ldexp(1.0, exponent - 1) if abs(exponent) > _ORDINARY else 1.0
        self._means, self._stds = means / self._unit, stds / self._unit
        self._bands = Bands(self._means, self._stds)
        self.span = float(np.ptp(means) + stds.max())
        steps = np.concatenate([np.diff(np.unique(means)), stds[stds > 0]])
        self.resolution = float(steps.min(initial=self.span))
        self._widening = 0.0
        self._finest = float(self._stds[self._stds > 0].min(initial=np.inf)) * _NO_NOISE

    def widened(self, scale: float, /) -> ManyGaussiansLoss:
        """The same for the priors plus Gaussian noise of this scale: its losses without noise are to be exact."""
        found = copy(self)
        found._stds = np.hypot(self._stds, scale / self._unit)
        found._bands = Bands(found._means, found._stds)
        found._widening = scale
        return found

    def only(self, pair: Pair, /) -> Loss:
        priors = {s: self._priors[s] for s in pair}
        if self._widening:
            priors = {s: replace(p, stds=np.hypot(p.stds, self._widening)) for s, p in priors.items()}
        discrete = all(prior.is_discrete for prior in priors.values())
        return (DiscreteLoss if discrete else MixtureLoss)(priors, pairs=(pair,))

    def _is_none(self, scale: float) -> bool:
        return scale / self._unit < self._finest or scale / self._unit == 0

    @np.errstate(over="ignore")  # squares of very many scales are infinite
    def pure(self, scale: float, /) -> WorstCase:
        if self._is_none(scale):
            raw = self._raw_pure()
            return raw.at_most() if scale else raw
        guesses = self._guesses()
        tails, widest = self._largest_tail(scale / self._unit)

        def bound(pair: PairOfBands, level: float) -> float:
            return self._peak(pair, scale / self._unit, level)

        def measure(loss: Loss) -> WorstCase:
            return loss.pure(scale)

        found = self._largest(bound, measure, scale=scale, guesses=[widest, *guesses], tolerance=_TOLERANCE)
        return replace(found, bracket=replace(found.bracket, upper=max(found.bracket.upper, tails)))

    @np.errstate(over="ignore")  # squares of very many scales are infinite
    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if scale and self._is_none(scale):
            return self.hockey_stick(0.0, epsilon=epsilon).at_most()

        def bound(pair: PairOfBands, level: float) -> float:
            return self._positive_part(pair, scale / self._unit, epsilon, level)

        def measure(loss: Loss) -> WorstCase:
            return loss.hockey_stick(scale, epsilon=epsilon)

        exact = scale or self._widening
        tolerance, enough = (_TOLERANCE, math.inf) if exact else (_ROUGHLY, _FAR_FROM_PRIVATE)
        return self._largest(bound, measure, scale=scale, guesses=self._guesses(), tolerance=tolerance, enough=enough)

    def _largest(
        self,
        bound: Callable[[PairOfBands, float], float],
        measure: Callable[[Loss], WorstCase],
        *,
        scale: float,
        guesses: list[tuple[int, int]],
        tolerance: float,
        enough: float = math.inf,
    ) -> WorstCase:
        def blur(band: Band) -> float:
            return min(_growth(band, scale / self._unit))

        def of_pair(i: int, j: int) -> tuple[float, float]:
            bracket = measure(self.only((self._secrets[i], self._secrets[j]))).bracket
            return bracket.lower, bracket.upper

        low, high, (i, j) = largest_loss(
            self._bands, bound=bound, blur=blur, measure=of_pair, guesses=guesses, tolerance=tolerance, enough=enough
        )
        return WorstCase(bracket=Bracket(lower=low, upper=high), pair=(self._secrets[i], self._secrets[j]))

    def _guesses(self) -> list[tuple[int, int]]:
        """Pairs at the ends of mean + k std, for several k."""
        found = [(self._means + k * self._stds) for k in (*_SLOPES, *(-k for k in _SLOPES[1:]))]
        ends = [(int(x.argmin()), int(x.argmax())) for x in [*found, self._stds]]
        return list(dict.fromkeys((i, j) for i, j in ends if i != j))

    def _raw_pure(self) -> WorstCase:
        """Without noise the ratio of two different Gaussians, or of an atom and another prior, is unbounded."""
        guesses = self._guesses()
        loss = math.inf if guesses else 0.0
        i, j = guesses[0] if guesses else (0, 1)
        return WorstCase(bracket=Bracket(lower=loss, upper=loss), pair=(self._secrets[i], self._secrets[j]))

    def _largest_tail(self, scale: float) -> tuple[float, tuple[int, int]]:
        """Upper bound of the loss in the tails, over all pairs, and the pair that attains it."""
        means, low = self._means - self._means.min(), self._stds.min()
        spread = (self._stds - low) * ((self._stds + low) / (2 * scale))
        ends = [(int(x.argmin()), int(x.argmax())) for x in (means + spread, means - spread)]
        sizes = [float(np.ptp(means + spread)), float(np.ptp(means - spread))]
        k = int(np.argmax(sizes))
        return sizes[k] / scale * _ROUND_UP, ends[k]

    def _peak(self, pair: PairOfBands, scale: float, level: float) -> float:
        r"""Upper bound of sup log f_i/f_j for i narrower than j, members of the two bands.

        At most :math:`\log E e^{|Z|/b} \le |m|/b + v/2b^2 + \log 2 \Phi(\sqrt v / b)`, Z of the mean m and variance v
        of the differences (docs/theory.md, section 3, "Pure epsilon for Gaussian priors"), and at most
        :math:`|m|/b + \log(\sigma_j/\sigma_i)` by "Width", for the density of a shift by m is within
        :math:`e^{|m|/b}` of that of none.
        """
        narrow, wide = pair
        distance = pair.distance / scale
        spread = (wide.high_std - narrow.low_std) * (wide.high_std + narrow.low_std) / scale / scale
        by_width = _log_ratio(wide.high_std, narrow.low_std)
        at_most = distance + min(by_width, 0.5 * spread + math.log1p(math.erf(math.sqrt(0.5 * spread))))
        if at_most * _ROUND_UP <= level:
            return at_most * _ROUND_UP
        above, i = _above(narrow, scale)
        below, j = _below(wide, scale)
        floor = max(0.0, level - above - below)
        curves = _curve(0.0, i, scale), _curve(pair.distance, j, scale)
        _, high = largest_log_ratio(*curves, tolerance=_FINELY, floor=floor)
        return min(at_most, high + above + below) * _ROUND_UP

    def _positive_part(self, pair: PairOfBands, scale: float, epsilon: float, level: float) -> float:
        """Upper bound of the hockey stick of members of the two bands, both orders."""
        orders = [(pair.narrow, pair.wide), (pair.wide, pair.narrow)]
        most = 0.0
        for i, j in orders[: 1 if pair.narrow == pair.wide else 2]:
            (above, upper_std), (below, lower_std) = _above(i, scale), _below(j, scale)
            rest = (epsilon - above - below) * (2 - _ROUND_UP)
            if rest < 0 or above > _LARGEST_LOGARITHM or not (scale or (upper_std and lower_std)):
                return 1.0 if pair.distance or upper_std != lower_std or above or below else 0.0
            curves = _curve(0.0, upper_std, scale), _curve(pair.distance, lower_std, scale)
            for tolerance in (_ROUGHLY, _FINELY):
                _, high = positive_mass(*curves, epsilon=rest, tolerance=tolerance, floor=level)
                found = math.exp(above) * high * _ROUND_UP
                if not level < found <= level * (1 + 4 * _ROUGHLY):
                    break
            most = max(most, found)
        return min(1.0, most)


def _curve(mean: float, std: float, scale: float) -> Curve:
    return Curve(_ONE, np.array([mean]), np.array([std]), scale=scale, centre=0.0)


def _log_ratio(high: float, low: float) -> float:
    """log(high / low), also of neighbouring floats."""
    return math.log1p((high - low) / low) if low else math.inf


def _growth(band: Band, scale: float) -> tuple[float, float]:
    """Logarithms of the two bounds of "Width" across a band."""
    low, high = band.low_std, band.high_std
    if low == high:
        return 0.0, 0.0
    by_variance = (high - low) * (high + low) / scale / scale / 2 if scale else math.inf
    return by_variance * _ROUND_UP, _log_ratio(high, low) * _ROUND_UP


def _above(band: Band, scale: float) -> tuple[float, float]:
    """A number u and a standard deviation s with f <= e^u f_s for all of the band."""
    by_variance, by_width = _growth(band, scale)
    return min((by_variance, band.low_std), (by_width, band.high_std))


def _below(band: Band, scale: float) -> tuple[float, float]:
    """A number d and a standard deviation s with f >= e^-d f_s for all of the band."""
    by_variance, by_width = _growth(band, scale)
    return min((by_variance, band.high_std), (by_width, band.low_std))
