"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from puffer_frames.loss.noises.coupled import CoupledLoss
from puffer_frames.loss.outcome import Bracket, Loss, WorstCase
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import StableShape, stable_shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import MEANS_ERROR, FloatArray, Prior, Secret
from puffer_frames.priors.transport import w_infinity_diameter

_MEANS_UP = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class FewerNodes:
    """The means of groups of neighbouring atoms."""

    weights: FloatArray
    """Weight of each group."""
    means: FloatArray
    """Its mean."""
    deviation: float = 0.0
    """Largest standard deviation within a group."""
    extent: float = 0.0
    """Largest distance between two atoms of a group."""
    moved: float = 0.0
    """By how much rounding may have moved a mean."""

    def cost(self, shape: StableShape, scale: float, /) -> tuple[float, float]:
        """As `cost_of_means`, of groups in units of the atoms."""
        variance = (self.deviation / scale) ** 2
        return cost_of_means(shape, variance=variance, extent=self.extent / scale, moved=self.moved / scale)


def fewer_nodes(weights: FloatArray, means: FloatArray, /, *, width: float) -> FewerNodes:
    """Atoms, ascending, in groups that are not wider than about this; the widths are at least 1e-120."""
    starts = np.flatnonzero(_begins(means, width))
    sizes = np.diff(starts, append=means.size)
    total = np.add.reduceat(weights, starts)
    shares, offsets = weights / np.repeat(total, sizes), means - np.repeat(means[starts], sizes)
    middle = np.add.reduceat(shares * offsets, starts)
    variances = np.add.reduceat(shares * np.square(offsets - np.repeat(middle, sizes)), starts)
    nodes = means[starts] + middle
    extent = float(offsets.max())
    moved = UNIT_ROUNDOFF * (2 * (int(sizes.max()) + 4) * extent + float(np.abs(nodes).max()))
    return FewerNodes(
        weights=total,
        means=nodes,
        deviation=math.sqrt(float(variances.max())) * _MEANS_UP + moved,
        extent=extent * _MEANS_UP,
        moved=moved,
    )


def _begins(means: FloatArray, width: float) -> NDArray[np.bool_]:
    """Whether a group begins at each of the atoms."""
    return np.append(True, np.diff(np.floor((means - means[0]) / width)) > 0)


def cost_of_means(shape: StableShape, /, *, variance: float, extent: float, moved: float = 0.0) -> tuple[float, float]:
    r"""By how much a log-density may be below and above that of groups of values at their means, in units of the scale.

    Let X be the values of a group and m their mean, known up to `moved`. With K a bound of :math:`|(\log f)''|` and of
    :math:`|f''/f|`, and L one of :math:`|f'/f|`,

    .. math:: e^{-K V/2} \le \frac{E f(y - X)}{f(y - m)} \le 1 + \tfrac{1}{2} K V e^{L D}

    for the variance V and the extent D of the group: below by Jensen's inequality, above by Taylor's formula. In both
    the term of first order has the mean 0.
    See docs/theory.md, section 13.
    """
    slope, unsure = shape.steepest * extent, shape.steepest * moved
    if slope > 1.0:
        return math.inf, math.inf
    below = 0.5 * shape.most_curved * variance
    return (below + unsure) * _MEANS_UP, (below * math.exp(slope) + unsure) * _MEANS_UP


_WIDEST_CELL = 0.25
"""Cells that are wider, in scales, are known by their middles alone."""
_SPENT = 1e-6
"""Share of a hockey stick that is spent on outcomes far from a value."""
_MOST_COST = 0.25
"""Share of epsilon that the means may cost."""
_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF
_NEARLY = 1 + 1e-9
"""For the rounding of a normal distribution function, far out."""


class _CellMeansLoss:
    """What the losses of both kinds of noise share: the means where the cells are narrow, the cells where not."""

    def __init__(self, means: Loss, coarse: Loss, /, *, priors: Mapping[Secret, Prior]) -> None:
        self._means, self._coarse, self._priors = means, coarse, priors
        self._width = 2 * max(prior.radius for prior in priors.values())
        farthest = max(float(np.abs(prior.means).max()) for prior in priors.values()) + self._width
        self._unsure = MEANS_ERROR * self._width + 4 * UNIT_ROUNDOFF * farthest
        self.span, self.resolution = coarse.span, coarse.resolution


class GaussianCellMeansLoss(_CellMeansLoss):
    r"""Bounds of the loss for all values that lie in their cells and have the given means there.

    Let X be the values of a cell of the width h, m their mean, and b the scale. At an outcome y their density is that
    of as many at the mean times :math:`E e^{t (X - m) - (X - m)^2/2b^2}`, :math:`t = (y - m)/b^2`. That is at least
    :math:`e^{-h^2/8b^2}` (Jensen; the variance is at most h²/4), and at most :math:`e^{k^2 h^2/8b^2}` where
    :math:`|y - m| \le k b` (Hoeffding): an error of second order in the width. Outcomes farther from the mean of their
    cell have at most the probability :math:`2 \Phi(h/b - k)` (Phi the normal distribution function).

    - `means`: The engine of as many values at the means.
    - `coarse`: The engine of values anywhere in their cells, for cells that are wide against the noise.
    - `priors` (mapping of secret to Prior): The means of cells of one width.

    Means are known within some e (`MEANS_ERROR`), which adds k e/b to both exponents. **Cost** per evaluation: three of
    the means.
    See docs/theory.md, section 13, on means of cells.
    """

    def only(self, pair: Pair, /) -> GaussianCellMeansLoss:
        alone = {secret: self._priors[secret] for secret in pair}
        return GaussianCellMeansLoss(self._means.only(pair), self._coarse.only(pair), priors=alone)

    def pure(self, scale: float, /) -> WorstCase:
        """Gaussian noise has no pure loss but where all laws are one."""
        return self._coarse.pure(scale)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if not scale or self._width > _WIDEST_CELL * scale:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        about = self._means.hockey_stick(scale, epsilon=epsilon).bracket.upper
        both = 1 + math.exp(min(epsilon, 700.0))
        shift, unsure = (self._width + self._unsure) / scale, self._unsure / scale
        far = float(-special.ndtri(max(_SPENT * about / (2 * both), 1e-300))) + shift
        moved = 0.5 * ((0.5 * self._width / scale) ** 2 + unsure**2) + far * unsure
        grown = 0.125 * (far * self._width / scale) ** 2 + far * unsure
        cost = (moved + grown) * _ROUND_UP
        if not (about > 0 and cost <= _MOST_COST * epsilon):
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        beyond = 2 * float(special.ndtr(shift - far)) * both * _NEARLY
        worst = self._means.hockey_stick(scale, epsilon=epsilon - cost)
        upper = (math.exp(grown) * worst.bracket.upper + beyond) * _ROUND_UP
        at_least = self._means.hockey_stick(scale, epsilon=epsilon + cost).bracket.lower
        lower = max(0.0, math.exp(-moved) * at_least * (2 - _ROUND_UP) - beyond)
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=worst.pair)


class StableCellMeansLoss(_CellMeansLoss):
    """Bounds of the pure loss for all values that lie in their cells and have the given means there.

    Their densities are those of as many values at the means, but for an error of second order in the width h of the
    cells: the variance within a cell is at most h²/4 (`cost_of_means`).

    - `means`: The engine of as many values at the means.
    - `coarse`: The engine of values anywhere in their cells, for cells that are wide against the noise.
    - `priors` (mapping of secret to Prior): The means of cells of one width.
    See docs/theory.md, section 13, on means of cells.
    """

    def __init__(self, means: Loss, coarse: Loss, /, *, priors: Mapping[Secret, Prior], shape: StableShape) -> None:
        super().__init__(means, coarse, priors=priors)
        self._shape = shape

    def only(self, pair: Pair, /) -> StableCellMeansLoss:
        alone = {secret: self._priors[secret] for secret in pair}
        return StableCellMeansLoss(self._means.only(pair), self._coarse.only(pair), priors=alone, shape=self._shape)

    def pure(self, scale: float, /) -> WorstCase:
        if not scale or self._width > _WIDEST_CELL * scale:
            return self._coarse.pure(scale)
        found, width = self._means.pure(scale), self._width / scale
        cost = sum(cost_of_means(self._shape, variance=0.25 * width**2, extent=width, moved=self._unsure / scale))
        lower, upper = max(found.bracket.lower - cost, 0.0), found.bracket.upper + cost
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if not scale or self._width > _WIDEST_CELL * scale:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        return self.pure(scale).as_stick(epsilon)


MOST_ATOMS = 1 << 11
"""The most atoms of a prior; beyond it, groups of neighbours are taken together."""
_NODES_PER_SCALE = 32
"""Groups in a scale."""
MOST_NODES, _MOST_TOGETHER = 1 << 13, 1 << 16
"""The most groups of one prior, and of all of them, even if they become wider for it."""
_WIDEST = 4.0
"""Wider groups, in scales, cost more than the distance says."""
_MANY_PAIRS = 1000
_WIDE = 0.02
"""From this width of a bracket on, as a share of the loss, pairs are also bounded by their W-infinity distance."""
_TOLERANCE, _OF_GROUPS = 1e-9, 1e-6
"""A bracket of atoms is as narrow as this, and one of groups of them."""


class StableNoiseLoss(CoupledLoss):
    r"""Pure privacy loss of several priors under symmetric alpha-stable noise of any scale gamma.

    **Exact** for pairs of discrete priors (`puffer_frames.noise.log_ratio`). Of more than 2,048 atoms those within a
    32nd of the scale are taken together, or more where that does not suffice. The brackets pay for it (`fewer_nodes`),
    mostly 1e-4. Other pairs have the upper bound of their coupling. **Cost** per evaluation: some hundred cells, O(K)
    each for K atoms.

    [ZA]; docs/theory.md, section 4, "Any noise"; docs/theory.md, section 11.
    """

    _together = 0
    """Number of secrets whose groups are looked at together, where they are more than those of this loss."""

    def only(self, pair: Pair, /) -> Self:
        """The same for one of the pairs, in groups as wide."""
        found = super().only(pair)
        found._together = max(self._together, len(self._priors))
        return found

    def _is_exact(self, pair: Pair) -> bool:
        return all(self._priors[s].is_discrete for s in pair)

    @cached_property
    def _binding(self) -> list[Pair]:
        """The pairs of different priors; of those of two point masses, the one farthest apart.

        The loss of a shift d, sup_y log f(y) - log f(y - d), grows with d: where it is positive, y lies nearer to 0
        than y - d, and a symmetric unimodal density of y - d falls as d grows.
        """
        pairs, priors = self._exact, self._priors
        points = [(i, j) for i, j in pairs if priors[i].means.size == 1 == priors[j].means.size]
        apart = {(i, j): abs(float(priors[i].means[0] - priors[j].means[0])) for i, j in points}
        farthest = max(apart, key=apart.__getitem__, default=None)
        return [(i, j) for i, j in pairs if priors[i] != priors[j] and ((i, j) not in apart or (i, j) == farthest)]

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        assert isinstance(self._noise, Stable)
        pairs, scale = self._binding, scale / self._unit
        if not pairs:
            return 0.0, 0.0, self._exact[0]
        place = {s: k for k, s in enumerate(dict.fromkeys(s for pair in pairs for s in pair))}
        shape = stable_shape(self._noise.alpha)
        most = min(MOST_NODES, max(_MOST_TOGETHER // max(self._together, len(self._priors)), 2))
        nodes = [each for s in place if (each := self._nodes(s, scale, most)) is not None]
        costs = [each.cost(shape, scale) for each in nodes]
        if len(nodes) < len(place) or max(costs)[0] == math.inf:
            return 0.0, *self._by_distance(scale)
        centre = self._centre / self._unit
        mixtures = [(each.weights, (each.means - centre) / scale) for each in nodes]
        farthest = max(float(np.abs(atoms).max()) for _, atoms in mixtures)
        moved = 2.0 * max(subtraction_error(each.means, centre) for each in nodes) / scale
        slack = 2.0 * shape.steepest * (moved + 8.0 * UNIT_ROUNDOFF * farthest)  # rounding of the atoms' places
        slack += 4.0 * UNIT_ROUNDOFF * max(self._atoms[s].size for s in place)  # and of the groups' weights
        ratios = None if self._asked == "all" else [(place[i], place[j]) for i, j in pairs]
        tolerance = _OF_GROUPS if any(map(any, costs)) else _TOLERANCE
        lower, upper, (i, j) = largest_log_ratio(mixtures, ratios, shape, tolerance=tolerance, unsure=costs)
        lower, upper, secrets = max(lower - slack, 0.0), upper + slack, list(place)
        if upper - lower <= _WIDE * upper:
            return lower, upper, (secrets[i], secrets[j])
        bound, pair = self._by_distance(scale)
        return (lower, bound, pair) if bound < upper else (lower, upper, (secrets[i], secrets[j]))

    @cached_property
    def _unit(self) -> float:
        """A power of two near the span: in its units no square of a distance leaves the floats."""
        return math.ldexp(1.0, math.frexp(self.span)[1] - 1)

    @cached_property
    def _atoms(self) -> dict[Secret, FloatArray]:
        """The atoms of each prior that has no others, in this unit."""
        return {s: prior.means / self._unit for s, prior in self._priors.items() if prior.is_discrete}

    def _nodes(self, secret: Secret, scale: float, most: int) -> FewerNodes | None:
        """The atoms of a prior, or the means of groups of them, at most so many; None where these are too wide."""
        weights, atoms = self._priors[secret].weights, self._atoms[secret]
        if atoms.size <= min(MOST_ATOMS, most):
            return FewerNodes(weights=weights, means=atoms)
        width = math.ldexp(1.0, math.frexp(scale / _NODES_PER_SCALE)[1] - 1)
        while width < _WIDEST * scale:
            if (secret, width) not in self._grouped:
                few = np.count_nonzero(_begins(atoms, width)) <= most
                self._grouped[secret, width] = fewer_nodes(weights, atoms, width=width) if few else None
            if (found := self._grouped[secret, width]) is not None:
                return found
            width *= 2.0
        return None

    @cached_property
    def _grouped(self) -> dict[tuple[Secret, float], FewerNodes | None]:
        """By width of the groups; None where they are too many, of which the most is the same at every scale."""
        return {}

    def _by_distance(self, scale: float) -> tuple[float, Pair]:
        """The largest bound of the pairs by their W-infinity distances, for a scale in this unit."""
        distance, pair = self._farthest
        return self._noise.shift_loss(math.nextafter(distance / self._unit / scale, math.inf)), pair

    @cached_property
    def _farthest(self) -> tuple[float, Pair]:
        """The largest W-infinity distance of a pair; of very many pairs one of them, for its mean differs most."""
        pairs = self._binding
        if self._asked != "all" or len(pairs) <= _MANY_PAIRS:
            return max(((self._coupled(pair), pair) for pair in pairs), key=lambda found: found[0])
        priors = {s: self._priors[s] for pair in pairs for s in pair}
        ends = sorted(priors, key=lambda s: priors[s].mean)
        return w_infinity_diameter(list(priors.values())), (ends[0], ends[-1])
