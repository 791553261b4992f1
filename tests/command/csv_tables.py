"""Small tables of a secret and a public column, and what is asked for of them."""

from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames.frames.files import read_rows

ROWS = 400
ASKED = ("--secret", "sex", "--public", "age", "--epsilon", "1")


def draws():
    return np.random.default_rng(0)


def table(**columns):
    """A table with a secret and a public column, as columns of text; others are added."""
    rng = draws()
    sex, age = rng.choice(["f", "m"], ROWS), rng.integers(20, 60, ROWS)
    return pd.DataFrame({"sex": sex, "age": age, **columns})


def write(name, **columns):
    found = table(**columns)
    found.to_csv(name, index=False)
    return found


def read(name):
    return read_rows(Path(name), schema={}, streaming=False)
