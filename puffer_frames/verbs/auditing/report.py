"""What an audit found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import frame_of
from puffer_frames.numbers.presentation import Printed, Rows, aligned, shown
from puffer_frames.verbs.auditing.noise_tests import smallest

Result: TypeAlias = Literal["passed", "failed", "not applicable", "information"]
_SHOWN = 12
_OF_EPSILON = ("loss at the scale", "epsilon", "advantage", "learned guesser")
"""Checks that hold what was lost against epsilon."""
_OF_VALUES = ("noise law", "changed values", "shuffle", "answers")
"""Those that hold released values against the original ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """One check."""

    name: str
    """What was looked at: "noise law", "epsilon", "row order", ..."""
    result: Result
    """"failed" where something was found; "information" for a figure that decides nothing."""
    found: float
    """The figure; a p-value where `limit` is one. NaN for none."""
    limit: float
    """What it is compared with; NaN for nothing."""
    why: str
    """What was found, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedPair:
    """What guessers win of one pair of secrets. Accuracies and advantages are those of rows that they had not seen."""

    secret: str
    """The one secret."""
    other: str
    """The other one."""
    stratum: str
    """The values of the given columns; empty where there are none."""
    rows: int
    """Rows of both secrets."""
    accuracy_before: float
    """Share of right guesses on the raw columns, both secrets equally likely: by gradient boosting."""
    accuracy_after: float
    """The same on the released ones, by the best guesser: likelihood ratios of the certified law."""
    advantage: float
    """Its true positive rate less its false positive rate."""
    advantage_low: float
    """Lower end of a Clopper-Pearson interval of the advantage, at the level of the audit, for this pair alone."""
    advantage_high: float
    """Its upper end."""
    advantage_bound: float
    """What epsilon and delta allow: (e^epsilon - 1 + 2 delta) / (e^epsilon + 1)."""
    epsilon_low: float
    """Epsilon is at least this: proved for all pairs together, at the level that the check "epsilon" names."""
    advantage_learned: float
    """The advantage of gradient boosting, which knows neither mechanism nor certificate."""
    advantage_kept: float
    """The same with the kept columns, which are outside the guarantee; NaN where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AuditReport(Printed):
    """Whether a release is what its certificate says, and what a guesser of the secret wins.

    It holds exact statistics of every secret: keep it private.
    """

    passed: bool
    """Whether no check failed."""
    level: float
    """A release that is as its certificate says passes with at least this probability."""
    checks: tuple[AuditCheck, ...]
    """What was looked at."""
    pairs: tuple[AuditedPair, ...]
    """What guessers win, pair by pair."""
    library: str
    """Library of the original."""

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(each.name for each in self.checks if each.result == "failed")

    @property
    def untested(self) -> tuple[str, ...]:
        """What no check could test that holds released values against the original, in words."""
        done = {each.name for each in self.checks if each.result != "not applicable"}
        values = "whether these are the released rows, and drawn as certified: the certificate holds too little"
        loss = "epsilon: the certificate says nothing of the frequencies of these rows"
        return (values,) * (not done & {*_OF_VALUES}) + (loss,) * (not done & {*_OF_EPSILON})

    @property
    def frame(self) -> NativeFrame:
        """The figures of the pairs as a small frame of the library of the original, a row for each."""
        return frame_of(self.pairs, AuditedPair, library=self.library)

    def _shown(self) -> tuple[str, Rows]:
        verdict = "no fault found" if self.passed else "failed: " + ", ".join(self.failures)
        rows = [("verdict", f"{verdict}; a correct release passes with probability {self.level:g}")]
        if self.pairs and not any(each.name in _OF_EPSILON and each.result != "not applicable" for each in self.checks):
            shown_loss = max((each.epsilon_low for each in self.pairs), default=0.0)
            more = f"; guessers showed that these rows lose at least {shown_loss:.3g}" if shown_loss else ""
            rows.append(("epsilon", f"not tested: the certificate says nothing of the frequencies of these rows{more}"))
        rows += [(each.name, f"{each.result}: {each.why}") for each in self.checks]
        if self.pairs:
            rows.append(("guessers", _table(self.pairs)))
        private = "this report holds exact statistics of every secret"
        return "Audit: the release beside the original", [*rows, ("keep private", private)]


def check_of(name: str, result: Result, why: str, /, *, found: float = math.nan, limit: float = math.nan) -> AuditCheck:
    """A check with its figures."""
    return AuditCheck(name=name, result=result, found=float(found), limit=float(limit), why=why)


def check_that(name: str, holds: bool, why: str, /, *, found: float, limit: float = 0) -> AuditCheck:
    """A check that passes where something holds."""
    return check_of(name, "passed" if holds else "failed", why, found=found, limit=limit)


def check_within(name: str, why: str, found: float, limit: float, /) -> AuditCheck:
    """A check that a figure is at most its limit."""
    return check_that(name, not found > limit, why, found=found, limit=limit)


def check_of_p(name: str, tests: Iterable[float], why: str, /, *, alpha: float, none: str = "") -> AuditCheck:
    """A check by the p-values of tests together: it fails below alpha, and says `none` where there are no tests."""
    if not (listed := list(tests)):
        return check_of(name, "not applicable", none)
    p = smallest(listed)
    return check_that(name, not p < alpha, f"{why} (p = {p:.2g}, {alpha:.2g} fails)", found=p, limit=alpha)


def _table(pairs: Sequence[AuditedPair]) -> str:
    """The pairs with the largest bounds of epsilon, a line each."""
    listed = sorted(pairs, key=lambda each: -each.epsilon_low)[:_SHOWN]
    lines: list[tuple[str, ...]] = [("", "before", "after", "advantage", "", "bound", "learned", "epsilon")]
    for each in listed:
        name = f"{each.secret} / {each.other}" + (f" ({each.stratum})" if each.stratum else "")
        numbers = (each.accuracy_before, each.accuracy_after, each.advantage)
        ends = f"[{each.advantage_low:.2f}, {each.advantage_high:.2f}]"
        last = f"{each.advantage_bound:.3f}", f"{each.advantage_learned:.3f}", f"> {each.epsilon_low:.3f}"
        lines.append((shown(name), *(f"{number:.3f}" for number in numbers), ends, *last))
    return aligned(lines, more=len(pairs) - len(listed))
