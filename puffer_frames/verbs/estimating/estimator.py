"""The statistics that an estimator of a release has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import Name
from puffer_frames.numbers.presentation import Printed, Rows, shown, shown_names
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating import moments
from puffer_frames.verbs.estimating.estimated import CLEAR, Estimate, Scores, Target
from puffer_frames.verbs.estimating.laws import Unfolded, Unfolding, check_shares, histogram_of
from puffer_frames.verbs.estimating.levels import counts_of_levels, mean_kept, means_of_members, terms_of
from puffer_frames.verbs.estimating.released_columns import NoisyColumn, ReleasedColumns

INTERCEPT = "intercept"
"""Name of the first coefficient of a regression."""

_PEAKS = (
    "an unfolded law is smoother than the rows': where many share a few values, as 40 hours a week, they spread to "
)
_PEAKS += "neighbouring ones, and intervals hold less often than they say"
_MOST_WEIGHT = 1e100
"""Products of larger ones with squares of values leave the range of floats."""


@short_traceback
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Estimator(Printed):
    """Statistics of the raw rows behind a release; every method returns an `Estimate`.

    A column is one that was released with noise, or as it was; which noise is in every value is in the certificate.
    All methods raise ColumnNotFoundError for a column that the release does not have, and ArgumentError where nothing
    is known of the law of its released values.
    """

    columns: ReleasedColumns
    """The release."""
    target: Target
    """What standard errors and intervals are for."""
    library: str
    """Library of the release, and of the frames that `to_frame` gives."""

    @short_traceback
    def mean(
        self,
        column: Name,
        *,
        by: Name | Iterable[Name] | None = None,
        weights: Name | None = None,
        support: float | Sequence[float] | None = None,
    ) -> Estimate:
        """The mean of a column, of each group of others; raises ArgumentError for heavy-tailed noise.

        Parameters
        ----------
        column : label
            With noise or as it was released, or of a channel whose table of probabilities is published, but for one in
            cells.
        by : label or list of labels, optional
            Columns that were released as they were, or whose labels are random with known probabilities. A group that
            may have no rows at all (its number is within three standard errors of 0) has NaN.
        weights : label, optional
            A column of weights of the rows, that was released as it was: the mean is the weighted one.
        support
            Of a whole table alone.
        """
        if support is not None:
            rule, hint = "left out, except of a whole table", "Leave it out: no mean of noisy values needs it."
            raise ArgumentError("support", rule=rule, got="one", hint=hint)
        name = self.columns.name(column, "column")
        names = () if by is None else self.columns.names(by, "by")
        channels = self.columns.certificate.channels
        if name in channels and by is None and weights is None:
            found = mean_kept(self.columns, name, population=self.target == "population")
            if found is not None:
                return self._made(f"mean of {shown(name)}", [found[0]], {}, notes=found[1:])
        if weights is None and name not in channels and not set(names) & set(channels):
            return self._of_one("mean", name, by, moments.mean_of)
        return self._of_members(
            "mean", name, names, None if name in channels else self._with_moments(name, "mean"), weights
        )

    def _of_members(
        self,
        what: str,
        name: str,
        names: Sequence[str],
        own: NoisyColumn | None,
        weights: Name | None = None,
        ddof: int | None = None,
    ) -> Estimate:
        """A figure of each group, where labels are random or rows have weights."""
        population = self.target == "population"
        groups, made, notes = means_of_members(
            self.columns, name, names, own, self._design(weights), population=population, ddof=ddof
        )
        of = f" by {shown_names(names)}" if names else ""
        labels = {each: tuple(group[k] for group in groups) for k, each in enumerate(names)}
        figures, scores = zip(*made, strict=True)
        what = f"{what} of {shown(name)}{of}"
        found = self._made(what, figures, labels, of=(name,), several=bool(names), notes=notes)
        return replace(found, scores=scores)

    @short_traceback
    def var(self, column: Name, *, by: Name | Iterable[Name] | None = None, ddof: int = 1) -> Estimate:
        """The variance of a column, of each group of others; raises ArgumentError for heavy-tailed noise.

        Parameters
        ----------
        column : label
            With noise or as it was released.
        by : label or list of labels, optional
            As for `mean`.
        ddof : int
            The sum of squares is divided by the number of rows less this.

        Notes
        -----
        The estimate is unbiased, and so it may be negative where the noise is much larger than the spread.
        """
        name = self.columns.name(column, "column")
        ddof = _check_ddof(ddof)
        names = () if by is None else self.columns.names(by, "by")
        if set(names) & set(self.columns.certificate.channels):
            return self._of_members("variance", name, names, self._with_moments(name, "variance"), ddof=ddof)
        return self._of_one(
            "variance", name, by, lambda own, *, population: moments.variance_of(own, population=population, ddof=ddof)
        )

    @short_traceback
    def cov(self, column: Name | Iterable[Name], other: Name | None = None, /, *, ddof: int = 1) -> Estimate:
        """The covariance of two columns, or the matrix of those of several; raises ArgumentError as `var`.

        Parameters
        ----------
        column : label or list of labels
        other : label, optional
        ddof : int
            The sum of products is divided by the number of rows less this.
        """
        population, ddof = self.target == "population", _check_ddof(ddof)
        found = self._several(column, other, "covariance", hint="Write .var(column) for the variance of one.")
        pairs = list(product(found, repeat=2) if other is None else [tuple(found)])
        figures = [
            moments.variance_of(found[a], population=population, ddof=ddof)
            if a == b
            else moments.covariance_of(found[a], found[b], population=population, ddof=ddof)
            for a, b in pairs
        ]
        return self._of_pairs("covariance", pairs, figures)

    @short_traceback
    def corr(self, column: Name | Iterable[Name], other: Name | None = None, /) -> Estimate:
        """The correlation (Pearson's) of two columns, or the matrix of those of several; raises ArgumentError as `var`.

        Parameters
        ----------
        column : label or list of labels
        other : label, optional

        Notes
        -----
        NaN where the noise hides the spread of a column: its variance is within three standard errors of 0.
        """
        population = self.target == "population"
        found = self._several(column, other, "correlation", hint="Name another column too.")
        constant = next((name for name, own in found.items() if own.is_exact and np.ptp(own.values) == 0), None)
        if constant is not None:
            rule = "of different values, for a correlation"
            got = "one that is the same in every row"
            raise ArgumentError(f"the column {constant!r}", rule=rule, got=got, hint="Leave it out.")
        pairs = list(product(found, repeat=2) if other is None else [tuple(found)])
        itself = moments.Figure(1.0, 0.0), Scores(constant=0.0, linear=0.0, square=0.0)
        made = [
            itself if a == b else moments.correlation_of(found[a], found[b], population=population) for a, b in pairs
        ]
        figures, scores = zip(*made, strict=True)
        return replace(self._of_pairs("correlation", pairs, figures), scores=scores)

    def _several(
        self, column: Name | Iterable[Name], other: Name | None, what: str, *, hint: str
    ) -> dict[str, NoisyColumn]:
        """Two columns or more, by name; raises ArgumentError for one."""
        names = self.columns.names([column, other] if other is not None else column, "columns")
        if len(names) < 2:
            raise ArgumentError("columns", rule="two columns or more", got="one", hint=hint)
        return {name: self._with_moments(name, what) for name in names}

    def _of_pairs(self, what: str, pairs: Sequence[tuple[str, ...]], figures: Sequence[moments.Figure]) -> Estimate:
        """A figure of one pair of columns, or a matrix of those of all pairs."""
        names = list(dict.fromkeys(name for pair in pairs for name in pair))
        if len(pairs) == 1:
            return self._made(f"{what} of {shown_names(names)}", figures, {}, of=names)
        labels = dict(zip(("column", "other"), zip(*pairs, strict=True), strict=True))
        shape = (len(names), len(names))
        return self._made(f"{what}s of {shown_names(names)}", figures, labels, of=names, shape=shape)

    @short_traceback
    def regress(self, y: Name, *, on: Name | Iterable[Name], weights: Name | None = None) -> Estimate:
        """The linear regression of a column on others, any of them with noise: coefficients, the intercept first.

        Parameters
        ----------
        y : label
        on : label or list of labels
            A column of labels has a term for each level but the first, as in `pandas.get_dummies`. Random labels need
            known probabilities: randomised response, or a channel whose table is published.
        weights : label, optional
            A column of weights of the rows, that was released as it was.

        Raises
        ------
        ArgumentError
            Where the noise hides the spread of the columns, or they are dependent; else as `var`.

        Notes
        -----
        Least squares, corrected for errors in variables. `covariance` is that of the coefficients.
        """
        name, names = self.columns.name(y, "y"), self.columns.names(on, "on")
        if name in names:
            raise ArgumentError("on", rule="other columns than y", got=repr(name), hint="Leave it out of on.")
        channels, changed = self.columns.certificate.channels, self.columns.certificate.changed
        numbers = {
            each: self._with_moments(each, "regression")
            for each in (name, *names)
            if each in changed  # an error, of labels too
            or (each not in channels and (each == name or self.columns.table.kind_of(each) != "labels"))
        }
        design = None if weights is None else self._design(weights)
        terms = terms_of(self.columns, name, names, numbers, design)
        if self.columns.rows <= len(terms.names) + 1:
            raise ArgumentError(
                "the release", rule="of more rows than coefficients", got="fewer", hint="Regress on fewer columns."
            )
        fit = moments.regression(terms.y, terms.on, population=self.target == "population", weights=terms.weights)
        if fit is None or not fit.clearance > CLEAR:
            got = "none that chance does not explain" if fit is None else f"{fit.clearance:.2g} standard errors"
            raise ArgumentError(
                "the spread of the columns on",
                rule=f"at least {CLEAR:g} standard errors from 0, in every direction, where the noise is taken away",
                got=got,
                hint="The noise swamps it, or one column follows from others: leave one out, or ask the issuer for a "
                "larger epsilon.",
            )
        errors = np.sqrt(np.diag(fit.covariance).clip(0.0))
        what, labels = f"regression of {shown(name)} on {shown_names(names)}", {"term": (INTERCEPT, *terms.names)}
        figures = _figures(fit.coefficients, errors)
        made = self._made(what, figures, labels, of=(name, *names), notes=terms.notes)
        return replace(made, covariance=fit.covariance, scores=fit.scores)

    @short_traceback
    def quantile(
        self,
        column: Name,
        q: float | Sequence[float] = 0.5,
        *,
        by: Name | Iterable[Name] | None = None,
        support: float | Sequence[float] | None = None,
        resamples: int = 100,
        rng: int | np.random.Generator = 0,
    ) -> Estimate:
        """Quantiles of a column, from its unfolded law.

        Parameters
        ----------
        column : label
        q : float or sequence of float
            Shares from 0 to 1.
        by : label or list of labels, optional
            Columns that were released as they were; each group is unfolded by itself.
        support : float or sequence of float, optional
            What anybody knows of the values: the step of which they are multiples (1 for whole numbers), or all that
            there may be, as in range(17, 91); a pair means two values alone. By default they are numbers of any kind.
        resamples : int
            How many; standard errors and intervals are those of the resampled estimates.
        rng : int or Generator
            For the halves of the rows and for the resamples.

        Raises
        ------
        ArgumentError
            For shares beyond 0 to 1, a support that is none or that the released values refute, and where the noise
            swamps the spread of the column.

        Notes
        -----
        Unfolding is expectation maximisation (Richardson–Lucy), stopped where one half of the rows explains the other
        one best. Resamples take ten times as many steps, so that intervals cover what it smooths, but for laws of a
        few sharp peaks: the notes of an estimate say so. **Cost**: 0.1 to 1 s for a column.
        """
        name = self.columns.name(column, "column")
        asked = Unfolding.of(support=support, resamples=resamples, rng=rng, population=self.target == "population")
        shares = check_shares(q)
        labels, parts = self._groups(by, self.columns.numbers(name))
        found = [asked.law(part).quantiles(shares) for part in parts]
        if np.ndim(q) or by is not None:
            labels = {name: tuple(level for level in own for _ in shares) for name, own in labels.items()}
            labels |= {"q": tuple(shares.tolist()) * len(parts)} if np.ndim(q) else {}
        return self._resampled(f"quantiles of {shown(name)}", found, labels, name)

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
        """How many rows have a value in each bin, from the unfolded law of a column.

        Parameters
        ----------
        column : label
        bins : int or sequence of float
            The ends of bins, ascending; or their number, between the values below which 0.1 % and 99.9 % of the rows
            are estimated to lie. A bin holds its lower end, and the last one its upper end too.
        support, resamples, rng
            As for `quantile`.

        Raises
        ------
        ArgumentError
            For other bins, and as `quantile`.
        """
        name = self.columns.name(column, "column")
        asked = Unfolding.of(support=support, resamples=resamples, rng=rng, population=self.target == "population")
        edges, found = histogram_of(self.columns.numbers(name), bins, asked)
        labels = {"from": tuple(edges[:-1].tolist()), "to": tuple(edges[1:].tolist())}
        return self._resampled(f"histogram of {shown(name)}", [found], labels, name, least=0.0)

    @short_traceback
    def value_counts(self, column: Name | Iterable[Name]) -> Estimate:
        """How many rows have each level of a column of labels, or of a channel.

        Parameters
        ----------
        column : label or list of labels
            Several columns that went through one channel have levels together.

        Raises
        ------
        ArgumentError
            For a channel whose table of probabilities is not published, and for a column with noise.

        Notes
        -----
        Estimates are unbiased, and so a rare level may have fewer than 0 rows. `covariance` is known where a table of
        probabilities is published.
        """
        names = self.columns.names(column, "column")
        found = counts_of_levels(self.columns, names, population=self.target == "population")
        what, figures = f"rows per level of {shown_names(names)}", _figures(found.counts, found.errors)
        made = self._made(what, figures, found.levels, notes=found.notes, several=True)
        return replace(made, covariance=found.covariance)

    def _shown(self) -> tuple[str, Rows]:
        certificate = self.columns.certificate
        of = "the raw rows" if self.target == "table" else "the population that the rows are draws from"
        rows = [
            ("with noise", self.columns.shown_of(certificate.scales)),
            ("through a channel", self.columns.shown_of(certificate.channels)),
            ("as they were", self.columns.shown_of(self.columns.kept)),
            ("intervals", f"for {of}"),
            *(("assumed", assumption) for assumption in self.columns.assumptions),
            ("methods", "mean, var, cov, corr, quantile, histogram, regress, value_counts"),
        ]
        return "Estimates from a release", rows

    def _with_moments(self, name: str, what: str) -> NoisyColumn:
        """A column of noise with known moments; raises ArgumentError for others."""
        column = self.columns.numbers(name)
        if column.is_processed and not column.whole:
            raise ArgumentError(
                f"the column {name!r}",
                rule=f"released without clip and round, for a {what}",
                got="values that were clipped or rounded after the noise, whose moments say nothing of it",
                hint="Write .quantile(column) or .histogram(column): these know what was done to the values.",
            )
        if not np.isfinite([noise.fourth_moment for noise in column.noises if noise is not None]).all():
            raise ArgumentError(
                f"the noise of {name!r}",
                rule=f"of finite variance, for a {what} with a standard error",
                got=f"{self.columns.certificate.noise} noise",
                hint="Write .quantile(column) or .histogram(column), which take heavy tails.",
            )
        return column

    def _design(self, weights: Name | None) -> FloatArray:
        """The weights of the rows, 1 where there is no column of them."""
        if weights is None:
            return np.ones(self.columns.rows)
        name = self.columns.name(weights, "weights")
        own = self.columns.numbers(name)
        most = float(own.values.max())
        if not own.is_exact or own.values.min() < 0 or not 1 / _MOST_WEIGHT < most < _MOST_WEIGHT:
            raise ArgumentError(
                "weights",
                rule="a column of numbers from 0 to 1e100, some of them above 1e-100, that was released as it was",
                got=f"{name!r}, which has noise" if not own.is_exact else f"{name!r}, with other numbers",
                hint="Ask the issuer for weights as they are, Layout(keep=...), if they may be told.",
            )
        return own.values

    def _groups(
        self, by: Name | Iterable[Name] | None, column: NoisyColumn
    ) -> tuple[dict[str, tuple[Any, ...]], list[NoisyColumn]]:
        if by is None:
            return {}, [column]
        labels, rows = self.columns.groups(by)
        return labels, [column.rows(own) for own in rows]

    def _of_one(
        self, what: str, name: str, by: Name | Iterable[Name] | None, statistic: Callable[..., moments.Figure]
    ) -> Estimate:
        labels, parts = self._groups(by, self._with_moments(name, what))
        figures = [statistic(part, population=self.target == "population") for part in parts]
        of = f" by {shown_names(labels)}" if labels else ""
        return self._made(f"{what} of {shown(name)}{of}", figures, labels, of=(name,), several=by is not None)

    def _resampled(
        self,
        what: str,
        found: Sequence[Unfolded],
        labels: dict[str, tuple[Any, ...]],
        name: str,
        least: float = -math.inf,
    ) -> Estimate:
        values, rough, resamples = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        figures = _figures(values, resamples.std(axis=0))
        notes = (_PEAKS,) * bool(self.columns.certificate.scales.get(name))
        made = self._made(what, figures, labels, of=(name,), notes=notes)
        return replace(made, resamples=resamples, rough=rough, least=least)

    def _made(
        self,
        what: str,
        figures: Sequence[moments.Figure],
        labels: Mapping[str, tuple[Any, ...]],
        *,
        of: Sequence[str] = (),
        shape: tuple[int, ...] | None = None,
        several: bool = False,
        notes: Sequence[str] = (),
    ) -> Estimate:
        """A statistic with its standard errors; what its intervals rest on besides is for the caller to add."""
        one = not labels and not several

        def number(numbers: Iterable[float]) -> Any:
            found = np.array(list(numbers))
            return float(found[0]) if one else found.reshape(shape or found.shape)

        return Estimate(
            what=what,
            value=number(figure.value for figure in figures),
            standard_error=number(figure.error for figure in figures),
            freedom=number(figure.freedom for figure in figures),
            labels=labels,
            rows=self.columns.rows,
            target=self.target,
            notes=(*notes, *self.columns.notes(of)),
            assumptions=self.columns.assumptions,
            library=self.library,
        )


def _figures(values: FloatArray, errors: FloatArray) -> list[moments.Figure]:
    return [moments.Figure(*pair) for pair in zip(values.tolist(), errors.tolist(), strict=True)]


def _check_ddof(ddof: int) -> int:
    if isinstance(ddof, bool) or not isinstance(ddof, int) or ddof < 0:
        raise ArgumentError("ddof", rule="an integer of at least 0", got="another", hint="Leave it out for 1.")
    return ddof
