"""What each mechanism costs on real columns: expected errors of noise, remap and channels, as a table in Markdown.

Run: python benchmarks/mechanisms.py [--epsilon 1] [--data ../shared/data] [--only age]

Noise, remap and the plain channel (radius 0, no cap) are held to the observed frequencies alone, so they compare at one
guarantee, and the bound is that of every mechanism with it that sees the value alone. The default channel withstands
more. The last column is the error of the best constant. The table of docs/channels.md is the output at epsilon 1.
"""

import argparse
import warnings
from pathlib import Path

import pandas as pd

from puffer_frames import Channel, Noise, calibrate

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT = {
    0: "age",
    1: "workclass",
    3: "education",
    4: "education-num",
    6: "occupation",
    8: "race",
    9: "sex",
    12: "hours-per-week",
}
COLUMNS = (
    ("adult", "education-num", "race"),
    ("adult", "age", "sex"),
    ("adult", "hours-per-week", "sex"),
    ("bank", "day", "housing"),
    ("student", "G3", "sex"),
    ("student", "absences", "romantic"),
    ("adult", "education", "race"),
    ("adult", "occupation", "sex"),
    ("adult", "workclass", "race"),
    ("bank", "job", "marital"),
)
MECHANISMS = ("noise", Noise(remap=True), Channel(radius=0, cap=None), Channel())
HEADS = ("column by secret", "levels", "noise", "remap", "channel, radius 0, no cap", "bound", "channel", "constant")


def read(data):
    adult = pd.read_csv(data / "adult.data", header=None, skipinitialspace=True, usecols=list(ADULT))
    bank, student = (pd.read_csv(data / name, sep=";") for name in ("bank-full.csv", "student-mat.csv"))
    return {"adult": adult.rename(columns=ADULT), "bank": bank, "student": student}


def plan_of(frame, public, secret, mechanism, epsilon):
    """A plan that may need no noise; None for a column that the mechanism does not take."""
    if not isinstance(mechanism, Channel) and not pd.api.types.is_numeric_dtype(frame[public]):
        return None
    return calibrate(frame, secret=secret, public=public, epsilon=epsilon, mechanism=mechanism, allow_zero_noise=True)


def error_of(plan, public):
    if plan is None:
        return "–"
    remap = plan.remap.get(public)
    return f"{(plan.expected_error[public] if remap is None else remap.expected_error):.6f}"


def row_of(where, frame, public, secret, epsilon):
    plans = [plan_of(frame, public, secret, mechanism, epsilon) for mechanism in MECHANISMS]
    plain, chosen = plans[2:]
    errors = [error_of(plan, public) for plan in plans]
    bound, constant = plain.lower_bound[public], chosen.channels[public].constant_error
    levels = len(chosen.channels[public].inputs)
    return (f"{where}, {public} by {secret}", levels, *errors[:3], f"{bound:.6f}", errors[3], f"{constant:.6f}")


def line(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--data", type=Path, default=DATA, help="by default ../shared/data beside the checkout")
    parser.add_argument("--only", default="", help="columns whose name holds this")
    asked = parser.parse_args()
    frames = read(asked.data)
    warnings.simplefilter("ignore")
    line(HEADS)
    line(["---"] * len(HEADS))
    for where, public, secret in COLUMNS:
        if asked.only in public:
            line(row_of(where, frames[where], public, secret, asked.epsilon))


if __name__ == "__main__":
    main()
