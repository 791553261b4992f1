"""A whole table as a mechanism: what it takes, reads, finds, draws and says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Self, cast

import numpy as np

from puffer_frames.certificates.build import warn_of_weakness
from puffer_frames.certificates.fields import WholeTable
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.sentences import say, say_levels, warn_of
from puffer_frames.certificates.statement import Statement
from puffer_frames.errors import ArgumentError, RareLevelsWarning, warn
from puffer_frames.frames.columns import NativeFrame, check_rows, not_found
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows, Table, is_frame, library_of, open_table, small_frame
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import REPLACED, Finding, drift_finding, finding, rows_found
from puffer_frames.mechanisms.file_checks import check_columns, is_close, require
from puffer_frames.mechanisms.request import Request, RowsRequest, lean_request
from puffer_frames.mechanisms.seam import (
    NO_RULE,
    ColumnError,
    ComparedRow,
    Fitted,
    Mechanism,
    PlanFigures,
    Reading,
    Release,
    Spread,
    rows_text,
)
from puffer_frames.mechanisms.sequential.checks import check_table_plan
from puffer_frames.mechanisms.sequential.columns import (
    CodedRows,
    TableColumn,
    learn_columns,
    read_again,
    read_other,
    with_derived,
)
from puffer_frames.mechanisms.sequential.fitted import (
    FEWEST_HELD,
    MOST_HELD,
    MOST_NAMED,
    REFUSED,
    WARNED,
    TableFit,
    split,
)
from puffer_frames.mechanisms.sequential.law import NetworkLaw, Tree
from puffer_frames.mechanisms.sequential.measured import CONFIDENCE, Attack, HeldOut, Kept, OtherBelief, counts_of
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.mechanisms.sequential.release import SequentialPlan, Step, log_likelihoods
from puffer_frames.noise.adding import Draw, other_levels
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.presentation import (
    Rows,
    at_most,
    listed,
    odds_text,
    pairs_text,
    plain,
    rounded_up,
    shown,
    shown_names,
)
from puffer_frames.priors.prior import IndexArray, Secret
from puffer_frames.priors.summary import RARE
from puffer_frames.scales.cautions import (
    MOVED,
    moved_text,
    size_text,
    warn_of_few_rows,
    warn_of_marks,
    warn_of_moved,
    warn_of_strange,
    warn_of_texts,
)
from puffer_frames.scales.drift import Batch, protected_here
from puffer_frames.scales.learned import Bootstrap, OtherTable
from puffer_frames.scales.utility import SHIFTED, TIMES

SOURCE = "channels in contexts of what was released, lifted to epsilon: docs/theory.md, section 18"


def table_certificate(plan: TableFit, release: Release, /) -> Certificate:
    """The certificate of a release of a whole table, its values not known yet."""
    request, epsilon = plan.request, plan.request.target.epsilon
    proved = Verification.proved(pure=epsilon, delta=0.0, epsilon=epsilon)
    return release.certificate(
        plan,
        statements=tuple(_statements(plan, release)),
        facts=replace(release.facts(plan), prepared=("clipped",) if request.domain else ()),
        beliefs=plan.beliefs,
        theorem="sequential",
        source=SOURCE,
        noise="sequential",
        verified={name: dict.fromkeys(plan.beliefs, proved) for name in request.public},
        wider={name: {"any law": plan.cap} for name in request.public},
        table=table_record(plan),
    )


def table_record(plan: TableFit, /) -> WholeTable:
    """The figures of the certificate."""
    held, changes = plan.held, plan.changes
    moved = {name: change.distance for name, change in changes.items()}
    return WholeTable(
        planned=plan.planned,
        trees=len(plan.plan.laws[0].trees),
        smoothing=plan.options.smoothing,
        order=tuple(plan.names[step.column] for step in plan.plan.steps),
        derived={column.name: column.source for column in plan.columns if column.source is not None},
        step=plan.step,
        reader_loss=plan.reader_loss,
        cap=plan.cap,
        refits={"delta": plan.worst_delta, "tail": plan.worst_tail, "auc": plan.worst_auc},
        attacks={"rows": held.rows, "auc": max(held.best), "raw": max(held.raw), "shown": held.shown} if held else {},
        # whole percents: of these a single row moves next to nothing
        changed={name: round(change.share, 2) for name, change in changes.items()},
        changed_most={name: round(change.most, 2) for name, change in changes.items()},
        moved={name: float(f"{far:.2g}") for name, far in moved.items() if far is not None} if changes else None,
        in_cells=tuple(column.name for column in plan.columns if column.is_in_cells),
    )


def _statements(plan: TableFit, release: Release) -> Iterator[Statement]:
    if release.asked.seeded:
        yield say("warning-seed")
    yield say("beliefs", strata="", beliefs=plan.belief_words)
    yield say("table-loss")
    columns = len(plan.plan.steps)
    yield say("table-readers", known=plain(plan.reader_loss), cap=plain(plan.cap), columns=columns)
    yield from _measured(plan, own=release.batch is None)
    yield from (say("table-planned"), say("table-laws"), say("table-some"), say("table-again"), say("table-shifted"))
    if plan.reader_loss:
        yield say("channel-unlike")
    declared = plan.request.declared
    if learned := [one.name for one in plan.columns if one.is_in_cells or one.name not in declared]:
        yield say_levels(learned, declared)
    yield from release.said(cast(Fitted[Any], plan))
    if rare := sum(len(column.rare) for column in plan.columns):
        yield say("rare-levels", levels=f"{rare:,}", fewest=RARE)
    if release.batch is not None:
        yield from (say("table-other-rows"), say("table-not-here"))
    yield from _done(plan)


def _measured(plan: TableFit, *, own: bool) -> Iterator[Statement]:
    confidence = f"{100 * CONFIDENCE:g}"
    if plan.is_far:
        yield say("table-far", tail=f"{plan.worst_tail:.3g}", more=plan.more_beliefs, step=plan.smaller_step)
    if plan.is_unchanged:
        yield say("table-unchanged")
    if plan.is_idle:
        best, raw = _aucs(plan, up=True, own=own)
        yield say("table-idle", best=best, raw=raw)
    yield from _of_little_use(plan)
    if plan.changes:
        yield from (say("table-changed"), say("table-figures"))
    yield say(
        "table-refits",
        delta=f"{rounded_up(plan.worst_delta, digits=2):g}",
        tail=f"{math.exp(plan.worst_tail):.2f}",
        auc=f"{plan.worst_auc:.2f}",
        confidence=confidence,
    )
    allowed = f"{rounded_up(plan.allowed_auc, digits=3):g}"
    if plan.unattacked:
        yield say("table-few-attacked", **_unattacked(plan, own=own), allowed=allowed)
    if plan.unattacked and own:
        few = ", and that of fewer than two secrets enough rows could be held out" * bool(plan.options.holdout)
        yield say("table-sizes", **{"whose": "each", "few": ""} if plan.held else {"whose": "the rarest", "few": few})
    if plan.held is None:
        return
    if plan.is_exceeded:
        yield say("table-exceeds")
    elif plan.beyond:
        auc = f"{rounded_up(max(plan.beyond), digits=2):g}"
        yield say("table-beyond", auc=auc, allowed=allowed, step=plan.smaller_step)
    best, raw = _aucs(plan, up=True, own=own)
    yield say(
        "table-attacks",
        rows=f"{plan.held.rows:,}",
        some=f" (those of the {len(plan.held.secrets)} of {len(plan.rows_per_secret)} secrets that have enough of them)"
        * bool(plan.unattacked),
        attackers=len(plan.held.attacks),
        auc=best,
        raw=raw,
        errors="two standard errors; " * own,
        apart=" The difference is within two standard errors: of so few rows, it does not say whether this release "
        "hides anything." * plan.is_open,
        allowed=allowed,
        shown=f"With {confidence} % confidence, these attacks prove that some rows lose {plan.least_shown:g} or more."
        if plan.least_shown
        else f"The test is too small to say how much is lost: with {confidence} % confidence the numbers of right "
        "guesses prove no loss of even 0.01, and rule none out; an AUC above 0.5"
        + " by more than its margin" * own
        + f" is a sign of one, and one above {allowed} of more than epsilon.",
    )


def _of_little_use(plan: TableFit) -> Iterator[Statement]:
    if plan.useless_columns:
        yield say("table-useless", columns=shown_names(plan.useless_columns))
    if plan.unrelated:
        yield say("table-unrelated", pairs=shown(plan.unrelated_words))
    if plan.shifted_columns:
        yield say("table-shares", shifts=_shifts(plan))


def _aucs(plan: TableFit, *, up: bool = False, own: bool = True) -> list[str]:
    """The largest AUC from a release, on a certificate rounded up, and from the raw columns, with two standard errors:
    these tell how many rows the rarest secret has, which is not said of other rows.
    """
    (best, off), (raw, raw_off) = plan.told
    both = (rounded_up(best, digits=2) if up else best, off), (raw, raw_off)
    return [f"{auc:.2f}" + f" +- {math.ceil(100 * error) / 100:.2f}" * own for auc, error in both]


def _unattacked(plan: TableFit, *, own: bool) -> dict[str, str]:
    """What is said of secrets that no attack was tried on."""
    if not plan.options.holdout:
        return {"secrets": "ANY SECRET", "why": "no rows were held out for it", "others": "", "needed": ""}
    rows = math.ceil(FEWEST_HELD / min(plan.options.holdout, MOST_HELD / plan.rows))
    needed = (
        f" It takes {FEWEST_HELD} held-out rows of a secret to try, which about {rows:,} rows of it in the table would "
        "give."
    )
    told = {"why": "too few of their rows could be held out", "needed": needed}
    if plan.held is None:
        return told | {"secrets": "ANY SECRET", "why": "too few rows could be held out", "others": ""}
    sizes = [f" ({size_text(plan.rows_per_secret[one])})" * own for one in plan.unattacked]  # nothing of other rows
    rare = [f"{one!r}{size}" for one, size in zip(plan.unattacked, sizes, strict=True)]
    named = shown(listed(rare, most=MOST_NAMED))
    return told | {"secrets": named, "others": "; the AUC printed here is of the other secrets"}


def _shifts(plan: TableFit) -> str:
    return ", ".join(f"{shown(name)} {own.shift_text}" for name, own in plan.shifted_columns.items())


def _done(plan: TableFit) -> Iterator[Statement]:
    known = [name for name in plan.names if name in plan.options.known or not plan.options.reader_cap]
    but = f" (but those of {shown_names(known)}, which do not)" if known else ""
    yield say("table", what=shown_names(plan.names), known=but)
    if numbers := [column.name for column in plan.columns if column.is_in_cells]:
        yield say("table-numbers", what=shown_names(numbers))
    if derived := [column for column in plan.columns if column.source is not None]:
        yield say("table-derived", what=", ".join(f"{shown(c.name)} of {shown(c.source or '')}" for c in derived))
    if plan.request.domain:
        yield say("channel-clipped")
    if plan.request.nulls == "level":
        yield say("channel-missing")
    yield say("channel-draw")


_MOST_SHOWN, _FEW_SECRETS = 15, 3
"""Columns that have a line, and secrets that have a share each."""
_MUCH = 0.25
"""A column of which more is changed is named."""


def table_rows(plan: TableFit, _: object = None, /) -> Rows:
    """Labels and texts, in order."""
    epsilon = plan.request.target.epsilon
    rows = [
        ("hidden", _hidden(plan)),
        ("price", _price(plan)),
        *_columns(plan),
        *([("beside it", _useless(plan))] if plan.useless_columns else []),
        *([("correlations", _unrelated(plan))] if plan.unrelated else []),
        *([("moved", moved_text(None))] if plan.request.domain else []),
        *([("next", _next(plan))] if _next(plan) else []),
        ("pairs", pairs_text(plan.pairs, apart=False)),
        ("meaning", f"{odds_text(plan.request.what, epsilon=epsilon, delta=0.0)}; the belief is {plan.belief_words}"),
        (
            "other networks",
            f"fitted again: delta at most {rounded_up(plan.worst_delta, digits=2):g}; about 99 % of losses at most "
            f"{plan.worst_tail:.2f}, AUC about {plan.worst_auc:.2f} (measured; step {plan.step:g})",
        ),
        (
            "readers",
            f"one who knows the whole row: a loss of at most {plain(plan.reader_loss)}; any: {plain(plan.cap)}; one "
            "who knows some columns: not bounded by epsilon",
        ),
        ("order", f"{_order(plan)} (contexts)"),
    ]
    if derived := [f"{c.name} of {c.source}" for c in plan.columns if c.source is not None]:
        rows.append(("computed", ", ".join(derived)))
    rows.append(("rows", f"{rows_text(plan.rows_per_secret)}; planned on {plan.planned:,}"))
    return rows


def _order(plan: TableFit) -> str:
    steps = plan.plan.steps
    listed = ", ".join(f"{plan.names[step.column]} ({len(step.weights)})" for step in steps[:_MOST_SHOWN])
    return listed + f", and {len(steps) - _MOST_SHOWN} more" * (len(steps) > _MOST_SHOWN)


def _hidden(plan: TableFit) -> str:
    if plan.held is None:
        return "NO ATTACK WAS TRIED on rows that the network was not fitted to: what attackers tell is not known"
    best, raw = _aucs(plan)
    errors = "over" if plan.beyond else "less than"
    told = f"; ABOVE THAT, by {errors} two standard errors" * (max(plan.held.best) > plan.allowed_auc)
    told += "; THE RAW COLUMNS TELL ABOUT AS MUCH" * plan.is_idle
    return (
        f"the best of {len(plan.held.attacks)} attackers tells the secret of {plan.held.rows:,} held-out rows with an "
        f"AUC of {best} (raw columns {raw}; +- is two standard errors; epsilon allows {plan.allowed_auc:.2f} under the "
        f"network){told}{_small(plan)}"
        + f"; NOT attacked, of too few rows: {plan.unattacked_words}"
        * bool(plan.unattacked)
    )


def _small(plan: TableFit) -> str:
    """The caution of the certificate where attackers showed no loss."""
    hidden = ", or whether anything is hidden" * plan.is_open
    return f"; the test is too small to say how much is lost{hidden}" * (not plan.least_shown)


def _price(plan: TableFit) -> str:
    changed = sum(plan.kept.changed.values()) / len(plan.kept.changed)
    return (
        f"{100 * changed:.1f} % of labels and cells changed in one simulated release (others differ by chance; the "
        f"certificate has averages under the network); shares of levels within {plan.kept.marginals:.4f} on average, "
        f"of pairs of columns within {plan.kept.pairs:.3f} (total variation)"
        + f"; SHARES OF SOME LEVELS ARE OFF: {_shifts(plan)}"
        * bool(plan.shifted_columns)
    )


def _columns(plan: TableFit) -> Rows:
    """Each column in words, the most changed first; of many the first."""
    found = []
    cells = {column.name: column for column in plan.columns if column.is_in_cells}
    ordered = sorted(plan.kept.changed.items(), key=lambda entry: -entry[1])
    for name, share in ordered[:_MOST_SHOWN]:
        distance = plan.kept.distance.get(name)
        same = "in the same cell" if name in cells else "unchanged"
        if name in plan.merged:
            same += f" ({len(cells[name].known)} of {plan.merged[name]} values come out)"
        near = "" if distance is None else f", off by about {distance:.3g} on average"
        found.append((name, f"{100 * (1 - share):.0f} % {same}{near} (changed: {_by_secret(plan, name)})"))
    if left := ordered[_MOST_SHOWN:]:
        least = math.floor(100 * (1 - left[0][1]))
        found.append(("others", f"{len(left)} columns, each at least {least} % unchanged: plan.kept has them all"))
    return found


def _useless(plan: TableFit) -> str:
    found = []
    for name in plan.useless_columns:
        own = plan.changes[name]
        labels = f"of {name} in {100 * own.constant:.0f} % of the rows (the release in {100 * own.share:.0f} %)"
        numbers = f"of {name} by {own.constant:.3g} on average (the release by {own.distance or 0.0:.3g})"
        found.append(numbers if own.distance else labels)
    return (
        f"ONE CONSTANT IS ABOUT AS NEAR, OR NEARER. It is wrong, under the network, {', '.join(found)}. Single values "
        "are of little or no use"
    )


def _unrelated(plan: TableFit) -> str:
    return (
        f"MOSTLY LOST BETWEEN {plan.unrelated_words}: in the simulated release less than half of r squared (of eta "
        "squared, with labels) is left, or the sign is another one"
    )


def _by_secret(plan: TableFit, name: str) -> str:
    shares = dict(zip(plan.rows_per_secret, plan.kept.changed_of[name], strict=True))
    if len(shares) <= _FEW_SECRETS:
        return ", ".join(f"{secret!r} {100 * share:.0f} %" for secret, share in shares.items())
    low, high = min(shares, key=lambda s: shares[s]), max(shares, key=lambda s: shares[s])
    return f"from {100 * shares[low]:.0f} % for {low!r} to {100 * shares[high]:.0f} % for {high!r}"


def _next(plan: TableFit) -> str:
    """What may make a release better, where something stands out; empty where nothing does."""
    if plan.beyond:
        return f"attackers tell more of the secret than epsilon allows. {_beyond_hint(plan)}"
    if plan.is_idle:
        return f"attackers tell the secret from the release about as well as from the raw columns. {_IDLE}"
    if plan.is_far:
        return f"say {plan.more_beliefs}, {plan.smaller_step}, or release fewer columns: see other networks"
    changed = sorted((share, name) for name, share in plan.kept.changed.items() if share > _MUCH)
    if not changed:
        return ""
    named = [name for _, name in changed[: -_FEW_SECRETS - 1 : -1]]
    labels = [column.name for column in plan.columns if column.edges is None and column.name in named]
    where = "there" if len(labels) == len(named) else f"of {', '.join(labels)}"
    merge = f" merge rare levels {where}," * bool(labels)
    return f"too many changes? Leave out {', '.join(named)},{merge} or ask for a larger epsilon"


def _beyond_hint(plan: TableFit) -> str:
    """What to do where attackers tell more than the network knows of."""
    return (
        f"Do not publish this as it is: say {plan.smaller_step}, ask for a smaller epsilon, or leave out columns that "
        "tell the secret together, such as those of a sum or a check digit."
    )


def _larger_holdout(plan: TableFit, rows: int) -> float | None:
    """The least larger `holdout`, in steps of .05, by which a secret of so many rows is attacked, but for chance.

    None where there is none, or where the rows that are left are likely to be too few for a plan: losses under networks
    that are fitted again grow by at most the square root (of 900 rows by 1.09 without 35 %, by 1.30 without 50 %).
    """
    for share in np.arange(1, 11).tolist():
        held = min(share / 20, MOST_HELD / plan.rows)
        errors = 2 if share < 10 else 0.85  # no more can be held out than half: of 130 rows this does in 1 of 2 tables
        enough = held * rows - errors * math.sqrt(held * (1 - held) * rows) >= FEWEST_HELD
        growth = math.sqrt(max(plan.planned / ((1 - held) * plan.rows), 1.0))
        planned = plan.worst_tail * growth <= REFUSED * plan.request.target.epsilon
        if share / 20 > plan.options.holdout and enough and planned:
            return float(share / 20)
    return None


def _attack_hint(plan: TableFit) -> str:
    """How attacks could be tried on all secrets: the first way that rows suffice for."""
    rare, total = [plan.rows_per_secret[one] for one in plan.unattacked], sum(plan.rows_per_secret.values())
    if more := _larger_holdout(plan, min(rare)):
        return f"Hold out more rows: mechanism=Sequential(holdout={more:g})."
    if plan.held is not None:
        return "Merge rare secrets into larger ones."
    # some two parts of at least three secrets have a third of the rows each, or one secret has more than that
    half = min(max(*rare, total // 3), total - max(rare))
    if len(rare) > 2 and (more := _larger_holdout(plan, half)):
        return f"Merge secrets into two of similar size, and say mechanism=Sequential(holdout={more:g})."
    return "The table is too small to hold out enough of them: only more rows help."


_IDLE = (
    "Do not publish this if that is too much: ask for a smaller epsilon, or leave out columns that tell the secret. "
    "If it is not, a larger epsilon changes less, and more rows, or a larger holdout, show what attackers can do."
)
_LESS = (
    "Leave such columns out, put their values into a few groups, ask for a larger epsilon, or release fewer columns. "
    "More rows help, too: they settle the network."
)
FEW_COLUMNS = 4
"""More public columns are released column by column by default."""
LEAST_EPSILON, MOST_EPSILON = 1e-4, 100.0
"""Far above what floats err by, and where nothing would be hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable(TableFit):
    """The network of a table and its channels, and what was measured of them."""

    unchanged: ClassVar[str] = "a table that is released column by column: it releases values of the columns"
    within: ClassVar[str] = "epsilon holds under the network of the plan, whatever these rows are"
    text, certificate = table_rows, table_certificate

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        """None: the guarantee is under the network, not under the observed frequencies of whole rows."""
        return {}

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Share of the rows whose value, or cell of values, is another one in a simulated release, per drawn column."""
        return self.kept.changed

    @property
    def error_unit(self) -> str:
        return "share of the rows whose value becomes another one, or whose number gets another cell"

    def warn(self, seen: CodedRows, /) -> None:
        """Warn of secrets in few rows, levels that are no labels or rare, an epsilon that says little, losses far above
        it under other networks, and columns of little use.
        """
        warn_of_weakness(self.request.target, rows=self.rows)
        warn_of_few_rows(self.rows_per_secret)
        warn_of_marks(self.rows_per_secret)
        for column in self.columns:
            if column.edges is None and column.name not in self.request.declared:
                warn_of_texts(column.name, column.levels)
            if column.rare:
                levels = tuple(column.levels[code] for code in column.rare)
                warn(RareLevelsWarning(levels, fewest=RARE, column=column.name))
        if self.is_far:
            told = {"tail": f"{self.worst_tail:.3g}", "most": WARNED, "epsilon": self.request.target.epsilon}
            warn_of("table-far", **told, more=self.more_beliefs, step=self.smaller_step)
        if self.unattacked and self.options.holdout:
            warn_of("table-few-attacked", secrets=self.unattacked_words, held=FEWEST_HELD, hint=_attack_hint(self))
        if self.is_unchanged:
            warn_of("table-unchanged")
        if self.beyond:
            told = {"auc": f"{max(self.beyond):.2f}", "allowed": f"{self.allowed_auc:.2f}"}
            warn_of("table-beyond", **told, hint=_beyond_hint(self))
        if self.is_idle:
            best, raw = _aucs(self)
            warn_of("table-idle", best=best, raw=raw, small=_small(self), hint=_IDLE)
        self._warn_of_little_use()

    def _warn_of_little_use(self) -> None:
        if self.useless_columns:
            warn_of("useless", self.useless_columns, where="", hint=_LESS)
        if pairs := self.unrelated:
            names = tuple(dict.fromkeys(chain(*pairs)))
            warn_of("table-unrelated", names, pairs=self.unrelated_words, hint=_LESS)
        if merged := self.merged:
            few = {column.name: len(column.known) for column in self.columns}
            told = [f"{name!r} with {few[name]} of its {values} values" for name, values in merged.items()]
            warn_of("table-numbers", tuple(merged), merged=listed(told, most=MOST_NAMED), cells=max(merged.values()))
        if self.shifted_columns:
            warn_of("table-shares", tuple(self.shifted_columns), most=SHIFTED, times=TIMES, hint=_LESS)

    def figures(self) -> PlanFigures:
        changes, distance = self.changes, self.kept.distance
        errors = tuple(
            ColumnError(
                name=name,
                error=distance.get(name, share) if changes else share,
                constant=changes[name].constant if changes else 1.0,
                spread=None,
            )
            for name, share in self.kept.changed.items()
        )
        losses = (
            ("the fitted network", *at_most(self.request.target.epsilon)),
            ("other networks, fitted again", *at_most(self.worst_tail)),
        )
        return PlanFigures(errors=errors, losses=losses)

    def compared_rows(self, told: ComparedRow, spreads: Mapping[str, Spread], seen: CodedRows, /) -> list[ComparedRow]:
        """Of each column that is drawn."""
        found = []
        for k, name in enumerate(self.names):
            most = np.bincount(seen.codes[:, k]).max() / len(seen.codes)
            far = self.kept.distance.get(name)
            spread = Spread(constant=1 - float(most)) if far is None else spreads[name]
            error = self.kept.changed[name] if far is None else far
            own = {"loss_any_law": self.cap, "loss_reader": self.reader_loss, **spread.shares(error)}
            found.append(replace(told, column=name, error=error, composes=NO_RULE, **own))
        return found

    def complete(
        self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None
    ) -> CompleteRows:
        check_columns(table, self.request, roles, kinds=kinds, coded=self.request.public)
        return complete_rows(table, roles, self.request, layout=layout)

    def see(self, rows: CompleteRows, /) -> CodedRows:
        return read_again(rows, self.request, self.columns)

    def rows_of(self, seen: CodedRows, /) -> dict[Secret, int]:
        return dict(seen.rows_per_secret)

    def measure(self, seen: CodedRows, /) -> Batch:
        """Nothing but which secrets there are: epsilon holds under the network, whatever these rows are."""
        protected_here(seen.rows_per_secret, known=self.rows_per_secret, pairs="all")
        return Batch(observed={}, exceeded={})

    def warn_of_others(self, seen: CodedRows, _: CompleteRows, /) -> None:
        """Warn of values that the plan does not know, which are replaced."""
        if many := {name: share for name, share in self._strange(seen).items() if share > MOVED}:
            warn_of_strange(many)

    @staticmethod
    def _strange(seen: CodedRows) -> dict[str, float]:
        """Shares of the rows whose value a release replaces by one that the plan knows, of numbers and functions."""
        of = [column.name for column in seen.columns if column.edges is not None or column.source is not None]
        return {name: seen.strange[name] / len(seen.codes) for name in of}

    def findings(self, seen: CodedRows, _: CompleteRows, /) -> list[Finding]:
        """Rows of each secret, how likely the rows are under the network, how far the law of each column has moved,
        and how many have values that the plan lacks.
        """
        self.measure(seen)
        numbers = {secret: k for k, secret in enumerate(self.rows_per_secret)}
        groups = np.array([numbers[secret] for secret in seen.secrets])[seen.groups]
        mean = float(self.plan.laws[0].log_likelihood(seen.codes, groups).mean())
        likely = finding("log-likelihood of a row", "", "", mean, limit=self.likelihood, verdict="")
        rows = sum(seen.rows_per_secret.values())
        other = [
            finding("other values", name, "", round(share * rows), verdict=REPLACED)
            for name, share in self._strange(seen).items()
            if share
        ]
        found = rows_found(", ".join(self.request.secret), self.rows_per_secret, seen.rows_per_secret)
        return [likely, *found, *self._drift(seen, groups), *other]

    def _drift(self, seen: CodedRows, groups: IndexArray) -> Iterator[Finding]:
        """How far the law of each drawn column given each secret is from the plan's, in its cells; nothing of a plan
        from a file that lacks it.
        """
        for k, counts in enumerate(self.kept.counts.values()):
            for s, (secret, known) in enumerate(zip(self.rows_per_secret, counts, strict=True)):
                here = np.bincount(seen.codes[groups == s, k], minlength=len(known))
                if here.any():
                    places = np.arange(here.size, dtype=np.float64)
                    laws = (places, np.array(known)), (places, here)
                    yield drift_finding(self.names[k], secret, *laws, secrets=len(counts))

    def check_asked(self, asked: RowsRequest, /) -> None:
        """Raise ArgumentError for `clip`, `round` and words of `publish`: what may be said is in every certificate."""
        Fitted.check_asked(self, asked)  # with slots the class that super() knows is another one
        if asked.publish:
            raise ArgumentError(
                "publish",
                rule="left out for a table that is released column by column",
                got=repr(asked.publish[0]),
                hint="Its certificate has the expected share of changed values of every column.",
            )

    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        return (self.draw(key),)

    def lean(self) -> tuple[Self, tuple[str, ...]]:
        """A file holds all of it."""
        return replace(self, request=lean_request(self.request, self.pairs)), ()

    def checked(self) -> Self:
        check_table_plan(self)
        return self

    def check_own(self, seen: CodedRows, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """Raise PlanFileError where these are the rows of the plan, and its network or its counts are not what it
        says of them.
        """
        if own_rows:
            planned, _ = split(seen, self.options.holdout)
            found = float(self.plan.laws[0].log_likelihood(planned.codes, planned.secrets).mean())
            same = is_close(found, self.likelihood) and self.planned == len(planned.codes)
            require(same, "another likelihood of these rows")
            require(not self.kept.counts or self.kept.counts == counts_of(planned, self.names), "other rows")
        return ()

    def loss(self, released: NativeFrame, /) -> NativeFrame:
        """The loss of each released row under each network that the plan is for, and the mean of these.

        Parameters
        ----------
        released : frame in memory
            A release by this plan, or some of its rows.

        Returns
        -------
        frame
            Of the same library, a column for each network: by how much the released values of the row change the
            log-odds of two secrets, of those two for which it is the most. Never above epsilon.

        Raises
        ------
        ColumnNotFoundError, PriorError, CalibrationError
            For a column that is not there, no row, and values that no release by this plan has.
        """
        table = open_table(released).in_memory()
        missing = next((name for name in self.names if name not in table.names), None)
        if missing is not None:
            raise not_found("public", missing, table.names)
        check_rows(len(table.opened()))
        drawn = [column for column in self.columns if column.source is None]
        table = table.in_days([column.name for column in drawn])
        for column in drawn:
            if (table.kind_of(column.name) == "numbers") != (column.edges is not None):
                raise other_levels(column.name, got="all rows")
        codes = np.stack([column.released(table) for column in drawn], axis=1)
        logs = log_likelihoods(self.plan, codes)
        losses = logs.max(axis=1) - logs.min(axis=1)
        return small_frame(dict(zip(self.beliefs, losses, strict=True)), library=library_of(released))


_PARTS = Sequential, TableColumn, SequentialPlan, Step, NetworkLaw, Tree, Kept, OtherBelief, Attack, HeldOut
"""Records that a plan is made of."""


class SequentialMechanism(Mechanism[CodedRows]):
    """The columns of a table are released one after another."""

    name = "sequential"
    options = Sequential
    records: ClassVar[Mapping[str, type]] = {"TablePlan": FittedTable} | {kind.__name__: kind for kind in _PARTS}

    def suits(self, public: Sequence[str], table: Table, /) -> bool:
        """More than a few columns."""
        return len(public) > FEW_COLUMNS

    def takes(self, request: Request, table: Table, /) -> Request | None:
        """By default only where it has a place for all that was asked for."""
        wrong, options = _cannot(request), request.mechanism
        if wrong and options == "auto":
            return None
        options = options if isinstance(options, Sequential) else Sequential()
        for name, rule, got in wrong:
            raise ArgumentError(
                name, rule=f"{rule} for a table that is released column by column", got=got, hint="Leave it out."
            )
        unknown = [name for name in options.known if name not in request.public]
        if unknown:
            raise ArgumentError(
                "known", rule="names of public columns", got=repr(unknown[0]), hint="Name columns that are released."
            )
        return replace(request, mechanism=options)

    def read(
        self, request: Request, frame: NativeFrame, table: Table, asked: RowsRequest | None, /
    ) -> Reading[CodedRows]:
        """The rows in codes: all of them, or of many some."""
        roles, layout = Roles(secret=request.secret, public=request.public), None
        if asked is not None:
            roles, layout = asked.roles, asked.layout
        rows = complete_rows(table, roles, request, layout=layout)
        warn_of_moved(rows, {}, request.domain)
        options = _options(request)
        seen = learn_columns(rows, request, cells=options.cells)
        seen = with_derived(seen, tuple(options.known)) if options.derived == "auto" else seen
        others = []
        for entry in filter(is_frame, request.beliefs):
            other = open_table(entry)
            missing = next((name for name in (*request.secret, *request.public) if name not in other.names), None)
            if missing is not None:
                raise not_found("beliefs", missing, other.names)
            others.append(read_other(complete_rows(other, roles, request, layout=None), request, seen))
        # a plan holds their networks: of the tables what is left is that there were some
        beliefs = [OtherTable(counts={}, radius=0.0) if is_frame(entry) else entry for entry in request.beliefs]
        request, seen = replace(request, beliefs=beliefs), replace(seen, others=tuple(others))
        return Reading(request=request, frame=frame, table=table, rows=rows, seen=seen)

    def fit(self, request: Request, seen: CodedRows, /) -> FittedTable:
        """Find the network, the channels, and what they lose."""
        found = FittedTable.of(request, _options(request), seen)
        found.refuse()
        return found


def _options(request: Request) -> Sequential:
    assert isinstance(request.mechanism, Sequential)
    return request.mechanism


def _cannot(request: Request) -> list[tuple[str, str, str]]:
    """Arguments that this mechanism has no place for: the name, what is possible, and what was given."""
    words = [belief for belief in request.beliefs if isinstance(belief, str)]
    others = [b for b in request.beliefs if not (isinstance(b, (str, Bootstrap, OtherTable)) or is_frame(b))]
    known = "fitted" in words and set(words) <= {"fitted", "empirical"}  # the latter by default: no law of whole rows
    epsilon, delta, possible = request.target.epsilon, request.target.delta, f"{LEAST_EPSILON:g} to {MOST_EPSILON:g}"
    found = [
        ("epsilon", f"from {possible}", f"{epsilon:g}", LEAST_EPSILON <= epsilon <= MOST_EPSILON),
        ("delta", "0", f"{delta:g}", delta == 0),
        ("given", "left out", "columns", not request.given_columns),
        ("unit", "left out", "a unit", request.unit is None),
        ("releases", "1", f"{request.repeats.releases}", request.repeats.releases == 1),
        ("secrets", '"joint", which protects each of them, too,', '"each"', not request.apart),
        ("pairs", '"all"', "a list", request.pairs == "all"),
        ("beliefs", '"fitted", and Bootstrap() or a frame beside it,', "others", known and not others),
    ]
    return [(name, rule, got) for name, rule, got, good in found if not good]


def complete_rows(table: Table, roles: Roles, request: Request, /, *, layout: RowOrder | None) -> CompleteRows:
    """The rows; where a missing value is a level, as where it is refused: it is looked for when they are read."""
    roles = replace(roles, coded=tuple(name for name in request.public if table.kind_of(name) != "numbers"))
    return table.complete(roles, nulls="drop" if request.nulls == "drop" else "raise", layout=layout)
