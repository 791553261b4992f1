"""What a released file is, in the Croissant format 1.0 of MLCommons (JSON-LD)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.words import NOT_SAID, claim, stated
from puffer_frames.certificates.statement import of_kind
from puffer_frames.certificates.text import certificate_rows, certificate_title, meaning_text
from puffer_frames.errors import ArgumentError, UncoveredFrameError
from puffer_frames.frames.files import format_of, level_kinds, read_rows
from puffer_frames.frames.matching import unknown_names
from puffer_frames.numbers.presentation import shown

_FORMATS = {"parquet": "application/x-parquet", "csv": "text/csv"}
_TYPES = {"truth": "sc:Boolean", "whole": "sc:Integer", "number": "sc:Float", "text": "sc:Text"}
_VERSION = "http://mlcommons.org/croissant/1.0"
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the format fixes."""


def croissant_record(certificate: Fields, path: Path, /, *, url: str | None, licence: str | None) -> dict[str, Any]:
    """The description of a released file; what nobody has said is left out, or "not said" where the format needs it.

    Raises
    ------
    ArgumentError
        For another file than Parquet or CSV, and for an address or a licence that is no text.
    UncoveredFrameError
        For a file with a column that the certificate does not know.
    OSError, TableFileError
        Where the file cannot be read.
    """
    for name, text in (("url", url), ("license", licence)):
        if text is not None and (not isinstance(text, str) or not text.strip()):
            raise ArgumentError(name, rule="a text", got="something else", hint="Leave it out.")
    kind = format_of(path)
    if kind not in _FORMATS:
        raise ArgumentError(
            "the file", rule="Parquet or CSV", got=f"a {kind}" if kind == "folder" else f"a file of {kind}",
            hint="Write the release to one file of these formats.",
        )  # fmt: skip
    rows = read_rows(path, schema={}, streaming=True)
    if unknown_names(rows, known=certificate.public + certificate.kept + certificate.given, rows=certificate.rows):
        raise UncoveredFrameError(
            "the columns of the file",
            rule="columns of the certificate",
            got="another one",
            hint="Name the file of this release.",
        )
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
            *(one.text for one in stated(certificate, TABLE)),
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


TABLE = ("table", "table-derived")
"""How the columns of a whole table were released."""
_BIASING = (
    "remap",
    "after",
    "randomised",
    "channel",
    "channel-rows",
    "channel-merged",
    "channel-cells",
    "clipped",
    "clipped-to-range",
    *TABLE,
    "table-shifted",
)
_DONE = ("noise", "channel")


def _description(certificate: Fields) -> str:
    if certificate.reproducible:
        return claim("no-promise").text
    meaning = meaning_text(certificate)
    return f"{certificate_title(certificate)}. {meaning[:1].upper()}{meaning[1:]}. {claim('not-dp').text}"


def _file(path: Path, encoding: str) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": "release",
        "name": shown(path.name),
        "contentUrl": path.name,
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": encoding,
        "sha256": digest,
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
        return "No noise was needed."
    if column in certificate.scales:
        return f"{certificate.noise} noise of scale {certificate.scales[column]:.6g}."
    if column in certificate.channels:
        return "Released through a channel: labels are replaced at random."
    if certificate.table and column in certificate.public:
        return "Random values of the column, often the true ones, or computed from another released column."
    if column in certificate.given:
        return "Released as it was; the guarantee is beyond what it tells."
    if column in certificate.public:
        return "Answers with noise."
    return "Beside the answers." if certificate.answers else "Released as it was, outside the guarantee."
