"""Gaussian mixture priors as in [D24], Figures 3 and 4: what Theorem 2 asks for, and what is needed.

Run: python examples/gaussian_mixtures.py --data DIR [--out DIR]

DIR holds adult.data and processed.hungarian.data of the UCI Machine Learning Repository (data sets 2 and 45). Prints a
table per figure and draws the columns before and after the release, as PNG files in the folder of --out.

[D24] N. Ding, "Approximation of pufferfish privacy for Gaussian priors", IEEE TIFS 19, 2024.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from puffer_frames import Noise, Plan, UnsoundTheoremWarning, WeakGuaranteeWarning
from puffer_frames.core import Prior, hockey_stick

EPSILON = 1.0
# A scale of 0 (no noise needed) is a CalibrationError in exact mode, unless it is allowed: here, to print it.
MODEL = {"beliefs": "fitted", "allow_zero_noise": True}
DELTAS = 0.5, 0.3  # those of the figures
SMALL_DELTA = 1e-5
SEED = 2024
COLOURS = "#0072B2", "#D55E00"  # blue and vermilion of Okabe and Ito: told apart by every kind of colour vision


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table, its public column and its secret."""

    figure: int
    title: str
    file: str
    columns: dict[int, str]  # position in the file, name
    public: str
    secret: str
    labels: dict[str | int, str]  # the protected pair, and what to call its two secrets
    axis: str
    bin_width: float


RACES = {"Black": "Black", "Asian-Pac-Islander": "Asian-Pac-Islander"}
SEXES = {0: "female", 1: "male"}
ADULT, HEART = {4: "education-num", 8: "race"}, {1: "sex", 4: "chol"}
EXPERIMENTS = (
    Experiment(3, "Education by race", "adult.data", ADULT, "education-num", "race", RACES, "education-num", 1),
    Experiment(4, "Cholesterol by sex", "processed.hungarian.data", HEART, "chol", "sex", SEXES, "chol, mg/dl", 30),
)


def read(folder: Path, experiment: Experiment) -> pd.DataFrame:
    """The two columns of the experiment, without the rows that lack one ('?')."""
    path = folder / experiment.file
    if not path.is_file():
        sys.exit(f"{path} is missing. Put {path.name} of the UCI repository (archive.ics.uci.edu) into --data.")
    table = pd.read_csv(path, header=None, usecols=list(experiment.columns), skipinitialspace=True, na_values="?")
    return table.rename(columns=experiment.columns).dropna(ignore_index=True)


def calibrate(frame: pd.DataFrame, experiment: Experiment, *, delta: float, calibration: str) -> Plan:
    """The plan under the fitted mixtures; a refuted theorem shows in the table, so its warning is not needed."""
    columns = {"secret": experiment.secret, "public": experiment.public, "pairs": [tuple(experiment.labels)]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundTheoremWarning)
        warnings.simplefilter("ignore", WeakGuaranteeWarning)  # the deltas of the figures protect next to nothing
        noise = Noise(theorem="gmm", components=3, calibration=calibration)
        return frame.puffer.calibrate(**columns, **MODEL, epsilon=EPSILON, delta=delta, mechanism=noise)


def report(frame: pd.DataFrame, experiment: Experiment, plans: Sequence[Plan]) -> None:
    """Print published scale, what the engine measures there, scale used and smallest scale; then the raw column."""
    pair = " / ".join(f"{label} ({plans[0].rows_per_secret[s]:,} rows)" for s, label in experiment.labels.items())
    print(f"Figure {experiment.figure}: release {experiment.public}, hide {experiment.secret}: {pair}")
    print(f"{'delta':>7}{'published scale':>17}{'measured delta*':>16}{'':>13}{'scale used':>12}{'exact scale':>13}")
    for plan in plans:
        exact = calibrate(frame, experiment, delta=plan.delta, calibration="exact").scale
        stick = plan.published_loss.hockey_stick
        verdict = "NOT private" if stick.lower > plan.delta else "private" if stick.upper <= plan.delta else "undecided"
        measured = f"{plan.published_scale:>17.6g}{stick.upper:>16.3g}{verdict:>13}{plan.scale:>12.6g}"
        print(f"{plan.delta:>7g}{measured}{exact:>13.6g}{'' if exact else '  (no noise needed)'}")
    pure = calibrate(frame, experiment, delta=0.0, calibration="exact").scale  # Theorem 2 has no pure form
    print(f"{'pure':>7}{'none':>17}{'-':>16}{'-':>13}{'-':>12}{pure:>13.6g}")
    values = frame.groupby(experiment.secret)[experiment.public]
    observed = {secret: Prior.empirical(values.get_group(secret)) for secret in experiment.labels}
    raw = [hockey_stick(*p.values(), epsilon=EPSILON, scale=0.0).upper for p in (plans[0].priors, observed)]
    print(f"  the raw column: delta* = {raw[0]:.3g} (fitted mixtures), {raw[1]:.3g} (observed frequencies)")


def draw(frame: pd.DataFrame, experiment: Experiment, plans: Sequence[Plan], path: Path) -> None:
    """Histograms per secret of the column and of its releases, one panel each, as a PNG file."""
    from matplotlib.figure import Figure  # without pyplot: drawn by Agg, no window, no global state

    public, width = experiment.public, experiment.bin_width
    rng = np.random.default_rng(SEED)
    panels = [("Before the release; lines: fitted mixtures", frame[public])]
    for plan in plans:
        error = plan.expected_error[public]
        heading = f"Released at δ = {plan.delta:g}: Laplace scale {plan.scale:.3g}, expected error {error:.3g}"
        panels.append((heading, plan.release(frame, rng=rng)[public]))
    reach = 3 * max(plan.scale for plan in plans)
    bins = np.arange((frame[public].min() - reach) // width, (frame[public].max() + reach) // width + 2)
    edges = (bins - 0.5) * width
    grid = np.linspace(edges[0], edges[-1], 2001)
    figure = Figure(figsize=(7.5, 8), layout="constrained")
    before, *after = all_axes = figure.subplots(len(panels), 1, sharex=True)
    for axes, (heading, values) in zip(all_axes, panels, strict=True):
        for secret, colour in zip(experiment.labels, COLOURS, strict=True):
            shown = values[frame[experiment.secret] == secret].to_numpy()
            bars = {"weights": np.full(shown.size, 1 / (shown.size * width)), "color": colour}
            axes.hist(shown, edges, histtype="stepfilled", alpha=0.3, label=experiment.labels[secret], **bars)
            axes.hist(shown, edges, histtype="step", linewidth=0.9, **bars)
            if axes is before:
                prior = plans[0].priors[secret]
                axes.plot(grid, norm.pdf(grid[:, None], prior.means, prior.stds) @ prior.weights, color=colour)
        axes.set_title(heading, loc="left", fontsize=10.5)
        axes.set(ylabel="density", xlim=(edges[0], edges[-1]))
        axes.locator_params(axis="y", nbins=5)
        axes.spines[["top", "right"]].set_visible(False)
    after[-1].sharey(after[0])
    after[0].set_ylim(0, max(axes.dataLim.ymax for axes in after) * 1.05)
    after[-1].set_xlabel(experiment.axis)
    before.legend(frameon=False, title=experiment.secret, alignment="left")
    figure.align_ylabels()
    figure.suptitle(f"{experiment.title} (as in [D24] Figure {experiment.figure}), ε = {EPSILON:g}", fontsize=13)
    figure.savefig(path, dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of adult.data, processed.hungarian.data")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the PNG files (default: the current one)")
    options = parser.parse_args(arguments)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        sys.exit("The figures need matplotlib: python -m pip install 'puffer_frames[plot]'")
    frames = [read(options.data, experiment) for experiment in EXPERIMENTS]
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"epsilon = {EPSILON:g}; 3 Gaussians fitted per secret; delta* at the published scale\n")
    for experiment, frame in zip(EXPERIMENTS, frames, strict=True):
        plans = [calibrate(frame, experiment, delta=delta, calibration="theorem") for delta in DELTAS]
        small = calibrate(frame, experiment, delta=SMALL_DELTA, calibration="theorem")
        report(frame, experiment, [*plans, small])
        path = options.out / f"d24_figure_{experiment.figure}.png"
        draw(frame, experiment, plans, path)
        print(f"  drawn: {path}\n")
    print(
        f"The noise of the figures has the seed {SEED}: reproducible, hence not private. Leave rng out for a release."
    )
    print("A delta of 0.3 or 0.5 is a demonstration, not protection: choose it far below 1 / (number of rows).")


if __name__ == "__main__":
    main()
