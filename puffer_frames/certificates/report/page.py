"""The report of a certificate: one page that a person can read, print and sign, odds and use included."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from puffer_frames.certificates.about import today
from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.checklist import checklist
from puffer_frames.certificates.report.columns import (
    column_heads,
    column_rows,
    error_pictures,
    instead,
    robustness,
    robustness_picture,
)
from puffer_frames.certificates.report.markup import (
    Bar,
    aside,
    bars,
    beside,
    items,
    named_rows,
    page,
    paragraph,
    section,
    table,
)
from puffer_frames.certificates.report.words import NOT_SAID, Claim, claim, stated
from puffer_frames.certificates.statement import of_kind
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
from puffer_frames.numbers.presentation import at_most, plain, shown, shown_names

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


class Entry(Protocol):
    """A release in a ledger."""

    @property
    def state(self) -> str: ...

    @property
    def time(self) -> str: ...

    @property
    def dataset(self) -> str: ...

    @property
    def certificate(self) -> Any: ...


@runtime_checkable
class Book(Protocol):
    """What `puffer_frames.ledger` reads."""

    def entries(self) -> Sequence[Entry]: ...

    def total(self, *, dataset: str | None = None) -> Any: ...


@runtime_checkable
class Test(Protocol):
    """What a test of a release says of itself; its text may hold statistics of the table."""

    @property
    def passed(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The releases of one data set."""

    heads: tuple[str, ...] = ("When", "Columns", "Secret", "Epsilon", "Delta", "State")
    rows: tuple[tuple[str, ...], ...]
    claims: tuple[Claim, ...]


def releases_of(certificate: Fields, ledger: object, /) -> Releases:
    """The releases of the certificate's data set, which may be published; of no other one.

    Raises
    ------
    ArgumentTypeError
        For what is no ledger.
    ArgumentError
        Where the certificate names no data set, or the ledger has no release of it.
    LedgerError
        For a line that no release has written.
    """
    if not isinstance(ledger, Book):
        raise ArgumentTypeError(
            "ledger",
            rule="a Ledger",
            got=f"a {type(ledger).__name__}",
            hint='Write ledger=puffer_frames.ledger("releases.jsonl").',
        )
    found = [one for one in ledger.entries() if certificate.dataset and one.dataset == certificate.dataset]
    if not found:
        raise ArgumentError(
            "ledger",
            rule="one with releases of the data set that the certificate names",
            got="one without" if certificate.dataset else "a certificate that names no data set",
            hint='Say about={"dataset": ...} when you release.',
        )
    claims = [_total(ledger, certificate.dataset or "")]
    if not any(one.certificate.fingerprint == certificate.fingerprint for one in found):
        claims.append(claim("ledger-lacks"))
    return Releases(rows=tuple(map(_row, found[-MOST_RELEASES:])), claims=(*claims, claim("ledger-only")))


def _row(one: Entry) -> tuple[str, ...]:
    of = one.certificate
    return (one.time, shown_names(of.public), shown_names(of.secret), plain(of.epsilon), plain(of.delta), one.state)


def _total(ledger: Book, dataset: str) -> Claim:
    try:
        found = ledger.total(dataset=dataset)
    except CalibrationError as error:
        return claim("ledger-unknown", reason=shown(str(error.got)))
    except ArgumentError:  # all of them were withdrawn
        return claim("ledger-unknown", reason="none counts")
    total = f"epsilon {plain(found.epsilon)}" + (f", delta {plain(found.delta)}" if found.delta else "")
    return claim("ledger-total", total=total, rule=found.rule)


def audit_claim(audit: object, /) -> Claim:
    """Whether a test passed; nothing else of it, as its figures are not for the public.

    Raises
    ------
    ArgumentTypeError
        For what has no `passed` that is true or false.
    """
    if audit is None:
        return claim("audit-none")
    if not isinstance(audit, Test) or not isinstance(audit.passed, bool):
        raise ArgumentTypeError(
            "audit",
            rule="a report with `passed`, true or false",
            got=f"a {type(audit).__name__}",
            hint="Give what the audit of this release has returned.",
        )
    return claim("audit-passed" if audit.passed else "audit-failed", kind=type(audit).__name__)


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


def use_of(certificate: Fields, /) -> list[tuple[str, list[Claim]]]:
    """Columns, and what to do about their noise; none of answers, which are estimates already."""
    if certificate.answers:
        return []
    if certificate.table:
        margins = [claim("use-margins")] if certificate.changed else [claim("use-no-margins")]
        return [("All columns", [*margins, claim("use-table", secret=shown_names(certificate.secret))])]
    found = _of_noise(certificate)
    found += [(shown(name), _of_channel(certificate, name)) for name in certificate.channels]
    exact = [name for name, scale in certificate.scales.items() if not scale]
    if beside := (*exact, *certificate.given, *certificate.kept):
        found.append((shown_names(beside), [claim("use-kept")]))
    return found


def can_be_estimated(certificate: Fields, /) -> bool:
    """Whether `estimate` has figures of any released column that are not those of the file itself."""
    known = ("matrix", "count")
    channels = certificate.channels.values()
    return any(certificate.scales.values()) or any(word in found for found in channels for word in known)


def _of_noise(certificate: Fields) -> list[tuple[str, list[Claim]]]:
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
        if all(one is not None for one in spreads) and not certificate.strata:
            shares = [
                ("an unknown number" if one.spread_is_bound else f"{one.spread**2 / (one.spread**2 + size):.2g}") + name
                for one, (_, size), name in zip(spreads, sizes, names, strict=True)
                if one is not None
            ]
            said.append(claim("use-slope", share=", ".join(shares)))
        found.append((shown_names(plain), [*said, claim("use-csv")]))
    return found


def _variances(certificate: Fields, name: str) -> tuple[str, float]:
    """The variance of the noise of a column in words, and the largest one of any stratum."""
    scales = [float(found["scales"][name]) for found in certificate.strata] or [float(certificate.scales[name])]
    sizes = [_VARIANCES[certificate.noise] * scale**2 for scale in scales]
    text = f"{min(sizes):.4g}"
    if min(sizes) < max(sizes):
        text += f" to {max(sizes):.4g} (by {shown_names(certificate.given)})"
    return text, max(sizes)


def _of_channel(certificate: Fields, name: str) -> list[Claim]:
    found = certificate.channels[name]
    if "matrix" in found:
        return [claim("use-matrix")]
    if "count" in found and certificate.strata:
        return [claim("use-response-strata", given=shown_names(certificate.given))]
    if "count" in found:
        cap = found.get("cap")
        kept = 1.0 if cap is None else 1.0 / (1.0 + (int(found["count"]) - 1) * math.exp(-float(cap)))
        other = (1 - kept) / max(1, int(found["count"]) - 1)
        return [claim("use-response", kept=f"{kept:.3g}", other=f"{other:.3g}")] if kept < 1 else [claim("use-kept")]
    preserved = {"marginal": "use-shares", "mean": "use-mean"}
    return [claim(preserved.get(found.get("preserve") or "", "use-unknown"))]


_ANNEX = ("noise", "channel", "calibration", "measured", "proved", "assumes", "done", "technical")
_ROBUST = (
    *(
        "joint-any-law",
        "joint-rule",
        "channel-radius",
        "channel-reader",
        "table-readers",
        "observed-exceeds",
        "observed-unknown",
        "unit-any",
    ),
    *("population", "population-chain", "population-units", "channel-population"),
    *("measured-of-one", "measured-of-unit", "measured-of-all"),
)
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
    digest: tuple[str, str] | None = None,
) -> str:
    """The whole file as text; `digest` is the name and the SHA-256 of the file that is published.

    Raises
    ------
    ArgumentError, ArgumentTypeError, LedgerError
        For a ledger, a test or a justification that cannot be.
    """
    _check_text(justification)
    tested = audit_claim(audit)
    others = None if ledger is None else releases_of(certificate, ledger)
    notice = " ".join(one.text for one in stated(certificate, ("warning-seed",)))
    audit_notice = tested.text if isinstance(audit, Test) and not audit.passed else ""
    questions = checklist(certificate, justification=justification, audit=tested)
    parts = [
        _instead(certificate),
        _warned(certificate, but=notice),
        _released(certificate),
        _promise(certificate),
        _columns(certificate),
        _robust(certificate),
        section("open", "What is NOT protected", items(_open(certificate)), kind="box"),
        section("use", "How to use this file", *_use(certificate)),
        beside(
            section("others", "Releases so far", _releases(others)),
            section("audit", "Test of the release", paragraph(tested.text)),
        ),
        section("signature", "Signature", *_signature(certificate, digest), kind="keep"),
        section(
            "checklist",
            "Checklist",
            table(
                ("Question", "Asked in", "Answer, and on what ground"),
                questions,
                kind="asked",
                caption="After NIST SP 800-226 and ISO/IEC 27559:2022 (ISO). Neither body has reviewed this page.",
            ),
            kind="small",
        ),
        section("annex", "Technical annex", _annex(certificate), kind="small"),
    ]
    return page(
        certificate_title(certificate) + ": NOT PRIVATE" * certificate.reproducible,
        *parts,
        _words(" ".join(parts)),
        section("references", "References", items(references(certificate)), kind="small"),
        notice=" ".join(filter(None, (notice, audit_notice))),
    )


_WORDS = {
    "pair": ("secret pair", r"pairs?"),
    "belief": ("belief", r"beliefs?|believes?"),
    "law": ("law", r"laws?"),
    "network": ("network", r"networks?"),
    "quilt": ("quilt", r"quilts?"),
    "epsilon": ("epsilon", r"epsilons?"),
    "delta": ("delta", r"deltas?"),
    "loss": ("loss", r"loss|losses"),
}
"""Words that are explained where a page has them."""


def _words(text: str) -> str:
    found = {key: word for key, (word, form) in _WORDS.items() if re.search(rf"\b({form})\b", text, re.IGNORECASE)}
    listed = items(f"{word}: {claim(f'word-{key}').text}" for key, word in found.items())
    return section("words", "Words of this page", listed, kind="small")


def _instead(certificate: Fields) -> str:
    """What to do before all else where the noise drowns the values."""
    found = {name: certificate.estimated[name] for name in certificate.useless}
    claims = instead(
        {name: (certificate.expected_error[name], one.constant_error, one.texts[1]) for name, one in found.items()},
        columns=len(certificate.public),
        one_draw=not (certificate.unit or certificate.given or certificate.refines or certificate.releases > 1),
        means=certificate.noise in _VARIANCES,
    )
    title = "Before you sign: the noise drowns the values"
    return section("instead", title, items(one.text for one in claims), kind="box instead") if claims else ""


def _warned(certificate: Fields, *, but: str) -> str:
    """What warns of this release, in red, but for what the first line says."""
    texts = [text for text in warning_texts(certificate) if text != but]
    return section("warnings", "Warnings", items(texts), kind="box warnings") if texts else ""


def _released(certificate: Fields) -> str:
    about = [(label, shown(getattr(certificate, name) or NOT_SAID)) for name, label in _ABOUT.items()]
    found = dict(certificate_rows(certificate))
    rows = [*about, ("Released", found["released"]), ("Protects", certificate.subject)]
    if "not released" in found:
        rows.append(("Left out", found["not released"]))
    if "covers" in found:
        rows.append(("Secrets", found["covers"]))
    if certificate.rarest is not None:
        rows.append(("Smallest group", _rarest(certificate.rarest).text))
    table_of = named_rows(rows, caption="What the issuer says, and what the certificate holds", kind="about")
    said = paragraph(claim("about-how").text) if any(text == NOT_SAID for _, text in about) else ""
    changed = paragraph(claim("changed").text) if certificate.derived else ""
    return section("released", "What was released", table_of, said, changed)


def _rarest(rows: int) -> Claim:
    return claim("smallest-group", rows=f"{rows:,}") if rows else claim("smallest-few")


def _promise(certificate: Fields) -> str:
    if certificate.reproducible:
        return section("promise", "The promise", paragraph(claim("no-promise").text, kind="lead"))
    meaning = meaning_text(certificate)
    whom, what = _whom(certificate), _what(certificate)
    most = headline(certificate)
    said, found = promise_claims(most.epsilon, most.delta, whom=whom, what=what, secrets=_two_secrets(certificate))
    if math.isinf(most.epsilon):
        said = []
    return section(
        "promise",
        "The promise",
        aside(odds_picture(found, alarm=most.exceeds)),
        paragraph(meaning[:1].upper() + meaning[1:] + ".", kind="lead alarm" if most.exceeds else "lead"),
        *(paragraph(one.text) for one in stated(certificate, BELIEVED)),
        *([] if most.exceeds else [paragraph(claim("sure" if is_proved(certificate) else "less-sure").text)]),
        *(paragraph(one.text) for one in said),
        *(paragraph(one.text) for one in stated(certificate, _TRIED)),
        paragraph(claim("no-end").text),
        paragraph(" ".join(claim(key).text for key in ("not-dp", "not-anonymous")[: 2 - certificate.answers])),
    )


def promise_claims(
    epsilon: float, delta: float, /, *, whom: str, what: str, secrets: tuple[str, str] | None = None
) -> tuple[list[Claim], Example]:
    """The promise by an example of one person, and the figures of it; `secrets` are two that are compared."""
    found = example(epsilon, delta)
    first, second = secrets or ("one of two protected secrets", "the other")
    parts = {"whom": whom, "what": what, "after": in_100(found.after), "first": first, "second": second}
    parts["again"] = first if secrets else "the first"
    told = claim("example", **parts)
    if delta:
        told = claim("example-delta", **parts, chance=f"{found.chance:.3g}")
    return [told, claim("seen", what=what, seen=in_100(found.seen))], found


def odds_picture(found: Example, /, *, alarm: bool = False) -> str:
    """What a reader holds before and after; in red where it is more than was asked for."""
    rows = [
        Bar(label="before", value=BEFORE, text=f"{in_100(BEFORE)} in 100", soft=True),
        Bar(label="after, at most", value=found.after, text=f"{in_100(found.after)} in 100", alarm=alarm),
    ]
    title = "How likely a reader may take one secret to be; the whole width is certainty"
    return bars("odds", title, rows, largest=1.0)


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
    first = [claim("values-told", secret=secret).text, claim("who-is-in", order=order).text]
    return [*first, *found, *([] if certificate.rarest is None else [claim("smallest-tells").text])]


def _use(certificate: Fields) -> list[str]:
    """What a receiver has to know before computing anything."""
    rows = [(names, " ".join(one.text for one in found)) for names, found in use_of(certificate)]
    if not rows:
        said = "The answers are estimates already: where a scale is beside one, its noise has it, and the mean 0."
        return [paragraph(" ".join([said, *(one.text for one in stated(certificate, ("quotient",)))]))]
    call = [paragraph(claim("use-call").text)] if can_be_estimated(certificate) else []
    return [named_rows(rows, caption="Before you compute anything from the released columns"), *call]


def _whom(certificate: Fields) -> str:
    if certificate.answers:
        return "of what is protected"
    given = f" but its {shown_names(certificate.given)}" if certificate.given else ""
    return (f"of one {shown(certificate.unit)}" if certificate.unit else "of one record") + given


def _what(certificate: Fields) -> str:
    """What the promise is about: beside kept columns the noisy values alone, among rows with the same given values."""
    if certificate.answers:
        return what_text(certificate)
    given = f", among records with the same {shown_names(certificate.given)}," if certificate.given else ""
    return (
        what_text(certificate).replace("released value", "noisy value" if certificate.kept else "released value")
        + given
    )


def _columns(certificate: Fields) -> str:
    caption = "In the units of each column"
    if certificate.scales:
        caption += "; spread and error of a constant are estimated from the released values"
    if certificate.changed:
        caption = "Under the fitted network. Numbers are grouped into cells; a change is a move to another cell"
    return section(
        "columns",
        "Columns, and their error",
        table(column_heads(certificate), column_rows(certificate), caption=caption, kind="numbers"),
        *(paragraph(one.text) for one in stated(certificate, ("table-changed",))),
        beside(*error_pictures(certificate)),
    )


def _robust(certificate: Fields) -> str:
    what = "delta at this epsilon" if certificate.delta else "pure loss"
    found = robustness(certificate)
    alone = len(certificate.scales) > 1 and len(found) > 1 and not certificate.facts.whole_rows
    of = "of each column alone" if alone else "of the release"
    return section(
        "robust",
        "How robust the promise is",
        aside(robustness_picture(certificate)),
        table(
            ("Under", "Lost"),
            [(laws, text) for laws, _, text in found],
            caption=_lost(what, of + "; under other networks, that of all but 1 % of rows" * bool(certificate.table)),
            kind="fit",
        ),
        *(paragraph(one.text) for one in stated(certificate, _ROBUST)),
    )


def _lost(what: str, of: str) -> str:
    meaning = "" if what.startswith("delta") else ". A loss of x: odds change by a factor of at most e^x"
    return f"The largest {what} {of}, rounded up{meaning}"


def _releases(found: Releases | None) -> str:
    if found is None:
        return paragraph(claim("ledger-none").text)
    listed = table(found.heads, found.rows, caption="The last releases of this data set")
    return listed + "".join(paragraph(one.text) for one in found.claims)


def _signature(certificate: Fields, digest: tuple[str, str] | None) -> list[str]:
    state = claim("signed" if certificate.signature else "unsigned")
    rows = [
        ("This page was made", f"{today()}; puffer_frames {certificate.version}"),
        ("Fingerprint of the release", certificate.fingerprint),
    ]
    key = " --public-key KEY.pem" * bool(certificate.signature)
    name = "FILE" if digest is None else shlex.quote(digest[0])
    if digest is not None:
        rows += [(f"SHA-256 of {shown(digest[0])}", digest[1]), ("To check its bytes", f"sha256sum {name}")]
    rows.append(("To check its columns and values", f"puffer verify {name}{key}"))
    lines = [(line, "") for line in ("Decision: publish, or not", "Name, date, signature")]
    blank = named_rows(lines, caption="To sign by hand", kind="sign")
    return [paragraph(state.text), named_rows(rows, caption="To compare with the file that you have"), blank]


def _annex(certificate: Fields) -> str:
    """Rows of the certificate's text that no part above has."""
    label, rows = "", []
    above = {one.text for one in stated(certificate, _ROBUST if certificate.reproducible else (*BELIEVED, *_ROBUST))}
    for name, text in certificate_rows(certificate):
        label = name or label
        if label in _ANNEX and text not in above and not (certificate.table and label == "measured"):
            rows.append((name or label, text))
    return named_rows(_joined(rows), caption="All that the certificate says beside the parts above")


def _joined(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Texts of one label in one row."""
    found: dict[str, list[str]] = {}
    for label, text in rows:
        found.setdefault(label, []).append(text)
    return [(label, "\n".join(texts)) for label, texts in found.items()]


def _check_text(justification: object) -> None:
    if justification is not None and (not isinstance(justification, str) or not justification.strip()):
        raise ArgumentError(
            "justification",
            rule="a text, or None",
            got="an empty text" if isinstance(justification, str) else f"a {type(justification).__name__}",
            hint="Say in a sentence why this epsilon was chosen.",
        )
