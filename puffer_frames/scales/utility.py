"""What a release makes of a column: raw values beside those that are released in their place, whatever was done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.priors.prior import FloatArray

NEARLY = 0.99
"""An error of so much of a constant's is nearly that."""
SHIFTED = 0.05
"""There is a warning where the share of a level is off by more."""
FAR_MEAN = 0.1
"""There is one where the mean is off by more, in mean distances of the values from their median."""
TIMES, _NOT_RARE = 1.5, 0.02
"""There is a warning, too, where a level that is so large a share of the table or of a release comes so many times as
often in one of them as in the other."""
_LARGE_FACTOR = 10
_BELOW = 0.1
"""There is one where the share of the numbers up to some value is off by more."""
_TWICE, _OFTEN, _MOSTLY = 2.0, 0.03, 0.9
"""There is one where a number comes more than so many times as often, or as seldom, that so many rows have; of columns
in which numbers of most rows are as frequent."""
FOLLOWS = 0.5
"""Released values that spread as the raw ones do, at a smaller correlation, are further off than the mean: their mean
squared error is 2 (1 - correlation) variances."""
_DRAWN = 1 << 13
"""Values that a release is simulated of."""
_GROWN = 1.15
"""An error that is so many times another one is no longer that."""


def sampled(values: FloatArray, counts: NDArray[Any], size: int, /) -> tuple[FloatArray, FloatArray]:
    """So many of the values of rows, ascending, and the weight of each; `counts` are the rows of each.

    Each comes as often as it has rows, and as it adds to the mean distance from the median: a few rows far out, too.
    """
    order = np.argsort(values, kind="stable")
    values, shares = values[order], counts[order] / counts.sum()
    middle = values[np.searchsorted(np.cumsum(shares), 0.5 - 1e-9)]
    away = np.abs(0.5 * values - 0.5 * middle)
    away /= away.max() or 1.0
    often = 1 + away / (float((shares * away).sum()) or 1.0)
    upto = np.cumsum(shares * often)
    found = np.searchsorted(upto, (np.arange(size) + 0.5) * (upto[-1] / size))
    return values[found], 1 / often[found]


@lru_cache(maxsize=8)
def public_noise(noise: NoiseFamily, /) -> FloatArray:
    """Noise that anybody can draw again, to measure with."""
    stream = ReleaseKey.of(0).stream(Purpose.NOISE, "utility")
    return add_noise(np.zeros(_DRAWN), noise.sampler(), stream=stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far the shares of the levels, or cells, of a column in a release are from those of the table, on average."""

    shift: float
    """By how much the share of a level differs, the largest of all."""
    times: float
    """So many times as often, or as seldom, a level that is not rare comes in a release, the most of all."""

    @property
    def is_shifted(self) -> bool:
        """Whether counts of a level in a release are far from those of the table."""
        return self.shift > SHIFTED or self.times > TIMES

    @property
    def shift_text(self) -> str:
        """How far, in words."""
        factor = f"of {self.times:.1f}" if self.times < _LARGE_FACTOR else f"above {_LARGE_FACTOR}"
        return f"by up to {self.shift:.2f}" + f" (one by a factor {factor})" * (self.times > TIMES)


def shift_of(before: NDArray[Any], after: NDArray[Any], /) -> Shift:
    """For the shares of the same levels in the table and in a release."""
    low, high = np.minimum(before, after), np.maximum(before, after)
    times = (high / np.maximum(low, 1e-9)).max(where=high >= _NOT_RARE, initial=1.0)
    return Shift(shift=float((high - low).max()), times=float(times))


@dataclass(frozen=True, slots=True, kw_only=True)
class Utility:
    """What a release makes of a column of numbers, on average."""

    error: float
    """Mean distance of a released value to the raw one."""
    constant: float
    """The same of the median in place of every value."""
    moved: float
    """The mean of the released values less that of the raw ones."""
    correlation: float
    """Of the released values with the raw ones."""
    squared: float
    """Root mean squared distance, in standard deviations of the raw values."""
    below: float
    """By how much the share of the rows up to a value is off, the most of all values."""
    beyond: float
    """Share of the rows with a value beyond all that come out."""
    times: float
    """So many times as often, or as seldom, a value of many rows comes in a release, the most of all; 1 of a column of
    which most values are those of few rows."""

    @classmethod
    def of(cls, raw: FloatArray, released: FloatArray, weights: FloatArray | None = None, /) -> Self:
        """Of values side by side, each pair with the share of the rows that have it; by default all the same."""
        shares = np.full(raw.size, 1 / raw.size) if weights is None else weights / weights.sum()

        def expected(of: FloatArray) -> float:
            return float((shares * of).sum())  # not by BLAS, whose threads wait for one another on a busy machine

        order, there = np.argsort(raw, kind="stable"), shares > 0
        middle = raw[order][min(int(np.searchsorted(np.cumsum(shares[order]), 0.5)), raw.size - 1)]
        unit = float(np.abs(0.5 * raw - 0.5 * middle).max()) or 1.0  # halves, and squares, of huge values stay in range
        with np.errstate(over="ignore", invalid="ignore"):
            x, y = ((0.5 * side - 0.5 * middle) / unit for side in (raw, released))
            apart, moved, mean = np.abs(y - x), expected(y - x), expected(x)
            spread, other = (expected((z - expected(z)) ** 2) for z in (x, y))
            together, square = expected((x - mean) * (y - mean - moved)), expected(apart**2)
        values, places = np.unique(np.append(raw, released), return_inverse=True)
        before, after = (np.bincount(part, shares, values.size) for part in np.split(places, 2))
        often = before > _OFTEN
        ratio = np.maximum(before, after)[often] / np.maximum(np.minimum(before, after)[often], 1e-9)
        low, high = released[there].min(), released[there].max()
        return cls(
            error=2 * unit * expected(apart),
            constant=2 * unit * expected(np.abs(x)),
            moved=2 * unit * moved,
            correlation=1.0 if not spread else together / math.sqrt(spread * other) if other else 0.0,
            squared=math.sqrt(square / spread) if spread else 0.0,
            below=float(np.abs(np.cumsum(before - after)).max()),
            beyond=float(shares[(raw < low) | (raw > high)].sum()),
            times=float(ratio.max(initial=1.0)) if before[often].sum() > _MOSTLY else 1.0,
        )

    @property
    def is_loose(self) -> bool:
        """Whether the released values hardly follow the raw ones."""
        return self.correlation < FOLLOWS or self.squared > 1

    @property
    def is_moved(self) -> bool:
        """Whether the mean is off by far."""
        return abs(self.moved) > FAR_MEAN * self.constant

    @property
    def cautions(self) -> dict[str, str]:
        """The sentences of a certificate that tell of such a release, and what a plan says."""
        found = {}
        if self.is_loose:
            figures = f"correlation with them {self.correlation:.2f}, root mean squared error {self.squared:.2f}"
            found["channel-loose"] = f"RELEASED VALUES HARDLY FOLLOW THE RAW ONES: {figures} standard deviations"
        if self.below > _BELOW or self.beyond > SHIFTED or self.times > _TWICE:
            one = f", that of one by a factor of {min(self.times, 99):.1f} or more" * (self.times > _TWICE)
            beyond = f"; {self.beyond:.0%} lie beyond all that come out" * (self.beyond >= 0.005)
            off = f"that of the rows up to some value by {self.below:.2f}{one}{beyond}"
            found["remap-shares"] = f"SHARES OF VALUES ARE OFF: {off}"
        if self.is_moved:
            found["remap-means"] = f"THE MEAN IS OFF: by {self.moved:.4g} on average"
        return found

    def is_worse(self, before: Utility, /) -> bool:
        """Whether what was done since leaves clearly less, or another mean."""
        grown = self.error > _GROWN * before.error + 1e-9 * self.constant
        return grown or (self.is_moved and not before.is_moved) or self.correlation < FOLLOWS <= before.correlation
