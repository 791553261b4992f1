"""What identifies the rows of a plan, batch by batch, so that one that changes between two runs is noticed."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import GCM
from polars.io.plugins import register_io_source

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.tally import Bits

BYTES = 16
"""Bytes of a code."""
_NONCE_BYTES = 12


def _gmac(key: bytes, number: int) -> AEADEncryptionContext:
    """What takes in bytes, part by part, and gives their code at the end; a number is used once under a key."""
    return Cipher(AES256(key), GCM(number.to_bytes(_NONCE_BYTES, "big"))).encryptor()


BLOCK = 9 << 14
"""Rows that are compared together, and the most in a batch: larger ones are faster, and take more memory."""
_COMPUTED = "computed"
"""A column that the engine has to compute: then it works on batches of 100,000 rows, otherwise on whole row groups of a
file, several of which take twice the memory."""


def in_batches(plan: pl.LazyFrame, /) -> Iterator[pl.DataFrame]:
    """The rows, as the streaming engine gives them."""
    small = plan.with_columns(pl.lit(0, dtype=pl.UInt8).alias(_COMPUTED))
    for batch in small.collect_batches(chunk_size=BLOCK, engine="streaming", maintain_order=True):
        rows = batch[:, :-1]
        for start in range(0, len(rows), BLOCK):
            yield rows.slice(start, BLOCK)


_OWN_BITS = (pl.Float64, pl.Int64, pl.UInt64)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """How the entries of rows become the marks of their blocks: codes under keys of its own."""

    ordered: bool
    """Whether rows in another order are others."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """The key of the codes of ordered rows, each with a number of its own."""
    seed: int = field(default_factory=lambda: secrets.randbits(64), repr=False)
    """The seed of the hashes, and the stand-in for a missing number."""

    def key_of(self, columns: Sequence[Bits], /) -> Bits:
        """64 bits of all entries of a row; for one column these are its own."""
        return columns[0] if len(columns) == 1 else self.hashed(columns)

    def hashed(self, columns: Sequence[Bits], /) -> Bits:
        """A keyed hash of 64 bits of the entries of each row."""
        found = np.full(columns[0].size, self.seed, dtype=np.uint64)
        for bits in columns:
            found = _spread(found ^ bits)
        return found

    def beside(self, plan: pl.LazyFrame, names: Sequence[str], /) -> tuple[list[pl.Expr], list[int]]:
        """Columns for the plan, to follow its own with these names, and the place among all of what `bits` takes for
        each of these: a column of 64-bit numbers itself.
        """
        schema, marked = plan.collect_schema(), self.marked(plan, names)
        added = [k for k, name in enumerate(names) if schema[name] not in _OWN_BITS]
        places = {k: len(names) + place for place, k in enumerate(added)}
        return [marked[k] for k in added], [places.get(k, k) for k in range(len(names))]

    def marked(self, plan: pl.LazyFrame, names: Sequence[str], /) -> list[pl.Expr]:
        """Columns for the plan, made of its own with these names, that `bits` takes: numbers, or keyed hashes."""
        schema = plan.collect_schema()
        return [self._marked(pl.col(name), schema[name]).alias(f"bits_{k}") for k, name in enumerate(names)]

    def _marked(self, entries: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        if not (dtype.is_float() or dtype.is_integer()) or dtype in (pl.Int128, pl.UInt128):
            return (entries if dtype == pl.Boolean else entries.cast(pl.String)).hash(self.seed)
        wide = pl.Float64 if dtype.is_float() else pl.UInt64 if dtype == pl.UInt64 else pl.Int64
        return entries.cast(wide, strict=False)

    def bits(self, marked: pl.Series, /) -> Bits:
        """64 bits for each entry, those of equal entries equal."""
        if not marked.null_count():
            return marked.to_numpy().view(np.uint64)
        found = marked.fill_null(0).to_numpy().view(np.uint64).copy()
        found[marked.is_null().to_numpy()] = self.seed
        return found


class Marking:
    """Marks the rows of a run as they come.

    Ordered rows have a mark per block of `BLOCK` of them: GMAC codes of 128 bits, one of each column. Others have one
    mark in all: the sum of a hash of 64 bits of every row. `places` are those of the columns in the plan, by default
    0, 1, ...
    """

    def __init__(self, marker: Marker, /, *, places: Sequence[int] | None = None) -> None:
        self.rows = 0
        self._marker = marker
        self._places = places
        self._marks: list[bytes] = []
        self._open: list[AEADEncryptionContext] = []
        self._sum = 0

    def take(self, columns: Sequence[Bits], /) -> None:
        """Take in the next rows, by the `bits` of their columns."""
        start, end = 0, columns[0].size
        if not self._marker.ordered:
            self._sum += int(self._marker.hashed(columns).sum(dtype=np.uint64))
            self.rows += end
            return
        while start < end:
            if not self._open:
                places = range(len(columns)) if self._places is None else self._places
                self._open = [_gmac(self._marker.key, len(self._marks) << 32 | place) for place in places]
            stop = min(end, start + BLOCK - self.rows % BLOCK)
            for code, bits in zip(self._open, columns, strict=True):
                code.authenticate_additional_data(np.ascontiguousarray(bits[start:stop]).view(np.uint8).data)
            self.rows += stop - start
            start = stop
            if not self.rows % BLOCK:
                self._close()

    def marks(self) -> tuple[bytes, ...]:
        """The codes of the blocks that are whole."""
        return tuple(self._marks)

    def end(self) -> tuple[bytes, ...]:
        """The codes of all rows."""
        if not self._marker.ordered:
            return ((self._sum % 2**64).to_bytes(8, "big"),)
        if self._open:
            self._close()
        return self.marks()

    def _close(self) -> None:
        for code in self._open:
            code.finalize()
        self._marks.append(b"".join(code.tag for code in self._open))
        self._open = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one run of a plan left: the same for every run that gives the same rows, in the same order if it matters."""

    marker: Marker
    rows: int
    """Number of rows."""
    marks: tuple[bytes, ...]
    runs: int
    """Number of runs of equal secrets."""

    def marks_of(self, places: Sequence[int] | None, /) -> tuple[bytes, ...]:
        """The marks of some columns of ordered rows, or of all."""
        if places is None:
            return self.marks
        return tuple(b"".join(mark[BYTES * k : BYTES * (k + 1)] for k in places) for mark in self.marks)


class Guard:
    """Compares a run of a plan with the trace of an earlier one: all columns, or for ordered rows those of `places`."""

    def __init__(self, trace: Trace, /, *, places: Sequence[int] | None = None) -> None:
        self._trace = trace
        self._marks = trace.marks_of(places)
        self._marking = Marking(trace.marker, places=places)
        self._seen = 0

    def see(self, columns: Sequence[Bits], /) -> int:
        """Take in the next rows; how many of all so far are known to be the same, block by block.

        Rows in no order count as known: they are compared at the end.

        Raises CalibrationError where a block is another one than in the earlier run.
        """
        self._marking.take(columns)
        if not self._trace.marker.ordered:
            return self._marking.rows
        self._compare(self._marking.marks())
        return self._seen * BLOCK

    def end(self) -> None:
        """Raise CalibrationError where rows are missing, or others than in the earlier run."""
        marks = self._marking.end()
        self._compare(marks)
        if self._marking.rows != self._trace.rows or len(marks) != len(self._marks):
            raise self._changed()

    def _compare(self, marks: Sequence[bytes]) -> None:
        if tuple(marks[self._seen :]) != self._marks[self._seen : len(marks)]:
            raise self._changed()
        self._seen = len(marks)

    def _changed(self) -> CalibrationError:
        ordered = self._trace.marker.ordered
        rows = "rows in the same order" if ordered else "rows"
        other_way = ', or name a column that numbers the rows (Layout(row_id="id"))' if ordered else ""
        return CalibrationError(
            "the plan",
            rule=f"one that gives the same {rows} in every run",
            got="other rows than when the noise was calibrated",
            hint=f"Collect the frame first{other_way}.",
        )


def _spread(bits: Bits) -> Bits:
    """SplitMix64's finaliser: a bijection of 64 bits in which every bit depends on all."""
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan, and what an earlier run of it left."""

    rows: pl.LazyFrame
    checked: int
    """How many of its first columns the trace is of."""
    trace: Trace

    def batches(self, columns: Sequence[str], /, *, most: int | None = None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Some columns, and how many rows so far are sure to be those of the earlier run; all of its columns are
        compared.

        Of all rows, or of blocks that hold the first `most`. Raises CalibrationError where the rows are others.
        """
        rows = self.rows if most is None else self.rows.head(BLOCK * -(-most // BLOCK))
        guard, first, sure = Guard(self.trace), 0, 0
        for sure, batch in self._seen(rows, columns, guard=guard, places=range(self.checked)):
            first += len(batch)
            yield sure, batch
        if most is None or sure < first or first < min(most, self.trace.rows):
            guard.end()

    def plan(
        self, columns: Sequence[str], /, *, over: Callable[[Iterator[pl.DataFrame]], Iterator[pl.DataFrame]]
    ) -> pl.LazyFrame:
        """Some columns of the trace, for group-bys of the streaming engine; `over` is given the batches of a run.

        A run raises CalibrationError at the first block of other rows, or at its end.
        """
        schema = self.rows.collect_schema()

        def read(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch: int | None
        ) -> Iterator[pl.DataFrame]:
            assert predicate is None
            assert n_rows is None  # a group-by takes all rows
            for batch in over(self._whole(columns)):
                yield batch if with_columns is None else batch.select(with_columns)

        return register_io_source(read, schema={name: schema[name] for name in columns}, is_pure=True)

    def _whole(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows; of rows in order, these alone are compared."""
        names = self.rows.collect_schema().names()
        places = [names.index(name) for name in columns] if self.trace.marker.ordered else None
        guard = Guard(self.trace, places=places)
        for _, batch in self._seen(self.rows, columns, guard=guard, places=places or range(self.checked)):
            yield batch
        guard.end()

    def _seen(
        self, rows: pl.LazyFrame, columns: Sequence[str], /, *, guard: Guard, places: Sequence[int]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        marker, names = self.trace.marker, self.rows.collect_schema().names()
        checked = [names[k] for k in places]
        marks, marked = marker.beside(rows, checked)
        own = [name for k, name in enumerate(checked) if marked[k] == k]
        for batch in in_batches(rows.select(*marks, *own, *(name for name in columns if name not in own))):
            held = {name: batch[name].rechunk() for name in own}  # copied once, for both
            seen = [
                held[name] if name in held else batch[:, place - len(checked)]
                for name, place in zip(checked, marked, strict=True)
            ]
            sure = guard.see([marker.bits(entries) for entries in seen])
            yield sure, pl.DataFrame([held[name] if name in held else batch[name] for name in columns])
