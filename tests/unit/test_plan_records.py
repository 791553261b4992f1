"""Whatever a plan can hold is known to the codec of plan files."""

import sys
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from conftest import few
from plan_cases import CASES, planned

from puffer_frames import Noise, Plan
from puffer_frames.errors import PlanFileError
from puffer_frames.mechanisms.registry import MECHANISMS
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.records import type_hints
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.priors.prior import Prior
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.verbs.plans.file import ADDED, RECORDS, codec

OWN = {name: kind for mechanism in MECHANISMS for name, kind in mechanism.records.items()}
"""The records of the mechanisms, by their names in a file."""
ROOTS = (Plan, *(OWN[name] for name in ("Plan", "ChannelPlan")))
KNOWN = {*RECORDS, *OWN.values(), Plan}
OF_THEIR_OWN = {Prior, Theorem}
"""Written in another way than field by field."""
ASKED_ALONE = {Noise}
"""A request holds the fields of such options, not the record."""


def classes_in(hint):
    """The classes that an annotation names."""
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from classes_in(part)


def below(kind):
    """A class of the package and those derived from it: an abstract one stands for these."""
    yield kind
    for derived in kind.__subclasses__():
        module = sys.modules.get(derived.__module__)
        if derived.__module__.startswith("puffer_frames.") and getattr(module, derived.__name__, None) is derived:
            yield from below(derived)


def reachable():
    """Every dataclass that the annotations of a plan lead to."""
    found, left = set(), list(ROOTS)
    while left:
        kind = left.pop()
        if kind in found or kind in OF_THEIR_OWN:
            continue
        found.add(kind)
        for hint in type_hints(kind).values():
            for named in classes_in(hint):
                left += [each for each in below(named) if is_dataclass(each)]
    return found


def inside(value):
    """Every record in a plan."""
    if is_dataclass(value):
        yield type(value)
        if type(value) not in OF_THEIR_OWN:
            for each in fields(value):
                yield from inside(getattr(value, each.name))
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from inside(key)
            yield from inside(entry)
    elif isinstance(value, (tuple, list, frozenset)):
        for entry in value:
            yield from inside(entry)


def test_every_record_of_a_plan_is_known():
    """A new one is added to `RECORDS`, or to `OF_THEIR_OWN` with its form."""
    assert reachable() <= KNOWN | ASKED_ALONE
    assert {"FittedNoise", "FittedChannel", "Request", "Choice"} <= {kind.__name__ for kind in reachable()}


def test_families_of_noise_and_beliefs_are_known():
    assert {kind for kind in (*below(NoiseFamily), *below(LearnedBelief)) if is_dataclass(kind)} <= KNOWN


@few(18, rest="apart")
@pytest.mark.parametrize("name", CASES)
def test_every_record_in_plans_is_known(name):
    assert set(inside(planned(name))) <= KNOWN | OF_THEIR_OWN


def test_records_are_frozen_and_have_names_of_their_own():
    assert all(is_dataclass(kind) and kind.__dataclass_params__.frozen for kind in KNOWN)
    assert len({kind.__name__ for kind in KNOWN}) == len(KNOWN)
    assert all(getattr(sys.modules[kind.__module__], kind.__name__) is kind for kind in KNOWN)


def test_fields_of_earlier_files_are_fields_without_a_default():
    by_name = {kind.__name__: kind for kind in KNOWN}
    for name, added in ADDED.items():
        assert set(added) <= {each.name for each in fields(by_name[name])}


def test_a_field_that_is_added_travels():
    """Whatever a record holds is written: none of its fields is named anywhere."""
    plan = planned("laplace noise")
    other = replace(plan.fitted, levels={"new": ("a", 1, True, None)})
    assert codec().value(codec().plain(other)).levels == {"new": ("a", 1, True, None)}


@pytest.mark.parametrize(
    "prior",
    [
        Prior.empirical([1, 2, 2, 5]),
        Prior.empirical([0.1, 1e300], [1, 3], radius=0.25),
        Prior.bernoulli(0.1),
        Prior.gaussian(-3.5, 2.0),
        Prior.mixture([0.1, 0.2, 0.7], [0.0, 0.0, 3.0], [1.0, 0.0, 0.5]),
        Prior.mixture([1 / 3, 2 / 3], [0.0, 1.0], [0.0, 1.0]),
    ],
    ids=repr,
)
def test_priors_come_back(prior):
    found = codec().value(codec().plain(prior))
    assert found == prior
    assert found.levels[0].dtype == prior.levels[0].dtype
    assert found.levels[0].tolist() == prior.levels[0].tolist()
    assert found.levels[1] == prior.levels[1]
    assert np.array_equal(found.weights, prior.weights)


ATOMS = {"is": "Prior", "radius": 0.0, "means": [0.0, 1.0], "levels": [1, 2]}
WRONG = {
    "two lengths": {"levels": [1]},
    "no level": {"levels": [0, 1]},
    "a level below 0": {"levels": [-1, 1]},
    "half a level": {"levels": [0.5, 1]},
    "a truth value": {"levels": [True, 1]},
    "nothing": {"means": [], "levels": []},
    "means in another order": {"means": [1.0, 0.0]},
    "an infinite mean": {"means": [0.0, "inf"]},
    "a std below 0": {"stds": [0.0, -1.0]},
    "a radius below 0": {"radius": -1.0},
    "an infinite radius": {"radius": "inf"},
    "another field": {"weights": [0.5, 0.5]},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_prior(name):
    assert codec().value(ATOMS) == Prior.empirical([0, 1, 1])
    with pytest.raises(PlanFileError):
        codec().value(ATOMS | WRONG[name])


def test_a_noise_of_ones_own_is_not_written():
    class Own(Laplace):
        __slots__ = ()

    with pytest.raises(PlanFileError, match="made of what belongs to this package"):
        codec().plain(Own())
