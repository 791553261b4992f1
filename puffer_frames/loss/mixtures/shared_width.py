"""The log-density of many atoms under Gaussian noise: bounds of its slope from the posterior mean alone."""

from __future__ import annotations

import numpy as np

from puffer_frames.loss.mixtures.curve import CellBounds, Curve, Points
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_MARKS = 160
_CHUNK = 256


class SharedWidthCurve(Curve):
    r"""Log-density of atoms plus Gaussian noise of one scale theta.

    With the posterior mean m(y) = E[X | Y = y] the slope is :math:`(\log f)' = (m(y) - y) / \theta^2`, and m never
    falls, since :math:`m' = \mathrm{Var}[X | Y = y] / \theta^2`. So on a cell [l, r] the slope is between
    (m(l) - r) / theta^2 and (m(r) - l) / theta^2: one pass over the atoms per point, none per cell.

    Parameters
    ----------
    weights, means : array, shape (atoms,)
    std : float
        theta.
    centre : float
        Subtracted from every atom.
    """

    def __init__(self, weights: FloatArray, means: FloatArray, /, *, std: float, centre: float) -> None:
        super().__init__(weights, means, np.full_like(means, std), scale=0.0, centre=centre)
        self._std = std
        self._span = float(means[-1] - means[0])

    def marks(self) -> FloatArray:
        """Positions where cells should end."""
        inside = np.linspace(self.means[0, 0], self.means[-1, 0], _MARKS)
        beyond = self._std * np.array([0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0, 14.0, 20.0, 30.0])
        return np.concatenate((self.means[0, 0] - beyond, inside, self.means[-1, 0] + beyond))

    def at(self, y: FloatArray, /) -> Points:
        """Evaluate the curve; `terms` has the row log f, the slopes those of f."""
        log_f, error, low, high = (np.empty_like(y) for _ in range(4))
        for start in range(0, y.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            terms = self._log_weights - 0.5 * np.square((y[part] - self.means) / self._std)
            largest = terms.max(axis=0)
            shares = np.exp(terms - largest)
            total = shares.sum(axis=0)
            shares /= total
            log_f[part] = largest + np.log(total)
            rounding = UNIT_ROUNDOFF * (64.0 + 16.0 * np.einsum("ij,ij->j", shares, np.abs(terms)))
            error[part] = rounding + 16.0 * UNIT_ROUNDOFF * np.abs(log_f[part])
            mean = np.einsum("ij,ik->j", shares, self.means)
            slack = (2.0 * rounding + self._displaced / self._std) * self._span + self._displaced
            low[part], high[part] = mean - slack, mean + slack
        slope = self._std**-2
        log_f -= np.log(self._std)
        error += self._displaced * slope * np.maximum(np.abs(low - y), np.abs(high - y))
        return Points(
            y=y,
            log_f=log_f,
            error=error,
            terms=log_f[None],
            steepest=high[None],
            flattest=low[None],
            log_sharpness=log_f[None],
        )

    def bounds(self, left: Points, right: Points, /) -> CellBounds:
        """Slope and curvature between neighbouring points."""
        slope = self._std**-2
        same = np.zeros_like(left.y)
        return CellBounds(
            least_slope=(left.flattest[0] - right.y) * slope,
            most_slope=(right.steepest[0] - left.y) * slope,
            least_bend=same - slope,
            most_bend=same + (0.25 * (self._span / self._std) ** 2 - 1.0) * slope,
            main_mean=same + np.nan,
            main_std=same,
            rest=same,
        )
