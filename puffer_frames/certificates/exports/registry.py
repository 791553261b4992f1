"""The deployment record of a release, as the OpenDP deployments registry has it (schemas/deployments-schema.yaml)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date

from puffer_frames.certificates.exports.croissant import TABLE
from puffer_frames.certificates.exports.yaml_text import Node
from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.checklist import COMPOSING
from puffer_frames.certificates.report.words import NOT_SAID, claim, stated
from puffer_frames.certificates.statement import of_kind
from puffer_frames.certificates.text import Headline, certificate_rows, headline, what_text
from puffer_frames.errors import ArgumentError
from puffer_frames.numbers.presentation import pairs_text, plain, shown, shown_names

PRIVATE_ONLY = "a private release"


def registry_record(
    certificate: Fields,
    /,
    *,
    authors: Sequence[str],
    region: str | None,
    justification: str | None,
    published: str | None,
) -> dict[str, Node]:
    """The record by the names of the schema; what nobody has said is "not said".

    Raises
    ------
    ArgumentError
        For a release from a seed, one of rows whose loss has no known bound, without a date, for a date that is none,
        and for authors or texts that are none.
    """
    _check_texts(authors=authors, region=region, justification=justification)
    most = _known_loss(certificate)
    name = certificate.dataset or NOT_SAID
    curator = certificate.issuer or NOT_SAID
    day = _day(published, certificate.created)
    basic: dict[str, Node] = {
        "name": name,
        "data_curators": [curator],
        "intended_use": certificate.intended_use or NOT_SAID,
        "data_product_type": "Summary statistics" if certificate.answers else "Dataset",
        "data_product_region": region or NOT_SAID,
        "description": _description(certificate),
        "publication_date": day,
    }
    return {
        "url_slug": _slug(name, curator, day[:4]),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": "Custom",
                "data_domain": _domain(certificate),
                "unprotected_quantities": _lines(of_kind(certificate.statements, "not covered")),
            },
            "privacy_loss": {
                "privacy_unit": _unit(certificate),
                "privacy_unit_details": _relation(certificate),
                "privacy_parameters": {"epsilon": most.epsilon, "delta": most.delta},
                "privacy_parameters_details": dict(certificate_rows(certificate))["meaning"],
            },
            "deployment_model": _model(certificate),
            "accounting": _accounting(certificate),
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _lines(_before(certificate)),
                "mechanisms": _mechanisms(certificate),
                "justification": justification or NOT_SAID,
            },
            "administrative": {
                "notes": _lines([claim("not-dp").text, f"Fingerprint of the release: {certificate.fingerprint}"]),
                "registry_authors": list(authors) or [curator],
            },
        },
    }


_BELIEFS = ("beliefs", "chain", "network", "law", "records", "units")


def _model(certificate: Fields) -> dict[str, Node]:
    """Who is trusted, and how often is released."""
    return {
        "model_name": "Central",
        "actors": _lines([claim("central").text, *(str(one) for one in stated(certificate, _BELIEFS))]),
        "release_type": "Many releases" if certificate.releases > 1 else "One release",
        "release_type_details": _lines([one.text for one in stated(certificate, COMPOSING)]),
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _accounting(certificate: Fields) -> dict[str, Node]:
    return {
        "post_processing": _lines([one.text for one in stated(certificate, ("after", "remap"))] or [NOT_SAID]),
        "composition": _lines([one.text for one in stated(certificate, COMPOSING)]),
    }


def _description(certificate: Fields) -> str:
    rows = dict(certificate_rows(certificate))
    return f"Released: {rows['released']}. Protected: {certificate.subject}. {claim('not-dp').text}"


def _domain(certificate: Fields) -> str:
    if certificate.answers:
        return _lines(of_kind(certificate.statements, "assumed"))
    return (
        f"Tables of records with the secret {shown_names(certificate.secret)} and the columns "
        f"{shown_names(certificate.public)}, whose laws given each secret are those of a belief named here."
    )


def _unit(certificate: Fields) -> str:
    if certificate.answers:
        return certificate.subject
    if certificate.unit:
        return f"All rows of one {shown(certificate.unit)}, at most {certificate.unit_rows:,}"
    return "One record"


def _known_loss(certificate: Fields) -> Headline:
    """The loss of a release that is private, and whose loss is known; raises ArgumentError for another one."""
    if certificate.reproducible:
        raise ArgumentError(
            "the release", rule=PRIVATE_ONLY, got="noise that came from a seed", hint="Release it again without rng=."
        )
    most = headline(certificate)
    if math.isinf(most.epsilon):
        raise ArgumentError(
            "the release", rule="one whose loss is known", got="more than was asked for", hint="Calibrate these rows."
        )
    return most


def _relation(certificate: Fields) -> str:
    """The privacy relation: what is compared, how far apart it may be, and how the outputs are compared."""
    secrets = (
        certificate.subject if certificate.answers else pairs_text(certificate.pairs, apart=certificate.pairs == "each")
    )
    given = f", given the same {shown_names(certificate.given)}" if certificate.given else ""
    measure = f"hockey-stick divergence at {plain(certificate.epsilon)}" if certificate.delta else "max-divergence"
    beliefs, most = shown_names(certificate.beliefs) or NOT_SAID, headline(certificate)
    return _lines(
        [
            claim("relation").text,
            claim("relation-compared", what=what_text(certificate), secrets=secrets, given=given, beliefs=beliefs).text,
            claim("relation-distance").text,
            claim("relation-output", measure=measure, bound=plain(most.delta or most.epsilon)).text,
        ]
    )


def _before(certificate: Fields) -> list[str]:
    found = of_kind(certificate.statements, "done") or [claim("nothing-before").text]
    return [*found, *(one.text for one in stated(certificate, ("learned", "channel-learned")))]


def _mechanisms(certificate: Fields) -> str:
    wanted = ("noise", "channel", "calibration", "technical")
    parts = [f"{label}: {text}" for label, text in certificate_rows(certificate) if label in wanted]
    parts += [one.text for one in stated(certificate, TABLE)]
    return _lines([*parts, claim("machine").text, f"puffer_frames {certificate.version}"])


def _lines(texts: Iterable[str]) -> str:
    return "\n\n".join(texts)


def _slug(*parts: str) -> str:
    """As the registry makes it of name, curator and year."""
    return "-".join(re.sub(r"\W+", "-", part.lower()) for part in parts).replace("_", "-")


def _day(published: str | None, created: str | None) -> str:
    """The date of publication, as the schema wants it."""
    text = published if published is not None else (created or "")[:10]
    try:
        return date.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        raise ArgumentError(
            "published",
            rule="the date of the release, as 2026-01-31",
            got="none" if not text else "something else",
            hint='Say it here, or about={"created": ...} when you release.',
        ) from None


def _check_texts(*, authors: object, region: object, justification: object) -> None:
    many = isinstance(authors, (list, tuple)) and all(isinstance(one, str) and one.strip() for one in authors)
    for name, fine in (
        ("authors", many),
        ("region", region is None or (isinstance(region, str) and bool(region.strip()))),
        ("justification", justification is None or (isinstance(justification, str) and bool(justification.strip()))),
    ):
        if not fine:
            rule = "a list of names" if name == "authors" else "a text"
            raise ArgumentError(name, rule=rule, got="something else", hint="Leave it out.")
