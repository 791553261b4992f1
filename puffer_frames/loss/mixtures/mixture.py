"""Exact privacy loss of mixtures of Gaussians and atoms under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.recursion import raw_positive_part
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.loss_law import RatioCells
from puffer_frames.loss.mixtures.curve import Curve, Points
from puffer_frames.loss.mixtures.refine import (
    TAIL_ERROR,
    Cells,
    first_points,
    is_lost,
    largest_log_ratio,
    positive_mass,
)
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.numbers.progress import watched
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret

_STEPS = 32.0
"""Cells are halved until the ratio is known to this part of its standard deviation."""
_ROUNDS = 12
_MOST_CELLS = 6_000
_LEAST_MASS = 1e-16
"""A cell of less mass is not halved."""


def ratio_cells(p: Curve, q: Curve, /) -> tuple[RatioCells, RatioCells] | None:
    """The cells of P against Q, and of Q against P; None where a density leaves the range of floats.

    Notes
    -----
    **Rounding**: probabilities and bounds are moved to the private side.
    """
    at_p, at_q = first_points(p, q)
    if np.isnan(at_p.error + at_q.error).any():
        return None
    ends, bounds = _tails(p, at_p, at_q)
    cells = Cells.between(at_p, at_q)
    for level in range(_ROUNDS):
        if np.isnan(cells.error).any():
            return None
        low, high = cells.log_ratio(p.bounds(cells.p_left, cells.p_right), q.bounds(cells.q_left, cells.q_right))
        low, high = low - cells.error, high + cells.error
        split = _split(cells, low, high, p.normaliser) & cells.splittable()
        if level == _ROUNDS - 1 or 2 * int(split.sum()) + sum(found.shape[-1] for found in bounds) > _MOST_CELLS:
            split[:] = False
        ends.append(np.stack([cells.p_left.y, cells.p_right.y])[:, ~split])
        bounds.append(np.stack([low, high])[:, ~split])
        if not split.any():
            break
        cells = cells.take(np.flatnonzero(split)).halves(p, q)[0]
    a, b = np.concatenate(ends, axis=1)
    masses = np.stack([_mass(p, a, b), _mass(q, a, b)])
    low, high = np.concatenate(bounds, axis=1)
    return _one(masses, low, high), _one(masses[::-1], -high, -low)


def _tails(p: Curve, at_p: Points, at_q: Points) -> tuple[list[FloatArray], list[FloatArray]]:
    """Ends of the two tails, and bounds of the ratio there: with Laplace noise they are exponentials, without next to
    nothing.
    """
    ends = [np.array([[-np.inf], at_p.y[:1]]), np.array([at_p.y[-1:], [np.inf]])]
    bounds = []
    for k in (0, -1):
        ratio = at_p.log_f[k] - at_q.log_f[k]
        error = at_p.error[k] + at_q.error[k] + TAIL_ERROR if p.scale else np.inf
        bounds.append(np.array([[ratio - error], [ratio + error]]))
    return ends, bounds


def _split(cells: Cells, low: FloatArray, high: FloatArray, normaliser: float) -> NDArray[np.bool_]:
    """Which cells are to be halved: those of some mass, where the ratio is not known to a part of its spread."""
    width, ratio = cells.width / normaliser, 0.5 * (low + high)
    spreads, masses = [], []
    for left, right in ((cells.p_left, cells.p_right), (cells.q_left, cells.q_right)):
        mass = width * np.exp(np.maximum(left.log_f, right.log_f))
        shares = mass / max(float(mass.sum()), 1e-300)
        with np.errstate(invalid="ignore"):
            middle = np.nan_to_num(ratio, posinf=0.0, neginf=0.0)
        spreads.append(math.sqrt(max(float(shares @ (middle - shares @ middle) ** 2), 0.0)))
        masses.append(mass)
    return ((high - low) * _STEPS > min(spreads)) & (np.maximum(masses[0], masses[1]) > _LEAST_MASS)


def _one(masses: FloatArray, low: FloatArray, high: FloatArray) -> RatioCells:
    known = np.isfinite(low) & np.isfinite(high)
    beyond = float(masses[0, 1, ~known].sum()) * (1 + UNIT_ROUNDOFF * low.size)
    return RatioCells(
        mass=masses[0, 1, known],
        mass_low=masses[0, 0, known],
        other=masses[1, 0, known],
        other_high=masses[1, 1, known],
        low=low[known],
        high=high[known],
        beyond=beyond,
    )


def _mass(curve: Curve, a: FloatArray, b: FloatArray) -> FloatArray:
    """Lower and upper bounds of the probabilities of intervals, shape (2, intervals)."""
    mass, error = curve.mass(a, b), curve.mass_errors(a, b)
    return np.stack([np.maximum(mass - error, 0.0), np.maximum(mass, 0.0) + error])


_MOST_POINTS = 1500
"""Ends of cells; atoms, which have to be ends, are counted apart."""
_MOST_ATOMS = 500


class SharedCells:
    """Curves of one scale and centre, evaluated once each.

    A pair costs the comparison of two rows of numbers. Its bounds are a few parts in a thousand wide, or wider: enough
    to see that most pairs are not the worst.

    References
    ----------
    docs/theory.md, section 3, "Gaussian components".
    """

    def __init__(self, curves: Sequence[Curve], y: FloatArray, /) -> None:
        self._scale = curves[0].scale
        self._points, self._bounds, masses = [], [], []
        before, after = np.arange(y.size - 1), np.arange(1, y.size)
        for curve in curves:
            points = curve.at(y)
            self._bounds.append(curve.bounds(points.take(before), points.take(after)))
            self._points.append(points.without_components())
            masses.append(curve.masses(points))
        self._left = [points.take(before) for points in self._points]
        self._right = [points.take(after) for points in self._points]
        self._mass = np.array([mass for mass, _ in masses]).clip(min=0.0)
        self._error = np.array([error for _, error in masses])
        self._rounding = 4 * (y.size + 16) * UNIT_ROUNDOFF

    @classmethod
    def of(
        cls, curves: Sequence[Curve], /, *, more: FloatArray | None = None, width: float = 0.0
    ) -> SharedCells | None:
        """With `more` ends of cells, and without most of those that are nearer together than a width; None where the
        curves have too many atoms, or leave the floats.
        """
        reaches = np.array([curve.reach() if curve.scale else curve.extent() for curve in curves])
        low, high = reaches[:, 0].min(), reaches[:, 1].max()
        atoms = np.unique(np.concatenate([curve.means[curve.stds == 0] for curve in curves]))
        if not np.isfinite([low, high]).all() or atoms.size > _MOST_ATOMS:
            return None
        marks = np.unique(np.concatenate([curve.marks() for curve in curves]))
        marks = marks[(marks > low) & (marks < high)]
        if width:
            marks = marks[np.flatnonzero(np.diff(np.floor(marks / width), prepend=-np.inf))]
        marks = marks[:: marks.size // _MOST_POINTS + 1]
        more = np.zeros(0) if more is None else more[(more > low) & (more < high)]
        found = cls(curves, np.unique(np.concatenate([marks, atoms, more, [low, high]])))
        return None if any(is_lost(points.error) for points in found._points) else found

    def largest_log_ratio(self, i: int, j: int, /) -> tuple[float, float]:
        """Bounds of sup |log f_i/f_j| under Laplace noise."""
        p, q = self._points[i], self._points[j]
        ratio, error = np.abs(p.log_f - q.log_f), p.error + q.error
        low, high = self._log_ratios(i, j)
        return max(0.0, float((ratio - error).max())), max(float(high.max()), -float(low.min()))

    def positive_mass(self, i: int, j: int, /, *, epsilon: float) -> tuple[float, float]:
        """Bounds of the integral of [f_i - e^epsilon f_j]_+, of the larger one of both orders.

        On a cell it is at least P_i - e^epsilon P_j, and no more where the ratio is above e^epsilon throughout; it is
        at most P_i (1 - e^epsilon inf f_j/f_i).
        """
        low, high = self._log_ratios(i, j)
        orders = [self._positive_mass(i, j, low, high, epsilon), self._positive_mass(j, i, -high, -low, epsilon)]
        return max(lower for lower, _ in orders), max(upper for _, upper in orders)

    def _positive_mass(self, i: int, j: int, low: FloatArray, high: FloatArray, epsilon: float) -> tuple[float, float]:
        factor = float(np.exp(epsilon))
        mass, other = self._mass[i], factor * self._mass[j]
        difference = mass - other
        error = self._error[i] + factor * self._error[j] + 8 * UNIT_ROUNDOFF * (mass + other)
        lower = np.maximum(difference - error, 0.0)
        most = np.maximum(difference + error, 0.0)
        undecided = low <= epsilon
        share = -np.expm1(np.minimum(epsilon - high[undecided], 0.0))
        most[undecided] = (mass + self._error[i])[undecided] * share
        return float(lower.sum()) * (1 - self._rounding), min(1.0, float(most.sum()) * (1 + self._rounding))

    def _log_ratios(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """Bounds of log f_i/f_j on the tail to the left, on each cell, and on the tail to the right."""
        cells = Cells(p_left=self._left[i], p_right=self._right[i], q_left=self._left[j], q_right=self._right[j])
        low, high = cells.log_ratio(self._bounds[i], self._bounds[j])
        low, high = low - cells.error, high + cells.error
        ends = [0, -1]
        p, q = self._points[i], self._points[j]
        ratio = p.log_f[ends] - q.log_f[ends]
        error = p.error[ends] + q.error[ends] + (TAIL_ERROR if self._scale else np.inf)
        return (
            np.concatenate([(ratio - error)[:1], low, (ratio - error)[1:]]),
            np.concatenate([(ratio + error)[:1], high, (ratio + error)[1:]]),
        )


MOST_PAIRS_IN_CELLS = 50
"""The laws of the losses of more are not computed."""
_TOLERANCE = 1e-8
"""Relative width that the brackets aim for."""
_NO_NOISE = 1e-40
"""Below this fraction of the narrowest component the noise is bounded by none at all: its squares leave the floats."""
_FEW_PAIRS = 8
"""More pairs are compared quickly first."""
_ORDINARY = 300
"""Values beyond 2**300 or below 2**-300 are measured in another unit, a power of two, to keep squares in range."""


class MixtureLoss:
    r"""Privacy loss of several priors, at least one with a Gaussian component, evaluated at many scales.

    Every pair is a branch and bound over the real line (`refine`) with proved bounds of slope and curvature of the
    log-density on a cell (`curve`); never a plain grid.

    - `pairs` ("all" or tuple of pairs): Already checked (`puffer_frames.priors.pairs.check_pairs`).

    **Cost** per evaluation of one pair of K components each: some hundred to some thousand cells, O(K) each. Pairs
    that cannot be the worst are left early.
    See docs/theory.md, section 3, "Gaussian components".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs) -> None:
        self._given = dict(priors)
        largest = max(float(max(np.abs(prior.means).max(), prior.stds.max())) for prior in priors.values())
        exponent = math.frexp(largest)[1]
        self._unit = math.ldexp(1.0, exponent - 1) if abs(exponent) > _ORDINARY else 1.0
        priors = {s: replace(p, means=p.means / self._unit, stds=p.stds / self._unit) for s, p in priors.items()}
        self._priors = dict(priors)
        secrets = list(priors)
        self._pairs = list(combinations(secrets, 2)) if pairs == "all" else list(pairs)
        self._discrete = {
            pair: DiscreteLoss({s: priors[s] for s in pair}, pairs=(pair,))
            for pair in self._pairs
            if all(priors[s].is_discrete for s in pair)
        }
        means = np.sort(np.concatenate([prior.means for prior in priors.values()]))
        widths = np.concatenate([prior.stds for prior in priors.values()])
        narrow = widths[widths > 0]  # none for a pair of atoms among other priors
        self._finest = float(narrow.min()) * _NO_NOISE if narrow.size else 0.0
        self._centre = float(means[means.size // 2])
        self.span = (float(means[-1] - means[0]) + float(widths.max())) * self._unit
        gaps = np.diff(means)
        lengths = np.concatenate([gaps[gaps > 0], narrow])
        self.resolution = (float(lengths.min()) if lengths.size else 0.0) * self._unit

    def only(self, pair: Pair, /) -> DiscreteLoss | MixtureLoss:
        if pair in self._discrete and self._unit == 1.0:
            return self._discrete[pair]
        return MixtureLoss({s: self._given[s] for s in pair}, pairs=(pair,))

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def pure(self, scale: float, /) -> WorstCase:
        scale = scale / self._unit
        if 0 < scale < self._finest:
            return self.pure(0.0).at_most()
        curves = self._curves(scale)

        def of_pair(pair: Pair, floor: float) -> tuple[float, float]:
            p, q = (self._priors[s] for s in pair)
            if p == q:
                return 0.0, 0.0
            if pair in self._discrete:
                bracket = self._discrete[pair].pure(scale).bracket
                return bracket.lower, bracket.upper
            if scale == 0:
                return _raw_log_ratio(p, q, centre=self._centre)
            return largest_log_ratio(curves[pair[0]], curves[pair[1]], tolerance=_TOLERANCE, floor=floor)

        shared = self._shared(curves) if scale else None
        return self._worst(of_pair, None if shared is None else shared.largest_log_ratio)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        scale = scale / self._unit
        if 0 < scale < self._finest:
            return self.hockey_stick(0.0, epsilon=epsilon).at_most()
        if not scale and (disjoint := next(filter(self._is_disjoint, self._pairs), None)):
            return WorstCase(bracket=Bracket(lower=1.0, upper=1.0), pair=disjoint)
        curves = self._curves(scale)

        def of_pair(pair: Pair, floor: float) -> tuple[float, float]:
            if self._priors[pair[0]] == self._priors[pair[1]]:
                return 0.0, 0.0
            if pair in self._discrete:
                bracket = self._discrete[pair].hockey_stick(scale, epsilon=epsilon).bracket
                return bracket.lower, bracket.upper
            orders = [self._ordered(i, j, curves, scale, epsilon, floor) for i, j in (pair, pair[::-1])]
            return max(low for low, _ in orders), max(high for _, high in orders)

        raw = scale == 0 and all(prior.stds.any() for prior in self._priors.values())
        if raw:
            curves = {s: _curve(prior, scale=0.0, centre=self._centre) for s, prior in self._priors.items()}
        shared = self._shared(curves) if scale or raw else None
        if shared is None:
            return self._worst(of_pair, None)
        if scale or all(prior.stds.all() for prior in self._priors.values()):
            return self._worst(of_pair, partial(shared.positive_mass, epsilon=epsilon))
        priors = list(self._priors.values())

        def quick(i: int, j: int) -> tuple[float, float]:
            """Of atoms and of densities: in some order each is the larger one, in none the sum of both."""
            atoms = [
                _positive_atoms(*pair, epsilon=epsilon) for pair in ((priors[i], priors[j]), (priors[j], priors[i]))
            ]
            low, high = shared.positive_mass(i, j, epsilon=epsilon)
            return max(low, *(lower for lower, _ in atoms)), high + max(upper for _, upper in atoms)

        return self._worst(of_pair, quick)

    def _is_disjoint(self, pair: Pair) -> bool:
        """Whether one law has only atoms and the other none."""
        p, q = (self._priors[s].stds for s in pair)
        return bool((p.all() and not q.any()) or (q.all() and not p.any()))

    def _shared(self, curves: Mapping[Secret, Curve]) -> SharedCells | None:
        """Quick bounds of the pairs, where there are many."""
        return SharedCells.of(list(curves.values())) if len(self._pairs) > _FEW_PAIRS else None

    def _worst(
        self,
        of_pair: Callable[[Pair, float], tuple[float, float]],
        quick: Callable[[int, int], tuple[float, float]] | None,
    ) -> WorstCase:
        """The worst pair: with quick bounds, only those that may be it are looked at closely."""
        lower, upper, worst = 0.0, 0.0, self._pairs[0]
        pairs, most = self._pairs, [math.inf] * len(self._pairs)
        if quick is not None:
            number = {s: k for k, s in enumerate(self._priors)}
            found = np.array([quick(number[i], number[j]) for i, j in self._pairs])
            found[np.isnan(found).any(axis=1)] = 0.0, math.inf  # nothing is known
            order = np.argsort(-found[:, 1], kind="stable")
            pairs, most = [self._pairs[k] for k in order], found[order, 1].tolist()
            lower = float(found[:, 0].max())
        for k, (pair, bound) in enumerate(zip(watched(pairs, label="pairs of secrets"), most, strict=True)):
            if k and (bound < lower or bound <= min(lower, upper)):
                break  # so are those of the others: no loss of theirs is larger than what is known
            low, high = of_pair(pair, lower)
            lower, high = max(lower, low), min(high, bound)
            if high > upper:
                upper, worst = high, pair
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=worst)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def ratio_cells(self, scale: float, /) -> list[tuple[Pair, RatioCells]] | None:
        """The law of the loss of every pair, in both orders; None for many pairs, and where floats do not hold it."""
        scale = scale / self._unit
        raw = scale == 0 and all(prior.stds.all() for prior in self._priors.values())
        if len(self._pairs) > MOST_PAIRS_IN_CELLS or not (raw or 0 < scale >= self._finest):
            return None
        curves = {s: _curve(prior, scale=scale, centre=self._centre) for s, prior in self._priors.items()}
        found = list[tuple[Pair, RatioCells]]()
        for pair in self._pairs:
            if pair in self._discrete:
                own = self._discrete[pair].ratio_cells(scale)
                if own is None:
                    return None
                found += own
                continue
            cells = ratio_cells(curves[pair[0]], curves[pair[1]])
            if cells is None:
                return None
            found += [(pair, cells[0]), (pair[::-1], cells[1])]
        return found

    def _curves(self, scale: float) -> dict[Secret, Curve]:
        return {s: _curve(prior, scale=scale, centre=self._centre) for s, prior in self._priors.items() if scale}

    def _ordered(
        self, i: Secret, j: Secret, curves: Mapping[Secret, Curve], scale: float, epsilon: float, floor: float
    ) -> tuple[float, float]:
        if scale == 0:
            return _raw_positive_mass(
                self._priors[i], self._priors[j], epsilon=epsilon, centre=self._centre, floor=floor
            )
        return positive_mass(curves[i], curves[j], epsilon=epsilon, tolerance=_TOLERANCE, floor=floor)


def _curve(prior: Prior, *, scale: float, centre: float) -> Curve:
    """The curve of a prior; without noise, of its Gaussian components alone."""
    used = (prior.stds > 0) | (scale > 0)
    return Curve(prior.weights[used], prior.means[used], prior.stds[used], scale=scale, centre=centre)


def _atoms(p: Prior, q: Prior) -> tuple[FloatArray, FloatArray]:
    """Weights of both priors at the atoms of either."""
    places = np.unique(np.concatenate([prior.means[prior.stds == 0] for prior in (p, q)]))
    tables = np.zeros((2, places.size))
    for row, prior in zip(tables, (p, q), strict=True):
        atom = prior.stds == 0
        row[np.searchsorted(places, prior.means[atom])] = prior.weights[atom]
    return tables[0], tables[1]


def _raw_log_ratio(p: Prior, q: Prior, *, centre: float) -> tuple[float, float]:
    """Bounds of the pure loss without noise: of the ratio of the atoms' weights and of that of the densities."""
    a, b = _atoms(p, q)
    if ((a > 0) != (b > 0)).any() or p.stds.any() != q.stds.any():
        return math.inf, math.inf
    ratio = np.abs(np.log(a / b))
    lower = upper = float(ratio.max(initial=0.0))
    if p.stds.any():
        if any(_dominant(p, sign) != _dominant(q, sign) for sign in (-1, 1)):
            return math.inf, math.inf
        curves = (_curve(prior, scale=0.0, centre=centre) for prior in (p, q))
        low, high = largest_log_ratio(*curves, tolerance=_TOLERANCE)
        lower, upper = max(lower, low), max(upper, high)
    return lower, upper * (1 + 8 * UNIT_ROUNDOFF)


def _dominant(prior: Prior, sign: int) -> tuple[float, float]:
    """Standard deviation and mean of the component that dominates a tail."""
    widest = prior.stds == prior.stds.max()
    return float(prior.stds.max()), float((sign * prior.means[widest]).max())


def _positive_atoms(p: Prior, q: Prior, *, epsilon: float) -> tuple[float, float]:
    """Bounds of what the atoms add to the hockey stick without noise."""
    lower, upper = raw_positive_part(*_atoms(p, q), epsilon=epsilon)
    return float(lower), float(upper)


def _raw_positive_mass(p: Prior, q: Prior, *, epsilon: float, centre: float, floor: float) -> tuple[float, float]:
    """Bounds of the hockey stick without noise: atoms and densities apart."""
    lower, upper = _positive_atoms(p, q, epsilon=epsilon)
    if p.stds.any() and q.stds.any():
        low, high = positive_mass(
            *(_curve(prior, scale=0.0, centre=centre) for prior in (p, q)),
            epsilon=epsilon,
            tolerance=_TOLERANCE,
            floor=max(floor - upper, 0.0),
        )
        return lower + low, upper + high
    alone = float(p.weights[p.stds > 0].sum())
    return lower + alone * (1 - 64 * UNIT_ROUNDOFF), upper + alone * (1 + 64 * UNIT_ROUNDOFF)
