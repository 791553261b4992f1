"""What wider beliefs cost: one evaluation of their loss, and a whole calibration.

Run: python benchmarks/beliefs.py [--rows 10000000] [--rounds 5]

Medians of ratios in one process. To reach: an evaluation for 10^6 different values in 5 secrets at most 10 times that
of the observed frequencies; a calibration with "population" of an integer column at most 1.3 times one without; 100,000
different floats in 5 secrets in less than 3 s.
"""

import argparse
import time

import numpy as np
import pandas as pd

from puffer_frames import Contamination, Noise, Population, calibrate
from puffer_frames.loss.engine import belief_loss, privacy_loss
from puffer_frames.noise.families import LAPLACE
from puffer_frames.scales.learned import observed_belief


def seconds(call, rounds):
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def evaluations(rounds):
    rng = np.random.default_rng(0)
    counts = {k: np.unique(rng.normal(0.2 * k, 1 + 0.1 * k, 200_000), return_counts=True) for k in range(5)}
    bounds = min(values[0] for values, _ in counts.values()), max(values[-1] for values, _ in counts.values())
    plain = privacy_loss(observed_belief(counts, radius=0.0))
    alone = seconds(lambda: plain.pure(2.0), rounds)
    print(f"10^6 values in 5 secrets, one evaluation: observed frequencies {1e3 * alone:.0f} ms")
    for belief in (Population(), Contamination()):
        begun = time.perf_counter()
        loss = belief_loss(belief.laws(counts, bounds=bounds, radius=0.0), pairs="all", noise=LAPLACE)
        loss.pure(2.0)
        first = time.perf_counter() - begun
        taken = seconds(lambda loss=loss: loss.pure(2.0), rounds)
        print(
            f"    {belief.title}: {1e3 * taken:.0f} ms, {taken / alone:.2f} times; the first, prepared, {first:.2f} s"
        )


def calibrations(rows, rounds):
    rng = np.random.default_rng(1)
    integers = pd.DataFrame({"who": rng.choice(list("abcde"), rows), "x": rng.integers(0, 100, rows)})
    floats = pd.DataFrame({"who": rng.choice(list("abcde"), 100_000), "x": rng.normal(size=100_000)})
    ask = {"secret": "who", "public": "x", "epsilon": 0.1, "allow_zero_noise": True}
    plain = seconds(lambda: calibrate(integers, **ask, beliefs="empirical"), rounds)
    wide = seconds(lambda: calibrate(integers, **ask, beliefs=("empirical", "population")), rounds)
    print(f"{rows:,} rows of integers: {plain:.3f} s without, {wide:.3f} s with population, {wide / plain:.2f} times")
    for beliefs in ("empirical", ("empirical", "population"), ("empirical", Contamination())):
        taken = seconds(
            lambda beliefs=beliefs: calibrate(floats, **ask, mechanism=Noise(theorem="kantorovich"), beliefs=beliefs),
            rounds,
        )
        print(f"100,000 different floats in 5 secrets, {beliefs}: {taken:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    evaluations(asked.rounds)
    calibrations(asked.rows, asked.rounds)


if __name__ == "__main__":
    main()
