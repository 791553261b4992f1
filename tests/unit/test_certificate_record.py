"""The record of a certificate: what is read back, what is refused, and what a signature finds."""

import copy
import json
import runpy
from dataclasses import fields, replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import jsonschema
import pytest
from certificate_cases import PEOPLE, certificate_of_case, said_of, set_in

from puffer_frames import Certificate, Layout, Ledger, aggregate, calibrate, histogram, privatize
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.verbs import requests

DOCUMENTED = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


@pytest.fixture
def released():
    return said_of()


@pytest.fixture
def plain(released):
    return json.loads(json.dumps(released.puffer.certificate.to_dict()))


def test_the_documented_schema_describes_every_field():
    schema = json.loads(DOCUMENTED.read_text(encoding="utf-8"))
    written = runpy.run_path(str(DOCUMENTED.with_name("certificate_schema.py")))
    assert schema == written["documented"]()
    jsonschema.Draft202012Validator.check_schema(schema)
    names = {field.name for field in fields(Certificate)} - {"extra"}
    assert set(schema["properties"]) == names
    optional = {"issuer", "dataset", "created", "intended_use", "contact", "derived", "signature", "wider", "channels"}
    optional |= {
        "warnings",
        "given",
        "strata",
        "unit",
        "unit_rows",
        "releases",
        "refines",
        "processed",
        "facts",
        "table",
        "recipients",
        "legal_basis",
        "review",
        "rows_per_person",
        "batch",
        "batches",
        "rarest",
        "signed_by",
    }
    assert set(schema["required"]) == names - optional


DIGEST = "0" * 64
WRONG = {
    "refined with less noise": (["refines"], [{"fingerprint": DIGEST, "epsilon": 0.1, "scales": {"score": 1e-9}}]),
    "refined at more": (["refines"], [{"fingerprint": DIGEST, "epsilon": 9.0, "scales": {"score": 1e9}}]),
    "refined in another column": (["refines"], [{"fingerprint": DIGEST, "epsilon": 0.1, "scales": {"x": 1e9}}]),
    "refined without a fingerprint": (["refines"], [{"fingerprint": "", "epsilon": 0.1, "scales": {"score": 1e9}}]),
    "refined twice": (
        ["refines"],
        [{"fingerprint": DIGEST, "epsilon": epsilon, "scales": {"score": 1e9}} for epsilon in (0.1, 0.2)],
    ),
    "a scale below 0": (["scales", "score"], -1.0),
    "a scale that is no number": (["scales", "score"], "2"),
    "an infinite scale": (["scales", "score"], float("inf")),
    "no scale": (["scales"], {}),
    "a scale of another column": (["scales"], {"x": 1.0}),
    "epsilon 0": (["epsilon"], 0.0),
    "epsilon that is none": (["epsilon"], float("nan")),
    "epsilon as text": (["epsilon"], "1"),
    "delta 1": (["delta"], 1.0),
    "no secret": (["secret"], []),
    "public as text": (["public"], "score"),
    "a column twice": (["kept"], ["town", "town"]),
    "noisy and kept": (["kept"], ["score"]),
    "rows below 0": (["rows"], -1),
    "rows of half": (["rows"], 1.5),
    "another calibration": (["calibration"], "guess"),
    "a truth value as text": (["reproducible"], "no"),
    "pairs of one": (["pairs"], [["a"]]),
    "another word for pairs": (["pairs"], "some"),
    "a bracket of one": (["verified", "score", "empirical", "pure_loss"], [1.0]),
    "a bracket upside down": (["verified", "score", "empirical", "pure_loss"], [2.0, 1.0]),
    "a loss below 0": (["observed", "score", "pure_loss"], [-1.0, 1.0]),
    "a loss at epsilon 0": (["observed", "score", "epsilon"], 0.0),
    "a statement without text": (["statements", 0], {"key": "records", "kind": "assumed"}),
    "a short fingerprint": (["fingerprint"], "abc"),
    "a fingerprint with a line break": (["fingerprint"], DIGEST + "\n"),
    "a time without a zone": (["created"], "2026-01-31T12:00:00"),
    "an older schema": (["schema"], "0.9"),
    "no version of the schema": (["schema"], None),
    "a loss beyond epsilon": (["verified", "score", "empirical", "pure_loss"], [50.0, 60.0]),
    "a number beyond floats": (["epsilon"], 10**400),
    "a set": (["more"], {1}),
    "half of a surrogate pair": (["subject"], "\ud800"),
    "thirteen values": (["secret_values"], list(range(13))),
}


@pytest.mark.parametrize("name", WRONG)
def test_every_field_is_checked(plain, name):
    set_in(plain, *WRONG[name])
    with pytest.raises(ArgumentError, match="certificate's record must be"):
        Certificate.from_dict(plain)


def test_the_place_of_what_is_wrong_is_named_and_no_value(plain):
    plain["verified"]["score"]["empirical"]["pure_loss"][1] = "12345"
    with pytest.raises(ArgumentError, match=r"in 'verified\.score\.empirical\.pure_loss\.1'") as caught:
        Certificate.from_dict(plain)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize("missing", ["scales", "epsilon", "schema", "statements", "fingerprint"])
def test_a_missing_field_is_named(plain, missing):
    del plain[missing]
    with pytest.raises(ArgumentError, match=missing):
        Certificate.from_dict(plain)


@pytest.mark.parametrize("other", [[], "text", 3, None])
def test_something_else_than_a_record(other):
    with pytest.raises(ArgumentError, match="record"):
        Certificate.from_dict(other)


@pytest.mark.parametrize(
    "content", [b"", b"{", "\u00e9".encode("latin-1"), b"[" * 100_000, b'{"epsilon": 1' + b"0" * 5000]
)
def test_files_that_are_no_record(tmp_path, content):
    (tmp_path / "other.json").write_bytes(content)
    with pytest.raises(ArgumentError, match="certificate's record"):
        Certificate.load(tmp_path / "other.json")


def test_an_editor_may_add_its_mark(plain, tmp_path):
    (tmp_path / "marked.json").write_text(json.dumps(plain), encoding="utf-8-sig")
    assert Certificate.load(tmp_path / "marked.json") == Certificate.from_dict(plain)


def test_fields_of_a_later_version_are_kept_and_written_back(plain, tmp_path):
    plain |= {"schema": "1.7", "layers": {"by": ["town"], "least": 50}}
    certificate = Certificate.from_dict(plain)
    certificate.save(tmp_path / "later.json")
    again = json.loads((tmp_path / "later.json").read_text(encoding="utf-8"))
    assert again["layers"] == {"by": ["town"], "least": 50}
    assert again["schema"] == "1.7"
    assert Certificate.load(tmp_path / "later.json") == certificate


def test_a_later_major_version_is_a_clear_error(plain):
    with pytest.raises(ArgumentError, match=r"schema 2\.0") as caught:
        Certificate.from_dict(plain | {"schema": "2.0"})
    assert "later version of puffer_frames" in caught.value.hint


def test_what_an_office_says(released):
    certificate = released.puffer.certificate
    assert certificate.issuer == "Office for tests"
    assert certificate.created == "2026-01-31T12:00:00Z"  # in UTC
    text = str(certificate)
    for said in ("Office for tests", "people, 2026", "2026-01-31T12:00:00Z", "teaching", "office@example.org"):
        assert said in text


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=-5))])
def test_created_is_in_utc(zone):
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC).astimezone(zone)
    frame = PEOPLE.rename(columns={"town": "place"})
    assert privatize(frame, secret="group", public="score", epsilon=1.0, about={"created": moment}).attrs
    for answer in (
        aggregate(PEOPLE, value="age", domain=(0, 100), epsilon=1.0, about={"created": moment}),
        histogram(PEOPLE.assign(t=range(len(PEOPLE))), state="group", time="t", epsilon=1.0, about={"created": moment}),
    ):
        assert answer.puffer.certificate.created == "2026-01-31T12:00:00Z"


def test_a_release_has_its_day_and_one_from_a_seed_has_none(monkeypatch, tmp_path):
    """The day is signed, in the ledger, on the page, and nothing else differs between two days."""
    asked = {"secret": "group", "public": "score", "epsilon": 1.0, "about": {"dataset": "people"}}
    plan, book = calibrate(PEOPLE, secret="group", public="score", epsilon=1.0), Ledger(tmp_path / "book.jsonl")
    found, fixed = [], ReleaseKey(b"k" * 32)
    for day in ("1970-01-01", "1970-01-02"):
        monkeypatch.setattr(requests, "today", lambda day=day: day)
        found.append(plan.release(PEOPLE, rng=fixed, about=asked["about"], ledger=book).puffer.certificate)
    assert [one.created for one in found] == ["1970-01-01", "1970-01-02"]
    assert replace(found[0], created=found[1].created) == found[1]
    assert [one.certificate for one in book.entries()] == found
    assert Certificate.from_dict(found[0].to_dict()) == found[0]
    assert "1970-01-01" in str(found[0])
    assert "1970-01-01" in found[0].to_registry(region="Earth")
    answer = histogram(PEOPLE.assign(t=range(len(PEOPLE))), state="group", time="t", epsilon=1.0)
    assert answer.puffer.certificate.created == "1970-01-02"
    assert privatize(PEOPLE, **asked, rng=1).puffer.certificate.created is None
    assert len(book.entries()) == 2
    assert privatize(PEOPLE, **asked, rng=1).puffer.certificate.created is None
    monkeypatch.undo()
    certificate = privatize(PEOPLE, **asked).puffer.certificate
    assert abs(date.fromisoformat(certificate.created) - datetime.now(UTC).date()) <= timedelta(days=1)


@pytest.mark.parametrize(
    "about",
    [
        {"owner": "me"},
        {"issuer": ""},
        {"issuer": 3},
        {"issuer": "\ud800"},
        {"created": "yesterday"},
        {"created": datetime(2026, 1, 31)},
        {"created": 3},
        {"created": "0001-01-01T00:00:00+14:00"},
        "me",
    ],
)
def test_about_is_checked_before_anything_is_released(about):
    with pytest.raises((ArgumentError, ArgumentTypeError), match="about"):
        privatize(PEOPLE, secret="group", public="score", epsilon=1.0, about=about)


# what it is attached to


def test_a_changed_frame_says_that_it_was(released, tmp_path):
    certificate, changed = released.puffer.certificate, copy.deepcopy(released).round(0)
    with pytest.raises(Exception, match="derived=True"):
        certificate.attach(changed)
    with pytest.raises(Exception, match="derived=True"):
        changed.puffer.write_parquet(tmp_path / "changed.parquet")
    assert not (tmp_path / "changed.parquet").exists()
    attached = certificate.attach(changed, derived=True).puffer.certificate
    assert attached.derived
    assert "changed after the release" in str(attached)
    assert not certificate.attach(copy.deepcopy(released), derived=True).puffer.certificate.derived


def test_names_and_texts_cannot_draw_on_a_terminal():
    odd = "score\x1b[31m\n\u202e"
    frame = PEOPLE.rename(columns={"score": odd, "age": "age\r"})
    released = privatize(
        frame, secret="group", public=odd, layout=Layout(keep="town"), epsilon=1.0, about={"issuer": "\x07me"}
    )
    certificate = released.puffer.certificate
    for text in (
        str(certificate),
        certificate._repr_html_(),
        str(frame.puffer.calibrate(secret="group", public=odd, epsilon=1.0)),
    ):
        assert not set(text) & {"\x1b", "\u202e", "\r", "\x07"}
    assert r"score\x1b[31m\n\u202e" in str(certificate)
    assert certificate.public == (odd,)


MANDATORY = {
    "release": ("records", "beliefs", "one-release", "other-columns", "per-record", "learned"),
    "release, seeded": ("warning-seed",),
    "release, kept": ("kept",),
    "release, given": ("given-alone",),
    "release, listed pairs": ("listed-pairs",),
    "rows, each secret": ("secrets-each",),
    "release, unit of independent rows": ("units",),
    "labels": ("channel-again-capped", "channel-learned"),
    "series, population": ("chain", "other-answers"),
}


@pytest.mark.parametrize(("name", "key"), [(name, key) for name, keys in MANDATORY.items() for key in keys])
def test_a_record_without_a_sentence_that_it_must_have(name, key):
    plain = certificate_of_case(name).to_dict()
    assert Certificate.from_dict(plain) == certificate_of_case(name)
    rest = [one for one in plain["statements"] if one["key"] != key]
    assert len(rest) < len(plain["statements"])
    warned = [known for known in plain.get("warnings", []) if known != key]
    edited = {field: entry for field, entry in plain.items() if field != "warnings"} | {"statements": rest}
    with pytest.raises(ArgumentError, match=f"none of the sentences .*{key}"):
        Certificate.from_dict(edited | ({"warnings": warned} if warned else {}))


def test_a_record_whose_sentences_are_of_another_kind(plain):
    for one in plain["statements"]:
        if one["kind"] == "not covered":
            one["kind"] = "proved"
    with pytest.raises(ArgumentError, match="another kind of sentence"):
        Certificate.from_dict(plain)


def test_a_warning_that_is_left_out():
    plain = certificate_of_case("release, sorted").to_dict()
    assert plain["warnings"] == ["order-tells"]
    rest = {field: entry for field, entry in plain.items() if field != "warnings"}
    with pytest.raises(ArgumentError, match="not among the warnings"):
        Certificate.from_dict(rest)
    with pytest.raises(ArgumentError, match="a warning without its sentence"):
        Certificate.from_dict(plain | {"warnings": ["order-tells", "kept-tells"]})
    del rest["facts"]
    old = Certificate.from_dict(rest | {"schema": "1.4"})  # of which no such fields were asked
    assert "WARNING" in str(old)


def test_an_unsigned_record_is_never_intact(released):
    """Whoever changes the issuer, or what is not covered, is not found: so no verdict says that nothing was changed."""
    certificate = released.puffer.certificate
    edited = replace(certificate, issuer="Somebody else")
    assert edited.verify(released) == certificate.verify(released) == "unsigned: cannot be trusted"
    assert "unsigned: cannot be trusted" in str(edited)
