"""How much columns tell of one another, before and after a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.pictures.style import SMALL, finish, new_sheet, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_TICKS = 30


def associations(names: Sequence[str], before: FloatArray, after: FloatArray, /) -> Figure:
    """Draw three matrices: how much each two columns tell of one another before, after, and the difference.

    Alt text: two tables of squares beside one another, a row and a column per column of the table, darker where two of
    them tell more of one another; below, their difference, blue where the release tells less and red where more.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    before, after : array of float, shape (columns, columns)
        From 0 to 1.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> import numpy as np
    >>> from puffer_frames import pictures
    >>> len(pictures.associations(["age", "town"], np.eye(2), np.eye(2)).axes)
    6
    """
    figure, axes = new_sheet(3)
    parts = {"Before": before, "After": after, "Difference": after - before}
    for ax, (title, matrix) in zip(axes, parts.items(), strict=True):
        colours, low = ("bwr", -1.0) if title == "Difference" else ("Greys", 0.0)
        image = ax.imshow(matrix, cmap=colours, vmin=low, vmax=1.0)
        figure.colorbar(image, ax=ax, shrink=0.8).ax.tick_params(labelsize=SMALL - 0.5)
        ticks = range(len(names)) if len(names) <= _MOST_TICKS else []
        ax.set_xticks(ticks, [short(names[k], most=12) for k in ticks], rotation=90)
        ax.set_yticks(ticks, [short(names[k], most=12) for k in ticks])
        finish(ax, title=title, x="", y="", legend=False)
    return figure
