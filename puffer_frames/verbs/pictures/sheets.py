"""The pictures of a plan that go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from puffer_frames.errors import CalibrationError
from puffer_frames.verbs.pictures.losses import curve, loss, profile, robustness
from puffer_frames.verbs.pictures.matrices import channel, distributions
from puffer_frames.verbs.pictures.style import new_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sheet(plan: Any, /) -> Figure:
    """Draw the pictures that say most of a plan, beside one another.

    Alt text: four pictures: the laws per secret before and after, the loss along the released value, the error against
    epsilon, and what each belief loses; of a channel its matrix, the error against epsilon and the privacy profile.
    Of several columns the laws and the loss of each.

    Raises CalibrationError for a plan of which no picture can be drawn: one of labels alone, or of strata from a file.

    It shows exact statistics of the table: keep it private.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> from puffer_frames import pictures
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> len(pictures.sheet(plan).axes)
    4
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
        raise CalibrationError(
            "the plan",
            rule="one with a column of numbers, whose frequencies it knows",
            got="another one",
            hint="Print it: its text has all figures.",
        )
    figure, axes = new_sheet(2 * len(drawn))
    for k, name in enumerate(drawn):
        distributions(plan, column=name, ax=axes[2 * k])
        loss(plan, column=name, ax=axes[2 * k + 1])
    return figure
