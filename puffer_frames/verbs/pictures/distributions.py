"""Laws per secret, before and after a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from puffer_frames.mechanisms.noise.drawn import NoisePlan, NoisyColumn, coarse
from puffer_frames.verbs.pictures.style import COLOURS, finish, new_axes, short, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SECRETS = 3
_MOST_BINS = 40


def distributions(plan: NoisePlan, /, *, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the law of a column given each secret, as it is and with the noise of a plan.

    Alt text: for each of up to three secrets a filled outline, the density of the values of the table, and a line in
    the same colour, the density of the released values. The outlines differ from secret to secret; the lines are much
    nearer to one another.

    Parameters
    ----------
    plan : Plan
    column : str, optional
        By default the first column of numbers.
    ax : matplotlib Axes, optional
        By default those of a new figure, 84 mm wide.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ArgumentError
        For a plan without such a column.
    MissingPackageError
        Without matplotlib.

    Notes
    -----
    The lines are computed from the frequencies and the noise, not drawn at random; where the plan has a remap, they are
    before it. The picture shows exact statistics of every secret: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> pictures.distributions(plan).get_xlabel()
    'score'
    """
    found, ax = NoisyColumn.of(plan, column), new_axes(ax)
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
