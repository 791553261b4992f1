"""What the papers ask for beside what is needed: each theorem, table and figure with the call that gives both numbers.

Run: python benchmarks/papers.py [--data DIR] [--page FILE]

DIR holds the real tables of the papers; without it their rows are left out. With --page the table is written as
docs/papers.md. All scales are of Laplace noise unless a row says otherwise. The keys of the papers are in
docs/theory.md.
"""

import argparse
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from puffer_frames import (
    MarkovChain,
    Prior,
    Stable,
    UnsoundTheoremWarning,
    bernoulli_scale,
    binary_class,
    fit_mixture,
    gaussian_scale,
    kantorovich_scale,
    mixture_scale,
    presence_scale,
    pure_loss,
    quilt_approx_scale,
    quilt_scale,
    smallest_scale,
    translation_scale,
    value_scale,
)
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    gaussian_presence_scale,
    presence_bound_scale,
    ubm_scale,
)

MARITAL = {"divorced": 1, "married": 2, "single": 3}
DATA = Path(__file__).parents[2] / "shared" / "data"
HEAD = """\
# The papers as a benchmark

Each row is a statement, table or figure of a paper: the scale that it asks for, and the smallest scale that gives the
same guarantee, confirmed by the exact engine. The last column is the call for the first number; the second one is that
of `smallest_scale` on the same laws unless the row says otherwise. `python benchmarks/papers.py` prints this table, and
writes this page with `--page docs/papers.md`. The keys of the papers, the proofs and the errata are in
[the theory](theory.md).
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A statement of a paper, and two scales."""

    where: str
    setting: str
    published: float
    ours: float | None
    """The smallest scale; None where there is none to set beside it."""
    call: str
    remark: str = ""


def gaussians(mean_i: float, std_i: float, mean_j: float, std_j: float) -> dict[str, Prior]:
    """Two Gaussian priors."""
    return {"i": Prior.gaussian(mean_i, std_i), "j": Prior.gaussian(mean_j, std_j)}


def gaussian_priors() -> Iterator[Row]:
    """[D24]: conditions for Gaussians and their mixtures."""
    shift = gaussians(0, 1, 1, 1)
    call = "translation_scale(priors, epsilon=0.5)"
    published, ours = translation_scale(shift, epsilon=0.5), smallest_scale(shift, epsilon=0.5)
    yield Row("[D24] Remark 1", "N(0, 1), N(1, 1); ε = .5, δ = 0", published, ours, call)
    education, chol = (9.486236, 2.297525, 10.960539, 2.810228), (247.675676, 61.774242, 252.040609, 69.535430)
    for title, law, epsilon, delta in [
        ("N(0, 1), N(1, 2²)", (0, 1, 1, 2), 0.5, 1e-5),
        ("N(0, 1), N(0, 2²)", (0, 1, 0, 2), 0.5, 1e-5),
        ("N(0, 10²), N(1, 10.5²)", (0, 10, 1, 10.5), 1, 1e-5),
        ("education-num, Black and Asian-Pac-Islander", education, 1, 1e-3),
        ("chol, female and male", chol, 1, 1e-3),
    ]:
        priors = gaussians(*law)
        published = gaussian_scale(priors, epsilon=epsilon, delta=delta)
        ours = smallest_scale(priors, epsilon=epsilon, delta=delta)
        call = f"gaussian_scale(priors, epsilon={epsilon}, delta={delta})"
        yield Row("[D24] Theorem 1", f"{title}; ε = {epsilon}, δ = {delta:g}", published, ours, call)
    far = {"i": Prior.mixture([0.5, 0.5], [0, 100], [1, 1]), "j": Prior.mixture([0.5, 0.5], [0, 200], [1, 1])}
    setting = "½N(0, 1) + ½N(100, 1), ½N(0, 1) + ½N(200, 1); ε = 1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundTheoremWarning)
        mixed, shared = mixture_scale(far, epsilon=1, delta=0.1), ubm_scale(far, epsilon=1)
    loss = pure_loss(far["i"], far["j"], scale=50).upper
    not_sound = "**Not sound**: "
    ours, remark = smallest_scale(far, epsilon=1, delta=0.1), not_sound + "δ is .184 at its scale"
    yield Row(
        "[D24] Theorem 2", f"{setting}, δ = .1", mixed, ours, "mixture_scale(priors, epsilon=1, delta=0.1)", remark
    )
    remark = not_sound + f"the loss is {loss:.3f} at its scale"
    yield Row("[D24] Corollary 2", f"{setting}, δ = 0", shared, smallest_scale(far, epsilon=1), "ubm_scale(…)", remark)
    for users, variance in ((1, 9), (5, 9), (40, 25)):
        laws = {k: Prior.gaussian(1, math.sqrt(variance)) for k in range(users)}
        published = gaussian_presence_scale(laws, epsilon=1, delta=0.3)
        setting = f"{users} of N(1, {variance}), one of them present or not; ε = 1, δ = .3"
        call = "gaussian_presence_scale(laws, epsilon=1, delta=0.3)"
        yield Row("[D24] (11), Figure 2", setting, published, None, call, "spends the randomness of the other users")


def users() -> Iterator[Row]:
    """[DLYZ]: sums over users."""
    values = [1, 2, 3, 4, 5]
    call = "value_scale([(5, 3)], epsilon=1)"
    yield Row("[DLYZ] Theorem 1", "5 or 3; ε = 1", value_scale([(5, 3)], epsilon=1), 2.0, call)
    call = "value_scale([(5, None)], epsilon=1)"
    yield Row("[DLYZ] Theorem 2", "5 or absent; ε = 1", value_scale([(5, None)], epsilon=1), 5.0, call)
    p = Prior.mixture([0.4, 0.1, 0, 0.1, 0.4], values, [0] * 5)
    q = Prior.mixture([0, 0.05, 0.9, 0.05, 0], values, [0] * 5)
    absent = {"present": p, "absent": Prior.gaussian(0, 0)}
    for epsilon in (0.1, 0.5, 1):
        setting = f"P₄ or absent; ε = {epsilon}"
        ours = smallest_scale(absent, epsilon=epsilon)
        call = f"presence_bound_scale({{4: P}}, epsilon={epsilon})"
        yield Row("[DLYZ] (14)", setting, presence_bound_scale({4: p}, epsilon=epsilon), ours, call)
        call = f"presence_scale({{4: P}}, epsilon={epsilon})"
        yield Row("[DLYZ] Theorem 3, (13)", setting, presence_scale({4: p}, epsilon=epsilon), ours, call)
    pairs = {
        "P₄ or Q₄": {"P": p, "Q": q},
        "Table 4": {
            "P": Prior.mixture([0.2, 0.225, 0.5, 0.075, 0], values, [0] * 5),
            "Q": Prior.mixture([0, 0.075, 0.5, 0.225, 0.2], values, [0] * 5),
        },
    }
    for title, laws in pairs.items():
        for epsilon in (0.5, 1):
            published, ours = kantorovich_scale(laws, epsilon=epsilon), smallest_scale(laws, epsilon=epsilon)
            call = f"kantorovich_scale(priors, epsilon={epsilon})"
            yield Row("[DLYZ] Theorem 4, Tables 4 to 6", f"{title}; ε = {epsilon}", published, ours, call)
    for epsilon in (0.05, 0.1, 1):
        binary = {"p": Prior.bernoulli(0.2), "q": Prior.bernoulli(0.9)}
        setting, ours = f"P(1) = .2 or .9; ε = {epsilon}", bernoulli_exact_scale(binary, epsilon=epsilon)
        call = f"bernoulli_scale(priors, epsilon={epsilon})"
        yield Row("[DLYZ] Lemma 5", setting, bernoulli_scale(binary, epsilon=epsilon), ours, call)
        call = f"bernoulli_neighbour_scale(0.2, 0.9, epsilon={epsilon})"
        yield Row("[DLYZ] Lemma 6", setting, bernoulli_neighbour_scale(0.2, 0.9, epsilon=epsilon), ours, call)
    falling = {"p": Prior.bernoulli(0.9), "q": Prior.bernoulli(0.2)}
    published, ours = bernoulli_neighbour_scale(0.9, 0.2, epsilon=1), bernoulli_exact_scale(falling, epsilon=1)
    remark = "corrected: .857613 is printed"
    call = "bernoulli_neighbour_scale(0.9, 0.2, epsilon=1)"
    yield Row("[DLYZ] Lemma 6, falling", "P(1) = .9 or .2; ε = 1", published, ours, call, remark)


def series() -> Iterator[Row]:
    """[SWC17]: the quilt mechanism."""
    for p0, p1 in ((0.5, 0.5), (0.7, 0.7), (0.9, 0.9), (0.9, 0.6), (0.99, 0.9)):
        chain = MarkovChain.of([[p0, 1 - p0], [1 - p1, p1]])
        any_start = MarkovChain.of([[p0, 1 - p0], [1 - p1, p1]], initial=[0.5, 0.5])
        for epsilon in (0.2, 1, 5):
            setting = f"stay {p0} and {p1}, 100 times; ε = {epsilon}"
            published = quilt_approx_scale(any_start, length=100, epsilon=epsilon, rule="published")
            ours = quilt_scale(chain, length=100, epsilon=epsilon)
            call = f'quilt_approx_scale(chain, length=100, epsilon={epsilon}, rule="published")'
            yield Row("[SWC17] MQMApprox beside MQMExact", setting, published, ours, call, "both are quilts")
    slides = binary_class(0.1)
    approx = quilt_approx_scale(slides, length=100, epsilon=1, rule="published")
    ours = quilt_scale(slides, length=100, epsilon=1)
    call = 'quilt_approx_scale(binary_class(0.1), length=100, epsilon=1, rule="published")'
    yield Row("[SWC17] a class of chains", "stay in [.1, .9], 100 times; ε = 1", approx, ours, call, "both are quilts")


def stable_noise() -> Iterator[Row]:
    """[ZA]: symmetric alpha-stable noise."""
    for alpha in (1.0, 1.5, 1.95):
        point = {"i": Prior.empirical([0.0]), "j": Prior.empirical([1.0])}
        law = {"i": Prior.bernoulli(0.2), "j": Prior.bernoulli(0.9)}
        noise = Stable(alpha=alpha)
        published = smallest_scale(point, epsilon=1, noise=noise)
        ours = smallest_scale(law, epsilon=1, noise=noise)
        setting = f"α = {alpha}, a shift of 1, which serves P(1) = .2 or .9 too; ε = 1"
        call = f'smallest_scale({{"i": atom 0, "j": atom 1}}, epsilon=1, noise=Stable(alpha={alpha}))'
        yield Row("[ZA] scale for a sensitivity", setting, published, ours, call, "scale γ")


def relaxed_scale(p: dict[float, float], q: dict[float, float], *, epsilon: float) -> float:
    r"""Root of max over x' of E[exp(|X - x'| / theta) | x'] = e^epsilon for the cheapest plan, in both directions.

    The rule of arXiv 2601.06385, as its published numbers have it.
    """
    plan = cheapest_plan(p, q)

    def excess(inverse: float) -> float:
        """The largest mean at theta = 1 / inverse, less e^epsilon."""
        worst = 0.0
        for side in (0, 1):
            mass, total = defaultdict(float), defaultdict(float)
            for ends, moved in plan.items():
                mass[ends[side]] += moved
                total[ends[side]] += moved * math.exp(abs(ends[0] - ends[1]) * inverse)
            worst = max(worst, *(total[x] / mass[x] for x in mass))
        return worst - math.exp(epsilon)

    return 1 / float(brentq(excess, 0, 100, xtol=1e-12))


def cheapest_plan(p: dict[float, float], q: dict[float, float]) -> dict[tuple[float, float], float]:
    """The monotone plan between two laws on the line."""
    plan = defaultdict(float)
    ones, others = iter(sorted(p.items())), iter(sorted(q.items()))
    (x, left), (y, right) = next(ones), next(others)
    while True:
        moved = min(left, right)
        plan[x, y] += moved
        left, right = left - moved, right - moved
        try:
            if left <= right:
                x, left = next(ones)
            else:
                y, right = next(others)
        except StopIteration:
            return {ends: moved for ends, moved in plan.items() if moved > 1e-15}


def tables(folder: Path) -> Iterator[Row]:
    """Rows on the real tables."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True, usecols=[4, 8], names=["n", "race"])
    for one, other in (("Asian-Pac-Islander", "Other"), ("Black", "White"), ("Asian-Pac-Islander", "Black")):
        laws = {race: Prior.empirical(adult.n[adult.race == race]) for race in (one, other)}
        published, ours = kantorovich_scale(laws, epsilon=1), smallest_scale(laws, epsilon=1)
        setting = f"education-num, {one} or {other}; ε = 1"
        yield Row("[SWC17], [D22] W∞", setting, published, ours, "kantorovich_scale(priors, epsilon=1)")
    white = Prior.empirical(adult.n[adult.race == "White"])
    loan = pd.read_csv(folder / "bank-full.csv", sep=";", usecols=["loan", "marital"])
    codes = loan.marital.map(MARITAL)
    borrower = Prior.empirical(codes[loan.loan == "yes"])
    absent = Prior.gaussian(0, 0)
    for title, law in (("education-num of one White person", white), ("marital status of one borrower", borrower)):
        setting = f"{title}, present or not; ε = 1"
        ours = smallest_scale({"present": law, "absent": absent}, epsilon=1)
        published = presence_bound_scale({0: law}, epsilon=1)
        yield Row("[DLYZ] experiments, (14)", setting, published, ours, "presence_bound_scale({0: law}, epsilon=1)")
        published = presence_scale({0: law}, epsilon=1)
        yield Row("[DLYZ] experiments, (13)", setting, published, ours, "presence_scale({0: law}, epsilon=1)")
    students = pd.read_csv(folder / "student-mat.csv", sep=";", usecols=["higher", "romantic"])
    p = float((students.romantic[students.higher == "yes"] == "yes").mean())
    published = bernoulli_presence_scale(p, epsilon=1)
    ours = smallest_scale({"present": Prior.bernoulli(p), "absent": absent}, epsilon=1)
    setting = "romantic of one student, present or not; ε = 1"
    yield Row("[DLYZ] experiments, (15)", setting, published, ours, f"bernoulli_presence_scale({p:.4f}, epsilon=1)")
    yield from mixtures(folder)
    yield from relaxed(folder)


def mixtures(folder: Path) -> Iterator[Row]:
    """[D24], Figures 3 and 4: three Gaussians per secret, fitted to the real tables."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True)
    heart = pd.read_csv(folder / "processed.hungarian.data", header=None, na_values="?")[[1, 4]].dropna()
    races, sexes = ("Black", "Asian-Pac-Islander"), (0, 1)
    cases = {
        "[D24] Figure 3": ("education-num by race", adult[4], adult[8], races),
        "[D24] Figure 4": ("chol by sex", heart[4], heart[1], sexes),
    }
    for where, (title, public, secret, pair) in cases.items():
        laws = {s: fit_mixture(*np.unique(public[secret == s], return_counts=True), components=3) for s in pair}
        for delta in (0.5, 0.3, 1e-5):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnsoundTheoremWarning)
                published = mixture_scale(laws, epsilon=1, delta=delta)
            ours = smallest_scale(laws, epsilon=1, delta=delta)
            call = f"mixture_scale(fitted, epsilon=1, delta={delta})"
            remark = "the fitted law needs no noise at this δ" if ours == 0 else "fitted by three Gaussians"
            yield Row(where, f"{title}; ε = 1, δ = {delta:g}", published, ours, call, remark)


def relaxed(folder: Path) -> Iterator[Row]:
    """arXiv 2601.06385: a condition on the mean over the cheapest plan in place of its largest shift."""
    por = pd.read_csv(folder / "student-por.csv", sep=";", usecols=["higher", "romantic"])
    cases = {"student-por, romantic by higher": (por.romantic.map({"no": 0, "yes": 1}), por.higher)}
    for name in ("bank", "bank-full"):
        clients = pd.read_csv(folder / f"{name}.csv", sep=";", usecols=["loan", "marital"])
        cases[f"{name}, marital by loan"] = (clients.marital.map(MARITAL), clients.loan)
    for title, (public, secret) in cases.items():
        columns = {word: public[secret == word] for word in ("no", "yes")}
        laws = {word: Prior.empirical(column) for word, column in columns.items()}
        shares = [column.value_counts(normalize=True).to_dict() for column in columns.values()]
        ours, setting = smallest_scale(laws, epsilon=0.1), f"{title}; ε = .1"
        published = kantorovich_scale(laws, epsilon=0.1)
        yield Row("[SWC17], [D22] W∞", setting, published, ours, "kantorovich_scale(priors, epsilon=0.1)")
        published = relaxed_scale(*shares, epsilon=0.1)
        yield Row(
            "arXiv 2601.06385",
            setting,
            published,
            ours,
            "relaxed_scale(p, q, epsilon=0.1)",
            "its rule from its numbers",
        )


PARTS: tuple[Callable[[], Iterator[Row]], ...] = (gaussian_priors, users, series, stable_noise)


def rows(folder: Path) -> list[Row]:
    """All of them; without the folder, those that need no table."""
    found = [row for part in PARTS for row in part()]
    return found + list(tables(folder)) if folder.exists() else found


def table(found: list[Row]) -> str:
    """In Markdown."""
    lines = ["| where | setting | asks for | needed | times | call |", "| --- | --- | --- | --- | --- | --- |"]
    for row in found:
        ours = "–" if row.ours is None else f"{row.ours:.5g}"
        times = f"{row.published / row.ours:.2f}" if row.ours else "–"
        setting = f"{row.setting}. {row.remark[:1].upper()}{row.remark[1:]}" if row.remark else row.setting
        lines.append(f"| {row.where} | {setting} | {row.published:.5g} | {ours} | {times} | `{row.call}` |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    text = table(rows(options.data))
    if options.page:
        options.page.write_text(f"{HEAD}\n{text}", encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
