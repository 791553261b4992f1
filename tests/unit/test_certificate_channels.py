"""The record of a release through a channel."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from certificate_cases import HOBBIES, PEOPLE, said_of, set_in
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from puffer_frames import Certificate, Channel, Layout, privatize, read_certificate
from puffer_frames.errors import ArgumentError

KEY = Ed25519PrivateKey.generate()


DOCUMENTED = Path(__file__).parents[2] / "docs" / "certificate.schema.json"


@pytest.fixture
def released():
    return said_of()


@pytest.fixture
def plain(released):
    return json.loads(json.dumps(released.puffer.certificate.to_dict()))


@pytest.fixture(scope="module")
def labelled():
    options = {"domain": {"hobby": [*HOBBIES, "ludo"]}, "mechanism": Channel(publish_matrix=True)}
    publish = ("expected_error", "lower_bound")
    return privatize(
        PEOPLE, secret="group", public="hobby", layout=Layout(keep="town", publish=publish), epsilon=0.5, **options
    )


def test_a_record_of_a_channel_and_back(labelled, tmp_path):
    certificate = labelled.puffer.certificate
    assert certificate.schema == "1.6"
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
    assert certificate.verify(tmp_path / "channel.parquet") == "unsigned: cannot be trusted"
    assert certificate.verify(labelled) == "unsigned: cannot be trusted"
    assert pd.read_parquet(tmp_path / "channel.parquet")["hobby"].tolist() == labelled["hobby"].tolist()


def test_a_release_of_labels_that_was_changed(labelled):
    certificate = labelled.puffer.certificate
    assert certificate.verify(labelled.assign(hobby=labelled["hobby"].shift(1, fill_value="go"))) == "derived"
    assert certificate.verify(labelled.astype({"hobby": "category"})) == "unsigned: cannot be trusted"


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
    "columns that are not released": (["channels", "hobby", "columns"], ["hobby", "town"]),
    "a level of a level": (["channels", "hobby", "levels"], [[["chess"]]]),
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
            else "raise", layout=Layout(publish="levels", index="drop"), domain={column: levels}
        )  # fmt: skip
        certificate = released.puffer.certificate
        plain = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
        assert Certificate.from_dict(plain) == certificate
        assert plain["channels"][column]["levels"] == levels
        assert not set(str(certificate) + certificate._repr_html_()) & {"\x1b", "\u202e"}
        assert "<b>" not in certificate._repr_html_()
