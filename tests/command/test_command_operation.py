"""What a job that runs every night needs: lines of JSON, metrics, and an end by a signal that leaves nothing behind."""

import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_line import ASKED, ends, people, run

from puffer_frames import Ledger
from puffer_frames.doors.command import outcome
from puffer_frames.doors.command.main import main

RELEASE = ("release", "in.parquet", "out.parquet", *ASKED)
LINES = ("--log-format", "json")
METRICS = ("--metrics", "puffer.prom")
MARK = 8_675_309
"""A public value that no line may hold."""


def test_a_line_of_json_for_each_step_and_no_public_value(folder):
    people().with_columns(pl.col("age") + MARK).write_parquet("in.parquet")
    done = run(*RELEASE, *LINES, "--shuffle")
    lines = [json.loads(line) for line in done.err.splitlines()]
    steps = {line["step"]: line for line in lines}
    assert list(steps) == ["read", "calibrate", "write", "run"]
    assert all(line["seconds"] >= 0 and line["level"] == "info" and line["time"] for line in lines)
    assert steps["read"]["rows"] == steps["write"]["rows"] == 240
    told = {name: steps["write"][name] for name in ("epsilon", "loss", "verdict")}
    assert told == {"epsilon": 1.0, "loss": 1.0, "verdict": "released"}
    assert (steps["run"]["verdict"], steps["run"]["exit"]) == ("released", 0)
    assert str(MARK)[:4] not in re.sub(r'"(time|seconds)": [^,}]+', "", done.err)
    assert not run(*RELEASE, *LINES, "--overwrite", "-q").err


def test_what_fails_is_a_line_of_json_too(folder):
    people().sort("race").with_columns(age=pl.lit(None, pl.Int64)).write_parquet("in.parquet")
    done = run(*RELEASE, *LINES)
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert {line["step"]: line["verdict"] for line in lines if "verdict" in line} == {
        "calibrate": "failed",
        "run": "data",
    }
    assert (lines[-1]["exit"], lines[-1]["error"]["kind"], lines[-1]["level"]) == (4, "PriorError", "error")
    people().sort("race").write_parquet("in.parquet")
    assert [
        line
        for line in map(json.loads, run(*RELEASE, *LINES).err.splitlines())
        if "RowOrder" in line.get("message", "")
    ]
    assert run(*RELEASE, "--log-format", "xml").code == 2


def read_metrics():
    """The values by their names and labels, of a file in Prometheus' text format."""
    lines = Path("puffer.prom").read_text().splitlines()
    form = re.compile(r'(# (HELP|TYPE) puffer_\w+ .+)|puffer_\w+\{subcommand="\w+"(,step="\w+")?\} [-+.0-9e]+')
    assert all(form.fullmatch(line) for line in lines)
    return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_metrics(folder):
    assert run(*RELEASE, *METRICS).code == 0
    found = read_metrics()
    label = '{subcommand="release"}'
    told = [found[f"puffer_{name}{label}"] for name in ("exit_code", "rows", "epsilon", "delta", "loss")]
    assert told == [0, 240, 1, 0, 1]
    assert found['puffer_step_seconds{subcommand="release",step="write"}'] <= found[f"puffer_seconds{label}"]
    assert run(*RELEASE, *METRICS).code == 3
    assert read_metrics()[f"puffer_exit_code{label}"] == 3
    assert f"puffer_rows{label}" not in read_metrics()


@pytest.mark.parametrize("more", [(), ("--json",), ("--log-format", "json")])
def test_standard_output_on_a_full_disk(folder, capsys, more):
    """An empty page or object was no error; what was done stays done."""
    words = ["release", "in.parquet", "out.parquet", *ASKED, *METRICS, *more]
    for asked in (words, ["verify", "out.parquet", *more]):
        with Path("/dev/full").open("w") as full, contextlib.redirect_stdout(full):
            assert main(asked) == 3
        assert "No space left on device: 'standard output'" in capsys.readouterr().err
    assert read_metrics()['puffer_exit_code{subcommand="release"}'] == 3
    assert run("verify", "out.parquet").code == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone, contextlib.redirect_stdout(gone):  # as of head -1, which has read enough
        assert main(["verify", "out.parquet"]) == 0


def test_errors_on_a_full_disk(folder):
    """Python ended with 120 after a release that was made, since it flushes once more."""
    words = [sys.executable, "-m", "puffer_frames", "release", "in.parquet", "out.parquet", *ASKED, "-v"]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(words, stderr=full, stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize("name", ["in.parquet", "in.csv", "out.parquet", "no/puffer.prom"])
def test_metrics_replace_no_other_file(folder, name):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run(*RELEASE, "--metrics", name).code == (3 if "/" in name else 2)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_metrics_that_cannot_be_written_change_nothing(folder, monkeypatch):
    def full(*_given, **_more):
        raise OSError(errno.ENOSPC, "no space is left")

    monkeypatch.setattr(outcome, "replacing", full)
    ends(run(*RELEASE, *METRICS), 0, "the metrics were not written: No space left")


STOPPED = """
import os, signal, sys
from puffer_frames.frames.stamps import whole_file

whole_file._unnamed = lambda *_: None  # a file system where files have names while they are written
sync, number = os.fsync, int(sys.argv.pop(1))

def stop(descriptor):
    sync(descriptor)
    if ".partial" in " ".join(os.listdir(".")):
        os.kill(os.getpid(), number)

os.fsync = stop
from puffer_frames.doors.command.main import main
sys.exit(main())
"""


@pytest.mark.apart
@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("target", ["out.parquet", "out.csv"])
def test_a_signal_ends_the_run_and_leaves_nothing_but_an_entry_that_counts(folder, in_a_process, number, target):
    before = set(folder.iterdir())
    spending = ("--ledger", "l.jsonl", "--about", "dataset=people", *METRICS, *LINES)
    done = in_a_process(STOPPED, int(number), "release", "in.parquet", target, *ASKED, *spending)
    assert done.returncode == 128 + number, done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["verdict"] == "interrupted"
    assert set(folder.iterdir()) == before | {folder / "l.jsonl", folder / "puffer.prom"}
    assert read_metrics()['puffer_exit_code{subcommand="release"}'] == 128 + number
    assert [entry.state for entry in Ledger("l.jsonl")] == ["not finished"]
    assert "counts until it is finished or withdrawn" in done.stderr


def test_what_is_not_printable_is_an_escape_in_all_lines(folder):
    """A name could hide a line of a terminal, or turn its direction."""
    odd = "age\x1b[2K\u202e"
    people().rename({"age": odd}).write_parquet(folder / "odd.parquet")
    asked = ("--secret", "race", "--public", odd, "--epsilon", "1")
    for words in (
        ("release", folder / "odd.parquet", folder / f"{odd}.csv", *asked),
        ("plan", folder / "odd.parquet", folder / "plan.json", *asked),
        ("report", folder / f"{odd}.csv", folder / f"{odd}.html"),
        ("audit", folder / "odd.parquet", folder / f"{odd}.csv"),
    ):
        done = run(*words)
        assert done.code == 0, done.err
        assert not {"\x1b", "\u202e"} & {*done.out, *done.err}
        assert r"age\x1b[2K\u202e" in done.out
