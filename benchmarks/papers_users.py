"""[DLYZ]: sums over users, transport plans, and curves over epsilon."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from papers_rows import NOBODY, NOT_SOUND, Row, Section, asked, small_table

from puffer_frames.core import Prior, smallest_scale, transport_plan, w_infinity
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    bernoulli_scale,
    kantorovich_scale,
    presence_bound_scale,
    presence_scale,
    value_scale,
)

MARITAL = {"divorced": 1, "married": 2, "single": 3}
EPSILONS = [0.1, 0.2, 0.5, 1, 2]
ALPHABET = [1, 2, 3, 4, 5]
P4, Q4, TABLE_P, TABLE_Q = (
    Prior.mixture(weights, ALPHABET, [0] * 5)
    for weights in (
        [0.4, 0.1, 0, 0.1, 0.4],
        [0, 0.05, 0.9, 0.05, 0],
        [0.2, 0.225, 0.5, 0.075, 0],
        [0, 0.075, 0.5, 0.225, 0.2],
    )
)
PAIRS = {"P₄ or Q₄": {"P": P4, "Q": Q4}, "Table 4": {"P": TABLE_P, "Q": TABLE_Q}}
BINARY = {"p": Prior.bernoulli(0.2), "q": Prior.bernoulli(0.9)}
REPORTS = pd.DataFrame({"user": [1, 2, 3, 4], "report": [5, 1, 3, 5]})
USERS = {
    1: Prior.mixture([0.01, 0.04, 0.1, 0.2, 0.65], ALPHABET, [0] * 5),
    2: Prior.mixture([0.7, 0.2, 0.05, 0.04, 0.01], ALPHABET, [0] * 5),
    3: Prior.mixture([0.2] * 5, ALPHABET, [0] * 5),
    4: P4,
}


def values() -> Iterator[Row]:
    """Theorems 1 and 2: which value, or none."""
    for where, pair, protect, printed in (
        ("[DLYZ] Theorem 1", (5, 3), "value", 2),
        ("[DLYZ] Theorem 2", (5, None), "value-or-absence", 5),
    ):
        other = "absent" if pair[1] is None else pair[1]
        points = {"i": Prior.gaussian(5, 0), "j": Prior.gaussian(pair[1] or 0, 0)}
        published, ours = value_scale([pair], epsilon=1), smallest_scale(points, epsilon=1)
        call = f"value_scale([{pair}], epsilon=1)"
        yield Row(where, f"5 or {other}; ε = 1", published, ours, call, printed=printed)
        for query, divisor in (("sum", None), ("mean", 4)):
            more = {} if divisor is None else {"divisor": divisor}
            found, call = asked(
                REPORTS,
                "reports",
                "aggregate",
                unit="user",
                value="report",
                query=query,
                protect=protect,
                pairs=[pair],
                epsilon=[1],
                **more,
            )
            answer = f"the {query} of four users" + f", by {divisor}" * bool(divisor)
            needed = ours / (divisor or 1)
            setting, said = f"{answer}, one of whom reports 5 or {other}; ε = 1", printed if query == "sum" else None
            yield Row(where, setting, found["scale"].iloc[0], needed, call, printed=said)  # Figures 1 and 2


def presence() -> Iterator[Row]:
    """Theorem 3: whether a user is there."""
    absent = {"present": P4, "absent": NOBODY}
    for epsilon in (0.1, 0.5, 1):
        setting, ours = f"P₄ or absent; ε = {epsilon}", smallest_scale(absent, epsilon=epsilon)
        call = f"presence_bound_scale({{4: P}}, epsilon={epsilon})"
        printed = 50 if epsilon == 0.1 else "5/ε"  # the top of the axis of Figure 4
        yield Row("[DLYZ] (14)", setting, presence_bound_scale({4: P4}, epsilon=epsilon), ours, call, printed=printed)
        call = f"presence_scale({{4: P}}, epsilon={epsilon})"
        yield Row("[DLYZ] Theorem 3, (13)", setting, presence_scale({4: P4}, epsilon=epsilon), ours, call)
    ours = smallest_scale(absent, epsilon=1)
    common = {"unit": "user", "value": "report", "protect": "presence", "laws": USERS, "epsilon": [1]}
    for query, divisor, pairs in (("sum", None, [(4, None)]), ("mean", 4, [(4, None)]), ("sum", None, "all")):
        more = {} if divisor is None else {"divisor": divisor}
        found, call = asked(REPORTS, "reports", "aggregate", query=query, pairs=pairs, **common, **more)
        if pairs == "all":
            whose = "each of the four users"
            needed = max(smallest_scale({"present": law, "absent": NOBODY}, epsilon=1) for law in USERS.values())
        else:
            whose, needed = "user 4 alone", ours / (divisor or 1)
        setting = f"the {query} of four users, presence of {whose}; ε = 1"
        yield Row("[DLYZ] Theorem 3, (13)", setting, found["scale"].iloc[0], needed, call)
    found, call = asked(REPORTS, "reports", "aggregate", unit="user", query="count", pairs=[(4, None)], epsilon=[1])
    one = {"present": Prior.gaussian(1, 0), "absent": NOBODY}
    setting = "the count of users, presence of user 4; ε = 1"
    yield Row("[DLYZ] Theorem 2", setting, found["scale"].iloc[0], smallest_scale(one, epsilon=1), call)
    for p in (0.2, 0.9):
        law = Prior.bernoulli(p)
        setting, ours = f"P(1) = {p} or absent; ε = 1", smallest_scale({"present": law, "absent": NOBODY}, epsilon=1)
        call = f"bernoulli_presence_scale({p}, epsilon=1)"
        yield Row("[DLYZ] (15)", setting, bernoulli_presence_scale(p, epsilon=1), ours, call, printed="formula")
        call = f"presence_bound_scale({{1: Prior.bernoulli({p})}}, epsilon=1)"
        yield Row("[DLYZ] (14)", setting, presence_bound_scale({1: law}, epsilon=1), ours, call)


def replacement() -> Iterator[Row]:
    """Theorem 4: which law a user has, and the tables of its example."""
    for title, laws in PAIRS.items():
        for epsilon in (0.5, 1):
            published, ours = kantorovich_scale(laws, epsilon=epsilon), smallest_scale(laws, epsilon=epsilon)
            call = f"kantorovich_scale(priors, epsilon={epsilon})"
            where = "[DLYZ] Theorem 4, Tables 4 to 6"
            printed = "distance 2" if title == "Table 4" else "2/ε"
            yield Row(where, f"{title}; ε = {epsilon}", published, ours, call, printed=printed)
    two = pd.DataFrame({"user": ["P", "Q"], "report": [5, 3]})
    laws = PAIRS["P₄ or Q₄"]
    asks = {"unit": "user", "value": "report", "protect": "replacement", "laws": laws, "epsilon": [1]}
    found, call = asked(two, "two", "aggregate", **asks, calibration="theorem")
    needed, _ = asked(two, "two", "aggregate", **asks)
    setting = "the sum, P₄ or Q₄; ε = 1"
    yield Row("[DLYZ] Theorem 4", setting, found["scale"].iloc[0], needed["scale"].iloc[0], call, printed="2/ε")
    one, other = Prior.empirical([10.0]), Prior.empirical([0.0])
    remark = NOT_SOUND + "its infimum over real shifts at the letters {0, 10}, in this order, beside the distance"
    published, ours = scan(one, other, [0, 10]), w_infinity(one, other)
    yield Row("[DLYZ] (17), (25), (28)", "an atom at 10, an atom at 0", published, ours, "scan(p, q, [0, 10])", remark)


def scan(p: Prior, q: Prior, alphabet: list[float]) -> float:
    """The least shift with F_q(x - shift) <= F_p(x) <= F_q(x + shift) at the letters x, as it is published."""

    def below(law: Prior, x: float) -> float:
        return float(law.weights[law.means <= x].sum())

    def holds(shift: float) -> bool:
        return all(below(q, x - shift) <= below(p, x) + 1e-12 <= below(q, x + shift) + 2e-12 for x in alphabet)

    steps = sorted({abs(x - y) for x in alphabet for y in alphabet})
    return float(next(step for step in steps if holds(step) or holds(step + 1e-9)))


def binary() -> Iterator[Row]:
    """Lemmas 5 and 6: users who report 0 or 1."""
    for epsilon in (0.05, 0.1, 1):
        setting, ours = f"P(1) = .2 or .9; ε = {epsilon}", bernoulli_exact_scale(BINARY, epsilon=epsilon)
        call = f"bernoulli_scale(priors, epsilon={epsilon})"
        printed = 10 if epsilon == 0.1 else "1/ε"  # the top of the axis of Figure 9
        yield Row("[DLYZ] Lemma 5", setting, bernoulli_scale(BINARY, epsilon=epsilon), ours, call, printed=printed)
        call = f"bernoulli_neighbour_scale(0.2, 0.9, epsilon={epsilon})"
        published = bernoulli_neighbour_scale(0.2, 0.9, epsilon=epsilon)
        yield Row("[DLYZ] Lemma 6", setting, published, ours, call, printed="formula")
    falling = {"p": Prior.bernoulli(0.9), "q": Prior.bernoulli(0.2)}
    published, ours = bernoulli_neighbour_scale(0.9, 0.2, epsilon=1), bernoulli_exact_scale(falling, epsilon=1)
    wrong = printed_neighbours(0.9, 0.2, epsilon=1)
    remark = f"corrected: the printed formula gives {wrong:.5f}, by the denominators Pr(f = x − 1)"
    call = "bernoulli_neighbour_scale(0.9, 0.2, epsilon=1)"
    setting = "P(1) = .9 or .2; ε = 1"
    yield Row("[DLYZ] Lemma 6, falling", setting, published, ours, call, remark, printed="formula")


def printed_neighbours(p: float, q: float, *, epsilon: float) -> float:
    """Lemma 6 with the ratio as it is printed, for p > q too."""
    ratio = p / (q - p) if p < q else q / (p - q)
    return 1 / math.log(math.exp(epsilon) + math.expm1(epsilon) * ratio)


def real_classes(folder: Path) -> Iterator[Row]:
    """The experiments: one record drawn from a class, present or not."""
    for title, law in classes(folder).items():
        setting = f"{title}, present or not; ε = 1"
        ours = smallest_scale({"present": law, "absent": NOBODY}, epsilon=1)
        if law.means.size == 2 and law.means[-1] == 1:
            p = float(law.weights[-1])
            published, call = bernoulli_presence_scale(p, epsilon=1), f"bernoulli_presence_scale({p:.4f}, epsilon=1)"
            yield Row("[DLYZ] experiments, (15)", setting, published, ours, call)
            continue
        published = presence_bound_scale({0: law}, epsilon=1)
        yield Row("[DLYZ] experiments, (14)", setting, published, ours, "presence_bound_scale({0: law}, epsilon=1)")
        published = presence_scale({0: law}, epsilon=1)
        yield Row("[DLYZ] experiments, (13)", setting, published, ours, "presence_scale({0: law}, epsilon=1)")
    race = tables(folder)["race"]
    totals, white = race.groupby("race", as_index=False).sum(), int(race.value[race.race == "White"].sum())
    whole = {"unit": "race", "value": "value", "protect": "value-or-absence", "pairs": [(white, None)], "epsilon": [1]}
    found, call = asked(totals, "totals", "aggregate", **whole)
    asks = presence_bound_scale({0: classes(folder)["education-num of one White person"]}, epsilon=1)
    remark = NOT_SOUND + "its rule is for one row; the second number is that of the class, whose total is one value"
    yield Row("[DLYZ] 4.3.1", "all White rows, there or removed; ε = 1", asks, found["scale"].iloc[0], call, remark)
    found, call = asked(tables(folder)["race"], "adult", "aggregate", **of_class("race", "White"), epsilon=[1])
    law = classes(folder)["education-num of one White person"]
    ours = smallest_scale({"present": law, "absent": NOBODY}, epsilon=1)
    setting = "the same, asked of the table; ε = 1"
    yield Row("[DLYZ] experiments, (13)", setting, found["scale"].iloc[0], ours, call)


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The three tables, by the column of classes; the column of values is "value"."""
    adult = pd.read_csv(
        folder / "adult.data", header=None, skipinitialspace=True, usecols=[4, 8], names=["value", "race"]
    )
    students = pd.read_csv(folder / "student-mat.csv", sep=";", usecols=["higher", "romantic"])
    loans = pd.read_csv(folder / "bank-full.csv", sep=";", usecols=["loan", "marital"])
    students["value"] = (students.romantic == "yes").astype(int)
    loans["value"] = loans.marital.map(MARITAL)
    return {"race": adult, "higher": students[["higher", "value"]], "loan": loans[["loan", "value"]]}


def classes(folder: Path) -> dict[str, Prior]:
    """The law of one record drawn from each class."""
    found = tables(folder)
    cases = {
        "education-num of one White person": ("race", "White"),
        "marital status of one borrower": ("loan", "yes"),
        "romantic of one student": ("higher", "yes"),
    }
    return {
        title: Prior.empirical(found[name].value[found[name][name] == label]) for title, (name, label) in cases.items()
    }


def of_class(name: str, label: str) -> dict[str, object]:
    """What is asked of a table about one record drawn from a class."""
    return {"unit": name, "value": "value", "contribution": "draw", "pairs": [(label, None)]}


def plans() -> str:
    """The transport plan of P₄ and Q₄, and curves over epsilon."""
    laws = PAIRS["P₄ or Q₄"]
    text = "\n**P₄ or Q₄: the plan**: `transport_plan(P, Q)`\n\n"
    text += small_table(["x", "x′", "mass"], transport_plan(laws["P"], laws["Q"]).tolist())
    return text + curves()


def curves() -> str:
    """Scales at several epsilons, each column by one call."""
    common = {"unit": "user", "value": "report", "epsilon": EPSILONS}
    two, coins = pd.DataFrame({"user": ["P", "Q"], "report": [5, 3]}), pd.DataFrame({"user": ["p", "q"], "report": 1})
    laws = PAIRS["P₄ or Q₄"]
    calls = {
        "(13), P₄ or absent": asked(REPORTS, "reports", "aggregate", **common, laws=USERS, pairs=[(4, None)]),
        "Theorem 4, P₄ or Q₄": asked(
            two, "two", "aggregate", **common, laws=laws, protect="replacement", calibration="theorem"
        ),
        "exact, P₄ or Q₄": asked(two, "two", "aggregate", **common, laws=laws, protect="replacement"),
        "Lemma 5, .2 or .9": asked(
            coins, "coins", "aggregate", **common, laws=BINARY, protect="replacement", calibration="theorem"
        ),
        "exact, .2 or .9": asked(coins, "coins", "aggregate", **common, laws=BINARY, protect="replacement"),
    }
    columns = {name: found["scale"].tolist() for name, (found, _) in calls.items()}
    columns["Lemma 6, .2 or .9"] = [bernoulli_neighbour_scale(0.2, 0.9, epsilon=e) for e in EPSILONS]
    words = {name: call for name, (_, call) in calls.items()}
    words["Lemma 6, .2 or .9"] = "[bernoulli_neighbour_scale(0.2, 0.9, epsilon=e) for e in epsilons]"
    return _curve_table(
        "Curves of scales over ε, of the users of Tables 2 and 3. One call gives each column", columns, words
    )


def real_curves(folder: Path) -> str:
    """The curves of the real classes."""
    found, columns, words = tables(folder), {}, {}
    for name, label, title in (
        ("race", "White", "education-num"),
        ("loan", "yes", "marital status"),
        ("higher", "yes", "romantic"),
    ):
        scales, call = asked(found[name], name, "aggregate", **of_class(name, label), epsilon=EPSILONS)
        columns[title], words[title] = scales["scale"].tolist(), call
    return _curve_table("The same for one record of a real class, present or not", columns, words)


def _curve_table(title: str, columns: dict[str, list[float]], words: dict[str, str]) -> str:
    rows = np.column_stack([EPSILONS, *columns.values()]).tolist()
    listed = "".join(f"- {name}: `{call}`\n" for name, call in words.items())
    return f"\n**{title}**:\n\n{small_table(['ε', *columns], rows)}\n{listed}"


USERS_SECTION = Section(
    title="Users of a sum: [DLYZ]",
    text="""\
`reports` has a row for each of the users 1 to 4, `two` a row for each of P and Q, `coins` one for each of p and q;
`laws` are those of the users of the row. A verb that is asked for a list of ε gives a curve: nothing is drawn. For the
laws and the printed numbers see [the theory](theory.md), sections 7 and 12.""",
    parts=(values, presence, replacement, binary),
    real=(real_classes,),
    extra=plans,
    real_extra=real_curves,
)
