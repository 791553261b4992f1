"""A process that is killed at any moment leaves the old file or the whole new one, and a ledger that reads."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

import polars as pl
import pytest
from command_line import ASKED, people, run
from conftest import sweep, thinned

import puffer_frames
from puffer_frames import Ledger
from puffer_frames.doors.command.outcome import FILES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

CODE = """
import errno, json, os, sys
from puffer_frames.doors.command.main import main

fsync = os.fsync

def full(descriptor):
    global steps
    steps -= 1
    if steps < 0:
        raise OSError(errno.ENOSPC, "no space is left")
    fsync(descriptor)

for line in sys.stdin:
    child = os.fork()
    if not child:
        steps, *words = json.loads(line)
        if steps >= 0:
            os.fsync = full
        os.dup2(2, 1)
        sys.exit(main(words))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""A process that has everything imported, and a child of it for each command: their numbers, and how they end. A line
begins with the number of steps after which the disk is full, and stays so, or with -1."""
LEDGER = ("--ledger", "l.jsonl", "--about", "dataset=people")
ROWS = 200_000


@contextmanager
def server():
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def imported(folder):
    with server() as process:
        yield process


def begun(imported, *words, steps=-1):
    """The number of the process of a command."""
    print(json.dumps([steps, *words]), file=imported.stdin, flush=True)
    return int(imported.stdout.readline())


def started(imported, target):
    """The number of the process of a release."""
    words = ["release", "big.parquet", target, *ASKED, "--theorem", "bounded", "--overwrite", "-q", *LEDGER]
    return begun(imported, *words)


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


NIGHTS, KILLS, WRITERS = 30, 40, 4
BOOK = ("--ledger", "l.jsonl", "--about", "dataset=visits", "--about", "batches=no person is in two")


def check_night(target, batch):
    """The table is whole, or not there; no secret and no raw value is in it, and nothing else lies beside it."""
    assert all(path.name.startswith("night") for path in Path("public").iterdir())
    if Path(target).exists():
        assert run("verify", target).code == 0
        released = pl.read_parquet(target) if target.endswith(".parquet") else pl.read_csv(target)
        assert released.columns == ["age"]
        assert not released["age"].is_in(batch["age"].cast(pl.Float64).implode()).any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", puffer_frames.LedgerWarning)
        return {entry.entry: entry for entry in Ledger("l.jsonl")} if Path("l.jsonl").exists() else {}


def certificate_in(target):
    return puffer_frames.Certificate.from_dict(run("show", target, "--json").found["certificate"])


def mended(night, target, batch):
    """What docs/command.md says of a night that failed: whether its table is there, after which nothing is open."""
    entries = [entry for entry in check_night(target, batch).values() if entry.columns()["batch"] == str(night)]
    there, opened = Path(target).exists(), [entry for entry in entries if entry.state == "not finished"]
    told = there and certificate_in(target).fingerprint in {entry.certificate.fingerprint for entry in entries}
    for entry in opened if told or not there else ():  # else the ledger was not told of the table, which counts
        assert run("ledger", "withdraw", "l.jsonl", entry.entry).code == 0
    return there


@pytest.mark.slow
def test_thirty_nights_with_kills_full_disks_and_four_writers(folder):
    """Each night is released once; what was spent is what was released, and no more."""
    lately = people(20_000).with_columns(age=pl.col("age") + (pl.col("race") == "a") * 10)
    lately.write_parquet("lately.parquet")
    assert run("plan", "lately.parquet", "plan.json", *ASKED, "--beliefs", "population:0.999").code == 0
    (folder / "public").mkdir()
    rng, tried, kills, winners, whole = random.Random(0), 0, 0, [], 60.0
    with ExitStack() as stack:
        servers = [stack.enter_context(server()) for _ in range(WRITERS)]
        for night in count():
            if night >= NIGHTS and tried >= KILLS:
                break
            batch = lately.sample(rng.randint(2000, 5000), with_replacement=True, seed=night)
            batch.write_parquet("raw.parquet")
            target = f"public/night{night}.{'csv' if night % 4 == 1 else 'parquet'}"
            words = ["release", "raw.parquet", target, "--plan", "plan.json", "--allow-other-frame", *BOOK]
            words += ["--about", f"batch={night}", "-q", *([] if night % 3 == 0 else ["--limit", "1"])]
            there, tries = False, 0
            while not there:
                tries += 1
                assert tries < 20
                writers = servers if night % 3 == 0 else servers[:1]
                steps = rng.randint(0, 5) if night % 3 == 1 and tries == 1 else -1
                clock = time.perf_counter()
                children = [begun(one, *words, steps=steps) for one in writers]
                if night and tried < min(KILLS, KILLS * (night + 1) / NIGHTS):
                    time.sleep(rng.random() * whole * 0.9)
                    tried += 1
                    with suppress(ProcessLookupError):  # it had ended
                        os.kill(children[0], signal.SIGKILL)
                codes = [ended(one) for one in writers]
                kills += signal.SIGKILL in codes
                whole = min(whole, time.perf_counter() - clock) if 0 in codes else whole
                assert codes.count(0) <= 1
                assert len(writers) == 1 or set(codes) <= {0, FILES << 8, signal.SIGKILL}
                there = mended(night, target, batch)
                assert there or 0 not in codes
            winners.append(target)
            assert {code >> 8 for code in codes} <= {0, 1, 3}
    assert kills >= KILLS / 2
    entries = check_night(target, batch).values()
    counted = [entry for entry in entries if entry.counts]
    stamps = {certificate_in(path).fingerprint for path in winners}
    told = {entry.certificate.fingerprint for entry in counted if entry.state == "finished"}
    assert (len(counted), len(stamps), told <= stamps) == (night, night, True)
    assert Ledger("l.jsonl").total().epsilon == 1.0
