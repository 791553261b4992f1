"""The noise that hides every state of a correlated series, by mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from puffer_frames.chains import MarkovChain
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.series import SeriesRows
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.counts import count_loss
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import GAUSSIAN, LAPLACE, Family
from puffer_frames.rounding import divide_up, up
from puffer_frames.search import smallest_scale_of
from puffer_frames.selection import measure
from puffer_frames.theorems.nodes import Quilt, QuiltScale
from puffer_frames.theorems.quilt import approx_quilts, exact_quilts, largest_over

MECHANISMS = {
    "quilt": ("Markov quilt, exact influences", "[SWC17] MQMExact"),
    "quilt-approx": ("Markov quilt, influences bounded by mixing", "[SWC17] MQMApprox"),
    "exact": ("exact law of one count", "theory section 10"),
    "group": ("group privacy of a whole piece", "[SWC17] section 5"),
}
"""Name and source of each mechanism."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The noise of every count, and why."""

    scale: float
    """Scale of the noise of a count."""
    lipschitz: int
    """How much all released counts together change where one value does."""
    quilts: tuple[Quilt, ...]
    """The quilts in use; none for the exact loss of a count."""
    verified: Verification
    """What is known of the loss at the scale."""
    derived: bool
    """Whether the second of two counts is the rest of the first, at no cost."""


def plan_noise(
    chains: list[MarkovChain],
    rows: SeriesRows,
    /,
    *,
    mechanism: str,
    released: list[int],
    epsilon: float,
    delta: float,
    family: Family,
) -> Plan:
    """The scale of a mechanism, for pieces of every length and all chains.

    Raises
    ------
    ArgumentError
        For the exact mechanism with several counts, another noise or too long a series.
    """
    if mechanism == "exact":
        return _exact_plan(chains, rows, released=released, epsilon=epsilon, family=family)
    derived = len(rows.states) == 2 and len(released) == 2  # the second count is the public total less the first
    bins = 1 if derived else len(released)
    asked, asked_delta = epsilon, delta
    for _ in range(bins):  # each coordinate is put on the grid of the noise
        asked, asked_delta = family.request(epsilon=asked, delta=asked_delta)
    scales: dict[str, Callable[..., QuiltScale]] = {
        "quilt": partial(exact_quilts, epsilon=asked),
        "quilt-approx": partial(approx_quilts, epsilon=asked, rule="tight"),
    }
    lipschitz = 1 if bins == 1 else 2
    noise_of = partial(_scale, bins=bins, family=family, epsilon=asked, delta=asked_delta)
    whole = Quilt(card=max(n for _, n in rows.extents()), influence=0.0)
    quilts: tuple[Quilt, ...] = (whole,)
    if mechanism != "group":
        quilts = _over_extents(chains, rows.extents(), scales[mechanism], epsilon=asked)
        if not quilts:
            raise _nothing_to_hide()
        if noise_of(whole) <= max(map(noise_of, quilts)):  # quilts are chosen for Laplace noise
            quilts = (whole,)
    scale = max(map(noise_of, quilts))
    loss = epsilon
    if family == LAPLACE:
        loss = min(epsilon, max(quilt.influence + lipschitz * quilt.card / scale for quilt in quilts) * (1 + 2**-50))
    return Plan(
        scale=scale,
        lipschitz=lipschitz,
        quilts=quilts,
        verified=Verification(
            pure_loss=Bracket(lower=0.0, upper=math.inf if family == GAUSSIAN else loss),
            hockey_stick=Bracket(lower=0.0, upper=delta if family == GAUSSIAN else 0.0),
        ),
        derived=derived,
    )


def _scale(quilt: Quilt, *, bins: int, family: Family, epsilon: float, delta: float) -> float:
    """Scale of the noise of a count that hides card values up to what the quilt tells of them."""
    room = math.nextafter(epsilon - quilt.influence, -math.inf) if quilt.influence else epsilon
    if family == LAPLACE:
        return divide_up((2 if bins > 1 else 1) * quilt.card, room)
    if family.alpha is not None:  # several coordinates: the loss of each is that of the whole change, at 1/bins of it
        change = Fraction((2 if bins > 1 else 1) * quilt.card) / bins
        return up(change * Fraction(family.unit(epsilon=math.nextafter(room / bins, 0.0), delta=0.0)))
    reach = math.sqrt(2) * (1 + 2**-50) if bins > 1 else 1.0  # in Euclidean distance
    return up(Fraction(reach) * quilt.card * Fraction(family.unit(epsilon=room, delta=delta)))


def _over_extents(
    chains: list[MarkovChain],
    extents: list[tuple[int, int]],
    scale_of: Callable[..., QuiltScale],
    *,
    epsilon: float,
) -> tuple[Quilt, ...]:
    """Quilts for stretches of all these (times, rows), longest first.

    Times without a row are nodes of the chain like others: a quilt may hold them, and counting them among the nodes
    near a value only adds to the noise. Where one quilt serves every node of the longest stretch, it serves the nodes
    of a shorter one too: a side that does not fit is left out, and neither the number of nodes near it nor the
    influence grows. For the same reason it serves stretches that are independent.
    """
    sigma, used = 0.0, dict[Quilt, None]()
    homogeneous = all(isinstance(chain.initial, str) for chain in chains)
    for times, observed in extents:
        if observed / epsilon <= sigma:  # all its rows together need no more
            used[Quilt(card=observed, influence=0.0)] = None
            continue
        found = largest_over(chains, partial(scale_of, length=times, most=observed))
        if found.sigma > observed / epsilon:
            found = QuiltScale(sigma=observed / epsilon, quilts=(Quilt(card=observed, influence=0.0),))
        sigma = max(sigma, found.sigma)
        used.update(dict.fromkeys(found.quilts))
        if homogeneous and len(found.quilts) <= len(chains) and found.quilts[0].card < observed:
            break
    return tuple(used)


def _exact_plan(
    chains: list[MarkovChain],
    rows: SeriesRows,
    *,
    released: list[int],
    epsilon: float,
    family: Family,
) -> Plan:
    binary = len(rows.states) == 2
    if rows.bridged and rows.skipped.any():
        raise ArgumentError(
            'mechanism="exact"',
            rule="for series without gaps",
            got=f"{int((rows.skipped > 0).sum())} gaps",
            hint='Use mechanism="quilt", or say gaps="independent" where the series start anew after a gap.',
        )
    if family != LAPLACE or (len(released) > 1 and not binary):
        raise ArgumentError(
            'mechanism="exact"',
            rule="for one count and Laplace noise",
            got=f"{len(released)} counts and {family.title} noise",
            hint='Name one state (bins=["a"]), or use mechanism="quilt".',
        )
    asked, _ = family.request(epsilon=epsilon, delta=0.0)
    counted = [k == released[-1] for k in range(len(rows.states))]
    scale, engines = 0.0, []
    for length, _ in rows.extents():
        if length / asked <= scale:
            break  # the whole piece changes the count by its length at most
        loss = count_loss(chains, counted, length=length)
        if loss is None:
            continue
        engines.append(loss)
        scale = max(scale, smallest_scale_of(engines[-1], epsilon=asked, delta=0.0))
    if not engines:
        raise _nothing_to_hide()
    if scale == 0:
        raise CalibrationError(
            "the chain",
            rule="one under which a count depends on the state at some time",
            got="one whose counts are the same whatever the state",
            hint='Use mechanism="quilt", or another chain.',
        )
    brackets = [measure(engine, scale, epsilon=epsilon)[0].pure_loss for engine in engines]
    return Plan(
        scale=scale,
        lipschitz=1,
        quilts=(),
        verified=Verification(
            pure_loss=max(brackets, key=lambda bracket: bracket.upper), hockey_stick=Bracket(lower=0.0, upper=0.0)
        ),
        derived=binary and len(released) > 1,
    )


def _nothing_to_hide() -> CalibrationError:
    return CalibrationError(
        "the chain",
        rule="one that leaves the state open at some time",
        got="one in which every state follows from the first",
        hint='Give another law of the first state (initial="stationary"), or a floor to the transition probabilities.',
    )
