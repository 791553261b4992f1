"""No second draw: a transformer gives rows the noise that they had, or no release."""

import copy
import pickle
from math import exp, factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from puffer_frames import Layout, Noise, PufferTransformer
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.local.identity import FEWEST

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
    refused(transformer, FRAME[::-1], "in the order in which they were fitted")
    transformer.transform(FRAME.assign(id=0))  # a column that is not read makes no other rows
    assert len(transformer._released._orders) == 1
    refused(made().fit(FRAME), FRAME[::-1], "in the order in which they were fitted")  # a copy may have released them
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
        refused(again, FRAME[::-1], "in the order in which they were fitted")


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
