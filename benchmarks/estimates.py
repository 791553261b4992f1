"""Estimates from releases of adult.data beside the raw figures: bias, standard errors, coverage, seconds.

Run: python benchmarks/estimates.py [releases] [releases for quantiles]
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames import calibrate, estimate

ADULT = Path(__file__).parents[2] / "shared" / "data" / "adult.data"
COLUMNS = {"age": 0, "education_num": 4, "sex": 9, "hours": 12}
DECILES = np.arange(1, 10) / 10
UNFOLDED = {
    ("age", "race"): ({"support": range(17, 91)}, range(17, 93, 5)),
    ("education_num", "race"): ({"support": range(1, 17)}, np.arange(1, 18) - 0.5),
    ("hours", "sex"): ({"support": range(1, 100)}, range(1, 102, 5)),
}
"""Column and secret; what is known of the values; bins."""


def adult():
    """The table, with race."""
    places = COLUMNS | {"race": 8}
    frame = pd.read_csv(ADULT, header=None, skipinitialspace=True, usecols=sorted(places.values()))
    return frame.set_axis(sorted(places, key=places.get), axis=1)


def regressions(people, releases, *, secret, target):
    """Coefficients of hours on age and education in many joint releases."""
    public = ["age", "education_num", "hours"]
    plan = calibrate(people, secret=secret, public=public, epsilon=1.0)
    design = np.column_stack([np.ones(len(people)), people["age"], people["education_num"]])
    truth = np.linalg.lstsq(design, people["hours"].to_numpy(float), rcond=None)[0]
    found, naive, took = [], [], 0.0
    for seed in range(releases):
        released = plan.release(people, rng=seed)
        start = time.perf_counter()
        fit = estimate(released, target=target).regress("hours", on=["age", "education_num"])
        took += time.perf_counter() - start
        found.append((fit.value, fit.standard_error))
        noisy = np.column_stack([np.ones(len(people)), released["age"], released["education_num"]])
        naive.append(np.linalg.lstsq(noisy, released["hours"], rcond=None)[0])
    values, errors = (np.array(part) for part in zip(*found, strict=True))
    print(f"\nhours on age and education_num by {secret}, {releases} releases, intervals for the {target}")
    print("scales", {name: round(scale, 3) for name, scale in plan.scales.items()})
    covered = (np.abs(values - truth) < 1.959964 * errors).mean(axis=0)
    rows = {"true": truth, "naive": np.mean(naive, axis=0), "mean": values.mean(axis=0)}
    rows |= {"deviation": values.std(axis=0), "reported error": errors.mean(axis=0), "covered": covered}
    print(pd.DataFrame(rows, index=["intercept", "age", "education_num"]).round(4).to_string())
    print(f"{took / releases:.3f} s each")


def unfolded(people, releases):
    """Deciles and histograms."""
    for (column, secret), (known, bins) in UNFOLDED.items():
        plan = calibrate(people, secret=secret, public=column, epsilon=1.0)
        truth = people[column].quantile(DECILES).to_numpy()
        edges = np.array(bins, dtype=float)
        counts = np.histogram(people[column], edges)[0]
        lines = []
        for seed in range(releases):
            released = plan.release(people, rng=seed)
            start, own = time.perf_counter(), estimate(released)
            deciles = own.quantile(column, DECILES, **known)
            between = time.perf_counter()
            shares = own.histogram(column, edges, **known)
            took = between - start, time.perf_counter() - between
            free = own.quantile(column, DECILES, support=1, resamples=2).value
            inside = [
                (low <= t) & (t <= high)
                for t, (low, high) in ((truth, deciles.interval()), (counts, shares.interval()))
            ]
            naive = np.histogram(released[column], edges)[0]
            outside = len(people) - naive.sum()
            lines.append(
                {
                    "decile error": np.abs(deciles.value - truth).mean(),
                    "with support=1": np.abs(free - truth).mean(),
                    "naive": np.abs(released[column].quantile(DECILES) - truth).mean(),
                    "deciles covered": inside[0].mean(),
                    "variation": 0.5 * np.abs(shares.value - counts).sum() / len(people),
                    "naive variation": 0.5 * (np.abs(naive - counts).sum() + outside) / len(people),
                    "bins covered": inside[1].mean(),
                    "seconds": max(took),
                }
            )
        print(f"\n{column} by {secret}, scale {plan.scale:.3f}, {releases} releases")
        print(pd.DataFrame(lines).mean().round(3).to_string())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = adult()
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for target in ("table", "population"):
        regressions(table, count, secret="sex", target=target)
    regressions(table, count, secret="race", target="table")
    unfolded(table, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
