"""Exact privacy loss of mixtures of Gaussians and atoms under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.positive_part import raw_positive_part
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.mixtures.curve import Curve
from puffer_frames.loss.mixtures.ratio import ratio_cells
from puffer_frames.loss.mixtures.refine import largest_log_ratio, positive_mass
from puffer_frames.loss.mixtures.shared_cells import SharedCells
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.progress import watched
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret

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

    Parameters
    ----------
    priors : mapping of secret to Prior
    pairs : "all" or tuple of pairs
        Already checked (`puffer_frames.priors.pairs.check_pairs`).

    Notes
    -----
    **Cost** per evaluation of one pair of K components each: some hundred to some thousand cells, O(K) each. Pairs
    that cannot be the worst are left early.

    References
    ----------
    docs/theory.md, section 3, "Gaussian components".
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
        """The same for one of the pairs."""
        if pair in self._discrete and self._unit == 1.0:
            return self._discrete[pair]
        return MixtureLoss({s: self._given[s] for s in pair}, pairs=(pair,))

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y."""
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
        """Largest integral of [f_i - e^epsilon f_j]_+ over the pairs, both orders."""
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
                found += self._discrete[pair].ratio_cells(scale) or []
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
