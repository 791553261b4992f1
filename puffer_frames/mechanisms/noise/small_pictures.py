"""The small pictures of a plan, for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from puffer_frames.mechanisms.figures import loss_bars
from puffer_frames.mechanisms.noise.drawn import NoisyColumn
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.text import spread_of
from puffer_frames.numbers.presentation import shown
from puffer_frames.numbers.svg import bars, line
from puffer_frames.scales.choice import Choice

_MOST_COLUMNS = 3
_POINTS = 121
_LAWS = {"population": "population 95 %", "any law": "any law"}


def plan_pictures(owner: Any, /) -> list[str]:
    """Of each of up to three columns of numbers: its error beside its spread, its loss per law and along the value."""
    plan: NoiseFit = owner.fitted
    found: list[str] = []
    if plan.strata is not None:
        return found
    for name in list(plan.scales)[:_MOST_COLUMNS]:
        choice = plan.choices[name]
        if not choice.empirical:
            continue
        found.append(_errors(plan, name, choice))
        if len(plan.choices) == 1:
            found.append(_losses(plan, choice))
        if choice.scale:
            found.append(_along(owner, name, plan.request.target.epsilon))
    return found


def _errors(plan: NoiseFit, name: str, choice: Choice) -> str:
    spread, constant = spread_of(choice.empirical, plan.rows_per_secret)
    errors = [("mean error", plan.expected_error[name]), ("spread (std)", spread), ("one constant", constant)]
    return bars([(word, number, f"{number:.4g}") for word, number in errors], title=f"Error: {_short(name)}")


def _losses(plan: NoiseFit, choice: Choice) -> str:
    delta, epsilon = plan.request.target.delta, plan.request.target.epsilon
    found = {} if choice.observed is None else {"observed law": choice.observed}
    found |= {_LAWS[name]: each for name, each in choice.wider.items() if name in _LAWS}
    uppers = {name: (each.hockey_stick if delta else each.pure_loss).upper for name, each in found.items()}
    return loss_bars(uppers, delta, epsilon)


def _along(owner: Any, name: str, epsilon: float) -> str:
    """The loss of the worst pair along the released value, under the observed law."""
    column = NoisyColumn.of(owner, name)
    y = np.linspace(column.released[0], column.released[-1], _POINTS)
    first, second = column.worst
    ratio = column.log_density(first, y) - column.log_density(second, y)
    pair = f"{_short(str(first))} / {_short(str(second))}"
    said = f"the log-ratio of the densities of {pair} from {y[0]:.4g} to {y[-1]:.4g}, within the band of epsilon or not"
    return line(y, ratio, title=f"Loss along {_short(name)}: {pair}", band=epsilon, said=said)


def _short(name: str) -> str:
    text = shown(name)
    return text if len(text) <= 15 else text[:14] + "…"
