"""Law of a sum of independent draws on a lattice, in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Coefficients: TypeAlias = "tuple[list[int], list[int]]"
"""Ascending places, and a positive coefficient for each."""

_FREE = 2
"""Places from the smallest sum to the largest that are looked at one by one, for each coefficient allowed."""
_WIDE = 1024
"""Cells from which on arrays pay."""
_LARGEST_LEVELS = 40
"""Bits of the sum of the levels up to which words have enough of their own."""


def power(steps: Sequence[int], levels: Sequence[int], copies: int, /, *, most: int) -> Coefficients | None:
    r"""Coefficients of :math:`\left(\sum_i \ell_i x^{s_i}\right)^k` that are above 0; None where they are too many.

    - `steps` (sequence of int): Ascending from 0.
    - `levels` (sequence of int): Positive.
    - `copies`: k, at least 1.
    - `most`: Number of coefficients that is too many from there on.

    **Rounding**: none. **Cost**, for d terms, n places from the smallest to the largest and coefficients of w words:
    O(k d n w) for arrays of words, or for one long integer in which every coefficient has a field of its own; or O(d n)
    products of long integers by the recurrence of the powers of a polynomial. Where the places are more than twice
    `most`, one draw after the other.
    """
    cells = steps[-1] * copies + 1
    width = (sum(levels) ** copies).bit_length() // 8 + 1
    if cells > _FREE * most:
        return _one_by_one(steps, levels, copies, most=most)
    if copies * width < 700 + width:
        limbs = cells >= _WIDE and sum(levels).bit_length() <= _LARGEST_LEVELS
        found = (_in_limbs if limbs else _in_fields)(steps, levels, copies, cells=cells, width=width)
    else:
        found = _by_recurrence(steps, levels, copies, cells=cells)
    return found if len(found[0]) <= most else None


def _in_limbs(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int, width: int) -> Coefficients:
    """Words of so many bits that the sum of their multiples stays in 64, and then carries."""
    bits = 62 - sum(levels).bit_length()
    words = 8 * width // bits + 1
    table = np.zeros((words, cells), dtype=np.int64)
    table[0, 0], reach = 1, 1
    for _ in range(copies):
        found = np.zeros_like(table)
        for step, level in zip(steps, levels, strict=True):
            part = table[:, :reach]
            found[:, step : step + reach] += part if level == 1 else level * part
        reach += steps[-1]
        for low, high in pairwise(found[:, :reach]):
            high += low >> bits
            low &= (1 << bits) - 1
        table = found
    places = np.flatnonzero(table.any(axis=0))
    total = table[0, places].astype(object)
    for k in range(1, words):
        total += table[k, places].astype(object) << bits * k
    return places.tolist(), total.tolist()


def _in_fields(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int, width: int) -> Coefficients:
    """Fields of `width` bytes, none of which overflows: a coefficient is at most the sum of the levels to the k."""
    total = 1
    for _ in range(copies):
        multiples = {level: level * total for level in set(levels)}
        total = sum(multiples[level] << 8 * width * step for step, level in zip(steps, levels, strict=True))
    content = total.to_bytes(cells * width, "little")
    places = np.flatnonzero(np.frombuffer(content, dtype=np.uint8).reshape(cells, width).any(axis=1)).tolist()
    return places, [int.from_bytes(content[place * width : (place + 1) * width], "little") for place in places]


def _by_recurrence(steps: Sequence[int], levels: Sequence[int], copies: int, *, cells: int) -> Coefficients:
    r"""From :math:`P \cdot (P^k)' = k P' P^k`: :math:`n p_0 c_n = \sum_{s > 0} ((k + 1) s - n) p_s c_{n - s}`."""
    coefficients = [levels[0] ** copies] + [0] * (cells - 1)
    terms = [(step, level, (copies + 1) * step) for step, level in zip(steps[1:], levels[1:], strict=True)]
    for n in range(1, cells):
        total = 0
        for step, level, most in terms:
            if step > n:
                break
            total += (most - n) * level * coefficients[n - step]
        coefficients[n] = total // (n * levels[0])
    places = [place for place, coefficient in enumerate(coefficients) if coefficient]
    return places, [coefficients[place] for place in places]


def _one_by_one(steps: Sequence[int], levels: Sequence[int], copies: int, *, most: int) -> Coefficients | None:
    """One draw after the other, equal sums merged."""
    small = steps[-1] * copies < 1 << 62
    moves = np.array(steps, dtype=np.int64 if small else object)
    if not _are_few(moves, copies, most=most):
        return None
    factors: NDArray[Any] = np.array(levels, dtype=object)
    places, weights = moves, factors
    for _ in range(copies - 1):
        places, at = np.unique(np.add.outer(places, moves).ravel(), return_inverse=True)
        merged = np.zeros(places.size, dtype=object)
        np.add.at(merged, at, np.multiply.outer(weights, factors).ravel())
        weights = merged
    return places.tolist(), weights.tolist()


def _are_few(moves: NDArray[Any], copies: int, *, most: int) -> bool:
    """Whether the sums can be added up one draw after the other; modulo 2**64, where they are no more than they are."""
    steps = (moves % (1 << 64) if moves.dtype == object else moves).astype(np.uint64)
    places = steps
    for _ in range(copies - 1):
        if places.size * steps.size > 64 * most:
            return False
        some = places[: 2 * most // steps.size + 1]
        if some.size < places.size and np.unique(np.add.outer(some, steps)).size > most:
            return False
        places = np.unique(np.add.outer(places, steps))
        if places.size > most:
            return False
    return True
