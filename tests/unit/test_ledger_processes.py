"""Several processes with one ledger: no limit is passed, no line is lost, and what is killed still counts."""

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from puffer_frames import Ledger, ledger
from puffer_frames.errors import LedgerError, LockedFileError
from puffer_frames.verbs.ledgers import locked_lines

PREPARED = """
import sys
import numpy as np, pandas as pd, puffer_frames

rng = np.random.default_rng(1)
people = pd.DataFrame({"group": rng.choice(["a", "b"], 60), "score": rng.integers(0, 5, 60), "still": 3})
plan = puffer_frames.calibrate(
    people,
    secret="group",
    public=["score", "still"],
    mechanism=puffer_frames.Noise(theorem="bounded"),
    epsilon=0.25,
    allow_zero_noise=True,
)

def release(ledger):
    return plan.release(people, about={"dataset": "people"}, ledger=ledger)
"""
MANY = """
import multiprocessing, os, sys

together = multiprocessing.get_context("fork").Barrier(3)
if all(os.fork() for _ in range(3)):
    sys.exit(any(os.wait()[1] for _ in range(3)))
"""
"""Three processes, which the first one waits for."""
RELEASES = """
for path, limit in zip(sys.argv[1::2], map(float, sys.argv[2::2])):
    for _ in range(3):
        together.wait()
        try:
            release(puffer_frames.Ledger(path, limit=limit))
        except puffer_frames.errors.LedgerError:
            print("refused", path, flush=True)
        else:
            print("released", path, flush=True)
"""
KILLED = """
import os, signal
from puffer_frames.frames.local.table import LocalRows

LocalRows.release = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
release(puffer_frames.Ledger(sys.argv[1], limit=1.0))
"""


def test_no_process_passes_the_limit_and_no_line_is_lost(tmp_path, in_a_process):
    books = {"two.jsonl": (0.5, 2), "few.jsonl": (1.0, 4), "all.jsonl": (1e9, 9)}
    books = {str(tmp_path / name): book for name, book in books.items()}
    words = [word for path, (limit, _) in books.items() for word in (path, limit)]
    done = in_a_process(MANY + PREPARED + RELEASES, *words)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    for path, (_, fit) in books.items():
        assert said.count(f"released {path}") == fit
        assert said.count(f"refused {path}") == 9 - fit
        assert [entry.state for entry in ledger(path)] == ["finished"] * fit
        assert len({entry.certificate.fingerprint for entry in ledger(path)}) == fit
        assert len([json.loads(line) for line in Path(path).read_text().splitlines()]) == 2 * fit
        assert ledger(path).total().epsilon == pytest.approx(0.25 * fit)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no such signal on Windows")
def test_a_process_that_is_killed_leaves_an_entry_that_counts(tmp_path, in_a_process):
    path = tmp_path / "releases.jsonl"
    killed = in_a_process(PREPARED + KILLED, path)
    assert killed.returncode == -signal.SIGKILL
    assert [entry.state for entry in ledger(path)] == ["not finished"]
    names = {}
    exec(compile(PREPARED, "prepared", "exec"), names)  # the lock went with the process
    book = Ledger(path, limit=0.5)
    names["release"](book)
    with pytest.raises(LedgerError, match=r"epsilon 0\.75 with this one"):
        names["release"](book)
    book.withdraw(next(iter(book)).entry)
    names["release"](book)
    assert book.total().epsilon == 0.5


def test_whoever_waited_for_a_file_that_was_replaced_writes_to_the_new_one(tmp_path, monkeypatch):
    path = tmp_path / "lines"
    path.write_text("old\n")
    lock = locked_lines._lock
    moved = []

    def late(descriptor):
        if not moved:
            moved.append(path.rename(tmp_path / "moved"))
            path.write_text("new\n")
        return lock(descriptor)

    monkeypatch.setattr(locked_lines, "_lock", late)
    with locked_lines.locked(path, what="the file") as file:
        assert file.found.whole == ("new",)
        file.append({"more": 1})
    assert path.read_text() == 'new\n{"more": 1}\n'
    assert (tmp_path / "moved").read_text() == "old\n"


def test_whoever_waits_too_long_is_told_who_holds_the_file(tmp_path, monkeypatch):
    path = tmp_path / "releases.jsonl"
    monkeypatch.setattr(locked_lines, "WAIT", 0.0)
    held = rf"must be free within 0 seconds; got one that is held by process {os.getpid()} on .+, since 2"
    with locked_lines.locked(path, what="the ledger"):
        for use in (lambda: len(Ledger(path)), lambda: Ledger(path).withdraw("0" * 16)):
            with pytest.raises(LockedFileError, match=held):
                use()
        assert str(os.getpid()) in locked_lines.look(path)[1]
        (tmp_path / ".releases.jsonl.lock").write_text("{")
        assert locked_lines.look(path)[1] == "another process"
    assert locked_lines.look(path) == (locked_lines.Lines((), ""), "")
    assert [each.name for each in tmp_path.iterdir()] == ["releases.jsonl"]


def test_a_line_written_in_pieces_is_whole(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:3]))
    with locked_lines.locked(tmp_path / "lines", what="the file") as file:
        file.append({"first": "word"})
    assert (tmp_path / "lines").read_text() == '{"first": "word"}\n'


@pytest.mark.parametrize("rest", ["", "cut o"])
def test_a_full_disk_leaves_no_half_of_a_line(tmp_path, monkeypatch, rest):
    write, written = os.write, []

    def full(descriptor, data):
        if written:
            raise OSError(errno.ENOSPC, "no space is left")
        written.append(write(descriptor, bytes(data)[:9]))
        return written[0]

    (tmp_path / "lines").write_text('{"first": "word"}\n' + rest)
    monkeypatch.setattr(os, "write", full)
    with locked_lines.locked(tmp_path / "lines", what="the file") as file, pytest.raises(OSError, match="no space"):
        file.append({"second": "word"})
    assert (tmp_path / "lines").read_text() == '{"first": "word"}\n' + rest
