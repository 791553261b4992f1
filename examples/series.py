"""Correlated series as in [SWC17]: noise of four mechanisms on a class of chains, and on two real series.

Run: python examples/series.py --data DIR [--out DIR]

DIR holds activity.csv and electricity.csv, extracts of data sets 271 and 235 of the UCI Machine Learning Repository.
Prints expected L1 errors of every mechanism side by side and draws those of the binary class as a PNG file in the
folder of --out.

[SWC17] S. Song, Y. Wang, K. Chaudhuri, "Pufferfish privacy mechanisms for correlated data", SIGMOD 2017.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import puffer_frames
from puffer_frames import MarkovChain, binary_class
from puffer_frames.papers import quilt_approx_scale

LENGTH = 100
LOWS = np.linspace(0.1, 0.4, 7)
EPSILONS = 0.2, 1.0, 5.0
PUBLISHED = "approx, published rule"
MECHANISMS = {"group": "#999999", "quilt-approx": "#E69F00", "quilt": "#0072B2", "exact": "#009E73"}
LEVELS = 51
UNLABELLED = "(none)"


def inside(low: float) -> list[MarkovChain]:
    """Chains of the class on a grid: the exact loss of a count has no corner that stands for all."""
    return [
        MarkovChain.of([[p, 1 - p], [1 - q, q]])
        for p in np.linspace(low, 1 - low, 7)
        for q in np.linspace(low, 1 - low, 7)
    ]


def class_errors(epsilon: float) -> pd.DataFrame:
    """Expected error of the share of ones among 100 values, for chains with a diagonal in [low, 1 - low]."""
    series = pd.DataFrame({"time": range(LENGTH), "state": [0, 1] * (LENGTH // 2)})
    table = {}
    for low in LOWS:
        asked = {"state": "state", "time": "time", "epsilon": epsilon, "bins": [1], "counts": False, "rng": 1}
        table[round(low, 3)] = {
            name: series.puffer.histogram(
                **asked, mechanism=name, chain=inside(low) if name == "exact" else binary_class(low)
            )["expected_error"].iloc[0]
            for name in MECHANISMS
        }
        published = quilt_approx_scale(binary_class(low), length=LENGTH, epsilon=epsilon, rule="published")
        table[round(low, 3)][PUBLISHED] = published / LENGTH
    return pd.DataFrame(table).T.rename_axis("low")


def activities(folder: Path) -> pd.DataFrame:
    """What two people do, minute by minute; minutes without a label are a state of their own."""
    table = pd.read_csv(folder / "activity.csv", parse_dates=["start", "end"])
    table = table[table["end"] >= table["start"]]  # three rows of the source end before they start
    rows = []
    for subject, days in table.sort_values("start").groupby("subject"):
        first, last = days["start"].min().floor("min"), days["end"].max().floor("min")
        minutes = pd.Series(UNLABELLED, index=pd.date_range(first, last, freq="min"))
        for row in days.itertuples():
            minutes[row.start.floor("min") : row.end.floor("min")] = row.activity
        rows.append(pd.DataFrame({"subject": subject, "minute": minutes.index, "activity": minutes.to_numpy()}))
    return pd.concat(rows, ignore_index=True)


def demand(folder: Path) -> pd.DataFrame:
    """Electricity of a house, minute by minute, in 51 levels of 0 to 10 kW; four minutes are missing."""
    table = pd.read_csv(folder / "electricity.csv", na_values="?").dropna()
    level = (table["global_active_power_kw"] * LEVELS / 10).astype(int).clip(0, LEVELS - 1)
    return pd.DataFrame({"minute": table["minute"], "level": level})


def side_by_side(frame: pd.DataFrame, **asked: str) -> pd.DataFrame:
    """Expected L1 error of the relative frequencies of all states, per mechanism and epsilon."""
    table: dict[str, dict[str, float]] = {}
    for epsilon in EPSILONS:
        row = table.setdefault(f"epsilon {epsilon:g}", {})
        for name in MECHANISMS:
            try:
                released = frame.puffer.histogram(epsilon=epsilon, mechanism=name, counts=False, rng=1, **asked)
                row[name] = released["expected_error"].sum()
            except puffer_frames.errors.ArgumentError:  # the exact loss is that of one count
                row[name] = float("nan")
    return pd.DataFrame(table).T


def draw(tables: dict[float, pd.DataFrame], path: Path) -> None:
    """Error against the class, a panel per epsilon."""
    from matplotlib.figure import Figure  # without pyplot: drawn by Agg, no window, no global state

    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    for axes, (epsilon, table) in zip(figure.subplots(1, len(tables)), tables.items(), strict=True):
        for name, colour in {**MECHANISMS, PUBLISHED: "#D55E00"}.items():
            style = "--" if name == "quilt-approx" else "-"  # on the curve of "quilt" for symmetric chains
            axes.semilogy(
                table.index, table[name], style, color=colour, label=name, linewidth=2, zorder=2 + (style == "--")
            )
        axes.set_title(f"ε = {epsilon:g}", loc="left", fontsize=10)
        axes.set_xlabel("ℓ: both diagonal entries in [ℓ, 1 − ℓ]")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(which="major", alpha=0.3)
    figure.axes[0].set_ylabel("expected error of the share of ones")
    lines, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.suptitle(f"Binary chains, T = {LENGTH}: noise that hides one value", fontsize=12)
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of activity.csv and electricity.csv")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the PNG file (default: the current one)")
    options = parser.parse_args(arguments)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        sys.exit("The figure needs matplotlib: python -m pip install 'puffer_frames[plot]'")
    try:
        people, house = activities(options.data), demand(options.data)
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing. Put it into --data.")
    tables = {epsilon: class_errors(epsilon) for epsilon in EPSILONS}
    for epsilon, table in tables.items():
        print(f"Binary class, T = {LENGTH}, epsilon = {epsilon:g}: expected error of the share of ones")
        print(table.to_string(float_format="{:.5f}".format), end="\n\n")
    options.out.mkdir(parents=True, exist_ok=True)
    draw(tables, options.out / "binary_class.png")
    print(
        f"Activities of two people, {len(people):,} minutes, {people['activity'].nunique()} states: expected L1 error"
    )
    found = side_by_side(people, state="activity", time="minute", unit="subject")
    print(found.to_string(float_format="{:.5f}".format, na_rep="-"), end="\n\n")
    print(f"Electricity, {len(house):,} minutes, {house['level'].nunique()} of {LEVELS} levels seen: expected L1 error")
    print(
        side_by_side(house, state="level", time="minute").to_string(float_format="{:.5f}".format, na_rep="-"),
        end="\n\n",
    )
    print(f"drawn: {options.out / 'binary_class.png'}")
    print("The noise has a seed here: reproducible, hence not private. Leave rng out for a release.")


if __name__ == "__main__":
    main()
