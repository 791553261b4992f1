"""Time of privatize on discrete columns, beside the least that any release must do.

Run: python benchmarks/discrete.py [--rounds N]

Prints medians over interleaved rounds in one process. The baseline is a group-by with mean and standard deviation per
secret and one pass of textbook NumPy Laplace noise.
"""

import argparse
import statistics
import time

import numpy as np
import pandas as pd
import polars as pl

import puffer_frames  # noqa: F401


def few_values(rows=100_000, *, secrets=5, values=16):
    rng = np.random.default_rng(0)
    secret = np.array([f"group {k}" for k in range(secrets)])[rng.integers(0, secrets, rows)]
    return {"secret": secret, "public": rng.binomial(values - 1, 0.5, rows)}


def many_values(rows=100_000, *, secrets=5):
    rng = np.random.default_rng(1)
    code = rng.integers(0, secrets, rows)
    return {
        "secret": np.array([f"group {k}" for k in range(secrets)])[code],
        "public": rng.normal(code / 10, 1.0, rows),
    }


def baseline(frame):
    if isinstance(frame, pd.DataFrame):
        frame.groupby("secret")["public"].agg(["mean", "std"])
    else:
        frame.group_by("secret").agg(pl.col("public").mean().alias("m"), pl.col("public").std().alias("s"))
    frame["public"].to_numpy() + np.random.default_rng().laplace(size=len(frame))


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print(f"{'table':<52} {'median s':>9} {'baseline s':>11} {'ratio':>8}")
    for title, data, delta in (
        ("100,000 rows, 16 values, 5 secrets", few_values(), 0.0),
        ("100,000 rows, 16 values, 5 secrets, d = 1e-6", few_values(), 1e-6),
        ("100,000 distinct values, 5 secrets", many_values(), 0.0),
        ("100,000 distinct values, 5 secrets, d = 1e-6", many_values(), 1e-6),
    ):
        for make in (pd.DataFrame, pl.DataFrame):
            frame = make(data)
            options = {
                "secret": "secret",
                "public": "public",
                "epsilon": 0.05 if "16" in title else 1.0,
                "delta": delta,
            }
            times = [
                (seconds(lambda: frame.puffer.privatize(**options)), seconds(lambda: baseline(frame)))  # noqa: B023
                for _ in range(rounds)
            ]
            ours, least = (statistics.median(column) for column in zip(*times, strict=True))
            name = f"{title}, {make.__module__.partition('.')[0]}"
            print(f"{name:<52} {ours:9.3f} {least:9.4f} {ours / least:8.1f}")


if __name__ == "__main__":
    main()
