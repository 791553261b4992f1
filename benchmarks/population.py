"""How often a certified scale is not private for the population behind the table.

Run: python benchmarks/population.py [--tables 2000] [--seed 0]

Tables are drawn from known populations, and each is calibrated at epsilon 1 with the beliefs "population" (95 %) and
with the default ones (the observed frequencies). A miss is a table whose scale has a loss of more than epsilon under
the laws that it was drawn from, clipped to the range of the table. At most 5 % of the tables may miss for "population".
"""

import argparse
import math
import sys
import time

import numpy as np
from scipy.stats import lognorm, norm

from puffer_frames.core import Prior
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.sets import LaplaceSetsLoss
from puffer_frames.numbers.arguments import Target
from puffer_frames.scales.learned import Population
from puffer_frames.scales.search import smallest_scale_of

TARGET = Target(epsilon=1.0, delta=0.0)
LEVELS = (np.arange(2000) + 0.5) / 2000
"""A continuous population is one of 2,000 equally likely values."""


def normal(mean, std):
    return norm.ppf(LEVELS, mean, std), np.full(LEVELS.size, 1 / LEVELS.size)


def skewed(shape, scale):
    return lognorm.ppf(LEVELS, shape, scale=scale), np.full(LEVELS.size, 1 / LEVELS.size)


def ties(*weights):
    return np.arange(len(weights), dtype=float), np.array(weights) / sum(weights)


def mixed(*parts):
    return (
        np.concatenate([values for _, (values, _) in parts]),
        np.concatenate([share * weights for share, (_, weights) in parts]),
    )


FIVE = [ties(*(1.0 + ((k + j) % 5) for j in range(8))) for k in range(5)]
POPULATIONS = {
    "normal, n = 20": (20, [normal(0, 1), normal(0.5, 1)]),
    "normal, n = 200": (200, [normal(0, 1), normal(0.5, 1)]),
    "normal, n = 2,000": (2000, [normal(0, 1), normal(0.5, 1)]),
    "normal, 5 secrets, n = 200": (200, [normal(0.1 * k, 1 + 0.1 * k) for k in range(5)]),
    "lognormal, n = 200": (200, [skewed(0.5, 1), skewed(0.6, 1.2)]),
    "lognormal, n = 2,000": (2000, [skewed(0.5, 1), skewed(0.6, 1.2)]),
    "ties, n = 20": (20, [ties(5, 3, 2, 1), ties(1, 2, 3, 5)]),
    "ties, n = 200": (200, [ties(5, 3, 2, 1), ties(1, 2, 3, 5)]),
    "ties, 5 secrets, n = 2,000": (2000, FIVE),
    "two atoms, n = 20": (20, [ties(0.7, 0.3), ties(0.2, 0.8)]),
    "a rare far value, n = 200": (200, [(np.array([0.0, 1.0, 30.0]), np.array([0.5, 0.49, 0.01])), ties(0.5, 0.5)]),
    "mixture, n = 200": (
        200,
        [mixed((0.5, normal(0, 0.2)), (0.5, normal(3, 1))), mixed((0.8, normal(0, 1)), (0.2, normal(5, 1)))],
    ),
}


def scale_of(loss):
    return smallest_scale_of(loss, TARGET)


def misses(laws, n, rng):
    """Whether the scale of one table is not private for its population: of the default beliefs, of "population"."""
    samples = [np.sort(rng.choice(values, n, p=weights)) for values, weights in laws]
    counts = {k: np.unique(sample, return_counts=True) for k, sample in enumerate(samples)}
    low, high = min(sample[0] for sample in samples), max(sample[-1] for sample in samples)
    observed = privacy_loss({k: Prior.empirical(*pair) for k, pair in counts.items()})
    band = LaplaceSetsLoss(Population().laws(counts, bounds=(low, high), radius=0.0), pairs="all")
    truth = privacy_loss(
        {k: Prior.empirical(values.clip(low, high), weights) for k, (values, weights) in enumerate(laws)}
    )
    scales = scale_of(observed), scale_of(band)
    return [truth.pure(scale).bracket.lower > TARGET.epsilon for scale in scales], scales


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="populations whose name holds this")
    asked = parser.parse_args()
    worst = 0.05 + 2 * math.sqrt(0.05 * 0.95 / asked.tables)
    print(f"{asked.tables} tables each; at most {100 * worst:.1f} % may miss")
    print("| population | misses, observed frequencies | misses, population | ratio of the scales (median) |")
    print("| --- | --- | --- | --- |")
    beyond = []
    for name, (n, laws) in POPULATIONS.items():
        if asked.only not in name:
            continue
        begun = time.perf_counter()
        rng = np.random.default_rng([asked.seed, n, len(name)])
        found = [misses(laws, n, rng) for _ in range(asked.tables)]
        shares = np.mean([missed for missed, _ in found], axis=0)
        ratios = [band / plain for _, (plain, band) in found if plain > 0]
        ratio = f"{np.median(ratios):.2f}" if ratios else "no noise before"
        print(f"| {name} | {100 * shares[0]:.1f} % | {100 * shares[1]:.2f} % | {ratio} |", flush=True)
        print(f"    {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        beyond += [name] if shares[1] > worst else []
    return f"too many misses: {beyond}" if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
