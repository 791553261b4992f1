"""Independent brute-force oracle for short Markov chains X_1..X_T: exact privacy loss and Markov Quilt scales.

Everything enumerates all k**T sequences.  Their probabilities are integers over one common power of two (a float is a
dyadic rational), so sums are exact and a zero is a true zero; exponentials and logarithms are mpmath at ``DIGITS``
digits, so results are right to the last bits of a float for the law as given.  The secret pairs are "X_i = s" against
"X_i = t" for every time i and all states s != t of positive probability; times are 1-based, states 0..k-1.

A loss is the supremum over y of a log ratio of two mixtures of product Laplace densities.  Along one coordinate,
between neighbouring atoms, each density is A exp(y/scale) + B exp(-y/scale) with A, B >= 0 not both zero: the ratio is
a Moebius function of exp(2 y/scale), hence monotone, and beyond the outermost atoms it is constant.  Moving one
coordinate after the other to an atom of that coordinate never lowers the ratio, so a maximum over the grid of atoms
is exact.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
from mpmath import mp, mpf  # type: ignore[import-untyped]

DIGITS = 50


def _integers(array):
    """The floats of an array as Python integers over one common denominator, and that denominator."""
    array = np.asarray(array, dtype=float)
    fractions = [Fraction(x) for x in array.ravel().tolist()]
    denominator = max(f.denominator for f in fractions)  # powers of two, so the largest is common
    integers = np.array([int(f * denominator) for f in fractions], dtype=object)
    return integers.reshape(array.shape), denominator


def _enumerate(transition, initial, length):
    """All sequences, their exact integer weights, and the common denominator of the weights."""
    start, start_denominator = _integers(initial)
    step, step_denominator = _integers(transition)
    paths = np.array(list(product(range(len(start)), repeat=length)))
    weights = start[paths[:, 0]]
    for time in range(1, length):
        weights = weights * step[paths[:, time - 1], paths[:, time]]
    return paths, weights, start_denominator * step_denominator ** (length - 1)


def _conditional(labels, keys, weights):
    """{label: {key: P(key | label)}} as mpf; labels and keys of probability zero are absent."""
    joint = {}
    for label, key, weight in zip(labels, keys, weights):
        if weight:
            table = joint.setdefault(label, {})
            table[key] = table.get(key, 0) + weight
    totals = {label: mpf(sum(table.values())) for label, table in joint.items()}
    return {label: {key: w / totals[label] for key, w in table.items()} for label, table in joint.items()}


def sequences(transition, initial, length):
    """All k**T sequences, an array (k**T, T), and their probabilities, an array (k**T,)."""
    paths, weights, denominator = _enumerate(transition, initial, length)
    return paths, np.array([w / denominator for w in weights])


# ------------------------------------------------------------------------------------------------------ privacy loss
def _counts(paths, states):
    """The tuple of counts per state of each sequence."""
    return [tuple(row) for row in np.stack([(paths == s).sum(axis=1) for s in range(states)], axis=1).tolist()]


def _kernel(points, atoms, scale):
    """exp(-|y - atom|_1 / scale) for every point and atom, without the constant factor of the density."""
    distances = [[sum(abs(u - v) for u, v in zip(y, atom)) for atom in atoms] for y in points]
    values = {d: mp.exp(-mp.convert(d) / mpf(scale)) for d in set().union(*distances)}
    return np.array([[values[d] for d in row] for row in distances], dtype=object)


def _loss(paths, weights, statistic, points, scale):
    """The largest log density ratio over the points, for Laplace noise on the statistic (a tuple per sequence)."""
    with mp.workdps(DIGITS):
        atoms = sorted(set(statistic))
        kernel = _kernel(points, atoms, scale)
        worst = mpf(1)
        for column in paths.T.tolist():
            laws = _conditional(column, statistic, weights).values()
            densities = [kernel @ np.array([law.get(a, mpf(0)) for a in atoms], dtype=object) for law in laws]
            worst = max([worst, *((f / g).max() for f, g in permutations(densities, 2))])
        return float(mp.log(worst))


def histogram_loss(transition, initial, length, scale):
    """Exact pure loss of the counts of all states, each with its own Laplace noise of the given scale."""
    paths, weights, _ = _enumerate(transition, initial, length)
    states = len(initial)
    points = list(product(range(length + 1), repeat=states))
    return _loss(paths, weights, _counts(paths, states), points, scale)


def count_loss(transition, initial, length, state, scale):
    """Exact pure loss of the count of one state with Laplace noise."""
    paths, weights, _ = _enumerate(transition, initial, length)
    counts = [(count,) for count in (paths == state).sum(axis=1).tolist()]
    return _loss(paths, weights, counts, [(y,) for y in range(length + 1)], scale)


def gapped_count_loss(transition, initial, observed, state, scale):
    """As count_loss, where only the observed times (from 1) are counted; the state at those times is the secret."""
    paths, weights, _ = _enumerate(transition, initial, max(observed))
    seen = paths[:, [time - 1 for time in observed]]
    counts = [(count,) for count in (seen == state).sum(axis=1).tolist()]
    return _loss(seen, weights, counts, [(y,) for y in range(len(observed) + 1)], scale)


def gapped_histogram_loss(transition, initial, observed, scale):
    """As histogram_loss, where only the observed times (from 1) are counted; the state at those times is the secret."""
    paths, weights, _ = _enumerate(transition, initial, max(observed))
    seen = paths[:, [time - 1 for time in observed]]
    points = list(product(range(len(observed) + 1), repeat=len(initial)))
    return _loss(seen, weights, _counts(seen, len(initial)), points, scale)


def weighted_sum_loss(transition, initial, length, values, scale):
    """Exact pure loss of the sum of values[X_i] with Laplace noise; equal sums are recognised exactly."""
    paths, weights, _ = _enumerate(transition, initial, length)
    exact = [Fraction(float(v)) for v in values]
    counts = _counts(paths, len(exact))
    sums = {c: (sum(n * v for n, v in zip(c, exact)),) for c in set(counts)}
    return _loss(paths, weights, [sums[c] for c in counts], sorted(set(sums.values())), scale)


# ---------------------------------------------------------------------------------------------------- Markov quilts
def _influence(paths, weights, node, quilt):
    """The max-influence of a quilt on a node, given the enumerated sequences."""
    quilt_values = map(tuple, paths[:, [time - 1 for time in quilt]].tolist())
    with mp.workdps(DIGITS):
        laws = _conditional(paths[:, node - 1].tolist(), quilt_values, weights)
        worst = mpf(1)
        for p, q in permutations(laws.values(), 2):
            if not p.keys() <= q.keys():
                return math.inf
            worst = max([worst, *(p[x] / q[x] for x in p)])
        return float(mp.log(worst))


def influence(transition, initial, length, node, quilt):
    """Exact max-influence of a quilt (a tuple of times) on a node; 0 if the node has one possible state."""
    paths, weights, _ = _enumerate(transition, initial, length)
    return _influence(paths, weights, node, quilt)


def _quilts(length, node):
    """Every quilt of at most one time on either side, with the number of nodes strictly between its ends."""
    for low, high in product(range(node), range(node + 1, length + 2)):
        yield tuple(time for time in (low, high) if 1 <= time <= length), high - low - 1


def sigma(transition, initial, length, epsilon):
    """MQMExact scale of a 1-Lipschitz query: the worst node's best quilt, by the score card / (epsilon - influence).

    For several laws of the first state, as rows, a quilt tells as much as it does under the worst.
    """
    enumerated = [_enumerate(transition, law, length)[:2] for law in np.atleast_2d(initial)]
    worst = 0.0
    for node in range(1, length + 1):
        scored = [
            (max(_influence(*each, node, quilt) for each in enumerated), card) for quilt, card in _quilts(length, node)
        ]
        worst = max(worst, min(card / (epsilon - e) for e, card in scored if e < epsilon))
    return worst


# ----------------------------------------------------------------------------------------------------------- chains
def _irreducible(transition):
    """Whether every state reaches every other."""
    states = len(transition)
    reach = np.linalg.matrix_power(np.eye(states, dtype=int) + (transition > 0), states - 1)
    return bool((reach > 0).all())


def random_chain(rng, states):
    """A random irreducible transition matrix with Dirichlet rows; about half have one entry equal to zero."""
    wants_zero = rng.random() < 0.5
    while True:
        transition = rng.dirichlet(np.ones(states), size=states)
        if wants_zero:
            row, column = rng.integers(states, size=2)
            transition[row, column] = 0.0
            transition[row] /= transition[row].sum()
        if _irreducible(transition):
            return transition


def _determinant(rows):
    """Laplace expansion along the first row."""
    if not rows:
        return Fraction(1)
    minors = ([row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows)))
    return sum((-1) ** j * rows[0][j] * _determinant(minor) for j, minor in enumerate(minors))


def stationary(transition):
    """The stationary law of an irreducible chain, in fractions: proportional to the principal minors of I - P.

    Only the entries off the diagonal are used; the diagonal is what makes the rows sum to 1 exactly.
    """
    states = range(len(transition))
    away = [[Fraction(float(transition[i][j])) if i != j else Fraction(0) for j in states] for i in states]
    matrix = [[sum(away[i]) if i == j else -away[i][j] for j in states] for i in states]
    keep = [[i for i in states if i != state] for state in states]
    minors = [_determinant([[matrix[i][j] for j in kept] for i in kept]) for kept in keep]
    return np.array([float(minor / sum(minors)) for minor in minors])
