"""The verbs take the fields of a record as keywords: signature, help and errors are those of a function."""

import inspect
from dataclasses import fields
from typing import get_args

import pandas as pd
import pytest

import puffer_frames
from puffer_frames.errors import CallError
from puffer_frames.noise.families import WORDS, NoiseArgument
from puffer_frames.papers.catalogue import MECHANISMS, THEOREMS
from puffer_frames.verbs.requests import arguments

VERBS = {
    "privatize": arguments.PrivatizeArguments,
    "calibrate": arguments.CalibrateArguments,
    "aggregate": arguments.AggregateArguments,
    "histogram": arguments.HistogramArguments,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_arguments_of_its_record(verb):
    for function in (getattr(puffer_frames, verb), getattr(pd.DataFrame.puffer, verb)):
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        defaults = {field.name: field.default for field in fields(VERBS[verb])}
        assert set(defaults) == {p.name for p in keywords}
        assert all(p.default == defaults[p.name] for p in keywords if p.default is not p.empty)
        required = [p.default is p.empty or p.name == "public" for p in keywords]
        assert required == sorted(required, reverse=True)


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_in_the_help(verb):
    help_ = getattr(puffer_frames, verb).__doc__
    missing = [
        field.name for field in fields(VERBS[verb]) if not any(field.name in line for line in help_.splitlines())
    ]
    assert missing == []


def test_the_signature_begins_with_what_every_call_names():
    names = list(inspect.signature(puffer_frames.privatize).parameters)
    assert names[:7] == ["frame", "secret", "public", "epsilon", "delta", "noise", "nulls"]
    assert names[-3:] == ["about", "ledger", "rng"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda f, frame: f(frame, secret="s", publik="x", epsilon=1),
            "unexpected keyword.*'publik'.*'public'",
        ),
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
        TypeError, match=r"^release\(\) got an unexpected keyword argument 'shufle'; did you mean 'shuffle'"
    ):
        plan.release(frame, shufle=True)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("seed", "rng"),
        ("random_state", "rng"),
        ("eps", "epsilon"),
        ("sensitive", "secret"),
        ("protected", "secret"),
        ("columns", "public"),
    ],
)
def test_the_words_of_other_packages_are_errors_that_say_ours(word, meant):
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    for verb in (puffer_frames.privatize, frame.puffer.privatize):
        with pytest.raises(CallError, match=rf"unexpected keyword argument {word!r}; did you mean {meant!r}"):
            verb(*([frame] if verb is puffer_frames.privatize else []), **{word: 1})


def test_a_word_is_meant_only_where_the_verb_has_it():
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
    assert set(get_args(arguments.TheoremWord)) == {"auto", *THEOREMS}
    assert get_args(arguments.MechanismWord) == ("auto", *MECHANISMS)
