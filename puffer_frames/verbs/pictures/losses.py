"""Pictures of what a plan loses: along the released value, per belief, against epsilon; and sheets of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.table import small_rows
from puffer_frames.mechanisms.noise.curves import ColumnLaws, columns_of
from puffer_frames.numbers.arguments import check_count, check_epsilon, check_kind
from puffer_frames.numbers.presentation import plain, upper_text
from puffer_frames.papers.quilt.influence import FixedStart, stationary_influence
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.pictures.matrices import channel, distributions
from puffer_frames.verbs.pictures.style import (
    COLOURS,
    GREY,
    SMALL,
    Planned,
    finish,
    new_axes,
    new_sheet,
    short,
    told_apart,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_FLOOR = 1e-9
"""A delta below this is drawn there."""
_FINE = tuple(np.geomspace(0.1, 4.0, 25).tolist())


def curve(plan: Planned, /, *, epsilons: Iterable[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw scale and error against epsilon: published, as the plan would use it, and the bound for the value alone.

    Alt text: lines that fall from left to right on logarithmic axes: the published scale above, the error of this plan
    below it, under both the dotted bound of all mechanisms that see the value alone; a dot marks the plan.

    - `epsilons` (iterable of float): As in `plan.curve`.
    Raises ArgumentError, ArgumentTypeError, CalibrationError as `plan.curve`.

    It shows exact statistics of the table: keep it private.
    """
    ax = new_axes(ax)
    rows = small_rows(plan.curve(epsilons))
    names = ("epsilon", "scale", "published_error", "error", "bound")
    found = columns_of(rows, names)
    channel = bool(plan.channels)
    lines = [
        ("published_error", "error, published"),
        ("scale", "scale"),
        ("error", "error"),
        ("bound", "bound, value alone seen"),
    ]
    same = np.allclose(found["scale"], found["error"], equal_nan=True)
    for k, (name, label) in enumerate(lines):
        values = np.where(found[name] > 0, found[name], np.nan)
        if np.isnan(values).all() or (name == "scale" and same):
            continue
        words = f"{label} = scale" if name == "error" and same else label
        ax.plot(found["epsilon"], values, label=words, linewidth=1.2, marker=".", markersize=3, **told_apart(k))
    error = plan.expected_error[rows[0]["column"]]
    if error > 0:
        ax.plot([plan.epsilon], [error], "o", color=COLOURS[2], markersize=5, markerfacecolor="none")
    ax.set_xscale("log")
    ax.set_yscale("log")
    _plain_ticks(ax)
    unit = "mean error, share of labels or units" if channel else f"units of {short(rows[0]['column'], most=30)}"
    return finish(ax, title="Error against epsilon", x="epsilon", y=unit)


def profile(plan: Planned, /, *, epsilons: Iterable[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the privacy profile: delta against epsilon under each belief, between its bounds.

    Alt text: falling bands, one per belief, lowest for the observed law and highest for any law at all; each is filled
    between the lower and the upper bound of delta; a cross marks what was asked for.

    - `epsilons` (iterable of float): By default 25 from a tenth of the plan's to four times it.
    Raises ArgumentError, ArgumentTypeError, CalibrationError as `plan.privacy_profile`.

    Deltas below 1e-9 are drawn at 1e-9. It shows exact statistics of the table: keep it private.
    """
    ax = new_axes(ax)
    rows = small_rows(plan.privacy_profile([step * plan.epsilon for step in _FINE] if epsilons is None else epsilons))
    for k, belief in enumerate(dict.fromkeys(row["belief"] for row in rows)):
        own = [row for row in rows if row["belief"] == belief]
        found = columns_of(own, ("epsilon", "lower", "upper"))
        look = told_apart(k)
        label = short(belief) + ("" if own[0]["covered"] else " *")
        lower, upper = found["lower"].clip(_FLOOR), found["upper"].clip(_FLOOR)
        ax.fill_between(found["epsilon"], lower, upper, color=look["color"], alpha=0.15, linewidth=0)
        ax.plot(found["epsilon"], upper, linewidth=1.2, label=label, **look)
    ax.plot([plan.epsilon], [max(plan.delta, _FLOOR)], "x", color="black", markersize=5, clip_on=False, zorder=5)
    ax.axvline(plan.epsilon, color=GREY, linewidth=0.4)
    ax.set_yscale("log")
    ax.set_ylim(_FLOOR, 1.5)
    ax.set_xlim(right=1.35 * ax.get_xlim()[1])  # room for the names
    finish(ax, title="Privacy profile (cross: asked for; * not covered)", x="epsilon", y="delta", legend=False)
    ax.legend(fontsize=SMALL - 0.5, frameon=False, handlelength=2.2, labelspacing=0.3, loc="center right")
    return ax


def _plain_ticks(ax: Axes) -> None:
    """0.5, 1, 2 in place of powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    low, high = ax.get_ylim()
    if low > 0 and high / low < 1e3:
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


_MOST_STEPS = 256
_BEYOND = 1.35
"""So much wider than the quilt the picture is."""


def quilt(
    chain: MarkovChain, /, *, length: int, epsilon: float, node: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the quilt around a node of a series: what its neighbours tell of it, and which of them are hidden with it.

    Alt text: a curve that falls on both sides of the node, what a value at each distance tells of it; two squares mark
    the quilt, and the shaded nodes between them are hidden with the node. Beyond the squares the curve is low: what
    those values tell is paid for.

    - `length`: Values of the series.
    - `node`: From 1 to the length; by default the middle one.
    Raises ArgumentError, ArgumentTypeError for a number out of range.

    Quilts of up to 256 steps are looked at.

    [SWC17]; docs/theory.md, section 10.

    Examples
    --------
    >>> from puffer_frames import MarkovChain, pictures
    >>> chain = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])
    >>> pictures.quilt(chain, length=100, epsilon=1.0).get_xlabel()
    'steps from value 50'
    """
    epsilon = check_epsilon(epsilon)
    length = check_count(length, "length", at_least=2, at_most=1 << 30)
    node = (length + 1) // 2 if node is None else check_count(node, "node", at_least=1, at_most=length)
    check_kind(chain, MarkovChain, "chain", rule="a MarkovChain", hint="Write MarkovChain.of(matrix).")
    ax = new_axes(ax)
    before, after = min(node - 1, _MOST_STEPS), min(length - node, _MOST_STEPS)
    steps = np.arange(1, max(before, after) + 1)
    stationary = isinstance(chain.initial, str) and chain.initial == "stationary"
    if stationary:
        found = stationary_influence(chain, steps)
        left, right = found.left[:before], found.right[:after]
    else:
        left, right = FixedStart(chain=chain, steps=steps).at(node)
        right = right[:after]
    a, b, told = _best(left, right, length, node, epsilon)
    reach = math.ceil(_BEYOND * max(a or 0, b or 0, 4)) + 1
    shown = (min(before, reach), min(after, reach))
    hidden = (-(a - 1) if a else -shown[0] - 0.5, b - 1 if b else shown[1] + 0.5)
    ax.axvspan(hidden[0] - 0.4, hidden[1] + 0.4, color=COLOURS[5], alpha=0.25, linewidth=0, label="hidden with it")
    for sign, table, count in ((-1, left, shown[0]), (1, right, shown[1])):
        most = table[:count].max(axis=1, initial=0.0).clip(0, 4 * epsilon)
        ax.plot(sign * steps[:count], most, ".-", color=COLOURS[0], linewidth=0.9, markersize=3)
    ax.plot([0], [0], "o", color=COLOURS[1], markersize=5, label="the value")
    for sign, at, table in ((-1, a, left), (1, b, right)):
        if at:
            label = "quilt" if sign > 0 or not b else None
            height = float(table[at - 1].max(initial=0.0))
            ax.plot([sign * at], [height], "s", color=COLOURS[2], markersize=5, label=label)
    ax.axhline(epsilon, color=GREY, linestyle="--", linewidth=0.7)
    ax.annotate("ε", (1.01, epsilon), xycoords=("axes fraction", "data"), fontsize=SMALL, va="center")
    card = (a - 1 if a else node - 1) + (b - 1 if b else length - node) + 1
    scale = card / (epsilon - told)
    title = f"{card} values hidden, the quilt tells {told:.3g}: scale {scale:.4g}"
    return finish(ax, title=title, x=f"steps from value {node}", y="log-ratio told")


def _best(
    left: FloatArray, right: FloatArray, length: int, node: int, epsilon: float
) -> tuple[int | None, int | None, float]:
    """How far the quilt with the smallest score reaches to either side (None: to the end), and what it tells."""
    sides = [np.vstack([table, np.zeros(table.shape[1])]) for table in (left, right)]  # a last one: to the end
    before, after = np.append(np.arange(len(left)), node - 1), np.append(np.arange(len(right)), length - node)
    told = np.stack([(one + sides[1]).max(axis=1, initial=0.0) for one in sides[0]])
    card = before[:, None] + after + 1
    scores = np.where(told < epsilon, card / np.maximum(epsilon - told, 1e-300), np.inf)
    a, b = np.unravel_index(int(scores.argmin()), scores.shape)
    reach = [None if k == len(table) else int(k) + 1 for k, table in ((a, left), (b, right))]
    return reach[0], reach[1], float(told[a, b])


_MOST_PAIRS = 30


def loss(plan: Planned, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    r"""Draw the log-ratio of the densities of two secrets along the released value, with the band of epsilon.

    .. math:: \log f_s(y) - \log f_t(y)

    Alt text: a line for the pair of secrets with the largest loss wanders inside a shaded band from minus epsilon to
    epsilon and touches its edge; thin grey lines are other pairs. Where there is a delta, the line may leave the band
    at values that are hardly ever released.

    - `column`: By default the first column of numbers. With several columns, the loss is that of this column alone.
    Raises ArgumentError for a plan without such a column, or without noise.

    Under the observed frequencies, at 601 values: a picture, not a proof. It shows exact statistics of every secret:
    keep it private.
    """
    found, ax = ColumnLaws.of(plan.fitted, column), new_axes(ax)
    y = found.released
    ax.axhspan(-plan.epsilon, plan.epsilon, color=COLOURS[5], alpha=0.18, linewidth=0)
    for edge in (-plan.epsilon, plan.epsilon):
        ax.axhline(edge, color=COLOURS[0], linewidth=0.7, linestyle="--")
    ax.axhline(0.0, color=GREY, linewidth=0.4)
    if found.noise is not None:
        densities = {secret: found.log_density(secret, y) for secret in found.laws}
        pairs = [pair for pair in combinations(densities, 2) if set(pair) != set(found.worst)]
        for a, b in pairs[:_MOST_PAIRS]:
            ax.plot(y, densities[a] - densities[b], color="0.7", linewidth=0.5, zorder=1)
        first, second = found.worst
        label = f"{short(first)} / {short(second)}"
        ax.plot(y, densities[first] - densities[second], color=COLOURS[1], linewidth=1.3, label=label)
    alone = ", this column alone" if len(plan.public) > 1 else ""
    ax.annotate("ε", (1.01, plan.epsilon), xycoords=("axes fraction", "data"), fontsize=SMALL, va="center")
    title = f"Loss along the released value{alone}"
    low, high = ax.get_ylim()
    ax.set_ylim(low * 1.05, max(high, 1.45 * plan.epsilon))
    return finish(ax, title=title, x=f"released {short(found.name, most=40)}", y="log-ratio of densities")


def robustness(plan: Planned, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what each belief loses at the scale of a plan, beside what was asked for.

    Alt text: a bar per belief, from the observed law to any law at all; bars of beliefs that the guarantee covers are
    filled and end at or before the dashed line of what was asked for, the others are hatched and may go beyond.

    - `column`: By default the first one.
    Raises CalibrationError as `Plan.robustness`.

    Where delta is 0 the bars are pure losses, else deltas at epsilon; numbers stand beside the bars. It shows exact
    statistics of the table: keep it private.
    """
    ax = new_axes(ax)
    rows: list[dict[str, Any]] = small_rows(plan.robustness())
    name = column or rows[0]["column"]
    rows = [row for row in rows if row["column"] == name][::-1]
    asked = plan.delta or plan.epsilon
    finite = [row["loss"] for row in rows if math.isfinite(row["loss"])]
    reach = 1.25 * max([asked, *finite])
    for k, row in enumerate(rows):
        kind: dict[str, Any] = {"color": COLOURS[0]} if row["covered"] else {"facecolor": "none", "hatch": "////"}
        ax.barh(k, min(row["loss"], reach), height=0.6, edgecolor=COLOURS[0] if row["covered"] else GREY, **kind)
        text = upper_text(row["loss"], digits=3) if math.isfinite(row["loss"]) else "no bound"
        place = (min(row["loss"], 0.87 * reach), k)
        ax.annotate(text, place, (3, 0), textcoords="offset points", va="center", fontsize=SMALL - 1)
    ax.axvline(asked, color=COLOURS[1], linestyle="--", linewidth=1.0)
    ax.set_yticks(np.arange(len(rows)), [short(row["belief"]) for row in rows])
    ax.set_xlim(0, reach)
    what = f"delta at ε = {plain(plan.epsilon)}" if plan.delta else "pure loss"
    title = "Loss per belief: covered (filled) or not"
    return finish(ax, title=title, x=f"{what}; dashed: asked for", y="", legend=False)


def sheet(plan: Any, /) -> Figure:
    """Draw the pictures that say most of a plan, beside one another.

    Alt text: four pictures: the laws per secret before and after, the loss along the released value, the error against
    epsilon, and what each belief loses; of a channel its matrix, the error against epsilon and the privacy profile.
    With several columns, the laws and the loss of each.

    Raises CalibrationError for a plan of which no picture can be drawn: one of labels alone, or of strata from a file.

    It shows exact statistics of the table: keep it private.
    """
    if plan.channels:
        figure, axes = new_sheet(3)
        for draw, ax in zip((channel, curve, profile), axes, strict=True):
            draw(plan, ax=ax)
        return figure
    if len(plan.public) == 1 and not plan.strata and not plan.left_out:
        figure, axes = new_sheet(4)
        distributions(plan, ax=axes[0])
        loss(plan, ax=axes[1])
        curve(plan, ax=axes[2])
        robustness(plan, ax=axes[3])
        return figure
    drawn = [name for name in plan.scales if plan.choices[name].empirical]
    if not drawn:
        rule = "one with a column of numbers, whose frequencies it knows"
        raise CalibrationError("the plan", rule=rule, got="another one", hint="Print it: its text has all figures.")
    figure, axes = new_sheet(2 * len(drawn))
    for k, name in enumerate(drawn):
        distributions(plan, column=name, ax=axes[2 * k])
        loss(plan, column=name, ax=axes[2 * k + 1])
    return figure
