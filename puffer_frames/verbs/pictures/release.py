"""A column as it was, and as it was released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from puffer_frames.mechanisms.noise.drawn import coarse
from puffer_frames.verbs.pictures.style import COLOURS, finish, new_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BINS = 40
_MOST_LABELS = 16
_TAIL = 0.005
"""The share of released values that may lie beyond either end of the picture."""


def released(before: Sequence[Any], after: Sequence[Any], /, *, name: str = "", ax: Axes | None = None) -> Axes:
    """Draw how often each value was there before a release, and how often after it.

    Alt text: a filled outline, the values of the table, and a line, the released values: the same hill, flatter and
    wider. Of labels two marks per label, one for its share before and one for its share after.

    Parameters
    ----------
    before, after : sequence of numbers or labels
        Values of the table, and of its release, without missing ones.
    name : str
        Of the column.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Half a percent of the released values may lie beyond either end of the picture. It shows the table: keep it private.

    Examples
    --------
    >>> from puffer_frames import pictures
    >>> pictures.released([1, 2, 2, 3], [0.5, 2.5, 1.8, 4.1], name="score").get_ylabel()
    'density'
    """
    ax = new_axes(ax)
    first, second = np.asarray(before), np.asarray(after)
    if first.dtype.kind in "OUS" or second.dtype.kind in "OUS":
        return _labels(first, second, name, ax)
    first, second = first.astype(float), second.astype(float)
    low, high = np.quantile(second, [_TAIL, 1 - _TAIL])
    edges = coarse(first, _MOST_BINS)
    shares = np.histogram(first, edges)[0] / first.size / np.diff(edges)
    ax.stairs(shares, edges, fill=True, color=COLOURS[0], alpha=0.25, label="before")
    wide = np.linspace(min(low, edges[0]), max(high, edges[-1]), _MOST_BINS + 1)
    after_shares = np.histogram(second, wide)[0] / second.size / np.diff(wide)
    ax.stairs(after_shares, wide, color=COLOURS[1], linewidth=1.3, label="after")
    ax.set_ylim(bottom=0)
    return finish(ax, title="Before and after", x=short(name, most=40), y="density")


def _labels(first: Any, second: Any, name: str, ax: Axes) -> Axes:
    """Shares of labels, the most frequent ones."""
    levels, counts = np.unique(first.astype(str), return_counts=True)
    shown = levels[np.argsort(-counts, kind="stable")][:_MOST_LABELS]
    places = np.arange(shown.size)[::-1]
    for values, marker, colour, label in ((first, "o", COLOURS[0], "before"), (second, "x", COLOURS[1], "after")):
        shares = [float((values.astype(str) == level).mean()) for level in shown]
        ax.plot(shares, places, marker, color=colour, markersize=4, markerfacecolor="none", label=label)
    ax.set_yticks(places, [short(level) for level in shown])
    ax.set_xlim(left=0)
    more = f", {levels.size - shown.size} more not shown" if levels.size > shown.size else ""
    return finish(ax, title=f"Before and after{more}", x="share of the rows", y=short(name))
