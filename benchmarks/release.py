"""Time of privatize from end to end at 10,000 to 10,000,000 rows, with its parts, beside the least any release must do.

Run: python benchmarks/release.py [--rows N ...] [--rounds N] [--json FILE]

Prints medians of interleaved rounds in one process, and their ratio to the bare minimum: a group-by with mean and
standard deviation per secret, and one pass of textbook NumPy Laplace noise. Writes the same as JSON.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames.frames.columns import open_frame
from puffer_frames.frames.fingerprint import fingerprint
from puffer_frames.frames.summary import summarise
from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stream import ReleaseKey

SECRETS = 5
REQUESTS = {"integer": {"theorem": "kantorovich"}, "float": {"theorem": "gaussian"}}


def table(rows):
    rng = np.random.default_rng(0)
    code = rng.integers(0, SECRETS, rows)
    return {
        "secret": np.array([f"group {k}" for k in range(SECRETS)])[code],
        "integer": rng.integers(0, 40, rows) + code,
        "float": rng.normal(code / 10, 1.0, rows),
    }


def minimum(frame, column):
    if isinstance(frame, pd.DataFrame):
        frame.groupby("secret")[column].agg(["mean", "std"])
    else:
        frame.group_by("secret").agg(pl.col(column).mean().alias("m"), pl.col(column).std().alias("s"))
    return frame[column].to_numpy() + np.random.default_rng().laplace(size=len(frame))


def steps(frame, column):
    """The calls to time, by name."""
    ask = {"secret": "secret", "public": column, "epsilon": 1.0, **REQUESTS[column]}
    values = np.asarray(frame[column].to_numpy(), dtype=float)
    released = frame[[column]] if isinstance(frame, pd.DataFrame) else frame.select(column)
    stream, sampler = ReleaseKey.of(1).stream(column), Laplace(scale=1.0).sampler()
    return {
        "minimum": lambda: minimum(frame, column),
        "privatize": lambda: frame.puffer.privatize(**ask),
        "summary": lambda: summarise(open_frame(frame), secret=["secret"], public=column),
        "calibrate": lambda: frame.puffer.calibrate(**ask),
        "noise": lambda: add_noise(values, sampler, stream=stream),
        "fingerprint": lambda: fingerprint(released),
    }


def measure(frame, column, rounds):
    calls = steps(frame, column)
    taken = {name: [] for name in calls}
    for _ in range(rounds + 1):  # the first round warms up
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    print(
        f"{'rows':>10} {'frame':<7}{'column':<9}"
        + "".join(f"{name:>13}" for name in steps(pl.DataFrame(table(10)), "float"))
    )
    for rows in options.rows:
        data = table(rows)
        for library, frame in (("polars", pl.DataFrame(data)), ("pandas", pd.DataFrame(data))):
            for column in REQUESTS:
                seconds = measure(frame, column, options.rounds)
                ratio = seconds["privatize"] / seconds["minimum"]
                row = "".join(f"{value:>13.4f}" for value in seconds.values())
                print(f"{rows:>10,} {library:<7}{column:<9}{row}   {ratio:.2f} times the minimum")
                found.append({"rows": rows, "frame": library, "column": column, "ratio": ratio, **seconds})
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
