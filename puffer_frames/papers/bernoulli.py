"""Binary columns: the published scale and the exact one in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from puffer_frames.errors import PriorError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.numbers.rounding import as_decimal, divide_up, subtract_up, up
from puffer_frames.priors.pairs import pairs_of
from puffer_frames.priors.prior import Prior, Secret


@short_traceback
def bernoulli_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale for a column of two values a < b.

    .. math:: \theta = (b - a) / \varepsilon

    Parameters
    ----------
    priors : mapping of secret to Prior
        Atoms at one or both of two values, the same two for all.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale, in units of the column.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For priors with other than two values in all.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy whatever the two probabilities are; the epsilons of several
    releases add. **Rounding**: up.

    References
    ----------
    [DLYZ] Lemma 5.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> bernoulli_scale({"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}, epsilon=0.1)
    10.0
    """
    epsilon = check_epsilon(epsilon)
    pairs_of(priors, pairs)
    low, high = _two_values(priors)
    return check_found(divide_up(subtract_up(high, low), epsilon))


@short_traceback
def bernoulli_exact_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Smallest private Laplace scale for a column of two values a < b, in closed form.

    For P(b) = p and q with p < q, :math:`\theta = (b - a) / \log t` with the smaller of

    .. math:: t = \frac{e^\varepsilon (1 - p) - (1 - q)}{q - e^\varepsilon p} \; (q > e^\varepsilon p), \qquad
              t = \frac{e^\varepsilon q - p}{(1 - p) - e^\varepsilon (1 - q)} \; (1 - p > e^\varepsilon (1 - q))

    and 0 where neither case applies: no noise is needed. The worst of all pairs is that of the extreme
    probabilities, since f_i/f_j at either value is monotone in p and in q.

    Parameters
    ----------
    priors : mapping of secret to Prior
        Atoms at one or both of two values, the same two for all.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale, in units of the column; 0 where no noise is needed.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For priors with other than two values in all.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy, for a single release. **Rounding**: computed with 50 digits,
    rounded up.

    References
    ----------
    docs/theory.md, section 7, "Exact, closed form".

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> priors = {"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}
    >>> round(bernoulli_exact_scale(priors, epsilon=1.0), 4)
    0.6908
    """
    epsilon = check_epsilon(epsilon)
    checked = pairs_of(priors, pairs)
    low, high = _two_values(priors)
    p = {s: Fraction(int(prior.levels[0][prior.means == high].sum()), prior.levels[1]) for s, prior in priors.items()}
    compared = [(min(p.values()), max(p.values()))] if checked == "all" else [(p[a], p[b]) for a, b in checked]
    width = subtract_up(high, low)
    return max(_closed_form(min(pair), max(pair), epsilon=epsilon, width=width) for pair in compared)


def _closed_form(p: Fraction, q: Fraction, *, epsilon: float, width: float) -> float:
    with localcontext(prec=50):
        e = Decimal(epsilon).exp()
        low, high = as_decimal(p), as_decimal(q)
        candidates = []
        if high > e * low:
            candidates.append((e * (1 - low) - (1 - high)) / (high - e * low))
        if 1 - low > e * (1 - high):
            candidates.append((e * high - low) / ((1 - low) - e * (1 - high)))
        return up(Decimal(width) / min(candidates).ln()) if candidates else 0.0


def _two_values(priors: Mapping[Secret, Prior]) -> tuple[float, float]:
    discrete = all(prior.is_discrete for prior in priors.values())
    values = np.unique(np.concatenate([prior.means for prior in priors.values()]))
    if not discrete or values.size != 2:
        raise PriorError(
            "the priors of the bernoulli theorem",
            rule="on two values in all",
            got=f"{values.size} values" if discrete else "a Gaussian component",
            hint='Use Noise(theorem="kantorovich"), or "auto".',
        )
    return float(values[0]), float(values[1])
