"""The noise that hides every state of a Markov chain in all released numbers, by transport along the chain."""

from __future__ import annotations

from puffer_frames.errors import ArgumentError
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.loss.transported import TransportedLoss, too_many_steps
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import MECHANISMS, PUBLISHED_FOR
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.search import smallest_scale_of
from puffer_frames.scales.series_counts import ReleasedCounts, has_law, nothing_to_hide

_SLOWER = 10
"""Times that are looked at one by one take so much longer where they recur in no pattern."""
_MOST_STATES = 12
"""Of more states a bound takes seconds."""


def suits_transport(chains: list[Chain], rows: SeriesRows, noise: NoiseFamily, /) -> bool:
    """Whether there is such a bound, in a short time.

    Several chains may stand for a class of them (`binary_class`), as they do for quilts but not for this bound.
    """
    known = [chain for chain in chains if isinstance(chain, MarkovChain)]
    if noise != PUBLISHED_FOR or not len(known) == len(chains) == 1 or len(rows.states) > _MOST_STATES:
        return False
    return not any(isinstance(chain.initial, str) and chain.initial == "any" for chain in known)


def _are_few(rows: SeriesRows, *, from_start: bool) -> bool:
    """Whether series with gaps are so few and short that each is looked at time by time."""
    times = sum(length for length, _ in rows.extents(from_start=from_start))
    return not too_many_steps(_SLOWER * times * len(rows.units), len(rows.states))


def choose_transported(
    chains: list[Chain], rows: SeriesRows, counts: ReleasedCounts, target: Target, /, *, belief: str, noise: NoiseFamily
) -> Choice:
    """The smallest scale at which the bound of `TransportedLoss` is within epsilon, for every series and all chains.

    Raises ArgumentError for other noise than Laplace's, and chains that the bound does not take; CalibrationError where
    the chain leaves no state open.
    """
    engines = transported_losses(chains, rows, counts, noise)
    if not any(engine.hides for engine in engines):
        raise nothing_to_hide()
    asked = counts.unrounded(target.pure, noise)
    scale = 0.0
    for engine in engines:
        if scale == 0 or engine.pure(scale).bracket.upper > asked.epsilon:
            scale = max(scale, smallest_scale_of(engine, asked))
    most = max(seen for _, seen in rows.extents()) * (counts.reach or 1)
    scale = min(scale, noise.hide_counts(most, asked, bins=counts.bins))  # which hides all values at once
    loss = min(max(engine.pure(scale).bracket.upper for engine in engines), target.epsilon)
    return Choice(
        theorem=MECHANISMS["transport"],
        published_scale=None,
        scale=scale,
        binding_belief=belief,
        verified={
            belief: Verification(
                pure_loss=Bracket(lower=0.0, upper=loss),
                hockey_stick=Bracket(lower=0.0, upper=0.0),
                epsilon=target.epsilon,
            )
        },
        adds_up=False,
    )


def transported_losses(
    chains: list[Chain], rows: SeriesRows, counts: ReleasedCounts, noise: NoiseFamily
) -> list[TransportedLoss]:
    """The bound of the longest series; where the chain runs on through gaps that of each, if they are few."""
    known = [chain for chain in chains if isinstance(chain, MarkovChain)]
    if noise != PUBLISHED_FOR or len(known) < len(chains):
        raise ArgumentError(
            'mechanism="transport"',
            rule="for Laplace noise and chains that are named or estimated",
            got=f"{noise.title} noise" if noise != PUBLISHED_FOR else "all chains that the series do not refute",
            hint='Use mechanism="quilt".',
        )
    change, from_start = counts.change(len(rows.states)), has_law(chains)
    if rows.bridges(from_start=from_start) and _are_few(rows, from_start=from_start):
        return [TransportedLoss(known, change, times=seen) for seen in rows.patterns(from_start=from_start)]
    return [TransportedLoss(known, change, times=rows.extents(from_start=from_start)[0][0])]
