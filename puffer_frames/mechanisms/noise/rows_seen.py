"""What a plan of noise is made from: counts of the rows, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError, PriorError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.null_values import merged_frame
from puffer_frames.frames.roles import Roles, no_level
from puffer_frames.frames.summary import least_width, most_filled, sort_key, width_of_few
from puffer_frames.frames.table import CompleteRows, Table, open_table
from puffer_frames.frames.units import UnitSizes
from puffer_frames.mechanisms.request import Found, Request, is_joint, with_other_tables
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.priors.pairs import by_column, check_pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.priors.summary import OTHER, JointCounts, Summary, labelled, of_levels
from puffer_frames.scales.cautions import warn_of_merged, warn_of_width
from puffer_frames.scales.joint.coupled import prior_of
from puffer_frames.scales.learned import Belief
from puffer_frames.scales.strata import Stratum


def with_units(request: Request, table: Table, /, *, declared: bool = True) -> Request:
    """The request for units of at most as many rows as those of the table have, or as were declared.

    Raises ArgumentError for a unit with more rows than were declared, and for rows that were said to be the same where
    they differ, or where units have different numbers of them; PriorError for a unit with rows of two secrets;
    ArgumentTypeError, PriorError for a column that cannot name units, and rows without one.
    """
    unit = request.unit
    if unit is None:
        return request
    if unit.over == "sample" and not isinstance(table, LocalTable):
        raise ArgumentError(
            "unit",
            rule='Unit(..., over="raise") for a frame that is not in memory',
            got='over="sample"',
            hint="Leave out rows of large units first, or collect the frame.",
        )
    repeated = unit.rows == "repeated"
    values = request.public if repeated else ()
    found = table.unit_sizes(unit=unit.column, groups=request.secret, values=values, nulls=request.nulls)
    if found.mixed & set(request.secret):
        raise PriorError(
            f"the unit column {unit.column!r}",
            rule="one whose rows of a unit all have the same secret",
            got="a unit with two secrets",
            hint="Several rows can only protect a secret that they share: mend the table, or leave unit out.",
        )
    if repeated:
        _check_repeated(found)
    if unit.over == "sample":
        assert unit.most is not None
        return request.for_units(unit.most)
    most = unit.most if declared else None
    if most is not None and found.largest > most:
        raise ArgumentError(
            f"the unit column {unit.column!r}",
            rule=f"of at most {most} rows per unit",
            got="a unit with more",
            hint='Say over="sample" to use so many at random, or declare a larger number.',
        )
    return request.for_units(most or max(1, found.largest))


def _check_repeated(found: UnitSizes) -> None:
    """Raise ArgumentError where two rows of a unit differ in a public column, or units have other numbers of rows."""
    if found.mixed:
        raise ArgumentError(
            "unit",
            rule='Unit(..., rows="repeated") only where all rows of a unit hold the same values',
            got=f"a unit with two values of {min(found.mixed)!r}",
            hint='Say rows="independent", if they are so given the secret, or rows="any".',
        )
    if found.smallest < found.largest:  # else a unit would count as often as it has rows
        raise ArgumentError(
            "unit",
            rule='Unit(..., rows="repeated") only where all units have the same number of rows',
            got="units of different sizes",
            hint="Release one row of each unit instead: its rows are all the same.",
        )


MOST_ROWS = 2_000_000
"""More different rows are counted in cells, where their number is not known to be less."""
MOST_CELLS = 1 << 18
_MOST_COUNTS, _MUCH_FINER = 3, 4
"""Cells are made narrower where rows fill few of them, so often at the most, and by at least this factor."""
MOST_SECRETS = 100
"""Beyond this many secrets several columns have the bounded-column rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsSeen:
    """Counts of the rows of a request."""

    summaries: Mapping[str, Summary]
    """How often each value of a public column occurs with each secret."""
    joint: JointCounts | None = None
    """How often each row of several columns does, where their scales are found together."""
    finer: Callable[[str, float], Summary] | None = None
    """Counts a column anew in cells of a width, where the rows are at hand."""

    @classmethod
    def of(cls, rows: CompleteRows, request: Request, /) -> RowsSeen:
        """For a plan: whole rows are counted where their scales are found together, and the secrets are few."""
        if request.labels:
            return cls._with_labels(rows, request, request.domain)
        seen = cls.for_plan(rows, request, request.domain, joint=False)
        if not is_joint(request):
            return seen
        if seen.has_few_secrets(len(request.secret)):
            return seen.with_joint(rows, request, request.domain)
        if request.theorem != "auto":
            raise _too_many_secrets()
        warn_of_width(
            request.public,
            f"{{columns}} have more than {MOST_SECRETS} secrets, too many for whole rows: each column has noise "
            "for its whole range, which is far more",
            hint='Group rare secrets, or release one column, or say Noise(theorem="bounded") if that is wanted.',
            reason="rows",
        )
        return seen

    @classmethod
    def for_plan(
        cls, rows: CompleteRows, request: Request, domain: Mapping[str, Bounds], /, *, joint: bool
    ) -> RowsSeen:
        """As a plan has counted them, their values clipped to this domain."""
        if request.labels:
            return cls._with_labels(rows, request, domain)
        seen = cls(
            summaries=rows.summaries(domain), finer=lambda name, width: rows.finer(name, width, domain.get(name))
        )
        return seen.with_joint(rows, request, domain) if joint else seen

    def with_joint(self, rows: CompleteRows, request: Request, domain: Mapping[str, Bounds], /) -> RowsSeen:
        """With whole rows counted: each of them, or where they are too many in cells."""
        widths = {} if self._are_few() else self._widths()
        joint = rows.joint_counts(domain, widths)
        for _ in range(_MOST_COUNTS - 1 if widths else 0):  # values in clusters, or beside outliers
            full = sum(len(points) for points, _ in joint.counts.values())
            finer = (MOST_CELLS / full) ** (1 / len(widths))
            if finer < _MUCH_FINER:
                break
            least = {name: least_width(*self.summaries[name].extent) for name in widths}
            widths = {name: max(w / 2.0 ** math.floor(math.log2(finer)), least[name]) for name, w in widths.items()}
            joint = rows.joint_counts(domain, widths)
        return replace(self, joint=joint)

    def _widths(self) -> dict[str, float]:
        """Cells of which no more than `MOST_CELLS` can hold rows; columns of few values are counted value by value."""
        sizes = {name: math.inf if s.radius else float(_different(s)) for name, s in self.summaries.items()}
        left, waiting = MOST_CELLS / len(self.rows_per_secret), sorted(sizes, key=sizes.__getitem__)
        while waiting and sizes[waiting[0]] <= left ** (1 / len(waiting)):
            left /= sizes[waiting.pop(0)]
        each = max(left, 1.0) ** (1 / max(len(waiting), 1))
        return {name: width_of_few(*self.summaries[name].extent, cells=each) for name in waiting}

    def in_widths(self, widths: Mapping[str, float], /) -> RowsSeen:
        """With columns of wider cells counted anew in cells of these widths, where the rows are at hand.

        Values are counted by themselves where there are few rows and secrets and the cells would be narrower.
        """
        if self.finer is None:
            return self
        rows = sum(self.rows_per_secret.values())
        narrow = {name: width for name, width in widths.items() if width < 2 * self.summaries[name].radius}
        few = rows <= most_filled(len(self.rows_per_secret))
        narrow = dict.fromkeys(narrow, 0.0) if few else {n: w for n, w in narrow.items() if w}
        found = {name: self.finer(name, width) for name, width in narrow.items()}
        return replace(self, summaries={**self.summaries, **found})

    @classmethod
    def _with_labels(cls, rows: CompleteRows, request: Request, domain: Mapping[str, Bounds]) -> RowsSeen:
        """The rows counted per secret and label; numbers of levels are a column like the others."""
        own, public = len(request.secret) + len(request.given_columns), request.public
        numbers = [name for name in public if name not in request.labels]
        if numbers:
            found = cls(summaries=rows.summaries(domain)).with_joint(rows, request, domain)
            parts = list(found.by_stratum(own).values())
            joint = labelled(found.joint, request.labels, own=own, columns=public)  # type: ignore[arg-type]
            seen = replace(cls.merged(parts), joint=joint)
        else:
            first, *_ = request.labels
            seen = cls(summaries={}, joint=of_levels(rows.level_counts(first), request.labels, own=own, columns=public))
        if not seen.has_few_secrets(len(request.secret)):
            raise _too_many_secrets()
        return seen

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        if self.joint is not None:
            return self.joint.rows_per_secret
        return next(iter(self.summaries.values())).rows_per_secret

    def rows_of_secrets(self, own: int, /, *, given: bool) -> dict[Secret, int]:
        """The same where the secrets were counted with given columns after `own` of their own."""
        found: dict[Secret, int] = {}
        for key, rows in self.rows_per_secret.items():
            secret = _own(cast(tuple[Any, ...], key), own) if given else key
            found[secret] = found.get(secret, 0) + rows
        return found

    def protected(self, request: Request, /) -> RowsSeen:
        """By what is protected: the joint value of the secret columns, or the values of each by itself."""
        if not request.apart:
            return self
        groups, count = by_column(self.rows_per_secret, request.secret), self.finer

        def finer(name: str, width: float) -> Summary:
            assert count is not None
            return count(name, width).grouped(groups)

        return replace(
            self,
            summaries={name: summary.grouped(groups) for name, summary in self.summaries.items()},
            joint=None if self.joint is None else self.joint.grouped(groups),
            finer=None if count is None else finer,
        )

    def checksum(self) -> str:
        """Equal for frames with the same rows in any order."""
        single = "".join(summary.checksum() for summary in self.summaries.values())
        return single if self.joint is None else single + self.joint.checksum()

    def by_stratum(self, own: int, /) -> dict[Stratum, RowsSeen]:
        """The rows of each stratum: the secrets are counted with the given columns after `own` of their own."""
        strata: dict[Stratum, dict[tuple[Any, ...], Secret]] = {}
        for key in cast(list[tuple[Any, ...]], list(self.rows_per_secret)):
            strata.setdefault(key[own:], {})[key] = _own(key, own)
        return {z: self._only(strata[z]) for z in sorted(strata, key=sort_key)}

    @classmethod
    def merged(cls, parts: Sequence[RowsSeen], /) -> RowsSeen:
        """All rows of some strata."""
        joint = [part.joint for part in parts if part.joint is not None]
        return cls(
            summaries={name: Summary.merged([part.summaries[name] for part in parts]) for name in parts[0].summaries},
            joint=JointCounts.merged(joint) if joint else None,
        )

    def _only(self, secrets: Mapping[Any, Secret]) -> RowsSeen:
        """The rows of some secrets, under other names."""
        joint = self.joint
        return RowsSeen(
            summaries={
                name: replace(summary, counts={own: summary.counts[key] for key, own in secrets.items()})
                for name, summary in self.summaries.items()
            },
            joint=None
            if joint is None
            else replace(joint, counts={own: joint.counts[key] for key, own in secrets.items()}),
        )

    def has_few_secrets(self, own: int, /) -> bool:
        """Whether whole rows may be counted; the keys of the counts begin with so many secrets."""
        return len({key[:own] if isinstance(key, tuple) else key for key in self.rows_per_secret}) <= MOST_SECRETS

    def _are_few(self) -> bool:
        """Whether the different rows fit into memory, whatever they are."""
        rows = sum(self.rows_per_secret.values())
        if rows <= MOST_ROWS:
            return True
        if any(summary.radius for summary in self.summaries.values()):  # of which the different values are not known
            return False
        different = math.prod(map(_different, self.summaries.values()))
        return different * len(self.rows_per_secret) <= MOST_ROWS


def _different(summary: Summary) -> int:
    return np.unique(np.concatenate([values for values, _ in summary.counts.values()])).size


def _too_many_secrets() -> CalibrationError:
    return CalibrationError(
        "the secret",
        rule=f"one of at most {MOST_SECRETS} values where whole rows of several columns are compared",
        got="one of more",
        hint="Group rare secrets, or release one column at a time.",
    )


def _own(key: tuple[Any, ...], own: int) -> Secret:
    return key[0] if own == 1 else key[:own]


def with_labels(request: Request, table: Table, /) -> Request:
    """The request, which knows its columns of labels; raises ArgumentError for what does not go with labels."""
    names = table.names
    labels = tuple(name for name in request.public if name in names and table.kind_of(name) == "labels")
    if len(request.public) == 1 or not labels:
        return request
    refused: dict[str, tuple[bool, str]] = {
        "theorem": (
            not is_joint(request) and request.theorem != BOUNDED.name,
            '"bounded" where labels are among several columns, for other than Laplace noise and calibration="exact"',
        ),
        "remap": (request.mechanism == "remap", "False where labels are among several columns"),
        "domain": (bool(request.declared), "(low, high) of columns of numbers"),
    }
    if request.nulls == "level":
        raise no_level("with noise")
    for argument, (wrong, rule) in refused.items():
        if wrong:
            hint = "Release the column of labels by itself; two releases of the same rows are not covered together."
            raise ArgumentError(argument, rule=rule, got="something else", hint=hint)
    return replace(request, labels=labels)


def with_merged(request: Request, frame: NativeFrame, table: Table, /) -> tuple[Request, NativeFrame, Table]:
    """The request and the frame with small strata under one label, where that was asked for.

    A stratum is small that has fewer rows than the minimum of a secret that is protected, also none. Where they are
    small together, too, the smallest of the others join them. Their label is "other", or "other (merged)" beside a
    stratum of that name.

    Raises ArgumentError for given columns of other than text.
    """
    if request.given is None or not request.given.merge:
        return request, frame, table
    for name in request.given_columns:
        if table.kind_of(name) != "labels":
            raise _no_text(name)
    seen = RowsSeen.of(table.complete(request.roles(), nulls=request.nulls, layout=None), request)
    counts = seen.rows_of_secrets(len(request.secret), given=True)
    pairs = check_pairs(request.pairs, list(counts))
    named = list(counts) if pairs == "all" else list(dict.fromkeys(secret for pair in pairs for secret in pair))
    parts = seen.by_stratum(len(request.secret))
    for z in parts:
        for name, level in zip(request.given_columns, z, strict=True):
            if not isinstance(level, str | None):  # of a category: 1 and "1" would be merged with one another
                raise _no_text(name)
    rows = {z: [part.rows_per_secret.get(secret, 0) for secret in named] for z, part in parts.items()}
    merged = _merged(rows, minimum=request.given.minimum)
    if not merged:
        return request, frame, table
    label = OTHER
    while any(set(z) == {label} for z in rows if z not in merged):
        label += " (merged)"
    sizes = {
        own: [sum(part.rows_per_secret.values()) for z, part in parts.items() if (z in merged) == own]
        for own in (True, False)
    }
    warn_of_merged(request.given_columns, sizes, label=label, minimum=request.given.minimum)
    changed = merged_frame(frame, request.given_columns, merged, label=label)
    return replace(request, merged=merged, merged_as=label), changed, open_table(changed)


def _no_text(name: str) -> ArgumentError:
    return ArgumentError(
        "given",
        rule="columns of text or categories of text, to merge strata",
        got=repr(name),
        hint="Write the values as text first, or leave out merge=True.",
    )


def _merged(rows: Mapping[Stratum, Sequence[int]], *, minimum: int) -> tuple[Stratum, ...]:
    """The small strata, and while these are too few together the smallest of the others; `rows` are per secret."""
    small = [z for z, found in rows.items() if min(found) < minimum]
    if not small:
        return ()
    others = sorted((z for z in rows if z not in small), key=lambda z: sum(rows[z]), reverse=True)
    while others and (len(small) < 2 or min(map(sum, zip(*(rows[z] for z in small), strict=True))) < minimum):
        small.append(others.pop())
    return tuple(small)


def with_tables(request: Request, /) -> Request:
    """The request with the frames among its beliefs counted, where their rows are compared."""
    if len(request.public) > 1 and not is_joint(request):
        return request
    return with_other_tables(request, lambda frame: _counted(frame, request))


def _counted(frame: NativeFrame, request: Request) -> Found:
    """Another table, as its rows are compared with those of the first."""
    roles = request.counting(Roles(secret=request.secret, public=request.public))
    rows = open_table(frame).complete(roles, nulls=request.nulls, layout=None)
    if request.labels:
        joint = RowsSeen.of(rows, replace(request, beliefs=())).joint
        assert joint is not None
        return joint
    if len(request.public) > 1:
        return rows.joint_counts(request.domain, {})
    return rows.summaries(request.domain)[request.public[0]]


def label_shares(empirical: Belief, rows: Mapping[Secret, int], /, *, levels: int = 0) -> FloatArray:
    """The share of the rows with each label of a column, of at least so many."""
    labels = np.concatenate([prior.means for prior in empirical.values()]).astype(int)
    often = np.concatenate([prior.weights * rows[secret] for secret, prior in empirical.items()])
    return cast(FloatArray, np.bincount(labels, often, levels) / often.sum())


def constants_of(part: RowsSeen, secrets: Sequence[Secret], /, *, request: Request) -> dict[str, float]:
    """The error of one constant in place of the values of some secrets of a stratum, per column."""
    found = {}
    for name in request.public:
        joint = part.joint if name in request.labels else None
        if joint is not None:
            law = {secret: prior_of(joint.counts[secret], joint.columns.index(name)) for secret in secrets}
        else:
            law = {secret: Prior.empirical(*part.summaries[name].counts[secret]) for secret in secrets}
        rows = {secret: prior.levels[1] for secret, prior in law.items()}
        found[name] = spread_of(law, rows)[1] if joint is None else 1 - float(label_shares(law, rows).max())
    return found


def spread_of(empirical: Belief, rows: Mapping[Secret, int], /) -> tuple[float, float]:
    """Standard deviation of a column, and the mean error of its median in place of every value."""
    values = np.concatenate([prior.means for prior in empirical.values()])
    weights = np.concatenate([prior.weights * rows[secret] for secret, prior in empirical.items()])
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order] / weights.sum()
    median = values[min(int(np.searchsorted(np.cumsum(weights), 0.5)), values.size - 1)]
    unit = float(np.abs(values - median).max()) or 1.0  # squares of huge and tiny values stay in range
    away = (values - median) / unit
    variance = float(weights @ away**2) - float(weights @ away) ** 2
    return unit * max(variance, 0.0) ** 0.5, unit * float(weights @ np.abs(away))
