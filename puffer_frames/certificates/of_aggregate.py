"""The sentences of sums, counts and means over units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.of_release import weak
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import plain, shown
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import LearnedBelief, Population

_NEAR = 1e-6
"""Bounds of a loss that are as near as this are called exact."""
_LAWS = {
    "empirical": "the observed frequencies of its rows",
    "gaussian": "a Gaussian with the moments of its rows",
}


_MOST_NAMED = 8
"""The most units that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFacts:
    """What the sentences of an aggregate depend on."""

    choices: Mapping[str, Choice]
    """The scale and why, per statistic."""
    target: Target
    noise: NoiseFamily
    present: bool
    """Whether the presence of listed units alone is protected."""
    listed: bool
    """Whether pairs are listed."""
    by_law: bool
    """Whether what is protected has the law of a unit's rows."""
    laws: str | LearnedBelief | None
    """The word of the laws, or what they were learned as; None where they were given."""
    impossible: bool
    """Whether given laws do not allow what some unit adds."""
    added: bool
    """Whether a unit adds all its rows."""
    unit: bool
    """Whether units have a column."""
    grouped: bool
    """Whether there are groups."""
    integer: bool
    divisor: float | None
    quotient: bool
    """Whether a mean is released without a public divisor."""
    nulls: str
    domain: Bounds | None
    seeded: bool
    """Whether the noise came from a seed."""

    @property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        return Facts(seeded=self.seeded and bool(self.noisy), dropped=self.nulls == "drop")

    @property
    def noisy(self) -> list[str]:
        """Statistics with noise."""
        return [name for name, choice in self.choices.items() if choice.scale]

    @property
    def summed(self) -> bool:
        """Whether a sum is released."""
        return "sum" in self.choices


def aggregate_subject(
    protect: str,
    /,
    *,
    unit: str | None,
    value: str | None,
    asked: Sequence[str],
    listed: Sequence[Sequence[object]],
    domain: Bounds | None,
) -> str:
    """What of a unit is protected, in which answers."""
    where = f"; in the {' and the '.join(asked)}" + (f" of {shown(value)}" if value is not None else "")
    who = f"each {shown(unit)}" if unit is not None else "each row"
    values = (
        "the declared pairs of values"
        if listed or domain is None
        else f"any two values of [{plain(domain[0])}, {plain(domain[1])}]"
    )
    kinds = {
        "value": f"the value that {who} reports, {values}",
        "value-or-absence": f"whether {who} reports a {'declared ' * bool(listed)}value or is absent",
        "presence": f"whether {who} is in the table at all"
        if not listed
        else f"whether each of these units of {shown(str(unit))} is in the table at all: {_named(listed)}",
        "replacement": f"which of two laws {who} has, {'the listed pairs' if listed else 'every pair'} of them",
    }
    return kinds[protect] + where


def aggregate_statements(facts: AggregateFacts, /) -> tuple[Statement, ...]:
    """What the guarantee of an aggregate rests on and leaves out."""
    parts = (_assumed, _losses, _composition, _left_out)
    return tuple(statement for part in parts for statement in part(facts))


def _assumed(facts: AggregateFacts) -> Iterator[Statement]:
    if facts.stated.seeded:
        yield say("warning-seed")
    yield say("units")
    if facts.summed and facts.by_law and facts.laws is None:
        yield say("given-law")
    elif facts.summed:
        yield say(("all-rows" if facts.by_law else "equal-rows") if facts.added else "draw")
    if "count" in facts.choices:
        yield say("counted", what="rows" if facts.added else "units, not of rows")
    if facts.summed and facts.by_law and facts.laws is not None:
        yield say("law", law=_law(facts))
    if facts.summed and facts.by_law and isinstance(facts.laws, Population):
        yield say("unit-rows")
        yield say("population-units", confidence=f"{100 * facts.laws.confidence:.6g}")
    if facts.grouped:
        yield say("groups")
    if facts.divisor is not None:
        yield say("divisor", divisor=plain(facts.divisor))
    if facts.quotient:
        yield say("quotient")


def _law(facts: AggregateFacts) -> str:
    if isinstance(facts.laws, LearnedBelief):
        return facts.laws.words + (" on the range of the table" if facts.domain is None else " on the domain")
    return _LAWS[facts.laws or "empirical"]


def _losses(facts: AggregateFacts) -> Iterator[Statement]:
    delta, noisy = facts.target.delta, facts.noisy
    yield from weak(facts.target, {}, rows=0)
    if len(noisy) > 1:
        yield say("shared", answers=_listed(noisy).capitalize(), deltas=" and delta" * (delta > 0))
    bare = [name for name, choice in facts.choices.items() if not choice.scale]
    yield from (say("without-noise", what=f"the {name}") for name in bare)
    if delta and any("pure only" in choice.remarks for choice in facts.choices.values()):
        yield say("pure-only")
    if not delta and any(map(_is_bound, facts.choices.values())):
        yield say("upper-bound")


def _composition(facts: AggregateFacts) -> Iterator[Statement]:
    adding = [name for name in facts.noisy if facts.choices[name].adds_up]
    alone = [name for name in facts.noisy if not facts.choices[name].adds_up]
    if adding:
        deltas = " and deltas" * (facts.target.delta > 0)
        yield say(
            "adds-up", what=_listed(adding), rows="rows and listed pairs" if facts.listed else "rows", deltas=deltas
        )
    if alone:
        yield say("one-release", what=_listed(alone), rows="rows", whose="what a unit adds")
    yield say("other-answers", rows="rows")


def _left_out(facts: AggregateFacts) -> Iterator[Statement]:
    learned = facts.by_law and facts.summed and facts.laws is not None
    if facts.present:
        yield say("other-units")
    if facts.unit and not facts.added and learned:
        yield say("class")
    if learned and isinstance(facts.laws, Population):
        yield say("one-confidence")
    if facts.impossible:
        yield say("impossible-table", laws="laws make")
    if facts.added or learned:
        yield say("learned")
    if facts.nulls == "drop":
        yield say("nulls", entry="entry")
    if facts.domain is not None and facts.summed:
        low, high = facts.domain
        yield say("clipped-answers", ends=f"to [{plain(low)}, {plain(high)}]")
    if facts.noisy:
        yield say("integer-noise") if facts.integer else say("grid", grid=facts.noise.on_grid)


def _named(pairs: Sequence[Sequence[object]]) -> str:
    """The units of pairs of a unit and None."""
    units = list(dict.fromkeys(entry for pair in pairs for entry in pair if entry is not None))
    more = [f"{len(units) - _MOST_NAMED:,} more"] if len(units) > _MOST_NAMED else []
    return ", ".join([*(shown(str(unit)) for unit in units[:_MOST_NAMED]), *more])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"the {name}" for name in names)


def _is_bound(choice: Choice) -> bool:
    found = next(iter(choice.verified.values())).pure_loss
    return "upper bound" in choice.remarks and found.lower < found.upper * (1 - _NEAR)
