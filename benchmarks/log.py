"""Time and memory of answers about a large log in Parquet, whose rows are never in memory together.

Run: python benchmarks/log.py [--rows N] [--units N] [--spark]

Writes the log into a temporary folder, and runs each step in a process of its own: a sum of all rows by `aggregate`, a
histogram of states in time, and before each a group-by of its columns by unit. Prints seconds, times the group-by, and
the peak of memory.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import puffer_frames

FILE = 10_000_000
"""Rows of a file."""
LIMITS = {"aggregate": ("group-by", 3.0, 1000), "histogram": ("group-by of times", 3.0, 1000)}
"""What a step may take: so many times the group-by of its columns, and so many MB."""


def write(folder, rows, units):
    """A log of units that each count time by itself: 1 % of the times are missing; small integers, and three states."""
    rng = np.random.default_rng(0)
    per_unit = max(1, rows // units)
    for k, start in enumerate(range(0, rows, FILE)):
        number = np.arange(start, min(start + FILE, rows))
        order = rng.permutation(number.size)
        frame = pl.DataFrame(
            {
                "unit": (number // per_unit)[order],
                "time": (number % per_unit)[order],
                "value": rng.integers(0, 6, number.size),
                "state": rng.integers(0, 3, number.size),
            }
        )
        frame.filter(pl.Series(rng.random(number.size) < 0.99)).write_parquet(
            folder / f"{k}.parquet", row_group_size=1_000_000
        )


def grouped(frame):
    return frame.group_by("unit").agg(pl.col("value").sum()).collect(engine="streaming")


def grouped_times(frame):
    ends = [pl.col("time").min().alias("first"), pl.col("time").max().alias("last")]
    return frame.group_by("unit").agg(*ends, pl.col("state").count()).collect(engine="streaming")


def grouped_in_spark(frame):
    from pyspark.sql import functions

    frame.groupBy("unit").agg(functions.sum("value")).write.format("noop").mode("overwrite").save()


def summed(frame):
    return puffer_frames.aggregate(frame, unit="unit", value="value", epsilon=1.0, rng=1)


def timed(frame):
    asked = {"state": "state", "time": "time", "unit": "unit", "gaps": "independent"}
    return puffer_frames.histogram(frame, epsilon=1.0, rng=1, **asked)


def grouped_times_in_spark(frame):
    from pyspark.sql import functions

    ends = [functions.min("time"), functions.max("time"), functions.count("state")]
    frame.groupBy("unit").agg(*ends).write.format("noop").mode("overwrite").save()


STEPS = {"group-by": grouped, "aggregate": summed, "group-by of times": grouped_times, "histogram": timed}
IN_SPARK = {**STEPS, "group-by": grouped_in_spark, "group-by of times": grouped_times_in_spark}


def run(step, folder, *, spark):
    """One step, and what it takes, as JSON."""
    files = str(Path(folder) / "*.parquet")
    if spark:
        from pyspark.sql import SparkSession  # only where it is asked for

        session = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g").getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        frame = session.read.parquet(str(folder))
        grouped_in_spark(frame)  # the first run starts the workers
    else:
        frame = pl.scan_parquet(files)
    start = time.perf_counter()
    found = (IN_SPARK if spark else STEPS)[step](frame)
    taken = time.perf_counter() - start
    first = None if found is None or step.startswith("group-by") else found["answer"].to_list()[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(json.dumps({"seconds": taken, "peak": peak, "answer": first}))


def started(options):
    """This script in another process, and what it prints."""
    command = [sys.executable, __file__, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FILE)
    parser.add_argument("--units", type=int, default=1_000_000)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--step", choices=("write", *STEPS))
    parser.add_argument("--folder")
    asked = parser.parse_args()
    if asked.step == "write":
        write(Path(asked.folder), asked.rows, asked.units)
        return
    if asked.step:
        run(asked.step, asked.folder, spark=asked.spark)
        return
    with tempfile.TemporaryDirectory() as folder:
        given = ["--rows", str(asked.rows), "--units", str(asked.units), "--folder", folder]
        started(["--step", "write", *given])  # by itself: the peak of a process is handed on to its children
        print(f"{asked.rows:,} rows of {asked.units:,} units, {'Spark' if asked.spark else 'Polars'}")
        taken = {}
        for step in STEPS:
            said = started(["--step", step, *given, *["--spark"] * asked.spark])
            found = json.loads(said.splitlines()[-1])
            taken[step] = found["seconds"]
            base, times, megabytes = LIMITS.get(step, (step, 1.0, math.inf))
            ratio = found["seconds"] / taken[base]
            line = f"  {step:<17} {found['seconds']:7.1f} s {ratio:6.1f} times {found['peak']:7.0f} MB"
            line += "" if found["answer"] is None else f"   first answer {found['answer']:.6f}"
            if step in LIMITS and not asked.spark:
                holds = ratio <= times and found["peak"] <= megabytes
                line += "  holds" if holds else f"  NOT REACHED: {times:g} times, {megabytes:,} MB"
            print(line)


if __name__ == "__main__":
    main()
