"""A certificate as titled rows of text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from puffer_frames.certificates.about import FIELDS
from puffer_frames.certificates.fields import Fields, WholeTable
from puffer_frames.certificates.sentences import warnings_of
from puffer_frames.certificates.statement import of_given, of_keys, of_kind
from puffer_frames.frames.stamps.fingerprint import fingerprint_text
from puffer_frames.loss.outcome import Verification, measured_text
from puffer_frames.noise.families import WORDS
from puffer_frames.numbers.presentation import (
    WARNING,
    Rows,
    end_text,
    level_text,
    odds_text,
    plain,
    rounded_up,
    shown,
    shown_names,
    values_text,
)
from puffer_frames.numbers.rounding import sum_as_written

_SYMBOLS = {noise.title: noise.symbol for noise in WORDS.values()} | {"discrete Laplace": "scale b"}
_NO_NOISE = "NONE was added"
_LABELS = {
    "proved": "proved",
    "measured": "measured",
    "assumed": "assumes",
    "not covered": "not covered",
    "done": "done",
}
"""Kinds of statements in the order in which they are shown; technical ones come last."""
BELIEVED = ("beliefs", "chain", "network", "any-dependence", "law", "given-law")
"""Sentences that say what a reader is taken to believe."""
_TOLD_MORE = ("table-exceeds", "table-beyond")
"""Sentences of attackers beyond epsilon."""
_ON_GRID = 1e-6
"""What the rounding of the values to the grid costs at most, as a share of the scale."""
_NEARLY = 1e-9
"""What rounding makes of a loss that is what was asked for."""
_EQUAL = 1.005
"""Scales whose ratio is below this are as good as the same."""
ANY_LAW_OF_ROWS = "any law of the rows"
"""What is lost on the range of the rows where the noise is for a narrower one, among the losses of wider laws."""
_LARGEST_LOSS = 13.8
"""Beyond this the factor of odds is no figure that anybody reads."""
ROUGHLY = (
    "Both are estimated from the released values: a bound holds with 95 % confidence, and what is about right may be "
    "more than a half too large where rows are few."
)
_FEW_COLUMNS = 4
"""With more columns than this, one line says what the noise leaves of all of them."""
COSTS = {
    "absolute": "mean absolute error",
    "change": "share of changed values",
    "share": "share of changed labels",
    "given": "mean of a given cost",
}
"""What counts as the error of a channel, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What title, promise and pictures say: what was asked for, or the loss that was measured where it is more."""

    epsilon: float
    """Infinite where no bound is known."""
    delta: float
    exceeds: bool
    """Whether it is more than was asked for."""


def headline(certificate: Fields, /) -> Headline:
    """The largest loss measured for the released rows, and at least what was asked for.

    Losses of one of several rows of a unit add, unless nothing is assumed of these: no bound is known then, nor of
    several columns that were measured one by one.
    """
    epsilon, delta = certificate.epsilon, certificate.delta
    exceeds = certificate.facts.exceeds
    own, most = on_own_range(certificate), delta or epsilon
    if own:  # bounds the loss of a whole row, whatever was measured of its columns
        share = most / len(certificate.public)
        rest = [share] * (len(certificate.public) - len(own))
        exceeds, most = True, sum_as_written([*(max(share, loss) for loss in own), *rest])
        epsilon, delta = (epsilon, min(1.0, most)) if delta else (most, 0.0)
    whole = certificate.facts.whole_rows or certificate.theorem == "channel" or certificate.table
    alone = (len(certificate.public) > 1 and not whole) or certificate.facts.rows_of_unit == "any"
    known = bool(own) or not (exceeds and (alone or not certificate.observed))
    for found in certificate.observed.values():
        loss, most = (found.hockey_stick, delta) if delta else (found.pure_loss, epsilon)
        # rows or columns that share epsilon and delta; a file may name any epsilon above 0
        parts = max(1, round(min(certificate.epsilon / found.epsilon, 2.0**53)))
        if loss.upper * parts > most * (1 + _NEARLY):
            exceeds, known = True, known and not alone
            largest = rounded_up(loss.upper * parts, digits=3)
            epsilon, delta = (epsilon, min(1.0, largest)) if delta else (largest, 0.0)
    return Headline(epsilon=epsilon if known else math.inf, delta=delta if known else 1.0, exceeds=exceeds)


def on_own_range(certificate: Fields, /) -> list[float]:
    """What columns with noise for a narrower range lose under any law on that of the rows."""
    return [found[ANY_LAW_OF_ROWS] for found in certificate.wider.values() if ANY_LAW_OF_ROWS in found]


def certificate_title(certificate: Fields, /) -> str:
    """The first line: the largest loss that is known of the release."""
    found = headline(certificate)
    kind = "pure " if certificate.delta == 0 else ""
    delta = "" if certificate.delta == 0 else f", delta = {plain(certificate.delta)}"
    asked = f"epsilon = {plain(certificate.epsilon)}{delta}"
    title = f"Certificate of {kind}Pufferfish privacy, {asked}"
    if found.exceeds:
        loss = f"a pure loss of {found.epsilon:g}"
        if certificate.delta:
            loss = f"a delta of {found.delta:g} at epsilon = {plain(certificate.epsilon)}"
        if (found.epsilon, found.delta) == (certificate.epsilon, certificate.delta):
            loss += ", or just above it,"  # by less than the digits show
        if math.isinf(found.epsilon):
            loss = "more, without a known bound,"
        if on_own_range(certificate):
            loss = loss.replace(" of ", " of at most ", 1)
        under = " under any law on their range," * bool(on_own_range(certificate))
        title = f"Certificate of Pufferfish privacy: {loss} for these rows,{under} where {asked} was asked for"
    return title + "".join(f"; {text}" for text in _beside(certificate))


def _beside(certificate: Fields) -> list[str]:
    """What tells more than the title says, whatever the noise."""
    facts = certificate.facts
    open_ = " or ".join(word for word in ("kept", "given") if getattr(certificate, word)) or "kept"
    texts = {
        "NOT private: the noise came from a seed": facts.seeded,
        "NOT of the order of the rows, which tells more": facts.order_tells,
        f"NOT beside {open_} columns that tell more": facts.kept_tells,
        "attackers who were tried TOLD MORE than that": bool(of_keys(certificate.statements, _TOLD_MORE)),
    }
    return [text for text, holds in texts.items() if holds]


def warning_texts(certificate: Fields, /) -> list[str]:
    """The sentences that warn, also of a record of an earlier version."""
    keys = tuple(dict.fromkeys((*certificate.warnings, *warnings_of(certificate.statements))))
    return [one.text for key in keys for one in of_keys(certificate.statements, (key,))]


def verdict_rows(certificate: Fields, /) -> Rows:
    """What comes first: warnings, what is hidden, what was released, what it means, and what attackers reached."""
    first = (WARNING, "protects", "released", "not released", "meaning")
    rows = [row for row in certificate_rows(certificate) if row[0] in first]
    rows += [("assumes", one.text) for one in of_keys(certificate.statements, BELIEVED)]
    return [*rows, *(("measured", one.text) for one in of_keys(certificate.statements, ("table-attacks",)))]


def certificate_rows(certificate: Fields, /) -> Rows:
    """Labels and texts, in order: what is claimed, on what grounds, what is not covered, what it was made with."""
    warned = warning_texts(certificate)
    rows = [(WARNING, text) for text in warned]
    rows.append(("protects", certificate.subject))
    if certificate.secret_values:
        rows.append(("covers", _values_text(certificate)))
    rows.append(("released", _released_text(certificate)))
    if certificate.withheld:
        rows.append(("not released", shown_names(certificate.withheld)))
    rows.append(("meaning", meaning_text(certificate)))
    rows += [("channel", text) for text in channel_texts(certificate)]
    if certificate.table and certificate.changed:
        rows.append(("changed", _changed_text(certificate.table)))
    if certificate.scales:
        rows += [
            ("noise", _noise_text(certificate)),
            *(("beside it", text) for text in _usefulness_texts(certificate)),
            ("calibration", _calibration_text(certificate)),
        ]
    rows += _measured_rows(certificate)
    for kind, label in _LABELS.items():
        texts = [text for text in of_kind(certificate.statements, kind) if text not in warned]
        rows += [(label if k == 0 else "", text) for k, text in enumerate(texts)]
    if certificate.derived:
        rows.append(("derived", "the frame or file with this record was changed after the release"))
    given = [(name, getattr(certificate, name)) for name in FIELDS]
    rows += [(name.replace("_", " "), shown(text)) for name, text in given if text]
    rows.append(
        ("signature", "Ed25519" if certificate.signature else "unsigned: cannot be trusted, a change is not detected")
    )
    rows.append(("fingerprint", f"{fingerprint_text(certificate.fingerprint)}, puffer_frames {certificate.version}"))
    known = (*_LABELS, "technical")
    last = [s.text for s in certificate.statements if s.kind == "technical" or s.kind not in known]
    return [*rows, *(("technical" if k == 0 else "", text) for k, text in enumerate(last))]


def meaning_text(certificate: Fields, /) -> str:
    """What epsilon and delta mean for a reader of this release."""
    found, what = headline(certificate), what_text(certificate)
    if math.isinf(found.epsilon):
        return f"no bound is known of what {what} can tell: more was lost by these rows than was asked for"
    odds = odds_text(what, epsilon=found.epsilon, delta=found.delta)
    asked = f"; epsilon {plain(certificate.epsilon)}" + f" and delta {plain(certificate.delta)}" * bool(
        certificate.delta
    )
    return odds + _scope(certificate) + f"{asked} was asked for" * found.exceeds


def what_text(certificate: Fields, /) -> str:
    """What a reader looks at."""
    if certificate.answers:
        return "all answers together"
    one = values_text(certificate.unit, several=len(certificate.public) > 1)
    return one + " and those of the releases that it refines" * bool(certificate.refines)


def _scope(certificate: Fields) -> str:
    given = f", beyond what {shown_names(certificate.given)} tells" if certificate.given else ""
    kept = "; this holds of the noisy values alone, not beside kept columns" if _has_kept(certificate) else ""
    return given + kept + "; this holds of the values, not of the order of the rows" * certificate.facts.order_tells


def _has_kept(certificate: Fields) -> bool:
    return bool(certificate.kept) and not certificate.answers


def _values_text(certificate: Fields) -> str:
    values = ", ".join(repr(label) for label in certificate.secret_values)
    count, more = certificate.secret_count, certificate.secret_count - len(certificate.secret_values)
    return f"{count:,} values: {values}" + (f" and {more:,} more" if more else "")


def _released_text(certificate: Fields) -> str:
    beside = "beside them" if certificate.answers else "as they were"
    kept = f"; {beside}: {shown_names(certificate.kept)}" if certificate.kept else ""
    how = of_given(certificate.statements).replace("it was", "they were")
    given = f"; given, {how}: {shown_names(certificate.given)}" if certificate.given else ""
    return f"{shown_names(certificate.public)}, {certificate.rows:,} row{'s' * (certificate.rows != 1)}{given}{kept}"


def _noise_text(certificate: Fields) -> str:
    if not any(certificate.scales.values()):
        return _NO_NOISE
    symbol = _SYMBOLS.get(certificate.noise, "scale gamma" if certificate.noise.endswith("-stable") else "scale")
    scales = ", ".join(f"{shown(name)}: {symbol} = {scale_text(certificate, name)}" for name in certificate.scales)
    errors = ", ".join(f"{shown(name)} {error:.4g}" for name, error in certificate.expected_error.items())
    of = f"error{' of the values as clipped' * bool(certificate.facts.clipped)}"
    of = "noise" if certificate.facts.replaced else of
    moved = ["rounded to integers"] * any(is_rounded_far(certificate, name) for name in certificate.scales)
    moved += ["clipped to bounds"] * any(is_clipped_after(certificate, name) for name in certificate.scales)
    if moved:
        of = f"noise before values were {' and '.join(moved)}, which may move them further"
    return f"{certificate.noise}, {scales}; mean absolute {of} {errors}"


def is_clipped_after(certificate: Fields, name: str, /) -> bool:
    """Whether noisy values of a column were clipped: its error is then that of the noise alone."""
    return certificate.processed.get(name, {}).get("clip") is not None


def is_rounded_far(certificate: Fields, name: str, /) -> bool:
    """Whether noisy values of a column were rounded to integers where this alone moves those of some column far."""
    rounded: bool = certificate.processed.get(name, {}).get("round", False)
    return rounded and bool(of_keys(certificate.statements, {"after-rounding"}))


def scale_text(certificate: Fields, name: str, /) -> str:
    """The scale of a column; of strata the least and the largest."""
    if not certificate.strata:
        return f"{certificate.scales[name]:.6g}"
    least = min(stratum["scales"][name] for stratum in certificate.strata)
    low, high = f"{least:.6g}", f"{certificate.scales[name]:.6g}"
    return high if low == high else f"{low} to {high}, by stratum (the record has all)"


def channel_texts(certificate: Fields, /) -> list[str]:
    """A text for each column that was released through a channel."""
    texts = []
    for name, found in certificate.channels.items():
        together = found.get("columns", [name])
        if name != together[0]:
            continue
        cost = COSTS.get(found["cost"], found["cost"])
        entry = "value" if len(together) == 1 else "row of values together"
        parts = [
            f"{shown_names(together)}: a random level for each {entry}, with the least {cost} that was found of "
            f"channels with this guarantee that {_others(found, certificate.facts.prepared)}"
        ]
        if certificate.theorem != "channel":
            parts = [f"{shown(name)}: each label stays as it is or is replaced by another level, all as likely"]
        if "levels" in found:
            days = len(together) == 1 and name in certificate.facts.dates
            known = [
                end_text(one, is_day=True) if days and one is not None else level_text(one) for one in found["levels"]
            ]
            parts.append(f"levels {', '.join(known)}")
        printed = [word for word in ("expected_error", "lower_bound") if word in found]
        of = " of the values as moved" if "clipped" in certificate.facts.prepared else ""
        of += " of the levels as merged" if "merged" in certificate.facts.prepared else ""
        parts += [f"{word.replace('_', ' ')}{of} {found[word]:.6g}" for word in printed]
        if "matrix" in found:
            parts.append("the table of probabilities is in the record")
        texts.append("; ".join(parts))
    return texts


def _changed_text(found: WholeTable) -> str:
    """What a release of a whole table does to each column under its network."""
    texts = []
    for name, share in found.changed.items():
        far = "".join(f", moved by {far:g} from cell to cell" for of, far in (found.moved or {}).items() if of == name)
        texts.append(f"{shown(name)} {100 * share:.0f} % (of a secret {100 * found.changed_most[name]:.0f} %{far})")
    which = "values that become others, or numbers that get another cell of values"
    return f"{which}, on average under the fitted network: {', '.join(texts)}"


def _others(found: Mapping[str, Any], prepared: Sequence[str]) -> str:
    """Among which channels one has the least error."""
    seen = "see the value and the secret" if found.get("sees") == "secret" else "see the value alone"
    most = f", release at most {found['outputs']} levels, chosen beforehand" if "outputs" in found else ""
    of = " of the medians" * ("cells" in prepared)
    kept = {"mean": f" and keep the mean{of}", "marginal": " and keep the shares"}.get(found["preserve"] or "", "")
    over = "; the error is a mean over the secrets, each with the same weight" if "weights" in found else ""
    return f"{seen}{most}{kept}{over}"


def _usefulness_texts(certificate: Fields) -> list[str]:
    """The noise beside the column's spread, and beside the error of one constant."""
    texts = []
    if len(certificate.estimated) > _FEW_COLUMNS:
        return [] if of_keys(certificate.statements, ("useless-strata",)) else [_useless_text(certificate)]
    for name, found in certificate.estimated.items():
        of = f" of {shown(name)}" if len(certificate.scales) > 1 else " of the column"
        of += " as clipped" * (name in certificate.facts.clipped)
        spread, constant = found.texts
        text = (
            f"the spread{of} (standard deviation) is {spread}; their median in place of every value would have a mean "
            f"error {constant}. {ROUGHLY}"
        )
        if name in certificate.useless and certificate.expected_error[name] > found.constant_error:
            text += " The noise is larger than that error: single values are of no use; means of many may be."
        texts.append(text)
    return texts


def _useless_text(certificate: Fields) -> str:
    """The columns, where there are many, whose noise is larger than the error of one constant."""
    useless, other = [name for name in certificate.scales if name in certificate.useless], certificate.facts.other_rows
    if not useless:
        how = ", as estimated from the released values" * other
        return f"in every column the noise is smaller than the error of its median in place of every value{how}"
    names = "every column" if len(useless) == len(certificate.scales) else shown_names(useless)
    return (
        f"in {names} the noise is larger than the error that the median in place of every value would "
        f"have{certificate.estimated_useless}: single values are of no use; means of many may be"
    )


def _calibration_text(certificate: Fields) -> str:
    asked = {name: scale for name, scale in certificate.published_scales.items() if scale is not None}
    theorem = f"{certificate.theorem} ({certificate.source})"
    numbers = f"{theorem} asks for {', '.join(f'{scale:.6g}' for scale in asked.values())}"
    if certificate.calibration == "mechanism":
        used = f"{theorem}: enough to hide one value, though the values around it tell of it"
        ratio = _ratio(certificate, asked)
        printed = ", ".join(f"{scale:.6g}" for scale in asked.values())
        more = f"; as printed it asks for {printed}; the noise is {ratio:.3g} times smaller, at the same epsilon"
        return used + more * (ratio > _EQUAL)
    exact = "exact: the smallest scale that the engine confirms"
    if certificate.facts.whole_rows and certificate.calibration == "theorem":
        return f"{theorem}: of the proportions that were tried, those with the smallest sum of scale / spread"
    if certificate.facts.whole_rows:
        return "exact: of the scales that the engine confirms, those found with the smallest sum of scale / spread"
    if certificate.given:
        return f"{exact if certificate.calibration == 'exact' else theorem}, in each stratum"
    if len(asked) < len(certificate.scales):
        return f"{exact}; {theorem} has no condition for this request"
    if certificate.calibration == "theorem":
        used = "used as published, confirmed by the exact engine"
        raised = any(certificate.scales[name] > scale * (1 + _ON_GRID) for name, scale in asked.items())
        return f"{numbers}; {'raised to what the exact engine confirms' if raised else used}"
    ratio = _ratio(certificate, asked)
    if not _EQUAL < ratio < math.inf:
        return f"{exact}; {numbers}"
    confirmed = (
        "; this scale was confirmed by an exact computation of the privacy loss, which is what the promise bounds"
    )
    more = f"the published condition asks for more than is needed here, by a factor of {ratio:.3g}"
    return f"{exact}; {numbers}; {more}{confirmed * is_proved(certificate)}"


def _ratio(certificate: Fields, asked: dict[str, float]) -> float:
    """How much smaller the noise is than published, of the column where this is least."""
    ratios = [asked[name] / scale if scale else math.inf for name, scale in certificate.scales.items() if name in asked]
    return min(ratios, default=0.0)


def is_proved(certificate: Fields, /) -> bool:
    """Whether the loss under the beliefs is: not of stable noise, nor of laws that a plan file alone speaks of."""
    said = of_keys(certificate.statements, ("from-file", "stable-counts"))
    assumed = bool(said) or certificate.noise.endswith("-stable")
    by_engine = certificate.calibration != "mechanism" and not (certificate.theorem == "channel" or certificate.table)
    return not (assumed and by_engine)


def _measured_rows(certificate: Fields) -> list[tuple[str, str]]:
    """The losses that the engine bounded, a row per column and belief, and under the observed frequencies."""
    rows = []
    channel = certificate.theorem == "channel" or bool(certificate.table)
    joint = certificate.facts.whole_rows or (channel and len(certificate.public) > 1)
    label, most = "proved" if is_proved(certificate) else "measured", 1 if joint else None
    of = f", all columns of {'all rows of a unit' if certificate.unit else 'a row'} together" if joint else ""
    if not joint and len(certificate.scales) > 1:
        of = ", {} alone"
    for column, beliefs in list(certificate.verified.items())[:most]:
        losses: dict[str, list[str]] = {}
        for belief, found in beliefs.items():
            losses.setdefault(_loss_text(certificate, found, asked=channel), []).append(belief)
        rows += [
            (label, f"{', '.join(names)} belief{'s' * (len(names) > 1)}{of.format(shown(column))}: {loss}")
            for loss, names in losses.items()
        ]
    unbound = certificate.facts.exceeds and certificate.facts.rows_of_unit == "any"
    for column, found in list(certificate.observed.items())[:most]:
        if not unbound and certificate.verified.get(column, {}).get("empirical") != found:
            what = f"observed frequencies of the released rows{of.format(shown(column))}"
            rows.append(("measured", f"{what}: {_loss_text(certificate, found, asked=False)}"))
    return rows


def _loss_text(certificate: Fields, found: Verification, *, asked: bool) -> str:
    """A loss that was measured, or where no more than that was proved, what was `asked` for."""
    delta, epsilon, found = certificate.delta, certificate.epsilon, _of_unit(certificate, found)
    if asked and delta:
        return f"delta at most {plain(delta)} at epsilon {plain(epsilon)}"
    if asked:
        return odds_of(epsilon, f"pure loss at most {plain(epsilon)}")
    loss = measured_text(found, delta=delta)
    return loss if delta else odds_of(found.pure_loss.upper, loss)


def _of_unit(certificate: Fields, found: Verification) -> Verification:
    """A bound for all rows of a unit, where the record has the loss of one row."""
    if not of_keys(certificate.statements, ("measured-of-one",)):
        return found
    if certificate.facts.rows_of_unit == "any":  # the noise is for the range of the columns, whatever the law
        share = found.epsilon * certificate.unit_rows
        pure = math.inf if certificate.delta else share
        return Verification.proved(pure=pure, delta=certificate.delta, epsilon=share)
    return found.of_rows(certificate.unit_rows)


def stated_loss(loss: float, asked: float, /) -> float:
    """A loss rounded up to two digits, but not above what was asked for where it is within that."""
    rounded = rounded_up(loss, digits=2)
    return min(rounded, asked) if loss <= asked else rounded


def odds_of(loss: float, text: str = "", /) -> str:
    """A pure loss for somebody who knows no such word, rounded up, and the word, or this text."""
    text = text or ("no bound" if loss == math.inf else f"pure loss at most {loss:g}")
    if loss > _LARGEST_LOSS:
        return text
    return f"the odds of two secrets change by a factor of at most {rounded_up(math.exp(loss), digits=3):,g} ({text})"
