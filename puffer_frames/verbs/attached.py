"""Certificates where they are found: attached to a frame, or in a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from puffer_frames.certificates.record import Certificate, PublicKey, Verdict
from puffer_frames.errors import SuspectValuesWarning, UncoveredFrameError, short_traceback, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.dates import plain_numbers
from puffer_frames.frames.matching import require_rows
from puffer_frames.frames.plans.source import collect_plan, sink_plan
from puffer_frames.frames.stamps.parquet import read_parquet_metadata, runs_of, write_parquet_file
from puffer_frames.frames.table import open_table
from puffer_frames.noise.usefulness import sampled
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.priors.prior import FloatArray


@short_traceback
def certificate_of(frame: NativeFrame, /) -> Certificate:
    """The certificate attached to a frame of any kind; `frame.puffer.certificate` where the frame has an accessor.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or pyspark.sql.DataFrame

    Returns
    -------
    Certificate

    Raises
    ------
    UncoveredFrameError
        Where there is none, where the frame has a column that it does not know, and for a Polars plan, which is no
        release until it is collected or written.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
    >>> certificate_of(released).epsilon
    0.1
    """
    certificate = attached_to(frame)
    certificate.require_known(frame)
    require_rows(frame)
    return certificate


def warn_of_release(metadata: Mapping[str, Any] | None, /) -> None:
    """Warn of a table to be released that is a release itself: the new certificate takes the place of its own."""
    if metadata is not None:
        found = "is itself a release, and the new certificate, which replaces its own, says nothing of that one"
        hint = (
            "Release all columns from the original table. Or keep certificate_of(frame), whose guarantee goes on; "
            "puffer_frames.compose says what is known of both together."
        )
        warn(SuspectValuesWarning("the table", found, hint=hint))


def is_covered(frame: NativeFrame, /) -> bool:
    """Whether a certificate is attached."""
    try:
        attached_to(frame)
    except UncoveredFrameError:
        return False
    return True


@short_traceback
def report(
    released: NativeFrame,
    path: str | Path,
    /,
    *,
    ledger: object = None,
    audit: object = None,
    justification: str | None = None,
    file: str | Path | None = None,
    overwrite: bool = False,
) -> None:
    """Write the page of a release, to read, print and sign: `released.puffer.certificate.report(path)`.

    Its arguments, and what it raises, are those of `Certificate.report`; without a certificate as `certificate_of`.
    """
    found = certificate_of(released)
    found.report(path, ledger=ledger, audit=audit, justification=justification, file=file, overwrite=overwrite)


@short_traceback
def write_parquet(frame: NativeFrame, path: str | Path, /, *, derived: bool = False) -> None:
    """Write a release to a Parquet file, with its certificate in the file's metadata.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        With its certificate attached; a plan is run.
    path : str or Path
        Of a regular file, or of none yet. A run that fails leaves what was there.
    derived : bool
        Write a frame with other values, rows or order than the release too; the file's certificate then says so.

    Returns
    -------
    None

    Raises
    ------
    UncoveredFrameError
        Where no certificate is attached, for a column that it does not know, and for a derived frame without
        `derived=True`.
    ArgumentError
        For a path that is something else than a file.

    Notes
    -----
    pandas' own `to_parquet` keeps the certificate too; Polars' `write_parquet` does not.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames, tempfile
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
    >>> path = tempfile.mkdtemp() + "/released.parquet"
    >>> released.puffer.write_parquet(path)
    >>> puffer_frames.read_certificate(path).verify(path)
    'unsigned: cannot be trusted'
    """
    write_release(frame, path, derived=check_flag(derived, "derived"), durable=False)


def write_release(
    frame: NativeFrame,
    path: str | Path,
    /,
    *,
    derived: bool = False,
    durable: bool,
    new: bool = False,
    naming: Callable[[Certificate], AbstractContextManager[object]] | None = None,
) -> Certificate:
    """The same, and the certificate; a durable file is on the disk before it has its name, a new one replaces none.

    `naming` surrounds the moment in which the file gets its name.
    """
    table = open_table(frame)
    if table.is_plan:
        return _sink(frame, path, durable=durable, new=new, naming=naming)
    certificate = certificate_of(frame).for_frame(frame, derived=derived)
    write_parquet_file(
        table.in_memory().to_arrow(),
        path,
        certificate.to_dict(),
        durable=durable,
        new=new,
        naming=partial(naming or nullcontext, certificate),
    )
    return certificate


@short_traceback
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
    LedgerError
        Where its entry in a ledger was withdrawn.

    Notes
    -----
    The noise of a row is the same in every run. **Cost**: one run of the plan, with the streaming engine.

    Examples
    --------
    >>> import numpy as np, polars as pl, puffer_frames, tempfile
    >>> rng = np.random.default_rng(0)
    >>> people = pl.LazyFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
    >>> released.puffer.collect().puffer.verify()
    'unsigned: cannot be trusted'
    >>> path = tempfile.mkdtemp() + "/released.parquet"
    >>> released.puffer.sink_parquet(path)
    >>> puffer_frames.read_certificate(path).verify(path)
    'unsigned: cannot be trusted'
    """
    runs = runs_of(frame)
    if runs is not None:
        runs.begin()
    rows = collect_plan(frame)
    if rows is None:
        raise _no_plan()
    certificate = attached_to(frame)
    sample = {name: sampled(plain_numbers(rows[name])) for name in certificate.scales}
    certificate = certificate.of_values(open_table(rows).fingerprint(), sample)
    if runs is not None:
        runs.end(certificate)
    return certificate.put_on(rows)


@short_traceback
def sink_parquet(frame: NativeFrame, path: str | Path, /) -> None:
    """Write a released plan to a Parquet file with its certificate in the metadata, in one pass.

    Parameters
    ----------
    frame : polars.LazyFrame
        What `privatize` returned for a lazy frame, before any other step.
    path : str or Path
        Of a file in a local folder. A run that fails leaves no file.

    Raises
    ------
    UncoveredFrameError, CalibrationError, LedgerError
        As `collect`.

    Notes
    -----
    `collect` has an example. **Cost**: one run of the plan with the streaming engine; memory for some batches of rows.
    """
    _sink(frame, path, durable=False)


def _sink(
    frame: NativeFrame,
    path: str | Path,
    /,
    *,
    durable: bool,
    new: bool = False,
    naming: Callable[[Certificate], AbstractContextManager[object]] | None = None,
) -> Certificate:
    found = open_table(frame).metadata()
    if found is None:
        raise _no_plan()
    runs, certificate, written = runs_of(frame), Certificate.from_dict(found), list[Certificate]()

    def metadata(value: str, sample: Mapping[str, FloatArray]) -> dict[str, Any]:
        written.append(certificate.of_values(value, sample))
        return written[-1].to_dict()

    if runs is not None:
        runs.begin()
        naming = naming or runs.naming

    def named() -> AbstractContextManager[object]:
        return (naming or nullcontext)(written[-1])

    if not sink_plan(frame, path, metadata, durable=durable, new=new, naming=named):
        raise _no_plan()
    return written[-1]


@short_traceback
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
        rule = "one with a certificate in its metadata"
        hint = "Write releases with released.puffer.write_parquet(path)."
        raise UncoveredFrameError("the Parquet file", rule=rule, got="a file without one that can be read", hint=hint)
    return Certificate.from_dict(plain)


@short_traceback
def verify(
    frame: NativeFrame, certificate: Certificate | None = None, /, *, public_key: PublicKey | None = None
) -> Verdict:
    """Compare a frame with a certificate, by default the attached one.

    Parameters
    ----------
    frame : pandas, Polars, PyArrow or Spark frame
    certificate : Certificate, optional
    public_key : Ed25519PublicKey or bytes, optional
        Of whoever signed the certificate; or PEM.

    Returns
    -------
    "intact", "unsigned: cannot be trusted", "intact, signature not checked", "derived", "uncovered" or "forged"
        See `Certificate.verify`.

    Raises
    ------
    UncoveredFrameError
        Where no certificate is given and none is attached, and for a plan that was not run.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
    >>> verify(released), verify(released.round(1)), verify(released.assign(raw=people["score"]))
    ('unsigned: cannot be trusted', 'derived', 'uncovered')
    """
    if certificate is not None:
        return certificate.verify(frame, public_key=public_key)
    attached = attached_to(frame)
    require_rows(frame)
    return attached.verify(frame, public_key=public_key)


def _no_plan() -> UncoveredFrameError:
    hint = "Run the release itself, and go on from what it gives: released.puffer.collect().filter(...)."
    return UncoveredFrameError("the frame", rule="a lazy frame that privatize returned", got="another one", hint=hint)


def attached_to(frame: NativeFrame, /) -> Certificate:
    """The certificate of a frame, whatever its columns are; raises UncoveredFrameError where there is none."""
    plain = open_table(frame).metadata()
    if plain is None:
        raise UncoveredFrameError(
            "the frame",
            rule="a release with its certificate attached",
            got="a frame without one",
            hint="Call this on the frame that privatize returned. Most operations on a frame forget its certificate: "
            'keep it, and write certificate.attach(frame). That of a Parquet file is read_certificate("FILE").',
        )
    return Certificate.from_dict(plain)
