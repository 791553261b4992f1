"""Several secret columns, each protected by itself: their values are the secrets, and pairs are within a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, cast

from puffer_frames.errors import ArgumentError
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret

Groups = Mapping[Secret, Sequence[Secret]]
"""Per column and value, as a tuple, the joint values that have it."""


def by_column(joint: Iterable[Secret], columns: Sequence[str], /) -> Groups:
    """The joint values that have each value of each column."""
    groups: dict[Secret, list[Secret]] = {}
    for k, name in enumerate(columns):
        for secret in (values := list(joint)):
            groups.setdefault((name, cast(tuple[Any, ...], secret)[k]), []).append(secret)
        joint = values
    return groups


def pairs_within(groups: Groups, /) -> Pairs:
    """All pairs of values of one column.

    Raises ArgumentError for a column with one value.
    """
    values: dict[Any, list[Secret]] = {}
    for secret in groups:
        values.setdefault(cast(tuple[Any, ...], secret)[0], []).append(secret)
    for name, found in values.items():
        if len(found) < 2:
            raise ArgumentError(
                f"the secret column {name!r}",
                rule="of at least two different values",
                got=f"{len(found)}",
                hint="With one value there is nothing to hide: leave the column out of secret.",
            )
    return tuple(pair for found in values.values() for pair in combinations(found, 2))
