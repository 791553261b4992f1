r"""Density of a symmetric stable law, fast and with a bound of the error: a table of derivatives and its interpolant.

The derivatives are found by quadrature on a rotated ray. With the characteristic function :math:`e^{-|t|^\alpha}`, 1 <
alpha < 2, and t on the ray of angle phi = pi / 4 alpha (Cauchy's theorem turns the ray within angles from 0 to pi / 2
alpha),

.. math::
    f(x) = \frac1\pi \mathrm{Re} \int e^{ixt} e^{-t^\alpha} dt
         = \frac1\pi \mathrm{Re} \int e^{ixt} (e^{-t^\alpha} - 1) dt, \quad x > 0,

since :math:`\mathrm{Re} \int e^{ixt} dt = 0`; the second form does not cancel in the tail. The n-th derivative has a
factor :math:`(it)^n`, the survival function :math:`i/t`. The integrals are trapezoidal sums over log |t|. Such a sum is
within 2 M / (e^{2 pi d / h} - 1) of the integral, where M bounds the integral of |integrand| over every ray within the
angle d of the one used: with d = 0.9 phi, :math:`M \le \Gamma(n + 1 + \alpha) / (x \sin 0.1\phi)^{n+1+\alpha}` in the
second form and :math:`\Gamma((n + 1)/\alpha) / \alpha \cos(1.9\pi/4)^{(n+1)/\alpha}` in the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

FAR = 2.0
"""From here on the second form is used."""
_STEP = 2.0**-5
_LOWEST = -46.0
"""log |t| of the first node: what lies before is below e^-46 of the integral."""
_CHUNK = 256
_Complex = NDArray[np.complex128]


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivatives:
    """Values at some points, each with the bound of its absolute error."""

    values: tuple[FloatArray, ...]
    """The orders asked for."""
    errors: tuple[FloatArray, ...]
    """Bounds of quadrature and rounding error."""


def derivatives(x: FloatArray, /, *, alpha: float, orders: tuple[int, ...]) -> Derivatives:
    """Derivatives of the density at x >= 0 (order -1: the survival function)."""
    values = [np.empty_like(x) for _ in orders]
    errors = [np.empty_like(x) for _ in orders]
    for start in range(0, x.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        for far in (False, True):
            chosen = np.flatnonzero((x[part] >= FAR) == far) + start
            if chosen.size:
                found = (_far if far else _near)(x[chosen], alpha, orders)
                for k, (value, error) in enumerate(found):
                    values[k][chosen], errors[k][chosen] = value, error
    return Derivatives(values=tuple(values), errors=tuple(errors))


def _ray(alpha: float, highest: float) -> _Complex:
    """Nodes on the ray."""
    radii = np.exp(np.arange(_LOWEST, highest, _STEP))
    return radii * np.exp(0.25j * math.pi / alpha)


def _discretisation(alpha: float) -> float:
    return 2.0 / math.expm1(2 * math.pi * 0.9 * (math.pi / 4 / alpha) / _STEP)


def _near(x: FloatArray, alpha: float, orders: tuple[int, ...]) -> list[tuple[FloatArray, FloatArray]]:
    t = _ray(alpha, math.log(60.0) / alpha + 1.0)
    falling = np.exp(-(t**alpha))
    wave = np.exp(1j * np.outer(x, t))
    results = []
    for n in orders:
        kernel = _STEP / math.pi * t * falling * (1j * t) ** n
        moment = (n + 1) / alpha
        if n >= 0:
            terms, base = wave * kernel, 0.0
            reach = math.gamma(moment) / alpha / math.cos(1.9 * math.pi / 4) ** moment
        else:  # P(N > x) = 1/2 - integral of (e^{ixt} - 1) e^{-t^alpha} / it
            terms, base = -(wave - 1.0) * kernel, 0.5
            reach = float(x.max()) * math.gamma(1 / alpha) / alpha / math.cos(1.9 * math.pi / 4) ** (1 / alpha)
        results.append(_sum(terms, base, reach * _discretisation(alpha) / math.pi, t))
    return results


def _far(x: FloatArray, alpha: float, orders: tuple[int, ...]) -> list[tuple[FloatArray, FloatArray]]:
    """The nodes are those of x t, so that only expm1 depends on x."""
    s = _ray(alpha, math.log(750.0 / math.sin(math.pi / 4 / alpha)))
    wave = np.exp(1j * s)
    changed = np.expm1(-np.outer(x**-alpha, s**alpha))
    results = []
    for n in orders:
        sign = -1.0 if n < 0 else 1.0
        scale = x ** -(n + 1.0)
        terms = sign * changed * (_STEP / math.pi * s * wave * (1j * s) ** n) * scale[:, None]
        power = n + 1 + alpha
        reach = math.gamma(power) / (x * math.sin(0.1 * math.pi / 4 / alpha)) ** power
        results.append(_sum(terms, 0.0, reach * _discretisation(alpha) / math.pi, s))
    return results


def _sum(
    terms: _Complex, base: float, discretisation: float | FloatArray, nodes: _Complex
) -> tuple[FloatArray, FloatArray]:
    """The sum of the real parts; every term has an error of some units times its exponent's size."""
    sizes = np.abs(terms)
    rounding = UNIT_ROUNDOFF * (sizes @ (16.0 + 4.0 * np.minimum(np.abs(nodes), 750.0)) + abs(base))
    return base + terms.real.sum(axis=1), rounding + discretisation


_EVEN = 6.0
_EVEN_STEP = 1.0 / 64
_RATIO = 1.0 + 1.0 / 128
FARTHEST = 1e6
"""From here on the density is its leading term, with a bound of the rest."""
_ROUNDING = 1024 * UNIT_ROUNDOFF
"""Rounding of an interpolant's values, relative to them: that of its coefficients and of the sum."""
_HERMITE = 46080.0
"""6! 2^6: the error of the interpolant is h^6 / 46080 times the largest sixth derivative."""


class StableShape:
    r"""The density f of the stable law with characteristic function :math:`e^{-|t|^\alpha}`, 1 <= alpha < 2.

    It is symmetric and unimodal, so on an interval it lies between its values at the nearest and the farthest point.

    **Method**: alpha = 1 is Cauchy's law, :math:`1 / \pi(1 + x^2)`. Otherwise quintic Hermite interpolation of values
    and two derivatives by quadrature (above), on steps of 1/64 up to 6 and of 1/128 of x up to
    1e6. **Error**: :math:`h^6 \max|f^{(6)}| / 46080`, with
    :math:`\pi |f^{(6)}| \le \min\{\Gamma(7/\alpha)/\alpha, \Gamma(7+\alpha) / (x \sin(\pi/2\alpha))^{7+\alpha}\}`,
    beside the errors at the nodes. Beyond 1e6, :math:`|f - C x^{-1-\alpha}| \le
    \Gamma(1+2\alpha) / 2\pi (x \sin(\pi/2\alpha))^{1+2\alpha}`, :math:`C = \Gamma(1+\alpha)\sin(\pi\alpha/2)/\pi`.
    The bounds `steepest` of |f'/f| and `most_curved` of |f''/f| + (f'/f)² come from the nodes and the bound of the
    third derivative; beyond 1e6 both are far smaller: :math:`|f' + C (1 + \alpha) x^{-2-\alpha}| \le
    \Gamma(2+2\alpha) / 2\pi (x \sin(\pi/2\alpha))^{2+2\alpha}`. **Cost**: 0.2 s once
    per alpha, then some 100 ns a point.
    """

    def __init__(self, alpha: float, /) -> None:
        self.alpha = alpha
        self.steepest, self.most_curved = 1.0, 2.0  # |f'/f|; |(log f)''| and |f''/f| of Cauchy's law
        if alpha == 1.0:
            return
        tail = _EVEN * _RATIO ** np.arange(1, math.ceil(math.log(FARTHEST / _EVEN) / math.log(_RATIO)) + 2)
        self._nodes = np.concatenate((np.arange(0.0, _EVEN + _EVEN_STEP / 2, _EVEN_STEP), tail))
        found = derivatives(self._nodes, alpha=alpha, orders=(0, 1, 2))
        h = np.diff(self._nodes)
        self._polynomials, self._per_step = _hermite(h, np.stack(found.values)), 1.0 / h
        start, sine = self._nodes[:-1], math.sin(math.pi / 2 / alpha)
        with np.errstate(divide="ignore"):
            third = np.minimum(math.gamma(4 / alpha) / alpha, math.gamma(4 + alpha) / (start * sine) ** (4 + alpha))
            sixth = np.minimum(math.gamma(7 / alpha) / alpha, math.gamma(7 + alpha) / (start * sine) ** (7 + alpha))
        nodes = sum(np.maximum(error[:-1], error[1:]) * h**k for k, error in enumerate(found.errors))
        absolute = h**6 / _HERMITE * sixth / math.pi + 2.0 * nodes
        self._error = absolute / (found.values[0][1:] - found.errors[0][1:]) + _ROUNDING
        second = _largest(found.values[2], found.errors[2]) + h * third / math.pi
        first = _largest(found.values[1], found.errors[1]) + h * second
        least = found.values[0][1:] - found.errors[0][1:]
        slopes = first / least * (1 + 1e-12)
        self._steeper = np.maximum.accumulate(slopes[::-1])[::-1]  # at and beyond every step
        self.steepest = float(slopes.max())
        bends = (second / least + np.square(slopes)) * (1 + 1e-12)
        self._bendier = np.maximum.accumulate(bends[::-1])[::-1]
        self.most_curved = float(bends.max())
        self._tail = math.gamma(1 + alpha) * math.sin(math.pi * alpha / 2) / math.pi
        self._rest_of_slope = math.gamma(2 + 2 * alpha) / (2 * math.pi * sine ** (2 + 2 * alpha)) / self._tail
        self._rest_of_bend = math.gamma(3 + 2 * alpha) / (2 * math.pi * sine ** (3 + 2 * alpha)) / self._tail
        self._rest = math.gamma(1 + 2 * alpha) / (2 * math.pi * sine ** (1 + 2 * alpha)) / self._tail

    def log_density(self, x: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Log of the density at x >= 0, and a bound of its error."""
        if self.alpha == 1.0:
            log_density = -np.log(math.pi) - np.log1p(np.square(np.minimum(x, 1e150)))
            far = np.where(x > 1e150, 2 * np.log(np.maximum(x, 1.0) / 1e150), 0.0)
            return log_density - far, UNIT_ROUNDOFF * (4.0 + 2 * np.abs(log_density))
        held = np.minimum(x, FARTHEST)
        step = self._step(held)
        held -= self._nodes.take(step)
        held *= self._per_step.take(step)
        density, *lower = (part.take(step) for part in self._polynomials)
        for part in lower:
            density *= held
            density += part
        log_density = np.log(np.maximum(density, np.finfo(float).tiny))
        error = self._error.take(step)
        beyond = x >= FARTHEST
        if beyond.any():
            far = x[beyond]
            log_density[beyond] = math.log(self._tail) - (1 + self.alpha) * np.log(far)
            error[beyond] = self._rest * far**-self.alpha
        bound: FloatArray = -np.log1p(-error) + UNIT_ROUNDOFF * (4.0 + 2 * np.abs(log_density))
        return log_density, bound

    def _step(self, x: FloatArray) -> IndexArray:
        """The step of the table that holds x >= 0, or the last one: computed, and put right where rounding misses."""
        far = _EVEN / _EVEN_STEP + np.log(np.maximum(x, _EVEN) / _EVEN) / math.log(_RATIO)
        near, last = np.minimum(x, _EVEN) / _EVEN_STEP, self._per_step.size - 1
        step: IndexArray = np.where(x < _EVEN, near, np.minimum(far, last)).astype(np.intp)
        step -= x < self._nodes.take(step)
        step += (x >= self._nodes.take(step + 1)) & (step < last)
        return step

    def steepest_beyond(self, x: FloatArray, /) -> FloatArray:
        """A bound of |(log f)'| at all distances from x >= 0 on."""
        if self.alpha == 1.0:
            far = np.clip(x, 1.0, 1e150)
            return np.where(x < 1.0, 1.0, 2.0 * far / (1.0 + far * far))
        step = self._step(x)
        far = np.maximum(x, FARTHEST)
        shrunk = far**-self.alpha
        leading: FloatArray = (1 + self.alpha + self._rest_of_slope * shrunk) / (1 - self._rest * shrunk) / far
        beyond = np.maximum(self._steeper[step], leading)  # the last step ends beyond 1e6
        return np.where(x < FARTHEST, beyond, leading)

    def most_curved_beyond(self, x: FloatArray, /) -> FloatArray:
        """A bound of |(log f)''| at all distances from x >= 0 on."""
        if self.alpha == 1.0:
            return 2.0 / (1.0 + np.square(np.minimum(x, 1e150)))
        step = self._step(x)
        far = np.clip(x, FARTHEST, 1e150)
        shrunk = far**-self.alpha
        bend = ((1 + self.alpha) * (2 + self.alpha) + self._rest_of_bend * shrunk) / (1 - self._rest * shrunk)
        slope = (1 + self.alpha + self._rest_of_slope * shrunk) / (1 - self._rest * shrunk)
        leading: FloatArray = (bend + slope**2) / far**2
        return np.where(x < FARTHEST, np.maximum(self._bendier[step], leading), leading)


def _largest(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Largest absolute value at the ends of every step."""
    sizes = np.abs(values) + errors
    return np.maximum(sizes[:-1], sizes[1:])


def _hermite(h: FloatArray, values: FloatArray) -> FloatArray:
    """Coefficients of the quintics with the values and two derivatives at the nodes: u**5 first, u 0 to 1 on a step.

    The values on a step differ by a tenth at most, so each coefficient is right within 200 units of rounding of them.
    """
    (p, a, b), (q, c, d) = (values[:, part] * np.stack((h**0, h, h**2)) for part in (np.s_[:-1], np.s_[1:]))
    rise = q - p
    fifth = 6.0 * rise - 3.0 * (a + c) + 0.5 * (d - b)
    fourth = -15.0 * rise + 8.0 * a + 7.0 * c + 1.5 * b - d
    third = 10.0 * rise - 6.0 * a - 4.0 * c - 1.5 * b + 0.5 * d
    return np.stack((fifth, fourth, third, 0.5 * b, a, p))


@lru_cache(maxsize=16)
def stable_shape(alpha: float, /) -> StableShape:
    """The shape for an alpha; its table is made once."""
    return StableShape(alpha)
