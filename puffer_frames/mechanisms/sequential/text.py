"""The plan of a whole table as titled rows of text: what is hidden, from whom, and at what price."""

from __future__ import annotations

import math

from puffer_frames.mechanisms.figures import ColumnError, PlanFigures
from puffer_frames.mechanisms.sequential.certificate import largest_auc
from puffer_frames.mechanisms.sequential.fitted import TableFit
from puffer_frames.numbers.presentation import Rows, at_most, odds_text, pairs_text, plain, rounded_up

_WHAT = "the released values of one row together"
_MOST_SHOWN, _FEW_SECRETS = 15, 3
"""Columns that have a line, and secrets that have a share each."""
_MUCH = 0.25
"""A column of which more is changed is named."""


def table_rows(plan: TableFit, /) -> Rows:
    """Labels and texts, in order."""
    target = plan.request.target
    rows = [
        ("hidden", _hidden(plan)),
        ("price", _price(plan)),
        *_columns(plan),
        *([("next", _next(plan))] if _next(plan) else []),
        ("pairs", pairs_text(plan.pairs, apart=False)),
        ("meaning", f"{odds_text(_WHAT, epsilon=target.epsilon, delta=0.0)}, under {plan.belief_words}"),
        (
            "other networks",
            f"fitted again: delta at most {rounded_up(plan.worst_delta, digits=2):g}; about 99 % of losses at most "
            f"{plan.worst_tail:.2f}, AUC about {plan.worst_auc:.2f} (measured)",
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
    secrets = ", ".join(f"{secret!r} {count:,}" for secret, count in plan.rows_per_secret.items())
    rows.append(("rows", f"{secrets}; planned on {plan.planned:,}"))
    rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
    return rows


def _order(plan: TableFit) -> str:
    steps = plan.plan.steps
    listed = ", ".join(f"{plan.names[step.column]} ({len(step.weights)})" for step in steps[:_MOST_SHOWN])
    return listed + f", and {len(steps) - _MOST_SHOWN} more" * (len(steps) > _MOST_SHOWN)


def _hidden(plan: TableFit) -> str:
    if plan.held is None:
        return "no attack was tried on rows that the network was not fitted to"
    allowed = largest_auc(plan.request.target.epsilon)
    best, raw = max(plan.held.best), max(plan.held.raw)
    told = "; THE RAW COLUMNS TELL NO MORE" * (best >= raw)
    return (
        f"the best of {len(plan.held.attacks)} attackers tells the secret of held-out rows{plan.attacked_words} with "
        "an AUC of "
        f"{best:.2f} (raw columns {raw:.2f}; epsilon allows {allowed:.2f} under the network){told}"
    )


def _price(plan: TableFit) -> str:
    changed = sum(plan.kept.changed.values()) / len(plan.kept.changed)
    return (
        f"{100 * changed:.1f} % of labels and cells changed; shares of levels within {plan.kept.marginals:.4f} on "
        f"average, of pairs of columns within {plan.kept.pairs:.3f} (total variation)"
    )


def _columns(plan: TableFit) -> Rows:
    """Each column in words, the most changed first; of many the first."""
    found = []
    cells = {column.name for column in plan.columns if column.is_in_cells}
    ordered = sorted(plan.kept.changed.items(), key=lambda entry: -entry[1])
    for name, share in ordered[:_MOST_SHOWN]:
        distance = plan.kept.distance.get(name)
        same = "in the same cell" if name in cells else "unchanged"
        near = "" if distance is None else f", off by {'at most ' * (name in cells)}{distance:.3g} on average"
        found.append((name, f"{100 * (1 - share):.0f} % {same}{near} (changed: {_by_secret(plan, name)})"))
    if left := ordered[_MOST_SHOWN:]:
        least = math.floor(100 * (1 - left[0][1]))
        found.append(("others", f"{len(left)} columns, each at least {least} % unchanged: plan.kept has them all"))
    return found


def _by_secret(plan: TableFit, name: str) -> str:
    shares = dict(zip(plan.rows_per_secret, plan.kept.changed_of[name], strict=True))
    if len(shares) <= _FEW_SECRETS:
        return ", ".join(f"{secret!r} {100 * share:.0f} %" for secret, share in shares.items())
    low, high = min(shares, key=lambda s: shares[s]), max(shares, key=lambda s: shares[s])
    return f"from {100 * shares[low]:.0f} % for {low!r} to {100 * shares[high]:.0f} % for {high!r}"


def _next(plan: TableFit) -> str:
    """What may make a release better, where something stands out; empty where nothing does."""
    if plan.held is not None and max(plan.held.best) >= max(plan.held.raw):
        return "do not publish this: attackers tell the secret from the release as well as from the raw columns"
    if plan.is_far:
        return "add Bootstrap(5) to beliefs, take Sequential(step=0.15), or release fewer columns: see other networks"
    changed = sorted((share, name) for name, share in plan.kept.changed.items() if share > _MUCH)
    if not changed:
        return ""
    names = ", ".join(name for _, name in changed[: -_FEW_SECRETS - 1 : -1])
    return f"too many changes? Leave out {names}, merge rare levels there, or ask for a larger epsilon"


def table_figures(plan: TableFit, /) -> PlanFigures:
    """What its report shows as pictures."""
    errors = tuple(
        ColumnError(name=name, error=share, constant=1.0, spread=None) for name, share in plan.kept.changed.items()
    )
    losses = (
        ("the fitted network", *at_most(plan.request.target.epsilon)),
        ("networks fitted again", *at_most(plan.worst_tail)),
    )
    return PlanFigures(whom="of one record", what=_WHAT, errors=errors, losses=losses)
