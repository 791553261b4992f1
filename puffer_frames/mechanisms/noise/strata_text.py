"""What a plan that conditions on columns says of its strata."""

from __future__ import annotations

import math

from puffer_frames.loss.outcome import measured_text
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.noise.randomised import changed_share
from puffer_frames.numbers.presentation import Rows, shown, shown_names, upper_text
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.strata import StrataChoices

_MOST_SHOWN = 30


def strata_rows(plan: NoiseFit, strata: StrataChoices, /) -> Rows:
    """Labels and texts, in order."""
    given = shown_names(strata.given)
    alone = (
        "any amount: some stratum lacks a secret"
        if math.isinf(strata.alone)
        else f"pure loss {upper_text(strata.alone)}"
    )
    rows = [
        ("given", f"{given}, released as they are; the guarantee is beyond what they tell by themselves ({alone})"),
        ("strata", _table(plan, strata)),
    ]
    if strata.small:
        few = f"{len(strata.small):,} with fewer than {strata.minimum:,} rows of one of their secrets"
        rows.append(("small strata", f"{few}: noise for the whole range of the columns"))
    if strata.unbound:
        text = f"{len(strata.unbound):,}, where no two protected secrets occur: the largest scale of the others"
        rows.append(("nothing to hide", text))
    for name, choice in plan.choices.items():
        if name not in plan.levels:
            of_all = f"mean absolute {plan.request.noise.title} noise of all rows"
            rows.append((f"error of {shown(name)}", f"{plan.expected_error[name]:.6g} ({of_all})"))
        if not plan.is_joint:
            rows += _losses(plan, choice, of=shown(name))
    return [*rows, *(_losses(plan, next(iter(plan.choices.values())), of="a row") if plan.is_joint else [])]


def _losses(plan: NoiseFit, choice: Choice, *, of: str) -> Rows:
    delta = plan.request.target.delta
    strata = plan.strata
    enough = strata is not None and bool(strata.small) and len(strata.small) + len(strata.unbound) < len(strata.choices)
    where = "in any stratum" + " of enough rows" * enough
    return [
        (f"{belief} belief", f"measured: {measured_text(found, delta=delta)} of {of} {where}")
        for belief, found in choice.verified.items()
    ]


def _table(plan: NoiseFit, strata: StrataChoices) -> str:
    """A line per stratum: its values, rows, theorem and scales."""
    names = list(plan.choices)
    if strata.one_scale:
        return "one scale for all: " + ", ".join(
            f"{shown(name)} {_cell(plan, name, plan.choices[name])}" for name in names
        )
    listed = list(strata.choices.items())[:_MOST_SHOWN]
    labels = [", ".join(map(str, z)) for z, _ in listed]
    width = max(map(len, labels))
    lines = [f"{'':<{width}}  {'rows':>9}  {'theorem':<12}" + "".join(f"  {shown(name):>14}" for name in names)]
    for label, (z, choices) in zip(labels, listed, strict=True):
        theorem = next(iter(choices.values())).theorem.name
        scales = "".join(f"  {_cell(plan, name, choices[name]):>14}" for name in names)
        lines.append(f"{label:<{width}}  {strata.rows[z]:>9,}  {theorem:<12}{scales}")
    if len(strata.choices) > len(listed):
        lines.append(f"and {len(strata.choices) - len(listed):,} more")
    return "\n".join(lines)


def _cell(plan: NoiseFit, name: str, choice: Choice) -> str:
    """The scale of a column, or the share of changed labels."""
    if name not in plan.levels:
        return f"{choice.scale:.6g}"
    return f"{100 * changed_share(len(plan.levels[name]), choice.scale):.4g} % changed"
