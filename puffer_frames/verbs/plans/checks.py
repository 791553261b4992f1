"""Whether the parts of a plan from a file agree with one another: a plan is believed only where they do."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from puffer_frames.errors import PufferError
from puffer_frames.frames.roles import Roles
from puffer_frames.noise.channel import ChannelTable
from puffer_frames.noise.postprocessing import Replacement, check_bounds
from puffer_frames.numbers.arguments import check_count, check_word
from puffer_frames.numbers.records import refused
from puffer_frames.numbers.target import Target
from puffer_frames.papers.catalogue import BOUNDED, COUPLED, JOINT, check_theorem
from puffer_frames.priors.apart import pairs_within
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.pairs import check_pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.beliefs import ONLY, WORDS, check_components, words_of
from puffer_frames.scales.channels.adversaries import Adversary, adversaries
from puffer_frames.scales.channels.best import kept_statistics
from puffer_frames.scales.channels.cost import cost_matrix
from puffer_frames.scales.channels.exact import fault
from puffer_frames.scales.channels.measure import measured_loss
from puffer_frames.scales.channels.options import Channel
from puffer_frames.scales.channels.problem import Law, Problem
from puffer_frames.scales.channels.subsets import best_of_subsets
from puffer_frames.scales.choice import Choice, check_calibration
from puffer_frames.scales.joint.beliefs import joint_words
from puffer_frames.scales.joint.columns import check_weights
from puffer_frames.scales.learned import LearnedBelief, OtherTable
from puffer_frames.scales.repeats import MOST_REPEATS
from puffer_frames.scales.strata import StrataChoices, largest
from puffer_frames.verbs.plans.channel_plan import CONFIDENCE, ChannelPlan
from puffer_frames.verbs.plans.drift import agree, target_of
from puffer_frames.verbs.plans.plan import Plan
from puffer_frames.verbs.requests.checks import check_mechanism, check_merge
from puffer_frames.verbs.requests.request import Request, can_compose, check_given, check_repeats, is_coupled

_RANGED = ("any prior on the domain", "any prior within the observed range", "any prior on the levels of the table")
"""The beliefs of columns with noise for their ranges."""
_NEAR = 1e-9
"""What rounding may change of a number that is computed anew."""
_MOST_BOUNDED = 32
"""Of more levels the lower bound of the error, a linear program of seconds, is not computed anew."""
_CHECKSUM = re.compile(r"(?:[0-9a-f]{64})+")


def check_checksum(checksum: str, /) -> None:
    """Raise PlanFileError for what is no checksum of counts."""
    _require(_CHECKSUM.fullmatch(checksum) is not None, "a checksum that is none")


def check_plan(plan: Plan, /) -> None:
    """Raise PlanFileError unless the parts of a plan of noise agree."""
    request = plan.request
    _check_request(request)
    _check_secrets(plan)
    _require(set(plan.choices) == set(request.public), "scales of other columns than those that are released")
    for name, choice in plan.choices.items():
        _check_choice(choice, plan)
        _require(set(choice.empirical) == set(plan.secrets), "frequencies of other secrets")
        _check_bounds(name, choice, plan)
    if plan.is_joint:
        _check_joint(plan.choices, request)
    needed = any(choice.scale for choice in plan.choices.values()) or request.allow_zero_noise
    _require(needed, "no noise that was not allowed by name")
    _require(set(plan.levels) == set(request.labels), "levels of other columns than those of labels")
    for levels in plan.levels.values():
        _require(bool(levels) and len({(type(one), one) for one in levels}) == len(levels), "a level twice, or none")
    _check_remaps(plan)
    if plan.strata is None:
        _require(request.given is None, "no strata beside given columns")
    else:
        _require(request.given is not None, "strata without given columns")
        _check_strata(plan, plan.strata)


def check_channel_plan(plan: ChannelPlan, /) -> None:
    """Raise PlanFileError unless the parts of a plan of a channel agree, and the channel meets what it must.

    That is verified in integers. **Cost**: of the last step of `best_channel`, a second for 256 levels.
    """
    request, column, found = plan.request, plan.column, plan.channel
    _check_request(request)
    asked = request.mechanism
    same = _same_options(asked if isinstance(asked, Channel) else Channel(), plan.options)
    _require(same and (isinstance(asked, Channel) or asked == "auto"), "another mechanism")
    _require(request.given is None and request.unit is None, "given columns or units")
    several = len(request.public) > 1
    shaped = (len(level) if isinstance(level, tuple) else 1 for level in column.levels)
    _require(all(parts == len(request.public) for parts in shaped), "levels of another number of columns")
    whole = column.codes == {level: k for k, level in enumerate(column.levels)}
    _require(whole or not several, "levels of several columns that are merged")
    _check_secrets(plan)
    inputs = len(column.levels)
    typed = {(type(level), level) for level in column.levels}
    _require(len(typed) == inputs and tuple(found.inputs) == tuple(column.levels), "levels that are others, or twice")
    _require({(type(level), level) for level in found.outputs} <= typed, "an output that is no level")
    _require(found.weights.shape == (inputs, len(found.outputs)), "weights of another number of levels")
    _tried(lambda: ChannelTable(found.weights), "weights that are no probabilities")
    _check_inputs(plan)
    _require(bool(np.isfinite(column.cost).all() and (column.cost >= 0).all()), "costs that are no numbers")
    _require(column.cost.shape == (inputs, inputs), "costs of another shape")
    auto = not column.in_cells or plan.options.cost == "change"
    if isinstance(plan.options.cost, str) and auto:
        costs = cost_matrix(column.levels, plan.options.cost)
        _require(np.allclose(column.cost, costs, rtol=_NEAR, atol=0.0), "another cost of an error")
    _check_problem(plan)
    _check_laws(plan)
    _check_figures(plan)


def _check_problem(plan: ChannelPlan) -> None:
    """What the channel was made to meet follows from the request, the options and the counts."""
    column, found = plan.column, plan.channel
    problem = found.problem
    whole = _whole_problem(plan).only([column.levels.index(level) for level in found.outputs])
    for name in ("target", "pairs", "cap", "star"):
        _require(getattr(problem, name) == getattr(whole, name), "a channel that was made for something else")
    for name in ("pooled", "cost", "kept", "kept_means", "constant"):
        stored, own = getattr(problem, name), getattr(whole, name)
        same = stored is own if stored is None or own is None else stored.shape == own.shape
        _require(same, "a channel that was made for something else")
        _require(own is None or np.allclose(stored, own, rtol=_NEAR, atol=_NEAR), "other shares or costs")


def _whole_problem(plan: ChannelPlan) -> Problem:
    """What a channel into all levels must meet."""
    shares = plan.column.pooled / plan.column.pooled.sum()
    return Problem(
        beliefs=plan.channel.problem.beliefs,
        target=plan.request.target,
        pairs=plan.pairs,
        cap=plan.options.cap,
        pooled=shares,
        cost=plan.column.cost,
        **kept_statistics(plan.options, plan.column.levels, shares),
    )


def _check_figures(plan: ChannelPlan) -> None:
    """The errors and losses of the channel, computed anew."""
    found, column = plan.channel, plan.column
    error = found.problem.expected_cost(found.matrix)
    _require(math.isclose(found.expected_error, error, rel_tol=_NEAR, abs_tol=_NEAR), "an error that is another one")
    _require(not found.lower_bound or not (column.in_cells or column.is_partial), "a bound that is not known")
    _require(0 <= found.lower_bound <= error * (1 + _NEAR) + _NEAR, "a bound above the error")
    whole = all(law.counts for each in plan.beliefs.values() for laws in each.laws for law in laws.values())
    if found.lower_bound > 0 and len(column.levels) <= _MOST_BOUNDED and whole:
        problem, most = _whole_problem(plan), plan.options.outputs
        if plan.options.preserve == "marginal":
            problem, most = problem.only(np.flatnonzero(problem.pooled).tolist()), None
        _, _, bound = best_of_subsets(problem, most=most)
        _require(found.lower_bound <= bound * (1 + 1e-6) + _NEAR, "a bound that no program has")
    counts = {secret: column.counts[secret] for secret in plan.secrets}
    for stored, confidence in ((plan.observed, None), (plan.population, CONFIDENCE)):
        again = measured_loss(
            counts, found.weights, pairs=plan.pairs, epsilon=plan.request.target.epsilon, confidence=confidence
        )
        _require(agree(stored, again), "a loss that is another one")


def _same_options(one: Channel, other: Channel) -> bool:
    """Whether two channels are asked for the same; matrices of costs are not compared."""
    return replace(one, cost="auto") == replace(other, cost="auto")


def _check_laws(plan: ChannelPlan) -> None:
    """The laws of the beliefs, and that the channel meets what it must under them."""
    named, inputs = set(plan.secrets), len(plan.column.levels)
    known, others = _beliefs_of(plan)
    words = {name: each.words for name, each in known.items()} | others
    _require({name: each.words for name, each in plan.beliefs.items()} == words, "beliefs that were not asked for")
    for name, one in plan.beliefs.items():
        for laws in one.laws:
            _require(set(laws) == named, "laws of other secrets")
            for law in laws.values():
                counts = all(count >= 0 for count in law.counts) and (not law.counts or sum(law.counts) > 0)
                _require(counts and len(law.counts) in (0, inputs), "a law of other levels")
                _require(0 <= law.replaced <= 1 and 0 <= law.moved <= 1, "a share beyond 1")
        own = known.get(name)
        _require(one.confidence == (None if own is None else own.confidence), "another confidence")
        _require(own is None or (len(one.laws) == len(own.laws) and all(map(_same_laws, one.laws, own.laws))), "laws")
    kept = [laws for one in plan.beliefs.values() for laws in one.laws if all(law.counts for law in laws.values())]
    _require(plan.channel.problem.beliefs == tuple(kept), "laws of other beliefs")
    _require(fault(plan.channel.weights.tolist(), plan.channel.problem) is None, "a channel that loses more than asked")


def _beliefs_of(plan: ChannelPlan) -> tuple[dict[str, Adversary], dict[str, str]]:
    """The beliefs that follow from the counts, and the words of the others by name: a file has no laws of those."""
    entries, words = plan.request.beliefs, dict[str, str]()
    given = (Mapping, OtherTable, LevelCounts)
    known = [entry for entry in entries if not isinstance(entry, given)]
    found = adversaries(known, plan.column, plan.options, secrets=plan.secrets)
    for entry in entries:
        if isinstance(entry, given):
            title = "given" if isinstance(entry, Mapping) else "other table"
            number = 1 + sum(name.split(" ")[0] == title.split(" ")[0] for name in words)
            text = "side knowledge" if title == "given" else "the frequencies of another table"
            words[f"{title} {number}" if title == "given" or number > 1 else title] = text
    return found, words


def _same_laws(stored: Mapping[Secret, Law], own: Mapping[Secret, Law]) -> bool:
    """Whether these are the laws that follow from the counts; shares are floats, whose last digit may be another."""
    return all(
        law.counts == own[secret].counts
        and all(
            abs(float(getattr(law, name)) - float(getattr(own[secret], name))) < _NEAR for name in ("replaced", "moved")
        )
        for secret, law in stored.items()
    )


def _check_inputs(plan: ChannelPlan) -> None:
    """What belongs to each input."""
    column, inputs = plan.column, len(plan.column.levels)
    _require((column.edges is None) != (column.codes is None), "levels that are both labels and numbers, or neither")
    names, declared = plan.request.public, plan.request.declared
    learned = column.in_cells or plan.request.merge_rare is not None
    _require(column.public == (all(name in declared for name in names) and not learned), "levels declared, or learned")
    each = [set(declared.get(name, (level[k] for level in column.levels))) for k, name in enumerate(names)] if len(
        names
    ) > 1 else []
    _require(column.is_partial == (len(column.levels) < math.prod(map(len, each)) if each else False), "other tuples")
    if column.codes is not None:
        codes = list(column.codes.values())
        _require(all(0 <= code < inputs for code in codes), "a label without a level")
        _require(not column.in_cells, "labels in cells")
    if column.edges is not None:
        edges = column.edges
        rising = edges.shape == (inputs - 1,) and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        numbers = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in column.levels)
        _require(rising and numbers, "numbers whose order is none")
        own = list(column.levels[1:]) == edges.tolist()
        _require(own != column.in_cells, "edges of other numbers")
    _require(set(column.counts) == set(plan.rows_per_secret), "rows of other secrets")
    for secret, counts in column.counts.items():
        good = counts.shape == (inputs,) and bool((counts >= 0).all())
        _require(good and int(counts.sum()) == plan.rows_per_secret[secret], "rows that do not add up")


def _check_request(request: Request) -> None:
    """As when it was made; raises PlanFileError."""
    _tried(lambda: _check_words(request), "a request that is none")
    _require(request.noise.scale == 1.0, "a noise that has a scale already")
    _require((request.given is None) == (not request.given_columns), "given columns without their options")
    merged = request.given is not None and request.given.merge
    _require(not request.merged or merged, "strata that are merged without a word")
    _require(all(len(z) == len(request.given_columns) for z in request.merged), "merged strata of other columns")
    _require(set(request.labels) <= set(request.public), "columns of labels that are not released")
    _require(set(request.declared) <= set(request.public), "levels of columns that are not released")
    known = (Mapping, LearnedBelief, LevelCounts, JointCounts)
    _require(bool(request.beliefs), "no belief")
    for entry in request.beliefs:
        _require(entry in WORDS if isinstance(entry, str) else isinstance(entry, known), "a belief that is none")
    _require(any(entry != ONLY for entry in request.beliefs), "no belief")
    repeats, unit = request.repeats, request.unit
    assumed = "" if unit is None else unit.rows
    _require(repeats.assumed == assumed, "another assumption about the rows of a unit")
    ranged = request.theorem == BOUNDED.name and request.calibration == "theorem"
    _require(assumed != "any" or ranged, "rows of a unit that may be anything beside another theorem")
    _require(unit is not None or repeats.rows == 1, "rows of a unit without a unit")
    _require(not repeats.composed or can_compose(request, repeats), "rows of a unit whose loss is not known together")
    _require(unit is None or unit.most in (None, repeats.rows), "another number of rows of a unit")


def _check_words(request: Request) -> None:
    target = Target.of(request.target.epsilon, request.target.delta)
    request.noise.check(target)
    check_mechanism(request.mechanism)
    check_theorem(request.theorem, noise=request.noise)
    check_calibration(request.calibration)
    check_components(request.components, theorem="gmm")
    check_word(request.nulls, "nulls", ("raise", "drop", "level"))
    domain: dict[Any, Any] = dict(request.domain)
    check_bounds(domain, role="domain", columns=request.public, finite=True)
    check_weights(request.weights or None, columns=request.public)
    check_merge(request.merge_rare)
    for count in (request.repeats.rows, request.repeats.releases):
        check_count(count, "releases", at_least=1, at_most=MOST_REPEATS)
    request.repeats.factor(request.noise)
    check_given(request)
    check_repeats(request)
    roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
    roles.check_names((*request.secret, *request.public, *request.given_columns))


def _check_secrets(plan: Plan | ChannelPlan) -> None:
    """Secrets are values of a column, tuples of those of several, or of each by itself a tuple of column and value."""
    request, rows, pairs = plan.request, plan.rows_per_secret, plan.pairs
    _require(all(count >= 1 for count in rows.values()), "a secret without rows")
    several = len(request.secret)
    parts = 2 if request.apart else several
    shaped = all((len(secret) if isinstance(secret, tuple) else 1) == parts for secret in rows)
    _require(shaped and (several > 1 or not request.apart), "secrets of another number of columns")
    if request.apart:
        columns = dict.fromkeys(request.secret, 0)
        for key, count in rows.items():
            column = cast(tuple[Any, ...], key)[0]
            _require(column in columns, "secrets of another column")
            columns[column] += count
        _require(set(columns.values()) == {plan.rows}, "rows that do not add up")
        groups: dict[Secret, list[Secret]] = {key: [] for key in rows}
        _tried(lambda: _require(pairs_within(groups) == pairs, "pairs that are none"), "pairs that are none")
        _require(request.pairs == "all", "other pairs than were asked for")
        return
    _require(sum(rows.values()) == plan.rows, "rows that do not add up")
    _tried(lambda: _require(check_pairs(pairs, list(rows)) == pairs, "pairs that are none"), "pairs that are none")
    _require(request.pairs == pairs, "other pairs than were asked for")


def _check_choice(choice: Choice, plan: Plan) -> None:
    """A scale, what was measured at it, and the beliefs that were asked for."""
    needs, asked, delta = choice.scale_per_belief, target_of(plan), plan.request.target.delta
    if len(plan.choices) > 1 and not choice.theorem.whole_rows:
        asked = asked.share(len(plan.choices))
    _require(_is_scale(choice.scale) and all(map(_is_scale, needs.values())), "a scale that is none")
    _require(choice.published_scale is None or _is_scale(choice.published_scale), "a published scale that is none")
    _require(max(needs.values(), default=0.0) <= choice.scale, "a scale below that which a belief needs")
    _require(not needs or choice.binding_belief in needs, "a binding belief that is none")
    _require(bool(choice.verified), "a scale that nothing confirms")
    _require(all(found.confirms(asked) for found in choice.verified.values()), "a loss of more than was asked for")
    measured = [*choice.verified.values(), *(() if choice.observed is None else (choice.observed,))]
    known = all(math.isclose(found.epsilon, asked.epsilon, rel_tol=1e-6) for found in measured)
    _require(known, "a loss at another epsilon")
    pure = "by delta" not in choice.remarks and choice.theorem.whole_rows and delta
    _require(not pure or all(found.pure_loss.upper <= asked.epsilon for found in measured), "a loss by delta")
    _require(choice.none_needed or choice.scale > 0, "no noise where some is needed")
    _require(all(secret in plan.rows_per_secret for secret in choice.worst_pair), "a pair of other secrets")
    words, learned = _asked(choice, plan)
    _require(dict(choice.words) == words and set(choice.beliefs) == set(words), "beliefs that were not asked for")
    _require(choice.learned == learned, "beliefs that were not asked for")


def _asked(choice: Choice, plan: Plan) -> tuple[dict[str, str], tuple[LearnedBelief, ...]]:
    """The words of the beliefs of a choice, and those that are wider than one law or of another table."""
    request, theorem = plan.request, choice.theorem
    learned = tuple(entry for entry in request.beliefs if isinstance(entry, LearnedBelief))
    if theorem.whole_rows:
        kept = tuple(one for one in learned if choice.clips or not one.clips)
        return joint_words(request.beliefs), kept if choice.learned else ()
    ranged = theorem is BOUNDED and (len(plan.choices) > 1 or request.theorem != BOUNDED.name)
    if ranged and any(name in _RANGED for name in choice.words):
        return {name: name for name in choice.words if name in _RANGED}, ()
    if ranged:  # a column beside labels, or a stratum with noise for the whole range
        return {"empirical": "the observed frequencies"}, ()
    return words_of(request.beliefs, fitted="" if theorem.discrete else theorem.model)[0], learned


def _check_joint(choices: Mapping[str, Choice], request: Request) -> None:
    """Columns whose scales were found together say the same of them, but for their scales and their values."""
    first = next(iter(choices.values()))
    _require(first.theorem is (COUPLED if is_coupled(request) else JOINT), "another theorem")
    for one in choices.values():
        for name in ("theorem", "binding_belief", "worst_pair", "verified", "observed", "remarks", "words"):
            _require(getattr(one, name) == getattr(first, name), "columns that do not agree about their rows")
        plain = one.published_scale is None and one.published_loss is None and not one.adds_up and not one.wider
        _require(plain and one.none_needed == (not one.scale), "something that is not known of whole rows")
        _require(one.remarks <= ({"by delta"} if request.target.delta else set()), "another remark")


def _check_bounds(name: str, choice: Choice, plan: Plan) -> None:
    """The domain, and what values are clipped to."""
    bounds = choice.bounds
    _require(bounds is not None and -math.inf < bounds[0] <= bounds[1] < math.inf, "bounds that are none")
    assert bounds is not None
    domain = plan.request.domain.get(name)
    _require(domain is None or (domain == bounds and choice.clips), "other bounds than the domain")
    asked = [entry for entry in plan.request.beliefs if isinstance(entry, LearnedBelief)] * (plan.strata is None)
    wider = any(belief.clips for belief in (*choice.learned, *asked)) and name not in plan.levels
    _require(choice.clips or not wider, "values that are not clipped beside a belief that needs it")
    every = set(plan.secrets) == set(plan.rows_per_secret) and name not in plan.levels
    if every and domain is None:
        extent = plan.summaries[name].extent
        _require(plan.summaries[name].radius > 0 or bounds == extent, "bounds beyond those of the values")
    clips = domain is not None or (any(belief.clips for belief in asked) and name not in plan.levels)
    _require(choice.clips == clips or plan.strata is not None, "values that are clipped, or not")
    for prior in choice.empirical.values():
        inside = bounds[0] <= prior.means[0] + prior.radius and prior.means[-1] - prior.radius <= bounds[1]
        _require(inside or name in plan.levels, "observed values beyond the bounds")


def _check_remaps(plan: Plan) -> None:
    noisy = {name for name, scale in plan.scales.items() if scale}
    wanted = noisy if plan.request.mechanism == "remap" else set()
    _require(set(plan.remaps) == wanted, "other columns whose noisy values are replaced")
    for remap in plan.remaps.values():
        _require(_is_step(remap.step), "noisy values that are replaced by none")
        _require(0 <= remap.expected_error < math.inf and 0 <= remap.unchanged <= 1, "an error that is none")
        _require(remap.values_before >= remap.values.size, "fewer values than can be released")


def _is_step(step: Replacement) -> bool:
    values, thresholds = step.values, step.thresholds
    shaped = values.ndim == 1 and values.size > 0 and thresholds.shape == (values.size - 1,)
    finite = bool(np.isfinite(values).all() and np.isfinite(thresholds).all())
    return shaped and finite and bool((np.diff(values) > 0).all() and (np.diff(thresholds) >= 0).all())


def _check_strata(plan: Plan, strata: StrataChoices) -> None:
    request = plan.request
    assert request.given is not None
    _require(strata.given == request.given_columns, "strata of other columns")
    _require(strata.one_scale == (request.given.scale == "one"), "another number of scales")
    _require(strata.minimum == request.given.minimum, "another least number of rows")
    known = set(strata.choices)
    _require(bool(known) and set(strata.rows) == known, "rows of other strata")
    _require({*strata.small, *strata.unbound} <= known, "a stratum without a scale")
    _require(all(len(z) == len(strata.given) for z in known), "strata of other columns")
    _require(all(rows >= 1 for rows in strata.rows.values()), "a stratum without rows")
    _require(sum(strata.rows.values()) == plan.rows, "rows that do not add up")
    _require(strata.alone >= 0 and 0 <= strata.lacking <= len(known), "numbers of strata that are none")
    exact = []
    for z, choices in strata.choices.items():
        _require(set(choices) == set(plan.choices), "scales of other columns than those that are released")
        for name, choice in choices.items():
            _check_choice(choice, plan)
            _require(choice.scale <= plan.choices[name].scale, "a scale of a stratum above the largest one")
            _require(not strata.one_scale or choice.scale == plan.choices[name].scale, "several scales")
        exact += [] if z in strata.small or (z in strata.unbound and not strata.one_scale) else [choices]
        if z in strata.small:
            _check_ranges(choices, plan)
    ranged = request.theorem == BOUNDED.name and (len(request.public) > 1 or request.calibration == "theorem")
    for name, common in plan.choices.items():
        _require(not common.adds_up or ranged, "epsilons that add up in strata")
        _require(not common.wider and not common.remarks - {"by delta"}, "what is not known of strata")
        _require(not common.none_needed or not common.scale or not exact, "no noise needed where there is some")
        if exact:
            own = largest(choices[name] for choices in exact)
            same = own.verified == common.verified and own.observed == common.observed
            _require(same and common.published_scale is None, "losses that are not the largest of any stratum")
    if not exact:
        _check_ranges(plan.choices, plan)


def _check_ranges(choices: Mapping[str, Choice], plan: Plan) -> None:
    """That noise is enough for the whole range of every column."""
    request, asked = plan.request, target_of(plan).share(len(choices))
    factor = request.repeats.factor(request.noise)
    for name, choice in choices.items():
        if name in plan.levels:
            _require(choice.scale * asked.epsilon >= factor * (1 - _NEAR) or not choice.scale, "too few changed labels")
            continue
        summary = plan.summaries[name]
        low, high = request.domain.get(name) or summary.extent
        least = request.noise.hide(high - low, asked) * factor
        _require(choice.theorem is BOUNDED, "noise that is not for the whole range")
        _require(choice.scale >= least * (1 - _NEAR), "noise that is not for the whole range")
        published = choice.published_scale
        _require(published is not None and math.isclose(published, least, rel_tol=1e-6), "another published scale")


def _is_scale(number: float) -> bool:
    return 0 <= number < math.inf


def _require(good: bool, got: str) -> None:
    if not good:
        raise refused(got)


def _tried(check: Any, got: str) -> None:
    try:
        check()
    except (PufferError, ArithmeticError, LookupError, TypeError, ValueError):
        raise refused(got) from None
