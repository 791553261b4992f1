"""Privacy loss of priors whose atoms are known up to a radius, as where values were counted in cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.recursion import log_densities
from puffer_frames.loss.outcome import Bracket, Loss, PureLoss, WorstCase
from puffer_frames.noise.families import LAPLACE
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import MEANS_ERROR, FloatArray, IndexArray, Prior, Secret


class PureOnly(PureLoss):
    """The loss of an engine that finds the worst of all pairs at once in the pure sense, but not for a delta."""

    def __init__(self, loss: Loss, /) -> None:
        self._loss = loss
        self.span, self.resolution = loss.span, loss.resolution

    def only(self, pair: Pair, /) -> Loss:
        return self._loss.only(pair)

    def pure(self, scale: float, /) -> WorstCase:
        return self._loss.pure(scale)


class NearbyLoss:
    r"""Bounds of the loss of laws that lie within a distance of W-infinity, from an engine and from the distance.

    The loss is at most that of a shift by the distance ([DLYZ] Theorem 1). Where the engine knows the laws up to a
    radius only, and the laws are nearer to one another than that, the distance says more.
    """

    def __init__(self, loss: Loss, /, *, distance: float, noise: NoiseFamily) -> None:
        self._loss, self._distance, self._noise = loss, distance, noise
        self.span, self.resolution = min(loss.span, distance), min(loss.resolution, distance)

    def only(self, pair: Pair, /) -> NearbyLoss:
        return NearbyLoss(self._loss.only(pair), distance=self._distance, noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
        most = self._noise.shift_loss(self._distance / scale) if scale else math.inf
        return _at_most(self._loss.pure(scale), most)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        r"""Largest hockey stick over the pairs; that of a pure loss L is at most :math:`1 - e^{\varepsilon - L}`."""
        if not scale:
            return self._loss.hockey_stick(scale, epsilon=epsilon)
        shift = self._distance / scale * (1 + 2.0**-50)
        if isinstance(self._noise, Gaussian):
            most = shift_hockey_stick(shift, epsilon=epsilon)
        else:
            most = -math.expm1(min(0.0, epsilon - self._noise.shift_loss(shift))) * (1 + 2.0**-50)
        if most == 0.0:
            return WorstCase(bracket=Bracket(lower=0.0, upper=0.0), pair=self._loss.pure(scale).pair)
        return _at_most(self._loss.hockey_stick(scale, epsilon=epsilon), most)


def _at_most(found: WorstCase, most: float) -> WorstCase:
    bracket = Bracket(lower=min(found.bracket.lower, most), upper=min(found.bracket.upper, most))
    return WorstCase(bracket=bracket, pair=found.pair)


_ROUND_UP = 1 + 16 * UNIT_ROUNDOFF

_MOST_SPENT, _LEAST_SPENT = 1e-3, 1e-12
"""Share of a hockey stick that is spent on the displacement, where noise of unbounded loss needs some."""


class DisplacedLoss:
    r"""Bounds of the loss for every true position of the atoms within the radius.

    Where noise hides a shift by the radius with (eta, d), the law of the true positions and that of the given ones are
    as close: :math:`P(B) \le e^\eta \hat P(B) + d`, and the other way round. So
    :math:`(\hat\varepsilon, \hat\delta)` for the given positions is
    :math:`(\hat\varepsilon + 2\eta, e^\eta \hat\delta + d(1 + e^{\hat\varepsilon + \eta}))` for
    the true ones. For Laplace noise eta is radius/b and d is 0. Outcomes of the probability `lost` that the given laws
    leave out add to d. Values that are moved at random besides, with mean 0, cost less than their farthest move: `blur`
    is the spread of the move and the farthest one (`Noise.cost_of_blur`).
    See docs/theory.md, section 13.
    """

    def __init__(
        self,
        loss: Loss,
        /,
        *,
        radius: float,
        noise: NoiseFamily,
        lost: float = 0.0,
        blur: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._loss, self._radius, self._noise, self._lost, self._blur = loss, radius, noise, lost, blur
        self.span, self.resolution = loss.span + 2 * radius, max(loss.resolution, radius)

    def only(self, pair: Pair, /) -> DisplacedLoss:
        return DisplacedLoss(
            self._loss.only(pair), radius=self._radius, noise=self._noise, lost=self._lost, blur=self._blur
        )

    def pure(self, scale: float, /) -> WorstCase:
        found = self._loss.pure(scale)
        eta, beyond = self._blurred(scale, *self._cost(scale))
        upper = math.inf if beyond else (found.bracket.upper + 2 * eta) * _ROUND_UP
        lower = 0.0 if beyond else max(0.0, (found.bracket.lower - 2 * eta) * (2 - _ROUND_UP))
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        eta, beyond = self._cost(scale)
        if beyond:  # a part of the hockey stick itself is spent, which costs far less epsilon
            found = self._loss.hockey_stick(scale, epsilon=epsilon).bracket
            shift = self._radius / scale if scale else math.inf
            share = min(_MOST_SPENT, max(_LEAST_SPENT, shift)) * found.upper / (1 + math.exp(epsilon))
            eta, beyond = self._noise.cost_of_shift_at(shift, delta=share)
        eta, beyond = self._blurred(scale, eta, beyond)
        if not eta <= 0.5 * epsilon:
            pair = self._loss.hockey_stick(scale, epsilon=epsilon).pair
            return WorstCase(bracket=Bracket(lower=0.0, upper=1.0), pair=pair)
        worst = self._loss.hockey_stick(scale, epsilon=epsilon - 2 * eta)
        growth = math.exp(eta)
        upper = (growth * worst.bracket.upper + beyond * (1 + math.exp(epsilon))) * _ROUND_UP
        at_least = self._loss.hockey_stick(scale, epsilon=epsilon + 2 * eta).bracket.lower
        lower = max(0.0, (at_least - beyond * (1 + math.exp(epsilon + 2 * eta))) / growth) * (2 - _ROUND_UP)
        return WorstCase(bracket=Bracket(lower=lower, upper=max(upper, lower)), pair=worst.pair)

    def _cost(self, scale: float) -> tuple[float, float]:
        if not self._radius:
            return 0.0, 0.0
        shift = self._radius / scale if scale else math.inf
        return self._noise.cost_of_shift(shift) if math.isfinite(shift) else (math.inf, 1.0)

    def _blurred(self, scale: float, eta: float, beyond: float) -> tuple[float, float]:
        """The cost of the radius with that of what is lost and of what is moved at random."""
        beyond += self._lost
        if not any(self._blur):
            return eta, beyond
        found = self._noise.cost_of_blur(self._blur[0] / scale, self._blur[1] / scale) if scale else None
        if found is None or not math.isfinite(found[0]):
            return math.inf, 1.0
        return eta + found[0], (beyond + found[1]) * math.exp(min(eta + found[0], 700.0))


_MOST_ENTRIES = 1 << 21
"""Secrets times cells: beyond, the tables would take longer than the middles of the cells are worth."""
_WIDEST = 0.5
"""Cells that are wider, in scales, are known by their middles alone."""
_FEW = 8
"""Up to this many secrets, all pairs are compared one by one; beyond it, each with the least of all."""
_WEIGHTS_ERROR = 32 * UNIT_ROUNDOFF
_CELLS_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF
_SHIFT_COUNTS = 3.0
"""About how much more a share of epsilon changes a hockey stick than the same share of the hockey stick itself."""


def in_cells_of_one_width(priors: Mapping[Secret, Prior], /) -> bool:
    """Whether all atoms are means of cells of one width."""
    return all(prior.in_cells for prior in priors.values()) and len({prior.radius for prior in priors.values()}) == 1


class CellMeansLoss:
    r"""Bounds of the loss for all values that lie in their cells and have the given means there.

    Let a cell begin at l and end at r, with :math:`p = (m - l)/b` and :math:`q = (r - m)/b` for the mean m of its
    values, and g = p + q. Seen from outside the cell, the values have at least the density of as many at the mean
    (Jensen), and at most :math:`\rho = c e^{1/c - 1}` times that, :math:`c = (e^g - 1)/g`: an error of second order in
    the width. Atoms of the weights :math:`\sinh q/\sinh g` and :math:`\sinh p/\sinh g` at l and r have this least
    density at all ends of cells, and no more than the true one in between. Inside its cell a value adds at most a tent
    over the mean, of the height :math:`2 p q (\sinh g/g)^2/\sinh g`.

    **Cost** per evaluation, for m secrets and n cells: O(m n) for the pure loss of all pairs; O(p n) for the hockey
    sticks of p pairs.
    See docs/theory.md, section 13, on means of cells.
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs) -> None:
        self._priors, self._pairs = priors, pairs
        self._radius = max(prior.radius for prior in priors.values())
        self._width = 2 * self._radius
        numbers = [np.floor(prior.means / self._width) for prior in priors.values()]
        cells = np.unique(np.concatenate(numbers))
        self._mass = np.zeros((len(priors), cells.size))
        self._before = np.full(self._mass.shape, self._radius)
        self._after = self._before.copy()
        for k, (prior, own) in enumerate(zip(priors.values(), numbers, strict=True)):
            place = np.searchsorted(cells, own)
            self._mass[k, place] = prior.weights
            self._before[k, place] = prior.means - own * self._width
            self._after[k, place] = (own + 1) * self._width - prior.means
        edges = np.unique(np.concatenate([cells, cells + 1]))
        self._edges = edges * self._width
        self._first, self._last = np.searchsorted(edges, cells), np.searchsorted(edges, cells + 1)
        farthest = max(abs(float(self._edges[0])), abs(float(self._edges[-1])))
        self._unsure = MEANS_ERROR * self._width + 4 * UNIT_ROUNDOFF * farthest
        middles = {secret: prior.at_middles() for secret, prior in priors.items()}
        self._coarse = DisplacedLoss(DiscreteLoss(middles, pairs=pairs), radius=self._radius, noise=LAPLACE)
        self.span, self.resolution = self._coarse.span, self._radius

    @staticmethod
    def suits(priors: Mapping[Secret, Prior], /) -> bool:
        """Whether all of them are means of cells of one width, and not too many."""
        if not in_cells_of_one_width(priors):
            return False
        return len(priors) * sum(prior.means.size for prior in priors.values()) <= _MOST_ENTRIES

    def only(self, pair: Pair, /) -> CellMeansLoss:
        return CellMeansLoss({secret: self._priors[secret] for secret in pair}, pairs=(pair,))

    def pure(self, scale: float, /) -> WorstCase:
        if not scale or self._width > _WIDEST * scale:
            return self._coarse.pure(scale)
        at = self._at(scale)
        upper, lower, worst = -math.inf, 0.0, (0, 1)
        for i, j in self._ordered_pairs():
            low = at.log_low[j] if j is not None else at.log_low.min(axis=0)
            high = at.log_high[j] if j is not None else at.log_high.min(axis=0)
            ratio = at.largest_ratio(i, low)
            place = int(ratio.argmax())
            if ratio[place] > upper:
                edge = self._first[place]
                upper = float(ratio[place])
                worst = (i, j if j is not None else int(at.log_low[:, edge].argmin()))
            lower = max(lower, float((at.log_low[i] - high).max()))
        upper = max((upper + 2 * at.moved) * _CELLS_ROUND_UP + 2 * _WEIGHTS_ERROR, 0.0)
        lower = max((lower - 2 * at.moved) * (2 - _CELLS_ROUND_UP) - 2 * _WEIGHTS_ERROR, 0.0)
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=self._named(*worst))

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if not scale or self._width > _WIDEST * scale:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        at = self._at(scale)
        atoms = DiscreteLoss.of_table(
            list(self._priors), self._edges, at.weights, pairs=self._pairs, error=_WEIGHTS_ERROR
        )
        about = atoms.hockey_stick(scale, epsilon=epsilon).bracket.upper
        growth, added = at.growth(about)
        moved = 2 * at.moved + math.log(growth) * _CELLS_ROUND_UP
        if moved >= epsilon:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        worst = atoms.hockey_stick(scale, epsilon=epsilon - moved)
        factor = math.exp(at.moved)
        upper = min(factor * (growth * worst.bracket.upper + added) * _CELLS_ROUND_UP, 1.0)
        at_least = atoms.hockey_stick(scale, epsilon=epsilon + moved).bracket.lower
        lower = max((at_least - math.exp(min(epsilon + moved, 700.0)) * added) / factor * (2 - _CELLS_ROUND_UP), 0.0)
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=worst.pair)

    def _ordered_pairs(self) -> Iterator[tuple[int, int | None]]:
        """Numbers of the priors to compare; of many one with None, for the least of all."""
        secrets = list(self._priors)
        if self._pairs == "all" and len(secrets) > _FEW:
            yield from ((i, None) for i in range(len(secrets)))
        elif self._pairs == "all":
            yield from permutations(range(len(secrets)), 2)
        else:
            number = {secret: k for k, secret in enumerate(secrets)}
            for a, b in self._pairs:
                yield from ((number[a], number[b]), (number[b], number[a]))

    def _named(self, i: int, j: int) -> Pair:
        """The pair of two numbers; any pair with the first where they are equal, which all priors alike may give."""
        secrets = list(self._priors)
        return secrets[i], secrets[j if i != j else (i + 1) % len(secrets)]

    def _at(self, scale: float) -> _AtScale:
        """The cells in units of the scale."""
        before, after, width = self._before / scale, self._after / scale, self._width / scale
        full = math.sinh(width)
        weights = np.zeros((len(self._priors), self._edges.size))
        weights[:, self._first] = self._mass * np.sinh(after) / full
        weights[:, self._last] += self._mass * np.sinh(before) / full
        found = log_densities(self._edges, weights, scale=scale, weights_error=_WEIGHTS_ERROR)
        error = found.error(found.log_f)
        slope = math.expm1(width) / width
        return _AtScale(
            weights=weights,
            log_low=found.log_f - error,
            log_high=found.log_f + error + (math.log(slope) + 1 / slope - 1) * _CELLS_ROUND_UP + _WEIGHTS_ERROR,
            mass=self._mass,
            before=before + self._unsure / scale,
            after=after + self._unsure / scale,
            width=width,
            moved=self._unsure / scale * _CELLS_ROUND_UP,
            first=self._first,
            last=self._last,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AtScale:
    """The cells at one scale, which is the unit of all lengths."""

    weights: FloatArray
    """Weights of atoms at the ends of cells, shape (priors, ends)."""
    log_low: FloatArray
    """Lower bounds of log 2b f at the ends of cells, shape (priors, ends)."""
    log_high: FloatArray
    """Upper bounds."""
    mass: FloatArray
    """Mass of each cell, shape (priors, cells)."""
    before: FloatArray
    """From the begin of the cell to the mean, at most."""
    after: FloatArray
    """From the mean to the end of the cell, at most."""
    width: float
    moved: float
    """How far a mean may be from the true one."""
    first: IndexArray
    """Index of the end at which each cell begins."""
    last: IndexArray
    """Index of the end at which each cell stops."""

    def largest_ratio(self, i: int, least: FloatArray, /) -> FloatArray:
        """Upper bounds of log f_i / f in each cell, for a law of at least these densities at the ends of cells.

        A tent of the height h over the mean lies below any line that is at least h there. Of the lines that are added
        to the two ends, the best one makes the ratios at both ends alike.
        """
        at_first, at_last = self.log_high[i][self.first], self.log_high[i][self.last]
        other, other_last = least[self.first], least[self.last]
        stretch = 2 * math.log(math.sinh(self.width) / self.width)
        with np.errstate(divide="ignore", invalid="ignore"):
            p, q, mass = np.log(self.before[i]), np.log(self.after[i]), np.log(self.mass[i])
            tent = math.log(2.0) + stretch + p + q + mass
            above = np.logaddexp(np.logaddexp(tent, q + at_first), p + at_last)
            ratio: FloatArray = np.fmax(above - np.logaddexp(q + other, p + other_last), at_first - other)
            np.fmax(ratio, at_last - other_last, out=ratio)
        return ratio

    def growth(self, about: float, /) -> tuple[float, float]:
        """A factor, and a probability, by which the densities are larger than those of the atoms at most.

        A tent is counted with the factor, or where it is large beside the density of the atoms with what it holds.
        """
        stretch = (math.sinh(self.width) / self.width) ** 2
        high = self.log_high - self.log_low
        with np.errstate(divide="ignore", over="ignore"):
            mass = np.log(self.mass)
            share = np.exp(
                np.maximum(
                    mass + np.log(self.before) - self.log_low[:, self.first],
                    mass + np.log(self.after) - self.log_low[:, self.last],
                )
            )
        lost = 2 * self.mass * np.sinh(0.5 * self.before) * np.sinh(0.5 * self.after) / math.cosh(0.5 * self.width)
        factor = 0.0
        for own, left_out in zip(share, lost, strict=True):
            order = np.argsort(-own)
            most = np.append(own[order], 0.0)
            gone = np.append(0.0, np.cumsum(left_out[order]))
            factor = max(factor, float(most[int(np.argmin(_SHIFT_COUNTS * most + gone / max(about, 1e-300)))]))
        added = float(np.where(share > factor, lost, 0.0).sum(axis=1).max())
        return (math.exp(float(high.max())) + stretch * factor) * _CELLS_ROUND_UP, added * _CELLS_ROUND_UP * (1 + 1e-12)
