"""Time and tightness of scales: mixtures, stable noise, cells, edges, and tables of many secrets.

Run: python benchmarks/engine.py [--data DIR] [--rounds N] [--json FILE]

Prints each figure beside its limit; times are medians in seconds. A figure "times the exact scale" compares a large
column, counted in cells, with the same column value by value. DIR holds the real tables of the papers; without it their
figures are left out.
"""

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames import Layout, Noise, Stable, WeakGuaranteeWarning
from puffer_frames.core import Prior, smallest_scale
from puffer_frames.frames import summary
from puffer_frames.loss.noises import stable_noise

DATA = Path(__file__).parents[2] / "shared" / "data"
ROWS = 300_000


def seconds(call, rounds):
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def mixture(rng, *, about=None):
    """Five Gaussians; close to given ones, or anywhere."""
    weights, means, stds = about or (np.full(5, 0.2), np.zeros(5), np.ones(5))
    if about is None:
        return Prior.mixture(rng.dirichlet(np.ones(5)), 3 * rng.normal(size=5), rng.uniform(0.3, 2, 5))
    near = (
        rng.dirichlet(2000 * weights + 1),
        means + 0.05 * rng.normal(size=5),
        stds * np.exp(0.02 * rng.normal(size=5)),
    )
    return Prior.mixture(*near)


def of_mixtures(rounds):
    rng = np.random.default_rng(0)
    about = rng.dirichlet(np.ones(5)), 3 * rng.normal(size=5), rng.uniform(0.3, 2, 5)
    cases = {"apart": [mixture(rng) for _ in range(22)], "nearly equal": [mixture(rng, about=about) for _ in range(22)]}
    for title, priors in cases.items():
        for delta in (0.0, 1e-6, 1e-3, 0.1):
            laws = dict(enumerate(priors))
            taken = seconds(lambda: smallest_scale(laws, epsilon=1.0, delta=delta), rounds)  # noqa: B023
            yield f"22 secrets of 5 Gaussians, {title}, delta {delta:g}: seconds", taken, 3.0
    for title, secrets, rows, draw in (
        ("lognormal", 10, 1000, lambda n: np.exp(rng.normal(size=n))),
        ("Cauchy", 16, 5433, rng.standard_cauchy),
    ):
        secret = np.repeat(np.arange(secrets), rows)
        frame = pd.DataFrame({"secret": secret, "value": draw(secret.size)}).sample(frac=1, random_state=0)
        asked = {"secret": "secret", "public": "value", "epsilon": 1.0, "delta": 1e-6}
        taken = seconds(lambda: frame.puffer.calibrate(**asked), rounds)  # noqa: B023
        yield f"auto, {secrets} secrets of {rows:,} {title} rows, delta 1e-6: seconds", taken, 6.0


def of_secrets(rounds):
    rng = np.random.default_rng(1)
    laws = {k: Prior.empirical(rng.normal(size=20)) for k in range(1000)}
    yield (
        "1,000 secrets of 20 different floats: seconds",
        seconds(lambda: smallest_scale(laws, epsilon=1.0), rounds),
        1.0,
    )
    rows, secrets = 10_000_000, 10_000
    code = rng.integers(0, secrets, rows)
    columns = {"integers": rng.integers(0, 40, rows), "floats": rng.normal(size=rows)}
    for title, values in columns.items():
        frame = pl.DataFrame({"secret": code, "value": values})
        taken = seconds(lambda: frame.puffer.privatize(secret="secret", public="value", epsilon=1.0), rounds)  # noqa: B023
        yield f"10,000,000 rows of 10,000 secrets, {title}: seconds", taken, 4.0
    kept = {f"k{k}": np.arange(200) % (2 + k % 7) for k in range(5000)}
    wide = pd.DataFrame({"secret": rng.integers(0, 2, 200), "value": rng.normal(size=200), **kept})
    asked = {"secret": "secret", "public": "value", "epsilon": 1.0, "layout": Layout(keep=list(kept))}
    yield "5,000 kept columns: seconds", seconds(lambda: wide.puffer.privatize(**asked), rounds), 10.0


def of_edges(_rounds):
    zeros = {"i": Prior.empirical([0.0, 1000.0], [999, 1]), "j": Prior.empirical([0.0])}
    yield "delta equal to an isolated mass: scale", smallest_scale(zeros, epsilon=1.0, delta=1e-3), 0.0
    normal = {k: Prior.empirical(np.random.default_rng(k).normal(size=5000)) for k in range(2)}
    taken = seconds(lambda: smallest_scale(normal, epsilon=1.0, delta=1e-2, noise="gaussian"), 1)
    yield "Gaussian noise, 5,000 normal values, delta 1e-2: seconds", taken, 6.0


def of_cells(_rounds):
    """Columns of two groups, of several shapes."""
    rng = np.random.default_rng(1)
    code = rng.integers(0, 2, ROWS)
    normal = rng.normal(size=ROWS) + 0.2 * code
    shapes = {
        "normal": normal,
        "lognormal": np.exp(2 * rng.normal(size=ROWS) + 0.1 * code),
        "Cauchy": rng.standard_cauchy(ROWS) * (1 + 0.1 * code),
        "five clusters": 1000.0 * rng.integers(0, 5, ROWS) + 1e-3 * normal,
        "an outlier": np.where(np.arange(ROWS) == 0, 1e6, normal),
        "an offset of 1e12": 1e12 + normal,
    }
    usual = summary.EXACT_ROWS
    for title, values in shapes.items():
        frame = pl.DataFrame({"secret": code, "value": values})
        for epsilon, delta, noise in (
            (0.1, 0.0, "laplace"),
            (1.0, 0.0, "laplace"),
            (5.0, 0.01, "laplace"),
            (1.0, 1e-6, "gaussian"),
            (1.0, 1e-3, "gaussian"),
        ):
            asked = {
                "secret": "secret",
                "public": "value",
                "epsilon": epsilon,
                "delta": delta,
                "mechanism": Noise(noise, theorem="kantorovich"),
            }
            scales = []
            for summary.EXACT_ROWS in (usual, ROWS):
                scales.append(frame.puffer.calibrate(**asked).scale)
            summary.EXACT_ROWS = usual
            yield (
                f"cells, {title}, {noise} noise, epsilon {epsilon:g}, delta {delta:g}: times the exact scale",
                scales[0] / scales[1],
                1.001,
            )


def of_tables(folder, rounds):
    """Real tables."""
    adult = pd.read_csv(
        folder / "adult.data", header=None, skipinitialspace=True, usecols=[0, 8], names=["age", "race"]
    )
    asked = {"secret": "race", "public": "age", "epsilon": 1.0, "mechanism": Noise(Stable(alpha=1.5))}
    yield "stable noise, age by race: seconds", seconds(lambda: adult.puffer.calibrate(**asked), rounds), 1.0


def of_stable_noise(rounds):
    """Many atoms: groups of them by their means, beside every atom by itself."""
    rng = np.random.default_rng(3)
    for title, draw in (("normal", rng.normal), ("Cauchy", rng.standard_cauchy)):
        laws = {k: Prior.empirical(draw(size=5000) + 0.3 * k) for k in range(2)}
        for alpha in (1.0, 1.5):
            asked = {"epsilon": 1.0, "mechanism": Noise(Stable(alpha=alpha))}
            what = f"stable noise, alpha {alpha:g}, 5,000 {title} values"
            yield f"{what}: seconds", seconds(lambda: smallest_scale(laws, **asked), rounds), 2.0  # noqa: B023
            found, most = smallest_scale(laws, **asked), stable_noise.MOST_ATOMS
            stable_noise.MOST_ATOMS = stable_noise.MOST_NODES
            yield f"{what}: scale beside that of all atoms", found / smallest_scale(laws, **asked), 1.001
            stable_noise.MOST_ATOMS = most


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", WeakGuaranteeWarning)
    found = []
    parts = [of_mixtures, of_edges, of_stable_noise, of_secrets, of_cells]
    if options.data.exists():
        parts.insert(1, lambda rounds: of_tables(options.data, rounds))
    for part in parts:
        for figure, reached, limit in part(options.rounds):
            verdict = "holds" if reached <= limit else "NOT REACHED"
            print(f"{figure:<78}{reached:>9.3f}{limit:>9.3f}  {verdict}", flush=True)
            found.append({"figure": figure, "reached": reached, "limit": limit})
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
