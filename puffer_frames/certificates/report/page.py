"""The report of a certificate: one page that a person can read, print and sign, odds and use included."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_frames.certificates.about import today
from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.checklist import checklist, signed
from puffer_frames.certificates.report.columns import (
    ANY_LEVELS,
    column_heads,
    column_rows,
    error_figures,
    instead,
    robustness,
    robustness_figure,
)
from puffer_frames.certificates.report.words import NOT_SAID, claim, stated
from puffer_frames.certificates.statement import Statement, of_kind
from puffer_frames.certificates.text import (
    BELIEVED,
    certificate_rows,
    certificate_title,
    headline,
    is_proved,
    meaning_text,
    warning_texts,
    what_text,
)
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.loss.outcome import largest_auc
from puffer_frames.noise.channel import is_unmixable
from puffer_frames.noise.usefulness import MOST_VALUES
from puffer_frames.numbers.presentation import (
    Bar,
    Bars,
    Section,
    Table,
    as_page,
    as_sections,
    at_most,
    lower_text,
    plain,
    shown,
    shown_names,
    upper_text,
)

BEFORE = 0.1
"""What a reader holds of one secret before the release, in the example."""
_DIGITS = 3
_LARGEST = 700.0
"""Beyond it e^epsilon is no double."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """What a reader may come to hold who gave one of two secrets a probability of 1 in 10."""

    after: float
    """Probability of this secret after the release, at most."""
    chance: float
    """But for a chance of at most this; 0 for pure privacy."""
    seen: float
    """Probability of anything under one secret, at most, where it is `BEFORE` under another."""


def example(epsilon: float, delta: float, /) -> Example:
    r"""The example of (epsilon, delta).

    .. math:: q \le \frac{p \, k}{1 - p + p \, k}, \qquad k = e^{\varepsilon}
        \text{ for } \delta = 0, \text{ else } 2 e^{\varepsilon}

    Notes
    -----
    **Guarantee**. Bayes' rule for delta 0. Else let E be the outputs whose likelihood ratio of s to t is above
    2 e^epsilon. Then P(E | s) - e^epsilon P(E | t) <= delta and P(E | t) < P(E | s) / (2 e^epsilon), so that
    P(E | s) <= 2 delta, and P(E | t) is smaller: but for a chance of 2 delta, the odds change by at most 2 e^epsilon.

    **Rounding**. Upwards, to three digits.
    """
    factor = math.exp(min(epsilon, _LARGEST)) * (2.0 if delta else 1.0)
    after = BEFORE * factor / (1 - BEFORE + BEFORE * factor)
    seen = min(1.0, BEFORE * math.exp(min(epsilon, _LARGEST)) + delta)
    return Example(after=_up(after), chance=_up(2 * delta), seen=_up(seen))


def in_100(probability: float, /) -> str:
    """A probability as so many in 100."""
    return f"{100 * probability:.{_DIGITS}g}"


def _up(probability: float) -> float:
    return min(1.0, at_most(probability, digits=_DIGITS)[0])


MOST_RELEASES = 12
"""The most releases that are listed: the last ones."""


def releases_of(certificate: Fields, ledger: Any, /) -> list[Any]:
    """The last releases of the certificate's data set, which may be published, and what they are together.

    Raises ArgumentTypeError for what is no ledger, and ArgumentError where it has no release of a named data set.
    """
    if ledger is None:
        return [claim("ledger-none")]
    if not (hasattr(ledger, "entries") and hasattr(ledger, "total")):
        hint = 'Write ledger=puffer_frames.ledger("releases.jsonl").'
        raise ArgumentTypeError("ledger", rule="a Ledger", got=f"a {type(ledger).__name__}", hint=hint)
    entries = [entry for entry in ledger.entries() if certificate.dataset and entry.dataset == certificate.dataset]
    if not entries:
        raise ArgumentError(
            "ledger",
            rule="one with releases of the data set that the certificate names",
            got="one without" if certificate.dataset else "a certificate that names no data set",
            hint="Name the ledger of this data set."
            if certificate.dataset
            else 'Say about={"dataset": ...} when you release.',
        )
    listed = entries[-MOST_RELEASES:]
    rows = [(entry.time, *_of_entry(entry.certificate), entry.state) for entry in listed]
    heads = ("When", "Columns", "Secret", "Epsilon", "Delta", "State")
    lacks = not any(entry.certificate.fingerprint == certificate.fingerprint for entry in entries)
    return [
        Table(rows, "The last releases of this data set", heads),
        _total(ledger, certificate.dataset or ""),
        *[claim("ledger-lacks")] * lacks,
        claim("ledger-only"),
    ]


def _of_entry(one: Fields) -> tuple[str, ...]:
    return shown_names(one.public), shown_names(one.secret), plain(one.epsilon), plain(one.delta)


def _total(ledger: Any, dataset: str) -> Statement:
    try:
        found = ledger.total(dataset=dataset)
    except CalibrationError as error:
        return claim("ledger-unknown", reason=shown(str(error.got)))
    except ArgumentError:  # all of them were withdrawn
        return claim("ledger-unknown", reason="none counts")
    total = f"epsilon {plain(found.epsilon)}" + (f", delta {plain(found.delta)}" if found.delta else "")
    return claim("ledger-total", total=total, rule=found.rule)


def audit_claim(audit: object, /, *, attacked: bool) -> Statement:
    """Whether a test passed; nothing else of it, as its figures are not for the public.

    `attacked`: the page tells of other attacks. Raises ArgumentTypeError for what has no `passed`.
    """
    if audit is None:
        return claim("audit-none-beside" if attacked else "audit-none")
    passed = getattr(audit, "passed", None)
    if not isinstance(passed, bool):
        rule, hint = "a report with `passed`, true or false", "Give what the audit of this release has returned."
        raise ArgumentTypeError("audit", rule=rule, got=f"a {type(audit).__name__}", hint=hint)
    return claim("audit-passed" if passed else "audit-failed", kind=type(audit).__name__)


_PAPERS: Mapping[str, str] = {
    "[SWC17]": "Song, Wang, Chaudhuri, Pufferfish privacy mechanisms for correlated data, SIGMOD 2017",
    "[D22]": "Ding, Kantorovich mechanism for pufferfish privacy, AISTATS 2022",
    "[D24]": "Ding, Approximation of pufferfish privacy for Gaussian priors, IEEE TIFS 19, 2024",
    "[DLYZ]": "Ding, Lu, Yang, Zhang, Multi-user pufferfish privacy",
    "[SC17]": "Song, Chaudhuri, Composition properties of inferential privacy for time-series data, Allerton 2017",
}
"""As in the README."""
_ALWAYS = (
    "Kifer, Machanavajjhala, Pufferfish: a framework for mathematical privacy definitions, ACM TODS 39(1), 2014: the "
    "definition",
    "NIST SP 800-226, Guidelines for evaluating differential privacy guarantees, 2025",
    "ISO/IEC 27559:2022, Privacy enhancing data de-identification framework",
)


def references(certificate: Fields, /) -> list[str]:
    """The definition, the papers that the certificate names, and the standards of the checklist."""
    first, *standards = _ALWAYS
    return [first, *(f"{key} {text}" for key, text in _PAPERS.items() if key in certificate.source), *standards]


_VARIANCES = {"Laplace": 2.0, "Gaussian": 1.0}
"""Variance of noise of scale 1, by its title."""
_FOURTHS = {"Laplace": 5.0, "Gaussian": 2.0}
"""Variance of its squares where its own is 1."""
_STANDARD_ERRORS, _TAILS = 2.0, 8.0
"""How far the ends of a slope's share are from its estimate; and the variance of the squares of an exponential column
whose own is 1: those of others are mostly less."""


_OF_A_TABLE = {
    "Shares, histograms": "use-shares-of-rows",
    "Mean of all rows": "use-mean-of-rows",
    "Mean by group": "use-mean-by-group",
    "Slopes": "use-no-slope",
}


def use_of(certificate: Fields, /) -> list[tuple[str, list[Statement]]]:
    """Columns, and what to do about their noise; none of answers, which are estimates already."""
    if certificate.answers:
        return []
    if certificate.table:
        rows = _OF_A_TABLE if certificate.has_bounds else {"All columns": "use-no-margins"}
        found = [(what, [claim(key)]) for what, key in rows.items()]
        secret = shown_names(certificate.secret)
        return [*found, (f"Whatever rests on {secret}", [claim("use-table", secret=secret)])]
    found = _of_noise(certificate)
    bounds = certificate.facts.clipped  # those of the table of the plan move nothing of its own rows
    moved = [name for name, own in bounds.items() if own is not None or certificate.facts.other_rows]
    if moved:
        found.append((shown_names(moved), [claim("use-moved")]))
    found += [(shown(name), _of_channel(certificate, name)) for name in certificate.channels]
    exact = [name for name, scale in certificate.scales.items() if not scale]
    if beside := (*exact, *certificate.given, *certificate.kept):
        found.append((shown_names(beside), [claim("use-kept")]))
    return [*found, (shown_names(certificate.secret), [claim("use-secret")])]


def can_be_estimated(certificate: Fields, /) -> bool:
    """Whether `estimate` has figures of any released column that are not those of the file itself."""
    return any(certificate.scales.values()) or any(
        "count" in found or _is_inverted(found) for found in certificate.channels.values()
    )


def _is_inverted(found: Mapping[str, Any]) -> bool:
    """Whether the table of a channel is published, and has an inverse."""
    return "matrix" in found and is_unmixable(np.array(found["matrix"], dtype=np.float64))


def _of_noise(certificate: Fields) -> list[tuple[str, list[Statement]]]:
    """All columns of noise, in one row where nothing else was done to them."""
    noisy = [name for name, scale in certificate.scales.items() if scale]
    done = noisy if certificate.facts.replaced else [name for name in noisy if name in certificate.processed]
    plain = [name for name in noisy if name not in done]
    found = [(shown_names(done), [claim("use-processed")])] if done else []
    if plain and certificate.noise not in _VARIANCES:
        return [*found, (shown_names(plain), [claim("use-heavy")])]
    if plain:
        sizes = [_variances(certificate, name) for name in plain]
        names = [f" ({shown(name)})" * (len(plain) > 1) for name in plain]
        listed = ", ".join(text + name for (text, _), name in zip(sizes, names, strict=True))
        said = [claim("use-noise", variance=listed)]
        spreads = [certificate.estimated.get(name) for name in plain]
        several = len((*certificate.public, *certificate.kept)) > 1
        if has_slope := several and all(one is not None for one in spreads) and not certificate.strata:
            shares = [
                f"{_slope_share(certificate, one.spread, size)}{name}"
                for one, (_, size), name in zip(spreads, sizes, names, strict=True)
                if one is not None and not one.spread_is_bound
            ]
            unknown = "by how much is not known" + " of the others" * bool(shares)
            where = ", of columns without rare values far out" * (certificate.rows > MOST_VALUES)  # see _TAILS
            share = [f"divide it by {', '.join(shares)}, which holds in 95 % of releases{where}"] * bool(shares)
            share += [unknown] * (len(shares) < len(plain))
            said.append(claim("use-slope", share="; ".join(share)))
        also = " or by a column that was released as it was" * bool(certificate.given or certificate.kept)
        corrected = "variance and slope are" if has_slope else "the variance is"
        found.append((shown_names(plain), [*said, claim("use-csv", by_kept=also, corrected=corrected)]))
    return found


def _slope_share(certificate: Fields, spread: float, variance: float) -> str:
    """Between what the share of the slope lies that is left, in 95 % of releases.

    Of raw rows x with the variance v, mean (Y - mean)^2 - s^2 has the variance (E N^4 - s^4 + 4 v s^2) / rows over the
    noise N of variance s^2. Of more rows a sample was drawn, whose own v varies, and the spread has two digits.
    """
    rows, half = min(certificate.rows, MOST_VALUES), 0.5 * 10 ** (math.floor(math.log10(spread)) - 1)
    drawn = _TAILS * spread**4 * (certificate.rows > rows)
    moments = _FOURTHS[certificate.noise] * variance**2 + 4 * spread**2 * variance + drawn
    error = _STANDARD_ERRORS * math.sqrt(moments / rows)
    low, high = max(0.0, (spread - half) ** 2 - error), (spread + half) ** 2 + error
    ends = lower_text(low / (low + variance), digits=2), upper_text(high / (high + variance), digits=2)
    return " to ".join(dict.fromkeys(ends))


def _variances(certificate: Fields, name: str) -> tuple[str, float]:
    """The variance of the noise of a column in words, and the largest one of any stratum."""
    scales = [float(found["scales"][name]) for found in certificate.strata] or [float(certificate.scales[name])]
    sizes = [_VARIANCES[certificate.noise] * scale**2 for scale in scales]
    text = f"{min(sizes):.4g}"
    if min(sizes) < max(sizes):
        text += f" to {max(sizes):.4g} (by {shown_names(certificate.given)})"
    return text, max(sizes)


def _of_channel(certificate: Fields, name: str) -> list[Statement]:
    found, prepared = certificate.channels[name], certificate.facts.prepared
    if "count" in found and certificate.strata:
        return [claim("use-response-strata", given=shown_names(certificate.given))]
    if "count" in found:
        cap = found.get("cap")
        kept = 1.0 if cap is None else 1.0 / (1.0 + (int(found["count"]) - 1) * math.exp(-float(cap)))
        other = (1 - kept) / max(1, int(found["count"]) - 1)
        return [claim("use-response", kept=f"{kept:.3g}", other=f"{other:.3g}")] if kept < 1 else [claim("use-kept")]
    in_cells, keeps = "cells" in prepared, "" if certificate.facts.other_rows else found["preserve"]
    more = [claim("use-moved")] * ("clipped" in prepared) + [claim("use-cells")] * in_cells
    if _is_inverted(found):
        return [claim("use-matrix", what="counts of cells" if in_cells else "counts, and means by group,"), *more]
    said = [claim("use-matrix-lost" if "matrix" in found else "use-unknown")]
    if keeps == "marginal" or (keeps == "mean" and not in_cells):
        right = claim("use-mean") if keeps == "mean" else claim("use-shares", what="cells" if in_cells else "levels")
        said = [*said * ("matrix" in found), right]
    return [*said, *more]


_ANNEX = ("noise", "channel", "calibration", "measured", "proved", "assumes", "done", "technical")
_ROBUST = (
    *("joint-any-law", "joint-rule", "channel-radius", "channel-reader", "table-readers", "observed-exceeds"),
    *("range-exceeds", "observed-unknown", "unit-any"),
    *("population", "population-chain", "population-units", "channel-population"),
    *("measured-of-one", "measured-of-unit", "measured-of-all"),
)
_ASKED = ("Question", "Asked in", "Answer, and on what ground")
_BODIES = "After NIST SP 800-226 and ISO/IEC 27559:2022 (ISO). Neither body has reviewed this page."
_TRIED = ("table-refits", "table-attacks")
"""What was measured of a whole table, beside the promise."""
_ABOUT = {
    "dataset": "Data set",
    "issuer": "Issued by",
    "created": "When",
    "intended_use": "For what use",
    "recipients": "For whom",
    "legal_basis": "On what legal basis",
    "review": "Review date",
    "contact": "Contact",
}


def certificate_page(
    certificate: Fields,
    /,
    *,
    ledger: object,
    audit: object,
    justification: str | None,
    digest: tuple[str, str, bool] | None = None,
) -> str:
    """The whole file as text; `digest` is the name and the SHA-256 of the file that is published, and whether it is
    known to hold the release.
    """
    _check_text(justification)
    tested = audit_claim(audit, attacked=bool(stated(certificate, ("table-attacks",))))
    others = releases_of(certificate, ledger)
    notice = " ".join(one.text for one in stated(certificate, ("warning-seed",)))
    warnings = [text for text in warning_texts(certificate) if text != notice]  # the first line has that one
    asked = checklist(certificate, justification=justification, audit=tested)
    body = as_sections(
        [
            _instead(certificate),
            Section("warnings", "Warnings", [warnings], "box warnings") if warnings else None,
            _released(certificate),
            _promise(certificate),
            _columns(certificate),
            _robust(certificate),
            Section("open", "What is NOT protected", [_open(certificate)], "box"),
            Section("use", "How to use this file", _use(certificate)),
            (Section("others", "Releases so far", others), Section("audit", "Test of the release", [tested])),
            Section("signature", "Signature", _signature(certificate, digest), "keep"),
            Section("checklist", "Checklist", [Table(asked, _BODIES, _ASKED, "asked")], "small"),
            Section("annex", "Technical annex", [_annex(certificate)], "small"),
        ]
    )
    last = [
        Section("words", "Words of this page", [_words(body)], "small"),
        Section("references", "References", [references(certificate)], "small"),
    ]
    return as_page(
        certificate_title(certificate) + ": NOT PRIVATE" * (certificate.reproducible and not certificate.facts.seeded),
        body + as_sections(last),
        notice=" ".join(filter(None, (notice, tested.text if getattr(audit, "passed", True) is False else ""))),
    )


_WORDS = {
    "pair": ("secret pair", r"pairs?"),
    "belief": ("belief", r"beliefs?|believes?"),
    "law": ("law", r"laws?"),
    "network": ("network", r"networks?"),
    "plan": ("plan", r"plans?"),
    "quilt": ("quilt", r"quilts?"),
    "epsilon": ("epsilon", r"epsilons?"),
    "delta": ("delta", r"deltas?"),
    "loss": ("loss", r"loss|losses"),
}
"""Words that are explained where a page has them."""


def _words(text: str) -> list[str]:
    found = {key: word for key, (word, form) in _WORDS.items() if re.search(rf"\b({form})\b", text, re.IGNORECASE)}
    return [f"{word}: {claim(f'word-{key}').text}" for key, word in found.items()]


def _instead(certificate: Fields) -> Section | None:
    """What to do before all else where the noise drowns the values."""
    useless: dict[str, tuple[float, float, str] | None] = {}
    for name in certificate.useless if certificate.scales else ():
        one, error = certificate.estimated.get(name), certificate.expected_error.get(name, 0.0)
        is_known = one is not None and error > one.constant_error
        useless[name] = (error, one.constant_error, one.texts[1]) if one is not None and is_known else None
    return instead(
        useless,
        before="you sign",
        how=certificate.estimated_useless,
        columns=len(certificate.public),
        one_draw=not (certificate.unit or certificate.given or certificate.refines or certificate.releases > 1),
        means=certificate.noise in _VARIANCES,
    )


def _released(certificate: Fields) -> Section:
    about = [(label, shown(getattr(certificate, name) or NOT_SAID)) for name, label in _ABOUT.items()]
    found = dict(certificate_rows(certificate))
    rows = [*about, ("Released", found["released"]), ("Protects", certificate.subject)]
    labels = {"Left out": "not released", "Secrets": "covers"}
    rows += [(label, found[name]) for label, name in labels.items() if name in found]
    if (fewest := certificate.rarest) is not None:
        size = claim("smallest-group", rows=f"{fewest:,}") if fewest else claim("smallest-few")
        rows.append(("Smallest group", size.text))
    parts: list[Any] = [Table(rows, "What the issuer says, and what the certificate holds", kind="about")]
    about_how = any(text == NOT_SAID for _, text in about)
    said = {"review-look": bool(certificate.review), "about-how": about_how, "changed": certificate.derived}
    return Section("released", "What was released", [*parts, *(claim(key) for key, holds in said.items() if holds)])


def _promise(certificate: Fields) -> Section:
    if certificate.reproducible:
        return Section("promise", "The promise", [claim("no-promise")], "lead")
    meaning, most = meaning_text(certificate), headline(certificate)
    what, whom = what_text(certificate), "of what is protected" if certificate.answers else ""
    if certificate.kept and not certificate.answers:
        what = what.replace("released value", "noisy value")  # beside kept columns the promise is about these alone
    said, figure = promise_claims(
        certificate.unit,
        certificate.given,
        epsilon=most.epsilon,
        delta=most.delta,
        what=what,
        whom=whom,
        secrets=_two_secrets(certificate),
        alarm=most.exceeds,
        network=bool(certificate.table),
    )
    parts = [
        figure,
        meaning[:1].upper() + meaning[1:] + ".",
        " ".join(one.text for one in [*stated(certificate, BELIEVED), *_weaker(certificate)]),
        *([] if most.exceeds else [" ".join(one.text for one in _sure(certificate))]),
        *([] if math.isinf(most.epsilon) else said),
        *stated(certificate, _TRIED),
        claim("no-end"),
        " ".join(claim(key).text for key in ("not-dp", "not-anonymous")[: 2 - certificate.answers]),
    ]
    return Section("promise", "The promise", parts, "lead alarm" if most.exceeds else "lead")


def _weaker(certificate: Fields) -> list[Statement]:
    """That other readers have weaker limits, where the page has such."""
    asked, believed = certificate.delta or certificate.epsilon, stated(certificate, ("beliefs",))
    weaker = believed and any(asked < loss < math.inf for _, loss, _ in robustness(certificate))
    return [claim("weaker-limits")] * bool(weaker)


def _sure(certificate: Fields) -> list[Statement]:
    """How sure the promise is, and what may break it."""
    rows = [key for key in ("records", "units") if stated(certificate, (key,))]
    network = [claim("sure-network")] * bool(certificate.table)
    first = claim("sure" if is_proved(certificate) else "less-sure")
    return [first, *(claim("sure-records", rows=key) for key in rows), *network]


def promise_claims(
    unit: str | None,
    given: Sequence[str],
    /,
    *,
    epsilon: float,
    delta: float,
    what: str,
    whom: str = "",
    secrets: tuple[str, str] | None = None,
    alarm: bool = False,
    network: bool = False,
) -> tuple[list[Statement], Bars]:
    """The promise by an example of one person, and its figure: what a reader holds before and after.

    - `unit`, `given`: Names of columns, for a promise about all rows of a unit, and among rows with the same values.
    - `what`: What a reader looks at.
    - `whom`: Of whom the reader knows nothing else; by default of one record or unit.
    - `secrets`: Two that are compared.
    - `alarm`: Whether it is more than was asked for.
    - `network`: Whether the beliefs are networks.
    """
    whom = whom or f"of one {shown(unit) if unit else 'record'}"
    if given:
        names = shown_names(given)
        whom, what = f"{whom} but its {names}", f"{what}, among records with the same {names},"
    found = example(epsilon, delta)
    first, second = secrets or ("one of two protected secrets", "the other")
    parts = {"whom": whom, "after": in_100(found.after), "first": first, "second": second}
    parts["what"] = what.removesuffix(",")  # the sentence has one after it
    parts["again"] = first if secrets else "the first"
    told = claim("example", **parts, but=f", but for a chance of at most {found.chance:.3g}" * bool(delta))
    after = f"{in_100(found.after)} in 100"
    bars = (
        Bar(label="before", value=BEFORE, text=f"{in_100(BEFORE)} in 100", kind="rest"),
        Bar(label="after, at most", value=found.after, text=after, kind="alarm" if alarm else "bar"),
    )
    title = "How likely a reader may take one secret to be; the whole width is certainty"
    seen = claim("seen", what=what, seen=in_100(found.seen))
    rare = " (where the network is least reliable)" * network
    auc = claim("auc", what=what, auc=f"{_up(largest_auc(epsilon, delta)):g}", rare=rare)
    return [told, seen, auc], Bars(title=title, bars=bars, largest=1.0)


def _two_secrets(certificate: Fields) -> tuple[str, str] | None:
    """Two secrets that are compared, in words; None where the certificate names none."""
    if certificate.answers or len(certificate.secret) != 1 or certificate.pairs == "each":
        return None
    pair = certificate.secret_values[:2] if certificate.pairs == "all" else certificate.pairs[0]
    if len(pair) < 2:
        return None
    first, second = (f"{shown(certificate.secret[0])} = {shown(repr(value))}" for value in pair)
    return first, second


def _open(certificate: Fields) -> list[str]:
    """What is not hidden: first what is true of every release of rows."""
    found = of_kind(certificate.statements, "not covered")
    if certificate.answers:
        return found
    secret = shown_names(certificate.secret)
    order = "" if certificate.facts.shuffled else "; the order of the rows"
    to_all = claim("open-to-all", recipients=shown(certificate.recipients or NOT_SAID))
    first = [one.text for one in (claim("values-told", secret=secret), claim("who-is-in", order=order), to_all)]
    return [*first, *found, *([] if certificate.rarest is None else [claim("smallest-tells").text])]


_OF_NOISE = (
    'figures.mean("X", by="GROUP"), .var("X"), .corr("X", "Y"), .regress("Y", on=["X"]), .quantile("X", 0.5), '
    '.histogram("X", bins=10) or .value_counts("LABEL")'
)
_OF_LABELS = 'figures.mean("X", by="GROUP"), .regress("Y", on=["X"]) or .value_counts("LABEL")'


def _use(certificate: Fields) -> list[Any]:
    """What a receiver has to know before computing anything."""
    rows = [(names, " ".join(one.text for one in found)) for names, found in use_of(certificate)]
    if not rows:
        said = "The answers are estimates already: where a scale is beside one, its noise has it, and the mean 0."
        return [" ".join([said, *(one.text for one in stated(certificate, ("quotient",)))])]
    has_noise = any(certificate.scales.values())
    call = [claim("use-call", methods=_OF_NOISE if has_noise else _OF_LABELS)] * can_be_estimated(certificate)
    call += [claim("use-support")] * has_noise
    call += [claim("use-call-table")] * certificate.has_bounds
    return [Table(rows, "Before you compute anything from the released columns"), *call]


def _columns(certificate: Fields) -> Section:
    caption = "In the units of each column"
    if certificate.scales:
        caption += (
            "; spread and error of a constant, one value in place of all, are estimated from the released values: a "
            "bound holds with 95 % confidence, and what is about right may be more than a half too large where rows "
            "are few"
        )
    if certificate.changed:
        caption = (
            "Under the fitted network. Where numbers are grouped into cells, changes are counted between cells only"
        )
    parts = [
        Table(column_rows(certificate), caption, column_heads(certificate), "numbers"),
        *stated(certificate, ("table-changed",)),
        error_figures(certificate),
    ]
    return Section("columns", "Columns, and their error", parts)


def _robust(certificate: Fields) -> Section:
    found = robustness(certificate)
    alone = len(certificate.scales) > 1 and len(found) > 1 and not certificate.facts.whole_rows
    of = "of each column alone" if alone else "of the release"
    of += "; under other networks, that of all but 1 % of rows" * bool(certificate.table)
    what, meaning = "pure loss", ". A loss of x: odds change by a factor of at most e^x"
    if certificate.delta:
        what, meaning = "delta at this epsilon", ""
    caption = f"The largest {what} {of}, rounded up{meaning}"
    rows = Table([(laws, text) for laws, _, text in found], caption, ("Under", "Lost"), "fit")
    wider = [loss for laws, loss, _ in found if laws == ANY_LEVELS or not certificate.delta]
    far = any(certificate.epsilon < loss < math.inf for loss in wider) or stated(certificate, ("joint-any-law",))
    said = [claim("far-exponent")] * bool(far and not certificate.table)  # a sentence on whole tables has it
    parts = [robustness_figure(certificate), rows, *said, *stated(certificate, _ROBUST)]
    return Section("robust", "How robust the promise is", parts)


_SIGN = (
    (
        "To make a key to keep, and its public half to hand out",
        "openssl genpkey -algorithm ed25519 -out PRIVATE.pem; openssl pkey -in PRIVATE.pem -pubout -out PUBLIC.pem",
    ),
    (
        "To sign, in Python; say ledger= and justification= again",
        'import pandas, pathlib, puffer_frames; key = pathlib.Path("PRIVATE.pem").read_bytes(); '
        'released = pandas.read_parquet("FILE"); puffer_frames.certificate_of(released).sign(key).attach(released); '
        'released.puffer.write_parquet("SIGNED.parquet"); '
        'released.puffer.report("SIGNED.html", file="SIGNED.parquet", ledger=None, justification=None)',
    ),
    ("Of a JSON file", 'puffer_frames.Certificate.load("FILE.json").sign(key).save("FILE.json")'),
)
_KEY = ("To see the fingerprint of the key", "openssl pkey -pubin -in PUBLIC.pem -outform DER | sha256sum")


def _signature(certificate: Fields, digest: tuple[str, str, bool] | None) -> list[Any]:
    rows = [
        ("This page was made", f"{today()}; puffer_frames {certificate.version}"),
        ("Fingerprint of the release", certificate.fingerprint),
    ]
    key = " --public-key PUBLIC.pem" * bool(certificate.signature)
    name = "FILE" if digest is None else shlex.quote(digest[0])
    if digest is not None:
        rows += [(f"SHA-256 of {shown(digest[0])}", digest[1]), ("To check its bytes", f"sha256sum {name}")]
        if not digest[2]:
            rows.append(("Compared with the release", "no: this file may hold other values; the next line checks that"))
    untyped = digest is not None and not digest[2] and digest[0].lower().endswith(".csv")
    schema = " --schema COLUMN=TYPE,..." * untyped
    rows.append(("To check its columns and values", f"puffer verify {name}{schema}{key}"))
    if untyped:
        rows.append(("The types of the columns", "a CSV file holds none: name those of the release, as age=Float64"))
    rows += [_KEY] if certificate.signature else _SIGN
    decision = "hand over to the recipients named above" if certificate.recipients else "publish"
    decision = f"Decision: {decision}, or not"
    unsaid = not (certificate.rows_per_person or certificate.unit or certificate.answers)
    said = ["one-row"] * bool(certificate.rows_per_person) + ["one-row-unsaid"] * unsaid
    return [
        signed(certificate),
        Table(rows, "To compare with the file that you have"),
        *map(claim, said),
        Table([(decision, ""), ("Name, date, signature", "")], "To sign by hand", kind="sign"),
    ]


def _annex(certificate: Fields) -> Table:
    """Rows of the certificate's text that no part above has, texts of one label in one row."""
    label, rows = "", dict[str, list[str]]()
    above = {one.text for one in stated(certificate, _ROBUST if certificate.reproducible else (*BELIEVED, *_ROBUST))}
    for name, text in certificate_rows(certificate):
        label = name or label
        if label in _ANNEX and text not in above and not (certificate.table and label == "measured"):
            rows.setdefault(label, []).append(text)
    listed = [(label, "\n".join(texts)) for label, texts in rows.items()]
    return Table(listed, "All that the certificate says beside the parts above")


def _check_text(justification: object) -> None:
    if justification is not None and (not isinstance(justification, str) or not justification.strip()):
        got = "an empty text" if isinstance(justification, str) else f"a {type(justification).__name__}"
        hint = "Say in a sentence why this epsilon was chosen."
        raise ArgumentError("justification", rule="a text, or None", got=got, hint=hint)
