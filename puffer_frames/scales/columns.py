"""The scale of one public column, or of several that are released together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, cast

from puffer_frames.errors import ArgumentError, CalibrationError, PriorError
from puffer_frames.loss.engine import Laws, belief_loss, privacy_loss
from puffer_frames.loss.noises.coupled import set_distance
from puffer_frames.loss.outcome import Bracket, Loss, Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import subtract_up, up
from puffer_frames.papers.bounded import bounded_scales
from puffer_frames.papers.catalogue import BOUNDED, KANTOROVICH, MIXTURE, MIXTURES, PUBLISHED_FOR, Theorem
from puffer_frames.papers.gaussian import translation_scale
from puffer_frames.papers.kantorovich import kantorovich_scale
from puffer_frames.priors.law_set import LawSet, is_refuted, is_too_wide
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret, observed_priors
from puffer_frames.priors.summary import Counts, extent_of
from puffer_frames.scales.beliefs import FINER, BeliefEntry, clipped_to, learn, name_beliefs, words_of
from puffer_frames.scales.choice import ULPS, Choice, Proposal, choose, measure, require_noise
from puffer_frames.scales.learned import Belief, Population, observed_belief
from puffer_frames.scales.search import is_private, smallest_scale_of

_WIDE = 2.0
"""A fitted model that needs more than so many times the noise of the observed frequencies is looked at again."""
_REFITTED_SECRETS = 3
"""With more secrets than this the search under mixtures of many components takes minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRequest:
    """What is asked for of one column, as in `puffer_frames.privatize`, and where its values lie."""

    noise: NoiseFamily
    pairs: Pairs
    beliefs: Sequence[BeliefEntry]
    """Entries of `read_beliefs`."""
    domain: Bounds | None
    extent: Bounds
    """Ends of the column."""
    radius: float
    """How far a value may be from the one it was counted as."""
    calibration: str
    allow_zero_noise: bool
    rows: int = 1
    """Number of independent rows of a unit that are held to the target together, and were measured; the theorem's
    scale is that of one of them, for its share. More than 1 for "exact" alone."""


def choose_column(
    counts: Mapping[Secret, Counts],
    target: Target,
    column: ColumnRequest,
    /,
    *,
    theorem: str,
    components: int | None,
) -> Choice:
    """The scale of one column, from how often each value occurs with each of the secrets that the pairs name.

    Raises ArgumentError, ArgumentTypeError for beliefs that are none, or lie outside the domain; CalibrationError as
    `choose`.
    """
    noise, choose_for = column.noise, partial(_choose_for, counts, target, column)
    learn_as = partial(learn, counts, components=components, coupled=noise.coupled_only, radius=column.radius)
    model = learn_as(theorem=theorem)
    choice = choose_for(model)
    is_wide = partial(_is_wide, asked=noise.unrounded(target), pairs=column.pairs, noise=noise, rows=column.rows)
    counts_fit = column.calibration == "exact" and "fitted" in choice.beliefs and not model[0].discrete
    if not (counts_fit and is_wide(choice)):
        return choice
    needed = choice.scale_per_belief["fitted"]
    auto = theorem in ("auto", MIXTURE.name) and components is None and not noise.coupled_only
    if auto and len(counts) <= _REFITTED_SECRETS:
        model = learn_as(theorem=FINER)
        choice = choose_for(model)
        if not is_wide(choice):
            return choice
        needed = choice.scale_per_belief["fitted"]
    remarks = _of_wide_fit(model[1], counts)
    if remarks == _REFUTED and theorem == "auto" and "empirical" in choice.beliefs:
        return replace(choose_for(learn_as(theorem=KANTOROVICH.name)), left_out=needed)
    return replace(choice, remarks=choice.remarks | remarks)


_REFUTED = frozenset({"wide fit", "refuted fit"})


def _of_wide_fit(fitted: Belief, counts: Mapping[Secret, Counts]) -> frozenset[str]:
    """The remarks about a fitted model that decides the noise."""
    refuted = any(is_refuted(law, counts[secret], laws=len(counts)) for secret, law in fitted.items())
    return _REFUTED if refuted else frozenset({"wide fit"})


def _is_wide(choice: Choice, /, *, asked: Target, pairs: Pairs, noise: NoiseFamily, rows: int) -> bool:
    """Whether the fitted model needs more than twice the noise of the observed frequencies."""
    observed = choice.scale_per_belief.get("empirical")
    if observed is None:
        observed = smallest_scale_of(privacy_loss(choice.empirical, pairs=pairs, noise=noise, rows=rows), asked)
    return choice.scale_per_belief["fitted"] > _WIDE * observed


def _choose_for(
    counts: Mapping[Secret, Counts], target: Target, column: ColumnRequest, model: tuple[Theorem, Belief, Belief], /
) -> Choice:
    """The scale of one column, where the theorem, its priors and the observed frequencies are known."""
    noise, pairs, rows, radius, calibration = column.noise, column.pairs, column.rows, column.radius, column.calibration
    chosen, assumed, empirical = model
    bounds = clipped_to(column.beliefs, domain=column.domain, extent=column.extent)
    covered = name_beliefs(
        column.beliefs,
        fitted=assumed,
        empirical=empirical,
        model=chosen.model,
        counts=counts,
        bounds=bounds,
        radius=radius,
    )
    engines = {name: belief_loss(belief.laws, pairs=pairs, noise=noise, rows=rows) for name, belief in covered.items()}
    alone = next((engines[name] for name, belief in covered.items() if belief.laws is assumed and rows == 1), None)
    unrounded, share = noise.unrounded(target), target.share(rows)
    distances = {name: _distance(belief.laws, pairs=pairs) for name, belief in covered.items()}
    known = hidden_range(chosen, [assumed, *(belief.laws for belief in covered.values())], bounds)
    if known is None:
        known = next((distances[name] for name, belief in covered.items() if belief.laws is assumed), None)
    published = chosen.scale_for(assumed, share, noise=noise, pairs=pairs, distance=known)
    proposal = Proposal(
        theorem=chosen,
        engines=engines,
        published=published,
        on_grid=None
        if published is None or calibration == "exact"
        else chosen.scale_for(assumed, unrounded, noise=noise, pairs=pairs, distance=known),
        own=alone or privacy_loss(assumed, pairs=pairs, noise=noise),
        held_to=share,
        adds_up_from=_adds_up_from(chosen, distances, share, noise=noise, calibration=calibration),
    )
    if chosen is BOUNDED and known == math.inf and calibration == "theorem":
        raise _without_range()
    choice = choose(
        proposal,
        target,
        asked=unrounded,
        noise=noise,
        calibration=calibration,
        allow_zero_noise=column.allow_zero_noise,
    )
    clipped, ends = bounds is not None, bounds or column.extent
    observed = next((choice.verified[name] for name, belief in covered.items() if belief.laws is empirical), None)
    return replace(
        choice,
        priors=assumed,
        beliefs={name: belief.laws for name, belief in covered.items()},
        words={name: belief.words for name, belief in covered.items()},
        learned=tuple(belief.learned for belief in covered.values() if belief.learned is not None),
        bounds=ends,
        clips=clipped,
        empirical=empirical,
        observed=observed or measure_observed(empirical, choice.scale, unrounded, pairs=pairs, noise=noise, rows=rows),
        wider=measure_wider(counts, choice.scale, unrounded, column, bounds=ends),
    )


def _adds_up_from(
    theorem: Theorem, distances: Mapping[str, float], share: Target, *, noise: NoiseFamily, calibration: str
) -> float:
    """From which scale on epsilons add, by the distance of each belief; noise for the range hides all of them.

    Two releases add under laws that both are about: the observed one, and a fitted one of moments. Tables, mappings and
    wider beliefs of one name may be others in another release, and a mixture may have other components.
    """
    if theorem is BOUNDED and calibration == "theorem":
        return 0.0
    shared = {"empirical"} if theorem in MIXTURES else {"empirical", "fitted"}
    if not shared.issuperset(distances):
        return math.inf
    distance = max(distances.values())
    return noise.hide_on_grid(distance, share) if distance < math.inf else math.inf


def _published(
    choice: Choice, beliefs: Sequence[Laws | Sequence[Laws]], share: Target, column: ColumnRequest, *, whole: bool
) -> float | None:
    """The theorem's scale for laws, of which the first are its own; they may not be the whole that a file has known."""
    bounds = choice.bounds if choice.clips else None
    hidden = hidden_range(choice.theorem, beliefs, bounds)
    of: dict[str, Any] = {"noise": column.noise, "pairs": column.pairs, "distance": hidden}
    found = choice.theorem.scale_for(cast(Belief, beliefs[0]), share, **of)
    if hidden is None or whole or bounds is not None:
        return found
    return max(found or 0.0, choice.published_scale or 0.0)  # laws that the file lacks may be wider


_NEARLY = 0.01
"""A scale that could be smaller by more than this share is not the smallest one."""


def again(
    choice: Choice,
    counts: Mapping[Secret, Counts],
    target: Target,
    column: ColumnRequest,
    /,
    *,
    needed: float,
) -> tuple[Choice, bool]:
    """A choice for one noisy copy, from a file, with all that follows from its scale, its model and these counts.

    Of side knowledge and other tables a file has no laws: nothing is measured of them. With "exact" the scale is to be
    the smallest one. The fitted model `needed` this scale, by the file.
    Returns: The second: whether some belief needs about this scale, as far as its laws are known.
    """
    noise, pairs, rows, radius, calibration = column.noise, column.pairs, column.rows, column.radius, column.calibration
    exact, empirical = calibration == "exact", observed_belief(counts, radius=radius)
    fitted, scale = empirical if choice.theorem.discrete else choice.priors, choice.scale
    bounds = choice.bounds if choice.clips else None
    words, known = words_of(column.beliefs, fitted="" if choice.theorem.discrete else choice.theorem.model)
    covered = name_beliefs(
        known,
        fitted=fitted,
        empirical=empirical,
        model=choice.theorem.model,
        counts=counts,
        bounds=bounds,
        radius=radius,
    )
    engines = {name: belief_loss(one.laws, pairs=pairs, noise=noise, rows=rows) for name, one in covered.items()}
    asked, share = noise.unrounded(target), target.share(rows)
    whole = len(covered) == len(words)
    published = _published(choice, [fitted, *(c.laws for c in covered.values())], share, column, whole=whole)
    distances = {name: _distance(covered[name].laws, pairs=pairs) if name in covered else math.inf for name in words}
    smaller = (1 - _NEARLY) * scale
    is_least = not exact or not scale or any(not is_private(one, smaller, asked) for one in engines.values())
    assert choice.bounds is not None
    remarks: frozenset[str] = frozenset()
    if exact and "fitted" in engines and not choice.theorem.discrete:
        own, seen = engines["fitted"], privacy_loss(empirical, pairs=pairs, noise=noise, rows=rows)
        decides = not is_private(own, (1 - _NEARLY) * needed, asked)
        remarks = _of_wide_fit(fitted, counts) if decides and is_private(seen, needed / _WIDE, asked) else remarks
    found = replace(
        choice,
        remarks=remarks,
        published_scale=published,
        published_loss=None
        if published is None
        else measure(privacy_loss(fitted, pairs=pairs, noise=noise), published, share)[0],
        verified={name: measure(engine, scale, asked)[0] for name, engine in engines.items()},
        adds_up=_adds_up_from(choice.theorem, distances, share, noise=noise, calibration=calibration)
        <= scale * (1 + ULPS),  # the scale of one of several copies was rounded down by 2^-50
        priors=fitted,
        beliefs={name: {} for name in words},
        words=words,
        observed=measure_observed(empirical, scale, asked, pairs=pairs, noise=noise, rows=rows),
        wider=measure_wider(counts, scale, asked, column, bounds=choice.bounds),
        none_needed=not scale or (not exact and all(is_private(one, 0.0, asked) for one in engines.values())),
    )
    return found, is_least or not whole


def measure_observed(
    empirical: Belief, scale: float, target: Target, /, *, pairs: Pairs, noise: NoiseFamily, rows: int = 1
) -> Verification | None:
    """What the engine says of a scale under observed frequencies; None where there are too many pairs of secrets."""
    try:
        return measure(privacy_loss(empirical, pairs=pairs, noise=noise, rows=rows), scale, target)[0]
    except CalibrationError:
        return None


FEW_SECRETS = 200
"""Beyond this many secrets the figure of the population, which would take seconds, is left out."""
POPULATION, ANY_LAW = "population", "any law"
"""The figures that stand on every plan."""


def measure_wider(
    counts: Mapping[Secret, Counts], scale: float, target: Target, column: ColumnRequest, /, *, bounds: Bounds
) -> dict[str, Verification]:
    """What the engines say of a scale under every law that the table does not refute at 95 %, and under any law at all.

    The first is left out for more than 200 secrets and where there are too many pairs of them, both where distances
    leave the floats.
    """
    found: dict[str, Verification] = {}
    noise, rows = column.noise, column.rows
    if is_too_wide(*bounds):
        return found
    if len(counts) <= FEW_SECRETS:
        with suppress(CalibrationError):
            band = Population().laws(counts, bounds=bounds, radius=column.radius)
            found[POPULATION] = _one_figure(
                belief_loss(band, pairs=column.pairs, noise=noise, rows=rows), scale, target
            )
    found[ANY_LAW] = loss_on_range(subtract_up(bounds[1], bounds[0]), scale, target, noise=noise, rows=rows)
    return found


def loss_on_range(width: float, scale: float, target: Target, /, *, noise: NoiseFamily, rows: int = 1) -> Verification:
    """What the engine says of a scale under any law on a range: its width decides, and its place would round it."""
    anything: dict[Secret, LawSet] = dict.fromkeys("ab", LawSet.anything(0.0, width))  # the same for every pair
    return _one_figure(belief_loss(anything, pairs="all", noise=noise, rows=rows), scale, target)


def _one_figure(loss: Loss, scale: float, target: Target) -> Verification:
    """The pure loss where delta is 0, which is all that is asked for then."""
    if target.delta:
        return measure(loss, scale, target)[0]
    unknown = Bracket(lower=0.0, upper=1.0)
    return Verification(pure_loss=loss.pure(scale).bracket, hockey_stick=unknown, epsilon=target.epsilon)


def choose_columns(
    counts: Mapping[str, Mapping[Secret, Counts]],
    target: Target,
    columns: Mapping[str, ColumnRequest],
    /,
    *,
    others: int = 0,
) -> dict[str, Choice]:
    """Scales for several columns by the bounded-column rule, each confirmed by the engine for its share.

    - `counts` (mapping of column to mapping of secret to (values, counts)): Of the secrets that the pairs name.
    - `target`: Split evenly over the columns: given the coupling the noises compose as in differential privacy.
    - `columns` (mapping of the same to ColumnRequest): Of one noise and the same pairs; their beliefs are not read.
    - `others`: How many other columns the target is split over, too.
    Raises CalibrationError where every column is constant and there are no others, unless that is allowed.
    """
    first = next(iter(columns.values()))
    noise, pairs, allowed = first.noise, first.pairs, first.allow_zero_noise or others > 0
    ranges = {
        name: range_of(groups, columns[name].domain, radius=columns[name].radius) for name, groups in counts.items()
    }
    share = target.share(len(counts) + others)
    if noise == PUBLISHED_FOR:
        parts = Fraction(len(ranges) + others, len(ranges))
        published = bounded_scales({n: up(Fraction(w) * parts) for n, w in ranges.items()}, epsilon=target.epsilon)
    else:
        published = {name: noise.hide(width, share) for name, width in ranges.items()}
    require_noise(max(published.values()), ["empirical"], target, allow_zero_noise=allowed)
    unrounded, choices = noise.unrounded(share), {}
    for name, groups in counts.items():
        column = replace(columns[name], rows=1)
        priors, ends = observed_priors(groups, radius=column.radius), column.domain or column.extent
        belief = f"any prior {'within the observed range' if column.domain is None else 'on the domain'}"
        engine = privacy_loss(priors, pairs=pairs, noise=noise)
        proposal = Proposal(
            theorem=BOUNDED,
            engines={belief: engine},
            published=published[name],
            on_grid=noise.hide_on_grid(ranges[name], share),
            adds_up_from=0.0,
        )
        choice = choose(proposal, share, asked=unrounded, noise=noise, calibration="theorem", allow_zero_noise=True)
        choices[name] = replace(
            choice,
            published_loss=measure(engine, published[name], unrounded)[0],
            none_needed=choice.scale == 0,
            priors=priors,
            beliefs={belief: priors},
            words={belief: belief},
            bounds=ends,
            clips=column.domain is not None,
            wider=measure_wider(groups, choice.scale, unrounded, column, bounds=ends),
            verified={"empirical": choice.verified[belief]},  # the theorem proves the belief
            empirical=priors,
            observed=choice.verified[belief],
        )
    return choices


def check_several(*, theorem: str, components: int | None, beliefs: Sequence[object]) -> None:
    """Raise ArgumentError for what only a single public column has."""
    if theorem not in ("auto", "bounded") or components is not None:
        raise ArgumentError(
            "theorem",
            rule='"auto" or "bounded" for several public columns',
            got=repr(theorem),
            hint="Leave it out, or release one column.",
        )
    if any(not isinstance(entry, str) or entry not in ("fitted", "empirical") for entry in beliefs):
        raise ArgumentError(
            "beliefs",
            rule="left out for several public columns",
            got="others",
            hint="The bounded-column rule holds for every prior within the domain: give domain={column: (low, high)}.",
        )


def range_of(groups: Mapping[Secret, Counts], bounds: tuple[float, float] | None, /, *, radius: float) -> float:
    """Largest difference of two values: that of the public bounds, or else of the values seen."""
    if bounds:
        return subtract_up(bounds[1], bounds[0])
    return subtract_up(*reversed(extent_of(groups, radius=radius)))


def hidden_range(theorem: Theorem, beliefs: Iterable[Laws | Sequence[Laws]], bounds: Bounds | None, /) -> float | None:
    """Largest difference of two values that noise for the range of one column has to hide; None for another theorem.

    It is that of the bounds to which values are clipped, or else of all values that a belief holds possible: infinite
    where one is a Gaussian.
    """
    if theorem is not BOUNDED:
        return None
    if bounds is not None:
        return subtract_up(bounds[1], bounds[0])
    mappings = [laws for belief in beliefs for laws in ([belief] if isinstance(belief, Mapping) else belief)]
    ends = [law.ends for laws in mappings for law in laws.values()]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return subtract_up(high, low) if high < math.inf else math.inf


def _without_range() -> ArgumentError:
    return ArgumentError(
        "a belief beside noise for the range of a column",
        rule="of atoms: the noise hides the distance of any two values that are possible",
        got="a Gaussian, which no range holds",
        hint="Write the belief as Prior.empirical(values), or leave it out.",
    )


def _distance(laws: Laws | Sequence[Laws], *, pairs: Pairs) -> float:
    """Distance of the almost-sure coupling of these laws, infinite where there is none: docs/theory.md, section 9."""
    if not isinstance(laws, Mapping):
        return max(_distance(each, pairs=pairs) for each in laws)
    sets = {secret: law for secret, law in laws.items() if isinstance(law, LawSet)}
    if sets:
        named = list(combinations(sets, 2)) if pairs == "all" and len(sets) <= FEW_SECRETS else pairs
        if named == "all":
            least, most = (min(law.lows.min() for law in sets.values()), max(law.highs.max() for law in sets.values()))
            return subtract_up(float(most), float(least))
        return max(set_distance(sets[a], sets[b]) for a, b in named)
    priors = cast(Belief, laws)
    if all(prior.is_discrete for prior in priors.values()):
        return kantorovich_scale(priors, epsilon=1.0, pairs=pairs)
    try:
        return translation_scale(priors, epsilon=1.0, pairs=pairs)
    except PriorError:
        return math.inf
