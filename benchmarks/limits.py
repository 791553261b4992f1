"""What the library sets out to reach, and what this machine reaches.

Run: python benchmarks/limits.py [--rounds N] [--folder DIR] [--json FILE] [--small]

Runs release.py, parquet.py, transport.py, engine.py, answers.py and spark.py, and times the import of the package
beyond that of pandas and Polars; prints each figure beside its limit, and writes all of them as JSON. It takes some
twelve minutes, and 2 GB of disk in the folder; --small takes a tenth of the rows, for which the limits are not meant.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def results_of(script, *arguments, rounds):
    """What a script writes as JSON; its table is printed."""
    print(f"\n{script} {' '.join(arguments)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        call = [sys.executable, str(HERE / script), *arguments, "--rounds", str(rounds), "--json", str(out)]
        subprocess.run(call, check=True)
        return json.loads(out.read_text(encoding="utf-8"))


EAGER = {"integer": 0.5, "float": 0.65}
FILES = {"integer": 1.25, "float": 1.25, "both": 1.6, "row_id": 3.5}
"""Copies of the file that a release of the column, or of both, may take."""


def import_seconds(rounds):
    """Import of the package after pandas and Polars, as of an installed one: compiled before."""
    code = "import time, pandas, polars; t = time.perf_counter(); import puffer_frames; print(time.perf_counter() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    call = [sys.executable, "-c", code]
    runs = [subprocess.run(call, check=True, capture_output=True, env=environment) for _ in range(rounds + 1)]
    return statistics.median(float(run.stdout) for run in runs[1:])


def figures(options):
    """Name, figure, limit."""
    scale = 10 if options.small else 1
    release = results_of("release.py", "--rows", str(10**7 // scale), "--frames", "polars", rounds=options.rounds)
    transport = results_of("transport.py", "--rows", str(10**6 // scale), rounds=options.rounds)
    parquet = []
    for rows, requests in ((5 * 10**7, ("integer", "float", "both")), (10**7, ("row_id",))):
        asked = ("--rows", str(rows // scale), "--requests", *requests, "--folder", str(options.folder))
        parquet += results_of("parquet.py", *asked, rounds=options.rounds)
    for run in release:
        yield f"privatize, {run['rows']:,} rows, {run['column']}: times the minimum", run["ratio"], EAGER[run["column"]]
    for run, limit in zip(transport, (1.5, 4.0), strict=True):
        yield f"W-infinity, {run['secrets']} secrets: sorts", run["all pairs"] / run["sort"], limit
    for run in parquet:
        what = f"file to file, {run['rows']:,} rows, {run['released']}"
        yield f"{what}: copies of the file", run["ratio"], FILES[run["released"]]
        if run["released"] != "row_id":
            yield f"{what}: peak in MB", run["release"]["peak"] * 1.048576, 500
    for script, arguments in (
        ("engine.py", ()),
        ("answers.py", ()),
        ("spark.py", ("--rows", str(5 * 10**6 // scale))),
    ):
        for run in results_of(script, *arguments, rounds=options.rounds):
            yield run["figure"], run["reached"], run["limit"]
    yield "import: seconds", import_seconds(options.rounds), 1.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    found = [{"figure": name, "reached": value, "limit": limit} for name, value, limit in figures(options)]
    print()
    for each in found:
        holds = "holds" if each["reached"] <= each["limit"] else "NOT REACHED"
        print(f"{each['figure']:<86}{each['reached']:>9.2f}{each['limit']:>9.2f}  {holds}")
    print(f"\n{time.perf_counter() - start:.0f} seconds")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
