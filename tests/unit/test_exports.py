"""Records for registries: the fields that their schemas ask for, and the schemas themselves where they can be had."""

import hashlib
import json
import re
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest
from certificate_cases import ABOUT, PEOPLE, certificate_of_case, said_of
from conftest import few

from puffer_frames import Layout, Sequential, privatize
from puffer_frames.certificates.published import yaml_text
from puffer_frames.errors import ArgumentError, UncoveredFrameError

NAMES = (
    *("release", "release, delta", "rows", "rows, given, delta", "labels", "labels, no cap"),
    *("series", "sum and count, delta", "release, unit of independent rows", "release, kept", "release, remap"),
    *("release, each secret", "release, listed pairs", "release, stable noise", "labels, matrix"),
)
TEXT = {"type": "string", "minLength": 1}


def record(required=(), **fields):
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": fields}


def one_of(*words):
    return {"enum": list(words)}


REGISTRY = record(
    ["url_slug", "status", "tier", "deployment"],
    url_slug=TEXT,
    status=one_of("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    tier=one_of(1, 2, 3),
    deployment=record(
        ["basic"],
        basic=record(
            [
                *("name", "data_curators", "description", "intended_use", "data_product_type"),
                *("data_product_region", "publication_date"),
            ],
            name=TEXT,
            data_curators={"type": "array", "items": TEXT, "minItems": 1},
            intended_use=TEXT,
            data_product_type=one_of("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
        ),
        dp_variant=record(
            variant_name=one_of("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=record(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=record(epsilon={"type": "number"}, delta={"type": "number"}),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=record(
            model_name=one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
            actors=TEXT,
            release_type=one_of("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=one_of("Static", "Dynamic"),
            access_type=one_of("Interactive", "Non-interactive"),
        ),
        accounting=record(post_processing=TEXT, composition=TEXT),
        implementation=record(preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT),
        administrative=record(
            ["registry_authors"], notes=TEXT, registry_authors={"type": "array", "items": TEXT, "minItems": 1}
        ),
    ),
)
"""Names, words and what is required, as in schemas/deployments-schema.yaml of opendp/deployments-registry-data."""


def read_yaml(text):
    """The YAML that is written here: two spaces a level, lists of scalars, texts as in JSON or plain words."""

    def scalar(word):
        return json.loads(word) if word[0] in '"-0123456789' else word

    root = {}
    levels = [root]
    for line in text.splitlines():
        depth, rest = (len(line) - len(line.lstrip())) // 2, line.strip()
        if rest.startswith("- "):
            holder = levels[depth - 1]
            key = next(reversed(holder))
            holder[key] = [*(holder[key] or []), scalar(rest[2:])]
            continue
        key, _, word = rest.partition(":")
        levels[depth:] = [levels[depth], {}] if depth < len(levels) else [{}]
        holder = levels[depth]
        holder[key] = scalar(word.strip()) if word.strip() else levels[depth + 1]
    return root


def registry_of(name, **more):
    return read_yaml(certificate_of_case(name).to_registry(**{"published": "2026-01-31"} | more))


@few(8, rest="apart")
@pytest.mark.parametrize("name", NAMES)
def test_the_record_has_the_fields_of_the_registry(name):
    found = registry_of(name)
    jsonschema.validate(found, REGISTRY)
    deployment = found["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Custom"
    certificate = certificate_of_case(name)
    assert deployment["privacy_loss"]["privacy_parameters"] == {
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
    }
    relation = deployment["privacy_loss"]["privacy_unit_details"]
    for words in ("Pufferfish privacy", "not of differential privacy", "Input distance", "Output distance"):
        assert words in relation
    assert "It is not differential privacy" in deployment["basic"]["description"]
    for statement in certificate.statements:
        if statement.kind == "not covered":
            assert statement.text in deployment["dp_variant"]["unprotected_quantities"]


@pytest.mark.parametrize("name", NAMES)
def test_another_reader_of_yaml_reads_the_same(name):
    yaml = pytest.importorskip("yaml")
    text = certificate_of_case(name).to_registry(published="2026-01-31")
    assert yaml.safe_load(text) == read_yaml(text)


def test_the_table_of_fields_refuses_others():
    found = registry_of("release")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found | {"surprise": 1}, REGISTRY)


def test_what_the_issuer_said():
    found = read_yaml(said_of().puffer.certificate.to_registry(region="Europe", justification="usual", authors=["a b"]))
    basic = found["deployment"]["basic"]
    assert basic["publication_date"] == "2026-01-31"
    assert basic["data_curators"] == [ABOUT["issuer"]]
    assert (basic["name"], basic["intended_use"]) == (ABOUT["dataset"], ABOUT["intended_use"])
    assert (basic["data_product_region"], basic["data_product_type"]) == ("Europe", "Dataset")
    assert found["deployment"]["implementation"]["justification"] == "usual"
    assert found["deployment"]["administrative"]["registry_authors"] == ["a b"]
    assert found["url_slug"] == "people-2026-office-for-tests-2026"
    assert registry_of("release")["deployment"]["basic"]["data_curators"] == ["not said"]
    assert registry_of("series")["deployment"]["basic"]["data_product_type"] == "Summary statistics"


def test_the_relation_names_its_measure():
    pure = registry_of("release")["deployment"]["privacy_loss"]["privacy_unit_details"]
    assert "max-divergence, in both orders. Output distance: at most 1." in pure
    assert "every pair of values" in pure
    other = registry_of("release, delta")["deployment"]["privacy_loss"]["privacy_unit_details"]
    assert "hockey-stick divergence at 1, in both orders. Output distance: at most 1e-06." in other


def test_refused_records():
    certificate = replace(certificate_of_case("release"), created=None)
    for asked, said in (
        ({}, "published"),
        ({"published": "31.1.2026"}, "published"),
        ({"published": "2026-01-31", "authors": "me"}, "authors"),
        ({"published": "2026-01-31", "region": " "}, "region"),
        ({"published": "2026-01-31", "justification": 3}, "justification"),
    ):
        with pytest.raises(ArgumentError, match=said):
            certificate.to_registry(**asked)
    with pytest.raises(ArgumentError, match="a private release"):
        certificate_of_case("release, seeded").to_registry(published="2026-01-31")


@pytest.mark.parametrize(
    "text", ["yes", "1e-6", "a: b", "# no", "- x", '"', "a\nb", "\x07\u2028", "2026-01-31", "~", ""]
)
def test_texts_stay_texts(text):
    lines = yaml_text({"key": text})
    value = json.loads(lines.removeprefix("key: ")) if not re.fullmatch(r"key: [a-z].*\n", lines) else lines[5:-1]
    assert value in (text, "\\x07\\u2028")
    assert lines.count("\n") == 1


def test_small_numbers_stay_numbers():
    assert yaml_text({"delta": 1e-6}) == "delta: 1.0e-06\n"
    assert float("1.0e-06") == 1e-6
    assert yaml_text({"delta": 2.5e-7, "n": 3}) == "delta: 2.5e-07\nn: 3\n"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release in both formats."""
    folder = tmp_path_factory.mktemp("released")
    found = privatize(
        PEOPLE, secret="group", public=["score", "hobby"], layout=Layout(keep=["town", "age"]), epsilon=1.0, about=ABOUT
    )
    found.puffer.write_parquet(folder / "people.parquet")
    found.to_csv(folder / "people.csv", index=False)
    return found.puffer.certificate, folder


@pytest.mark.parametrize(
    ("name", "encoding"), [("people.parquet", "application/x-parquet"), ("people.csv", "text/csv")]
)
def test_croissant(released, name, encoding):
    certificate, folder = released
    found = certificate.to_croissant(folder / name, url="https://example.org/people", license="CC-BY-4.0")
    json.dumps(found, allow_nan=False)
    assert (found["@type"], found["name"]) == ("sc:Dataset", ABOUT["dataset"])
    assert found["conformsTo"][0] == "http://mlcommons.org/croissant/1.0"
    (file,) = found["distribution"]
    assert file["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert (file["contentUrl"], file["encodingFormat"]) == (name, encoding)
    (rows,) = found["recordSet"]
    kinds = {field["name"]: field["dataType"] for field in rows["field"]}
    assert kinds == {"score": "sc:Float", "hobby": "sc:Text", "town": "sc:Text", "age": "sc:Integer"}
    assert {field["source"]["extract"]["column"] for field in rows["field"]} == set(kinds)
    assert found["creator"]["name"] == ABOUT["issuer"]
    assert found["rai:dataUseCases"] == [ABOUT["intended_use"]]
    assert found["datePublished"] == "2026-01-31T12:00:00Z"
    not_covered = [one.text for one in certificate.statements if one.kind == "not covered"]
    assert found["rai:dataLimitations"] == not_covered


def test_croissant_of_texts_and_of_what_nobody_said(tmp_path):
    people = PEOPLE.assign(town=["02100", "00144"] * (len(PEOPLE) // 2))
    found = privatize(people, secret="group", public="score", layout=Layout(keep="town"), epsilon=1.0)
    found.to_csv(tmp_path / "people.csv", index=False)
    (rows,) = found.puffer.certificate.to_croissant(tmp_path / "people.csv")["recordSet"]
    assert {field["name"]: field["dataType"] for field in rows["field"]}["town"] == "sc:Text"
    frame = PEOPLE.puffer.privatize(secret="group", public="score", epsilon=1.0)
    frame.puffer.write_parquet(tmp_path / "a.parquet")
    found = frame.puffer.certificate.to_croissant(tmp_path / "a.parquet")
    assert found["name"] == "not said"
    assert found["datePublished"] == frame.puffer.certificate.created
    assert not set(found) & {"creator", "url", "license", "rai:dataUseCases"}


def test_a_whole_table(tmp_path):
    asked = {"secret": "group", "public": ["score", "hobby"], "epsilon": 1.0}
    frame = privatize(PEOPLE, **asked, mechanism=Sequential(holdout=0.0))
    frame.puffer.write_parquet(tmp_path / "a.parquet")
    certificate = frame.puffer.certificate
    found = certificate.to_croissant(tmp_path / "a.parquet")
    (rows,) = found["recordSet"]
    assert all(field["description"].startswith("Random values of the column") for field in rows["field"])
    replaced = "Each of score, hobby was replaced, one after another, by a random value"
    (done,) = found["rai:dataPreprocessingProtocol"]
    assert done.startswith(replaced)
    assert done in found["rai:dataBiases"]
    assert 'mechanisms: "technical: How the levels' in (text := certificate.to_registry(published="2026-01-31"))
    assert f"exactly.\\n\\n{replaced}" in text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library's own parts
def test_croissant_as_its_own_library_reads_it(released, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant")
    certificate, folder = released
    path = folder / "people.croissant.json"
    path.write_text(json.dumps(certificate.to_croissant(folder / "people.csv", url="https://example.org/people")))
    data = mlcroissant.Dataset(jsonld=str(path))
    assert not data.metadata.ctx.issues.errors
    assert len(list(data.records("rows"))) == len(PEOPLE)


def test_refused_files(released, tmp_path):
    certificate, folder = released
    with pytest.raises(ArgumentError, match="Parquet or CSV"):
        certificate.to_croissant(folder)
    with pytest.raises(ArgumentError, match="a file of Excel"):
        certificate.to_croissant(folder / "people.xlsx")
    with pytest.raises(ArgumentError, match="url"):
        certificate.to_croissant(folder / "people.csv", url=3)
    with pytest.raises(FileNotFoundError):
        certificate.to_croissant(folder / "none.csv")
    pd.DataFrame({"group": ["a"], "score": [1.0]}).to_csv(tmp_path / "raw.csv", index=False)
    with pytest.raises(UncoveredFrameError, match="columns of the certificate"):
        certificate.to_croissant(tmp_path / "raw.csv")


def test_other_values_than_those_of_the_release_are_not_described(tmp_path):
    """The raw columns under the same names would be said to have noise."""
    raw = PEOPLE.rename(columns={"town": "zip"})
    found = raw.puffer.privatize(secret="group", public="score", layout=Layout(keep="zip"), epsilon=1.0)
    certificate = found.puffer.certificate
    raw[["score", "zip"]].to_csv(tmp_path / "raw.csv", index=False)
    raw[["score", "zip"]].head(7).to_parquet(tmp_path / "raw.parquet")
    for name in ("raw.csv", "raw.parquet"):
        with pytest.raises(UncoveredFrameError, match="got other values"):
            certificate.to_croissant(tmp_path / name)
    found["zip"] = "02199"
    derived = certificate.attach(found, derived=True)
    derived.to_parquet(tmp_path / "derived.parquet")
    assert derived.puffer.certificate.to_croissant(tmp_path / "derived.parquet")["recordSet"]
