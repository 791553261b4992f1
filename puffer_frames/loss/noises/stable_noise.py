"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np

from puffer_frames.loss.noises.coupled import CoupledLoss
from puffer_frames.loss.noises.narrow_cells import FewerNodes, fewer_nodes, number_of_nodes
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.priors.transport import w_infinity_diameter

MOST_ATOMS = 1 << 11
"""Of more atoms of a prior, groups of neighbours are taken together."""
_NODES_PER_SCALE = 32
"""Groups in a scale."""
MOST_NODES, _MOST_TOGETHER = 1 << 13, 1 << 16
"""So many groups of a prior, and of all of them, even where they are wider than that."""
_WIDEST = 4.0
"""Wider groups, in scales, cost more than the distance says."""
_MANY_PAIRS = 1000
_WIDE = 0.02
"""Where a bracket is wider, as a share of the loss, pairs are held to the bound by their W-infinity distance too."""
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
        return _that_may_bind(self._exact, self._priors)

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
            return FewerNodes.all_of(weights, atoms)
        width = math.ldexp(1.0, math.frexp(scale / _NODES_PER_SCALE)[1] - 1)
        while width < _WIDEST * scale:
            if (secret, width) not in self._numbers:
                self._numbers[secret, width] = number_of_nodes(atoms, width=width)
            if self._numbers[secret, width] <= most:
                if (secret, width) not in self._grouped:
                    self._grouped[secret, width] = fewer_nodes(weights, atoms, width=width)
                return self._grouped[secret, width]
            width *= 2.0
        return None

    @cached_property
    def _numbers(self) -> dict[tuple[Secret, float], int]:
        return {}

    @cached_property
    def _grouped(self) -> dict[tuple[Secret, float], FewerNodes]:
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


def _that_may_bind(pairs: list[Pair], priors: Mapping[Secret, Prior]) -> list[Pair]:
    """The pairs of different priors; of those of two point masses, the one farthest apart.

    The loss of a shift d, sup_y log f(y) - log f(y - d), grows with d: where it is positive, y lies nearer to 0 than
    y - d, and a symmetric unimodal density of y - d falls as d grows.
    """
    points = [(i, j) for i, j in pairs if priors[i].means.size == 1 == priors[j].means.size]
    apart = {(i, j): abs(float(priors[i].means[0] - priors[j].means[0])) for i, j in points}
    farthest = max(apart, key=apart.__getitem__, default=None)
    return [(i, j) for i, j in pairs if priors[i] != priors[j] and ((i, j) not in apart or (i, j) == farthest)]
