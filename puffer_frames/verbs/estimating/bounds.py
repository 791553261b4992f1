r"""Bounds for the raw rows behind a whole table, from the share of the values of each column that a release changes.

Rows are drawn independently, so that the number of those with another value of a column exceeds the quantile C of a
binomial law of n rows and the mean share with at most its probability ([H56]). The share is that of the certificate: an
average under the fitted network, and half a percent for its rounding. How a row was changed depends on its secret, so
nothing less is known of a group. As in [HM95], all that may have changed is taken to lie where it matters most: in C
rows of the group, of its own columns and of the one whose mean it is, the least or the largest value stands in place of
theirs. Rows that only leave the group or only come to it move its mean by less than that.

References
----------
[H56] W. Hoeffding, On the distribution of the number of successes in independent trials, Annals of Mathematical
Statistics 27 (1956).
[HM95] J. L. Horowitz, C. F. Manski, Identification and robustness with contaminated and corrupted data, Econometrica
63 (1995).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import Name
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.presentation import Rows, listed, shown, shown_names
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.estimated import Estimate, labels_text
from puffer_frames.verbs.estimating.estimator import Estimator
from puffer_frames.verbs.estimating.laws import Unfolding, check_bins
from puffer_frames.verbs.estimating.levels import prepared_notes
from puffer_frames.verbs.estimating.moments import Figure

_ROUNDED = 0.005
"""Shares are published in whole percents."""
_NOTE = "a bound, and wide: all rows that may have changed count as if they had where it matters most; how many there "
_NOTE += "are follows from the average under the fitted network"
_NOTHING = "nothing is known of {which} at 95 %: so many rows may have changed that the interval is the whole range"
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorstCase:
    """Where a mean lies, however the rows that may have changed did."""

    value: float
    """That of the release."""
    least: FloatArray
    """The raw value of each row is at least this, and at most the next, if the row has not changed."""
    most: FloatArray
    ends: Bounds
    """The least and the largest value that there may be."""
    rows: int
    """Rows of the release."""
    shares: tuple[float, ...]
    """Shares of them that change, of each column that counts."""
    times: float = 1.0
    """What the mean is multiplied by."""

    def interval(self, level: float, /) -> tuple[float, float]:
        """How far below and above the value its interval ends."""
        failure = (1 - level) / max(1, len(self.shares))
        changed = sum(
            int(scipy.stats.binom.isf(failure, self.rows, min(1.0, share + _ROUNDED))) for share in self.shares
        )

        def largest(values: FloatArray, end: float) -> float:
            kept = np.sort(values)[changed:]
            return self.times * float(kept.sum() + (values.size - kept.size) * end) / values.size

        return -largest(-self.least, -self.ends[0]) - self.value, largest(self.most, self.ends[1]) - self.value

    @property
    def is_empty(self) -> bool:
        """Whether the interval at 95 % has all that there may be."""
        whole = self.times * np.array(self.ends)
        return bool(whole[0] < whole[1] and np.allclose(np.add(self.interval(0.95), self.value), whole))


@short_traceback
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class TableEstimator(Estimator):
    """Means and counts of a whole table as released, with bounds for those of the raw rows, and no standard errors."""

    @short_traceback
    def mean(
        self,
        column: Name,
        *,
        by: Name | Iterable[Name] | None = None,
        weights: Name | None = None,
        support: float | Sequence[float] | None = None,
    ) -> Estimate:
        """The mean of a column, of each group of others.

        `support` has the values that there may be, of which the least and the largest will do: (17, 90), or
        range(17, 91) as for noisy columns. Numbers in cells need it. By default they are those of the release.
        """
        name = self.columns.name(column, "column")
        names = () if by is None else self.columns.names(by, "by")
        if weights is not None:
            raise ArgumentError("weights", rule="left out for a whole table", got="a column", hint="Leave it out.")
        values = self.columns.values(name)
        least, most, ends = self._between(
            name, values, Unfolding.of(support=support, resamples=2, rng=0, population=False)
        )
        labels, parts = self._members(names, "by") if names else ({}, [np.arange(values.size)])
        found = [self._worst(values[k], least[k], most[k], (name, *names), ends) for k in parts]
        of = f" by {shown_names(names)}" * bool(names)
        return self._bounded(f"mean of {shown(name)}{of}", found, labels)

    @short_traceback
    def histogram(
        self,
        column: Name,
        bins: int | Sequence[float] = 10,
        *,
        support: float | Sequence[float] | None = None,
        resamples: int = 100,
        rng: int | np.random.Generator = 0,
    ) -> Estimate:
        """How many rows have a value in each bin, the last of which has its upper end too; `support` as for `mean`."""
        name = self.columns.name(column, "column")
        values, edges = self.columns.values(name), check_bins(bins)
        asked = Unfolding.of(support=support, resamples=resamples, rng=rng, population=False)
        least, most, (low, high) = self._between(name, values, asked)
        edges = edges if edges.ndim else np.linspace(low, high if high > low else low + 1.0, int(edges) + 1)
        found = []
        for begin, end in zip(edges[:-1], np.append(edges[1:-1], np.nextafter(edges[-1], np.inf)), strict=True):
            own, sure, possible = (
                ((first >= begin) & (last < end)).astype(float)
                for first, last in ((values, values), (least, most), (most, least))
            )
            found.append(self._worst(own, sure, possible, (name,)))
        labels = {"from": tuple(edges[:-1].tolist()), "to": tuple(edges[1:].tolist())}
        return self._bounded(f"histogram of {shown(name)}", found, labels)

    @short_traceback
    def value_counts(self, column: Name | Iterable[Name]) -> Estimate:
        """How many rows have each level of a column, or of several together."""
        names = self.columns.names(column, "column")
        labels, parts = self._members(names, "column")
        members = [np.isin(np.arange(self.columns.rows), part).astype(float) for part in parts]
        found = [self._worst(own, own, own, names) for own in members]
        return self._bounded(f"rows per level of {shown_names(names)}", found, labels)

    def _shown(self) -> tuple[str, Rows]:
        rows = [
            ("with bounds", self.columns.shown_of(self.columns.certificate.changed)),
            ("as they were", self.columns.shown_of(self.columns.kept)),
            *(("assumed", assumption) for assumption in self.columns.assumptions),
            ("methods", "mean, histogram, value_counts"),
        ]
        return "Bounds from a whole table", rows

    def _worst(
        self, values: FloatArray, least: FloatArray, most: FloatArray, names: Sequence[str], ends: Bounds | None = None
    ) -> WorstCase:
        """Of a mean between two ends, or of a number of rows."""
        changed = self.columns.certificate.changed
        return WorstCase(
            value=float(values.mean() if ends else values.sum()),
            least=least,
            most=most,
            ends=ends or (0.0, 1.0),
            rows=self.columns.certificate.rows,
            shares=tuple(changed[name] for name in names if name in changed),
            times=1.0 if ends else float(values.size),
        )

    def _between(self, name: str, values: FloatArray, asked: Unfolding) -> tuple[FloatArray, FloatArray, Bounds]:
        """Between what the raw values of rows that have not changed lie, and what values there may be.

        Those of a cell lie between the values that are released for the cells beside it.
        """
        points, levels, in_cells = asked.points, np.unique(values), self.columns.is_in_cells(name)
        if (in_cells and points is None) or (
            points is not None and not points[0] <= levels[0] <= levels[-1] <= points[-1]
        ):
            got = "nothing" if asked.step is None else "a step alone"
            got = got if points is None else "a narrower range than that of the release"
            hint = "Write support=(LOWEST, HIGHEST), with what is known of the column."
            raise ArgumentError("support", rule="the least and the largest value that there may be", got=got, hint=hint)
        low, high = (levels if points is None else points)[[0, -1]].tolist()
        if not in_cells:
            return values, values, (low, high)
        place = np.searchsorted(levels, values)
        return np.append(low, levels[:-1])[place], np.append(levels[1:], high)[place], (low, high)

    def _bounded(self, what: str, found: Sequence[WorstCase], labels: Mapping[str, tuple[Any, ...]]) -> Estimate:
        figures, notes = [Figure(one.value, np.nan) for one in found], (_NOTE, *prepared_notes(self.columns))
        names = labels_text(labels) or ["it"]
        empty = [
            name if "," not in name else f"({name})" for name, one in zip(names, found, strict=True) if one.is_empty
        ]
        which = listed(empty, most=_MOST_NAMED) if len(empty) < max(2, len(found)) else "any of them"
        notes = (_NOTHING.format(which=which),) * bool(empty) + notes
        return replace(self._made(what, figures, labels, notes=notes), scores=tuple(found))

    def _members(self, names: Sequence[str], role: str) -> tuple[dict[str, tuple[Any, ...]], list[IndexArray]]:
        """Levels, and the rows of each; raises ArgumentError for numbers in cells."""
        for name in names:
            if self.columns.is_in_cells(name):
                others = [other for other in self.columns.table.names if not self.columns.is_in_cells(other)]
                raise ArgumentError(
                    role,
                    rule="columns of labels, or of numbers that are not in cells",
                    got=f"{name!r}, whose released values stand for cells",
                    hint="Write .histogram(column, bins, support=(LOWEST, HIGHEST))."
                    if role == "column"
                    else f"Others are: {shown_names(others)}."
                    if others
                    else "Leave it out: all columns are in cells.",
                )
        return self.columns.groups(names, also=self.columns.certificate.changed)
