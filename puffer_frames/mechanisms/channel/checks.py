"""Whether the parts of a plan of a channel from a file agree with one another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel.best import best_of_subsets, placed_laws, whole_problem
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit
from puffer_frames.mechanisms.channel.measure import Adversary, adversaries, loss_of_channel
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import Law, Problem, cost_matrix
from puffer_frames.mechanisms.channel.program import fault
from puffer_frames.mechanisms.file_checks import agree, check_request, check_secrets, require, tried
from puffer_frames.noise.channel import TOTAL_BITS, ChannelTable
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Level, LevelCounts
from puffer_frames.scales.learned import OtherTable

F = TypeVar("F", bound=ChannelFit)
_NEAR = 1e-9
"""What rounding may change of a number that is computed anew."""
_MOST_BOUNDED = 32
"""Beyond this many levels the lower bound of the error, a linear program of seconds, is not computed anew."""


def check_channel_plan(plan: ChannelFit, /) -> None:
    """Raise PlanFileError unless the parts of a plan of a channel agree, and the channel meets what it must.

    That is verified in integers. **Cost**: of the last step of `best_channel`, a second for 256 levels.
    """
    request, column, channel = plan.request, plan.column, plan.channel
    check_request(request)
    mechanism = request.mechanism
    options = mechanism if isinstance(mechanism, Channel) else Channel()
    same = replace(options, cost="auto") == replace(plan.options, cost="auto")  # matrices of costs have no one answer
    require(same and (isinstance(mechanism, Channel) or mechanism == "auto"), "another mechanism")
    require(request.given is None and request.unit is None, "given columns or units")
    several = len(request.public) > 1
    shaped = (len(level) if isinstance(level, tuple) else 1 for level in column.levels)
    require(all(parts == len(request.public) for parts in shaped), "levels of another number of columns")
    whole = column.codes == {level: k for k, level in enumerate(column.levels)}
    require(whole or not several, "levels of several columns that are merged")
    check_secrets(plan)
    inputs = len(column.levels)
    typed = {(type(level), level) for level in column.levels}
    require(len(typed) == inputs and tuple(channel.inputs) == tuple(column.levels), "levels that are others, or twice")
    require({(type(level), level) for level in channel.outputs} <= typed, "an output that is no level")
    rows = inputs * (len(column.counts) if plan.options.sees_secret else 1)
    require(channel.weights.shape == (rows, len(channel.outputs)), "weights of another number of levels")
    tried(lambda: ChannelTable(channel.weights), "weights that are no probabilities")
    _check_inputs(plan)
    require(bool(np.isfinite(column.cost).all() and (column.cost >= 0).all()), "costs that are no numbers")
    require(column.cost.shape == (inputs, inputs), "costs of another shape")
    given = plan.options.cost
    if not isinstance(given, str):
        require(np.array_equal(np.asarray(given), column.cost), "another cost of an error")
    elif not column.in_cells or given == "change":
        costs = cost_matrix(column.levels, given)
        require(np.allclose(column.cost, costs, rtol=_NEAR, atol=0.0), "another cost of an error")
    _check_costs_by_secret(plan)
    _check_problem(plan)
    _check_laws(plan)
    _check_figures(plan)


def with_own_words(plan: F, /) -> F:
    """A plan from a file whose beliefs are called what they are called here, not what the file says."""
    known, others = _beliefs_of(plan)
    words = {name: each.words for name, each in known.items()} | others
    return replace(plan, beliefs={name: replace(each, words=words[name]) for name, each in plan.beliefs.items()})


def _check_costs_by_secret(plan: ChannelFit) -> None:
    """They are there where they are used, and the cost of all rows is their mean."""
    column, cost = plan.column, plan.options.cost
    mean = isinstance(cost, str) and cost in ("auto", "absolute")
    require((column.costs is not None) == (column.in_cells and plan.options.sees_secret and mean), "costs by secret")
    if column.costs is None:
        return
    require(set(column.costs) == set(column.counts), "costs of other secrets")
    shapes = (each.shape == column.cost.shape and (each >= 0).all() for each in column.costs.values())
    require(all(shapes), "costs by secret of another shape")
    total = sum(column.counts[secret][:, None] * each for secret, each in column.costs.items())
    require(np.allclose(total, column.pooled[:, None] * column.cost, rtol=_NEAR), "another cost of an error")


def _check_problem(plan: ChannelFit) -> None:
    """What the channel was made to meet follows from the request, the options and the counts."""
    column, found = plan.column, plan.channel
    problem = found.problem
    whole = _whole_problem(plan).only([column.levels.index(level) for level in found.outputs])
    for name in ("target", "pairs", "cap", "star", "groups", "reader_cap"):
        require(getattr(problem, name) == getattr(whole, name), "a channel that was made for something else")
    for stored, own in ((problem.groups or {}, whole.groups or {}), (problem.times or {}, whole.times or {})):
        require(list(stored) == list(own), "secrets in another order")  # which is that of their rows of weights
    near = (math.isclose(problem.times_of(s), whole.times_of(s), rel_tol=_NEAR) for s in problem.groups or ())
    require(all(near), "other weights of secrets")
    for name in ("pooled", "cost", "kept", "kept_means", "constant"):
        stored, own = getattr(problem, name), getattr(whole, name)
        same = stored is own if stored is None or own is None else stored.shape == own.shape
        require(same, "a channel that was made for something else")
        require(own is None or np.allclose(stored, own, rtol=_NEAR, atol=_NEAR), "other shares or costs")


def _whole_problem(plan: ChannelFit) -> Problem:
    """What a channel into all levels must meet; the laws from the file are those of the inputs already."""
    problem = whole_problem((), plan.column, target=plan.request.target, pairs=plan.pairs, options=plan.options)
    return replace(problem, beliefs=plan.channel.problem.beliefs)


def _check_figures(plan: ChannelFit) -> None:
    """The errors and losses of the channel, computed anew."""
    found, column = plan.channel, plan.column
    error = found.problem.expected_cost(np.ldexp(found.weights.astype(np.float64), -TOTAL_BITS))
    require(math.isclose(found.expected_error, error, rel_tol=_NEAR, abs_tol=_NEAR), "an error that is another one")
    require(not found.lower_bound or not (column.in_cells or column.is_partial), "a bound that is not known")
    require(0 <= found.lower_bound <= error * (1 + _NEAR) + _NEAR, "a bound above the error")
    whole = all(law.counts for each in plan.beliefs.values() for laws in each.laws for law in laws.values())
    if found.lower_bound > 0 and len(column.levels) <= _MOST_BOUNDED and whole:
        problem, most = _whole_problem(plan), plan.options.outputs
        if plan.options.preserve == "marginal":
            problem, most = problem.only(np.flatnonzero(plan.column.pooled).tolist()), None
        _, _, bound = best_of_subsets(problem, most=most)
        require(found.lower_bound <= bound * (1 + 1e-6) + _NEAR, "a bound that no program has")
    counts = {secret: column.counts[secret] for secret in plan.secrets}
    for stored, confidence in ((plan.observed, None), (plan.population, CONFIDENCE)):
        again = loss_of_channel(
            counts, found, pairs=plan.pairs, epsilon=plan.request.target.epsilon, confidence=confidence
        )
        ends = zip(_ends(stored), _ends(again), strict=True)
        same = all(math.isclose(*pair, rel_tol=1e-6, abs_tol=_NEAR) for pair in ends)
        require(same and agree(stored, again), "a loss that is another one")


def _ends(found: Verification) -> tuple[float, ...]:
    """Both ends of both losses."""
    return tuple(end for loss in (found.pure_loss, found.hockey_stick) for end in (loss.lower, loss.upper))


def _check_laws(plan: ChannelFit) -> None:
    """The laws of the beliefs, and that the channel meets what it must under them."""
    named, inputs = set(plan.secrets), len(plan.column.levels)
    known, others = _beliefs_of(plan)
    require(set(plan.beliefs) == known.keys() | others.keys(), "beliefs that were not asked for")
    for name, one in plan.beliefs.items():
        for laws in one.laws:
            require(set(laws) == named, "laws of other secrets")
            for law in laws.values():
                counts = all(count >= 0 for count in law.counts) and (not law.counts or sum(law.counts) > 0)
                require(counts and len(law.counts) in (0, inputs), "a law of other levels")
                require(0 <= law.replaced <= 1 and 0 <= law.moved <= 1, "a share beyond 1")
        own = known.get(name)
        require(one.confidence == (None if own is None else own.confidence), "another confidence")
        require(own is None or (len(one.laws) == len(own.laws) and all(map(_same_laws, one.laws, own.laws))), "laws")
    kept = [laws for one in plan.beliefs.values() for laws in one.laws if all(law.counts for law in laws.values())]
    placed = tuple(placed_laws(laws, plan.channel.secrets) for laws in kept)
    require(plan.channel.problem.beliefs == placed, "laws of other beliefs")
    require(fault(plan.channel.weights.tolist(), plan.channel.problem) is None, "a channel that loses more than asked")


def _beliefs_of(plan: ChannelFit) -> tuple[dict[str, Adversary], dict[str, str]]:
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


def _check_inputs(plan: ChannelFit) -> None:
    """What belongs to each input."""
    column, inputs = plan.column, len(plan.column.levels)
    require((column.edges is None) != (column.codes is None), "levels that are both labels and numbers, or neither")
    names, declared = plan.request.public, plan.request.declared
    learned = column.in_cells or plan.request.merge_rare is not None
    require(column.public == (all(name in declared for name in names) and not learned), "levels declared, or learned")
    every = 0
    if len(names) > 1:
        tuples = [cast(tuple[Level, ...], level) for level in column.levels]
        every = math.prod(len(set(declared.get(n, (level[k] for level in tuples)))) for k, n in enumerate(names))
    require(column.is_partial == (inputs < every), "other tuples")
    if column.codes is not None:
        codes = list(column.codes.values())
        require(all(0 <= code < inputs for code in codes), "a label without a level")
        own = {level: k for k, level in enumerate(column.levels)}
        merged = plan.request.merge_rare is not None
        require(merged or column.codes == own, "labels that are merged without a word")
        require(not column.in_cells, "labels in cells")
    if column.edges is not None:
        edges = column.edges
        rising = edges.shape == (inputs - 1,) and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        numbers = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in column.levels)
        require(rising and numbers, "numbers whose order is none")
        own = list(column.levels[1:]) == edges.tolist()
        require(own != column.in_cells, "edges of other numbers")
    require(set(column.counts) == set(plan.rows_per_secret), "rows of other secrets")
    for secret, counts in column.counts.items():
        good = counts.shape == (inputs,) and bool((counts >= 0).all())
        require(good and int(counts.sum()) == plan.rows_per_secret[secret], "rows that do not add up")
