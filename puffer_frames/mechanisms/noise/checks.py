"""Whether the parts of a plan from a file agree with one another: a plan is believed only where they do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from puffer_frames.mechanisms.file_checks import check_request, check_secrets, require
from puffer_frames.mechanisms.noise.drift import target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit, factor_of
from puffer_frames.mechanisms.request import Request, is_coupled, is_joint
from puffer_frames.noise.postprocessing import Replacement
from puffer_frames.papers.catalogue import BOUNDED, COUPLED, JOINT, KANTOROVICH, Theorem
from puffer_frames.scales.beliefs import words_of
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.joint.coupled import joint_words
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.strata import StrataChoices, largest

F = TypeVar("F", bound=NoiseFit)
_RANGED = ("any prior on the domain", "any prior within the observed range", "any prior on the levels of the table")
"""The beliefs of columns with noise for their ranges."""
_NEAR = 1e-9
"""What rounding may change of a number that is computed anew."""
_RAISED = 1.01
"""A scale is above the largest need by what confirming it under every belief adds, which is far less than this."""


def check_plan(plan: NoiseFit, /) -> None:
    """Raise PlanFileError unless the parts of a plan of noise agree."""
    request = plan.request
    check_request(request)
    check_secrets(plan)
    require(set(plan.choices) == set(request.public), "scales of other columns than those that are released")
    for name, choice in plan.choices.items():
        counted = {secret: prior.levels[1] for secret, prior in choice.empirical.items()}
        require(all(plan.rows_per_secret.get(s) == rows for s, rows in counted.items()), "rows that do not add up")
        _check_choice(choice, plan)
        labelled = name in plan.levels
        plain = all(not prior.radius and prior.is_discrete for prior in choice.empirical.values())
        require(plain or not labelled, "labels in cells")
        require(set(choice.empirical) == set(plan.secrets), "frequencies of other secrets")
        _check_bounds(name, choice, plan)
    if plan.is_joint:
        _check_joint(plan)
    needed = any(choice.scale for choice in plan.choices.values()) or request.allow_zero_noise
    require(needed, "no noise that was not allowed by name")
    require(set(plan.levels) == set(request.labels), "levels of other columns than those of labels")
    for levels in plan.levels.values():
        require(bool(levels) and len({(type(one), one) for one in levels}) == len(levels), "a level twice, or none")
    _check_remaps(plan)
    if plan.strata is None:
        require(request.given is None, "no strata beside given columns")
    else:
        require(request.given is not None, "strata without given columns")
        _check_strata(plan, plan.strata)


def with_own_words(plan: F, /) -> F:
    """A plan from a file whose beliefs are called what they are called here, not what the file says."""
    choices = {name: replace(choice, words=_asked(choice, plan)[0]) for name, choice in plan.choices.items()}
    return replace(plan, choices=choices)


def _check_choice(choice: Choice, plan: NoiseFit) -> None:
    """A scale, what was measured at it, and the beliefs that were asked for."""
    needs, asked, delta = choice.scale_per_belief, target_of(plan), plan.request.target.delta
    if len(plan.choices) > 1 and not choice.theorem.whole_rows:
        asked = asked.share(len(plan.choices))
    require(_is_scale(choice.scale) and all(map(_is_scale, needs.values())), "a scale that is none")
    require(choice.published_scale is None or _is_scale(choice.published_scale), "a published scale that is none")
    require(max(needs.values(), default=0.0) <= choice.scale, "a scale below that which a belief needs")
    if needs or choice.theorem is not BOUNDED:  # whose scales files of labels once had no need for
        largest_need = needs.get(choice.binding_belief, -1.0)
        require(largest_need == max(needs.values(), default=0.0), "a binding belief that is none")
        alone = plan.strata is None and plan.calibration == "exact"  # else it may be raised to that of other strata
        require(not alone or choice.scale <= largest_need * _RAISED, "a scale that no belief needs")
    require(bool(choice.verified), "a scale that nothing confirms")
    require(all(found.confirms(asked) for found in choice.verified.values()), "a loss of more than was asked for")
    measured = [*choice.verified.values(), *(() if choice.observed is None else (choice.observed,))]
    known = all(math.isclose(found.epsilon, asked.epsilon, rel_tol=1e-6) for found in measured)
    require(known, "a loss at another epsilon")
    pure = "by delta" not in choice.remarks and choice.theorem.whole_rows and delta
    require(not pure or all(found.pure_loss.upper <= asked.epsilon for found in measured), "a loss by delta")
    require(_can_prove(choice.theorem, plan.request), "another theorem than was asked for")
    require(choice.none_needed or choice.scale > 0, "no noise where some is needed")
    require(all(secret in plan.rows_per_secret for secret in choice.worst_pair), "a pair of other secrets")
    words, learned = _asked(choice, plan)
    require(set(choice.words) == set(choice.beliefs) == set(words), "beliefs that were not asked for")
    require(choice.learned == learned, "beliefs that were not asked for")
    _check_fit(choice, plan)


def _can_prove(theorem: Theorem, request: Request) -> bool:
    """Whether a scale of this request can rest on a theorem; what else it needs to be so, its rows or counts tell."""
    if is_joint(request):  # but for strata of few rows, and for very many secrets
        return theorem is BOUNDED or theorem is (COUPLED if is_coupled(request) else JOINT)
    return theorem is BOUNDED or not (len(request.public) > 1 or request.theorem == BOUNDED.name or theorem.whole_rows)


def _check_fit(choice: Choice, plan: NoiseFit) -> None:
    """A fitted model that is left out, or that decides the noise, is one that the request can lead to."""
    request, remarks = plan.request, choice.remarks & {"wide fit", "refuted fit"}
    fits = len(plan.choices) == 1 and request.calibration == "exact" and "fitted" in request.beliefs
    if choice.left_out is not None:
        auto = request.theorem == "auto" and choice.theorem is KANTOROVICH and "empirical" in choice.words
        require(fits and auto and not remarks and choice.left_out > 0, "a fitted model that is left out where none is")
    decides = fits and "fitted" in choice.words and not choice.theorem.discrete
    require(not remarks or (decides and "wide fit" in remarks), "a fitted model that decides where none does")


def _asked(choice: Choice, plan: NoiseFit) -> tuple[dict[str, str], tuple[LearnedBelief, ...]]:
    """The words of the beliefs of a choice, and those that are wider than one law or of another table."""
    request, theorem = plan.request, choice.theorem
    learned = tuple(entry for entry in request.beliefs if isinstance(entry, LearnedBelief))
    if theorem.whole_rows:
        kept = tuple(one for one in learned if choice.clips or not one.clips)
        return joint_words(request.beliefs), kept if choice.learned else ()
    ranged = theorem is BOUNDED and len(plan.choices) > 1
    if ranged and any(name in _RANGED for name in choice.words):
        return {name: name for name in choice.words if name in _RANGED}, ()
    if ranged:  # a column beside labels
        return {"empirical": "the observed frequencies"}, ()
    return words_of(request.beliefs, fitted="" if theorem.discrete else theorem.model)[0], learned


def _check_joint(plan: NoiseFit) -> None:
    """Columns whose scales were found together say the same of them, but for their scales and their values."""
    choices, request = plan.choices, plan.request
    first = next(iter(choices.values()))
    require(first.theorem is (COUPLED if is_coupled(request) else JOINT), "another theorem")
    alike = ["theorem", "binding_belief", "verified", "observed", "remarks", "words"]
    if plan.strata is None:  # else each column has the pair of the stratum with its largest scale
        alike.append("worst_pair")
    for one in choices.values():
        for name in alike:
            require(getattr(one, name) == getattr(first, name), "columns that do not agree about their rows")
        plain = one.published_scale is None and one.published_loss is None and not one.adds_up and not one.wider
        require(plain and one.none_needed == (not one.scale), "something that is not known of whole rows")
        require(one.remarks <= ({"by delta"} if request.target.delta else set()), "another remark")


def _check_bounds(name: str, choice: Choice, plan: NoiseFit) -> None:
    """The domain, and what values are clipped to."""
    bounds = choice.bounds
    require(bounds is not None and -math.inf < bounds[0] <= bounds[1] < math.inf, "bounds that are none")
    assert bounds is not None
    domain = plan.request.domain.get(name)
    require(domain is None or (domain == bounds and choice.clips), "other bounds than the domain")
    asked = [entry for entry in plan.request.beliefs if isinstance(entry, LearnedBelief)] * (plan.strata is None)
    wider = any(belief.clips for belief in (*choice.learned, *asked)) and name not in plan.levels
    require(choice.clips or not wider, "values that are not clipped beside a belief that needs it")
    every = set(plan.secrets) == set(plan.rows_per_secret) and name not in plan.levels
    if every and domain is None:
        extent = plan.summaries[name].extent
        require(plan.summaries[name].radius > 0 or bounds == extent, "bounds beyond those of the values")
    widened = any(belief.clips for belief in asked)
    if plan.strata is not None:  # beliefs that are no words are about values within the range of the table
        widened = not all(isinstance(one, str) for one in plan.request.beliefs)
    clips = domain is not None or (widened and name not in plan.levels)
    require(choice.clips == clips, "values that are clipped, or not")
    if name in plan.levels:
        plain = all(not prior.radius for prior in choice.empirical.values())
        places = {place for prior in choice.empirical.values() for place in prior.means.tolist()}
        within = places <= set(range(len(plan.levels[name])))
        require(plain and within and choice.bounds == (0.0, 1.0), "labels that are something else")
    for prior in choice.empirical.values():
        inside = bounds[0] <= prior.means[0] + prior.radius and prior.means[-1] - prior.radius <= bounds[1]
        require(inside or name in plan.levels, "observed values beyond the bounds")


def _check_remaps(plan: NoiseFit) -> None:
    noisy = {name for name, scale in plan.scales.items() if scale}
    wanted = noisy if plan.request.mechanism == "remap" else set()
    require(set(plan.remaps) == wanted, "other columns whose noisy values are replaced")
    whole = set(plan.secrets) == set(plan.rows_per_secret)
    for name, remap in plan.remaps.items():
        require(_is_step(remap.step), "noisy values that are replaced by none")
        noise = plan.noise(plan.scales[name])
        if whole and noise is not None:
            require(remap.is_that_of(plan.summaries[name], noise), "noisy values that are replaced by others")
        require(0 <= remap.expected_error < math.inf and 0 <= remap.unchanged <= 1, "an error that is none")
        require(remap.values_before >= remap.values.size, "fewer values than can be released")


def _is_step(step: Replacement) -> bool:
    values, thresholds = step.values, step.thresholds
    shaped = values.ndim == 1 and values.size > 0 and thresholds.shape == (values.size - 1,)
    finite = bool(np.isfinite(values).all() and np.isfinite(thresholds).all())
    return shaped and finite and bool((np.diff(values) > 0).all() and (np.diff(thresholds) >= 0).all())


def _check_strata(plan: NoiseFit, strata: StrataChoices) -> None:
    request = plan.request
    assert request.given is not None
    require(strata.given == request.given_columns, "strata of other columns")
    require(strata.one_scale == (request.given.scale == "one"), "another number of scales")
    require(strata.minimum == request.given.minimum, "another least number of rows")
    known = set(strata.choices)
    require(bool(known) and set(strata.rows) == known, "rows of other strata")
    require({*strata.small, *strata.unbound} <= known, "a stratum without a scale")
    require(all(len(z) == len(strata.given) for z in known), "strata of other columns")
    require(all(rows >= 1 for rows in strata.rows.values()), "a stratum without rows")
    require(sum(strata.rows.values()) == plan.rows, "rows that do not add up")
    require(set(strata.refuted) <= set(plan.choices), "models of other columns")
    require(strata.alone >= 0 and 0 <= strata.lacking <= len(known), "numbers of strata that are none")
    require(set(strata.constants) in (set(), known - {*strata.small, *strata.unbound}), "constants of other strata")
    for constants in strata.constants.values():
        good = set(constants) == set(plan.choices) and all(map(_is_scale, constants.values()))
        require(good, "constants of other columns")
    exact = []
    for z, choices in sorted(strata.choices.items(), key=lambda item: -strata.rows[item[0]]):  # as they were found
        require(set(choices) == set(plan.choices), "scales of other columns than those that are released")
        alike = z in strata.small or len({choice.theorem.name for choice in choices.values()}) == 1
        require(alike, "columns that do not agree about their rows")
        for name, choice in choices.items():
            _check_choice(choice, plan)
            require(choice.scale <= plan.choices[name].scale, "a scale of a stratum above the largest one")
            require(not strata.one_scale or choice.scale == plan.choices[name].scale, "several scales")
        if request.calibration == "theorem" and z not in strata.unbound:
            published = [choice.published_scale for choice in choices.values() if choice.published_scale is not None]
            scales = [choice.scale for choice in choices.values() if choice.published_scale is not None]
            enough = all(a >= b * (1 - _NEAR) for a, b in zip(scales, published, strict=True))
            require(enough, "a smaller scale than the published one")
        exact += [] if z in strata.small or (z in strata.unbound and not strata.one_scale) else [choices]
        if z in strata.small:
            _check_ranges(choices, plan)
    bound = exact or [strata.choices[z] for z in strata.small]
    ranged = request.theorem == BOUNDED.name and (len(request.public) > 1 or request.calibration == "theorem")
    for name, common in plan.choices.items():
        largest_scale = max(choices[name].scale for choices in strata.choices.values())
        require(common.scale == largest_scale, "a scale that no stratum has")
        require(not common.adds_up or ranged, "epsilons that add up in strata")
        require(
            not common.wider and not common.remarks - {"by delta", "wide fit", "refuted fit"},
            "what is not known of strata",
        )
        free = bool(exact) and request.calibration == "theorem"
        require(not common.none_needed or not common.scale or free, "no noise needed where there is some")
        if bound:
            own = largest(choices[name] for choices in bound)
            same = own.verified == common.verified and own.observed == common.observed and own.theorem is common.theorem
            same = same and own.remarks == common.remarks and own.left_out == common.left_out
            same = same and (common.published_scale is None or not exact)
            require(same, "losses that are not the largest of any stratum")
            judged = (common.published_scale, common.published_loss)
            of_strata = [(each[name].published_scale, each[name].published_loss) for each in bound]
            require(judged == (None, None) or judged in of_strata, "a published scale that no stratum has")
    if not bound:
        _check_ranges(plan.choices, plan)


def _check_ranges(choices: Mapping[str, Choice], plan: NoiseFit) -> None:
    """Check that the noise is enough for the whole range of every column."""
    request, asked = plan.request, target_of(plan).share(len(choices))
    for name, choice in choices.items():
        factor = factor_of(request, name)
        if name in plan.levels:
            require(choice.scale * asked.epsilon >= factor * (1 - _NEAR) or not choice.scale, "too few changed labels")
            continue
        summary = plan.summaries[name]
        low, high = plan.clipped.get(name) or summary.extent
        least = request.noise.hide(high - low, asked) * factor
        require(choice.theorem is BOUNDED, "noise that is not for the whole range")
        judged = choice.published_loss
        if judged is not None:
            at = math.isclose(judged.epsilon, asked.epsilon, rel_tol=1e-6)
            sound = at and judged.loss(delta=asked.delta).lower <= asked.most * (1 + 1e-6)  # the grid is not paid for
            require(sound, "a published scale that is not private")
        require(choice.scale >= least * (1 - _NEAR), "noise that is not for the whole range")
        published = choice.published_scale
        require(published is not None and math.isclose(published, least, rel_tol=1e-6), "another published scale")


def _is_scale(number: float) -> bool:
    return 0 <= number < math.inf
