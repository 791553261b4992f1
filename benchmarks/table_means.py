"""Means by group from whole tables, corrected with tables of probabilities that the plan implies: bias and coverage.

The package has no such estimate: docs/estimates.md says why. Rows that are simulated from the fitted network and
released give the mean probability of each pair of released values for each pair of raw ones. Its inverse corrects the
counts of a release; the standard error is that of rows that are independent draws.

Run: python benchmarks/table_means.py [rows] [releases]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames import calibrate
from puffer_frames.mechanisms.sequential.release import release
from puffer_frames.noise.stream import ReleaseKey

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.data"
COLUMNS = {"age": 0, "marital_status": 5, "occupation": 6, "sex": 9, "hours_per_week": 12, "income": 14}
PUBLIC = ["age", "marital_status", "occupation", "hours_per_week", "income"]
PAIRS = [
    ("marital_status", "income"),
    ("occupation", "income"),
    ("income", "age"),
    ("income", "hours_per_week"),
    ("occupation", "hours_per_week"),
]
"""Group, and the column whose mean is taken."""
SIMULATED, SEED = 300_000, 5
LEAST_SHARE = 0.05
"""Smaller groups are left out."""


def coded(columns, frame):
    """Codes of raw rows, and the value of each code; income above 50,000 counts 1."""
    codes, values = [], []
    for column in columns:
        if column.edges is None:
            codes.append(pd.Categorical(frame[column.name], categories=list(column.levels)).codes.astype(int))
            values.append(np.array([float(level == ">50K") for level in column.levels]))
        else:
            codes.append(column.coded(frame[column.name].to_numpy(float)))
            values.append(np.array(column.levels, dtype=float))
    return np.stack(codes, axis=1), values


def corrected(counts, matrix, inverse, values):
    """Means by group from the counts of the pairs, and their standard errors."""
    found = inverse @ counts
    kept = found.clip(0)
    spread = inverse @ (np.diag(matrix.T @ kept) - (matrix.T * kept) @ matrix) @ inverse.T
    cells = found.reshape(-1, values.size)
    means = cells @ values / cells.sum(axis=1)
    gradients = np.zeros((len(cells), *cells.shape))
    for k, mean in enumerate(means):
        gradients[k, k] = (values - mean) / cells[k].sum()
    flat = gradients.reshape(len(cells), -1)
    return means, np.sqrt(np.einsum("ki,ij,kj->k", flat, spread, flat).clip(0))


def main(rows=6000, releases=400):
    people = pd.read_csv(ADULT, header=None, skipinitialspace=True, usecols=list(COLUMNS.values()))
    people = people.set_axis(list(COLUMNS), axis=1).sample(rows, random_state=1, ignore_index=True)
    plan = calibrate(people, secret="sex", public=PUBLIC, epsilon=1.0, mechanism="sequential").fitted
    names, columns = plan.names, [column for column in plan.columns if column.source is None]
    sizes = [len(column.levels) for column in columns]
    raw, values = coded(columns, people)
    secrets = pd.Categorical(people["sex"], categories=list(plan.rows_per_secret)).codes.astype(int)

    def drawn(codes, own, key):
        return np.asarray(release(plan.plan, codes, own, key=ReleaseKey.of(key), names=names), dtype=int)

    rng = np.random.default_rng(SEED)
    who = rng.choice(len(plan.rows_per_secret), size=SIMULATED, p=np.bincount(secrets) / rows)
    inputs = plan.plan.laws[0].sample(who, rng)
    outputs = drawn(inputs, who, 77)
    results = {pair: [] for pair in PAIRS}
    again = [drawn(raw, secrets, 1000 + k) for k in range(releases)]
    for pair in PAIRS:
        g, x = map(names.index, pair)
        places = [codes[:, g] * sizes[x] + codes[:, x] for codes in (inputs, outputs, raw)]
        matrix = np.zeros((sizes[g] * sizes[x],) * 2)
        np.add.at(matrix, tuple(places[:2]), 1.0)
        total = matrix.sum(axis=1, keepdims=True)
        matrix = np.where(total > 0, matrix / np.maximum(total, 1), np.eye(len(matrix)))
        inverse = np.linalg.pinv(matrix.T, rcond=1e-6)

        def means(counts, x=x):
            cells = counts.reshape(-1, sizes[x]).astype(float)
            return cells @ values[x] / cells.sum(axis=1)

        truth = means(np.bincount(places[2], minlength=len(matrix)))
        large = np.bincount(raw[:, g], minlength=sizes[g]) >= LEAST_SHARE * rows
        for codes in again:
            counts = np.bincount(codes[:, g] * sizes[x] + codes[:, x], minlength=len(matrix)).astype(float)
            found, error = corrected(counts, matrix, inverse, values[x])
            results[pair].append(np.stack([found - truth, error, means(counts) - truth])[:, large])
        off, error, naive = np.moveaxis(np.array(results[pair]), 1, 0)
        print(f"\n{pair[1]} by {pair[0]}, {rows:,} rows, {releases} releases; conditions", end=" ")
        print(f"{np.linalg.cond(matrix):.3g}")
        table = {"naive": naive.mean(0), "corrected": off.mean(0), "deviation": off.std(0), "reported": error.mean(0)}
        print(pd.DataFrame(table | {"covered": (np.abs(off) <= 1.96 * error).mean(0)}).round(3).to_string())


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main(*map(int, sys.argv[1:]))
