"""What the papers ask for beside what is needed: each theorem, table and figure with the call that gives both numbers.

Run: python benchmarks/papers.py [--data DIR] [--page FILE]

DIR holds the real tables of the papers; without it their rows are left out. With --page the page docs/papers.md is
written. All scales are of Laplace noise unless a row says otherwise. The keys of the papers are in docs/theory.md.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from papers_gaussian import GAUSSIAN
from papers_printed import PRINTED
from papers_releases import RELEASES
from papers_rows import Row, Section, table
from papers_series import SERIES
from papers_stable import STABLE
from papers_users import MARITAL, USERS_SECTION

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.papers import kantorovich_scale, relaxed_scale

DATA = Path(__file__).parents[2] / "shared" / "data"
HEAD = """\
# The papers as a benchmark

Each row is a statement, table or figure of a paper. *Printed* is the number in the paper, or its formula, or – where
the texts have neither. *Asks for* is what the theorem requires, by the last column. *Needed* is
the smallest scale that gives the same guarantee, confirmed by the exact engine: that of `smallest_scale` on the same
laws, unless the row says otherwise. *Times* is how many times as much noise the paper asks for; below 1 that is too
little. `python benchmarks/papers.py` prints these tables, and writes this page with `--page docs/papers.md`. Functions
that are not part of the library are in the files `benchmarks/papers_….py`. The keys of the papers, the proofs and the
errata are in [the theory](theory.md).
"""
MISSING = """\
## Where the texts err

- [D24]: the tables of Figures 3 and 4 have 32,561 and 294 rows, not 32,652 and 293. G(μ, σ) in Theorem 1 is G(μ, σ²)
  elsewhere; section V cites (2) for (13); (12) has w_kl for w_ml; appendix B drops e^ε. Figure 1 says "same variance":
  L(4) has 32, G(0, 8) has 8 or 64.
- [DLYZ]: (20) and Lemma 6 are proved for one order of the pair, (1) asks for both; the conclusion of Lemma 6 stands.
  (7) to (9) have a factor Π ζ that cancels: presence probabilities do not matter. (17), (25) and (28) fail where the
  alphabet has gaps; for consecutive integers they give the distance. Section 4.3.1 removes a class of rows: its rule
  is for one row drawn from the class, the class itself is hidden by `protect="value-or-absence"`. The proof of
  Theorem 2 has e^(−|a|/θ) for e^(+|a|/θ), the caption of Figure 3 S_(a,⊥) for S_(P,⊥), and "Following Lemma 6" before
  Figure 8 means Lemma 5. Table 4 is the law of the clique of [SWC17] 3.1, moved by 1. Figure 5(a) says "education": the
  column of numbers and its labels in alphabetical order both fit its axis.
- Slides of [SWC17]: the bound of e by the eigengap is unsound for chains that are not reversible
  ([theory](theory.md), section 10). Quilts with two ends do not serve the first and last times; quilts with one end, or
  none, do. "stdev T" is the scale: Laplace noise of scale T/ε has the standard deviation √2 T/ε.
- [ZA]: near-Gaussian error as α → 2 holds at a fixed γ; at a fixed ε the error grows without bound. This library
  takes α from 1 to 1.995.

## Not reproduced

- [D24]: the values of the curves of Figures 2, 3 and 4, which the text does not have; Figure 1, whose priors it does
  not tell. The rows on Figures 3 and 4 rest on a fit of three Gaussians of our own.
- [DLYZ]: the values of the curves between the ends of their axes.
- [SWC17]: the text of the paper, and the data of the slides: the rows make the same calls on other public series. The
  two laws of the slides' picture of W∞, which is K − 1, are not told.
- [GK16]: the rule is that of the code of [SWC17]; it was not compared with its text.
- [ZA]: figures and table that its text does not have.
- [BHGKM26]: its influence curves, and the mechanisms for Markov chains that it builds on them. They are not
  implemented.
"""


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
        ours, setting = smallest_scale(laws, epsilon=0.1), f"{title}; ε = .1"
        published = kantorovich_scale(laws, epsilon=0.1)
        yield Row("[SWC17], [D22] W∞", setting, published, ours, "kantorovich_scale(priors, epsilon=0.1)")
        published = relaxed_scale(laws, epsilon=0.1)
        call, remark = "relaxed_scale(priors, epsilon=0.1)", "its rule from its numbers"
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
SECTIONS = (PRINTED, GAUSSIAN, USERS_SECTION, SERIES, RELEASES, STABLE, COLUMNS)


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
