"""A release to files: the table with its certificate, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from puffer_frames.certificates.record import Certificate
from puffer_frames.doors.command.logs import LOG
from puffer_frames.doors.command.places import beside, new_folder
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.csv_texts import TextRoles
from puffer_frames.frames.files import format_of, read_rows, schema_of, write_arrow, write_csv, write_text
from puffer_frames.frames.table import open_table
from puffer_frames.verbs.attached import certificate_of, collect, read_certificate, write_release


def write(released: NativeFrame, path: Path, /, *, folder: bool) -> Certificate:
    """Write a release, and return the certificate that lies in the file or beside it.

    A plan goes to Parquet batch by batch; for other formats its rows are collected. The certificate beside a CSV file
    is written first: a run that is stopped in between leaves no table without one.

    Raises
    ------
    CalibrationError, LedgerError
        As `puffer_frames.privatize` for a plan, when it is run.
    OSError
        Where a file cannot be written.
    """
    if folder:
        with new_folder(path) as part:
            write_release(released, part, durable=True)
            return read_certificate(part)
    kind = format_of(path)
    if kind == "parquet":
        write_release(released, path, durable=True)
        return read_certificate(path)
    rows = collect(released) if open_table(released).is_plan else released
    certificate = certificate_of(rows)
    if kind == "arrow":
        write_arrow(rows, path, certificate.to_dict())
    else:
        text = json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(text + "\n", beside(path))
        write_csv(rows, path)
        _say_types(rows, path, certificate)
    return certificate


def released_roles(certificate: Certificate, /) -> TextRoles:
    """How the columns of a released CSV file are read: kept texts and labels as they are written."""
    return TextRoles(exact=(*certificate.kept, *certificate.given, *certificate.channels))


def _say_types(rows: NativeFrame, path: Path, certificate: Certificate) -> None:
    """CSV holds no types: say which ones `verify` must be told."""
    found = certificate.verify(read_rows(path, schema={}, streaming=False, roles=released_roles(certificate)))
    if found == "derived":
        types = schema_of(rows, certificate.public + certificate.kept + certificate.given)
        LOG.warning(
            "a CSV file holds no types: verify it with --schema %s", ",".join(f"{k}={v}" for k, v in types.items())
        )
