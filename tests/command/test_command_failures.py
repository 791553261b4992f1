"""Exit codes, what is said, and that nothing is half written or destroyed."""

import json
import resource
import signal
import subprocess
import sys

import polars as pl
import pytest
from command_line import ASKED, people, run
from conftest import few

import puffer_frames
from puffer_frames.doors.command import jobs

COMMAND = [sys.executable, "-m", "puffer_frames"]
RELEASE = ("release", "in.parquet", "out.parquet")

FAILURES = [
    # words, exit code, kind of error, part of what is said
    ([], 2, "ArgumentError", "no subcommand"),
    (["publish"], 2, "ArgumentError", "invalid choice"),
    (["release"], 2, "ArgumentError", "no input"),
    (["release", "in.parquet"], 2, "ArgumentError", "no output"),
    ([*RELEASE], 2, "ArgumentError", "--secret, --public, --epsilon"),
    ([*RELEASE, *ASKED, "--epsilom", "1"], 2, "ArgumentError", "Did you mean --epsilon?"),
    ([*RELEASE, *ASKED, "--epsilon", "2"], 2, "ArgumentError", "given once"),
    ([*RELEASE, *ASKED[:-1], "one"], 2, "ArgumentError", "a number"),
    ([*RELEASE, *ASKED[:-1], "-1"], 2, "ArgumentError", "epsilon"),
    ([*RELEASE, *ASKED, "--secret"], 2, "ArgumentError", "expected one argument"),
    ([*RELEASE, "--secret", "rase", *ASKED[2:]], 2, "ColumnNotFoundError", "'race'"),
    ([*RELEASE, *ASKED, "--noise", "uniform"], 2, "ArgumentError", "noise"),
    ([*RELEASE, *ASKED, "--noise", "stable:9"], 2, "ArgumentError", "alpha"),
    ([*RELEASE, *ASKED, "--unit", "patient"], 2, "ArgumentError", "--unit-rows"),
    ([*RELEASE, *ASKED, "--unit-most", "4"], 2, "ArgumentError", "--unit"),
    ([*RELEASE, *ASKED, "--given-scale", "one"], 2, "ArgumentError", "--given"),
    ([*RELEASE, *ASKED, "--mechanism", "noise", "--channel-cap", "4"], 2, "ArgumentError", "--mechanism channel"),
    ([*RELEASE, *ASKED, "--clip", "0-1"], 2, "ArgumentError", "LOW:HIGH"),
    ([*RELEASE, *ASKED, "--config", "job.yaml"], 2, "ArgumentError", ".toml"),
    ([*RELEASE, *ASKED, "--domain", "age=x:y"], 2, "ArgumentError", "LOW:HIGH"),
    (["release", "in.parquet", "in.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["release", "in.parquet", "./linked.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["release", "parts", "parts/2.parquet", *ASKED], 2, "ArgumentError", "the path of an input"),
    (["release", "in.parquet", "in.csv", *ASKED], 2, "ArgumentError", "--overwrite"),
    (["release", "in.parquet", "parts/", *ASKED], 2, "ArgumentError", "holds something"),
    (["release", "in.parquet", "out.xlsx", *ASKED], 2, "ArgumentError", ".parquet"),
    (["release", "in.parquet", "a\0b.csv", *ASKED], 2, "ArgumentError", "the path of a file"),
    (["release", "no.parquet", "out.parquet", *ASKED], 3, "FileNotFoundError", "no.parquet"),
    (["release", "in.parquet", "no/out.parquet", *ASKED], 3, "FileNotFoundError", "'no'"),
    (["release", "wrong.parquet", "out.parquet", *ASKED], 3, "TableFileError", "a Parquet file"),
    (["release", "wrong.arrow", "out.parquet", *ASKED], 3, "TableFileError", "an Arrow file"),
    (["release", "empty.csv", "out.parquet", *ASKED], 3, "TableFileError", "a CSV file"),
    ([*RELEASE, *ASKED, "--config", "no.toml"], 3, "FileNotFoundError", "no.toml"),
    ([*RELEASE, "--plan", "no.json"], 3, "FileNotFoundError", "no.json"),
    ([*RELEASE, "--plan", "wrong.json"], 3, "PlanFileError", "plan file"),
    (["plan", "in.parquet", "in.parquet", *ASKED, "--overwrite"], 2, "ArgumentError", "the path of an input"),
    (["verify", "in.parquet"], 1, "UncoveredFrameError", "--certificate"),
    (["verify", "in.csv", "--certificate", "wrong.json"], 1, "UncoveredFrameError", "certificate"),
    (["show", "in.csv"], 1, "UncoveredFrameError", "certificate"),
    (["show", "in.csv", "--as", "pdf"], 2, "ArgumentError", "text, html or json"),
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
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = run(*words)
    assert done.code == code, done
    assert done.err.startswith(
        f"puffer: {'refused' if code == 1 else 'wrong request' if code == 2 else 'input or output'}: "
    )
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
    assert run(*RELEASE, *ASKED).code == 2
    assert (folder / "out.parquet").read_bytes() == first
    assert run(*RELEASE, *ASKED, "--overwrite").code == 0
    assert (folder / "out.parquet").read_bytes() != first
    (folder / "o.csv.certificate.json").write_text("{}")
    assert run("release", "in.csv", "o.csv", *ASKED).code == 2


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
    done = run("release", "sorted.parquet", "1.parquet", *ASKED)
    assert done.code == 0
    assert [line for line in done.err.splitlines() if "RowOrderWarning" in line]
    assert all(line.startswith("puffer: WARNING: ") for line in done.err.splitlines())
    assert not run("release", "sorted.parquet", "2.parquet", *ASKED, "-q").err
    machine = run("release", "sorted.parquet", "3.parquet", *ASKED, "-q", "--json").found
    assert machine["warnings"][0]["kind"] == "RowOrderWarning"


def test_a_fault_is_a_line_without_its_text(folder, monkeypatch):
    def fault(_request):
        raise RuntimeError("the value 4711")

    monkeypatch.setitem(jobs.JOBS, "release", fault)
    done = run(*RELEASE, *ASKED)
    assert done.code == 3
    assert "RuntimeError" in done.err
    assert "4711" not in done.err


def test_help_and_version(folder):
    for words in (["--help"], ["release", "--help"], ["--version"]):
        done = run(*words)
        assert done.code == 0
        assert "puffer" in done.out
    assert "--unit-rows" in run("release", "--help").out


def call(*words, **more):
    """The command as a process of its own."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, **more)


def test_as_a_process(folder):
    done = call(*RELEASE, *ASKED, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "released")
    assert call("release", "no.csv", "out.csv", *ASKED).returncode == 3


@few(1)
@pytest.mark.parametrize("target", ["full.parquet", "full.csv", "full.arrow"])
def test_no_space_is_left(folder, target):
    def small():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    before = sorted(folder.iterdir())
    full = call("release", "in.parquet", target, *ASKED, preexec_fn=small)
    assert full.returncode == 3
    assert "Traceback" not in full.stderr
    assert sorted(folder.iterdir()) == before
