"""What contamination covers, and what it does not: rows replaced whatever their values, and rows chosen by them."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, Contamination

ROWS, SHARE, EPSILON = 500, 0.2, 0.5
COUNTS = {"a": np.array([90, 210, 200]), "b": np.array([80, 220, 200])}
LEVELS = "pqr"
TABLE = pd.DataFrame(
    [(s, level, float(k)) for s, counts in COUNTS.items() for k, level in enumerate(LEVELS) for _ in range(counts[k])],
    columns=["s", "label", "number"],
).sample(frac=1, random_state=0, ignore_index=True)
PAGE = Path(__file__).parents[2] / "docs" / "beliefs.md"


def channel():
    """Law of the output for each input."""
    options = Channel(radius=SHARE, cap=None)
    plan = TABLE.puffer.calibrate(secret="s", public="label", epsilon=EPSILON, mechanism=options)
    found = plan.channels["label"]
    assert "".join(found.inputs) == LEVELS
    return np.array(found.matrix)


def noise():
    """Densities at the values, where the largest ratio of Laplace mixtures is."""
    plan = TABLE.puffer.calibrate(secret="s", public="number", epsilon=EPSILON, beliefs=Contamination(share=SHARE))
    return np.exp(-np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / plan.scale)


def largest(kernel, laws):
    """The largest loss of two secrets with any of these laws each."""
    ends = {s: np.array(found) @ kernel for s, found in laws.items()}
    pairs = [(one, other) for one in ends["a"] for other in ends["b"]]
    return max(np.abs(np.log(one / other)).max() for one, other in pairs)


def replaced(s):
    """Each row by one value, whatever its own: the extreme laws of contamination."""
    return [(1 - SHARE) * COUNTS[s] / ROWS + SHARE * np.eye(3)[k] for k in range(3)]


def chosen(s):
    """Up to as many rows of one value, by another one."""
    found = []
    for old, new in product(range(3), repeat=2):
        moved = min(int(SHARE * ROWS), int(COUNTS[s][old]))
        found.append((COUNTS[s] + moved * (np.eye(3)[new] - np.eye(3)[old])) / ROWS)
    return found


@pytest.mark.parametrize(("kernel", "loss"), [(channel, 1.10), (noise, 0.99)], ids=["channel", "noise"])
def test_rows_that_are_chosen_by_their_values(kernel, loss):
    found = kernel()
    assert largest(found, {s: replaced(s) for s in COUNTS}) <= EPSILON * (1 + 1e-9)
    assert largest(found, {s: chosen(s) for s in COUNTS}) == pytest.approx(loss, abs=0.005)
    page = PAGE.read_text(encoding="utf-8").split("chosen by their values")[1]
    assert f"{loss:.2f}" in page.split("**Three figures**")[0]
