"""What two standards ask of a release, answered from its certificate."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.columns import channel_groups
from puffer_frames.certificates.report.words import claim, stated
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.text import BELIEVED, scale_text
from puffer_frames.numbers.presentation import at_most, listed, pairs_text, plain, shown, shown_names

COMPOSING = (
    *("adds-up", "adds-up-series", "adds-up-rows", "planned-releases", "refines", "one-release"),
    "other-rows-again",
    *("channel-again", "channel-again-capped", "table-again", "other-columns", "other-answers"),
)
_BIASING = (
    *("quotient", "clipped", "clipped-to-range", "clipped-answers", "remap", "after", "randomised", "unit-sampled"),
    "nulls",
    *("channel", "channel-rows", "channel-merged", "channel-cells", "channel-clipped", "strata-merged", "null-values"),
    "dates",
    *("table-numbers", "table-shifted"),
)
_AFTER = ("after", "remap", "quotient", "derived-count", "frequencies", "mean-of-series")
_OPEN = (
    *("kept", "kept-tells", "kept-unread", "given-alone", "given-lacking", "order-tells", "nulls", "channel-levels"),
    "remap-values",
)
_LONGEST = 90
"""This many characters of a sentence are enough to find it elsewhere on the page."""
_PER = ("per-record", "per-time", "per-node")


def checklist(certificate: Fields, /, *, justification: str | None, audit: Statement) -> list[tuple[str, str, str]]:
    """Question, where it is asked, and the answer with its grounds, in order.

    Where noise can be drawn again, no answer is a promise.

    Questions are those of NIST SP 800-226 and of ISO/IEC 27559:2022, in the words of this package.
    """
    after = [_said(certificate.review, "review"), _incident(certificate)]
    rows: Sequence[tuple[str, str, Sequence[Statement]]] = [
        ("Intended use", "ISO 6.2", [_said(certificate.intended_use, "use")]),
        ("For whom; access and collection", "ISO 6.2.2; NIST", [_said(certificate.recipients, "recipients")]),
        ("Law, transparency and harm", "ISO 6.3", [_said(certificate.legal_basis, "law"), claim("harm-unsaid")]),
        ("Who answers for it", "ISO 9.2.2", [_issuer(certificate)]),
        ("Unit of privacy", "NIST", [*_unit(certificate), *stated(certificate, _PER)]),
        ("Parameters", "NIST", _parameters(certificate)),
        ("Delta against rows", "NIST", [_delta(certificate)]),
        ("What the reader is taken to know", "ISO 6.2, 7.3", stated(certificate, BELIEVED)),
        ("Largest or average risk", "ISO 7.3.2", [_worst_case(certificate)]),
        ("Known to be in the table or not", "ISO 7.3.3", [_membership(certificate)]),
        ("Laws beyond those of these rows", "ISO 6.2, 7.3", _population(certificate)),
        ("Unprotected data", "NIST; ISO 7.2", _unprotected(certificate)),
        ("Identifiability", "ISO 8.2.2", [] if certificate.answers else [claim("identity")]),
        ("Trust model", "NIST", [trusted(certificate)]),
        ("Side channels", "NIST", _side_channels(certificate)),
        ("Post-processing", "NIST", _after(certificate)),
        ("Bias", "NIST", _bias(certificate)),
        ("Composition", "NIST", stated(certificate, COMPOSING)),
        ("Adversarial test", "ISO 8.2.3", [*stated(certificate, ("table-attacks", "table-unattacked")), audit]),
        ("Why this epsilon", "NIST", [_why(justification)]),
        ("Integrity", "ISO 9.2", [signed(certificate)]),
        ("After the release, and in an incident", "ISO 9.3, 9.4", after),
    ]
    said = {one.text for one in certificate.statements}
    return [
        (question, asked, " ".join(_short(one, said) for one in found) or "Not in the certificate.")
        for question, asked, found in rows
    ]


def _short(one: Statement, said: Collection[str]) -> str:
    """A sentence; of one of the certificate, which another part of the page has, how it begins."""
    if one.text not in said:
        return str(one)
    start = one.text.partition(": ")[0].rstrip(".")
    if len(start) > _LONGEST:
        start = start[:_LONGEST].rpartition(" ")[0] + " …"
    return f"“{start}”: on this page ({one.kind})."


def _said(text: str | None, key: str) -> Statement:
    return claim(f"{key}-said", text=shown(text)) if text else claim(f"{key}-unsaid")


def trusted(certificate: Fields, /) -> Statement:
    """Who is, and with what."""
    return claim("central", key=_key(certificate))


def _key(certificate: Fields) -> str:
    """Of what the key is that it was drawn with."""
    return "noise" if any(certificate.scales.values()) else "release"


def _incident(certificate: Fields) -> Statement:
    contact = f"the contact, {shown(certificate.contact)}" if certificate.contact else "whoever signed for it"
    return claim("recall", key=_key(certificate), contact=contact)


def signed(certificate: Fields, /) -> Statement:
    """Whether it is, and with whose key."""
    if not certificate.signature:
        return claim("unsigned")
    key = f"sha256 {certificate.signed_by}" if certificate.signed_by else "that the record does not name"
    return claim("signed", issuer=shown(certificate.issuer or "an issuer that is not named"), key=key)


def _issuer(certificate: Fields) -> Statement:
    if not certificate.issuer:
        return claim("issuer-unsaid")
    contact = f"; {shown(certificate.contact)}" if certificate.contact else ""
    return claim("issuer-said", issuer=shown(certificate.issuer), contact=contact)


def _why(justification: str | None) -> Statement:
    return claim("epsilon-unsaid") if justification is None else claim("epsilon-said", text=justification)


def _unit(certificate: Fields) -> list[Statement]:
    if certificate.answers:
        return [claim("unit-answer", subject=certificate.subject)]
    if certificate.unit:
        return [claim("unit-rows", unit=shown(certificate.unit), rows=f"{certificate.unit_rows:,}")]
    return [claim("unit-row"), *[claim("one-row")] * bool(certificate.rows_per_person)]


def _parameters(certificate: Fields) -> list[Statement]:
    """All numbers that the guarantee has."""
    parts = [f"epsilon {plain(certificate.epsilon)}, delta {plain(certificate.delta)}"]
    if not certificate.answers:
        parts.append(pairs_text(certificate.pairs, apart=certificate.pairs == "each"))
    parts.append(f"beliefs: {shown_names(certificate.beliefs) or 'none'}")
    if certificate.scales:
        scales = [f"{shown(name)} {scale_text(certificate, name)}" for name in certificate.scales]
        parts.append(f"{certificate.noise} noise of scale {listed(scales, most=6)}")
    for names in channel_groups(certificate):
        cap = certificate.channels[names[0]].get("cap")
        parts.append(f"channel of {shown_names(names)}: cap {'none' if cap is None else plain(cap)}")
    if certificate.releases > 1:
        parts.append(f"{certificate.releases:,} releases")
    return [Statement(key="parameters", kind="said", text="; ".join(parts) + ".")]


def _delta(certificate: Fields) -> Statement:
    if certificate.reproducible:
        return claim("no-promise")
    if not certificate.delta:
        return claim("delta-zero")
    if certificate.answers:
        return claim("delta-answers", delta=plain(certificate.delta))
    product, _ = at_most(certificate.delta * certificate.rows, digits=2)
    return claim("delta-rows", product=f"{product:.2g}") if product < 1 else claim("delta-weak")


def _worst_case(certificate: Fields) -> Statement:
    if certificate.reproducible:
        return claim("no-promise")
    but = f", but for delta = {plain(certificate.delta)}" if certificate.delta else " and whatever is released"
    return claim("worst-case", but=but)


def _membership(certificate: Fields) -> Statement:
    """Whether the risk is that of somebody who is known to be in the table, which is the larger one."""
    if certificate.reproducible:
        return claim("no-promise")
    if certificate.answers:
        return claim("unit-answer", subject=certificate.subject)
    return claim("in-the-table")


def _population(certificate: Fields) -> list[Statement]:
    keys = (
        *("population", "population-chain", "population-units", "channel-population", "channel-radius", "wider"),
        *("table-refits", "table-laws"),
    )
    return stated(certificate, keys) or stated(certificate, ("records", "units"))


def _unprotected(certificate: Fields) -> list[Statement]:
    found = stated(certificate, _OPEN)
    if not (certificate.kept or certificate.given or certificate.table):
        found = [claim("nothing-beside"), *found]
    return found if certificate.answers else [*found, claim("rows-public")]


def _side_channels(certificate: Fields) -> list[Statement]:
    return [*(one for one in certificate.statements if one.kind == "technical"), claim("machine")]


def _after(certificate: Fields) -> list[Statement]:
    found = stated(certificate, _AFTER)
    if not found and certificate.scales and not certificate.answers:
        found = [claim("nothing-after")]
    return [*found, claim("no-promise" if certificate.reproducible else "closed")]


def _bias(certificate: Fields) -> list[Statement]:
    found = stated(certificate, _BIASING)
    if not found and any(certificate.scales.values()):
        found = [claim("no-bias")]
    return found if certificate.table else [*found, claim("small-groups")]
