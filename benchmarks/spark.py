"""Time of a Spark release, written to Parquet, beside a native pipeline of the same steps; and how often rows are read.

Run: python benchmarks/spark.py [--rows N] [--rounds N] [--public integer|float] [--far] [--jobs]

One process, on local[2], with one Parquet file. The native pipeline counts the rows per secret and public value, adds
Laplace noise made of `rand`, and writes. A release does this and more: it finds the scale, makes sure that the rows are
the same in every pass, and identifies what it released. Prints medians of seconds, how often all rows were read (from
the file, or where they were materialised), and whether the ratios hold. `--jobs` lists what each pass takes
and exchanges; `--far` has row numbers that lie far apart.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

import puffer_frames
from puffer_frames import Layout

PART = 10**6
LIMITS = {"release": 2.5, "release by row_id": 3.0}
"""Times the native pipeline, at most."""


def write(path, rows):
    """A secret of five values, an integer and a float that depend on it, and a number of the row, in random order."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 5, rows)
    pl.DataFrame(
        {
            "secret": np.array([f"group {c}" for c in range(5)])[code],
            "integer": rng.integers(0, 40, rows) + code,
            "float": rng.normal(code / 10, 1.0, rows),
            "id": rng.permutation(rows),
        }
    ).write_parquet(path, row_group_size=PART)


def start(master="local[2]"):
    """A session with the log and the progress bar off."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    return builder.config("spark.driver.host", "localhost").getOrCreate()


def native(frame, public, target):
    """Counts, textbook noise, and write."""
    frame.groupBy("secret", F.floor(F.col(public) * 64).alias("cell")).count().toArrow()
    sign = F.signum(F.rand(1) - 0.5)
    noisy = F.col(public) - sign * F.log(F.rand(2)) * 2.0
    frame.select(noisy.alias(public)).write.mode("overwrite").parquet(target)


def released(frame, public, target, **asked):
    """A release, and write."""
    found = puffer_frames.privatize(frame, secret="secret", public=public, epsilon=1.0, rng=1, **asked)
    found.write.mode("overwrite").parquet(target)


STEPS = {
    "native": native,
    "release": released,
    "release by row_id": lambda *args: released(*args, layout=Layout(row_id="id")),
}


def stages(session):
    """What every stage of the session so far has read, exchanged, sent to the driver and taken, by its number."""
    context = session.sparkContext
    double, store = context._gateway.jvm.double, context._jsc.sc().statusStore()
    found = {}
    each = store.stageList(None, False, False, context._gateway.new_array(double, 0), None).iterator()
    while each.hasNext():
        stage = each.next()
        times = [
            moment.get().getTime() for moment in (stage.submissionTime(), stage.completionTime()) if moment.isDefined()
        ]
        found[stage.stageId()] = {
            "name": stage.name(),
            "read": stage.inputRecords(),
            "shuffled": stage.shuffleWriteBytes(),
            "results": stage.resultSize(),
            "tasks": stage.executorRunTime() / 1000,
            "seconds": (times[1] - times[0]) / 1000 if len(times) == 2 else 0.0,
        }
    return found


def timed(session, step, frame, public, target):
    """Seconds of a step, and its stages."""
    before = set(stages(session))
    begun = time.perf_counter()
    STEPS[step](frame, public, target)
    seconds = time.perf_counter() - begun
    time.sleep(0.3)  # the status store hears of the last stage a little later
    return seconds, [stage for number, stage in sorted(stages(session).items()) if number not in before]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5 * 10**6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--public", choices=("integer", "float"), default="integer")
    parser.add_argument("--far", action="store_true")
    parser.add_argument("--jobs", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, target = str(Path(folder) / "rows.parquet"), str(Path(folder) / "out")
        write(path, asked.rows)
        session = start()
        frame = session.read.parquet(path)
        frame = frame.withColumn("id", F.xxhash64("id")) if asked.far else frame
        for step in STEPS:  # the first run compiles, and starts the workers
            timed(session, step, frame, asked.public, target)
        runs = {step: [] for step in STEPS}
        for _ in range(asked.rounds):
            for step, found in runs.items():
                found.append(timed(session, step, frame, asked.public, target))
        session.stop()
    base = statistics.median(seconds for seconds, _ in runs["native"])
    print(f"{asked.rows:,} rows, {asked.public}")
    limits = []
    for step, found in runs.items():
        seconds = statistics.median(one for one, _ in found)
        passes = sum(stage["read"] for stage in found[-1][1]) / asked.rows
        line = f"  {step:<18}{seconds:7.2f} s {seconds / base:6.2f} times, rows read {passes:4.1f} times"
        limit = LIMITS.get(step)
        if limit is not None:
            figure = f"Spark, {asked.rows:,} rows, {step}: times the native pipeline"
            limits.append({"figure": figure, "reached": seconds / base, "limit": limit})
        print(line + ("" if limit is None else f"   {'holds' if seconds <= limit * base else 'NOT REACHED'}: {limit}"))
        for stage in found[-1][1] if asked.jobs else ():
            counts = f"{stage['read']:>11,} rows  {stage['shuffled']:>12,} B"
            print(f"      {stage['seconds']:6.2f} s  {counts}  {Path(stage['name']).name}")
    if asked.json:
        asked.json.write_text(json.dumps(limits, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
