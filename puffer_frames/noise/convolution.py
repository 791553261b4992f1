"""A Gaussian or an atom plus Laplace noise: density, score, curvature and survival function, free of overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_NO_NOISE = 1e100
"""A ratio of standard deviation to scale from which on the noise changes no density."""

_NORMAL = 2.0**-1022
"""Smaller floats have fewer digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolvedComponents:
    """Components of one prior at some points; every table has the shape (components, points)."""

    log_density: FloatArray
    """log 2b f (at scale 0: log f up to the constant log sqrt(2 pi))."""
    score_left: FloatArray
    """Derivative of the log-density, limit from the left."""
    score_right: FloatArray
    """Derivative of the log-density, limit from the right; it never exceeds `score_left`."""
    log_sharpness: FloatArray
    """log of the ratio of the prior's own density to f; -inf for an atom."""

    def error(self) -> FloatArray:
        """Bound of the rounding error of `log_density`."""
        return UNIT_ROUNDOFF * (16.0 + 8.0 * np.abs(self.log_density))


def convolve(z: FloatArray, stds: FloatArray, /, *, scale: float) -> ConvolvedComponents:
    r"""Evaluate N(0, std^2) * Laplace(b) at z.

    With x = std/b, :math:`2b f = P + Q`, :math:`P = e^{x^2/2 - z/b} \Phi(z/\sigma - x)`, Q its mirror image, and the
    score is (Q - P) / (b (P + Q)).

    Parameters
    ----------
    z : array, shape (components, points)
        Distances from the means.
    stds : array, shape (components, 1)
        At least 0; positive where the scale is 0.
    scale : float
        Laplace scale b; 0 for the Gaussians themselves.

    Notes
    -----
    **Rounding**: P is computed as :math:`\frac12 e^{-z^2/2\sigma^2}\,\mathrm{erfcx}((x - z/\sigma)/\sqrt2)` where
    z/std <= x, and as written elsewhere: in both cases the exponent is of the size of log P, so that the error is a
    few units of |log P|, whatever x is.
    """
    if scale == 0:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            log_density = -0.5 * (z / stds) ** 2 - np.log(stds)
            squares = stds**2
            score = np.where(squares >= _NORMAL, -z / squares, -z / stds / stds)
        return ConvolvedComponents(
            log_density=log_density, score_left=score, score_right=score, log_sharpness=np.zeros_like(z)
        )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_p, log_q = _log_half(z, stds, scale), _log_half(-z, stds, scale)
        log_density = np.logaddexp(log_p, log_q)
        score = np.tanh(0.5 * (log_q - log_p)) / scale
        log_sharpness = (
            math.log(2 * scale / math.sqrt(2 * math.pi)) - np.log(stds) - 0.5 * (z / stds) ** 2 - log_density
        )
    atom = np.broadcast_to(stds == 0, z.shape)
    side = np.where(z < 0, 1.0, -1.0) / scale
    return ConvolvedComponents(
        log_density=np.where(atom, -np.abs(z) / scale, log_density),
        score_left=np.where(atom, np.where(z <= 0, 1.0, -1.0) / scale, score),
        score_right=np.where(atom, side, score),
        log_sharpness=np.where(atom, -np.inf, log_sharpness),
    )


def _log_half(z: FloatArray, stds: FloatArray, scale: float) -> FloatArray:
    """Log P."""
    t, x = z / stds, stds / scale
    argument = (x - t) / math.sqrt(2.0)
    near = -0.5 * t**2 + np.log(0.5 * erfcx(np.maximum(argument, 0.0)))
    far = 0.5 * x**2 - z / scale + log_ndtr(np.maximum(t - x, 0.0))
    return np.where(argument >= 0, near, far)


def central_sharpness(stds: FloatArray, /, *, scale: float) -> FloatArray:
    """Largest value of the ratio of the prior's own density to f, at z = 0; 0 for an atom."""
    if scale == 0:
        return np.ones_like(stds)
    with np.errstate(over="ignore", divide="ignore"):  # infinite is still an upper bound
        x = np.minimum(np.where(stds > 0, stds, 1.0) / scale, _NO_NOISE)
        largest = math.sqrt(2.0 / math.pi) / (x * erfcx(x / math.sqrt(2.0)))
    return np.where(stds > 0, largest, 0.0)


def survival(z: FloatArray, stds: FloatArray, /, *, scale: float) -> FloatArray:
    r"""P(X + N > z) for X ~ N(0, std^2) and z >= 0: :math:`\Phi(-z/\sigma) + (P - Q)/2`, at an atom P/2.

    Notes
    -----
    **Rounding**: relative, a few units of 1 + |log| (no term cancels for z >= 0).
    """
    if scale == 0:
        return np.where(stds > 0, ndtr(-z / np.where(stds > 0, stds, 1.0)), (z < 0).astype(float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        p, q = np.exp(_log_half(z, stds, scale)), np.exp(_log_half(-z, stds, scale))
        gaussian = ndtr(-z / stds) + 0.5 * (p - q)
        return np.where(stds > 0, gaussian, 0.5 * np.exp(-z / scale))
