"""Sums over users as in [DLYZ]: the worked examples, and scale against epsilon for one record of three real classes.

Run: python examples/users.py --data DIR [--out DIR]

DIR holds adult.data, student-mat.csv and bank-full.csv of the UCI Machine Learning Repository (data sets 2, 320, 222).
Prints a table per example and draws the curves of Figures 5 and 9 as a PNG file in the folder of --out.

[DLYZ] N. Ding, Z. Lu, T. Yang, Y. Zhang, "Multi-user pufferfish privacy".
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_scale,
    kantorovich_scale,
    presence_bound_scale,
    presence_scale,
    value_scale,
)

EPSILONS = np.geomspace(0.05, 2, 25)
SHOWN = 0.1, 0.5, 1.0
COLOURS = "#0072B2", "#D55E00"  # blue and vermilion of Okabe and Ito
ALPHABET = [1, 2, 3, 4, 5]
P4, Q4 = (Prior.mixture(p, ALPHABET, [0] * 5) for p in ([0.4, 0.1, 0, 0.1, 0.4], [0, 0.05, 0.9, 0.05, 0]))
NOBODY = Prior.gaussian(0, 0)


def worked_examples() -> None:
    """The examples on the alphabet 1, ..., 5, and two binary users."""
    print("Users who report 1, ..., 5: Laplace scale at epsilon =" + "".join(f"{e:>12g}" for e in SHOWN))
    rows = {
        "reports 5 or 3 (Theorem 1)": lambda e: value_scale([(5, 3)], epsilon=e),
        "reports 5 or is absent (Theorem 2)": lambda e: value_scale([(5, None)], epsilon=e),
        "P4 or absent, (14)": lambda e: presence_bound_scale({4: P4}, epsilon=e),
        "P4 or absent, (13)": lambda e: presence_scale({4: P4}, epsilon=e),
        "P4 or Q4 (Theorem 4)": lambda e: kantorovich_scale({"P": P4, "Q": Q4}, epsilon=e),
        "P4 or Q4, exact": lambda e: smallest_scale({"P": P4, "Q": Q4}, epsilon=e),
    }
    for name, scale in rows.items():
        print(f"  {name:<52}" + "".join(f"{scale(e):>12.6f}" for e in SHOWN))
    print("Reports 1 with probability 0.2 or 0.9")
    binary = {"p": Prior.bernoulli(0.2), "q": Prior.bernoulli(0.9)}
    rows = {
        "Lemma 5": lambda e: bernoulli_scale(binary, epsilon=e),
        "Lemma 6": lambda e: bernoulli_neighbour_scale(0.2, 0.9, epsilon=e),
        "exact": lambda e: bernoulli_exact_scale(binary, epsilon=e),
    }
    for name, scale in rows.items():
        print(f"  {name:<52}" + "".join(f"{scale(e):>12.6f}" for e in SHOWN))


def read(folder: Path) -> dict[str, pd.Series]:
    """Values of one class of each table: what one record drawn from it adds to a sum."""
    adult = pd.read_csv(folder / "adult.data", header=None, usecols=[4, 8], skipinitialspace=True)
    students = pd.read_csv(folder / "student-mat.csv", sep=";", usecols=["higher", "romantic"])
    clients = pd.read_csv(folder / "bank-full.csv", sep=";", usecols=["loan", "marital"])
    marital = clients["marital"].map({"divorced": 1, "married": 2, "single": 3})
    return {
        "education-num of a White person": adult.loc[adult[8] == "White", 4],
        "romantic (1 yes), given higher = yes": (students["romantic"] == "yes").astype(int)[
            students["higher"] == "yes"
        ],
        "marital (1 to 3), given loan = yes": marital[clients["loan"] == "yes"],
    }


def draw(laws: dict[str, Prior], path: Path) -> None:
    """Scale against epsilon, a panel per class."""
    from matplotlib.figure import Figure  # without pyplot: drawn by Agg, no window, no global state

    figure = Figure(figsize=(10.5, 3.8), layout="constrained")
    for axes, (name, law) in zip(figure.subplots(1, len(laws)), laws.items(), strict=True):
        for label, function, colour in (
            ("(14): largest value / ε", presence_bound_scale, COLOURS[1]),
            ("(13), exact", presence_scale, COLOURS[0]),
        ):
            scales = [function({0: law}, epsilon=epsilon) for epsilon in EPSILONS]
            axes.loglog(EPSILONS, scales, color=colour, label=label, linewidth=2)
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_xlabel("ε")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(which="major", alpha=0.3)
        axes.legend(frameon=False, fontsize=9)
    figure.axes[0].set_ylabel("Laplace scale θ")
    figure.suptitle("Noise that hides the presence of one record (as in [DLYZ] Figures 5 and 9)", fontsize=12)
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the three files")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the PNG file (default: the current one)")
    options = parser.parse_args(arguments)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        sys.exit("The figure needs matplotlib: python -m pip install 'puffer_frames[plot]'")
    try:
        classes = read(options.data)
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing. Put it into --data (archive.ics.uci.edu).")
    worked_examples()
    laws = {name: Prior.empirical(values) for name, values in classes.items()}
    for name, law in laws.items():
        print(f"Present or absent: {name} ({classes[name].size:,} rows)")
        print("  (14)" + " " * 48 + "".join(f"{presence_bound_scale({0: law}, epsilon=e):>12.6f}" for e in SHOWN))
        print("  (13)" + " " * 48 + "".join(f"{presence_scale({0: law}, epsilon=e):>12.6f}" for e in SHOWN))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "dlyz_figures_5_and_9.png"
    draw(laws, path)
    print(f"drawn: {path}")
    print("What is protected is one record drawn from a class. The removal of the class is not.")


if __name__ == "__main__":
    main()
