"""Options live with what they configure: a word is a record with its defaults; a record refuses what cannot be."""

import json

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, Layout, Noise, Stable, calibrate, load_plan, privatize
from puffer_frames.errors import ArgumentError, ArgumentTypeError

RNG = np.random.default_rng(8)
GROUP = RNG.choice(["a", "b"], 300)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 6, 300) + (GROUP == "a"),
        "age": RNG.integers(20, 40, 300),
        "town": np.where(RNG.random(300) < 0.01, "rare", RNG.choice(["x", "y", "z"], 300)),
    }
)
SAME = {
    "numbers": ("score", ["auto", "noise", Noise()]),
    "columns of numbers": (["score", "age"], ["auto", "noise", Noise()]),
    "labels": ("town", ["auto", "channel", Channel()]),
    "labels beside numbers": (["score", "town"], ["auto", "noise", Noise()]),
    "numbers through a channel": ("score", ["channel", Channel()]),
}


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("name", SAME)
def test_a_word_is_the_record_with_its_defaults(name):
    public, mechanisms = SAME[name]
    first, *others = [
        privatize(PEOPLE, secret="group", public=public, epsilon=0.5, mechanism=each, rng=3) for each in mechanisms
    ]
    for other in others:
        pd.testing.assert_frame_equal(first, other, check_exact=True)
        assert first.puffer.certificate.to_dict() == other.puffer.certificate.to_dict()


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: Noise("foo"), ArgumentError, "family"),
        (lambda: Noise(Stable(alpha=1.5, scale=2.0)), ArgumentError, "family"),
        (lambda: Noise(theorem="foo"), ArgumentError, "theorem"),
        (lambda: Noise(Stable(alpha=1.5), theorem="gmm"), ArgumentError, "theorem"),
        (lambda: Noise(calibration="foo"), ArgumentError, "calibration"),
        (lambda: Noise(components=2, theorem="gaussian"), ArgumentError, "components"),
        (lambda: Noise(components=0), ArgumentError, "components"),
        (lambda: Noise(remap=1), ArgumentTypeError, "remap"),
        (lambda: Noise(Stable(alpha=1.5), remap=True), ArgumentError, "family"),
        (lambda: Channel(merge_rare=0), ArgumentError, "merge_rare"),
        (lambda: Layout(index="foo"), ArgumentError, "index"),
        (lambda: Layout(index="keep", shuffle=True), ArgumentError, "index"),
        (lambda: Layout(shuffle=1), ArgumentTypeError, "shuffle"),
        (lambda: Layout(round="no"), ArgumentTypeError, "round"),
        (lambda: Layout(publish="foo"), ArgumentError, "publish"),
    ],
)
def test_a_record_refuses_what_it_is_given(make, error, what):
    with pytest.raises(error) as caught:
        make()
    assert caught.value.what == what


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_a_plan_file_has_the_merged_labels_where_it_had_them(tmp_path):
    """In the request, not in the record of the channel."""
    plan = calibrate(PEOPLE, secret="group", public="town", epsilon=1.0, mechanism=Channel(cap=4.0, merge_rare=9))
    plan.save(tmp_path / "plan.json")
    request = json.loads((tmp_path / "plan.json").read_text())["plan"]["plan"]["request"]
    assert request["merge_rare"] == 9
    assert request["mechanism"]["cap"] == 4.0
    assert "merge_rare" not in request["mechanism"]
    again = load_plan(tmp_path / "plan.json")
    pd.testing.assert_frame_equal(again.release(PEOPLE, rng=1), plan.release(PEOPLE, rng=1))


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_each_release_of_a_plan_has_a_layout_of_its_own():
    plan = calibrate(PEOPLE, secret="group", public="score", epsilon=1.0)
    plain = plan.release(PEOPLE, rng=1)
    rounded = plan.release(PEOPLE, layout=Layout(keep="age", round=True, clip=(0, 5)), rng=1)
    assert list(plain.columns) == ["score"]
    assert rounded["score"].tolist() == plain["score"].clip(0, 5).round().tolist()
    assert rounded["age"].tolist() == PEOPLE["age"].tolist()
