"""Privacy loss under Laplace noise of values that were counted in cells, by the means of the cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.recursion import log_densities
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.displaced import DisplacedLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.noise.families import LAPLACE
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import MEANS_ERROR, FloatArray, IndexArray, Prior, Secret

_MOST_ENTRIES = 1 << 21
"""Secrets times cells: beyond, the tables would take longer than the middles of the cells are worth."""
_WIDEST = 0.5
"""Cells that are wider, in scales, are known by their middles alone."""
_FEW = 8
"""Of so many secrets all pairs are compared one by one; of more, each with the least of all."""
_WEIGHTS_ERROR = 32 * UNIT_ROUNDOFF
_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF
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

    Notes
    -----
    **Cost** per evaluation, for m secrets and n cells: O(m n) for the pure loss of all pairs; O(p n) for the hockey
    sticks of p pairs.

    References
    ----------
    docs/theory.md, section 13, on means of cells.
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

    @staticmethod
    def suits(priors: Mapping[Secret, Prior], /) -> bool:
        """Whether all of them are means of cells of one width, and not too many."""
        if not in_cells_of_one_width(priors):
            return False
        return len(priors) * sum(prior.means.size for prior in priors.values()) <= _MOST_ENTRIES

    @property
    def span(self) -> float:
        return self._coarse.span

    @property
    def resolution(self) -> float:
        """Below half the width of a cell nothing is known."""
        return self._radius

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
        upper = max((upper + 2 * at.moved) * _ROUND_UP + 2 * _WEIGHTS_ERROR, 0.0)
        lower = max((lower - 2 * at.moved) * (2 - _ROUND_UP) - 2 * _WEIGHTS_ERROR, 0.0)
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
        moved = 2 * at.moved + math.log(growth) * _ROUND_UP
        if moved >= epsilon:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        worst = atoms.hockey_stick(scale, epsilon=epsilon - moved)
        factor = math.exp(at.moved)
        upper = min(factor * (growth * worst.bracket.upper + added) * _ROUND_UP, 1.0)
        at_least = atoms.hockey_stick(scale, epsilon=epsilon + moved).bracket.lower
        lower = max((at_least - math.exp(min(epsilon + moved, 700.0)) * added) / factor * (2 - _ROUND_UP), 0.0)
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
            log_high=found.log_f + error + (math.log(slope) + 1 / slope - 1) * _ROUND_UP + _WEIGHTS_ERROR,
            mass=self._mass,
            before=before + self._unsure / scale,
            after=after + self._unsure / scale,
            width=width,
            moved=self._unsure / scale * _ROUND_UP,
            first=self._first,
            last=self._last,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AtScale:
    """The cells at one scale, which is the unit of all lengths."""

    weights: FloatArray
    """Of atoms at the ends of cells, shape (priors, ends)."""
    log_low: FloatArray
    """Lower bounds of log 2b f at the ends of cells, shape (priors, ends)."""
    log_high: FloatArray
    """Upper bounds."""
    mass: FloatArray
    """Of each cell, shape (priors, cells)."""
    before: FloatArray
    """From the begin of the cell to the mean, at most."""
    after: FloatArray
    """From the mean to the end of the cell, at most."""
    width: float
    moved: float
    """How far a mean may be from the true one."""
    first: IndexArray
    """Where the ends are at which the cells begin."""
    last: IndexArray
    """Where they end."""

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
        return (math.exp(float(high.max())) + stretch * factor) * _ROUND_UP, added * _ROUND_UP * (1 + 1e-12)
