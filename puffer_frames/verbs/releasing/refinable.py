"""Releases that can be refined later: what they must be, and the original values that a key file notes in a code."""

from __future__ import annotations

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.local.table import LocalRows
from puffer_frames.frames.table import CompleteRows
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.ledgers.refine_key import opened


def is_refinable(plan: Plan, /) -> bool:
    """Whether the releases of a plan can be refined."""
    return plan.request.noise == PUBLISHED_FOR and not (plan.strata is not None or plan.levels or plan.remaps)


def check_refinable(plan: Plan, rows: CompleteRows, asked: RowsRequest, /) -> None:
    """Raise ArgumentError for a key file beside a release that cannot be refined."""
    if asked.refine_key is None:
        return
    changed = bool(asked.bounds) or asked.to_integers or asked.layout.shuffle or asked.drawing.seeded
    if not is_refinable(plan) or not isinstance(rows, LocalRows) or changed:
        raise _refused("another release")
    with opened(asked.refine_key):
        pass


def refuse_refinable(asked: RowsRequest, /) -> None:
    """Raise ArgumentError for a key file beside a channel."""
    if asked.refine_key is not None:
        raise _refused("a release through a channel")


def note_rows(plan: Plan, rows: CompleteRows, asked: RowsRequest, fingerprint: str, /) -> None:
    """Write down the original values of a release, in a code, where it is to be refined."""
    if asked.refine_key is not None and isinstance(rows, LocalRows):
        with opened(asked.refine_key) as file:
            file.note(fingerprint, original_values(plan, rows))


def original_values(plan: Plan, rows: LocalRows, /) -> dict[str, FloatArray]:
    """The values of each column before the noise, as the noise is added to them."""
    return {name: _clipped(rows.values(name), plan.clipped.get(name)) for name in plan.scales}


def _clipped(values: FloatArray, bounds: Bounds | None) -> FloatArray:
    return values if bounds is None else values.clip(*bounds)


def _refused(got: str) -> ArgumentError:
    return ArgumentError(
        "refine_key",
        rule=f"given for {PUBLISHED_FOR.title} noise on numbers of a frame in memory, its rows in their order and its "
        "values not changed after the noise",
        got=got,
        hint="Leave it out: such a release cannot be refined.",
    )
