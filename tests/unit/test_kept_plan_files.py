"""Plan files of an earlier version are read for ever, and a file gives back the plan that it was made from."""

import json
import sys
import typing
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import numpy as np
import polars as pl
import pytest
from conftest import few, thinned
from plan_cases import CASES, FOLDER, file_of, planned, table_of

from puffer_frames import Noise, Plan, certificate_of, load_plan
from puffer_frames.errors import CalibrationError, PlanFileError
from puffer_frames.mechanisms.registry import MECHANISMS
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.records import type_hints
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.priors.prior import Prior
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.verbs.plans.file import ADDED, RECORDS, SCHEMA, codec


def released(plan, frame):
    """The rows and the certificate of a release; warnings are not its business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan.release(frame, rng=7)
    return found, certificate_of(found).to_dict()


def without_sentence(plain, key):
    return plain | {"statements": [one for one in plain["statements"] if one["key"] != key]}


@few(18, rest="apart")
@pytest.mark.parametrize("name", CASES)
def test_a_kept_file_is_read(name):
    """Its scales are those that it says, and it releases the table that it was made from."""
    plan = load_plan(file_of(name))
    written = json.loads(file_of(name).read_text(encoding="utf-8"))["plan"]["plan"]
    found, certificate = released(plan, table_of(name))
    assert len(found) == certificate["rows"] == plan.rows
    if "choices" in written:
        assert plan.fitted.all_scales == {column: one["scale"] for column, one in written["choices"].items()}
    else:
        assert plan.fitted.channel.weights.tolist() == written["channel"]["weights"]["entries"]


def test_every_kept_file_is_that_of_a_case_and_a_person_can_read_it():
    assert {path.name for path in FOLDER.iterdir()} == {file_of(name).name for name in CASES}
    text = file_of("laplace noise").read_text(encoding="utf-8")
    assert text.splitlines()[1].startswith('  "keep private": "this file holds exact statistics of every secret')
    assert f'"schema": "{SCHEMA}"' in text
    for part in ('"secret": ["sex"]', '"public": ["score"]', '"rows_per_secret": {"f": 60, "m": 120}', '"scale": 3.'):
        assert part in text
    assert len(text.splitlines()) < 120


@few(9, rest="apart")
@pytest.mark.parametrize(("name", "library"), thinned(list(CASES), ["pandas", "polars"]))
def test_a_file_gives_back_its_plan(name, library, tmp_path):
    """For a seed the release is the same bit for bit, and so are its certificate and the text of the plan."""
    plan, path = planned(name), tmp_path / "plan.json"
    plan.save(path)
    again = load_plan(path)
    frame = table_of(name) if library == "pandas" else pl.from_pandas(table_of(name))
    (first, said), (second, said_again) = released(plan, frame), released(again, frame)
    assert first.equals(second)
    assert said == without_sentence(said_again, "from-file")
    assert str(again).partition("\n  from a file")[0] == str(plan)
    assert plan._repr_html_().removesuffix("</table>") in again._repr_html_()
    assert ("the laws of its beliefs" in again.left_out) == (not plan.channels)
    first_file = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first_file


@pytest.mark.parametrize(
    "name", ["side knowledge", "another table", "channel, wider beliefs", "channel, side knowledge"]
)
def test_what_cannot_be_read_back_is_named(name, tmp_path):
    plan = planned(name)
    plan.save(tmp_path / "plan")
    again = load_plan(tmp_path / "plan")
    word = "side knowledge" if "side" in name else "other tables"
    assert word in again.left_out
    assert word in str(again)
    if not plan.channels:
        assert dict(again.verified) == dict(plan.verified)
        assert list(again.beliefs) == list(plan.beliefs)
        assert not any(again.beliefs.values())
    assert '"means": [1.0, 8.0]' not in (tmp_path / "plan").read_text(encoding="utf-8")


def test_what_other_beliefs_would_need_takes_a_plan_of_a_table():
    with pytest.raises(CalibrationError, match="without the laws of its beliefs"):
        load_plan(file_of("laplace noise")).robustness()
    for name in ("strata", "columns together"):
        loaded, made = load_plan(file_of(name)).robustness(), planned(name).robustness()
        assert loaded["belief"].tolist() == made["belief"].tolist()


def test_plans_of_every_mechanism_are_of_one_class():
    for name in ("strata", "channel of labels"):
        assert isinstance(load_plan(file_of(name)), Plan)
        assert isinstance(Plan.load(file_of(name)), Plan)


# Whatever a plan can hold is known to the codec of plan files.
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


def test_every_record_of_a_plan_is_known_frozen_and_named():
    # A new one is added to `RECORDS`, or to `OF_THEIR_OWN` with its form
    assert reachable() <= KNOWN | ASKED_ALONE
    assert {"FittedNoise", "FittedChannel", "Request", "Choice"} <= {kind.__name__ for kind in reachable()}
    assert {kind for kind in (*below(NoiseFamily), *below(LearnedBelief)) if is_dataclass(kind)} <= KNOWN
    assert all(is_dataclass(kind) and kind.__dataclass_params__.frozen for kind in KNOWN)
    assert len({kind.__name__ for kind in KNOWN}) == len(KNOWN)
    assert all(getattr(sys.modules[kind.__module__], kind.__name__) is kind for kind in KNOWN)
    by_name = {kind.__name__: kind for kind in KNOWN}
    for name, added in ADDED.items():
        assert set(added) <= {each.name for each in fields(by_name[name])}


@few(18, rest="apart")
@pytest.mark.parametrize("name", CASES)
def test_every_record_in_plans_is_known(name):
    assert set(inside(planned(name))) <= KNOWN | OF_THEIR_OWN


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
