"""Ledgers: what is written when, what counts, and what a limit stops."""

import errno
import json
import math
import pickle
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import puffer_frames
from puffer_frames import Certificate, Layout, Ledger, LedgerWarning, Noise, compose, ledger
from puffer_frames.errors import ArgumentError, CalibrationError, LedgerError, LedgerNotFoundError
from puffer_frames.frames.local.table import LocalRows
from puffer_frames.frames.plans.source import Source
from puffer_frames.numbers.rounding import as_written, sum_as_written, up_as_written
from puffer_frames.verbs import attached
from puffer_frames.verbs.ledgers import entries
from puffer_frames.verbs.ledgers.entries import check_lines, entry_line
from puffer_frames.verbs.ledgers.locked_lines import look

RNG = np.random.default_rng(4)
ROWS = 300
RARE = 8_675_309
"""A public value that no ledger may hold."""
GROUP = RNG.choice(["a", "b"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 5, ROWS) + 3 * (GROUP == "a") + RARE,
        "visits": RNG.integers(0, 4, ROWS) + (GROUP == "b"),
        "hobby": RNG.choice(["chess", "go", "tag"], ROWS),
        "name": [f"n{k}" for k in range(ROWS)],
    }
)
NAMED = {"dataset": "people of 2026"}
BOUNDED = {"public": ["score", "visits"], "mechanism": Noise(theorem="bounded")}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "releases.jsonl"


def release(where, frame=PEOPLE, **options):
    asked = {"secret": "group", "public": "score", "epsilon": 0.5, "about": NAMED, "ledger": where} | options
    return puffer_frames.privatize(frame, **asked)


def by_plan(where, **options):
    plan = PEOPLE.puffer.calibrate(secret="group", epsilon=0.5, **options)
    return plan.release(PEOPLE, about=NAMED, ledger=where)


def day(where):
    frame = pd.DataFrame({"minute": range(60), "state": ["a", "b", "b"] * 20})
    asked = {"chain": [[0.6, 0.4], [0.4, 0.6]], "epsilon": 1.0, "about": NAMED, "ledger": where}
    return frame.puffer.histogram(state="state", time="minute", mechanism="quilt", **asked)


RELEASES = {
    "numbers": release,
    "labels": lambda where: release(where, public="hobby"),
    "several columns": lambda where: release(where, public=["score", "visits"]),
    "strata": lambda where: release(where, given=puffer_frames.Strata("hobby", minimum=10)),
    "a plan": lambda where: by_plan(where, public="visits"),
    "a plan of labels": lambda where: by_plan(where, public="hobby"),
    "a kept index": lambda where: release(where, PEOPLE.set_index("name"), layout=Layout(index="keep")),
    "sums": lambda where: PEOPLE.puffer.aggregate(
        unit="name", value="visits", query=("sum", "count"), epsilon=1.0, domain=(0, 9), about=NAMED, ledger=where
    ),
    "counts": day,
}


@pytest.mark.filterwarnings("ignore::puffer_frames.KeptColumnWarning")
@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_one_entry_with_its_certificate(path, name):
    released = RELEASES[name](str(path))
    (entry,) = ledger(path)
    certificate = released.puffer.certificate
    assert released.puffer.verify() == "unsigned: cannot be trusted"
    assert (entry.state, entry.certificate) == ("finished", certificate)
    assert entry.certificate.fingerprint
    reserved, finished = map(json.loads, path.read_text().splitlines())
    assert (reserved["state"], finished["state"]) == ("reserved", "finished")
    first = Certificate.from_dict(reserved["certificate"])
    assert (first.fingerprint, first.scales) == ("", certificate.scales)
    assert first.rows == certificate.rows
    assert set(first.statements) <= set(certificate.statements) or name == "a kept index"
    columns = finished["columns"], finished["secret"], finished["epsilon"], finished["fingerprint"]
    assert columns == (list(certificate.public), list(certificate.secret), certificate.epsilon, certificate.fingerprint)
    assert str(RARE) not in path.read_text()


def test_the_frame_and_the_texts(path):
    release(path)
    release(path, **BOUNDED, about={"dataset": "others"})
    book = ledger(path)
    assert len(book) == 2
    frame = book.frame
    assert frame["dataset"].tolist() == ["people of 2026", "others"]
    assert frame["columns"].tolist() == ["score", "score, visits"]
    assert frame["guarantee"].tolist() == ["by the randomness of the values", "by the ranges of the columns"]
    assert (frame["state"] == "finished").all()
    for text in (str(book), book._repr_html_()):
        assert "all together: epsilon 0.5" in text
        assert "2 releases" in text
    empty = Ledger(path.with_name("none.jsonl"), limit=2.0, delta=1e-6)
    assert (len(empty), len(empty.frame)) == (0, 0)
    assert "epsilon 2 and delta 1e-06 for each data set" in str(empty)
    assert list(empty.frame.columns) == list(frame.columns)
    assert not path.with_name("none.jsonl").exists()
    with pytest.raises(LedgerNotFoundError, match=r"none.jsonl' must be [^;]*; got no such file.\n\nHint: .*ledger="):
        ledger(path.with_name("none.jsonl"))


@pytest.mark.parametrize(
    ("options", "guarantee"),
    [
        ({"public": "hobby"}, "of a channel"),
        ({"public": ["score", "visits"], "mechanism": Noise(theorem="kantorovich")}, "by a coupling of rows"),
        ({"releases": 3}, "planned for 3 releases"),
        ({"public": "visits", "mechanism": Noise(theorem="kantorovich", calibration="theorem")}, "by a coupling"),
    ],
)
def test_kinds_of_guarantee(path, options, guarantee):
    release(path, **options)
    assert [entry.guarantee for entry in ledger(path)] == [guarantee]


def test_totals_are_those_of_compose(path):
    released = [release(path, **BOUNDED, epsilon=e) for e in (0.25, 0.5)]
    release(path, about={"dataset": "others"})
    assert ledger(path).total(dataset="people of 2026") == compose(released)
    assert ledger(path).total(dataset="others").epsilon == 0.5
    with pytest.raises(ArgumentError, match="one of the data sets"):
        ledger(path).total()
    release(path, about={"dataset": "others"}, public="visits")
    with pytest.raises(CalibrationError, match="randomness of the values"):
        ledger(path).total(dataset="others")
    found = ledger(path).total(dataset="others", frame=PEOPLE)
    assert found.releases == 2
    assert "computed from the table" in found.rule


def test_a_limit_is_kept_before_anything_is_drawn_or_written(path, monkeypatch):
    book = Ledger(path, limit=1.0)
    release(book, **BOUNDED)
    release(book, **BOUNDED, epsilon=0.25)
    before = path.read_bytes()
    monkeypatch.setattr(LocalRows, "release", lambda *_: pytest.fail("it was drawn"))
    with pytest.raises(LedgerError, match=r"within epsilon 1 together; got epsilon 1.25"):
        release(book, **BOUNDED)
    with pytest.raises(LedgerError, match="delta"):
        release(book, **BOUNDED | {"mechanism": Noise("gaussian", theorem="bounded")}, epsilon=0.1, delta=1e-6)
    with pytest.raises(LedgerError, match="nothing is known together"):
        release(book, public="hobby", epsilon=0.1, beliefs=("only", PEOPLE))
    assert path.read_bytes() == before
    monkeypatch.undo()
    release(book, **BOUNDED, epsilon=0.25)
    release(book, **BOUNDED, epsilon=1.0, about={"dataset": "others"})
    assert book.total(dataset="people of 2026").epsilon == 1.0


def test_a_limit_for_exact_scales_is_computed_from_the_table(path):
    book = Ledger(path, limit=1.0)
    release(book)
    release(book, public="visits", epsilon=0.2)
    together = book.total(frame=PEOPLE).epsilon
    assert 0.5 < together <= 1.0
    with pytest.raises(LedgerError, match="with this one"):
        release(book)
    assert book.total(frame=PEOPLE).epsilon == together
    missing = PEOPLE.assign(visits=PEOPLE["visits"].where(PEOPLE.index > 3))
    with pytest.raises(LedgerError, match="nothing is known together"):
        release(book, missing, public="visits", epsilon=0.1, nulls="drop")


def test_a_limit_of_answers_labels_and_seeds(path):
    for k, name in enumerate(("sums", "labels")):
        book = Ledger(path.with_name(f"{k}.jsonl"), limit=1.0)
        RELEASES[name](book)
        with pytest.raises(LedgerError, match="nothing is known"):
            RELEASES[name](book)
    with pytest.raises(LedgerError, match="came from a seed"):
        release(Ledger(path, limit=1.0), rng=1)
    release(path, rng=1)
    with pytest.raises(CalibrationError, match="came from a seed"):
        ledger(path).total()


def test_a_release_that_fails_counts_until_it_is_withdrawn(path, monkeypatch):
    book = Ledger(path, limit=0.6)

    def fail(*_):
        assert [entry.state for entry in book] == ["not finished"]  # written before anything is drawn
        raise MemoryError

    monkeypatch.setattr(LocalRows, "release", fail)
    with pytest.raises(MemoryError):
        release(book)
    monkeypatch.undo()
    (entry,) = book
    assert (entry.state, entry.counts) == ("not finished", True)
    assert "not finished (entry" in str(book)
    assert book.total().epsilon == 0.5
    with pytest.raises(LedgerError):
        release(book)
    book.withdraw(entry.entry)
    book.withdraw(entry.entry)
    assert [each.state for each in book] == ["withdrawn"]
    assert "nothing counts" in str(book)
    release(book)
    (_, second) = book
    with pytest.raises(ArgumentError, match="not finished"):
        book.withdraw(second.entry)
    with pytest.raises(ArgumentError, match="not in the ledger"):
        book.withdraw("0" * 16)
    assert [each.counts for each in book] == [False, True]


@pytest.mark.filterwarnings("ignore::puffer_frames.KeptColumnWarning")
def test_a_plan_is_one_entry_however_often_it_is_run(path, tmp_path):
    plan = release(path, pl.from_pandas(PEOPLE).lazy(), layout=Layout(keep="visits"))
    assert [entry.state for entry in ledger(path)] == ["not finished"]
    assert ledger(path).total().epsilon == 0.5
    plain = plan.collect()
    assert [(entry.state, entry.certificate.fingerprint) for entry in ledger(path)] == [("finished", "")]
    first = plan.puffer.collect()
    assert first.equals(plain)
    (entry,) = ledger(path)
    assert (entry.state, entry.certificate) == ("finished", first.puffer.certificate)
    before = path.read_bytes()
    assert plan.puffer.collect().equals(first)
    plan.puffer.sink_parquet(tmp_path / "released.parquet")
    assert plan.collect().equals(first)
    assert path.read_bytes() == before
    check_lines(look(path)[0], path=path)
    other = release(path, pl.from_pandas(PEOPLE).lazy())
    other.puffer.sink_parquet(tmp_path / "released.parquet")
    assert [entry.state for entry in ledger(path)] == ["finished"] * 2
    certificate = puffer_frames.read_certificate(tmp_path / "released.parquet")
    assert list(ledger(path))[1].certificate == certificate


def test_a_ledger_is_the_same_file_in_another_folder(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "first")
    book = Ledger("releases.jsonl", limit=0.5)
    plan = release("releases.jsonl", pl.from_pandas(PEOPLE).lazy())
    monkeypatch.chdir(tmp_path / "second")
    plan.puffer.collect()
    for same in (book, pickle.loads(pickle.dumps(book))):
        assert [entry.state for entry in same] == ["finished"]
        with pytest.raises(LedgerError, match=r"within epsilon 0\.5"):
            release(same)
    assert not list((tmp_path / "second").iterdir())


def test_a_write_that_failed_is_tried_again_with_the_same_noise(path, tmp_path, monkeypatch):
    plan, file = release(path, pl.from_pandas(PEOPLE).lazy()), tmp_path / "released.parquet"
    write = attached.sink_plan

    def full(*given, **options):
        write(*given, **options)
        file.unlink()
        raise OSError(errno.ENOSPC, "no space is left")

    with monkeypatch.context() as patched:
        patched.setattr(attached, "sink_plan", full)
        with pytest.raises(OSError, match="no space"):
            plan.puffer.sink_parquet(file)
    first = plan.puffer.collect()
    plan.puffer.sink_parquet(file)
    assert pl.read_parquet(file).equals(first)
    assert [entry.state for entry in ledger(path)] == ["finished"]


def test_a_plan_that_was_withdrawn_is_not_run(path, tmp_path):
    plan = release(path, pl.from_pandas(PEOPLE).lazy())
    (entry,) = ledger(path)
    Ledger(path).withdraw(entry.entry)
    file = tmp_path / "released.parquet"
    runs = [plan.puffer.collect, plan.collect, plan.filter(pl.col("score") > 0).collect]
    for run in (*runs, lambda: plan.puffer.sink_parquet(file), lambda: plan.sink_parquet(file)):
        with pytest.raises(LedgerError, match="withdrawn"):
            run()
    file.unlink(missing_ok=True)  # Polars leaves the beginning of a file
    assert not (tmp_path / "released.parquet").exists()
    path.unlink()
    with pytest.raises(LedgerError, match="no longer there"):
        plan.puffer.collect()


@pytest.mark.parametrize("place", [(attached.Certificate, "of_values"), (Source, "_batches")])
def test_a_plan_that_is_withdrawn_while_it_runs_gives_nothing(path, tmp_path, monkeypatch, place):
    file, done = tmp_path / "released.parquet", getattr(*place)
    runs = [
        lambda plan: plan.puffer.sink_parquet(file),
        lambda plan: plan.puffer.collect(),
        lambda plan: plan.collect(),
    ]
    for run in runs if place[0] is Source else runs[:2]:  # a plain collect() is told of no certificate
        plan = release(path, pl.from_pandas(PEOPLE).lazy())
        (*_, entry) = ledger(path)

        def withdrawn_meanwhile(*given, entry=entry.entry):
            found = done(*given)
            Ledger(path).withdraw(entry)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(*place, withdrawn_meanwhile)
            with pytest.raises(LedgerError, match="withdrawn"):
                run(plan)
        assert not file.exists()
    assert {entry.state for entry in Ledger(path)} == {"withdrawn"}


@pytest.mark.parametrize(
    "run",
    [
        lambda plan, see: plan.sink_batches(see),
        lambda plan, see: [see(batch) for batch in plan.collect_batches()],
        lambda plan, see: plan.map_batches(lambda batch: see(batch) or batch, streamable=True).collect(),
    ],
)
def test_nobody_withdraws_a_release_of_which_polars_hands_over_rows(path, run):
    plan, seen = release(path, pl.from_pandas(PEOPLE).lazy()), []
    (entry,) = ledger(path)

    def see(batch):
        seen.append(len(batch))
        with pytest.raises(ArgumentError, match="not finished"):
            Ledger(path).withdraw(entry.entry)

    run(plan, see)
    assert sum(seen) == ROWS
    assert [each.state for each in ledger(path)] == ["finished"]


def test_nobody_withdraws_a_release_whose_file_is_getting_its_name(path):
    release(path)
    (entry,) = ledger(path)
    name = Ledger(path).reserve(entry.certificate, PEOPLE)
    with Ledger(path).finishing(name, entry.certificate):
        assert look(path)[1]  # locked
    with pytest.raises(ArgumentError, match="not finished"):
        Ledger(path).withdraw(name)


def test_a_release_that_was_finished_after_it_was_withdrawn_counts_and_is_a_fault(path):
    release(path)
    (entry,) = ledger(path)
    lines = path.read_text().splitlines()
    gone = json.dumps(entry_line(entry.entry, "withdrawn", None))
    path.write_text("\n".join([lines[0], gone, lines[1], ""]))
    assert ledger(path).total().epsilon == 0.5
    with pytest.raises(LedgerError, match="line 3 that finishes a release after it was withdrawn"):
        check_lines(look(path)[0], path=path)


def test_a_line_that_is_cut_off_is_reported_and_skipped(path):
    release(path)
    whole = path.read_text()
    for cut in (1, 60, len(whole.splitlines()[0]) - 1):
        path.write_text(whole + whole[:cut])
        with pytest.warns(LedgerWarning, match="line 3") as caught:
            assert len(Ledger(path)) == 1
        assert caught[0].message.lines == (3,)
        with pytest.warns(LedgerWarning):
            release(path)
        text = path.read_text()
        assert text.startswith(whole + whole[:cut] + "\n")
        with pytest.warns(LedgerWarning, match="line 3"):
            assert [entry.state for entry in Ledger(path)] == ["finished"] * 2
    path.write_text(whole.removesuffix("\n"))  # the end of a line alone is missing
    release(path)
    assert len(ledger(path)) == 2


@pytest.mark.parametrize("said", [{"dataset": "other"}, {"batch": "2"}])
def test_lines_of_another_data_set_than_their_certificates(path, said):
    """With digests of their own: such an entry would no longer count where it was spent."""
    release(path)
    lines = [json.loads(line) | said for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(line | {"digest": entries._digest(without(line))}) + "\n" for line in lines))
    with pytest.raises(LedgerError, match="line 1 with the certificate of another data set or batch"):
        release(Ledger(path, limit=1.0))


def without(line):
    return {name: entry for name, entry in line.items() if name != "digest"}


def test_what_no_release_has_written_is_an_error(path):
    release(path)
    lines = path.read_text().splitlines()
    first, last = ({k: v for k, v in json.loads(line).items() if k != "digest"} for line in lines)
    wrong = {
        "line 2 that was changed": [lines[0], lines[1].replace('"epsilon": 0.5', '"epsilon": 0.4', 1)],
        "line 1 that was changed": [json.dumps(json.loads(lines[0]), separators=(",", ":")), lines[1]],
        "no entry": [lines[0], lines[1][:50], lines[0].replace(first["entry"], "other")],
        "another state": [lines[0], json.dumps(last | {"state": "forgotten"})],
        "line 1 with another state": [lines[1]],
        "schema 2.0": [json.dumps(first | {"schema": "2.0"})],
        "without a time": [json.dumps(first | {"dataset": None})],
        "certificate that is none": [json.dumps(first | {"certificate": {"epsilon": 1, "dataset": NAMED["dataset"]}})],
        "certificate of another data set": [json.dumps(first | {"certificate": 5})],
        "line 2 with another state": [lines[0], lines[0]],
    }
    for match, texts in wrong.items():
        path.write_text("\n".join(texts) + "\n")
        for use in (lambda: Ledger(path).entries(), lambda: release(Ledger(path, limit=9.0))):
            with pytest.raises(LedgerError, match=match):
                use()


def test_only_lines_that_are_new_to_the_process_are_read_and_all_bytes_are_compared(path, tmp_path, monkeypatch):
    other, read, line = tmp_path / "other.jsonl", [], entries._line
    monkeypatch.setattr(entries, "_READ", {})  # the eighth ledger of a process empties it
    for book in (path, path, path, other):
        release(book)
    with path.open("a") as file:
        file.write(other.read_text())  # as another process adds to it
    monkeypatch.setattr(entries, "_line", lambda text: read.append(text) or line(text))
    release(path)
    assert read == [path.read_text().splitlines()[k] for k in (5, 6, 7, 8)]
    whole = path.read_text()
    path.write_text(whole.replace('"epsilon": 0.5', '"epsilon": 0.4', 1))
    with pytest.raises(LedgerError, match="line 1 that was changed"):
        release(path)
    path.write_text(whole + whole[:60])
    with pytest.warns(LedgerWarning, match="line 11"):
        release(path)
    with pytest.warns(LedgerWarning, match="line 11"):
        known = ledger(path).entries()
    entries._READ.clear()
    with pytest.warns(LedgerWarning, match="line 11"):
        assert ledger(path).entries() == known
    path.write_text("\n".join(whole.splitlines()[:4]) + "\n")
    assert len(ledger(path)) == 2


def test_lines_without_a_digest_are_read_as_before(path):
    release(path, **BOUNDED)
    certificates = [entry.certificate for entry in ledger(path)]
    whole = path.read_text()
    early = re.sub(r', "digest": "sha256:[0-9a-f]{64}"', "", whole)
    path.write_text(early.replace('"schema": "1.1"', '"schema": "1.0"'))
    release(path, **BOUNDED)
    assert [entry.certificate for entry in ledger(path)][:1] == certificates
    assert ledger(path).total().epsilon == 1.0


def test_a_data_set_must_have_a_name(path):
    for about in (None, {"issuer": "Our office"}):
        with pytest.raises(ArgumentError, match="name of the data set"):
            release(path, about=about)
    for unseen in "\u3164\ufe0f\u034f\u115f\u2800\u180b\uffa0\u200b\U0001d159\U00016fe4":
        with pytest.raises(ArgumentError, match="characters that nobody sees"):
            release(path, about={"dataset": "people" + unseen})
    assert not path.exists()


def test_two_tables_of_one_name_are_not_added(path):
    release(path, **BOUNDED)
    release(path, PEOPLE.head(200), **BOUNDED)
    with pytest.raises(CalibrationError, match="different numbers of rows"):
        ledger(path).total()


def of_batch(where, night, *, rows=100, declared=True, **options):
    about = NAMED | {"batch": night} | ({"batches": "no person is in two"} if declared else {})
    frame = PEOPLE.iloc[:rows] if night == "first" else PEOPLE.iloc[-rows:].reset_index(drop=True)
    return release(where, frame, about=about, **options)


def test_batches_of_other_people_count_once_and_the_limit_holds_in_each(path):
    book = Ledger(path, limit=0.5)
    first = of_batch(book, "first", **BOUNDED)
    second = of_batch(book, "second", rows=90)  # by other scales and for another column
    assert book.total().epsilon == compose([first, second]).epsilon == 0.5
    assert compose([first, second]).beliefs == second.puffer.certificate.beliefs
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"epsilon 0\.6 with this one"):
        of_batch(book, "first", **BOUNDED, epsilon=0.1)
    with pytest.raises(LedgerError, match="nothing is known together"):  # a release of nobody knows which batch
        release(book, **BOUNDED, epsilon=0.1)
    assert path.read_bytes() == before
    third = of_batch(book, "third", secret="hobby")  # another secret of other people
    both = compose([first, third])
    assert "each batch protects what is its own" in both.rule
    assert both.subjects == tuple(each.puffer.certificate.subject for each in (first, third))
    assert "protects  group of each record, every pair of values; hobby of each record" in str(both)
    said = {each.key: each for each in second.puffer.certificate.statements}
    assert "no person is in two batches of it" in said["batches"].text
    assert said["batches"].kind == "assumed"
    assert book.frame["batch"].tolist() == ["first", "second", "third"]


@pytest.mark.parametrize("query", ["sum", "count"])
def test_a_reserved_line_of_answers_says_once_that_nobody_is_in_two_batches(path, query):
    about = NAMED | {"batch": "first", "batches": "no person is in two"}
    asked = {"unit": "name", "query": query, "epsilon": 1.0, "domain": (0, 9), "about": about, "ledger": path}
    PEOPLE.puffer.aggregate(value="visits", **asked)
    for line in path.read_text().splitlines():
        assert [each["key"] for each in json.loads(line)["certificate"]["statements"]].count("batches") == 1


def test_what_declares_nothing_counts_beside_every_batch(path):
    released = [of_batch(None, name, **BOUNDED) for name in ("first", "second")]
    released += [of_batch(None, "third", declared=False, **BOUNDED, epsilon=0.2)]
    assert compose(released).epsilon == 0.7
    alone = [of_batch(None, name, declared=False, **BOUNDED) for name in ("first", "second")]
    assert compose(alone).epsilon == 1.0  # a person may be in both
    planned = [of_batch(None, name, declared=False, releases=2) for name in ("first", "second")]
    with pytest.raises(CalibrationError, match="in which one person may be twice"):
        compose(planned)  # equally many rows, but other ones
    with pytest.raises(CalibrationError, match="several tables"):
        compose([of_batch(None, name) for name in ("first", "second")], frame=PEOPLE)
    elsewhere = release(None, about={"dataset": "others", "batch": "b", "batches": "no person is in two"})
    with pytest.raises(CalibrationError, match="different data sets"):
        compose([released[0], elsewhere])


def test_a_ledger_of_batches_reads_only_what_counts_for_one(path, monkeypatch):
    of_batch(path, "first")
    monkeypatch.setattr(entries, "_kept_certificate", lambda text: pytest.fail("it was read"))
    of_batch(Ledger(path, limit=0.5), "second")
    assert len(Ledger(path)) == 2


@pytest.mark.parametrize(
    "about",
    [
        {"batch": "first "},
        {"batch": "fi\u200brst"},
        {"batch": "first\u3164"},
        {"batches": "no person is in two"},
        {"batch": "first", "batches": "nobody"},
    ],
)
def test_what_is_no_batch(about):
    with pytest.raises(ArgumentError, match="batch"):
        release(None, about=NAMED | about)
    with pytest.raises(ArgumentError, match="data set"):
        release(None, about={"batch": "first", "batches": "no person is in two"})
    with pytest.raises(ArgumentError, match="rows_per_person"):
        release(None, about=NAMED | {"rows_per_person": "two"})


def test_what_releases_add_to_a_scale_is_on_plan_and_certificate():
    for noise, delta, factor in (("laplace", 0.0, "3"), ("gaussian", 1e-6, "1.73205")):
        asked = {"secret": "group", "public": "score", "epsilon": 1.0, "mechanism": Noise(noise), "delta": delta}
        plan, one = (PEOPLE.puffer.calibrate(**asked, releases=k) for k in (3, 1))
        assert plan.scale / one.scale == pytest.approx(float(factor), rel=1e-5)
        assert f"each scale is {factor} times that of a single release" in " ".join(str(plan).split())
        said = {each.key: each.text for each in plan.release(PEOPLE).puffer.certificate.statements}
        assert said["planned-releases"].endswith(f"A scale is {factor} times that of a single release.")
        assert "times that of" not in str(one)


@pytest.mark.parametrize(("epsilon", "limit", "times"), [(0.1, 0.3, 3), (0.7, 2.1, 3), (1 / 3, 1.0, 3)])
def test_a_limit_that_is_shared_out_can_be_used_up_and_not_passed(path, epsilon, limit, times):
    book = Ledger(path, limit=limit)
    for _ in range(times):
        release(book, **BOUNDED, epsilon=epsilon)
    assert Decimal(str(book.total().epsilon)) == sum([Decimal(str(epsilon))] * times) <= Decimal(str(limit))
    with pytest.raises(LedgerError, match="together"):
        release(book, **BOUNDED, epsilon=1e-9)


def test_a_delta_that_is_shared_out_can_be_used_up(path):
    book = Ledger(path, limit=0.9, delta=3e-7)
    asked = BOUNDED | {"mechanism": Noise("gaussian", theorem="bounded"), "epsilon": 0.3, "delta": 1e-7}
    for _ in range(3):
        release(book, **asked)
    assert (book.total().epsilon, book.total().delta) == (0.9, 3e-7)
    with pytest.raises(LedgerError, match="together"):
        release(book, **asked | {"epsilon": 1e-9})


def test_a_limit_for_releases_under_one_coupling_can_be_used_up(path):
    book = Ledger(path, limit=0.3)
    coupled = {"public": ["score", "visits"], "mechanism": Noise(theorem="kantorovich"), "epsilon": 0.1}
    for _ in range(3):
        release(book, **coupled)
    assert book.total().epsilon == 0.3
    with pytest.raises(LedgerError, match="together"):
        release(book, **coupled | {"epsilon": 1e-6})


def test_a_plan_for_several_releases_and_others_can_use_up_a_limit(path):
    book = Ledger(path, limit=0.3)
    planned = {"epsilon": 0.1, "releases": 2}
    for _ in range(2):
        release(book, **planned)
    for _ in range(2):
        release(book, **BOUNDED, epsilon=0.1)
    assert book.total().epsilon == 0.3


def test_sums_are_those_of_decimals():
    rng = np.random.default_rng(0)
    for _ in range(300):
        numbers = [
            float(f"{x:.{k}g}") for x, k in zip(10 ** rng.uniform(-9, 3, 5), rng.integers(1, 18, 5), strict=True)
        ]
        with localcontext(prec=400):
            exact = sum(map(Decimal, map(repr, numbers)))
        found = sum_as_written(numbers)
        assert Decimal(repr(math.nextafter(found, 0))) < exact <= Decimal(repr(found))
    assert up_as_written(Fraction(0)) == 0
    assert up_as_written(3 * as_written(1e308)) == math.inf


def test_a_release_whose_rows_lose_more_than_was_asked_for_is_within_no_limit(path):
    """A drifted batch at a measured loss of 3.46 counted as the epsilon of 1 that was asked for."""
    plan = PEOPLE.puffer.calibrate(secret="group", public="visits", epsilon=1.0)
    drifted = PEOPLE.assign(visits=np.where(GROUP == "a", 0, 4))
    options = {"allow_other_frame": True, "allow_drift": True, "about": NAMED}
    with pytest.raises(LedgerError, match="lose more than was asked for"):
        plan.release(drifted, ledger=Ledger(path, limit=1.0), **options)
    assert not path.exists() or not len(ledger(path))
    plan.release(drifted, ledger=path, **options)  # without a limit it is written down
    with pytest.raises(CalibrationError, match="lose more than was asked for"):
        ledger(path).total()
    narrow = {"beliefs": "fitted", "mechanism": Noise(theorem="translation")}  # whose laws are not those of the rows
    around = np.where(RNG.random(ROWS) < 0.5, -9, 9) + RNG.normal(size=ROWS).round(1)
    far = PEOPLE.assign(visits=np.where(GROUP == "a", around, 0.1 * PEOPLE["visits"]))
    released = release(None, far, public="visits", **narrow)
    with pytest.raises(CalibrationError, match="lose more than was asked for"):
        compose([released, released])


def test_a_finished_release_is_not_withdrawn_by_hand(path):
    release(path)
    first = json.loads(path.read_text().splitlines()[0])
    line = {key: first[key] for key in ("schema", "entry", "time")} | {"state": "withdrawn"}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(LedgerError, match="with another state"):
        ledger(path)


def test_two_spellings_of_an_accent_are_one_data_set(path):
    for name in ("caf\u00e9", "cafe\u0301"):
        release(path, public="visits", about={"dataset": name})
    assert set(ledger(path).frame["dataset"]) == {"caf\u00e9"}


def test_a_composition_names_its_beliefs(path):
    coupled = {"mechanism": Noise(theorem="kantorovich", calibration="theorem"), "public": "visits"}
    for options, beliefs in ((coupled, ("empirical",)), (BOUNDED, ())):
        found = compose([release(None, **options), release(None, **options)])
        assert found.beliefs == beliefs
    assert "any law within the ranges" in str(found)
