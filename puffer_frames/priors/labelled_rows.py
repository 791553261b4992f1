"""Rows of numbers and labels, from rows that were counted per secret and label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from puffer_frames.priors.joint_counts import JointCounts, JointRows
from puffer_frames.priors.level_counts import Level, LevelCounts
from puffer_frames.priors.prior import Secret


def labelled(joint: JointCounts, labels: Sequence[str], /, *, own: int, columns: Sequence[str]) -> JointCounts:
    """Counts of whole rows, from those per secret and labels.

    - `joint`: Of the columns of numbers; a secret is a tuple of `own` secrets, and of a label of each column of labels.
    - `labels` (sequence of str): Names of the columns of labels.
    - `columns` (sequence of str): Names of all columns, in their order.
    """
    parts = {cast(tuple[Any, ...], key): rows for key, rows in joint.counts.items()}
    found = _joined(parts, labels, joint.columns, own=own, columns=columns)
    return replace(found, widths={columns.index(joint.columns[k]): width for k, width in joint.widths.items()})


def of_levels(found: LevelCounts, labels: Sequence[str], /, *, own: int, columns: Sequence[str]) -> JointCounts:
    """The same of columns of labels alone: the levels are those of the first, the secrets hold the others."""
    parts: dict[tuple[Any, ...], JointRows] = {}
    for key, counts in found.counts.items():
        full = key if isinstance(key, tuple) else (key,)
        for level, count in zip(found.levels, counts.tolist(), strict=True):
            if count:
                parts[(*full[:own], level, *full[own:])] = np.zeros((1, 0)), np.array([count], dtype=np.int64)
    return _joined(parts, labels, (), own=own, columns=columns)


def joint_levels(found: LevelCounts, /, *, own: int) -> LevelCounts:
    """Counts of tuples of the levels of several columns, where the secrets hold those of all columns but the first."""
    rows: dict[Secret, dict[Level, int]] = {}
    for key, counts in found.counts.items():
        full = cast(tuple[Any, ...], key)
        counted = rows.setdefault(full[0] if own == 1 else full[:own], {})
        for level, count in zip(found.levels, counts.tolist(), strict=True):
            if count:
                counted[level, *full[own:]] = count
    levels = tuple(sorted({level for counted in rows.values() for level in counted}, key=_entries))
    return LevelCounts(
        levels=levels,
        counts={s: np.array([own.get(level, 0) for level in levels], dtype=np.int64) for s, own in rows.items()},
    )


def _entries(levels: Level) -> tuple[tuple[str, Any], ...]:
    return tuple(map(_order, cast(tuple[Any, ...], levels)))


def _joined(
    parts: Mapping[tuple[Any, ...], JointRows],
    labels: Sequence[str],
    numbers: Sequence[str],
    *,
    own: int,
    columns: Sequence[str],
) -> JointCounts:
    levels = [tuple(dict.fromkeys(sorted((key[own + k] for key in parts), key=_order))) for k in range(len(labels))]
    codes = [{_typed(level): code for code, level in enumerate(found)} for found in levels]
    places = [(*numbers, *labels).index(name) for name in columns]
    rows: dict[Secret, list[JointRows]] = {}
    for key, (points, counts) in parts.items():
        own_codes = [float(code[_typed(level)]) for code, level in zip(codes, key[own:], strict=True)]
        whole = np.hstack([points, np.tile(own_codes, (len(points), 1))])[:, places]
        rows.setdefault(key[0] if own == 1 else key[:own], []).append((whole, counts))
    counted = {secret: _sorted(found) for secret, found in rows.items()}
    return JointCounts(
        columns=tuple(columns),
        counts=counted,
        labels={columns.index(name): found for name, found in zip(labels, levels, strict=True)},
    )


def _sorted(parts: Sequence[JointRows]) -> JointRows:
    points, counts = np.concatenate([p for p, _ in parts]), np.concatenate([c for _, c in parts])
    order = np.lexsort(points.T[::-1])
    return points[order], counts[order]


def _typed(level: Level) -> tuple[type, Level]:
    return type(level), level


def _order(level: Level) -> tuple[str, Any]:
    return type(level).__name__, level
