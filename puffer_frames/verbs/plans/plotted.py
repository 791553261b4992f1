"""Pictures of plans and of releases: a sensible set in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import check_frame, open_table, values_in_memory
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.pictures.release import released as draw_released
from puffer_frames.verbs.pictures.sheets import sheet
from puffer_frames.verbs.pictures.style import new_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
