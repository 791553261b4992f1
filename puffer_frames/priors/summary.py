"""How often each public value, level or row occurs with each secret: all that the numeric half sees of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.pairs import Groups
from puffer_frames.priors.prior import FloatArray, Secret, middles

Counts = tuple[FloatArray, NDArray[np.int64]]
"""Distinct values, ascending, and how often each occurs."""

_CACHED = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of the public values per secret, sorted by secret and by value. It does not grow with the rows."""

    counts: Mapping[Secret, Counts]
    """Different values, or the means of those in each cell, and how many rows have each."""
    radius: float
    """Half the width of the cells that values were counted in, or 0. A cell begins at a multiple of the width, which
    is a power of two: it is that of the mean."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    @property
    def extent(self) -> tuple[float, float]:
        """No value is below the first number or above the second one."""
        return extent_of(self.counts, radius=self.radius)

    @classmethod
    def merged(cls, parts: Sequence[Summary], /) -> Summary:
        """The rows of all parts, which were counted in the same way."""
        counts, several = dict[Secret, Counts](), dict[Secret, Counts]()
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            counts[secret] = found[0]
            if len(found) > 1:
                several[secret] = _joined(found)
        if several:
            counts |= in_wider_cells(several, radius=parts[0].radius)
        return cls(counts=counts, radius=parts[0].radius)

    def at_middles(self) -> Summary:
        """With the middles of the cells, from which a value is at most the radius away."""
        return replace(
            self, counts={s: (middles(values, self.radius), often) for s, (values, often) in self.counts.items()}
        )

    def grouped(self, groups: Groups, /) -> Summary:
        """The rows of each group of secrets; a secret may be in several."""
        return Summary.merged([replace(self, counts={own: self.counts[s]}) for own, of in groups.items() for s in of])

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.radius!r};".encode())
        for secret, (values, counts) in self.counts.items():
            digest.update(f"{secret!r}:{values.size};".encode())
            digest.update(middles(values, self.radius).astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()


def extent_of(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[float, float]:
    """No value is below the first number or above the second one."""
    low = min(float(values[0]) for values, _ in counts.values())
    high = max(float(values[-1]) for values, _ in counts.values())
    ends = middles(np.array([low, high]), radius)
    return float(ends[0]) - radius, float(ends[1]) + radius


def in_wider_cells(counts: Mapping[Secret, Counts], /, *, radius: float) -> dict[Secret, Counts]:
    """Values of each secret, ascending, and how often each occurs, by cells of twice the radius, or equal values for 0.

    The sums of many secrets are found at once: of about so many values that arrays of them stay in the cache.
    """
    found, part, size = dict[Secret, Counts](), dict[Secret, Counts](), 0
    for secret, own in counts.items():
        part[secret], size = own, size + own[0].size
        if size >= _CACHED:
            found |= _in_wider_cells(part, radius=radius)
            part, size = {}, 0
    return found | _in_wider_cells(part, radius=radius) if part else found


def _in_wider_cells(counts: Mapping[Secret, Counts], *, radius: float) -> dict[Secret, Counts]:
    values = np.concatenate([own for own, _ in counts.values()])
    often = np.concatenate([own for _, own in counts.values()])
    ends = np.cumsum([own.size for own, _ in counts.values()])
    keys = np.floor(values / (2 * radius)) if radius else values
    fresh = np.append(True, keys[1:] != keys[:-1])
    fresh[ends[:-1]] = True
    first = np.flatnonzero(fresh)
    totals = np.add.reduceat(often, first)
    found = values[first]
    if radius:
        begins = keys * (2 * radius)  # of the cells, exact
        starts, within = begins[first], (values - begins) * often
        found = np.minimum(starts + np.add.reduceat(within, first) / totals, np.nextafter(starts + 2 * radius, -np.inf))
    places = pairwise(np.append(0, np.searchsorted(first, ends)).tolist())
    return {secret: (found[a:b], totals[a:b]) for secret, (a, b) in zip(counts, places, strict=True)}


def _joined(pairs: Sequence[Counts]) -> Counts:
    values = np.concatenate([values for values, _ in pairs])
    order = np.argsort(values, kind="stable")
    return values[order], np.concatenate([often for _, often in pairs])[order]


Level: TypeAlias = str | bool | int | float | tuple[Any, ...] | None
"""A value of a public column that is released through a channel; None is a missing one. A tuple is one of several."""
RARE = 5
"""A level of fewer rows, over all secrets, is rare."""
OTHER = "other"
"""The level that rare ones are merged into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCounts:
    """Rows per secret and level, sorted by secret and by level, a missing one last."""

    levels: tuple[Level, ...]
    """The levels that occur."""
    counts: Mapping[Secret, NDArray[np.int64]]
    """How many rows of the secret have each level, shape (levels,)."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, counts in self.counts.items()}

    def grouped(self, groups: Groups, /) -> LevelCounts:
        """The rows of each group of secrets; a secret may be in several."""
        return replace(self, counts={own: np.sum([self.counts[s] for s in of], axis=0) for own, of in groups.items()})

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"levels {self.levels!r};".encode(errors="surrogatepass"))
        for secret, counts in self.counts.items():
            digest.update(f"{secret!r}:".encode(errors="surrogatepass"))
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()


JointRows = tuple[FloatArray, NDArray[np.int64]]
"""Different rows, or cells of them, in ascending order, shape (different, columns), and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCounts:
    """Counts of the different rows of the public columns per secret, sorted by secret and by row."""

    columns: tuple[str, ...]
    """Names of the public columns."""
    counts: Mapping[Secret, JointRows]
    labels: Mapping[int, tuple[Level, ...]] = field(default_factory=dict)
    """Levels of the columns of labels, by their place: their values are numbers of levels."""
    widths: Mapping[int, float] = field(default_factory=dict)
    """Widths of the cells that columns were counted in, by their place: powers of two. A cell begins at a multiple of
    its width, and a row stands for the rows in one cell on each axis: its values are their means."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    @classmethod
    def merged(cls, parts: Sequence[JointCounts], /) -> JointCounts:
        """The rows of all parts."""
        counts = {}
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            points, places = np.unique(np.concatenate([points for points, _ in found]), axis=0, return_inverse=True)
            often = np.zeros(len(points), dtype=np.int64)
            np.add.at(often, places.ravel(), np.concatenate([counts for _, counts in found]))
            counts[secret] = points, often
        return replace(parts[0], counts=counts)

    def grouped(self, groups: Groups, /) -> JointCounts:
        """The rows of each group of secrets; a secret may be in several."""
        parts = [replace(self, counts={own: self.counts[s]}) for own, of in groups.items() for s in of]
        return JointCounts.merged(parts)

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.columns!r};".encode())
        for place, levels in self.labels.items():
            digest.update(f"{place}:{levels!r};".encode())
        for secret, (points, counts) in self.counts.items():
            digest.update(f"{secret!r}:{counts.size};".encode())
            digest.update(points.astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()


def labelled(joint: JointCounts, labels: Sequence[str], /, *, own: int, columns: Sequence[str]) -> JointCounts:
    """Counts of whole rows, from those per secret and labels.

    - `joint`: The columns of numbers; a secret is a tuple of `own` secrets and a label of each column of labels.
    - `labels` (sequence of str): Names of the columns of labels.
    - `columns` (sequence of str): Names of all columns, in their order.
    """
    parts = {cast(tuple[Any, ...], key): rows for key, rows in joint.counts.items()}
    found = _joined_rows(parts, labels, joint.columns, own=own, columns=columns)
    return replace(found, widths={columns.index(joint.columns[k]): width for k, width in joint.widths.items()})


def of_levels(found: LevelCounts, labels: Sequence[str], /, *, own: int, columns: Sequence[str]) -> JointCounts:
    """The same of columns of labels alone: the levels are those of the first, the secrets hold the others."""
    parts: dict[tuple[Any, ...], JointRows] = {}
    for key, counts in found.counts.items():
        full = key if isinstance(key, tuple) else (key,)
        for level, count in zip(found.levels, counts.tolist(), strict=True):
            if count:
                parts[(*full[:own], level, *full[own:])] = np.zeros((1, 0)), np.array([count], dtype=np.int64)
    return _joined_rows(parts, labels, (), own=own, columns=columns)


def joint_levels(found: LevelCounts, /, *, own: int) -> LevelCounts:
    """Counts of tuples of the levels of several columns, where the secrets hold those of all columns but the first."""
    rows: dict[Secret, dict[Level, int]] = {}
    for key, counts in found.counts.items():
        full = cast(tuple[Any, ...], key)
        counted = rows.setdefault(full[0] if own == 1 else full[:own], {})
        for level, count in zip(found.levels, counts.tolist(), strict=True):
            if count:
                counted[level, *full[own:]] = count
    levels = tuple(sorted({level for counted in rows.values() for level in counted}, key=_entries))
    return LevelCounts(
        levels=levels,
        counts={s: np.array([own.get(level, 0) for level in levels], dtype=np.int64) for s, own in rows.items()},
    )


def _entries(levels: Level) -> tuple[tuple[str, Any], ...]:
    return tuple(map(_order, cast(tuple[Any, ...], levels)))


def _joined_rows(
    parts: Mapping[tuple[Any, ...], JointRows],
    labels: Sequence[str],
    numbers: Sequence[str],
    *,
    own: int,
    columns: Sequence[str],
) -> JointCounts:
    levels = [tuple(dict.fromkeys(sorted((key[own + k] for key in parts), key=_order))) for k in range(len(labels))]
    codes = [{typed(level): code for code, level in enumerate(found)} for found in levels]
    places = [(*numbers, *labels).index(name) for name in columns]
    rows: dict[Secret, list[JointRows]] = {}
    for key, (points, counts) in parts.items():
        own_codes = [float(code[typed(level)]) for code, level in zip(codes, key[own:], strict=True)]
        whole = np.hstack([points, np.tile(own_codes, (len(points), 1))])[:, places]
        rows.setdefault(key[0] if own == 1 else key[:own], []).append((whole, counts))
    counted = {secret: _sorted(found) for secret, found in rows.items()}
    return JointCounts(
        columns=tuple(columns),
        counts=counted,
        labels={columns.index(name): found for name, found in zip(labels, levels, strict=True)},
    )


def _sorted(parts: Sequence[JointRows]) -> JointRows:
    points, counts = np.concatenate([p for p, _ in parts]), np.concatenate([c for _, c in parts])
    order = np.lexsort(points.T[::-1])
    return points[order], counts[order]


def typed(level: Level, /) -> tuple[type, Level]:
    """1 and True are two levels."""
    return type(level), level


def _order(level: Level) -> tuple[str, Any]:
    return type(level).__name__, level
