"""Every printed number of [D24], [DLYZ], the slides of [SWC17] and [ZA] beside the number of the library."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from papers_gaussian import gaussians
from papers_rows import NOBODY, Section, asked, number, small_table
from papers_series import LENGTH, activities, demand, matrix, minima_scale
from papers_users import BINARY, MARITAL, P4, PAIRS, Q4, TABLE_P, TABLE_Q, USERS, printed_neighbours
from scipy.optimize import brentq

from puffer_frames import Gaussian, Laplace, Stable, binary_class
from puffer_frames.core import Prior, pure_loss, smallest_scale, transport_plan, w_infinity
from puffer_frames.errors import CalibrationError
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_scale,
    coupling_scale,
    gaussian_presence_scale,
    gaussian_scale,
    kantorovich_scale,
    mixture_scale,
    presence_bound_scale,
    presence_scale,
    relaxed_scale,
    sum_of_users,
    tau_star,
    tau_star_bound,
)

RIGHT = "both"
FAR = {k: Prior.mixture([0.5, 0.5], [0, far], [1, 1]) for k, far in (("i", 100), ("j", 200))}
SHIFT = {"i": Prior.empirical([0.0]), "j": Prior.empirical([1.0])}
HEADS = ("place", "what", "printed", "ours", "who is right, and why", "call")


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of a paper, or the formula where it prints no number, and ours."""

    place: str
    what: str
    printed: float | str | None
    ours: float | str | None
    right: str
    call: str


def beside(title: str, rows: Iterable[Printed]) -> str:
    """A small table of the page."""
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    lines += [
        f"| {r.place} | {r.what} | {number(r.printed)} | {number(r.ours)} | {r.right} | `{r.call}` |" for r in rows
    ]
    return f"\n**{title}**:\n\n" + "\n".join(lines) + "\n"


def sums() -> Iterator[Printed]:
    """[DLYZ] Figures 1, 2, 3, 6 and 7: the plans of the sum of four users."""
    others = [USERS[k] for k in (1, 2, 3)]
    cases = (
        (1, 2, "user 4 reports 5 or 3", Prior.empirical([5.0]), Prior.empirical([3.0])),
        (2, 5, "user 4 reports 5 or is absent", Prior.empirical([5.0]), NOBODY),
        (3, 5, "user 4 has P₄ or is absent", P4, NOBODY),
        (6, 2, "user 4 has P₄ or Q₄", P4, Q4),
        (7, 1, "user 4 reports 1 with probability .2 or .9", BINARY["p"], BINARY["q"]),
    )
    for figure, printed, what, one, other in cases:
        sums_of = {"i": sum_of_users([*others, one]), "j": sum_of_users([*others, other])}
        place = f"[DLYZ] Figure {figure}"
        ours = w_infinity(*sums_of.values())
        yield Printed(
            place,
            f"{what}: sup of the plan of the sum",
            printed,
            ours,
            RIGHT,
            "w_infinity(sum_of_users([…, i]), sum_of_users([…, j]))",
        )
        needed = smallest_scale(sums_of, epsilon=1)
        right = RIGHT if abs(needed - printed) < 1e-6 else "both hold; for one release ours is enough"
        yield Printed(place, f"{what}: scale, ε = 1", f"{printed}/ε", needed, right, "smallest_scale(sums, epsilon=1)")


def least_ratio() -> Iterator[Printed]:
    """[DLYZ] (21) to (24): of the mass at each end of the plan of the sum, what stays beside what was moved there."""
    sums_of = [sum_of_users([*(USERS[k] for k in (1, 2, 3)), coin]) for coin in BINARY.values()]
    plan, found = transport_plan(*sums_of), {}
    for x in np.unique(plan[:, 1]):
        stays, moved = (plan[(plan[:, 1] == x) & (plan[:, 0] == x - step), 2].sum() for step in (0, 1))
        found[int(x)] = stays / moved if moved else math.inf
    at = min(found, key=found.__getitem__)
    what, call = (
        f"inf ψ of the sum, .2 or .9, at x = {at}",
        "transport_plan(sum_of_users([…, i]), sum_of_users([…, j]))",
    )
    yield Printed("[DLYZ] (21) to (24)", what, f"p/(q − p) = {2 / 7:.5g}", found[at], RIGHT, call)


def axes() -> str:
    """[DLYZ] Figures 4 and 8: where the curves begin."""
    lines = [[0.1, 50, presence_bound_scale({4: P4}, epsilon=0.1), presence_scale({4: P4}, epsilon=0.1)]]
    text = "\n**[DLYZ] Figure 4; printed is the top of the axis, which (14) reaches**: "
    text += "`presence_bound_scale({4: P}, epsilon=0.1)`, `presence_scale({4: P}, epsilon=0.1)`\n\n"
    text += small_table(["ε", "printed", "(14)", "(13)"], lines)
    scales = {
        e: (bernoulli_scale(BINARY, epsilon=e), bernoulli_neighbour_scale(0.2, 0.9, epsilon=e))
        for e in (0.001, 0.01, 0.04)
    }
    lines = [
        [e, 1000 if e == 0.001 else None, *both, bernoulli_exact_scale(BINARY, epsilon=e)] for e, both in scales.items()
    ]
    text += "\n**[DLYZ] Figure 8; printed is the top of the axis, which Lemma 5 reaches**: "
    text += "`bernoulli_scale(priors, epsilon=ε)` and so on\n\n"
    return text + small_table(["ε", "printed", "Lemma 5", "Lemma 6", "needed"], lines)


def worked_example() -> Iterator[Printed]:
    """[DLYZ] Tables 5 and 6 and the example of appendix A."""
    cells = {"i": (TABLE_P, [0.2, 0.42, 0.925, 1, 1]), "j": (TABLE_Q, [0, 0.075, 0.575, 0.925, 1])}
    for letter, (law, line) in cells.items():
        for x, printed in enumerate(line, 1):
            ours, name = float(law.weights[law.means <= x].sum()), "P" if letter == "i" else "Q"
            right = RIGHT if abs(ours - printed) < 1e-9 else "ours: a misprint, by Table 4"
            call = f"{name}.weights[{name}.means <= {x}].sum()"
            yield Printed("[DLYZ] Table 5", f"F({x}; s_{letter})", printed, ours, right, call)
    masses = {(1, 2): 0.075, (1, 3): 0.125, (2, 3): 0.225, (3, 3): 0.15, (3, 4): 0.225, (3, 5): 0.125, (4, 5): 0.075}
    plan = {(int(x), int(y)): mass for x, y, mass in transport_plan(TABLE_P, TABLE_Q).tolist()}
    for x, y in sorted({*masses, *plan}):
        printed, ours = masses.get((x, y), 0), plan.get((x, y), 0)
        yield Printed("[DLYZ] Table 6", f"mass from {x} to {y}", printed, ours, RIGHT, "transport_plan(P, Q)")
    printed_shift = {1: 2, 2: "Δ*(3)", 3: "Δ*(4)", 5: 0}
    for x in range(1, 6):
        ours = shift(TABLE_P, TABLE_Q, x)
        odd = "ours: equality of Δ*(2), Δ*(3), Δ*(4) follows from the misprint .925 alone; the sup 2 stands"
        right = RIGHT if x in (1, 5) else odd
        yield Printed("[DLYZ] Example, (25)", f"Δ*({x})", printed_shift.get(x), ours, right, f"shift(P, Q, {x})")


def shift(p: Prior, q: Prior, x: int) -> int:
    """The least whole shift with F_q(x - shift) <= F_p(x) <= F_q(x + shift)."""

    def upto(law: Prior, y: float) -> float:
        return float(law.weights[law.means <= y].sum())

    return next(d for d in range(99) if upto(q, x - d) <= upto(p, x) + 1e-12 <= upto(q, x + d) + 2e-12)


def one_order_scale(one: Prior, other: Prior, *, epsilon: float, side: int) -> float:
    """[DLYZ] (20): root of the largest mean E[exp(|X - X'|/b) | one end] = e^epsilon over the cheapest plan."""
    plan = transport_plan(one, other)

    def excess(inverse: float) -> float:
        moved = plan[:, 2] * np.exp(np.abs(plan[:, 0] - plan[:, 1]) * inverse)
        ends = [plan[:, side] == x for x in np.unique(plan[:, side])]
        return max(moved[end].sum() / plan[end, 2].sum() for end in ends) - math.exp(epsilon)

    return 1 / float(brentq(excess, 1e-9, 100, xtol=1e-14))


def conditions() -> Iterator[Printed]:
    """What is printed as a formula or as a figure without numbers."""
    for delta in (0.001, 0.999):
        right, place = "a curve that falls", "[D24] Figure 5, (22)"
        ours, call = tau_star_bound(delta), f"tau_star_bound({delta})"
        yield Printed(place, f"bound of τ*, δ = {delta}", None, ours, right, call)
        yield Printed(place, f"τ* itself, δ = {delta}", None, tau_star(delta), "below the bound", f"tau_star({delta})")
    right = "neither: the priors are not told, and Gaussian noise has no largest log-ratio between different Gaussians"
    for noise, printed in (("L(4)", 0.2992), ("G(0, 8)", 0.0156)):
        call = "pure_loss(i, j, noise=Gaussian())"
        yield Printed("[D24] Figure 1", f"largest abs log-ratio, {noise}", printed, None, right, call)


def tighter() -> str:
    """[D24] (35), and [DLYZ] (20) in both orders."""
    education, chol = (9.486236, 2.297525, 10.960539, 2.810228), (247.675676, 61.774242, 252.040609, 69.535430)
    lines: list[list[float | str]] = []
    for title, law, epsilon, delta in (
        ("N(0, 1), N(1, 2²)", (0, 1, 1, 2), 0.5, 1e-5),
        ("N(0, 1), N(1, 2²)", (0, 1, 1, 2), 1, 1e-5),
        ("chol, female and male", chol, 1, 1e-5),
        ("education-num, Black and Asian-Pac-Islander", education, 1, 1e-3),
    ):
        priors, asks = gaussians(*law), {"epsilon": epsilon, "delta": delta}
        needed = smallest_scale(priors, **asks)
        lines.append([title, epsilon, delta, gaussian_scale(priors, **asks), coupling_scale(priors, **asks), needed])
    for delta in (1e-3, 0.1):
        asks = {"epsilon": 1, "delta": delta}
        found = [scale(FAR, **asks) for scale in (mixture_scale, coupling_scale, smallest_scale)]
        lines.append(["½N(0, 1) + ½N(100, 1), ½N(0, 1) + ½N(200, 1), Theorem 2", 1, delta, *found])
    text = "\n**[D24] (31) and (35), which are printed and not used: tighter than Theorem 1, and sound for mixtures**: "
    text += "`coupling_scale(priors, epsilon=ε, delta=δ)`\n\n"
    text += small_table(["laws", "ε", "δ", "Theorem 1", "(35)", "needed"], lines)
    lines = []
    for title, laws in PAIRS.items():
        for epsilon in (0.1, 0.5, 1):
            given = [one_order_scale(*laws.values(), epsilon=epsilon, side=side) for side in (1, 0)]
            both, published = (scale(laws, epsilon=epsilon) for scale in (relaxed_scale, kantorovich_scale))
            lines.append([title, epsilon, *given, both, published, smallest_scale(laws, epsilon=epsilon)])
    text += "\n**[DLYZ] (20) is given x′ alone; (1) asks for both orders, so for the larger number**: "
    text += "`relaxed_scale(laws, epsilon=ε)`\n\n"
    return text + small_table(["laws", "ε", "given x′", "given x", "both", "W∞/ε", "needed"], lines)


def slides() -> Iterator[Printed]:
    """The slides of [SWC17]: what can be computed without their data."""
    power = np.linalg.matrix_power(np.array(matrix(0.9, 0.9)), 5)
    printed = f"½ + ½ (2p − 1)⁵ = {0.5 + 0.5 * 0.8**5:.5g}"
    call = "matrix_power(P, 5)[0, 0]"
    yield Printed("slides, binary chain", "P(X₆ = 0 given X₁ = 0), p = .9", printed, power[0, 0], RIGHT, call)
    series = pd.DataFrame({"time": range(LENGTH), "state": [0, 1] * (LENGTH // 2)})
    common = {"state": "state", "time": "time", "epsilon": [1]}
    for stay in (0.5, 0.7, 0.9):
        found, call = asked(series, "series", "histogram", **common, chain=matrix(stay, stay), mechanism=["entry"])
        right = "the slides: entry-DP is too little" if stay > 0.5 else "enough where nothing depends on the value"
        what = f"loss of noise for one entry, stay {stay}, {LENGTH} times; ε = 1"
        yield Printed("slides, entry-DP", what, "“too little”", found["loss"].iloc[0], right, call)
    for stay, what, printed in (
        (0.5, "independent times: Pufferfish is DP", 1),
        (1, "no free lunch: all may hang on one", "T"),
    ):
        words = {**common, "initial": [0.5, 0.5], "chain": matrix(stay, stay), "mechanism": "exact"}
        found, call = asked(series, "series", "histogram", **words)
        what = f"{what}, stay {stay}, T = {LENGTH}; ε = 1: scale"
        yield Printed("slides, two theorems", what, printed, found["scale"].iloc[0], RIGHT, call)
    for prior in (0.1, 0.5, 0.9):
        low, high = (prior / (prior + (1 - prior) * math.exp(sign)) for sign in (1, -1))
        what, call = f"bounds of the posterior of a prior of {prior}, ε = 1", "p / (p + (1 - p) * exp(±ε))"
        yield Printed("[ZA] Figure 2", what, None, f"{low:.3f} to {high:.3f}", "curves without numbers", call)
    point = math.exp(float(Stable(scale=1.0, alpha=1.5).log_density(np.array([10.0]))[0]))
    call = "Stable(scale=1.0, alpha=1.5).log_density(10)"
    yield Printed("[ZA] Figure 4", "density, α = 1.5, γ = 1, x = 10", None, point, "the setting alone is printed", call)
    noise = Stable(alpha=1.5)
    ratio = pure_loss(*SHIFT.values(), scale=smallest_scale(SHIFT, epsilon=1, noise=noise), noise=noise).upper
    what, call = (
        "largest log-ratio of densities, α = 1.5, at its scale",
        "pure_loss(i, j, scale=γ, noise=Stable(alpha=1.5))",
    )
    yield Printed("[ZA] Theorem 6", what, "ε", ratio, RIGHT, call)


def figure_2() -> str:
    """[D24] Figure 2 as a table, the slides' class of chains by mechanism, and [ZA] beside Gaussian noise."""
    many, lines = (1, 2, 5, 10, 40, 100), []
    for variance in (1, 9, 25):
        laws = [{k: Prior.gaussian(1, math.sqrt(variance)) for k in range(users)} for users in many]
        lines.append([variance, *(gaussian_presence_scale(law, epsilon=1, delta=0.3) for law in laws)])
    call = "`gaussian_presence_scale(laws, epsilon=1, delta=0.3)`"
    text = f"\n**[D24] Figure 2, (11), by σ² and K; only the trend is printed, and it agrees**: {call}\n\n"
    text += small_table(["σ²", *(f"K = {users}" for users in many)], lines)
    return text + crossing() + stable_and_gaussian()


def crossing() -> str:
    """The slides' table of mechanisms for classes [ℓ, 1 − ℓ]."""
    series = pd.DataFrame({"time": range(LENGTH), "state": [0, 1] * (LENGTH // 2)})
    names, lines = ["quilt", "quilt-approx", "wasserstein", "gk16", "group", "entry"], []
    call = ""
    for low, epsilons in ((0.4, [0.2, 1, 5]), (0.3, [1])):
        words = {"state": "state", "time": "time", "chain": binary_class(low), "epsilon": epsilons, "mechanism": names}
        found, words_of = asked(series, "series", "histogram", **words)
        call = call or words_of
        table = found.pivot_table(index="epsilon", columns="mechanism", values="scale")
        for epsilon in epsilons:
            scales = [table.loc[epsilon].get(name) for name in names]
            lines.append([low, epsilon, *scales, minima_scale(low, 2 * low, length=LENGTH, epsilon=epsilon)])
    title = "The slides' classes [ℓ, 1 − ℓ], 100 times: MQM and GK16 cross with ε; – where GK16 does not apply"
    head = ["ℓ", "ε", *names, "printed bound, minima of the class"]
    return f"\n**{title}**: `{call}`\n\n{small_table(head, lines)}"


def stable_and_gaussian() -> str:
    """[ZA], "comparable to Gaussian distortion": mean absolute errors at one epsilon."""
    lines = [["Laplace, δ = 0", Laplace(scale=smallest_scale(SHIFT, epsilon=1)).expected_absolute_error]]
    for alpha in (1.5, 1.7, 1.9, 1.95, 1.995):
        scale = smallest_scale(SHIFT, epsilon=1, noise=Stable(alpha=alpha))
        lines.append([f"stable, α = {alpha}, δ = 0", Stable(scale=scale, alpha=alpha).expected_absolute_error])
    for delta in (1e-3, 1e-5, 1e-6):
        scale = smallest_scale(SHIFT, epsilon=1, delta=delta, noise=Gaussian())
        lines.append([f"Gaussian, δ = {delta:g}", scale * math.sqrt(2 / math.pi)])
        classic = math.sqrt(2 * math.log(1.25 / delta))
        lines.append([f"Gaussian, classic rule, δ = {delta:g}", classic * math.sqrt(2 / math.pi)])
    title = "[ZA], “comparable to Gaussian”: E abs(N) of a shift of 1, ε = 1. It is; beside Laplace noise it costs more"
    return f"\n**{title}**: `smallest_scale(shift, epsilon=1, noise=…)`\n\n{small_table(['noise', 'error'], lines)}"


def plain_tables() -> str:
    """What needs no table of data."""
    return (
        beside("Plans of sums, and the worked example", (*sums(), *least_ratio(), *worked_example()))
        + axes()
        + beside("Figures and slides", (*conditions(), *slides()))
        + tighter()
        + figure_2()
    )


def class_axes(folder: Path) -> str:
    """[DLYZ] Figure 5 at ε = .1, by coding."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True)
    labels = {label: k for k, label in enumerate(sorted(set(adult[3])), 1)}
    laws = {
        ("(a)", 160, "education-num"): adult[4][adult[8] == "White"],
        ("(a)", 160, "alphabetical codes of education"): adult[3][adult[8] == "White"].map(labels),
    }
    for name in ("mat", "por"):
        students = pd.read_csv(folder / f"student-{name}.csv", sep=";", usecols=["higher", "romantic"])
        romantic = students.romantic[students.higher == "yes"]
        for coding in ({"no": 0, "yes": 1}, {"no": 1, "yes": 2}, {"no": 2, "yes": 1}):
            laws["(b)", 20, f"{name}, no {coding['no']}, yes {coding['yes']}"] = romantic.map(coding)
    for name in ("bank-full", "bank"):
        clients = pd.read_csv(folder / f"{name}.csv", sep=";", usecols=["loan", "marital"])
        laws["(c)", 30, f"{name}, divorced 1, married 2, single 3"] = clients.marital[clients.loan == "yes"].map(
            MARITAL
        )
    lines = []
    for (panel, printed, title), column in laws.items():
        law = {0: Prior.empirical(column)}
        both = presence_bound_scale(law, epsilon=0.1), presence_scale(law, epsilon=0.1)
        lines.append([panel, title, printed, *both])
    title = "[DLYZ] Figure 5, ε = .1; printed is the top of the axis: (b) has the codes 1 and 2, not 0 and 1"
    text = f"\n**{title}**: `presence_bound_scale({{0: law}}, epsilon=0.1)`, `presence_scale({{0: law}}, epsilon=0.1)`"
    return f"{text}\n\n{small_table(['panel', 'law', 'printed', '(14)', '(13)'], lines)}"


def binary_classes(folder: Path) -> str:
    """[DLYZ] Figure 9 at ε = .1."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True)
    asian, native = "Asian-Pac-Islander", "Amer-Indian-Eskimo"
    cases = {
        "adult, husband or wife": (adult[7].isin(["Husband", "Wife"]), adult[8], asian, native),
        "adult, the label Unmarried": (adult[7] == "Unmarried", adult[8], asian, native),
    }
    for name in ("mat", "por"):
        students = pd.read_csv(folder / f"student-{name}.csv", sep=";")
        cases[f"student-{name}, romantic by freetime"] = (students.romantic == "yes", students.freetime, 5, 2)
    for name in ("bank-full", "bank"):
        clients = pd.read_csv(folder / f"{name}.csv", sep=";")
        cases[f"{name}, loan"] = (clients.loan == "yes", clients.job, "blue-collar", "management")
    lines, call = [], ""
    for title, (value, by, *pair) in cases.items():
        p, q = (float(value[by == label].mean()) for label in pair)
        laws = {"p": Prior.bernoulli(p), "q": Prior.bernoulli(q)}
        rows = pd.DataFrame({"class": by, "value": value.astype(int)})[by.isin(pair)]
        words = {"unit": "class", "value": "value", "contribution": "draw", "protect": "replacement"}
        found, one = asked(rows, "rows", "aggregate", **words, pairs=[tuple(pair)], epsilon=[0.1, 1])
        call = call or one
        scales = bernoulli_scale(laws, epsilon=0.1), printed_neighbours(p, q, epsilon=0.1)
        right = bernoulli_neighbour_scale(p, q, epsilon=0.1)
        lines.append([title, p, q, 10, *scales, right, *found["scale"]])
    title = (
        "[DLYZ] Figure 9, ε = .1; printed is the top of the axis. For p > q the denominators of Lemma 6 are Pr(f = x)"
    )
    heads = ["class", "p", "q", "printed", "Lemma 5", "Lemma 6 as printed", "corrected", "needed", "needed, ε = 1"]
    return f"\n**{title}**: `bernoulli_neighbour_scale(p, q, epsilon=0.1)`, `{call}`\n\n{small_table(heads, lines)}"


def records(folder: Path) -> Iterator[Printed]:
    """[D24], section V: sizes of the tables; the slides: L1 errors of other data."""
    adult = pd.read_csv(folder / "adult.data", header=None)
    heart = pd.read_csv(folder / "processed.hungarian.data", header=None, na_values="?")
    for what, printed, ours, right in (
        ("records of adult", 32652, len(adult), "the file: digits are swapped"),
        ("attributes of adult", 15, adult.shape[1], RIGHT),
        ("patients", 293, len(heart), "the file: its first row was perhaps read as a header"),
        ("attributes of the patients", 76, heart.shape[1], "both: the processed file has 14 of 76"),
        ("levels of cholesterol (section I-B)", 50, heart[4].nunique(), "the file: 50 is an example of the text"),
    ):
        yield Printed("[D24] section V", what, printed, ours, right, "read_csv(…).shape")
    house, people = demand(folder), activities(folder)
    common = {"time": "minute", "epsilon": 1, "counts": False, "rng": 1}
    right = "not comparable: other people, ε and T are not told"
    cases = (
        ("activity", people, "people", {"state": "activity", "unit": "subject"}, {"quilt": 0.012, "group": 0.214}),
        ("electricity", house, "house", {"state": "level"}, {"quilt": 0.019}),
    )
    for title, frame, name, by, errors in cases:
        for mechanism, printed in errors.items():
            found, call = asked(frame, name, "histogram", **by, **common, mechanism=mechanism)
            ours = found["expected_error"].sum()
            yield Printed(f"slides, {title}", f"L1 error, {mechanism}", printed, ours, right, call)
        try:
            asked(frame, name, "histogram", **by, **common, mechanism="gk16")
        except CalibrationError:
            call = f'{name}.puffer.histogram(…, mechanism="gk16")'
            yield Printed(f"slides, {title}", "L1 error, GK16", "NA", "NA", "both: the norm is not below 1", call)


def real_tables(folder: Path) -> str:
    """What rests on the real tables."""
    return class_axes(folder) + binary_classes(folder) + beside("Sizes and errors of real tables", records(folder))


PRINTED = Section(
    title="Printed numbers beside ours",
    text="""\
Every number that is printed in the texts of [D24], [DLYZ], the slides of [SWC17] and [ZA], or can be read off an axis,
beside the number of the call. *Both* agree, or one is said to be right, and why. Where a formula alone is printed, it
stands there.""",
    parts=(),
    extra=plain_tables,
    real_extra=real_tables,
)
