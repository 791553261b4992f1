"""No two uses of a release's key share random words, whatever the columns are called."""

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import puffer_frames
from puffer_frames import Layout
from puffer_frames.noise.stream import Purpose, ReleaseKey

ROOT = Path(puffer_frames.__file__).parent
KEY = ReleaseKey(bytes(range(32)))
ASKED_FOR = re.compile("stream|derive|Stream|HKDF")
LABELS = [label for purpose in Purpose for label in purpose.value]
ANY_TEXT = st.text(st.characters(codec=None), max_size=6)  # lone surrogates and NUL included
PART = st.one_of(ANY_TEXT, st.sampled_from([*LABELS, "\0", " ", "0", "1", "order 0", "count", "row of a unit"]))
NAME = st.lists(PART, max_size=4).map("".join)
USE = st.tuples(st.sampled_from(Purpose), NAME)


def test_all_purposes_are_listed():
    names = {"NOISE", "ORDER", "ROW_OF_A_UNIT", "REFINEMENT", "ROWS_OF_A_PLAN"}
    assert {purpose.name for purpose in Purpose} == names
    assert len(set(LABELS)) == len(LABELS) == 2 * len(Purpose)
    assert not [label for label in LABELS if "\0" in label]


@given(st.lists(USE, min_size=2, max_size=8, unique=True))
@example([(Purpose.NOISE, name) for name in ("\ud800", "\udfff", "?", "\ufffd", "")])
@example([(Purpose.NOISE, "\U00010000"), (Purpose.NOISE, "\ud800\udc00")])
@example([(Purpose.NOISE, "order word"), (Purpose.NOISE, "order 0"), (Purpose.ORDER, "0"), (Purpose.ORDER, "")])
@example([(Purpose.NOISE, "word\0x"), (Purpose.NOISE, "x"), (Purpose.NOISE, "pair\0x"), (Purpose.NOISE, "\0x")])
def test_no_two_keystreams_have_one_key(uses):
    keys = [key for use in uses for key in KEY.derive(*use)]
    assert len(set(keys)) == 2 * len(uses)


@cache
def calls():
    """Every call in the files of the package that say a name which is asked for, by its name, with the file."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not ASKED_FOR.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", None))
                found.append((path.relative_to(ROOT).as_posix(), called, node))
    return found


def calls_of(names):
    """Every call of a method with one of these names in the package, with the file."""
    assert all(ASKED_FOR.fullmatch(name) for name in names)
    return [call for call in calls() if call[1] in names]


def test_every_use_of_the_key_names_its_purpose():
    uses = set()
    for path, _, call in calls_of({"stream"}):
        assert ast.unparse(call.args[0]).startswith("Purpose."), (path, ast.unparse(call))
        uses.add(call.args[0].attr)
    assert uses == {purpose.name for purpose in Purpose}
    for names in ({"derive"}, {"Stream"}, {"HKDF"}):  # one derivation
        found = {path for path, _, _ in calls_of(names)} - {"verbs/plans/file.py"}  # which derives from a password
        assert found == {"noise/stream.py"}


def test_streams_of_one_release_hold_different_words():
    names = ["order 0", "order 1", "count", "sum", "row of a unit", "word", "pair", "0", "", "word\0", "\0"]
    streams = [KEY.stream(purpose, name) for purpose in Purpose for name in names]
    drawn = [s.words(range(100)) for s in streams] + [s.pairs(range(50), 0).ravel() for s in streams]
    assert np.unique(np.concatenate(drawn)).size == 200 * len(streams)


# ------------------------------------------------------------------- the attack on the order of the rows

ROWS = 4000


def guessed(column, *, epsilon, seed):
    """Share of the values 0 or 10 that an attacker finds who knows the scale, and that the order may be the noise's."""
    rng = np.random.default_rng(seed)
    secret = rng.random(ROWS) < 0.5
    values = 10.0 * (rng.random(ROWS) < np.where(secret, 0.6, 0.4))
    frame = pd.DataFrame({"s": np.where(secret, "a", "b"), column: values, "number": range(ROWS)})
    released = frame.puffer.privatize(
        secret="s", public=column, layout=Layout(keep="number", shuffle=True), epsilon=epsilon, rng=seed
    )
    scale = released.puffer.certificate.scales[column]
    word = (np.arange(ROWS) + 0.5) / ROWS  # of the row in this place, were the rows in the order of the noise's words
    size = -scale * np.log1p(-(2 * word % 1))
    noise = np.where(word < 0.5, size, -size)
    guess = 10.0 * (released[column].to_numpy() - noise > 5)
    return float((guess == values[released["number"]]).mean())


@pytest.mark.parametrize("column", ["order 0", "0", "order word 0"])
def test_the_order_tells_nothing_of_the_noise(column):
    assert guessed(column, epsilon=0.1, seed=3) < 0.65
