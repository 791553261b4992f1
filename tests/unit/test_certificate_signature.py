"""Signed certificates, and what they are attached to."""

import json
from dataclasses import fields, replace

import pytest
from certificate_cases import said_of
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from puffer_frames import Certificate
from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.fields import WholeTable
from puffer_frames.errors import ArgumentError, ArgumentTypeError

KEY, OTHER_KEY = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


@pytest.fixture
def released():
    return said_of()


@pytest.fixture
def plain(released):
    return json.loads(json.dumps(released.puffer.certificate.to_dict()))


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key):
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def test_a_signature_answers_for_the_record(released, tmp_path):
    certificate = released.puffer.certificate
    assert certificate.verify(released) == "unsigned: cannot be trusted"
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
        "strata": ({"given": ("x",), "scales": {"score": 1.0}},), "unit_rows": 2, "releases": 2,
        "processed": {"score": {"round": True, "clip": None}}, "facts": Facts(seeded=True),
        "refines": ({"fingerprint": "0" * 64, "epsilon": 0.1, "scales": {"score": 9.0}},),
        "table": WholeTable(
            planned=1, trees=1, smoothing=1, order=("score",), derived={}, step=1, reader_loss=1, cap=1, refits={}
        ),
    }  # fmt: skip
    value = edits.get(name, ("x",) if isinstance(getattr(signed, name), tuple) else "changed")
    assert value != getattr(signed, name)
    assert replace(signed, **{name: value}).verify(released, public_key=KEY.public_key()) == "forged"


@pytest.mark.parametrize(("schema", "lacking", "none"), [("1.0", "wider", {"wider": {}}), ("1.1", "channels", {})])
def test_a_signed_record_of_an_earlier_schema_is_still_intact(released, schema, lacking, none):
    """It has no such field, which the signature would cover."""
    plain = replace(released.puffer.certificate, schema=schema, **none).sign(KEY).to_dict()
    assert lacking not in plain
    assert Certificate.from_dict(plain).verify(released, public_key=KEY.public_key()) == "intact"


def test_a_field_that_is_added_is_found(released):
    signed = released.puffer.certificate.sign(KEY)
    assert replace(signed, extra={"epsilon ": 0.1}).verify(released, public_key=KEY.public_key()) == "forged"


@pytest.mark.parametrize("signature", ["", "not base64 !", "AAAA", "A" * 88])
def test_signatures_that_are_none(released, signature):
    certificate = replace(released.puffer.certificate, signature=signature)
    assert certificate.verify(released, public_key=KEY.public_key()) == "forged"


@pytest.mark.parametrize("signature", ["", "x", "AAAA", "A" * 88, "-" * 86 + "==", "A" * 85 + "B==", "A" * 86 + "==\n"])
def test_a_record_with_a_signature_that_is_none_is_broken(released, signature):
    """Without a key nobody would check it, and "unsigned" would be "not checked"."""
    plain = released.puffer.certificate.to_dict()
    with pytest.raises(ArgumentError, match="something else in 'signature'"):
        Certificate.from_dict(plain | {"signature": signature})
    assert Certificate.from_dict(plain | {"signature": "A" * 86 + "=="}).signature


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
