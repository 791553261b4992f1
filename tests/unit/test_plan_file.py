"""The file of a plan: its header, its password, and how it is written."""

import base64
import json
import os
import pickle
import stat

import numpy as np
import pandas as pd
import pytest
from conftest import few
from plan_cases import file_of, planned

from puffer_frames import Noise, Plan, calibrate, compose, load_plan
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PlanFileError
from puffer_frames.scales import search
from puffer_frames.verbs.plans import file as plan_file
from puffer_frames.verbs.plans.file import digest_of

PASSWORD = "ein Paßwort"
COST = plan_file._COST
SEARCHED = 2 * search.RELATIVE_TOLERANCE
"""A stored plan, and one that is made now, may have scales that far apart."""


@pytest.fixture(scope="module", autouse=True)
def cheap_passwords():
    """The least cost that a file may have: an eighth of the usual one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_file, "_COST", plan_file._LEAST_COST)
        yield


def test_the_usual_cost_of_a_password():
    """128 MB of memory for every password that is tried."""
    assert COST * plan_file._BLOCK * 128 == 2**27


@pytest.fixture(scope="module")
def document():
    return json.loads(file_of("laplace noise").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """The text of an encrypted file."""
    path = tmp_path_factory.mktemp("locked") / "plan"
    planned("laplace noise").save(path, password=PASSWORD)
    return path.read_text(encoding="utf-8")


def refused(path, text, match, **options):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanFileError, match=match) as caught:
        load_plan(path, **options)
    return caught.value


# What is in the file


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no JSON"),
        ("{", "no JSON, or was cut short"),
        ("[]", "another format"),
        ("{}", "another format"),
        ("null", "another format"),
        ('{"format": "puffer_frames plan"}', "without a version"),
        ('{"format": "puffer_frames plan", "schema": 1}', "without a version"),
        ('{"format": "puffer_frames plan", "schema": "1.0"}', "a field more or less"),
        ("[" * 100_000, "nested too deeply|no JSON"),
        ('{"a": 1, "a": 2}', "a file with a key twice"),
        ('{"a": NaN}', "NaN or an infinite number"),
        ('{"a": 1e999}', "NaN or an infinite number"),
        ('{"a": -Infinity}', "NaN or an infinite number"),
        ('{"a": ' + "9" * 5000 + "}", "thousands of digits"),
    ],
)
def test_files_that_are_no_plans(text, match, tmp_path):
    refused(tmp_path / "plan", text, match)


def test_bytes_that_are_no_text_cut_short_or_of_a_later_version(tmp_path, document):
    path = tmp_path / "plan"
    for content in (b"\xff\xfe\x00", pickle.dumps(print), b"PAR1", bytes(100)):
        path.write_bytes(content)
        with pytest.raises(PlanFileError, match="no JSON"):
            load_plan(path)
    text = json.dumps(document)
    for length in (1, 100, len(text) // 2, len(text) - 1):
        refused(tmp_path / "plan", text[:length], "no JSON, or was cut short")
    later = refused(tmp_path / "plan", json.dumps(document | {"schema": "2.0"}), "of schema 1, which this version")
    assert "later version" in later.hint


def test_an_edit_is_found_but_for_the_layout(document, tmp_path):
    # Whatever is edited, the digest is another one
    plan = json.loads(json.dumps(document))
    plan["plan"]["plan"]["choices"]["score"]["scale"] *= 2
    refused(tmp_path / "plan", json.dumps(plan), "its digest is another one")
    plan["digest"] = digest_of(plan["plan"], schema=plan["schema"])
    refused(tmp_path / "plan", json.dumps(plan), "a scale that no belief needs")
    refused(tmp_path / "plan", json.dumps(document | {"schema": "1.1"}), "its digest is another one")
    path = tmp_path / "plan"
    for text in (json.dumps(document), json.dumps(document, indent=7), "\ufeff" + json.dumps(document)):
        path.write_text(text, encoding="utf-8")
        assert load_plan(path).scale == pytest.approx(planned("laplace noise").scale, rel=SEARCHED)


def test_a_part_of_another_type_or_none(document, tmp_path):
    """A plan whose name is a list, and one without a part that the classes of other mechanisms compute."""
    for name, entry, match in (("is", [], "something else than a plan"), ("plan", None, "remaps .* got none")):
        plan = json.loads(json.dumps(document))
        part = {each: of for each, of in plan["plan"]["plan"].items() if each != "remaps"} if entry is None else entry
        plan["plan"][name] = part
        text = json.dumps(plan | {"digest": digest_of(plan["plan"], schema=plan["schema"])})
        refused(tmp_path / "plan", text, match)


def test_less_noise_on_purpose(document, tmp_path):
    """With a digest of its own, a smaller scale contradicts the belief that needs it, and the frequencies."""
    plan = json.loads(json.dumps(document))
    choice = plan["plan"]["plan"]["choices"]["score"]
    choice["scale"] *= 0.99
    text = json.dumps(plan | {"digest": digest_of(plan["plan"], schema=plan["schema"])})
    refused(tmp_path / "plan", text, "a scale below that which a belief needs")
    choice["scale_per_belief"]["empirical"] *= 0.99
    text = json.dumps(plan | {"digest": digest_of(plan["plan"], schema=plan["schema"])})
    refused(tmp_path / "plan", text, "at which more is lost than the file says")


def test_another_channel_on_purpose(tmp_path):
    plan = json.loads(file_of("channel of labels").read_text(encoding="utf-8"))
    rows = plan["plan"]["plan"]["channel"]["weights"]["entries"]
    rows[0] = [2**62, 0, 0, 0]
    text = json.dumps(plan | {"digest": digest_of(plan["plan"], schema=plan["schema"])})
    refused(tmp_path / "plan", text, "a channel that loses more than asked")
    rows[0] = [2**62 + 1, 0, 0, 0]
    text = json.dumps(plan | {"digest": digest_of(plan["plan"], schema=plan["schema"])})
    refused(tmp_path / "plan", text, "weights that are no probabilities")


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_plan(tmp_path / "plan")
    with pytest.raises((IsADirectoryError, PermissionError)):
        load_plan(tmp_path)
    with pytest.raises(ArgumentError, match="a folder"):
        planned("laplace noise").save(tmp_path)
    with pytest.raises(FileNotFoundError):
        planned("laplace noise").save(tmp_path / "nowhere" / "plan")


def test_a_file_larger_than_any(tmp_path, monkeypatch):
    whole = file_of("laplace noise")
    monkeypatch.setattr(plan_file, "PLAN_BYTES", 100)
    with pytest.raises(PlanFileError, match="a file with more than"):
        load_plan(whole)
    with pytest.raises(ArgumentError, match="to be read again"):
        planned("laplace noise").save(tmp_path / "plan")
    assert not list(tmp_path.iterdir())


def test_columns_of_many_values_come_back_bit_for_bit(tmp_path, monkeypatch):
    """More than 131,072 values are bytes: two columns of 2,000,000 have 46 MiB, in place of more than 100."""
    path, plan = tmp_path / "plan", load_plan(file_of("laplace noise"))
    plan.save(tmp_path / "listed")
    monkeypatch.setattr(plan_file, "_MANY", 1)
    plan.save(path)
    text = path.read_text(encoding="utf-8")
    assert '"means": {"float64": "' in text
    assert '"levels": {"uint8": "' in text
    monkeypatch.undo()
    load_plan(path).save(path)
    assert path.read_bytes() == (tmp_path / "listed").read_bytes()
    for old, new in (('"uint8"', '"int8"'), ('"float64"', '"float16"'), ('{"uint8": "', '{"uint8": "!')):
        document = json.loads(text.replace(old, new, 1))
        document["digest"] = digest_of(document["plan"], schema=document["schema"])
        refused(path, json.dumps(document), "no Prior")


def test_more_entries_than_any(tmp_path, monkeypatch):
    whole = file_of("laplace noise")
    monkeypatch.setattr(plan_file, "_MOST_ENTRIES", 100)
    with pytest.raises(PlanFileError, match="more than 100 entries"):
        load_plan(whole)
    with pytest.raises(ArgumentError, match="100 entries, to be read again"):
        planned("laplace noise").save(tmp_path / "plan")


# Passwords


def test_a_password_opens_the_file(locked, tmp_path):
    path = tmp_path / "plan"
    path.write_text(locked, encoding="utf-8")
    for password in (PASSWORD, PASSWORD.encode()):
        again = load_plan(path, password=password)
        assert again.scale == planned("laplace noise").scale
    assert Plan.load(path, password=PASSWORD).scale == again.scale


def test_an_encrypted_file_tells_nothing(locked, tmp_path):
    assert locked.splitlines()[1].startswith('  "keep private": ')
    header = {name: entry for name, entry in json.loads(locked).items() if name != "content"}
    assert set(header) == {"keep private", "format", "schema", "version", "encryption"}
    for word in ("sex", "score", "scale", "Calibration", "digest"):
        assert word not in json.dumps(header)
    planned("laplace noise").save(tmp_path / "plan", password=PASSWORD)
    first, second = json.loads(locked), json.loads((tmp_path / "plan").read_text(encoding="utf-8"))
    assert first["encryption"]["salt"] != second["encryption"]["salt"]
    assert first["encryption"]["nonce"] != second["encryption"]["nonce"]
    planned("laplace noise").save(tmp_path / "plan", password="caf\u00e9")
    load_plan(tmp_path / "plan", password="cafe\u0301")


def test_another_password_or_a_part_of_the_file(locked, tmp_path):
    path = tmp_path / "plan"
    refused(path, locked, "must be the one that the file was saved with", password="another")
    error = refused(path, locked, "must be given for a file that is encrypted; got none")
    assert "password=" in error.hint
    assert "--password-file" in error.hint
    plain = file_of("laplace noise").read_text(encoding="utf-8")
    refused(path, plain, "left out for a file that is not encrypted", password=PASSWORD)
    refused(tmp_path / "plan", locked[:-200], "cut short", password=PASSWORD)
    whole = json.loads(locked)
    content = base64.b64decode(whole["content"])
    for part in (content[:-1], content[:16], content[:3], b""):
        text = json.dumps(whole | {"content": base64.b64encode(part).decode()})
        refused(tmp_path / "plan", text, "changed or cut short", password=PASSWORD)
    refused(tmp_path / "plan", json.dumps(whole | {"content": "%"}), "cut short", password=PASSWORD)


def test_every_bit_of_the_content_is_authenticated(locked, tmp_path):
    whole = json.loads(locked)
    content = bytearray(base64.b64decode(whole["content"]))
    for place in (0, len(content) // 2, len(content) - 1):
        content[place] ^= 1
        text = json.dumps(whole | {"content": base64.b64encode(bytes(content)).decode()})
        refused(tmp_path / "plan", text, "changed or cut short", password=PASSWORD)
        content[place] ^= 1


@few(2)
@pytest.mark.parametrize(
    ("name", "entry"), [("keep private", "it is public"), ("schema", "1.7"), ("version", "9"), ("version", None)]
)
def test_the_header_is_authenticated(locked, name, entry, tmp_path):
    text = json.dumps(json.loads(locked) | {name: entry})
    refused(tmp_path / "plan", text, "changed or cut short", password=PASSWORD)


@pytest.mark.parametrize(
    ("name", "entry", "match"),
    [
        ("cost", 1 << 16, "changed or cut short"),
        ("cost", 1 << 10, "another amount of work"),
        ("cost", 1 << 40, "another amount of work"),
        ("cost", 3 << 15, "another amount of work"),
        ("cost", True, "another amount of work"),
        ("cost", "131072", "another amount of work"),
        ("block", 1 << 30, "another amount of work"),
        ("lanes", 1 << 30, "another amount of work"),
        ("lanes", 2, "changed or cut short"),
        ("cipher", "none", "encrypted in another way"),
        ("key from", "pbkdf2", "encrypted in another way"),
        ("salt", "", "changed or cut short"),
        ("salt", 3, "changed or cut short"),
        ("nonce", base64.b64encode(bytes(12)).decode(), "changed or cut short"),
        ("nonce", base64.b64encode(bytes(11)).decode(), "changed or cut short"),
        ("more", 1, "encrypted in another way"),
    ],
)
def test_how_it_is_encrypted_is_authenticated(locked, name, entry, match, tmp_path):
    """And bounded: no file makes whoever opens it spend more than a gigabyte."""
    whole = json.loads(locked)
    whole["encryption"][name] = entry
    refused(tmp_path / "plan", json.dumps(whole), match, password=PASSWORD)


@pytest.mark.parametrize(
    ("password", "error"),
    [("", ArgumentError), (b"", ArgumentError), ("\ud800", ArgumentError), (3, ArgumentTypeError)],
)
def test_passwords_that_are_none(password, error, tmp_path):
    with pytest.raises(error, match="password"):
        planned("laplace noise").save(tmp_path / "plan", password=password)
    assert not list(tmp_path.iterdir())
    with pytest.raises(error, match="password"):
        load_plan(file_of("laplace noise"), password=password)


# How it is written


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("unnamed", [True, False])
def test_nobody_else_may_read_it(unnamed, tmp_path, monkeypatch):
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path, before = tmp_path / "plan", os.umask(0)
    try:
        planned("laplace noise").save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        planned("laplace noise").save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan"]


@pytest.mark.parametrize("unnamed", [True, False])
def test_it_is_on_the_disk_before_it_has_its_name(unnamed, tmp_path, monkeypatch):
    if not unnamed:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    steps, sync, path = [], os.fsync, tmp_path / "plan"

    def noted(descriptor):
        steps.append((path.exists(), stat.S_ISDIR(os.fstat(descriptor).st_mode)))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    planned("laplace noise").save(path)
    assert steps == [(False, False), (True, True)]


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "plan"
    planned("laplace noise").save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda descriptor: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        planned("remap").save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan"]


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_scale_of_a_theorem_adds_up_and_can_be_saved(seed, tmp_path):
    """Two roundings of one scale differed in the last bit, which told whether epsilons add."""
    rng, secrets = np.random.default_rng(seed), "abcdef"[: 2 + seed]
    code = rng.integers(0, len(secrets), 400)
    frame = pd.DataFrame({"g": [secrets[k] for k in code], "x": (rng.integers(0, 5, 400) + code % 2) * 0.1})
    noise = Noise(theorem="kantorovich", calibration="theorem")
    plan = calibrate(frame, secret="g", public="x", epsilon=1.0, mechanism=noise)
    plan.save(tmp_path / "plan")
    releases = [plan.release(frame), load_plan(tmp_path / "plan").release(frame)]
    assert compose(releases).epsilon == 2.0


def test_labels_beside_listed_pairs_are_released_from_a_file(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"g": rng.choice(list("abc"), 400), "x": rng.integers(0, 5, 400), "l": rng.choice(["p", "q"], 400)}
    )
    noise = Noise(theorem="bounded")
    plan = calibrate(frame, secret="g", public=["x", "l"], epsilon=1.0, pairs=[("a", "b")], mechanism=noise)
    plan.save(tmp_path / "plan")
    assert load_plan(tmp_path / "plan").release(frame, rng=1).equals(plan.release(frame, rng=1))


@pytest.mark.parametrize("name", ["laplace noise", "strata", "channel of labels"])
def test_plans_are_equal_where_their_content_is_and_a_pickled_one_can_be_saved(name, tmp_path):
    plan = planned(name)
    copy = pickle.loads(pickle.dumps(plan))
    assert plan == copy == plan
    assert hash(plan) == hash(copy)
    assert plan != planned("domain")
    assert plan != "a plan"
    copy.save(tmp_path / "plan")
    assert load_plan(tmp_path / "plan") == plan
