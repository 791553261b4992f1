"""Pictures of plans and of releases: a sensible set in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from puffer_frames.certificates.report.columns import error_picture, instead
from puffer_frames.certificates.report.markup import (
    EMPTY,
    Bar,
    aside,
    bars,
    beside,
    items,
    named_rows,
    page,
    paragraph,
    section,
    table,
)
from puffer_frames.certificates.report.page import odds_picture, promise_claims
from puffer_frames.certificates.report.words import claim
from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import check_frame, open_table, values_in_memory
from puffer_frames.mechanisms.seam import ColumnError, PlanFigures
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import Rows
from puffer_frames.priors.prior import Secret
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.pictures.losses import sheet
from puffer_frames.verbs.pictures.matrices import released as draw_released
from puffer_frames.verbs.pictures.style import new_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KEEP_PRIVATE = "KEEP PRIVATE: this plan holds exact statistics of every secret; publish the certificate only."
_MOST_PICTURES = 3
_MOST_SECRETS = 8
_NEXT = (
    "Is the error small enough for the use that the release is for? Where it is above that of one constant, single "
    "values are of no use.",
    "May a reader know more than the beliefs named here: the population, another table, kept columns?",
    "Is a person in several rows? Then the guarantee is for one row, unless a unit is named.",
    "What was released of the same rows before? A ledger keeps count.",
    "Read what the certificate lists under 'not covered' before the release is given to anybody.",
)


def plan_page(
    title: str,
    rows: Rows,
    /,
    *,
    target: Target,
    figures: PlanFigures,
    rows_per_secret: Mapping[Secret, int],
    audit: object,
    one_draw: bool,
) -> str:
    """The whole file as text: its first line says that it is private."""
    said, found = promise_claims(target.epsilon, target.delta, whom=figures.whom, what=figures.what)
    tested = section("audit", "Test of a release", _pre(str(audit))) if audit is not None else ""
    return page(
        title,
        _instead(figures, one_draw=one_draw),
        section(
            "promise",
            "The promise of a release by this plan",
            aside(odds_picture(found)),
            *(paragraph(one.text) for one in said),
            paragraph(claim("not-dp").text),
        ),
        _errors(figures),
        _losses(figures, target),
        _secrets(rows_per_secret),
        section("plan", "The plan", named_rows(rows, caption="As it is printed", kind="figures"), kind="small"),
        tested,
        section("next", "Before a release", items(_NEXT)),
        notice=KEEP_PRIVATE,
    )


def _instead(figures: PlanFigures, *, one_draw: bool) -> str:
    """What to do before all else where the noise of numbers drowns them."""
    useless = [one for one in figures.errors if one.spread is not None and one.error > one.constant]
    found = {one.name: (one.error, one.constant, f"{one.constant:.3g}") for one in useless}
    claims = instead(found, columns=len(figures.errors), one_draw=one_draw, means=False)
    title = "Before a release: the noise drowns the values"
    return section("instead", title, items(one.text for one in claims), kind="box") if claims else ""


def _errors(figures: PlanFigures) -> str:
    rows = [(one.name, f"{one.error:.6g}", _number(one.spread), f"{one.constant:.6g}") for one in figures.errors]
    if not rows:
        return ""
    heads = ("Column", "Mean error", "Spread", "Error of a constant")
    pictures = [_picture(k, one) for k, one in enumerate(figures.errors[:_MOST_PICTURES])]
    caption = "In the units of each column; of labels the share that changes"
    return section("errors", "Expected error", table(heads, rows, caption=caption), beside(*pictures))


def _picture(k: int, one: ColumnError) -> str:
    spread = None if one.spread is None else (one.spread, f"{one.spread:.3g}")
    constant = (one.constant, f"{one.constant:.3g}")
    return error_picture(f"error-{k}", one.name, error=one.error, spread=spread, constant=constant)


def _losses(figures: PlanFigures, target: Target) -> str:
    if not figures.losses:
        return ""
    what = "Delta at this epsilon" if target.delta else "Pure loss"
    drawn = [
        Bar(label=laws, value=value, text=text, soft=k > 0) for k, (laws, value, text) in enumerate(figures.losses)
    ]
    picture = bars("losses", f"{what}; the line is what was asked for", drawn, mark=target.delta or target.epsilon)
    listed = table(
        ("Under", "Lost"), [(laws, text) for laws, _, text in figures.losses], caption=f"{what}, rounded up", kind="fit"
    )
    return section("losses", "How robust the promise is", aside(picture), listed)


def _secrets(rows: Mapping[Secret, int]) -> str:
    listed = list(rows.items())[:_MOST_SECRETS]
    drawn = [Bar(label=repr(secret), value=float(number), text=f"{number:,} rows") for secret, number in listed]
    title = "Rows of each secret" + (f", the first {len(listed)} of {len(rows):,}" if len(rows) > len(listed) else "")
    return section("secrets", "Secrets", beside(bars("rows", title, drawn)))


def _pre(text: str) -> str:
    return named_rows([("report", text)], caption="As it is printed", kind="figures")


def _number(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.6g}"


def plot_plan(self: Any, /) -> Figure:
    """Draw the pictures that say most of this plan: `puffer_frames.verbs.pictures.sheet(plan)`.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    CalibrationError, ArgumentError
        For a plan of which no picture can be drawn.
    MissingPackageError
        Without matplotlib.
    """
    return sheet(self)


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
        raise ArgumentError(
            "the original",
            rule="a table with the public columns of the release",
            got=f"one without {missing[0]!r}",
            hint="Name the table that was released.",
        )
    figure, axes = new_sheet(len(names))
    for name, ax in zip(names, axes, strict=True):
        draw_released(values_in_memory(original, name), values_in_memory(released, name), name=name, ax=ax)
    return figure
