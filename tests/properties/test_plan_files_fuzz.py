"""Whatever is changed in a plan file: an error of the package, or a release with no less noise than the plan has."""

import copy
import json
import random
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
from conftest import sweep
from plan_cases import CASES, file_of, table_of

from puffer_frames import PufferError, load_plan
from puffer_frames.errors import PlanFileError
from puffer_frames.verbs.plans.file import digest_of

ENTRIES = [
    *(None, True, False, 0, -1, 1, 10**400, 1e308, -1.0, 0.0, -0.0, 5e-324, 0.5, "", "a", "inf", "score"),
    *([], {}, [1], [[]], [None, None], {"is": "Plan"}, {"is": "object"}, {"is": "number", "value": "inf"}),
    *({"is": "mapping", "entries": []}, {"is": "set", "entries": []}, {"is": "fraction", "value": "1/0"}),
    *({"is": "float64", "entries": []}, {"is": "int64", "entries": [[1]]}, {"is": "Laplace", "scale": 1.0}),
]
FACTORS = (0.0, 1e-300, 1e-9, 0.5, 0.999, 1.001, 2.0, 1e9, -1.0)


def places(plain, way=()):
    """The way to every entry."""
    yield way
    entries = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, entry in entries:
        yield from places(entry, (*way, key))


def at(plain, way):
    for key in way:
        plain = plain[key]
    return plain


def kinds_of_places(plain):
    """Ways to entries by what they are: one of many numbers is as likely as a field that there is once."""
    found = {}
    for way in places(plain):
        if way:
            found.setdefault(tuple(key if isinstance(key, str) else 0 for key in way), []).append(way)
    return found


def changed(plan, rng):
    """The content of a file with one entry dropped, replaced, moved, repeated or of another type."""
    plan = copy.deepcopy(plan)
    kinds = kinds_of_places(plan)
    *parent, key = rng.choice(kinds[rng.choice(list(kinds))])
    inside, how = at(plan, parent), rng.choice(["drop", "replace", "scale", "move", "repeat", "type"])
    entry = inside[key]
    number = isinstance(entry, (int, float)) and not isinstance(entry, bool)
    if how == "drop":
        del inside[key]
    elif how == "scale" and number and abs(entry) < 2**60:
        inside[key] = rng.choice([type(entry)(entry * factor) for factor in FACTORS])
    elif how == "move":
        inside[key] = copy.deepcopy(at(plan, rng.choice(kinds[rng.choice(list(kinds))])))
    elif how == "repeat" and isinstance(inside, list):
        inside.insert(key, copy.deepcopy(entry))
    elif how == "type":
        inside[key] = rng.choice([str(entry), [entry], {"a": entry}, {"is": "mapping", "entries": [[1, entry]]}])
    else:
        inside[key] = copy.deepcopy(rng.choice(ENTRIES))
    return plan


def has_less_noise(plan, than):
    """Whether a column, or a stratum of it, has less noise, or another channel."""
    if type(plan) is not type(than):
        return True
    if plan.channels:
        return not np.array_equal(plan.fitted.channel.weights, than.fitted.channel.weights)
    pairs = [(plan.fitted.all_scales, than.fitted.all_scales)]
    pairs += [(plan.strata.get(z, {}), scales) for z, scales in than.strata.items()]
    return any(found.get(name, 0.0) < scale for found, known in pairs for name, scale in known.items())


@cache
def kept(name):
    """The plan of the file before it was changed; a scale found today may differ in its last digits."""
    return load_plan(file_of(name))


def outcome(path, name):
    """What becomes of a file: any error but those of the package goes on."""
    try:
        plan = load_plan(path)
    except PlanFileError:
        return "refused"
    assert not has_less_noise(plan, kept(name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plan.release(table_of(name), rng=7, allow_other_frame=True, allow_drift=True)
    except PufferError:
        return "refused by release"
    return "released"


@sweep(30, 400)
def test_a_changed_file_is_refused_or_has_no_less_noise(count, tmp_path):
    """With a digest of its own, so that the parts alone must tell."""
    path, found = tmp_path / "plan", Counter()
    for seed in range(count):
        rng = random.Random(seed)
        name = rng.choice(list(CASES))
        document = json.loads(file_of(name).read_text(encoding="utf-8"))
        document["plan"] = changed(document["plan"], rng)
        document["digest"] = digest_of(document["plan"], schema=document["schema"])
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            found[outcome(path, name)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, {name}") from error
    assert found["refused"] > count / 2


@sweep(60, 400)
def test_the_digest_finds_every_change(count, tmp_path):
    path = tmp_path / "plan"
    for seed in range(count):
        rng = random.Random(seed)
        document = json.loads(file_of(rng.choice(list(CASES))).read_text(encoding="utf-8"))
        plan = changed(document["plan"], rng)
        if json.dumps(plan) == json.dumps(document["plan"]):
            continue
        path.write_text(json.dumps(document | {"plan": plan}), encoding="utf-8")
        with pytest.raises(PlanFileError, match="digest is another one"):
            load_plan(path)


@sweep(30, 400)
def test_changed_bytes(count, tmp_path):
    """A file whose bytes are changed anywhere is the same plan, or no plan."""
    path = tmp_path / "plan"
    for seed in range(count):
        rng = random.Random(seed)
        name = rng.choice(list(CASES))
        content = bytearray(file_of(name).read_bytes())
        start = rng.randrange(len(content))
        content[start : start + rng.choice([0, 1, 9])] = rng.choice([b"", b"\0", b"9", b"}", b" ", b"\xff", b"e9"])
        path.write_bytes(content)
        try:
            plan = load_plan(path)
        except PlanFileError:
            continue
        assert not has_less_noise(plan, kept(name))
