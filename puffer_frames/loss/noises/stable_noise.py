"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from puffer_frames.loss.noises.coupled import CoupledLoss
from puffer_frames.loss.noises.fewer_nodes import FewerNodes, fewer_nodes
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import Prior, Secret
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
_MOST_COST = 0.01
"""Where groups cost more, as a share of the loss, pairs are held to the bound by their W-infinity distance too."""
_TOLERANCE, _FINENESS = 1e-9, 0.01
"""A bracket is as narrow as this, or as this share of what groups cost."""


class StableNoiseLoss(CoupledLoss):
    r"""Pure privacy loss of several priors under symmetric alpha-stable noise of any scale gamma.

    Parameters
    ----------
    priors : mapping of secret to Prior
    pairs : "all" or tuple of pairs
    noise : Stable

    Notes
    -----
    **Exact** for pairs of discrete priors (`puffer_frames.noise.log_ratio`). Of more than 2,048 atoms those within a
    32nd of the scale are taken together, or more where that does not suffice. The brackets pay for it (`fewer_nodes`),
    mostly 1e-4. Other pairs have the upper bound of their coupling. **Cost** per evaluation: some hundred cells, O(K)
    each for K atoms.

    References
    ----------
    [ZA]; docs/theory.md, section 4, "Any noise"; docs/theory.md, section 11.
    """

    def _is_exact(self, pair: Pair) -> bool:
        return all(self._priors[s].is_discrete for s in pair)

    @cached_property
    def _binding(self) -> list[Pair]:
        return _that_may_bind(self._exact, self._priors)

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        assert isinstance(self._noise, Stable)
        pairs = self._binding
        if not pairs:
            return 0.0, 0.0, self._exact[0]
        place = {s: k for k, s in enumerate(dict.fromkeys(s for pair in pairs for s in pair))}
        shape = stable_shape(self._noise.alpha)
        most = min(MOST_NODES, max(_MOST_TOGETHER // len(place), 2))
        nodes = [each for s in place if (each := self._nodes(s, scale, most)) is not None]
        costs = [each.cost(shape, scale) for each in nodes]
        if len(nodes) < len(place) or max(costs)[0] == math.inf:
            return 0.0, *self._by_distance(scale)
        mixtures = [(each.weights, (each.means - self._centre) / scale) for each in nodes]
        farthest = max(float(np.abs(atoms).max()) for _, atoms in mixtures)
        moved = 2.0 * max(subtraction_error(each.means, self._centre) for each in nodes) / scale
        slack = 2.0 * shape.steepest * (moved + 8.0 * UNIT_ROUNDOFF * farthest)  # rounding of the atoms' places
        slack += 4.0 * UNIT_ROUNDOFF * max(self._priors[s].means.size for s in place)  # and of the groups' weights
        cost = max(below for below, _ in costs) + max(above for _, above in costs) + slack
        ratios = None if self._asked == "all" else [(place[i], place[j]) for i, j in pairs]
        lower, upper, (i, j) = largest_log_ratio(mixtures, ratios, shape, tolerance=max(_TOLERANCE, _FINENESS * cost))
        secrets = list(place)
        found = max(lower - cost, 0.0), upper + cost, (secrets[i], secrets[j])
        if cost <= _MOST_COST * upper:
            return found
        return found[0], *min(found[1:], self._by_distance(scale), key=lambda bound: bound[0])

    def _nodes(self, secret: Secret, scale: float, most: int) -> FewerNodes | None:
        """The atoms of a prior, or the means of groups of them, at most so many; None where these are too wide."""
        prior = self._priors[secret]
        if prior.means.size <= min(MOST_ATOMS, most):
            return FewerNodes.all_of(prior.weights, prior.means)
        width = math.ldexp(1.0, math.frexp(scale / _NODES_PER_SCALE)[1] - 1)
        while width < _WIDEST * scale:
            if (secret, width) not in self._grouped:
                self._grouped[secret, width] = fewer_nodes(prior.weights, prior.means, width=width)
            if self._grouped[secret, width].means.size <= most:
                return self._grouped[secret, width]
            width *= 2.0
        return None

    @cached_property
    def _grouped(self) -> dict[tuple[Secret, float], FewerNodes]:
        return {}

    def _by_distance(self, scale: float) -> tuple[float, Pair]:
        """The largest bound of the pairs by their W-infinity distances."""
        distance, pair = self._farthest
        return self._noise.shift_loss(distance / scale), pair

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
