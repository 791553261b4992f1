"""No second draw: a transformer gives rows the noise that they had, or no release."""

import ast
import copy
import pickle
import re
from functools import cache
from math import exp, factorial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import puffer_frames
from puffer_frames import Layout, Noise, PufferTransformer
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.matching import FEWEST
from puffer_frames.noise.stream import Purpose, ReleaseKey

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {"id": np.arange(400) + 10, "group": RNG.choice(["a", "b"], 400), "score": RNG.integers(0, 100, 400)}
)
FEW = pd.DataFrame(
    {
        "id": np.arange(400) + 10,
        "group": FRAME["group"],
        "score": RNG.integers(0, 3, 400) * (1 + 2 * (FRAME["group"] == "a")),
    }
)


def made(**options):
    options = {
        "secret": "group",
        "public": "score",
        "epsilon": 0.5,
        "allow_drift": True,
        "layout": Layout(index="drop"),
    } | options
    return PufferTransformer(**options)


def refused(transformer, frame, match):
    before = len(transformer.certificates_)
    with pytest.raises(CalibrationError, match=match):
        transformer.transform(frame)
    assert len(transformer.certificates_) == before


@pytest.mark.parametrize("frame", [FRAME, FEW])
def test_the_fitted_rows_have_one_noise(frame):
    transformer = made()
    released = transformer.fit_transform(frame)
    assert transformer.transform(frame).equals(released)
    assert transformer.transform(pl.DataFrame(frame).to_pandas()).equals(released)
    assert transformer.fit_transform(frame).equals(released)  # the same plan, made again
    assert not made().fit_transform(frame).equals(released)


def test_other_plans_share_no_noise():
    """Else y = x + n and y' = x + 2 n would tell x."""
    transformer = made()
    first = transformer.fit_transform(FRAME)["score"] - FRAME["score"]
    scale = transformer.calibration_.scale
    second = transformer.set_params(epsilon=0.25).fit_transform(FRAME)["score"] - FRAME["score"]
    ratios = (first / scale) / (second / transformer.calibration_.scale)
    assert not np.any(np.abs(ratios - 1) < 1e-6)


def test_other_rows_share_no_noise():
    transformer = made().fit(FRAME)
    first, second = FRAME.iloc[:100], FRAME.iloc[100:200]
    noise = [transformer.transform(part)["score"].to_numpy() - part["score"].to_numpy() for part in (first, second)]
    assert not np.any(np.abs(noise[0] - noise[1]) < 1e-6)


def test_another_order_is_refused():
    transformer = made().fit(FRAME)
    transformer.transform(FRAME)
    refused(transformer, FRAME[::-1], "the same rows in another order")
    transformer.transform(FRAME.assign(id=0))  # a column that is not read makes no other rows
    assert len(transformer._released._orders) == 1
    refused(made().fit(FRAME), FRAME[::-1], "the same rows in another order")  # a copy may have released them
    transformer.transform(FRAME.iloc[:100])
    refused(transformer, FRAME.iloc[99::-1], "in the order in which they were released before")


def test_a_release_that_fails_leaves_nothing_behind():
    transformer = made(allow_drift=False).fit(FRAME)
    part = FRAME[(FRAME["score"] > 50) == (FRAME["group"] == "a")]
    refused(transformer, part, "must be within epsilon")
    refused(transformer, part[::-1], "must be within epsilon")
    assert not transformer._released._orders


def test_few_different_rows_may_be_other_records():
    transformer = made(beliefs="population", domain={"score": (0, 6)}).fit(FEW)
    batch = FEW.iloc[:1]
    transformer.transform(batch)
    refused(transformer, batch, f"at least {FEWEST} different ones")
    numbered = made(layout=Layout(index="drop", row_id="id")).fit(FEW)
    assert numbered.transform(batch).equals(numbered.transform(batch))


def test_many_different_rows_are_known_again():
    transformer = made().fit(FRAME)
    batch = FRAME.iloc[50:90]
    assert transformer.transform(batch).equals(transformer.transform(batch))


def test_the_chance_that_other_records_look_the_same():
    """Of n rows with counts c the likeliest law has the multinomial chance; none exceeds that of 32 single rows."""
    bound = factorial(FEWEST) / FEWEST**FEWEST
    assert bound < 2e-13
    for _ in range(200):
        counts = RNG.integers(1, 9, FEWEST + RNG.integers(0, 5))
        n = int(counts.sum())
        logarithm = sum(np.log(np.arange(1, n + 1))) - n * np.log(n)
        logarithm += sum(c * np.log(c) - sum(np.log(np.arange(1, c + 1))) for c in counts)
        assert exp(logarithm) <= bound * (1 + 1e-9)


def test_numbered_rows_have_their_noise_in_any_order():
    transformer = made(layout=Layout(index="drop", row_id="id", keep="id")).fit(FRAME)
    first, second = transformer.transform(FRAME), transformer.transform(FRAME[::-1])
    assert second[::-1].reset_index(drop=True).equals(first)


def test_a_numbered_row_has_one_noise_in_every_batch():
    transformer = made(layout=Layout(index="drop", row_id="id", keep="id")).fit(FRAME)
    whole = transformer.transform(FRAME).set_index("id")["score"]
    for rows in (slice(0, 1), slice(0, 100), slice(90, 150), slice(399, 0, -3)):
        part = transformer.transform(FRAME.iloc[rows]).set_index("id")["score"]
        assert part.equals(whole[part.index])


def test_a_number_of_another_row_is_refused():
    """Equal noise on two values would tell their difference, and new noise would be a second draw."""
    transformer = made(layout=Layout(index="drop", row_id="id")).fit(FRAME)
    transformer.transform(FRAME.iloc[:100])
    refused(transformer, FRAME.assign(score=FRAME["score"] + 1), "with the row_id of one that was")
    refused(transformer, FRAME.assign(group=FRAME["group"][::-1].to_numpy()), "with the row_id of one that was")
    changed = made(layout=Layout(index="drop", row_id="id")).fit(FRAME)
    elsewhere = pickle.loads(pickle.dumps(changed))
    first = changed.transform(FRAME)["score"]
    second = elsewhere.transform(FRAME.assign(score=FRAME["score"] + 1))["score"]
    assert not np.any(np.abs(second - first - 1) < 1e-6)


COPIES = pytest.mark.parametrize("copied", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy, copy.copy])


@COPIES
def test_a_copy_gives_the_noise_that_the_rows_have(copied):
    transformer = made().fit(FRAME)
    before = copied(transformer)
    released = transformer.transform(FRAME)
    for again in (before, copied(transformer), copied(before)):
        assert again.transform(FRAME).equals(released)
        refused(again, FRAME[::-1], "the same rows in another order")


@pytest.mark.parametrize("options", [{}, {"mechanism": "channel"}, {"mechanism": Noise("gaussian"), "delta": 1e-5}])
def test_a_copy_that_is_fitted_again_has_the_plan(options):
    frame = FRAME.assign(score=FRAME["score"] % 30)
    transformer = made(**options).fit(frame)
    released = transformer.transform(frame)
    again = pickle.loads(pickle.dumps(transformer)).fit(pl.DataFrame(frame))
    assert again.transform(frame).equals(released)


@COPIES
def test_a_copy_gives_numbered_rows_their_noise(copied):
    transformer = made(layout=Layout(index="drop", row_id="id", keep="id")).fit(FRAME)
    part = FRAME.iloc[7:200]
    before = copied(transformer)
    released = transformer.transform(part)
    assert before.transform(part).equals(released)
    assert copied(before).transform(part[::-1])[::-1].reset_index(drop=True).equals(released)


@pytest.mark.parametrize("copied", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy])
def test_a_copy_refuses_rows_that_another_copy_may_have_released(copied):
    again = copied(made().fit(FRAME))
    refused(again, FRAME.iloc[:100], "in a copy of a transformer")
    refused(again, FRAME.iloc[:1], "in a copy of a transformer")


def test_another_process_is_a_copy(monkeypatch):
    transformer = made().fit(FRAME)
    monkeypatch.setattr("puffer_frames.verbs.once.os.getpid", lambda: -1)
    refused(transformer, FRAME.iloc[:100], "in a copy of a transformer")
    transformer.transform(FRAME)


def test_equal_numbers_are_the_same_rows():
    table = FRAME.assign(score=np.where(FRAME["score"] < 50, 0.0, FRAME["score"]))
    for option in ({}, {"layout": Layout(index="drop", row_id="id")}):
        transformer = made(**option).fit(table)
        released = transformer.transform(table)
        for score in (np.where(table["score"] == 0, -0.0, table["score"]), table["score"].astype("int32")):
            assert transformer.transform(table.assign(score=score)).equals(released)
        assert transformer.transform(pl.DataFrame(table)).to_pandas().equals(released)


def test_a_secret_of_truth_values_is_one_of_numbers():
    table = FRAME.assign(group=FRAME["group"] == "a")
    transformer = made().fit(table)
    released = transformer.transform(table)
    assert transformer.transform(table.assign(group=table["group"].astype(int))).equals(released)


def test_another_row_id_needs_another_fit():
    transformer = made().fit(FRAME)
    transformer.transform(FRAME)
    with pytest.raises(ArgumentError, match="row_id must be the one that the transformer was fitted with"):
        transformer.set_params(layout=Layout(index="drop", row_id="id")).transform(FRAME)


def test_copies_hold_no_seed():
    transformer = made(rng=5).fit(FRAME)
    assert pickle.loads(pickle.dumps(transformer)).rng is None
    assert transformer.rng == 5


# No two uses of a release's key share random words, whatever the columns are called.
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
