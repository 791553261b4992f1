"""What the report of a plan shows as pictures: exact statistics of the table."""

from __future__ import annotations

from dataclasses import dataclass

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelPlan
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.noise.text import spread_of
from puffer_frames.numbers.presentation import at_most, shown
from puffer_frames.scales.joint.measured_rows import any_joint_loss


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnError:
    """The error of a column beside what it can be compared with, in its units."""

    name: str
    error: float
    constant: float
    """Mean error of the median, or of the best constant, in place of every value."""
    spread: float | None
    """Standard deviation; None of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigures:
    """The pictures of a plan."""

    whom: str
    what: str
    errors: tuple[ColumnError, ...]
    losses: tuple[tuple[str, float, str], ...]
    """Under which laws, what is lost at most, and the same in words: the pure loss, or delta where there is one."""


def plan_figures(plan: Plan, /) -> PlanFigures:
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


def channel_figures(plan: ChannelPlan, /) -> PlanFigures:
    """Those of the plan of a channel."""
    channel, delta = plan.channel, plan.request.target.delta
    losses = [
        ("the observed law", *_loss(plan.observed, delta=delta)),
        (f"every law that the table does not refute at {100 * CONFIDENCE:g} %", *_loss(plan.population, delta=delta)),
    ]
    if not delta:
        losses.append(("any law of these levels", *at_most(plan.largest_loss)))
    error = ColumnError(name=plan.name, error=channel.expected_error, constant=channel.constant_error, spread=None)
    what = "the released values of one row together" if len(plan.request.public) > 1 else "one released value"
    return PlanFigures(whom="of one record", what=what, errors=(error,), losses=tuple(losses))


def _losses(plan: Plan) -> list[tuple[str, float, str]]:
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
        known = [_loss(one, delta=delta) for one in found if one is not None]
        if known and len(known) == len(found):
            rows.append((laws + alone, *max(known, key=lambda pair: pair[0])))
    if plan.is_joint and not delta:
        rows.append(("any law on the ranges of the columns", *at_most(any_joint_loss(choices))))
    return rows


def _loss(found: Verification, *, delta: float) -> tuple[float, str]:
    bracket: Bracket = found.hockey_stick if delta else found.pure_loss
    return at_most(bracket.upper)
