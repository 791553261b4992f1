"""The noise that hides every state of a correlated series, by mechanism."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.atoms.counts import LONGEST, WindowedCountLoss, check_length, count_loss
from puffer_frames.loss.outcome import Bracket, Loss, Verification
from puffer_frames.loss.transported import TransportedLoss, too_many_steps
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import divide_up
from puffer_frames.papers.catalogue import ALONE, MECHANISMS, PUBLISHED_FOR, QUILT_CLASS
from puffer_frames.papers.neighbours import neighbour_sum
from puffer_frames.papers.quilt.networks import network_quilts
from puffer_frames.papers.quilt.nodes import Quilt, QuiltScale, Windows, gap_influence, gap_quilt, node_quilts
from puffer_frames.papers.quilt.scales import Chain, approx_quilts, exact_quilts, largest_over
from puffer_frames.priors.markov import ChainBox, MarkovChain
from puffer_frames.priors.network import NetworkRange
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.networks import exact_of_networks, loss_of_networks
from puffer_frames.scales.search import is_private, scale_between, smallest_scale_of
from puffer_frames.scales.series_counts import ReleasedCounts, SeriesNoiseRequest, has_law, nothing_to_hide

_SLOWER = 10
"""Times that are looked at one by one take so much longer where they recur in no pattern."""
_MOST_STATES = 12
"""With more states a bound takes seconds."""


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


def choose_transported(request: SeriesNoiseRequest, /) -> Choice:
    """The smallest scale at which the bound of `TransportedLoss` is within epsilon, for every series and all chains.

    Raises ArgumentError for other noise than Laplace's, and chains that the bound does not take; CalibrationError where
    the chain leaves no state open.
    """
    rows, counts, target, noise = request.rows, request.counts, request.target, request.noise
    engines = transported_losses(request.chains, rows, counts, noise)
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
    verified = Verification.proved(pure=loss, delta=0.0, epsilon=target.epsilon)
    return request.choice(MECHANISMS["transport"], scale, verified)


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


SHORT = 300
"""Series up to this long are worked out whole."""
_EXACT = 1e-7
"""A scale that may be larger than needed by this fraction; windows grow until it is enough."""
_NEARLY = 1e-3
"""The same where no larger window fits."""
_FIRST = 32
_DECREASES = 40


def loss_in_windows(
    chain: MarkovChain, counted: NDArray[np.bool_], /, *, length: int, target: Target
) -> tuple[WindowedCountLoss, float] | None:
    """The loss of a count of a long series from windows that are large enough, and its scale.

    Enough is a window that confirms the scale below which the loss far from all counts is too large, or one whose loss
    there is no smaller than that of half the window. None where no such window fits into the series; of a series whose
    whole law would be too large, the largest one will do that asks for hardly more.
    """
    whole = length <= LONGEST
    window, before, least = _FIRST, math.inf, 0.0
    last: WindowedCountLoss | None = None
    while loss := WindowedCountLoss.of(chain, counted, length=length, window=window, small=whole):
        if last is None:
            least = _needed_far_away(loss, length, target)
        if least and is_private(loss, least * (1 + _EXACT), target):
            return loss, least * (1 + _EXACT)
        most = loss.pure(least or length / target.epsilon).bracket.upper
        if math.inf > most >= before * (1 - _EXACT):
            return loss, smallest_scale_of(loss, target)
        window, before, last = window * 2, most, loss
    if whole or last is None or not least or not is_private(last, least * (1 + _NEARLY), target):
        return None
    return last, scale_between(last, target, least, least * (1 + _NEARLY))


def _needed_far_away(loss: WindowedCountLoss, length: int, target: Target) -> float:
    """A scale at which the loss far from all counts is epsilon; 0 where there is none."""

    def beyond(log_scale: float) -> float:
        return loss.far_away(math.exp(log_scale)) - target.epsilon

    high = math.log(length / target.epsilon)  # there no loss is larger
    low = next((high - k for k in range(1, _DECREASES) if beyond(high - k) > 0), None)
    return 0.0 if low is None else math.exp(scipy.optimize.brentq(beyond, low, low + 1, xtol=_EXACT / 8))


_MOST_TIMES = 4 * LONGEST**2
"""Squares of the lengths of the series whose exact laws are worked out, together."""

_ALIKE = 1 + 1e-6
"""Scales that differ by less are one: the first mechanism that has it is taken."""
_LARGEST_PLACE = 2**62
"""Pieces times the longest series, beyond which times have no number of 64 bits."""


def choose_noise(request: SeriesNoiseRequest, mechanism: str, /) -> Choice:
    """The scale of a mechanism, for pieces of every length and all chains, or for the nodes of all networks.

    Raises ArgumentError for the exact mechanism with several counts, another noise or too long a series.

    The published scale is the Laplace scale of a count that [SWC17] asks for as printed: for "quilt-approx" with
    2 r(a) + r(b) whatever the start, and the printed r(t). There is none for the exact loss of a count, and for other
    noise, of which it says nothing.
    """
    if mechanism == "auto":
        return _least_noise(request)
    chains, rows, counts, target = request.chains, request.rows, request.counts, request.target
    noise, networks = request.noise, request.networks
    if networks and mechanism in ("exact", "wasserstein"):
        return exact_of_networks(request, mechanism)
    if mechanism in ("exact", "wasserstein"):
        return _exact(request, mechanism)
    if mechanism == "transport":
        return choose_transported(request)
    held_to = counts.unrounded(target, noise)
    extents = rows.extents(from_start=has_law(chains))
    noise_of = partial(_scale, reach=counts.reach or 1, bins=counts.bins, noise=noise, target=held_to)
    quilts = printed = _quilts(request, mechanism, extents, noise_of)
    scale = max(map(noise_of, quilts))
    if mechanism == "quilt":
        held = _of_observed(chains, rows, noise_of, scale, epsilon=held_to.epsilon)
        if held:
            quilts, scale = held, max(map(noise_of, held))
    loss, published = math.inf if noise.needs_delta else target.epsilon, None
    if noise == PUBLISHED_FOR:
        if mechanism == "quilt-approx":
            as_printed = partial(approx_quilts, epsilon=target.epsilon, rule="published", factor=2.0)
            printed = _over_extents(chains, extents, as_printed, epsilon=target.epsilon)
        most = counts.lipschitz
        published = max(divide_up(most * quilt.card, target.epsilon - quilt.influence) for quilt in printed)
        used = max(quilt.influence + most * quilt.card / scale for quilt in quilts) * (1 + 2**-50)
        loss = min(target.epsilon, used)
        if mechanism == "entry" and networks:
            loss = loss_of_networks(networks, counts, scale, whole=most * len(networks[0]) / scale)
        elif mechanism == "entry":
            loss = _loss_at(chains, rows, counts, scale)
    whole = {observed for _, observed in rows.extents()}
    alone = mechanism != "group" and any(quilt.influence == 0 and quilt.card in whole for quilt in quilts)
    delta = target.delta if noise.needs_delta else 0.0
    return request.choice(
        QUILT_CLASS if any(isinstance(chain, ChainBox) for chain in chains) else MECHANISMS[mechanism],
        scale,
        Verification.proved(pure=loss, delta=delta, epsilon=target.epsilon),
        published=published,
        adds_up=mechanism not in ALONE,
        remarks=frozenset({"group noise"} if alone else ()),
    )


def _least_noise(request: SeriesNoiseRequest) -> Choice:
    """The smallest scale of the mechanisms that find one in a short time; quilts, which add up, where none is less."""
    chains, rows, counts, networks = request.chains, request.rows, request.counts, request.networks
    asked: list[str] = ["exact"] if networks else []
    choose = partial(choose_noise, request)
    if isinstance(networks, NetworkRange):  # quilts do not cover it
        return choose("exact")
    if suits_transport(chains, rows, request.noise):
        asked.append("transport")
        longest, _ = rows.extents(from_start=has_law(chains))[0]
        if rows.bridges(from_start=has_law(chains)):
            asked.insert(0, "quilt")
        elif counts.bins == 1 and not counts.reach and (longest <= SHORT or len(rows.states) == 2):
            asked.append("exact")
    found: list[Choice] = []
    for mechanism in asked:
        with suppress(ArgumentError, CalibrationError):  # too long a series, or a count that tells nothing
            found.append(choose(mechanism))
    if not found:  # nothing else is known
        return choose("quilt")
    least = min(choice.scale for choice in found)
    return next(choice for choice in found if choice.scale <= least * _ALIKE)


def _quilts(
    request: SeriesNoiseRequest, mechanism: str, extents: list[tuple[int, int]], noise_of: Callable[[Quilt], float]
) -> tuple[Quilt, ...]:
    """The quilts in use: those of the mechanism, or the whole stretch where it needs no more noise."""
    chains, networks = request.chains, request.networks
    epsilon = request.counts.unrounded(request.target, request.noise).epsilon
    whole = Quilt(card=max(n for _, n in extents), influence=0.0)
    if mechanism == "group":
        return (whole,)
    if mechanism == "entry":
        return (Quilt(card=1, influence=0.0),)
    if mechanism == "gk16":
        worst = 2 * max(neighbour_sum(chain, length=times) for chain in chains for times, _ in extents)
        own = Quilt(card=1, influence=math.nextafter(epsilon - epsilon / worst, math.inf))
        return (own,) if worst < whole.card else (whole,)
    scales: dict[str, Callable[..., QuiltScale]] = {
        "quilt": partial(exact_quilts, epsilon=epsilon),
        "quilt-approx": partial(approx_quilts, epsilon=epsilon, rule="tight"),
    }
    if isinstance(networks, NetworkRange):
        raise ArgumentError(
            "mechanism",
            rule='"exact" or "group" with Laplace noise for a range of networks',
            got="quilts",
            hint="List networks: network=[low, middle, high].",
        )
    if networks:  # all nodes are counted, so that quilts of releases of different states add up
        found = [network_quilts(network, [True] * whole.card, epsilon=epsilon) for network in networks]
        quilts = tuple(quilt for of_network in found for quilt in of_network)
    else:
        quilts = _over_extents(chains, extents, scales[mechanism], epsilon=epsilon)
    if not quilts:
        raise nothing_to_hide()
    if noise_of(whole) <= max(map(noise_of, quilts)):  # quilts are chosen for Laplace noise
        return (whole,)
    return quilts


def _of_observed(
    chains: list[Chain], rows: SeriesRows, noise_of: Callable[[Quilt], float], scale: float, *, epsilon: float
) -> tuple[Quilt, ...]:
    """Quilts of which only the observed nodes count, for series with gaps; none where they need no less than a scale.

    Nor are there any for a box of chains, and for times too far apart to be numbered.
    """
    known = [chain for chain in chains if isinstance(chain, MarkovChain)]
    if not rows.bridges(from_start=False) or len(known) < len(chains):
        return ()
    length = max(times for times, _ in rows.extents())
    if rows.starts.size * (length + 1) >= _LARGEST_PLACE:
        return ()
    windows = Windows.of(rows, length=length)
    found: list[Quilt] = []
    for chain in known:
        influence = gap_influence(chain, windows, epsilon=epsilon, length=length)
        own = node_quilts(influence, rows, epsilon=epsilon)
        one = None if own else gap_quilt(influence, windows, epsilon=epsilon)
        quilts = own.quilts if own else (one,) if one else ()
        if not quilts or max(map(noise_of, quilts)) >= scale:
            return ()
        found += quilts
    return tuple(dict.fromkeys(found))


def _scale(quilt: Quilt, *, reach: int, bins: int, noise: NoiseFamily, target: Target) -> float:
    """Scale of the noise of a count, or of a sum, that hides card values up to what the quilt tells of them."""
    epsilon = target.epsilon
    room = math.nextafter(epsilon - quilt.influence, -math.inf) if quilt.influence else epsilon
    return noise.hide_counts(quilt.card * reach, Target(epsilon=room, delta=target.delta), bins=bins)


def _over_extents(
    chains: list[Chain], extents: list[tuple[int, int]], scale_of: Callable[..., QuiltScale], *, epsilon: float
) -> tuple[Quilt, ...]:
    """Quilts for stretches of all these (times, rows), longest first.

    Times without a row are nodes of the chain like others: a quilt may hold them, and counting them among the nodes
    near a value only adds to the noise. The quilts of the longest stretch serve a shorter one, whose start has the same
    law: node i takes that of node i. A side that does not fit is left out, and neither the number of nodes near it nor
    the influence grows. For the same reason they serve stretches that are independent.
    """
    sigma, used = 0.0, dict[Quilt, None]()
    for times, observed in extents:
        if observed / epsilon <= sigma:  # all its rows together need no more
            used[Quilt(card=observed, influence=0.0)] = None
            continue
        found = largest_over(chains, partial(scale_of, length=times, most=observed))
        whole = Quilt(card=observed, influence=0.0)
        if found.sigma > observed / epsilon:
            found = QuiltScale(sigma=observed / epsilon, quilts=(whole,))
        sigma = max(sigma, found.sigma)
        used.update(dict.fromkeys(found.quilts))
        if found.quilts and found.quilts != (whole,):
            break
    return tuple(used)


def _exact(request: SeriesNoiseRequest, mechanism: str) -> Choice:
    """The smallest scale for one count, or that of the largest W-infinity distance of its laws."""
    chains, rows, counts, target = request.chains, request.rows, request.counts, request.target
    noise = request.noise
    _check_exact(request, mechanism)
    counted = np.array([k == counts.released[-1] for k in range(len(rows.states))])
    known = [chain for chain in chains if isinstance(chain, MarkovChain)]  # a box has none: refused before
    patterns = rows.patterns(from_start=has_law(chains))
    engines, scale = _losses(known, counted, patterns, noise.unrounded(target.pure))
    if not engines:
        raise nothing_to_hide()
    if scale == 0:
        raise CalibrationError(
            "the chain",
            rule="one under which a count depends on the state at some time",
            got="one whose counts are the same whatever the state",
            hint='Use mechanism="quilt", or another chain.',
        )
    published = None
    if mechanism == "wasserstein":
        published = divide_up(_distance(known, counted, patterns), target.epsilon)
        scale = max(scale, divide_up(published * target.epsilon, noise.unrounded(target.pure).epsilon))
    brackets = [measure(engine, scale, target)[0].pure_loss for engine in engines]
    most, none = max(brackets, key=lambda bracket: bracket.upper), Bracket(lower=0.0, upper=0.0)
    verified = Verification(pure_loss=most, hockey_stick=none, epsilon=target.epsilon)
    return request.choice(MECHANISMS[mechanism], scale, verified, published=published)


def _distance(chains: list[MarkovChain], counted: NDArray[np.bool_], patterns: list[NDArray[np.bool_]]) -> float:
    """The largest W-infinity distance of a count of series with rows at these times, given a state at any time."""
    farthest = 0.0
    for seen in patterns:
        if seen.sum() > farthest:
            check_length(seen.size)
            loss = count_loss(chains, counted.tolist(), length=seen.size, observed=seen)
            farthest = max(farthest, 0.0 if loss is None else loss.distance)
    return farthest


def _loss_at(chains: list[Chain], rows: SeriesRows, counts: ReleasedCounts, scale: float) -> float:
    """Upper bound of the loss of Laplace noise of any scale: by transport, where there is such a bound."""
    whole = counts.lipschitz * max(seen for _, seen in rows.extents()) / scale
    with suppress(ArgumentError):
        engines = transported_losses(chains, rows, counts, PUBLISHED_FOR)
        return min(whole, max(engine.pure(scale).bracket.upper for engine in engines))
    return whole


def _losses(
    chains: list[MarkovChain], counted: NDArray[np.bool_], patterns: list[NDArray[np.bool_]], target: Target
) -> tuple[list[Loss], float]:
    """Losses of a count of series with rows at these times, and the scale for all of them."""
    _check_work(patterns, [seen for seen in patterns if not _is_long(seen)])
    engines, scale, covered, whole = list[Loss](), 0.0, math.inf, list[NDArray[np.bool_]]()
    for seen in patterns:
        if int(seen.sum()) / target.epsilon <= scale:
            break  # the whole stretch changes the count by its rows at most
        if _is_long(seen):
            if seen.size >= covered:
                continue
            found = [loss_in_windows(chain, counted, length=seen.size, target=target) for chain in chains]
            windows = [each for each in found if each is not None]
            if len(windows) == len(chains):
                engines += [loss for loss, _ in windows]
                scale = max(scale, *(needed for _, needed in windows))
                covered = max(loss.covers for loss, _ in windows)
                continue
        check_length(seen.size)
        whole.append(seen)
        _check_work(patterns, whole)
        loss = count_loss(chains, counted.tolist(), length=seen.size, observed=seen)
        if loss is not None:
            engines.append(loss)
            scale = max(scale, smallest_scale_of(loss, target))
    return engines, scale


def _is_long(seen: NDArray[np.bool_]) -> bool:
    """Whether a series may be looked at in windows."""
    return seen.size > SHORT and bool(seen.all())


def _check_work(patterns: list[NDArray[np.bool_]], whole: list[NDArray[np.bool_]]) -> None:
    """Raise ArgumentError where too many series have to be worked out whole."""
    if sum(seen.size**2 for seen in whole) > _MOST_TIMES:
        raise ArgumentError(
            'mechanism="exact"',
            rule="for few different series, or short ones",
            got=f"{len(patterns)} series of different times",
            hint='Use mechanism="quilt", or say gaps="independent" where the series start anew after a gap.',
        )


def _check_exact(request: SeriesNoiseRequest, mechanism: str) -> None:
    """Raise ArgumentError for what has no exact law of a count."""
    rows, counts, noise = request.rows, request.counts, request.noise
    with_gaps = [times for times, seen in rows.extents(from_start=has_law(request.chains)) if times > seen]
    check_length(max(with_gaps, default=1))
    if noise != PUBLISHED_FOR or (counts.several and len(rows.states) != 2):
        raise ArgumentError(
            f'mechanism="{mechanism}"',
            rule="for one count and Laplace noise",
            got=f"{len(counts.released)} counts and {noise.title} noise",
            hint='Name one state (bins=["a"]), or use mechanism="quilt".',
        )
