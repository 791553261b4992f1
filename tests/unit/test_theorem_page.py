"""The condition that docs/extend.md adds works from beginning to end, as the page writes it."""

import contextlib
import doctest
import io
import math
import re
import sys
import types
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import puffer_frames
from puffer_frames import Noise, UnsoundTheoremWarning, calibrate, certificate_of
from puffer_frames.core import Prior, pure_loss
from puffer_frames.errors import CalibrationError, PriorError
from puffer_frames.papers import catalogue
from puffer_frames.papers.catalogue import THEOREMS

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("\n## How to add a published condition\n")[2].partition("\n## ")[0]
FILE, ENTRY, USE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
[OUTPUT] = re.findall(r"```text\n(.*?)```", PAGE, flags=re.S)
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0}


@pytest.fixture(scope="module")
def page():
    """The file of the page as a module."""
    module = types.ModuleType("puffer_frames.papers.range")
    exec(compile(FILE, "docs/extend.md", "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def entry(page):
    """The entry of the page, read where it would stand."""
    names = vars(catalogue) | {"range_scale": page.range_scale}
    exec(compile(f"from __future__ import annotations\n{ENTRY}", "docs/extend.md", "exec"), names)
    return names["RANGE"]


@pytest.fixture
def registered(entry, monkeypatch):
    monkeypatch.setitem(THEOREMS, entry.name, entry)
    return entry


@pytest.fixture
def halved(entry, monkeypatch):
    """The same with half the scale, which is not sound."""

    def half(priors, target, /, *, pairs):
        return entry.scale(priors, target, pairs=pairs) / 2

    wrong = replace(entry, name="half range", source="nowhere", scale=half)
    monkeypatch.setitem(THEOREMS, wrong.name, wrong)
    return wrong


@pytest.fixture
def frame():
    order = np.random.default_rng(0).permutation(200)
    return pd.DataFrame(
        {"group": np.array(["a", "a", "b", "b"] * 50)[order], "score": np.array([0, 1, 2, 5] * 50)[order]}
    )


def test_what_the_page_and_the_docstring_print(registered, page):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(USE, "docs/extend.md", "exec"), {})
    assert printed.getvalue() == OUTPUT
    sys.modules[page.__name__] = page
    try:
        found = doctest.testmod(page)
    finally:
        del sys.modules[page.__name__]
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_the_scale_is_the_range_rounded_up(page, epsilon):
    priors = {"a": Prior.empirical([0.1, 0.2]), "b": Prior.empirical([0.7], radius=0.01), "c": Prior.empirical([5.0])}
    for pairs, low, high in (("all", 0.1, 5.0), ((("b", "c"),), 0.7, 5.0)):
        reach = (low == 0.7) * Fraction(0.01)  # the end that lies off by the radius
        exact = (Fraction(high) - Fraction(low) + reach) / Fraction(epsilon)
        scale = page.range_scale(priors, epsilon=epsilon, pairs=pairs)
        assert exact <= Fraction(scale) <= exact * (1 + Fraction(2) ** -52)


def test_a_sound_condition(registered, frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        plan = calibrate(frame, **ASKED, mechanism=Noise(theorem="range", calibration="theorem"))
    assert plan.published_scale == 5.0
    assert plan.published_loss.pure_loss.upper <= 1.0
    assert 5.0 <= plan.scale <= 5.0 * (1 + 1e-9)  # what the grid costs
    assert plan.verified["empirical"].pure_loss.upper <= 1.0
    text = " ".join(str(certificate_of(plan.release(frame))).split())
    assert "range (docs/extend.md) asks for 5; used as published, confirmed by the exact engine" in text
    assert "observed frequencies" in text


def test_it_serves_another_noise_and_refuses_a_gaussian(registered, frame, page):
    plan = calibrate(frame, **ASKED, mechanism=Noise("gaussian", theorem="range", calibration="theorem"), delta=1e-3)
    shifted = calibrate(
        frame, **ASKED, mechanism=Noise("gaussian", theorem="kantorovich", calibration="theorem"), delta=1e-3
    )
    assert plan.published_scale / 5 == pytest.approx(shifted.published_scale / 4, rel=1e-12)
    with pytest.raises(PriorError, match="discrete"):
        page.range_scale({"a": Prior.gaussian(0, 1), "b": Prior.empirical([1])}, epsilon=1.0)


def test_an_unsound_condition_is_raised_and_warned_of(halved, frame):
    with pytest.warns(UnsoundTheoremWarning, match="half range") as found:
        plan = calibrate(frame, **ASKED, mechanism=Noise(theorem=halved.name, calibration="theorem"))
    assert plan.published_scale == 2.5
    assert plan.published_loss.pure_loss.lower > 1.0
    assert plan.verified["empirical"].pure_loss.upper <= 1.0
    said, prose = str(found.pop(UnsoundTheoremWarning).message), " ".join(PAGE.split())
    assert f"{math.floor(plan.published_loss.pure_loss.lower * 1e5) / 1e5:g}" in said
    assert f"the loss there is {plan.published_loss.pure_loss.upper:.3f}." in prose
    assert f"raised to {plan.scale:.3f}, and" in prose
    text = str(certificate_of(plan.release(frame)))
    assert "half range (nowhere) asks for 2.5; raised to what the exact engine confirms" in " ".join(text.split())


def test_the_loss_of_the_unsound_one_by_brute_force():
    y = np.linspace(-40, 40, 40_001)
    f, g = (np.exp(-np.abs(y[:, None] - np.array(atoms)) / 2.5).sum(axis=1) for atoms in ([0, 1], [2, 5]))
    brute = np.abs(np.log(f / g)).max()
    assert brute > 1.0
    exact = pure_loss(Prior.empirical([0, 1]), Prior.empirical([2, 5]), scale=2.5)
    assert exact.upper == pytest.approx(brute, rel=1e-9)


def test_unsound_and_missing_conditions(halved, frame, entry, monkeypatch):
    plan = calibrate(frame, **ASKED, mechanism=Noise(theorem=halved.name))
    text = " ".join(str(certificate_of(plan.release(frame))).split())
    assert "is NOT private under the laws that its theorem assumes" in text
    monkeypatch.setitem(THEOREMS, "none", replace(entry, name="none", scale=lambda priors, target, /, *, pairs: None))
    assert calibrate(frame, **ASKED, mechanism=Noise(theorem="none")).published_scale is None
    with pytest.raises(CalibrationError, match="for which the theorem has a condition"):
        calibrate(frame, **ASKED, mechanism=Noise(theorem="none", calibration="theorem"))
