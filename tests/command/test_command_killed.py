"""A process that is killed at any moment leaves the old file or the whole new one, and a ledger that reads."""

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress

import polars as pl
import pytest
from command_line import ASKED, people, run
from conftest import sweep, thinned

import puffer_frames

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

CODE = """
import os, sys
from puffer_frames.doors.command.main import main

for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(2, 1)
        sys.exit(main(line.split()))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""A process that has everything imported, and a child of it for each command: their numbers, and how they end."""
LEDGER = ("--ledger", "l.jsonl", "--about", "dataset=people")
ROWS = 200_000


@pytest.fixture
def imported(folder):
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


def started(imported, target):
    """The number of the process of a release."""
    words = ["release", "big.parquet", target, *ASKED, "--theorem", "bounded", "--overwrite", "-q", *LEDGER]
    print(*words, file=imported.stdin, flush=True)
    return int(imported.stdout.readline())


def ended(imported):
    """What the process has ended with, when it has."""
    return int(imported.stdout.readline())


@pytest.mark.parametrize("target", thinned(["out.parquet", "out.csv"], few=["out.parquet"]))
@sweep(3, 20)
def test_killed(folder, imported, target, count):
    people(ROWS).with_columns(age=pl.col("age") + (pl.col("race") == "a") * 20).write_parquet("big.parquet")
    started(imported, target)
    clock = time.perf_counter()
    assert ended(imported) == 0
    whole = time.perf_counter() - clock
    rng = random.Random(0)
    old, killed, moments = (folder / target).read_bytes(), 0, 0
    while moments < count or not killed:  # each time earlier, if the first runs were too fast
        process = started(imported, target)
        time.sleep(rng.random() * whole * 0.9 * min(1.0, count / (moments + 1)))
        with suppress(ProcessLookupError):  # it had ended
            os.kill(process, signal.SIGKILL)
        moments += 1
        killed += ended(imported) != 0
        new = (folder / target).read_bytes()
        if new != old or target.endswith(".parquet"):
            assert run("verify", target).code == 0
        else:  # the certificate of the new table may be there already
            assert len(pl.read_csv(target)) == ROWS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", puffer_frames.LedgerWarning)
            assert len(puffer_frames.ledger("l.jsonl")) >= 1
        names = {path.name for path in folder.iterdir()} - {"in.parquet", "in.csv", "in.arrow", "parts", "big.parquet"}
        assert names - {target, f"{target}.certificate.json", ".l.jsonl.lock"} == {"l.jsonl"}
        old = new
