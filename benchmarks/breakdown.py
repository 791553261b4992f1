"""Where the time of a release from a Parquet file to another goes: reading, counting, hashing, noise, writing.

Run: python benchmarks/breakdown.py [--rows N] [--rounds N] [--public integer|float]

The functions of the library's own steps add up the processor time of their threads. What is left of the processor time
of the process is Polars: reading the file twice and writing one, and handing on the rows; reading and writing are
measured by themselves too. Prints medians of some rounds, as seconds of processor time and as shares of all of it.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames.frames.plans import source, survey, trace

PART = 10**6
SPENT = Counter()
LOCK = threading.Lock()
INSIDE = threading.local()
"""Whether the thread is in a function that is timed: of one inside another the outer one counts."""


def timed(step, function):
    """The function, whose time is added to that of a step."""

    def call(*args, **options):
        if getattr(INSIDE, "now", False):
            return function(*args, **options)
        INSIDE.now, begun = True, time.thread_time()
        try:
            return function(*args, **options)
        finally:
            INSIDE.now = False
            with LOCK:
                SPENT[step] += time.thread_time() - begun

    return call


def watch():
    """Time the steps."""
    for owner, name, step in (
        (survey._Looker, "look", "counting"),
        (survey, "_take", "looking at the order"),
        (trace.Marking, "take", "comparing the two readings"),
        (trace.Guard, "see", "comparing the two readings"),
        (source.Fingerprint, "update", "fingerprint of the release"),
    ):
        setattr(owner, name, timed(step, getattr(owner, name)))
    native = source.Draws.prepared
    source.Draws.prepared = lambda draws: timed("noise", native(draws))


def write(path, rows):
    """A secret of five values, an integer and a float that depend on it."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 5, rows)
    table = {"secret": np.array([f"group {c}" for c in range(5)])[code], "integer": rng.integers(0, 40, rows) + code}
    table["float"] = rng.normal(code / 10, 1.0, rows)
    pl.DataFrame(table).write_parquet(path, row_group_size=PART)


def spent(run):
    """Processor time of the process, and time on the clock."""
    begun = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - begun[0], time.perf_counter() - begun[1]


def once(path, target, public):
    """Seconds of each step of one release."""
    SPENT.clear()
    plan = pl.scan_parquet(path)
    planned, found = [], []

    def release():
        begun = time.perf_counter()
        found.append(plan.puffer.privatize(secret="secret", public=public, epsilon=0.1, rng=1))
        planned.append(time.perf_counter() - begun)
        found[0].puffer.sink_parquet(target)

    total, clock = spent(release)
    steps = dict(SPENT)
    written = pl.read_parquet(target)
    columns = plan.select("secret", public)
    reading, _ = spent(lambda: sum(len(batch) for batch in columns.collect_batches(engine="streaming")))
    writing, _ = spent(lambda: written.lazy().sink_parquet(target))
    rest = total - sum(steps.values())
    return {"total": total, "clock": clock, "planned": planned[0], **steps, "Polars": rest} | {
        "  of that reading, twice": 2 * reading,
        "  of that writing": writing,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--public", choices=("integer", "float"), default="integer")
    asked = parser.parse_args()
    watch()
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "rows.parquet", Path(folder) / "out.parquet"
        write(path, asked.rows)
        once(path, target, asked.public)
        runs = [once(path, target, asked.public) for _ in range(asked.rounds)]
    middle = {step: statistics.median(run[step] for run in runs) for step in runs[0]}
    total, clock, planned = (middle.pop(name) for name in ("total", "clock", "planned"))
    print(f"{asked.rows:,} rows, {asked.public}: {clock:.2f} s on the clock, of which the plan {planned:.2f}")
    for step, seconds in middle.items():
        print(f"  {step:<32}{seconds:7.2f} s {seconds / total:6.0%}")
    print(f"  {'all':<32}{total:7.2f} s")


if __name__ == "__main__":
    main()
