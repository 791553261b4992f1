"""Time and memory of a release from a Parquet file to another, beside a copy of the file by Polars.

Run: python benchmarks/parquet.py [--rows N ...] [--requests NAME ...] [--rounds N] [--folder DIR] [--json FILE]

Each run is a process of its own. The file has a secret, two public columns and one to keep. A release counts,
calibrates, adds noise, and writes the noisy and the kept columns with the certificate. It is compared with a copy of
the whole file, with one of the columns that it reads, and with two passes that read and write as a release does and do
nothing to the rows ("empty"): what is left when counting, noise and hashing take no time. Prints medians of seconds and
of the peak of resident memory.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

import puffer_frames  # noqa: F401
from puffer_frames import Layout, Noise
from puffer_frames.frames.plans.trace import in_batches

PART = 10**6
REQUESTS = {
    "integer": {"public": "integer", "mechanism": Noise(theorem="kantorovich")},
    "float": {"public": "float", "mechanism": Noise(theorem="gaussian")},
    "both": {"public": ["integer", "float"]},
    "row_id": {"public": "integer", "mechanism": Noise(theorem="kantorovich"), "layout": Layout(row_id="id")},
}
"""What is released, by the name of the request; for "row_id" the file numbers its rows, in random order."""


def write(path, rows, *, numbered):
    """Parts of a million rows, put together by Polars without ever being in memory together."""
    rng = np.random.default_rng(0)
    numbers = rng.permutation(rows) if numbered else None
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for k, start in enumerate(range(0, rows, PART)):
            n = min(PART, rows - start)
            code = rng.integers(0, 5, n)
            part = pl.DataFrame(
                {
                    "secret": np.array([f"group {c}" for c in range(5)])[code],
                    "integer": rng.integers(0, 40, n) + code,
                    "float": rng.normal(code / 10, 1.0, n),
                    "kept": rng.integers(0, 1000, n),
                }
            )
            if numbers is not None:
                part = part.with_columns(id=numbers[start : start + n])
            part.write_parquet(f"{folder}/{k:06}.parquet")
        pl.scan_parquet(f"{folder}/*.parquet").sink_parquet(path, row_group_size=PART)


def empty(source, public, numbers, target):
    """Read the secret and the public columns; read them with the kept one and write, batch by batch, unchanged."""
    marked = pl.col("secret").hash(1)
    for _ in in_batches(source.select(marked, *public, *numbers)):
        pass

    def read(_columns, _predicate, _rows, _size):
        for batch in in_batches(source.select(marked, *public, *numbers, "kept")):
            yield batch.select(pl.col(public).cast(pl.Float64), "kept")

    schema = {name: pl.Float64() for name in public} | {"kept": pl.Int64()}
    register_io_source(read, schema=schema, is_pure=True).sink_parquet(target)


def once(path, request, what):
    """Seconds and memory of one run in this process."""
    ask = REQUESTS[request]
    public = ask["public"] if request == "both" else [ask["public"]]
    numbers = ["id"] if request == "row_id" else []
    source, target = pl.scan_parquet(path), path.with_suffix(".out")
    target.unlink(missing_ok=True)  # to replace a file takes longer than to write one
    start = time.perf_counter()
    if what == "copy":
        source.sink_parquet(target)
    elif what == "copy of columns":
        source.select("secret", *public, *numbers, "kept").sink_parquet(target)
    elif what == "empty":
        empty(source, public, numbers, target)
    elif what == "release":
        source.puffer.privatize(secret="secret", layout=Layout(keep="kept"), epsilon=1.0, **ask).puffer.sink_parquet(
            target
        )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak": peak / 1024}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 5 * 10**7])
    parser.add_argument("--requests", choices=REQUESTS, nargs="+", default=list(REQUESTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--once", nargs=3)
    options = parser.parse_args()
    if options.once:
        once(Path(options.once[0]), *options.once[1:])
        return
    found = []
    print(
        f"{'rows':>11} {'released':<9}{'copy s':>9}{'of columns':>12}{'empty s':>9}{'release s':>11}{'ratio':>7}"
        f"{'of columns':>12}{'copy MiB':>10}{'release MiB':>13}"
    )
    for rows in options.rows:
        path = options.folder / f"rows{rows}.parquet"
        path.unlink(missing_ok=True)
        for request in options.requests:
            if request == "row_id" or not path.exists():
                write(path, rows, numbered=request == "row_id")
            runs = {"copy": [], "copy of columns": [], "empty": [], "release": []}
            for _ in range(options.rounds):
                for what, list_ in runs.items():
                    call = [sys.executable, __file__, "--once", str(path), request, what]
                    list_.append(json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout))
            middle = {
                what: {k: statistics.median(r[k] for r in list_) for k in list_[0]} for what, list_ in runs.items()
            }
            copy, own, release = middle["copy"], middle["copy of columns"], middle["release"]
            empty_seconds = middle["empty"]["seconds"]
            ratios = [release["seconds"] / other["seconds"] for other in (copy, own)]
            print(
                f"{rows:>11,} {request:<9}{copy['seconds']:>9.3f}{own['seconds']:>12.3f}{empty_seconds:>9.3f}"
                f"{release['seconds']:>11.3f}{ratios[0]:>7.2f}{ratios[1]:>12.2f}{copy['peak']:>10.0f}"
                f"{release['peak']:>13.0f}"
            )
            found.append({"rows": rows, "released": request, "ratio": ratios[0], "to columns": ratios[1], **middle})
        path.unlink()
        path.with_suffix(".out").unlink()
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
