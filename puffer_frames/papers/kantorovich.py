"""The Kantorovich mechanism: noise calibrated to the W-infinity distance between priors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from puffer_frames.errors import short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.numbers.rounding import divide_up
from puffer_frames.priors.pairs import pairs_of
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.transport import w_infinity, w_infinity_diameter


@short_traceback
def kantorovich_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale of the Kantorovich (Wasserstein) mechanism.

    .. math:: b = \max_{(i, j)} W_\infty(P_i, P_j) / \varepsilon

    Parameters
    ----------
    priors : mapping of secret to Prior
        Discrete priors.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, in units of the column.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For a prior with a Gaussian component.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of every pair, hence (epsilon, delta) for every delta. It rests on
    an almost-sure coupling, so the epsilons of several releases add. **Rounding**: up. **Cost**: one sort for all
    pairs together; for listed pairs, one merge each.

    References
    ----------
    [SWC17] section 3; [D22]; [DLYZ] Prop. 2.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> kantorovich_scale({"a": Prior.empirical([1, 2]), "b": Prior.empirical([2, 4])}, epsilon=0.5)
    4.0
    """
    epsilon = check_epsilon(epsilon)
    checked = pairs_of(priors, pairs)
    if checked == "all":
        return check_found(divide_up(w_infinity_diameter(list(priors.values())), epsilon))
    return check_found(divide_up(max(w_infinity(priors[a], priors[b]) for a, b in checked), epsilon))
