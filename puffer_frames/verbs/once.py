"""Rows that were released before get the noise that they had, or no release: never a second draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.local.identity import FEWEST, RowsIdentity
from puffer_frames.noise.stream import ReleaseKey

PICKLED = "a copy or pickle of a transformer does not hold the key of the noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """Rows that were released, and the key of their noise; no key in what was copied or pickled."""

    identity: RowsIdentity
    key: ReleaseKey | None


class ReleasedRows:
    """Which rows were released by which plan. The keys stay in the memory of this process.

    Releases of one transformer follow one another, also those of several threads.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Release] = {}
        self._lock = Lock()

    @contextmanager
    def drawing(self, plan: str, rows: RowsIdentity, /, *, fitted: bool) -> Iterator[dict[str, Any]]:
        """Options for a release of these rows: its key as `rng`, the one that they had, or a fresh one.

        With the one that they had it is no further release, and no ledger is told. A release that fails leaves no key.

        Parameters
        ----------
        plan : str
            Which plan it is: two plans never share a key.
        rows : RowsIdentity
        fitted : bool
            Whether they are the rows that the plan was made from, in their order.

        Raises
        ------
        CalibrationError
            For rows that were released before and now come in another order, or that other records may well share, or
            whose key is not here; and for a row number that was released with other rows.
        """
        with self._lock:
            found = self._known.get((plan, rows.rows))
            if found is not None:
                yield {"rng": _again(found, rows, fitted=fitted), "ledger": None}
                return
            self._require_new_numbers(plan, rows)
            key = ReleaseKey.of(None)
            yield {"rng": key}
            self._known[plan, rows.rows] = _Release(identity=rows, key=key)

    def _require_new_numbers(self, plan: str, rows: RowsIdentity) -> None:
        if rows.numbers is None:
            return
        for (own, _), release in self._known.items():
            numbers = release.identity.numbers
            if own == plan and numbers is not None and _meet(numbers, rows.numbers):
                raise _refused(
                    "rows that were not released before, or all rows of an earlier release as they were",
                    "some that were, by their row_id",
                    "Take these rows from the earlier release; number different records differently.",
                )

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": {place: replace(release, key=None) for place, release in self._known.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._known, self._lock = state["_known"], Lock()


def _meet(first: Any, second: Any) -> bool:
    return bool(np.isin(first, second, assume_unique=True).any())


def _again(found: _Release, rows: RowsIdentity, *, fitted: bool) -> ReleaseKey:
    """The key of a release, for the same rows."""
    if found.key is None:
        raise _refused("ones that were not released before", "rows that were", f"Use that release: {PICKLED}.")
    if rows.numbers is not None:  # the noise of a row follows its number, wherever it stands
        return found.key
    if rows.order != found.identity.order:
        raise _refused(
            "in the order in which they were released before",
            "the same rows in another order",
            "A second draw of noise could be averaged with the first: sort the release, or name row_id.",
        )
    if not (rows.telling or fitted):
        raise _refused(
            f"ones that were not released before, or at least {FEWEST} different ones, or numbered by row_id",
            "rows that were, with fewer",
            "They may be other records, and equal noise would tell that they are alike: name row_id.",
        )
    return found.key


def _refused(rule: str, got: str, hint: str) -> CalibrationError:
    return CalibrationError("the rows", rule=rule, got=got, hint=hint)
