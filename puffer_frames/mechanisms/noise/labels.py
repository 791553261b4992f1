"""Columns of labels among several that are released together."""

from __future__ import annotations

from dataclasses import replace

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.table import Table
from puffer_frames.mechanisms.request import Request, is_joint
from puffer_frames.papers.catalogue import BOUNDED


def with_labels(request: Request, table: Table, /) -> Request:
    """The request, which knows its columns of labels.

    Raises ArgumentError for what is not found together with labels.
    """
    names = table.names
    labels = tuple(name for name in request.public if name in names and table.kind_of(name) == "labels")
    if len(request.public) == 1 or not labels:
        return request
    refused: dict[str, tuple[bool, str]] = {
        "theorem": (
            not is_joint(request) and request.theorem != BOUNDED.name,
            '"bounded" where labels are among several columns, for other than Laplace noise and calibration="exact"',
        ),
        "remap": (request.mechanism == "remap", "False where labels are among several columns"),
        "nulls": (request.nulls == "level", '"raise" or "drop" for several columns'),
        "domain": (bool(request.declared), "(low, high) of columns of numbers"),
    }
    for argument, (wrong, rule) in refused.items():
        if wrong:
            hint = "Release the column of labels by itself; two releases of the same rows are not covered together."
            raise ArgumentError(argument, rule=rule, got="something else", hint=hint)
    return replace(request, labels=labels)
