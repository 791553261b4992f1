"""What a plan says of other rows than its own, before anything of them is released."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from puffer_frames.errors import PufferError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import frame_of
from puffer_frames.mechanisms.request import Request
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.presentation import Printed, Rows, aligned, shown, upper_text
from puffer_frames.priors.prior import FloatArray, Secret, middles
from puffer_frames.priors.summary import Counts, Summary
from puffer_frames.scales.learned import Population

CONFIDENCE = 0.95
_UP = 1.0 + 1e-12


def ks_distance(one: Counts, other: Counts, /, *, radius: tuple[float, float] = (0.0, 0.0)) -> float:
    r"""The Kolmogorov-Smirnov distance of two empirical laws, or of values in cells at least so much.

    .. math:: \sup_x |F(x) - G(x)|

    - `one`, `other` (values, counts): Different values, ascending, and how often each occurs.
    - `radius` (float, float): Half the width of the cells that the values of each were counted in, or 0.
    """
    return max(0.0, _above(one, other, *radius), _above(other, one, radius[1], radius[0]))


def _above(one: Counts, other: Counts, radius: float, other_radius: float) -> float:
    """By how much the first distribution function is above the second at most: where it steps up."""
    values, often = middles(one[0], radius), one[1]
    others, often_other = middles(other[0], other_radius), other[1]
    least = np.cumsum(often) / often.sum()
    upto = np.append(0.0, np.cumsum(often_other) / often_other.sum())
    most: FloatArray = upto[np.searchsorted(others - other_radius, values + radius, side="right")]
    return float((least - most).max())


def chance_bound(rows: int, other_rows: int, /, *, secrets: int) -> float:
    r"""What the distance of two samples of one population exceeds in 5 % of all cases at most, for all secrets at once.

    Each sample of n rows is within :math:`\sqrt{\log(4m/0.05) / 2n}` of the law of the population, but for a
    probability of 0.05 / 2m, whatever that law is (Dvoretzky, Kiefer and Wolfowitz, with the constant of Massart 1990).

    - `rows`, `other_rows`: Sizes of the samples.
    - `secrets`: m.
    """
    need = math.log(4 * secrets / (1 - CONFIDENCE))
    return min(1.0, (math.sqrt(need / (2 * rows)) + math.sqrt(need / (2 * other_rows))) * _UP)


Verdict: TypeAlias = Literal["covered", "recalibrate", "refused"]

WITHIN, BEYOND, ABSENT, CLIPPED, REPLACED = "within", "beyond", "absent", "clipped", "replaced"
RECALIBRATE: Verdict = "recalibrate"
REFUSED: Verdict = "refused"
"""What may be said of a single figure. The verdict is the worst of "refused" and "recalibrate"."""
_SHOWN = 12
_MOST_ROWS = 1e15
_SURE = 0.999
"""The confidence that is advised: of 30 nights of 1,000 to 5,000 rows it covers all (docs/plans.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One figure of a batch."""

    check: str
    """What was looked at: "loss", "loss of a row" (of a unit), "drift", "rows", "beyond the domain", ..."""
    column: str
    """Name of the column."""
    about: str
    """The belief or the secret that it is of; empty for all rows."""
    found: float
    """The figure: a loss, a distance, a number of rows."""
    limit: float
    """What it is compared with: what was asked for, what may be chance, the rows of the plan; NaN for nothing."""
    verdict: str
    """One of the words above; empty for a figure that decides nothing."""


def finding(
    check: str, column: str, about: object, found: float, /, *, limit: float = math.nan, verdict: str
) -> Finding:
    """A figure, with whatever it is about as text."""
    return Finding(
        check=check, column=column, about=str(about), found=float(found), limit=float(limit), verdict=verdict
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BatchReport(Printed):
    """Whether a plan covers a batch of rows, and why. Nothing of them was released.

    It holds exact statistics of the batch and of the table of the plan: keep it private.
    """

    verdict: Verdict
    """"covered": `release` accepts the batch with allow_other_frame. "recalibrate": with allow_drift too, and the
    certificate then says that more is lost than was asked for. "refused": not at all."""
    why: str
    """The reason in a sentence."""
    findings: tuple[Finding, ...]
    """The figures."""
    library: str
    """Library of the batch."""

    @property
    def frame(self) -> NativeFrame:
        """The findings as a small frame, a row for each.

        Of the library of the batch (of PyArrow for a DuckDB relation, of pandas for a Spark frame), with the columns
        "check", "column", "about", "found", "limit" and "verdict".
        """
        return frame_of(self.findings, Finding, library=self.library)

    def _shown(self) -> tuple[str, Rows]:
        rows = [("verdict", f"{self.verdict}: {self.why}")]
        for check in dict.fromkeys(each.check for each in self.findings):
            for column in dict.fromkeys(each.column for each in self.findings if each.check == check):
                found = [each for each in self.findings if (each.check, each.column) == (check, column)]
                rows.append((f"{check}, {shown(column)}" if column else check, _lines(found)))
        private = "this report holds exact statistics of every secret; nothing was released"
        return "Batch: what the plan says of these rows", [*rows, ("keep private", private)]


def report_of(findings: Iterable[Finding], /, *, same: bool, within: str, library: str) -> BatchReport:
    """The report of rows that could be counted; `same` are those of the plan, which it covers whatever they lose.

    `within` says why others are covered.
    """
    verdict: Verdict = "covered"
    listed, why = tuple(findings), within
    if same:
        return BatchReport(
            verdict="covered", why="these are the rows that the plan was made from", findings=listed, library=library
        )
    for worse in (RECALIBRATE, REFUSED):
        if decisive := [each for each in listed if each.verdict == worse]:
            verdict, why = worse, "; ".join(dict.fromkeys(map(_reason, decisive)))
    return BatchReport(verdict=verdict, why=why + moved_text(listed), findings=listed, library=library)


def moved_text(findings: Iterable[Finding], /) -> str:
    """Which columns have drifted, to be added to a reason."""
    far = [each for each in findings if each.check == "drift" and each.verdict == BEYOND]
    moved = list(dict.fromkeys(shown(each.column) for each in far))
    return f"; the law of {', '.join(moved)} has moved by more than chance explains" if moved else ""


def more_rows(request: Request, kinds: Mapping[str, str], /) -> str:
    """How to make a plan that covers more rows than one of this request."""
    if len(request.public) > 1 or request.given is not None:
        return "A plan with beliefs=Contamination(share=0.02), or a larger share, covers more rows."
    if any(isinstance(entry, Population) and entry.confidence >= _SURE for entry in request.beliefs):
        return "A plan that is made from more rows covers more."
    labels = kinds.get(request.public[0]) == "labels" and not request.declared
    return f"A plan with beliefs=Population(0.999){', and all levels in domain=,' * labels} covers more rows."


def refused_by(error: PufferError, /, *, library: str) -> BatchReport:
    """The report of rows that cannot be counted at all."""
    why = f"{error.what} must be {error.rule}; got {error.got}"
    found = (finding("rows", "", error.what, math.nan, verdict=REFUSED),)
    return BatchReport(verdict="refused", why=why, findings=found, library=library)


_NEW = {"new secret": "a secret", "new level": "levels", "new stratum": "strata"}


def _reason(finding: Finding) -> str:
    """Why a finding decides."""
    if finding.check in _NEW:
        of = f" {finding.about!r}" if finding.check == "new secret" else ""
        return f"{_NEW[finding.check]}{of} of {shown(finding.column)} that the plan does not know"
    column = shown(finding.column)
    if finding.check == "range":
        return f"the range of {column} is wider than the plan was made for"
    if math.isnan(finding.found):
        return f"the loss of {column} under the frequencies of these rows cannot be computed"
    of_row, asked = ("", "was asked for") if finding.check == "loss" else (", of one row of a unit,", "is its share")
    loss = f"{upper_text(finding.found, digits=4)}, where {finding.limit:.6g} {asked}"
    return f"the loss of {column}{of_row} under the frequencies of these rows is {loss}"


def _lines(findings: Sequence[Finding]) -> str:
    """A line for each finding, in columns."""
    words = {"drift": "chance up to", "rows": "plan"}
    lines = []
    for each in findings[:_SHOWN]:
        limit = "" if math.isnan(each.limit) else f"{words.get(each.check, 'of')} {_number(each.limit)}"
        lines.append((shown(each.about) or "all rows", _number(each.found), limit, each.verdict))
    return aligned(lines, more=len(findings) - _SHOWN)


def _number(number: float) -> str:
    if math.isnan(number):
        return "not known"
    return f"{int(number):,}" if number.is_integer() and 1 < number < _MOST_ROWS else f"{number:.4g}"


def new_secrets(column: str, known: Mapping[Secret, int], found: Mapping[Secret, int], /) -> Iterator[Finding]:
    """Secrets that a plan does not know."""
    for secret, rows in found.items():
        if secret not in known:
            yield finding("new secret", column, secret, rows, verdict=REFUSED)


def rows_found(column: str, known: Mapping[Secret, int], found: Mapping[Secret, int], /) -> Iterator[Finding]:
    """Rows of each secret of a plan."""
    for secret, rows in known.items():
        here = found.get(secret, 0)
        yield finding("rows", column, secret, here, limit=rows, verdict="" if here else ABSENT)


def drift_finding(
    name: str,
    secret: Secret,
    known: Counts,
    found: Counts,
    /,
    *,
    secrets: int,
    radius: tuple[float, float] = (0.0, 0.0),
    apart: float = 0.0,
) -> Finding:
    """The distance of two samples, of which a share may be elsewhere, and what of it may be chance."""
    distance = max(0.0, ks_distance(known, found, radius=radius) - apart)
    bound = chance_bound(int(known[1].sum()), int(found[1].sum()), secrets=secrets)
    verdict = WITHIN if distance <= bound else BEYOND
    return finding("drift", name, secret, distance, limit=bound, verdict=verdict)


def beyond(name: str, summary: Summary, bounds: Bounds, /, *, public: bool, clips: bool) -> Finding:
    """Rows whose value is beyond the domain, or the range of the plan."""
    rows = 0
    for values, often in summary.counts.values():
        centres = middles(values, summary.radius)
        outside = (centres + summary.radius < bounds[0]) | (centres - summary.radius > bounds[1])
        rows += int(often[outside].sum())
    what = "beyond the domain" if public else "beyond the range"
    return finding(what, name, "", rows, verdict=CLIPPED if rows and clips else "")
