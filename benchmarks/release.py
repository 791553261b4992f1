"""Time of privatize from end to end at 10,000 to 10,000,000 rows, with its parts, beside the least any release must do.

Run: python benchmarks/release.py [--rows N ...] [--frames NAME ...] [--rounds N] [--json FILE]

Prints medians of interleaved rounds in one process, and their ratio to the bare minimum of the eager frame: a group-by
with mean and standard deviation per secret, and one pass of textbook NumPy Laplace noise. Writes the same as JSON.
A lazy release is run and collected with its certificate; one of Spark (the extra spark, local[2], rows numbered by a
column) is counted and written nowhere. Where OpenDP and diffprivlib are installed, their Laplace mechanisms add noise
of the same scale to the first values of the same column, value by value as they do, and the time for all rows is that
times the ratio of the rows: pip install opendp diffprivlib "scikit-learn<1.7".
"""

import argparse
import json
import os
import statistics
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import puffer_frames
from puffer_frames import Layout, Noise
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import open_table
from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stream import Purpose, ReleaseKey

SECRETS = 5
PEER_ROWS = 20_000
NAMES = ("minimum", "privatize", "summary", "calibrate", "noise", "fingerprint", "opendp", "diffprivlib")
REQUESTS = {"integer": {"mechanism": Noise(theorem="kantorovich")}, "float": {"mechanism": Noise(theorem="gaussian")}}


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


def parts(frame, column):
    """The calls to time of a frame in memory, by name."""
    ask = {"secret": "secret", "public": column, "epsilon": 1.0, **REQUESTS[column]}
    values = np.asarray(frame[column].to_numpy(), dtype=float)
    released = frame[[column]] if isinstance(frame, pd.DataFrame) else frame.select(column)
    stream, sampler = ReleaseKey.of(1).stream(Purpose.NOISE, column), Laplace(scale=1.0).sampler()
    roles = Roles(secret=("secret",), public=(column,))
    return {
        "minimum": lambda: minimum(frame, column),
        "privatize": lambda: frame.puffer.privatize(**ask),
        "summary": lambda: open_table(frame).complete(roles, nulls="raise", layout=None).summaries({}),
        "calibrate": lambda: frame.puffer.calibrate(**ask),
        "noise": lambda: add_noise(values, sampler, stream=stream),
        "fingerprint": lambda: open_table(released).fingerprint(),
    }


def opendp(values):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(values))
    mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=1.0, k=-40)  # the grid of our noise
    return lambda: mechanism(values)


def diffprivlib(values):
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
    return lambda: [mechanism.randomise(value) for value in values]


def peers(frame, column):
    """Seconds that the noise of other libraries takes for all rows, by name, where they are installed."""
    values = frame[column][:PEER_ROWS].to_numpy().astype(float).tolist()
    calls = {peer.__name__: peer(values) for peer in (opendp, diffprivlib) if find_spec(peer.__name__)}
    return {name: seconds * len(frame) / len(values) for name, seconds in measure(calls, 3).items()}


def lazy_parts(frame, column):
    """The same for a plan over it: the release is run, and the noise has no pass of its own."""
    ask = {"secret": "secret", "public": column, "epsilon": 1.0, **REQUESTS[column]}
    plan = frame.lazy()
    released = plan.puffer.privatize(**ask)
    return {
        "minimum": lambda: minimum(frame, column),
        "privatize": lambda: plan.puffer.privatize(**ask).puffer.collect(),
        "calibrate": lambda: plan.puffer.calibrate(**ask),
        "noise": lambda: released.collect(engine="streaming"),
    }


def spark_parts(session, frame, column):
    """The same for a Spark frame of cached rows."""
    ask = {"secret": "secret", "public": column, "epsilon": 1.0, "layout": Layout(row_id="row"), **REQUESTS[column]}
    rows = session.createDataFrame(frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)).to_arrow())
    rows = rows.repartition(2).cache()
    rows.count()
    released = puffer_frames.privatize(rows, **ask)
    return {
        "minimum": lambda: minimum(frame, column),
        "privatize": lambda: puffer_frames.privatize(rows, **ask),
        "calibrate": lambda: puffer_frames.calibrate(rows, **{k: v for k, v in ask.items() if k != "row_id"}),
        "noise": lambda: released.write.format("noop").mode("overwrite").save(),
    }


def measure(calls, rounds):
    taken = {name: [] for name in calls}
    for _ in range(rounds + 1):  # the first round warms up
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def spark_session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "4g"}
    session = SparkSession.builder.master("local[2]").config(map=quiet | {"spark.log.level": "ERROR"}).getOrCreate()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--frames", nargs="+", default=["polars", "pandas", "lazy"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    print(f"{'rows':>10} {'frame':<7}{'column':<9}" + "".join(f"{name:>12}" for name in NAMES))
    session = spark_session() if "spark" in options.frames else None
    for rows in options.rows:
        frame = pl.DataFrame(table(rows))
        makes = {
            "polars": lambda column, frame=frame: parts(frame, column),
            "pandas": lambda column, frame=frame: parts(frame.to_pandas(), column),
            "lazy": lambda column, frame=frame: lazy_parts(frame, column),
            "spark": lambda column, frame=frame: spark_parts(session, frame, column),
        }
        beside = {column: peers(frame, column) for column in REQUESTS}
        for library in options.frames:
            for column in REQUESTS:
                seconds = measure(makes[library](column), options.rounds) | beside[column]
                ratio = seconds["privatize"] / seconds["minimum"]
                row = "".join(f"{seconds[name]:>12.4f}" if name in seconds else f"{'':>12}" for name in NAMES)
                print(f"{rows:>10,} {library:<7}{column:<9}{row}   {ratio:.2f} times the minimum")
                found.append({"rows": rows, "frame": library, "column": column, "ratio": ratio, **seconds})
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
