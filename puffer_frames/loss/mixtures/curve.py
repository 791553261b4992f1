"""The log-density of a prior plus noise on a cell: bounds of its slope and of its curvature."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.prior import FloatArray, IndexArray

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

    - `z` (array, shape (components, points)): Distances from the means.
    - `stds` (array, shape (components, 1)): At least 0; positive where the scale is 0.
    - `scale`: Laplace scale b; 0 for the Gaussians themselves.

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

    **Rounding**: relative, a few units of 1 + |log| (no term cancels for z >= 0).
    """
    if scale == 0:
        return np.where(stds > 0, ndtr(-z / np.where(stds > 0, stds, 1.0)), (z < 0).astype(float))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        p, q = np.exp(_log_half(z, stds, scale)), np.exp(_log_half(-z, stds, scale))
        gaussian = ndtr(-z / stds) + 0.5 * (p - q)
        return np.where(stds > 0, gaussian, 0.5 * np.exp(-z / scale))


_TAIL_WIDTHS = 9.0
"""Beyond the mean by std^2/b and this many stds, a component is an exponential to 1e-18 of itself."""
_RAW_TAIL_WIDTHS = 38.5
"""Without noise, the mass of a Gaussian beyond this many stds is below 1e-300."""
_FARTHEST = 1e150
_UNDERFLOW = 1e-300
"""Masses below it may be lost."""
_NEGLIGIBLE = -45.0
"""Logarithm of a share of the tail that rounding hides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A curve at some positions. Tables have the shape (components, points)."""

    y: FloatArray
    """Positions."""
    log_f: FloatArray
    """Logarithm of the density, up to a constant of the scale, shape (points,)."""
    error: FloatArray
    """Bound of the rounding error of `log_f`, shape (points,)."""
    terms: FloatArray
    """Logarithm of each weighted component."""
    steepest: FloatArray
    """Upper bound of the score just right of the point."""
    flattest: FloatArray
    """Lower bound of the score just left of the point."""
    log_sharpness: FloatArray
    """See `ConvolvedComponents`."""

    def take(self, index: IndexArray, /) -> Points:
        """Some of the points."""
        # column by column in memory, which is faster to take from than row by row
        return Points(**{name: getattr(self, name).T.take(index, axis=0).T for name in _TABLES})

    def without_components(self) -> Points:
        """The curve alone, for less memory."""
        none = np.empty((0, self.y.size))
        return replace(self, terms=none, steepest=none, flattest=none, log_sharpness=none)

    def join(self, other: Points, /) -> Points:
        """These points followed by others."""
        both = {name: (getattr(self, name), getattr(other, name)) for name in _TABLES}
        return Points(**{name: np.concatenate(tables, axis=-1) for name, tables in both.items()})


_TABLES = tuple(table.name for table in fields(Points))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellBounds:
    """Bounds on cells, each of shape (cells,)."""

    least_slope: FloatArray
    """Lower bound of (log f)'."""
    most_slope: FloatArray
    """Upper bound of (log f)'."""
    least_bend: FloatArray
    """Lower bound of (log f)''."""
    most_bend: FloatArray
    """Upper bound of (log f)''."""
    main_mean: FloatArray
    """Mean of a component that dominates the cell."""
    main_std: FloatArray
    """Its standard deviation."""
    rest: FloatArray
    """Upper bound of the distance of (log f)' from the score of that component."""


class Curve:
    """Log-density of a mixture of Gaussians and atoms plus Laplace noise of one scale.

    - `weights`, `means`, `stds` (array, shape (components,)): Positive weights of any sum; standard deviations, 0 for
      an atom.
    - `scale`: Laplace scale b; 0 for the mixture itself, which must then have no atom.
    - `centre`: Subtracted from every mean: positions are distances from it.
    """

    def __init__(
        self, weights: FloatArray, means: FloatArray, stds: FloatArray, /, *, scale: float, centre: float
    ) -> None:
        self.scale = scale
        self.weights = weights[:, None]
        self.means = (means - centre)[:, None]
        self.stds = stds[:, None]
        self._log_weights = np.log(self.weights)
        self._displaced = 2.0 * subtraction_error(means, centre)
        self._central = central_sharpness(self.stds, scale=scale)

    def marks(self) -> FloatArray:
        """Positions where cells should end: means, and steps away from them at the widths of component and noise."""
        steps = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 20.0, 30.0])
        widths = np.unique(np.concatenate([self.stds[:, 0], [self.scale]]))
        offsets = np.concatenate([np.outer(widths[widths > 0], steps).ravel(), [0.0]])
        return np.concatenate([(self.means + sign * offsets).ravel() for sign in (-1, 1)])

    def reach(self) -> tuple[float, float]:
        """Positions beyond which the tails are exponentials; without noise, where one component is left alone, which
        may be infinitely far.
        """
        if self.scale:
            far = self.stds * (self.stds / self.scale + _TAIL_WIDTHS)
            return float((self.means - far).min()), float((self.means + far).max())
        widest = float(self.stds.max())
        ends = []
        for sign in (-1.0, 1.0):
            means = sign * self.means[:, 0]
            mean = float(means[self.stds[:, 0] == widest].max())
            step = _RAW_TAIL_WIDTHS * widest
            end = max(mean, float(means.max())) + step
            while self._others(sign * end, sign * mean, widest, sign) > _NEGLIGIBLE:
                step *= 2.0
                end += step
                if end > _FARTHEST * float(self.stds.min()):  # squares would leave the floats
                    return -math.inf, math.inf
            ends.append(sign * end)
        return ends[0], ends[1]

    def extent(self) -> tuple[float, float]:
        """Positions beyond which the mixture itself has a mass below 1e-300."""
        far = _RAW_TAIL_WIDTHS * self.stds
        return float((self.means - far).min()), float((self.means + far).max())

    def _others(self, y: float, mean: float, std: float, sign: float) -> float:
        """Largest log-ratio of another component to the one that dominates the tail; inf while one still grows."""
        log_density = self._log_weights - np.log(self.stds) - 0.5 * np.square((y - self.means) / self.stds)
        dominant = (self.means == mean) & (self.stds == std)
        if dominant.all():
            return -math.inf
        growth = sign * ((y - mean) / std**2 - (y - self.means) / self.stds**2)
        if (growth[~dominant] > 0).any():
            return math.inf
        return float(log_density[~dominant].max() - log_density[dominant].max())

    @np.errstate(invalid="ignore")
    def at(self, y: FloatArray, /) -> Points:
        """Evaluate the curve; the error is NaN where every logarithm of a density has left the floats."""
        z = y - self.means
        components = convolve(z, self.stds, scale=self.scale)
        terms = components.log_density + self._log_weights
        log_f = np.logaddexp.reduce(terms, axis=0)
        error = (np.exp(terms - log_f) * components.error()).sum(axis=0)
        error += UNIT_ROUNDOFF * (8.0 * len(terms) + 8.0 * np.abs(log_f))
        error += self._displaced * np.abs(components.score_left).max(axis=0)
        if self.scale:
            relative = components.error() * (1 - (components.score_left * self.scale) ** 2) + 4 * UNIT_ROUNDOFF
            slack = relative / self.scale
        else:
            slack = 8 * UNIT_ROUNDOFF * np.abs(components.score_left)
        return Points(
            y=y,
            log_f=log_f,
            error=error,
            terms=terms,
            steepest=components.score_right + slack,
            flattest=components.score_left - slack,
            log_sharpness=components.log_sharpness,
        )

    def bounds(self, left: Points, right: Points, /) -> CellBounds:
        r"""Slope and curvature between neighbouring points; no atom lies strictly inside a cell.

        Each component is log-concave, so its score s_m lies between its values at the ends, and its posterior
        weight is bounded by its ratio to the component that dominates at an end. With the weights pi_m(y),
        :math:`(\log f)' = \sum \pi_m s_m` and
        :math:`(\log f)'' = \sum \pi_m s_m' + \mathrm{Var}_\pi(s)`; for Laplace noise
        :math:`s_m' = (1 - \rho_m)/b^2 - s_m^2` with the sharpness rho_m, unimodal about the mean, and always
        :math:`-1/\sigma_m^2 \le s_m' \le 0`.
        """
        h = right.y - left.y
        most, least = left.steepest, right.flattest
        if len(self.means) == 1:
            bend = self._bend(left, right)[0]
            none = np.zeros_like(h)
            return CellBounds(
                least_slope=least[0],
                most_slope=most[0],
                least_bend=bend,
                most_bend=none,
                main_mean=none + self.means[0],
                main_std=none + self.stds[0],
                rest=none,
            )
        share, anchors = self._shares(left, right, h)
        columns = np.arange(h.size)
        most_slope, least_slope = most.max(axis=0), least.min(axis=0)
        variance = 0.25 * np.square(most_slope - least_slope)
        for anchor in anchors:
            top, bottom = most[anchor, columns], least[anchor, columns]
            most_slope = np.minimum(most_slope, top + (share * np.maximum(most - top, 0.0)).sum(axis=0))
            least_slope = np.maximum(least_slope, bottom - (share * np.maximum(bottom - least, 0.0)).sum(axis=0))
            middle = 0.5 * (top + bottom)
            deviation = np.maximum(np.abs(most - middle), np.abs(least - middle))
            variance = np.minimum(variance, (share * np.square(deviation)).sum(axis=0))
        bend = self._bend(left, right)
        least_bend = np.maximum(bend.min(axis=0), (share * bend).sum(axis=0))
        main = anchors[0]
        apart = np.maximum(most - least[main, columns], most[main, columns] - least)
        apart[main, columns] = 0.0
        return CellBounds(
            least_slope=least_slope,
            most_slope=most_slope,
            least_bend=least_bend,
            most_bend=variance,
            main_mean=self.means[main, 0],
            main_std=self.stds[main, 0],
            rest=(share * apart).sum(axis=0),
        )

    def _bend(self, left: Points, right: Points) -> FloatArray:
        """Lower bound of the derivative of each component's score, at most 0."""
        if self.scale == 0:
            return np.broadcast_to(-1.0 / self.stds**2, left.terms.shape)
        sharpest = np.exp(np.minimum(np.maximum(left.log_sharpness, right.log_sharpness), 700.0))
        inside = (left.y < self.means) & (right.y > self.means)
        sharpest = np.where(inside, self._central, sharpest) * (1 + 1e-9)
        score = np.maximum(np.abs(left.steepest), np.abs(right.flattest)) * self.scale
        with np.errstate(divide="ignore", over="ignore"):  # the square of a scale may overflow
            by_sharpness = np.minimum((1.0 - sharpest - np.square(score)) / self.scale / self.scale, 0.0)
            by_width = -1.0 / self.stds**2
        return np.maximum(by_sharpness, by_width)

    def _shares(self, left: Points, right: Points, h: FloatArray) -> tuple[FloatArray, list[IndexArray]]:
        """Upper bounds of the posterior weights on each cell, and the components that dominate at its ends."""
        columns = np.arange(h.size)
        most, least = left.steepest, right.flattest
        log_share = np.zeros_like(left.terms)
        anchors = [left.terms.argmax(axis=0), right.terms.argmax(axis=0)]
        slack = 64.0 * UNIT_ROUNDOFF * (8.0 + np.abs(left.terms) + np.abs(right.terms))
        for anchor in anchors:
            at_left = left.terms - left.terms[anchor, columns]
            at_right = right.terms - right.terms[anchor, columns]
            rising = most - least[anchor, columns]
            falling = least - most[anchor, columns]
            log_share = np.minimum(log_share, wedge(at_left, at_right, falling, rising, h) + slack)
            log_share[anchor, columns] = 0.0
        return np.exp(log_share), anchors

    @property
    def normaliser(self) -> float:
        """Density is exp(log_f) divided by this."""
        return 2.0 * self.scale if self.scale else math.sqrt(2.0 * math.pi)

    def mass(self, a: FloatArray, b: FloatArray, /) -> FloatArray:
        """P(a < Y < b) of intervals, infinite ends included; a tail is not computed from its complement."""
        lower, upper = a - self.means, b - self.means
        beyond_a, beyond_b = self._survival(np.abs(lower)), self._survival(np.abs(upper))
        inside = np.where(upper <= 0, beyond_b - beyond_a, 1.0 - beyond_a - beyond_b)
        return (self.weights * np.where(lower >= 0, beyond_a - beyond_b, inside)).sum(axis=0)

    def mass_error(self, a: FloatArray, b: FloatArray, /) -> float:
        """Bound of the rounding error of the sum of the masses."""
        ends = np.concatenate((a, b))
        at_ends = self.at(ends[np.isfinite(ends)])  # a displaced component moves its ends: by the density there
        with np.errstate(over="ignore"):
            heights = float(np.exp(at_ends.log_f + at_ends.error).sum()) / self.normaliser
        moved = self._displaced * heights if self._displaced else 0.0
        return float(self._mass_errors(a, b).sum()) + moved

    def mass_errors(self, a: FloatArray, b: FloatArray, /) -> FloatArray:
        """Bound of the rounding error of each mass."""
        found: FloatArray = self._mass_errors(a, b).sum(axis=0)
        for ends in (a, b) if self._displaced else ():
            inside = np.isfinite(ends)
            at_ends = self.at(ends[inside])
            with np.errstate(over="ignore"):
                found[inside] += self._displaced * np.exp(at_ends.log_f + at_ends.error) / self.normaliser
        return found

    def masses(self, at: Points, /) -> tuple[FloatArray, FloatArray]:
        """The masses of the intervals between neighbouring points and of both tails, with error bounds."""
        found, error = self._neighbours(at.y)
        if self._displaced:
            with np.errstate(over="ignore"):
                moved = self._displaced * np.exp(at.log_f + at.error) / self.normaliser
            error[:-1] += moved
            error[1:] += moved
        return found, error

    def _neighbours(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `masses`, but for displaced components: each point is looked at once."""
        away = y - self.means
        beyond = self._survival(np.abs(away))
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = beyond * (16.0 - 8.0 * np.nan_to_num(np.log(beyond), neginf=-750.0))
        none = np.zeros((self.means.size, 1))
        before, after = np.hstack((none, beyond)), np.hstack((beyond, none))
        begins = np.hstack((none > 0, away >= 0))  # right of the mean
        ends = np.hstack((away <= 0, none > 0))  # left of it
        inside = np.where(ends, after - before, 1.0 - before - after)
        found = self.weights * np.where(begins, before - after, inside)
        straddles = 4.0 * (np.hstack((none == 0, away < 0)) & np.hstack((away > 0, none == 0)))
        each = self.weights * (np.hstack((none, lost)) + np.hstack((lost, none)) + straddles)
        return found.sum(axis=0), UNIT_ROUNDOFF * each.sum(axis=0) + _UNDERFLOW

    def _mass_errors(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Rounding errors by component and interval, without those of displaced components."""
        lower, upper = a - self.means, b - self.means
        tails = np.stack([self._survival(np.abs(lower)), self._survival(np.abs(upper))])
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = 16.0 - 8.0 * np.nan_to_num(np.log(tails), neginf=-750.0)
        straddles = 4.0 * ((lower < 0) & (upper > 0))
        each: FloatArray = UNIT_ROUNDOFF * ((relative * tails).sum(axis=0) + straddles)
        return self.weights * each

    def _survival(self, z: FloatArray) -> FloatArray:
        finite = np.where(np.isinf(z), 0.0, z)
        return np.where(np.isinf(z), 0.0, survival(finite, self.stds, scale=self.scale))


def wedge(at_left: FloatArray, at_right: FloatArray, least: FloatArray, most: FloatArray, h: FloatArray) -> FloatArray:
    """Upper bound on a cell of width h of a function with these end values and a slope between `least` and `most`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.minimum(np.fmax((at_right - at_left - least * h) / (most - least), 0.0), h)  # fmax: 0 for 0/0
        peak = np.minimum(at_left + most * t, at_right - least * (h - t))
    return np.maximum(np.maximum(at_left, at_right), peak)


def parabola(at_left: FloatArray, at_right: FloatArray, bend: FloatArray, h: FloatArray) -> FloatArray:
    """Upper bound on a cell of width h of a function with these end values and a second derivative >= -bend."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rise, arch = np.abs(at_right - at_left), np.where(bend > 0, 0.5 * bend * h**2, 0.0)
        above = np.where(rise < arch, 0.25 * (arch - rise) ** 2 / arch, 0.0)
    return np.maximum(at_left, at_right) + above


_ENTRIES = 1 << 18
"""Entries of the largest temporary array, unless one window holds more: such arrays stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ragged:
    """Positions in windows, one window after the other."""

    atoms: IndexArray
    """Numbers of the positions, shape (entries,)."""
    rows: IndexArray
    """The window of each entry, shape (entries,)."""
    starts: IndexArray
    """Start of each window among the entries, shape (windows,)."""
    sizes: IndexArray
    """How many positions each window holds, at least 1."""


def ragged(positions: FloatArray, low: FloatArray, high: FloatArray, /) -> Iterator[tuple[slice | IndexArray, Ragged]]:
    """Windows from `low` to `high` in parts, and for each part the ascending positions inside; one without is left out.

    Examples
    --------
    >>> import numpy as np
    >>> (windows, found), = ragged(np.array([0.0, 1.0, 5.0]), np.array([-1.0, 2.0, 0.5]), np.array([1.0, 3.0, 9.0]))
    >>> windows.tolist(), found.atoms.tolist(), found.rows.tolist()
    ([0, 2], [0, 1, 1, 2], [0, 0, 1, 1])
    """
    first = np.searchsorted(positions, low)
    sizes = np.searchsorted(positions, high, side="right") - first
    held = np.flatnonzero(sizes > 0)
    part = np.cumsum(sizes[held]) // _ENTRIES
    for windows in np.split(held, np.flatnonzero(np.diff(part)) + 1) if held.size else ():
        lengths = sizes[windows]
        starts = np.cumsum(lengths) - lengths
        rows = np.repeat(np.arange(windows.size), lengths)
        atoms = np.arange(rows.size) + np.repeat(first[windows] - starts, lengths)
        yield windows, Ragged(atoms=atoms, rows=rows, starts=starts, sizes=lengths)


_MARKS = 160
_CHUNK = 256
MANY_ATOMS = 4096
"""With more, each point and each interval has the atoms near it alone."""
_MOST_TERMS = 1 << 18
"""The most atoms times points; with more, an interval uses only the atoms near it."""
_NEGLIGIBLE_SHARE = 46.0
"""Atoms whose shares of a density are together below e to minus this are left out: less than rounding."""
_FAR, _BEYOND = 9.5, 1.1e-21
"""The mass of a Gaussian beyond so many standard deviations."""
_LEAST_TAIL = 1e-300

_Found: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


class SharedWidthCurve(Curve):
    r"""Log-density of atoms plus Gaussian noise of one scale theta.

    With the posterior mean m(y) = E[X | Y = y] the slope is :math:`(\log f)' = (m(y) - y) / \theta^2`, and m never
    falls, since :math:`m' = \mathrm{Var}[X | Y = y] / \theta^2`. So on a cell [l, r] the slope is between
    (m(l) - r) / theta^2 and (m(r) - l) / theta^2: one pass over the atoms per point, none per cell.

    - `weights`, `means`: array, shape (atoms,).
    - `std`: theta.
    - `centre`: Subtracted from every atom.
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
        log_f, error, mean = (np.empty_like(y) for _ in range(3))
        parts = self._all_atoms if self.means.size <= MANY_ATOMS else self._near_atoms
        for points, found in parts(y):
            log_f[points], error[points], mean[points] = found
        slack = (2.0 * error + self._displaced / self._std) * self._span + self._displaced
        error += 16.0 * UNIT_ROUNDOFF * np.abs(log_f)
        slope = self._std**-2
        log_f -= np.log(self._std)
        error += self._displaced * slope * (np.abs(mean - y) + slack)
        return Points(
            y=y,
            log_f=log_f,
            error=error,
            terms=log_f[None],
            steepest=(mean + slack)[None],
            flattest=(mean - slack)[None],
            log_sharpness=log_f[None],
        )

    def _all_atoms(self, y: FloatArray) -> Iterator[tuple[slice | IndexArray, _Found]]:
        """Log-density, the rounding error of what it is the logarithm of, and posterior mean, from all atoms."""
        for start in range(0, y.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            terms = self._log_weights - 0.5 * np.square((y[part] - self.means) / self._std)
            largest = terms.max(axis=0)
            shares = np.exp(terms - largest)
            total = shares.sum(axis=0)
            shares /= total
            lost = 64.0 + terms.shape[0] + 16.0 * np.einsum("ij,ij->j", shares, np.abs(terms))
            yield part, (largest + np.log(total), UNIT_ROUNDOFF * lost, np.einsum("ij,ik->j", shares, self.means))

    def _near_atoms(self, y: FloatArray) -> Iterator[tuple[slice | IndexArray, _Found]]:
        """The same from all atoms but those that have next to no share of the density at the point.

        An atom at the distance d has the weighted density w exp(-d^2 / 2 theta^2), so that all beyond
        theta (d^2 / theta^2 - 2 log w + 2 x)^.5 have less than e^-x of it together.
        """
        means, log_weights = self.means[:, 0], self._log_weights[:, 0]
        after = np.clip(np.searchsorted(means, y), 1, means.size - 1)
        squares = np.minimum(
            *(np.square((y - means[atom]) / self._std) - 2.0 * log_weights[atom] for atom in (after - 1, after))
        )
        radius = self._std * np.sqrt(squares + 2.0 * _NEGLIGIBLE_SHARE) * (1.0 + 1e-12)
        for points, near in ragged(means, y - radius, y + radius):
            places = means[near.atoms]
            terms = log_weights[near.atoms] - 0.5 * np.square((y[points][near.rows] - places) / self._std)
            largest = np.maximum.reduceat(terms, near.starts)
            shares = np.exp(terms - largest[near.rows])
            total = np.add.reduceat(shares, near.starts)
            shares /= total[near.rows]
            lost = 65.0 + near.sizes + 16.0 * np.add.reduceat(shares * np.abs(terms), near.starts)
            mean = np.add.reduceat(shares * places, near.starts)
            yield points, (largest + np.log(total), UNIT_ROUNDOFF * lost, mean)

    def mass(self, a: FloatArray, b: FloatArray, /) -> FloatArray:
        return self._masses(a, b)[0] if self.means.size > MANY_ATOMS else super().mass(a, b)

    def _mass_errors(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """As of `Curve`, and what a sum of so many terms loses."""
        if self.means.size > MANY_ATOMS:
            return self._masses(a, b)[1][None]
        lost = UNIT_ROUNDOFF * self.means.size * super().mass(a, b)
        return np.concatenate((super()._mass_errors(a, b), lost[None]))

    def _neighbours(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of `Curve`; of many atoms and points from the atoms near each interval."""
        if self.means.size * y.size > _MOST_TERMS:
            return self._masses(np.append(-np.inf, y), np.append(y, np.inf))
        found, error = super()._neighbours(y)
        return found, error + UNIT_ROUNDOFF * self.means.size * found

    def _masses(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses and bounds of their rounding errors, from the atoms that are not far from the interval."""
        means, weights = self.means[:, 0], self.weights[:, 0]
        total, error = np.zeros_like(a), np.full_like(a, _BEYOND)
        for intervals, near in ragged(means, a - _FAR * self._std, b + _FAR * self._std):
            atoms = near.atoms
            lower, upper = ((ends[intervals][near.rows] - means[atoms]) / self._std for ends in (a, b))
            beyond_a, beyond_b = ndtr(-np.abs(lower)), ndtr(-np.abs(upper))
            inside = np.where(upper <= 0, beyond_b - beyond_a, 1.0 - beyond_a - beyond_b)
            masses = weights[atoms] * np.where(lower >= 0, beyond_a - beyond_b, inside)
            lost = 4.0 * weights[atoms] * ((lower < 0) & (upper > 0))
            for tails in (beyond_a, beyond_b):
                logs = np.log(np.maximum(tails, _LEAST_TAIL))
                lost += weights[atoms] * tails * (16.0 - 8.0 * logs)
            total[intervals] = np.add.reduceat(masses, near.starts)
            error[intervals] += UNIT_ROUNDOFF * (np.add.reduceat(lost, near.starts) + near.sizes * total[intervals])
        return total, error

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
