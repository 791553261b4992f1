"""Releases of 5·10⁷ to 5·10⁸ rows from a folder of Parquet to a file, and what a row costs in Spark.

Run: python benchmarks/billion.py [polars|spark] [--rows N ...] [--public NAME ...] [--master M ...] [--folder DIR]

Writes the folder first (about 9 bytes a row) into a temporary folder, and deletes it. Polars: each release is a process
of its own; prints seconds, also for 10⁷ rows, and the peak of resident memory. Spark: a process for each master
(local[N] has N threads); prints the seconds of a release that is written, the time of all tasks per row, the bytes per
row that tasks exchange, the bytes that reach the driver, and its peak of memory, in which the tasks are too but for
--master "local-cluster[2,1,3072]": two executors in processes of their own, whose logs Spark leaves in the folder
`work` of its installation.
"""

import argparse
import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import puffer_frames
from puffer_frames import Layout

PART, GROUP = 5 * 10**7, 10**6
"""Rows of a file, and of a row group."""
ROWS = {"polars": [5 * 10**7, 15 * 10**7, 5 * 10**8], "spark": [10**6, 5 * 10**6, 2 * 10**7]}
MASTERS = ("local[1]", "local[2]", "local[4]")
PUBLIC = ("integer", "float")


def write(folder, rows):
    """Files of a secret of five values, an integer and a float that depend on it, and a number in the order of rows."""
    rng, names = np.random.default_rng(0), pa.array([f"group {c}" for c in range(5)])
    for k, start in enumerate(range(0, rows, PART)):
        end, writer = min(start + PART, rows), None
        for first in range(start, end, GROUP):
            code = rng.integers(0, 5, min(GROUP, end - first))
            columns = {
                "secret": pa.DictionaryArray.from_arrays(code, names).cast(pa.string()),
                "integer": rng.integers(0, 40, code.size) + code,
                "float": rng.normal(code / 10, 1.0, code.size),
                "id": np.arange(first, first + code.size),
            }
            table = pa.table(columns)
            if writer is None:
                encoding = {"use_dictionary": ["secret", "integer"], "column_encoding": {"id": "DELTA_BINARY_PACKED"}}
                writer = pq.ParquetWriter(folder / f"{k:04}.parquet", table.schema, **encoding)
            writer.write_table(table, row_group_size=GROUP)
        writer.close()


def released(folder, rows, public):
    """A release by Polars of the files that hold the first rows, in this process."""
    files = sorted(Path(folder).glob("*.parquet"))[: -(-rows // PART)]
    source = pl.scan_parquet(files)
    begun = time.perf_counter()
    found = source.puffer.privatize(secret="secret", public=public, epsilon=1.0, rng=1)
    planned = time.perf_counter() - begun
    found.puffer.sink_parquet(Path(folder) / "out")
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "planned": planned, "peak": peak}))


def in_spark(folder, master, public):
    """Releases by Spark of every folder in a folder, in this process."""
    from spark import stages, start

    session = start(master)
    for k, rows in enumerate(sorted(map(int, (one.name for one in Path(folder).iterdir())))):
        frame = session.read.parquet(f"{folder}/{rows}")
        for name, row_id in (("by position", None), ("by row_id", "id")):
            for _ in range(2 if k == 0 else 1):  # the first run compiles, and starts the workers
                before, begun = set(stages(session)), time.perf_counter()
                found = puffer_frames.privatize(
                    frame, secret="secret", public=public, epsilon=1.0, rng=1, layout=Layout(row_id=row_id)
                )
                with tempfile.TemporaryDirectory() as target:
                    found.write.mode("overwrite").parquet(target)
                seconds = time.perf_counter() - begun
                time.sleep(0.5)  # the status store hears of the last stage a little later
            own = [stage for number, stage in stages(session).items() if number not in before]
            total = {key: sum(stage[key] for stage in own) for key in ("tasks", "shuffled", "results")}
            print(json.dumps({"rows": rows, "name": name, "seconds": seconds, **total}), flush=True)
    java = session.sparkContext._gateway.jvm.java.lang.ProcessHandle.current().pid()
    status = dict(line.split(":", 1) for line in Path(f"/proc/{java}/status").read_text().splitlines())
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"driver": (own + int(status["VmHWM"].split()[0])) / 1024}), flush=True)
    session.stop()


def started(*options):
    """This script in another process, and what it prints as JSON."""
    done = subprocess.run([sys.executable, __file__, *map(str, options)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def by_polars(sizes, public, folder):
    """Prints a line for each public column and size."""
    started("write", "--folder", folder, "--rows", max(sizes))  # by itself: a process hands its peak on to its children
    print(f"{'rows':>13} {'released':<9}{'s':>8}{'s per 10^7':>12}{'of which plan':>15}{'peak MiB':>10}", flush=True)
    for name in public:
        for rows in sizes:
            (found,) = started("once", "--folder", folder, "--rows", rows, "--public", name)
            line = f"{rows:>13,} {name:<9}{found['seconds']:>8.1f}{found['seconds'] / rows * 1e7:>12.3f}"
            print(line + f"{found['planned'] / found['seconds']:>15.0%}{found['peak']:>10.0f}", flush=True)
            (folder / "out").unlink()


def by_spark(sizes, public, folder, asked=MASTERS):
    """Prints a line for each public column, master, size and way to number rows."""
    for rows in sizes:
        (folder / str(rows)).mkdir()
        write(folder / str(rows), rows)
    head = f"{'master':<24}{'rows':>13} {'released':<9}{'numbered':<13}{'s':>7}{'task us/row':>13}"
    print(head + f"{'exchanged B/row':>17}{'to driver kB':>14}", flush=True)
    for name, master in itertools.product(public, asked):
        for found in started("in spark", "--folder", folder, "--master", master, "--public", name):
            if "driver" in found:
                print(f"{master:<24} most memory of the driver {found['driver']:,.0f} MiB", flush=True)
                continue
            rows = found["rows"]
            line = f"{master:<24}{rows:>13,} {name:<9}{found['name']:<13}{found['seconds']:>7.1f}"
            line += f"{found['tasks'] / rows * 1e6:>13.2f}{found['shuffled'] / rows:>17.4f}"
            print(line + f"{found['results'] / 1e3:>14.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="polars", choices=("polars", "spark", "write", "once", "in spark"))
    parser.add_argument("--rows", type=int, nargs="+")
    parser.add_argument("--public", nargs="+", choices=PUBLIC, default=PUBLIC)
    parser.add_argument("--folder")
    parser.add_argument("--master", nargs="+", default=MASTERS)
    asked = parser.parse_args()
    if asked.what == "write":
        write(Path(asked.folder), asked.rows[0])
        return
    if asked.what == "once":
        released(asked.folder, asked.rows[0], *asked.public)
        return
    if asked.what == "in spark":
        in_spark(asked.folder, *asked.master, *asked.public)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        sizes = asked.rows or ROWS[asked.what]
        if asked.what == "polars":
            by_polars(sizes, asked.public, Path(folder))
        else:
            by_spark(sizes, asked.public, Path(folder), asked.master)


if __name__ == "__main__":
    main()
