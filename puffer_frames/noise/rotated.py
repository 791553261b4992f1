r"""Density of symmetric stable laws by quadrature on a rotated ray, with a bound of the error.

With the characteristic function :math:`e^{-|t|^\alpha}`, 1 < alpha < 2, and t on the ray of angle phi = pi / 4 alpha
(Cauchy's theorem turns the ray within angles from 0 to pi / 2 alpha),

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

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

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
    nodes: _Complex = radii * np.exp(0.25j * math.pi / alpha)
    return nodes


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
