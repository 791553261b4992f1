"""Warnings of plans whose noise is of little use, and of what would be of more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puffer_frames.errors import CalibrationError, WideNoiseWarning, warn
from puffer_frames.mechanisms.channel.best import empirical_laws, find
from puffer_frames.mechanisms.channel.column import in_cells
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.figures import plan_figures
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.text import constant_share, spread_of
from puffer_frames.scales.cautions import LARGER, warn_of_useless
from puffer_frames.scales.columns import ANY_LAW
from puffer_frames.scales.learned import replaced_rows
from puffer_frames.scales.strata import StrataChoices

_CELLS = 12
"""A channel of so few cells is found in a tenth of a second, and its error bounds that of a finer one."""
_FEWEST, _HALF = 50, 0.5
"""Of fewer rows, and of noise with less than half the error of a constant, no channel is looked for."""
_NEARLY = 0.99


def warn_of_wide_noise(plan: NoiseFit, /) -> None:
    """Warn of columns that a constant is nearer to, and of noise that a fitted model, or its mechanism, makes wide."""
    useless, several = useless_columns(plan), len(plan.choices) > 1
    if useless:
        warn_of_useless(useless, hint=_FEWER if several else _ANOTHER if _has_one_draw(plan) else LARGER)
    elif not several and _is_default(plan) and _is_beaten(plan):
        warn(
            WideNoiseWarning(
                plan.request.public,
                "the noise of {columns} has a larger error than a channel, which has the same epsilon also where "
                f"{replaced_rows('min(1/2, 2/sqrt(rows))')}, and loses less under any law",
                hint='Say mechanism="channel", or see all mechanisms side by side with puffer_frames.compare.',
                reason="mechanism",
            )
        )
    if plan.strata is not None:
        _warn_of_strata(plan, plan.strata, [name for name in plan.scales if name not in useless])
    fits = {name: choice for name, choice in plan.choices.items() if "wide fit" in choice.remarks}
    if fits:
        refuted = any("refuted fit" in choice.remarks for choice in fits.values())
        warn(
            WideNoiseWarning(
                tuple(fits),
                "the fitted model of {columns} needs more than twice the noise of the observed frequencies"
                + ", and the table refutes it at 95 %" * refuted,
                hint='Say beliefs="empirical", which leaves the model out, or bin the column first.',
                reason="fit",
            )
        )


def useless_columns(plan: NoiseFit, /) -> list[str]:
    """Columns that a constant is nearer to than their noise."""
    figures = plan_figures(plan).errors
    # what replaces noisy values is never further off than a constant: a remap that is nearly one is of no use, too
    nearly = {each.name: _NEARLY if each.name in plan.remaps else 1.0 for each in figures}
    useless = [each.name for each in figures if each.error > nearly[each.name] * each.constant]
    return useless + [name for name, share in plan.changed.items() if share > constant_share(plan, name)]


def _warn_of_strata(plan: NoiseFit, strata: StrataChoices, names: Sequence[str]) -> None:
    """Warn of columns that a constant is nearer to in some strata."""
    for name in names:
        useless = 0
        for z, choices in strata.choices.items():
            law = choices[name].empirical
            if z in strata.small or z in strata.unbound or not law:  # whose laws are those of the whole table
                continue
            rows = {secret: prior.levels[1] for secret, prior in law.items()}
            useless += plan.error_of(choices[name].scale) > spread_of(law, rows)[1]
        if useless:
            warn(
                WideNoiseWarning(
                    (name,),
                    f"the error of {{columns}} is larger than that of a constant in {useless:,} of "
                    f"{len(strata.choices):,} strata",
                    hint="Ask for a larger epsilon, condition on fewer columns, or leave these strata out.",
                    reason="constant",
                )
            )


_FEWER = (
    "Release fewer columns together, ask for a larger epsilon, or leave these columns out; the plan has each error."
)
_ANOTHER = 'Say mechanism="channel", whose error is never larger, ask for a larger epsilon, or leave the column out.'


def _has_one_draw(plan: NoiseFit) -> bool:
    """Whether a channel may take the place of the noise."""
    request = plan.request
    return request.unit is None and request.given is None and request.repeats.releases == 1


def _is_default(plan: NoiseFit) -> bool:
    """Whether the mechanism was left to the package, and the belief of the noise is one that a channel covers."""
    request = plan.request
    observed = all(set(choice.beliefs) == {"empirical"} for choice in plan.choices.values())
    return _has_one_draw(plan) and request.mechanism == "auto" and observed and plan.rows >= _FEWEST


def _is_beaten(plan: NoiseFit) -> bool:
    """Whether a channel of a few cells has a smaller error and a stronger guarantee; then a finer one has, too."""
    (figures,), (summary,) = plan_figures(plan).errors, plan.summaries.values()
    if figures.error <= _HALF * figures.constant:
        return False
    options, middles, (choice,) = Channel(cells=_CELLS), summary.at_middles(), plan.choices.values()
    anything = choice.wider.get(ANY_LAW)
    if anything is None or options.cap is None or anything.pure_loss.lower <= options.cap:
        return False  # the guarantee of the channel is not the stronger one
    values = np.unique(np.concatenate([own for own, _ in middles.counts.values()]))
    column = in_cells(middles, values, options)
    try:
        found = find(
            (empirical_laws(column.counts, options),),
            column.pooled,
            levels=column.levels,
            cost=column.cost,
            target=plan.request.target,
            pairs=plan.pairs,
            options=options,
            table=column.counts,
        )
    except CalibrationError:
        return False
    return found.expected_error < figures.error
