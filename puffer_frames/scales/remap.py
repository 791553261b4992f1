"""Post-processing by the posterior median: each noisy value becomes a value of the column, at no cost of privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from scipy.special import ndtr

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.adding import Reals
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.postprocessing import Replacement
from puffer_frames.numbers.rounding import LARGEST
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.priors.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaplaceMedians:
    r"""Sums of exponentials over atoms :math:`x_1 < \dots < x_K` with weights p and Laplace noise of scale b.

    **Rounding**: every sum is one of positive terms, taken at an atom, so that none leaves the floats and far atoms
    become 0. **Cost**: K log K.
    See docs/theory.md, section 15.
    """

    values: FloatArray
    """The atoms, ascending."""
    weights: FloatArray
    """Their probabilities, greater than 0."""
    scale: float
    """b."""
    upto: FloatArray
    """:math:`A_i = \\sum_{j \\le i} p_j e^{-(x_i - x_j)/b}`."""
    since: FloatArray
    """:math:`B_i = \\sum_{j \\ge i} p_j e^{-(x_j - x_i)/b}`."""
    after: FloatArray
    """The same without the atom itself."""

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, scale: float, /) -> Self:
        with np.errstate(over="ignore"):
            decay = np.exp(-np.diff(values) / scale)
        since = _running(weights[::-1], decay[::-1])[::-1]
        return cls(
            values=values,
            weights=weights,
            scale=scale,
            upto=_running(weights, decay),
            since=since,
            after=np.append(decay * since[1:], 0.0),
        )

    def thresholds(self) -> tuple[IndexArray, FloatArray]:
        r"""Places of atoms, and where the median goes from each of them to the next: -inf or inf where it does not.

        The root of :math:`F_k(y) = \sum_{j \le k} p_j e^{-|y - x_j|/b} - \sum_{j > k} p_j e^{-|y - x_j|/b}`, which is
        positive, then negative. A half-line where it is 0 belongs to the lower atom.
        """
        n = self.values.size
        k = np.arange(n - 1)
        low, high = np.full(n - 1, -1), np.full(n - 1, n)
        while (high - low > 1).any():
            middle = (low + high) // 2
            positive = self._signs(middle.clip(0, n - 1), k) >= 0
            low, high = np.where(positive, middle, low), np.where(positive, high, middle)
        inside = low.clip(0, n - 2)
        roots = self._roots(inside, k)
        found: FloatArray = np.where(low < 0, -np.inf, np.where(low == n - 1, np.inf, roots))
        return np.arange(n), found

    def crossing(self, ends: IndexArray, thresholds: FloatArray, /) -> FloatArray:
        """The probability of an atom up to the place `ends` and a noisy value beyond the threshold, for each of them.

        - `ends` (array of int): Places of atoms.
        - `thresholds` (array): As many, finite.
        """
        last = np.searchsorted(self.values, thresholds, side="right") - 1
        below, above = np.minimum(last, ends), np.minimum(last + 1, self.values.size - 1)
        with np.errstate(over="ignore"):
            found = 0.5 * self.upto[below] * self._decay(thresholds - self.values[below])
            found[below < 0] = 0.0
            beyond = self.since[above] * self._decay(self.values[above] - thresholds)
            beyond -= self.after[ends] * self._decay(self.values[ends] - thresholds)
        cumulative = np.append(0.0, np.cumsum(self.weights))
        between = cumulative[ends + 1] - cumulative[last.clip(-1, ends) + 1] - 0.5 * beyond
        return found + np.where(ends > last, between, 0.0)

    def _signs(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """The sign of F_k at the atom i."""
        total = self.upto[i] + self.after[i]
        left = total - 2 * self.after[k] * self._apart(i, k)
        right = 2 * self.upto[k] * self._apart(k, i) - total
        return np.where(i <= k, left, right)

    def _roots(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """The root of F_k between the atoms i and i + 1."""
        left = np.where(i <= k, self.upto[i], 2 * self.upto[k] * self._apart(k, i) - self.upto[i])
        right = np.where(i < k, 2 * self.after[k] * self._apart(i + 1, k) - self.since[i + 1], self.since[i + 1])
        # left e^(-(y - x_i)/b) = right e^(-(x_(i+1) - y)/b)
        with np.errstate(divide="ignore", over="ignore"):
            move = 0.5 * self.scale * (np.log(np.maximum(left, 0.0)) - np.log(np.maximum(right, 0.0)))
            roots = 0.5 * self.values[i] + 0.5 * self.values[i + 1] + move
        return np.clip(roots, self.values[i], self.values[i + 1])

    def _apart(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """e^(-(x_k - x_i)/b) for i up to k, else at most 1."""
        with np.errstate(over="ignore"):
            return self._decay(self.values[k] - self.values[i])

    def _decay(self, distances: FloatArray) -> FloatArray:
        return np.exp(-np.maximum(distances, 0.0) / self.scale)


def _running(weights: FloatArray, decay: FloatArray) -> FloatArray:
    """Sums up to each atom, in which the earlier ones decay from atom to atom."""
    total, sums = 0.0, []
    for weight, kept in zip(weights.tolist(), [0.0, *decay.tolist()], strict=True):
        total = weight + kept * total
        sums.append(total)
    return np.array(sums)


MOST_ATOMS = 1 << 11
"""Beyond this many atoms, close ones are taken as one."""
_FINENESS = 16
"""Close is within so small a part of a standard deviation of the noise."""
_PARTS = 4
"""A cell is so many parts for the expected error."""
_END = 38.0
"""Beyond so many standard deviations lies less than the smallest normal float."""
_LOST = 1e-18
"""Share of the probability that is beyond a window."""
_TOLERANCE = 1e-12
_MOST_STEPS = 200
_CHUNK = 1 << 22
"""Terms that are looked at together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GaussianMedians:
    """Atoms and Gaussian noise of scale theta.

    **Cost**: of up to 2,048 atoms some ten sums per atom over those within about ten standard deviations; seconds for
    65,000. Of more than 2,048 those in one cell are taken as their median: cells are at most theta / 16 and 1 / 2,048
    of the range wide. That adds at most a cell to the expected error, which counts it, to about 1e-6 of it.
    See docs/theory.md, section 15.
    """

    values: FloatArray
    """The atoms, ascending."""
    weights: FloatArray
    """Their probabilities, greater than 0."""
    scale: float
    """theta."""

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, scale: float, /) -> Self:
        return cls(values=values, weights=weights, scale=scale)

    def thresholds(self) -> tuple[IndexArray, FloatArray]:
        """Places of atoms, and where the median goes from each of them to the next: -inf or inf where it does not."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            places, weights = self._cells()
            return places, _Roots(values=self.values[places], log_weights=np.log(weights), scale=self.scale).found()

    def crossing(self, ends: IndexArray, thresholds: FloatArray, /) -> FloatArray:
        """As `LaplaceMedians.crossing`."""
        values, weights, ends = self._grouped(ends)
        with np.errstate(over="ignore"):
            starts = np.searchsorted(values, thresholds - _END * self.scale)
            stops = np.searchsorted(values, thresholds + _END * self.scale, side="right")
        starts, stops = np.minimum(starts, ends + 1), np.minimum(stops, ends + 1)
        cumulative = np.append(0.0, np.cumsum(weights))
        sure: FloatArray = cumulative[ends + 1] - cumulative[stops]
        for rows, owner, atoms in _windows(starts, stops):
            tails = weights[atoms] * ndtr((values[atoms] - thresholds[rows][owner]) / self.scale)
            sure[rows] += np.bincount(owner, tails, minlength=rows.stop - rows.start)
        return sure

    def _width(self) -> float:
        """The width of the cells, where there are many atoms."""
        return min(self.scale / _FINENESS, 2 * float(0.5 * self.values[-1] - 0.5 * self.values[0]) / MOST_ATOMS)

    def _starts(self, width: float) -> IndexArray:
        """The start of each cell of this width."""
        cells = np.floor(self.values / width - self.values[0] / width)
        return np.flatnonzero(np.append(True, np.diff(cells) > 0))

    def _grouped(self, ends: IndexArray) -> tuple[FloatArray, FloatArray, IndexArray]:
        """Means and weights of the atoms in parts of cells, cut after each end; and the last group up to each end."""
        n = self.values.size
        if n <= MOST_ATOMS:
            return self.values, self.weights, ends
        starts = np.union1d(self._starts(self._width() / _PARTS), ends[ends < n - 1] + 1)
        weights = np.add.reduceat(self.weights, starts)
        means = np.add.reduceat(self.weights * self.values, starts) / weights
        return means, weights, np.searchsorted(starts, ends, side="right") - 1

    def _cells(self) -> tuple[IndexArray, FloatArray]:
        """The median atom of each cell, and the cell's weight."""
        n = self.values.size
        if n <= MOST_ATOMS:
            return np.arange(n), self.weights
        starts = self._starts(self._width())
        weights = np.add.reduceat(self.weights, starts)
        cumulative = np.cumsum(self.weights)
        middles = cumulative[starts] - self.weights[starts] + 0.5 * weights
        places = np.searchsorted(cumulative, middles)
        return places.clip(starts, np.append(starts[1:], n) - 1), weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Roots:
    """The roots of log sum_(j <= k) p_j f(y - x_j) - log sum_(j > k) p_j f(y - x_j), which falls in y."""

    values: FloatArray
    log_weights: FloatArray
    scale: float

    def found(self) -> FloatArray:
        """One for each k: by Newton's method within brackets, else by halving; -inf or inf beyond 38 scales."""
        n = self.values.size
        ends = np.clip(self.values[[0, -1]] + np.array([-_END, _END]) * self.scale, -LARGEST, LARGEST)
        low, high = np.full(n - 1, ends[0]), np.full(n - 1, ends[1])
        before, beyond = self._signs(ends[0]) < 0, self._signs(ends[1]) >= 0
        y = np.clip(0.5 * self.values[:-1] + 0.5 * self.values[1:], low, high)
        active, moved = np.flatnonzero(~before & ~beyond), np.full(n - 1, np.inf)
        for _ in range(_MOST_STEPS):
            if not active.size:
                break
            ratio, slope = self._ratio(y[active], active)
            low[active] = np.where(ratio >= 0, y[active], low[active])
            high[active] = np.where(ratio >= 0, high[active], y[active])
            newton = y[active] - ratio / slope
            step = np.abs(newton - y[active])
            good = (newton >= low[active]) & (newton <= high[active]) & (step <= 0.5 * moved[active])
            halved = 0.5 * low[active] + 0.5 * high[active]
            moved[active] = np.where(good, step, high[active] - low[active])
            y[active] = np.where(good, newton, halved)
            tolerance = _TOLERANCE * self.scale + 4 * np.spacing(np.abs(y[active]))
            active = active[moved[active] > tolerance]
        return np.where(before, -np.inf, np.where(beyond, np.inf, y))

    def _signs(self, y: float) -> FloatArray:
        """The sign for every k at one y."""
        logs = self.log_weights - 0.5 * ((y - self.values) / self.scale) ** 2
        terms = np.exp(logs - logs.max())
        left = np.cumsum(terms)[:-1]
        return left - np.cumsum(terms[::-1])[::-1][1:]

    def _ratio(self, y: FloatArray, k: IndexArray) -> tuple[FloatArray, FloatArray]:
        """The difference of the logs at y, and its slope."""
        place = np.searchsorted(self.values, y)
        before, after = (place - 1).clip(0), place.clip(max=self.values.size - 1)
        near = np.minimum(np.abs(y - self.values[before]), np.abs(self.values[after] - y)) / self.scale
        spare = 2 * (-math.log(_LOST) - float(self.log_weights.min()))
        reach = np.sqrt(near**2 + spare) * self.scale
        starts = np.minimum(np.searchsorted(self.values, y - reach), before)
        stops = np.maximum(np.searchsorted(self.values, y + reach, side="right"), after + 1)
        ratio, slope = np.empty_like(y), np.empty_like(y)
        for rows, owner, atoms in _windows(starts, stops):
            away = (self.values[atoms] - y[rows][owner]) / self.scale
            terms = np.exp(self.log_weights[atoms] - 0.5 * (away**2 - near[rows][owner] ** 2))
            left = np.where(atoms <= k[rows][owner], terms, 0.0)
            sums = [
                np.bincount(owner, each, minlength=rows.stop - rows.start)
                for each in (left, left * away, terms - left, (terms - left) * away)
            ]
            ratio[rows] = np.log(sums[0]) - np.log(sums[2])
            slope[rows] = (sums[1] / sums[0] - sums[3] / sums[2]) / self.scale
        return ratio, slope


def _windows(starts: IndexArray, stops: IndexArray) -> Iterator[tuple[slice, IndexArray, IndexArray]]:
    """Places from start to stop for each row, end to end: some rows, which of them a place is for, and the places."""
    lengths = np.maximum(stops - starts, 0)
    total = np.cumsum(lengths)
    first = 0
    while first < starts.size:
        done = total[first] - lengths[first]
        last = max(first + 1, int(np.searchsorted(total, done + _CHUNK, side="right")))
        rows = slice(first, last)
        owner = np.repeat(np.arange(last - first), lengths[rows])
        begins = total[rows] - lengths[rows] - done
        yield rows, owner, np.arange(owner.size) - begins[owner] + starts[rows][owner]
        first = last


Medians: TypeAlias = LaplaceMedians | GaussianMedians


FOLLOWS = 0.5
"""Released values that spread as the raw ones do, at a smaller correlation, are further off than the mean: their mean
squared error is 2 (1 - correlation) variances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """How released values follow the raw ones, which their mean absolute error does not tell."""

    correlation: float
    error: float
    """Root mean squared, in standard deviations of the raw values."""
    shift: float
    """Expected mean of the released values less that of the raw ones."""
    share: float
    """By how much the share of a single value is off, at most, on average."""

    @property
    def is_loose(self) -> bool:
        """Whether they hardly do."""
        return self.correlation < FOLLOWS or self.error > 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remap:
    r"""The value of the column with the least expected absolute error given the noisy value, and what that error is.

    It is the posterior median under the pooled frequencies p of the column, the lower one where there are two:

    .. math:: \min \{x_k : \sum_{j \le k} p_j f(y - x_j) \ge \tfrac12 \sum_j p_j f(y - x_j)\}

    Notes
    -----
    Values that can be released are neighbours in the column: those far out may be left out, and cells of close ones.
    **Guarantee**: none of its own. It is a function of the noisy value alone, with p taken as fixed, as the scale is.
    Of a column that was counted in cells the values are the centres of cells. **Cost**: under Laplace noise under a
    second for 65,000 values, under Gaussian noise some seconds.

    References
    ----------
    docs/theory.md, section 15.

    Examples
    --------
    >>> remap = Remap.of(np.array([0.0, 1.0, 9.0]), np.array([1, 5, 4]), Laplace(scale=1.0))
    >>> remap.values.tolist(), remap.thresholds.round(4).tolist(), round(remap.expected_error, 4)
    ([1.0, 9.0], [5.1471], 0.1679)
    """

    step: Replacement
    """The values that can be released, and the thresholds between them."""
    values_before: int
    """How many different values the column has, or cells."""
    expected_error: float
    """Mean absolute error of a released value, in units of the column."""
    unchanged: float
    """Probability that the released value is that of the record."""

    @property
    def values(self) -> FloatArray:
        """The values that can be released, ascending."""
        return self.step.values

    @property
    def thresholds(self) -> FloatArray:
        """A noisy value up to the k-th threshold, and beyond the one before, becomes the k-th value; ascending."""
        return self.step.thresholds

    @classmethod
    def pooled(cls, summary: Summary, noise: NoiseFamily, /) -> Self:
        """The posterior medians of a column, all secrets together. A domain has clipped what was counted."""
        return cls.of(*_together(summary), noise)

    def is_that_of(self, summary: Summary, noise: NoiseFamily, /) -> bool:
        """Whether a column leads to it, but for rounding: what replaces noisy values, and how near these are."""
        own = self.pooled(summary, noise)
        sizes = own.values_before == self.values_before and np.array_equal(own.values, self.values)
        found, known = ([*one.thresholds, one.expected_error, one.unchanged] for one in (self, own))
        return sizes and np.allclose(found, known, rtol=1e-6)

    @classmethod
    def of(cls, values: FloatArray, counts: Reals, noise: NoiseFamily, /) -> Self:
        """The posterior medians of a column.

        Parameters
        ----------
        values : array, shape (n,)
            The values of all rows of the table, or centres of cells; they may repeat.
        counts : array, shape (n,)
            How many rows have each.
        noise : Noise
            With its scale, in units of the column.

        Raises
        ------
        ArgumentError
            For other noise than Laplace and Gaussian.
        """
        check_noise(noise)
        atoms, weights = _law(values, counts)
        medians = _medians(atoms, weights, noise)
        released, thresholds = _released(*medians.thresholds())
        return cls(
            step=Replacement(values=atoms[released], thresholds=thresholds),
            values_before=atoms.size,
            expected_error=_error(medians, released, thresholds, noise=noise),
            unchanged=_unchanged(atoms[released], weights[released], thresholds, noise=noise),
        )

    def followed(self, summary: Summary, noise: NoiseFamily, /) -> Followed:
        """How released values follow those of the column that they were found for, under the same noise."""
        atoms, weights = _law(*_together(summary))
        unit = 2 * float(0.5 * atoms[-1] - 0.5 * atoms[0]) or 1.0
        raw, released = ((values / unit - atoms[0] / unit) + 1 for values in (atoms, self.values))  # in [1, 2]
        ends = np.full(self.thresholds.size, atoms.size - 1)
        mean, shares = float(weights @ raw), weights * raw
        above = _medians(atoms, weights, noise).crossing(ends, self.thresholds)
        weighted = mean * _medians(atoms, shares / mean, noise).crossing(ends, self.thresholds)  # E[X 1(Y > y)]
        law = -np.diff(np.concatenate([[1.0], above, [0.0]])).clip(max=0.0)
        after = float(law @ released)
        spread, other = float(weights @ (raw - mean) ** 2), float(law @ (released - after) ** 2)
        together = float(np.diff(released) @ (weighted - mean * above))
        error = max(0.0, spread + other - 2 * together + (after - mean) ** 2)
        _, places = np.unique(np.append(atoms, self.values), return_inverse=True)
        off = np.bincount(places, np.append(weights, -law))
        if not spread:
            return Followed(correlation=1.0, error=0.0, shift=0.0, share=0.0)
        return Followed(
            correlation=together / math.sqrt(spread * other) if other else 0.0,
            error=math.sqrt(error / spread),
            shift=(after - mean) * unit,
            share=float(np.abs(off).max()),
        )


def _together(summary: Summary) -> tuple[FloatArray, FloatArray]:
    """Values of a column and their rows, all secrets together."""
    values, counts = zip(*summary.counts.values(), strict=True)
    return np.concatenate(values), np.concatenate(counts)


def _law(values: FloatArray, counts: Reals) -> tuple[FloatArray, FloatArray]:
    """Different values, ascending, and their frequencies."""
    atoms, places = np.unique(values, return_inverse=True)
    sums = np.bincount(places, counts)
    return atoms[sums > 0], sums[sums > 0] / sums.sum()


def _medians(atoms: FloatArray, weights: FloatArray, noise: NoiseFamily) -> Medians:
    family = LaplaceMedians if isinstance(noise, Laplace) else GaussianMedians
    return family.of(atoms, weights, noise.scale)


def check_noise(noise: NoiseFamily, /) -> None:
    """Raise ArgumentError for noise under which the posterior median does not rise with the noisy value."""
    if not isinstance(noise, (Laplace, Gaussian)):
        raise ArgumentError(
            "family",
            rule='"laplace" or "gaussian" with remap=True',
            got=f"{noise.title} noise",
            hint="Under heavy tails a far noisy value tells little, so there are no thresholds: leave remap out.",
        )


def _released(places: IndexArray, thresholds: FloatArray) -> tuple[IndexArray, FloatArray]:
    """The places of values that can be released, and the finite thresholds between them."""
    ends = np.concatenate([[-np.inf], np.maximum.accumulate(thresholds), [np.inf]])
    kept = np.flatnonzero(ends[:-1] < ends[1:])
    return places[kept], ends[kept[1:]]


def _unchanged(values: FloatArray, weights: FloatArray, thresholds: FloatArray, *, noise: NoiseFamily) -> float:
    with np.errstate(over="ignore"):
        beyond = np.append(1.0, noise.survival(thresholds - values[1:]))
        within = beyond - np.append(noise.survival(thresholds - values[:-1]), 0.0)
    return min(1.0, float(weights @ within.clip(0.0)))


def _error(medians: Medians, released: IndexArray, thresholds: FloatArray, *, noise: NoiseFamily) -> float:
    """E|X - Y|, gap by gap between released values: how likely X and Y are on different sides of it, times its width.

    Halves of values are used, whose differences are floats.
    """
    atoms, weights = medians.values, medians.weights
    half, steps = 0.5 * atoms, 0.5 * atoms[released]
    outside = float(weights @ ((steps[0] - half).clip(0.0) + (half - steps[-1]).clip(0.0)))
    if not thresholds.size:
        return 2 * outside
    mirrored = type(medians).of(-atoms[::-1], weights[::-1], noise.scale)
    over = medians.crossing(released[:-1], thresholds)
    under = mirrored.crossing(atoms.size - 1 - released[:0:-1], -thresholds[::-1])[::-1]
    gaps = float(np.diff(steps) @ (over + under))
    between = np.setdiff1d(np.arange(released[0], released[-1]), released)  # atoms inside a gap
    gap = np.searchsorted(released, between) - 1
    with np.errstate(over="ignore"):
        tails = noise.survival(thresholds[gap] - atoms[between])
    costs = (steps[gap + 1] - half[between]) * tails + (half[between] - steps[gap]) * (1 - tails)
    return 2 * (outside + gaps + float(weights[between] @ costs))
