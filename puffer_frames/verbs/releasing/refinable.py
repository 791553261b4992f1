"""Releases that can be refined later: what they must be, and the original values that a key file notes in a code."""

from __future__ import annotations

from typing import Any

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.table import CompleteRows
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.mechanisms.seam import Fitted
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.verbs.ledgers.refine_key import opened


def check_refinable(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, /) -> None:
    """Raise ArgumentError for a key file beside a release that cannot be refined."""
    if asked.refine_key is None:
        return
    changed = bool(asked.bounds) or asked.to_integers or asked.layout.shuffle or asked.seeded
    if changed or fitted.originals(rows) is None:
        raise ArgumentError(
            "refine_key",
            rule=f"given for {PUBLISHED_FOR.title} noise on numbers of a frame in memory, its rows in their order and "
            "its values not changed after the noise",
            got="another release",
            hint="Leave it out: such a release cannot be refined.",
        )
    with opened(asked.refine_key):
        pass


def note_rows(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, fingerprint: str, /) -> None:
    """Write down the original values of a release, in a code, where it is to be refined."""
    values = None if asked.refine_key is None else fitted.originals(rows)
    if asked.refine_key is not None and values is not None:
        with opened(asked.refine_key) as file:
            file.note(fingerprint, values)
