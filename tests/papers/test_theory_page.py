"""The numbers printed in docs/theory.md are those of the library, to the last printed digit."""

import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import few, table

from puffer_frames import MarkovChain
from puffer_frames.core import Prior, fit_mixture, hockey_stick, pure_loss, smallest_scale, w_infinity
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.loss.noises import gaussian_noise, stable_noise
from puffer_frames.mechanisms.sequential.release import lift
from puffer_frames.noise.stable import Stable, unit_scale
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    bernoulli_scale,
    gaussian_scale,
    kantorovich_scale,
    mixture_scale,
    presence_bound_scale,
    presence_scale,
    quilt_approx_scale,
    quilt_scale,
    ubm_scale,
)
from puffer_frames.papers.gaussian import log_moment
from puffer_frames.papers.quilt.influence import stationary_influence
from puffer_frames.scales.search import smallest_scale_of

PAGE = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
SECTIONS = {int(n): text for n, text in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)}
POINTS = {"s": Prior.empirical([0.0]), "t": Prior.empirical([1.0])}


def tables(number):
    """The tables of a section, each a list of rows of cells, without its heading."""
    found = re.findall(r"(?:^\|.*\|\n)+", SECTIONS[number], flags=re.M)
    split = [[re.split(r"(?<!\\)\|", row)[1:-1] for row in block.splitlines()] for block in found]
    return [[[cell.strip() for cell in row] for row in rows[2:]] for rows in split]


def said(number, pattern):
    """What a section says in a sentence that occurs once: the groups of the pattern, wherever the lines are wrapped."""
    found = re.findall(pattern, " ".join(SECTIONS[number].split()))
    assert len(found) == 1, pattern
    return found[0]


def agrees(printed, number):
    """Whether a number is the printed one, to its last digit; one without a decimal point is exact."""
    decimals = len(printed.partition(".")[2])
    most = 0.5 * 10.0**-decimals * (1 + 1e-6) if decimals else 1e-7 * max(1.0, abs(number))
    return abs(float(printed.replace(",", "")) - number) <= most + 2e-8 * abs(number)


def gaussians(cell):
    """The priors of a cell such as `0, 1; 1, 2 (name)`."""
    parameters = [[float(x) for x in part.split(",")] for part in cell.split(" (")[0].split(";")]
    return {k: Prior.gaussian(*pair) for k, pair in enumerate(parameters)}


def test_agreement_is_to_the_last_digit():
    assert agrees("1.23", 1.2349)
    assert not agrees("1.23", 1.2351)
    assert agrees("50", 50.000000000001)
    assert not agrees("50", 50.001)


def test_raw_columns_of_the_figures(adult, hungarian):
    printed = said(1, r"have δ\* = ([\d.]+) and ([\d.]+) at ε = 1")
    pairs = [
        (adult.education_num[adult.race == "Black"], adult.education_num[adult.race == "Asian-Pac-Islander"]),
        (hungarian.chol[hungarian.sex == 0], hungarian.chol[hungarian.sex == 1]),
    ]
    for text, columns in zip(printed, pairs):
        priors = [fit_mixture(*np.unique(column, return_counts=True), components=3) for column in columns]
        assert agrees(text, hockey_stick(*priors, epsilon=1.0, scale=0.0).upper)


def test_tail_condition():
    std, epsilon, times = map(float, said(3, r"against N\(0, ([\d.]+)²\) at .*? ε = ([\d.]+) has a loss of ([\d.]+) ε"))
    scale = math.sqrt(2 * epsilon * (1 - std**2)) / (2 * epsilon)
    loss = pure_loss(Prior.gaussian(0, 1), Prior.gaussian(0, std), scale=scale)
    assert agrees(str(times), loss.lower / epsilon)


COUNTEREXAMPLE = {
    "s": Prior.mixture([0.5, 0.5], [0, 100], [1, 1]),
    "t": Prior.mixture([0.5, 0.5], [0, 200], [1, 1]),
}


def test_theorem_2_and_corollary_2():
    for epsilon, scale, delta, loss in tables(4)[1]:
        asked = {"epsilon": float(epsilon)}
        for given in (1e-3, 0.1):
            assert agrees(scale, mixture_scale(COUNTEREXAMPLE, **asked, delta=given))
        assert agrees(scale, ubm_scale(COUNTEREXAMPLE, **asked))
        stick = hockey_stick(*COUNTEREXAMPLE.values(), **asked, scale=float(scale))
        lost = pure_loss(*COUNTEREXAMPLE.values(), scale=float(scale))
        assert agrees(delta, stick.lower)
        assert agrees(loss, lost.lower)
        assert max(stick.width, lost.width) < 1e-5
    needed = said(4, r"At ε = 1 and δ = 10⁻³ the smallest private scale is ([\d.]+\d)")
    assert agrees(needed, smallest_scale(COUNTEREXAMPLE, epsilon=1.0, delta=1e-3))


def test_the_scan_over_the_alphabet():
    i, j, a, b, distance = map(
        int, said(4, r"atom at (\d+) against one at (\d+) and the alphabet \{(\d+), (\d+)\}.*? (\d+)\.")
    )
    assert w_infinity(Prior.empirical([i]), Prior.empirical([j])) == distance
    for shift in (1e-9, 0.1, 1.0, 9.0):  # passes the published condition at every letter
        assert all((x - shift >= j) <= (x >= i) <= (x + shift >= j) for x in (a, b))


@few(2)
@pytest.mark.parametrize("row", tables(5)[0], ids=lambda row: "; ".join(row[:3]))
def test_theorem_1_beside_the_exact_scale(row):
    cell, epsilon, delta, published, exact, ratio = row
    priors, asked = gaussians(cell), {"epsilon": float(epsilon), "delta": float(delta)}
    theorem, smallest = gaussian_scale(priors, **asked), smallest_scale(priors, **asked)
    assert agrees(published, theorem)
    assert agrees(exact, smallest)
    assert ratio == "–" if smallest == 0 else agrees(ratio, theorem / smallest)
    sticks = [hockey_stick(*priors.values(), epsilon=float(epsilon), scale=smallest * f) for f in (1, 1 - 1e-6)]
    assert sticks[0].upper <= float(delta)
    assert not smallest or sticks[1].lower > float(delta)


@pytest.mark.parametrize("row", tables(5)[1], ids=lambda row: "; ".join(row[:2]))
def test_pure_form_beside_the_exact_scale(row):
    cell, epsilon, form, exact = row
    assert agrees(form, gaussian_scale(gaussians(cell), epsilon=float(epsilon)))
    assert agrees(exact, smallest_scale(gaussians(cell), epsilon=float(epsilon)))


def test_observed_frequencies(adult, hungarian):
    columns = {"adult": adult.groupby("race").education_num, "hungarian": hungarian.groupby("sex").chol}
    for name, pairs, published, exact in tables(5)[2]:
        priors = {s: Prior.empirical(values) for s, values in columns[name.partition(",")[0]]}
        asked = {"epsilon": 1.0, "pairs": "all" if pairs == "all" else [pairs.split(", ")]}
        assert agrees(published, kantorovich_scale(priors, **asked))
        assert agrees(exact, smallest_scale(priors, **asked))


def test_gaussian_noise():
    p, q, atoms = said(6, r"Bernoulli\(([\d.]+)\) against Bernoulli\(([\d.]+)\) has the loss log 8 = ([\d.]+) at")
    for scale in (0.3, 5.0):
        loss = pure_loss(Prior.bernoulli(float(p)), Prior.bernoulli(float(q)), scale=scale, noise="gaussian")
        assert agrees(atoms, loss.upper)
    laplace, analytic, classic = said(6, r"are ([\d.]+) \(Laplace\), ([\d.]+) \(analytic Gaussian\) and ([\d.]+) \(the")
    assert agrees(laplace, math.sqrt(2) * smallest_scale(POINTS, epsilon=1.0, delta=1e-5))
    assert agrees(analytic, smallest_scale(POINTS, epsilon=1.0, delta=1e-5, noise="gaussian"))
    assert agrees(classic, math.sqrt(2 * math.log(1.25 / 1e-5)))
    epsilon, delta, *wide = said(
        6, r"at ε = ([\d.]+) and δ = ([\d.]+) they are ([\d.]+) \(Laplace\) and ([\d.]+) \(Gau"
    )
    asked = {"epsilon": float(epsilon), "delta": float(delta)}
    assert agrees(wide[0], math.sqrt(2) * smallest_scale(POINTS, **asked))
    assert agrees(wide[1], smallest_scale(POINTS, **asked, noise="gaussian"))
    assert int(said(6, r"More than ([\d,]+) atoms").replace(",", "")) == gaussian_noise.MOST_ATOMS


def test_presence_of_both_signs():
    exact, published = said(7, r"N\(1, 2²\) at ε = 1 needs ([\d.]+), where \(13\) asks for ([\d.]+\d)")
    law = Prior.gaussian(1, 2)
    assert agrees(exact, smallest_scale({"present": law, "absent": Prior.gaussian(0, 0)}, epsilon=1.0))
    assert agrees(published, presence_scale({0: law}, epsilon=1.0))


def test_removal_of_a_class(adult):
    rows, fall = said(7, r"without the ([\d,]+) White rows of adult the sum of education-num falls by ([\d,]+\d)")
    white = adult.education_num[adult.race == "White"]
    assert agrees(rows, len(white))
    assert agrees(fall, white.sum())


def test_binary_reports():
    for pair, epsilon, lemma_5, lemma_6, exact in tables(7)[1]:
        p, q = (float(x) for x in pair.split(","))
        priors, asked = {"p": Prior.bernoulli(p), "q": Prior.bernoulli(q)}, {"epsilon": float(epsilon)}
        assert agrees(lemma_5, bernoulli_scale(priors, **asked))
        assert agrees(lemma_6, bernoulli_neighbour_scale(p, q, **asked))
        assert agrees(exact, bernoulli_exact_scale(priors, **asked))
    corrected, p, q, printed = said(
        7, r"computes: ([\d.]+) for \(([\d.]+), ([\d.]+)\) at ε = 1, .*? gives ([\d.]+\d)\."
    )
    p, q, e = float(p), float(q), math.e
    assert agrees(corrected, bernoulli_neighbour_scale(p, q, epsilon=1.0))
    assert agrees(printed, 1 / math.log(e + (e - 1) * q / (p - q)))


def test_several_releases():
    priors = {"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 2)}
    scale, *losses = said(9, r"b = ([\d.]+)\. R releases .*?: ([\d.]+) for two and ([\d.]+) for ten\.")
    bounds = said(9, r"The bounds by log E e\^\(T\|Z\|\) are ([\d.]+) and ([\d.]+\d)\.")
    b = gaussian_scale(priors, epsilon=1.0)
    assert agrees(scale, b)
    for releases, loss, bound in zip((2, 10), losses, bounds):
        assert agrees(loss, pure_loss(*priors.values(), scale=b / releases).lower)
        assert agrees(bound, log_moment(1.0, 3.0, releases / b))


def chain(p0, p1):
    return MarkovChain.of([[p0, 1 - p0], [1 - p1, p1]])


@pytest.mark.parametrize("row", tables(10)[0], ids=lambda row: " ".join(row[:2]))
def test_quilts(row):
    stay, length, *scales = row
    belief = chain(*(float(p) for p in stay.split(",")))
    for epsilon, exact, bound in zip((0.2, 1.0, 5.0), scales[:3], scales[3:]):
        assert agrees(exact, quilt_scale(belief, length=int(length), epsilon=epsilon))
        assert agrees(bound, quilt_approx_scale(belief, length=int(length), epsilon=epsilon, rule="published"))


def test_the_rule_for_reversible_chains():
    wrong = said(10, r"where that rule gives ([\d.]+\d)\.")
    belief = MarkovChain.of([[0, 1, 0], [0.46, 0, 0.54], [0.54, 0, 0.46]])
    assert np.isinf(stationary_influence(belief, np.array([2])).right).any()
    second = np.sort(np.abs(np.linalg.eigvals(belief.transition)))[-2]
    far = math.exp(-2 * (1 - second)) / belief.stationary.min()
    assert agrees(wrong, math.log((1 + far) / (1 - far)))


def test_gaps():
    stay, scale, loss = said(
        10, r"for P\(stay\) = ([\d.]+), seen at .*? pieces is (\d+), and the true loss at it is ([\d.]+\d)\."
    )
    times, p = np.array([0, 1, 3, 4, 6, 7, 9, 10]), float(stay)
    step = np.array([[p, 1 - p], [1 - p, p]])
    frame = pd.DataFrame({"t": times, "s": [0, 1] * 4})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": step, "bins": [0], "gaps": "independent", "rng": 1}
    asked["mechanism"] = "quilt"
    assert agrees(scale, float(frame.puffer.histogram(**asked)["scale"].iloc[0]))
    paths = np.array(list(product((0, 1), repeat=11)))
    weights = 0.5 * np.prod(step[paths[:, :-1], paths[:, 1:]], axis=1)
    seen = paths[:, times]
    counts, losses = (seen == 0).sum(axis=1), []
    for column in seen.T:
        laws = [np.bincount(counts[column == s], weights[column == s], minlength=9) for s in (0, 1)]
        priors = [Prior.mixture(law / law.sum(), np.arange(9.0), np.zeros(9)) for law in laws]
        losses.append(pure_loss(*priors, scale=float(scale)).upper)
    assert agrees(loss, max(losses))


def test_one_count():
    exact, quilts = said(10, r"T = 100 and ε = 1 the scale is ([\d.]+), where the quilts need ([\d.]+\d)\.")
    loss = count_loss([chain(0.9, 0.9)], [False, True], length=100)
    assert agrees(exact, smallest_scale_of(loss, Target(epsilon=1.0, delta=0.0)))
    assert agrees(quilts, quilt_scale(chain(0.9, 0.9), length=100, epsilon=1.0))


def of_laplace(epsilon, alpha):
    """Mean error of stable noise, in units of that of Laplace noise."""
    return epsilon * Stable(scale=unit_scale(epsilon=epsilon, alpha=alpha), alpha=alpha).expected_absolute_error


def test_stable_noise():
    for alpha, *row in tables(11)[0]:
        for epsilon, printed in zip((0.1, 0.5, 1.0, 2.0), row):
            assert agrees(printed, unit_scale(epsilon=epsilon, alpha=float(alpha)))
    one = said(11, r"at ε = (1) the best exponent is near ([\d.]+), with ([\d.]+) times its mean error")
    six = said(11, r"at ε = (6) it is near ([\d.]+), with ([\d.]+) times its mean error")
    for epsilon, best, times in (one, six):
        errors = {a: of_laplace(float(epsilon), float(best) + a) for a in (-0.1, 0.0, 0.1)}
        assert min(errors, key=errors.get) == 0.0
        assert agrees(times, errors[0.0])
    assert int(said(11, r"more than ([\d,]+)\s+atoms").replace(",", "")) == stable_noise.MOST_ATOMS
    assert int(said(11, r"at most ([\d,]+); 5,000 normal").replace(",", "")) == stable_noise.MOST_NODES


@few(2)
@pytest.mark.parametrize("alpha", [1.0, 1.05, 1.3, 1.7, 1.995])
def test_the_slope_of_stable_noise_has_one_peak(alpha):
    """What the rule for several coordinates rests on: seen on a grid, as the page says."""
    slope = -Stable(scale=1.0, alpha=alpha).score(np.append(np.linspace(0.001, 20, 2000), np.geomspace(20.1, 1e5, 500)))
    peak = int(slope.argmax())
    assert 0 < peak < slope.size - 1
    assert (np.diff(slope[: peak + 1]) > 0).all()
    assert (np.diff(slope[peak:]) < 0).all()


LETTERS = [1, 2, 3, 4, 5]
USER_4 = {
    "P": Prior.empirical(LETTERS, [0.4, 0.1, 0, 0.1, 0.4]),
    "Q": Prior.empirical(LETTERS, [0, 0.05, 0.9, 0.05, 0]),
}
TABLE_4 = {
    "P": Prior.empirical(LETTERS, [0.2, 0.225, 0.5, 0.075, 0]),
    "Q": Prior.empirical(LETTERS, [0, 0.075, 0.5, 0.225, 0.2]),
}


def education(epsilon):
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[4, 8])
    return presence_scale({0: Prior.empirical(frame[4][frame[8] == "White"])}, epsilon=epsilon)


def romance(epsilon):
    students = table("student-mat.csv", sep=";", usecols=["higher", "romantic"])
    share = (students.romantic[students.higher == "yes"] == "yes").mean()
    return bernoulli_presence_scale(share, epsilon=epsilon)


def marriage(epsilon):
    clients = table("bank-full.csv", sep=";", usecols=["loan", "marital"])
    marital = clients.marital[clients.loan == "yes"].map({"divorced": 1, "married": 2, "single": 3})
    return presence_scale({0: Prior.empirical(marital)}, epsilon=epsilon)


REFERENCES = {
    "P₄ or absent, (13)": lambda epsilon: presence_scale({4: USER_4["P"]}, epsilon=epsilon),
    "P₄ or absent, (14)": lambda epsilon: presence_bound_scale({4: USER_4["P"]}, epsilon=epsilon),
    "P₄ or Q₄, exact": lambda epsilon: smallest_scale(USER_4, epsilon=epsilon),
    "P₄ or Q₄, W∞/ε": lambda epsilon: kantorovich_scale(USER_4, epsilon=epsilon),
    "Table 4, exact": lambda epsilon: smallest_scale(TABLE_4, epsilon=epsilon),
    "Table 4, W∞/ε": lambda epsilon: kantorovich_scale(TABLE_4, epsilon=epsilon),
    "education-num of one White person (adult), (13)": education,
    "romantic given higher education, binary (student-mat), (15)": romance,
    "marital status given a loan (bank-full), (13)": marriage,
}


@pytest.mark.parametrize("row", tables(12)[0], ids=lambda row: row[0])
def test_references(row):
    for epsilon, printed in zip((0.1, 0.5, 1.0), row[1:]):
        assert agrees(printed, REFERENCES[row[0]](epsilon))


def test_the_users_are_those_of_the_page():
    for priors, pattern in (
        (USER_4, r"P₄ = \(([^)]*)\) or Q₄ = \(([^)]*)\)"),
        (TABLE_4, r"Table 4 is \(([^)]*)\) against \(([^)]*)\)"),
    ):
        for prior, weights in zip(priors.values(), said(12, pattern)):
            shares = [float(w) for w in weights.split(",")]
            assert prior == Prior.empirical(LETTERS, shares)
    assert agrees(said(12, r"F\(4 \| s_j\) is ([\d.]+) \("), TABLE_4["Q"].weights[TABLE_4["Q"].means <= 4].sum())


def test_lifts_of_whole_tables():
    laws = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])[None, :, None]
    allowed = np.full((1, 2, 2, 1), 0.25)
    for cap, printed in zip((1.0, 0.0), said(18, r"is (\d\.\d+) at k = 1 and (\d\.\d+) at k = 0"), strict=True):
        added = lift(laws, allowed, cap)[:, 0].sum(axis=1)
        assert np.allclose(added, added[0])
        assert agrees(printed, added[0] / (1 + added[0]))
    printed = said(18, r"in place of 1/\(e\^a − 1\): (\d\.\d+) and (\d\.\d+) at a = 0\.1, k = 1")
    assert agrees(printed[0], 1 / (math.exp(0.1) - math.exp(-1)))
    assert agrees(printed[1], 1 / math.expm1(0.1))


def test_contexts_alone_need_come_from_no_law():
    """P(x2, x3 = 1 | x1 = 1) from P(y2, x3 = 1 | y1 = 1), which contexts by y2 give, undoing the flips of y2."""
    same, other = 0.6, 0.4
    released = np.array([other * other, same * same])  # y2 = 0, 1
    found = np.linalg.solve([[same, other], [other, same]], released)
    printed = said(18, r"P\(x_2 = 0, x_3 = 1 \| x_1 = 1\) is −(\d+)/(\d+)")
    assert math.isclose(found[0], -int(printed[0]) / int(printed[1]))
