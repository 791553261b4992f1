"""What notebooks show of plans and certificates: small pictures, tables, long parts folded, and nothing that runs."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, Noise, certificate_of
from puffer_frames.loss.outcome import Bracket
from puffer_frames.numbers.presentation import Bar, Bars, as_html, as_text


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
        assert repr(shown) == str(shown)
        html = shown._repr_html_()
        root = ElementTree.fromstring(html)
        assert root.tag == "table"
        assert not {"script", "image", "use", "foreignObject"} & {each.tag.rpartition("}")[2] for each in root.iter()}
        assert not re.search(r"\son\w+=|href|url\(|javascript", html)
        for picture in pictures_in(html):
            assert 'role="img" aria-label="' in picture
            assert "currentColor" in picture  # white on black, too
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
        for each in re.findall(r"<text[^>]*>(?:at most )?([\d.]+)</text>", picture)
    }
    told = [*certificate.scales.values(), *certificate.published_scales.values(), *certificate.wider["score"].values()]
    told += [certificate.expected_error["score"], certificate.epsilon]
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


def widths_of(figure):
    html = as_html("title", [("a", "b")], figures=[figure])
    return [float(each.get("width")) for each in ElementTree.fromstring(html).iter() if each.tag == "rect"]


def test_the_small_pictures():
    bars = [Bar(label="a", value=1.0, text="1"), Bar(label="b", value=2.0, text="2")]
    widths = widths_of(Bars(title="t", bars=bars, mark=1))
    assert widths == [180.0, 360.0]
    bars.append(Bar(label="c", value=float("nan"), text="-"))
    assert widths_of(Bars(title="t", bars=bars))[2] == 1
    assert 'aria-label="t: a: 1; b: 2; c: -"' in as_html("title", [("a", "b")], figures=[Bars(title="t", bars=bars)])
    assert widths_of(Bars(title="<t>", bars=[Bar(label="", value=0.0, text="0")])) == [1]


def test_a_long_name_leaves_room_for_its_text():
    """The text of a row stood in what a label left of 100 characters, which may be nothing."""
    assert as_text("title", [("name " * 30, "word " * 30)]).count("word") == 30


def test_what_is_not_printable_is_escaped_wherever_it_stands():
    odd = "<script>\x07\u202e'\""
    bars = Bars(title=odd, bars=[Bar(label=odd, value=1.0, text=odd)])
    html = as_html(
        odd, [(odd, odd), ("technical", odd), ("wide", f"{odd}  {odd}"), ("long", odd * 100)], figures=[bars]
    )
    assert not {"\x07", "\u202e"} & set(html)
    assert "<script" not in html
    ElementTree.fromstring(html)
    text = as_text(odd, [(odd, odd), (f"{odd}\n", f"{odd}\n{odd}")])
    assert not {"\x07", "\u202e"} & set(text)
    assert len(text.splitlines()) == 4
