"""Time and memory of a release from a Parquet file to another, beside a copy of its three columns by Polars.

Run: python benchmarks/parquet.py [--rows N ...] [--rounds N] [--folder DIR] [--json FILE]

Each run is a process of its own. A release counts, calibrates, adds noise, and writes one noisy and one kept column
with the certificate; the copy reads and writes these and the secret. Prints the medians of seconds, and of the largest
resident memory.
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

import puffer_frames  # noqa: F401

PART = 10**6
REQUESTS = {"integer": "kantorovich", "float": "gaussian"}


def write(path, rows):
    """Parts of a million rows, put together by Polars without ever being in memory together."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for k, start in enumerate(range(0, rows, PART)):
            n = min(PART, rows - start)
            code = rng.integers(0, 5, n)
            pl.DataFrame(
                {
                    "secret": np.array([f"group {c}" for c in range(5)])[code],
                    "integer": rng.integers(0, 40, n) + code,
                    "float": rng.normal(code / 10, 1.0, n),
                    "kept": rng.integers(0, 1000, n),
                }
            ).write_parquet(f"{folder}/{k:06}.parquet")
        pl.scan_parquet(f"{folder}/*.parquet").sink_parquet(path, row_group_size=PART)


def once(path, column, what):
    """Seconds and memory of one run in this process."""
    source, target = pl.scan_parquet(path), path.with_suffix(".out")
    start = time.perf_counter()
    if what == "copy":
        source.select("secret", column, "kept").sink_parquet(target)
    elif what == "release":
        ask = {"secret": "secret", "public": column, "keep": "kept", "epsilon": 1.0, "theorem": REQUESTS[column]}
        source.puffer.privatize(**ask).puffer.sink_parquet(target)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak": peak / 1024}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 5 * 10**7])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--once", nargs=3)
    options = parser.parse_args()
    if options.once:
        once(Path(options.once[0]), *options.once[1:])
        return
    found = []
    print(f"{'rows':>11} {'column':<9}{'copy s':>9}{'release s':>11}{'ratio':>7}{'copy MiB':>10}{'release MiB':>13}")
    for rows in options.rows:
        path = options.folder / f"rows{rows}.parquet"
        write(path, rows)
        for column in REQUESTS:
            runs = {"copy": [], "release": []}
            for _ in range(options.rounds):
                for what, list_ in runs.items():
                    call = [sys.executable, __file__, "--once", str(path), column, what]
                    list_.append(json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout))
            middle = {
                what: {k: statistics.median(r[k] for r in list_) for k in list_[0]} for what, list_ in runs.items()
            }
            copy, release = middle["copy"], middle["release"]
            ratio = release["seconds"] / copy["seconds"]
            print(
                f"{rows:>11,} {column:<9}{copy['seconds']:>9.3f}{release['seconds']:>11.3f}{ratio:>7.2f}"
                f"{copy['peak']:>10.0f}{release['peak']:>13.0f}"
            )
            found.append({"rows": rows, "column": column, "ratio": ratio, **middle})
        path.unlink()
        path.with_suffix(".out").unlink()
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
