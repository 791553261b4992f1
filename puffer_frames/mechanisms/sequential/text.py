"""The plan of a whole table as titled rows of text: what is hidden, from whom, and at what price."""

from __future__ import annotations

from puffer_frames.mechanisms.figures import ColumnError, PlanFigures
from puffer_frames.mechanisms.sequential.certificate import largest_auc
from puffer_frames.mechanisms.sequential.fitted import TableFit
from puffer_frames.numbers.presentation import Rows, at_most, odds_text, pairs_text, plain, rounded_up

_WHAT = "the released values of one row together"


def table_rows(plan: TableFit, /) -> Rows:
    """Labels and texts, in order."""
    target = plan.request.target
    rows = [
        ("hidden", _hidden(plan)),
        ("price", _price(plan)),
        *_columns(plan),
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
        ("order", ", ".join(f"{plan.names[s.column]} ({len(s.weights)})" for s in plan.plan.steps) + " (contexts)"),
    ]
    if derived := [f"{c.name} of {c.source}" for c in plan.columns if c.source is not None]:
        rows.append(("computed", ", ".join(derived)))
    secrets = ", ".join(f"{secret!r} {count:,}" for secret, count in plan.rows_per_secret.items())
    rows.append(("rows", f"{secrets}; planned on {plan.planned:,}"))
    rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
    return rows


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
    """Each column in words, the most changed first."""
    secrets, found = tuple(plan.rows_per_secret), []
    cells = {column.name for column in plan.columns if column.is_in_cells}
    for name, share in sorted(plan.kept.changed.items(), key=lambda entry: -entry[1]):
        distance = plan.kept.distance.get(name)
        same = "in the same cell" if name in cells else "unchanged"
        near = "" if distance is None else f", off by {'at most ' * (name in cells)}{distance:.3g} on average"
        by = ", ".join(f"{s!r} {100 * c:.0f} %" for s, c in zip(secrets, plan.kept.changed_of[name], strict=True))
        found.append((name, f"{100 * (1 - share):.0f} % {same}{near} (changed: {by})"))
    return found


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
