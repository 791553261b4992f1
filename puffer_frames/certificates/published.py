"""What is made of a certificate for others to read: a page, and records for registries."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias, cast

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.checklist import COMPOSING, trusted
from puffer_frames.certificates.report.page import certificate_page
from puffer_frames.certificates.report.words import NOT_SAID, claim, stated
from puffer_frames.certificates.statement import of_given, of_kind
from puffer_frames.certificates.text import (
    Headline,
    certificate_rows,
    certificate_title,
    headline,
    meaning_text,
    what_text,
)
from puffer_frames.errors import ArgumentError, ArgumentTypeError, FileTakenError, UncoveredFrameError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.csv_texts import AS_THEY_ARE, TextRoles
from puffer_frames.frames.files import SUFFIXES, format_of, level_kinds, read_rows, write_text
from puffer_frames.frames.matching import compare
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import pairs_text, plain, shown, shown_names

_FORMATS = {"parquet": "application/x-parquet", "csv": "text/csv"}
_TYPES = {"truth": "sc:Boolean", "whole": "sc:Integer", "number": "sc:Float", "text": "sc:Text"}
_VERSION = "http://mlcommons.org/croissant/1.0"
_TERMS = (
    *("@language", "@vocab", "citeAs", "column", "conformsTo", "cr", "rai", "data", "dataType", "dct"),
    *("equivalentProperty", "examples", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references"),
    *("regex", "repeated", "replace", "samplingRate", "sc", "separator", "source", "subField", "transform"),
)
_CONTEXT: Mapping[str, Any] = {term: f"cr:{term}" for term in _TERMS} | {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
"""The context that the format fixes."""


def croissant_record(certificate: Fields, path: Path, /, *, url: str | None, licence: str | None) -> dict[str, Any]:
    """The description of a released file; what nobody has said is left out, or "not said" where the format needs it."""
    _check_texts(url=url, license=licence)
    kind = format_of(path)
    if kind not in _FORMATS:
        got = f"a {kind}" if kind == "folder" else f"a file of {kind}"
        hint = "Write the release to one file of these formats."
        raise ArgumentError("the file", rule="Parquet or CSV", got=got, hint=hint)
    rows = _released_rows(certificate, path, kind)
    record: dict[str, Any] = {
        "@context": dict(_CONTEXT),
        "@type": "sc:Dataset",
        "name": shown(certificate.dataset or NOT_SAID),
        "description": _description(certificate),
        "conformsTo": [_VERSION, "http://mlcommons.org/croissant/RAI/1.0"],
        "isLiveDataset": False,
        "distribution": [_file(path, _FORMATS[kind])],
        "recordSet": [_rows(certificate, path.name, level_kinds(rows.lazy()))],
        "rai:dataLimitations": of_kind(certificate.statements, "not covered"),
        "rai:dataBiases": [one.text for one in stated(certificate, _BIASING)] or [claim("small-groups").text],
        "rai:personalSensitiveInformation": [f"Protected: {certificate.subject}."],
        "rai:dataPreprocessingProtocol": [
            *(text for label, text in certificate_rows(certificate) if label in _DONE),
            *(one.text for one in stated(certificate, _TABLE)),
        ],
    }
    if certificate.issuer:
        record["creator"] = {"@type": "sc:Organization", "name": shown(certificate.issuer)}
    said = {
        "datePublished": certificate.created,
        "url": url,
        "license": licence,
        "rai:dataUseCases": certificate.intended_use and [shown(certificate.intended_use)],
    }
    return record | {name: text for name, text in said.items() if text}


def released_roles(certificate: Fields, /) -> tuple[TextRoles, ...]:
    """How the columns of a released CSV file may be meant: the fingerprint tells which it is.

    Kept texts and labels are as they are written; released dates are labels or dates. Another version may have written
    numbers otherwise.
    """
    exact = TextRoles(exact=(*certificate.kept, *certificate.given, *certificate.channels), released=True)
    return exact, replace(exact, dates=tuple(certificate.public)), AS_THEY_ARE


_COLUMNS = "the columns of the file"


def _released_rows(certificate: Fields, path: Path, kind: str) -> NativeFrame:
    """The rows of a file that is the release, or is declared as derived from it; raises UncoveredFrameError."""
    known, found = certificate.public + certificate.kept + certificate.given, "uncovered"
    for roles in released_roles(certificate):
        rows = read_rows(path, schema={}, streaming=True, roles=roles)
        frame = path if kind == "parquet" else rows
        found = compare(frame, known=known, rows=certificate.rows, value=certificate.fingerprint)
        if found == "intact" or (found == "derived" and certificate.derived):
            return rows
    names = found == "uncovered"
    raise UncoveredFrameError(
        _COLUMNS if names else "the file",
        rule="columns of the certificate" if names else "the release of the certificate, as it was written",
        got="another one" if names else "other values, rows or another order",
        hint="Name the file of this release." + " A CSV file with dates or times: write it as Parquet." * (not names),
    )


_TABLE = ("table", "table-derived")
"""How the columns of a whole table were released."""
_BIASING = (
    *("remap", "after", "randomised", "channel", "channel-rows", "channel-merged", "channel-cells"),
    *("clipped", "clipped-to-range", *_TABLE, "table-shifted"),
)
_DONE = ("noise", "channel")


def _description(certificate: Fields) -> str:
    if certificate.reproducible:
        return claim("no-promise").text
    meaning = meaning_text(certificate)
    return f"{certificate_title(certificate)}. {meaning[:1].upper()}{meaning[1:]}. {claim('not-dp').text}"


def _file(path: Path, encoding: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": "release",
        "name": shown(path.name),
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": encoding,
        "sha256": _sha256(path),
    }


def _rows(certificate: Fields, name: str, kinds: Mapping[str, str]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"rows/{k}",
            "name": column,
            "description": _fate(certificate, column),
            "dataType": _TYPES[kind],
            "source": {"fileObject": {"@id": "release"}, "extract": {"column": column}},
        }
        for k, (column, kind) in enumerate(kinds.items())
    ]
    return {"@type": "cr:RecordSet", "@id": "rows", "name": "rows", "description": shown(name), "field": fields}


def _fate(certificate: Fields, column: str) -> str:
    if column in certificate.scales and not certificate.scales[column]:
        return "No noise was added."
    if column in certificate.scales:
        return f"{certificate.noise} noise of scale {certificate.scales[column]:.6g}."
    if column in certificate.channels:
        return "Released through a channel: labels are replaced at random."
    if certificate.table and column in certificate.public:
        return "Random values of the column, often the true ones, or computed from another released column."
    if column in certificate.given:
        return f"Released {of_given(certificate.statements)}; the guarantee is beyond what it tells."
    if column in certificate.public:
        return "Answers with noise."
    return "Beside the answers." if certificate.answers else "Released as it was, outside the guarantee."


Node: TypeAlias = "str | int | float | Sequence[str] | Mapping[str, Node]"

_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
"""What no reader of YAML takes for anything but a text."""


def yaml_text(node: Mapping[str, Node], /) -> str:
    """A document: keys are plain words, and no text is folded or guessed at."""
    return "\n".join(_yaml_lines(node, "")) + "\n"


def _yaml_lines(node: Mapping[str, Node], margin: str) -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield f"{margin}{key}:"
            yield from _yaml_lines(value, margin + "  ")
        elif isinstance(value, (str, int, float)):
            yield f"{margin}{key}: {_scalar(value)}"
        else:
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {_scalar(entry)}" for entry in value)


def _scalar(value: str | float) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    if isinstance(value, str):
        return json.dumps("\n".join(map(shown, value.split("\n"))), ensure_ascii=False)
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    # YAML 1.1 takes 1e-06 for a text: a float has a point
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text


def registry_record(
    certificate: Fields, *, authors: Sequence[str], published: str | None, **said: str | None
) -> dict[str, Node]:
    """The record by the names of the schema; what nobody has said is "not said"."""
    if not (isinstance(authors, (list, tuple)) and all(isinstance(one, str) and one.strip() for one in authors)):
        raise ArgumentError("authors", rule="a list of names", got="something else", hint="Leave it out.")
    _check_texts(**said)
    most = _known_loss(certificate)
    name = certificate.dataset or NOT_SAID
    curator = certificate.issuer or NOT_SAID
    day = _day(published, certificate.created)
    basic: dict[str, Node] = {
        "name": name,
        "data_curators": [curator],
        "intended_use": certificate.intended_use or NOT_SAID,
        "data_product_type": "Summary statistics" if certificate.answers else "Dataset",
        "data_product_region": said["region"] or NOT_SAID,
        "description": _about_release(certificate),
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
                "justification": said["justification"] or NOT_SAID,
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
        "actors": _lines([trusted(certificate).text, *(str(one) for one in stated(certificate, _BELIEFS))]),
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


def _about_release(certificate: Fields) -> str:
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
        got, hint = "noise that came from a seed", "Release it again without rng=."
        raise ArgumentError("the release", rule="a private release", got=got, hint=hint)
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
    said = [
        claim("relation"),
        claim("relation-compared", what=what_text(certificate), secrets=secrets, given=given, beliefs=beliefs),
        claim("relation-distance"),
        claim("relation-output", measure=measure, bound=plain(most.delta or most.epsilon)),
    ]
    return _lines(one.text for one in said)


def _before(certificate: Fields) -> list[str]:
    found = of_kind(certificate.statements, "done") or [claim("nothing-before").text]
    return [*found, *(one.text for one in stated(certificate, ("learned", "channel-learned")))]


def _mechanisms(certificate: Fields) -> str:
    wanted = ("noise", "channel", "calibration", "technical")
    parts = [f"{label}: {text}" for label, text in certificate_rows(certificate) if label in wanted]
    parts += [one.text for one in stated(certificate, _TABLE)]
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


def _check_texts(**given: object) -> None:
    for name, text in given.items():
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise ArgumentError(name, rule="a text", got="something else", hint="Leave it out.")


def check_path(path: object, /, *, overwrite: object) -> Path:
    """The place of a report: the path of an .html file, of none that is there unless it may be replaced."""
    what = "the path of the report"
    check_flag(overwrite, "overwrite")
    if not isinstance(path, (str, Path)):
        hint = 'Write report("release.html").'
        raise ArgumentTypeError(what, rule="a str or a Path", got=f"a {type(path).__name__}", hint=hint)
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        hint = 'Write report("release.html"), and print it from a browser.'
        raise ArgumentError(what, rule="one that ends in .html", got="another one", hint=hint)
    if os.path.lexists(place) and not overwrite:
        hint = "Say overwrite=True to replace it."
        raise FileTakenError(what, rule="that of a new file", got="one that is there", hint=hint)
    return place


def _digest_of_file(path: object, /) -> tuple[str, str]:
    """The name of a file, and the SHA-256 of its bytes; raises ArgumentError for what is no path of a file."""
    if not isinstance(path, (str, Path)):
        got, hint = f"a {type(path).__name__}", 'Write file="released.parquet".'
        raise ArgumentTypeError("file", rule="a str or a Path", got=got, hint=hint)
    if Path(path).is_dir():
        raise ArgumentError("file", rule="a single file", got="a folder", hint="Leave it out, or name one file.")
    return Path(path).name, _sha256(Path(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _is_published(certificate: Fields, path: Path, /) -> bool:
    """Whether a file is known to hold the release, or this certificate: one of CSV holds no types, and other formats
    are not read.

    Raises UncoveredFrameError for a Parquet file that is not the release, a CSV file of other columns, and the file of
    another certificate.
    """
    kind = SUFFIXES.get(path.suffix.lower())
    if path.suffix.lower() == ".json":
        try:
            found = cast(Any, certificate).load(path)
        except ArgumentError:  # no certificate
            return False
        if found != certificate:
            rule, got = "the release, or this certificate", "another certificate"
            raise UncoveredFrameError("the file", rule=rule, got=got, hint="Name its own file.")
        return True
    try:
        return kind in _FORMATS and _released_rows(certificate, path, kind) is not None
    except UncoveredFrameError as error:
        if kind != "csv" or error.what == _COLUMNS:
            raise
        return False


class Published(Fields):
    """A certificate with the forms in which it is published."""

    __slots__ = ()

    @short_traceback
    def report(
        self,
        path: str | Path,
        /,
        *,
        ledger: object = None,
        audit: object = None,
        justification: str | None = None,
        file: str | Path | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the certificate as a page that a person can read, print and sign.

        Parameters
        ----------
        path : str or Path
            Of a new .html file. It is written whole or not at all.
        ledger : Ledger, optional
            Lists the releases of the data set that the certificate names, and what they guarantee together.
        audit : object, optional
            What a test of the release returned: anything with `passed`. Its figures are not printed.
        justification : str, optional
            Why this epsilon was chosen, in the words of whoever issues the release.
        file : str or Path, optional
            The file that is published, with the release or this certificate: the page states its SHA-256, the
            commands that check it, and whether its values could not be compared with the release.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For another path, a file that is there, a ledger without releases of this data set, and what is no ledger,
            no test or no text.
        UncoveredFrameError
            For a table of Parquet that is not the release, one of CSV with other columns, and another certificate.
        LedgerError
            For a line of the ledger that no release has written.
        OSError
            Where the page cannot be written there, and the file that is published cannot be read.

        Notes
        -----
        The page says what the certificate says, and may be published with it. It has no scripts, needs nothing from
        elsewhere, and fits on two pages of A4 where a release has few columns (docs/certificates.md).

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> released.puffer.certificate.report(tempfile.mkdtemp() + "/release.html", justification="A usual value.")
        """
        place = check_path(path, overwrite=overwrite)
        digest = None if file is None else (*_digest_of_file(file), _is_published(self, Path(file)))
        page = certificate_page(self, ledger=ledger, audit=audit, justification=justification, digest=digest)
        write_text(page, place, new=not overwrite)

    @short_traceback
    def to_registry(
        self,
        *,
        published: str | None = None,
        authors: Sequence[str] = (),
        region: str | None = None,
        justification: str | None = None,
    ) -> str:
        """The deployment record that the OpenDP deployments registry takes, as YAML.

        Parameters
        ----------
        published : str, optional
            Date of the release, as 2026-01-31; by default that of the certificate.
        authors : list of str
            Who fills out the record; by default the issuer.
        region : str, optional
            Which region the data describe.
        justification : str, optional
            Why this epsilon was chosen.

        Returns
        -------
        str
            A draft: its variant is "Custom", it names the privacy relation, and says that this is not differential
            privacy. What nobody has said is "not said".

        Raises
        ------
        ArgumentError
            Where there is no date, for what is no text, and for a release from a seed.

        Notes
        -----
        The record has the fields of `schemas/deployments-schema.yaml` of `opendp/deployments-registry-data`. Texts of
        it are shown as Markdown there.

        Examples
        --------
        >>> import numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> print(released.puffer.certificate.to_registry(published="2026-01-31").splitlines()[1])
        status: "Draft"
        """
        said = {"region": region, "justification": justification}
        return yaml_text(registry_record(self, authors=authors, published=published, **said))

    @short_traceback
    def to_croissant(
        self,
        path: str | Path,
        /,
        *,
        url: str | None = None,
        license: str | None = None,  # noqa: A002 - its field
    ) -> dict[str, Any]:
        """The description of a released file in the Croissant format 1.0 (JSON-LD).

        Parameters
        ----------
        path : str or Path
            Of the release: Parquet or CSV.
        url : str, optional
            Where the release is published.
        license : str, optional
            Its licence, by name or address.

        Returns
        -------
        dict
            JSON types, for `json.dump`: the file with its SHA-256, its columns, and in the fields of Croissant RAI what
            was done and what is not covered.

        Raises
        ------
        ArgumentError
            For another kind of file, and for an address or a licence that is no text.
        UncoveredFrameError
            For a file that is not the release, nor declared as derived from it: a column that the certificate does not
            know, or other values, such as the raw ones.
        OSError, TableFileError
            Where the file cannot be read.

        Examples
        --------
        >>> import tempfile, numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5)
        >>> path = tempfile.mkdtemp() + "/released.parquet"
        >>> released.puffer.write_parquet(path)
        >>> released.puffer.certificate.to_croissant(path)["recordSet"][0]["field"][0]["dataType"]
        'sc:Float'
        """
        return croissant_record(self, Path(path), url=url, licence=license)
