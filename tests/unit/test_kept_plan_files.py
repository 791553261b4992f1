"""Plan files of an earlier version are read for ever, and a file gives back the plan that it was made from."""

import json
import warnings

import polars as pl
import pytest
from conftest import few, thinned
from plan_cases import CASES, FOLDER, file_of, planned, table_of

from puffer_frames import Plan, certificate_of, load_plan
from puffer_frames.errors import CalibrationError
from puffer_frames.verbs.plans.file import SCHEMA


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


def test_every_kept_file_is_that_of_a_case():
    assert {path.name for path in FOLDER.iterdir()} == {file_of(name).name for name in CASES}


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


def test_a_person_can_read_it():
    text = file_of("laplace noise").read_text(encoding="utf-8")
    assert text.splitlines()[1].startswith('  "keep private": "this file holds exact statistics of every secret')
    assert f'"schema": "{SCHEMA}"' in text
    for part in ('"secret": ["sex"]', '"public": ["score"]', '"rows_per_secret": {"f": 60, "m": 120}', '"scale": 3.'):
        assert part in text
    assert len(text.splitlines()) < 120
