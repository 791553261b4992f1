"""The verbs take the fields of a record as keywords: signature, help and errors are those of a function."""

import inspect
import json
import re
from dataclasses import fields
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import puffer_frames
from puffer_frames import (
    Certificate,
    Channel,
    Contamination,
    Layout,
    Noise,
    PufferTransformer,
    Stable,
    Strata,
    calibrate,
    certificate_of,
    load_plan,
    privatize,
    read_certificate,
)
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CallError
from puffer_frames.mechanisms.noise.options import TheoremWord
from puffer_frames.noise.families import WORDS, NoiseArgument
from puffer_frames.papers.catalogue import MECHANISMS, THEOREMS
from puffer_frames.verbs import requests

VERBS = {
    "privatize": requests.PrivatizeArguments,
    "calibrate": requests.CalibrateArguments,
    "aggregate": requests.AggregateArguments,
    "histogram": requests.HistogramArguments,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_arguments_of_its_record_and_its_help_names_them(verb):
    for function in (getattr(puffer_frames, verb), getattr(pd.DataFrame.puffer, verb)):
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        defaults = {field.name: field.default for field in fields(VERBS[verb])}
        assert set(defaults) == {p.name for p in keywords}
        assert all(p.default == defaults[p.name] for p in keywords if p.default is not p.empty)
        required = [p.default is p.empty or p.name == "public" for p in keywords]
        assert required == sorted(required, reverse=True)
    help_ = getattr(puffer_frames, verb).__doc__
    missing = [
        field.name for field in fields(VERBS[verb]) if not any(field.name in line for line in help_.splitlines())
    ]
    assert missing == []


def test_the_signature_begins_with_what_every_call_names():
    names = list(inspect.signature(puffer_frames.privatize).parameters)
    assert names[:7] == ["frame", "secret", "public", "epsilon", "delta", "mechanism", "beliefs"]
    assert names[-4:] == ["layout", "ledger", "about", "rng"]
    assert len(names) == 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f, frame: f(frame, secret="s", publik="x", epsilon=1), "unexpected keyword.*'publik'.*'public'"),
        (lambda f, frame: f(frame, secret="s", public="x"), "missing a required.*'epsilon'"),
        (lambda f, frame: f(frame, "s", "x", 1.0), "too many positional arguments"),
    ],
)
def test_a_call_that_does_not_fit_is_a_type_error(call, message):
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    with pytest.raises(TypeError, match=rf"^privatize\(\) .*{message}"):
        call(puffer_frames.privatize, frame)
    plan = puffer_frames.calibrate(frame, secret="s", public="x", epsilon=0.1)
    with pytest.raises(
        TypeError, match=r"^release\(\) got an unexpected keyword argument 'layot'; did you mean 'layout'"
    ):
        plan.release(frame, layot=None)


def calls():
    """Each verb, and the arguments that it has a record for."""
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    plan = puffer_frames.calibrate(frame, secret="s", public="x", epsilon=0.1)
    asked = {"secret": "s", "epsilon": 1.0}
    step = puffer_frames.PufferTransformer(**asked)
    return {
        "privatize": (lambda **old: frame.puffer.privatize(**asked, **old), ("mechanism", "layout")),
        "calibrate": (lambda **old: puffer_frames.calibrate(frame, **asked, **old), ("mechanism",)),
        "compare": (lambda **old: frame.puffer.compare(**asked, **old), ("mechanism",)),
        "release": (lambda **old: plan.release(frame, **old), ("layout",)),
        "PufferTransformer": (lambda **old: puffer_frames.PufferTransformer(**asked, **old), ("mechanism", "layout")),
        "set_params": (step.set_params, ("mechanism", "layout")),
    }


@pytest.mark.parametrize("verb", calls())
@pytest.mark.parametrize("old", requests.MOVED)
def test_the_old_spelling_is_an_error_that_says_the_new_one(verb, old):
    """No value but a number, a truth value or a word of the option is shown."""
    call, taken = calls()[verb]
    argument, record, field = requests.MOVED[old]
    if argument not in taken:
        with pytest.raises(CallError, match=f"unexpected keyword argument {old!r}"):
            call(**{old: 3})
        return
    name = "PufferTransformer" if verb == "set_params" else verb
    with pytest.raises(CallError) as caught:
        call(**{old: "a value"})
    assert f"{name}() no longer takes {old!r}; write {argument}={record.__name__}({field}=...)" in str(caught.value)
    assert "a value" not in str(caught.value)
    with pytest.raises(CallError, match=rf"write {argument}={record.__name__}\({field}=3\)"):
        call(**{old: 3})


def test_the_old_spelling_of_several_is_one_record():
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    for old, new in (
        ({"theorem": "gaussian", "noise": "laplace"}, "mechanism=Noise(theorem='gaussian', family='laplace')"),
        ({"index": "drop", "keep": "x"}, "layout=Layout(index='drop', keep=...)"),
    ):
        with pytest.raises(CallError) as caught:
            frame.puffer.privatize(secret="s", epsilon=1.0, **old)
        assert new in str(caught.value)


def test_a_word_that_is_a_record_now():
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    for verb in (puffer_frames.privatize, puffer_frames.compare):
        with pytest.raises(ArgumentError, match=r"Write mechanism=Noise\(remap=True\)"):
            verb(frame, secret="s", public="x", epsilon=1.0, mechanism="remap")


@pytest.mark.parametrize("wrong", ["keep", {"layout": Layout(keep="x")}, 3, puffer_frames.Layout])
def test_a_layout_that_is_none(wrong):
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    with pytest.raises(ArgumentTypeError, match="layout must be Layout"):
        frame.puffer.privatize(secret="s", public="x", epsilon=1.0, layout=wrong)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("seed", "rng"),
        ("random_state", "rng"),
        ("eps", "epsilon"),
        ("sensitive", "secret"),
        ("protected", "secret"),
        ("columns", "public"),
        ("features", "public"),
        ("hide", "secret"),
        ("privacy_budget", "epsilon"),
        ("method", "mechanism"),
    ],
)
def test_the_words_of_other_packages_are_errors_that_say_ours(word, meant):
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    for verb in (puffer_frames.privatize, frame.puffer.privatize):
        with pytest.raises(CallError, match=rf"unexpected keyword argument {word!r}; did you mean {meant!r}"):
            verb(*([frame] if verb is puffer_frames.privatize else []), **{word: 1})


def test_what_a_call_lacks_is_named_and_a_word_only_where_the_verb_has_it():
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    with pytest.raises(CallError, match=r"positional arguments; name them: secret=\.\.\., public=\.\.\., epsilon="):
        frame.puffer.privatize("s", "x", 1.0)
    with pytest.raises(CallError, match=r"unexpected keyword argument 'sensitive'$"):
        puffer_frames.aggregate(pd.DataFrame({"x": [1, 2]}), sensitive="x", epsilon=1.0)


@pytest.mark.parametrize("verb", ["estimate", "verify", "write_parquet", "plot", "audit", "compare", "histogram"])
def test_every_verb_of_the_accessor_names_a_misspelt_keyword(verb):
    accessor = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]}).puffer
    with pytest.raises(CallError, match=rf"^{verb}\(\) got an unexpected keyword argument 'public_kay'"):
        getattr(accessor, verb)(public_kay=1)
    with pytest.raises(CallError, match=rf"^{verb}\(\) has too many positional arguments"):
        getattr(accessor, verb)(*range(9))


def test_words_are_those_of_the_registries():
    words = {word for part in get_args(NoiseArgument) for word in get_args(part)}
    assert words == set(WORDS)
    assert set(get_args(TheoremWord)) == {"auto", *THEOREMS}
    assert get_args(requests.MechanismWord) == ("auto", *MECHANISMS)


# Options live with what they configure: a word is a record with its defaults; a record refuses what cannot be.
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


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: PufferTransformer(epsilon=1.0), "argument: 'secret'"),
        (lambda: PufferTransformer(secret="s", eps=1.0), "'eps'; did you mean 'epsilon'?"),
        (lambda: PufferTransformer("s", 1.0), "name them: secret=..., public=..., epsilon=..."),
        (lambda: PufferTransformer(secret="s", epsilon=1.0).set_params(epsi=2.0), "'epsi'; did you mean 'epsilon'?"),
    ],
)
def test_the_transformer_says_what_it_takes(call, said):
    with pytest.raises(CallError, match=rf"^PufferTransformer\(\) .*{re.escape(said)}$"):
        call()


@pytest.mark.parametrize(("word", "record"), [("laplace", 'Noise("laplace")'), ("remap", "Noise(remap=True)")])
def test_a_word_of_noise_in_place_of_a_mechanism(word, record):
    with pytest.raises(ArgumentError, match=re.escape(f"Write mechanism={record}.")):
        puffer_frames.privatize(pd.DataFrame({"s": ["a", "b"]}), secret="s", public="s", epsilon=1.0, mechanism=word)


@pytest.mark.parametrize("wrong", [object(), 5, None, b"plan", pd.DataFrame({"x": [1]})])
def test_a_path_that_is_none(wrong):
    plan = calibrate(PEOPLE, secret="group", public="score", epsilon=1.0)
    released = plan.release(PEOPLE)
    save = certificate_of(released).save
    calls = [load_plan, plan.save, read_certificate, Certificate.load, save, released.puffer.write_parquet]
    for call in calls:
        with pytest.raises(ArgumentTypeError, match=r"must be a str or a Path; got a "):
            call(wrong)


@pytest.mark.parametrize("role", ["domain", "levels", "clip", "weights"])
def test_a_column_that_is_named_twice(role):
    """Of 1 and "1" the last entry counted, without a word."""
    frame = pd.DataFrame({"sex": list("fm") * 50, 1: [1, 2, 3, 4, 5] * 20, "y": [1, 2, 3, 4] * 25})
    asked = {
        "domain": {"domain": {1: (0, 9), "1": (0, 99)}},
        "levels": {"domain": {1: [1, 2, 3, 4, 5], "1": (0, 99)}},
        "clip": {"layout": Layout(clip={1: (0, 9), "1": (0, 99)})},
        "weights": {"mechanism": Noise(weights={1: 1.0, "1": 9.0, "y": 1.0})},
    }[role]
    with pytest.raises(ArgumentError, match="must be a mapping with one entry for each column; got two for one column"):
        puffer_frames.privatize(frame, secret="sex", public=[1, "y"], epsilon=1.0, **asked)


def test_records_keep_what_they_were_given():
    """A name that is appended to the list of kept columns later is not released."""
    names, bounds, shares, costs = ["town"], {"score": [0, 6]}, {"a": 0.1}, np.eye(2)
    kept = [
        Layout(keep=names, clip=bounds, publish=["levels"]),
        Strata(names),
        Noise(weights=shares),
        Channel(radius=shares),
        Contamination(shares),
    ]
    before, channel = repr(kept), Channel(cost=costs)
    names.append("note")
    bounds["score"][1], bounds["visits"], shares["a"], costs[:] = 9, [0, 1], 0.9, 3
    assert repr(kept) == before
    assert (channel.cost == np.eye(2)).all()
    assert kept[0].keep == ["town"]


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame, iter])
def test_pairs_as_an_array(kind):
    frame = pd.DataFrame({"s": list("abc") * 40, "x": [k * k % 7 + k % 3 for k in range(120)]})
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    plan = calibrate(frame, secret="s", public="x", epsilon=1.0, pairs=kind([["a", "b"], ["a", "c"]]))
    assert certificate_of(plan.release(frame)).pairs == (("a", "b"), ("a", "c"))
