"""Quantiles and histograms of a released column, from its unfolded law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.bins import MOST_POINTS, BinnedColumn, even_support
from puffer_frames.verbs.estimating.noisy import NoisyColumn
from puffer_frames.verbs.estimating.unfolding import UnfoldedLaw, law_of_rows, unfold

_MOST_RESAMPLES = 100_000
_CLEAR = 9.0
"""Three standard errors, squared: of twice a difference of log-likelihoods."""
_FEWEST = 2
"""Of a single row no law is told from its noise."""
_OUTSIDE = 1e-3
"""Share of rows beyond each end of bins that only have a number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unfolding:
    """How a law is to be unfolded."""

    step: float | None
    """Values are multiples of it."""
    points: FloatArray | None
    """All values that there may be, ascending."""
    resamples: int
    rng: np.random.Generator
    population: bool

    @classmethod
    def of(cls, *, support: Any, resamples: Any, rng: Any, population: bool) -> Unfolding:
        """From arguments; raises ArgumentError for those that cannot be."""
        if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or not resamples >= 2:
            raise ArgumentError(
                "resamples", rule="an integer of at least 2", got="another", hint="Leave it out for 100."
            )
        if resamples > _MOST_RESAMPLES:
            raise ArgumentError(
                "resamples", rule=f"at most {_MOST_RESAMPLES:,}", got="more", hint="100 to 2,000 are usual."
            )
        if isinstance(rng, bool) or not isinstance(rng, (int, np.integer, np.random.Generator)):
            raise ArgumentError(
                "rng", rule="an integer or a NumPy Generator", got="another", hint="Leave it out for 0."
            )
        step, points = None, None
        if isinstance(support, Real) and not isinstance(support, bool):
            step = float(support)
            if not (np.isfinite(step) and step > 0):
                raise _bad_support("another number")
        elif support is not None:
            points = _as_numbers(support)
            if points is None or not points.size or not np.isfinite(points).all():
                raise _bad_support("something else")
            points = np.unique(points)
        return cls(
            step=step,
            points=points,
            resamples=int(resamples),
            rng=np.random.default_rng(rng),
            population=population,
        )

    def law(self, column: NoisyColumn, /) -> UnfoldedLaw:
        """The law behind a column; raises ArgumentError for too many points, and where the noise swamps its spread."""
        if column.is_exact and self.points is None:
            return law_of_rows(column.values, population=self.population, resamples=self.resamples, rng=self.rng)
        points = self.points
        if points is None:
            try:
                points = even_support(column, step=self.step)
            except OverflowError:
                points = np.empty(0)
        if not 0 < points.size <= MOST_POINTS:
            raise _bad_support(f"one of more than {MOST_POINTS:,} points")
        law = unfold(
            BinnedColumn.of(column, points),
            is_grid=self.points is None and self.step is None,
            population=self.population,
            resamples=self.resamples,
            rng=self.rng,
        )
        if column.values.size < _FEWEST or (
            points.size > 1 and law.gain < _CLEAR
        ):  # else it is mostly the law that unfolding starts from
            raise ArgumentError(
                "the spread of the column",
                rule="clear of the noise, for quantiles and histograms",
                got="rows that a single value behind all of them explains as well",
                hint="The noise swamps it, or there are too few rows: leave out by=, or release with a larger epsilon.",
            )
        return law


def check_shares(q: Any, /) -> FloatArray:
    """Shares as an array; raises ArgumentError unless all are from 0 to 1."""
    shares = _as_numbers(q)
    if shares is None or not shares.size or not ((shares >= 0) & (shares <= 1)).all():
        raise ArgumentError("q", rule="shares from 0 to 1", got="something else", hint="Write q=0.5 for the median.")
    return shares


def quantiles_of(column: NoisyColumn, shares: FloatArray, asked: Unfolding, /) -> tuple[FloatArray, FloatArray]:
    """Quantiles, and those of the resamples."""
    return asked.law(column).quantiles(shares)


def histogram_of(
    column: NoisyColumn, bins: int | Sequence[float], asked: Unfolding, /
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The ends of bins, the rows in each, and those of the resamples."""
    edges = _check_bins(bins)
    law = asked.law(column)
    if edges.ndim == 0:
        low, high = law.quantiles(np.array([_OUTSIDE, 1 - _OUTSIDE]))[0].tolist()
        edges = np.linspace(low, high if high > low else low + 1.0, int(edges) + 1)
    # a bin holds its lower end, and the last one both
    below = np.append(np.nextafter(edges[:-1], -np.inf), edges[-1])
    shares, again = law.below(below)
    rows = column.values.size
    return edges, rows * np.diff(shares), rows * np.diff(again, axis=1)


def _check_bins(bins: Any) -> FloatArray:
    """Ends, or a number of bins as an array without an axis."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and 1 <= bins <= MOST_POINTS:
        return np.array(float(bins))
    edges = None if isinstance(bins, Real) else _as_numbers(bins)
    if edges is None or edges.size < 2 or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
        raise ArgumentError(
            "bins",
            rule=f"a number from 1 to {MOST_POINTS:,}, or ascending ends of bins",
            got="something else",
            hint="Write bins=range(15, 95, 5).",
        )
    return edges


def _as_numbers(given: Any) -> FloatArray | None:
    """One axis of floats, or None."""
    try:
        found = np.atleast_1d(np.asarray(given if np.ndim(given) or isinstance(given, Real) else list(given)))
        return found.astype(np.float64) if found.ndim == 1 and found.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        return None


def _bad_support(got: str) -> ArgumentError:
    return ArgumentError(
        "support",
        rule=f"the step of which values are multiples, or at most {MOST_POINTS:,} values that there may be",
        got=got,
        hint="Write support=1 for whole numbers, support=range(17, 91) where their range is known too.",
    )
