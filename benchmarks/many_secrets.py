"""Time of calibrations over all pairs of many secrets.

Run: python benchmarks/many_secrets.py [--secrets N ...] [--rows N] [--rounds N] [--json FILE]

Every secret has its own mean and standard deviation, and so many rows. Prints medians of seconds per theorem, noise and
delta.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames import Noise

SHIFTED, OWN = "shifted", "own"
"""Public columns: one law for all secrets but for its mean, and one of each secret's own."""
REQUESTS = {
    "kantorovich": (OWN, {"mechanism": Noise(theorem="kantorovich")}),
    "translation": (SHIFTED, {"mechanism": Noise(theorem="translation")}),
    "gaussian": (OWN, {"mechanism": Noise(theorem="gaussian"), "beliefs": "fitted"}),
    "gaussian, delta 1e-6": (OWN, {"mechanism": Noise(theorem="gaussian"), "beliefs": "fitted", "delta": 1e-6}),
    "gaussian, delta 1e-6, Gaussian noise": (
        OWN,
        {"mechanism": Noise("gaussian", theorem="gaussian"), "beliefs": "fitted", "delta": 1e-6},
    ),
}


def table(secrets, rows):
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(secrets), rows)
    mean = rng.normal(size=secrets)
    shape = rng.integers(0, 4, rows)
    return pl.DataFrame(
        {
            "secret": label,
            SHIFTED: (rng.integers(0, 50, secrets)[:, None] + shape).ravel(),
            OWN: rng.normal(np.repeat(mean, rows), np.repeat(rng.uniform(0.5, 2.0, secrets), rows)),
        }
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--secrets", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for secrets in options.secrets:
        frame = table(secrets, options.rows)
        for name, (column, request) in REQUESTS.items():
            taken = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                plan = frame.puffer.calibrate(secret="secret", public=column, epsilon=1.0, **request)
                taken.append(time.perf_counter() - start)
            seconds = statistics.median(taken)
            print(f"{secrets:>9,} secrets  {name:<38}{seconds:>8.2f} s   scale {plan.scale:.6g}", flush=True)
            found.append({"secrets": secrets, "request": name, "seconds": seconds, "scale": plan.scale})
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
