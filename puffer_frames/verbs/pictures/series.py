"""The quilt around a node of a series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.numbers.arguments import check_count, check_epsilon
from puffer_frames.papers.quilt.influence import FixedStart, stationary_influence
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.pictures.style import COLOURS, GREY, SMALL, finish, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    Parameters
    ----------
    chain : MarkovChain
    length : int
        Values of the series.
    epsilon : float
    node : int, optional
        From 1 to the length; by default the middle one.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a number out of range.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    Quilts of up to 256 steps are looked at.

    References
    ----------
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
    if not isinstance(chain, MarkovChain):
        raise ArgumentTypeError(
            "chain", rule="a MarkovChain", got=f"a {type(chain).__name__}", hint="Write MarkovChain.of(matrix)."
        )
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
    found: list[tuple[float, int | None, int | None, float]] = [(length / epsilon, None, None, 0.0)]
    for k in range(left.shape[0]):
        told = float(left[k].max(initial=0.0))
        found.append((_score(k + 1 + length - node, told, epsilon), k + 1, None, told))
        both = (left[k] + right).max(axis=1, initial=0.0)
        if both.size:
            card = k + 1 + np.arange(1, both.size + 1) - 1
            scores = np.where(both < epsilon, card / np.maximum(epsilon - both, 1e-300), np.inf)
            j = int(scores.argmin())
            found.append((float(scores[j]), k + 1, j + 1, float(both[j])))
    for k in range(right.shape[0]):
        told = float(right[k].max(initial=0.0))
        found.append((_score(k + node, told, epsilon), None, k + 1, told))
    _, a, b, told = min(found, key=lambda each: each[0])
    return a, b, told


def _score(card: int, told: float, epsilon: float) -> float:
    return card / (epsilon - told) if told < epsilon else math.inf
