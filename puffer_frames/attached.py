"""Certificates where they are found: attached to a frame, or in a Parquet file."""

from __future__ import annotations

from pathlib import Path

from puffer_frames.certificate import Certificate, Verdict
from puffer_frames.errors import UncoveredFrameError
from puffer_frames.frames.attach import read_metadata
from puffer_frames.frames.columns import NativeFrame, is_lazy
from puffer_frames.frames.fingerprint import fingerprint
from puffer_frames.frames.parquet import read_parquet_metadata, write_parquet_file
from puffer_frames.frames.source import collect_plan, sink_plan


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
    _require_rows(frame)
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
    if is_lazy(frame):
        sink_parquet(frame, path)
    else:
        write_parquet_file(frame, path, certificate_of(frame).to_dict())


def collect(frame: NativeFrame, /) -> NativeFrame:
    """Run a released plan, and attach its certificate to the rows.

    Parameters
    ----------
    frame : polars.LazyFrame
        What `privatize` returned for a lazy frame, before any other step.

    Returns
    -------
    polars.DataFrame

    Raises
    ------
    UncoveredFrameError
        For another frame.
    CalibrationError
        Where the plan does not give the rows that the noise was calibrated for.

    Notes
    -----
    The noise of a row is the same in every run. **Cost**: one run of the plan, with the streaming engine.

    Examples
    --------
    >>> import polars as pl, puffer_frames
    >>> people = pl.LazyFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
    >>> released.puffer.collect().puffer.verify()
    'intact'
    """
    rows = collect_plan(frame) if is_lazy(frame) else None
    if rows is None:
        raise _no_plan()
    certificate = _attached(frame).with_fingerprint(fingerprint(rows))
    return certificate.attach(rows)


def sink_parquet(frame: NativeFrame, path: str | Path, /) -> None:
    """Write a released plan to a Parquet file with its certificate in the metadata, in one pass.

    Parameters
    ----------
    frame : polars.LazyFrame
        What `privatize` returned for a lazy frame, before any other step.
    path : str or Path
        Of a file in a local folder. A run that fails leaves no file.

    Returns
    -------
    None

    Raises
    ------
    UncoveredFrameError, CalibrationError
        As `collect`.

    Notes
    -----
    **Cost**: one run of the plan with the streaming engine; memory for some batches of rows.

    Examples
    --------
    >>> import polars as pl, puffer_frames, tempfile
    >>> people = pl.LazyFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> path = tempfile.mkdtemp() + "/released.parquet"
    >>> people.puffer.privatize(secret="group", public="score", epsilon=1.0).puffer.sink_parquet(path)
    >>> puffer_frames.read_certificate(path).verify(path)
    'intact'
    """
    found = read_metadata(frame) if is_lazy(frame) else None
    if found is None:
        raise _no_plan()
    certificate = Certificate.from_dict(found)
    if not sink_plan(frame, path, lambda value: certificate.with_fingerprint(value).to_dict()):
        raise _no_plan()


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
        Where no certificate is given and none is attached, and for a plan that was not run.

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
    attached = _attached(frame)
    _require_rows(frame)
    return attached.verify(frame)


def _require_rows(frame: NativeFrame) -> None:
    if is_lazy(frame):
        raise UncoveredFrameError(
            "the release",
            rule="collected or written: a plan holds the raw rows and the key",
            got="a lazy frame",
            hint="Run it: released.puffer.collect(), or released.puffer.sink_parquet(path).",
        )


def _no_plan() -> UncoveredFrameError:
    return UncoveredFrameError(
        "the frame",
        rule="a lazy frame that privatize returned",
        got="another one",
        hint="Run the release itself, and go on from what it gives: released.puffer.collect().filter(...).",
    )


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
