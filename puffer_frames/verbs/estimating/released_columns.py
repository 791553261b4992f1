"""The columns of a release as its certificate describes them: which noise is in every value."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, ArgumentTypeError, UncoveredFrameError
from puffer_frames.frames.columns import LARGEST_VALUE, as_name, as_names
from puffer_frames.frames.dates import ENDS
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.roles import is_of_labels
from puffer_frames.noise.adding import HALVES, RESOLUTION, grid_of
from puffer_frames.noise.channel import is_unmixable
from puffer_frames.noise.families import family_titled
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.stable import RESOLUTION as STABLE_RESOLUTION
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.presentation import shown_names
from puffer_frames.priors.prior import FloatArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyColumn:
    """Values x + N that were released, N independent from row to row; a column without noise is one of them."""

    values: FloatArray
    """Released values, shape (rows,), in units of the column."""
    noises: tuple[NoiseFamily | None, ...]
    """The laws of the noise; None for none."""
    places: IndexArray
    """Which of them each row has, shape (rows,)."""
    bounds: Bounds | None = None
    """To which noisy values were clipped before they were released."""
    to_integers: bool = False
    """Whether noisy values were rounded before that."""
    whole: bool = False
    """Whether the raw values are whole numbers: rounding then rounds the noise alone, whose moments are known."""

    @classmethod
    def exact(cls, values: FloatArray, /) -> NoisyColumn:
        """A column that was released as it is."""
        return cls(values=values, noises=(None,), places=np.zeros(values.size, dtype=np.intp))

    @property
    def is_processed(self) -> bool:
        """Whether something was done to the noisy values."""
        return self.to_integers or self.bounds is not None

    @property
    def is_exact(self) -> bool:
        """Whether the values are those of the table."""
        return not self.is_processed and all(noise is None for noise in self.noises)

    @property
    def variances(self) -> FloatArray:
        """E N^2 per row; infinite for heavy tails."""
        return self._per_row(lambda noise: noise.variance if not self.whole else rounded_moments(noise)[0])

    @property
    def fourth_moments(self) -> FloatArray:
        """E N^4 per row."""
        return self._per_row(lambda noise: noise.fourth_moment if not self.whole else rounded_moments(noise)[1])

    def rows(self, chosen: IndexArray, /) -> NoisyColumn:
        """Some of its rows."""
        return replace(self, values=self.values[chosen], places=self.places[chosen])

    def inner(self, place: int, /) -> FloatArray:
        """The values with one of the laws of noise that were not clipped."""
        low, high = self.bounds or (-np.inf, np.inf)
        return self.values[(self.places == place) & (self.values != low) & (self.values != high)]

    def _per_row(self, moment: Callable[[NoiseFamily], float]) -> FloatArray:
        table = np.array([0.0 if noise is None else moment(noise) for noise in self.noises])
        return table[self.places]


def rounded_moments(noise: NoiseFamily) -> tuple[float, float]:
    """E K^2 and E K^4 of noise rounded to whole numbers, K: the sums over k of P(|K| > k) (2k + 1), and of the same
    with fourth powers. Where the noise is wide, Sheppard's corrections.
    """
    if noise.scale > _WIDE or not math.isfinite(noise.variance):
        return noise.variance + 1 / 12, noise.fourth_moment + noise.variance / 2 + 1 / 80
    k = np.arange(_TAIL * (noise.scale + 1))
    beyond = 2 * noise.survival(k + 0.5)
    return float(beyond @ (2 * k + 1)), float(beyond @ ((k + 1) ** 4 - k**4))


_WIDE, _TAIL = 1000, 60
"""Beyond 60 scales there is less noise than rounding of floats leaves."""
_MOST_OF_TABLE = 512
"""No column of a whole table has more levels or cells."""
_NEVER = 1e-9
_FINE = 1e-6
_FLAT = 1e-3
"""A share of the scale: this near 0 the density of noise hardly changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedColumns:
    """A release of rows."""

    table: LocalTable
    certificate: Certificate
    assumptions: tuple[str, ...]
    """What nobody can check of a frame that lacks rows or columns of the release; none where the fingerprint agrees."""
    dates: Collection[str] = ()
    """Columns of dates, which `table` has in days."""

    @property
    def derived(self) -> bool:
        """Whether rows or columns were left out after the release."""
        return bool(self.assumptions)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that were released as they were."""
        return self.certificate.kept + self.certificate.given

    @property
    def rows(self) -> int:
        """Rows that there are."""
        return len(self.table.opened())

    def shown_of(self, names: Iterable[str], /) -> str:
        """Those of these columns that are there, in a list."""
        return shown_names(name for name in names if name in self.table.names) or "none"

    def notes(self, names: Sequence[str], /) -> tuple[str, ...]:
        """What an estimate of these columns is of, where that is not simply the table."""
        found = []
        if self.rows < self.certificate.rows:
            found.append("rows were left out since the release; the estimate is of those that are there")
        if set(names) & set(self.certificate.scales) and self.certificate.facts.clipped:
            found.append("values were clipped before the noise; the estimate is of the clipped ones")
        return tuple(found)

    def name(self, column: Any, role: str, /) -> str:
        """The name of a column of the release; raises ColumnNotFoundError, ArgumentTypeError."""
        return as_name(column, self.table.labels, role=role)[0]

    def names(self, columns: Any, role: str, /) -> tuple[str, ...]:
        """The names of columns; raises the same, and ArgumentError for one named twice, or a secret."""
        asked = [columns] if isinstance(columns, str) else columns if isinstance(columns, (list, tuple)) else ()
        if any(name in self.certificate.secret for name in asked):
            hint = "No figure by the secret can be computed from this release."
            raise ArgumentError(role, rule="columns of the release", got="the secret, which was left out", hint=hint)
        names = as_names(columns, self.table.labels, role=role)
        if len(set(names)) < len(names) or not names:
            got = "one named twice" if names else "none"
            raise ArgumentError(role, rule="different columns", got=got, hint="Name each column once.")
        return names

    def is_lost(self, name: str, /) -> bool:
        """Whether a channel has a published table that has no inverse."""
        found = self.certificate.channels.get(name, {})
        return "matrix" in found and not is_unmixable(np.array(found["matrix"], dtype=np.float64))

    def is_in_cells(self, name: str, /) -> bool:
        """Whether a column of a whole table has one value in place of all of a cell."""
        table = self.certificate.table
        return table is not None and name in (table.in_cells or ())

    def check_numeric(self, name: str, /) -> None:
        """Raise ArgumentTypeError for a column that is not one of labels and not of numbers: of times, for example."""
        dtype = self.table.opened().schema[name]
        if not (dtype.is_numeric() or is_of_labels(dtype) or self.table.has_lists(name)):
            rule = "of numbers or labels"
            hint = "Release it as numbers, or as text."
            raise ArgumentTypeError(f"the column {name!r}", rule=rule, got=f"dtype {type(dtype).__name__}", hint=hint)

    def numbers(self, name: str, /) -> NoisyColumn:
        """A column of numbers.

        Raises ArgumentError where the certificate does not tell the law of the released values, and for values that no
        release has; ArgumentTypeError for a column of labels.
        """
        certificate = self.certificate
        if name in certificate.channels:
            found = certificate.channels[name]
            raise _of_a_channel(name, counted="count" in found or ("matrix" in found and not self.is_lost(name)))
        if name in certificate.changed:
            raise ArgumentError(
                f"the column {name!r}",
                rule="released with noise, or as it was, for this estimate",
                got="one of a whole table that was released column by column: how a row was changed depends on its "
                "secret, and the certificate does not print with which probabilities",
                hint="Write .mean(column, support=(LOWEST, HIGHEST)), .histogram with it, or .value_counts, which have "
                'bounds, or ask the issuer for the columns that you need it for with mechanism="noise".',
            )
        values = self.values(name)
        if name not in certificate.scales:
            return NoisyColumn.exact(values)
        if certificate.facts.replaced and certificate.scales[name]:
            got = "values that were put in place of noisy ones (remap), which are biased"
            hint = 'Ask the issuer for mechanism="noise": no table of the replacement is published.'
            raise ArgumentError(f"the column {name!r}", rule="released with its noise", got=got, hint=hint)
        column = self._with_noise(name, values)
        if self.derived:
            self._check_released(name, column)
        return column

    def values(self, name: str, /) -> FloatArray:
        """The released values of a column of numbers; raises ArgumentTypeError for another, ArgumentError for ends."""
        if self.table.kind_of(name) == "labels":
            raise of_labels(name)
        self.check_numeric(name)
        values = self.table.values(name)
        if not (np.abs(values) <= LARGEST_VALUE).all():
            got = "values beyond 1e301" if np.isfinite(values).all() else "missing values or infinities"
            hint = "Leave those rows out."
            raise ArgumentError(f"the column {name!r}", rule="finite, as it was released", got=got, hint=hint)
        return values

    def check_rows(self) -> None:
        """Raise UncoveredFrameError for too many different values of a whole table, which are those of another release,
        and for rows that are there twice, which the values of any column of noise tell.
        """
        certificate = self.certificate
        for name in set(certificate.changed) & set(self.table.names):
            if not self.table.has_lists(name) and self.table.opened()[name].n_unique() > _MOST_OF_TABLE:
                rule = f"those of a whole table, {_MOST_OF_TABLE} different ones at most"
                hint = "Read the certificate of this release: this one is of another, or values were changed."
                raise UncoveredFrameError(f"the values of {name!r}", rule=rule, got="more", hint=hint)
        if certificate.facts.replaced or not set(certificate.given) <= set(self.table.names):
            return
        for name in set(certificate.scales) & set(self.table.names):
            values = self.table.values(name) if self.table.kind_of(name) != "labels" else np.array([np.nan])
            if not np.isfinite(values).all() or (certificate.facts.processed and not certificate.processed):
                continue
            column = self._with_noise(name, values)
            for place, noise in enumerate(column.noises):
                if noise is None:
                    continue
                grid = self._grid(name, noise)
                inner = column.inner(place)
                if _repeats(inner[np.abs(inner) < HALVES * grid], noise, 1.0 if column.to_integers else grid):
                    raise UncoveredFrameError(
                        f"the values of {name!r}",
                        rule="as different as noise makes them",
                        got="more equal ones than chance explains: rows were repeated, or values rounded or replaced",
                        hint="Estimate first, from the released values; each row of the release counts once.",
                    )

    def require_kept(self, name: str, /) -> None:
        """Raise ArgumentError for a column of groups whose released values are random."""
        if name not in self.kept:
            raise ArgumentError(
                "by",
                rule="columns that were released as they were",
                got=f"{name!r}, whose released values are random",
                hint=(f"Kept are: {shown_names(self.kept)}" if self.kept else "Leave it out: none was kept")
                + ". Random labels of known probabilities can be groups of .mean and .var.",
            )

    def groups(self, by: Any, /, *, also: Collection[str] = ()) -> tuple[dict[str, tuple[Any, ...]], list[IndexArray]]:
        """Levels of kept columns, and of some others, per name and group, and the rows of every group.

        Raises as `name` and `coded`.
        """
        names = self.names(by, "by")
        for name in names:
            if name not in also:
                self.require_kept(name)
        coded = [self.table.coded(name) for name in names]
        place = np.zeros(len(coded[0].codes), dtype=np.int64)
        for column in coded:
            place = place * len(column.levels) + column.codes
        found, group = np.unique(place, return_inverse=True)
        levels: list[tuple[Any, ...]] = []
        for column in reversed(coded):
            levels.insert(0, tuple(column.levels[code] for code in (found % len(column.levels)).tolist()))
            found //= len(column.levels)
        order, ends = np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))
        return dict(zip(names, levels, strict=True)), np.split(order, ends[:-1])

    def stratum_of_rows(self) -> IndexArray:
        """The number of each row's stratum; raises UncoveredFrameError where a given column is not there."""
        certificate = self.certificate
        if missing := [name for name in certificate.given if name not in self.table.names]:
            rule = "with the given columns, on which the noise of a row depends"
            hint = "Keep this column."
            raise UncoveredFrameError("the release", rule=rule, got=f"one without {missing[0]!r}", hint=hint)
        coded = [self.table.coded(name) for name in certificate.given]
        numbers = {_as_keys(stratum["given"]): k for k, stratum in enumerate(certificate.strata)}
        joint = np.stack([column.codes.astype(np.int64) for column in coded], axis=1)
        found, back = np.unique(joint, axis=0, return_inverse=True)
        table = [
            numbers.get(_as_keys([column.levels[code] for column, code in zip(coded, row, strict=True)]), -1)
            for row in found.tolist()
        ]
        if -1 in table:
            got = "others: given columns were changed"
            hint = "Estimate from the release as it was made."
            raise UncoveredFrameError("the strata of the release", rule="those of its certificate", got=got, hint=hint)
        return np.array(table, dtype=np.intp)[back.ravel()]

    def _with_noise(self, name: str, values: FloatArray) -> NoisyColumn:
        certificate = self.certificate
        done = certificate.processed.get(name, {"round": False, "clip": None})
        if certificate.facts.processed and not certificate.processed:
            raise ArgumentError(
                "the certificate",
                rule="of schema 1.4 or later, where values were clipped or rounded after the noise",
                got="an earlier one, which does not say how in numbers",
                hint="Ask the issuer for another certificate, or for a release without clip and round.",
            )
        domain = certificate.facts.clipped.get(name) or ()
        whole = name in self.dates and done["clip"] is None and all(map(float.is_integer, domain))
        scales, places = [certificate.scales[name]], np.zeros(values.size, dtype=np.intp)
        if certificate.strata:
            scales, places = [found["scales"][name] for found in certificate.strata], self.stratum_of_rows()
        return NoisyColumn(
            values=values,
            noises=tuple(noise_of(certificate.noise, scale) for scale in scales),
            places=places,
            bounds=done["clip"],
            to_integers=done["round"],
            whole=whole and not np.isin(values, ENDS).any(),
        )

    def _check_released(self, name: str, column: NoisyColumn) -> None:
        """Raise UncoveredFrameError for values that no release has: noisy ones lie between the points of a grid."""
        for place, noise in enumerate(column.noises):
            values = column.values[column.places == place]
            if column.is_processed:
                inner = column.inner(place)
                low, high = column.bounds or (-np.inf, np.inf)
                wrong = bool(((inner < low) | (inner > high)).any())
                wrong |= column.to_integers and bool((inner != np.rint(inner)).any())
            elif noise is not None:
                grid = self._grid(name, noise)
                steps = values[np.abs(values) < HALVES * grid] / grid
                wrong = bool((np.abs(steps - np.trunc(steps)) != 0.5).any())
            else:
                wrong = False
            if wrong:
                got = "others: they were rounded, scaled, clipped or filled"
                hint = "Estimate first, from the released values. Rows may be left out by kept columns."
                raise UncoveredFrameError(f"the values of {name!r}", rule="as they were released", got=got, hint=hint)

    def _grid(self, name: str, noise: NoiseFamily) -> float:
        """The grid of the release, or of the first one that it refines."""
        first = self.certificate.refines[0]["scales"][name] if self.certificate.refines else noise.scale
        return grid_of(first, resolution=STABLE_RESOLUTION if isinstance(noise, Stable) else RESOLUTION)


def _repeats(values: FloatArray, noise: NoiseFamily, spacing: float) -> bool:
    """Whether more values are equal than noise on a grid allows, but for one release in a thousand million.

    No point has a larger probability than the middle one has for a value there.
    """
    half = max(spacing / 2, _FLAT * noise.scale)
    peak = (1 - 2 * float(noise.survival(np.array([half]))[0])) * spacing / (2 * half)
    counts = np.unique(values, return_counts=True)[1]
    if not counts.size:
        return False
    if spacing > _FINE * noise.scale:  # rounded: equal values are usual, and the most frequent one decides
        return bool(counts.max() > scipy.stats.binom.isf(_NEVER / counts.size, values.size, peak))
    pairs = int((counts * (counts - 1) // 2).sum())
    return bool(pairs > scipy.stats.poisson.isf(_NEVER, values.size * (values.size - 1) / 2 * peak))


def noise_of(title: str, scale: float, /) -> NoiseFamily | None:
    """The noise of a certificate; None for a scale of 0, and ArgumentError for a family that is not known here."""
    if not scale:
        return None
    if (family := family_titled(title)) is not None:
        return family.at(scale)
    rule = "one that this version of the package knows"
    hint = "Estimate with the version that made the release."
    raise ArgumentError("the noise of the certificate", rule=rule, got=repr(title), hint=hint)


def of_labels(name: str, /) -> ArgumentTypeError:
    """The error of a column of labels in place of one of numbers."""
    hint = "Name it as by=, or write .value_counts(column)."
    return ArgumentTypeError(f"the column {name!r}", rule="of numbers", got="labels", hint=hint)


def _as_keys(levels: Sequence[Any]) -> tuple[Any, ...]:
    """Levels that are told apart as a certificate tells them: True is not 1."""
    return tuple((isinstance(level, bool), level) for level in levels)


def _of_a_channel(name: str, *, counted: bool) -> ArgumentError:
    hint = "Write .value_counts(column), which gives the rows of every value."
    if not counted:
        hint = 'Ask the issuer for mechanism="noise", if it has numbers.'
    got = "random levels of a channel, which are biased"
    return ArgumentError(f"the column {name!r}", rule="released with noise, for this estimate", got=got, hint=hint)
