"""Mean of a function of the sum of a unit's rows, by the Fourier transform of their law on a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.lattice import lattice_places
from puffer_frames.priors.prior import FloatArray

MOST_PLACES = 1 << 18
"""Points of the grid of a sum, at the most."""

_POINTS_PER_SPREAD = 3500.0
"""Points of the grid per root mean square of the sum, for one row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumLaw:
    r"""Law of the sum S of k independent rows, each of them moved to the two grid points beside it.

    A row x between the points l and l + h becomes l + h with probability (x - l)/h, and l otherwise, so its mean stays.
    The sum becomes S + Z with E[Z | S] = 0 and :math:`E Z^2 \le k h^2/4`. The second derivative of
    :math:`\psi(s) = e^{-|s|/b}` is nowhere above 1/b^2, as its kink bends down. So
    :math:`\psi(s + z) \le \psi(s) + \psi'(s) z + z^2/(2 b^2)`, and

    .. math:: E \psi(S) \ge E \psi(S + Z) - \frac{k h^2}{8 b^2}
    """

    lowest: float
    """Smallest sum, in units of the value."""
    step: float
    """Distance of the grid, h."""
    weights: FloatArray
    """Probability of each grid point of the sum, shape (places,); each with a rounding error, and below 0 for that."""
    moved: float
    """Bound of the root of E Z^2."""
    error: float
    """Bound of the root of the sum of the squares of the errors of the weights."""

    @classmethod
    def of_rows(cls, values: FloatArray, weights: FloatArray, copies: int, /, *, spread: float) -> SumLaw:
        """The law of the sum of so many draws.

        Parameters
        ----------
        values, weights : array, shape (components,)
            Atoms of one draw, ascending, and their probabilities.
        copies : int
        spread : float
            Root of E S^2, which says how fine the grid must be.

        Notes
        -----
        **Cost**: two transforms of at most 2**18 points. **Rounding**: a transform of n points, a power of two, has an
        error of at most 7 log2(n) u in the Euclidean norm, relative to the result (Higham, Accuracy and Stability,
        section 24.1); 16 log2(n) u are paid for.
        """
        reach = float(values[-1] - values[0])
        most = max(1, (MOST_PLACES - 1) // copies)
        places = lattice_places(values)
        if places[-1] > most or not np.isfinite(places[-1]):
            cells = min(most, max(64.0, _POINTS_PER_SPREAD * copies**0.5 * reach / spread))
            places = (values - values[0]) / reach * int(cells)
        cells = max(1, round(float(places[-1])))
        step = reach / cells
        below = np.clip(np.floor(places), 0, cells - 1).astype(np.intp)
        right = np.clip(places - below, 0.0, 1.0)
        row = np.zeros(cells + 1)
        np.add.at(row, below, weights * (1.0 - right))
        np.add.at(row, below + 1, weights * right)
        width = cells * copies + 1
        size = 1 << (width - 1).bit_length()
        found = fft.irfft(fft.rfft(row, size) ** copies, size)[:width]
        once = 16.0 * math.log2(size + 1) * UNIT_ROUNDOFF
        entry = math.sqrt(size) * once + (64.0 * values.size + 16.0) * UNIT_ROUNDOFF  # of one number of the transform
        return cls(
            lowest=copies * float(values[0]),
            step=step,
            weights=found,
            moved=step * math.sqrt(copies * float(np.sum(weights * right * (1.0 - right)))) * (1.0 + 1e-9),
            error=copies * entry * (1.0 + entry) ** copies + 2.0 * once,
        )

    def mean_decay(self, scale: float, /) -> tuple[float, float]:
        r"""Bounds of :math:`E e^{-|S|/b}`; the upper one from :math:`|\psi(s + z) - \psi(s)| \le |z|/b`."""
        sums = self.lowest + self.step * np.arange(self.weights.size)
        decay = np.exp(-np.abs(sums) / scale)
        found = float(decay @ self.weights)
        reach = float(max(abs(sums[0]), abs(sums[-1])))
        places = 32.0 * UNIT_ROUNDOFF * ((reach + self.step) / scale)  # of the sums themselves
        rounding = math.sqrt(float(decay @ decay)) * self.error + UNIT_ROUNDOFF * (self.weights.size + 64.0) + places
        steep = self.moved / scale
        return found - (0.5 * steep * steep + rounding) * (1.0 + 1e-9), found + (steep + rounding) * (1.0 + 1e-9)
