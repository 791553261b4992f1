"""The record of a certificate: what is read back, what is refused, and what a signature finds."""

import copy
import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from certificate_cases import HOBBIES, PEOPLE
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from puffer_frames import (
    ArgumentError,
    ArgumentTypeError,
    Certificate,
    Channel,
    aggregate,
    histogram,
    privatize,
    read_certificate,
)
from puffer_frames.certificates.checked import SCHEMA_FILE

DOCUMENTED = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
ABOUT = {
    "issuer": "Office for tests",
    "dataset": "people, 2026",
    "created": "2026-01-31T13:00:00+01:00",
    "intended_use": "teaching",
    "contact": "office@example.org",
}
KEY, OTHER_KEY = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


@pytest.fixture(scope="module")
def released():
    return privatize(PEOPLE, secret="group", public="score", keep="town", epsilon=1.0, about=ABOUT)


@pytest.fixture
def plain(released):
    return json.loads(json.dumps(released.puffer.certificate.to_dict()))


def test_the_documented_schema_describes_every_field():
    schema = json.loads(DOCUMENTED.read_text(encoding="utf-8"))
    assert schema == json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    names = {field.name for field in fields(Certificate)} - {"extra"}
    assert set(schema["properties"]) == names
    optional = {"issuer", "dataset", "created", "intended_use", "contact", "derived", "signature", "wider", "channels"}
    assert set(schema["required"]) == names - optional


def set_in(plain, path, value):
    *way, last = path
    for step in way:
        plain = plain[step]
    plain[last] = value


WRONG = {
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
    "a statement without text": (["statements", 0], {"key": "records", "kind": "assumed"}),
    "a short fingerprint": (["fingerprint"], "abc"),
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
    plain |= {"schema": "1.7", "strata": {"by": ["town"], "least": 50}}
    certificate = Certificate.from_dict(plain)
    certificate.save(tmp_path / "later.json")
    again = json.loads((tmp_path / "later.json").read_text(encoding="utf-8"))
    assert again["strata"] == {"by": ["town"], "least": 50}
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
        aggregate(PEOPLE, value="age", epsilon=1.0, about={"created": moment}),
        histogram(PEOPLE.assign(t=range(len(PEOPLE))), state="group", time="t", epsilon=1.0, about={"created": moment}),
    ):
        assert answer.puffer.certificate.created == "2026-01-31T12:00:00Z"


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


# signatures


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_a_signature_answers_for_the_record(released, tmp_path):
    certificate = released.puffer.certificate
    assert certificate.verify(released) == "intact, unsigned"
    assert certificate.verify(released, public_key=KEY.public_key()) == "forged"
    signed = certificate.sign(KEY)
    signed.save(tmp_path / "signed.json")
    for each in (signed, Certificate.load(tmp_path / "signed.json"), certificate.sign(pem(KEY))):
        assert each.verify(released, public_key=KEY.public_key()) == "intact"
        assert each.verify(released, public_key=public_pem(KEY)) == "intact"
        assert each.verify(released, public_key=OTHER_KEY.public_key()) == "forged"
        assert each.verify(released) == "intact, signature not checked"
        assert each.verify(released.round(1), public_key=KEY.public_key()) == "derived"
    attached = signed.attach(released.copy())
    assert attached.puffer.verify(public_key=KEY.public_key()) == "intact"


@pytest.mark.parametrize("name", sorted({field.name for field in fields(Certificate)} - {"derived", "extra"}))
def test_an_edit_of_any_field_is_found(released, name):
    signed = released.puffer.certificate.sign(KEY)
    edits = {
        "epsilon": 0.1, "delta": 0.5, "scales": {"score": 9.0}, "rows": 7, "answers": True, "adds_up": True,
        "reproducible": True, "pairs": (("a", "b"),), "verified": {}, "observed": {}, "estimated": {}, "statements": (),
        "published_scales": {"score": None}, "expected_error": {"score": 0.0}, "secret_count": 9, "signature": "AAAA",
        "wider": {"score": {"population": 0.1}}, "channels": {"score": {"cost": "change"}},
    }  # fmt: skip
    value = edits.get(name, ("x",) if isinstance(getattr(signed, name), tuple) else "changed")
    assert value != getattr(signed, name)
    assert replace(signed, **{name: value}).verify(released, public_key=KEY.public_key()) == "forged"


def test_a_signed_record_of_schema_1_0_is_still_intact(released):
    """It has no field `wider`, which the signature would cover."""
    old = replace(released.puffer.certificate, schema="1.0", wider={})
    plain = old.sign(KEY).to_dict()
    assert "wider" not in plain
    assert Certificate.from_dict(plain).verify(released, public_key=KEY.public_key()) == "intact"


# channels


@pytest.fixture(scope="module")
def labelled():
    options = {"domain": {"hobby": [*HOBBIES, "ludo"]}, "mechanism": Channel(publish_matrix=True)}
    publish = ("expected_error", "lower_bound")
    return privatize(PEOPLE, secret="group", public="hobby", keep="town", epsilon=0.5, publish=publish, **options)


def test_a_record_of_a_channel_and_back(labelled, tmp_path):
    certificate = labelled.puffer.certificate
    assert certificate.schema == "1.2"
    names = {"cost", "radius", "cap", "preserve", "levels", "inputs", "matrix", "expected_error", "lower_bound"}
    assert set(certificate.channels["hobby"]) == names
    assert (certificate.scales, certificate.published_scales, certificate.expected_error) == ({}, {}, {})
    plain = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    jsonschema.validate(plain, json.loads(DOCUMENTED.read_text(encoding="utf-8")))
    assert Certificate.from_dict(plain) == certificate
    certificate.save(tmp_path / "channel.json")
    assert Certificate.load(tmp_path / "channel.json") == certificate
    labelled.puffer.write_parquet(tmp_path / "channel.parquet")
    assert read_certificate(tmp_path / "channel.parquet") == certificate
    assert certificate.verify(tmp_path / "channel.parquet") == "intact, unsigned"
    assert certificate.verify(labelled) == "intact, unsigned"
    assert pd.read_parquet(tmp_path / "channel.parquet")["hobby"].tolist() == labelled["hobby"].tolist()


def test_a_release_of_labels_that_was_changed(labelled):
    certificate = labelled.puffer.certificate
    assert certificate.verify(labelled.assign(hobby=labelled["hobby"].shift(1, fill_value="go"))) == "derived"
    assert certificate.verify(labelled.astype({"hobby": "category"})) == "intact, unsigned"


EDITS = {
    "cost": "absolute",
    "radius": None,
    "cap": 0.1,
    "preserve": "marginal",
    "levels": ["chess"],
    "inputs": ["chess"],
    "matrix": [[1.0]],
    "expected_error": 0.0,
    "lower_bound": 0.0,
    "more": 1,
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_channel_is_found(labelled, name):
    signed = labelled.puffer.certificate.sign(KEY)
    assert signed.verify(labelled, public_key=KEY.public_key()) == "intact"
    channels = {"hobby": {**signed.channels["hobby"], name: EDITS[name]}}
    assert replace(signed, channels=channels).verify(labelled, public_key=KEY.public_key()) == "forged"
    dropped = {"hobby": {key: value for key, value in signed.channels["hobby"].items() if key != name}}
    if dropped != signed.channels:
        assert replace(signed, channels=dropped).verify(labelled, public_key=KEY.public_key()) == "forged"
    assert replace(signed, channels={}).verify(labelled, public_key=KEY.public_key()) == "forged"


WRONG_CHANNELS = {
    "none": (["channels"], {}),
    "one of another column": (["channels", "town"], {"cost": "change", "radius": None, "cap": None, "preserve": None}),
    "text": (["channels"], "hobby"),
    "text for the column": (["channels", "hobby"], "random"),
    "no cost": (["channels", "hobby"], {"radius": None, "cap": None, "preserve": None}),
    "another cost": (["channels", "hobby", "cost"], "squared"),
    "a cap of 0": (["channels", "hobby", "cap"], 0.0),
    "a cap as text": (["channels", "hobby", "cap"], "8"),
    "an infinite cap": (["channels", "hobby", "cap"], float("inf")),
    "a radius as a number": (["channels", "hobby", "radius"], 0.1),
    "another word for what is kept": (["channels", "hobby", "preserve"], "sum"),
    "levels as text": (["channels", "hobby", "levels"], "chess"),
    "a level of several": (["channels", "hobby", "levels"], [["chess"]]),
    "a probability beyond 1": (["channels", "hobby", "matrix"], [[1.5]]),
    "a probability below 0": (["channels", "hobby", "matrix"], [[-0.5]]),
    "a matrix of text": (["channels", "hobby", "matrix"], [["1"]]),
    "an error below 0": (["channels", "hobby", "expected_error"], -1.0),
    "a bound that is none": (["channels", "hobby", "lower_bound"], float("nan")),
    "a scale too": (["scales"], {"hobby": 1.0}),
    "a loss beyond epsilon": (["verified", "hobby", "empirical", "pure_loss"], [50.0, 60.0]),
}


@pytest.mark.parametrize("name", WRONG_CHANNELS)
def test_the_fields_of_a_channel_are_checked(labelled, name):
    plain = json.loads(json.dumps(labelled.puffer.certificate.to_dict()))
    set_in(plain, *WRONG_CHANNELS[name])
    with pytest.raises(ArgumentError, match="certificate's record must be"):
        Certificate.from_dict(plain)


def test_a_signed_record_of_schema_1_1_is_still_intact(released):
    """It has no field `channels`."""
    plain = replace(released.puffer.certificate, schema="1.1").sign(KEY).to_dict()
    assert "channels" not in plain
    assert Certificate.from_dict(plain).verify(released, public_key=KEY.public_key()) == "intact"


def test_levels_of_every_type_are_read_back():
    for column, levels in {
        "missing": [None, "a", "b"],
        "flag": [True, False],
        "whole": [1, 2, 3],
        "odd": ["\x1b[31m", "\u202e", "<b>&"],
    }.items():
        frame = PEOPLE.assign(**{column: pd.Series([levels[k % len(levels)] for k in range(len(PEOPLE))])})
        released = privatize(
            frame, secret="group", public=column, epsilon=0.5, mechanism="channel", nulls="level" if None in levels
            else "raise", publish="levels", index="drop", domain={column: levels}
        )  # fmt: skip
        certificate = released.puffer.certificate
        plain = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
        assert Certificate.from_dict(plain) == certificate
        assert plain["channels"][column]["levels"] == levels
        assert not set(str(certificate) + certificate._repr_html_()) & {"\x1b", "\u202e"}
        assert "<b>" not in certificate._repr_html_()


def test_a_field_that_is_added_is_found(released):
    signed = released.puffer.certificate.sign(KEY)
    assert replace(signed, extra={"epsilon ": 0.1}).verify(released, public_key=KEY.public_key()) == "forged"


@pytest.mark.parametrize("signature", ["", "not base64 !", "AAAA", "A" * 88])
def test_signatures_that_are_none(released, signature):
    certificate = replace(released.puffer.certificate, signature=signature)
    assert certificate.verify(released, public_key=KEY.public_key()) == "forged"


@pytest.mark.parametrize("key", ["text", b"PEM", 3, X25519PrivateKey.generate(), KEY.public_key()])
def test_what_is_no_private_key(released, key):
    with pytest.raises(ArgumentTypeError, match="private_key"):
        released.puffer.certificate.sign(key)


@pytest.mark.parametrize("key", ["text", b"PEM", 3, KEY])
def test_what_is_no_public_key(released, key):
    with pytest.raises(ArgumentTypeError, match="public_key"):
        released.puffer.certificate.verify(released, public_key=key)


def test_the_record_of_a_signed_file_may_be_written_anew_by_any_json_library(released):
    plain = released.puffer.certificate.sign(KEY).to_dict()
    text = (
        json.dumps(plain, sort_keys=True, indent=1)
        .replace('"epsilon": 1.0', '"epsilon": 1')
        .replace('"rows": 400', '"rows": 400.0')
    )
    assert '"epsilon": 1,' in text
    assert Certificate.from_dict(json.loads(text)).verify(released, public_key=KEY.public_key()) == "intact"


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
    released = privatize(frame, secret="group", public=odd, keep="town", epsilon=1.0, about={"issuer": "\x07me"})
    certificate = released.puffer.certificate
    for text in (
        str(certificate),
        certificate._repr_html_(),
        str(frame.puffer.calibrate(secret="group", public=odd, epsilon=1.0)),
    ):
        assert not set(text) & {"\x1b", "\u202e", "\r", "\x07"}
    assert r"score\x1b[31m\n\u202e" in str(certificate)
    assert certificate.public == (odd,)
