"""An estimate: a number or several, with standard errors, intervals and a text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri, stdtrit

from puffer_frames.errors import ArgumentError, ColumnNotFoundError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import small_frame
from puffer_frames.numbers.presentation import Rows, as_html, as_text, shown
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.scored import Scores

Target: TypeAlias = Literal["table", "population"]
Number: TypeAlias = Any
"""A float, or an array of them where there are several estimates."""

_MOST_SHOWN = 24
_LEVEL = 0.95
_NORMAL = 1e9
"""From so many degrees of freedom Student's t is normal."""


class Interval(NamedTuple):
    """The ends of confidence intervals, as in SciPy."""

    low: Number
    high: Number


@short_traceback
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Estimate:
    """What a statistic of the values behind a release is estimated to be.

    `value` and `standard_error` are floats for one number, arrays for several: a matrix for covariances, else in the
    order of `labels`.
    """

    what: str
    """The statistic, in words."""
    value: Number
    """In units of the columns."""
    standard_error: Number
    """Of the value; the standard deviation of the resamples for estimates by unfolding."""
    labels: Mapping[str, tuple[Any, ...]]
    """What the numbers are of, by columns of `to_frame`: groups, shares, ends of bins, terms. Empty for one number."""
    rows: int
    """How many rows it was estimated from."""
    target: Target
    """"table": of the raw rows, so that only the noise is random; "population": of what the rows are draws from."""
    notes: tuple[str, ...] = ()
    """What else to know of it."""
    assumptions: tuple[str, ...] = ()
    """What it rests on that nothing can check: of a release that lacks rows or columns."""
    resamples: FloatArray | None = field(default=None)
    """Estimates from resampled rows, shape (resamples, numbers): intervals hold their quantiles, on both sides."""
    least: float = -math.inf
    """No interval of resamples goes below it."""
    covariance: FloatArray | None = field(default=None)
    """Of the numbers, where it is known."""
    freedom: Number = math.inf
    """Degrees of freedom of Student's t in the intervals, shaped as the value; infinite for normal ones."""
    scores: tuple[Scores, ...] = ()
    """Of coefficients, whose intervals are not even."""
    library: str
    """Library of the release."""

    def interval(self, level: float = _LEVEL) -> Interval:
        """Confidence intervals: quantiles of the resamples where there are any, of regressions by scores, else normal.

        Parameters
        ----------
        level : float
            Between 0 and 1.

        Raises
        ------
        ArgumentError
            For another level.
        """
        if not isinstance(level, Real) or not 0 < level < 1:
            got = f"{float(level):g}" if isinstance(level, Real) else f"a {type(level).__name__}"
            raise ArgumentError("level", rule="between 0 and 1", got=got, hint="Write level=0.95.")
        tail = (1 - float(level)) / 2
        if self.resamples is not None:
            low = np.quantile(self.resamples, tail, axis=0, method="lower").reshape(np.shape(self.value))
            high = np.quantile(self.resamples, 1 - tail, axis=0, method="higher").reshape(np.shape(self.value))
            # the other side too: where there is much noise, both the estimate and its resamples are too wide
            low, high = np.minimum(low, 2 * self.value - high), np.maximum(high, 2 * self.value - low)
            low = np.maximum(low, self.least)
            return Interval(low, high) if np.ndim(self.value) else Interval(float(low), float(high))
        if self.scores:
            ends = np.array([scores.interval(float(level)) for scores in self.scores])
            low, high = self.value + ends.T.reshape(2, *np.shape(self.value))
            return Interval(low, high) if np.ndim(self.value) else Interval(float(low), float(high))
        exact = stdtrit(np.minimum(self.freedom, _NORMAL), 1 - tail)
        reach = np.where(np.isinf(self.freedom), -float(ndtri(tail)), exact) * self.standard_error
        reach = reach if np.ndim(self.value) else float(reach)
        return Interval(self.value - reach, self.value + reach)

    def to_frame(self, level: float = _LEVEL) -> NativeFrame:
        """A small frame of the release's library, a row for each number.

        It has the columns of `labels`, then "value", "standard_error", "low" and "high" (ends of the interval); the
        ends of bins are "from" and "to".

        Parameters
        ----------
        level : float
            Of the intervals.

        Raises
        ------
        ArgumentError
            For a level beyond 0 to 1.
        """
        low, high = self.interval(level)
        numbers = {"value": self.value, "standard_error": self.standard_error, "low": low, "high": high}
        columns: dict[str, Any] = {name: list(entries) for name, entries in self.labels.items()}
        columns |= {name: np.ravel(found).tolist() for name, found in numbers.items()}
        return small_frame(columns, library=self.library)

    def __getitem__(self, label: object, /) -> Estimate:
        """One of several: by its label, or by a tuple where there are several columns of these."""
        rows = list(zip(*self.labels.values(), strict=True))
        wanted = label if isinstance(label, tuple) else (label,)
        if wanted not in rows:
            hint = "They are in .labels." if rows else "It is a single number: write .value."
            raise ColumnNotFoundError("the label", rule="one of the estimate", got="another", hint=hint)
        place = rows.index(wanted)
        return Estimate(
            what=f"{self.what}, {', '.join(map(str, wanted))}",
            value=float(np.ravel(self.value)[place]),
            standard_error=float(np.ravel(self.standard_error)[place]),
            labels={},
            rows=self.rows,
            target=self.target,
            notes=self.notes,
            assumptions=self.assumptions,
            resamples=None if self.resamples is None else self.resamples[:, [place]],
            least=self.least,
            freedom=float(np.ravel(np.broadcast_to(self.freedom, np.shape(self.value)))[place]),
            scores=self.scores[place : place + 1],
            library=self.library,
        )

    def _shown(self) -> tuple[str, Rows]:
        low, high = (np.ravel(end) for end in self.interval())
        value, error = np.ravel(self.value), np.ravel(self.standard_error)
        names = [", ".join(shown(_label(part)) for part in row) for row in zip(*self.labels.values(), strict=True)]
        names, more = (names or [""])[:_MOST_SHOWN], len(names) - _MOST_SHOWN
        width = max(map(len, names))
        lines = [
            f"{name:<{width}}  {value[k]:>10.6g}  {error[k]:>10.3g}  {low[k]:>10.6g}  {high[k]:>10.6g}"
            for k, name in enumerate(names)
        ]
        head = f"{'':<{width}}  {'value':>10}  {'std. error':>10}  {'low':>10}  {'high':>10}"
        text = "\n".join([head, *lines, *([f"and {more:,} more"] if more > 0 else [])])
        of = "the raw rows" if self.target == "table" else "the population that the rows are draws from"
        rows = [("of", f"{of}; {self.rows:,} released rows"), ("estimates", text), ("interval", "at 95 %")]
        rows += [("assumed", assumption) for assumption in self.assumptions]
        return f"Estimate: {self.what}", [*rows, *(("note", note) for note in self.notes)]

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(*self._shown())


def _label(part: object) -> str:
    return f"{part:.6g}" if isinstance(part, float) else str(part)
