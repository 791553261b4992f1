"""Couplings of the rows of two secrets by linear programs and by brute force, and what planted laws of rows lose.

Nothing here is shared with the library. Laws are as in `joint_oracle`: the array of the rows of each secret.
"""

import itertools

import numpy as np
from joint_oracle import floors_of, worst_node
from scipy.optimize import linprog
from scipy.sparse import coo_array

SPARE = 1e-7
"""Of the mass of a law: what a linear program may leave over. Masses are multiples of 1 / (rows x rows)."""


def distances(one, other, scales):
    """The sum over the columns of the distance over the scale, from each row of one law to each of the other."""
    scales = np.asarray(scales, dtype=float)
    moved = np.abs(one[:, None, :] - other[None, :, :])
    if (moved[:, :, scales == 0] > 0).any():
        raise AssertionError("a column without noise differs")
    return (moved[:, :, scales > 0] / scales[scales > 0]).sum(axis=2)


def can_couple(allowed, supply, demand):
    """Whether a largest transport through what is allowed carries everything, by a linear program."""
    supply, demand = np.asarray(supply, dtype=float), np.asarray(demand, dtype=float)
    starts, ends = np.nonzero(allowed)
    if starts.size == 0:
        return False
    edges = np.arange(starts.size)
    rows = np.concatenate([starts, ends + supply.size])
    limits = coo_array((np.ones(rows.size), (rows, np.tile(edges, 2))), shape=(supply.size + demand.size, edges.size))
    total = supply.sum()
    most = np.concatenate([supply, demand]) / total
    found = linprog(-np.ones(edges.size), A_ub=limits.tocsr(), b_ub=most, bounds=(0, None), method="highs")
    if found.status != 0:
        raise AssertionError(found.message)
    return -found.fun >= 1 - SPARE


def can_couple_rows(far, most):
    """Whether two laws of equally likely rows can be coupled within a distance."""
    return can_couple(far <= most, np.full(far.shape[0], far.shape[1]), np.full(far.shape[1], far.shape[0]))


def least_distance(one, other, scales):
    """The least distance within which two laws can be coupled."""
    far = distances(one, other, scales)
    steps = np.unique(far)
    low, high = -1, steps.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if can_couple_rows(far, steps[middle]) else (middle, high)
    return float(steps[high])


def least_by_permutations(one, other, scales):
    """The same, of as many rows each, by brute force: the best pairing of rows."""
    far = distances(one, other, scales)
    places = range(len(one))
    return min(max(far[k, to[k]] for k in places) for to in itertools.permutations(places))


def farthest(laws, scales, pairs="all"):
    """The largest of the least distances of all pairs."""
    listed = itertools.combinations(laws, 2) if isinstance(pairs, str) else pairs
    return max(least_distance(laws[s], laws[t], scales) for s, t in listed)


def meets_hall(allowed, supply, demand):
    """Whether every set of rows has at most the supply that its neighbours demand, in whole numbers of any size."""
    needs = [int(each) for each in supply]
    asks = [int(each) for each in demand]
    for size in range(1, len(needs) + 1):
        for rows in itertools.combinations(range(len(needs)), size):
            reached = np.asarray(allowed)[list(rows)].any(axis=0)
            if sum(needs[k] for k in rows) > sum(ask for ask, here in zip(asks, reached, strict=True) if here):
                return False
    return True


def couples_in_order(places, others, supply, demand, within):
    """Whether two laws on a line can be coupled within a distance: in order, which is best, in whole numbers."""
    one = [[int(places[k]), int(supply[k])] for k in np.argsort(places, kind="stable")]
    other = [[int(others[k]), int(demand[k])] for k in np.argsort(others, kind="stable")]
    while one and other:
        moved = min(one[0][1], other[0][1])
        if moved and abs(one[0][0] - other[0][0]) > within:
            return False
        for side in (one, other):
            side[0][1] -= moved
            if side[0][1] == 0:
                side.pop(0)
    return sum(mass for _, mass in one + other) == 0


def random_rows(rng, columns):
    """A table of few different rows of two or three secrets, with ties; secrets have equally many rows, or not."""
    secrets = int(rng.integers(2, 4))
    counts = np.full(secrets, int(rng.integers(2, 6)))
    if rng.random() < 0.6:
        counts = rng.integers(1, 8, secrets)
    own = np.repeat(np.arange(secrets), counts)
    places = rng.integers(0, int(rng.integers(2, 5)), (own.size, columns)).astype(float)
    if rng.random() < 0.3:
        places = np.round(places + rng.normal(0, 0.3, places.shape), 2)
    if rng.random() < 0.3:
        places += own[:, None] * rng.integers(0, 3, columns)
    if rng.random() < 0.3:
        places[:, 1] = places[:, 0] * (1 - 2 * (own % 2)) + rng.integers(0, 2, own.size)
    values = places * 10.0 ** rng.integers(-2, 4, columns)
    values[0] = values[1] + 10.0 ** rng.integers(-1, 2, columns)  # no column is constant
    return {"s": np.array(["p", "q", "r"])[own], **{f"x{k}": values[:, k] for k in range(columns)}}


def coupling_faults(laws, scales, *, epsilon, pairs="all", near=0.005):
    """All that is wrong with scales that rest on a coupling of whole rows."""
    found = []
    scales, floors = np.asarray(scales, dtype=float), floors_of(laws, pairs, epsilon=epsilon)
    if (scales < floors * (1 - 1e-9)).any():
        found.append(f"scales {scales} below the floors {floors}")
    far = farthest(laws, scales, pairs)
    if far > epsilon * (1 + 1e-9):
        found.append(f"rows can be coupled within {far} only, beyond epsilon {epsilon}")
    if far < epsilon * (1 - near) and not (scales <= floors * (1 + 1e-6)).any():
        found.append(f"rows can be coupled within {far}, far below epsilon {epsilon}, and no scale is at its floor")
    worst = worst_node(laws, scales, pairs=pairs)
    if worst.loss > min(far, epsilon) * (1 + 1e-9) + worst.rounding:
        found.append(f"loss {worst.loss} of {worst.pair} at {worst.node} is above {min(far, epsilon)}")
    return found


def loss_together(laws, columns, releases):
    """The joint loss of several releases, each a mapping of column to the scale of its Laplace noise.

    Releases of one column with scales b_r tell as much as one with the scale 1 / sum of 1 / b_r.
    """
    rates = [sum(1 / each[c] for each in releases if c in each) for c in columns]
    kept = [k for k, rate in enumerate(rates) if rate > 0]
    return worst_node({s: law[:, kept] for s, law in laws.items()}, [1 / rates[k] for k in kept]).loss


def loss_of_copies(laws, releases):
    """The same without that rule: every noisy copy is a column of its own, each a list of scales, one a column."""
    copies = {s: np.hstack([law for _ in releases]) for s, law in laws.items()}
    return worst_node(copies, np.concatenate(releases)).loss
