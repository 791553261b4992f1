"""Record-level release: a table is fitted, its rows are drawn once, and the frame gets its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, KeptColumnWarning, PufferError, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import codes_text, warn_of_unused, with_nulls
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import CompleteRows, Table, is_frame, open_table
from puffer_frames.mechanisms import registry
from puffer_frames.mechanisms.file_checks import check_other_tables
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.mechanisms.seam import Fitted, Mechanism, Reading, Release
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import rarest_rows
from puffer_frames.scales.drift import Batch
from puffer_frames.verbs.attached import warn_of_release
from puffer_frames.verbs.ledgers.refine_key import opened
from puffer_frames.verbs.requests import Drawing, PrivatizeArguments, releases, with_names


def mechanism_for(request: Request, table: Table, /) -> tuple[Mechanism[Any], Request]:
    """The mechanism that a request is for, and the request as it has it; raises ArgumentError as `Mechanism.takes`."""
    asked, public = request.mechanism, request.public
    for mechanism in registry.MECHANISMS:
        own = mechanism.suits(public, table) if asked == "auto" else mechanism.is_asked(asked)
        if own and (found := mechanism.takes(request, table)) is not None:
            return mechanism, found
    raise AssertionError(f"no mechanism is called {asked!r}")


def read(frame: NativeFrame, request: Request, asked: RowsRequest | None, /) -> tuple[Mechanism[Any], Reading[Any]]:
    """A table as the mechanism that a request is for reads it; `asked` says how its rows are to be released."""
    table = open_table(frame)
    check_other_tables(table, map(open_table, filter(is_frame, request.beliefs)), request.public)
    mechanism, request = mechanism_for(request, table)
    return mechanism, mechanism.read(request, frame, table, asked)


def fit(
    frame: NativeFrame, request: Request, asked: RowsRequest | None, /
) -> tuple[Mechanism[Any], Reading[Any], Fitted[Any]]:
    """What has the guarantee for a table; by default what the first mechanism says to try, where that is to be had."""
    warn_of_unused(frame, request.null_values)
    frame = with_nulls(frame, request.null_values)
    mechanism, found = read(frame, request, asked)
    fitted = mechanism.fit(found.request, found.seen)
    if request.mechanism == "auto" and (other := fitted.instead()) is not None:
        with suppress(PufferError):  # it does not take every table
            better, again = read(frame, replace(request, mechanism=other), asked)
            instead = better.fit(again.request, again.seen)
            if asked is not None:
                instead.check_asked(asked)
            mechanism, found, fitted = better, again, instead
    return mechanism, replace(found, dropped=request.dropped(frame), sampled=request.sampled(found.rows)), fitted


def check_refinable(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, /) -> None:
    """Raise ArgumentError for a key file beside a release that cannot be refined."""
    if asked.refine_key is None:
        return
    changed = bool(asked.done) or asked.layout.shuffle or asked.seeded
    if changed or fitted.originals(rows) is None:
        raise ArgumentError(
            "refine_key",
            rule=f"given for {PUBLISHED_FOR.title} noise on numbers of a frame in memory, its rows in their order and "
            "its values not changed after the noise",
            got="another release",
            hint="Leave it out: such a release cannot be refined.",
        )
    with opened(asked.refine_key):
        pass


def note_rows(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, fingerprint: str, /) -> None:
    """Write down the original values of a release, in a code, where it is to be refined."""
    values = None if asked.refine_key is None else fitted.originals(rows)
    if asked.refine_key is not None and values is not None:
        with opened(asked.refine_key) as file:
            file.note(fingerprint, values)


def release_rows(
    fitted: Fitted[Any],
    rows: CompleteRows,
    asked: RowsRequest,
    drawing: Drawing,
    /,
    *,
    frame: NativeFrame,
    rows_per_secret: Mapping[Secret, int],
    batch: Batch | None = None,
    unproved: Sequence[str] = (),
) -> NativeFrame:
    """Release rows that have been checked against the plan.

    `frame` is the whole table, for the limit of a ledger; `batch` is what may be said of other rows than those of the
    plan, and `unproved` names the beliefs whose laws a plan from a file lacks.
    """
    asked = replace(asked, days=tuple(rows.dates))
    warn_of_release(open_table(frame).metadata())
    check_refinable(fitted, rows, asked)
    key = drawing.key()
    warnings = rows.warnings(list(rows_per_secret.values()), lambda: fitted.draws(asked, ReleaseKey.of(0)))
    for warning in warnings:
        warn(warning.or_given() if isinstance(warning, KeptColumnWarning) and fitted.takes_given() else warning)
    protected = fitted.protected_rows(rows_per_secret if batch is None else None)
    every = {**dict.fromkeys(fitted.rows_per_secret, 0), **rows_per_secret}
    rarest = rarest_rows(protected if fitted.request.pairs == "all" else every) if batch is None else None

    def certificate(count: int, levels: tuple[str, ...]) -> Certificate:
        release = Release(
            asked=asked,
            columns=rows.names,
            rows=count,
            secrets=fitted.secrets,  # of the plan: those of a batch may tell the secret of a record
            kept=tuple(name for name in asked.roles.keep if name not in asked.roles.given) + levels,
            warnings=warnings,
            rows_per_secret=protected,
            batch=batch,
            unproved=unproved,
        )
        found = replace(fitted.certificate(release), rarest=rarest)
        return found.of_codes(codes_text(fitted.request.null_values)).of_dates(tuple(rows.dates)).said(drawing.about)

    reserved = drawing.reserve(certificate(sum(rows_per_secret.values()), ()), frame)
    released = rows.release(fitted.draws(asked, key))
    found = certificate(released.rows, released.levels)
    note_rows(fitted, rows, asked, released.fingerprint)
    return reserved.put(found.of_values(released.fingerprint, released.sample), released.frame)


def rehearse(fitted: Fitted[Any], /) -> None:
    """All of a release but its rows: for a plan from a file, of which this may fail where its parts do not agree."""
    request = fitted.request
    roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
    asked = RowsRequest(roles=roles, seeded=True)
    for draw in fitted.draws(asked, ReleaseKey.of(0)):
        draw.prepared()
    rows, secrets = fitted.protected_rows(), fitted.secrets
    fitted.certificate(Release(asked=asked, rows=fitted.rows, secrets=secrets, rows_per_secret=rows))


@releases(PrivatizeArguments)
def privatize(frame: NativeFrame, arguments: PrivatizeArguments, /) -> NativeFrame:
    r"""Release a column with noise that is confirmed to keep another one secret.

    Learns the law of the public column given each secret, finds the smallest scale of Laplace (or
    other) noise that is confirmed to make every pair of secrets (epsilon, delta)-indistinguishable from one released
    value, adds the noise and drops the secret. A column of labels gets a random label in place of each value instead,
    as few others as a mechanism that sees the label alone can give.

    Parameters
    ----------
    frame : a frame of any kind
        Of pandas, Polars, PyArrow, DuckDB or Spark. Never changed. Lazy Polars and Spark frames are never collected.
    secret : column name or several
        Column to protect: strings, categories, booleans, integers, whole floats. With several columns, `secrets` says
        what is protected. This column, the public, the given and the kept ones may also be selected: by a selector of
        Polars (`polars.selectors`), or by a function of a pandas frame that returns labels, as in
        `frame.loc[:, function]`.
    public : column name or several, optional
        Column of numbers, booleans, dates or labels (strings, categories) to release; by default "rest", every column
        but the secret, given, kept, unit and row_id ones, which a printed plan lists. Dates, and times at midnight, are
        read as days and released as they were: noise and errors are in days. Several columns of numbers are released
        jointly, with scales that protect whole rows. A column of labels of at most 512 levels is released through a
        channel; beside others a label stays as it is, or any other level takes its place, all as likely.
    epsilon : float
        Greater than 0.
    delta : float
        0 for pure privacy, or far below 1 / (number of rows).
    mechanism : "auto", "noise", "channel", "sequential", Noise(...), Channel(...) or Sequential(...)
        What makes columns private. "auto" is a channel for one column of labels, "sequential" for more than four
        columns, and noise for all others; but "sequential" for two to four columns in 2,000 rows or more, where labels
        are among them or a constant is nearer to some column than its noise. A word stands for the record with its
        defaults.

        - `Noise`: a random number is added to each value. It has the family of the noise, the published condition and
          the way to its scale, and the remap after it.
        - `Channel`: a random level of the column in place of each value, with the least expected error that the
          guarantee allows; by default also where some rows are replaced by anything, and with a loss of at most 8 under
          any law of the levels.
        - `Sequential`: the columns are released one after another, each value by a channel that sees the secret. The
          guarantee is under a model of the table that is fitted to it, not under its frequencies.
    beliefs : "fitted", "empirical", "population", Population(), Contamination(), Bootstrap(), mapping of secret to \
    Prior, frame, or several of these
        The adversaries: the fitted model, the observed frequencies, every law that the table does not refute, the
        frequencies where each row may be replaced, resamples, side knowledge, another table with the same columns. The
        scale satisfies all. A mapping or a frame adds to the first two words; otherwise what is named is all, and
        ("only", mapping) is nothing but the mapping. For labels a mapping is one of secret to {level: weight}, and
        "population" needs declared levels. With "population" and Contamination values are clipped to the
        domain, or to the range of the table. The loss under the observed frequencies, under every law that the table
        does not refute at 95 %, and under any law at all is measured in any case.
    pairs : "all" or iterable of pairs of secret values
        Which secrets must be indistinguishable.
    secrets : "joint" or "each"
        Of several secret columns: "joint" protects their joint value, every pair of its values; "each" the values of
        each column by itself, with less noise, and says nothing of what two of them are together.
    given : column name, several, or Strata(...)
        Columns to release as they are, on which the guarantee conditions: the odds of two secrets change by at most
        e^epsilon beyond what these columns tell. Each of their strata has a scale of its own; `Strata` has the options.
        Not for channels, `Noise(remap=True)` and `unit`.
    unit : Unit(...), optional
        Whose several rows share the secret and are protected together, and what is assumed of these rows.
    releases : int
        So many releases of these columns, each with the scales of this one, have the guarantee together. Laplace and
        Gaussian noise.
    domain : mapping of column to (low, high), or to a list of levels
        Public bounds of public columns, numbers or dates, to which values are clipped before anything else. For a
        channel: every level that may occur, whether it does or not; two numbers are bounds, unless the labels are whole
        numbers.
    nulls : "raise", "drop" or "level"
        What to do with rows whose secret or public value is missing (null or NaN). "level", for a column of labels:
        missing is a level like the others, None, declared or not. A missing secret is an error then.
    null_values : mapping of column to a code, or to several
        Values of secret, public, given and unit columns that stand for a missing one: {"income": [9999999], "status":
        "refused", "left": date(9999, 12, 31)}. They become null before anything else reads the table, and `nulls`
        decides. The plan keeps them; the certificate says of which columns there were codes, and how many.
    allow_zero_noise : bool
        Allow a release without noise where none is needed.
    layout : Layout(...), optional
        How the release looks: columns to keep, order and index of the rows, numbers that are clipped or rounded, and
        what the certificate says besides.
    ledger : str, Path or Ledger(...), optional
        A file to which a line is added for every release, with its certificate, before the noise is drawn. `Ledger` can
        set a limit for all releases of a data set together. The data set must have a name, in `about`.
    about : mapping, optional
        What certificate and report say of the release: any of "issuer", "dataset", "intended_use", "contact",
        "recipients", "legal_basis" and "review" (when it is to be looked at again), each a text, and "created", a
        datetime with a time zone; by default today, of releases that have no seed. "rows_per_person": "one" states that
        each person has one row.
    rng : None, int or numpy.random.Generator
        None for fresh noise. A seed makes the noise reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table or pyspark.sql.DataFrame
        The public column (numbers as 64-bit floats, dates and labels in their own type, unless it cannot hold the
        levels), the given and the kept ones, in the frame's order, with a certificate attached
        (`released.puffer.certificate`, or `certificate_of(released)`); of a lazy frame a plan, to be run by
        `released.puffer.collect()` or `released.puffer.sink_parquet(path)`.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range.
    PriorError
        For an empty frame, nulls, NaN, infinities, or integers beyond 2**53.
    CalibrationError
        Where no noise would be added, or no label changed, unless `allow_zero_noise`, for Noise(calibration="theorem")
        where the theorem has no condition (gmm at delta 0), and where the rows of a lazy or Spark frame change from
        pass to pass.
    LedgerError
        Where the release is beyond the limit of its ledger.

    Warns
    -----
    RowOrderWarning
        Where the order of the rows tells the secret or a public column, and they are not shuffled: equal secrets that
        are clustered, or keep apart; secrets that those of up to 64 rows before tell; shares of the secrets that change
        along the frame; neighbours with similar public values. Not for rows without an order: of a Spark frame, or a
        plan with `row_id`.
    KeptColumnWarning
        Where the secret is guessed from kept columns (or a kept index), alone, together or beside released ones, far
        better than by chance, or a public column is determined by them in all but 1 % of the rows: a copy, other labels
        or a finer code of it.
    UnreadColumnWarning
        For kept columns of objects that can neither be sorted nor written as text.
    WeakGuaranteeWarning
        For an epsilon above 10, and a delta of 1 / (number of rows) or more.
    FewRowsWarning
        For secrets of fewer than 20 rows.
    RareLevelsWarning
        For labels of fewer than 5 rows; its attribute `levels` says which they are.
    WideNoiseWarning
        Where a constant in place of every value of a column has a smaller error than its noise; where the default
        noise of one column has a larger error than a channel; where a fitted model needs more than twice the noise of
        the observed frequencies; and where several columns have too many different rows to be counted together. Its
        attributes `columns` and `reason` say which.
    SuspectValuesWarning
        Where a column seems to hold something else than its values say: a public column of text that looks like
        numbers, a secret with texts that stand for missing values ("NA", "?"), a column of numbers in which a value far
        from all others comes often (9999); for `null_values` that are in no row; and for a frame that is a release.
    UnsoundTheoremWarning
        For Noise(calibration="theorem"), where the published scale is not private under the priors that it assumes.

    Notes
    -----
    **Guarantee**: for each record, each pair of secrets and each set B, :math:`P(Y \in B \mid s_i) \le e^\varepsilon
    P(Y \in B \mid s_j) + \delta` under every one of the beliefs: laws of the public value given the secret. With
    "population" this holds for the laws of the population that the rows of each secret were drawn from, with 95 %
    confidence over the draw. With `given` it holds in each stratum; with `unit` for all rows of a unit. Not claimed:
    anything of kept columns, of several rows of one unit without `unit`, of a second release without `releases`.
    **Cost**: one group-by, one pass of noise, the fit (which does not grow with the rows), and 10 to 40 evaluations of
    the loss engine, each linear in (secrets x distinct values). A channel: one linear program of levels squared
    variables, under a second for 16 levels, seconds for 64.

    **Lazy frames**: the result is a plan that holds the raw rows and the key. Every run of it draws the same noise, and
    compares the rows with those of this call before it gives them on. Calibration takes some streaming passes.

    **Spark**: the result is a plan; its noise is a function of the key and the number of a row, so a task that is
    retried or computed again draws the same. Without `row_id` the secret, public and kept columns are materialised
    once: in the checkpoint directory where the session has one, else in memory and on disk of the executors, and then
    the release cannot be computed again once one of these is lost. With `row_id` nothing is materialised, and rows that
    change between the passes of this function are an error. The fingerprint of the certificate takes a pass over the
    release of its own.

    **DuckDB**: the result is a PyArrow table. A relation without `row_id` is read once and numbered as its rows come.

    References
    ----------
    [KM14]; docs/theory.md, sections 1 to 4; of channels docs/theory.md, section 16.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1, rng=7)
    >>> list(released.columns), round(released.puffer.certificate.scales["score"], 3)
    (['score'], 2.205)

    A column of labels:

    >>> people["town"] = np.where(people["group"] == "a", "x", rng.choice(["x", "y", "z"], 100))
    >>> released = people.puffer.privatize(secret="group", public="town", epsilon=1.0)
    >>> set(released["town"]) <= {"x", "y", "z"}, released.puffer.certificate.theorem
    (True, 'channel')
    """
    table, drawing = open_table(frame), Drawing.of(arguments)
    arguments = with_names(arguments, frame, table.labels)
    request = Request.of(arguments, table)
    asked = RowsRequest.of(arguments.layout, table, request, seeded=drawing.seeded)
    _, found, fitted = fit(frame, request, asked)
    fitted.check_asked(asked)
    fitted.warn(found.seen)
    counts = fitted.rows_of(found.seen)
    return release_rows(fitted, found.rows, asked, drawing, frame=found.frame, rows_per_secret=counts)
