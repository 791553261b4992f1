"""What a ledger costs: seconds of a release beside one, when it holds this many entries.

Run: python benchmarks/ledger.py [--most N]

Each entry is one night: a batch whose people are in no other one. "alone" is the same release without a ledger.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd

import puffer_frames
from puffer_frames import Ledger


def main():
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1600)
    most = parser.parse_args().most
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 1000), "score": rng.integers(0, 9, 1000)})
    plan = puffer_frames.calibrate(frame, secret="group", public="score", epsilon=0.1)
    with tempfile.TemporaryDirectory() as folder:
        book, entries = Ledger(Path(folder) / "releases.jsonl", limit=1.0), 0
        print(f"{'entries':>8} {'alone':>8} {'beside it':>10} {'KiB':>8}")
        for size in (0, most // 16, most // 4, most):
            while entries < size:
                released(plan, frame, book, entries)
                entries += 1
            alone = median(seconds(lambda: plan.release(frame)) for _ in range(9))
            beside = []
            for _ in range(9):
                beside.append(seconds(lambda: released(plan, frame, book, entries)))  # noqa: B023  # called at once
                entries += 1
            length = book.path.stat().st_size // 1024
            print(f"{size:>8,} {alone:>8.4f} {median(beside):>10.4f} {length:>8,}")


def released(plan, frame, book, night):
    """A release of one night."""
    about = {"dataset": "people", "batch": str(night), "batches": "no person is in two"}
    return plan.release(frame, ledger=book, about=about)


def seconds(call):
    """How long a call takes."""
    start = perf_counter()
    call()
    return perf_counter() - start


if __name__ == "__main__":
    main()
