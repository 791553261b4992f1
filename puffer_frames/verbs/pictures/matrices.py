"""What goes where: a channel, and the coupling of two secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.channel.options import label_text
from puffer_frames.mechanisms.noise.drawn import NoisePlan, NoisyColumn, Planned, coarse, coupling
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.verbs.pictures.style import COLOURS, SMALL, finish, new_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUMBERS = 8
"""Up to so many rows and columns have their numbers in them."""
_TICKS = 16
_MOST_BINS = 60


def channel(plan: Planned, /, *, ax: Axes | None = None) -> Axes:
    """Draw a channel as a matrix: the probability of each output given each input.

    Alt text: a table of squares, a row per level of the column and a column per level that can be released; darker is
    more probable. The diagonal, a level released as itself, is dark; few squares beside it are not white.

    Parameters
    ----------
    plan : Plan
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError
        For a plan of noise.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    The matrix holds statistics of every secret: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "town": rng.choice(["x", "y", "z"], 100)})
    >>> people.loc[people["group"] == "a", "town"] = "x"
    >>> plan = people.puffer.calibrate(secret="group", public="town", epsilon=0.5)
    >>> pictures.channel(plan).get_ylabel()
    'town'
    """
    ax = new_axes(ax)
    if not plan.channels:
        raise ArgumentError(
            "the plan", rule="that of a channel", got="one of noise", hint="Draw pictures.transport(plan) for noise."
        )
    name, found = next(iter(plan.channels.items()))
    _matrix(ax, found.matrix, [_level(each) for each in found.inputs], [_level(each) for each in found.outputs])
    return finish(ax, title="Probability of each output", x=f"released {short(name)}", y=short(name), legend=False)


def transport(
    plan: NoisePlan, /, *, pair: Sequence[Secret] | None = None, column: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how the values of one secret are moved to those of another: the coupling with the smallest largest step.

    Alt text: a table of squares, a row per value of one secret and a column per value of the other; the dark squares
    form a rising staircase, the monotone coupling. A square far from the dashed diagonal is a long step; the longest is
    marked, and the published scale is its length over epsilon.

    Parameters
    ----------
    plan : Plan
    pair : two secrets, optional
        By default the pair with the largest loss.
    column : str, optional
        By default the first column of numbers.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError
        For a plan without such a column, and for secrets that it does not have.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    More than 60 different values are drawn in bins. It shows exact statistics of both secrets: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> pictures.transport(plan, pair=("a", "b")).get_xlabel()
    'score, group b'
    """
    found, ax = NoisyColumn.of(plan, column), new_axes(ax)
    first, second = found.worst if pair is None else pair
    if first not in found.laws or second not in found.laws:
        raise ArgumentError(
            "pair", rule="two secrets of the plan", got="others", hint="Leave it out for the worst pair."
        )
    p, q = found.laws[first], found.laws[second]
    joint = coupling(p, q)
    edges = coarse(np.concatenate([p.means, q.means]), _MOST_BINS)
    image = np.zeros((edges.size - 1, edges.size - 1))
    rows, columns = (np.searchsorted(edges, law.means, side="right").clip(1, edges.size - 1) - 1 for law in (p, q))
    np.add.at(image, (rows[:, None], columns[None, :]), joint)
    mesh = ax.pcolormesh(edges, edges, _shade(image), cmap="Blues", vmin=0, vmax=1, linewidth=0, rasterized=True)
    mesh.set_edgecolor("face")
    ends = (edges[0], edges[-1])
    ax.plot(ends, ends, color=COLOURS[1], linewidth=0.8, linestyle="--")
    step = np.where(joint > 1e-12, np.abs(p.means[:, None] - q.means), -1.0)
    i, j = np.unravel_index(int(step.argmax()), step.shape)
    ax.plot([q.means[j]], [p.means[i]], "o", color=COLOURS[1], markersize=4, markerfacecolor="none")
    title = f"Coupling; longest step {step.max():.4g}"
    name, secret = short(found.name), short(", ".join(plan.secret))
    return finish(
        ax, title=title, x=f"{name}, {secret} {short(second)}", y=f"{name}, {secret} {short(first)}", legend=False
    )


def _matrix(ax: Axes, table: FloatArray, rows: list[str], columns: list[str]) -> None:
    image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02)
    bar.ax.tick_params(labelsize=SMALL - 1)
    few = max(table.shape) <= _NUMBERS
    for axis, names in ((ax.xaxis, columns), (ax.yaxis, rows)):
        places = np.arange(0, len(names), max(1, -(-len(names) // _TICKS)))
        axis.set_ticks(places, [short(names[k], most=12) for k in places])
    if max(map(len, columns)) > 3:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="right", rotation_mode="anchor")
    if few:
        for (i, j), value in np.ndenumerate(table):
            colour: Any = "white" if value > 0.5 else "black"
            text = f"{value:.2f}" if value >= 0.005 else ""
            ax.text(j, i, text, ha="center", va="center", fontsize=SMALL - 1.5, color=colour)


def _shade(image: FloatArray) -> FloatArray:
    """Square roots of shares of the largest entry: small ones are seen too."""
    return np.sqrt(image / image.max())


def _level(level: Any) -> str:
    return label_text(level) if isinstance(level, (str, type(None))) else f"{level:g}"
