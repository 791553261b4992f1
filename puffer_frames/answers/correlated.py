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
from puffer_frames.loss.counts import count_loss, count_rounding
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import GAUSSIAN, LAPLACE, Family
from puffer_frames.rounding import divide_up, up
from puffer_frames.search import smallest_scale_of
from puffer_frames.selection import measure, require_noise
from puffer_frames.theorems.quilt import Quilt, QuiltScale, approx_quilts, exact_quilts, largest_over

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
    lengths = sorted({int(length) for length in rows.lengths}, reverse=True)
    several = len(released) > 1
    if mechanism == "exact":
        return _exact_plan(chains, rows, released=released, lengths=lengths, epsilon=epsilon, family=family)
    asked, asked_delta = epsilon, delta
    for _ in released:  # each coordinate is put on the grid of the noise
        asked, asked_delta = family.request(epsilon=asked, delta=asked_delta)
    scales: dict[str, Callable[..., QuiltScale]] = {
        "quilt": partial(exact_quilts, epsilon=asked),
        "quilt-approx": partial(approx_quilts, epsilon=asked, rule="tight"),
        "group": _whole,
    }
    quilts = _over_lengths(chains, lengths, scales[mechanism], epsilon=asked)
    if not quilts:
        raise _nothing_to_hide()
    lipschitz = 2 if several else 1
    scale = max(_scale(quilt, len(released), family=family, epsilon=asked, delta=asked_delta) for quilt in quilts)
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
        derived=False,
    )


def _scale(quilt: Quilt, bins: int, *, family: Family, epsilon: float, delta: float) -> float:
    """Scale of the noise of a count that hides card values up to what the quilt tells of them."""
    room = math.nextafter(epsilon - quilt.influence, -math.inf) if quilt.influence else epsilon
    if family == LAPLACE:
        return divide_up((2 if bins > 1 else 1) * quilt.card, room)
    if family.alpha is not None:  # several coordinates: the loss of each is that of the whole change, at 1/bins of it
        change = Fraction((2 if bins > 1 else 1) * quilt.card) / bins
        return up(change * Fraction(family.unit(epsilon=math.nextafter(room / bins, 0.0), delta=0.0)))
    reach = math.sqrt(2) * (1 + 2**-50) if bins > 1 else 1.0  # in Euclidean distance
    return up(Fraction(reach) * quilt.card * Fraction(family.unit(epsilon=room, delta=delta)))


def _over_lengths(
    chains: list[MarkovChain],
    lengths: list[int],
    scale_of: Callable[..., QuiltScale],
    *,
    epsilon: float,
) -> tuple[Quilt, ...]:
    """Quilts for pieces of all these lengths, longest first.

    Where one quilt serves every node of the longest piece, it serves the nodes of a shorter one too: a side that does
    not fit is left out, and neither the number of nodes near it nor the influence grows.
    """
    sigma, used = 0.0, dict[Quilt, None]()
    homogeneous = all(isinstance(chain.initial, str) for chain in chains)
    for length in lengths:
        if length / epsilon <= sigma:
            used[Quilt(card=length, influence=0.0)] = None
            break  # shorter ones need less than the empty quilt of this one
        found = largest_over(chains, partial(scale_of, length=length))
        sigma = max(sigma, found.sigma)
        used.update(dict.fromkeys(found.quilts))
        if homogeneous and len(found.quilts) <= len(chains) and found.quilts[0].card < length:
            break
    return tuple(used)


def _whole(chain: MarkovChain, *, length: int) -> QuiltScale:
    """Group privacy: every value of a piece may change."""
    del chain
    return QuiltScale(sigma=math.inf, quilts=(Quilt(card=length, influence=0.0),))


def _exact_plan(
    chains: list[MarkovChain],
    rows: SeriesRows,
    *,
    released: list[int],
    lengths: list[int],
    epsilon: float,
    family: Family,
) -> Plan:
    binary = len(rows.states) == 2
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
    for length in lengths:
        if length / asked <= scale:
            break  # the whole piece changes the count by its length at most
        slack = count_rounding(chains, length=length)
        loss = count_loss(chains, counted, length=length)
        if loss is None:
            continue
        engines.append(loss)
        scale = max(scale, smallest_scale_of(engines[-1], epsilon=asked - slack, delta=0.0))
    if not engines:
        raise _nothing_to_hide()
    require_noise(scale, ["the chain"], epsilon=epsilon, delta=0.0, allow_zero_noise=False)
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
