"""A float, an integer and a text of many rows released together by each engine, beside its own group-by and write.

Run: python benchmarks/scale_out.py [polars] [duckdb] [spark] [--rows N] [--folder DIR]

Writes one Parquet file of a secret of five values, the three columns and a number of the row (15 bytes a row). Each
run is a process of its own. The engine's own work is a group-by of the secret and the columns, the float in cells of
1/64, and a copy of the columns to a Parquet file. A release is calibrated, drawn and written, with its certificate.
Prints the seconds of both, their ratio, that of the processor's time, and for a release the peaks of resident and of
anonymous memory (what a process holds beside the pages of files, which the system takes back when it needs them).
DuckDB may hold 512 MB; Polars reads one row group of a million rows ahead. Spark: on local[2], by `row_id`; memory and
the processor's time are those of Python alone.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import puffer_frames
from puffer_frames import Layout, Noise

GROUP = 10**6
PUBLIC = ["float", "integer", "text"]
ASKED = {"secret": "secret", "public": PUBLIC, "epsilon": 1.0, "mechanism": Noise(), "rng": 1}
COLUMNS = ", ".join(PUBLIC)


def write(path, rows):
    """Columns that depend on the secret a little."""
    rng, writer = np.random.default_rng(0), None
    groups, words = pa.array([f"group {k}" for k in range(5)]), pa.array([f"word {k}" for k in range(8)])
    for first in range(0, rows, GROUP):
        code = rng.integers(0, 5, min(GROUP, rows - first))
        columns = {
            "secret": pa.DictionaryArray.from_arrays(code, groups).cast(pa.string()),
            "float": rng.normal(code / 10, 1.0, code.size),
            "integer": rng.integers(0, 40, code.size) + code,
            "text": pa.DictionaryArray.from_arrays(
                (rng.integers(0, 8, code.size) + (rng.random(code.size) < code / 50)) % 8, words
            ).cast(pa.string()),
            "id": np.arange(first, first + code.size),
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=["secret", "integer", "text"])
        writer.write_table(table, row_group_size=GROUP)
    writer.close()


def by_polars(path, target, native):
    source = pl.scan_parquet(path)
    if native:
        keys = ["secret", "integer", "text", (pl.col("float") * 64).floor()]
        source.group_by(keys).len().collect(engine="streaming")
        source.select(PUBLIC).sink_parquet(target)
    else:
        source.puffer.privatize(**ASKED).puffer.sink_parquet(target)


def by_duckdb(path, target, native):
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "512MB"})
    source = connection.read_parquet(str(path))
    if native:
        connection.sql("SELECT count(*) FROM source GROUP BY secret, integer, text, floor(float * 64)").fetchnumpy()
        connection.sql(f"COPY (SELECT {COLUMNS} FROM source) TO '{target}' (FORMAT parquet)")
    else:
        found = puffer_frames.privatize(source, **ASKED, layout=Layout(row_id="id"))
        puffer_frames.write_parquet(found, target)


def by_spark(path, target, native):
    from pyspark.sql import functions
    from spark import start

    source = start().read.parquet(str(path))
    for _ in range(2):  # the first run compiles, and starts the workers
        begun = time.perf_counter()
        if native:
            cell = functions.floor(functions.col("float") * 64)
            source.groupBy("secret", "integer", "text", cell.alias("cell")).count().toArrow()
            source.select(PUBLIC).write.mode("overwrite").parquet(str(target))
        else:
            found = puffer_frames.privatize(source, **ASKED, layout=Layout(row_id="id"))
            found.write.mode("overwrite").parquet(str(target))
        seconds = time.perf_counter() - begun
    return seconds


ENGINES = {"polars": by_polars, "duckdb": by_duckdb, "spark": by_spark}


def anonymous():
    """Memory that no file is behind, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def once(path, engine, native):
    """A run in this process."""
    most, ended = [anonymous()], threading.Event()

    def watch():
        while not ended.wait(0.02):
            most[0] = max(most[0], anonymous())

    threading.Thread(target=watch, daemon=True).start()
    begun, before = time.perf_counter(), time.process_time()
    seconds = ENGINES[engine](path, path.with_suffix(".out"), native)
    seconds = seconds or time.perf_counter() - begun
    busy = time.process_time() - before
    ended.set()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "busy": busy, "peak": peak, "anonymous": most[0]}))


def started(*options):
    """This script in another process, and what it prints last."""
    command, own = [sys.executable, __file__, *map(str, options)], {"POLARS_ROW_GROUP_PREFETCH_SIZE": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=own | os.environ)
    return json.loads(done.stdout.splitlines()[-1]) if done.stdout else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engines", nargs="*", help=", ".join(ENGINES))
    parser.add_argument("--rows", type=int, default=2 * 10**7)
    parser.add_argument("--folder")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--once", nargs=2)
    asked = parser.parse_args()
    if asked.write:  # by itself: a process hands its peak on to its children
        write(Path(asked.folder), asked.rows)
        return
    if asked.once:
        once(Path(asked.folder), asked.once[0], asked.once[1] == "native")
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "rows.parquet"
        started("--write", "--folder", path, "--rows", asked.rows)
        head = f"{'engine':<8}{'rows':>12}{'own s':>8}{'release s':>11}{'ratio':>7}{'of cpu':>8}"
        print(head + f"{'peak MiB':>10}{'anonymous':>11}", flush=True)
        for engine in asked.engines or ENGINES:
            native, release = (started("--folder", path, "--once", engine, what) for what in ("native", "release"))
            line = f"{engine:<8}{asked.rows:>12,}{native['seconds']:>8.1f}{release['seconds']:>11.1f}"
            line += f"{release['seconds'] / native['seconds']:>7.2f}"
            line += f"{release['busy'] / native['busy']:>8.2f}{release['peak']:>10.0f}"
            print(line + f"{release['anonymous']:>11.0f}", flush=True)


if __name__ == "__main__":
    main()
