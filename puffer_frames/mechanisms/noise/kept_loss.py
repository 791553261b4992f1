"""What noise hides from a reader who sees columns beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame, as_names
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import open_table, small_frame
from puffer_frames.mechanisms.batch_report import figure_of
from puffer_frames.mechanisms.noise.drift import measure_part
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.merged_strata import as_planned
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.plan_columns import check_columns
from puffer_frames.mechanisms.seam import Owner
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.strata import Strata

MOST_STRATA = 10_000
"""Different values of the columns together, at most."""


def loss_given(owner: Owner, frame: NativeFrame, columns: str | Sequence[str], /) -> NativeFrame:
    """The loss to a reader who sees further columns: as `Plan.loss_given`."""
    plan: NoiseFit = owner.fitted
    request = plan.request
    frame = as_planned(request, frame)
    table = open_table(frame)
    names = tuple(dict.fromkeys(as_names(columns, table.labels, role="columns")))
    more = tuple(name for name in names if name not in request.given_columns)
    if not more:
        raise ArgumentError(
            "columns",
            rule="columns on which the guarantee does not condition already",
            got="given columns alone" if names else "none",
            hint="Name a column that is to be kept.",
        )
    given = (*request.given_columns, *more)
    roles = Roles.of(secret=request.secret, public=request.public, given=given)
    check_columns(table, request, roles, kinds=owner.kinds)
    asked = replace(request, given=Strata(given), given_columns=given)
    rows = table.complete(asked.counting(roles), nulls=request.nulls, layout=None)
    seen = RowsSeen.for_plan(rows, asked, plan.clipped, joint=plan.is_joint)
    strata = seen.by_stratum(len(request.secret))
    if len(strata) > MOST_STRATA:
        raise ArgumentError(
            "columns", rule=f"of at most {MOST_STRATA:,} values together", got="more", hint="Take coarser columns."
        )
    found = [(z, *_measured(plan, part, z[: len(request.given_columns)])) for z, part in strata.items()]
    whole = _by_own(plan, strata)
    own = [(z, n, loss, _told(plan, counts, whole[z[: len(request.given_columns)]])) for z, n, counts, loss in found]
    own.sort(key=lambda row: (-1.0 if math.isnan(row[2]) else row[2], row[3]), reverse=True)
    shown: dict[str, list[Any]] = {name: [str(row[0][k]) for row in own] for k, name in enumerate(given)}
    shown |= {"rows": [row[1] for row in own], "loss": [row[2] for row in own], "told": [row[3] for row in own]}
    return small_frame(shown, library=owner.library)


def _measured(plan: NoiseFit, part: RowsSeen, given: tuple[Any, ...]) -> tuple[int, dict[Secret, int], float]:
    """Rows, rows per secret, and the loss of the noisy values among them."""
    scales = plan.scales
    if plan.strata is not None:
        if given not in plan.strata.scales:
            raise CalibrationError(
                "the strata of the frame", rule="strata of the plan", got="others", hint="Calibrate this frame."
            )
        scales = dict(plan.strata.scales[given])
    protected = part.protected(plan.request)
    counts = protected.rows_per_secret
    batch = measure_part(plan, protected, scales)
    losses = [figure_of(each, delta=plan.request.target.delta) for each in batch.observed.values()]
    return sum(part.rows_per_secret.values()), counts, max(losses, default=math.nan)


def _by_own(plan: NoiseFit, strata: dict[Any, RowsSeen]) -> dict[tuple[Any, ...], dict[Secret, int]]:
    """Rows per secret of each stratum of the plan's own given columns."""
    found: dict[tuple[Any, ...], dict[Secret, int]] = {}
    for z, part in strata.items():
        counts = found.setdefault(z[: len(plan.request.given_columns)], {})
        for secret, rows in part.protected(plan.request).rows_per_secret.items():
            counts[secret] = counts.get(secret, 0) + rows
    return found


def _told(plan: NoiseFit, counts: dict[Secret, int], whole: dict[Secret, int]) -> float:
    """How far the columns alone change the log-odds of a protected pair."""
    pairs = combinations(whole, 2) if plan.pairs == "all" else plan.pairs
    told = 0.0
    for one, two in pairs:
        here = counts.get(one, 0), counts.get(two, 0)
        if not any(here) or not (whole.get(one) and whole.get(two)):
            continue
        if not all(here):
            return math.inf
        told = max(told, abs(math.log(here[0] / here[1]) - math.log(whole[one] / whole[two])))
    return told
