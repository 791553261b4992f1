"""The best guesser that the certificate allows for: likelihood ratios of two secrets, and what they prove of epsilon.

All events that are counted here were chosen before the released values were looked at: from the original rows, the
certified law and simulated noise. So the noise of the rows is independent of them, the rows of a secret that fall into
an event are a sum of independent trials whose mean is its probability under the observed frequencies, and Clopper and
Pearson's bounds hold (`share_at_least`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from puffer_frames.numbers.rounding import epsilon_at_least, share_at_least, share_at_most
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.auditing.columns import ReleasedColumn

_LARGEST = 700.0


def largest_advantage(epsilon: float, delta: float, /) -> float:
    r"""The largest true positive rate less false positive rate of any guesser.

    .. math:: \frac{e^\varepsilon - 1 + 2 \delta}{e^\varepsilon + 1}

    References
    ----------
    Kairouz, Oh, Viswanath, *The composition theorem for differential privacy*, ICML 2015, Theorem 2.1: the region of
    both error rates, of which this is the corner.

    Examples
    --------
    >>> round(largest_advantage(1.0, 0.0), 4)
    0.4621
    """
    if epsilon > _LARGEST:
        return 1.0
    return min(1.0, (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1))


PairOfCodes: TypeAlias = tuple[int, int]
Ratios: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Log-ratios of two secrets: those that were known before, and those of the rows of the one and of the other."""
_KERNEL = 3e7
"""Most entries of a table of likelihoods."""
_CHUNK = 2_000_000
_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Quantiles of the ratio under the secret, in simulated noise, at which it is cut; and 0."""
_EDGES = (0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98)
_BEYOND = (0.5, 1.0, 2.0, 3.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What was proved of one pair, both orders, by the events that say most."""

    epsilon: float = 0.0
    """At least this, for the given delta; 0 where nothing is proved."""
    advantage: float = 0.0
    """The true positive rate less the false positive rate of some guesser is at least this."""

    def or_more(self, epsilon: FloatArray | float, advantage: FloatArray | float, /) -> Bound:
        """The better one of this and what other events prove."""
        return Bound(
            epsilon=max(self.epsilon, float(np.max(epsilon))),
            advantage=max(self.advantage, float(np.max(advantage))),
        )


def log_laws(
    columns: Sequence[ReleasedColumn],
    secrets: IndexArray,
    count: int,
    points: Sequence[FloatArray],
    rng: np.random.Generator,
    /,
    *,
    exact: bool = False,
) -> FloatArray:
    """Log of the density of some released rows under each secret, shape (points, secrets).

    The laws are those of the observed rows, with the certified noise. Unless `exact`, so many rows of each secret are
    drawn that the table of likelihoods stays small.
    """
    rows = np.column_stack([each.before for each in columns])
    distinct, places = np.unique(rows, axis=0, return_inverse=True)
    places = places.reshape(-1)
    weights = np.zeros((len(distinct), count))
    np.add.at(weights, (places, secrets), 1.0)
    most = max(100, int(_KERNEL / max(points[0].size, 1)))
    if not exact and len(distinct) > most:
        chosen = np.unique(places[_thinned(secrets, count, most, rng)])
        distinct, weights = distinct[chosen], weights[chosen]
    weights = weights / np.maximum(weights.sum(axis=0), 1e-300)
    found = np.empty((points[0].size, count))
    step = max(1, _CHUNK // len(distinct))
    for start in range(0, points[0].size, step):
        part = slice(start, start + step)
        logs = sum(
            (each.log_likelihood(distinct[:, k], points[k][part]) for k, each in enumerate(columns)),
            start=np.zeros((points[0][part].size, len(distinct))),
        )
        top = logs.max(axis=1, keepdims=True)
        found[part] = np.log(np.maximum(np.exp(logs - top) @ weights, 1e-300)) + top
    return found


def _thinned(secrets: IndexArray, count: int, most: int, rng: np.random.Generator) -> IndexArray:
    """Places of some rows of every secret."""
    parts = []
    for secret in range(count):
        mine = np.flatnonzero(secrets == secret)
        wanted = max(10, int(most * mine.size / secrets.size))
        parts.append(rng.permutation(mine)[:wanted])
    return np.concatenate(parts)


def model_bounds(
    columns: Sequence[ReleasedColumn],
    secrets: IndexArray,
    pairs: Sequence[PairOfCodes],
    /,
    *,
    delta: float,
    alpha: float,
    rng: np.random.Generator,
) -> Mapping[PairOfCodes, Bound]:
    """What the likelihood ratios of all columns together prove of each pair; all bounds together hold at 1 - alpha."""
    count = int(secrets.max()) + 1
    seen = log_laws(columns, secrets, count, [each.after for each in columns], rng)
    guessed = log_laws(columns, secrets, count, [each.simulated(rng) for each in columns], rng)
    rows = [np.flatnonzero(secrets == secret) for secret in range(count)]

    def ratios(s: int, t: int) -> Ratios:
        own, other = (seen[part, s] - seen[part, t] for part in (rows[s], rows[t]))
        return guessed[rows[s], s] - guessed[rows[s], t], own, other

    return bounds_of_ratios(pairs, ratios, _LEVELS, delta=delta, alpha=alpha)


def bounds_of_ratios(
    pairs: Sequence[PairOfCodes],
    ratios: Callable[[int, int], Ratios],
    levels: Sequence[float],
    /,
    *,
    delta: float,
    alpha: float,
) -> Mapping[PairOfCodes, Bound]:
    """What follows from how many log-ratios are at or above some cuts, in both orders of each pair.

    The cuts are 0, and quantiles at these levels of ratios that were known before. All bounds together hold at
    1 - alpha.
    """
    found = dict.fromkeys(pairs, Bound())
    each_alpha = alpha / (4 * (len(levels) + 1) * max(1, len(pairs)))
    for pair in pairs:
        for s, t in (pair, pair[::-1]):
            known, own, other = ratios(s, t)
            if not (known.size and own.size and other.size):
                continue
            cuts = np.append(np.quantile(known, levels), 0.0)
            hits, others = ((part[:, None] >= cuts).sum(axis=0).astype(float) for part in (own, other))
            least, most = share_at_least(hits, own.size, each_alpha), share_at_most(others, other.size, each_alpha)
            found[pair] = found[pair].or_more(epsilon_at_least(least, most, delta), least - most)
    return found


def event_bounds(
    columns: Sequence[ReleasedColumn],
    secrets: IndexArray,
    pairs: Sequence[PairOfCodes],
    /,
    *,
    delta: float,
    alpha: float,
) -> Mapping[PairOfCodes, Bound]:
    """The same by events that need no model: every interval between some edges, every label, and all but it."""
    count = int(secrets.max()) + 1
    tables = [
        _interval_hits(each, secrets, count) if each.is_numbers else _label_hits(each, secrets, count)
        for each in columns
    ]
    hits = np.concatenate(tables, axis=1)
    rows = np.bincount(secrets, minlength=count).astype(float)[:, None]
    each_alpha = alpha / (2 * hits.size)
    least, most = share_at_least(hits, rows, each_alpha), share_at_most(hits, rows, each_alpha)
    found = dict.fromkeys(pairs, Bound())
    for pair in pairs:
        for s, t in (pair, pair[::-1]):
            found[pair] = found[pair].or_more(epsilon_at_least(least[s], most[t], delta), least[s] - most[t])
    return found


def _interval_hits(column: ReleasedColumn, secrets: IndexArray, count: int) -> FloatArray:
    """Rows of each secret in each interval, shape (secrets, intervals)."""
    scale = float(np.median(column.scale)) or float(column.before.std()) or 1.0
    inner = np.quantile(column.before, _EDGES)
    outer = [column.before.min() - scale * np.array(_BEYOND), column.before.max() + scale * np.array(_BEYOND)]
    edges = np.unique(np.concatenate([inner, *outer]))
    cells = np.zeros((count, edges.size + 1))
    np.add.at(cells, (secrets, np.searchsorted(edges, column.after, side="right")), 1.0)
    sums = np.concatenate([np.zeros((count, 1)), np.cumsum(cells, axis=1)], axis=1)
    first, last = np.triu_indices(edges.size + 2, k=1)
    kept = last - first < edges.size + 1
    return sums[:, last[kept]] - sums[:, first[kept]]


def _label_hits(column: ReleasedColumn, secrets: IndexArray, count: int) -> FloatArray:
    cells = np.zeros((count, max(column.levels, int(column.after.max()) + 1)))
    np.add.at(cells, (secrets, column.after.astype(np.intp)), 1.0)
    return np.concatenate([cells, cells.sum(axis=1, keepdims=True) - cells], axis=1)


def largest_ratio(
    columns: Sequence[ReleasedColumn],
    secrets: IndexArray,
    pairs: Sequence[PairOfCodes],
    points: Sequence[FloatArray],
    rng: np.random.Generator,
    /,
) -> float:
    """The largest log-ratio of two secrets at some points, by the certified law of all rows: the loss is no less."""
    count = int(secrets.max()) + 1
    laws = log_laws(columns, secrets, count, points, rng, exact=True)
    return max((float(np.abs(laws[:, s] - laws[:, t]).max()) for s, t in pairs), default=0.0)


def held_out_scores(
    columns: Sequence[ReleasedColumn],
    secrets: IndexArray,
    trained: np.ndarray[tuple[int], np.dtype[np.bool_]],
    rng: np.random.Generator,
    /,
) -> FloatArray:
    """Log-densities of the released rows that are not `trained`, by the laws of the originals of those that are."""
    count = int(secrets.max()) + 1
    halves = [each.part(trained) for each in columns]
    return log_laws(halves, secrets[trained], count, [each.after[~trained] for each in columns], rng)
