"""Independent oracle for additive Gaussian and symmetric stable noise on mixtures of Gaussians and atoms."""

# A prior is a list of (weight, mean, std), std 0 for an atom.  A float scan finds where to look; whatever is returned
# is evaluated by mpmath at DIGITS digits.  A search can only err low: the hockey stick is a sum of positive parts over
# the intervals found, the pure loss the largest log ratio found.

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, ndtr

Prior = Sequence[tuple[float, float, float]]
Array = np.ndarray[Any, np.dtype[Any]]
DIGITS = 40
REACH = 40.0  # widths that are scanned: a Gaussian has 1e-349 of its mass beyond
STEPS = np.concatenate([np.arange(0, 12, 0.05), np.arange(12, REACH + 0.1, 0.25)])
SPLIT = 90  # the stable series meet where each is good to about e^-SPLIT


def _normalised(prior: Prior) -> list[tuple[Any, Any, Any]]:
    total = mp.fsum(mpf(w) for w, _, _ in prior)
    return [(mpf(w) / total, mpf(m), mpf(s)) for w, m, s in prior if w > 0]


# ------------------------------------------------------------------------------------------------- Gaussian noise
def variance(std: Any, scale: Any) -> Any:
    """Variance of one component under independent Gaussian noise of standard deviation ``scale``."""
    return std * std + scale * scale


def _components(prior: Prior, scale: float) -> list[tuple[Any, Any, Any]]:
    """(weight, mean, width) of the noisy components."""
    return [(w, m, mp.sqrt(variance(s, mpf(scale)))) for w, m, s in _normalised(prior)]


def _pdf(parts: list[Any], y: Any) -> Any:
    return mp.fsum(w / width * mp.exp(-(((y - m) / width) ** 2) / 2) for w, m, width in parts) / mp.sqrt(2 * mp.pi)


def _mass(parts: list[Any], left: Any, right: Any) -> Any:
    """Mass of an interval; above a mean by symmetry, where the cdfs are too close to 1 to be subtracted."""
    total = mpf(0)
    for w, m, width in parts:
        u, v = (left - m) / width, (right - m) / width
        total += w * (mp.ncdf(v) - mp.ncdf(u) if u < 0 else mp.ncdf(-u) - mp.ncdf(-v))
    return total


def _log_pdf(parts: list[Any], y: Array) -> Array:
    """The same in floats, up to log sqrt(2 pi); far from every mean only the logarithm is representable."""
    rows = [float(mp.log(w / width)) - ((y - float(m)) / float(width)) ** 2 / 2 for w, m, width in parts]
    out: Array = logsumexp(rows, axis=0)
    return out


def _with_extrema(ratio: Callable[[Array], Array], y: Array, rounds: int = 7) -> Array:
    """The scan points and the refined local extrema of the ratio, so that close pairs of roots are seen."""
    slopes = np.sign(np.diff(ratio(y)))
    k = np.flatnonzero(slopes[1:] * slopes[:-1] <= 0) + 1
    sign, left, right = np.where(slopes[k - 1] > 0, 1.0, -1.0), y[k - 1], y[k + 1]
    rows = np.arange(len(k))
    for _ in range(rounds):
        grid = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, 17)
        best = (ratio(grid.ravel()).reshape(grid.shape) * sign[:, None]).argmax(axis=1)
        left, right = grid[rows, np.maximum(best - 1, 0)], grid[rows, np.minimum(best + 1, 16)]
    return np.unique(np.concatenate([y, (left + right) / 2]))


def _scan(p: list[Any], q: list[Any]) -> tuple[Array, Array]:
    """Sorted points around every component, and log f_p/f_q there."""

    def ratio(y: Array) -> Array:
        return _log_pdf(p, y) - _log_pdf(q, y)

    spots = {(float(m), float(width)) for _, m, width in p + q}
    y = np.unique(np.concatenate([m + way * width * STEPS for m, width in spots for way in (-1, 1)]))
    y = _with_extrema(ratio, y)
    return y, ratio(y)


def _root(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Bisection, then a secant; the error of the place enters the mass squared, so half the digits are enough."""
    sign = f(low) > 0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if (f(middle) > 0) == sign else (low, middle)
    at_low, at_high = f(low), f(high)
    return low + (high - low) * at_low / (at_low - at_high) if at_low != at_high else low


def crossings(p: list[Any], q: list[Any], epsilon: float) -> list[Any]:
    """Where the noisy components satisfy f_p = e^epsilon f_q."""

    def gap(y: Any) -> Any:
        return mp.log(_pdf(p, y) / _pdf(q, y)) - epsilon

    y, ratio = _scan(p, q)
    flips = np.flatnonzero(np.diff(ratio > epsilon))
    brackets = [(mpf(float(y[k])), mpf(float(y[k + 1]))) for k in flips]
    return [_root(gap, *ends) for ends in brackets if (gap(ends[0]) > 0) != (gap(ends[1]) > 0)]


def ordered_hockey_stick(p: Prior, q: Prior, *, epsilon: float, scale: float) -> Any:
    """Integral of [f_p - e^epsilon f_q]_+, Gaussian noise, this order only: exact masses between the crossings."""
    with mp.workdps(DIGITS):
        f, g, factor = _components(p, scale), _components(q, scale), mp.exp(mpf(epsilon))
        ends = [-mp.inf, *crossings(f, g, epsilon), mp.inf]
        return mp.fsum(max(mpf(0), _mass(f, *cell) - factor * _mass(g, *cell)) for cell in pairwise(ends))


def hockey_stick(p: Prior, q: Prior, *, epsilon: float, scale: float) -> Any:
    """Larger of the two orders."""
    return max(ordered_hockey_stick(*order, epsilon=epsilon, scale=scale) for order in ((p, q), (q, p)))


def hockey_stick_quadrature(p: Prior, q: Prior, *, epsilon: float, scale: float, digits: int = 15) -> Any:
    """Slow cross-check of ``hockey_stick``: mp.quad of the positive part, split at the crossings."""
    values = []
    for one, two in ((p, q), (q, p)):
        with mp.workdps(DIGITS):
            f, g, factor = _components(one, scale), _components(two, scale), mp.exp(mpf(epsilon))
            marks = {m + k * width for _, m, width in f + g for k in (-12, -6, -3, 0, 3, 6, 12)}
            cuts = sorted(marks | set(crossings(f, g, epsilon)))
        with mp.workdps(digits):
            values.append(mp.quad(lambda y: max(mpf(0), _pdf(f, y) - factor * _pdf(g, y)), cuts))  # noqa: B023
    return max(values)


def hockey_stick_cells(p: Prior, q: Prior, *, epsilon: float, scale: float, per_scale: int = 64) -> float:
    """Thousands of atoms in floats: positive parts of the exact masses of narrow cells, never more than the truth."""
    means = [m for _, m, _ in [*p, *q]]
    low, high = min(means) - 12 * scale, max(means) + 12 * scale
    edges = np.linspace(low, high, int((high - low) / scale * per_scale) + 2)
    f, g = (np.diff(_float_cdf(prior, edges, scale)) for prior in (p, q))
    return float(max(np.maximum(one - np.exp(epsilon) * two, 0).sum() for one, two in ((f, g), (g, f))))


def _float_cdf(prior: Prior, y: Array, scale: float) -> Array:
    weights, means, stds = np.array(prior, dtype=float).T
    widths, total = np.sqrt(stds**2 + scale**2), weights.sum()
    return np.array([weights @ ndtr((x - means) / widths) / total for x in y])


# --------------------------------------------------------------------------------------------------- stable noise
def _hardness(alpha: float, x: float) -> float:
    """E with: the convergent series cancels e^E, the asymptotic series stops at e^-E."""
    return (alpha - 1) * (x / alpha) ** (alpha / (alpha - 1))


@cache
def _near_coefficient(alpha: float, k: int) -> Any:
    with mp.workdps(3 * DIGITS):
        a = mpf(alpha)
        return (-1) ** k * mp.gamma((2 * k + 1) / a) / mp.factorial(2 * k) / (mp.pi * a)


@cache
def _far_coefficient(alpha: float, k: int) -> tuple[Any, Any]:
    """Size of the k-th term of the tail series, and the sine that it carries."""
    with mp.workdps(3 * DIGITS):
        a = mpf(alpha)
        return mp.gamma(a * k + 1) / mp.factorial(k) / mp.pi, (-1) ** (k + 1) * mp.sin(mp.pi * a * k / 2)


def stable_near(alpha: float, x: Any) -> Any:
    """Density by its power series at 0, which converges everywhere (1 < alpha <= 2)."""
    with mp.workdps(3 * DIGITS):
        square, power, total, k = mpf(x) ** 2, mpf(1), mpf(0), 0
        tiny = mpf(10) ** (-2 * DIGITS)
        while True:
            term = _near_coefficient(alpha, k) * power
            total += term
            if abs(term) < tiny:  # the terms rise once and fall once
                return total
            power, k = power * square, k + 1


def stable_far(alpha: float, x: Any) -> Any:
    """Density by its tail series, stopped at the smallest term (1 < alpha < 2)."""
    with mp.workdps(2 * DIGITS):
        step, total, last, k = mpf(x) ** -mpf(alpha), mpf(0), mp.inf, 1
        power = step / mpf(x)
        while True:
            size, sine = _far_coefficient(alpha, k)
            term = size * power
            if term >= last or term < mpf(10) ** (-2 * DIGITS):
                return total
            total, last = total + term * sine, term
            power, k = power * step, k + 1


def stable_density(alpha: float, x: Any) -> Any:
    """Density at x of the law with characteristic function exp(-|t|^alpha)."""
    x = abs(x)
    if alpha == 1:
        return 1 / (mp.pi * (1 + x * x))
    return (stable_near if _hardness(alpha, float(x)) < SPLIT else stable_far)(alpha, x)


def stable_inversion(alpha: float, x: Any) -> Any:
    """Slow cross-check: the inversion integral, on a ray in the complex plane where it does not oscillate much."""
    with mp.workdps(DIGITS):
        a, x = mpf(alpha), abs(mpf(x))
        turn = mp.expj(mp.pi / (3 * a))
        unit = 1 / (1 + x)
        cuts = [c * unit for c in (0, 1, 4, 16, 64, 256)]
        return mp.quad(lambda s: (turn * mp.exp(1j * x * turn * s - (turn * s) ** a)).real, cuts) / mp.pi


def float_density(alpha: float, x: Array) -> Array:
    """The inversion integral on the same ray in floats: double exponential nodes, the constant removed in the tail."""
    x = np.abs(x)
    if alpha == 1:
        return 1 / (np.pi * (1 + x * x))
    tau = np.arange(-4.0, 4.6, 0.05)
    node, weight = np.exp(tau - np.exp(-tau)), 0.05 * (1 + np.exp(-tau))
    turn, unit = np.exp(1j * np.pi / (3 * alpha)), 1 / np.maximum(1.0, x)[..., None]
    s = turn * unit * node
    # 1 instead of exp(-s^alpha) integrates to an imaginary number, and leaves nothing to cancel where x is large
    rest = np.expm1(-(s**alpha)) + (unit >= 1)
    out: Array = (np.exp(1j * x[..., None] * s) * rest * s).real @ weight / np.pi
    return out


def _stable_log_ratio(p: Prior, q: Prior, alpha: float, scale: float) -> Callable[[Array], Array]:
    def density(prior: Prior, y: Array) -> Any:
        return sum(w * float_density(alpha, (y - m) / scale) for w, m, _ in prior) / sum(w for w, _, _ in prior)

    return lambda y: np.log(density(p, y) / density(q, y))


def stable_log_ratio(p: Prior, q: Prior, y: float, *, alpha: float, scale: float) -> Any:
    """log f_p/f_q at y, at full precision."""
    with mp.workdps(DIGITS):
        f, g = (
            mp.fsum(w * stable_density(alpha, (mpf(y) - m) / mpf(scale)) for w, m, _ in _normalised(prior))
            for prior in (p, q)
        )
        return mp.log(f / g)


def _stable_points(p: Prior, q: Prior, scale: float) -> Array:
    """Every atom, its neighbourhood in units of the scale, the gaps between atoms, and far beyond all of them."""
    atoms = np.unique([m for _, m, _ in [*p, *q]])
    span = max(float(np.ptp(atoms)), scale)
    offsets = np.concatenate([scale * np.arange(0, 6, 0.1), np.geomspace(6 * scale, 1e3 * span + 7 * scale, 40)])
    gaps = [np.linspace(left, right, 50) for left, right in pairwise(atoms)]
    return np.unique(np.concatenate([*(m + way * offsets for m in atoms for way in (-1, 1)), *gaps]))


def stable_pure_loss(p: Prior, q: Prior, *, alpha: float, scale: float) -> Any:
    """Supremum over y of |log f_p(y)/f_q(y)| of atoms (the ratio tends to 1 in both tails)."""
    ratio = _stable_log_ratio(p, q, alpha, scale)
    y = _stable_points(p, q, scale)
    size = np.abs(ratio(y))
    peaks = np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] >= size[2:])) + 1
    peaks = peaks[np.argsort(-size[peaks])][:6]
    found = [_peak(ratio, y[k - 1], y[k], y[k + 1]) for k in peaks if size[k] > 0.98 * size.max()]
    # the place is good to half the digits of a float, and the loss there to all of them
    return max((abs(stable_log_ratio(p, q, best, alpha=alpha, scale=scale)) for best in found), default=mpf(0))


def _peak(ratio: Callable[[Array], Array], left: float, middle: float, right: float) -> float:
    """Place of the largest |ratio| between left and right, by golden sections and parabolas."""
    span = right - left
    search = minimize_scalar(
        lambda t: -abs(float(ratio(np.array([middle + t * span]))[0])),
        bounds=((left - middle) / span, (right - middle) / span),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(middle + search.x * span)
