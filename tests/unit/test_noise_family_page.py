"""The family that docs/extend.md adds works from beginning to end, as the page writes it."""

import contextlib
import doctest
import io
import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from puffer_frames import Noise, aggregate, certificate_of, histogram, privatize
from puffer_frames.certificates import text
from puffer_frames.core import Prior, pure_loss, smallest_scale
from puffer_frames.noise.adding import grid_noise
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.stream import Purpose, ReleaseKey

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("\n## How to add a noise family\n")[2].partition("\n## ")[0]
FILE, USE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
[OUTPUT] = re.findall(r"```text\n(.*?)```", PAGE, flags=re.S)

DRAWS = 50_000
CERTAIN = 1e-6
"""Kolmogorov and Smirnov: a p-value below this is a fault, one above .001 none."""


@pytest.fixture(scope="module")
def page():
    """The file of the page as a module."""
    module = types.ModuleType("puffer_frames.noise.logistic")
    sys.modules[module.__name__] = module  # where dataclasses look for the names in annotations
    exec(compile(FILE, "docs/extend.md", "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def word(page, monkeypatch):
    """The family entered as step 1 of the page says; the certificate's text has read `WORDS` by then."""
    noise = page.Logistic()
    monkeypatch.setitem(WORDS, noise.name, noise)
    monkeypatch.setitem(text._SYMBOLS, noise.title, noise.symbol)
    return noise.name


def table():
    """Two laws with W-infinity distance 2: {0, 1} and {1, 3}."""
    order = np.random.default_rng(0).permutation(200)
    return {"group": np.array(["a", "b"] * 100)[order], "score": np.array([0, 1, 1, 3] * 50)[order]}


def drawn(page, scale, *, rows=DRAWS):
    """Seeded noise, in units of the column."""
    sampler = page.Logistic(scale=scale).sampler()
    noise = grid_noise(sampler, range(rows), stream=ReleaseKey.of(11).stream(Purpose.NOISE, "x"))
    return sampler, noise


def test_what_the_page_and_the_docstring_print(page):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(USE, "docs/extend.md", "exec"), {"Logistic": page.Logistic})
    assert printed.getvalue() == OUTPUT
    priors = {"a": Prior.empirical([0, 1]), "b": Prior.empirical([1, 3])}
    assert f"exact loss: {smallest_scale(priors, epsilon=1.0):.3f}" in " ".join(PAGE.split())
    found = doctest.testmod(page)
    assert found.attempted
    assert not found.failed


@pytest.mark.parametrize("scale", [0.3, 1.0, 1e6])
def test_its_law_is_that_of_scipy(page, scale):
    noise, law = page.Logistic(scale=scale), stats.logistic(scale=scale)
    z = np.linspace(-20, 20, 81) * scale
    np.testing.assert_allclose(noise.log_density(z), law.logpdf(z), rtol=1e-12)
    np.testing.assert_allclose(noise.survival(z), law.sf(z), rtol=1e-12)
    np.testing.assert_allclose(noise.cdf(z), law.cdf(z), rtol=1e-12)
    for p in (1e-9, 0.3, 0.975):
        assert noise.quantile(p) == pytest.approx(law.ppf(p), rel=1e-12)
    assert noise.variance == pytest.approx(law.var(), rel=1e-12)
    assert noise.expected_absolute_error == pytest.approx(scale * stats.logistic.expect(abs), rel=1e-7)
    h = 1e-5 * scale
    np.testing.assert_allclose(noise.score(z), (law.logpdf(z + h) - law.logpdf(z - h)) / (2 * h), atol=1e-6 / scale)


def test_its_characteristic_function_is_that_of_the_density(page):
    noise = page.Logistic()
    t = noise.last_frequency(0.05)
    characteristic = stats.logistic.expect(lambda z: np.cos(t * z))
    assert characteristic == pytest.approx(0.05, rel=1e-6)
    assert noise.inverse_characteristic(np.array([t]))[0] == pytest.approx(20, rel=1e-9)


@pytest.mark.parametrize("scale", [0.3, 7.0])
def test_the_sampler_has_this_scale_and_no_other(page, scale):
    sampler, noise = drawn(page, scale)
    values = np.array([float(n) for n in noise]) * sampler.grid
    assert stats.kstest(values, stats.logistic(scale=scale).cdf).pvalue > 1e-3
    for factor in (0.7, 1.3):
        assert stats.kstest(values, stats.logistic(scale=factor * scale).cdf).pvalue < CERTAIN


def test_the_noise_is_half_integers_of_the_grid(page):
    sampler, noise = drawn(page, 1.0, rows=1000)
    assert sampler.grid == 2.0**-30
    assert {n.denominator for n in noise} == {2}


def test_the_size_of_the_extreme_words(page):
    """The largest and the smallest noise that two words can give; the signs of both."""

    class Words:
        def pairs(self, rows, attempt):
            return np.array([[0, 0], [(1 << 64) - 1, (1 << 64) - 1]], dtype=np.uint64)

    out = np.empty(2)
    left = page.Logistic().sampler().draw(Words(), range(2), out, None)
    assert not left.places.size
    assert 88 * 2.0**30 < out[0] < 90 * 2.0**30
    assert out[1] == -0.5


@pytest.mark.parametrize("frame", [pd.DataFrame(table()), pl.DataFrame(table())], ids=["pandas", "polars"])
def test_a_release(page, frame):
    released = privatize(frame, secret="group", public="score", epsilon=1.0, mechanism=Noise(page.Logistic()))
    assert type(released) is type(frame)
    certificate = certificate_of(released)
    assert 2 <= certificate.scales["score"] <= 2 * (1 + 1e-6)  # hides the distance, and pays for the grid
    assert certificate.verified["score"]["empirical"].pure_loss.upper <= 1.0
    assert certificate.verify(released) == "unsigned: cannot be trusted"
    assert "logistic, score: " in str(certificate)
    assert "the inverse distribution function" in str(certificate)
    values = np.asarray(released["score"])
    steps = values / page.Logistic(scale=certificate.scales["score"]).sampler().grid
    assert (steps % 1 == 0.5).all()
    noise = values - np.asarray(frame["score"])
    assert stats.kstest(noise, stats.logistic(scale=2).cdf).pvalue > 1e-9


def test_its_word_and_what_the_certificate_estimates_with_it(word):
    frame = pd.DataFrame(table())
    with pytest.raises(ValueError, match="a noise such as"):
        privatize(frame, secret="group", public="score", epsilon=1.0, mechanism=Noise("logistics"))
    certificate = certificate_of(privatize(frame, secret="group", public="score", epsilon=1.0, mechanism=Noise(word)))
    assert "logistic, score: scale s = 2" in str(certificate)
    assert "score" in certificate.estimated


def test_the_certificate_names_the_scale_of_a_family_without_a_word(page):
    certificate = certificate_of(
        privatize(pd.DataFrame(table()), secret="group", public="score", epsilon=1.0, mechanism=Noise(page.Logistic()))
    )
    assert "score: scale = 2" in str(certificate)


def test_the_numeric_core_takes_it_with_no_less_than_its_loss(page):
    noise = page.Logistic()
    priors = {"s": Prior.empirical([0]), "t": Prior.empirical([3])}
    scale = smallest_scale(priors, epsilon=0.5, noise=noise)
    assert 6 <= scale <= 6 * (1 + 1e-7)
    assert 0.5 * (1 - 1e-7) <= pure_loss(priors["s"], priors["t"], scale=scale, noise=noise).upper <= 0.5
    # Brute force over y, from SciPy's density
    p, q, law = Prior.empirical([0, 1]), Prior.empirical([1, 3]), stats.logistic(scale=1.5)
    y = np.linspace(-60, 60, 20_001)
    f, g = (law.pdf(y[:, None] - prior.means) @ prior.weights for prior in (p, q))
    assert np.abs(np.log(f / g)).max() <= pure_loss(p, q, scale=1.5, noise=page.Logistic()).upper


def test_it_refuses_a_delta_and_a_scale(page):
    frame = pd.DataFrame(table())
    with pytest.raises(ValueError, match="0 with logistic noise"):
        privatize(frame, secret="group", public="score", epsilon=1.0, delta=1e-6, mechanism=Noise(page.Logistic()))
    with pytest.raises(ValueError, match="a noise without a scale"):
        privatize(frame, secret="group", public="score", epsilon=1.0, mechanism=Noise(page.Logistic(scale=2.0)))


def test_the_other_verbs_take_it(page):
    visits = pd.DataFrame({"patient": list("aabbcc"), "visits": [1, 2, 2, 4, 0, 3]})
    asked = {"unit": "patient", "value": "visits", "contribution": "draw"}
    answer = aggregate(visits, **asked, epsilon=1.0, noise=page.Logistic())
    assert 3 < answer["scale"][0] <= 4 * (1 + 1e-6)
    day = pd.DataFrame({"minute": range(300), "activity": ["sleep", "sleep", "eat", "work", "work", "eat"] * 50})
    chain = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    asked = {"state": "activity", "time": "minute", "chain": chain, "epsilon": 1.0, "mechanism": "quilt"}
    counts, laplace = (histogram(day, **asked, noise=noise)["scale"][0] for noise in (page.Logistic(), "laplace"))
    assert counts == pytest.approx(laplace, rel=1e-6)
