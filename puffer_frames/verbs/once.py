"""Rows that were released before get the noise that they had, or no release: never a second draw."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.matching import FEWEST, RowsIdentity
from puffer_frames.noise.stream import KEY_BYTES, Numbers, Purpose, ReleaseKey
from puffer_frames.verbs.ledgers.release_ledger import LedgerArgument

_ONCE = "A second draw of noise could be averaged with the first: name row_id, or use the earlier release."


class ReleasedRows:
    """The key of the noise of one transformer, and which rows were released by which plan.

    The noise is a function of the key, the plan and the rows: numbered rows have one noise each, whatever batch they
    come in; other rows have one per batch in one order. A copy has the same key, so it gives the same noise. It does
    not know what the other copies have released, so it takes no rows of which that alone would tell.
    Releases of one transformer follow one another, also those of several threads.
    """

    def __init__(self) -> None:
        self._root = secrets.token_bytes(KEY_BYTES)
        self._orders: dict[tuple[str, str], str] = {}
        self._fits: dict[tuple[str, str], str] = {}
        self._told: dict[tuple[str, str], set[tuple[str | None, ...]]] = {}
        self._rows_of_numbers: dict[str, list[tuple[Numbers, Numbers]]] = {}
        self._process: int | None = os.getpid()
        self._lock = Lock()

    def start(self, plan: str, /) -> int:
        """A secret number at which the hashes of numbered rows start, so that nobody can make two of them equal."""
        stream = ReleaseKey(self._root).stream(Purpose.ROWS_OF_A_PLAN, f"{plan} start")
        return int(stream.words(range(1))[0])

    def remember_fit(self, plan: str, rows: RowsIdentity, /) -> None:
        """The order of the first fit of these rows is that of their noise, in every copy that is made later."""
        self._fits.setdefault((plan, rows.rows), rows.order)

    @contextmanager
    def drawing(
        self,
        plan: str,
        rows: RowsIdentity,
        /,
        *,
        fitted: RowsIdentity,
        ledger: LedgerArgument = None,
        about: Mapping[str, str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Options for a release of these rows: the key of their noise as `rng`.

        A repetition is no further release, and a ledger that has been told is not told again, unless of another data
        set or batch. A release that fails is not remembered. Two plans never share noise; `fitted` are the rows that
        this one was made from. Raises CalibrationError for a row number that was released with another row, and for
        rows without numbers whose noise the order, or what other copies have released, would decide.
        """
        with self._lock:
            names = about if isinstance(about, Mapping) else {}
            release = plan, rows.rows
            told = str(getattr(ledger, "path", ledger)), names.get("dataset"), names.get("batch")
            order = self._orders.get(release)
            if rows.numbers is not None and rows.words is not None:
                self._require_equal_rows(plan, rows.numbers, rows.words)
                key = ReleaseKey(self._root).of_rows(plan, numbers=rows.words)
            else:
                first = self._fits.get(release, rows.order)
                self._require_one_order(rows, order if first == rows.order else first, fitted)
                key = ReleaseKey(self._root).of_rows(f"{plan} {rows.order}")
            yield {"rng": key} | ({"ledger": None} if told in self._told.get(release, ()) else {})
            self._told.setdefault(release, set()).add(told)
            if order is None:
                self._orders[plan, rows.rows] = rows.order
                if rows.numbers is not None and rows.words is not None:
                    by_number = np.argsort(rows.numbers)
                    known = self._rows_of_numbers.setdefault(plan, [])
                    known.append((rows.numbers[by_number], rows.words[by_number]))

    def _require_equal_rows(self, plan: str, numbers: Numbers, words: Numbers) -> None:
        """Raise where a number was released with another row, or two rows would have the noise of one."""
        for known, known_words in self._rows_of_numbers.get(plan, []):
            places = np.minimum(np.searchsorted(known, numbers), known.size - 1)
            if ((known[places] == numbers) & (known_words[places] != words)).any():
                raise _refused(
                    "rows that were not released before, or rows as they were",
                    "another row with the row_id of one that was",
                    "Number different records differently; a record that has changed needs a plan of its own.",
                )
        if np.unique(words).size < words.size:  # by chance: once in some 10^5 tables of 10^7 rows
            raise _refused("ones that a hash tells apart", "two that it does not", "Fit the transformer again.")

    def _require_one_order(self, rows: RowsIdentity, order: str | None, fitted: RowsIdentity) -> None:
        """Raise unless the noise of these rows, which have no numbers, is the only one that any copy gives them."""
        if order not in (None, rows.order):
            raise _refused("in the order in which they were released before", "the same rows in another order", _ONCE)
        if rows.order == fitted.order:
            return
        if rows.rows == fitted.rows:
            raise _refused("in the order in which they were fitted", "the same rows in another order", _ONCE)
        if self._process != os.getpid():
            raise _refused(
                "the fitted ones in their order, or numbered by row_id, in a copy of a transformer (pickled, deep-"
                "copied, or of another process)",
                "others",
                "Another copy may have released them: name row_id, and each row has the same noise in all copies.",
            )
        if order is not None and not rows.telling:
            raise _refused(
                f"new ones, or at least {FEWEST} different ones in a batch, or numbered by row_id",
                f"rows that were released before, with fewer than {FEWEST} different ones",
                "They may be other records, and equal noise would tell that they are alike: name row_id.",
            )

    def __getstate__(self) -> dict[str, Any]:
        kept = ("_root", "_orders", "_fits", "_told", "_rows_of_numbers")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._process, self._lock = None, Lock()


def _refused(rule: str, got: str, hint: str) -> CalibrationError:
    return CalibrationError("the rows", rule=rule, got=got, hint=hint)
