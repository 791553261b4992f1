"""Time of aggregates over 100,000 units of 20 rows, over a million units, of sums of all rows of
a unit, of answers of many series, and of scales of long series.

Run: python benchmarks/answers.py [--rounds N]

Prints medians; beside the aggregates, in the same process, a group-by with the mean of every unit.
"""

import argparse
import statistics
import time

import numpy as np
import pandas as pd
import polars as pl

from puffer_frames import MarkovChain, Stable, aggregate, histogram, quilt_scale
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.numbers.target import Target
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    data = table()
    print(f"{UNITS:,} units of {ROWS} rows, seconds")
    for name, frame in (("pandas", pd.DataFrame(data)), ("polars", pl.DataFrame(data))):
        group = frame.groupby if name == "pandas" else frame.group_by
        mean = (lambda: group("unit")["signed"].mean()) if name == "pandas" else lambda: group("unit").mean()  # noqa: B023
        print(f"  {name}: mean of every unit {median(mean, rounds):.2f}")
        for value in ("integer", "positive", "signed"):
            for protect in ("presence", "replacement"):
                asked = {"unit": "unit", "value": value, "protect": protect, "epsilon": 1.0, **ONE_ROW[protect]}
                print(f"    {value:<9}{protect:<12}{median(lambda: aggregate(frame, **asked), rounds):.2f}")  # noqa: B023
    print("1,000,000 units of 2 rows, times a group-by with the sum of every unit")
    for name, frame in many().items():
        summed = median(lambda: frame.groupby("unit")["value"].sum(), rounds)  # noqa: B023
        for protect in ("presence", "replacement"):
            asked = {"unit": "unit", "value": "value", "protect": protect, "epsilon": 1.0}
            print(f"    {name:<9}{protect:<12}{median(lambda: aggregate(frame, **asked), rounds) / summed:.1f}")  # noqa: B023
    print("Answers of 400 series, seconds")
    asked = {"state": "state", "time": "time", "unit": "unit", "per": "unit", "epsilon": 1.0}
    for noise in ("laplace", Stable(alpha=1.5)):
        taken = median(lambda: histogram(series(), noise=noise, **asked), rounds)  # noqa: B023
        print(f"  {noise}: {taken:.2f}")
    print("All rows of a unit added, seconds")
    for name, (frame, asked) in sums().items():
        print(f"  {name}: {median(lambda: aggregate(frame, **asked), rounds):.2f}")  # noqa: B023
    print("Scales of exact counts, seconds")
    for states, length in ((2, 2000), (10, 1000)):
        chain = MarkovChain.of(np.random.default_rng(0).dirichlet(np.ones(states), size=states))
        counted = [k == 0 for k in range(states)]

        def scale_of_count():
            loss = count_loss([chain], counted, length=length)  # noqa: B023
            return smallest_scale_of(loss, Target(epsilon=1.0, delta=0.0))

        print(f"  {states} states, T = {length:,}: {median(scale_of_count, rounds):.2f}")
    print("Quilt scales, seconds")
    for name, chain in chains().items():
        for epsilon in (0.2, 1.0):
            taken = median(lambda: quilt_scale(chain, length=10**6, epsilon=epsilon), rounds)  # noqa: B023
            print(f"  51 states, T = 1,000,000, {name}, epsilon {epsilon:g}: {taken:.2f}")
    binary = [MarkovChain.of([[p, 1 - p], [1 - q, q]]) for p, q in STAYS]
    taken = median(lambda: [quilt_scale(chain, length=100, epsilon=1.0) for chain in binary], rounds)
    print(f"  {len(binary)} binary chains, T = 100: {taken:.3f} together")


if __name__ == "__main__":
    main()
