"""A plan file that somebody edits, with a new digest: it is refused, or nothing that a release states becomes false.

Every field of every record of every kept file is changed. What may then be stated otherwise is listed here, with the
reason why it is true.
"""

import copy
import json
import math
import random
import warnings
from functools import cache

import pandas as pd
import pytest
from conftest import few
from plan_cases import CASES, PEOPLE, file_of, planned, table_of

from puffer_frames import Bootstrap, Contamination, Noise, PufferError, Strata, Unit, certificate_of, load_plan
from puffer_frames.errors import CalibrationError, PlanFileError, SuspectValuesWarning
from puffer_frames.loss.outcome import Verification
from puffer_frames.verbs.plans.file import digest_of

WORDS = (
    ("independent", "any", "repeated"),
    ("exact", "theorem"),
    ("each", "one"),
    ("auto", "kantorovich", "bernoulli", "bounded", "gaussian", "gmm", "ubm", "translation", "joint", "coupled"),
    ("raise", "drop", "sample"),
    ("empirical", "fitted", "population"),
)
TRUE_ALL_THE_SAME = {
    # a release does what the file asks for, and its sentences say so
    "nulls": {"statements", "facts"},
    "over": {"statements"},
    # of a constant column without noise any number of releases tells nothing
    "releases": {"statements", "releases"},
    # more noise in a stratum than was needed, which is what is drawn, and what is estimated from the released values
    "scale": {"estimated", "expected_error", "fingerprint", "statements", "strata", "wider"},
    # who looked for the scale, not what it hides: confirmed at the scale as it is
    "calibration": {"calibration"},
}


SLOW = ("stable noise", "gaussian noise", "bounded columns, gaussian noise")
"""Of which a loss takes long."""


def slowly(name):
    return pytest.param(name, marks=pytest.mark.slow)


def document(name):
    return json.loads(file_of(name).read_text(encoding="utf-8"))


def written(found, path):
    found["digest"] = digest_of(found["plan"], schema=found["schema"])
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def stated(plan, frame, **options):
    """What the certificate of a release says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return certificate_of(plan.release(frame, rng=7, **options)).to_dict()


@cache
def kept(name):
    return stated(load_plan(file_of(name)), table_of(name))


def leaves(plain, way=()):
    for key, entry in plain.items() if isinstance(plain, dict) else enumerate(plain):
        if isinstance(entry, dict | list) and entry:
            yield from leaves(entry, (*way, key))
        elif key != "is":
            yield (*way, key)


def others(entry):
    """Entries of the same kind."""
    if isinstance(entry, bool):
        return [not entry]
    if isinstance(entry, int):
        return [entry + 1, 20 * entry, max(0, entry - 1)]
    if isinstance(entry, float):
        return [entry / 5, 5 * entry, entry + 1.0, 0.0]
    if isinstance(entry, str):
        known = [word for group in WORDS if entry in group for word in group if word != entry]
        return [*known, entry + "x"]
    return [4, "other"] if entry is None else [["x"]]


def near(one, other):
    """Equal, but for the last digits of floats: those that are computed anew may differ there."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(near(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(near, one, other))
    return type(one) is type(other) and one == other


def check_edit(name, found, way, new, path):
    *parent, field = way
    place = found["plan"]
    for key in parent:
        place = place[key]
    old, place[field] = place[field], new
    try:
        said = stated(load_plan(written(found, path)), table_of(name))
    except PufferError:
        return
    finally:
        place[field] = old
    changed = {key for key in said.keys() | kept(name).keys() if not near(said.get(key), kept(name).get(key))}
    named = next(key for key in reversed(way) if isinstance(key, str))
    assert changed <= TRUE_ALL_THE_SAME.get(named, set()), (name, way, old, new, changed)


@few(7)
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW] + [slowly(name) for name in SLOW])
def test_no_edited_field_makes_a_release_state_what_is_false(name, part, tmp_path):
    """One place of each kind, and one other entry of its kind; the slow tests take all of them."""
    found, kinds = document(name), {}
    for way in leaves(found["plan"]):
        kinds.setdefault(tuple(key if isinstance(key, str) else 0 for key in way), []).append(way)
    rng = random.Random(name)
    ways = [rng.choice(ways) for ways in kinds.values()]
    for way in ways[part::4]:
        entry = found["plan"]
        for key in way:
            entry = entry[key]
        check_edit(name, found, way, rng.choice(others(entry)), tmp_path / "plan")


# The edits that were believed


def refused(found, path, match):
    with pytest.raises(PlanFileError, match=match):
        load_plan(written(found, path))


def test_scales_of_strata_divided_by_five(tmp_path):
    """All numbers about them changed alike: the file agrees with itself, its own rows do not."""
    found = document("strata")
    plan = found["plan"]["plan"]
    for choices in [plan["choices"], *(pair[1] for pair in plan["strata"]["choices"]["entries"])]:
        for choice in choices.values():
            choice["scale"] /= 5
            choice["scale_per_belief"] = {name: need / 5 for name, need in choice["scale_per_belief"].items()}
    path = written(found, tmp_path / "plan")
    with pytest.raises(PlanFileError, match="its own rows lose more than was asked for"):
        load_plan(path).release(table_of("strata"), rng=1, allow_drift=True)
    with pytest.raises(CalibrationError, match="more than was asked for"):
        load_plan(path).release(table_of("strata").head(150), rng=1, allow_other_frame=True)


@pytest.mark.parametrize("needs", [{}, {"empirical": 0.1}])
def test_needs_of_beliefs_that_do_not_lead_to_the_scale(needs, tmp_path):
    found = document("laplace noise")
    choice = found["plan"]["plan"]["choices"]["score"]
    choice["scale_per_belief"] = {name: needs.get(name, 0.0) for name in choice["scale_per_belief"]} if needs else {}
    refused(found, tmp_path / "plan", "a binding belief that is none|a scale that no belief needs")


def test_a_cost_that_was_not_given(tmp_path):
    found = document("channel of labels")
    found["plan"]["plan"]["options"]["cost"] = None
    refused(found, tmp_path / "plan", "another cost of an error")


@pytest.mark.parametrize("rows", [3, 40])
def test_rows_of_a_unit(rows, tmp_path):
    found = document("units of independent rows")
    request = found["plan"]["plan"]["request"]
    request["unit"]["most"] = request["repeats"]["rows"] = rows
    refused(found, tmp_path / "plan", "at another epsilon|more than was asked for")


def test_rows_of_a_unit_that_may_be_anything(tmp_path):
    found = document("units of independent rows")
    request = found["plan"]["plan"]["request"]
    request["unit"]["rows"] = request["repeats"]["assumed"] = "any"
    refused(copy.deepcopy(found), tmp_path / "plan", "may be anything beside another theorem")
    request["theorem"], request["calibration"] = "bounded", "theorem"
    found["plan"]["plan"]["choices"]["score"]["theorem"]["named"] = "bounded"
    refused(found, tmp_path / "plan", "not the one that was asked for")


@pytest.mark.parametrize("name", ["laplace noise", "domain", "population", "strata", "columns together"])
def test_epsilons_that_add_up(name, tmp_path):
    found = document(name)
    for choice in found["plan"]["plan"]["choices"].values():
        choice["adds_up"] = True
    refused(found, tmp_path / "plan", "what follows from it|add up in strata|not known of whole rows")


def test_releases_of_columns_together(tmp_path):
    """Each column alone loses less than all do, so that a smaller scale shows in whole rows alone."""
    found = document("columns together")
    found["plan"]["plan"]["request"]["repeats"]["releases"] = 2
    path = written(found, tmp_path / "plan")
    with pytest.raises((PlanFileError, CalibrationError)):
        load_plan(path).release(table_of("columns together"), rng=1)


def test_strata_that_lack_a_secret(tmp_path):
    """The sentence about them cannot be edited away."""
    frame = PEOPLE.assign(**{"class": ["2c" if k % 9 == 1 else "1a" for k in range(len(PEOPLE))]})
    plan = frame.puffer.calibrate(secret="sex", public="score", given=Strata("class", minimum=1), epsilon=1.0)
    plan.save(tmp_path / "plan")
    found = json.loads((tmp_path / "plan").read_text(encoding="utf-8"))
    assert found["plan"]["plan"]["strata"]["lacking"] == 1
    found["plan"]["plan"]["strata"]["lacking"] = 0
    with pytest.raises(PlanFileError, match="other strata than those of its own rows"):
        load_plan(written(found, tmp_path / "plan")).release(frame, rng=1)


def test_words_of_a_belief(tmp_path):
    for name in ("population", "strata", "columns together", "channel of labels"):
        found = document(name)
        plan = found["plan"]["plan"]
        beliefs = plan.get("beliefs") or next(iter(plan["choices"].values()))["words"]
        first = next(iter(beliefs))
        if "beliefs" in plan:
            beliefs[first]["words"] = "anything at all"
        else:
            beliefs[first] = "anything at all"
        try:
            said = stated(load_plan(written(found, tmp_path / "plan")), table_of(name))
        except PlanFileError:
            continue
        assert near(said, kept(name))


def test_a_bound_of_a_channel(tmp_path):
    found = document("channel of numbers")
    channel = found["plan"]["plan"]["channel"]
    assert 0 < channel["lower_bound"] < channel["expected_error"] / 2
    channel["lower_bound"] = channel["expected_error"] / 2
    refused(found, tmp_path / "plan", "a bound that no program has")
    channel["lower_bound"] = channel["expected_error"] * 2
    refused(found, tmp_path / "plan", "a bound above the error")


def test_labels_of_a_channel_that_are_counted_elsewhere(tmp_path):
    """The counts of the levels stay as they are, and no row has them."""
    found = document("channel of labels")
    codes = found["plan"]["plan"]["column"]["codes"]
    first, second = list(codes)[:2]
    codes[first], codes[second] = codes[second], codes[first]
    with pytest.raises(PlanFileError, match="labels that are merged without a word"):
        load_plan(written(found, tmp_path / "plan")).release(table_of("channel of labels"), rng=1)


def test_the_label_of_merged_strata(tmp_path):
    found = document("merged strata")
    request = found["plan"]["plan"]["request"]
    request["merged_as"] = request["merged"][0][0]
    refused(found, tmp_path / "plan", "merged strata of another label")


@pytest.mark.parametrize("end", ["lower", "upper"])
@pytest.mark.parametrize("loss", ["pure_loss", "hockey_stick"])
@pytest.mark.parametrize("laws", ["observed", "population"])
def test_every_end_of_the_losses_of_a_channel_is_computed_anew(laws, loss, end, tmp_path):
    found = document("channel of labels")
    measured = found["plan"]["plan"][laws][loss]
    assert load_plan(written(found, tmp_path / "plan"))
    measured[end] = measured[end] * 0.99 + 1e-6
    refused(found, tmp_path / "plan", "a loss that is another one|a Bracket that cannot be")


@pytest.mark.parametrize("name", ["bounded columns with labels", "columns with labels"])
def test_frequencies_of_labels(name, tmp_path):
    """Moved from a label to the next one, so that the rows of each secret stay what they are."""
    found = document(name)
    plan = found["plan"]["plan"]
    for label in plan["levels"]:
        for law in plan["choices"][label]["empirical"].values():
            law["levels"][:2] = law["levels"][0] - 5, law["levels"][1] + 5
    with pytest.raises(PlanFileError, match=r"other labels than|another loss"):
        load_plan(written(found, tmp_path / "plan")).release(table_of(name), rng=1)


FITS = ({"left_out": 1.0}, *({"remarks": {"is": "set", "entries": each}} for each in (["wide fit"], ["refuted fit"])))


@pytest.mark.parametrize("change", FITS, ids=["left out", "wide", "refuted"])
def test_a_fitted_model_where_none_can_be(change, tmp_path):
    """Its sentences are of one column of numbers: of no other does a certificate say that a table refutes a model."""
    names = ["columns together", "coupled columns", "bounded columns", "columns with labels", "columns together, remap"]
    names += ["strata of columns together", "strata of labels", "published scale", "side knowledge"]
    for name in names:
        found = document(name)
        plan = found["plan"]["plan"]
        for column in plan["choices"]:
            edited = copy.deepcopy(found)["plan"]["plan"]
            strata = edited["strata"]["choices"]["entries"] if edited["strata"] else []
            for choices in (edited["choices"], *(choices for _, choices in strata)):
                choices[column].update(change)
            with pytest.raises(PlanFileError):
                load_plan(written(found | {"plan": found["plan"] | {"plan": edited}}, tmp_path / "plan"))
        assert load_plan(written(found, tmp_path / "plan"))


# What a file cannot show


def sentences(plan, frame, **options):
    return {one["key"]: one["text"] for one in stated(plan, frame, **options)["statements"]}


def test_beliefs_that_a_file_lacks_are_named(tmp_path):
    """Of columns together the file has no whole rows: those of its own table are measured, others' beliefs believed."""
    for name, own, other in (
        ("laplace noise", None, None),
        ("side knowledge", "given 1", "given 1"),
        ("columns together", None, "empirical"),
        ("strata", None, "empirical"),
    ):
        plan, frame = load_plan(file_of(name)), table_of(name)
        assert (own is None) == ("from-file" not in sentences(plan, frame))
        later = pd.concat([frame, frame.tail(60)], ignore_index=True)
        said = sentences(plan, later, allow_other_frame=True, allow_drift=True)
        assert other is None if "from-file" not in said else f"laws: {other}." in said["from-file"]
        assert "from-file" not in sentences(planned(name), frame)


def test_units_of_a_plan_from_a_file_are_counted(tmp_path):
    frame = PEOPLE.assign(ward=[k // 2 for k in range(len(PEOPLE))], sex=[("f", "m")[k // 2 % 2] for k in range(180)])
    plan = frame.puffer.calibrate(
        secret="sex", public="score", unit=Unit("ward", rows="independent"), epsilon=1.0, delta=1e-5
    )
    plan.save(tmp_path / "plan")
    assert near(stated(load_plan(tmp_path / "plan"), frame), stated(plan, frame))


def test_what_is_stated_of_strata_and_labels_is_not_taken_from_the_file(tmp_path):
    """Edits that earlier checks let through: more noise than any stratum has, labels with bounds, labels that merge."""
    labels = PEOPLE.assign(town=PEOPLE.index.map(lambda k: "xyz"[k * k % 7 % 3]))
    asked = {"secret": "sex", "epsilon": 1.0}
    domain = {"town": ["x", "y", "z", "other"]}
    cases = (
        ({"public": "score", "given": Strata("town", minimum=5)}, lambda plan: widen(plan["choices"]["score"])),
        ({"public": ["score", "town"]}, lambda plan: plan["choices"]["town"].update(bounds=[1.0, 1.0])),
        ({"public": "town", "domain": domain}, lambda plan: merge(plan["column"]["codes"])),
    )
    for options, edit in cases:
        path = tmp_path / "plan.json"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels.puffer.calibrate(**asked, **options).save(path)
        found = json.loads(path.read_text(encoding="utf-8"))
        assert load_plan(path)
        edit(found["plan"]["plan"])
        with pytest.raises(PlanFileError):
            load_plan(written(found, path))


def test_errors_and_constants_that_decide_what_is_said_of_use(tmp_path):
    """An error of a remap for listed pairs, of which the file lacks rows, and the constants of strata."""
    listed = PEOPLE.assign(sex=PEOPLE.index.map(lambda k: "fmo"[k % 3]))
    remapped = {"pairs": [("f", "m")], "mechanism": Noise(remap=True)}
    strata = {"given": Strata("class", minimum=5)}
    for frame, options, edit in (
        (listed, remapped, lambda plan: plan["remaps"]["score"].update(expected_error=50.0)),
        (PEOPLE, strata, lambda plan: plan["strata"]["constants"]["entries"][0][1].update(score=0.01)),
        (PEOPLE, strata, lambda plan: plan["strata"]["constants"]["entries"].pop()),
        (PEOPLE, strata, lambda plan: plan["strata"]["constants"]["entries"][0][1].clear()),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame.puffer.calibrate(secret="sex", public="score", epsilon=0.5, **options).save(
                tmp_path / "plan", overwrite=True
            )
        found = json.loads((tmp_path / "plan").read_text(encoding="utf-8"))
        assert stated(load_plan(tmp_path / "plan"), frame)
        edit(found["plan"]["plan"])
        with pytest.raises(PlanFileError):
            stated(load_plan(written(found, tmp_path / "plan")), frame)


@pytest.mark.parametrize("change", [{"of": 10}, {"rows": -1}, {"column": "other"}, {"missing": 10**6}])
def test_rows_that_are_said_to_be_left_out(change, tmp_path):
    frame = PEOPLE.assign(some=[None if k % 5 == 0 else float(k * k % 11 + k % 3) for k in range(len(PEOPLE))])
    with pytest.warns(SuspectValuesWarning, match="36 of 180"):
        frame.puffer.calibrate(secret="sex", public="some", nulls="drop", epsilon=0.05).save(tmp_path / "plan")
    found = json.loads((tmp_path / "plan").read_text(encoding="utf-8"))
    found["plan"]["dropped"] |= change
    refused(found, tmp_path / "plan", "rows that are left out|parts that do not agree")


def widen(choice):
    choice["scale"] *= 50


def merge(codes):
    """A declared level becomes another one."""
    codes["other"] = codes["x"]


CELLS = [(s, a, (a + (s == "o")) % 2, z) for s in "eo" for a in (0, 1) for z in "pq"]
PAIRED = pd.DataFrame(CELLS * 25, columns=[*"sxyz"])
PAIRED["lab"] = [f"l{y}" for y in PAIRED.y]
PAIRED["row"] = [f"{s}{k // 16}" for k, s in enumerate(PAIRED.s)]
"""Each column alone says nothing of s, both together say it: no two rows of one law are equal."""
BOUNDED = {"public": "x", "given": Strata("z", minimum=2), "mechanism": Noise(theorem="bounded")}
WITH_NORMAL = {"mechanism": Noise("gaussian", theorem="bounded"), "delta": 1e-4}
TOGETHER = {"public": ["x", "y"], "mechanism": "noise"}
ANY_ROWS = TOGETHER | {"beliefs": Contamination(share=1.0)}


def saved(path, **asked):
    """The file of a plan for `PAIRED`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PAIRED.puffer.calibrate(**{"secret": "s", "epsilon": 0.1} | asked).save(path)
    return json.loads(path.read_text(encoding="utf-8"))


def records(plain, tag):
    """All records of one kind."""
    for entry in plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ():
        yield from records(entry, tag)
    if isinstance(plain, dict) and plain.get("is") == tag:
        yield plain


def less_noise(found, path, *, by=8.0):
    """Scales that agree with one another."""
    for one in records(found["plan"], "Choice"):
        one["scale"] /= by
        one["published_scale"] = one["published_scale"] and one["published_scale"] / by
        one["scale_per_belief"] = {name: scale / by for name, scale in one["scale_per_belief"].items()}


def two_releases(found, path):
    found["plan"]["plan"]["request"]["repeats"]["releases"] = 2


def as_normal(found, path):
    """The request of noise of another family."""
    request = found["plan"]["plan"]["request"]
    other = saved(path, public=request["public"], given=Strata("z", minimum=2), **WITH_NORMAL)
    found["plan"]["plan"]["request"] = other["plan"]["plan"]["request"]


def as_stable(found, path):
    found["plan"]["plan"]["request"]["noise"] = {"is": "Stable", "scale": 1.0, "alpha": 1.9}


def as_coupled(found, path):
    found["plan"]["plan"]["request"]["theorem"] = "kantorovich"
    for one in records(found["plan"], "Choice"):
        one["theorem"]["named"] = "coupled"


def as_any_rows(found, path):
    request = found["plan"]["plan"]["request"]
    request["unit"]["rows"] = request["repeats"]["assumed"] = "any"
    request["theorem"], request["calibration"] = "bounded", "theorem"


def as_empirical(found, path):
    """What was found and measured for the narrower belief, under the name of the wider one."""
    request = found["plan"]["plan"]["request"]
    given = {} if request["given"] is None else {"given": Strata("z", minimum=2)}
    other = saved(path, public=request["public"], mechanism="noise", beliefs="empirical", **given)
    for one, less in zip(records(found["plan"], "Choice"), records(other["plan"], "Choice"), strict=True):
        one |= {name: less[name] for name in ("scale", "observed", "worst_pair")}
        one["scale_per_belief"] = dict.fromkeys(one["scale_per_belief"], less["scale"])
        one["verified"] = dict.fromkeys(one["verified"], less["verified"]["empirical"])


@pytest.mark.parametrize(
    ("asked", "edit"),
    [
        (BOUNDED, less_noise),
        (BOUNDED, two_releases),
        (BOUNDED, as_normal),
        (BOUNDED | {"public": ["x", "lab"]}, less_noise),
        (TOGETHER | WITH_NORMAL | {"given": Strata("z", minimum=101)}, less_noise),
        (TOGETHER, as_coupled),
        (TOGETHER | {"given": Strata("z", minimum=2)}, as_coupled),
        (TOGETHER | {"given": Strata("z", minimum=2)}, as_stable),
        (TOGETHER | {"given": Strata("z", minimum=2), "public": ["x", "lab"]}, as_normal),
        (TOGETHER | {"unit": Unit("row", rows="independent", most=8)}, as_any_rows),
        (ANY_ROWS, as_empirical),
        (ANY_ROWS | {"given": Strata("z", minimum=2)}, as_empirical),
        (TOGETHER | {"beliefs": (Bootstrap(resamples=3), Contamination(share=0.3))}, as_empirical),
    ],
)
def test_noise_that_the_rows_of_the_plan_do_not_lead_to(asked, edit, tmp_path):
    """Another family, theorem or number of releases, or smaller scales, that agree with the rest of the file."""
    path = tmp_path / "plan.json"
    found = saved(path, **asked)
    assert stated(load_plan(path), PAIRED)
    edit(found, tmp_path / "other.json")
    with pytest.raises(PlanFileError):
        stated(load_plan(written(found, path)), PAIRED)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
def test_a_loss_that_ends_just_above_what_was_asked_for_is_not_proved_again(tmp_path, monkeypatch):
    """A bracket that only nearly confirms a belief is said to be that of the file."""
    saved(tmp_path / "plan.json", **ANY_ROWS)
    one, other = load_plan(tmp_path / "plan.json"), load_plan(tmp_path / "plan.json")
    assert "from-file" not in {said.key for said in certificate_of(one.release(PAIRED, rng=1)).statements}
    monkeypatch.setattr(Verification, "confirms", lambda *_: False)
    assert "from-file" in {said.key for said in certificate_of(other.release(PAIRED, rng=1)).statements}


@pytest.mark.parametrize("name", ["laplace noise", "channel of labels"])
@pytest.mark.parametrize("part", ["plan", "checksum", "another", "is", "deep"])
def test_a_part_that_is_missing_or_of_another_kind(name, part, tmp_path):
    """The parts of a plan are checked before any of them is used."""
    found = document(name)
    if part == "another":
        found["plan"]["another"] = 1
    elif part == "is":
        found["plan"]["is"] = {"Calibration": "ChannelCalibration"}.get(found["plan"]["is"], "Calibration")
    elif part == "deep":
        found["plan"]["kinds"] = {"is": "Bracket", "lower": "a", "upper": None}
    else:
        del found["plan"][part]
    with pytest.raises(PlanFileError):
        load_plan(written(found, tmp_path / "plan.json"))
