"""Certificates where they are found: attached to a frame, or in a Parquet file."""

from __future__ import annotations

from pathlib import Path

from puffer_frames.certificate import Certificate, Verdict
from puffer_frames.errors import UncoveredFrameError
from puffer_frames.frames.attach import read_metadata
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.parquet import read_parquet_metadata, write_parquet_file


def certificate_of(frame: NativeFrame, /) -> Certificate:
    """The certificate attached to a frame of any kind; `frame.puffer.certificate` where the frame has an accessor.

    Parameters
    ----------
    frame : pandas, Polars or Spark frame

    Returns
    -------
    Certificate

    Raises
    ------
    UncoveredFrameError
        Where there is none, or where the frame has a column that it does not know.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
    >>> certificate_of(released).epsilon
    1.0
    """
    certificate = _attached(frame)
    certificate.require_known(frame)
    return certificate


def write_parquet(frame: NativeFrame, path: str | Path, /) -> None:
    """Write a release to a Parquet file, with its certificate in the file's metadata.

    Parameters
    ----------
    frame : pandas or Polars frame
        With its certificate attached.
    path : str or Path

    Returns
    -------
    None

    Raises
    ------
    UncoveredFrameError
        Where no certificate is attached, or for a column that it does not know.

    Notes
    -----
    pandas' own `to_parquet` keeps the certificate too; Polars' `write_parquet` does not.

    Examples
    --------
    >>> import pandas as pd, puffer_frames, tempfile
    >>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
    >>> path = tempfile.mkdtemp() + "/released.parquet"
    >>> released.puffer.write_parquet(path)
    >>> puffer_frames.read_certificate(path).verify(path)
    'intact'
    """
    write_parquet_file(frame, path, certificate_of(frame).to_dict())


def read_certificate(path: str | Path, /) -> Certificate:
    """Read the certificate from the metadata of a Parquet file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Certificate

    Raises
    ------
    UncoveredFrameError
        Where the file holds none.
    FileNotFoundError
        Where there is no such file.
    """
    plain = read_parquet_metadata(path)
    if plain is None:
        raise UncoveredFrameError(
            "the Parquet file",
            rule="one with a certificate in its metadata",
            got="a file without one",
            hint="Write releases with released.puffer.write_parquet(path).",
        )
    return Certificate.from_dict(plain)


def verify(frame: NativeFrame, certificate: Certificate | None = None, /) -> Verdict:
    """Compare a frame with a certificate, by default the attached one.

    Returns
    -------
    "intact", "derived" or "uncovered"
        See `Certificate.verify`.

    Raises
    ------
    UncoveredFrameError
        Where no certificate is given and none is attached.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
    >>> verify(released), verify(released.round(1)), verify(released.assign(raw=people["score"]))
    ('intact', 'derived', 'uncovered')
    """
    if certificate is not None:
        return certificate.verify(frame)
    return _attached(frame).verify(frame)


def _attached(frame: NativeFrame) -> Certificate:
    plain = read_metadata(frame)
    if plain is None:
        raise UncoveredFrameError(
            "the frame",
            rule="a release with its certificate attached",
            got="a frame without one",
            hint="Polars and Spark forget it at every operation: keep it and use certificate.attach(frame).",
        )
    return Certificate.from_dict(plain)
