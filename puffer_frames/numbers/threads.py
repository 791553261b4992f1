"""Work on parts of large arrays in two threads: NumPy lets go of the interpreter in most of its loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

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
