"""What the papers ask for beside what is needed: each theorem, table and figure with the call that gives both numbers.

Run: python benchmarks/papers.py [--data DIR] [--page FILE]

DIR holds the real tables of the papers; without it their rows are left out. With --page the page docs/papers.md is
written. All scales are of Laplace noise unless a row says otherwise. The keys of the papers are in docs/theory.md.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from papers_gaussian import GAUSSIAN
from papers_releases import RELEASES
from papers_rows import Row, Section, table
from papers_series import SERIES
from papers_stable import STABLE
from papers_users import MARITAL, USERS_SECTION
from scipy.optimize import brentq

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.papers import kantorovich_scale

DATA = Path(__file__).parents[2] / "shared" / "data"
HEAD = """\
# The papers as a benchmark

Each row is a statement, table or figure of a paper. *Printed* is the number in the paper, or – where the reference
texts of the project do not have it. *Asks for* is what the theorem requires, by the last column. *Needed* is
the smallest scale that gives the same guarantee, confirmed by the exact engine: that of `smallest_scale` on the same
laws, unless the row says otherwise. *Times* is how many times as much noise the paper asks for; below 1 that is too
little. `python benchmarks/papers.py` prints these tables, and writes this page with `--page docs/papers.md`. Functions
that are not part of the library are in the files `benchmarks/papers_….py`. The keys of the papers, the proofs and the
errata are in [the theory](theory.md).
"""
MISSING = """\
## Not reproduced

The texts of the papers are not in this repository: only what [the theory](theory.md) quotes could be compared. Not
compared:

- [D24]: Figure 1, Corollary 1(b), and the values in the plots of Figures 2, 3 and 4. The rows on Figures 3 and 4 rest
  on a fit of three Gaussians of our own.
- [DLYZ]: Tables 1 to 3, Figures 1 to 3, 6 and 7, and the values in the plots of the others. The plan beside Table 6 is
  the monotone one, which is optimal; the printed one may be another with the same largest distance.
- [SWC17]: the tables and figures of its experiments. Its electricity and activity data are not at hand, so the rows
  make the same calls on other public series.
- [GK16]: its rule for more than two states, and its own examples. The rule here was not compared with its text.
- [ZA]: its comparison with Gaussian noise, and its figures.
- [BHGKM26]: its influence curves, and the mechanisms for Markov chains that it builds on them. They are not
  implemented.
"""


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
        call, remark = "relaxed_scale(p, q, epsilon=0.1)", "its rule from its numbers"
        yield Row("arXiv 2601.06385", setting, published, ours, call, remark)


def races(folder: Path) -> Iterator[Row]:
    """W-infinity between races."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True, usecols=[4, 8], names=["n", "race"])
    for one, other in (("Asian-Pac-Islander", "Other"), ("Black", "White"), ("Asian-Pac-Islander", "Black")):
        laws = {race: Prior.empirical(adult.n[adult.race == race]) for race in (one, other)}
        published, ours = kantorovich_scale(laws, epsilon=1), smallest_scale(laws, epsilon=1)
        setting = f"education-num, {one} or {other}; ε = 1"
        yield Row("[SWC17], [D22] W∞", setting, published, ours, "kantorovich_scale(priors, epsilon=1)")


COLUMNS = Section(
    title="Columns by W∞: [SWC17], [D22], arXiv 2601.06385",
    text="The largest distance of the cheapest plan, and a rule that takes a mean over the plan instead.",
    parts=(),
    real=(races, relaxed),
)
SECTIONS = (GAUSSIAN, USERS_SECTION, SERIES, RELEASES, STABLE, COLUMNS)


def tables(folder: Path) -> Iterator[Row]:
    """Rows on the real tables."""
    for section in SECTIONS:
        for part in section.real:
            yield from part(folder)


def rows(folder: Path) -> list[Row]:
    """All of them; without the folder, those that need no table."""
    found = [row for section in SECTIONS for part in section.parts for row in part()]
    return found + list(tables(folder)) if folder.exists() else found


def text_of(section: Section, folder: Path) -> str:
    """A section of the page."""
    found = [row for part in section.parts for row in part()]
    real = folder.exists()
    if real:
        found += [row for part in section.real for row in part(folder)]
    text = f"## {section.title}\n\n{section.text}\n"
    if found:
        text += f"\n{table(found, section.heads)}"
    if section.extra:
        text += section.extra()
    if real and section.real_extra:
        text += section.real_extra(folder)
    return text


def main() -> None:
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    text = "\n".join(text_of(section, options.data) for section in SECTIONS)
    if options.page:
        options.page.write_text(f"{HEAD}\n{text}\n{MISSING}", encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
