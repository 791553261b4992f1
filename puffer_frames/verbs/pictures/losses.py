"""Privacy losses: along the released value, and per belief."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from puffer_frames.frames.table import small_rows
from puffer_frames.mechanisms.noise.drawn import NoisePlan, NoisyColumn
from puffer_frames.numbers.presentation import plain, upper_text
from puffer_frames.verbs.pictures.style import COLOURS, GREY, SMALL, finish, new_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PAIRS = 30


def loss(plan: NoisePlan, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    r"""Draw the log-ratio of the densities of two secrets along the released value, with the band of epsilon.

    .. math:: \log f_s(y) - \log f_t(y)

    Alt text: a line for the pair of secrets with the largest loss wanders inside a shaded band from minus epsilon to
    epsilon and touches its edge; thin grey lines are other pairs. Where there is a delta, the line may leave the band
    at values that are hardly ever released.

    Parameters
    ----------
    plan : Plan
    column : str, optional
        By default the first column of numbers. Of several columns the loss is that of one of them alone.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError
        For a plan without such a column, or without noise.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Under the observed frequencies, at 601 values: a picture, not a proof. It shows exact statistics of every secret:
    keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> pictures.loss(plan).get_ylabel()
    'log-ratio of densities'
    """
    found, ax = NoisyColumn.of(plan, column), new_axes(ax)
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


def robustness(plan: NoisePlan, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw what each belief loses at the scale of a plan, beside what was asked for.

    Alt text: a bar per belief, from the observed law to any law at all; bars of beliefs that the guarantee covers are
    filled and end at or before the dashed line of what was asked for, the others are hatched and may go beyond.

    Parameters
    ----------
    plan : Plan
    column : str, optional
        By default the first one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    CalibrationError
        As `Plan.robustness`.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Where delta is 0 the bars are pure losses, else deltas at epsilon; numbers stand beside the bars. It shows exact
    statistics of the table: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> [each.get_text() for each in pictures.robustness(plan).get_yticklabels()]
    ['any law', 'contaminated', 'population', 'empirical']
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
