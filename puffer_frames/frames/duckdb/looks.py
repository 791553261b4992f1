"""What a relation shows to `order` and `kept`: windows of its rows as they come, and evidence by SQL."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import PufferWarning, RowOrderWarning
from puffer_frames.frames import kept
from puffer_frames.frames.duckdb.sql import opened, read_batches, read_table, selected
from puffer_frames.frames.kept import Evidence
from puffer_frames.frames.local.looks import kept_warnings, order_warnings
from puffer_frames.frames.noisy import NUMBER
from puffer_frames.frames.order import Windows
from puffer_frames.frames.roles import Roles
from puffer_frames.priors.prior import IndexArray


def warn_of_order_in_relation(rows: Any, roles: Roles, /, *, counts: Sequence[int]) -> list[RowOrderWarning]:
    """Of rows with columns `secret_0`, ... and `public_0`, ..., as one pass gives them."""
    own, public = list(roles.plain("secret")), list(roles.plain("public"))
    coded = [name for name in public if roles.holds_labels(name)]
    columns = {name: name for name in own}
    columns |= {name: name if name in coded else f"CAST({name} AS DOUBLE)" for name in public}
    windows, seed, runs, last = Windows(len(own)), secrets.randbits(63), 0, None
    for batch in read_batches(selected(rows, columns)):
        if not batch.num_rows:
            continue
        frame: Any = pl.from_arrow(batch)
        bits = [_bits(frame[name], seed) for name in own]
        wanted = windows.wanted(len(frame))
        values = [_bits(frame[name], seed) if name in coded else frame[name].to_numpy() for name in public]
        labels = [_label(frame[name], found, wanted) for name, found in zip(own, bits, strict=True)]
        windows.take(wanted, [*labels, *(column[wanted] for column in values)], rows=len(frame))
        keys = bits[0] if len(bits) == 1 else pl.DataFrame(bits).hash_rows(seed).to_numpy()
        runs += int(np.count_nonzero(keys[1:] != keys[:-1])) + (keys[0] != last)
        last = keys[-1]
    return order_warnings(windows.sample(), runs=runs, counts=counts, public=roles.public)


def _label(entries: pl.Series, bits: NDArray[np.uint64], wanted: IndexArray) -> NDArray[Any]:
    """Wanted entries of a secret as texts or numbers, which have an order; else a hash of each."""
    if entries.dtype in (pl.String, pl.Categorical, pl.Enum):
        return entries[wanted].cast(pl.String).to_numpy()
    return entries[wanted].to_numpy() if entries.dtype.is_numeric() and not entries.null_count() else bits[wanted]


def _bits(entries: pl.Series, seed: int) -> NDArray[np.uint64]:
    """A hash of each entry; that of a category is one of its text, in every batch the same."""
    plain = entries.cast(pl.String) if entries.dtype in (pl.Categorical, pl.Enum) else entries
    found: NDArray[np.uint64] = plain.hash(seed).to_numpy()
    return found


def warn_of_kept_in_relation(rows: Any, roles: Roles, /, *, count: int) -> list[PufferWarning]:
    """Of so many rows that have a number; some of them are looked at, and all where these raise suspicion."""
    names, others = roles.plain("keep"), roles.without_given().plain("secret", "public")
    step = -(-count // kept.ROWS)
    some = rows if step == 1 else rows.filter(f"hash({NUMBER}) % {step} = 0")
    sample = opened(read_table(selected(some, {name: name for name in (*others, *names)})))
    return kept_warnings(
        {name: sample[name] for name in sample.columns},
        roles,
        names,
        ask=None if step == 1 else lambda own, target: relation_evidence(rows, own, target),
    )


def relation_evidence(rows: Any, own: Sequence[str], target: str, /) -> Evidence:
    """Of all rows, by SQL."""
    keys = ", ".join(own)
    counts = rows.aggregate(f"{keys}, {target}, count(*) AS n", f"{keys}, {target}")
    sizes = counts.aggregate(f"{keys}, CAST(sum(n) AS BIGINT) AS size, max(n) AS most", keys)
    targets = counts.aggregate(f"{target}, CAST(sum(n) AS BIGINT) AS size", target)
    size, number, wrong = _arrays(
        sizes.aggregate("size, count(*) AS number, CAST(sum(size - most) AS BIGINT) AS wrong", "size")
    )
    target_size, targets_of = _arrays(targets.aggregate("size, count(*) AS number", "size"))
    return Evidence(sizes=size, groups=number, errors=int(wrong.sum()), target_sizes=target_size, targets=targets_of)


def _arrays(relation: Any) -> list[Any]:
    return [column.to_numpy() for column in read_table(relation).columns]
