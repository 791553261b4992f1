"""Where an oracle of additive Laplace noise looks: a dense float scan of the log ratio, its roots and extrema.

What the scan finds is a place alone; whatever `oracle` returns, it evaluates there by closed forms in mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf  # type: ignore[import-untyped]
from scipy.special import erfc, erfcx

Array = np.ndarray[Any, np.dtype[Any]]
_WIDE = np.longdouble  # only lowers the noise of the scan; plain doubles also work


class Pair(NamedTuple):
    """Cleaned priors, the scale, and the sorted means; scan points are written anchors[cell] + t."""

    p: list[Any]
    q: list[Any]
    b: float
    anchors: Array


class Scan(NamedTuple):
    """Ordered points, log f_p/f_q and log f_p there."""

    cell: Array
    t: Array
    ratio: Array
    log_p: Array


def _log_half(z: Array, s: Any, b: Any) -> Array:
    """log of exp(s^2/2b^2 - z/b) Phi(z/s - s/b), arranged so that nothing large cancels."""
    x = (s / b - z / s).astype(float) / math.sqrt(2)
    out = np.empty(z.shape, dtype=_WIDE)
    far = x > 0
    out[far] = -((z[far] / s) ** 2) / 2 + np.log(0.5 * erfcx(x[far]))
    out[~far] = s * s / (2 * b * b) - z[~far] / b + np.log1p(-0.5 * erfc(-x[~far]))
    return out


def _log_parts(prior: list[Any], pair: Pair, cell: Array, t: Array) -> Array:
    """log(2b w f) of every component (rows) at the given points."""
    rows, b = [], _WIDE(pair.b)
    for w, m, s in prior:
        z = (pair.anchors.astype(_WIDE) - _WIDE(m))[cell] + t
        if s > 0:
            one, two = _log_half(z, _WIDE(s), b), _log_half(-z, _WIDE(s), b)
            row = np.maximum(one, two) + np.log1p(np.exp(-np.abs(one - two).astype(float)))
        else:
            row = -np.abs(z) / b
        rows.append(row + float(mp.log(w)))
    return np.array(rows)


def log_ratio(pair: Pair, cell: Array, t: Array) -> tuple[Array, Array]:
    """log f_p/f_q and log f_p."""
    tops, logs = [], []
    for prior in (pair.p, pair.q):
        parts = _log_parts(prior, pair, cell, t)
        tops.append(parts.max(axis=0))
        logs.append(np.log(np.exp((parts - tops[-1]).astype(float)).sum(axis=0)))
    log_p = tops[0].astype(float) + logs[0] - math.log(2 * pair.b)
    return (tops[0] - tops[1]).astype(float) + (logs[0] - logs[1]), log_p


def steps(pair: Pair, cell: Array, t: Array) -> Array:
    steps: Array = np.maximum(np.diff(pair.anchors[cell]) + np.diff(t), 0.0)
    return steps


def section(
    pair: Pair, scan: Any, ends: tuple[Array, Array, Array], rounds: int, pick: Callable[[Array], Any]
) -> tuple[Array, Array, Array]:
    """Shrink brackets (left, home, right point numbers), t relative to home; ``pick`` keeps two of 17 columns."""
    cell, home = scan[0], pair.anchors[scan[0][ends[1]]]
    low, high = (pair.anchors[cell[k]] - home + scan[1][k] for k in (ends[0], ends[2]))
    cell = cell[ends[1]]
    for _ in range(rounds if len(cell) else 0):
        ts = low[:, None] + (high - low)[:, None] * (np.arange(17) / 16)
        values, _ = log_ratio(pair, np.repeat(cell, 17), ts.ravel())
        first, last = pick(values.reshape(ts.shape))
        low, high = ts[np.arange(len(cell)), first], ts[np.arange(len(cell)), last]
    return cell, low, high


def crossing(level: float) -> Callable[[Array], Any]:
    def pick(values: Array) -> Any:
        above = values > level
        cut = np.argmax(above != above[:, :1], axis=1)
        cut[cut == 0] = 16
        return cut - 1, cut

    return pick


def peak(sign: Array, noise: float) -> Callable[[Array], Any]:
    def pick(values: Array) -> Any:
        best = (values * sign[:, None]).argmax(axis=1)
        flat = np.ptp(values, axis=1) < noise  # the floats can tell no more
        return np.where(flat, 0, np.maximum(best - 1, 0)), np.where(flat, 16, np.minimum(best + 1, 16))

    return pick


def scan_of(pair: Pair) -> Scan:
    """Points at every useful scale around every component, tail onset and dominance change; then bisect bends."""
    p, q, b, anchors = pair
    far = float(anchors[-1] - anchors[0]) + max(s * s / b + 60 * s for _, _, s in p + q) + 200 * b
    chunks: list[tuple[Array, Array]] = []

    def around(base: float, centre: float, units: list[float], low: float) -> None:
        """Add base + centre +- offsets, each relative to its nearest anchor (exactly, when that is base)."""
        off = [unit * 0.25 * np.arange(1, 41) for unit in units if unit > 0]
        off.append(low * np.exp(0.15 * np.arange(1 + math.ceil(math.log(far / low) / 0.15))))
        t = centre + np.concatenate([[0.0], *off, *(-x for x in off)])
        cell = np.searchsorted((anchors[1:] + anchors[:-1]) / 2, base + t)
        chunks.append((cell, (base - anchors[cell]) + t))

    def ordered() -> tuple[Array, Array]:
        cell, t = (np.concatenate(x) for x in zip(*chunks))
        order = np.lexsort((t, cell))
        cell, t = cell[order], t[order]
        fresh = np.append(True, (np.diff(cell) != 0) | (np.diff(t) != 0))
        return cell[fresh], t[fresh]

    for m, s in {(m, s) for _, m, s in p + q}:
        around(m, 0.0, [s, b], 1e-3 * (min(s, b) or b))
        for sign in (-1, 1) if s > 0.3 * b else ():  # where the Gaussian bulk turns into an exponential tail
            around(m, sign * s * s / b, [s], 0.1 * s)
    cell, t = ordered()
    for prior in (p, q):  # where two components of one prior exchange dominance
        parts = _log_parts(prior, pair, cell, t)
        near = np.abs(parts - parts.max(axis=0)) < 60
        for i, j in combinations(range(len(prior)), 2):
            flip = np.diff(np.signbit(parts[i] - parts[j]).astype(int)) != 0
            ends = np.flatnonzero(flip & (near[i, 1:] | near[i, :-1]))[:6]
            two = pair._replace(p=[prior[i]], q=[prior[j]])
            for c, lo, hi in zip(*section(two, (cell, t), (ends, ends, ends + 1), 4, crossing(0.0))):
                around(float(anchors[c]), float(lo + hi) / 2, [b], 0.05 * b)
    cell, t = ordered()
    ratio, log_p = log_ratio(pair, cell, t)
    for _ in range(3):
        dy = np.maximum(steps(pair, cell, t), 1e-300)
        bend = np.abs((ratio[:-2] * dy[1:] + ratio[2:] * dy[:-1]) / (dy[1:] + dy[:-1]) - ratio[1:-1])
        mark = np.zeros(len(t), dtype=bool)
        mark[np.argsort(-bend)[:1500] + 1] = True
        mark[1:-1] &= bend > 4e-3 * np.abs(ratio).max() + 1e-14
        k = np.flatnonzero((mark[:-1] | mark[1:]) & (dy > 1e-4 * b))
        new = cell[k], t[k] + dy[k] / 2
        old = (cell, t, ratio, log_p)
        cell, t, ratio, log_p = (np.insert(x, k + 1, y) for x, y in zip(old, (*new, *log_ratio(pair, *new))))
    return Scan(cell, t, ratio, log_p)


def extrema(scan: Scan) -> tuple[Array, Array, Array, Array]:
    """Interior local extrema of the log ratio: kind (maximum +1, minimum -1), left end, place, right end."""
    up, down = np.diff(scan.ratio)[:-1], np.diff(scan.ratio)[1:]
    k = np.flatnonzero((up * down <= 0) & (up != down)) + 1
    sign = np.where(up[k - 1] > down[k - 1], 1.0, -1.0)
    ends = []
    for way in (-1, 1):  # past neighbours that float noise cannot tell from the extremum
        end = k + way
        for _ in range(12):
            same = sign * (scan.ratio[k] - scan.ratio[end]) < 1e-13 + 1e-6 * np.abs(scan.ratio[k])
            end = np.clip(end + way * same, 0, len(scan.t) - 1)
        ends.append(end)
    return sign, ends[0], k, ends[1]


def exact(pair: Pair, cell: Any, t: Any) -> Any:
    return mpf(float(pair.anchors[cell])) + mpf(float(t))
