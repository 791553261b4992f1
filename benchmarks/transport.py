"""Time of the largest W-infinity distance between all pairs of secrets, beside one sort of the values and POT.

Run: python benchmarks/transport.py [--rows N] [--secrets N ...] [--rounds N] [--json FILE]

The values of a secret are sorted, as the calibration finds them. With POT (pip install pot), also its transport plans,
pair by pair; moves of a rounding error of all mass are left out. Medians of interleaved rounds in one process.
"""

import argparse
import json
import statistics
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from puffer_frames.core import Prior
from puffer_frames.priors.transport import w_infinity_diameter

try:
    import ot
except ImportError:
    ot = None


def calls(rows, secrets):
    rng = np.random.default_rng(0)
    sizes = rng.multinomial(rows, np.full(secrets, 1 / secrets))
    groups = [rng.normal(k / secrets, 1.0, size) for k, size in enumerate(sizes)]
    priors = [Prior.empirical(group) for group in groups]
    found = {
        "sort": lambda: [np.sort(group) for group in groups],
        "all pairs": lambda: w_infinity_diameter(priors),
    }
    if ot is not None:
        found["POT plans"] = lambda: max(_largest_move(a, b) for a, b in combinations(groups, 2))
    return found


def _largest_move(a, b):
    """Largest distance in the plan of POT, which is that of order infinity too."""
    plan = ot.emd_1d(a, b, dense=False)
    return float(np.abs(a[plan.row] - b[plan.col])[plan.data > 1e-13].max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--secrets", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for secrets in options.secrets:
        timed = calls(options.rows, secrets)
        taken = {name: [] for name in timed}
        results = {}
        for _ in range(options.rounds + 1):  # the first round warms up
            for name, call in timed.items():
                start = time.perf_counter()
                results[name] = call()
                taken[name].append(time.perf_counter() - start)
        middle = {name: statistics.median(times[1:]) for name, times in taken.items()}
        for name, seconds in middle.items():
            distance = "" if name == "sort" else f"   W-infinity {results[name]:.9g}"
            line = f"{options.rows:>9,} rows, {secrets:>3} secrets  {name:<10}{1e3 * seconds:>10.1f} ms"
            print(f"{line} {seconds / middle['sort']:>8.2f} sorts{distance}")
        found.append({"rows": options.rows, "secrets": secrets, **middle})
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
