"""Pictures of what becomes of values: laws, a channel, a coupling, a release, and associations of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.noise.curves import ColumnLaws, coarse, coupling
from puffer_frames.numbers.presentation import level_text
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.verbs.pictures.style import COLOURS, SMALL, Planned, finish, new_axes, new_sheet, short, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_SECRETS = 3
_MOST_BINS = 40


def distributions(plan: Planned, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the law of a column given each secret, as it is and with the noise of a plan.

    Alt text: for each of up to three secrets a filled outline, the density of the values of the table, and a line in
    the same colour, the density of the released values. The outlines differ from secret to secret; the lines are much
    nearer to one another.

    - `column`: By default the first column of numbers.
    - `ax`: By default those of a new figure, 84 mm wide.
    Raises ArgumentError for a plan without such a column.

    The lines are computed from the frequencies and the noise, not drawn at random; where the plan has a remap, they are
    before it. The picture shows exact statistics of every secret: keep it private.
    """
    found, ax = ColumnLaws.of(plan.fitted, column), new_axes(ax)
    secrets = found.shown(MOST_SECRETS)
    edges = coarse(np.concatenate([law.means for law in found.laws.values()]), _MOST_BINS)
    for k, secret in enumerate(secrets):
        density = found.shares(secret, edges) / np.diff(edges)
        ax.stairs(density, edges, fill=True, color=COLOURS[k], alpha=0.10, linewidth=0)
        ax.stairs(density, edges, color=COLOURS[k], alpha=0.8, linewidth=0.6)
        if found.noise is None:
            ax.plot([], [], label=short(secret), **told_apart(k))
            continue
        y = found.released
        ax.plot(y, np.exp(found.log_density(secret, y)), label=short(secret), linewidth=1.3, **told_apart(k))
    ax.set_ylim(bottom=0)
    more = f", {len(found.laws) - len(secrets)} more not shown" if len(found.laws) > len(secrets) else ""
    return finish(ax, title=f"Before (filled) and after (lines){more}", x=short(found.name, most=40), y="density")


_MOST_TICKS = 30


def associations(names: Sequence[str], before: FloatArray, after: FloatArray, /) -> Figure:
    """Draw three matrices: how much each two columns tell of one another before, after, and the difference.

    Alt text: two tables of squares beside one another, a row and a column per column of the table, darker where two of
    them tell more of one another; below, their difference, blue where the release tells less and red where more.

    - `names` (sequence of str): Names of the columns.
    - `before`, `after` (array of float, shape (columns, columns)): From 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from puffer_frames import pictures
    >>> len(pictures.associations(["age", "town"], np.eye(2), np.eye(2)).axes)
    6
    """
    figure, axes = new_sheet(3)
    figure.suptitle("How much two columns tell of one another (0: nothing, 1: all)", fontsize=SMALL + 2)
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


_MOST_LABELS = 16
_TAIL = 0.005
"""The share of released values that may lie beyond either end of the picture."""


def released(before: Sequence[Any], after: Sequence[Any], /, *, name: str = "", ax: Axes | None = None) -> Axes:
    """Draw how often each value was there before a release, and how often after it.

    Alt text: a filled outline, the values of the table, and a line, the released values: the same hill, flatter and
    wider. For labels, two marks each: the share before and the share after.

    - `before`, `after` (sequence of numbers or labels): Values of the table, and of its release, without missing ones.
    - `name`: Name of the column.

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


_NUMBERS = 8
"""Up to so many rows and columns have their numbers in them."""
_TICKS = 16
_MOST_CELLS = 60


def channel(plan: Planned, /, *, ax: Axes | None = None) -> Axes:
    """Draw a channel as a matrix: the probability of each output given each input.

    Alt text: a table of squares, a row per level of the column and a column per level that can be released; darker is
    more probable. The diagonal, a level released as itself, is dark; few squares beside it are not white.

    Raises ArgumentError for a plan of noise.

    The matrix holds statistics of every secret: keep it private.
    """
    ax = new_axes(ax)
    if not plan.channels:
        raise ArgumentError(
            "the plan", rule="that of a channel", got="one of noise", hint="Draw pictures.transport(plan) for noise."
        )
    name, found = next(iter(plan.channels.items()))
    _matrix(ax, found.matrix, [*map(level_text, found.inputs)], [*map(level_text, found.outputs)])
    return finish(ax, title="Probability of each output", x=f"released {short(name)}", y=short(name), legend=False)


def transport(
    plan: Planned | Mapping[Secret, Prior],
    /,
    *,
    pair: Sequence[Secret] | None = None,
    column: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the values of one secret are moved to those of another: the coupling with the smallest largest step.

    In the place of a plan there may be the laws of two secrets, such as those of `sum_of_users` with and without one.

    Alt text: a table of squares, a row per value of one secret and a column per value of the other; the dark squares
    form a rising staircase, the monotone coupling. A square far from the dashed diagonal is a long step; the longest is
    marked, and the published scale is its length over epsilon.

    - `pair`: By default the pair with the largest loss; of laws the first two.
    - `column`: By default the first column of numbers.
    Raises ArgumentError for a plan without such a column, and for secrets that it does not have, or whose law has a
    Gaussian component.

    More than 60 different values are drawn in bins. It shows exact statistics of both secrets: keep it private.
    """
    if isinstance(plan, Mapping):
        laws, worst, words = plan, tuple(plan)[:2], ["value"]
    else:
        found = ColumnLaws.of(plan.fitted, column)
        laws, worst, words = found.laws, found.worst, [short(found.name), short(", ".join(plan.secret))]
    first, second = (*(worst if pair is None else pair), None, None)[:2]
    if not all(isinstance(laws.get(one), Prior) and laws[one].is_discrete for one in (first, second)):
        raise ArgumentError(
            "pair", rule="two secrets of the plan, or of laws of atoms", got="others", hint="Leave it out."
        )
    p, q, ax = laws[first], laws[second], new_axes(ax)
    joint = coupling(p, q)
    edges = coarse(np.concatenate([p.means, q.means]), _MOST_CELLS)
    image = np.zeros((edges.size - 1, edges.size - 1))
    rows, columns = (np.searchsorted(edges, law.means, side="right").clip(1, edges.size - 1) - 1 for law in (p, q))
    np.add.at(image, (rows[:, None], columns[None, :]), joint)
    shade = np.sqrt(image / image.max())  # small shares are seen too
    mesh = ax.pcolormesh(edges, edges, shade, cmap="Blues", vmin=0, vmax=1, linewidth=0, rasterized=True)
    mesh.set_edgecolor("face")
    ends = (edges[0], edges[-1])
    ax.plot(ends, ends, color=COLOURS[1], linewidth=0.8, linestyle="--")
    step = np.where(joint > 1e-12, np.abs(p.means[:, None] - q.means), -1.0)
    i, j = np.unravel_index(int(step.argmax()), step.shape)
    ax.plot([q.means[j]], [p.means[i]], "o", color=COLOURS[1], markersize=4, markerfacecolor="none")
    title = f"Coupling; longest step {step.max():.4g}"
    across, up = (", ".join([words[0], " ".join([*words[1:], short(one)])]) for one in (second, first))
    return finish(ax, title=title, x=across, y=up, legend=False)


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
