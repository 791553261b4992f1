"""What counting in cells costs: the scale from cells beside the one from exact counts.

Run: python benchmarks/cells.py [--rows N] [--delta D]

Two groups, columns of several shapes, observed frequencies as the belief. "of epsilon" is what the exact loss of the
raw values at the scale from cells leaves of epsilon; for a delta above 0 it is not measured.
"""

import argparse

import numpy as np
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames import Noise
from puffer_frames.frames import summary
from puffer_frames.loss.atoms.discrete import DiscreteLoss

SHAPES = {
    "normal": lambda rng, n, code: rng.normal(size=n) + 0.2 * code,
    "normal, groups nearly alike": lambda rng, n, code: rng.normal(size=n) + 0.02 * code,
    "uniform": lambda rng, n, code: rng.uniform(size=n) + 0.05 * code,
    "exponential": lambda rng, n, code: rng.exponential(size=n) * (1 + 0.1 * code),
    "lognormal, sigma 0.8": lambda rng, n, code: np.exp(0.8 * rng.normal(size=n) + 0.1 * code),
    "lognormal, sigma 2": lambda rng, n, code: np.exp(2 * rng.normal(size=n) + 0.1 * code),
    "t, 5 degrees of freedom": lambda rng, n, code: rng.standard_t(5, n) * (1 + 0.1 * code) + 0.2 * code,
    "t, 2 degrees of freedom": lambda rng, n, code: rng.standard_t(2, n) * (1 + 0.1 * code) + 0.2 * code,
    "Cauchy": lambda rng, n, code: rng.standard_cauchy(n) * (1 + 0.1 * code),
}
EPSILONS = 0.1, 0.5, 1.0, 2.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--delta", type=float, default=0.0)
    options = parser.parse_args()
    rng, usual = np.random.default_rng(1), summary.EXACT_ROWS
    print(f"{'column':28} {'epsilon':>7} {'scale':>10} {'larger by':>10} {'of epsilon':>10} {'h/b/epsilon':>11}")
    for name, draw in SHAPES.items():
        code = rng.integers(0, 2, options.rows)
        frame = pl.DataFrame({"secret": code, "value": draw(rng, options.rows, code)})
        for epsilon in EPSILONS:
            asked = {"epsilon": epsilon, "delta": options.delta, "mechanism": Noise(theorem="kantorovich")}
            summary.EXACT_ROWS = usual
            cells = frame.puffer.calibrate(secret="secret", public="value", **asked)
            summary.EXACT_ROWS = options.rows
            exact = frame.puffer.calibrate(secret="secret", public="value", **asked)
            width = 2 * next(iter(cells.priors.values())).radius
            lost = "-"
            if not options.delta:
                lost = f"{1 - DiscreteLoss(exact.priors, pairs='all').pure(cells.scale).bracket.upper / epsilon:.3%}"
            larger, bound = cells.scale / exact.scale - 1, width / cells.scale / epsilon
            print(f"{name:28} {epsilon:7g} {cells.scale:10.4g} {larger:10.3%} {lost:>10} {bound:11.3%}", flush=True)


if __name__ == "__main__":
    main()
