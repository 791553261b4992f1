"""The columns of a table as whole numbers: levels of labels, cells of numbers, and functions of other columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.coded import Coded, Numbered, check_levels
from puffer_frames.frames.columns import LARGEST_INTEGER, NO_VALUE, meant_as, merging
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.table import CompleteRows
from puffer_frames.mechanisms.request import Request
from puffer_frames.noise.adding import Levels, Reals, other_levels
from puffer_frames.noise.channel import JointLevels
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.pairs import check_pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.summary import RARE, Level, Summary
from puffer_frames.scales.cautions import warn_of_identifiers, warn_of_tail, warn_of_values
from puffer_frames.scales.utility import FAR_MEAN, SHIFTED

MOST_ROWS = 200_000
"""Beyond this many rows, some are drawn at random, and the plan is made of these."""
MOST_LEVELS = 64
"""The most levels of a column of labels, and cells of one of numbers: programs of channels take time with the square of
their number."""
_FEWEST_NUMBERED = 100
"""In fewer rows whole numbers may all differ by chance."""
_VISITS, _MOSTLY, _EVEN = 10, 0.75, 0.05
"""Identifiers of several rows: most of them have 2 to so many, and as many in any part of their range. What is measured
comes more often where values are dense: the distributions of rows and of different values are 0.09 to 0.9 apart in
tables of some thousand rows, those of identifiers at most 0.03."""
_DAYS = 360, 366
"""Days of a year are as even as identifiers."""
MOST_SECRETS = 24
_ROWS_OF_LEVEL, _LEAST_VARIED = 5, 50
"""A column is a function of another only where levels of this one have so many rows on average, and where so many rows
do not have the commonest level of that one: else it may look like one by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A released column: what its codes are of."""

    name: str
    levels: Levels
    """The released values by code, a missing one last: labels, or a value of each cell of numbers."""
    edges: FloatArray | None = None
    """For numbers: the code is the number of edges below the value. None for labels."""
    ends: Bounds | None = None
    """To which numbers are clipped first."""
    seen: Bounds | None = None
    """The least and the largest number that the plan was made from. None for labels, and in files that lack it."""
    different: int | None = None
    """Different values that its cells stand for, where these are whole numbers, or dates, that could be cells of their
    own, and more than a few rows have one that never comes out. None of others, and in files that lack it."""
    source: str | None = None
    """The column that this one is a function of, where it is one."""
    codes: tuple[int, ...] = ()
    """Then the code for each code of that column."""
    rare: tuple[int, ...] = ()
    """Codes of the labels that few rows of the whole table have; none where a plan was made of some of its rows."""

    @property
    def known(self) -> list[Level]:
        """The levels but a missing one."""
        return [level for level in self.levels if level is not None]

    @property
    def is_in_cells(self) -> bool:
        """Whether a released value stands for others, too."""
        return self.edges is not None and list(self.edges) != self.known[:-1]

    @property
    def reads(self) -> Levels | None:
        """As a draw reads it: None for numbers."""
        return self.levels if self.edges is None else None

    def coded(self, values: Reals, /) -> IndexArray:
        """Codes of what a draw reads: codes of labels, or numbers, of which NaN is a missing one."""
        if self.edges is None:
            return values.astype(np.intp)
        numbers = values.astype(np.float64, copy=False)
        missing = np.isnan(numbers)
        if np.isinf(numbers).any():
            raise PriorError(
                f"the public column {self.name!r}",
                rule="of finite numbers",
                got="infinities",
                hint="Leave those rows out.",
            )
        found = np.searchsorted(self.edges, numbers if self.ends is None else numbers.clip(*self.ends))
        if missing.any():
            if self.levels[-1] is not None:
                raise missing_values(self.name, int(missing.sum()))
            found = np.where(missing, len(self.levels) - 1, found)
        return found

    def read(self, entries: Coded | Numbered, /) -> IndexArray:
        """Codes of a column; raises CalibrationError for labels that are not known."""
        if isinstance(entries, Coded):
            return entries.among(self.levels, name=self.name).astype(np.intp)
        return self.coded(entries.values)

    def strange(self, entries: Coded | Numbered, /) -> NDArray[np.bool_]:
        """Which numbers no row of the plan had, or beyond all of these; that of labels is an error of `read`."""
        if isinstance(entries, Coded):
            return np.zeros(entries.codes.size, dtype=bool)
        there = entries.values if self.ends is None else entries.values.clip(*self.ends)
        if self.is_in_cells:
            low, high = self.seen or (-np.inf, np.inf)
            return (there < low) | (there > high)
        return ~(np.isin(there, np.array(self.known, dtype=np.float64)) | np.isnan(there))

    def within(self, entries: Coded | Numbered, codes: IndexArray, /) -> float:
        """Mean distance of numbers to the released value of their cell; 0 of labels."""
        if isinstance(entries, Coded):
            return 0.0
        levels = np.array([np.nan if level is None else level for level in self.levels], dtype=np.float64)
        apart = np.sort(np.abs(entries.values - levels[codes]))  # the same sum in any order of the rows
        apart = apart[~np.isnan(apart)]
        return float(apart.mean()) if apart.size else 0.0

    def released(self, table: LocalTable, /) -> IndexArray:
        """Codes of a released column; raises CalibrationError for values that no release has."""
        if self.edges is None:
            return table.coded(self.name).among(self.levels, name=self.name).astype(np.intp)
        found = table.values(self.name)
        codes = self.coded(found)
        own = np.array([np.nan if level is None else level for level in self.levels], dtype=np.float64)[codes]
        if other := int((~((own == found) | (np.isnan(own) & np.isnan(found)))).sum()):
            raise other_levels(self.name, got=f"{other:,} row{'s' * (other > 1)}")
        return codes


def missing_values(name: str, rows: int, /, *, of: int = 0) -> PriorError:
    """The error of missing values that are no level; `of`: in so many rows, where that is known."""
    return PriorError(
        f"the public column {name!r}",
        rule="without missing values",
        got=f"{rows:,} missing",
        hint='Say nulls="level" to release a missing value as one of the levels, or nulls="drop".'
        if rows != of
        else NO_VALUE,
    )


def label_column(name: str, found: Coded, /, *, declared: Levels | None, nulls: bool, whole: bool) -> TableColumn:
    """A column of labels or truth values, with the levels that occur or those that were declared.

    - `whole`: Whether these are all rows, so that it is known which levels are rare.
    """
    levels = found.levels
    if None in levels and not nulls:
        raise missing_values(name, int((found.codes == levels.index(None)).sum()), of=found.codes.size)
    if declared is not None:
        levels = tuple(level for level in declared if level is not None) + (None,) * (nulls or None in declared)
    rows = np.bincount(found.among(levels, name=name), minlength=len(levels))
    if len(levels) > MOST_LEVELS:
        meant = meant_as(name, levels)
        raise ArgumentError(
            f"the public column {name!r}",
            rule=f"one of at most {MOST_LEVELS} different labels in a table that is released column by column",
            got="more",
            hint=meant[1]
            if meant
            else f'{merging(name)} Or leave the column out of public, or write mechanism="noise".',
        )
    rare = np.flatnonzero((rows > 0) & (rows < RARE)).tolist() if whole else ()
    return TableColumn(name=name, levels=levels, rare=tuple(rare))


def number_column(
    name: str, entries: Numbered, /, *, cells: int, ends: Bounds | None, nulls: bool, whole: bool, dates: bool = False
) -> TableColumn:
    """A column of numbers in cells: each value of few, else heavy ones alone and the others in equal parts."""
    missing, there = int(np.isnan(entries.values).sum()), np.sort(entries.values[~np.isnan(entries.values)])
    if missing and not nulls and there.size:
        raise missing_values(name, missing)
    if not there.size or not np.isfinite(there[[0, -1]]).all():
        got = "no value at all" if not there.size else "infinite ones"
        raise PriorError(f"the public column {name!r}", rule="of finite numbers", got=got, hint="Leave it out.")
    if entries.whole and np.abs(there[[0, -1]]).max() > LARGEST_INTEGER:
        raise PriorError(
            f"the public column {name!r}",
            rule="of integers within 2**53",
            got="larger ones",
            hint="Leave identifiers out of public, or convert them to text.",
        )
    if ends is not None and entries.whole:
        ends = float(np.ceil(ends[0])), float(np.floor(ends[1]))
        if ends[0] > ends[1]:
            raise ArgumentError(
                "domain", rule="with a whole number in it for a column of integers", got="none", hint="Widen it."
            )
    there = there if ends is None else there.clip(*ends)
    values, counts = np.unique(there, return_counts=True)
    if entries.whole and _FEWEST_NUMBERED <= values.size == entries.values.size:
        warn_of_identifiers(name)
    elif ends is None:
        told = warn_of_values(name, Summary(counts={None: (values, counts)}, radius=0.0), whole=whole)
        if not told and not dates and _are_repeated_identifiers(values, counts):
            warn_of_identifiers(name, often="most of them in a few rows each")
    edges = values[:-1] if len(values) <= cells else _edges(values, counts, there, cells)
    found = np.searchsorted(edges, there)
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    stops = np.append(starts[1:], there.size)
    middles = there[(starts + stops - 1) // 2]
    off = abs(float((middles * ((stops - starts) / there.size)).sum()) - float(there.mean()))
    if off > FAR_MEAN * float(np.abs(there - np.median(there)).mean()) > 0:
        warn_of_tail(name)
    levels: list[Level] = [int(value) if entries.whole else float(value) for value in middles]
    lost = float(counts[~np.isin(values, middles)].sum() / there.size)
    return TableColumn(
        name=name,
        levels=(*levels, *((None,) if missing else ())),
        edges=edges,
        ends=ends,
        seen=(float(there[0]), float(there[-1])),
        different=values.size if values.size <= MOST_LEVELS and not (values % 1).any() and lost > SHIFTED else None,
    )


def _are_repeated_identifiers(values: FloatArray, counts: IndexArray) -> bool:
    """Whether these are whole numbers that name something with a few rows each, as patients with several visits."""
    if values.size < _FEWEST_NUMBERED or (values % 1).any() or _DAYS[0] <= values[-1] - values[0] <= _DAYS[1]:
        return False
    apart = np.abs(counts.cumsum() / counts.sum() - np.arange(1, values.size + 1) / values.size).max()
    return float(np.mean((counts > 1) & (counts <= _VISITS))) >= _MOSTLY and float(apart) <= _EVEN


def _edges(values: FloatArray, counts: IndexArray, there: FloatArray, cells: int) -> FloatArray:
    """Upper ends of all cells but the last: values of a cell's share of the rows alone, the others in equal parts."""
    heavy = values[counts >= there.size / cells]
    light = there[~np.isin(there, heavy)]
    ends = heavy
    if (parts := cells - len(heavy)) > 1:
        ends = np.append(ends, np.quantile(light, np.linspace(0, 1, parts + 1)[1:-1], method="lower"))
    before = values[np.searchsorted(values, heavy[heavy > values[0]]) - 1]
    every = np.unique(np.concatenate([ends, before]))
    return every[every < values[-1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRows:
    """The rows of a table in codes, in an order that does not depend on theirs."""

    columns: tuple[TableColumn, ...]
    """All public columns."""
    secrets: tuple[Secret, ...]
    codes: IndexArray
    """Codes of the columns that are no functions of others, shape (rows, columns)."""
    groups: IndexArray
    """Number of the secret of each row, shape (rows,)."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret in the whole table, which may be more than these."""
    within: Mapping[str, float]
    """Mean distance of the numbers of a column to the released value of their cell."""
    strange: Mapping[str, int]
    """Entries per column that no row of the plan had: other numbers, or others than those that a plan computes."""
    others: tuple[CodedRows, ...] = ()
    """Other tables with these columns, among the beliefs."""

    def checksum(self) -> str:
        """Equal for frames with the same rows in any order."""
        digest = hashlib.sha256(f"table {self.secrets!r};".encode(errors="surrogatepass"))
        for column in self.columns:
            digest.update(f"{column.name!r} {column.levels!r} {column.source!r};".encode(errors="surrogatepass"))
        # a number that is beyond all of a plan is still in one of its cells
        other = sum(self.strange[each.name] for each in self.columns if each.source is not None or not each.is_in_cells)
        for part in (self.codes, self.groups, np.array([*self.rows_per_secret.values(), other])):
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        return digest.hexdigest()


def secret_levels(secrets: Sequence[Secret], columns: Sequence[str], /) -> JointLevels:
    """The joint levels of the secret columns, numbered as the secrets."""
    own = [cast(Levels, secret) if len(columns) > 1 else (cast(Level, secret),) for secret in secrets]
    return JointLevels(columns=tuple(columns), numbers={levels: k for k, levels in enumerate(own)})


def read_secrets(rows: CompleteRows, names: Sequence[str], /) -> tuple[tuple[Secret, ...], dict[Secret, int]]:
    """The joint values of the secret columns that occur, sorted, and the rows of each."""
    try:
        each = {name: cast(Coded, entries) for name, entries in rows.entries(names).items()}
    except (ArgumentError, ArgumentTypeError) as error:  # readers of levels take each column for a public one
        what = error.what.replace("the public column", "the secret column", 1)
        raise type(error)(what, rule=error.rule, got=error.got, hint=error.hint) from None
    for name, coded in each.items():
        if None in coded.levels:
            raise PriorError(
                f"the secret column {name!r}",
                rule="without missing values",
                got="some",
                hint='Say nulls="drop" to leave these rows out, or fill them first.',
            )
    different, counts = np.unique(np.stack([c.codes for c in each.values()], axis=1), axis=0, return_counts=True)
    found: list[Secret] = []
    for codes in different.tolist():
        levels = tuple(coded.levels[code] for coded, code in zip(each.values(), codes, strict=True))
        found.append(levels if len(names) > 1 else levels[0])
    return tuple(found), dict(zip(found, counts.tolist(), strict=True))


def learn_columns(rows: CompleteRows, request: Request, /, *, cells: int) -> CodedRows:
    """The columns of a table as it is read for the first time, none a function of another."""
    secrets, counts = read_secrets(rows, request.secret)
    check_pairs("all", secrets, nulls=request.nulls)
    if len(secrets) > MOST_SECRETS:
        raise ArgumentError(
            "the secret",
            rule=f"of at most {MOST_SECRETS} different values for a table that is released column by column",
            got=f"{len(secrets):,}",
            hint='Merge its rare values first, or write mechanism="noise".',
        )
    entries = rows.entries((*request.public, *request.secret), MOST_ROWS)
    nulls = request.nulls == "level"
    columns = []
    whole = sum(counts.values()) <= MOST_ROWS
    for name in request.public:
        own, declared = entries[name], request.declared.get(name)
        if isinstance(own, Coded):
            columns.append(label_column(name, own, declared=declared, nulls=nulls, whole=whole))
            continue
        if declared is not None:
            raise ArgumentError(
                "domain", rule="(low, high) for a column of numbers", got="levels", hint="Write (low, high)."
            )
        ends = request.domain.get(name)
        column = number_column(name, own, cells=cells, ends=ends, nulls=nulls, whole=whole, dates=name in rows.dates)
        columns.append(column)
    found = _coded(entries, tuple(columns), secrets, counts, request.secret)
    if np.bincount(found.groups, minlength=len(secrets)).min() == 0:
        raise PriorError(
            "the rows that are drawn for the plan",
            rule=f"of every secret, {MOST_ROWS:,} of all rows",
            got="none of some secret",
            hint="Merge the rare secrets, or leave their rows out.",
        )
    return found


def read_again(rows: CompleteRows, request: Request, known: Sequence[TableColumn], /) -> CodedRows:
    """The rows of a table by the columns and secrets of a plan; raises CalibrationError for others."""
    found, counts = read_secrets(rows, request.secret)
    entries = rows.entries((*request.public, *request.secret), MOST_ROWS)
    return _coded(entries, tuple(known), tuple(found), counts, request.secret)


def read_other(rows: CompleteRows, request: Request, like: CodedRows, /) -> CodedRows:
    """Another table in the codes of the first; raises CalibrationError for other levels, ArgumentError for secrets."""
    found, counts = read_secrets(rows, request.secret)
    if set(found) != set(like.secrets):
        raise ArgumentError(
            "a frame among the beliefs",
            rule="one with the same values of the secret as the table",
            got="one that lacks some" if set(found) < set(like.secrets) else "one with others",
            hint="Leave rows of other secrets out of it, or leave the frame out.",
        )
    entries = rows.entries((*request.public, *request.secret), MOST_ROWS)
    return _coded(entries, like.columns, like.secrets, counts, request.secret)


def _coded(
    entries: Mapping[str, Coded | Numbered],
    columns: tuple[TableColumn, ...],
    secrets: tuple[Secret, ...],
    counts: Mapping[Secret, int],
    names: Sequence[str],
) -> CodedRows:
    joint = secret_levels(secrets, names)
    arrays = {name: cast(Coded, entries[name]).among(levels, name=name) for name, levels in joint.reads.items()}
    groups = joint.prepared()(arrays).astype(np.intp)
    held = {column.name: (entries[column.name], column.levels) for column in columns}
    check_levels({name: of.others(levels) for name, (of, levels) in held.items() if isinstance(of, Coded)})
    own = [column for column in columns if column.source is None]
    codes = np.stack([column.read(entries[column.name]) for column in own], axis=1)
    codes_of = {column.name: part for column, part in zip(own, codes.T, strict=True)}
    strange = {}
    for column in columns:
        found = column.strange(entries[column.name])
        if column.source is not None:
            found |= column.read(entries[column.name]) != np.array(column.codes)[codes_of[column.source]]
        strange[column.name] = int(found.sum())
    return _sorted(
        CodedRows(
            columns=columns,
            secrets=secrets,
            codes=codes,
            groups=groups,
            rows_per_secret=counts,
            within={column.name: column.within(entries[column.name], codes_of[column.name]) for column in own},
            strange=strange,
        )
    )


def with_derived(rows: CodedRows, known: Sequence[str], /) -> CodedRows:
    """The rows, in which columns that are functions of others are told as such, but for those that readers know."""
    sizes = [len(column.levels) for column in rows.columns]
    kept: list[int] = []
    found = list(rows.columns)
    for j in sorted(range(len(sizes)), key=lambda k: -sizes[k]):  # the finer one decides, and of equal ones the first
        for k in kept if rows.columns[j].name not in known else ():
            if (codes := _function(rows.codes[:, k], rows.codes[:, j], sizes[k], sizes[j])) is not None:
                found[j] = replace(rows.columns[j], source=rows.columns[k].name, codes=codes)
                break
        else:
            kept.append(j)
    return _sorted(replace(rows, columns=tuple(found), codes=rows.codes[:, sorted(kept)]))


def _sorted(rows: CodedRows, /) -> CodedRows:
    """In the order of their secrets and codes."""
    order = np.lexsort((*rows.codes.T[::-1], rows.groups))
    return replace(rows, codes=rows.codes[order], groups=rows.groups[order])


def _function(finer: IndexArray, coarser: IndexArray, size: int, others: int) -> tuple[int, ...] | None:
    """The code of one column for each code of another one, where the rows say that it is a function of it."""
    if others < 2 or finer.size < _ROWS_OF_LEVEL * size:
        return None
    if finer.size - np.bincount(coarser).max() < _LEAST_VARIED:
        return None
    counts = np.bincount(finer * others + coarser, minlength=size * others).reshape(size, others)
    if ((counts > 0).sum(axis=1) != 1).any():
        return None
    return tuple(counts.argmax(axis=1).tolist())
