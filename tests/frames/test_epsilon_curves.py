"""Several epsilons give a curve of scales and errors, before an answer is drawn."""

import numpy as np
import pandas as pd
import pytest
from conftest import LOCAL_KINDS
from kinds import entries

import puffer_frames
from puffer_frames import certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, UncoveredFrameError
from puffer_frames.noise.stream import ReleaseKey

EPSILONS = [0.2, 1.0, 3.0]
VISITS = {"who": list("aabbccc"), "what": [1, 2, 4, 0, 3, 3, 5], "town": list("xxyyyyy")}
DAYS = {"t": [*range(40)], "s": ["ab"[k * k % 7 % 2] for k in range(40)]}
SUMS = {"unit": "who", "value": "what"}
STATES = {"state": "s", "time": "t"}


@pytest.fixture
def nothing_drawn(monkeypatch):
    """A key for noise is an error."""

    def drawn(*_):
        raise AssertionError("noise was asked for")

    monkeypatch.setattr(ReleaseKey, "stream", drawn)


@pytest.mark.parametrize("kind", LOCAL_KINDS, indirect=True)
@pytest.mark.parametrize(("query", "divisor"), [("sum", None), (("sum", "count"), None), ("mean", 3), ("mean", None)])
def test_a_curve_has_the_scales_of_the_answers(make_frame, query, divisor):
    frame = make_frame(VISITS)
    asked = SUMS | {"query": query, "divisor": divisor, "by": "town"}
    curve = dict(entries(puffer_frames.aggregate(frame, epsilon=EPSILONS, **asked)))
    found = [dict(entries(puffer_frames.aggregate(frame, epsilon=epsilon, **asked))) for epsilon in EPSILONS]
    queries = len(curve["query"]) // 3
    assert curve["epsilon"] == list(np.repeat(EPSILONS, queries))
    assert curve["query"] == [name for one in found for name in one["query"][:queries]]
    for name in ("scale", "expected_error"):
        assert curve[name] == [number for one in found for number in one[name][:queries]]
    answers = [(high, answer) for one in found for high, answer in zip(one["upper_95"], one["answer"], strict=True)]
    reach = [None if high is None else high - answer for high, answer in answers]
    assert len(reach) == 2 * len(curve["reach_95"])  # two groups
    if None not in curve["reach_95"]:
        assert sorted({round(r, 6) for r in reach}) == sorted({round(r, 6) for r in curve["reach_95"]})


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy", "duckdb"], indirect=True)
def test_a_curve_of_a_histogram(make_frame):
    frame = make_frame(DAYS)
    curve = dict(entries(puffer_frames.histogram(frame, epsilon=np.array(EPSILONS), **STATES)))
    scales = [dict(entries(puffer_frames.histogram(frame, epsilon=e, **STATES)))["scale"][0] for e in EPSILONS]
    assert curve["scale"] == scales
    assert curve["query"] == ["count"] * 3


def test_nothing_is_drawn(nothing_drawn):
    frame = pd.DataFrame(VISITS)
    curve = frame.puffer.aggregate(epsilon=EPSILONS, **SUMS)
    assert curve["scale"].is_monotonic_decreasing
    pd.DataFrame(DAYS).puffer.histogram(epsilon=EPSILONS, **STATES)
    with pytest.raises(puffer_frames.errors.FaultError, match="AssertionError"):
        frame.puffer.aggregate(epsilon=1.0, **SUMS)
    with pytest.raises(UncoveredFrameError):
        certificate_of(curve)


@pytest.mark.parametrize(
    ("epsilon", "error"),
    [
        ([], ArgumentError),
        ([1.0, -1.0], ArgumentError),
        (["a"], ArgumentTypeError),
        ([1.0, [2.0]], ArgumentTypeError),
        (np.ones((2, 2)), ArgumentTypeError),
        ("1", ArgumentTypeError),
    ],
)
def test_what_is_no_list_of_epsilons(epsilon, error):
    for ask, data, options in (("aggregate", VISITS, SUMS), ("histogram", DAYS, STATES)):
        with pytest.raises(error, match="epsilon"):
            getattr(puffer_frames, ask)(pd.DataFrame(data), epsilon=epsilon, **options)


def test_a_ledger_has_no_entry_of_a_curve(tmp_path):
    with pytest.raises(ArgumentError, match="ledger must be left out where several epsilons"):
        pd.DataFrame(VISITS).puffer.aggregate(epsilon=EPSILONS, ledger=tmp_path / "l.jsonl", **SUMS)
    assert not list(tmp_path.iterdir())


def test_arguments_that_are_read_once_or_of_another_type():
    frame = pd.DataFrame(VISITS)
    asked = SUMS | {"protect": "replacement"}
    pairs = [("a", "b"), ("b", "c")]
    once = frame.puffer.aggregate(epsilon=EPSILONS, pairs=iter(pairs), **asked)
    pd.testing.assert_frame_equal(once, frame.puffer.aggregate(epsilon=EPSILONS, pairs=pairs, **asked))
    found = frame.puffer.aggregate(epsilon=1.0, query="mean", divisor=np.float32(0.5), rng=1, **SUMS)
    pd.testing.assert_frame_equal(found, frame.puffer.aggregate(epsilon=1.0, query="mean", divisor=0.5, rng=1, **SUMS))


@pytest.mark.parametrize("per", ["pooled", "unit", "both"])
def test_a_curve_of_frequencies_is_that_of_the_shortest_series(per):
    frame = pd.DataFrame({"u": [1] * 10 + [2] * 30, "t": [*range(10), *range(30)], "s": list("ab") * 20})
    asked = STATES | {"unit": "u", "per": per, "counts": False, "chain": [[0.6, 0.4], [0.4, 0.6]]}
    curve = frame.puffer.histogram(epsilon=[1.0], **asked)
    assert curve["query"].tolist() == ["frequency"]
    assert curve["scale"].iloc[0] == frame.puffer.histogram(epsilon=1.0, **asked)["scale"].max()


def test_a_curve_goes_on_where_no_noise_is_needed():
    """Nothing is released, so 0 is an answer: beyond some epsilon the laws of the units hide one another."""
    frame = pd.DataFrame({"who": list("aabb"), "what": [1, 2, 1, 2]})
    asked = SUMS | {"protect": "replacement", "query": ("sum", "count")}
    curve = frame.puffer.aggregate(epsilon=[0.5, 2.0], **asked)
    assert curve["scale"].tolist() == curve["reach_95"].tolist() == [0.0] * 4
    with pytest.raises(CalibrationError):
        frame.puffer.aggregate(epsilon=0.5, **asked)
