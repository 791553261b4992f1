"""Fewer atoms with the same moments: what Gaussian noise can hardly tell from the atoms themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray, IndexArray

_NODES = 10
"""Atoms that a cell is left with; they have its first 2 x 10 moments."""
_MOST_RESIDUAL = 1e-12
"""Cells whose moments are off by more, relative to their mass, keep their atoms."""
_EXTENDED = float(np.finfo(np.longdouble).eps)

_Extended = NDArray[np.longdouble]


@dataclass(frozen=True, slots=True, kw_only=True)
class FewerAtoms:
    """Atoms in the place of others, and how far the two are apart under Gaussian noise."""

    weights: FloatArray
    means: FloatArray
    """Distances from the centre that was given."""
    residuals: FloatArray
    """For every k from 0 to 20, the sum over the cells of the difference of their k-th moments in units of the cell
    width; the last is the sum of the 20-th moments of both."""
    width: float
    """Width of the cells, in units of the means."""

    def distance(self, std: float) -> float:
        r"""Bound of |P(B) - P'(B)| over all sets B, under Gaussian noise of this standard deviation theta.

        .. math:: \sum_{k < 20} |\Delta M_k| \frac{(h/\theta)^k}{\sqrt{k!}}
            + (M_{20} + M'_{20}) \frac{(h/\theta)^{20}}{\sqrt{20!}}

        since the k-th derivative of the density phi has the L1 norm :math:`E|He_k(Z)| \theta^{-k} \le \sqrt{k!}\,
        \theta^{-k}`, and the remainder of Taylor's formula about the centre of the cell that of its last term.
        """
        ratio = self.width / std
        terms = [float(residual) * ratio**k / math.sqrt(math.factorial(k)) for k, residual in enumerate(self.residuals)]
        return math.fsum(terms) * (1.0 + 1e-9)


def fewer_atoms(weights: FloatArray, means: FloatArray, /, *, width: float) -> FewerAtoms:
    """At most ten atoms in each cell of this width, with the first moments of those that were there.

    They are the nodes and weights of Gauss quadrature for the law within the cell, by the method of Stieltjes. What
    rounding leaves of the difference of the moments is measured in extended precision and bounded.

    Parameters
    ----------
    weights, means : array, shape (atoms,)
        The means ascending.
    width : float

    Notes
    -----
    **Cost**: O(20 n), and an eigenvalue problem of size ten for every cell that had more.
    """
    places = np.floor(means / width)
    starts = np.flatnonzero(np.append(True, np.diff(places) > 0))
    sizes = np.diff(np.append(starts, means.size))
    full = sizes > _NODES
    residuals = np.zeros(2 * _NODES + 1)
    if not full.any():
        return FewerAtoms(weights=weights, means=means, residuals=residuals, width=width)
    inside = np.repeat(full, sizes)
    sizes = sizes[full]
    centres = ((places[starts[full]] + 0.5) * width).astype(np.float64)
    begins = np.append(0, np.cumsum(sizes)[:-1])
    offsets, shares = (means[inside] - np.repeat(centres, sizes)) / width, weights[inside]
    nodes, node_weights = _quadrature(offsets, shares, begins, sizes)
    new_means = centres[:, None] + width * nodes
    nodes = (new_means - centres[:, None]) / width  # where rounding has put them
    errors, last = _differences(offsets, shares, begins, nodes, node_weights)
    mass = np.add.reduceat(shares, begins)
    good = errors.sum(axis=0) <= _MOST_RESIDUAL * mass
    residuals[:-1], residuals[-1] = errors[:, good].sum(axis=1), last[good].sum()
    kept = ~inside
    kept[np.flatnonzero(inside)[np.repeat(~good, sizes)]] = True
    new = (node_weights > 0) & good[:, None]
    all_means = np.concatenate((means[kept], new_means[new]))
    order = np.argsort(all_means, kind="stable")
    all_weights = np.concatenate((weights[kept], node_weights[new]))
    return FewerAtoms(weights=all_weights[order], means=all_means[order], residuals=residuals, width=width)


def _quadrature(
    offsets: FloatArray, shares: FloatArray, begins: IndexArray, sizes: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss quadrature for the atoms of every cell, shape (cells, 10)."""
    mass = np.add.reduceat(shares, begins)
    diagonal, beside = np.zeros((_NODES, mass.size)), np.zeros((_NODES, mass.size))
    before, now = np.zeros_like(offsets), np.repeat(1.0 / np.sqrt(mass), sizes)
    for k in range(_NODES):
        weighted = shares * now
        diagonal[k] = np.add.reduceat(weighted * now * offsets, begins)
        following = (offsets - np.repeat(diagonal[k], sizes)) * now - np.repeat(beside[k], sizes) * before
        if k + 1 < _NODES:
            beside[k + 1] = np.sqrt(np.add.reduceat(shares * following * following, begins))
            with np.errstate(divide="ignore", invalid="ignore"):
                inverse = np.where(beside[k + 1] > 0, 1.0 / beside[k + 1], 0.0)
            before, now = now, following * np.repeat(inverse, sizes)
    jacobi = np.zeros((mass.size, _NODES, _NODES))
    index = np.arange(_NODES)
    jacobi[:, index, index] = diagonal.T
    jacobi[:, index[1:], index[:-1]] = beside[1:].T  # eigh reads the lower triangle
    nodes, vectors = np.linalg.eigh(jacobi)
    return nodes, mass[:, None] * vectors[:, 0, :] ** 2


def _differences(
    offsets: FloatArray, shares: FloatArray, begins: IndexArray, nodes: FloatArray, node_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the differences of the first 20 moments of every cell, and the sums of the 20-th ones.

    Offsets are right within two roundings, which k of them multiply; sums of n numbers within n of the extended ones.
    """
    sizes = np.diff(np.append(begins, offsets.size))
    old: _Extended = shares.astype(np.longdouble)
    new: _Extended = node_weights.astype(np.longdouble)
    errors = np.empty((2 * _NODES, sizes.size))
    unit = float(np.finfo(np.float64).eps)
    for k in range(2 * _NODES + 1):
        first, second = np.add.reduceat(old, begins), new.sum(axis=1)
        size = np.add.reduceat(np.abs(old), begins) + np.abs(new).sum(axis=1)
        rounding = ((sizes + k + _NODES) * _EXTENDED * 2.0 + 2.0 * k * unit) * size
        if k == 2 * _NODES:
            return errors, (size + rounding).astype(np.float64)
        errors[k] = np.abs(first - second) + rounding
        old, new = old * offsets, new * nodes
    raise AssertionError("unreachable")
