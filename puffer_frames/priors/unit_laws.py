"""Laws of what many units contribute: mixtures laid end to end, so that 100,000 units are a few arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat

import numpy as np
from scipy.special import log_ndtr

from puffer_frames.errors import ArgumentError
from puffer_frames.numbers.powers import power
from puffer_frames.priors.equal_rows import first_of_equals, rows_of
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret

_ROUND_UP = 1 + 2.0**-50
_LEAST_NORMAL = 2.0**-1022
LARGEST_CONVOLUTION = 1 << 16
"""Atoms of the largest sum of several rows that is worked out."""

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
    """Where each unit's components begin, and the end of the last, shape (units + 1,)."""
    copies: FloatArray
    """How many independent draws a unit adds up, shape (units,)."""
    given: tuple[Prior, ...] = ()
    """The priors, where the laws were given as such."""

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
    def of_rows(cls, units: Sequence[Secret], values: FloatArray, starts: IndexArray, /, *, added: bool) -> UnitLaws:
        """The observed frequencies of each unit's rows; of one row, or of all its rows added.

        Parameters
        ----------
        units : sequence, shape (units,)
        values : array, shape (rows,)
            Ascending within a unit.
        starts : array, shape (units + 1,)
        added : bool
        """
        sizes = np.diff(starts)
        return cls(
            units=units,
            weights=np.repeat(1.0 / sizes, sizes),
            means=values,
            stds=np.zeros(values.size),
            starts=starts,
            copies=sizes.astype(float) if added else np.ones(sizes.size),
        )

    @classmethod
    def of_gaussians(
        cls, units: Sequence[Secret], values: FloatArray, starts: IndexArray, /, *, added: bool
    ) -> UnitLaws:
        """The Gaussian of each unit's mean and standard deviation (population form); of one row, or of all added."""
        sizes = np.diff(starts)
        centre = np.repeat(values[starts[:-1]], sizes)
        means = np.add.reduceat(values - centre, starts[:-1]) / sizes
        deviations = values - centre - np.repeat(means, sizes)
        stds = np.sqrt(np.add.reduceat(deviations**2, starts[:-1]) / sizes)
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

    def only(self, k: int, /) -> UnitLaws:
        """The law of unit number k alone."""
        part = slice(self.starts[k], self.starts[k + 1])
        return replace(
            self,
            units=[self.units[k]],
            weights=self.weights[part],
            means=self.means[part],
            stds=self.stds[part],
            starts=np.array([0, part.stop - part.start], dtype=np.intp),
            copies=self.copies[k : k + 1],
            given=self.given[k : k + 1],
        )

    def first(self, count: int, /) -> UnitLaws:
        """The laws of the first units, or of all where there are fewer."""
        starts = self.starts[: count + 1]
        stop = int(starts[-1])
        return replace(
            self,
            units=self.units[:count],
            weights=self.weights[:stop],
            means=self.means[:stop],
            stds=self.stds[:stop],
            starts=starts,
            copies=self.copies[:count],
            given=self.given[:count],
        )

    def different(self) -> UnitLaws:
        """The laws without those of an earlier unit, where they are observed frequencies of few different values."""
        sizes, rows = np.diff(self.starts), self.means.size
        if self.given or not self.is_discrete or np.unique(self.means[:_SAMPLE]).size > min(rows, _SAMPLE) // 2:
            return self
        alike = (self.copies == 1).all() or (self.copies == sizes).all()
        if not (alike and (self.weights == np.repeat(1.0 / sizes, sizes)).all()):
            return self
        values = np.unique(self.means)
        first = first_of_equals(np.searchsorted(values, self.means), self.starts, values.size)
        held, starts = rows_of(first, self.starts)
        return replace(
            self,
            units=[self.units[k] for k in first.tolist()],
            weights=self.weights[held],
            means=self.means[held],
            stds=self.stds[held],
            starts=starts,
            copies=self.copies[first],
        )

    def prior(self, k: int, /) -> Prior:
        """The law of unit number k as a prior.

        Raises
        ------
        ArgumentError
            For a sum of rows of too many different values.
        """
        if self.given:
            return self.given[k]
        part = slice(self.starts[k], self.starts[k + 1])
        if self.stds[part].any():
            return Prior.mixture(self.weights[part], self.means[part], self.stds[part])
        rows = Prior.empirical(self.means[part], self.weights[part] / self.weights[part].min())
        return sum_of_draws(rows, int(self.copies[k]))

    def priors(self) -> dict[Secret, Prior]:
        """The law of every unit as a prior."""
        return {unit: self.prior(k) for k, unit in enumerate(self.units)}

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
        log_mean: FloatArray = highest + np.log(np.add.reduceat(terms, self.starts[:-1]))
        return log_mean


def sum_of_draws(prior: Prior, copies: int, /) -> Prior:
    """Law of the sum of independent draws of a discrete prior, in exact integer weights.

    Values are read as the decimal fractions that they print as, so that 0.1 + 0.3 and 0.2 + 0.2 are one sum. Where that
    or the rounding of a sum moves it, the radius of the law says by how much at most: the k values by k max|v| 2**-53,
    and the sum by as much again.

    Raises
    ------
    ArgumentError
        For more than 65,536 different sums.
    """
    if copies == 1:
        return prior
    values = prior.means.tolist()
    decimals = [Fraction(str(value)) for value in values]
    denominator = math.lcm(*(decimal.denominator for decimal in decimals))
    whole = [int(decimal * denominator) for decimal in decimals]
    divisor = math.gcd(*(number - whole[0] for number in whole)) or 1
    steps = [(number - whole[0]) // divisor for number in whole]
    found = power(steps, prior.levels[0].tolist(), copies, most=LARGEST_CONVOLUTION)
    if found is None:
        raise ArgumentError(
            "the rows that a unit adds up",
            rule=f"of at most {LARGEST_CONVOLUTION:,} different sums",
            got="more",
            hint='Say contribution="draw" for one row per unit, or laws="gaussian".',
        )
    numerators = [copies * whole[0] + divisor * place for place in found[0]]
    sums = np.array([number / denominator for number in numerators])
    law = Prior.of_levels(sums, np.array(found[1], dtype=object))
    integral = denominator == 1 and max(abs(numerators[0]), abs(numerators[-1])) < 2**53
    if integral or (decimals == values and all(map(_is_exact, sums.tolist(), numerators, repeat(denominator)))):
        return law
    return replace(law, radius=copies * max(map(abs, values)) * 2.0**-52 * _ROUND_UP + _LEAST_NORMAL)


def _is_exact(number: float, numerator: int, denominator: int) -> bool:
    return Fraction(number) * denominator == numerator
