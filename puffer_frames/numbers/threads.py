"""Long steps: parts of large arrays in two threads, since NumPy lets go of the interpreter, and their progress."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

Part = TypeVar("Part")
Result = TypeVar("Result")


def each_of(parts: Sequence[Part], work: Callable[[Part], Result], /, *, large: bool) -> list[Result]:
    """What the work gives for each part, in their order; by two threads where it is large and there are two cores.

    NumPy's floating-point errors are handled there as they are here.
    """
    if not large or len(parts) < 2 or (os.cpu_count() or 1) < 2:
        return [work(part) for part in parts]
    errors = np.geterr()

    def done(part: Part) -> Result:
        with np.errstate(**errors):
            return work(part)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(done, parts))


_LIMITED: list[Any] = []
"""The limit that all who want one have in common, once for each of them: it is that of the process."""
_LIMIT_LOCK = Lock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra in one thread: the same sums on every machine, and no threads that wait for ours.

    The last one to leave restores what was there, in whichever thread.
    """
    with _LIMIT_LOCK:
        _LIMITED.append(_LIMITED[0] if _LIMITED else threadpool_limits(limits=1))
    try:
        yield
    finally:
        with _LIMIT_LOCK:
            limit = _LIMITED.pop()
            if not _LIMITED:
                limit.restore_original_limits()


_AHEAD = 2
"""Items that are made while an earlier one is used."""


def ahead(items: Iterator[Result], /, *, wait: bool = False) -> Generator[Result, None, None]:
    """The same items, the next ones made in a thread of their own while one is used.

    Where it is closed early, it may wait until none is being made.
    """
    pool = ThreadPoolExecutor(1)
    coming = deque(pool.submit(_next, items) for _ in range(_AHEAD))
    try:
        while found := coming.popleft().result():
            coming.append(pool.submit(_next, items))
            yield found[0]
    finally:  # where a run stops early, it may be the pool's own thread that closes this
        pool.shutdown(wait=wait, cancel_futures=True)


def _next(items: Iterator[Result]) -> tuple[Result, ...]:
    """The next item; nothing at the end."""
    for item in items:
        return (item,)
    return ()


T = TypeVar("T")

DELAY = 1.0
"""Seconds after which a step counts as long."""


def watched(items: Collection[T], /, *, label: str) -> Iterable[T]:
    """The items; with a bar on the terminal or in the notebook where they take more than a second, silent elsewhere."""
    shown = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if len(items) < 2 or not shown:
        return items
    from tqdm.auto import tqdm

    return tqdm(items, desc=label, delay=DELAY, leave=False)
