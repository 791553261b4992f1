"""Several rows of one unit, and several releases of the same rows: what they change about a scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.arguments import Target, check_count, check_word
from puffer_frames.numbers.rounding import up

MOST_REPEATS = 1_000_000
"""Rows of a unit, and releases."""


@short_traceback
@dataclass(frozen=True, slots=True)
class Unit:
    """Rows that belong together: those of one person, patient or household, which share the secret.

    Parameters
    ----------
    column : column name
        Names the unit of each row.
    rows : "independent", "repeated" or "any"
        What is assumed of the k rows of a unit, at most, given its secret.

        - "independent": they are independent draws of the law of a row. Each row has the scale for epsilon / k, which
          is exact for pure privacy. With delta it is the one at which the loss of all k rows together is confirmed,
          where that is known, and else the one for epsilon / k and delta / k.
        - "repeated": they all hold the same values, and all units have the same number of them. The scale is k times
          that of one row (of Gaussian noise the standard deviation sqrt(k) times).
        - "any": nothing. The noise is for the whole range of every column, k times.
    most : int, optional
        Largest number of rows of a unit, a public constant; a table with more is an error. By default the largest
        number in the table, which the certificate then tells.
    over : "raise" or "sample"
        What becomes of a unit with more rows than `most`: an error, or as many of its rows, chosen at random whatever
        they hold, and the others left out. The choice depends on the place of a row alone: the same frame has the same
        rows each time. Not for "repeated" rows.

    Raises
    ------
    ArgumentError
        For a value out of range.

    References
    ----------
    docs/theory.md, section 17 (T5, T6).

    Examples
    --------
    >>> from puffer_frames import Unit
    >>> Unit("patient", rows="independent", most=4)
    Unit(column='patient', rows='independent', most=4, over='raise')
    """

    column: str
    rows: Literal["independent", "repeated", "any"]
    most: int | None = None
    over: Literal["raise", "sample"] = "raise"

    def __post_init__(self) -> None:
        hint = 'Write rows="any", which assumes nothing of the rows of a unit.'
        check_word(self.rows, "rows", ("independent", "repeated", "any"), hint=hint)
        if self.most is not None:
            check_count(self.most, "most", at_least=1, at_most=MOST_REPEATS)
        check_word(self.over, "over", ("raise", "sample"))
        if self.over == "sample" and (self.most is None or self.rows == "repeated"):
            raise ArgumentError(
                "over",
                rule='"sample" only with most=, and not for repeated rows, of which units must have the same number',
                got='"sample"',
                hint='Write Unit("patient", rows="independent", most=4, over="sample").',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How many rows of a unit, and how many releases, a guarantee is for."""

    rows: int = 1
    """Rows of a unit, at most."""
    assumed: str = ""
    """What is assumed of these: "independent", "repeated" or "any"; empty without units."""
    releases: int = 1
    """Releases of the same columns with the same scales."""
    composed: bool = False
    """Whether the loss of all rows is computed together, for epsilon and delta, in place of that of one for a share."""

    @property
    def shares(self) -> int:
        """How many rows share epsilon and delta."""
        return self.rows if self.assumed in ("independent", "any") and not self.composed else 1

    @property
    def measured(self) -> int:
        """How many rows the losses are of."""
        return self.rows if self.composed else 1

    @property
    def copies(self) -> int:
        """How many noisy copies there are of one value."""
        return self.releases * (self.rows if self.assumed == "repeated" else 1)

    def of_unit(self, loss: float, /, *, any_law: bool = False, delta: float = 0.0) -> float:
        """The loss of all rows of a unit from that of one row, which may be a delta; a bound.

        Independent rows add up. Where nothing is assumed of them, only the losses under any law do; else it is NaN.
        """
        if self.assumed == "any" and self.shares > 1 and not any_law:
            return math.nan
        return min(1.0, self.shares * loss) if delta else self.shares * loss

    def of_all(self, loss: float, /) -> float:
        """The pure loss of all noisy copies of all rows of a unit under any law, from that of one; a bound."""
        return self.shares * self.measured * self.copies * loss

    def asked(self, target: Target, /, *, noise: NoiseFamily, columns: int) -> Target:
        """What the noise of one value must meet; the rounding of all further copies to the grid is paid for."""
        asked = target.share(self.shares)
        if self.composed:
            values = (self.rows * self.copies - 1) * columns
            if values * noise.rounding[0] >= target.epsilon / 2:
                raise ArgumentError(
                    "epsilon",
                    rule="far more than what a grid of floats costs for all rows of a unit and all releases",
                    got=f"{target.epsilon:g}",
                    hint="Ask for a larger epsilon, or for fewer rows or releases.",
                )
            return noise.unrounded(target, values=values)
        for _ in range(columns * (self.copies - 1)):
            asked = noise.unrounded(asked)
        return asked

    def of_releases(self, noise: NoiseFamily, /) -> float:
        """How much of it the planned releases account for."""
        return Repeats(releases=self.releases).factor(noise)

    def factor(self, noise: NoiseFamily, /) -> float:
        """How much larger the scale of each copy is than one for all, rounded up.

        Raises ArgumentError for several copies with noise that has no rule for them.
        """
        if self.copies == 1:
            return 1.0
        if isinstance(noise, Laplace):
            return float(self.copies)
        if isinstance(noise, Gaussian):
            return math.nextafter(math.sqrt(self.copies), math.inf)
        raise ArgumentError(
            "releases" if self.releases > 1 else "unit",
            rule=f"left out with {noise.name} noise: there is no rule for several noisy copies of a value",
            got=f"{self.copies} copies",
            hint="Use Laplace noise.",
        )


def times(scale: float, factor: float, /) -> float:
    """The product, rounded up."""
    return up(Fraction(scale) * Fraction(factor)) if factor != 1 and scale else scale
