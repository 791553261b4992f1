"""[SC17] and [BHGKM26]: what several releases lose together, by a rule and in truth."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from papers_rows import NOT_SOUND, Row, Section, asked
from papers_series import LENGTH, chain_of, laws_of_count, matrix
from papers_users import PAIRS

from puffer_frames import compose
from puffer_frames.core import Prior, pure_loss, smallest_scale
from puffer_frames.papers import gaussian_scale, kantorovich_scale, quilt_scale


def same_quilts() -> Iterator[Row]:
    """K releases of one count of a chain, with one quilt per node."""
    scale = quilt_scale(chain_of(0.9, 0.9), length=LENGTH, epsilon=1)
    tried, least = best_quilts(0.9, 0.9, length=LENGTH, epsilon=1.0)
    setting = "every quilt of every node tried, stay .9, 100 times; ε = 1"
    remark = "these are scales; the call gives the second number"
    yield Row("[SWC17] MQMExact", setting, tried, scale, "quilt_scale(chain, length=100, epsilon=1)", remark)
    for releases in (2, 3, 5):
        pairs = laws_of_count(0.9, 0.9, LENGTH)
        together = [pure_loss(*laws.values(), scale=scale / releases).upper for laws in pairs]
        laws = "for laws in laws_of_count(0.9, 0.9, 100)"
        call = f"max(pure_loss(*laws.values(), scale=quilt_scale(chain, …) / {releases}).upper {laws})"
        setting = f"{releases} releases of one count, stay .9, 100 times; ε = 1 each"
        remark = "every quilt tells of its node once"
        yield Row("[SC17], Σ ε", setting, float(releases), max(together), call)
        rule = releases - (releases - 1) * least
        yield Row(
            "[SC17], Σ ε − (K − 1) min e",
            setting,
            rule,
            max(together),
            "best_quilts(0.9, 0.9, length=100, epsilon=1)",
            remark,
        )


def best_quilts(p0: float, p1: float, *, length: int, epsilon: float) -> tuple[float, float]:
    """The scale by trying all quilts of a chain with a stationary start, and the smallest influence of the best."""
    chain = np.array(matrix(p0, p1))
    law = np.array([1 - p1, 1 - p0]) / (2 - p0 - p1)
    back = chain.T * law / law[:, None]

    def ratios(step: np.ndarray) -> np.ndarray:
        powers, power = [], np.eye(2)
        for _ in range(length - 1):
            power = power @ step
            rows = np.log(power[0] / power[1])
            powers.append((rows.max(), (-rows).max()))  # of state 0 against 1, and of 1 against 0
        return np.array([*powers, (0.0, 0.0)])  # the last entry: no node on this side

    left, right, found = ratios(back), ratios(chain), []
    for node in range(1, length + 1):
        past, rest = np.arange(1, node + 1), np.arange(1, length - node + 2)
        a, b = np.append(past[:-1] - 1, length - 1), np.append(rest[:-1] - 1, length - 1)
        told = (left[a][:, None] + right[b]).max(axis=2)
        card = past[:, None] + rest - 1
        scores = np.full(card.shape, np.inf)
        np.divide(card, epsilon - told, out=scores, where=told < epsilon)
        best = scores.argmin()
        found.append((scores.ravel()[best], told.ravel()[best]))
    return float(max(score for score, _ in found)), float(min(e for _, e in found))


def of_one_value() -> Iterator[Row]:
    """Releases of one value: some add, some lose more than their sum."""
    table4 = PAIRS["Table 4"]
    shift = kantorovich_scale(table4, epsilon=1)
    for releases in (2, 5):
        loss = pure_loss(*table4.values(), scale=shift / releases).upper
        setting = f"{releases} releases, laws of Table 4 of [DLYZ]; ε = 1 each, W∞ scale"
        call = f"pure_loss(P, Q, scale=kantorovich_scale(priors, epsilon=1) / {releases})"
        yield Row("[SWC17], [D22] W∞, Σ ε", setting, float(releases), loss, call)
    wide = {"i": Prior.gaussian(0, 1), "j": Prior.gaussian(1, 2)}
    scale = gaussian_scale(wide, epsilon=1)
    for releases in (2, 10):
        loss = pure_loss(*wide.values(), scale=scale / releases).upper
        setting = f"{releases} releases, N(0, 1) or N(1, 2²); ε = 1 each, pure Gaussian scale"
        remark = NOT_SOUND + "the epsilons of this scale do not add"
        call = "pure_loss(i, j, scale=gaussian_scale(priors, epsilon=1) / releases)"
        yield Row("[BHGKM26] no composition", setting, float(releases), loss, call, remark)
    atoms = [1, 5, 9]
    one, other = ([0.824008, 0.175928, 0.0000635], [0.847169, 0.003388, 0.149443])
    laws = {s: Prior.empirical(atoms, weights) for s, weights in (("i", one), ("j", other))}
    exact, coupled = 2.355461, 1.921403
    says = pure_loss(*laws.values(), scale=exact).upper + float(kantorovich_scale(laws, epsilon=1)) / coupled
    loss = pure_loss(*laws.values(), scale=1 / (1 / exact + 1 / coupled)).upper
    setting = "an exact scale beside a W∞ scale, laws on 1, 5 and 9"
    remark = NOT_SOUND + "the losses do not add"
    yield Row("[BHGKM26] no composition", setting, says, loss, "pure_loss(i, j, scale=1 / (1/b₁ + 1/b₂))", remark)


def of_two_values() -> Iterator[Row]:
    """Two columns that need no noise each."""
    rows = [("equal", 0, 0), ("equal", 1, 1), ("opposite", 0, 1), ("opposite", 1, 0)]
    bits = pd.DataFrame(rows * 30, columns=["secret", "x", "y"])
    plan, call = asked(bits, "bits", "calibrate", secret="secret", public=["x", "y"], epsilon=1.0)
    each = max(smallest_scale({s: Prior.empirical(g[c]) for s, g in bits.groupby("secret")}, epsilon=1) for c in "xy")
    ours = max(plan.scales.values())
    setting = "fair bits that are equal or opposite; ε = 1 for both together"
    remark = NOT_SOUND + "the two numbers are scales: of each column by itself, and of both together"
    yield Row("[BHGKM26] no composition", setting, each, ours, call, remark)


def of_a_table(folder: Path) -> Iterator[Row]:
    """Releases of one column of a real table, composed exactly."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True, usecols=[4, 8], names=["n", "race"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows of some races
        released = [adult.puffer.privatize(secret="race", public="n", epsilon=1.0) for _ in range(4)]
        laws = {race: Prior.empirical(rows) for race, rows in adult.groupby("race")["n"]}
        distance, scale = kantorovich_scale(laws, epsilon=1), released[0].puffer.certificate.scales["n"]
        for count in (2, 3, 4):
            together = compose(released[:count], frame=adult)
            setting = f"{count} releases of education-num by race; ε = 1 each, exact scale {scale:.4f}"
            rule = count * distance / scale
            call = f"compose(released[:{count}], frame=adult)"
            yield Row("[SWC17], [D22] W∞, Σ ε", setting, rule, together.epsilon, call)


RELEASES = Section(
    title="Several releases: [SC17], [BHGKM26]",
    text="""\
Here the two numbers are losses: what a rule says that all releases lose together, and the true loss. The loss of
Laplace noise of scales b₁, b₂, … on one value is that of one release of scale 1/(1/b₁ + 1/b₂ + …) ([theory](theory.md),
section 9).

The rule of [SC17] is for quilts that are the same in all releases. With e the influence of the quilt of a node, and K
releases, the quilts are counted once ([theory](theory.md), section 10). [BHGKM26] is Bai, He, Gu, Kifer and Maeng,
*Composition for Pufferfish privacy* (arXiv 2602.02718): Pufferfish guarantees need not add. Its rows are examples of
that.""",
    parts=(same_quilts, of_one_value, of_two_values),
    real=(of_a_table,),
    heads=("rule says", "true loss", "times"),
)
