"""Rows of a Polars plan, block by block in its order, worked on in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import polars as pl

BLOCK = 1 << 16
"""Rows that are worked on together."""
NUMBER = "number"
"""Column of the row's number, where a column of the frame gives it."""
_COMPUTED = "computed"
"""A column that the engine has to compute: then it works on batches of 100,000 rows, otherwise on whole row groups of a
file, several of which take twice the memory."""
_THREADS = min(2, os.cpu_count() or 1)
_AHEAD = _THREADS
"""Blocks that are worked on, or wait for it, while an earlier one is used."""

Result = TypeVar("Result")


def in_blocks(plan: pl.LazyFrame, /) -> Iterator[pl.DataFrame]:
    """The rows in blocks of `BLOCK`, the last one perhaps shorter."""
    rest: pl.DataFrame | None = None
    small = plan.with_columns(pl.lit(0, dtype=pl.UInt8).alias(_COMPUTED))
    for batch in (wide.drop(_COMPUTED) for wide in small.collect_batches(engine="streaming", maintain_order=True)):
        rows = batch if rest is None or not len(rest) else pl.concat([rest, batch])
        whole = len(rows) - len(rows) % BLOCK
        for start in range(0, whole, BLOCK):
            yield rows.slice(start, BLOCK)
        rest = rows.slice(whole)
    if rest is not None and len(rest):
        yield rest


def in_step(blocks: Iterator[pl.DataFrame], work: Callable[[int, pl.DataFrame], Result], /) -> Iterator[Result]:
    """What `work` makes of every block and the number of its first row, in order; in threads, some blocks ahead."""
    pool = ThreadPoolExecutor(_THREADS)
    running: deque[Future[Result]] = deque()
    try:
        first = 0
        for block in blocks:
            running.append(pool.submit(work, first, block))
            first += len(block)
            if len(running) > _AHEAD:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:  # where a run stops early, it may be a thread of the pool that closes this
        pool.shutdown(wait=False, cancel_futures=True)
