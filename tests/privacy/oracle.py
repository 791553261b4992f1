"""Independent oracle for additive Laplace noise on mixtures of Gaussians and atoms.

``X`` has a prior given as ``(weight, mean, std)`` triples (``std == 0`` is an atom) and ``Y = X + Laplace(scale)``.
Atoms-only pairs are exact.  Pairs with a Gaussian component are searched: a dense float scan finds where to look, and
whatever is returned is evaluated by mpmath closed forms at ``DIGITS`` digits.  A search can only err low: ``pure_loss``
is the largest log ratio found, ``hockey_stick`` the sum of the positive parts over the intervals found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from mpmath import mp, mpf
from scipy.special import erfc, erfcx

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


# Where an oracle of additive Laplace noise looks: a dense float scan of the log ratio, its roots and extrema.

Array = np.ndarray[Any, np.dtype[Any]]
_WIDE = np.longdouble  # only lowers the noise of the scan; plain doubles also work


class Pair(NamedTuple):
    """Cleaned priors, the scale, and the sorted means; scan points are written anchors[cell] + t."""

    p: list[Any]
    q: list[Any]
    b: float
    anchors: Array


class Scan(NamedTuple):
    """Ordered points, log f_p/f_q and log f_p there."""

    cell: Array
    t: Array
    ratio: Array
    log_p: Array


def _log_half(z: Array, s: Any, b: Any) -> Array:
    """log of exp(s^2/2b^2 - z/b) Phi(z/s - s/b), arranged so that nothing large cancels."""
    x = (s / b - z / s).astype(float) / math.sqrt(2)
    out = np.empty(z.shape, dtype=_WIDE)
    far = x > 0
    out[far] = -((z[far] / s) ** 2) / 2 + np.log(0.5 * erfcx(x[far]))
    out[~far] = s * s / (2 * b * b) - z[~far] / b + np.log1p(-0.5 * erfc(-x[~far]))
    return out


def _log_parts(prior: list[Any], pair: Pair, cell: Array, t: Array) -> Array:
    """log(2b w f) of every component (rows) at the given points."""
    rows, b = [], _WIDE(pair.b)
    for w, m, s in prior:
        z = (pair.anchors.astype(_WIDE) - _WIDE(m))[cell] + t
        if s > 0:
            one, two = _log_half(z, _WIDE(s), b), _log_half(-z, _WIDE(s), b)
            row = np.maximum(one, two) + np.log1p(np.exp(-np.abs(one - two).astype(float)))
        else:
            row = -np.abs(z) / b
        rows.append(row + float(mp.log(w)))
    return np.array(rows)


def log_ratio(pair: Pair, cell: Array, t: Array) -> tuple[Array, Array]:
    """log f_p/f_q and log f_p."""
    tops, logs = [], []
    for prior in (pair.p, pair.q):
        parts = _log_parts(prior, pair, cell, t)
        tops.append(parts.max(axis=0))
        logs.append(np.log(np.exp((parts - tops[-1]).astype(float)).sum(axis=0)))
    log_p = tops[0].astype(float) + logs[0] - math.log(2 * pair.b)
    return (tops[0] - tops[1]).astype(float) + (logs[0] - logs[1]), log_p


def steps(pair: Pair, cell: Array, t: Array) -> Array:
    steps: Array = np.maximum(np.diff(pair.anchors[cell]) + np.diff(t), 0.0)
    return steps


def section(
    pair: Pair, scan: Any, ends: tuple[Array, Array, Array], rounds: int, pick: Callable[[Array], Any]
) -> tuple[Array, Array, Array]:
    """Shrink brackets (left, home, right point numbers), t relative to home; ``pick`` keeps two of 17 columns."""
    cell, home = scan[0], pair.anchors[scan[0][ends[1]]]
    low, high = (pair.anchors[cell[k]] - home + scan[1][k] for k in (ends[0], ends[2]))
    cell = cell[ends[1]]
    for _ in range(rounds if len(cell) else 0):
        ts = low[:, None] + (high - low)[:, None] * (np.arange(17) / 16)
        values, _ = log_ratio(pair, np.repeat(cell, 17), ts.ravel())
        first, last = pick(values.reshape(ts.shape))
        low, high = ts[np.arange(len(cell)), first], ts[np.arange(len(cell)), last]
    return cell, low, high


def crossing(level: float) -> Callable[[Array], Any]:
    def pick(values: Array) -> Any:
        above = values > level
        cut = np.argmax(above != above[:, :1], axis=1)
        cut[cut == 0] = 16
        return cut - 1, cut

    return pick


def peak(sign: Array, noise: float) -> Callable[[Array], Any]:
    def pick(values: Array) -> Any:
        best = (values * sign[:, None]).argmax(axis=1)
        flat = np.ptp(values, axis=1) < noise  # the floats can tell no more
        return np.where(flat, 0, np.maximum(best - 1, 0)), np.where(flat, 16, np.minimum(best + 1, 16))

    return pick


def scan_of(pair: Pair) -> Scan:
    """Points at every useful scale around every component, tail onset and dominance change; then bisect bends."""
    p, q, b, anchors = pair
    far = float(anchors[-1] - anchors[0]) + max(s * s / b + 60 * s for _, _, s in p + q) + 200 * b
    chunks: list[tuple[Array, Array]] = []

    def around(base: float, centre: float, units: list[float], low: float) -> None:
        """Add base + centre +- offsets, each relative to its nearest anchor (exactly, when that is base)."""
        off = [unit * 0.25 * np.arange(1, 41) for unit in units if unit > 0]
        off.append(low * np.exp(0.15 * np.arange(1 + math.ceil(math.log(far / low) / 0.15))))
        t = centre + np.concatenate([[0.0], *off, *(-x for x in off)])
        cell = np.searchsorted((anchors[1:] + anchors[:-1]) / 2, base + t)
        chunks.append((cell, (base - anchors[cell]) + t))

    def ordered() -> tuple[Array, Array]:
        cell, t = (np.concatenate(x) for x in zip(*chunks))
        order = np.lexsort((t, cell))
        cell, t = cell[order], t[order]
        fresh = np.append(True, (np.diff(cell) != 0) | (np.diff(t) != 0))
        return cell[fresh], t[fresh]

    for m, s in {(m, s) for _, m, s in p + q}:
        around(m, 0.0, [s, b], 1e-3 * (min(s, b) or b))
        for sign in (-1, 1) if s > 0.3 * b else ():  # where the Gaussian bulk turns into an exponential tail
            around(m, sign * s * s / b, [s], 0.1 * s)
    cell, t = ordered()
    for prior in (p, q):  # where two components of one prior exchange dominance
        parts = _log_parts(prior, pair, cell, t)
        near = np.abs(parts - parts.max(axis=0)) < 60
        for i, j in combinations(range(len(prior)), 2):
            flip = np.diff(np.signbit(parts[i] - parts[j]).astype(int)) != 0
            ends = np.flatnonzero(flip & (near[i, 1:] | near[i, :-1]))[:6]
            two = pair._replace(p=[prior[i]], q=[prior[j]])
            for c, lo, hi in zip(*section(two, (cell, t), (ends, ends, ends + 1), 4, crossing(0.0))):
                around(float(anchors[c]), float(lo + hi) / 2, [b], 0.05 * b)
    cell, t = ordered()
    ratio, log_p = log_ratio(pair, cell, t)
    for _ in range(3):
        dy = np.maximum(steps(pair, cell, t), 1e-300)
        bend = np.abs((ratio[:-2] * dy[1:] + ratio[2:] * dy[:-1]) / (dy[1:] + dy[:-1]) - ratio[1:-1])
        mark = np.zeros(len(t), dtype=bool)
        mark[np.argsort(-bend)[:1500] + 1] = True
        mark[1:-1] &= bend > 4e-3 * np.abs(ratio).max() + 1e-14
        k = np.flatnonzero((mark[:-1] | mark[1:]) & (dy > 1e-4 * b))
        new = cell[k], t[k] + dy[k] / 2
        old = (cell, t, ratio, log_p)
        cell, t, ratio, log_p = (np.insert(x, k + 1, y) for x, y in zip(old, (*new, *log_ratio(pair, *new))))
    return Scan(cell, t, ratio, log_p)


def extrema(scan: Scan) -> tuple[Array, Array, Array, Array]:
    """Interior local extrema of the log ratio: kind (maximum +1, minimum -1), left end, place, right end."""
    up, down = np.diff(scan.ratio)[:-1], np.diff(scan.ratio)[1:]
    k = np.flatnonzero((up * down <= 0) & (up != down)) + 1
    sign = np.where(up[k - 1] > down[k - 1], 1.0, -1.0)
    ends = []
    for way in (-1, 1):  # past neighbours that float noise cannot tell from the extremum
        end = k + way
        for _ in range(12):
            same = sign * (scan.ratio[k] - scan.ratio[end]) < 1e-13 + 1e-6 * np.abs(scan.ratio[k])
            end = np.clip(end + way * same, 0, len(scan.t) - 1)
        ends.append(end)
    return sign, ends[0], k, ends[1]


def exact(pair: Pair, cell: Any, t: Any) -> Any:
    return mpf(float(pair.anchors[cell])) + mpf(float(t))
