"""Smallest private scale: bracketing and root-finding that end on the private side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import scipy

from puffer_frames.errors import ArgumentError, CalibrationError, short_traceback
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.loss.renyi import RenyiLoss
from puffer_frames.noise.families import NoiseArgument, noise_family
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.pairs import Pair, pairs_of
from puffer_frames.priors.prior import Prior, Secret

RELATIVE_TOLERANCE = 1e-8
"""The scale returned is at most this fraction above one that the engine does not confirm, but for rounding among all
pairs (`_ROUNDING`)."""

_FINEST = 1e-3
"""Below this fraction of the distance of two atoms, noise leaves the loss as it is without noise."""
_MOST_DEEPER = 50.0
"""There the density at an atom still grows as the scale falls: a search goes on until it is e to the epsilon times as
large, for an epsilon of at most this."""

_SMALLEST = 1e-300
_RAISES = 8
_FACTOR = math.log(4.0)
"""The longest step of the log of a scale, until steps grow."""
_LEAST_STEP = 1e-4
_STEEP = 8.0
"""About so fast, at least, falls the log of a delta where the scale is near the one asked for."""
_MOST_UP = 60.0 * _FACTOR
_LARGEST_LOG = 700.0
"""No scale is larger than e to this."""
_FAR = 1e6
"""Stands for the log of a ratio that is 0 or infinite."""
_NEAR = 8.0
"""Logs of ratios beyond it are as good as this one: Brent's method would stay at the end whose loss is near."""
_CLOSE = 16.0
"""A loss of at most this many times the target says that the scale wanted is near."""
_ROUNDING = 1e-6
"""A loss that is larger by no more than this share may be so by rounding."""


@short_traceback
def smallest_scale(
    priors: Mapping[Secret, Prior],
    /,
    *,
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
    noise: NoiseArgument = "laplace",
    order: float | None = None,
) -> float:
    r"""Smallest scale of the noise that makes every pair of secrets (epsilon, delta)-indistinguishable.

    .. math:: \min \{ b \ge 0 : \delta^*(\varepsilon, b) \le \delta \text{ for every pair, both orders} \}

    and :math:`\varepsilon^*(b) \le \varepsilon` in its place where delta is 0.

    Parameters
    ----------
    priors : mapping of secret to Prior
        At least two secrets.
    epsilon : float
        Greater than 0.
    delta : float
        From 0 (pure) to less than 1.
    pairs : "all" or iterable of pairs of secrets
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
        Gaussian noise needs a delta, stable noise has none. With stable noise the smallest scale is found for discrete
        priors; others are held to the loss of a shift by their W-infinity distance.
    order : float, optional
        Rényi privacy, of Laplace noise without a delta: the divergence of this order (`renyi_divergence`) is at most
        epsilon for every pair, both orders.

    Returns
    -------
    float
        Laplace scale b, Gaussian scale (standard deviation) or stable scale gamma, in units of the column; 0 where the
        raw column is already private.

    Raises
    ------
    ArgumentError
        For an epsilon, delta, secret, noise or order out of range.
    CalibrationError
        Where no finite scale is confirmed, and for more pairs than can be compared one by one.

    Notes
    -----
    **Guarantee**: the loss engine's upper bound holds at the returned scale, for one release. **Rounding**: the scale
    is the upper end of a bracket of relative width 1e-8; of 1e-5 where rounding makes all pairs together look a little
    less private than each alone. **Cost**: 10 to 40 evaluations of the engine for one pair and a few for all.

    References
    ----------
    docs/theory.md, section 3, "Monotone": noise of a larger scale is post-processing of that of a smaller one.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> b = smallest_scale({"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}, epsilon=1.0)
    >>> round(b, 6)
    0.690757
    """
    target, family = Target.of(epsilon, delta), noise_family(noise)
    family.check(target)
    loss: Loss = privacy_loss(priors, pairs=pairs_of(priors, pairs), noise=family)
    if order is not None:
        if family != Laplace() or target.delta:
            raise ArgumentError(
                "order",
                rule="given with Laplace noise and without a delta",
                got=f"{family.title} noise and delta {target.delta:g}",
                hint="renyi_epsilon gives the epsilon that follows for a delta.",
            )
        loss = RenyiLoss(loss, order)
    return smallest_scale_of(loss, target)


_EVEN_STEPS = 12
"""After so many steps down by a factor of 4 they grow: values of very different sizes."""


def is_private(loss: Loss, scale: float, target: Target, /) -> bool:
    """True where the engine confirms (epsilon, delta)-privacy of every pair at this scale."""
    return loss_of(loss, scale, target).bracket.upper <= target.most


def smallest_scale_of(loss: Loss, target: Target, /, *, near: float = 0.0) -> float:
    """`smallest_scale` for a prepared engine; a scale that it may be `near` saves time where that is so."""
    return smallest_of(loss, target, near=near)[0]


def smallest_of(loss: Loss, target: Target, /, *, near: float = 0.0) -> tuple[float, WorstCase]:
    """The same, and the loss there (`loss_of`).

    The scale of all pairs is that of the pair that binds. So one pair is searched alone; while another one still
    has too large a loss at the scale found, that one is searched next. Each round raises the scale. Where rounding
    makes a pair look a little less private among the others than alone, the scale is raised by that share.
    """
    worst = loss_of(loss, 0.0, target)
    if worst.bracket.upper <= target.most:
        return 0.0, worst
    first, start = _first_pair(loss, target, worst, near=near)
    scale, searched, raised = _search(loss.only(first), target, start=start), {first}, 0
    while (worst := loss_of(loss, scale, target)).bracket.upper > target.most:
        by_rounding = worst.bracket.upper <= target.most * (1 + _ROUNDING) and raised < _RAISES
        if worst.pair in searched and scale and by_rounding:
            excess = worst.bracket.upper / target.most - 1
            scale, raised = scale * (1 + RELATIVE_TOLERANCE / 2 + excess), raised + 1
        else:
            alone = worst.pair not in searched
            searched.add(worst.pair)
            those = loss.only(worst.pair) if alone else loss
            start = scale if worst.bracket.upper <= _CLOSE * target.most else 0.0
            scale = max(scale, _search(those, target, start=start))
    return scale, worst


def smallest_of_each(
    losses: Mapping[str, Loss], target: Target, /, *, near: float
) -> dict[str, tuple[float, WorstCase]]:
    """`smallest_of` for each belief; each search starts at the previous belief's scale."""
    found = dict[str, tuple[float, WorstCase]]()
    for name, loss in losses.items():
        found[name] = smallest_of(loss, target, near=near)
        near = found[name][0]
    return found


def _first_pair(loss: Loss, target: Target, raw: WorstCase, *, near: float) -> tuple[Pair, float]:
    """The pair that is searched first, and a scale near its own, or 0 for none.

    It is that with the largest loss without noise, which may be infinite for all; where it is, that with the largest
    loss at a scale near the one that is wanted. A pure loss falls about as fast as the scale grows.
    """
    if not near and (target.delta or raw.bracket.upper < math.inf):
        return raw.pair, 0.0
    start = near or loss.span / target.epsilon
    worst = loss_of(loss, start, target)
    upper = worst.bracket.upper
    if not target.delta and 0 < upper < 0.5 * target.most:
        start *= upper / target.most
        worst = loss_of(loss, start, target)
    return worst.pair, start


def loss_of(loss: Loss, scale: float, target: Target, /) -> WorstCase:
    """The pure loss where delta is 0, else the hockey stick."""
    return loss.hockey_stick(scale, epsilon=target.epsilon) if target.delta else loss.pure(scale)


def scale_between(loss: Loss, target: Target, low: float, high: float, /) -> float:
    """The smallest confirmed scale above one that is not, up to one that is."""
    return min(high, math.exp(_tighten(_beyond(loss, target), math.log(low), math.log(high))))


def _beyond(loss: Loss, target: Target) -> Callable[[float], float]:
    """Log of the loss relative to the one asked for, nearly a straight line; its sign is that of the difference."""
    most = target.most

    @cache
    def beyond(log_scale: float) -> float:
        upper = loss_of(loss, math.exp(log_scale), target).bracket.upper
        relative = abs(math.log(upper) - math.log(most)) if 0 < upper < math.inf else _FAR
        return math.copysign(max(relative, _SMALLEST), upper - most) if upper != most else 0.0

    return beyond


def _search(loss: Loss, target: Target, *, start: float) -> float:
    """Smallest confirmed scale; 0 where the engine confirms that no noise is needed. It begins at `start`, or for 0
    where the distances of the values are hidden.
    """
    first = start or loss.span / target.epsilon
    beyond, log_start = _beyond(loss, target), min(math.log(max(first, _SMALLEST)), _LARGEST_LOG)
    if beyond(log_start) <= 0 and is_private(loss, 0.0, target):
        return 0.0
    low, high = _bracket(
        beyond,
        start=log_start,
        floor=math.log(max(loss.resolution * _FINEST * math.exp(-min(target.epsilon, _MOST_DEEPER)), _SMALLEST)),
        slope=_STEEP if target.delta else 1.0,
    )
    return math.exp(_tighten(beyond, low, high))


def _bracket(beyond: Callable[[float], float], *, start: float, floor: float, slope: float) -> tuple[float, float]:
    """Logarithms of a scale that is not confirmed and of one that is, at most a factor of some 4 apart.

    A step is as long as the last two values ask for, at least twice the one before, and at most a factor of 4; how fast
    the log of the loss falls is guessed first.
    """
    if beyond(start) > 0:
        low, stride = start, _LEAST_STEP
        while True:
            stride = _stride(beyond(low), slope, stride)
            high = low + stride
            if high > start + _MOST_UP or high > _LARGEST_LOG:
                raise _never_private(beyond(low))
            if beyond(high) <= 0:
                return low, high
            slope, low = (beyond(low) - beyond(high)) / stride, high
    high, stride, steps = start, _LEAST_STEP, 0
    while high > floor:
        stride = _stride(-beyond(high), slope, stride)
        steps += stride == _FACTOR
        far = stride if steps <= _EVEN_STEPS else _FACTOR * 2.0 ** (steps - _EVEN_STEPS)
        low = max(high - far, floor)
        if beyond(low) > 0:
            break
        slope, high = (beyond(low) - beyond(high)) / (high - low), low
    else:
        return high, high
    while high - low > 1.5 * _FACTOR:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if beyond(middle) <= 0 else (middle, high)
    return low, high


def _stride(beyond: float, slope: float, before: float) -> float:
    """Length of the next step, from how far the last one is from the loss asked for."""
    wanted = 1.05 * beyond / slope if slope > 0 else _FACTOR
    return min(max(wanted, 2 * before, _LEAST_STEP), _FACTOR)


def _never_private(beyond: float) -> CalibrationError:
    got = "a loss that stays above epsilon at every scale tried"
    hint = "Ask for a larger epsilon, or for fewer decimal places in delta."
    if beyond == _FAR:
        got = "a loss that is infinite, or has no bound, at every scale"
        hint = "Take Laplace noise, or priors of observed frequencies."
    return CalibrationError("the request", rule="satisfiable by a finite scale", got=got, hint=hint)


def _tighten(beyond: Callable[[float], float], low: float, high: float) -> float:
    """Logarithm of a confirmed scale within the tolerance of one that is not.

    Brent's method finds the root fast but may end on either side; probes around it then move the ends, and
    bisection finishes where they do not suffice.
    """
    tolerance = RELATIVE_TOLERANCE / 2
    if beyond(low) > 0:

        def near(log_scale: float) -> float:
            return min(max(beyond(log_scale), -_NEAR), _NEAR)

        root = float(scipy.optimize.brentq(near, low, high, xtol=tolerance / 4, rtol=1e-14, maxiter=60, disp=False))
        for probe in (root + tolerance / 2, root - tolerance / 2):
            if low < probe < high:
                low, high = (low, probe) if beyond(probe) <= 0 else (probe, high)
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if beyond(middle) <= 0 else (middle, high)
    return high
