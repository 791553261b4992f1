"""A channel: a random output for each input, with exact probabilities in units of 2**-62."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.adding import (
    BLOCK_ROWS,
    CHUNK_ROWS,
    MANY_ROWS,
    Arrays,
    Codes,
    Columns,
    Levels,
    Move,
    other_levels,
)
from puffer_frames.noise.stream import Purpose, ReleaseKey, Rows, Stream, Workspace
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.summary import Level, typed

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


TOTAL_BITS = 62
"""The weights of a row of a channel sum to 2 to the power of this."""
MOST_LEVELS = 512
"""The most levels of a channel: its program then takes half a minute. Of 1,000 it takes 1.5 GB and minutes."""
MOST_NUMBERS = 256
"""Numbers of more different values are taken in cells."""
MOST_INPUTS = 1 << 14
"""The most inputs, which are pairs of a level and a secret, of a channel that sees the secret."""
_GUIDE_BITS = 12


class ChannelTable:
    """The weights of a channel, ready to be drawn from.

    - `weights` (array of int, shape (inputs, outputs)): Not negative; each row sums to 2**62: the probability of output
      j given input i is weights[i, j] / 2**62. At most 16,384 inputs, and 512 outputs.
    Raises ValueError for anything else.

    A row's output is the number of cumulative weights that are at most its word of 62 bits, so its law is that of the
    weights exactly. A table of the first 12 bits of the word finds most outputs; a search finds the others.
    """

    __slots__ = ("_cumulative", "_guide", "outputs")

    def __init__(self, weights: NDArray[np.int64], /) -> None:
        weights = np.asarray(weights, dtype=np.int64)
        total = 1 << TOTAL_BITS
        if weights.ndim != 2 or not weights.size or (weights < 0).any():
            raise ValueError("the weights of a channel must be a table, none negative.")
        if weights.shape[0] > MOST_INPUTS or weights.shape[1] > MOST_LEVELS:
            raise ValueError(f"a channel must have at most {MOST_INPUTS:,} inputs and {MOST_LEVELS} outputs.")
        if any(sum(row) != total for row in weights.tolist()):
            raise ValueError(f"each row of weights must sum to 2**{TOTAL_BITS}.")
        self.outputs = weights.shape[1]
        self._cumulative = np.cumsum(weights, axis=1).astype(np.uint64)
        starts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(TOTAL_BITS - _GUIDE_BITS)
        lasts = starts + np.uint64((1 << (TOTAL_BITS - _GUIDE_BITS)) - 1)
        first = np.stack([np.searchsorted(row, starts, side="right") for row in self._cumulative])
        last = np.stack([np.searchsorted(row, lasts, side="right") for row in self._cumulative])
        self._guide = np.where(first == last, first, self.outputs).astype(np.uint16)

    def draw(self, codes: Integers, stream: Stream, rows: Rows | None = None, /) -> Codes:
        """An output for each row: a function of its input, its word and the weights.

        **Cost**: some nanoseconds a row; two threads from about two million rows on.
        """
        out = np.empty(codes.size, dtype=np.uint16)
        numbered: Rows = range(codes.size) if rows is None else rows

        def work(begin: int) -> None:
            workspace = Workspace(min(CHUNK_ROWS, codes.size))
            for start in range(begin, min(begin + BLOCK_ROWS, codes.size), CHUNK_ROWS):
                part = slice(start, min(start + CHUNK_ROWS, codes.size))
                self._draw(codes[part], stream.words(numbered[part], workspace), out[part])

        each_of(range(0, codes.size, BLOCK_ROWS), work, large=codes.size >= MANY_ROWS)
        return out

    def _draw(self, codes: Integers, words: NDArray[np.uint64], out: Codes) -> None:
        words = words >> np.uint64(64 - TOTAL_BITS)
        places = codes.astype(np.intp) << _GUIDE_BITS
        places += (words >> np.uint64(TOTAL_BITS - _GUIDE_BITS)).view(np.int64)
        np.take(self._guide.ravel(), places, out=out)
        open_ = np.flatnonzero(out == self.outputs)
        inputs = codes[open_]
        for code in np.unique(inputs):
            mine = open_[inputs == code]
            out[mine] = np.searchsorted(self._cumulative[code], words[mine], side="right")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChannel:
    """A channel of the labels of one column, or of the joint labels of several."""

    columns: tuple[str, ...]
    """Names of the columns; the words are those of the first."""
    key: ReleaseKey
    """Key of the release."""
    inputs: Mapping[Levels, int]
    """Number of the input of each joint level: several may be one input. Other levels are an error."""
    outputs: tuple[Levels, ...]
    """The released joint levels."""
    table: ChannelTable
    seen: int = 0
    """How many of the columns, the last ones, are read and not written: those of a secret."""

    @classmethod
    def of(
        cls, column: str, /, *, key: ReleaseKey, codes: Mapping[Level, int], outputs: Levels, table: ChannelTable
    ) -> LabelChannel:
        """The channel of one column, from plain levels."""
        return cls(
            columns=(column,),
            key=key,
            inputs={(level,): code for level, code in codes.items()},
            outputs=tuple((output,) for output in outputs),
            table=table,
        )

    @property
    def reads(self) -> dict[str, Levels]:
        return self._joint.reads

    @property
    def writes(self) -> dict[str, Levels]:
        written = self.columns[: len(self.columns) - self.seen]
        return {name: levels_at(k, self.outputs) for k, name in enumerate(written)}

    @property
    def _joint(self) -> JointLevels:
        return JointLevels(columns=self.columns, numbers=self.inputs)

    def prepared(self) -> Move:
        """Raises CalibrationError for a joint level that is none of the inputs."""
        stream = self.key.stream(Purpose.NOISE, self.columns[0])
        input_of, unknown = self._joint.prepared(), self._joint.unknown
        parts = {
            name: places_of([output[k] for output in self.outputs], levels)
            for k, (name, levels) in enumerate(self.writes.items())
        }

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            inputs = input_of(arrays)
            if strange := int(np.count_nonzero(inputs == unknown)):
                raise other_levels(", ".join(self.columns), got=f"{strange} row{'s' * (strange > 1)}")
            drawn = self.table.draw(inputs, stream, rows)
            return {name: looked_up(part, drawn) for name, part in parts.items()}

        return move


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberChannel:
    """A channel of the numbers of one column."""

    column: str
    """Name of the column."""
    key: ReleaseKey
    """Key of the release."""
    edges: FloatArray
    """The input of a value is the number of edges that are at most the value, shape (inputs - 1,)."""
    outputs: FloatArray
    """The released values."""
    table: ChannelTable
    secret: JointLevels | None = None
    """Columns that are read beside: their number counts cells of all values."""

    @classmethod
    def of(
        cls, column: str, /, *, key: ReleaseKey, edges: FloatArray, outputs: Sequence[float], table: ChannelTable
    ) -> NumberChannel:
        """From plain numbers."""
        return cls(column=column, key=key, edges=edges, outputs=np.array(outputs, dtype=np.float64), table=table)

    @property
    def reads(self) -> Columns:
        return {self.column: None, **({} if self.secret is None else self.secret.reads)}

    @property
    def writes(self) -> Columns:
        return {self.column: None}

    def prepared(self) -> Move:
        """The outputs of the values; raises CalibrationError for another level of what is read beside them."""
        stream = self.key.stream(Purpose.NOISE, self.column)
        secret_of = None if self.secret is None else self.secret.prepared()

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            codes = np.searchsorted(self.edges, arrays[self.column], side="right").astype(np.uint16)
            if self.secret is not None and secret_of is not None:
                secrets = secret_of(arrays)
                if strange := int(np.count_nonzero(secrets == self.secret.unknown)):
                    raise other_levels(", ".join(self.secret.columns), got=f"{strange} row{'s' * (strange > 1)}")
                codes += (secrets * (self.edges.size + 1)).astype(np.uint16)
            return {self.column: self.outputs[self.table.draw(codes, stream, rows)]}

        return move


_LEAST_SINGULAR = 1e-6
"""Below this, two mixtures of inputs have released levels that cannot be told apart."""


def is_unmixable(matrix: FloatArray, /) -> bool:
    """Whether different shares of inputs always have different shares of released levels."""
    inputs, outputs = matrix.shape
    return inputs <= outputs and bool(np.linalg.svd(matrix, compute_uv=False)[-1] > _LEAST_SINGULAR)


def changed_share(levels: int, scale: float, /) -> float:
    r"""The probability :math:`(m - 1) / (m - 1 + e^{1/b})` that a label is replaced, of m levels and a scale b."""
    if not scale or levels < 2:
        return 0.0
    others = (levels - 1) * math.exp(-1 / scale)
    return others / (1 + others)


def randomised_response(levels: int, scale: float, /) -> NDArray[np.int64]:
    r"""The channel whose probability of another level is at least :math:`e^{-1/b}` times that of the level itself.

    - `levels`: m, at least 1.
    - `scale`: b; 0 for no change.
    Returns: Probabilities in units of 2**-62, equal for all other levels. The largest log-ratio of two rows is at most
    1/b.
    """
    total = 1 << TOTAL_BITS
    weights = np.zeros((levels, levels), dtype=np.int64)
    if not scale or levels < 2:
        np.fill_diagonal(weights, total)
        return weights
    share = Fraction(math.exp(-1 / scale)) * (1 + Fraction(1, 2**50))  # at least the exact one
    other = min(math.ceil(total * share / (1 + (levels - 1) * share)) + 1, total // levels)
    weights[:] = other
    np.fill_diagonal(weights, total - (levels - 1) * other)
    return weights
