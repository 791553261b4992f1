"""Exact privacy loss under Gaussian noise: the components are widened, and nothing else is added."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.loss_law import RatioCells
from puffer_frames.loss.mixtures.curve import Curve, SharedWidthCurve
from puffer_frames.loss.mixtures.mixture import (
    MOST_PAIRS_IN_CELLS,
    ManyGaussiansLoss,
    MixtureLoss,
    SharedCells,
    ratio_cells,
)
from puffer_frames.loss.mixtures.refine import first_points, positive_mass
from puffer_frames.loss.outcome import Bracket, WorstCase
from puffer_frames.noise.gaussian import shift_hockey_stick, shift_hockey_sticks
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.numbers.threads import watched
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret
from puffer_frames.priors.transport import monotone_shifts, w_infinity, w_infinity_bounds


class ManyWidenedLoss:
    """Privacy loss of Gaussians and atoms, one per secret, over all pairs, under Gaussian noise of any scale.

    The noise widens them, and nothing else is added: this is `GaussianNoiseLoss` without a loop over the pairs, by the
    bounds of `ManyGaussiansLoss` that hold without noise.

    - `priors` (mapping of secret to Prior): One component each.

    **Cost** per evaluation: one sort, and mostly some hundred pairs of Gaussians.

    [D24] section VI-B (16); docs/theory.md, section 3, "Many Gaussians".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /) -> None:
        self._priors = priors
        self._many = ManyGaussiansLoss(priors)
        self.span = self._many.span or 1.0
        self.resolution = max(self._many.resolution, self.span * NO_NOISE)

    def only(self, pair: Pair, /) -> GaussianNoiseLoss:
        return GaussianNoiseLoss({s: self._priors[s] for s in pair}, pairs=(pair,))

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs: infinite, unless all priors are equal."""
        if scale <= self.span * NO_NOISE:
            return self._many.pure(0.0).for_scale(scale)
        return self._many.widened(scale).pure(0.0)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if scale <= self.span * NO_NOISE:
            return self._many.hockey_stick(0.0, epsilon=epsilon).for_scale(scale)
        return self._many.widened(scale).hockey_stick(0.0, epsilon=epsilon)


_NODES = 10
"""Atoms that a cell is left with; they have its first 2 x 10 moments."""
_MOST_RESIDUAL = 1e-12
"""Cells whose moments are off by more, relative to their mass, keep their atoms."""
_EXTENDED = float(np.finfo(np.longdouble).eps)

_Extended = NDArray[np.longdouble]


@dataclass(frozen=True, slots=True, kw_only=True)
class FewerAtoms:
    """Atoms in the place of others, and how far the two are apart under Gaussian noise."""

    weights: FloatArray
    means: FloatArray
    """Distances from the centre that was given."""
    residuals: FloatArray
    """For every k from 0 to 20, the sum over the cells of the difference of their k-th moments in units of the cell
    width; the last is the sum of the 20-th moments of both."""
    width: float
    """Width of the cells, in units of the means."""

    def distance(self, std: float) -> float:
        r"""Bound of |P(B) - P'(B)| over all sets B, under Gaussian noise of this standard deviation theta.

        .. math:: \sum_{k < 20} |\Delta M_k| \frac{(h/\theta)^k}{\sqrt{k!}}
            + (M_{20} + M'_{20}) \frac{(h/\theta)^{20}}{\sqrt{20!}}

        since the k-th derivative of the density phi has the L1 norm :math:`E|He_k(Z)| \theta^{-k} \le \sqrt{k!}\,
        \theta^{-k}`, and the remainder of Taylor's formula about the centre of the cell that of its last term.
        """
        ratio = self.width / std
        terms = [float(residual) * ratio**k / math.sqrt(math.factorial(k)) for k, residual in enumerate(self.residuals)]
        return math.fsum(terms) * (1.0 + 1e-9)


def fewer_atoms(weights: FloatArray, means: FloatArray, /, *, width: float) -> FewerAtoms:
    """At most ten atoms in each cell of this width, with the first moments of those that were there.

    They are the nodes and weights of Gauss quadrature for the law within the cell, by the method of Stieltjes. What
    rounding leaves of the difference of the moments is measured in extended precision and bounded.

    - `weights`, `means` (array, shape (atoms,)): The means ascending.

    **Cost**: O(20 n), and an eigenvalue problem of size ten for every cell that had more.
    """
    places = np.floor(means / width)
    starts = np.flatnonzero(np.append(True, np.diff(places) > 0))
    sizes = np.diff(np.append(starts, means.size))
    full = sizes > _NODES
    residuals = np.zeros(2 * _NODES + 1)
    if not full.any():
        return FewerAtoms(weights=weights, means=means, residuals=residuals, width=width)
    inside = np.repeat(full, sizes)
    sizes = sizes[full]
    centres = ((places[starts[full]] + 0.5) * width).astype(np.float64)
    begins = np.append(0, np.cumsum(sizes)[:-1])
    offsets, shares = (means[inside] - np.repeat(centres, sizes)) / width, weights[inside]
    nodes, node_weights = _quadrature(offsets, shares, begins, sizes)
    new_means = centres[:, None] + width * nodes
    nodes = (new_means - centres[:, None]) / width  # where rounding has put them
    errors, last = _differences(offsets, shares, begins, nodes, node_weights)
    mass = np.add.reduceat(shares, begins)
    good = errors.sum(axis=0) <= _MOST_RESIDUAL * mass
    residuals[:-1], residuals[-1] = errors[:, good].sum(axis=1), last[good].sum()
    kept = ~inside
    kept[np.flatnonzero(inside)[np.repeat(~good, sizes)]] = True
    new = (node_weights > 0) & good[:, None]
    all_means = np.concatenate((means[kept], new_means[new]))
    order = np.argsort(all_means, kind="stable")
    all_weights = np.concatenate((weights[kept], node_weights[new]))
    return FewerAtoms(weights=all_weights[order], means=all_means[order], residuals=residuals, width=width)


def _quadrature(
    offsets: FloatArray, shares: FloatArray, begins: IndexArray, sizes: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss quadrature for the atoms of every cell, shape (cells, 10)."""
    mass = np.add.reduceat(shares, begins)
    diagonal, beside = np.zeros((_NODES, mass.size)), np.zeros((_NODES, mass.size))
    before, now = np.zeros_like(offsets), np.repeat(1.0 / np.sqrt(mass), sizes)
    for k in range(_NODES):
        weighted = shares * now
        diagonal[k] = np.add.reduceat(weighted * now * offsets, begins)
        following = (offsets - np.repeat(diagonal[k], sizes)) * now - np.repeat(beside[k], sizes) * before
        if k + 1 < _NODES:
            beside[k + 1] = np.sqrt(np.add.reduceat(shares * following * following, begins))
            with np.errstate(divide="ignore", invalid="ignore"):
                inverse = np.where(beside[k + 1] > 0, 1.0 / beside[k + 1], 0.0)
            before, now = now, following * np.repeat(inverse, sizes)
    jacobi = np.zeros((mass.size, _NODES, _NODES))
    index = np.arange(_NODES)
    jacobi[:, index, index] = diagonal.T
    jacobi[:, index[1:], index[:-1]] = beside[1:].T  # eigh reads the lower triangle
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, mass[:, None] * vectors[:, 0, :] ** 2


def _differences(
    offsets: FloatArray, shares: FloatArray, begins: IndexArray, nodes: FloatArray, node_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the differences of the first 20 moments of every cell, and the sums of the 20-th ones.

    Offsets are right within two roundings, which k of them multiply; sums of n numbers within n of the extended ones.
    """
    sizes = np.diff(np.append(begins, offsets.size))
    old: _Extended = shares.astype(np.longdouble)
    new: _Extended = node_weights.astype(np.longdouble)
    errors = list[_Extended]()
    unit = float(np.finfo(np.float64).eps)
    for k in range(2 * _NODES + 1):
        first, second = np.add.reduceat(old, begins), new.sum(axis=1)
        size = np.add.reduceat(np.abs(old), begins) + np.abs(new).sum(axis=1)
        rounding = ((sizes + k + _NODES) * _EXTENDED * 2.0 + 2.0 * k * unit) * size
        errors.append(np.abs(first - second) + rounding)
        old, new = old * offsets, new * nodes
    return np.array(errors[:-1], dtype=np.float64), (size + rounding).astype(np.float64)


MOST_ATOMS = 4096
"""In the place of more atoms stand fewer with the same moments, for whose distance the brackets pay."""
_FEW = 24
"""Up to this many atoms each has bounds of its own."""
_FEW_LOOKS, _FEW_PAIRS = 8, 8
"""After so many close looks more pairs than that are compared quickly."""
_NOTHING = 1e-17
"""A hockey stick below this is not looked at closely: roundings are not much smaller."""
_TAIL_STEPS = np.arange(0.25, 16.0, 0.25)
"""Ends of cells beside all atoms, in scales."""
_CELL = 0.125
"""Width of the cells that all pairs share, in scales, about."""
_TOLERANCE = 1e-8
_ROUND_UP = 1 + 1e-9
_MOST_STEPS = 2_000_000
"""The most steps of the plans of all pairs together; beyond it pairs are bounded by their distances."""
NO_NOISE = 1e-100
"""Below this fraction of the span of the priors the noise is bounded by none at all: squares leave the floats."""


class GaussianNoiseLoss:
    r"""Privacy loss of several priors under Gaussian noise of any scale theta.

    A component N(mu, sigma^2) plus the noise is N(mu, sigma^2 + theta^2), an atom N(mu, theta^2): so every question is
    one about Gaussian mixtures without noise (`MixtureLoss` at scale 0).

    **Cost** per evaluation of one pair: some hundred cells, O(K) each for K components. Of more than 4,096 atoms those
    in a cell of the width of the noise are replaced by ten with the same first moments (`FewerAtoms`). Where the two
    laws of s are within d_s of one another for every set, and those of t within d_t, so are their hockey sticks within
    :math:`d_s + e^\varepsilon d_t`, near 1e-15: both ends of the bracket pay for that.

    [D24] section VI-B (16); docs/theory.md, section 6; [BW18].
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs) -> None:
        self._given, self._pairs = dict(priors), pairs
        means = np.concatenate([prior.means for prior in priors.values()])
        widths = np.concatenate([prior.stds for prior in priors.values()])
        low, high = float(means.min()), float(means.max())
        self.span = (high - low + float(widths.max())) or 1.0
        gaps = np.diff(np.unique(means))
        finest = float(min(gaps.min(initial=self.span), widths[widths > 0].min(initial=self.span)))
        self.resolution = max(finest, self.span * NO_NOISE)
        self._unit = math.ldexp(1.0, math.frexp(self.span)[1])
        self._centre = low / self._unit
        self._priors = {
            s: replace(p, means=p.means / self._unit, stds=p.stds / self._unit) for s, p in self._given.items()
        }
        self._discrete = all(prior.is_discrete for prior in priors.values())
        self._few = max(prior.means.size for prior in priors.values()) <= MOST_ATOMS
        self._fewer: dict[tuple[Secret, int], FewerAtoms] = {}
        listed = list(combinations(priors, 2) if pairs == "all" else pairs)
        if self._discrete:
            number, apart = {s: k for k, s in enumerate(priors)}, w_infinity_bounds(list(self._priors.values()))
            bounds = {(a, b): float(apart[number[a], number[b]]) for a, b in listed}
            self._exact: dict[Pair, float] = {}
            self._known: dict[Pair, tuple[float, float, float]] = {}
            self._distances = dict(sorted(bounds.items(), key=lambda item: -item[1]))

    def only(self, pair: Pair, /) -> GaussianNoiseLoss:
        return GaussianNoiseLoss({s: self._given[s] for s in pair}, pairs=(pair,))

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs: mostly infinite, and not asked for of many atoms."""
        if scale <= self.span * NO_NOISE:
            return self._raw().pure(0.0).for_scale(scale)
        if self._discrete and max(prior.means.size for prior in self._priors.values()) > _FEW:
            return WorstCase(bracket=Bracket(lower=0.0, upper=math.inf), pair=next(iter(self._distances)))
        return self._widened(scale / self._unit).pure(0.0)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if scale <= self.span * NO_NOISE:
            return self._raw().hockey_stick(0.0, epsilon=epsilon).for_scale(scale)
        scale = scale / self._unit
        if not self._discrete:
            return self._widened(scale).hockey_stick(0.0, epsilon=epsilon)
        return self._of_atoms(scale, epsilon)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def ratio_cells(self, scale: float, /) -> list[tuple[Pair, RatioCells]] | None:
        """The law of the loss of every pair, in both orders; None for many pairs, and for many atoms."""
        listed = list(combinations(self._priors, 2) if self._pairs == "all" else self._pairs)
        if scale <= self.span * NO_NOISE or not self._few or len(listed) > MOST_PAIRS_IN_CELLS:
            return None
        scale = scale / self._unit
        if not self._discrete:
            return self._widened(scale).ratio_cells(0.0)
        curves, found = {s: self._shared(prior, scale) for s, prior in self._priors.items()}, []
        for a, b in listed:
            cells = ratio_cells(curves[a], curves[b])
            if cells is None:
                return None
            found += [((a, b), cells[0]), ((b, a), cells[1])]
        return found

    def _of_atoms(self, scale: float, epsilon: float) -> WorstCase:
        """Pairs by falling bounds: a few, then the others sifted where they are many, then what is left."""
        found = _Largest(worst=next(iter(self._distances)))
        bounds = self._plan_bounds(scale, epsilon)
        bounds = bounds or {pair: _of_shift(apart / scale, epsilon) for pair, apart in self._distances.items()}
        left = self._look(bounds, found, scale, epsilon, most=_FEW_LOOKS)
        if len(left) > _FEW_PAIRS:
            left = self._sifted(left, found, scale, epsilon)
        self._look(left, found, scale, epsilon)
        return WorstCase(bracket=Bracket(lower=min(found.lower, found.upper), upper=found.upper), pair=found.worst)

    def _look(
        self, bounds: Mapping[Pair, float], found: _Largest, scale: float, epsilon: float, *, most: int | None = None
    ) -> dict[Pair, float]:
        """Look closely at pairs by falling bounds, at so many at the most; the pairs that are left."""
        pairs, looks = list(bounds.items()), 0
        for k, (pair, bound) in enumerate(watched(pairs, label="pairs of secrets")):
            if bound < found.lower or bound <= found.upper:
                break  # so are those of the others: no hockey stick of theirs is larger than what is known
            if looks == most:
                return dict(pairs[k:])
            if pair not in self._exact:
                self._exact[pair] = w_infinity(*(self._priors[s] for s in pair))
            highest = min(bound, _of_shift(self._exact[pair] / scale, epsilon), self._known_bound(pair, scale, epsilon))
            if bound <= _NOTHING and highest > found.upper:
                found.upper, found.worst = highest, pair
            if highest < found.lower or highest <= found.upper:
                continue
            looks += 1
            for s in pair:
                found.curves[s] = found.curves.get(s) or self._curve(s, scale)
            (a, near_a), (b, near_b) = (found.curves[s] for s in pair)
            at_a, at_b = first_points(a, b)
            largest, growth = 0.0, math.exp(epsilon)
            for p, q, first, apart in (
                (a, b, (at_a, at_b), near_a + growth * near_b),
                (b, a, (at_b, at_a), near_b + growth * near_a),
            ):
                low, high = positive_mass(p, q, epsilon=epsilon, tolerance=_TOLERANCE, floor=found.lower, first=first)
                found.lower = max(found.lower, low - apart)
                largest = max(largest, min(high + apart, highest))
            self._known[pair] = scale, epsilon, largest
            if largest > found.upper:
                found.upper, found.worst = largest, pair
        return {}

    def _sifted(self, bounds: Mapping[Pair, float], found: _Largest, scale: float, epsilon: float) -> dict[Pair, float]:
        """The pairs that may have a larger hockey stick than is known, by smaller falling bounds: of many pairs, from
        cells that all share.
        """
        secrets = dict.fromkeys(s for pair in bounds for s in pair)
        curves = {s: found.curves.get(s) or self._curve(s, scale) for s in secrets}
        found.curves.update(curves)
        means, steps = [curve.means for curve, _ in curves.values()], scale * _TAIL_STEPS
        ends = min(float(own[0, 0]) for own in means), max(float(own[-1, 0]) for own in means)
        shared = SharedCells.of(
            [curve for curve, _ in curves.values()],
            more=np.concatenate([ends[0] - steps, ends[1] + steps]),
            width=_CELL * scale,
        )
        if shared is None:
            return dict(bounds)
        number, growth = {s: k for k, s in enumerate(curves)}, math.exp(epsilon)
        sifted = dict[Pair, float]()
        for pair, bound in bounds.items():
            if bound < found.lower:
                break
            most = min(bound, self._known_bound(pair, scale, epsilon))
            if most < found.lower:
                continue
            low, high = shared.positive_mass(*(number[s] for s in pair), epsilon=epsilon)
            apart = max(curves[s][1] + growth * curves[t][1] for s, t in (pair, pair[::-1]))
            sifted[pair] = most if math.isnan(high) else min(most, high + apart)
            found.lower = max(found.lower, low - apart)
        return dict(sorted(sifted.items(), key=lambda item: -item[1]))

    def _known_bound(self, pair: Pair, scale: float, epsilon: float) -> float:
        """What the last look at a pair says of more noise or a larger epsilon: the hockey stick grows with neither."""
        at, asked, upper = self._known.get(pair, (math.inf, math.inf, math.inf))
        return upper if at <= scale and asked <= epsilon else math.inf

    def _plan_bounds(self, scale: float, epsilon: float) -> dict[Pair, float]:
        """Upper bounds of the hockey sticks of all pairs, the largest first; nothing for very many pairs.

        The hockey stick is convex in both laws together: it is at most the mean of those of the shifts of a plan.
        """
        if self._plans is None:
            return {}
        shifts, shares, starts, rounding = self._plans
        sticks = shift_hockey_sticks(shifts * (_ROUND_UP / scale), epsilon=epsilon)
        means = np.add.reduceat(sticks * shares, starts) * _ROUND_UP + rounding * (1.0 + math.exp(epsilon))
        pairs = list(self._distances)
        return {pairs[k]: float(means[k]) for k in np.argsort(-means, kind="stable").tolist()}

    @cached_property
    def _plans(self) -> tuple[FloatArray, FloatArray, IndexArray, FloatArray] | None:
        """Shifts and shares of the monotone plan of every pair, where each begins, and the rounding of its shares."""
        sizes = {s: prior.means.size for s, prior in self._priors.items()}
        steps = np.array([sizes[a] + sizes[b] for a, b in self._distances])
        if steps.sum() > _MOST_STEPS:
            return None
        plans = [monotone_shifts(self._priors[a], self._priors[b]) for a, b in self._distances]
        starts = np.append(0, np.cumsum([shares.size for _, shares in plans])[:-1])
        shifts, shares = (np.concatenate(parts) for parts in zip(*plans, strict=True))
        return shifts, shares, starts, 2.0 * UNIT_ROUNDOFF * steps

    def _curve(self, secret: Secret, scale: float) -> tuple[Curve, float]:
        """The curve of a prior, or of fewer atoms, and how far the two are apart."""
        prior = self._priors[secret]
        if prior.means.size <= _FEW:
            curve = Curve(prior.weights, prior.means, np.full_like(prior.means, scale), scale=0.0, centre=self._centre)
            return curve, 0.0
        if prior.means.size <= MOST_ATOMS:
            return self._shared(prior, scale), 0.0
        octave = math.frexp(scale)[1] - 1  # cells at most as wide as the noise, the same for all scales up to twice it
        if (secret, octave) not in self._fewer:
            means = prior.means - self._centre
            self._fewer[secret, octave] = fewer_atoms(prior.weights, means, width=math.ldexp(1.0, octave))
        fewer = self._fewer[secret, octave]
        displaced = subtraction_error(prior.means, self._centre) / scale
        return SharedWidthCurve(fewer.weights, fewer.means, std=scale, centre=0.0), fewer.distance(scale) + displaced

    def _shared(self, prior: Prior, scale: float) -> SharedWidthCurve:
        return SharedWidthCurve(prior.weights, prior.means, std=scale, centre=self._centre)

    def _widened(self, scale: float) -> MixtureLoss:
        widened = {s: replace(p, stds=np.hypot(p.stds, scale)) for s, p in self._priors.items()}
        return MixtureLoss(widened, pairs=self._pairs)

    def _raw(self) -> DiscreteLoss | MixtureLoss:
        return (DiscreteLoss if self._discrete else MixtureLoss)(self._given, pairs=self._pairs)


@dataclass(slots=True)
class _Largest:
    """What is known of the largest hockey stick at a scale."""

    worst: Pair
    """The pair with the largest upper bound so far."""
    lower: float = 0.0
    upper: float = 0.0
    """Upper bound over the pairs that were looked at."""
    curves: dict[Secret, tuple[Curve, float]] = field(default_factory=dict)
    """As `GaussianNoiseLoss._curve`."""


def _of_shift(shift: float, epsilon: float) -> float:
    return shift_hockey_stick(shift * _ROUND_UP, epsilon=epsilon) * _ROUND_UP
