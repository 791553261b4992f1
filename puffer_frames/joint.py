"""Joint release of several public columns by the bounded-column rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from puffer_frames.beliefs import Counts
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.noise.family import LAPLACE, Family
from puffer_frames.pairs import Pairs
from puffer_frames.priors import Prior, Secret
from puffer_frames.rounding import subtract_up, up
from puffer_frames.selection import Selection, confirmed, measure, require_noise
from puffer_frames.theorems.bounded import bounded_scales
from puffer_frames.theorems.catalogue import BOUNDED

Domain = Mapping[str, tuple[float, float]]


def select_bounded(
    counts: Mapping[str, Mapping[Secret, Counts]],
    /,
    *,
    domain: Domain,
    radius: Mapping[str, float],
    epsilon: float,
    delta: float,
    pairs: Pairs,
    allow_zero_noise: bool,
    family: Family = LAPLACE,
) -> dict[str, Selection]:
    """Scales for every column, each confirmed by the engine for its share of epsilon.

    Parameters
    ----------
    counts : mapping of column to mapping of secret to (values, counts)
        Of the secrets that the pairs name.
    domain : mapping of column to (low, high)
        Public bounds; a column without them has its observed range.
    radius : mapping of column to float
        How far a value may be from the one it was counted as.
    epsilon, delta : float
        Split evenly over the columns: given the coupling the noises compose as in differential privacy.
    pairs : "all" or tuple of pairs
    allow_zero_noise : bool

    Raises
    ------
    CalibrationError
        Where every column is constant, unless `allow_zero_noise`.
    """
    ranges = {name: _range(groups, domain.get(name), radius=radius[name]) for name, groups in counts.items()}
    share, share_of_delta = math.nextafter(epsilon / len(counts), 0.0), delta / len(counts)
    if family == LAPLACE:
        published = bounded_scales(ranges, epsilon=epsilon)
    else:
        unit = Fraction(family.unit(epsilon=share, delta=share_of_delta))
        published = {name: up(Fraction(width) * unit) for name, width in ranges.items()}
    require_noise(
        max(published.values()), ["empirical"], epsilon=epsilon, delta=delta, allow_zero_noise=allow_zero_noise
    )
    request = family.request(epsilon=share, delta=share_of_delta)
    return {
        name: _select(
            {secret: Prior.empirical(*pair, radius=radius[name]) for secret, pair in groups.items()},
            published[name],
            least=family.for_distance(ranges[name], epsilon=share, delta=share_of_delta),
            request=request,
            pairs=pairs,
            named="domain" if name in domain else "",
            family=family,
        )
        for name, groups in counts.items()
    }


def check_joint(*, theorem: str, components: int | None, beliefs: object) -> None:
    """Raise ArgumentError for what only a single public column has."""
    if theorem not in ("auto", "bounded") or components is not None:
        raise ArgumentError(
            "theorem",
            rule='"auto" or "bounded" for several public columns',
            got=repr(theorem),
            hint="Leave it out, or release one column.",
        )
    words = [beliefs] if isinstance(beliefs, str) or not isinstance(beliefs, (tuple, list)) else list(beliefs)
    if not words or any(word not in ("fitted", "empirical") for word in words):
        raise ArgumentError(
            "beliefs",
            rule="left out for several public columns",
            got="others",
            hint="The bounded-column rule holds for every prior within the domain: give domain={column: (low, high)}.",
        )


def _range(groups: Mapping[Secret, Counts], bounds: tuple[float, float] | None, *, radius: float) -> float:
    if bounds:
        return subtract_up(bounds[1], bounds[0])
    low = min(float(values.min()) for values, _ in groups.values())
    high = max(float(values.max()) for values, _ in groups.values())
    return up(Fraction(high) - Fraction(low) + 2 * Fraction(radius))


def _select(
    priors: Mapping[Secret, Prior],
    published: float,
    *,
    least: float,
    request: tuple[float, float],
    pairs: Pairs,
    named: str,
    family: Family,
) -> Selection:
    epsilon, delta = request
    engine = privacy_loss(priors, pairs=pairs, family=family)
    scale = confirmed(engine, max(published, least), epsilon=epsilon, delta=delta)
    verification, worst_pair, _ = measure(engine, scale, epsilon=epsilon)
    belief = "any prior on the domain" if named else "empirical"
    return Selection(
        theorem=BOUNDED,
        priors=priors,
        beliefs={belief: priors},
        published_scale=published,
        published_loss=measure(engine, published, epsilon=epsilon)[0],
        scale=scale,
        scale_per_belief={belief: scale},
        none_needed=scale == 0,
        binding_belief=belief,
        worst_pair=worst_pair,
        verified={belief: verification},
        adds_up=True,
    )
