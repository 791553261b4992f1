"""Sums over independent users: the published conditions of [DLYZ] and of [D24] section III-B."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError, PriorError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found, check_number, check_probability
from puffer_frames.numbers.presentation import upper_text
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, as_decimal, divide_up, root_from_below, subtract_up, up
from puffer_frames.papers.gaussian import tau_star
from puffer_frames.priors.pairs import check_priors_of
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.priors.unit_laws import UnitLaws

_ROUND_UP = 1 + 32 * UNIT_ROUNDOFF
_TOLERANCE = 1e-12
_LARGEST_LOG = 708.0


@short_traceback
def value_scale(pairs: Iterable[Sequence[float | None]], /, *, epsilon: float) -> float:
    r"""Laplace scale that hides which of two values a user reports, or whether one is reported at all.

    .. math:: \theta = \max |a - b| / \varepsilon, \qquad \theta = \max |a| / \varepsilon \text{ against absence}

    Parameters
    ----------
    pairs : iterable of (a, b)
        In units of the value; None for an absent user, which adds 0.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ArgumentError
        For an epsilon out of range, or no pair.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy, whatever the others report. The epsilons of several releases add.

    References
    ----------
    [DLYZ] Theorems 1 and 2.

    Examples
    --------
    >>> value_scale([(5, 3)], epsilon=0.5), value_scale([(5, None)], epsilon=0.5)
    (4.0, 10.0)
    """
    epsilon = check_epsilon(epsilon)
    try:
        listed = [tuple(pair) for pair in pairs]
    except TypeError:
        listed = [()]
    if not listed or any(len(pair) != 2 for pair in listed):
        got = "something else" if listed else "none"
        raise ArgumentError("pairs", rule="at least one pair of values", got=got, hint="Write [(0, 5)].")
    values = [[0.0 if value is None else check_number(value, "a value") for value in pair] for pair in listed]
    if not all(map(math.isfinite, itertools.chain(*values))):
        raise ArgumentError("a value", rule="finite", got="a NaN or an infinity", hint="Leave that pair out.")
    return check_found(divide_up(check_found(max(subtract_up(max(pair), min(pair)) for pair in values)), epsilon))


@short_traceback
def sum_of_users(laws: Iterable[Prior], /) -> Prior:
    r"""The law of a sum of what independent users report, exactly.

    Parameters
    ----------
    laws : iterable of Prior
        Discrete. Of a user who is absent, `Prior.empirical([0])`.

    Returns
    -------
    Prior

    Raises
    ------
    PriorError
        For no law, and one with a Gaussian component or a radius.

    Notes
    -----
    `transport_plan` of the sums with and without a user is the plan of the figures of [DLYZ]; `w_infinity` its largest
    distance. **Cost**: the number of different sums times that of the values of a user.

    References
    ----------
    [DLYZ] (7) to (9), Figures 1, 2, 3, 6 and 7.

    Examples
    --------
    >>> from puffer_frames.core import Prior, w_infinity
    >>> coin, die = Prior.bernoulli(0.5), Prior.empirical([1, 2, 3, 4, 5, 6])
    >>> w_infinity(sum_of_users([coin, die]), sum_of_users([Prior.empirical([0]), die]))
    1.0
    """
    checked = _exact(dict(enumerate(laws)))
    if not all(law.is_discrete for law in checked.values()):
        raise PriorError(
            "the laws of a sum", rule="discrete (atoms only)", got="a Gaussian component", hint="Add their moments."
        )
    total = {0.0: 1}
    for law in checked.values():
        known, total = total, {}
        for (x, mass), (y, level) in itertools.product(
            known.items(), zip(law.means.tolist(), map(int, law.levels[0]), strict=True)
        ):
            total[x + y] = total.get(x + y, 0) + mass * level
    values = sorted(total)
    return Prior.of_levels(np.array(values), np.array([total[value] for value in values], dtype=object))


@short_traceback
def presence_scale(laws: Mapping[Secret, Prior] | UnitLaws, /, *, epsilon: float) -> float:
    r"""Published Laplace scale that hides whether a user is present, for every user.

    .. math:: \max_k \theta_k, \qquad E e^{|D_k| / \theta_k} = e^\varepsilon

    Parameters
    ----------
    laws : mapping of user to Prior
        Of what a present user adds.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up; 0 where nobody adds anything but 0.

    Raises
    ------
    ArgumentError
        For an epsilon out of range.
    PriorError
        For a law with a radius.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of "present with this law" against "absent", both orders, whatever
    the probabilities of presence and the laws of the others are. It does not add up over several releases
    (docs/theory.md, section 9). For contributions of one sign it is the exact scale. **Cost**: Brent's method for the
    users that can bind, and some evaluations for all.

    References
    ----------
    [DLYZ] Theorem 3 (13); (15) for binary contributions.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> round(presence_scale({4: Prior.empirical([1, 2, 4, 5], [4, 1, 1, 4])}, epsilon=0.5), 6)
    6.515437
    """
    epsilon = check_epsilon(epsilon)
    laws = laws if isinstance(laws, UnitLaws) else UnitLaws.of_priors(_exact(laws))
    sizes = np.diff(laws.starts)
    largest = np.maximum.reduceat(np.abs(laws.means) + 40 * laws.stds, laws.starts[:-1])
    if not largest.any():
        return 0.0
    slack = UNIT_ROUNDOFF * float(sizes.max() + 64) * (1 + epsilon)
    if epsilon <= 2 * slack:
        rule = f"greater than {upper_text(2 * slack)}, the rounding of the moments"
        raise ArgumentError("epsilon", rule=rule, got=f"{epsilon:g}", hint="Values from 0.1 to 2 are usual.")
    log_t = math.inf
    worst = int(np.argmax(laws.copies * largest))
    while True:
        alone = laws.only(worst)
        log_t = min(log_t, _root(alone, float(largest[worst]), epsilon=epsilon - slack))
        found = _log_moments(laws, log_t)
        worst = int(np.argmax(found))
        if found[worst] <= epsilon - slack / 2:
            return check_found(math.exp(-log_t) * _ROUND_UP if -log_t < _LARGEST_LOG else math.inf)


def _exact(laws: Mapping[Secret, Prior]) -> Mapping[Secret, Prior]:
    """The laws, whose values must be known exactly."""
    check_priors_of(laws, "users")
    if not laws:
        raise PriorError("the laws of users", rule="of at least one user", got="none", hint="Add one.")
    if any(law.radius for law in laws.values()):
        raise PriorError(
            "the laws of users",
            rule="of exact values (radius 0)",
            got="a Prior with a radius",
            hint="Leave radius out of Prior.empirical.",
        )
    return laws


def _log_moments(laws: UnitLaws, log_t: float) -> FloatArray:
    """Copies * log E e^{t|D|} of each unit; infinite where it is beyond the range of floats."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: FloatArray = laws.copies * laws.log_absolute_moment(math.exp(log_t))
    return np.where(np.isnan(found), np.inf, found)


def _root(alone: UnitLaws, largest: float, *, epsilon: float) -> float:
    """Log of 1/theta with copies * log E e^{|D|/theta} at most epsilon and next to it."""

    def beyond(log_t: float) -> float:
        return float(_log_moments(alone, log_t)[0]) - epsilon

    low = min(_LARGEST_LOG, math.log(epsilon) - math.log(largest) - math.log(float(alone.copies[0])))
    while beyond(low) > 0:
        low -= 1.0
    high = low + 1.0
    while beyond(high) < 0:
        low, high = high, high + 1.0
        if high > _LARGEST_LOG:
            raise CalibrationError(
                "the scale of the noise",
                rule="in the range of floats",
                got="a smaller one",
                hint="Multiply the values by a constant first.",
            )
    return root_from_below(beyond, low, high, tolerance=_TOLERANCE)


@short_traceback
def presence_bound_scale(laws: Mapping[Secret, Prior], /, *, epsilon: float) -> float:
    r"""Laplace scale that hides whether a user is present, from the largest contribution alone.

    .. math:: \theta = \max_k \max |D_k| / \varepsilon

    Parameters
    ----------
    laws : mapping of user to Prior
        Discrete.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ArgumentError
        For an epsilon out of range.
    PriorError
        For a law with a Gaussian component, or a radius.

    Notes
    -----
    **Guarantee**: as `presence_scale`, and the epsilons of several releases add.

    References
    ----------
    [DLYZ] (14).

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> presence_bound_scale({4: Prior.empirical([1, 5])}, epsilon=0.5)
    10.0
    """
    epsilon = check_epsilon(epsilon)
    largest = float(UnitLaws.of_priors(_exact(laws)).largest().max())
    if math.isinf(largest):
        raise PriorError(
            "the laws of a largest contribution",
            rule="discrete (atoms only)",
            got="a Gaussian component",
            hint="Use presence_scale.",
        )
    return divide_up(largest, epsilon)


@short_traceback
def gaussian_presence_scale(laws: Mapping[Secret, Prior], /, *, epsilon: float, delta: float) -> float:
    r"""Published Laplace scale that hides whether a user is present in a sum of Gaussian contributions.

    .. math:: \max_k (|\mu_k| + \Delta\sigma_k \tau^*(\delta)) / \varepsilon, \qquad
              \Delta\sigma_k = \sqrt{\textstyle\sum_i \sigma_i^2} - \sqrt{\textstyle\sum_{i \ne k} \sigma_i^2}

    which is :math:`(|\mu| + (\sqrt K - \sqrt{K - 1}) \sigma \tau^*(\delta)) / \varepsilon` for K identical users.

    Parameters
    ----------
    laws : mapping of user to Prior
        One Gaussian per user, of all users of the sum.
    epsilon : float
        Greater than 0.
    delta : float
        Greater than 0, less than 1.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ArgumentError
        For an epsilon or delta out of range.
    PriorError
        For a law of several components.

    Notes
    -----
    **Guarantee**: (epsilon, delta)-Pufferfish privacy under the belief that *all* users are present and have these
    laws: unlike the other conditions it spends the randomness of the others.

    References
    ----------
    [D24] Corollary 1(a), (7) to (11).

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> users = {k: Prior.gaussian(1, 2) for k in range(5)}
    >>> round(gaussian_presence_scale(users, epsilon=1.0, delta=0.3), 4)
    1.4893
    """
    epsilon, tau = check_epsilon(epsilon), tau_star(delta)
    if any(law.means.size > 1 for law in laws.values()):
        raise PriorError(
            "the laws of a sum of Gaussians",
            rule="one Gaussian per user",
            got="several components",
            hint="Use presence_scale.",
        )
    means = np.array([law.means[0] for law in laws.values()])
    variances = np.array([law.stds[0] for law in laws.values()]) ** 2
    total = math.fsum(variances)
    rest = np.sqrt(np.maximum(total - variances, 0.0))
    changes = variances / np.maximum(math.sqrt(total) + rest, np.finfo(float).tiny)  # sqrt(V) - sqrt(V - v)
    scale = float((np.abs(means) + tau * changes).max()) / epsilon
    return scale * (1 + (len(laws) + 64) * UNIT_ROUNDOFF)


@short_traceback
def bernoulli_presence_scale(p: float, /, *, epsilon: float) -> float:
    r"""Laplace scale that hides the presence of a user who reports 1 with probability p, else 0.

    .. math:: \theta = 1 / \log\frac{e^\varepsilon - (1 - p)}{p}

    Parameters
    ----------
    p : float
        From 0 to 1.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up; 0 for p = 0, where nothing is ever added.

    Raises
    ------
    ArgumentError
        For an epsilon or a probability out of range.

    Notes
    -----
    **Guarantee**: exact, for one release. **Rounding**: computed with 50 digits, rounded up.

    References
    ----------
    [DLYZ] (15).

    Examples
    --------
    >>> round(bernoulli_presence_scale(0.5, epsilon=1.0), 4)
    0.6712
    """
    epsilon, share = check_epsilon(epsilon), check_probability(p, "p")
    if share == 0:
        return 0.0
    with localcontext(prec=50):
        one = as_decimal(share)
        return up(1 / ((Decimal(epsilon).exp() - (1 - one)) / one).ln())


@short_traceback
def bernoulli_neighbour_scale(p: float, q: float, /, *, epsilon: float) -> float:
    r"""Laplace scale that hides which of two probabilities of reporting 1 a user has, as published and corrected.

    .. math:: \theta = 1 / \log\left(e^\varepsilon + (e^\varepsilon - 1) r\right), \qquad
              r = \frac{p}{q - p} \; (p < q), \quad r = \frac{1 - p}{p - q} \; (p > q)

    Parameters
    ----------
    p, q : float
        From 0 to 1.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up; 0 for p = q.

    Raises
    ------
    ArgumentError
        For an epsilon or a probability out of range.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy, for one release; at least the exact scale
    (`bernoulli_exact_scale`). For p > q the published r = q / (p - q) rests on a misprint (denominators Pr(f = x - 1)
    for Pr(f = x)); this is the corrected one. **Rounding**: computed with 50 digits, rounded up.

    References
    ----------
    [DLYZ] Lemma 6; docs/theory.md, section 7, "Binary reports".

    Examples
    --------
    >>> round(bernoulli_neighbour_scale(0.2, 0.9, epsilon=1.0), 4)
    0.8576
    """
    epsilon = check_epsilon(epsilon)
    first, second = check_probability(p, "p"), check_probability(q, "q")
    if first == second:
        return 0.0
    ratio = first / (second - first) if first < second else (1 - first) / (first - second)
    with localcontext(prec=50):
        e = Decimal(epsilon).exp()
        return up(1 / (e + (e - 1) * as_decimal(ratio)).ln())
