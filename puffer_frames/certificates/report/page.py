"""The report of a certificate: one page that a person can read, print and sign."""

from __future__ import annotations

import math
import shlex
from datetime import UTC, datetime

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.checklist import checklist
from puffer_frames.certificates.report.columns import (
    column_heads,
    column_rows,
    error_pictures,
    robustness,
    robustness_picture,
    useless,
)
from puffer_frames.certificates.report.markup import items, named_rows, page, paragraph, section, table
from puffer_frames.certificates.report.odds import BEFORE, Example, example, in_100
from puffer_frames.certificates.report.others import Releases, Test, audit_claim, releases_of
from puffer_frames.certificates.report.pictures import Bar, aside, bars, beside
from puffer_frames.certificates.report.references import references
from puffer_frames.certificates.report.use import can_be_estimated, use_of
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
from puffer_frames.errors import ArgumentError
from puffer_frames.numbers.presentation import shown, shown_names

_ANNEX = ("noise", "channel", "calibration", "measured", "proved", "assumes", "done", "technical")
_ROBUST = (
    *(
        "joint-any-law",
        "joint-rule",
        "channel-radius",
        "channel-reader",
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
    return page(
        certificate_title(certificate) + ": NOT PRIVATE" * certificate.reproducible,
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
        section("references", "References", items(references(certificate)), kind="small"),
        notice=" ".join(filter(None, (notice, audit_notice))),
    )


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
    if "changed" in certificate.table:
        caption = "Under the fitted network. Numbers are grouped into cells; a change is a move to another cell"
    return section(
        "columns",
        "Columns, and their error",
        table(column_heads(certificate), column_rows(certificate), caption=caption, kind="numbers"),
        *(paragraph(one.text) for one in (*stated(certificate, ("table-changed",)), *useless(certificate))),
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
        table(("Under", "Lost"), [(laws, text) for laws, _, text in found], caption=_lost(what, of), kind="fit"),
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
        ("This page was made", f"{datetime.now(UTC).date().isoformat()}; puffer_frames {certificate.version}"),
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
