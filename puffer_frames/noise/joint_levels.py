"""The joint level of each row in several columns of labels, as a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.draw import Arrays, Codes, Levels
from puffer_frames.priors.level_counts import Level

Number = TypeVar("Number", bound=np.integer[Any])
Integers: TypeAlias = NDArray[np.integer[Any]]
_Start: TypeAlias = tuple[tuple[type, Level], ...]
"""The levels of some of the first columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLevels:
    """The joint levels that some columns have, and the number of each."""

    columns: tuple[str, ...]
    numbers: Mapping[Levels, int]
    """Per joint level a number from 0; several may share one."""

    @property
    def reads(self) -> dict[str, Levels]:
        """The levels of each column."""
        return {name: levels_at(k, self.numbers) for k, name in enumerate(self.columns)}

    @property
    def unknown(self) -> int:
        """The number of a joint level that is none of these."""
        return 1 + max(self.numbers.values())

    def prepared(self) -> Callable[[Arrays], Integers]:
        """From the codes of the levels in each column to the numbers of the rows.

        **Cost**: one look-up per row and column, in a table of the joint levels so far by the levels of the column.
        """
        reads, tables = self.reads, []
        joint = {tuple(map(typed, levels)): number for levels, number in self.numbers.items()}
        before: dict[_Start, int] = {(): 0}
        for k, own in enumerate(reads.values()):
            last = k + 1 == len(self.columns)
            found = joint if last else {start: n for n, start in enumerate(dict.fromkeys(j[: k + 1] for j in joint))}
            unknown = self.unknown if last else len(found)
            # a row of its own for what was unknown before
            table = np.full((len(before) + 1, len(own)), unknown, dtype=np.uint16 if unknown < 1 << 16 else np.intp)
            places = {typed(level): place for place, level in enumerate(own)}
            for start, number in found.items():
                table[before[start[:k]], places[start[k]]] = number
            tables.append(table)
            before = found

        def numbers(arrays: Arrays) -> Integers:
            first, *others = (cast(Integers, arrays[name]) for name in self.columns)
            found: Integers = looked_up(tables[0][0], first)
            for table, codes in zip(tables[1:], others, strict=True):
                found = table.ravel().take(found.astype(np.intp) * table.shape[1] + codes)
            return found

        return numbers


def levels_at(place: int, joint: Sequence[Levels] | Mapping[Levels, int], /) -> Levels:
    """The different levels of one of the columns, as they come."""
    return tuple(level for _, level in dict.fromkeys(typed(levels[place]) for levels in joint))


def places_of(entries: Iterable[Level], levels: Levels, /) -> Codes:
    """Place of each entry in a list of different levels; the list's length for any other."""
    places = {typed(level): place for place, level in enumerate(levels)}
    return np.array([places.get(typed(entry), len(levels)) for entry in entries], dtype=np.uint16)


def looked_up(table: NDArray[Number], codes: Integers, /) -> NDArray[Number]:
    """The entries of a table; the codes themselves where these are their own entries, without a copy."""
    if np.array_equal(table, np.arange(table.size)):
        return codes.astype(table.dtype, copy=False)
    return table.take(codes)


def typed(level: Level, /) -> tuple[type, Level]:
    """1 and True are two levels."""
    return type(level), level
