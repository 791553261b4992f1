"""How pictures look: colours that everybody can tell apart, small letters that can be read at 80 mm, units on axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from puffer_frames.errors import ArgumentTypeError, MissingPackageError
from puffer_frames.mechanisms.seam import Fitted
from puffer_frames.numbers.presentation import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito, 2008: told apart with every common colour blindness."""
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)))
"""A kind of line beside each colour, for prints without any."""
GREY = "0.45"
WIDE, HIGH = 3.3, 2.5
"""Inches: 84 mm wide."""
SMALL = 7.0
"""Points of the letters."""


def new_axes(ax: Axes | None, /) -> Axes:
    """The axes that were given, or those of a new figure of the width of a column of print.

    Raises MissingPackageError without matplotlib; ArgumentTypeError for what are no axes.
    """
    figure = _matplotlib().figure
    if ax is None:
        return figure(figsize=(WIDE, HIGH), layout="constrained").add_subplot()
    if not hasattr(ax, "transAxes"):
        raise ArgumentTypeError("ax", rule="matplotlib Axes", got=f"a {type(ax).__name__}", hint="Leave it out.")
    return ax


def new_sheet(count: int, /) -> tuple[Figure, Sequence[Axes]]:
    """A figure with so many axes, two in a row. A notebook shows it once: as a result, not as an open figure too."""
    rows, columns, pyplot = -(-count // 2), min(count, 2), _matplotlib()
    figure = pyplot.figure(figsize=(WIDE * columns, HIGH * rows), layout="constrained")
    pyplot.close(figure)
    return figure, [figure.add_subplot(rows, columns, k + 1) for k in range(count)]


def finish(ax: Axes, /, *, title: str, x: str, y: str, legend: bool = True) -> Axes:
    """Title, labels with units, small letters, and a legend where there is something to tell apart."""
    ax.set_title(title, fontsize=SMALL + 0.5, loc="left")
    ax.set_xlabel(x, fontsize=SMALL)
    ax.set_ylabel(y, fontsize=SMALL)
    ax.tick_params(labelsize=SMALL - 0.5)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=SMALL - 0.5, frameon=False, handlelength=2.2, labelspacing=0.3)
    return ax


def told_apart(k: int, /) -> dict[str, Any]:
    """Colour and kind of the k-th line."""
    return {"color": COLOURS[k % len(COLOURS)], "linestyle": LINES[k % len(LINES)]}


def short(name: object, /, *, most: int = 18) -> str:
    """A name that fits beside a picture; dollar signs would be mathematics, and control characters break SVG files."""
    text = shown(str(name)).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def _matplotlib() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        rule = "drawn by matplotlib"
        hint = 'Install it: pip install "puffer_frames[plot]".'
        raise MissingPackageError("pictures", rule=rule, got="an environment without it", hint=hint) from None
    return pyplot


class Planned(Protocol):
    """A plan of any kind."""

    @property
    def fitted(self) -> Fitted[Any]:
        """What the mechanism found."""

    def __getattr__(self, name: str, /) -> Any:
        """What it says."""
