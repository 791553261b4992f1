"""Draw the pictures of the pages, and write the gallery in docs/compare.md: python docs/gallery.py."""

import os
import sys
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot
from PIL import Image

import puffer_frames
from puffer_frames.verbs.pictures.style import finish, new_axes, told_apart

DOCS = Path(__file__).parent
PAGE = "compare.md"
FOLDER = "pictures"
DPI = 130
COLOURS = 200
"""Of the palette of a picture: a file is half as large with it."""
MOST_BYTES = 40_000

HEAD = """## Pictures

This section is written by `docs/gallery.py`. Pictures need matplotlib: `pip install "puffer_frames[plot]"`. Each is
one call that takes `ax=` and returns the Axes. `plan.plot()` and `released.puffer.plot(original)` draw several pictures
and return a Figure (in a script `plan.plot().savefig("plan.png")`). The colours can be told apart with every common
colour blindness, and the letters can be read at a width of 80 mm. The help of each function describes its picture in
words. All pictures but the quilt show exact statistics of the table: keep them private.

```python
import pandas as pd
import puffer_frames
from puffer_frames import MarkovChain, pictures
from sklearn.datasets import load_diabetes

patients = load_diabetes(scaled=False, as_frame=True).frame
plan = patients.puffer.calibrate(secret="sex", public="s6", epsilon=1.0)

often = {"f": {"nurse": 250, "clerk": 170, "driver": 80}, "m": {"nurse": 50, "clerk": 200, "driver": 250}}
jobs = [(sex, job) for sex, rows in often.items() for job, n in rows.items() for _ in range(n)]
staff = pd.DataFrame(jobs, columns=["sex", "job"]).sample(frac=1, random_state=0, ignore_index=True)
labels = staff.puffer.calibrate(secret="sex", public="job", epsilon=1.0)
```
"""

CALLS = {
    "distributions": (
        "pictures.distributions(plan)",
        "The law of the column given each secret: filled in the table, lines after the noise. The difference that "
        "is left between the lines is what epsilon allows.",
        "two filled outlines with many spikes, and two smooth lines that nearly lie on one another",
    ),
    "loss": (
        "pictures.loss(plan)",
        "The log-ratio of the two lines above: inside the band of epsilon everywhere, and at its edge somewhere.",
        "a line that wanders inside a shaded band and touches its edge",
    ),
    "curve": (
        "pictures.curve(plan)",
        "What epsilon costs: the published scale, the smallest confirmed one, and the bound that no mechanism that "
        "sees this value alone goes below. The ring is the plan.",
        "lines that fall from left to right, the published one on top and the bound for the value alone lowest",
    ),
    "profile": (
        "pictures.profile(plan)",
        "The delta that the same noise has at other epsilons, per belief, between proved bounds.",
        "falling bands, the observed law lowest, any law highest; the observed one ends at the cross",
    ),
    "robustness": (
        "pictures.robustness(plan)",
        "What other beliefs lose at the same scale: only the filled ones are guaranteed to stay within the dashes.",
        "one filled bar up to the dashed line, and three longer hatched bars",
    ),
    "transport": (
        "pictures.transport(plan)",
        "How the values of one secret are moved to those of the other. The longest step, over epsilon, is the "
        "published scale.",
        "a rising staircase of dark squares near the diagonal, its farthest square marked by a ring",
    ),
    "channel": (
        "pictures.channel(labels)",
        "A channel: the probability of each released label given the one of the row.",
        "three by three squares, dark on the diagonal",
    ),
    "quilt": (
        "pictures.quilt(MarkovChain.of([[0.9, 0.1], [0.1, 0.9]]), length=100, epsilon=1.0)",
        "A value of a series: what its neighbours tell of it, and the quilt that separates those hidden with it from "
        "the rest.",
        "a curve that falls on both sides of the value, two squares where it is low, and shade between them",
    ),
    "released": (
        'patients.puffer.privatize(secret="sex", public="s6", epsilon=1.0, rng=0).puffer.plot(patients)',
        "A column before and after one release.",
        "a filled outline, and a wider and flatter line over it",
    ),
    "plan": (
        "plan.plot()",
        "A plan in four pictures.",
        "laws, loss, error against epsilon and losses per belief, side by side",
    ),
}
"""Of each picture the call, what it says, and a text in its place."""

READER_CAPS = {"0": 1, "0.5": 1.65, "1": 2.72, "2": 7.39, "3": 20.1, "none": 2981}
"""And what the odds of a reader who knows the value are multiplied by at most; without a reader cap e^8, by the cap."""
ERRORS = {
    "education-num by race": (0.656273, 0.490259, 0.307322, 0.134254, 0.076487, 0.048785),
    "workclass by race": (0.183541, 0.116567, 0.069958, 0.030644, 0.015940, 0.008406),
    "occupation by sex": (0.070032, 0.057081, 0.049695, 0.042736, 0.040190, 0.038856),
    "marital-status by sex": (0.057869, 0.054684, 0.048119, 0.043490, 0.041980, 0.040976),
}
"""Of adult.data at epsilon 1, default radius and cap: tests/papers/test_seeing_tables.py finds them again."""


def seeing() -> Any:
    """The error of channels that see the secret against their cap for a reader who knows the value."""
    axes = new_axes(None)
    for k, (name, errors) in enumerate(ERRORS.items()):
        shares = [100 * error / errors[0] for error in errors]
        axes.plot(range(len(errors)), shares, marker="o", markersize=2.5, label=name, **told_apart(k))
    axes.set_xticks(range(len(READER_CAPS)), [f"{cap}\n×{odds:,}" for cap, odds in READER_CAPS.items()])
    axes.set_ylim(0, 105)
    x = "reader_cap, and by what it may multiply the odds of a reader who knows the value"
    axes = finish(axes, title="Error, % of that of a channel that sees the value", x=x, y="%")
    axes.figure.set_size_inches(4.6, 2.6)
    axes.get_legend().set_loc((0.6, 0.2))
    return axes


def associations() -> Any:
    """How much the columns of docs/whole_tables.md tell of one another, before its release and after it."""
    names: dict[str, Any] = {}
    exec((DOCS / "whole_tables.md").read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0], names)  # noqa: S102 - of this project
    return names["plan"].release(names["people"], rng=0).puffer.quality(names["people"]).plot()


ELSEWHERE = {"seeing": seeing, "associations": associations}
"""Pictures of other pages."""


def main(folder: Path) -> None:
    """Draw all pictures and write the section of docs/compare.md that shows them."""
    mpl.use("Agg")
    warnings.simplefilter("ignore", puffer_frames.PufferWarning)
    (folder / FOLDER).mkdir(exist_ok=True)
    names: dict[str, Any] = {}
    exec(HEAD.partition("```python\n")[2].partition("```")[0], names)  # noqa: S102 - the text above
    parts = [HEAD]
    for name, (call, words, alt) in CALLS.items():
        draw(lambda call=call: eval(call, names), folder / FOLDER / f"{name}.png")  # noqa: S307 - the text above
        parts.append(f"```python\n{call}\n```\n\n{words}\n\n![{alt}]({FOLDER}/{name}.png)\n")
    for name, call in ELSEWHERE.items():
        draw(call, folder / FOLDER / f"{name}.png")
    page = (DOCS / PAGE).read_text(encoding="utf-8").partition("## Pictures\n")[0]
    (folder / PAGE).write_text(page + "\n".join(parts), encoding="utf-8")


def draw(call: Callable[[], Any], path: Path) -> None:
    """Write a picture as PNG; raises ValueError for one that is too large for a page."""
    found = call()
    figure = found if hasattr(found, "savefig") else found.figure
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI)
    pyplot.close("all")
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes")
    print(path.name, path.stat().st_size, file=sys.stderr)


if __name__ == "__main__":
    main(Path(os.environ.get("GALLERY", DOCS)))
