"""The stratum of each row: the joint value of the given columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.coded import Change, Coded, places_in
from puffer_frames.frames.columns import rows_text
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.noise.channel import LabelChannel
from puffer_frames.noise.stratified import StratifiedMechanism
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import IndexArray

_MOST = 2**62


def numbers_of_strata(
    change: StratifiedMechanism | LabelChannel, columns: Sequence[pl.Series | Coded], /
) -> IndexArray:
    """Number of each row's stratum, from the given columns in their order.

    Raises
    ------
    CalibrationError
        For a stratum that the plan does not know.
    """
    levels = [sorted_levels(stratum[k] for stratum in change.strata) for k in range(len(change.given))]
    found = [_places(own, entries) for own, entries in zip(levels, columns, strict=True)]
    sizes = [len(own) + 1 for own in levels]
    places = [{(type(level), level): k for k, level in enumerate(own)} for own in levels]
    known = np.array(
        [[places[k][type(level), level] for k, level in enumerate(stratum)] for stratum in change.strata],
        dtype=np.int64,
    )
    codes, own_codes = _joined(found, sizes), _joined(list(known.T), sizes)
    order = np.argsort(own_codes)
    slots = np.searchsorted(own_codes[order], codes).clip(0, own_codes.size - 1)
    strange = own_codes[order][slots] != codes
    if strange.any():
        raise unknown_stratum(f"{rows_text(int(strange.sum()))} of others")
    numbers: IndexArray = order[slots]
    return numbers


def strata_of(changes: Iterable[Change], columns: Mapping[str, pl.Series], /) -> IndexArray | None:
    """The numbers of the strata that the changes need; None where they need none. All have the same strata."""
    found = _stratified(changes)
    return None if found is None else numbers_of_strata(found, list(columns.values()))


def strata_columns(changes: Iterable[Change], /) -> tuple[str, ...]:
    """The columns whose joint value is the stratum: given columns, or public ones that are one draw; maybe none."""
    found = _stratified(changes)
    return () if found is None else tuple(found.given)


def _stratified(changes: Iterable[Change]) -> StratifiedMechanism | LabelChannel | None:
    return next((c for c in changes if isinstance(c, (StratifiedMechanism, LabelChannel)) and c.strata), None)


def _joined(columns: Sequence[IndexArray], sizes: Sequence[int]) -> IndexArray:
    """One number per row for the places in all columns."""
    assert np.prod([float(size) for size in sizes]) < _MOST
    joined = np.zeros(len(columns[0]), dtype=np.int64)
    for places, size in zip(columns, sizes, strict=True):
        joined = joined * size + places
    return joined


def _places(levels: Sequence[Level], entries: pl.Series | Coded) -> IndexArray:
    """Place of each entry in a list of levels; the list's length for any other."""
    if isinstance(entries, pl.Series):
        return places_in(levels, entries).astype(np.intp)
    places = {(type(level), level): k for k, level in enumerate(levels)}
    table = np.array([places.get((type(level), level), len(levels)) for level in entries.levels], dtype=np.intp)
    found: IndexArray = table[entries.codes]
    return found


def unknown_stratum(got: str, /) -> CalibrationError:
    """The error of rows that the plan has no noise for."""
    return CalibrationError(
        "the strata of the frame",
        rule="strata of the plan",
        got=got,
        hint="Calibrate a frame that has these strata too, or leave out their rows.",
    )
