"""A process that is killed at any moment leaves the old file or the whole new one, and a ledger that reads."""

import random
import subprocess
import sys
import time
import warnings

import polars as pl
import pytest
from command_line import ASKED, people, run
from conftest import sweep, thinned

import puffer_frames

CODE = "import sys; from puffer_frames.doors.command.main import main; print(flush=True); sys.exit(main(sys.argv[1:]))"
LEDGER = ("--ledger", "l.jsonl", "--about", "dataset=people")


def started(target):
    words = ["release", "big.parquet", target, *ASKED, "--theorem", "bounded", "--overwrite", "-q", *LEDGER]
    found = subprocess.Popen([sys.executable, "-c", CODE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with found.stdout:
        found.stdout.readline()  # everything is imported
    return found


def ended(process):
    """Its exit code, when it has ended."""
    code = process.wait()
    process.stdout.close()
    return code


@pytest.mark.parametrize("target", thinned(["out.parquet", "out.csv"], few=["out.parquet"]))
@sweep(3, 20)
def test_killed(folder, target, count):
    people(400_000).with_columns(age=pl.col("age") + (pl.col("race") == "a") * 20).write_parquet("big.parquet")
    process, clock = started(target), time.perf_counter()
    assert process.wait() == 0
    whole = time.perf_counter() - clock
    rng = random.Random(0)
    old, killed, moments = (folder / target).read_bytes(), 0, 0
    while moments < count or not killed:  # each time earlier, if the first runs were too fast
        process = started(target)
        time.sleep(rng.random() * whole * 0.9 * min(1.0, count / (moments + 1)))
        process.kill()
        moments += 1
        killed += ended(process) != 0
        new = (folder / target).read_bytes()
        if new != old or target.endswith(".parquet"):
            assert run("verify", target).code == 0
        else:  # the certificate of the new table may be there already
            assert len(pl.read_csv(target)) == 400_000
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", puffer_frames.LedgerWarning)
            assert len(puffer_frames.ledger("l.jsonl")) >= 1
        names = {path.name for path in folder.iterdir()} - {"in.parquet", "in.csv", "in.arrow", "parts", "big.parquet"}
        assert names - {target, f"{target}.certificate.json"} == {"l.jsonl"}
        old = new
