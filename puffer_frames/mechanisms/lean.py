"""A request without what a plan file does not hold: side knowledge, and other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from puffer_frames.mechanisms.request import Request
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.pairs import Pairs
from puffer_frames.scales.learned import OtherTable


def lacking(request: Request, /) -> tuple[str, ...]:
    """Beliefs that cannot be read back, in words."""
    given = sum(isinstance(entry, Mapping) for entry in request.beliefs)
    tables = sum(isinstance(entry, (OtherTable, LevelCounts, JointCounts)) for entry in request.beliefs)
    words = ["side knowledge"] * bool(given) + ["other tables"] * bool(tables)
    return tuple(words)


def lean_request(request: Request, pairs: Pairs, /) -> Request:
    """With the pairs as they were read: those that were given may have been read up."""
    return replace(
        request,
        pairs="all" if request.apart else pairs,
        given=None if request.given is None else replace(request.given, columns=request.given_columns),
        beliefs=tuple(lean_entry(entry) for entry in request.beliefs),
    )


def lean_entry(entry: Any, /) -> Any:
    """A belief that was asked for; of side knowledge and other tables what is left is that there were some."""
    if isinstance(entry, Mapping):
        return {}
    if isinstance(entry, OtherTable):
        return replace(entry, counts={})
    if isinstance(entry, LevelCounts):
        return replace(entry, levels=(), counts={})
    if isinstance(entry, JointCounts):
        return replace(entry, counts={}, labels={})
    return entry
