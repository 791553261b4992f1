"""What the page of a plan of noise shows as pictures."""

from __future__ import annotations

from puffer_frames.mechanisms.figures import ColumnError, PlanFigures, loss_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.text import spread_of
from puffer_frames.numbers.presentation import at_most, shown
from puffer_frames.scales.joint.measured_rows import any_joint_loss


def plan_figures(plan: NoiseFit, /) -> PlanFigures:
    """Those of a plan of noise; of strata no losses under wider laws are known."""
    request = plan.request
    several = len(request.public) > 1
    what = "the released values of one row together" if several else "one released value"
    whom = "of one record"
    if request.unit is not None:
        what = f"the released values of all rows of one {shown(request.unit.column)} together"
        whom = f"of one {shown(request.unit.column)}"
    if request.given is not None:
        whom += ", whose given columns the reader knows"
        what += ", among records with the same given columns,"
    errors = []
    for name, choice in plan.choices.items():
        if name not in plan.levels:
            spread, constant = spread_of(choice.empirical, plan.rows_per_secret)
            errors.append(ColumnError(name=name, error=plan.expected_error[name], constant=constant, spread=spread))
    return PlanFigures(whom=whom, what=what, errors=tuple(errors), losses=tuple(_losses(plan)))


def _losses(plan: NoiseFit) -> list[tuple[str, float, str]]:
    """The largest loss of any column, under each kind of law."""
    if plan.strata is not None:
        return []
    delta, choices = plan.request.target.delta, plan.choices.values()
    alone = " (of a column alone)" if len(plan.choices) > 1 and not plan.is_joint else ""
    kinds = {
        "the observed law": [choice.observed for choice in choices],
        "every law that the table does not refute at 95 %": [choice.wider.get("population") for choice in choices],
        "any law on the range or domain": [choice.wider.get("any law") for choice in choices],
    }
    rows = []
    for laws, found in kinds.items():
        known = [loss_of(one, delta=delta) for one in found if one is not None]
        if known and len(known) == len(found):
            rows.append((laws + alone, *max(known, key=lambda pair: pair[0])))
    if plan.is_joint and not delta:
        rows.append(("any law on the ranges of the columns", *at_most(any_joint_loss(choices))))
    return rows
