"""Time of the parts that Gaussian mixtures need: fit, exact scale, and the whole release; and of many secrets.

Run: python benchmarks/mixtures.py [--rounds N]

Prints medians over rounds in one process; the fit is beside scikit-learn's GaussianMixture on the same rows.
"""

import argparse
import functools
import statistics
import time

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture

import puffer_frames
from puffer_frames import Noise
from puffer_frames.core import Prior, fit_mixture, smallest_scale


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def five_secrets():
    rng = np.random.default_rng(0)
    return {
        k: Prior.mixture(rng.dirichlet(np.ones(5)), rng.normal(size=5) * 3, rng.uniform(0.3, 2, 5)) for k in range(5)
    }


def many_secrets():
    """A table of 100,000 secrets with 20 rows each."""
    rng = np.random.default_rng(2)
    code = np.repeat(np.arange(100_000), 20)
    rng.shuffle(code)
    values = rng.normal(rng.normal(size=100_000)[code], 1.0)
    return pd.DataFrame({"secret": code, "float": values, "integer": rng.integers(0, 40, code.size)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(1)
    x = np.where(rng.random(100_000) < 0.4, rng.normal(size=100_000), rng.normal(4, 2, 100_000))
    code = rng.integers(0, 5, 100_000)
    frame = pd.DataFrame({"secret": code, "public": x + code / 5})
    priors = five_secrets()
    parts = {
        "fit, 3 components, 100,000 rows": lambda: fit_mixture(x, np.ones(x.size), components=3),
        "the same by scikit-learn, tolerance 1e-7": lambda: GaussianMixture(
            3, tol=1e-7, max_iter=10_000, random_state=0
        ).fit(x[:, None]),
        "exact scale, 5 secrets of 5 components, pure": lambda: smallest_scale(priors, epsilon=1.0),
        "the same, delta = 1e-5": lambda: smallest_scale(priors, epsilon=1.0, delta=1e-5),
        "privatize, 100,000 rows, 5 secrets, auto, pure": lambda: puffer_frames.privatize(
            frame, secret="secret", public="public", epsilon=1.0
        ),
        "the same, delta = 1e-6": lambda: puffer_frames.privatize(
            frame, secret="secret", public="public", epsilon=1.0, delta=1e-6
        ),
    }
    table, ask = many_secrets(), {"secret": "secret", "epsilon": 1.0}
    for column in ("float", "integer"):
        for theorem in ("kantorovich", "translation", "gaussian"):
            parts[f"calibrate, 100,000 secrets, {column}, {theorem}, pure"] = functools.partial(
                puffer_frames.calibrate, table, public=column, mechanism=Noise(theorem=theorem), **ask
            )
        parts[f"calibrate, 100,000 secrets, {column}, gaussian, 1e-6"] = functools.partial(
            puffer_frames.calibrate,
            table,
            public=column,
            mechanism=Noise(theorem="gaussian"),
            beliefs="fitted",
            delta=1e-6,
            **ask,
        )
    for name, call in parts.items():
        print(f"{name:<58} {statistics.median(seconds(call) for _ in range(rounds)):8.3f} s")


if __name__ == "__main__":
    main()
