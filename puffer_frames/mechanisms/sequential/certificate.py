"""What the certificate of a whole table says, in the order of what holds, what was measured, what is not claimed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.sentences import say, warnings_of
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.version import __version__
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.seam import Fitted, Release
from puffer_frames.mechanisms.sequential.fitted import TableFit
from puffer_frames.mechanisms.sequential.measured import CONFIDENCE
from puffer_frames.numbers.presentation import pairs_text, plain, rounded_up, shown, shown_names

SOURCE = "channels in contexts of what was released, lifted to epsilon: docs/theory.md, section 18"


def table_certificate(plan: TableFit, release: Release, /) -> Certificate:
    """The certificate of a release of a whole table, its values not known yet."""
    request = plan.request
    statements = tuple(_statements(plan, release))
    epsilon = request.target.epsilon
    proved = Verification(
        pure_loss=Bracket(lower=0.0, upper=epsilon), hockey_stick=Bracket(lower=0.0, upper=0.0), epsilon=epsilon
    )
    return Certificate(
        subject=f"{shown_names(request.secret)} of each record, {pairs_text(plan.pairs, apart=request.apart)}",
        answers=False,
        epsilon=epsilon,
        delta=0.0,
        secret=request.secret,
        secret_values=release.secrets[:MOST_VALUES],
        secret_count=len(release.secrets),
        public=request.public,
        kept=release.kept,
        withheld=tuple(name for name in release.columns if name not in (*request.public, *release.kept)),
        pairs=plan.pairs,
        beliefs=plan.beliefs,
        theorem="sequential",
        source=SOURCE,
        published_scales={},
        calibration="exact",
        noise="sequential",
        scales={},
        expected_error={},
        estimated={},
        verified={name: dict.fromkeys(plan.beliefs, proved) for name in request.public},
        observed={},
        adds_up=False,
        statements=statements,
        facts=replace(release.facts(request), seeded=release.asked.seeded),
        warnings=warnings_of(statements),
        reproducible=release.asked.seeded,
        rows=release.rows,
        version=__version__,
        fingerprint="",
        wider={name: {"any law": plan.cap} for name in request.public},
        table=table_record(plan),
    )


def table_record(plan: TableFit, /) -> dict[str, Any]:
    """The figures of the certificate, in JSON types."""
    record: dict[str, Any] = {
        "planned": plan.planned,
        "trees": len(plan.plan.laws[0].trees),
        "smoothing": plan.options.smoothing,
        "order": [plan.names[step.column] for step in plan.plan.steps],
        "derived": {column.name: column.source for column in plan.columns if column.source is not None},
        "step": plan.options.step,
        "reader_loss": plan.reader_loss,
        "cap": plan.cap,
        "refits": {"delta": plan.worst_delta, "tail": plan.worst_tail, "auc": plan.worst_auc},
    }
    if changes := plan.changes:  # whole percents: of these a single row moves next to nothing
        record["changed"] = {name: round(change.share, 2) for name, change in changes.items()}
        record["changed_most"] = {name: round(change.most, 2) for name, change in changes.items()}
        moved = {name: change.distance for name, change in changes.items()}
        record["moved"] = {name: float(f"{far:.2g}") for name, far in moved.items() if far is not None}
    if plan.held is not None:
        record["attacks"] = {
            "rows": plan.held.rows,
            "auc": max(plan.held.best),
            "raw": max(plan.held.raw),
            "shown": plan.held.shown,
        }
    return record


def _statements(plan: TableFit, release: Release) -> Iterator[Statement]:
    if release.asked.seeded:
        yield say("warning-seed")
    yield say("beliefs", strata="", beliefs=plan.belief_words)
    yield say("table-loss")
    columns = len(plan.plan.steps)
    yield say("table-readers", known=plain(plan.reader_loss), cap=plain(plan.cap), columns=columns)
    yield from _measured(plan)
    yield from (say("table-planned"), say("table-laws"), say("table-some"), say("table-again"), say("table-shifted"))
    if plan.reader_loss:
        yield say("channel-unlike")
    declared = plan.request.declared
    if any(column.is_in_cells or column.name not in declared for column in plan.columns):
        yield say("channel-levels")
    yield from release.said(cast(Fitted[Any], plan))
    yield from _done(plan)


def _measured(plan: TableFit) -> Iterator[Statement]:
    confidence = f"{100 * CONFIDENCE:g}"
    if plan.is_far:
        yield say("table-far")
    if plan.is_unchanged:
        yield say("table-unchanged")
    if plan.changes:
        yield from (say("table-changed"), say("table-figures"))
    yield say(
        "table-refits",
        delta=f"{rounded_up(plan.worst_delta, digits=2):g}",
        tail=f"{math.exp(plan.worst_tail):.2f}",
        auc=f"{plan.worst_auc:.2f}",
        confidence=confidence,
    )
    if plan.held is None:
        yield say("table-unattacked")
        return
    if plan.unattacked:
        yield say("table-few-attacked", secrets=shown(plan.unattacked_words))
    if plan.is_exceeded:
        yield say("table-exceeds")
    least = math.floor(100 * plan.held.shown) / 100
    yield say(
        "table-attacks",
        rows=f"{plan.held.rows:,}",
        some=f" (those of the {len(plan.held.secrets)} of {len(plan.rows_per_secret)} secrets that have enough of them)"
        * bool(plan.unattacked),
        attackers=len(plan.held.attacks),
        auc=f"{rounded_up(max(plan.held.best), digits=2):g}",
        raw=f"{max(plan.held.raw):.2f}",
        allowed=f"{rounded_up(largest_auc(plan.request.target.epsilon), digits=3):g}",
        shown=f"a loss of at least {least:g}" if least else "no lower bound of the loss",
        confidence=confidence,
    )


def largest_auc(epsilon: float, /) -> float:
    """Of any guess between two laws whose log-ratio is at most epsilon."""
    return 1 / (1 + math.exp(-epsilon))


def _done(plan: TableFit) -> Iterator[Statement]:
    known = [name for name in plan.names if name in plan.options.known or not plan.options.reader_cap]
    but = f" (but those of {shown_names(known)}, which do not)" if known else ""
    yield say("table", what=shown_names(plan.names), known=but)
    if numbers := [column.name for column in plan.columns if column.is_in_cells]:
        yield say("table-numbers", what=shown_names(numbers))
    if derived := [column for column in plan.columns if column.source is not None]:
        yield say("table-derived", what=", ".join(f"{shown(c.name)} of {shown(c.source or '')}" for c in derived))
    if plan.request.nulls == "level":
        yield say("channel-missing")
    yield say("channel-draw")
