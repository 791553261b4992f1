"""Exit codes, what is said, and that nothing is half written or destroyed."""

import errno
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from threading import Barrier

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import ASKED, ends, people, run
from conftest import few

import puffer_frames
from puffer_frames import Ledger
from puffer_frames.doors.command import jobs, places
from puffer_frames.doors.command.jobs import write
from puffer_frames.doors.command.outcome import STATUS, failed
from puffer_frames.errors import ArgumentTypeError, FileTakenError
from puffer_frames.frames import files
from puffer_frames.verbs.ledgers import locked_lines

MAIN = "import sys\nfrom puffer_frames.doors.command.main import main\nsys.exit(main())"
RELEASE = ("release", "in.parquet", "out.parquet")
ABOUT = ("--about", "dataset=people")
SPENDING = ("--ledger", "l.jsonl", "--limit", "1", "--about", "dataset=people")
"""Beside an epsilon of 1: one release, and no more."""
NAMED = ("--ledger", "l.jsonl", "--about", "dataset=people")

TYPED = (*ASKED, "--keep", "occupation", "--schema", "occupation=Int64")
BY_PLAN = ("--plan", "plan.json", "--allow-other-frame")
FAILURES = [
    # words, exit code, kind of error, part of what is said
    ([], 2, "ArgumentError", "no subcommand"),
    (["publish"], 2, "ArgumentError", "invalid choice"),
    (["release"], 2, "ArgumentError", "no input"),
    (["release", "in.parquet"], 2, "ArgumentError", "no output"),
    ([*RELEASE], 2, "ArgumentError", "--secret, --epsilon"),
    ([*RELEASE, *ASKED, "--epsilom", "1"], 2, "ArgumentError", "Did you mean --epsilon?"),
    ([*RELEASE, *ASKED[:-2], "--e", "1"], 2, "ArgumentError", "Did you mean --epsilon?"),  # not --encoding
    ([*RELEASE, *ASKED, "--epsilon", "2"], 2, "ArgumentError", "given once"),
    ([*RELEASE, *ASKED[:-1], "one"], 2, "ArgumentError", "a number"),
    ([*RELEASE, *ASKED[:-1], "1_0"], 2, "ArgumentError", "a number"),
    ([*RELEASE, *ASKED[:-1], "-1"], 2, "ArgumentError", "epsilon"),
    ([*RELEASE, *ASKED, "--secret"], 2, "ArgumentError", "expected one argument"),
    ([*RELEASE, "--secret", "rase", *ASKED[2:]], 2, "ColumnNotFoundError", "'race'"),
    ([*RELEASE, *ASKED, "--noise", "uniform"], 2, "ArgumentError", "noise"),
    ([*RELEASE, *ASKED, "--noise", "stable:9"], 2, "ArgumentError", "alpha"),
    ([*RELEASE, *ASKED[:-1], "1e300", "--noise", "stable:1.5"], 2, "ArgumentError", "small enough for a scale"),
    ([*RELEASE, *ASKED, *NAMED, "--limit", "nan"], 2, "ArgumentError", "the limit must be finite"),
    ([*RELEASE, *ASKED, *NAMED, "--limit", "0"], 2, "ArgumentError", "the limit must be finite"),
    ([*RELEASE, *ASKED, *NAMED, "--limit", "1", "--limit-delta", "1"], 2, "ArgumentError", "the delta of the limit"),
    ([*RELEASE, *ASKED, *NAMED, "--limit-delta", ".1"], 2, "ArgumentError", "--limit 2 of the command"),
    ([*RELEASE, *ASKED, "--limit-delta", ".1"], 2, "ArgumentError", "--limit-delta must be given with --ledger"),
    ([*RELEASE, *ASKED, "--unit", "patient"], 2, "ArgumentError", "--unit-rows"),
    ([*RELEASE, *ASKED, "--unit-most", "4"], 2, "ArgumentError", "--unit"),
    ([*RELEASE, *ASKED, "--given-scale", "one"], 2, "ArgumentError", "--given"),
    ([*RELEASE, *ASKED, "--mechanism", "noise", "--channel-cap", "4"], 2, "ArgumentError", "--mechanism channel"),
    ([*RELEASE, *ASKED, "--mechanism", "channel", "--noise", "laplace"], 2, "ArgumentError", "--mechanism noise"),
    ([*RELEASE, *ASKED, "--mechanism", "noise", "--merge-rare", "4"], 2, "ArgumentError", "--mechanism channel"),
    ([*RELEASE, *ASKED, "--merge-rare", "4", "--theorem", "gmm"], 2, "ArgumentError", "--mechanism channel"),
    (["report", "--file", "in.parquet"], 2, "ArgumentError", "without its name: puffer report FILE PAGE"),
    ([*RELEASE, *ASKED, "--out", "a"], 2, "ArgumentError", "without its name: puffer release INPUT OUTPUT"),
    ([*RELEASE, *ASKED, "--layout", "a"], 2, "ArgumentError", "See puffer release --help"),
    ([*RELEASE, *ASKED, "--clip", "0-1"], 2, "ArgumentError", "LOW:HIGH"),
    ([*RELEASE, *ASKED, "--config", "job.yaml"], 2, "ArgumentError", ".toml"),
    ([*RELEASE, *ASKED, "--domain", "age=x:y"], 2, "ArgumentError", "LOW:HIGH"),
    (["release", "in.parquet", "in.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["release", "in.parquet", "./linked.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["release", "parts", "parts/2.parquet", *ASKED], 2, "ArgumentError", "the path of an input"),
    *(
        ([*job, "in.csv", *ASKED, "--beliefs", "fitted,table:in.csv", "--overwrite"], 2, "ArgumentError", "an input")
        for job in (["release", "in.parquet"], ["plan", "in.parquet"])
    ),
    (["release", "in.parquet", "in.csv", *ASKED], 3, "FileTakenError", "--overwrite"),
    (["release", "in.parquet", "parts/", *ASKED], 3, "FileTakenError", "holds something"),
    (["release", "in.parquet", "out.xlsx", *ASKED], 2, "ArgumentError", ".parquet"),
    (["release", "in.parquet", "out.txt", *ASKED], 2, "ArgumentError", ".ipc, or that of a folder"),
    ([*RELEASE, *ASKED, "--ledger", "out.parquet", *ABOUT], 2, "ArgumentError", "an input, that of --ledger"),
    (
        [*RELEASE, *ASKED, "--ledger", "l.jsonl", *ABOUT, "--metrics", "l.jsonl"],
        2,
        "ArgumentError",
        "--metrics must be another file than every input and output; got the path of --ledger",
    ),
    ([*RELEASE, *ASKED, "--ledger", "in.csv", *ABOUT], 3, "LedgerNotFoundError", "another file: its first line"),
    ([*RELEASE, *ASKED, "--mechanism", "foo"], 2, "ArgumentError", "auto, noise, remap, channel, sequential"),
    ([*RELEASE, *ASKED, "--beliefs", "foo"], 2, "ArgumentError", "--beliefs must be one of fitted, empirical"),
    ([*RELEASE, *ASKED, "--noise", "stable"], 2, "ArgumentError", "a noise such as stable:1.7"),
    (["release", "in.parquet", "a\0b.csv", *ASKED], 2, "ArgumentError", "the path of a file"),
    (["release", "no.parquet", "out.parquet", *ASKED], 3, "FileNotFoundError", "no.parquet"),
    (["release", "in.parquet", "no/out.parquet", *ASKED], 3, "FileNotFoundError", "'no'"),
    (["release", "wrong.parquet", "out.parquet", *ASKED], 3, "TableFileError", "a Parquet file"),
    (["release", "wrong.arrow", "out.parquet", *ASKED], 3, "TableFileError", "an Arrow file"),
    (["release", "empty.csv", "out.parquet", *ASKED], 3, "TableFileError", "an empty file"),
    (["release", "packed.csv", "out.parquet", *ASKED], 3, "TableFileError", "of the format gzip"),
    (["release", "damaged.parquet", "o.csv", *ASKED, "--keep", "occupation"], 3, "TableFileError", "got a damaged one"),
    (["release", "a\udcff.parquet", "out.parquet", *ASKED], 2, "ArgumentError", "in UTF-8"),
    (["release", "in.csv", "o.csv", *ASKED, "--encoding", "undefined"], 2, "ArgumentError", "Python knows"),
    (["verify", "."], 1, "UncoveredFrameError", "--certificate"),
    ([*RELEASE, *ASKED, "--config", "no.toml"], 3, "FileNotFoundError", "no.toml"),
    ([*RELEASE, "--plan", "no.json"], 3, "FileNotFoundError", "no.json"),
    ([*RELEASE, "--plan", "wrong.json"], 3, "PlanFileError", "plan file"),
    (["plan", "in.parquet", "in.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["verify", "in.parquet"], 1, "UncoveredFrameError", "--certificate"),
    (["verify", "in.csv", "--certificate", "wrong.json"], 1, "UncoveredFrameError", "certificate"),
    (["show", "in.csv"], 1, "UncoveredFrameError", "certificate"),
    (["show", "in.csv", "--as", "pdf"], 2, "ArgumentError", "text, html or json"),
    (["release", "none.csv", "out.parquet", *ASKED], 4, "PriorError", "a table with rows"),
    (["release", "missing.csv", "out.parquet", *ASKED], 4, "PriorError", "without nulls"),
    (["release", "in.csv", "o.csv", *TYPED], 4, "ColumnTypeError", "Int64"),
    *(
        (["release", "in.csv", "o.csv", *ASKED, "--schema", f"occupation={kind}"], 4, "ColumnTypeError", "got 240 rows")
        for kind in ("Date", "Datetime", "DatetimeUTC", "Time", "Boolean")
    ),
    (["release", "days.csv", "o.csv", *ASKED, "--schema", "age=Date"], 4, "ColumnTypeError", "got 2 rows"),
    (["release", "in.csv", "o.csv", *ASKED, "--encoding", "utf-32"], 3, "TableFileError", "Leave --encoding out"),
    (["release", "text.csv", "out.parquet", *ASKED, "--mechanism", "noise"], 4, "ColumnTypeError", "integers, floats"),
    (["release", "text.csv", "o.csv", *BY_PLAN], 4, "ColumnTypeError", "of numbers, as in the plan"),
    ([*RELEASE, "--secret", "race", "--public", "flat", "--epsilon", "1"], 1, "NoNoiseNeededError", "needs noise"),
]


@pytest.mark.parametrize(
    ("words", "code", "kind", "said"), FAILURES, ids=lambda x: " ".join(x) if isinstance(x, list) else ""
)
def test_failures(folder, words, code, kind, said):
    people().with_columns(flat=pl.int_range(pl.len()).over("race") * 0).write_parquet("in.parquet")
    (folder / "linked.parquet").symlink_to("in.parquet")
    for name in ("wrong.parquet", "wrong.arrow", "wrong.json"):
        (folder / name).write_text("{}")
    (folder / "empty.csv").write_text("")
    (folder / "packed.csv").write_bytes(gzip.compress(b"race,age\na,1\n"))
    raw, chunk = bytearray((folder / "in.parquet").read_bytes()), pq.read_metadata("in.parquet").row_group(0).column(2)
    end = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size
    raw[end - 20 : end] = b"\xff" * 20
    (folder / "damaged.parquet").write_bytes(raw)
    (folder / "none.csv").write_text("race,age\n")
    (folder / "missing.csv").write_text("race,age\na,1\nb,\na,3\n")
    (folder / "text.csv").write_text("race,age\na,young\nb,old\na,old\n")
    (folder / "days.csv").write_text("race,age\na,2020-02-28\nb,2020-02-31\na,soon\n")
    if "plan.json" in words:
        assert run("plan", "in.parquet", "plan.json", *ASKED).code == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = ends(run(*words), code)
    assert done.err.startswith(f"puffer: {STATUS[code]}: ")
    assert said in done.err
    assert not done.out
    assert len([line for line in done.err.splitlines() if "WARNING" not in line]) == 1
    machine = run(*words, "--json")
    assert machine.code == machine.found["exit"] == code
    assert machine.found["error"]["kind"] == kind
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_an_output_is_replaced_only_when_it_is_said(folder):
    assert run(*RELEASE, *ASKED).code == 0
    first = (folder / "out.parquet").read_bytes()
    assert run(*RELEASE, *ASKED).code == 3
    assert (folder / "out.parquet").read_bytes() == first
    assert run(*RELEASE, *ASKED, "--overwrite").code == 0
    assert (folder / "out.parquet").read_bytes() != first
    (folder / "o.csv.certificate.json").write_text("{}")
    assert run("release", "in.csv", "o.csv", *ASKED).code == 3


def test_verdicts(folder):
    assert run("release", "in.csv", "out.csv", *ASKED, "--keep", "region").code == 0
    rows = pl.read_csv("out.csv")
    rows.with_columns(pl.col("age").round(1)).write_csv("out.csv")
    done = run("verify", "out.csv", "--json")
    assert (done.code, done.found["verdict"]) == (1, "derived")
    rows.with_columns(raw=people()["age"]).write_csv("out.csv")
    assert run("verify", "out.csv").out.strip() == "out.csv: uncovered"
    rows.write_csv("out.csv")
    assert run("verify", "out.csv").code == 0


def test_signatures(folder):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pem").write_bytes(public)
    assert run("release", "in.csv", "out.csv", *ASKED).code == 0
    beside = folder / "out.csv.certificate.json"
    assert run("verify", "out.csv", "--public-key", "key.pem").code == 1
    puffer_frames.Certificate.load(beside).sign(key).save(beside)
    assert run("verify", "out.csv", "--public-key", "key.pem").out.strip() == "out.csv: intact"
    plain = json.loads(beside.read_text())
    beside.write_text(json.dumps(plain | {"epsilon": 2.0}))
    assert run("verify", "out.csv", "--public-key", "key.pem").out.strip() == "out.csv: forged"
    (folder / "key.pem").write_text("no key")
    assert run("verify", "out.csv", "--public-key", "key.pem").code == 2


def test_shown_forms(folder):
    run("release", "in.parquet", "out.parquet", *ASKED)
    assert run("show", "out.parquet").out.startswith("Certificate of pure Pufferfish privacy")
    assert run("show", "out.parquet", "--as", "html").out.startswith("<table>")
    assert run("show", "out.parquet", "--json").found["certificate"]["epsilon"] == 1
    run("plan", "in.parquet", "plan.json", *ASKED)
    assert run("show", "plan.json", "--as", "html").out.startswith("<table>")
    assert run("show", "plan.json", "--as", "json").code == 2


def test_warnings_are_lines_and_quiet_is_quiet(folder):
    people().sort("race").write_parquet("sorted.parquet")
    done = ends(run("release", "sorted.parquet", "1.parquet", *ASKED), 0)
    assert [line for line in done.err.splitlines() if "RowOrderWarning" in line]
    assert all(line.startswith("puffer: WARNING: ") for line in done.err.splitlines())
    assert not run("release", "sorted.parquet", "2.parquet", *ASKED, "-q").err
    machine = run("release", "sorted.parquet", "3.parquet", *ASKED, "-q", "--json").found
    assert machine["warnings"][0]["kind"] == "RowOrderWarning"


def test_a_fault_is_a_line_without_its_text(folder, monkeypatch):
    def fault(_request):
        raise RuntimeError("the value 4711")

    monkeypatch.setitem(jobs.JOBS, "release", fault)
    done = ends(run(*RELEASE, *ASKED), 3, "RuntimeError")
    assert "4711" not in done.err


@pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt, 130), (pl.exceptions.PanicException, 3)])
def test_what_is_no_exception_ends_with_one_object(folder, monkeypatch, stop, code):
    def stopped(_request):
        raise stop("the value 4711")

    monkeypatch.setitem(jobs.JOBS, "release", stopped)
    done = run(*RELEASE, *ASKED, "--json")
    assert (done.code, done.found["exit"], done.found["error"]["kind"]) == (code, code, stop.__name__)
    assert "4711" not in done.out + done.err + run(*RELEASE, *ASKED).err


def test_an_infinite_error_is_null(folder):
    done = run("plan", "in.parquet", "plan.json", *ASKED, "--noise", "stable:1", "--json")
    assert (done.code, done.found["expected_error"]) == (0, {"age": None})


def test_a_plan_says_what_its_errors_are(folder):
    done = run("plan", "in.parquet", "plan.json", *ASKED)
    assert "(mean absolute, in units of the column) age " in done.out
    words = (
        "--secret",
        "race",
        "--public",
        "age,occupation",
        "--epsilon",
        "1",
        "--mechanism",
        "sequential",
        "--overwrite",
    )
    assert "expected error (share of the rows" in run("plan", "in.parquet", "plan.json", *words).out


def test_help_and_version(folder):
    for words in (["--help"], ["release", "--help"], ["--version"]):
        done = ends(run(*words), 0)
        assert "puffer" in done.out
    assert "--unit-rows" in run("release", "--help").out


@pytest.mark.apart
def test_as_a_process(folder):
    command = [sys.executable, "-m", "puffer_frames", *RELEASE, *ASKED, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "released")


@pytest.mark.apart
def test_a_trace_of_polars_is_not_shown(folder, in_a_process):
    far = pl.Series([9 * 10**18, *[0] * 239], dtype=pl.Datetime("us"))
    people().with_columns(seen=far).write_parquet("far.parquet")
    words = ("release", "far.parquet", "out.csv", *ASKED, "--keep", "seen")
    done = in_a_process(MAIN, *words, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"], done.stderr) == (3, "TableFileError", "")
    done = in_a_process(MAIN, *words)
    assert done.stderr.startswith("puffer: input or output: the column 'seen' must be")


SMALL = """
import resource, signal, sys
sys.dont_write_bytecode = True  # a module that is cut off would stay
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))  # the ledger has less
"""


@pytest.mark.apart
@few(1)
@pytest.mark.parametrize("target", ["full.parquet", "full.csv", "full.arrow"])
def test_no_space_is_left(folder, in_a_process, target):
    people(10_000).with_columns(age=pl.col("age") + (pl.col("race") == "a") * 20).write_parquet("many.parquet")
    before = set(folder.iterdir())
    words = ("release", "many.parquet", target, *ASKED, "--theorem", "bounded", *SPENDING)
    full = in_a_process(SMALL + MAIN, *words)
    assert full.returncode == 3
    assert "File too large" in full.stderr
    assert "Traceback" not in full.stderr
    assert set(folder.iterdir()) == before | {folder / "l.jsonl"}
    assert [entry.state for entry in Ledger("l.jsonl")] == ["withdrawn"]
    assert run(*words).code == 0
    assert [entry.state for entry in Ledger("l.jsonl")] == ["withdrawn", "finished"]


PLACES = ("out.parquet", "out.csv", "out.arrow", "out/")


def files_of(target):
    """What there is of a release to this place."""
    return [path for path in (Path(target), Path(f"{target}.certificate.json")) if path.exists()]


@few(5, rest="apart")
@pytest.mark.parametrize("step", ["fsync", "link", "rename"])
@pytest.mark.parametrize("target", PLACES)
def test_a_write_that_fails_at_any_step_spends_nothing(folder, monkeypatch, target, step):
    words = ("release", "in.parquet", target, *ASKED, "--theorem", "bounded", *SPENDING)
    for fatal in itertools.count():
        steps, done = itertools.count(), getattr(os, step)

        def fail(*given, at=fatal, steps=steps, done=done, **more):
            if next(steps) == at:
                raise OSError(errno.ENOSPC, "no space is left")
            return done(*given, **more)

        with monkeypatch.context() as patched:
            patched.setattr(os, step, fail)
            failed = run(*words)
        states = [entry.state for entry in Ledger("l.jsonl")]
        if failed.code == 0:  # the step of a folder, which does not count; or there are no more steps
            assert states == ["finished"]
            assert run("verify", target).code == 0
            if next(steps) <= fatal:
                return
        elif files_of(target):  # only its ledger failed
            assert run("verify", target).code == 0
            assert states == ["not finished"]
            assert "its file has its name" in failed.err
        else:
            assert failed.code == 3
            if (target, step) == ("out.csv", "link") and states == ["not finished"]:  # its certificate had its name
                (entry,) = Ledger("l.jsonl")
                Ledger("l.jsonl").withdraw(entry.entry)
            else:
                assert set(states) <= {"withdrawn"}
            assert run(*words).code == 0
        assert not list(folder.glob(".*"))
        for path in [*files_of(target), folder / "l.jsonl"]:
            subprocess.run(["rm", "-r", path], check=True)


@pytest.mark.parametrize("target", PLACES)
def test_a_release_that_is_withdrawn_before_its_file_has_a_name_is_not_written(folder, monkeypatch, target):
    write, words = jobs.write, ("release", "in.parquet", target, *ASKED, "--theorem", "bounded", *SPENDING)

    def withdrawn_meanwhile(*given, **more):
        (entry,) = Ledger("l.jsonl")
        assert run("ledger", "withdraw", "l.jsonl", entry.entry).code == 0
        return write(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(jobs, "write", withdrawn_meanwhile)
        ends(run(*words), 1, "one that was withdrawn")
    assert not files_of(target)
    assert [entry.state for entry in Ledger("l.jsonl")] == ["withdrawn"]
    refused, name = [], "rename" if target == "out/" else "link"
    done = getattr(os, name)

    def too_late(*given, **more):
        done(*given, **more)
        last = json.loads(Path("l.jsonl").read_text().splitlines()[-1])
        refused.append(run("ledger", "withdraw", "l.jsonl", last["entry"]))

    with monkeypatch.context() as patched:
        patched.setattr(locked_lines, "WAIT", 0.0)
        patched.setattr(os, name, too_late)
        assert run(*words).code == 0
    assert {each.code for each in refused} == {3}
    assert [entry.state for entry in Ledger("l.jsonl")] == ["withdrawn", "finished"]


def test_a_certificate_whose_table_gets_no_name_is_gone_and_its_entry_counts(folder, monkeypatch):
    link = os.link

    def fail(source, name, **more):
        if name == "out.csv":
            raise OSError(errno.ENOSPC, "no space is left")
        link(source, name, **more)

    monkeypatch.setattr(os, "link", fail)
    assert run("release", "in.csv", "out.csv", *ASKED, *SPENDING).code == 3
    assert not files_of("out.csv")
    (entry,) = Ledger("l.jsonl")  # somebody may have read the certificate
    assert entry.state == "not finished"


def test_an_interrupted_release_counts_until_it_is_withdrawn(folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    words = ("release", "in.csv", "out.csv", *ASKED, "--theorem", "bounded", *SPENDING)
    with monkeypatch.context() as patched:
        patched.setattr(files, "alone_in", interrupt)
        assert run(*words).code == 130
    assert not files_of("out.csv")
    (entry,) = Ledger("l.jsonl")
    assert entry.state == "not finished"
    ends(run(*words), 1, "not finished")
    Ledger("l.jsonl").withdraw(entry.entry)
    assert run(*words).code == 0


KILLED = "import os, signal\nos.link = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.mark.apart
def test_a_killed_release_is_not_finished(folder, in_a_process):
    killed = in_a_process(KILLED + MAIN, "release", "in.csv", "out.csv", *ASKED, *SPENDING)
    assert killed.returncode == -signal.SIGKILL
    assert not files_of("out.csv")
    assert {path.name for path in folder.glob(".*")} <= {".l.jsonl.lock"}
    assert [entry.state for entry in Ledger("l.jsonl")] == ["not finished"]


def at_once(target, *, new, writers=4):
    """Several releases to one place, all at the same moment: what each has become."""
    releases = [people().puffer.privatize(secret="race", public="age", epsilon=1.0) for _ in range(writers)]
    begin = Barrier(writers)

    def one(released):
        begin.wait()
        try:
            return write(released, Path(target), folder=target.endswith("/"), new=new, book=None)
        except FileTakenError as error:
            return error

    with ThreadPoolExecutor(writers) as pool:
        return list(pool.map(one, releases))


@pytest.mark.parametrize("target", PLACES)
def test_of_several_writers_of_a_new_file_one_writes_it_and_the_others_err(folder, target):
    for k in range(2):
        place = target.replace("out", f"out{k}")
        found = at_once(place, new=True)
        written = [one for one in found if isinstance(one, puffer_frames.Certificate)]
        assert len(written) == 1
        assert all("one that" in str(one) for one in found if one not in written)
        assert run("verify", place).code == 0
        assert not list(folder.glob(".*"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the first to name a file wins")
def test_a_run_that_comes_later_spends_nothing_of_a_limit(folder):
    words = ("release", "in.parquet", "out.parquet", *ASKED, *SPENDING)
    with places.claimed(folder / "out.parquet"):
        late = run(*words)
    assert late.code == 3
    assert "one that another run is writing" in late.err
    assert not Path("l.jsonl").exists()
    assert run(*words).code == 0


@pytest.mark.parametrize("locked", [True, False])
def test_of_several_writers_who_may_replace_a_table_has_its_own_certificate(folder, monkeypatch, locked):
    text = files.write_text

    def slow(*given, **more):
        text(*given, **more)
        time.sleep(0.02)  # here another writer would come in between

    monkeypatch.setattr(files, "write_text", slow)
    if not locked:
        monkeypatch.setattr(files, "alone_in", lambda _: nullcontext())
    found = at_once("out.csv", new=False)
    errors = [one for one in found if isinstance(one, FileTakenError)]
    assert len(errors) == 0 if locked else run("verify", "out.csv").code == 0 or errors
    if locked:
        assert run("verify", "out.csv").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "in.parquet", "plan.json", *ASKED),
        ("report", "given.parquet", "page.html"),
        *(("release", "in.parquet", f"out.{kind}", *ASKED, *SPENDING) for kind in ("parquet", "csv")),
    ],
)
def test_nothing_is_replaced_that_somebody_else_wrote_meanwhile_and_nothing_is_spent(folder, monkeypatch, words):
    run("release", "in.parquet", "given.parquet", *ASKED)
    monkeypatch.setattr(jobs, "check_places", lambda *_, **__: Path(words[2]).write_text("of somebody else"))
    monkeypatch.setattr("puffer_frames.certificates.published.check_path", lambda path, **_: path)
    assert run(*words).code == 3
    assert Path(words[2]).read_text() == "of somebody else"
    assert not any(entry.counts for entry in Ledger("l.jsonl"))
    assert run(*words, "--overwrite").code == 0
    assert Path(words[2]).read_bytes() != b"of somebody else"


@pytest.mark.parametrize("number", [None, 28])
def test_a_full_disk_is_named(number):
    """Polars tells of it in an OSError without a number."""
    full = "No space left on device"
    error = OSError(f"{full} (os error 28)") if number is None else OSError(number, full)
    assert failed(error).text == full


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("nested", [False, True])
def test_decimals_that_polars_lacks_are_named(folder, suffix, nested):
    """They were a fault, and a lazy frame of the file a FaultError."""
    table = pa.table({"race": ["a", "b"] * 100, "age": range(200), "wide": [Decimal(1)] * 200})
    wide = pa.array([Decimal(1)] * 200, pa.decimal256(50, 2))
    table = table.set_column(2, "wide", pa.StructArray.from_arrays([wide], ["in"]) if nested else wide)
    if suffix == "parquet":
        pq.write_table(table, "wide.parquet")
    else:
        with pa.ipc.new_file("wide.arrow", table.schema) as writer:
            writer.write_table(table)
    ends(
        run("release", f"wide.{suffix}", "out.parquet", *ASKED, "--keep", "wide"),
        4,
        "the column 'wide' must be of a type that Polars has; got decimals of 50 digits",
    )
    if suffix == "parquet":
        with pytest.raises(ArgumentTypeError, match="'wide' must be of a type that Polars has"):
            pl.scan_parquet("wide.parquet").puffer.privatize(secret="race", public="age", epsilon=1.0)


def test_rows_of_tonight_that_do_not_fit_the_plan(folder):
    """Of a missing column its own role is said; a unit with two secrets is a fault of the rows, not of the request."""
    unit = ("--unit", "patient", "--unit-rows", "independent")
    assert run("plan", "in.parquet", "given.json", *ASKED, "--given", "region").code == 0
    assert run("plan", "in.parquet", "unit.json", *ASKED, *unit).code == 0
    people().drop("region").write_parquet("a.parquet")
    done = run("release", "a.parquet", "o.parquet", "--plan", "given.json", "--allow-other-frame")
    ends(done, 2, "given must be a column of the frame; got 'region'")
    people().with_columns(patient=pl.lit(1)).write_parquet("b.parquet")
    done = run("release", "b.parquet", "o.parquet", "--plan", "unit.json", "--allow-other-frame")
    ends(done, 4, "a unit with two secrets")
    assert not Path("o.parquet").exists()


def test_secrets_that_narrow_floats_have_merged(folder):
    codes = np.array([2**24 + 1, 2**24, 5] * 80, dtype="float32")
    merged = pd.DataFrame({"race": codes, "age": range(240)})
    merged.to_parquet("merged.parquet")
    merged.to_stata("merged.dta", write_index=False)
    for name in ("merged.parquet", "merged.dta"):
        ends(run("release", name, "out.parquet", *ASKED), 4, "floats of 32 bits beyond 2**24, which merge integers")
