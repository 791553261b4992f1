"""Every wrong request is a clear error that changes nothing and shows no public value."""

import functools
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, made

import puffer_frames
from puffer_frames import (
    Channel,
    Layout,
    MarkovChain,
    Noise,
    PufferError,
    PufferTransformer,
    Unit,
    core,
    papers,
    privatize,
)
from puffer_frames.core import BayesianNetwork, Prior
from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, NoNoiseNeededError
from puffer_frames.papers import bounded_scales, gaussian_scale, kantorovich_scale, presence_scale, value_scale

FORM = re.compile(r"[^;]+ must [^;]+; got .+\.\n\nHint: .+[.?]", flags=re.DOTALL)

MARK = 8_675_309
"""A public value that no message may show."""


@pytest.fixture
def data():
    return {"race": ["a", "b", "a", "b", "b", "a", "b", "b"] * 5, "wage": [MARK, 1, 2, 3] * 10, "town": ["x"] * 40}


def fails(frame, error, *parts, **options):
    """The request raises the error; its text has the house's form, the parts, and no public value."""
    request = {"secret": "race", "public": "wage", "epsilon": 1.0} | options
    with pytest.raises(error) as caught:
        privatize(frame, **made(request))
    text = str(caught.value)
    assert isinstance(caught.value, PufferError)
    assert " must be " in text
    assert "; got " in text
    assert "\n\nHint: " in text
    assert str(MARK) not in text
    assert "8675309" not in text.replace(",", "").replace("_", "")
    for part in parts:
        assert part in text
    return caught.value


REQUESTS = [
    ({"public": "wages"}, ColumnNotFoundError, ["wages", "Did you mean 'wage'"]),
    ({"secret": "Race"}, ColumnNotFoundError, ["Race", "Did you mean 'race'"]),
    ({"layout": Layout(keep="twon")}, ColumnNotFoundError, ["twon", "'town'"]),
    ({"public": "zzz"}, ColumnNotFoundError, ["'race', 'wage', 'town'"]),
    ({"secret": "wage"}, ArgumentError, ["another column than the secret"]),
    ({"secret": []}, ArgumentError, ["secret"]),
    ({"public": ["race", "wage"]}, ArgumentError, ["'race' for both"]),
    ({"about": {"isuer": "us"}}, ArgumentError, ["Did you mean 'issuer'?"]),
    ({"secret": ["race", "race"]}, ArgumentError, ["one named twice"]),
    ({"public": ["wage", "wage"]}, ArgumentError, ["one named twice"]),
    ({"nulls": "keep"}, ArgumentError, ["nulls"]),
    ({"secret": "town"}, ArgumentError, ["two different values"]),
    ({"public": [["wage"]]}, ArgumentTypeError, ["a column name"]),
    ({"public": 7}, ColumnNotFoundError, ["7"]),
    ({"public": None}, ArgumentTypeError, ["NoneType"]),
    (
        {"public": "town", "mechanism": "noise"},
        ArgumentTypeError,
        ["of integers, floats or booleans", "String", 'mechanism="channel"'],
    ),
    ({"public": "town"}, NoNoiseNeededError, ["already private", "allow_zero_noise=True"]),
    ({"epsilon": 0}, ArgumentError, ["epsilon", "greater than 0"]),
    ({"epsilon": math.inf}, ArgumentError, ["epsilon", "inf"]),
    ({"epsilon": math.nan}, ArgumentError, ["epsilon", "nan"]),
    ({"epsilon": "1"}, ArgumentTypeError, ["epsilon", "str"]),
    ({"epsilon": True}, ArgumentTypeError, ["epsilon", "bool"]),
    ({"delta": 1.0}, ArgumentError, ["delta", "less than 1"]),
    ({"delta": -1e-9}, ArgumentError, ["delta"]),
    ({"delta": math.nan}, ArgumentError, ["delta"]),
    ({"delta": None}, ArgumentTypeError, ["delta", "NoneType"]),
    ({"pairs": [("a", "B")]}, ArgumentError, ["'B'", "'a', 'b'"]),
    ({"pairs": [("a", "a")]}, ArgumentError, ["two different secrets"]),
    ({"pairs": []}, ArgumentTypeError, ["no pair"]),
    ({"pairs": "any"}, ArgumentTypeError, ["'any'"]),
    ({"pairs": ["ab"]}, ArgumentTypeError, ["pairs"]),
    ({"pairs": 3}, ArgumentTypeError, ["int"]),
    ({"pairs": [("a", "b", "c")]}, ArgumentTypeError, ["not a pair"]),
    ({"pairs": [(["a"], "b")]}, ArgumentTypeError, ["pairs"]),
    ({"mechanism": lambda: Noise(theorem="wasserstein")}, ArgumentError, ["kantorovich"]),
    ({"mechanism": lambda: Noise(calibration="best")}, ArgumentError, ["exact"]),
    ({"layout": lambda: Layout(index="reset")}, ArgumentError, ["index"]),
    ({"layout": Layout(clip=3)}, ArgumentTypeError, ["clip"]),
    ({"layout": Layout(clip=(2, 1))}, ArgumentError, ["low < high"]),
    ({"layout": Layout(clip={"town": (0, 1)})}, ArgumentError, ["'town'"]),
    ({"domain": {"wage": (0, math.inf)}}, ArgumentError, ["both finite"]),
    ({"domain": {"race": (0, 1)}}, ArgumentError, ["'race'"]),
    ({"mechanism": lambda: Noise(components=2, theorem="kantorovich")}, ArgumentError, ["components"]),
    ({"beliefs": "mine"}, ArgumentTypeError, ["'mine'"]),
    ({"rng": -1}, ArgumentTypeError, ["rng"]),
    ({"rng": True}, ArgumentTypeError, ["rng", "bool"]),
]


@pytest.mark.parametrize(
    ("options", "error", "parts"), REQUESTS, ids=[f"{k}-{', '.join(r[0])}" for k, r in enumerate(REQUESTS)]
)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_wrong_arguments(data, kind, options, error, parts):
    frame = build_frame(kind, data)
    fails(frame, error, *parts, **options)
    assert list(frame.columns) == list(data)


@pytest.mark.parametrize("index", [range(1, 41), range(39, -1, -1), list("ab") * 20])
def test_undecided_index(data, index):
    error = fails(pd.DataFrame(data, index=index), ArgumentError, "index", 'index="drop"')
    assert error.what == "the index of the frame"


def test_undecided_multi_index(data):
    frame = pd.DataFrame(data, index=pd.MultiIndex.from_product([range(20), ["x", "y"]]))
    fails(frame, ArgumentError, "MultiIndex")


SECRET_FRAME = pd.DataFrame({"g": ["a", "b"] * 30, "pay": np.arange(60) + 77000.25, "l": ["CANARY", "CANARIES"] * 30})
IN_PLACE_OF_A_NAME = {
    "secret": lambda column: SECRET_FRAME.puffer.privatize(secret=column, public="pay", epsilon=1.0),
    "public": lambda column: SECRET_FRAME.puffer.privatize(secret="g", public=column, epsilon=1.0),
    "given": lambda column: SECRET_FRAME.puffer.privatize(secret="g", public="pay", given=column, epsilon=1.0),
    "unit": lambda column: SECRET_FRAME.puffer.privatize(
        secret="g", public="pay", epsilon=1.0, unit=Unit(column, rows="independent")
    ),
    "keep": lambda column: SECRET_FRAME.puffer.privatize(
        secret="g", public="pay", epsilon=1.0, layout=Layout(keep=column)
    ),
    "value": lambda column: SECRET_FRAME.puffer.aggregate(value=column, epsilon=1.0),
    "state": lambda column: SECRET_FRAME.puffer.histogram(state=column, time="pay", epsilon=1.0),
    "bins": lambda column: SECRET_FRAME.puffer.histogram(state="g", time="pay", bins=column, epsilon=1.0),
    "floor": lambda column: SECRET_FRAME.puffer.histogram(state="g", time="pay", floor=column, epsilon=1.0),
    "publish": lambda column: SECRET_FRAME.puffer.privatize(
        secret="g", public="pay", epsilon=1.0, layout=Layout(publish=column)
    ),
    "beliefs": lambda column: SECRET_FRAME.puffer.privatize(secret="g", public="pay", beliefs=column, epsilon=1.0),
    "components": lambda column: Noise(components=column),
    **{
        name: lambda column, name=name: Channel(**{name: column})
        for name in ("radius", "cap", "preserve", "reader_cap", "merge_rare")
    },
    "X": lambda column: PufferTransformer(secret="x0", public="x1", epsilon=1.0).fit(np.array(column)),
    "a masked X": lambda column: PufferTransformer(secret="x0", public="x1", epsilon=1.0).fit(
        np.ma.masked_array([[0, 1], [1, 2]] * 30)
    ),
}
AS_COLUMN = {
    "pandas": lambda column: column,
    "Polars": lambda column: pl.Series(column.name, column.to_list()),
    "PyArrow": lambda column: pa.array(column),
    "NumPy": lambda column: column.to_numpy(),
}


@pytest.mark.parametrize("made", AS_COLUMN)
@pytest.mark.parametrize("what", IN_PLACE_OF_A_NAME)
def test_a_column_in_place_of_its_name_is_not_shown(what, made):
    for name in ("pay", "l"):
        with pytest.raises(PufferError) as caught:
            IN_PLACE_OF_A_NAME[what](AS_COLUMN[made](SECRET_FRAME[name]))
        assert "770" not in str(caught.value)
        assert "CANAR" not in str(caught.value)
        assert caught.value.__context__ is None
    if what == "public" and made in ("pandas", "Polars"):
        assert 'public="l"' in str(caught.value)


def test_kinds_and_parts_of_errors(data):
    frame = pd.DataFrame(data)
    assert isinstance(fails(frame, KeyError, public="x"), ColumnNotFoundError)
    assert isinstance(fails(frame, ValueError, epsilon=0), ArgumentError)
    assert isinstance(fails(frame, TypeError, epsilon="1"), ArgumentTypeError)
    error = ArgumentError("epsilon", rule="positive", got="0", hint="Use 1.")
    again = pickle.loads(pickle.dumps(error))
    assert (again.what, again.rule, again.got, again.hint) == ("epsilon", "positive", "0", "Use 1.")
    assert str(again) == "epsilon must be positive; got 0.\n\nHint: Use 1."
    assert issubclass(puffer_frames.PufferWarning, UserWarning)


NORMAL = {"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 2)}
ATOMS = {"s": Prior.empirical([0, 1], [1, 2]), "t": Prior.empirical([0, 2])}
CHAIN = MarkovChain.of([[0.9, 0.1], [0.2, 0.8]])
HOME = BayesianNetwork.of({"ann": [0.5, 0.5], "ben": [[0.9, 0.1], [0.2, 0.8]]}, parents={"ben": ["ann"]})
NUMBERS = {
    "bernoulli_scale": ([ATOMS | {"t": Prior.bernoulli(0.5)}], {"epsilon": 1.0}),
    "best_channel": ([{"a": [1, 2], "b": [2, 1]}], {"levels": ("p", "q"), "epsilon": 1.0, "delta": 0.0}),
    "binary_class": ([0.3], {}),
    "bounded_scales": ([{"x": 1.0}], {"epsilon": 1.0}),
    "fit_gaussian": ([[0, 1, 5], [2, 2, 1]], {}),
    "fit_mixture": ([[0, 1, 5], [2, 2, 1]], {"components": 1, "tolerance": 1e-7, "seed": 0}),
    "gaussian_scale": ([NORMAL], {"epsilon": 1.0, "delta": 0.0}),
    "hockey_stick": ([NORMAL["s"], NORMAL["t"]], {"epsilon": 1.0, "scale": 1.0}),
    "kantorovich_scale": ([ATOMS], {"epsilon": 1.0}),
    "mixture_scale": ([NORMAL], {"epsilon": 1.0, "delta": 1e-3}),
    "network_quilt_scale": ([HOME], {"counted": 1, "epsilon": 1.0}),
    "network_scale": ([HOME], {"counted": 1, "epsilon": 1.0}),
    "presence_scale": ([NORMAL], {"epsilon": 1.0}),
    "pure_loss": ([ATOMS["s"], ATOMS["t"]], {"scale": 1.0}),
    "quilt_approx_scale": ([CHAIN], {"length": 20, "epsilon": 1.0}),
    "quilt_scale": ([CHAIN], {"length": 20, "epsilon": 1.0}),
    "smallest_scale": ([ATOMS], {"epsilon": 1.0, "delta": 0.0}),
    "translation_scale": ([{"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 1)}], {"epsilon": 1.0}),
    "transport_plan": ([ATOMS["s"], ATOMS["t"]], {}),
    "value_scale": ([[(5, 3)]], {"epsilon": 1.0}),
    "w_infinity": ([ATOMS["s"], ATOMS["t"]], {}),
    "Prior.gaussian": ([0, 1], {}),
    "Prior.mixture": ([[0.5, 0.5], [0, 1], [1, 1]], {}),
    "Prior.empirical": ([[0, 1], [1, 2]], {"radius": 0.1}),
    "Prior.bernoulli": ([0.5], {}),
    "MarkovChain.of": ([[[0.9, 0.1], [0.2, 0.8]]], {"initial": [0.5, 0.5]}),
    "Stable": ([], {"alpha": 1.5, "scale": 1.0}),
    "Gaussian": ([], {"scale": 1.0}),
    "Laplace": ([], {"scale": 1.0}),
    "Population": ([], {"confidence": 0.95}),
    "Contamination": ([], {"share": 0.1}),
    "Bootstrap": ([], {"resamples": 10, "seed": 0}),
    "Channel": ([], {"radius": 0.1, "cap": 8.0, "cells": 4, "outputs": 3}),
    "Unit": (["u"], {"rows": "any", "most": 3}),
    "Strata": (["u"], {"minimum": 3}),
}
"""Every public function and class that takes numbers, with good ones."""
BAD = [math.nan, math.inf, -math.inf, -1, 0, 1e300, 1e-300, 1e-15, 5e-324, True, "1", None, [1], 1j, 10**400]
BAD += [Fraction(1, 3), Decimal("0.5"), np.float64("nan"), np.array([1.0, 2.0]), {}, object()]


def told(call):
    """What a call gives, or the text of its error."""
    try:
        return call()
    except PufferError as error:
        return str(error)


def with_bad(good):
    """A bad number in place of all of it, and of each entry."""
    yield from BAD
    entries = good.items() if isinstance(good, dict) else enumerate(good) if isinstance(good, list | tuple) else ()
    for place, entry in entries:
        for bad in with_bad(entry):
            spoiled = dict(good) if isinstance(good, dict) else list(good)
            spoiled[place] = bad
            yield spoiled


def bad_calls(name):
    """Calls of a public function with one bad argument each."""
    args, options = NUMBERS[name]
    for k, good in enumerate(args):
        yield from ((([*args[:k], bad, *args[k + 1 :]], options), bad) for bad in with_bad(good))
    for key, good in options.items():
        yield from (((args, options | {key: bad}), bad) for bad in with_bad(good))


@pytest.mark.parametrize("name", NUMBERS)
def test_bad_numbers(name):
    """They meet an error of the package, never Python's own; what is taken gives no NaN and no infinity."""
    home = next(home for home in (puffer_frames, core, papers) if name.partition(".")[0] in home.__all__)
    function = functools.reduce(getattr, name.split("."), home)
    args, options = NUMBERS[name]
    function(*args, **options)
    for (spoiled, words), bad in bad_calls(name):
        found = told(functools.partial(function, *spoiled, **words))
        assert not isinstance(found, str) or FORM.fullmatch(found), bad
        assert not isinstance(found, float) or math.isfinite(found), bad


@pytest.mark.parametrize("epsilon", [1e-9, 1e-13, 1e-15, 1e-300])
def test_tiny_epsilons_of_gaussians(epsilon):
    """E|Z| / epsilon, within a part of epsilon, from mpmath; at least as much."""
    mean, std = mpmath.mpf(1), mpmath.sqrt(3)
    folded = std * mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-(mean**2) / (2 * std**2)) + mean * mpmath.erf(
        mean / (std * mpmath.sqrt(2))
    )
    found = gaussian_scale({"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 2)}, epsilon=epsilon)
    assert 1 <= found * epsilon / folded <= 1 + 1e-4


@pytest.mark.parametrize("value", [1e300, 1.7e308])
@pytest.mark.parametrize("epsilon", [1e-9, 1e-15, 1e300])
def test_scales_beyond_the_floats(value, epsilon):
    """An error says that the scale is out of range."""
    far = {"s": Prior.empirical([0.0]), "t": Prior.empirical([value])}
    wide = {"s": Prior.gaussian(0, 1), "t": Prior.gaussian(0, value)}
    calls = {
        "presence": lambda: presence_scale(far, epsilon=epsilon),
        "value": lambda: value_scale([(value, -value)], epsilon=epsilon),
        "kantorovich": lambda: kantorovich_scale(far, epsilon=epsilon),
        "gaussian": lambda: gaussian_scale(wide, epsilon=epsilon, delta=1e-3),
        "bounded": lambda: bounded_scales({"x": value}, epsilon=epsilon)["x"],
    }
    for name, call in calls.items():
        found = told(call)
        known = ("range of floats", "greater than")
        assert any(part in found for part in known) if isinstance(found, str) else math.isfinite(found), name
