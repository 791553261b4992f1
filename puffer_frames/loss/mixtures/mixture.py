"""Exact privacy loss of mixtures of Gaussians and atoms under Laplace noise, also of many Gaussians."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.recursion import raw_positive_part
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
from puffer_frames.loss.outcome import Bracket, Loss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.numbers.threads import watched
from puffer_frames.priors.bands import Band, Bands, PairOfBands, largest_loss
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
    return RatioCells.of(masses[0], masses[1], low, high), RatioCells.of(masses[1], masses[0], -high, -low)


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
    See docs/theory.md, section 3, "Gaussian components".
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
            return self.pure(0.0).for_scale(scale)
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
            return self.hockey_stick(0.0, epsilon=epsilon).for_scale(scale)
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
            """Bounds from atoms and densities: the larger of them is reached in one order, their sum in none."""
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


FEWEST_BANDED = 8
"""With fewer Gaussians, comparing all pairs one by one is as fast as bounding most of them."""
_FINELY, _ROUGHLY = 1e-9, 1e-3
"""The same for bounds of a pair of bands: of hockey sticks far from the worst one, and for one without noise."""
_FAR_FROM_PRIVATE = 0.5
"""A hockey stick without noise above this is as good as 1: no delta of use is there."""
_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF
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
            return self._raw_pure().for_scale(scale)
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
            return self.hockey_stick(0.0, epsilon=epsilon).for_scale(scale)

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
        curves = _curve_of_one(0.0, i, scale), _curve_of_one(pair.distance, j, scale)
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
            curves = _curve_of_one(0.0, upper_std, scale), _curve_of_one(pair.distance, lower_std, scale)
            for tolerance in (_ROUGHLY, _FINELY):
                _, high = positive_mass(*curves, epsilon=rest, tolerance=tolerance, floor=level)
                found = math.exp(above) * high * _ROUND_UP
                if not level < found <= level * (1 + 4 * _ROUGHLY):
                    break
            most = max(most, found)
        return min(1.0, most)


def _curve_of_one(mean: float, std: float, scale: float) -> Curve:
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
