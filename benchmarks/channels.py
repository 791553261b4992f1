"""Channels of columns of many levels: their least errors beside the reference, and seconds.

Run: python benchmarks/channels.py [--data ../shared/data] [--only age]

The reference is the table of the note on channels, section 10, at epsilon 1; tests/papers/test_channels_table.py holds
its columns of at most 34 levels. Each error is to agree to half of its last digit and a millionth.
"""

import argparse
import math
import time
from pathlib import Path

import pandas as pd

from puffer_frames import Channel
from puffer_frames.mechanisms.channel import best

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT = {0: "age", 5: "marital-status", 9: "sex", 12: "hours-per-week"}
GUARANTEES = {
    "LP": {},
    "LP d=1e-4": {"delta": 1e-4},
    "c1": {"times": 1},
    "c1+cap8": {"times": 1, "cap": 8.0},
    "c2": {"times": 2},
    "c2+cap8": {"times": 2, "cap": 8.0},
}
REFERENCE = {
    ("bank", "age", "marital"): (1.901798, 1.900257, 2.543789, 2.588967, 2.896578, 2.925297),
    ("adult", "hours-per-week", "sex"): (0.071882, 0.070447, 0.531344, 0.600994, 0.930088, 0.968813),
    ("adult", "age", "sex"): (0.000023, 0.000000, 0.035832, 0.346473, 0.110906, 0.368087),
    ("adult", "age", "marital-status"): (4.937547, 4.934986, 6.353636, 6.357577, 7.463988, 7.464845),
}


def read(data):
    adult = pd.read_csv(data / "adult.data", header=None, skipinitialspace=True, usecols=list(ADULT))
    return {"adult": adult.rename(columns=ADULT), "bank": pd.read_csv(data / "bank-full.csv", sep=";")}


def options_of(rows, levels, *, times=0, cap=None):
    """All levels as outputs, and `times`/sqrt(rows) of contamination."""
    radius = {s: min(0.5, round(times / math.sqrt(n), 6)) for s, n in rows.items()}
    return Channel(radius=radius, cap=cap, outputs=levels)


def measure(frame, public, secret, errors):
    found = pd.crosstab(frame[secret], frame[public])
    counts = {s: row.tolist() for s, row in zip(found.index, found.to_numpy(), strict=True)}
    rows = {s: sum(row) for s, row in counts.items()}
    levels = found.columns.tolist()
    for (name, asked), error in zip(GUARANTEES.items(), errors, strict=True):
        asked = dict(asked)
        delta = asked.pop("delta", 0.0)
        begun = time.perf_counter()
        channel = best.best_channel(
            counts, levels=levels, epsilon=1.0, delta=delta, options=options_of(rows, len(levels), **asked)
        )
        taken = time.perf_counter() - begun
        off = channel.expected_error - error
        less = "less: pairs ask for less than the note's star form" if off < 0 and len(counts) > 2 else "DIFFERS"
        agrees = "agrees" if abs(off) <= 6e-7 + 1e-6 * error else less
        print(
            f"    {name:10} {channel.expected_error:.7f}, reference {error:.6f}, {off:+.1e} {agrees}; "
            f"bound {channel.lower_bound:.7f}; {taken:.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="by default ../shared/data beside the checkout")
    parser.add_argument("--only", default="", help="columns whose name holds this")
    asked = parser.parse_args()
    frames = read(asked.data)
    for (where, public, secret), errors in REFERENCE.items():
        if asked.only in public:
            print(f"{where}: {public} by {secret}, {frames[where][public].nunique()} levels")
            measure(frames[where], public, secret, errors)


if __name__ == "__main__":
    main()
