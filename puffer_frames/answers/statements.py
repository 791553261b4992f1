"""What a certificate of answers says in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from puffer_frames.answers.contributions import Chosen
from puffer_frames.answers.correlated import Plan
from puffer_frames.chains import MarkovChain
from puffer_frames.frames.series import SeriesRows
from puffer_frames.noise.family import Family
from puffer_frames.postprocessing import Bounds
from puffer_frames.priors import Prior, Secret

_NEAR = 1e-6
"""Bounds of a loss that are as near as this are called exact."""


def aggregate_subject(
    protect: str, /, *, unit: tuple[str, ...], pairs: str | Iterable[Sequence[Any]], domain: Bounds | None
) -> str:
    """What of a unit is protected."""
    who = f"each {unit[0]}" if unit else "each row"
    listed = not isinstance(pairs, str)
    values = (
        "the declared pairs of values"
        if listed or domain is None
        else f"any two values of [{domain[0]:g}, {domain[1]:g}]"
    )
    return {
        "value": f"the value that {who} reports, {values}",
        "value-or-absence": f"whether {who} reports a {'declared ' * listed}value or is absent",
        "presence": f"whether {who} is present with its law, or absent",
        "replacement": f"which of two laws {who} has, {'the listed pairs' if listed else 'every pair'} of them",
    }[protect]


def aggregate_statements(
    plan: Mapping[str, Chosen],
    /,
    *,
    protect: str,
    laws: str | Mapping[Secret, Prior],
    added: bool,
    by: tuple[str, ...],
    family: Family,
    integer: bool,
    divisor: float | None,
    nulls: str,
    told: bool,
    domain: Bounds | None,
    delta: float,
) -> tuple[str, ...]:
    """What the guarantee of an aggregate rests on and leaves out."""
    of_law = {
        "empirical": "the observed frequencies of its rows",
        "gaussian": "a Gaussian with the moments of its rows",
    }
    law = "the given prior" if isinstance(laws, Mapping) else of_law[str(laws)]
    statements = ["units are independent of one another, and each is counted once; the guarantee is per unit"]
    if added:
        statements.append("a unit adds all its rows, taken as independent draws of its law")
    else:
        statements.append(
            "a unit adds one draw of its law: one of its rows. Where a class of rows is the unit, one record drawn "
            "from the class is protected; the removal of the class is not"
        )
    if protect in ("presence", "replacement"):
        statements.append(
            f"a unit's law is {law}; that it was learned from the table, and that the scale is published, is outside "
            "the guarantee"
        )
    if told:
        statements.append("the probability of being present does not matter: the loss compares present with absent")
    if domain is not None:
        statements.append(f"values were clipped before they were added: to [{domain[0]:g}, {domain[1]:g}]")
    if by:
        statements.append("the groups are public, and a unit lies in one of them")
    if len(plan) > 1:
        statements.append("sum and count share epsilon evenly; together they have the guarantee")
    if divisor is not None:
        statements.append(f"the divisor {divisor:g} is public and independent of what is protected")
    if not delta and any(_is_bound(chosen) for chosen in plan.values()):
        statements.append(
            "the measured loss of a unit that adds several rows of both signs is an upper bound of the exact one: less "
            "noise might do"
        )
    if any(chosen.protection.pure_only for chosen in plan.values()) and delta:
        statements.append("held to pure privacy, which is more than was asked for")
    if nulls == "drop":
        statements.append("rows with a missing entry may have been left out; that an entry is missing is not protected")
    if integer:
        statements.append("the noise is discrete Laplace noise, drawn exactly with AES-256 for its random bits")
    elif any(chosen.scale for chosen in plan.values()):
        statements.append(family.on_grid)
    adding = [name for name, chosen in plan.items() if chosen.adds_up]
    alone = [name for name, chosen in plan.items() if not chosen.adds_up]
    if adding:
        deltas = " and deltas" * (delta > 0)
        statements.append(f"several releases of the same rows: the epsilons{deltas} of {' and '.join(adding)} add")
    if alone:
        statements.append(
            f"one release of {' and '.join(alone)}: a second one of the same rows is outside the guarantee, for the "
            "scale rests on the randomness of what a unit adds"
        )
    return tuple(statements)


def _is_bound(chosen: Chosen) -> bool:
    found = chosen.verified.pure_loss
    return chosen.protection.upper_bound and found.lower < found.upper * (1 - _NEAR)


def series_statements(
    rows: SeriesRows,
    plan: Plan,
    /,
    *,
    mechanism: str,
    estimated: bool,
    chains: list[MarkovChain],
    counts: bool,
    both: bool,
    several: bool,
    family: Family,
    nulls: str,
) -> tuple[str, ...]:
    """What the guarantee of a histogram rests on and leaves out."""
    statements = [
        _belief(chains, estimated=estimated),
        _gaps(rows, given_start=any(not isinstance(chain.initial, str) for chain in chains)),
        f"one changed value changes the released counts by at most {plan.lipschitz} in all"
        + (": one count less, another one more" if several and not plan.derived else ""),
    ]
    if plan.derived:
        statements.append("the first count is the public total less the second one, at no cost")
    if not counts:
        statements.append("frequencies are counts divided by the public number of values")
    if both:
        statements.append(
            "the pooled histogram and those of the units share epsilon evenly; together they have the guarantee"
        )
    if mechanism == "exact":
        statements.append("one release: a second one of the same series is outside the guarantee")
    else:
        statements.append("several releases with the same quilts (the same chain and epsilon): their epsilons add")
    whole = {observed for _, observed in rows.extents()}
    if any(quilt.influence == 0 and quilt.card in whole for quilt in plan.quilts) and mechanism != "group":
        statements.append("no quilt helps some values: they have the noise of group privacy")
    if nulls == "drop":
        statements.append("rows with a missing entry may have been left out; that one is missing is not protected")
    statements.append(family.on_grid)
    return tuple(statements)


def _belief(chains: list[MarkovChain], *, estimated: bool) -> str:
    if not chains:
        return "the adversary's belief: any dependence of the values of a series, and none between series"
    start = chains[0].initial if isinstance(chains[0].initial, str) else "given"
    law = "estimated from the table" if estimated else "given"
    several = f" ({len(chains)} chains, all covered)" if len(chains) > 1 else ""
    impossible = any(not isinstance(chain.initial, str) and not chain.initial.all() for chain in chains)
    return (
        f"the adversary's belief: each series is a Markov chain with a {start} start; its transition matrix is {law}"
        + several
        + ("; what the start makes impossible at a time is not hidden there" if impossible else "")
        + "; that it was learned, and that the scale is published, is outside the guarantee"
    )


def _gaps(rows: SeriesRows, *, given_start: bool) -> str:
    units, gaps = len(rows.units), int((rows.skipped > 0).sum())
    missing = f"{units} series" + (
        f" with {gaps} gap{'s' * (gaps > 1)} ({int(rows.skipped.sum())} times)" if gaps else ""
    )
    if not gaps:
        belief = "without gaps"
    elif not rows.bridged:
        belief = "the series start anew after a gap, independent of what came before"
    else:
        belief = "the chain runs on through the gaps" + ("" if given_start else ", or starts anew after them")
    return f"{missing}: {belief}; times, lengths and the list of states are public"
