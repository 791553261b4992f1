"""Posterior medians under Laplace noise, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from puffer_frames.priors.prior import FloatArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LaplaceMedians:
    r"""Sums of exponentials over atoms :math:`x_1 < \dots < x_K` with weights p and Laplace noise of scale b.

    Notes
    -----
    **Rounding**: every sum is one of positive terms, taken at an atom, so that none leaves the floats and far atoms
    become 0. **Cost**: K log K.

    References
    ----------
    docs/theory.md, section 15.
    """

    values: FloatArray
    """The atoms, ascending."""
    weights: FloatArray
    """Their probabilities, greater than 0."""
    scale: float
    """b."""
    upto: FloatArray
    """:math:`A_i = \\sum_{j \\le i} p_j e^{-(x_i - x_j)/b}`."""
    since: FloatArray
    """:math:`B_i = \\sum_{j \\ge i} p_j e^{-(x_j - x_i)/b}`."""
    after: FloatArray
    """The same without the atom itself."""

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray, scale: float, /) -> Self:
        """The sums of these atoms."""
        with np.errstate(over="ignore"):
            decay = np.exp(-np.diff(values) / scale)
        since = _running(weights[::-1], decay[::-1])[::-1]
        return cls(
            values=values,
            weights=weights,
            scale=scale,
            upto=_running(weights, decay),
            since=since,
            after=np.append(decay * since[1:], 0.0),
        )

    def thresholds(self) -> tuple[IndexArray, FloatArray]:
        r"""Places of atoms, and where the median goes from each of them to the next: -inf or inf where it does not.

        The root of :math:`F_k(y) = \sum_{j \le k} p_j e^{-|y - x_j|/b} - \sum_{j > k} p_j e^{-|y - x_j|/b}`, which is
        positive, then negative. A half-line where it is 0 belongs to the lower atom.
        """
        n = self.values.size
        k = np.arange(n - 1)
        low, high = np.full(n - 1, -1), np.full(n - 1, n)
        while (high - low > 1).any():
            middle = (low + high) // 2
            positive = self._signs(middle.clip(0, n - 1), k) >= 0
            low, high = np.where(positive, middle, low), np.where(positive, high, middle)
        inside = low.clip(0, n - 2)
        roots = self._roots(inside, k)
        found: FloatArray = np.where(low < 0, -np.inf, np.where(low == n - 1, np.inf, roots))
        return np.arange(n), found

    def crossing(self, ends: IndexArray, thresholds: FloatArray, /) -> FloatArray:
        """The probability of an atom up to the place `ends` and a noisy value beyond the threshold, for each of them.

        Parameters
        ----------
        ends : array of int
            Places of atoms.
        thresholds : array
            As many, finite.
        """
        last = np.searchsorted(self.values, thresholds, side="right") - 1
        below, above = np.minimum(last, ends), np.minimum(last + 1, self.values.size - 1)
        with np.errstate(over="ignore"):
            found = 0.5 * self.upto[below] * self._decay(thresholds - self.values[below])
            found[below < 0] = 0.0
            beyond = self.since[above] * self._decay(self.values[above] - thresholds)
            beyond -= self.after[ends] * self._decay(self.values[ends] - thresholds)
        cumulative = np.append(0.0, np.cumsum(self.weights))
        between = cumulative[ends + 1] - cumulative[last.clip(-1, ends) + 1] - 0.5 * beyond
        result: FloatArray = found + np.where(ends > last, between, 0.0)
        return result

    def _signs(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """The sign of F_k at the atom i."""
        total = self.upto[i] + self.after[i]
        left = total - 2 * self.after[k] * self._apart(i, k)
        right = 2 * self.upto[k] * self._apart(k, i) - total
        signs: FloatArray = np.where(i <= k, left, right)
        return signs

    def _roots(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """The root of F_k between the atoms i and i + 1."""
        left = np.where(i <= k, self.upto[i], 2 * self.upto[k] * self._apart(k, i) - self.upto[i])
        right = np.where(i < k, 2 * self.after[k] * self._apart(i + 1, k) - self.since[i + 1], self.since[i + 1])
        # left e^(-(y - x_i)/b) = right e^(-(x_(i+1) - y)/b)
        with np.errstate(divide="ignore", over="ignore"):
            move = 0.5 * self.scale * (np.log(np.maximum(left, 0.0)) - np.log(np.maximum(right, 0.0)))
            roots = 0.5 * self.values[i] + 0.5 * self.values[i + 1] + move
        return np.clip(roots, self.values[i], self.values[i + 1])

    def _apart(self, i: IndexArray, k: IndexArray) -> FloatArray:
        """e^(-(x_k - x_i)/b) for i up to k, else at most 1."""
        with np.errstate(over="ignore"):
            return self._decay(self.values[k] - self.values[i])

    def _decay(self, distances: FloatArray) -> FloatArray:
        decay: FloatArray = np.exp(-np.maximum(distances, 0.0) / self.scale)
        return decay


def _running(weights: FloatArray, decay: FloatArray) -> FloatArray:
    """Sums up to each atom, in which the earlier ones decay from atom to atom."""
    total, sums = 0.0, []
    for weight, kept in zip(weights.tolist(), [0.0, *decay.tolist()], strict=True):
        total = weight + kept * total
        sums.append(total)
    return np.array(sums)
