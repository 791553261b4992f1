"""Pictures of plans and of releases: a sensible set in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from puffer_frames.certificates.report.columns import MOST_FIGURES, error_figure, instead, loss_figure
from puffer_frames.certificates.report.page import promise_claims
from puffer_frames.certificates.report.words import claim
from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import check_frame, open_table, values_in_memory
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import PlanFigures
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import Bars, Rows, Section, Table, as_page, as_sections
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.pictures.matrices import released as draw_released
from puffer_frames.verbs.pictures.style import new_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEEP_PRIVATE = "KEEP PRIVATE: this plan holds exact statistics of every secret; publish the certificate only."
_NEXT = (
    "Is the error small enough for the use that the release is for? Where it is above that of one constant, single "
    "values are of no use.",
    "May a reader know more than the beliefs named here: the population, another table, kept columns?",
    "Is a person in several rows? Then the guarantee is for one row, unless a unit is named.",
    "What was released of the same rows before? A ledger keeps count.",
    "Read what the certificate lists under 'not covered' before the release is given to anybody.",
)


def plan_figures(figures: PlanFigures, target: Target, /) -> list[Bars]:
    """The figures of a plan: the errors of the first columns, and the loss under wider laws."""
    drawn = [
        error_figure(
            one.name,
            error=one.error,
            spread=None if one.spread is None else (one.spread, f"{one.spread:.3g}"),
            constant=(one.constant, f"{one.constant:.3g}"),
        )
        for one in figures.errors[:MOST_FIGURES]
    ]
    if figures.losses:
        what = "Delta at this epsilon" if target.delta else "Pure loss"
        drawn.append(loss_figure(what, figures.losses, asked=target.delta or target.epsilon))
    return drawn


def plan_page(title: str, rows: Rows, /, *, request: Request, figures: PlanFigures, audit: object) -> str:
    """The whole file as text: its first line says that it is private."""
    target, unit = request.target, None if request.unit is None else request.unit.column
    said, odds = promise_claims(
        unit,
        request.given_columns,
        epsilon=target.epsilon,
        delta=target.delta,
        what=request.what,
        network=isinstance(request.mechanism, Sequential),
    )
    useless = [one for one in figures.errors if one.spread is not None and one.error > one.constant]
    useless = [one for one in useless if one.name not in figures.partly_useless]
    drowned = {one.name: (one.error, one.constant, f"{one.constant:.3g}") for one in useless}
    drawn, printed = plan_figures(figures, target), "As it is printed"
    sections = [
        instead(drowned, before="a release", columns=len(figures.errors), one_draw=request.one_draw, means=False),
        Section("promise", "The promise of a release by this plan", [odds, *said, claim("not-dp")]),
        Section("errors", "Errors and losses", [drawn]) if drawn else None,
        Section("plan", "The plan", [Table(rows, printed, kind="figures")], "small"),
        None
        if audit is None
        else Section("audit", "Test of a release", [Table([("report", str(audit))], printed, kind="figures")]),
        Section("next", "Before a release", [_NEXT]),
    ]
    return as_page(title, as_sections(sections), notice=KEEP_PRIVATE)


@short_traceback
def plot(released: NativeFrame, original: NativeFrame, /) -> Figure:
    """Draw how often each value occurs in a table and in its release, a picture for each public column.

    Parameters
    ----------
    released : frame
        With its certificate; in memory.
    original : frame
        The table that it is a release of; in memory.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    UncoveredFrameError
        For a release without a certificate.
    ArgumentError, ArgumentTypeError
        For a table without the public columns, and for plans: collect them first.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Rows with a missing value are left out. The figure shows the table: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
    >>> len(released.puffer.plot(people).axes)
    1
    """
    check_frame(original)
    names = certificate_of(released).public
    missing = [name for name in names if name not in open_table(original).names]
    if missing:
        rule = "a table with the public columns of the release"
        hint = "Name the table that was released."
        raise ArgumentError("the original", rule=rule, got=f"one without {missing[0]!r}", hint=hint)
    figure, axes = new_sheet(len(names))
    for name, ax in zip(names, axes, strict=True):
        draw_released(values_in_memory(original, name), values_in_memory(released, name), name=name, ax=ax)
    return figure
