"""Time of aggregates over a million units and over 100,000 units of 20 rows, of sums of all rows of a unit, of answers
of many series, and of scales of long series.

Run: python benchmarks/answers.py [--rounds N] [--json FILE]

Prints medians beside their limits; those of aggregates are ratios to a group-by of the same frame in the same process.
`log.py` does the same for logs in files.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from puffer_frames import MarkovChain, Stable, aggregate, histogram
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import quilt_scale
from puffer_frames.scales.search import smallest_scale_of

UNITS, ROWS = 100_000, 20
ONE_ROW = {"presence": {}, "replacement": {"contribution": "draw"}}
"""Laws of the sums of more than 1,500 units are not compared pair by pair."""
STAYS = [(p, q) for p in (0.5, 0.7, 0.9) for q in (0.5, 0.7, 0.9)]


def table():
    rng = np.random.default_rng(0)
    return {
        "unit": np.repeat(np.arange(UNITS), ROWS),
        "integer": rng.integers(0, 50, UNITS * ROWS),
        "positive": rng.exponential(size=UNITS * ROWS),
        "signed": rng.normal(size=UNITS * ROWS),
    }


def chains():
    """A stationary chain of 51 states that moves by steps, and one that jumps."""
    steps = np.zeros((51, 51))
    for i in range(51):
        for j, weight in ((i - 1, 0.2), (i, 0.6), (i + 1, 0.2)):
            steps[i, min(max(j, 0), 50)] += weight
    jumps = np.random.default_rng(0).dirichlet(np.full(51, 0.3), size=51)
    return {"steps": MarkovChain.of(steps), "jumps": MarkovChain.of(jumps)}


def sums():
    """Frames and options of aggregates of all rows of a unit: 100 units of 20 rows, and 2 of 5,000 binary ones."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({"unit": np.repeat(np.arange(100), 20), "value": rng.integers(0, 1000, 2000)})
    binary = pd.DataFrame({"unit": np.repeat([0, 1], 5000), "value": rng.integers(0, 2, 10_000)})
    asked = {"unit": "unit", "value": "value", "contribution": "rows", "epsilon": 1.0}
    return {
        "presence, Laplace, delta 1e-6": (wide, {**asked, "delta": 1e-6}),
        "presence, Gaussian, delta 1e-6": (wide, {**asked, "delta": 1e-6, "noise": "gaussian"}),
        "presence, stable": (wide, {**asked, "noise": Stable(alpha=1.5)}),
        "replacement, Laplace": (wide, {**asked, "protect": "replacement"}),
        "replacement, Laplace, 5,000 binary rows": (binary, {**asked, "protect": "replacement"}),
    }


def many():
    """A million units of two rows in any order, named by numbers and by text."""
    rng = np.random.default_rng(0)
    number = rng.permutation(np.repeat(np.arange(1_000_000), 2))
    value = rng.integers(0, 50, number.size)
    text = np.array([f"p{k:07d}" for k in range(1_000_000)])[number]
    return {
        "numbers": pd.DataFrame({"unit": number, "value": value}),
        "text": pd.DataFrame({"unit": text, "value": value}),
    }


def series():
    """400 series of 20 rows."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"unit": np.repeat(np.arange(400), 20), "time": np.tile(np.arange(20), 400), "state": rng.integers(0, 3, 8000)}
    )


def median(call, rounds):
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def of_many(rounds):
    """Aggregates of a million units, times a group-by of the same frame with the sum of every unit."""
    for name, frame in many().items():
        for library, own, limit in (("pandas", frame, 5.0), ("polars", pl.from_pandas(frame), 8.0)):
            summed = (
                (lambda: frame.groupby("unit")["value"].sum())  # noqa: B023
                if library == "pandas"
                else lambda: own.group_by("unit").agg(pl.col("value").sum())  # noqa: B023
            )
            base = median(summed, rounds)
            for protect, delta in (("presence", 0.0), ("replacement", 0.0), ("presence", 1e-9), ("replacement", 1e-9)):
                asked = {"unit": "unit", "value": "value", "protect": protect, "epsilon": 1.0, "delta": delta}
                taken = median(lambda: aggregate(own, **asked), rounds)  # noqa: B023
                title = f"a million units, {name}, {library}, {protect}, delta {delta:g}: group-bys"
                yield title, taken / base, 15.0 if delta else limit


def of_rows(rounds):
    """Aggregates of 100,000 units of 20 rows, of which one is drawn for replacement."""
    data = table()
    for name, frame in (("pandas", pd.DataFrame(data)), ("polars", pl.DataFrame(data))):
        for value in ("integer", "positive", "signed"):
            for protect in ("presence", "replacement"):
                asked = {"unit": "unit", "value": value, "protect": protect, "epsilon": 1.0, **ONE_ROW[protect]}
                taken = median(lambda: aggregate(frame, **asked), rounds)  # noqa: B023
                yield f"{UNITS:,} units of {ROWS} rows, {name}, {value}, {protect}: seconds", taken, None


def of_sums(rounds):
    """Aggregates of all rows of a unit."""
    for name, (frame, asked) in sums().items():
        yield f"sums of all rows, {name}: seconds", median(lambda: aggregate(frame, **asked), rounds), None  # noqa: B023


def of_series(rounds):
    """Answers of many series, and scales of long ones."""
    asked = {"state": "state", "time": "time", "unit": "unit", "per": "unit", "epsilon": 1.0}
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-6), (Stable(alpha=1.5), 0.0)):
        taken = median(lambda: histogram(series(), noise=noise, delta=delta, **asked), rounds)  # noqa: B023
        yield f"histograms of 400 series, {noise}: seconds", taken, 2.0
    long = pd.DataFrame({"time": np.arange(100_000), "state": np.arange(100_000) // 7 % 2})
    asked = {"state": "state", "time": "time", "epsilon": 1.0, "mechanism": "exact", "chain": [[0.9, 0.1], [0.1, 0.9]]}
    yield "exact count of 100,000 times: seconds", median(lambda: histogram(long, **asked), rounds), 5.0
    for states in (3, 6, 12):
        staying = (0.9 * np.eye(states) + 0.1 / states).tolist()
        counts = pd.DataFrame({"time": np.arange(10_000), "state": np.arange(10_000) // 7 % states})
        asked = {"state": "state", "time": "time", "epsilon": 1.0, "chain": staying}
        taken = median(lambda: histogram(counts, mechanism="transport", **asked), rounds)  # noqa: B023
        yield f"transport, counts of {states} states, T = 10,000: seconds", taken, 2.0
        least, quilt = (histogram(counts, mechanism=m, **asked)["scale"].iloc[0] for m in ("transport", "quilt"))
        yield f"transport, counts of {states} states, T = 10,000: its noise by that of quilts", least / quilt, 0.5
    ten = MarkovChain.of(np.random.default_rng(0).dirichlet(np.ones(10), size=10))
    for title, chain, length in (
        ("two states, with gaps", MarkovChain.of([[0.9, 0.1], [0.1, 0.9]]), 2000),
        ("ten states", ten, 300),
    ):
        seen = np.arange(length) % 100 > 0
        counted = [k == 0 for k in range(chain.states)]

        def scale_of_count():
            loss = count_loss([chain], counted, length=length, observed=seen)  # noqa: B023
            return smallest_scale_of(loss, Target(epsilon=1.0, delta=0.0))

        yield f"exact count, {title}, T = {length:,}: seconds", median(scale_of_count, rounds), None
    for name, chain in chains().items():
        given = MarkovChain.of(chain.transition, initial=np.eye(chain.states)[0])
        for title, one, epsilon in (
            ("stationary", chain, 0.2),
            ("stationary", chain, 1.0),
            ("given start", given, 1.0),
        ):
            taken = median(lambda: quilt_scale(one, length=10**6, epsilon=epsilon), rounds)  # noqa: B023
            yield f"quilts, 51 states, T = 1,000,000, {name}, {title}, epsilon {epsilon:g}: seconds", taken, 3.0
    binary = [MarkovChain.of([[p, 1 - p], [1 - q, q]]) for p, q in STAYS]
    taken = median(lambda: [quilt_scale(chain, length=100, epsilon=1.0) for chain in binary], rounds)
    yield f"quilts, {len(binary)} binary chains, T = 100, together: seconds", taken, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for part in (of_many, of_series, of_sums, of_rows):
        for figure, reached, limit in part(options.rounds):
            if limit is not None:
                found.append({"figure": figure, "reached": reached, "limit": limit})
            verdict = "" if limit is None else f"{limit:>9.2f}  {'holds' if reached <= limit else 'NOT REACHED'}"
            print(f"{figure:<86}{reached:>9.2f}{verdict}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
