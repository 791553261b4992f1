"""What a plan of noise says of other rows than its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError, PufferError
from puffer_frames.frames.columns import NativeFrame, as_names
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.frames.table import open_table, small_frame
from puffer_frames.loss.engine import Laws, belief_loss
from puffer_frames.mechanisms.batch_report import (
    BEYOND,
    RECALIBRATE,
    REFUSED,
    WITHIN,
    Finding,
    beyond,
    drift_finding,
    figure_of,
    finding,
    rows_found,
)
from puffer_frames.mechanisms.file_checks import check_columns
from puffer_frames.mechanisms.noise.drift import measure_part, measure_rows, of_one_copy, target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.noise.strata_plan import as_planned
from puffer_frames.mechanisms.seam import Owner
from puffer_frames.priors.pairs import by_column
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Counts, JointCounts, Summary
from puffer_frames.scales.beliefs import learn
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.drift import Batch, protected_here
from puffer_frames.scales.learned import OtherTable
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


def findings_of(plan: NoiseFit, seen: RowsSeen, raw: Mapping[str, Summary], /) -> list[Finding]:
    """What there is to say of rows that were counted as those of the plan.

    - `seen`: The rows, their values clipped as a release clips them.
    - `raw` (mapping of column to Summary): The same without clipping.
    """
    strange = [*_new_secrets(plan, seen), *_new_strata(plan, seen), *_new_levels(plan, seen)]
    whole = _whole(plan, seen)
    found = [*strange, *rows_found(", ".join(plan.request.secret), plan.rows_per_secret, whole.rows_per_secret)]
    if not strange:
        found += _losses(plan, measure_rows(plan, seen))
        found += _other_beliefs(plan, whole)
    return [*found, *_drift(plan, whole), *_beyond(plan, raw)]


def _whole(plan: NoiseFit, seen: RowsSeen) -> RowsSeen:
    """All rows, by what is protected."""
    if plan.request.given is not None:
        seen = RowsSeen.merged(list(seen.by_stratum(len(plan.request.secret)).values()))
    return seen.protected(plan.request)


def _new_secrets(plan: NoiseFit, seen: RowsSeen) -> Iterator[Finding]:
    rows = seen.rows_of_secrets(len(plan.request.secret), given=plan.request.given is not None)
    if plan.request.apart:
        groups = by_column(rows, plan.request.secret)
        rows = {own: sum(rows[secret] for secret in of) for own, of in groups.items()}
    column = ", ".join(plan.request.secret)
    for secret, number in rows.items():
        if secret not in plan.rows_per_secret:
            yield finding("new secret", column, secret, number, verdict=REFUSED)


def _new_strata(plan: NoiseFit, seen: RowsSeen) -> Iterator[Finding]:
    if plan.strata is None:
        return
    parts = seen.by_stratum(len(plan.request.secret))
    new = {z: sum(part.rows_per_secret.values()) for z, part in parts.items() if z not in plan.strata.choices}
    if new:
        column = ", ".join(plan.strata.given)
        yield finding("new stratum", column, f"{len(new)} strata", sum(new.values()), verdict=REFUSED)


def _new_levels(plan: NoiseFit, seen: RowsSeen) -> Iterator[Finding]:
    if seen.joint is None:
        return
    for name, known in plan.levels.items():
        place = seen.joint.columns.index(name)
        typed = {(type(level), level) for level in known}
        new = [k for k, level in enumerate(seen.joint.labels[place]) if (type(level), level) not in typed]
        if new:
            rows = sum(int(often[np.isin(points[:, place], new)].sum()) for points, often in seen.joint.counts.values())
            yield finding("new level", name, f"{len(new)} levels", rows, verdict=REFUSED)


def _losses(plan: NoiseFit, batch: Batch) -> Iterator[Finding]:
    """Under the frequencies of the rows themselves, which decide: of each column, or of whole rows."""
    target, columns = target_of(plan), list(plan.choices)
    of_rows = plan.is_joint or bool(plan.levels)
    limit = target.delta or target.share(1 if of_rows else len(columns)).epsilon
    wider = [name for name in columns if "range" in batch.exceeded.get(name, "")]
    exceeded = set(batch.exceeded) - set(wider)
    for name in [", ".join(plan.request.public)] if of_rows else columns:
        measured = batch.observed.get(columns[0] if of_rows else name)
        more = bool(exceeded) if of_rows else name in exceeded
        figure = math.nan if measured is None else figure_of(measured, delta=target.delta)
        if measured is not None or more:
            yield finding("loss", name, "empirical", figure, limit=limit, verdict=RECALIBRATE if more else WITHIN)
    for name in wider:
        yield finding("range", name, "", math.nan, verdict=RECALIBRATE)


def _other_beliefs(plan: NoiseFit, whole: RowsSeen) -> Iterator[Finding]:
    """Under the other beliefs of a plan of one column, learned from these rows."""
    if len(plan.choices) > 1 or plan.strata is not None or whole.joint is not None:
        return
    ((name, choice),) = plan.choices.items()
    summary = whole.summaries[name]
    present, pairs, _ = protected_here(summary.counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not pairs:
        return
    counts = {secret: summary.counts[secret] for secret in present}
    noise = plan.request.noise
    asked = noise.unrounded(target_of(plan))
    scale = of_one_copy(plan, plan.scales)[name]
    for belief, laws in _learned_anew(plan, choice, counts, summary.radius):
        with suppress(PufferError):  # too many pairs
            engine = belief_loss(laws, pairs=pairs, noise=noise, rows=plan.request.repeats.measured)
            found = measure(engine, scale, asked)[0]
            verdict = WITHIN if found.confirms(asked) else BEYOND
            yield finding("loss", name, belief, figure_of(found, delta=asked.delta), limit=asked.most, verdict=verdict)


def _learned_anew(
    plan: NoiseFit, choice: Choice, counts: Mapping[Secret, Counts], radius: float
) -> Iterator[tuple[str, Laws | Sequence[Laws]]]:
    """The beliefs that these rows give under the names of the plan's; none of side knowledge and other tables."""
    if "fitted" in choice.beliefs:
        with suppress(PufferError):
            request = plan.request
            yield "fitted", learn(counts, theorem=choice.theorem.name, components=request.components, radius=radius)[1]
    named = [name for name in choice.beliefs if name not in ("fitted", "empirical") and not name.startswith("given")]
    for name, learned in zip(named, choice.learned, strict=False):
        if isinstance(learned, OtherTable):
            continue
        with suppress(PufferError):
            yield name, learned.laws(counts, bounds=choice.bounds, radius=radius)


def _drift(plan: NoiseFit, whole: RowsSeen) -> Iterator[Finding]:
    """How far the law of each column given each secret is from that of the plan."""
    for name, choice in plan.choices.items():
        if name in plan.levels and whole.joint is None:
            continue
        for secret, prior in choice.empirical.items():
            known: Counts = (prior.means, prior.levels[0])
            radius = prior.radius, 0.0
            if name in plan.levels:
                assert whole.joint is not None
                if secret not in whole.joint.counts:
                    continue
                known, found = _on_one_order(plan.levels[name], known, whole.joint, name, secret)
            else:
                summary = whole.summaries[name]
                if secret not in summary.counts:
                    continue
                found, radius = summary.counts[secret], (prior.radius, summary.radius)
            yield drift_finding(name, secret, known, found, radius=radius, secrets=len(choice.empirical))


def _on_one_order(
    levels: Sequence[Any], known: Counts, joint: JointCounts, name: str, secret: Secret
) -> tuple[Counts, Counts]:
    """Rows of labels as numbers of places in one order of all of them, which does not depend on the rows."""
    place = joint.columns.index(name)
    own = joint.labels[place]
    places = {(type(level), level): k for k, level in enumerate(sorted_levels([*levels, *own]))}
    points, often = joint.counts[secret]
    before = np.zeros(len(places), dtype=np.int64)
    after = np.zeros(len(places), dtype=np.int64)
    for code, rows in zip(known[0].astype(int).tolist(), known[1].tolist(), strict=True):
        before[places[type(levels[code]), levels[code]]] += rows
    for code, rows in zip(points[:, place].astype(int).tolist(), often.tolist(), strict=True):
        after[places[type(own[code]), own[code]]] += rows
    order = np.arange(len(places), dtype=np.float64)
    return (order, before), (order, after)


def _beyond(plan: NoiseFit, raw: Mapping[str, Summary]) -> Iterator[Finding]:
    for name, summary in raw.items():
        bounds = plan.choices[name].bounds
        if bounds is not None:
            yield beyond(name, summary, bounds, public=name in plan.request.domain, clips=name in plan.clipped)
