"""The exact loss of the raw values at the scale that a table of many rows was given from cells.

Run: python benchmarks/confirm.py [--rows N] [--epsilon E]

The release counts the values in cells; here every value is an atom of its own. The exit code is 1 where the exact
engine does not confirm the scale.
"""

import argparse
import sys
import time

import numpy as np
import polars as pl

import puffer_frames  # noqa: F401
from puffer_frames import Noise
from puffer_frames.core import Prior
from puffer_frames.loss.atoms.discrete import DiscreteLoss

SECRETS = "abcde"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    code = rng.integers(0, len(SECRETS), options.rows)
    frame = pl.DataFrame(
        {
            "secret": np.array(list(SECRETS))[code],
            "value": rng.standard_t(5, options.rows) * (1 + 0.1 * code) + 0.2 * code,
        }
    )
    start = time.perf_counter()
    plan = frame.puffer.calibrate(
        secret="secret", public="value", epsilon=options.epsilon, mechanism=Noise(theorem="kantorovich")
    )
    print(f"{options.rows:,} rows: scale {plan.scale:.6g} from cells in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    values = frame["value"].to_numpy()
    raw = {secret: Prior.empirical(values[code == k]) for k, secret in enumerate(SECRETS)}
    found = DiscreteLoss(raw, pairs="all").pure(plan.scale).bracket
    print(
        f"exact loss of the raw values: {found.lower:.9f} to {found.upper:.9f} in {time.perf_counter() - start:.1f} s"
    )
    confirmed = found.upper <= options.epsilon
    print(
        f"confirmed; {1 - found.upper / options.epsilon:.2%} of epsilon pays for the cells"
        if confirmed
        else "NOT confirmed"
    )
    sys.exit(not confirmed)


if __name__ == "__main__":
    main()
