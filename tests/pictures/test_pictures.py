"""Pictures: what they draw is what plans say, and they look as they did when they were looked at.

`PUFFER_WRITE_PICTURES=1 pytest tests/pictures` writes the images that others are compared with: look at each of them.
"""

import io
import math
import os
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

mpl.use("Agg")

from matplotlib import pyplot
from PIL import Image

from puffer_frames import MarkovChain, Noise, pictures
from puffer_frames.core import Prior, pure_loss
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    MissingPackageError,
    UncoveredFrameError,
)
from puffer_frames.mechanisms.noise.curves import coupling
from puffer_frames.papers import quilt_scale, sum_of_users

FOLDER = Path(__file__).parent
TOLERANCE = 1.5
"""Mean difference of two images, of 255: other versions of matplotlib draw lines a little differently."""
CHAIN = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])


def people(rows=300):
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b", "c"], rows)
    shift = np.array([{"a": 0, "b": 2, "c": 3}[each] for each in group])
    job = np.where(rng.random(rows) < 0.4, "x", np.where(group == "a", "y", "z"))
    return pd.DataFrame({"group": group, "score": rng.integers(0, 6, rows) + shift, "job": job})


@pytest.fixture(scope="module")
def plan():
    return people().puffer.calibrate(secret="group", public="score", epsilon=1.0)


@pytest.fixture(scope="module")
def labels():
    return people().puffer.calibrate(secret="group", public="job", epsilon=1.0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


DRAWN = {
    "distributions": lambda plan, labels, ax: pictures.distributions(plan, ax=ax),
    "loss": lambda plan, labels, ax: pictures.loss(plan, ax=ax),
    "curve": lambda plan, labels, ax: pictures.curve(plan, epsilons=[0.3, 1, 3], ax=ax),
    "profile": lambda plan, labels, ax: pictures.profile(plan, epsilons=[0.3, 1, 3], ax=ax),
    "robustness": lambda plan, labels, ax: pictures.robustness(plan, ax=ax),
    "transport": lambda plan, labels, ax: pictures.transport(plan, ax=ax),
    "channel": lambda plan, labels, ax: pictures.channel(labels, ax=ax),
    "quilt": lambda plan, labels, ax: pictures.quilt(CHAIN, length=100, epsilon=1.0, ax=ax),
    "released": lambda plan, labels, ax: pictures.released([1, 2, 2, 3], [0.5, 2.5, 1.8, 4.1], name="x", ax=ax),
    "released-labels": lambda plan, labels, ax: pictures.released(list("aab"), list("abb"), name="x", ax=ax),
}


def rendered(figure):
    """Lines and areas alone: letters are drawn differently from machine to machine."""
    for ax in figure.axes:
        ax.set_title("")
        for text in ax.texts:
            text.set_visible(False)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([], minor=True)
            axis.set_ticks([])
            axis.set_label_text("")
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=40)
    return Image.open(drawn).convert("RGB")


def distance(one, other):
    return float(np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float)).mean())


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_looks_as_it_did(plan, labels, name):
    ax = DRAWN[name](plan, labels, None)
    image, path = rendered(ax.figure), FOLDER / f"{name}.png"
    if os.environ.get("PUFFER_WRITE_PICTURES"):
        image.quantize(64).save(path, optimize=True)
    kept = Image.open(path).convert("RGB")
    assert kept.size == image.size
    assert distance(image, kept) < TOLERANCE
    others = [Image.open(FOLDER / f"{other}.png").convert("RGB") for other in DRAWN if other != name]
    assert min(distance(image, other) for other in others) > TOLERANCE


@pytest.mark.parametrize("name", ["distributions", "loss", "profile"])
def test_another_plan_looks_different(labels, name):
    other = people().puffer.calibrate(secret="group", public="score", epsilon=3.0)
    drawn = rendered(DRAWN[name](other, labels, None).figure)
    assert distance(drawn, Image.open(FOLDER / f"{name}.png").convert("RGB")) > TOLERANCE


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_taken_and_returned_and_have_labels(plan, labels, name):
    _, mine = pyplot.subplots()
    ax = DRAWN[name](plan, labels, mine)
    assert ax is mine
    assert ax.get_title(loc="left")
    assert ax.get_xlabel()
    assert ax.get_ylabel() or name == "robustness"
    shown = [ax.title, ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
    assert min(text.get_fontsize() for text in shown if text.get_text()) >= 6
    assert "Alt text: " in getattr(pictures, name.partition("-")[0]).__doc__
    with pytest.raises(ArgumentTypeError):
        DRAWN[name](plan, labels, "axes")


def test_the_loss_that_is_drawn_is_that_of_the_engine(plan):
    ax = pictures.loss(plan)
    line = next(each for each in ax.lines if each.get_label() == " / ".join(plan.worst_pair))
    first, second = (plan.choice.empirical[secret] for secret in plan.worst_pair)
    drawn = float(np.abs(line.get_ydata()).max())
    assert drawn == pytest.approx(pure_loss(first, second, scale=plan.scale).upper, rel=1e-3)
    assert drawn <= 1.0 + 1e-9


def test_densities_that_are_drawn_are_laws(plan):
    for line in pictures.distributions(plan).lines:
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1.0, abs=0.03)


def test_the_coupling_has_both_laws_and_the_published_step(plan):
    p, q = (plan.choice.empirical[secret] for secret in plan.worst_pair)
    joint = coupling(p, q)
    assert joint.sum(axis=1) == pytest.approx(p.weights)
    assert joint.sum(axis=0) == pytest.approx(q.weights)
    steps = {
        pair: float(pictures.transport(plan, pair=pair).get_title(loc="left").rpartition(" ")[2])
        for pair in pairwise("abca")
    }
    assert max(steps.values()) == pytest.approx(plan.published_scale)


def test_the_plan_of_a_sum_of_users():
    """[DLYZ] Figure 2: user 4 reports 5 or is absent."""
    others = [Prior.empirical([1, 2, 3, 4, 5], often) for often in ([1, 4, 10, 20, 65], [70, 20, 5, 4, 1], [1] * 5)]
    sums = {word: sum_of_users([*others, Prior.empirical([x])]) for word, x in (("5", 5), ("absent", 0))}
    drawn = pictures.transport(sums)
    assert (drawn.get_title(loc="left"), drawn.get_ylabel()) == ("Coupling; longest step 5", "value, 5")
    for wrong in ({"5": sums["5"]}, {**sums, "absent": Prior.gaussian(0, 1)}):
        with pytest.raises(ArgumentError, match="pair"):
            pictures.transport(wrong)


@pytest.mark.parametrize(("length", "epsilon"), [(100, 1.0), (30, 0.7), (5, 1.0), (400, 2.0)])
def test_the_quilt_that_is_drawn_is_the_best_one(length, epsilon):
    scales = [
        float(pictures.quilt(CHAIN, length=length, epsilon=epsilon, node=node).get_title(loc="left").rpartition(" ")[2])
        for node in {1, 2, length // 3, (length + 1) // 2, length}
        if node
    ]
    assert max(scales) == pytest.approx(quilt_scale(CHAIN, length=length, epsilon=epsilon), rel=1e-3)


def test_the_figures_of_plans_and_releases(plan, labels):
    assert len(plan.plot().axes) == 4
    assert len(labels.plot().axes) == 4  # with the bar of the matrix
    frame = people().assign(other=lambda t: 9 - t["score"])
    assert len(frame.puffer.calibrate(secret="group", public=["score", "other"], epsilon=1.0).plot().axes) == 4
    assert not pyplot.get_fignums()
    for table in (frame, pl.from_pandas(frame)):
        released = table.puffer.privatize(secret="group", public="score", epsilon=1.0, rng=0)
        assert len(released.puffer.plot(table).axes) == 1
        with pytest.raises(ArgumentError):
            released.puffer.plot(
                released[["score"]].rename({"score": "other"}) if table is not frame else frame[["job"]]
            )
        with pytest.raises(UncoveredFrameError):
            table.puffer.plot(table)
    lazy = pl.from_pandas(frame).lazy().puffer.privatize(secret="group", public="score", epsilon=1.0)
    with pytest.raises(UncoveredFrameError):
        lazy.puffer.plot(frame)
    with pytest.raises(ArgumentTypeError):
        released.puffer.plot(pl.from_pandas(frame).lazy())


def test_what_cannot_be_drawn(plan, labels):
    for draw in (pictures.distributions, pictures.loss, pictures.transport):
        with pytest.raises(ArgumentError):
            draw(labels)
        with pytest.raises(ArgumentError):
            draw(plan, column="job")
    with pytest.raises(ArgumentError):
        pictures.channel(plan)
    with pytest.raises(ArgumentError):
        pictures.transport(plan, pair=("a", "nobody"))
    with pytest.raises(ArgumentTypeError):
        pictures.quilt([[0.5, 0.5]], length=10, epsilon=1.0)
    frame = people().assign(town=lambda t: t["job"])
    both = frame.puffer.calibrate(secret="group", public=["job", "town"], epsilon=1.0)
    with pytest.raises(CalibrationError):
        both.plot()


def test_a_delta_and_no_bound_are_drawn():
    plan = people().puffer.calibrate(
        secret="group", public="score", epsilon=1.0, delta=1e-3, mechanism=Noise("gaussian")
    )
    assert "delta" in pictures.robustness(plan).get_xlabel()
    assert math.isfinite(pictures.loss(plan).get_ylim()[1])
    channel = people().puffer.calibrate(secret="group", public="score", epsilon=1.0, mechanism="channel")
    assert pictures.curve(channel, epsilons=[0.5, 1]).lines


def test_svg_files_with_any_name():
    """XML cannot hold control characters, and one that turns the direction of reading is not shown as it is."""
    rng, odd = np.random.default_rng(0), "\x07<b>\u202e$1$"
    group = rng.choice([f"a{odd}", "b"], 200)
    frame = pd.DataFrame({f"s{odd}": group, f"x{odd}": rng.integers(0, 9, 200) + (group == "b")})
    plan = frame.puffer.calibrate(secret=f"s{odd}", public=f"x{odd}", epsilon=1)
    for figure in (plan.plot(), plan.release(frame).puffer.plot(frame)):
        figure.savefig(file := io.StringIO(), format="svg")
        ElementTree.fromstring(file.getvalue())
        assert "\u202e" not in file.getvalue()


def test_pictures_without_matplotlib(monkeypatch, plan):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(MissingPackageError, match="plot"):
        pictures.loss(plan)
