"""No second draw: a transformer gives rows the noise that they had, or no release."""

import copy
import pickle
from math import exp, factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from puffer_frames import CalibrationError, PufferTransformer
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
    options = {"secret": "group", "public": "score", "epsilon": 0.5, "allow_drift": True, "index": "drop"} | options
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
    refused(transformer, FRAME[::-1], "in the order in which they were released before")
    transformer.transform(FRAME.assign(id=0))  # a column that is not read makes no other rows
    assert len(transformer._released._known) == 1


def test_a_release_that_fails_leaves_nothing_behind():
    transformer = made(allow_drift=False).fit(FRAME)
    part = FRAME[(FRAME["score"] > 50) == (FRAME["group"] == "a")]
    refused(transformer, part, "must be within epsilon")
    refused(transformer, part[::-1], "must be within epsilon")
    assert not transformer._released._known


def test_few_different_rows_may_be_other_records():
    transformer = made(beliefs="population", domain={"score": (0, 6)}).fit(FEW)
    batch = FEW.iloc[:1]
    transformer.transform(batch)
    refused(transformer, batch, f"at least {FEWEST} different ones")
    numbered = made(row_id="id").fit(FEW)
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
    transformer = made(row_id="id", keep="id").fit(FRAME)
    first, second = transformer.transform(FRAME), transformer.transform(FRAME[::-1])
    assert second[::-1].reset_index(drop=True).equals(first)


def test_some_numbered_rows_of_another_batch_are_refused():
    transformer = made(row_id="id").fit(FRAME)
    transformer.transform(FRAME.iloc[:100])
    refused(transformer, FRAME.iloc[90:150], "by their row_id")
    refused(transformer, FRAME.assign(score=FRAME["score"] + 1), "by their row_id")
    transformer.transform(FRAME.iloc[100:150])


@pytest.mark.parametrize("copied", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy])
def test_copies_hold_no_key(copied):
    transformer = made(rng=None).fit(FRAME)
    transformer.transform(FRAME)
    (release,) = transformer._released._known.values()
    secret = release.key._key
    assert secret not in pickle.dumps(transformer)
    again = copied(transformer)
    refused(again, FRAME, "not released before")
    again.transform(FRAME.iloc[:100])
    assert transformer.transform(FRAME).shape == (400, 1)


def test_copies_hold_no_seed():
    transformer = made(rng=5).fit(FRAME)
    assert pickle.loads(pickle.dumps(transformer)).rng is None
    assert transformer.rng == 5
