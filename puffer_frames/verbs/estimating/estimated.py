r"""An estimate: a number or several, with standard errors, intervals and a text.

Intervals of a ratio that hold among the answers that are given: Fieller's, given that the denominator is large.

An estimate :math:`\hat\beta = A / B` of sums A and B is refused where B is within `CLEAR` standard errors of 0. For a
coefficient b the score :math:`T = A - bB` has the mean 0, and a variance V(b) that is a quadratic. So
:math:`\tau = T / \sqrt{V}` is standard normal, however much noise there is ([F54]). Given that there is an answer it is
not. With :math:`x = B / \sigma_B` and the correlation r of both, :math:`U = x - r \tau` is independent of tau, and all
that B tells of its own mean. Given U and an answer, tau is standard normal where :math:`U + r \tau` is above `CLEAR`,
and has no other values (as in [LSST16]). The interval is of all b for which tau is in the likeliest 95 % of that law.

No rule whose intervals always have two ends holds for every mean of B ([GH87]). So b is left out where U is so small
that fewer than one release in a hundred would have an answer; then every interval has ends.

A correlation is refused where either of two variances is within `CLEAR` standard errors of 0. With the sums C of
products and P, Q of squares, in units of their estimates, its score :math:`C - \rho (k P + Q / k) / 2` has the mean 0
where k is the ratio of the two spreads, here the one that is told given rho. Both P and Q cut the law of tau.

References
----------
[F54] E. C. Fieller, Some problems in interval estimation, JRSS B 16 (1954).
[GH87] L. J. Gleser, J. T. Hwang, The nonexistence of 100(1 - alpha)% confidence sets of finite expected diameter in
errors-in-variables and related models, Annals of Statistics 15 (1987).
[LSST16] J. D. Lee, D. L. Sun, Y. Sun, J. E. Taylor, Exact post-selection inference, Annals of Statistics 44 (2016).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from puffer_frames.errors import ArgumentError, ColumnNotFoundError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import small_frame
from puffer_frames.numbers.presentation import Printed, Rows, aligned, shown
from puffer_frames.priors.prior import FloatArray

BoolArray: TypeAlias = NDArray[np.bool_]

CLEAR = 3.0
"""The spread behind the noise must be so many standard errors from 0, in every direction."""
_RARE = float(ndtri(0.01))
"""With a spread so many standard errors above the cut one release in a hundred has an answer."""
_UNRELATED = 1e-12
"""A correlation that cuts nothing."""
_LEAST_TOLD = 0.15
"""A share of its estimate: a smaller variance behind the noise counts as none."""
_ANGLES = 500
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    r"""How exact an estimate :math:`\hat\beta = A / B` is.

    The score of the coefficient t above it, :math:`A - (\hat\beta + t) B`, has the variance
    :math:`B^2 (q_0 + q_1 t + q_2 t^2)`.
    """

    constant: float
    linear: float
    square: float
    cut: float = CLEAR
    """There is an answer where B is more than so many standard errors from 0."""

    def interval(self, level: float, /) -> tuple[float, float]:
        """How far below and above the estimate its interval ends."""
        if self.square <= 0 or self.constant <= 0:  # without error of B, or of anything
            reach = -float(ndtri((1 - level) / 2)) * math.sqrt(max(self.constant, 0.0))
            return -reach, reach
        angles = np.linspace(0, math.pi / 2, _ANGLES + 2)[:-1]
        moves = math.sqrt(self.constant / self.square) * np.tan(angles)
        return self._end(-moves, level), self._end(moves, level)

    def _end(self, moves: FloatArray, level: float) -> float:
        """The last one in the interval; the first one is 0."""
        held = int(np.flatnonzero(self._hold(moves, level))[-1])
        inside, outside = moves[[held, min(held + 1, moves.size - 1)]].tolist()  # a correlation has bounds of its own
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            if self._hold(np.array([middle]), level)[0]:
                inside = middle
            else:
                outside = middle
        return float(outside)

    def _hold(self, moves: FloatArray, level: float) -> BoolArray:
        """Whether coefficients that are so far above the estimate are in the interval."""
        tau, clear = self._law(moves)
        begin, end, answered = np.full(tau.shape, -np.inf), np.full(tau.shape, np.inf), np.full(tau.shape, True)
        for told, r, cut in clear:
            ends = (cut - told) / np.where(np.abs(r) < _UNRELATED, _UNRELATED, r)
            begin, end = np.where(r < 0, begin, np.maximum(begin, ends)), np.where(r < 0, np.minimum(end, ends), end)
            answered &= told >= cut + _RARE
        # the likeliest part of what is left of the normal law is that which is nearest to 0
        nearer = _normal(np.maximum(begin, -np.abs(tau)), np.minimum(end, np.abs(tau)))
        return ((nearer <= level * _normal(begin, end)) & answered) | (moves == 0)

    def _law(self, moves: FloatArray) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray, float]]]:
        """Values of tau; and of each sum that must be clear, in its standard errors, U, r and the cut."""
        variances = self.constant + moves * (self.linear + moves * self.square)
        deviations = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
        tau = -moves / deviations
        r = -((self.linear + 2 * self.square * moves) / (2 * deviations * math.sqrt(self.square))).clip(-1.0, 1.0)
        return tau, [(1 / math.sqrt(self.square) - r * tau, r, self.cut)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CorrelationScores(Scores):
    """Scores of a correlation; the numbers of `Scores` are for k = 1."""

    value: float
    """The estimate."""
    sums: FloatArray
    """The covariance of C, P and Q, shape (3, 3)."""
    cuts: tuple[float, float]
    """There is an answer where P and Q are larger than these; the estimate of both is 1."""

    def interval(self, level: float, /) -> tuple[float, float]:
        """How far below and above the estimate its interval ends, within -1 and 1."""
        low, high = Scores.interval(self, level)
        return min(max(low, -1 - self.value), 1 - self.value), max(min(high, 1 - self.value), -1 - self.value)

    def _law(self, moves: FloatArray) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray, float]]]:
        halves, told = (self.value + moves) / 2, np.ones((2, moves.size))
        for _ in range(2):
            k = np.sqrt(told[1] / told[0])
            pull = np.stack([np.ones(moves.size), -halves * k, -halves / k])
            variances = np.einsum("ik,ij,jk->k", pull, self.sums, pull)
            deviations = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
            tau = (self.value + pull[1] + pull[2]) / deviations
            shared = self.sums[1:] @ pull / deviations
            left = 1 - shared * tau
            told = left.clip(_LEAST_TOLD, 1 / _LEAST_TOLD)
        errors = np.sqrt(self.sums.diagonal()[1:])
        return tau, [
            (left[j] / errors[j], (shared[j] / errors[j]).clip(-1.0, 1.0), self.cuts[j] / errors[j])
            for j in np.flatnonzero(self.cuts)
        ]


def _normal(begin: FloatArray, end: FloatArray) -> FloatArray:
    """The share of the normal law between two ends, from the side on which it is small."""
    begin, end = np.where(begin > 0, -end, begin), np.where(begin > 0, -begin, end)
    found: FloatArray = (ndtr(end) - ndtr(begin)).clip(0.0)
    return found


class Reach(Protocol):
    """What knows how far below and above its value an interval ends."""

    def interval(self, level: float, /) -> tuple[float, float]:
        """At a level."""


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
class Estimate(Printed):
    """What a statistic of the values behind a release is estimated to be.

    `value` and `standard_error` are floats for one number, arrays for several: a matrix for covariances, else in the
    order of `labels`.
    """

    what: str
    """The statistic, in words."""
    value: Number
    """In units of the columns."""
    standard_error: Number
    """Standard error of the value; the standard deviation of the resamples for estimates by unfolding."""
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
    rough: FloatArray | None = field(default=None)
    """What the rows themselves give where they are unfolded as the resamples are, shape (numbers,)."""
    least: float = -math.inf
    """No interval of resamples goes below it."""
    covariance: FloatArray | None = field(default=None)
    """Covariance of the numbers, where it is known."""
    freedom: Number = math.inf
    """Degrees of freedom of Student's t in the intervals, shaped as the value; infinite for normal ones."""
    scores: tuple[Reach, ...] = ()
    """Scores of coefficients and correlations, and bounds, whose intervals are not symmetric."""
    library: str
    """Library of the release."""

    def interval(self, level: float = _LEVEL) -> Interval:
        """Confidence intervals: quantiles of resamples where there are any, by scores if there are some, else normal.

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
            rough = self.value if self.rough is None else self.rough.reshape(np.shape(self.value))
            # the other side too: where there is much noise, both the estimate and its resamples are too wide; and about
            # what the rows give without smoothing, whose errors are those of the resamples
            ends = [[about - high, about - low] for about in (2 * self.value, rough + self.value)]
            low = np.maximum(np.min([low, *(end[0] for end in ends)], axis=0), self.least)
            high = np.max([high, *(end[1] for end in ends)], axis=0)
        elif self.scores:
            ends = np.array([scores.interval(float(level)) for scores in self.scores])
            low, high = self.value + ends.T.reshape(2, *np.shape(self.value))
        else:
            exact = stdtrit(np.minimum(self.freedom, _NORMAL), 1 - tail)
            reach = np.where(np.isinf(self.freedom), -float(ndtri(tail)), exact) * self.standard_error
            low, high = self.value - reach, self.value + reach
        return Interval(low, high) if np.ndim(self.value) else Interval(float(low), float(high))

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
        return replace(
            self,
            what=f"{self.what}, {', '.join(map(str, wanted))}",
            value=float(np.ravel(self.value)[place]),
            standard_error=float(np.ravel(self.standard_error)[place]),
            labels={},
            resamples=None if self.resamples is None else self.resamples[:, [place]],
            rough=None if self.rough is None else self.rough[[place]],
            covariance=None,
            freedom=float(np.ravel(np.broadcast_to(self.freedom, np.shape(self.value)))[place]),
            scores=self.scores[place : place + 1],
        )

    def _shown(self) -> tuple[str, Rows]:
        low, high = (np.ravel(end) for end in self.interval())
        value, error = np.ravel(self.value), np.ravel(self.standard_error)
        names = labels_text(self.labels)
        lines = [("", "value", "std. error", "low", "high")]
        for k, name in enumerate((names or [""])[:_MOST_SHOWN]):
            lines.append((name, f"{value[k]:.6g}", f"{error[k]:.3g}", f"{low[k]:.6g}", f"{high[k]:.6g}"))
        text = aligned(lines, more=len(names) - _MOST_SHOWN)
        of = "the raw rows" if self.target == "table" else "the population that the rows are draws from"
        rows = [("of", f"{of}; {self.rows:,} released rows"), ("estimates", text), ("interval", "at 95 %")]
        rows += [("assumed", assumption) for assumption in self.assumptions]
        return f"Estimate: {self.what}", [*rows, *(("note", note) for note in self.notes)]


def labels_text(labels: Mapping[str, tuple[Any, ...]], /) -> list[str]:
    """Labels as they are printed, one for each number; none for a number without."""
    rows = zip(*labels.values(), strict=True)
    return [", ".join(shown(f"{part:.6g}" if isinstance(part, float) else str(part)) for part in row) for row in rows]
