"""Independent oracle for additive Laplace noise on mixtures of Gaussians and atoms.

``X`` has a prior given as ``(weight, mean, std)`` triples (``std == 0`` is an atom) and ``Y = X + Laplace(scale)``.
Atoms-only pairs are exact.  Pairs with a Gaussian component are searched: a dense float scan finds where to look, and
whatever is returned is evaluated by mpmath closed forms at ``DIGITS`` digits.  A search can only err low: ``pure_loss``
is the largest log ratio found, ``hockey_stick`` the sum of the positive parts over the intervals found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath import mp, mpf  # type: ignore[import-untyped]
from oracle_scan import Pair, Scan, crossing, exact, extrema, log_ratio, peak, scan_of, section, steps

Component = tuple[float, float, float]
Prior = Sequence[Component]
DIGITS = 50


def _clean(prior: Prior) -> list[tuple[Any, float, float]]:
    """Normalised (mpf weight, mean, std), equal components merged, zero weights dropped."""
    merged: dict[tuple[float, float], Any] = {}
    for weight, mean, std in prior:
        if not (all(map(math.isfinite, (weight, mean, std))) and weight >= 0 and std >= 0):
            raise ValueError(f"bad component {(weight, mean, std)!r}")
        if weight > 0:
            key = (float(mean), float(std))
            merged[key] = merged.get(key, mpf(0)) + mpf(float(weight))
    if not merged:
        raise ValueError("a prior needs a component of positive weight")
    total = mp.fsum(merged.values())
    return [(w / total, m, s) for (m, s), w in sorted(merged.items())]


def _pair(p: Prior, q: Prior, scale: float) -> tuple[Pair, bool]:
    """The cleaned pair, and whether it consists of atoms only."""
    cp, cq = _clean(p), _clean(q)
    atoms = all(s == 0 for _, _, s in cp + cq)
    if not (scale > 0 or (scale == 0 and atoms)) or not math.isfinite(scale):
        raise ValueError("scale must be finite and positive (zero is allowed for atoms only)")
    return Pair(cp, cq, float(scale), np.array(sorted({m for _, m, _ in cp + cq}))), atoms


# ----------------------------------------------------------------------------------------- closed forms in mpmath
def _halves(mean: float, std: float, y: Any, b: Any) -> tuple[Any, Any]:
    """A(z), B(z) with z = y - mean: the density is (A + B)/b, the cdf is Phi(z/s) - A + B."""
    z = y - mpf(mean)
    if std == 0:
        half = mp.exp(-abs(z) / b) / 2
        return (half, mpf(0)) if z >= 0 else (mpf(0), half)
    s = mpf(std)
    shift = s * s / (2 * b * b)
    return (mp.exp(shift - z / b) * mp.ncdf(z / s - s / b) / 2, mp.exp(shift + z / b) * mp.ncdf(-z / s - s / b) / 2)


def _pdf(prior: list[Any], y: Any, b: Any) -> Any:
    return mp.fsum(w * mp.fsum(_halves(m, s, y, b)) for w, m, s in prior) / b


def _cdf(prior: list[Any], y: Any, b: Any) -> Any:
    total = mpf(0)
    for w, m, s in prior:
        below, above = _halves(m, s, y, b)
        total += w * ((mp.ncdf((y - mpf(m)) / mpf(s)) if s > 0 else mpf(y >= m)) - below + above)
    return total


def _log_mgf(prior: list[Any], r: Any) -> Any:
    return mp.log(mp.fsum(w * mp.exp(mpf(m) * r + mpf(s) ** 2 * r * r / 2) for w, m, s in prior))


def density(prior: Prior, y: Any, scale: float) -> Any:
    """Density (mpf) of Y = X + Laplace(scale) at y (a float or an mpf)."""
    if not scale > 0:
        raise ValueError("density needs a positive scale")
    with mp.workdps(DIGITS):
        return _pdf(_clean(prior), mpf(y), mpf(scale))


# ----------------------------------------------------------------------------------------------------- atoms only
def _masses(pair: Pair) -> list[tuple[Any, Any]]:
    """Prior masses of every atom, in order."""
    mass_p, mass_q = {m: w for w, m, _ in pair.p}, {m: w for w, m, _ in pair.q}
    return [(mass_p.get(x, mpf(0)), mass_q.get(x, mpf(0))) for x in pair.anchors.tolist()]


def _atoms_pure(pair: Pair) -> Any:
    """Brute force at every atom; probes elsewhere only assert that no atom is beaten."""
    b = mpf(pair.b)
    atoms = [mpf(x) for x in pair.anchors.tolist()]
    sides = [[(w, mpf(m)) for w, m, _ in prior] for prior in (pair.p, pair.q)]

    def loss(y: Any) -> Any:
        f, g = (mp.fsum(w * mp.exp(-abs(y - x) / b) for w, x in side) for side in sides)
        return abs(mp.log(f / g))

    worst = max(loss(x) for x in atoms)
    probes = [x + (z - x) * mpf((0.5, 0.125, 0.875)[i % 3]) for i, (x, z) in enumerate(pairwise(atoms))]
    rounding = mpf(10) ** (10 - DIGITS) * (1 + (atoms[-1] - atoms[0]) / b)  # of exponents of this size
    for y in [*probes, atoms[0] - b / 3, atoms[0] - 30 * b, atoms[-1] + b / 3, atoms[-1] + 30 * b]:
        if loss(y) > worst + rounding:
            raise AssertionError(f"the loss at {y} exceeds the loss at every atom")
    return worst


def _atoms_hockey(pair: Pair, coefs: list[Any]) -> Any:
    """Integral of [h]_+, h = sum of c_x Laplace(y - x); between atoms 2b h = low/u + high*u with u = exp(y/b)."""
    u = [mp.exp((mpf(x) - mpf(float(pair.anchors[0]))) / mpf(pair.b)) for x in pair.anchors.tolist()]
    total = max(mpf(0), mp.fsum(c / v for c, v in zip(coefs, u)) / 2)
    total += max(mpf(0), mp.fsum(c * v for c, v in zip(coefs, u)) / u[-1] / 2)
    for k, cuts in enumerate(map(list, pairwise(u))):
        low = mp.fsum(c * v for c, v in zip(coefs[: k + 1], u))
        high = mp.fsum(c / v for c, v in zip(coefs[k + 1 :], u[k + 1 :]))
        if low * high < 0 and cuts[0] < (root := mp.sqrt(-low / high)) < cuts[1]:
            cuts.insert(1, root)
        total += mp.fsum(max(mpf(0), (high * (w - v) + low * (1 / v - 1 / w)) / 2) for v, w in pairwise(cuts))
    return total


# ------------------------------------------------------------------------------------------------------ pure loss
def _climb(f: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Largest value found of an (almost) unimodal f on [low, high], by parabolas and golden sections in mpmath."""
    ys = [low, (low + high) / 2, high]
    values = [f(y) for y in ys]
    for turn in range(40):
        best = max(values)
        k = min(max(values.index(best), 1), len(ys) - 2)
        (x0, x1, x2), (v0, v1, v2) = ys[k - 1 : k + 2], values[k - 1 : k + 2]
        if best - min(v0, v1, v2) <= best * mpf("1e-12"):
            break
        slope, curve = (v1 - v0) / (x1 - x0), ((v2 - v1) / (x2 - x1) - (v1 - v0) / (x1 - x0)) / (x2 - x0)
        y = (x0 + x1) / 2 - slope / (2 * curve) if curve < 0 else x1
        if not x0 < y < x2 or y == x1 or turn % 4 == 3:
            y = x1 + mpf("0.4") * (x2 - x1 if x2 - x1 > x1 - x0 else x0 - x1)
        elif v0 + (y - x0) * (slope + (y - x1) * curve) - best < best * mpf("1e-12"):
            break
        place = sum(x < y for x in ys)
        ys.insert(place, y)
        values.insert(place, f(y))
    return max(values)


def pure_loss(p: Prior, q: Prior, *, scale: float) -> float:
    """Supremum over y of |log f_p(y)/f_q(y)|."""
    with mp.workdps(DIGITS):
        pair, atoms = _pair(p, q, scale)
        if pair.p == pair.q:
            return 0.0
        if scale == 0:
            return max(float(abs(mp.log(f / g))) if f * g > 0 else math.inf for f, g in _masses(pair))
        if atoms:
            return float(_atoms_pure(pair))
        b = mpf(scale)

        def loss(y: Any) -> Any:
            return abs(mp.log(_pdf(pair.p, y, b) / _pdf(pair.q, y, b)))

        best = max(abs(_log_mgf(pair.p, r) - _log_mgf(pair.q, r)) for r in (1 / b, -1 / b))  # the tail limits
        best = max([best, *(loss(mpf(m)) for m in {m for _, m, s in pair.p + pair.q if s == 0})])  # the kinks
        scan = scan_of(pair)
        size = np.abs(scan.ratio)
        top = max(float(best), float(size.max()))
        if top < 1e-11:  # nearly equal priors drown in float noise: a coarse scan in mpmath
            some = range(0, len(size), max(1, len(size) // 150))
            ys = sorted({exact(pair, scan.cell[k], scan.t[k]) for k in some} | {mpf(x) for x in pair.anchors.tolist()})
            values = [loss(y) for y in ys]
            k = min(max(values.index(max(values)), 1), len(ys) - 2)
            return float(max(best, *values, _climb(loss, ys[k - 1], ys[k + 1])))
        sign, left, ks, right = extrema(scan)
        reach = 2 * size[ks] - np.minimum(size[left], size[right])  # an extremum rarely overshoots more than this
        hope = np.flatnonzero((sign * scan.ratio[ks] > 0) & (reach > top * (1 - 1e-9) - 1e-15))
        hope = hope[np.argsort(-size[ks[hope]])[:32]]
        sign, left, ks, right = (x[hope] for x in (sign, left, ks, right))
        cell, low, high = section(pair, scan, (left, ks, right), 4, peak(sign, 1e-11))
        mid = np.abs(log_ratio(pair, cell, (low + high) / 2)[0])
        top = max(top, mid.max(initial=0.0)) * (1 - 1e-6) - 2e-11
        for i in [i for i in np.argsort(-mid) if mid[i] > top][:4]:
            best = max(best, _climb(loss, exact(pair, cell[i], low[i]), exact(pair, cell[i], high[i])))
        return float(best)


# --------------------------------------------------------------------------------------------------- hockey stick
def _hockey_scan(pair: Pair, epsilon: float) -> Scan:
    """The scan with refined extrema that might just reach +-epsilon, so that close pairs of roots are seen."""
    scan = scan_of(pair)
    sign, left, ks, right = extrema(scan)
    value = scan.ratio[ks]
    drop = np.maximum(np.abs(value - scan.ratio[left]), np.abs(value - scan.ratio[right]))
    gaps = [sign * (level - value) for level in (epsilon, -epsilon)]
    hope = np.flatnonzero(np.any([(gap >= 0) & (gap <= drop) for gap in gaps], axis=0))
    hope = hope[np.argsort(-scan.log_p[ks[hope]])[:64]]
    sign, left, ks, right = (x[hope] for x in (sign, left, ks, right))
    cell, low, high = section(pair, scan, (left, ks, right), 8, peak(sign, 0.0))
    t = (low + high) / 2
    new = [np.append(x, y) for x, y in zip(scan, (cell, t, *log_ratio(pair, cell, t)))]
    order = np.lexsort((new[1], new[0]))
    return Scan(*(x[order] for x in new))


def _crossings(pair: Pair, scan: Scan, level: float) -> list[Any]:
    """Where log f_p/f_q crosses ``level``, as mpf; sign runs too light to matter (float noise) are merged away."""
    gap = scan.ratio - level
    log_top = np.maximum(scan.log_p, scan.log_p - gap) + max(0.0, -level)
    h = np.exp(np.minimum(log_top, 600.0)) * -np.expm1(-np.abs(gap))
    piece = np.concatenate([h[:1] * pair.b, np.maximum(h[1:], h[:-1]) * steps(pair, *scan[:2]), h[-1:] * pair.b])
    flips = np.flatnonzero(np.diff(gap > 0)) + 1
    first, last = np.append(0, flips), np.append(flips, len(gap))
    area = np.add.reduceat(piece[:-1], first) + piece[last]
    clear = np.maximum.reduceat(np.abs(gap), first) > 1e-14
    heavy = first[area > np.where(clear, 1e-30, 1e-17)]
    ends = np.array([k - 1 for j, k in pairwise(heavy) if (gap[j] > 0) != (gap[k] > 0)], dtype=int)
    ends = ends[np.argsort(-h[ends])[:400]]
    roots = []
    for c, lo, hi in zip(*section(pair, scan, (ends, ends, ends + 1), 7, crossing(level))):
        x0, x1 = exact(pair, c, lo), exact(pair, c, hi)
        g0, g1 = (mp.log(_pdf(pair.p, x, mpf(pair.b)) / _pdf(pair.q, x, mpf(pair.b))) - level for x in (x0, x1))
        roots.append(x0 + (x1 - x0) * (g0 / (g0 - g1) if g0 * g1 < 0 else mpf("0.5")))
    return sorted(roots)


def _orders(pair: Pair, epsilon: float) -> list[tuple[list[Any], list[Any], list[Any]]]:
    """(f, g, crossings of f = e^epsilon g) for both orders."""
    scan = _hockey_scan(pair, epsilon)
    return [(pair.p, pair.q, _crossings(pair, scan, epsilon)), (pair.q, pair.p, _crossings(pair, scan, -epsilon))]


def hockey_stick(p: Prior, q: Prior, *, epsilon: float, scale: float) -> float:
    """Larger of the two orders of the integral of [f_p - e^epsilon f_q]_+."""
    with mp.workdps(DIGITS):
        pair, atoms = _pair(p, q, scale)
        if not 0 <= epsilon < math.inf:
            raise ValueError("epsilon must be finite and nonnegative")
        b, ratio = mpf(scale), mp.exp(mpf(epsilon))
        if pair.p == pair.q:
            return 0.0
        if atoms:
            both = [[f - ratio * g for f, g in _masses(pair)], [g - ratio * f for f, g in _masses(pair)]]
            if scale == 0:
                return float(max(mp.fsum(max(mpf(0), c) for c in coefs) for coefs in both))
            return float(max(_atoms_hockey(pair, coefs) for coefs in both))
        orders = []
        for f, g, ys in _orders(pair, epsilon):
            mass = [mpf(0), *(_cdf(f, y, b) - ratio * _cdf(g, y, b) for y in ys), 1 - ratio]
            orders.append(mp.fsum(max(mpf(0), right - left) for left, right in pairwise(mass)))
        return float(max(orders))


def hockey_stick_quadrature(p: Prior, q: Prior, *, epsilon: float, scale: float) -> float:
    """Slow cross-check of ``hockey_stick``: mp.quad of the positive part of the difference of the densities."""
    if scale == 0:
        return hockey_stick(p, q, epsilon=epsilon, scale=scale)
    with mp.workdps(DIGITS):
        pair, _ = _pair(p, q, scale)
        b, ratio = mpf(scale), mp.exp(mpf(epsilon))
        marks = {mpf(m) + k * b for _, m, _ in pair.p + pair.q for k in (-45, -20, -8, -3, -1, 0, 1, 3, 8, 20, 45)}
        marks |= {mpf(m) + k * mpf(s) for _, m, s in pair.p + pair.q for k in (-12, -7, -4, -2, -1, 1, 2, 4, 7, 12)}
        orders = []
        for f, g, ys in _orders(pair, epsilon):

            def positive(u: Any, f: list[Any] = f, g: list[Any] = g) -> Any:
                return max(mpf(0), _pdf(f, u * b, b) - ratio * _pdf(g, u * b, b)) * b

            cuts = [-mp.inf, *(y / b for y in sorted(marks | set(ys))), mp.inf]
            with mp.workdps(30):
                orders.append(mp.quad(positive, cuts, maxdegree=6))
        return float(max(orders))


def is_private(p: Prior, q: Prior, *, epsilon: float, delta: float, scale: float, slack: float = 1e-9) -> bool:
    """Whether both orders meet (epsilon, delta); pure when delta is 0.

    ``slack`` is relative to the bound; the oracle's own accuracy (1e-15 on epsilon, 1e-14 on delta) comes on top.
    """
    if delta == 0:
        return pure_loss(p, q, scale=scale) <= epsilon * (1 + slack) + 1e-15
    return hockey_stick(p, q, epsilon=epsilon, scale=scale) <= delta * (1 + slack) + 1e-14
