"""What notebooks show of plans and certificates: small pictures, tables, long parts folded, and nothing that runs."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, Noise, certificate_of
from puffer_frames.loss.outcome import Bracket
from puffer_frames.numbers.presentation import as_html, as_text, bars, line, matrix


def people(rows=300, secrets="abc"):
    rng = np.random.default_rng(0)
    group = rng.choice(list(secrets), rows)
    shift = np.array([{each: k for k, each in enumerate(secrets)}[each] for each in group])
    job = np.where(rng.random(rows) < 0.4, "x", np.where(group == "a", "y", "z"))
    return pd.DataFrame({"group": group, "score": rng.integers(0, 6, rows) + shift, "job": job})


WORDS = [
    {"public": "score"},
    {"public": "score", "delta": 1e-3, "mechanism": Noise("gaussian")},
    {"public": "score", "mechanism": Noise(remap=True)},
    {"public": "job"},
    {"public": "job", "mechanism": Channel(radius=0, cap=None)},
    {"public": ["score", "job"]},
]


def pictures_in(html):
    return re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)


@pytest.mark.parametrize("words", WORDS, ids=str)
def test_html_is_well_formed_with_pictures_and_without_scripts(words):
    plan = people().puffer.calibrate(secret="group", epsilon=1.0, **words)
    certificate = certificate_of(plan.release(people(), rng=0))
    for shown in (plan, certificate):
        html = shown._repr_html_()
        root = ElementTree.fromstring(html)
        assert root.tag == "table"
        assert not {"script", "image", "use", "foreignObject"} & {each.tag.rpartition("}")[2] for each in root.iter()}
        assert not re.search(r"\son\w+=|href|url\(|javascript", html)
        for picture in pictures_in(html):
            assert 'role="img" aria-label="' in picture
            assert "currentColor" in picture
            assert "nan" not in picture
    assert pictures_in(plan._repr_html_())
    assert len(plan._repr_html_()) < 40_000


def test_every_text_is_in_the_html():
    plan = people().puffer.calibrate(secret="group", public="score", epsilon=1.0)
    for shown in (plan, certificate_of(plan.release(people()))):
        words = " ".join(ElementTree.fromstring(shown._repr_html_()).itertext())
        for each in set(re.findall(r"[\w.]{4,}", str(shown))):
            assert each in words


def test_the_pictures_of_a_certificate_hold_nothing_but_what_it_says():
    certificate = certificate_of(people().puffer.privatize(secret="group", public="score", epsilon=1.0))
    again = type(certificate).from_dict(certificate.to_dict())
    assert pictures_in(again._repr_html_()) == pictures_in(certificate._repr_html_())
    numbers = {
        float(each)
        for picture in pictures_in(certificate._repr_html_())
        for each in re.findall(r"<text[^>]*>([\d.]+)</text>", picture)
    }
    told = [*certificate.scales.values(), *certificate.published_scales.values(), *certificate.wider["score"].values()]
    told.append(certificate.observed["score"].pure_loss.upper)
    assert numbers
    for number in numbers:
        assert min(abs(number - one) for one in told) <= 1e-2 * number


def test_a_loss_without_bound_is_drawn():
    certificate = certificate_of(people().puffer.privatize(secret="group", public="score", epsilon=1.0))
    found = replace(certificate.observed["score"], pure_loss=Bracket(lower=1.0, upper=float("inf")))
    html = replace(certificate, observed={"score": found})._repr_html_()
    assert "no bound" in html
    assert "inf" not in "".join(pictures_in(html))


def test_names_are_escaped_and_long_parts_folded():
    frame = people().rename(columns={"score": "<b>&\x1b"})
    plan = frame.puffer.calibrate(secret="group", public="<b>&\x1b", epsilon=1.0)
    for shown in (plan, certificate_of(plan.release(frame))):
        assert "<b>" not in shown._repr_html_()
        assert "\x1b" not in shown._repr_html_()
        ElementTree.fromstring(shown._repr_html_())
    rows = [("short", "a"), ("long", "word " * 100), ("technical", "one"), ("", "two"), ("table", "a  b\n1  2")]
    rows.append(("large", "\n".join(f"{k}  {k}" for k in range(20))))
    root = ElementTree.fromstring(as_html("title", rows))
    folded = list(root.iter("details"))
    assert [each.find("summary").text for each in folded][1:] == ["2 more", "20 lines"]
    assert next(root.iter("pre")).text == "a  b\n1  2"
    assert as_text("title", rows[:1]) == "title\n  short  a"


def test_the_small_pictures():
    drawn = ElementTree.fromstring(
        bars([("a", 1.0, "1"), ("b", 2.0, "2"), ("c", float("nan"), "-")], title="t", mark=1)
    )
    widths = [float(each.get("width")) for each in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.1)
    assert widths[2] == 0
    assert "a 1; b 2" in drawn.get("aria-label")
    ElementTree.fromstring(line([0, 1, 2], [0.5, -1, 1], title="t", band=1, said="s"))
    ElementTree.fromstring(bars([("a", 0.0, "0")], title="<t>"))
    assert matrix(np.eye(40), title="t", said="s") == ""
    assert matrix(np.eye(3), title="t", said="s").count("<rect") == 4
