"""Rows of a Polars plan in its order, batch by batch, and work on the next ones while these are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import polars as pl

BLOCK = 9 << 14
"""Rows that are compared together, and the most in a batch: larger ones are faster, and take more memory."""
NUMBER = "number"
"""Column of the row's number, where a column of the frame gives it."""
_COMPUTED = "computed"
"""A column that the engine has to compute: then it works on batches of 100,000 rows, otherwise on whole row groups of a
file, several of which take twice the memory."""
_AHEAD = 2
"""Items that are made while an earlier one is used."""

Result = TypeVar("Result")


def in_batches(plan: pl.LazyFrame, /) -> Iterator[pl.DataFrame]:
    """The rows, as the streaming engine gives them."""
    small = plan.with_columns(pl.lit(0, dtype=pl.UInt8).alias(_COMPUTED))
    for batch in small.collect_batches(chunk_size=BLOCK, engine="streaming", maintain_order=True):
        rows = batch[:, :-1]
        for start in range(0, len(rows), BLOCK):
            yield rows.slice(start, BLOCK)


def ahead(items: Iterator[Result], /) -> Iterator[Result]:
    """The same items, the next ones made in a thread of their own while one is used."""
    pool = ThreadPoolExecutor(1)
    coming = deque(pool.submit(_next, items) for _ in range(_AHEAD))
    try:
        while found := coming.popleft().result():
            coming.append(pool.submit(_next, items))
            yield found[0]
    finally:  # where a run stops early, it may be the pool's own thread that closes this
        pool.shutdown(wait=False, cancel_futures=True)


def _next(items: Iterator[Result]) -> tuple[Result, ...]:
    """The next item; nothing at the end."""
    for item in items:
        return (item,)
    return ()
