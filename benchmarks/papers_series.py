"""[SWC17]: the Wasserstein mechanism and the Markov Quilt Mechanism, beside [GK16]; their real series."""

import itertools
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from papers_rows import NOT_SOUND, Row, Section, asked
from scipy.optimize import brentq

from puffer_frames import MarkovChain, binary_class
from puffer_frames.core import BayesianNetwork, Prior
from puffer_frames.errors import CalibrationError
from puffer_frames.papers import (
    kantorovich_scale,
    neighbour_scale,
    quilt_approx_scale,
    quilt_scale,
)

LENGTH = 100
CHAINS = ((0.5, 0.5), (0.7, 0.7), (0.9, 0.9), (0.9, 0.6), (0.99, 0.9))
FLU = np.array([0.1, 0.15, 0.5, 0.15, 0.1])
"""Probabilities that 0 to 4 of four people have the flu."""
UNLABELLED = "(none)"


def matrix(p0: float, p1: float) -> list[list[float]]:
    """Transition matrix of a binary chain that stays with these probabilities."""
    return [[p0, round(1 - p0, 12)], [round(1 - p1, 12), p1]]


def chain_of(p0: float, p1: float) -> MarkovChain:
    """The chain with a stationary start."""
    return MarkovChain.of(matrix(p0, p1))


def clique() -> BayesianNetwork:
    """Four people who meet: who has the flu depends on how many have it."""
    each = FLU / [math.comb(4, k) for k in range(5)]  # of one set of people that have it
    tables, parents = {}, {}
    for k in range(4):
        reached = np.zeros((2,) * (k + 1))
        for states in itertools.product((0, 1), repeat=k + 1):
            rest = 3 - k
            reached[states] = sum(math.comb(rest, j) * each[sum(states) + j] for j in range(rest + 1))
        tables[k], parents[k] = reached / reached.sum(axis=-1, keepdims=True), list(range(k))
    return BayesianNetwork.of(tables, parents=parents)


def flu() -> Iterator[Row]:
    """Section 3.1: flu among four people who meet."""
    people = pd.DataFrame({"person": range(4), "flu": [0, 1, 1, 0]})
    common = {"state": "flu", "unit": "person", "network": clique(), "bins": [1], "epsilon": [1]}
    setting = "how many of a clique of four have the flu; ε = 1"
    exact, _ = asked(people, "people", "histogram", **common, mechanism="exact")
    for where, mechanism in (
        ("[SWC17] 3.1, group privacy", "group"),
        ("[SWC17] 3.1, Wasserstein mechanism", "wasserstein"),
        ("[SWC17] Markov quilt", "quilt"),
    ):
        found, call = asked(people, "people", "histogram", **common, mechanism=mechanism)
        yield Row(where, setting, found["scale"].iloc[0], exact["scale"].iloc[0], call)


@cache
def laws_of_count(p0: float, p1: float, length: int) -> tuple[dict[str, Prior], ...]:
    """The law of the count of ones given the state at each time, of a chain with a stationary start, exactly."""
    parts = 100
    moves = [[round(parts * entry) for entry in row] for row in matrix(p0, p1)]

    def later(law: NDArray[np.object_]) -> NDArray[np.object_]:
        return np.concatenate([[0], law[:-1]])

    start = np.zeros((2, length + 1), dtype=object)
    start[0, 0], start[1, 1] = moves[1][0], moves[0][1]  # in the proportions of the stationary law
    end = np.zeros((2, length + 1), dtype=object)
    end[:, 0] = 1
    forward, backward = [start], [end]
    for _ in range(length - 1):
        past, rest = forward[-1], backward[-1]
        forward.append(
            np.array(
                [past[0] * moves[0][0] + past[1] * moves[1][0], later(past[0] * moves[0][1] + past[1] * moves[1][1])]
            )
        )
        backward.append(np.array([rest[0] * row[0] + later(rest[1]) * row[1] for row in moves]))
    found = []
    for past, rest in zip(forward, reversed(backward), strict=True):
        laws = [np.convolve(one, other)[: length + 1] for one, other in zip(past, rest, strict=True)]
        found.append(
            {str(s): Prior.of_levels(np.flatnonzero(law).astype(float), law[law > 0]) for s, law in enumerate(laws)}
        )
    return tuple(found)


def one_count() -> Iterator[Row]:
    """One count of a chain: the Wasserstein mechanism, quilts and groups beside its exact law."""
    series = pd.DataFrame({"time": range(LENGTH), "state": [0, 1] * (LENGTH // 2)})
    for (p0, p1), epsilon in [(stays, 1) for stays in CHAINS] + [((0.9, 0.9), 0.2), ((0.9, 0.9), 5)]:
        setting = f"count of ones, stay {p0} and {p1}, 100 times; ε = {epsilon}"
        common = {"state": "state", "time": "time", "chain": matrix(p0, p1), "bins": [1], "epsilon": [epsilon]}
        exact, _ = asked(series, "series", "histogram", **common, mechanism="exact")
        ours = exact["scale"].iloc[0]
        published = max(kantorovich_scale(laws, epsilon=epsilon) for laws in laws_of_count(p0, p1, LENGTH))
        call = f"max(kantorovich_scale(laws, epsilon={epsilon}) for laws in laws_of_count({p0}, {p1}, 100))"
        yield Row("[SWC17] Wasserstein mechanism", setting, published, ours, call)
        for where, mechanism in (("[SWC17] MQMExact", "quilt"), ("[SWC17] group privacy", "group")):
            if mechanism == "group" and (p0, p1, epsilon) != (0.9, 0.9, 1):
                continue
            found, call = asked(series, "series", "histogram", **common, mechanism=mechanism)
            yield Row(where, setting, found["scale"].iloc[0], ours, call)


def all_counts() -> Iterator[Row]:
    """The counts of all three states of a chain: quilts and groups beside transport along the chain."""
    series = pd.DataFrame({"time": range(300), "state": [0, 1, 2] * 100})
    chain = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    for epsilon in (0.2, 1, 5):
        common = {"state": "state", "time": "time", "chain": chain, "epsilon": [epsilon]}
        ours = asked(series, "series", "histogram", **common, mechanism="transport")[0]["scale"].iloc[0]
        setting = f"counts of three states, stay .8, 300 times; ε = {epsilon}"
        for where, mechanism in (("[SWC17] MQMExact", "quilt"), ("[SWC17] group privacy", "group")):
            found, call = asked(series, "series", "histogram", **common, mechanism=mechanism)
            yield Row(where, setting, found["scale"].iloc[0], ours, call, "beside transport along the chain")


def quilts() -> Iterator[Row]:
    """MQMApprox beside MQMExact."""
    cases = [(stays, LENGTH) for stays in CHAINS] + [((0.99, 0.9), 1000)]
    for (p0, p1), length in cases:
        chain, any_start = chain_of(p0, p1), MarkovChain.of(matrix(p0, p1), initial=[0.5, 0.5])
        for epsilon in (0.2, 1, 5):
            setting = f"stay {p0} and {p1}, {length} times; ε = {epsilon}"
            published = quilt_approx_scale(any_start, length=length, epsilon=epsilon, rule="published")
            ours = quilt_scale(chain, length=length, epsilon=epsilon)
            call = f'quilt_approx_scale(chain, length={length}, epsilon={epsilon}, rule="published")'
            yield Row("[SWC17] MQMApprox beside MQMExact", setting, published, ours, call, "both are quilts")


def class_of_chains() -> Iterator[Row]:
    """The binary class, both diagonal entries in [low, 1 - low]."""
    for low in (0.1, 0.2, 0.3, 0.4):
        slides = binary_class(low)
        setting = f"stay in [{low}, {round(1 - low, 1)}], 100 times; ε = 1"
        ours = quilt_scale(slides, length=LENGTH, epsilon=1)
        approx = quilt_approx_scale(slides, length=LENGTH, epsilon=1, rule="published")
        call = f'quilt_approx_scale(binary_class({low}), length=100, epsilon=1, rule="published")'
        remark = "of the worst chain; both are quilts"
        yield Row("[SWC17] a class, MQMApprox", setting, approx, ours, call, remark)
        approx = minima_scale(low, 2 * low, length=LENGTH, epsilon=1)
        remark = f"with the minima π = {low} and rate {2 * low:g} of the class; both are quilts"
        call = f"minima_scale({low}, {2 * low:g}, length=100, epsilon=1)"
        yield Row("[SWC17] a class, MQMApprox", setting, approx, ours, call, remark)


def minima_scale(least: float, rate: float, *, length: int, epsilon: float) -> float:
    """MQMApprox for the smallest stationary probability and the slowest rate of a class: e <= 2 r(a) + r(b)."""
    steps = np.arange(1, length)
    far = np.minimum(np.exp(-rate * steps) / least, 1.0)
    with np.errstate(divide="ignore"):
        ratio = np.log1p(far) - np.log1p(-far)
    left, right = np.append(2 * ratio, 0.0), np.append(ratio, 0.0)  # the last entry: no node on this side
    worst = 0.0
    for node in range(1, length + 1):
        past, rest = np.append(steps[: node - 1], node), np.append(steps[: length - node], length - node + 1)
        influence = np.append(left[: node - 1], 0.0)[:, None] + np.append(right[: length - node], 0.0)
        card = past[:, None] + rest - 1
        scores = np.full(card.shape, np.inf)
        np.divide(card, epsilon - influence, out=scores, where=influence < epsilon)
        worst = max(worst, float(scores.min()))
    return worst


def influence(p0: float, p1: float) -> float:
    """[GK16]: half the largest log-ratio of P(a node | its neighbours) between two states of one neighbour."""
    chain = np.array(matrix(p0, p1))
    between = chain[:, :, None] * chain  # P(state, right | left), by left, state, right
    between = between / between.sum(axis=1, keepdims=True)
    by_left = np.abs(np.log(between[0] / between[1])).max()
    by_right = np.abs(np.log(between[:, :, 0] / between[:, :, 1])).max()
    ends = np.abs(np.log(chain[0] / chain[1])).max()
    return float(max(by_left, by_right, ends)) / 2


def norm(p0: float, p1: float, *, length: int) -> float:
    """The spectral norm of the matrix that has the influence beside its diagonal."""
    return 2 * influence(p0, p1) * math.cos(math.pi / (length + 1))


def neighbours() -> Iterator[Row]:
    """[GK16] for a count, on the chains that it applies to and on some that it does not."""
    series = pd.DataFrame({"time": range(LENGTH), "state": [0, 1] * (LENGTH // 2)})
    for p0, p1 in ((0.5, 0.5), (0.4, 0.4), (0.6, 0.6), (0.65, 0.65), (0.6, 0.5), (0.7, 0.7), (0.9, 0.9)):
        try:
            published = neighbour_scale(chain_of(p0, p1), length=LENGTH, epsilon=1)
        except CalibrationError:
            published = None
        common = {"state": "state", "time": "time", "chain": matrix(p0, p1), "bins": [1], "epsilon": [1]}
        exact, _ = asked(series, "series", "histogram", **common, mechanism="exact")
        quilt = quilt_scale(chain_of(p0, p1), length=LENGTH, epsilon=1)
        setting = f"count of ones, stay {p0} and {p1}, 100 times; ε = 1"
        remark = f"the norm of its matrix is {norm(p0, p1, length=LENGTH):.3f}; quilts ask for {quilt:.4g}"
        if published is None:
            remark = f"does not apply: {remark}"
        call = "neighbour_scale(chain, length=100, epsilon=1)"
        yield Row("[GK16], as in [SWC17]", setting, published, exact["scale"].iloc[0], call, remark)
    remark = "the smallest ℓ beside that of quilts, which serve every ℓ > 0"
    setting = "classes [ℓ, 1 − ℓ] that it serves, 100 times"
    yield Row("[GK16], as in [SWC17]", setting, least_class(LENGTH), 0.0, "least_class(100)", remark)


def least_class(length: int) -> float:
    """The least diagonal entry of a binary class whose worst chain [GK16] still serves."""
    return 1 - float(brentq(lambda p: norm(p, p, length=length) - 1, 0.55, 0.9))


def with_gaps() -> Iterator[Row]:
    """Pieces between gaps as series of their own."""
    seen = pd.DataFrame({"time": [0, 1, 3, 4, 6, 7, 9, 10], "state": [0, 1] * 4})
    common = {"state": "state", "time": "time", "chain": matrix(0.95, 0.95), "bins": [1], "epsilon": [1]}
    found, call = asked(seen, "seen", "histogram", **common, mechanism="quilt", gaps="independent")
    exact, _ = asked(seen, "seen", "histogram", **common, mechanism="exact")
    setting = "count of ones, stay .95, seen at 0, 1, 3, 4, 6, 7, 9, 10; ε = 1"
    remark = NOT_SOUND + "the pieces between gaps as independent series, where the chain runs on"
    yield Row("[SWC17] gaps", setting, found["scale"].iloc[0], exact["scale"].iloc[0], call, remark)


def demand(folder: Path) -> pd.DataFrame:
    """Electricity of a house, minute by minute, in levels of 0.2 kW; four minutes are missing."""
    table = pd.read_csv(folder / "electricity.csv", na_values="?").dropna()
    level = (table["global_active_power_kw"] / 0.2).astype(int)
    return pd.DataFrame({"minute": table["minute"], "level": level})


def activities(folder: Path) -> pd.DataFrame:
    """What two people do, minute by minute; minutes without a label are gaps."""
    table = pd.read_csv(folder / "activity.csv", parse_dates=["start", "end"])
    table = table[table["end"] >= table["start"]]  # three rows of the source end before they start
    rows = []
    for subject, days in table.sort_values("start").groupby("subject"):
        first, last = days["start"].min().floor("min"), days["end"].max().floor("min")
        minutes = pd.Series(UNLABELLED, index=pd.date_range(first, last, freq="min"))
        for row in days.itertuples():
            minutes[row.start.floor("min") : row.end.floor("min")] = row.activity
        labelled = minutes[minutes != UNLABELLED]
        rows.append(pd.DataFrame({"subject": subject, "minute": labelled.index, "activity": labelled.to_numpy()}))
    return pd.concat(rows, ignore_index=True)


def real_series(folder: Path) -> Iterator[Row]:
    """Expected L1 errors of the relative frequencies of all states."""
    house, people = demand(folder), activities(folder)
    cases = [
        (f"electricity, {house.level.nunique()} levels of .2 kW, {len(house):,} minutes", house, "house", e)
        for e in (0.2, 1, 5)
    ]
    gaps = int((people.groupby("subject").minute.diff() > pd.Timedelta("1min")).sum())
    cases += [(f"activities of two people, {len(people):,} minutes, {gaps} gaps", people, "people", 1)]
    for title, frame, name, epsilon in cases:
        by = {"state": "level"} if name == "house" else {"state": "activity", "unit": "subject"}
        common = {**by, "time": "minute", "epsilon": epsilon, "counts": False, "rng": 1}
        found, _ = asked(frame, name, "histogram", **common, mechanism="quilt")
        ours, setting = found["expected_error"].sum(), f"{title}; ε = {epsilon}"
        for where, mechanism in (("[SWC17] group privacy", "group"), ("[SWC17] MQMApprox", "quilt-approx")):
            found, call = asked(frame, name, "histogram", **common, mechanism=mechanism)
            remark = "expected L1 error, beside MQMExact" + ", by the tight rule" * (mechanism == "quilt-approx")
            yield Row(where, setting, found["expected_error"].sum(), ours, call, remark)
        if name == "house":
            quilt, call = asked(frame, name, "histogram", **common, mechanism="quilt")
            least, _ = asked(frame, name, "histogram", **common, mechanism="transport")
            errors = quilt["expected_error"].sum(), least["expected_error"].sum()
            yield Row("[SWC17] MQMExact", setting, *errors, call, "expected L1 error, beside transport along the chain")
    for mechanism in ("group", "quilt-approx"):
        mean = {"state": "level", "time": "minute", "epsilon": 1, "query": "mean", "rng": 1}
        needed = asked(house, "house", "histogram", **mean, mechanism="quilt")[0]["expected_error"].sum()
        found, call = asked(house, "house", "histogram", **mean, mechanism=mechanism)
        where = {"group": "[SWC17] group privacy", "quilt-approx": "[SWC17] MQMApprox"}[mechanism]
        setting_of_mean = f"electricity, the mean level of {len(house):,} minutes; ε = 1"
        remark = "expected error in levels, beside MQMExact" + ", by the tight rule" * (mechanism == "quilt-approx")
        yield Row(where, setting_of_mean, found["expected_error"].sum(), needed, call, remark)
    found, call = asked(people, "people", "histogram", **common, mechanism="quilt", gaps="independent")
    remark = NOT_SOUND + "the pieces between gaps as independent series, where the chain runs on; beside bridged gaps"
    yield Row("[SWC17] gaps", setting, found["expected_error"].sum(), ours, call, remark)


SERIES = Section(
    title="Correlated series: [SWC17]",
    text="""\
Rows on MQMApprox have the quilts of MQMExact as the second number, and rows on one count the exact scale: no Laplace
noise below it is private, whatever rule finds it. Real series are other ones than those of the paper.

[GK16] is Ghosh and Kleinberg, *Inferential privacy guarantees for differentially private mechanisms* (arXiv
1603.01508). Its rule is taken from the code that the authors of [SWC17] published (github.com/shs037/pufferfish). Let γ
be half the largest log-ratio that one neighbour makes in the law of a value given both its neighbours, and Γ the matrix
with γ beside its diagonal. The scale is 2/ε times the largest column sum of (1 − Γ)⁻¹, where the norm of Γ is below 1;
the library has the influence of each side, and of the ends, by itself. Half of the scale is enough
([theory](theory.md), section 10).""",
    parts=(flu, one_count, all_counts, quilts, class_of_chains, neighbours, with_gaps),
    real=(real_series,),
)
