"""Progress of long steps, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from typing import TypeVar

T = TypeVar("T")

DELAY = 1.0
"""Seconds after which a step counts as long."""


def watched(items: Collection[T], /, *, label: str) -> Iterable[T]:
    """The items; with a bar on the terminal or in the notebook where they take more than a second, silent elsewhere."""
    if len(items) < 2 or not _is_watched():
        return items
    from tqdm.auto import tqdm

    return tqdm(items, desc=label, delay=DELAY, leave=False)


def _is_watched() -> bool:
    """Whether standard error is a terminal, or the process a notebook's."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
