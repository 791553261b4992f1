"""The loss of several columns released together by direct sums at every node, and all that a plan must keep to.

Nothing here is shared with the library. A law is the array of the rows of one secret, shape (rows, columns), each row
of equal weight, values clipped already; laws are a mapping of secret to law, scales a list of numbers.

The loss is the largest log ratio of two densities of the released row. Along one column, between neighbouring
coordinates, both densities are A exp(y / b) + B exp(-y / b), and their ratio is monotone; so the largest is at a node
of the grid of all coordinates. The loss never grows with a scale: Laplace noise of a larger scale is that of the
smaller one, plus more noise.
"""

import itertools
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

SAFE = 500.0
"""Largest sum of distances over scales for which the densities are summed without logarithms."""
BATCH = 2_000_000
"""Terms of sums held at once."""
SLACK = 1e-9
"""Relative rounding that a comparison allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """Where the log ratio of the densities of two secrets is largest."""

    loss: float
    """The log ratio there."""
    node: tuple[float, ...]
    """The released row."""
    pair: tuple[Any, Any]
    """The secrets, the likelier one first."""
    rounding: float
    """How far rounding may have moved the loss."""


def laws_of(table, *, secret, public, domain=None):
    """The rows of each secret of a mapping of column to values, clipped to the domain."""
    domain = domain or {}
    columns = [np.clip(np.asarray(table[c], dtype=float), *domain.get(c, (-np.inf, np.inf))) for c in public]
    rows = np.column_stack(columns)
    own = np.asarray(table[secret])
    return {s: rows[own == s] for s in dict.fromkeys(own.tolist())}


def orders_of(laws, pairs="all"):
    """Every pair that must not be told apart, in both orders."""
    listed = itertools.combinations(laws, 2) if isinstance(pairs, str) else pairs
    return [order for s, t in listed for order in ((s, t), (t, s))]


def floors_of(laws, pairs="all", *, epsilon):
    """Half the smallest gap between different values of each column under the secrets of the pairs, divided by epsilon
    above 1; 0 of a constant column.
    """
    used = {s for order in orders_of(laws, pairs) for s in order}
    rows = np.vstack([law for s, law in laws.items() if s in used])
    gaps = [np.diff(np.unique(column)) for column in rows.T]
    return np.array([gap.min() if gap.size else 0.0 for gap in gaps]) / (2 * max(1.0, epsilon))


def log_densities(law, axes, scales):
    """Log of the density at every node of the product of the axes, in the order of `itertools.product`."""
    atoms, counts = np.unique(law, axis=0, return_counts=True)
    share = counts / counts.sum()
    far = [np.abs(axis[:, None] - atoms[None, :, k]) / b for k, (axis, b) in enumerate(zip(axes, scales, strict=True))]
    if sum(part.max() for part in far) < SAFE:
        rest = np.ones((1, len(atoms)))
        for part in far[1:]:
            rest = (rest[:, None, :] * np.exp(-part)[None, :, :]).reshape(-1, len(atoms))
        return np.log((np.exp(-far[0]) * share) @ rest.T).reshape(-1)
    rest = np.zeros((1, len(atoms)))
    for part in far[1:]:
        rest = (rest[:, None, :] + part[None, :, :]).reshape(-1, len(atoms))
    found = [log_sums(np.log(share) - first - rest) for first in far[0]]
    return np.concatenate(found)


def log_sums(terms):
    """Log of the sum of the exponentials of each row."""
    sums = np.empty(len(terms))
    size = max(BATCH // terms.shape[1], 1)
    for k in range(0, len(terms), size):
        part = terms[k : k + size]
        top = part.max(axis=1)
        sums[k : k + size] = top + np.log(np.exp(part - top[:, None]).sum(axis=1))
    return sums


def worst_node(laws, scales, *, pairs="all"):
    """The largest loss, over every node of the grid: that of the release."""
    laws, scales = varying(laws, scales)
    orders = orders_of(laws, pairs)
    used = {s for order in orders for s in order}
    if not scales:
        return Worst(loss=0.0, node=(), pair=orders[0], rounding=0.0)
    rows = np.vstack([laws[s] for s in laws if s in used])
    axes = [np.unique(column) for column in rows.T]
    logs = {s: log_densities(laws[s], axes, scales) for s in laws if s in used}
    best = None
    for s, t in orders:
        ratio = logs[s] - logs[t]
        k = int(ratio.argmax())
        if best is None or ratio[k] > best.loss:
            rounding = 1e-14 * (abs(logs[s][k]) + abs(logs[t][k]) + 1)
            places = np.unravel_index(k, [axis.size for axis in axes])
            node = tuple(float(axis[i]) for axis, i in zip(axes, places, strict=True))
            best = Worst(loss=float(ratio[k]), node=node, pair=(s, t), rounding=float(rounding))
    return best


def varying(laws, scales):
    """Without the columns of scale 0; they must be constant."""
    scales = [float(b) for b in scales]
    bare = [k for k, b in enumerate(scales) if b == 0]
    for k in bare:
        values = np.unique(np.concatenate([law[:, k] for law in laws.values()]))
        if values.size > 1:
            raise AssertionError(f"column {k} varies and has scale 0")
    kept = [k for k in range(len(scales)) if k not in bare]
    return {s: law[:, kept] for s, law in laws.items()}, [scales[k] for k in kept]


def loss_at(laws, scales, node, pair, *, digits=50):
    """The log ratio of the densities of the pair at one released row, in decimals."""
    laws, scales = varying(laws, scales)
    with localcontext() as context:
        context.prec = digits
        context.Emin, context.Emax = -(10**15), 10**15
        logs = []
        for s in pair:
            total = Decimal(0)
            for row in laws[s].tolist():
                far = sum(abs(Decimal(y) - Decimal(x)) / Decimal(b) for y, x, b in zip(node, row, scales, strict=True))
                total += (-far).exp()
            logs.append((total / len(laws[s])).ln())
        return logs[0] - logs[1]


def log_ratio(laws, scales, nodes, pair):
    """The log ratio of the densities of the pair at rows of numbers, by plain sums."""
    logs = []
    for s in pair:
        parts = []
        size = max(BATCH // len(laws[s]), 1)
        for k in range(0, len(nodes), size):
            far = sum(np.abs(nodes[k : k + size, None, c] - laws[s][None, :, c]) / b for c, b in enumerate(scales))
            parts.append(log_sums(-far) - np.log(len(laws[s])))
        logs.append(np.concatenate(parts))
    return logs[0] - logs[1]


def along(law, scales, node, column, axis):
    """Log density, but for rounding, at the node with each number of a sorted axis in place of one coordinate."""
    others = sum(np.abs(node[c] - law[:, c]) / b for c, b in enumerate(scales) if c != column)
    others = np.broadcast_to(others, len(law))
    order = np.argsort(law[:, column], kind="stable")
    x, base = law[order, column] / scales[column], -others[order]
    u = axis / scales[column]
    left = np.concatenate([[-np.inf], np.logaddexp.accumulate(base + x)])
    right = np.concatenate([np.logaddexp.accumulate((base - x)[::-1])[::-1], [-np.inf]])
    place = np.searchsorted(x, u, side="right")
    return np.logaddexp(left[place] - u, right[place] + u) - np.log(len(law))


def climb(laws, scales, node, pair, *, rounds=20):
    """A local maximum of the log ratio, from a node on, by the best coordinate of one column after another."""
    rows = np.vstack([laws[s] for s in pair])
    axes = [np.unique(column) for column in rows.T]
    node, height = np.array(node, dtype=float), -np.inf
    for _ in range(rounds):
        for k, axis in enumerate(axes):
            ratio = along(laws[pair[0]], scales, node, k, axis) - along(laws[pair[1]], scales, node, k, axis)
            node[k] = axis[int(ratio.argmax())]
            found = float(ratio.max())
        if found <= height + 1e-12:
            break
        height = found
    return float(log_ratio(laws, scales, node[None, :], pair)[0]), node


def best_climb(laws, scales, rng, *, pairs="all", starts=10):
    """The largest of many local maxima: a loss that is there, of tables whose grid is too large."""
    laws, scales = varying(laws, scales)
    found = []
    for pair in orders_of(laws, pairs):
        rows = np.vstack([laws[s] for s in pair])
        corners = np.array(list(itertools.product(*zip(rows.min(axis=0), rows.max(axis=0), strict=True))))
        near = laws[pair[0]][rng.integers(0, len(laws[pair[0]]), starts)]
        mixed = np.column_stack([rng.choice(column, 20 * starts) for column in rows.T])
        high = mixed[np.argsort(log_ratio(laws, scales, mixed, pair))[-starts:]]
        extreme = laws[pair[0]][np.argsort(np.abs(laws[pair[0]] - rows.mean(axis=0)).sum(axis=1))[-starts:]]
        found += [climb(laws, scales, node, pair)[0] for node in np.vstack([corners, near, high, extreme])]
    return max(found)


def faults(laws, scales, *, epsilon, bracket=None, pairs="all", spare=1e-3):
    """All that is wrong with scales, and with a bracket of their loss; an empty list where nothing is."""
    found = []
    steps = floors_of(laws, epsilon=epsilon)
    bare = [k for k, (b, step) in enumerate(zip(scales, steps, strict=True)) if b == 0 and step > 0]
    if bare:
        return [f"no noise on columns {bare}, which vary"]
    worst = worst_node(laws, scales, pairs=pairs)
    slack = SLACK * max(abs(worst.loss), epsilon) + worst.rounding
    if worst.loss > epsilon + slack:
        found.append(f"loss {worst.loss} of {worst.pair} at {worst.node} is above epsilon {epsilon}")
    at_floor = np.asarray(scales) <= floors_of(laws, pairs, epsilon=epsilon) * (1 + 1e-6)
    if worst.loss < (1 - spare) * epsilon and not at_floor.all():
        found.append(
            f"loss {worst.loss} is below epsilon {epsilon}, and columns {np.flatnonzero(~at_floor)} are not "
            "at their floor"
        )
    if (np.asarray(scales) < steps * (1 - SLACK)).any():
        found.append(f"scales {scales} below the floors {steps}")
    if bracket is not None:
        found += bracket_faults(bracket, worst, epsilon=epsilon)
    return found


def bracket_faults(bracket, worst, *, epsilon=np.inf):
    """What is wrong with a bracket of the loss."""
    found = []
    slack = SLACK * abs(worst.loss) + worst.rounding
    if not bracket.lower - slack <= worst.loss <= bracket.upper + slack:
        found.append(f"bracket {bracket} misses the loss {worst.loss}")
    if bracket.upper > epsilon:
        found.append(f"upper end of {bracket} is above epsilon {epsilon}")
    return found


def spread_sum(laws, scales):
    """The sum of the scales, each over the standard deviation of its column."""
    rows = np.vstack(list(laws.values()))
    return float(sum(b / s for b, s in zip(scales, rows.std(axis=0), strict=True) if s > 0))


def on_ray(laws, proportions, floors, *, epsilon, pairs="all", within=1e-4):
    """The least multiple of the proportions, none below its floor, of loss epsilon at most."""
    proportions = np.asarray(proportions, dtype=float)

    def private(t):
        return worst_node(laws, np.maximum(t * proportions, floors), pairs=pairs).loss <= epsilon

    high = 1.0
    while not private(high):
        high *= 2
    low = high / 2
    while low > 1e-6 and private(low):
        high, low = low, low / 2
    while high > low * (1 + within):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if private(middle) else (middle, high)
    return np.maximum(high * proportions, floors)


def best_ray(laws, start, rng, *, epsilon, rays, pairs="all", floors=None):
    """The least sum found over rays of random proportions: wide ones, and steps about the best that grow and shrink."""
    floors = floors_of(laws, pairs, epsilon=epsilon) if floors is None else floors
    spread = np.vstack(list(laws.values())).std(axis=0)
    best = on_ray(laws, start, floors, epsilon=epsilon, pairs=pairs)
    least, size = spread_sum(laws, best), 0.3
    for k in range(rays):
        wide = k % 4 == 0
        step = rng.uniform(-2, 2, spread.size) if wide else rng.normal(0, size, spread.size)
        scales = on_ray(laws, (spread if wide else best) * np.exp(step), floors, epsilon=epsilon, pairs=pairs)
        better = spread_sum(laws, scales) < least
        if better:
            best, least = scales, spread_sum(laws, scales)
        if not wide:
            size = min(size * 1.6, 1.0) if better else max(size * 0.88, 0.01)
    return least, best
