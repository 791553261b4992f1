"""The key file of refinements: who may read it, what is in it, and a process that is killed at any moment."""

import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Layout, Ledger, Noise, calibrate, compose
from puffer_frames.core import Prior, pure_loss
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, LedgerError
from puffer_frames.verbs.ledgers.refine_key import opened

PREPARED = """
import numpy as np, pandas as pd, puffer_frames

rng = np.random.default_rng(1)
group = rng.choice(["a", "b"], 200)
people = pd.DataFrame({"group": group, "score": rng.integers(0, 5, 200) + (group == "a")})
plan = puffer_frames.calibrate(people, secret="group", public="score", epsilon=0.3)
"""
NAMES = {}
exec(compile(PREPARED, "prepared", "exec"), NAMES)
PEOPLE, PLAN = NAMES["people"], NAMES["plan"]
NAMED = {"dataset": "people"}
posix = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture
def key(tmp_path):
    return tmp_path / "refine.key"


@pytest.fixture
def book(tmp_path):
    return Ledger(tmp_path / "releases.jsonl", limit=1.0)


def refine(released, key, *, epsilon=0.8, **options):
    return PLAN.refine(PEOPLE, released, epsilon=epsilon, key=key, **options)


@posix
def test_only_its_owner_can_read_it(key):
    first = PLAN.release(PEOPLE)
    old = os.umask(0)
    try:
        refine(first, key)
    finally:
        os.umask(old)
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o640)
    with pytest.raises(ArgumentError, match="only its owner"):
        refine(first, key)


def test_it_holds_a_key_of_its_own_and_every_refinement(key, tmp_path):
    first = PLAN.release(PEOPLE, layout=Layout(refine_key=key))
    second = refine(first, key)
    third = refine(second, key, epsilon=1.5)
    one, *lines = map(json.loads, key.read_text().splitlines())
    assert len(bytes.fromhex(one["key"])) == len(bytes.fromhex(one["check"])) == 32
    assert one["key"] != one["check"]
    digests = [each.puffer.certificate.fingerprint for each in (first, second, third)]
    assert lines[0]["released"] == digests[0]
    assert [(line["refined"], line["result"]) for line in lines[1:]] == [tuple(digests[:2]), tuple(digests[1:])]
    assert [line["epsilon"] for line in lines[1:]] == [0.8, 1.5]
    assert len({line["rows"] for line in lines}) == 1
    other = tmp_path / "other.key"
    PLAN.release(PEOPLE, layout=Layout(refine_key=other))
    fresh = [json.loads(line) for line in other.read_text().splitlines()]
    assert fresh[0]["key"] != one["key"]
    assert fresh[1]["rows"] != lines[0]["rows"]  # a keyed code: nobody can try values on it


def test_other_files(key):
    first = PLAN.release(PEOPLE)
    good = json.dumps({"schema": "1.0", "key": "00" * 32, "check": "00" * 32})
    line = {"schema": "1.0", "refined": "a", "result": "b", "epsilon": 1.0, "scales": {}, "rows": "c"}
    for text in (
        "something else\n",
        "[]\n",
        '{"schema": "1.0"}\n',
        good.replace("00", "zz") + "\n",
        good.replace("1.0", "2.0") + "\n",
        good.replace('"' + "00" * 32, '"00', 1) + "\n",
        good + "\n" + json.dumps(line | {"scales": None}) + "\n",
        good + "\n" + 2 * (json.dumps(line) + "\n"),
        good + "\nbroken\n" + json.dumps(line) + "\n",
    ):
        key.write_text(text)
        key.chmod(0o600)
        with pytest.raises(ArgumentError, match="one that refine has written"):
            refine(first, key)
        assert key.read_text() == text
    with pytest.raises(ArgumentTypeError, match="path of a file"):
        refine(first, 3)
    with pytest.raises(ArgumentError, match="a folder"):
        refine(first, key.parent)


def test_a_line_that_was_cut_off_was_no_refinement(key):
    first = PLAN.release(PEOPLE)
    refine(PLAN.release(PEOPLE), key)
    whole = key.read_text()
    for cut in (whole + whole.splitlines()[1][:100], whole[:40]):
        key.write_text(cut)
        second = refine(first, key)
        assert refine(first, key).equals(second)
        with pytest.raises(CalibrationError, match="refined already"):
            refine(first, key, epsilon=0.9)


KILLED = """
import os, sys

from puffer_frames.verbs.ledgers.refine_key import RefineKey

first = pd.read_parquet(sys.argv[1])
write = RefineKey.write

def late(*arguments, **options):
    write(*arguments, **options)
    os._exit(7)

def early(*arguments, **options):
    os._exit(7)

RefineKey.write = {"late": late, "early": early}[sys.argv[3]]
book = puffer_frames.Ledger(sys.argv[4], limit=1.0)
plan.refine(people, first, epsilon=0.8, key=sys.argv[2], ledger=book, about={"dataset": "people"})
"""


@pytest.mark.parametrize("moment", ["early", "late"])
def test_killed_before_and_after_the_file_is_written(key, tmp_path, in_a_process, moment, book):
    first = PLAN.release(PEOPLE, about=NAMED, ledger=book)
    first.puffer.write_parquet(tmp_path / "first.parquet")
    assert in_a_process(PREPARED + KILLED, tmp_path / "first.parquet", key, moment, book.path).returncode == 7
    states = [entry.state for entry in book]
    assert states == ["finished", "not finished"]
    assert book.total().epsilon == 0.8  # what is not finished counts
    if moment == "early":  # nobody knows whether it was given away; the curator does
        with pytest.raises(LedgerError, match="two refinements"):
            refine(first, key, ledger=book)
        book.withdraw(list(book)[1].entry)
        second = refine(first, key, epsilon=0.9, ledger=book)
        assert book.total().epsilon == 0.9
    else:
        with pytest.raises(CalibrationError, match="refined already"):
            refine(first, key, epsilon=0.9)
        second = refine(first, key, ledger=book)
        assert [entry.state for entry in book] == ["finished"] * 2
        result = json.loads(key.read_text().splitlines()[-1])["result"]
        assert second.puffer.certificate.fingerprint == result
        assert book.total().epsilon == 0.8
    assert second.puffer.verify() == "unsigned: cannot be trusted"


def test_a_chain_is_one_in_a_ledger(key, book):
    first = PLAN.release(PEOPLE, about=NAMED, ledger=book)
    second = refine(first, key, epsilon=0.6, ledger=book)
    third = refine(second, key, epsilon=1.0, ledger=book)
    assert [entry.certificate.epsilon for entry in book] == [0.3, 0.6, 1.0]
    assert book.total().epsilon == 1.0
    before = book.path.read_bytes()
    assert refine(second, key, epsilon=1.0, ledger=book).equals(third)  # the same release: one entry
    assert book.path.read_bytes() == before
    with pytest.raises(LedgerError, match=r"epsilon 1\.2 with this one"):
        refine(third, key, epsilon=1.2, ledger=book)
    assert len(key.read_text().splitlines()) == 3  # nothing was drawn
    with pytest.raises(LedgerError):
        PLAN.release(PEOPLE, about=NAMED, ledger=book)


def test_a_chain_beside_other_releases(tmp_path):
    frame = PEOPLE.assign(other=np.arange(200) % 7, still=1)
    asked = {"secret": "group", "epsilon": 0.3}
    ranged = calibrate(frame, public=["score", "still"], mechanism=Noise(theorem="bounded"), **asked)
    exact = calibrate(frame, public="score", **asked)
    bounded = calibrate(frame, public=["other", "still"], mechanism=Noise(theorem="bounded"), **asked).release(frame)
    chains = {}
    for name, plan in (("bounded", ranged), ("exact", exact)):
        first = plan.release(frame)
        chains[name] = [first, plan.refine(frame, first, epsilon=0.9, key=tmp_path / name)]
        found = compose([*chains[name], bounded])
        assert found.epsilon == pytest.approx(1.2)
        assert (found.releases, "count as the last of them" in found.rule) == (3, True)
    with pytest.raises(CalibrationError, match="randomness of the values"):
        compose([*chains["exact"], exact.release(frame)])
    both = [*chains["exact"], exact.release(frame)]
    found = compose(both, frame=frame)
    rate = sum(1 / each.puffer.certificate.scales["score"] for each in both[1:])
    laws = [Prior.empirical(part["score"].to_numpy()) for _, part in frame.groupby("group")]
    assert found.epsilon == pytest.approx(pure_loss(*laws, scale=1 / rate).upper, rel=1e-6)


def test_the_key_is_not_shown(key):
    refine(PLAN.release(PEOPLE), key)
    first = json.loads(key.read_text().splitlines()[0])
    with opened(key) as file:
        for secret in (first["key"], first["check"]):
            assert secret not in repr(file)
            assert str(bytes.fromhex(secret)) not in repr(file)


def test_a_plan_that_was_pickled_refines_the_same(key):
    first = PLAN.release(PEOPLE)
    again = pickle.loads(pickle.dumps(PLAN))
    second = again.refine(PEOPLE, first, epsilon=0.8, key=key)
    assert second.equals(refine(first, key))
    assert isinstance(second, pd.DataFrame)


def test_a_plan_from_a_file_refines_the_same_unless_it_lacks_beliefs(key, tmp_path):
    first = PLAN.release(PEOPLE)
    PLAN.save(tmp_path / "plan.json")
    again = type(PLAN).load(tmp_path / "plan.json")
    assert again.refine(PEOPLE, first, epsilon=0.8, key=key).equals(refine(first, key))
    knowing = calibrate(
        PEOPLE,
        secret="group",
        public="score",
        epsilon=0.3,
        beliefs={label: Prior.empirical([k, k + 3]) for k, label in enumerate("ab")},
    )
    first = knowing.release(PEOPLE)
    knowing.save(tmp_path / "knowing.json")
    with pytest.raises(CalibrationError, match="without some of them"):
        type(PLAN).load(tmp_path / "knowing.json").refine(PEOPLE, first, epsilon=0.8, key=key)
    knowing.refine(PEOPLE, first, epsilon=0.8, key=key)


def test_a_folder_that_is_not_there(tmp_path, book):
    for path in (tmp_path / "no" / "refine.key", tmp_path / "no" / "book.jsonl"):
        key, ledger = (path, book) if path.suffix == ".key" else (None, path)
        with pytest.raises(ArgumentError, match="a folder that is not there"):
            PLAN.release(PEOPLE, ledger=ledger, about=NAMED, layout=Layout(refine_key=key))
    assert not len(book) or [entry.state for entry in book] == ["withdrawn"]
    assert not (tmp_path / "no").exists()
