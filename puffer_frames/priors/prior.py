"""The adversary's prior: a finite mixture of Gaussians and atoms."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puffer_frames.errors import ArgumentTypeError, PriorError, short_traceback
from puffer_frames.numbers.arguments import check_number

Secret: TypeAlias = Hashable
"""A value of the secret column (a tuple of values where the secret is several columns)."""

FloatArray: TypeAlias = NDArray[np.float64]
IndexArray: TypeAlias = NDArray[np.intp]

MEANS_ERROR = 2.0**-15
"""How far the mean of values that were counted in a cell may be from the one given, as a part of its width."""
_WEIGHT_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prior:
    r"""Law of the public value given one secret: :math:`\sum_m \alpha_m N(\mu_m, \sigma_m^2)`.

    A component with standard deviation 0 is an atom, so that empirical, Bernoulli, Gaussian, mixture and
    point-mass priors are all of this type. Make one with `gaussian`, `mixture`, `empirical` or `bernoulli`.
    The arrays are read-only, sorted by mean, without zero weights and without repeated components.
    """

    weights: FloatArray
    """Positive weights, shape (components,), summing to 1."""
    means: FloatArray
    """Means, or positions of the atoms, shape (components,), in units of the column."""
    stds: FloatArray
    """Standard deviations, shape (components,), 0 for an atom."""
    levels: tuple[NDArray[Any], int]
    """Exact weights as integers and their sum: weight k is `levels[0][k] / levels[1]`. They are the counts of
    an empirical prior; decimal weights are read as the decimal fractions that they print as."""
    radius: float = 0.0
    """How far, in units of the column, the true position of each atom may be from the given one, or from the middle of
    its cell: values that were counted in cells. What the library says of the prior holds for all true positions."""
    in_cells: bool = False
    """Whether each atom is the mean, within `MEANS_ERROR` of a cell and rounding, of values that lie in one cell with
    it, of twice the radius, that begins at a multiple of this width."""

    def __post_init__(self) -> None:
        for array in (self.weights, self.means, self.stds, self.levels[0]):
            array.setflags(write=False)

    @classmethod
    @short_traceback
    def gaussian(cls, mean: float, std: float) -> Prior:
        """Gaussian prior with the given mean and standard deviation (0 for a point mass).

        Examples
        --------
        >>> Prior.gaussian(0.0, 2.0)
        Prior(1 Gaussian, mean 0, std 2)
        """
        mean, std = check_number(mean, "mean"), check_number(std, "std")
        if not (math.isfinite(mean) and math.isfinite(std) and std >= 0):
            return cls.mixture([1.0], [mean], [std])  # which names what is wrong
        one = np.ones(1, dtype=np.int64)
        return cls(weights=np.ones(1), means=np.array([mean + 0.0]), stds=np.array([std + 0.0]), levels=(one, 1))

    @classmethod
    @short_traceback
    def mixture(cls, weights: ArrayLike, means: ArrayLike, stds: ArrayLike) -> Prior:
        """Mixture of Gaussians and atoms (std 0).

        Parameters
        ----------
        weights : array_like, shape (components,)
            Non-negative, summing to 1 within 1e-6 (then normalised).
        means, stds : array_like, shape (components,)
            Finite; standard deviations at least 0.

        Raises
        ------
        PriorError
            For other shapes, non-finite numbers, negative weights or standard deviations, or another sum.

        Examples
        --------
        >>> Prior.mixture([0.5, 0.5], [0.0, 100.0], [1.0, 1.0])
        Prior(2 Gaussians, mean 50, std 50.01)
        """
        w = _vector(weights, "weights")
        mu, sigma = _vector(means, "means"), _vector(stds, "stds")
        if not w.shape == mu.shape == sigma.shape:
            raise PriorError(
                "weights, means and stds",
                rule="of one length",
                got=f"lengths {w.size}, {mu.size} and {sigma.size}",
                hint="Give one weight, mean and standard deviation per component.",
            )
        if (sigma < 0).any():
            raise _not("stds", "at least 0", "a negative one", "Use 0 for an atom.")
        total = math.fsum(w)
        if abs(total - 1) > _WEIGHT_SUM_TOLERANCE:
            raise _not("weights", "a distribution (sum 1)", f"the sum {total:.6g}", "Divide them by their sum.")
        return cls._assemble(mu, sigma, *_integer_levels(w))

    @classmethod
    @short_traceback
    def empirical(cls, values: ArrayLike, counts: ArrayLike | None = None, *, radius: float = 0.0) -> Prior:
        """Observed frequencies: one atom per distinct value.

        Parameters
        ----------
        values : array_like, shape (n,)
            Finite values, in any order, repeated or not.
        counts : array_like, shape (n,), optional
            How often each value was seen, or its relative weight; 1 each by default.
        radius : float
            How far each value may be from the one that it stands for (half the width of a cell); 0 by default.

        Raises
        ------
        PriorError
            For no value, non-finite numbers, negative counts, counts that are all 0, or a negative radius.

        Notes
        -----
        **Cost**: one sort.

        Examples
        --------
        >>> Prior.empirical([1, 2, 2, 5])
        Prior(3 atoms, mean 2.5, std 1.5)
        """
        x = _vector(values, "values")
        if counts is None:
            levels: NDArray[Any] = np.ones(x.size, dtype=np.int64)
        else:
            c = _vector(counts, "counts")
            if c.shape != x.shape:
                raise _not("counts", f"of the length of values ({x.size})", f"length {c.size}", "Give one per value.")
            integral = bool((c == np.rint(c)).all()) and float(c.sum()) < 2**53
            levels = c.astype(np.int64) if integral else _integer_levels(c)[0]
        radius = check_number(radius, "radius")
        if not 0 <= radius < math.inf:
            raise _not("radius", "finite and at least 0", f"{radius:g}", "Leave it out for exact values.")
        return cls._assemble(x, np.zeros_like(x), levels, int(levels.sum()), radius=radius)

    @classmethod
    def of_levels(cls, values: FloatArray, levels: NDArray[Any], /) -> Prior:
        """Atoms with positive integers of any size as weights."""
        return cls._assemble(values, np.zeros_like(values), levels, int(levels.sum()))

    @classmethod
    @short_traceback
    def bernoulli(cls, p: float) -> Prior:
        """Atoms at 0 and 1 with P(1) = p, 0 <= p <= 1.

        Examples
        --------
        >>> Prior.bernoulli(0.25).weights
        array([0.75, 0.25])
        """
        p = check_number(p, "p")
        if not 0 <= p <= 1:
            raise _not("p", "a probability", repr(p), "Give a number from 0 to 1.")
        one = Fraction(str(p))
        values, levels = np.array([0.0, 1.0]), _common([1 - one, one])
        return cls._assemble(values, np.zeros(2), levels, int(levels.sum()))

    @classmethod
    def _assemble(
        cls, means: FloatArray, stds: FloatArray, levels: NDArray[Any], total: int, *, radius: float = 0.0
    ) -> Prior:
        """Sort, merge equal components, drop those of weight 0."""
        means = means + 0.0  # -0.0 becomes 0.0
        order = np.lexsort((stds, means))
        means, stds, levels = means[order], stds[order], levels[order]
        fresh = np.ones(means.size, dtype=bool)
        fresh[1:] = (means[1:] != means[:-1]) | (stds[1:] != stds[:-1])
        starts = np.flatnonzero(fresh)
        levels = np.add.reduceat(levels, starts)
        kept = levels > 0
        means, stds, levels = means[starts][kept], stds[starts][kept], levels[kept]
        if not means.size:
            raise _not("a prior", "of positive weight", "weight 0", "Leave out secrets that never occur.")
        weights = (levels / total).astype(np.float64)
        return cls(weights=weights, means=means, stds=stds, levels=(levels, total), radius=radius)

    @property
    def ends(self) -> tuple[float, float]:
        """No value is below the first number or above the second one; of a Gaussian both are infinite."""
        if not self.is_discrete:
            return -math.inf, math.inf
        low, high = self.means[[0, -1]] if not self.in_cells else middles(self.means[[0, -1]], self.radius)
        return float(low) - self.radius, float(high) + self.radius

    @property
    def is_discrete(self) -> bool:
        """True where every component is an atom."""
        return not self.stds.any()

    def at_middles(self) -> Prior:
        """With the middles of the cells as atoms, within the radius of all values; the prior itself without cells."""
        return replace(self, means=middles(self.means, self.radius), in_cells=False) if self.in_cells else self

    def at_means(self) -> Prior:
        """Treat each cell mean as an exact atom. Unsound by itself: only for engines that pay for the cell width."""
        return replace(self, radius=0.0, in_cells=False) if self.in_cells else self

    @property
    def mean(self) -> float:
        """Expectation, in units of the column."""
        centre = float(self.means[0])
        return centre + float(self.weights @ (self.means - centre))

    @property
    def std(self) -> float:
        """Standard deviation, in units of the column."""
        deviations = self.means - self.mean
        unit = max(float(np.abs(deviations).max()), float(self.stds.max())) or 1.0  # keeps squares in range
        return unit * math.sqrt(float(self.weights @ ((self.stds / unit) ** 2 + (deviations / unit) ** 2)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return (
            np.array_equal(self.means, other.means)
            and np.array_equal(self.stds, other.stds)
            and np.array_equal(self.weights, other.weights)
            and self.radius == other.radius
            and self.in_cells == other.in_cells
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        atoms = int((self.stds == 0).sum())
        parts = [
            f"{n} {word}{'s' * (n > 1)}" for n, word in ((atoms, "atom"), (self.stds.size - atoms, "Gaussian")) if n
        ]
        return f"Prior({' and '.join(parts)}, mean {self.mean:.4g}, std {self.std:.4g})"


def observed_priors(
    counts: Mapping[Secret, tuple[FloatArray, NDArray[np.int64]]], /, *, radius: float = 0.0
) -> dict[Secret, Prior]:
    """`Prior.empirical` of many secrets at once.

    - `counts` (mapping of secret to (values, counts)): Different values in ascending order, and how often each occurs,
      at least once.
    - `radius`: Half the width of the cells that the values are the means of, as in `Summary`; 0 for the values
      themselves.

    **Cost**: some microseconds per secret; the arrays of the priors are parts of common ones.
    """
    sizes = np.array([values.size for values, _ in counts.values()])
    ends = np.cumsum(sizes)
    means = np.concatenate([values for values, _ in counts.values()]) + 0.0  # -0.0 becomes 0.0
    levels = np.concatenate([often for _, often in counts.values()])
    totals = np.add.reduceat(levels, ends - sizes)
    weights, stds = levels / np.repeat(totals, sizes), np.zeros(int(sizes.max()))
    places = zip(counts, (ends - sizes).tolist(), ends.tolist(), totals.tolist(), strict=True)
    return {
        secret: Prior(
            weights=weights[a:b],
            means=means[a:b],
            stds=stds[: b - a],
            levels=(levels[a:b], total),
            radius=radius,
            in_cells=radius > 0,
        )
        for secret, a, b, total in places
    }


def check_priors(priors: Iterable[object], /) -> None:
    """Raise ArgumentTypeError unless each is a Prior."""
    for prior in priors:
        if not isinstance(prior, Prior):
            raise ArgumentTypeError(
                "a prior", rule="a Prior", got=f"a {type(prior).__name__}", hint="Write Prior.empirical(values)."
            )


def middles(values: FloatArray, radius: float, /) -> FloatArray:
    """Middles of the cells that hold the values, of twice the radius; the values themselves where it is 0."""
    return (np.floor(values / (2 * radius)) + 0.5) * (2 * radius) if radius else values


def gaussian_priors(secrets: Iterable[Secret], means: FloatArray, stds: FloatArray, /) -> dict[Secret, Prior]:
    """`Prior.gaussian` of many secrets at once, of finite means and standard deviations of at least 0."""
    one, level, means, stds = np.ones(1), np.ones(1, dtype=np.int64), means + 0.0, stds + 0.0
    return {
        secret: Prior(weights=one, means=means[k : k + 1], stds=stds[k : k + 1], levels=(level, 1))
        for k, secret in enumerate(secrets)
    }


def _not(what: str, rule: str, got: str, hint: str) -> PriorError:
    return PriorError(what, rule=rule, got=got, hint=hint)


def _vector(numbers: ArrayLike, name: str) -> FloatArray:
    try:
        given = np.asarray(numbers)
        array = given.astype(np.float64) if given.dtype.kind in "buifO" else None  # not text of digits, nor dates
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None:
        got = f"a {type(numbers).__name__} of something else"
        raise _not(name, "a list of numbers in the range of floats", got, "Give one number per component.")
    if array.ndim != 1 or not array.size:
        raise _not(name, "a non-empty list of numbers", f"shape {array.shape}", "Give one number per component.")
    if not np.isfinite(array).all():
        raise _not(name, "finite", "a NaN or an infinity", "Leave such entries out.")
    if name in ("weights", "counts"):
        if (array < 0).any():
            raise _not(name, "at least 0", "a negative one", "Give frequencies or probabilities.")
        if not array.any():
            raise _not(name, "of positive sum", "only zeros", "Give at least one positive weight.")
    return array


def _integer_levels(weights: FloatArray) -> tuple[NDArray[Any], int]:
    """Weights as integers over a common denominator; 0.1 is read as one tenth."""
    levels = _common([Fraction(str(w)) for w in weights.tolist()])
    return levels, int(levels.sum())


def _common(fractions: list[Fraction]) -> NDArray[Any]:
    denominator = math.lcm(*(f.denominator for f in fractions))
    levels = [int(f * denominator) for f in fractions]
    divisor = math.gcd(*levels)
    levels = [level // divisor for level in levels]
    small = sum(levels) < 2**53
    return np.array(levels, dtype=np.int64 if small else object)
