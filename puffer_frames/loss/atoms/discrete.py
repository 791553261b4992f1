"""Exact privacy loss of discrete priors under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.atoms.recursion import (
    LEAST,
    NOTHING,
    AtomDensities,
    LogError,
    filled,
    fits_floats,
    in_one_block,
    log_at_atoms,
    log_densities,
    positive_part,
    raw_of_integers,
    raw_positive_part,
    scaled_weights,
)
from puffer_frames.loss.loss_law import RatioCells
from puffer_frames.loss.outcome import Bracket, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret

_LOOKS = 256
"""Places at which all laws are evaluated together."""
_FEW = 8
"""Laws are sparse where the table of their own atoms is so many times smaller than that of all positions."""
_LEAST_TABLE = 1 << 18
"""Entries of a table that is filled faster than it is avoided."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseAtoms:
    r"""Laws f_i of few atoms each, and the largest :math:`\log f_i(y)/f_j(y)` over all pairs and all y.

    Between atoms the ratio is monotone, and at an atom of f_j alone its slope jumps up: it is largest at an atom of
    f_i, or constant up to one. There f_i is known. The least log f_j(y) of all laws is 1/b-Lipschitz in y: where it is
    known at some places, it is bounded between them. Places whose bound is above the largest ratio found are looked at
    next.
    """

    positions: FloatArray
    """All positions, ascending, shape (n,)."""
    places: IndexArray
    """Number of the position of each atom, law after law, ascending within one, shape (atoms,)."""
    weights: FloatArray
    """Weights of the atoms, each at least 2**-900."""
    starts: IndexArray
    """Starts of each law's atoms, and the end of the last."""

    @property
    def pays(self) -> bool:
        """Whether the laws are many, and their atoms few."""
        laws, n = self.starts.size - 1, self.positions.size
        return laws * n >= _LEAST_TABLE and _FEW * laws * int(np.diff(self.starts).max()) <= laws * n

    def largest(self, scale: float, /) -> tuple[float, float, int, int]:
        """The largest log-ratio, a bound of its rounding error, and the numbers of the two laws.

        **Cost**: O(atoms) and O(laws) times the places that are looked at: some hundreds, seldom all. **Rounding**: a
        sum of k positive terms, one after the other, each with an exponential of a distance d of relative error
        2 d u: d e^-d is below 1/2; so at most 8 u per term. A logarithm v adds at most 4 |v| u, for |v| is at least the
        distance that counts.
        """
        sides = _Sides.of(self._padded, scale)
        law, place = self._law, self.places
        own = sides.at_atoms[law, np.arange(law.size) - self.starts[law]]
        fresh = self._spread()
        looked, least, lowest = fresh[:0], np.zeros(0), fresh[:0]
        while True:
            found, laws = self._least(sides, fresh, scale)
            order = np.argsort(np.append(looked, fresh))
            looked = np.append(looked, fresh)[order]
            least, lowest = np.append(least, found)[order], np.append(lowest, laws)[order]
            after = np.minimum(np.searchsorted(looked, place), looked.size - 1)
            known = looked[after] == place
            bound = own - np.maximum(
                self._below(place, looked[after], least[after], scale),
                self._below(place, looked[after - 1], least[after - 1], scale),
            )
            ratios = own[known] - least[after[known]]
            best = int(ratios.argmax())
            fresh = np.unique(place[~known & (bound > ratios[best])])
            if not fresh.size:
                break
            fresh = fresh[:: -(-fresh.size // _LOOKS)]
        at = np.flatnonzero(known)[best]
        farthest = max(float(np.abs(own).max()), float(np.abs(least).max()))
        error = UNIT_ROUNDOFF * (16.0 * (sides.at_atoms.shape[1] + 4.0) + 8.0 * farthest)
        return float(ratios[best]), 2.0 * error, int(law[at]), int(lowest[after[at]])

    def _below(self, place: IndexArray, known: IndexArray, least: FloatArray, scale: float) -> FloatArray:
        """Lower bounds of the least logarithm at places, from known ones."""
        with np.errstate(over="ignore"):
            bound: FloatArray = least - np.abs(self.positions[place] - self.positions[known]) / scale
        return bound

    @cached_property
    def _law(self) -> IndexArray:
        """Number of the law of each atom."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def _padded(self) -> tuple[FloatArray, FloatArray]:
        """Positions and weights of the atoms, shape (laws, most atoms); behind the last one it again with weight 0."""
        sizes = np.diff(self.starts)[:, None]
        column = np.arange(sizes.max())
        held = self.starts[:-1, None] + np.minimum(column, sizes - 1)
        return self.positions[self.places[held]], np.where(column < sizes, self.weights[held], 0.0)

    def _spread(self) -> IndexArray:
        """Places that lie evenly between the others, in number and in distance; the outermost ones among them."""
        n = self.positions.size
        by_number = np.linspace(0, n - 1, _LOOKS).astype(np.intp)
        ends = 0.5 * self.positions[0], 0.5 * self.positions[-1]
        evenly = 2.0 * np.linspace(*ends, _LOOKS)  # halved, so that no distance is beyond the floats
        by_distance = np.minimum(np.searchsorted(self.positions, evenly), n - 1)
        return np.unique(np.concatenate([by_number, by_distance]))

    def _least(self, sides: _Sides, places: IndexArray, scale: float) -> tuple[FloatArray, IndexArray]:
        """The least log f of all laws at places, and whose it is."""
        laws, n = self.starts.size - 1, self.positions.size
        keys = self._law * n + self.places  # ascending
        asked = np.arange(laws)[:, None] * n + places
        left = np.searchsorted(keys, asked.ravel(), side="right").reshape(asked.shape) - 1 - self.starts[:-1, None]
        logs = sides.at(left, self.positions[places], scale)
        lowest = logs.argmin(axis=0)
        return logs[lowest, np.arange(places.size)], lowest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sides:
    """What the atoms to the left and to the right of each atom add to 2b f there, the atom itself among both."""

    positions: FloatArray
    log_a: FloatArray
    log_b: FloatArray
    at_atoms: FloatArray
    """Log 2b f at the atoms."""

    @classmethod
    def of(cls, padded: tuple[FloatArray, FloatArray], scale: float, /) -> _Sides:
        positions, weights = padded
        with np.errstate(divide="ignore", under="ignore", over="ignore"):
            decay = np.exp(-np.diff(positions, axis=1) / scale)
            a, b = weights.copy(), weights.copy()
            for k in range(1, weights.shape[1]):
                a[:, k] += decay[:, k - 1] * a[:, k - 1]
            for k in range(weights.shape[1] - 2, -1, -1):
                b[:, k] += decay[:, k] * b[:, k + 1]
            both = a.copy()
            both[:, :-1] += decay * b[:, 1:]
            return cls(positions=positions, log_a=np.log(a), log_b=np.log(b), at_atoms=np.log(both))

    def at(self, left: IndexArray, points: FloatArray, scale: float, /) -> FloatArray:
        """Log 2b f at points, of which so many atoms less one are to the left or there, shape (laws, points)."""
        laws, most = self.positions.shape
        row = np.arange(laws)[:, None]
        before, after = np.maximum(left, 0), np.minimum(left + 1, most - 1)
        with np.errstate(invalid="ignore", over="ignore"):
            to_left, to_right = points - self.positions[row, before], self.positions[row, after] - points
            ours = self.log_a[row, before] - to_left / scale
            theirs = self.log_b[row, after] - to_right / scale
        ours[left < 0] = -np.inf
        theirs[(left == most - 1) | (to_right < 0)] = -np.inf  # none is there, or only what fills the row
        return np.logaddexp(ours, theirs)


_STEPS = 96.0
"""Cells are cut until the ratio changes by at most this part of its standard deviation."""
_MOST_PIECES = 192
"""The most pieces of the interval between two atoms."""
_LEAST = -60.0
"""Log of a density so small that an interval with it is not cut."""


def ratio_cells(tables: AtomDensities, i: int, j: int, /) -> RatioCells:
    r"""The cells for the prior i against the prior j.

    At a distance s, in units of the scale, from the left one of two neighbouring atoms, which are g apart, 2b times a
    density is :math:`A e^{-s} + B e^{s - g}`. So the ratio of two densities is monotone between two atoms, and its
    bounds are its values at the ends. Beyond the outermost atoms it is constant.

    **Rounding**: probabilities and bounds are moved to the private side by the errors of the tables. The logs of A and
    B have errors of u R (\|log\| + 10), and under the shares that both have in a density at a distance s the mean of
    \|log\| is at most \|log f\| + g + log 2.
    """
    pieces = _pieces(tables, i, j)
    gap = np.repeat(np.arange(tables.gaps.size), pieces)
    number = np.arange(gap.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    g, count = tables.gaps[gap], pieces[gap]
    starts, stops = g * (number / count), g * ((number + 1) / count)
    first, second = (_Side(tables, k, gap, starts, stops, g / count) for k in (i, j))
    at_start, at_end = first.start - second.start, first.end - second.end
    error = first.error + second.error + UNIT_ROUNDOFF * (np.abs(at_start) + np.abs(at_end))
    with np.errstate(invalid="ignore"):
        low, high = np.minimum(at_start, at_end) - error, np.maximum(at_start, at_end) + error
    ends = [_tail(tables, tables.log_b[:, 0], i, j), _tail(tables, tables.log_a[:, -1], i, j)]
    tails = np.array(ends).T
    masses = [np.append(side.mass, tails[k]) for k, side in enumerate((first, second))]
    errors = [np.append(side.relative, tails[2 + k]) for k, side in enumerate((first, second))]
    low, high = np.append(low, tails[4] - tails[5]), np.append(high, tails[4] + tails[5])
    mass, other = ((np.maximum(m * (1 - e), 0.0), m * (1 + e)) for m, e in zip(masses, errors, strict=True))
    return RatioCells.of(mass, other, low, high)


class _Side:
    """One of the two laws on pieces of intervals."""

    def __init__(
        self, tables: AtomDensities, k: int, gap: IndexArray, starts: FloatArray, ends: FloatArray, width: FloatArray
    ) -> None:
        a, b, g = tables.log_a[k][gap], tables.log_b[k][gap + 1], tables.gaps[gap]
        self.start, self.end = np.logaddexp(a - starts, b - (g - starts)), np.logaddexp(a - ends, b - (g - ends))
        """Log of 2b times the density at both ends."""
        farthest = np.maximum(np.abs(self.start), np.abs(self.end))
        self.error = UNIT_ROUNDOFF * (tables.roundoffs + 8) * (farthest + 2 * g + 12) + tables.weights_error
        self.relative = 2 * self.error + UNIT_ROUNDOFF * (64 + 8 * g)
        self.mass = -0.5 * np.expm1(-width) * (np.exp(a - starts) + np.exp(b - (g - ends)))
        """The probability: half the integral over s."""


def _tail(tables: AtomDensities, logs: FloatArray, i: int, j: int) -> list[float]:
    """Probabilities beyond an outermost atom and their relative errors, the log-ratio there and its error."""
    errors = [float(tables.error(logs[[k]])[0]) + 8 * UNIT_ROUNDOFF for k in (i, j)]
    masses = [0.5 * math.exp(logs[k]) for k in (i, j)]
    return [*masses, *(2 * error for error in errors), float(logs[i] - logs[j]), sum(errors)]


def _pieces(tables: AtomDensities, i: int, j: int) -> IndexArray:
    """Into how many pieces each interval is cut."""
    logs = tables.log_f[i]
    with np.errstate(invalid="ignore"):
        ratio = np.nan_to_num(logs - tables.log_f[j], posinf=0.0, neginf=0.0)
    mass = 0.5 * -np.expm1(-tables.gaps) * np.exp(np.maximum(logs[1:], logs[:-1]))
    weights = np.concatenate([[0.5 * math.exp(logs[0])], mass, [0.5 * math.exp(logs[-1])]])
    middles = np.concatenate([ratio[:1], 0.5 * (ratio[1:] + ratio[:-1]), ratio[-1:]])
    weights = weights / weights.sum()
    spread = math.sqrt(float(weights @ (middles - weights @ middles) ** 2))
    change = np.where(np.maximum(logs[1:], logs[:-1]) > _LEAST, np.abs(np.diff(ratio)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.nan_to_num(np.ceil(change * _STEPS / spread), posinf=_MOST_PIECES)
    return np.clip(wanted, 1, _MOST_PIECES).astype(np.intp)


_CHUNK = 1 << 21
"""Entries of the largest temporary table."""
_CACHED = 1 << 17
"""The same where there are many passes over it, which should stay in the cache: pairs, and atoms in one block."""
_ALONE = 1 << 20
"""Up to so many entries one thread is as fast as two."""
_MOST_EXACT_PAIRS, _MOST_EXACT_ATOMS = 64, 1 << 16
"""Up to here the raw hockey stick is that of whole numbers: a delta may be the very mass that one secret has alone."""

MOST_PAIRS_IN_CELLS = 200
"""The laws of the losses of more are not held at once."""
MOST_SECRETS = 10_000
"""With more, fifty million pairs would be compared one by one; the pure loss over all pairs has no limit."""


class DiscreteLoss:
    r"""Privacy loss of several discrete priors, prepared once and evaluated at many scales.

    Between neighbouring atoms :math:`f_i/f_j` is monotone (a Moebius function of :math:`e^{2y/b}`), and constant
    beyond the outermost ones. So the pure loss is attained at an atom, and each interval holds at most one
    crossing of :math:`f_i = e^\varepsilon f_j`.

    - `priors` (mapping of secret to Prior): Atoms only.
    - `pairs` ("all" or tuple of pairs): Already checked (`puffer_frames.priors.pairs.check_pairs`).

    **Cost** per evaluation, for m secrets and n distinct atoms of all of them: pure loss O(m n) for all pairs;
    hockey stick O(p n) for p pairs.
    See docs/theory.md, section 3, "Atoms only"; docs/theory.md, section 3, "All pairs at once".
    """

    _exact: Mapping[Secret, Prior] = MappingProxyType({})
    """The priors, where they were given: with their weights as whole numbers."""

    _sparse: SparseAtoms | None = None
    """The atoms, where they were given with weights that floats hold."""

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs) -> None:
        self._exact = priors
        means = np.concatenate([prior.means for prior in priors.values()])
        given = np.concatenate([prior.weights for prior in priors.values()])
        sizes = np.array([prior.means.size for prior in priors.values()])
        starts = np.append(0, np.cumsum(sizes))
        widths = {2 * prior.radius for prior in priors.values()}
        found = on_one_grid(means, width=widths.pop()) if len(widths) == 1 else None
        positions, places = found or np.unique(means, return_inverse=True)
        if float(given.min()) < LEAST:
            mantissas = np.zeros((sizes.size, positions.size))
            exponents = np.full(mantissas.shape, NOTHING, dtype=np.intp)
            for k, prior in enumerate(priors.values()):
                place = places[starts[k] : starts[k + 1]]
                mantissas[k, place], exponents[k, place] = scaled_weights(prior)
            self._prepare_table(list(priors), positions, mantissas, exponents, pairs=pairs)
            return

        def weights(rows: slice) -> FloatArray:
            first, last, _ = rows.indices(sizes.size)
            table = np.zeros((last - first, positions.size))
            inside = slice(starts[first], starts[last])
            table[np.repeat(np.arange(last - first), sizes[first:last]), places[inside]] = given[inside]
            return table

        self._prepare(list(priors), positions, weights, pairs)
        self._sparse = SparseAtoms(positions=positions, places=places, weights=given, starts=starts)

    @classmethod
    def of_table(
        cls,
        secrets: Sequence[Secret],
        positions: FloatArray,
        table: FloatArray,
        exponents: IndexArray | None = None,
        /,
        *,
        pairs: Pairs,
        error: float = 0.0,
    ) -> DiscreteLoss:
        """Priors as the rows of a table of weights, shape (secrets, positions), at ascending positions.

        With exponents of the same shape the weights are `table * 2**exponents`. They are right up to a factor of
        `exp(error)`, for which the brackets pay.
        """
        engine = cls.__new__(cls)
        engine._prepare_table(list(secrets), positions, table, exponents, pairs=pairs, error=error)
        return engine

    def _prepare_table(
        self,
        secrets: list[Secret],
        positions: FloatArray,
        table: FloatArray,
        exponents: IndexArray | None,
        *,
        pairs: Pairs,
        error: float = 0.0,
    ) -> None:
        if exponents is not None and fits_floats(table, exponents):
            table, exponents = np.ldexp(table, np.where(table > 0, exponents, 0)), None
        close = None if exponents is None else filled(table, exponents)
        self._prepare(secrets, positions, lambda rows: table[rows], pairs, exponents=close, error=error)

    def _prepare(
        self,
        secrets: list[Secret],
        positions: FloatArray,
        weights: Callable[[slice], FloatArray],
        pairs: Pairs,
        *,
        exponents: IndexArray | None = None,
        error: float = 0.0,
    ) -> None:
        self._secrets = secrets
        self._positions = positions
        self._weights = weights
        self._table_of_exponents = exponents
        self._error = error
        self._pairs = pairs
        number = {secret: i for i, secret in enumerate(secrets)}
        self._numbers = number
        if pairs == "all":
            self._ends: tuple[IndexArray, IndexArray] | None = None
        else:
            self._ends = (np.array([number[a] for a, _ in pairs]), np.array([number[b] for _, b in pairs]))

    def _exponents(self, rows: slice) -> IndexArray | None:
        return None if self._table_of_exponents is None else self._table_of_exponents[rows]

    def _pair_numbers(self) -> tuple[IndexArray, IndexArray]:
        if self._ends is None:
            if len(self._secrets) > MOST_SECRETS:
                raise CalibrationError(
                    "the secrets whose pairs are compared one by one",
                    rule=f"at most {MOST_SECRETS:,} for observed frequencies with a delta above 0",
                    got=f"{len(self._secrets):,}",
                    hint='Take delta 0, or Noise(theorem="gaussian") with beliefs="fitted", or list fewer pairs.',
                )
            first, second = np.triu_indices(len(self._secrets), k=1)
            self._ends = (first.astype(np.intp), second.astype(np.intp))
        return self._ends

    @property
    def span(self) -> float:
        """Distance between the outermost atoms."""
        return float(self._positions[-1] - self._positions[0])

    @property
    def resolution(self) -> float:
        return float(np.diff(self._positions).min()) if self._positions.size > 1 else 0.0

    def only(self, pair: Pair, /) -> DiscreteLoss:
        rows = [slice(self._numbers[s], self._numbers[s] + 1) for s in pair]
        table = np.concatenate([self._weights(row) for row in rows])
        exponents = [found[0] for row in rows if (found := self._exponents(row)) is not None]
        held = table.any(axis=0)
        alone = DiscreteLoss.of_table(
            pair,
            self._positions[held],
            table[:, held],
            np.stack(exponents)[:, held] if exponents else None,
            pairs=(pair,),
            error=self._error,
        )
        alone._exact = {s: self._exact[s] for s in pair if s in self._exact}
        return alone

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y; with scale 0, of the weights themselves."""
        if self._pairs == "all":
            return self._pure_of_all(scale)
        log_f, error = self._log_densities(slice(None), scale)
        lower, upper, worst = 0.0, -math.inf, 0
        for k, (i, j) in enumerate(zip(*self._pair_numbers(), strict=True)):
            low, high, _ = largest_ratio(np.maximum(log_f[i], log_f[j]), np.minimum(log_f[i], log_f[j]), error)
            lower = max(lower, low)
            if high > upper:
                upper, worst = high, k
            if low == math.inf:
                break
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    def _pure_of_all(self, scale: float) -> WorstCase:
        """sup_y (max_i log f_i - min_j log f_j): one density per secret, no loop over pairs."""
        if scale and self._sparse is not None and self._sparse.pays:
            found, slack, i, j = self._sparse.largest(scale)
            if slack < math.inf:
                i, j = (i, j) if i != j else (0, 1)  # every prior is the same
                bracket = Bracket(lower=max(0.0, found - slack), upper=found + slack)
                return WorstCase(bracket=bracket, pair=(self._secrets[i], self._secrets[j]))
        secrets, n = len(self._secrets), self._positions.size
        step = max(1, (_CACHED if in_one_block(self._positions, scale) else _CHUNK) // n)
        parts = [slice(start, min(start + step, secrets)) for start in range(0, secrets, step)]

        def ends(rows: slice) -> tuple[FloatArray, FloatArray, LogError]:
            log_f, error = self._log_densities(rows, scale)
            return log_f.max(axis=0), log_f.min(axis=0), error

        high, low, errors = zip(*each_of(parts, ends, large=secrets * n > _ALONE), strict=True)
        error = max(errors, key=lambda each: each.roundoffs)
        lower, upper, at = largest_ratio(np.max(high, axis=0), np.min(low, axis=0), error)

        above, below = (parts[k] for k in (int(np.argmax([h[at] for h in high])), int(np.argmin([x[at] for x in low]))))
        first = int(above.start) + int(self._log_densities(above, scale)[0][:, at].argmax())
        second = int(below.start) + int(self._log_densities(below, scale)[0][:, at].argmin())
        first, second = (first, second) if first != second else (0, 1)  # every prior is the same
        bracket = Bracket(lower=lower, upper=upper)
        return WorstCase(bracket=bracket, pair=(self._secrets[first], self._secrets[second]))

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        lower = upper = -math.inf
        worst = 0
        part = self._positive_parts(scale, epsilon)
        first, second = self._pair_numbers()
        step = max(1, _CACHED // self._positions.size)
        for chunk in (slice(start, min(start + step, first.size)) for start in range(0, first.size, step)):
            for i, j in ((first[chunk], second[chunk]), (second[chunk], first[chunk])):
                low, high = part(i, j)
                lower = max(lower, float(low.max()))
                if high.max() > upper:
                    upper, worst = float(high.max()), chunk.start + int(high.argmax())
        if scale == 0 and self._exact and first.size <= _MOST_EXACT_PAIRS and self._positions.size <= _MOST_EXACT_ATOMS:
            return self._raw_of_integers(epsilon, lower)
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    def _raw_of_integers(self, epsilon: float, lower: float) -> WorstCase:
        """The raw hockey stick with the mass that one secret alone has as an exact fraction, rounded up once."""
        upper, worst = -math.inf, 0
        for k, pair in enumerate(zip(*self._pair_numbers(), strict=True)):
            p, q = (self._exact[self._secrets[int(i)]] for i in pair)
            high = max(raw_of_integers(p, q, epsilon=epsilon), raw_of_integers(q, p, epsilon=epsilon))
            if high > upper:
                upper, worst = high, k
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=self._pair(worst))

    def ratio_cells(self, scale: float, /) -> list[tuple[Pair, RatioCells]] | None:
        """The law of the loss of every pair, in both orders; None for more pairs than 200, and for hardly any noise."""
        if self._pairs == "all" and len(self._secrets) > MOST_PAIRS_IN_CELLS:
            return None
        first, second = self._pair_numbers()
        if first.size > MOST_PAIRS_IN_CELLS or not scale:
            return None
        tables = self._tables(slice(None), scale)
        if not np.isfinite(tables.gaps).all():
            return None
        ends = [order for i, j in zip(first, second, strict=True) for order in ((int(i), int(j)), (int(j), int(i)))]
        return [((self._secrets[i], self._secrets[j]), ratio_cells(tables, i, j)) for i, j in ends]

    def _positive_parts(
        self, scale: float, epsilon: float
    ) -> Callable[[IndexArray, IndexArray], tuple[FloatArray, FloatArray]]:
        if scale:
            return partial(positive_part, self._tables(slice(None), scale), epsilon=epsilon)
        weights = self._plain(slice(None))
        return lambda i, j: raw_positive_part(weights[i], weights[j], epsilon=epsilon, error=self._error)

    def _pair(self, k: int) -> Pair:
        first, second = self._pair_numbers()
        return self._secrets[int(first[k])], self._secrets[int(second[k])]

    def _tables(self, rows: slice, scale: float) -> AtomDensities:
        return log_densities(
            self._positions, self._weights(rows), self._exponents(rows), scale=scale, weights_error=self._error
        )

    def _plain(self, rows: slice) -> FloatArray:
        """The weights as floats: those below 2**-1022 are right within 2**-1074."""
        exponents = self._exponents(rows)
        return self._weights(rows) if exponents is None else np.ldexp(self._weights(rows), exponents)

    def _log_densities(self, rows: slice, scale: float) -> tuple[FloatArray, LogError]:
        """Log 2b f at the atoms (log weight where the scale is 0) and its rounding error as a function of it."""
        exponents, weights = self._exponents(rows), self._weights(rows)
        if not scale:
            with np.errstate(divide="ignore"):
                logs = np.log(weights)
            if exponents is not None:
                logs += exponents * math.log(2.0)
            return logs, LogError(roundoffs=4.0, weights=self._error, margin=1.0)
        found = None if exponents is not None else log_at_atoms(self._positions, weights, scale=scale)
        if found is not None:
            return found[0], LogError(roundoffs=found[1], weights=self._error)
        tables = log_densities(self._positions, weights, exponents, scale=scale, weights_error=self._error)
        return tables.log_f, tables.error


def on_one_grid(values: FloatArray, /, *, width: float) -> tuple[FloatArray, IndexArray] | None:
    """`np.unique` and its inverse of very many values, one in each cell of this width that holds any; else None."""
    if not width or values.size < _ALONE:
        return None
    cells = np.floor(values / width)
    first = cells.min()
    if not cells.max() - first < values.size:
        return None
    cells -= first
    numbers = cells.astype(np.intp)
    of_cell = np.full(int(numbers.max()) + 1, np.nan)
    of_cell[numbers] = values
    held = ~np.isnan(of_cell)
    positions, places = of_cell[held], (np.cumsum(held) - 1)[numbers]
    return (positions, places) if np.array_equal(positions[places], values) else None


def largest_ratio(highest: FloatArray, lowest: FloatArray, error: LogError) -> tuple[float, float, int]:
    """Bounds of max(highest - lowest), and where the upper one is; empty places (-inf twice) do not count."""
    with np.errstate(invalid="ignore"):
        ratio = highest - lowest
        slack = error(highest) + error(lowest) + UNIT_ROUNDOFF * ratio
        upper, lower = ratio + slack, ratio - slack
    unbounded = np.isposinf(ratio)
    upper[np.isnan(ratio)] = lower[np.isnan(ratio)] = 0.0
    upper[unbounded] = lower[unbounded] = np.inf
    at = int(upper.argmax())
    return max(0.0, float(lower.max())), float(upper.max()), at
