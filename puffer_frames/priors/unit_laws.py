"""Laws of what many units contribute: mixtures laid end to end, so that 100,000 units are a few arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from puffer_frames.errors import ArgumentError
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret
from puffer_frames.priors.transport import w_infinity_diameter

Coefficients: TypeAlias = "tuple[list[int], list[int]]"
"""Ascending places, and a positive coefficient for each."""

_FREE = 2
"""Places from the smallest sum to the largest that are looked at one by one, for each coefficient allowed."""
_WIDE = 1024
"""Cells from which on arrays pay."""
_LARGEST_LEVELS = 40
"""Bits of the sum of the levels up to which words have enough of their own."""


def power(steps: Sequence[int], levels: Sequence[int], copies: int, /, *, most: int) -> Coefficients | None:
    r"""Coefficients of :math:`\left(\sum_i \ell_i x^{s_i}\right)^k` that are above 0; None where they are too many.

    - `steps` (sequence of int): Ascending from 0.
    - `levels` (sequence of int): Positive.
    - `copies`: k, at least 1.
    - `most`: Number of coefficients that is too many from there on.

    **Rounding**: none. **Cost**, for d terms, n places from the smallest to the largest and coefficients of w words:
    O(k d n w) for arrays of words, or for one long integer in which every coefficient has a field of its own; or O(d n)
    products of long integers by the recurrence of the powers of a polynomial. Where the places are more than twice
    `most`, one draw after the other.
    """
    cells = steps[-1] * copies + 1
    width = (sum(levels) ** copies).bit_length() // 8 + 1
    if cells > _FREE * most:
        return _one_by_one(steps, levels, copies, most=most)
    if copies * width < 700 + width:
        limbs = cells >= _WIDE and sum(levels).bit_length() <= _LARGEST_LEVELS
        found = (_in_limbs if limbs else _in_fields)(steps, levels, copies, cells=cells, width=width)
    else:
        found = _by_recurrence(steps, levels, copies, cells=cells)
    return found if len(found[0]) <= most else None


def _in_limbs(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int, width: int) -> Coefficients:
    """Words of so many bits that the sum of their multiples stays in 64, and then carries."""
    bits = 62 - sum(levels).bit_length()
    words = 8 * width // bits + 1
    table = np.zeros((words, cells), dtype=np.int64)
    table[0, 0], reach = 1, 1
    for _ in range(copies):
        found = np.zeros_like(table)
        for step, level in zip(steps, levels, strict=True):
            part = table[:, :reach]
            found[:, step : step + reach] += part if level == 1 else level * part
        reach += steps[-1]
        for low, high in pairwise(found[:, :reach]):
            high += low >> bits
            low &= (1 << bits) - 1
        table = found
    places = np.flatnonzero(table.any(axis=0))
    total = table[0, places].astype(object)
    for k in range(1, words):
        total += table[k, places].astype(object) << bits * k
    return places.tolist(), total.tolist()


def _in_fields(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int, width: int) -> Coefficients:
    """Fields of `width` bytes, none of which overflows: a coefficient is at most the sum of the levels to the k."""
    total = 1
    for _ in range(copies):
        multiples = {level: level * total for level in set(levels)}
        total = sum(multiples[level] << 8 * width * step for step, level in zip(steps, levels, strict=True))
    content = total.to_bytes(cells * width, "little")
    places = np.flatnonzero(np.frombuffer(content, dtype=np.uint8).reshape(cells, width).any(axis=1)).tolist()
    return places, [int.from_bytes(content[place * width : (place + 1) * width], "little") for place in places]


def _by_recurrence(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int) -> Coefficients:
    r"""From :math:`P \cdot (P^k)' = k P' P^k`: :math:`n p_0 c_n = \sum_{s > 0} ((k + 1) s - n) p_s c_{n - s}`."""
    coefficients = [levels[0] ** copies] + [0] * (cells - 1)
    terms = [(step, level, (copies + 1) * step) for step, level in zip(steps[1:], levels[1:], strict=True)]
    for n in range(1, cells):
        total = 0
        for step, level, most in terms:
            if step > n:
                break
            total += (most - n) * level * coefficients[n - step]
        coefficients[n] = total // (n * levels[0])
    places = [place for place, coefficient in enumerate(coefficients) if coefficient]
    return places, [coefficients[place] for place in places]


def _one_by_one(steps: Sequence[int], levels: Sequence[int], copies: int, *, most: int) -> Coefficients | None:
    """One draw after the other, equal sums merged."""
    small = steps[-1] * copies < 1 << 62
    moves = np.array(steps, dtype=np.int64 if small else object)
    if not _are_few(moves, copies, most=most):
        return None
    factors: NDArray[Any] = np.array(levels, dtype=object)
    places, weights = moves, factors
    for _ in range(copies - 1):
        places, at = np.unique(np.add.outer(places, moves).ravel(), return_inverse=True)
        merged = np.zeros(places.size, dtype=object)
        np.add.at(merged, at, np.multiply.outer(weights, factors).ravel())
        weights = merged
    return places.tolist(), weights.tolist()


def _are_few(moves: NDArray[Any], copies: int, *, most: int) -> bool:
    """Whether the sums can be added up one draw after the other; modulo 2**64, where they are no more than they are."""
    steps = (moves % (1 << 64) if moves.dtype == object else moves).astype(np.uint64)
    places = steps
    for _ in range(copies - 1):
        if places.size * steps.size > 64 * most:
            return False
        some = places[: 2 * most // steps.size + 1]
        if some.size < places.size and np.unique(np.add.outer(some, steps)).size > most:
            return False
        places = np.unique(np.add.outer(places, steps))
        if places.size > most:
            return False
    return True


_KEYS = 2**62
"""Keys of several rows are below it, so that they are 64-bit integers."""


def first_of_equals(cells: IndexArray, starts: IndexArray, width: int, /) -> IndexArray:
    """Numbers of the units whose rows are not those of an earlier one, ascending.

    - `cells` (array of int, shape (rows,)): From 0 to width - 1, ascending within a unit.
    - `starts` (array, shape (units + 1,)): Where each unit's rows begin, and the end of the last.

    **Cost**: units of one size at a time, as many rows as fit into 64 bits by one sort; no further ones where all
    units differ already.
    """
    sizes = np.diff(starts)
    by_size = np.argsort(sizes, kind="stable") if np.ptp(sizes) else np.arange(sizes.size)
    different_sizes, often = np.unique(sizes[by_size], return_counts=True)
    first = []
    for size, units in zip(different_sizes.tolist(), np.split(by_size, np.cumsum(often)[:-1]), strict=True):
        keys, most = np.zeros(units.size, dtype=np.int64), 1
        for row in range(size):
            if most * width >= _KEYS:
                different, keys = np.unique(keys, return_inverse=True)
                most = different.size
                if most == units.size:
                    break
            keys = keys * width + cells[starts[units] + row]
            most *= width
        first.append(units[np.unique(keys, return_index=True)[1]])
    return np.sort(np.concatenate(first))


def rows_of(units: IndexArray, starts: IndexArray, /) -> tuple[IndexArray, IndexArray]:
    """Places of the rows of some units, unit after unit; and where each begins among these, and the end of the last."""
    sizes = np.diff(starts)[units]
    own = np.append(0, np.cumsum(sizes)).astype(np.intp)
    return np.arange(own[-1]) + np.repeat(starts[units] - own[:-1], sizes), own


_MOST_DIGITS = 4


def lattice_places(values: FloatArray, /) -> FloatArray:
    """Places of ascending values that print with four decimals at the most, in steps of their common distance.

    Values that do not are at infinity.
    """
    for digits in range(_MOST_DIGITS + 1):
        if np.abs(values).max() >= 2.0**53 / 10.0**digits:
            break
        whole = np.rint(values * 10.0**digits)
        if (whole / 10.0**digits == values).all():
            steps = (whole - whole[0]).astype(np.int64)
            return (steps // max(1, int(np.gcd.reduce(steps)))).astype(float)
    return np.full(values.size, np.inf)


def most_sums(values: FloatArray, copies: int, /) -> float:
    """Bound of the number of different sums of so many draws of ascending values."""
    if copies == 1:
        return float(values.size)
    size = 1 + int(np.count_nonzero(np.diff(values)))
    if size == 1:
        return 1.0
    on_lattice = float(lattice_places(values)[-1]) * copies + 1.0
    if size + copies >= 100:
        return on_lattice
    return min(
        on_lattice, math.exp(math.lgamma(size + copies) - math.lgamma(copies + 1) - math.lgamma(size)) * (1 + 1e-9)
    )


_ROUND_UP = 1 + 2.0**-50
_LEAST_NORMAL = 2.0**-1022
LARGEST_CONVOLUTION = 1 << 16
"""Atoms of the largest sum of several rows that is worked out exactly; others are worked out on a grid of so many."""

_ALL_SUMS, _FEWEST_SUMS = 1 << 22, 1 << 13
"""Points of the grid of the sums of all units, for each of them; and the fewest."""

PARTS = 16
"""Parts of a step of the grid, to the nearest of which a value is moved before it is split between two points."""

_FEWEST_CELLS = 8
"""Steps of the grid over the range of one row, at the least."""

_SPECK_BITS, SPECKS = 1000, 1e-290
"""Weights below about 2**-1000 count as none with noise that needs a delta; and the sum of all these, at the most."""

_SAMPLE = 1 << 12
"""Laws are compared where half of so many rows at the most differ from one another."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitLaws:
    r"""Law of one unit's contribution, for every unit: the sum of `copies` independent draws of a mixture

    .. math:: \sum_m \alpha_m N(\mu_m, \sigma_m^2)
    """

    units: Sequence[Secret]
    """Names of the units, shape (units,)."""
    weights: FloatArray
    """Weights of the components of all units, unit after unit, shape (components,)."""
    means: FloatArray
    """Means, or positions of atoms, ascending within a unit, shape (components,), in units of the value."""
    stds: FloatArray
    """Standard deviations, 0 for an atom, shape (components,)."""
    starts: IndexArray
    """Start of each unit's components, and the end of the last, shape (units + 1,)."""
    copies: FloatArray
    """How many independent draws a unit adds up, shape (units,)."""
    given: tuple[Prior, ...] = ()
    """The priors, where the laws were given as such."""
    times: IndexArray | None = None
    """How many rows of a unit have each value, shape (components,), where the laws are observed frequencies."""

    @classmethod
    def of_priors(cls, priors: Mapping[Secret, Prior], /) -> UnitLaws:
        """One given prior per unit, of its whole contribution."""
        sizes = [prior.means.size for prior in priors.values()]
        return cls(
            units=list(priors),
            weights=np.concatenate([prior.weights for prior in priors.values()]),
            means=np.concatenate([prior.means for prior in priors.values()]),
            stds=np.concatenate([prior.stds for prior in priors.values()]),
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
            copies=np.ones(len(sizes)),
            given=tuple(priors.values()),
        )

    @classmethod
    def of_rows(
        cls,
        units: Sequence[Secret],
        values: FloatArray,
        starts: IndexArray,
        /,
        *,
        times: IndexArray | None = None,
        added: bool,
    ) -> UnitLaws:
        """The observed frequencies of each unit's rows; of one row, or of all its rows added.

        - `units`: sequence, shape (units,).
        - `values` (array, shape (values,)): Ascending within a unit.
        - `starts`: array, shape (units + 1,).
        - `times` (array, shape (values,)): In how many rows each value is; in one without it.
        """
        times = np.ones(values.size, dtype=np.intp) if times is None else times
        sizes = np.add.reduceat(times, starts[:-1])
        return cls(
            units=units,
            weights=times / np.repeat(sizes, np.diff(starts)),
            means=values,
            stds=np.zeros(values.size),
            starts=starts,
            copies=sizes.astype(float) if added else np.ones(sizes.size),
            times=times,
        )

    @classmethod
    def of_gaussians(
        cls, units: Sequence[Secret], values: FloatArray, starts: IndexArray, /, *, times: IndexArray, added: bool
    ) -> UnitLaws:
        """The Gaussian of each unit's mean and standard deviation (population form); of one row, or of all added."""
        sizes, own = np.add.reduceat(times, starts[:-1]), np.diff(starts)
        centre = np.repeat(values[starts[:-1]], own)
        means = np.add.reduceat(times * (values - centre), starts[:-1]) / sizes
        deviations = values - centre - np.repeat(means, own)
        stds = np.sqrt(np.add.reduceat(times * deviations**2, starts[:-1]) / sizes)
        k = sizes.astype(float) if added else np.ones(sizes.size)
        return cls(
            units=units,
            weights=np.ones(sizes.size),
            means=k * (values[starts[:-1]] + means),
            stds=np.sqrt(k) * stds,
            starts=np.arange(sizes.size + 1),
            copies=np.ones(sizes.size),
        )

    def __len__(self) -> int:
        return len(self.units)

    @property
    def is_discrete(self) -> bool:
        """True where every component is an atom."""
        return not self.stds.any()

    def rows(self) -> tuple[FloatArray, IndexArray]:
        """The value of each row, and where each unit's rows begin, and the end of the last."""
        assert self.times is not None  # of observed frequencies alone
        starts = np.append(0, np.cumsum(self.times))[self.starts]
        return np.repeat(self.means, self.times), starts

    def only(self, k: int, /) -> UnitLaws:
        """The law of unit number k alone."""
        return self._at(np.array([k]))

    def some(self, units: Iterable[Secret], /) -> UnitLaws:
        """The laws of some units, by their names."""
        number = {unit: k for k, unit in enumerate(self.units)}
        return self._at(np.array([number[unit] for unit in units], dtype=np.intp))

    def first(self, count: int, /) -> UnitLaws:
        """The laws of the first units, or of all where there are fewer."""
        return self._at(np.arange(min(count, len(self))))

    def _at(self, numbers: IndexArray) -> UnitLaws:
        held, starts = rows_of(numbers, self.starts)
        return replace(
            self,
            units=[self.units[k] for k in numbers.tolist()],
            weights=self.weights[held],
            means=self.means[held],
            stds=self.stds[held],
            starts=starts,
            copies=self.copies[numbers],
            given=tuple(self.given[k] for k in numbers.tolist()) if self.given else (),
            times=None if self.times is None else self.times[held],
        )

    def different(self) -> UnitLaws:
        """The laws without those of an earlier unit, where they are observed frequencies of few different values."""
        rows = self.means.size
        if self.times is None or np.unique(self.means[:_SAMPLE]).size > min(rows, _SAMPLE) // 2:
            return self
        values, most = np.unique(self.means), int(self.times.max())
        cells = np.searchsorted(values, self.means) * most + self.times - 1
        return self._at(first_of_equals(cells, self.starts, values.size * most))

    def prior(self, k: int, /, *, width: float | None = None, parts: int = 1) -> Prior:
        """The law of unit number k as a prior; of a sum of rows as `sum_of_draws` with the width and parts.

        Raises ArgumentError for a sum of too many rows of different values.
        """
        if self.given:
            return self.given[k]
        part = slice(self.starts[k], self.starts[k + 1])
        if self.stds[part].any():
            return Prior.mixture(self.weights[part], self.means[part], self.stds[part])
        rows = Prior.empirical(self.means[part], self.weights[part] if self.times is None else self.times[part])
        return sum_of_draws(rows, int(self.copies[k]), width=width, parts=parts)

    def priors(self, units: Sequence[int] | None = None, /) -> dict[Secret, Prior]:
        """The laws of units as priors, of all or of those with these numbers.

        Sums of too many different values lie on one grid, the same for all units.
        """
        return self.blurred_priors(units, parts=1)[0]

    def blurred_priors(
        self, units: Sequence[int] | None = None, /, *, parts: int = PARTS
    ) -> tuple[dict[Secret, Prior], tuple[float, float]]:
        """The same, with rows that are split between the two grid points beside them where there is a grid.

        Besides the radius of the priors, this moves a sum at random with mean 0: by how much is the second result, as
        in `Noise.cost_of_blur`.
        """
        numbers = range(len(self)) if units is None else units
        width = self._common_width(numbers)
        most = 0.0 if width is None or parts == 1 else float(max(self.copies[k] for k in numbers))
        blur = (math.sqrt(most) * 0.5 * (width or 0.0) * _ROUND_UP, most * (width or 0.0) * _ROUND_UP)
        return {self.units[k]: self.prior(k, width=width, parts=parts) for k in numbers}, blur

    def _common_width(self, numbers: Sequence[int]) -> float | None:
        """Distance of the points of a grid for the sums of units; None where all sums are few enough without."""
        if self.given or not self.is_discrete or (self.copies == 1).all():
            return None
        rows = [self.means[self.starts[k] : self.starts[k + 1]] for k in numbers]
        copies = [int(self.copies[k]) for k in numbers]
        if sum(map(most_sums, rows, copies)) <= 2 * LARGEST_CONVOLUTION:
            return None
        lowest = min(k * float(values[0]) for k, values in zip(copies, rows, strict=True))
        highest = max(k * float(values[-1]) for k, values in zip(copies, rows, strict=True))
        most = min(max(_FEWEST_SUMS, _ALL_SUMS // len(rows), 64 * max(copies)), LARGEST_CONVOLUTION)
        values = np.unique(np.append(np.concatenate(rows), 0.0))
        places = lattice_places(values)  # of a lattice through 0, on which every sum lies
        if (highest - lowest) * places[-1] < most * (values[-1] - values[0]):
            return None
        return grid_width(highest - lowest, most - max(copies), rows=max(copies))

    def coupled_distance(self, units: Sequence[int], /) -> float:
        """Bound of the W-infinity distance of the contributions of any two of these units, from that of one row each.

        The rows that both have are drawn together: a rest of so many rows more is what it is at the most.
        """
        if self.given or not self.is_discrete:
            return math.inf
        copies = self.copies[list(units)]
        most, least = float(copies.max()), float(copies.min())
        one = replace(self, copies=np.ones(len(self))).priors(units)
        largest = max(float(np.abs(prior.means).max()) for prior in one.values())
        rest = (most - least) * largest + 2 * _rounding([largest], int(most))
        return (most * w_infinity_diameter(list(one.values())) + rest) * _ROUND_UP

    def largest(self) -> FloatArray:
        """Largest possible |D| of each unit, shape (units,); infinite for a Gaussian component."""
        reach = np.where(self.stds > 0, np.inf, np.abs(self.means))
        return self.copies * np.maximum.reduceat(reach, self.starts[:-1])

    def log_moment(self, t: float, /) -> FloatArray:
        r"""Log :math:`E e^{tD}` of one draw per unit, shape (units,)."""
        return self._log_mean(t * self.means + 0.5 * (t * self.stds) ** 2)

    def log_absolute_moment(self, t: float, /) -> FloatArray:
        r"""Log :math:`E e^{t|D|}` of one draw per unit, shape (units,); t of either sign.

        .. math:: E e^{t|Z|} = e^{vt^2/2} \left( e^{mt} \Phi(m/\sqrt v + \sqrt v t)
                  + e^{-mt} \Phi(-m/\sqrt v + \sqrt v t) \right)
        """
        exponents = t * np.abs(self.means)
        wide = np.flatnonzero(self.stds)
        if wide.size:
            centre, shift = self.means[wide] / self.stds[wide], self.stds[wide] * t
            tilt = centre * shift
            sides = np.logaddexp(tilt + log_ndtr(centre + shift), -tilt + log_ndtr(shift - centre))
            exponents[wide] = 0.5 * shift**2 + sides
        return self._log_mean(exponents)

    def _log_mean(self, exponents: FloatArray) -> FloatArray:
        """Log of the weighted mean of e^exponents per unit."""
        highest = np.maximum.reduceat(exponents, self.starts[:-1])
        terms = exponents - np.repeat(highest, np.diff(self.starts))
        np.exp(terms, out=terms)
        terms *= self.weights
        return highest + np.log(np.add.reduceat(terms, self.starts[:-1]))


def sum_of_draws(prior: Prior, copies: int, /, *, width: float | None = None, parts: int = 1) -> Prior:
    """Law of the sum of independent draws of a discrete prior, in exact integer weights.

    Values are read as the decimal fractions that they print as, so that 0.1 + 0.3 and 0.2 + 0.2 are one sum. Where that
    or the rounding of a sum moves it, the radius of the law says by how much at most: the k values by k max|v| 2**-53,
    and the sum by as much again. With a width, and where there are more than 65,536 different sums, each value is first
    moved to the nearest multiple of the width, and the radius says that too. With several parts it is moved to the
    nearest such part of a width, and from there to the points on both sides, with probabilities that keep its mean: the
    radius says the first move alone.

    Raises ArgumentError for so many draws that the grid would have fewer than eight points over the range of the
    values.
    """
    if copies == 1 and width is None:
        return prior
    if width is not None:
        return _sum_on_grid(prior, copies, width, parts=parts)
    values = prior.means.tolist()
    decimals = [Fraction(str(value)) for value in values]
    denominator = math.lcm(*(decimal.denominator for decimal in decimals))
    whole = [int(decimal * denominator) for decimal in decimals]
    divisor = math.gcd(*(number - whole[0] for number in whole)) or 1
    steps = [(number - whole[0]) // divisor for number in whole]
    found = power(steps, prior.levels[0].tolist(), copies, most=LARGEST_CONVOLUTION)
    if found is None:
        return _sum_on_grid(prior, copies, grid_width(values[-1] - values[0], LARGEST_CONVOLUTION // copies - 2))
    numerators = [copies * whole[0] + divisor * place for place in found[0]]
    sums = _quotients(numerators, Fraction(1, denominator))
    law = Prior.of_levels(sums, np.array(found[1], dtype=object))
    integral = denominator == 1 and max(abs(numerators[0]), abs(numerators[-1])) < 2**53
    exact = (Fraction(found) * denominator == whole for found, whole in zip(sums.tolist(), numerators, strict=True))
    if integral or (decimals == values and all(exact)):
        return law
    return replace(law, radius=_rounding(values, copies))


def grid_width(reach: float, cells: int, /, *, rows: int = 1) -> float:
    """A width of few bits with at most so many cells in a reach of the sum of so many rows.

    Raises ArgumentError for fewer than eight cells.
    """
    if cells < _FEWEST_CELLS * rows:
        raise ArgumentError(
            "the rows that a unit adds up",
            rule=f"at most {LARGEST_CONVOLUTION // (_FEWEST_CELLS + 2):,} or have at most {LARGEST_CONVOLUTION:,} sums",
            got="more",
            hint='Say contribution="draw" for one row per unit, or laws="gaussian".',
        )
    mantissa, exponent = math.frexp(reach / cells)
    return max(math.ldexp(math.ceil(mantissa * 64), exponent - 6), _LEAST_NORMAL)


def _sum_on_grid(prior: Prior, copies: int, width: float, *, parts: int = 1) -> Prior:
    """Law of the sum of values that are moved to a grid first: by at most k times the farthest move of one value."""
    step, values = Fraction(width), prior.means.tolist()
    fine = [round(Fraction(value) / step * parts) for value in values]
    moved = max(abs(Fraction(value) - place * step / parts) for place, value in zip(fine, values, strict=True))
    split: dict[int, int] = {}
    for place, level in zip(fine, prior.levels[0].tolist(), strict=True):
        below, part = divmod(place, parts)
        split[below] = split.get(below, 0) + level * (parts - part)
        if part:
            split[below + 1] = split.get(below + 1, 0) + level * part
    places = sorted(split)
    levels = {place: split[place] for place in places}
    found = power([place - places[0] for place in levels], list(levels.values()), copies, most=2 * LARGEST_CONVOLUTION)
    assert found is not None  # the grid of the sum has no more points
    first = copies * places[0]
    sums = _quotients([first + place for place in found[0]], step)
    radius = float(copies * moved) + _rounding(values, copies)
    return replace(Prior.of_levels(sums, np.array(found[1], dtype=object)), radius=radius * _ROUND_UP)


def _quotients(numbers: list[int], unit: Fraction) -> FloatArray:
    """Ascending whole numbers times a unit, each rounded once."""
    times, by = unit.as_integer_ratio()
    if max(abs(numbers[0]) * times, abs(numbers[-1]) * times, by) < 2**53:
        return np.array(numbers, dtype=np.float64) * times / by  # the products are whole floats
    return np.array([number * times / by for number in numbers])


def _rounding(values: Sequence[float], copies: int) -> float:
    """How far reading the values as decimals and rounding their sum can move it."""
    return copies * max(map(abs, values)) * 2.0**-52 * _ROUND_UP + _LEAST_NORMAL


def without_specks(prior: Prior, /) -> Prior:
    """A discrete prior without the atoms whose weight no float holds; their probability is at most `SPECKS`."""
    levels, total = prior.levels
    if total.bit_length() < _SPECK_BITS:
        return prior
    held = np.array([level.bit_length() + _SPECK_BITS > total.bit_length() for level in map(int, levels)])
    if held.all():
        return prior
    return replace(Prior.of_levels(prior.means[held], levels[held]), radius=prior.radius)
