"""Exact totals of units, and the noisy answers to the queries of an aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.noise.totals import AnswerNoise, AnswerRow, answer_row, exact_sum, quotient_row, with_noise
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.unit_rows import UnitRows


def noisy_answers(
    rows: UnitRows,
    noises: Mapping[str, AnswerNoise | None],
    /,
    *,
    asked: tuple[str, ...],
    added: bool,
    divisor: float | None,
    key: ReleaseKey,
) -> list[AnswerRow]:
    """A row per group and query."""
    noisy = {}
    for statistic, noise in noises.items():
        exact = _counts(rows, added=added) if statistic == "count" else _sums(rows, added=added, key=key)
        noisy[statistic] = with_noise(exact, noise, stream=key.stream(Purpose.NOISE, statistic))
    table = []
    for group in range(len(rows.groups)):
        for name in asked:
            if name == "mean" and divisor is None:
                table.append(quotient_row(noisy["sum"][group], noisy["count"][group]))
                continue
            statistic = "sum" if name == "mean" else name
            by = Fraction(float(divisor)) if name == "mean" and divisor is not None else Fraction(1)
            table.append(answer_row(noisy[statistic][group], noises[statistic], by=by))
    return table


def _counts(rows: UnitRows, *, added: bool) -> list[Fraction]:
    counts = np.zeros(len(rows.groups), dtype=np.int64)
    np.add.at(counts, rows.group_of, rows.often * rows.sizes if added else rows.often)
    return [Fraction(int(count)) for count in counts]


def _sums(rows: UnitRows, *, added: bool, key: ReleaseKey) -> list[Fraction]:
    """Sum of what the units of each group add, without rounding error that could depend on the others."""
    if added:
        unit = np.repeat(np.arange(len(rows.units)), np.diff(rows.starts))
        contributions, group, often = rows.values, rows.group_of[unit], rows.often[unit] * rows.times
    else:
        unit = np.repeat(np.arange(len(rows.units)), rows.often)
        contributions, group = rows.values[_drawn(rows, unit, key=key)], rows.group_of[unit]
        often = np.ones(unit.size, dtype=np.intp)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(len(rows.groups) + 1))
    parts = [order[ends[k] : ends[k + 1]] for k in range(len(rows.groups))]
    return [exact_sum(contributions[part], often[part]) for part in parts]


def _drawn(rows: UnitRows, unit: IndexArray, *, key: ReleaseKey) -> IndexArray:
    """Place of the value of one row of each unit.

    The row is a random word times the number of rows, its high half: uniform up to rows / 2**64.
    """
    words = key.stream(Purpose.ROW_OF_A_UNIT).words(range(unit.size))
    ends = np.cumsum(rows.times)
    sizes = rows.sizes[unit].astype(np.uint64)
    half = np.uint64(32)
    low = (words & np.uint64(0xFFFFFFFF)) * sizes >> half
    drawn = (((words >> half) * sizes + low) >> half).astype(np.intp)
    return np.searchsorted(ends, (ends - rows.times)[rows.starts[unit]] + drawn, side="right")
