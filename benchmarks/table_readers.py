"""Readers of a whole table that epsilon does not cover: who holds the raw table, and who knows some raw columns.

Run: python benchmarks/table_readers.py [--data ../shared/data] [--plan FILE]

Numbers of docs/whole_tables.md: adult.data by sex at epsilon 1, without fnlwgt. Both readers know the plan, so that
these are the best guesses that there are: of the first exactly, of the second under the network.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from tables import ADULT, DATA

from puffer_frames import Sequential, calibrate, load_plan
from puffer_frames.mechanisms.sequential.law import Filter
from puffer_frames.mechanisms.sequential.release import Walk, release
from puffer_frames.noise.stream import ReleaseKey

HELD, KNOWN = 1_500, 12_000
"""Released rows of each reader."""


def coded(column, values):
    if column.edges is None:
        return pd.Index(column.levels).get_indexer(values)
    return column.coded(values.to_numpy(dtype=float))


def holder(plan, codes, secrets, rows, released):
    """AUC of who compares released rows with all raw ones, and how often the likeliest of these equals the true one."""
    walk, logs = Walk(plan, len(rows)), np.zeros((len(rows), len(codes)), dtype=np.float32)
    for step in plan.steps:
        channels = walk.channels(step, walk.laws_of(step.column))
        evidence = np.log(channels.evidence(released[:, step.column])).astype(np.float32)
        for s in range(len(evidence)):
            own = secrets == s
            logs[:, own] += evidence[s][:, codes[own, step.column]]
        walk.see(channels, released[:, step.column])
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    second = chances[:, secrets == 1].sum(axis=1) / chances.sum(axis=1)
    found = (codes[logs.argmax(axis=1)] == codes[rows]).all(axis=1).mean()
    return roc_auc_score(secrets[rows], second), found


def knower(plan, codes, secrets, released, known, *, sees):
    """AUC of who knows some raw columns, with or without the release, and the 99 % quantile of |log-odds|."""
    walk, reader, logs = Walk(plan, len(codes)), Filter(plan.laws[0]), 0.0
    for step in plan.steps:
        channels = walk.channels(step, walk.laws_of(step.column))
        found = channels.evidence(released[:, step.column])
        told = found if sees else np.ones_like(found)
        if step.column in known:
            told = told * (np.arange(found.shape[2]) == codes[:, [step.column]])
        reader.law_of(step.column)
        logs = logs + np.log(reader.see(told))
        walk.see(channels, released[:, step.column])
    losses = logs[1] - logs[0]
    return roc_auc_score(secrets, losses), np.quantile(np.abs(losses), 0.99)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--plan", type=Path)
    options = parser.parse_args()
    adult = pd.read_csv(options.data / "adult.data", header=None, skipinitialspace=True, names=ADULT)
    adult = adult.drop(columns="fnlwgt")
    found = (
        load_plan(options.plan)
        if options.plan
        else calibrate(adult, secret="sex", epsilon=1.0, mechanism=Sequential(step=0.25))
    )
    fit, plan = found.fitted, found.fitted.plan
    names = [column.name for column in fit.columns if column.source is None]
    codes = np.stack([coded(column, adult[column.name]) for column in fit.columns if column.source is None], axis=1)
    secrets = pd.Index([*fit.rows_per_secret]).get_indexer(adult["sex"])
    released = release(plan, codes, secrets, key=ReleaseKey.of(9), names=names).astype(np.intp)

    rows = np.random.default_rng(5).choice(len(codes), HELD, replace=False)
    auc, share = holder(plan, codes, secrets, rows, released[rows])
    print(f"holds the table: AUC {auc:.3f}; the likeliest row equals the true one in {100 * share:.0f} %")
    rows = np.random.default_rng(5).choice(len(codes), KNOWN, replace=False)
    for name in ("age", "occupation", "relationship"):
        parts = plan, codes[rows], secrets[rows], released[rows], [names.index(name)]
        raw, both = (knower(*parts, sees=sees) for sees in (False, True))
        print(f"knows {name}: AUC {raw[0]:.3f}, with the release {both[0]:.3f}, 99 % of log-odds within {both[1]:.2f}")


if __name__ == "__main__":
    main()
