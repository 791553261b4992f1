"""A plan at other epsilons: its error, and its delta."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from puffer_frames.frames.table import small_rows
from puffer_frames.mechanisms.noise.drawn import Planned, columns_of
from puffer_frames.verbs.pictures.style import COLOURS, GREY, SMALL, finish, new_axes, short, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FLOOR = 1e-9
"""A delta below this is drawn there."""
_FINE = tuple(np.geomspace(0.1, 4.0, 25).tolist())


def curve(plan: Planned, /, *, epsilons: Iterable[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw scale and error against epsilon: published, as the plan would use it, and the bound for the value alone.

    Alt text: lines that fall from left to right on logarithmic axes: the published scale above, the error of this plan
    below it, under both the dotted bound of all mechanisms that see the value alone; a dot marks the plan.

    Parameters
    ----------
    plan : Plan
    epsilons : iterable of float, optional
        As in `plan.curve`.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError, ArgumentTypeError, CalibrationError
        As `plan.curve`.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    It shows exact statistics of the table: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> pictures.curve(plan, epsilons=[0.2, 0.5, 1]).get_xscale()
    'log'
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

    Parameters
    ----------
    plan : Plan
    epsilons : iterable of float, optional
        By default 25 from a tenth of the plan's to four times it.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError, ArgumentTypeError, CalibrationError
        As `plan.privacy_profile`.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Deltas below 1e-9 are drawn at 1e-9. It shows exact statistics of the table: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> pictures.profile(plan, epsilons=[0.2, 0.5, 1]).get_ylabel()
    'delta'
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
