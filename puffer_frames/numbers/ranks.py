"""The order of fractions of long integers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORD = 64
_PLACES = 40
"""Binary places of the approximate logarithms: with 21 bits before the point they are below 2**61."""
_ONE = 1 << 62
"""That of 1."""
_APART = 2
"""Logarithms that differ by so many units in the last place belong to fractions in the same order."""


def ranks(fractions: Sequence[tuple[NDArray[Any], int]], /) -> list[NDArray[np.intp]]:
    """Numbers from 0 in the order of the fractions, equal for equal ones.

    Parameters
    ----------
    fractions : sequence of (array of int, int)
        Numerators, ascending, above 0 and at most the denominator; and the denominator, below 2**(2**21).

    Notes
    -----
    The fractions are sorted by approximate logarithms, of a fraction up to a half or of what is missing to 1; those
    too near one another are then compared exactly. **Cost**: that of a sort, and one product of long integers for
    each two that are near and have different denominators.
    """
    keys = np.concatenate([_logarithms(numerators, total) for numerators, total in fractions])
    owners = np.repeat(np.arange(len(fractions)), [numerators.size for numerators, _ in fractions])
    order = np.argsort(keys, kind="stable")
    rises = np.append(False, np.diff(keys[order]) >= _APART)
    flat = [numerator for numerators, _ in fractions for numerator in numerators.tolist()]

    def compared(one: int, other: int) -> int:
        a, b = flat[one], flat[other]
        n, m = fractions[owners[one]][1], fractions[owners[other]][1]
        if n != m:
            a, b = a * m, b * n
        return int(a > b) - int(a < b)

    near = np.flatnonzero(np.diff(np.concatenate([[False], ~rises[1:], [False]])))
    for start, last in near.reshape(-1, 2).tolist():
        group = sorted(order[start : last + 1].tolist(), key=cmp_to_key(compared))
        order[start : last + 1] = group
        rises[start + 1 : last + 1] = [compared(a, b) < 0 for a, b in pairwise(group)]
    found = np.empty(keys.size, dtype=np.intp)
    found[order] = np.cumsum(rises)
    return np.split(found, np.cumsum([numerators.size for numerators, _ in fractions])[:-1])


def _logarithms(numerators: NDArray[Any], total: int) -> NDArray[np.int64]:
    r"""Ascending: :math:`\phi(u)` for a fraction u up to 1/2, :math:`-\phi(1 - u)` above, in units of the last place.

    .. math:: \phi(m 2^e) = e + m - 1, \quad 1 \le m < 2

    The error is below .51 units: heads of 64 bits, three roundings of floats and one to a whole number.
    """
    counts = numerators.tolist()
    lower = bisect_right(counts, total >> 1)
    heads, lengths = _heads(chain(counts[:lower], (total - count for count in counts[lower:]), [total]))
    quotients = heads[:-1] / heads[-1]
    below = quotients < 1.0
    keys: NDArray[np.int64] = (lengths[:-1] - lengths[-1] - below) << _PLACES
    keys += np.rint((np.where(below, 2.0 * quotients, quotients) - 1.0) * 2.0**_PLACES).astype(np.int64)
    keys[lower:] *= -1
    if counts[-1] == total:
        keys[-1] = _ONE
    return keys


def _heads(numbers: Iterable[int]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The first 64 bits of each number, and how many bits it has."""
    heads, lengths = [], []
    for number in numbers:
        length = number.bit_length()
        heads.append(float(number >> length - _WORD if length > _WORD else number << _WORD - length))
        lengths.append(length)
    return np.array(heads), np.array(lengths, dtype=np.int64)
