"""Scales of several columns together: their sums beside the reference, and seconds beside a group-by of the columns.

Run: python benchmarks/joint.py [--data ../shared/data] [--rows 100000] [--seed N]

The reference is docs/theory.md, section 17: sums of scale / standard deviation at epsilon 1.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames import calibrate

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT = {0: "age", 4: "education_num", 8: "race", 9: "sex", 12: "hours"}
REFERENCE = {
    ("student", "sex"): 1.6236,
    ("adult", "sex"): 2.3417,
    ("adult", "race"): 3.6667,
    ("bank", "marital"): 8.1609,
}
PUBLIC = {
    "student": ["G1", "G2", "G3"],
    "adult": ["age", "education_num", "hours"],
    "bank": ["age", "balance", "duration"],
}


def tables(data):
    adult = pd.read_csv(data / "adult.data", header=None, skipinitialspace=True, usecols=list(ADULT))
    return {
        "student": pd.read_csv(data / "student-mat.csv", sep=";"),
        "adult": adult.rename(columns=ADULT),
        "bank": pd.read_csv(data / "bank-full.csv", sep=";"),
    }


def drawn(rows, columns, *, kind, seed):
    """Two groups, half a standard deviation apart in every column."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    noise = rng.normal(size=(rows, columns)) if kind == "normal" else rng.standard_t(3, size=(rows, columns))
    names = [f"x{k}" for k in range(columns)]
    return pd.DataFrame(noise + 0.5 * (group == "a")[:, None], columns=names).assign(group=group), names


def timed(frame, secret, public):
    began = time.perf_counter()
    frame.groupby([secret, *public]).size()
    grouped = time.perf_counter() - began
    began = time.perf_counter()
    plan = calibrate(frame, secret=secret, public=public, epsilon=1.0)
    took = time.perf_counter() - began
    total = sum(plan.scales[name] / frame[name].std(ddof=0) for name in public)
    loss = plan.choices[public[0]].verified["empirical"].pure_loss
    return total, loss, took, took / grouped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    read = tables(options.data) if options.data.exists() else {}
    cases = [
        (f"{name} by {secret}", known, read[name], secret, PUBLIC[name])
        for (name, secret), known in REFERENCE.items()
        if name in read
    ]
    for columns, kind in ((2, "normal"), (3, "normal"), (3, "t(3)"), (4, "normal")):
        rows = options.rows if columns < 4 else options.rows // 50
        frame, names = drawn(rows, columns, kind=kind, seed=options.seed)
        cases.append((f"{kind}, {rows:,} x {columns}", None, frame, "group", names))
    print(f"{'table':<24} {'sum':>8} {'reference':>9}  {'loss':<20} {'seconds':>8} {'x group-by':>10}")
    for title, known, frame, secret, public in cases:
        total, loss, took, ratio = timed(frame, secret, public)
        reference = "" if known is None else f"{known:.4f}"
        bounds = f"{loss.lower:.5f} to {loss.upper:.5f}"
        print(f"{title:<24} {total:>8.4f} {reference:>9}  {bounds:<20} {took:>8.2f} {ratio:>10.0f}")


if __name__ == "__main__":
    main()
