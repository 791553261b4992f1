"""Statistics of the raw rows from a release and its certificate alone."""

from __future__ import annotations

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, UncoveredFrameError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.matching import require_rows
from puffer_frames.frames.table import library_of, open_table
from puffer_frames.numbers.arguments import check_kind, check_word
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.estimating.bounds import TableEstimator
from puffer_frames.verbs.estimating.estimated import Target
from puffer_frames.verbs.estimating.estimator import Estimator
from puffer_frames.verbs.estimating.released_columns import ReleasedColumns


@short_traceback
def estimate(frame: NativeFrame, certificate: Certificate | None = None, /, *, target: Target = "table") -> Estimator:
    """Estimate statistics of the raw rows from a release of rows, as if there were no noise.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or another release in memory
        As it was released, or with rows left out by kept columns.
    certificate : Certificate, optional
        By default the attached one.
    target : "table" or "population"
        What the standard errors and intervals are for: the figure of the raw rows themselves, where only the noise is
        random, or that of a population from which the rows are independent draws.

    Returns
    -------
    Estimator
        With the methods `mean`, `var`, `cov`, `corr`, `quantile`, `histogram`, `regress` and `value_counts`; of a whole
        table `mean`, `histogram` and `value_counts` alone, whose intervals are bounds.

    Raises
    ------
    UncoveredFrameError
        Without a certificate, for a column that it does not know, for more rows than were released, for other values
        or another order where all rows and columns are there, and for a plan that was not run.
    ArgumentError
        For a release of answers, for a population where several rows belong to a unit or a table was released column by
        column, and for such a table of other rows than those of the plan.

    Notes
    -----
    Where all rows and columns of the release are there, its fingerprint decides; the index of a pandas frame undoes a
    sort. Where some were left out, nothing can compare the rest with the release: what no release can have is an error,
    and all else is assumed, as `assumptions` of every estimate say. **Guarantee**: estimates are functions of the
    release, and cost nothing.

    References
    ----------
    docs/estimates.md.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 900), "score": rng.integers(0, 5, 900)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1, rng=1)
    >>> spread = puffer_frames.estimate(released).var("score")
    >>> low, high = spread.interval()
    >>> bool(low < people["score"].var() < high)
    True
    """
    check_word(target, "target", ("table", "population"))
    require_rows(frame)
    if certificate is not None:
        hint = "Write released.puffer.certificate, read_certificate(path) or Certificate.load(path)."
        check_kind(certificate, Certificate, "certificate", rule="a Certificate", hint=hint)
    found = certificate_of(frame) if certificate is None else certificate
    found.require_known(frame)
    if found.answers:
        raise ArgumentError(
            "the release",
            rule="one of rows",
            got="a table of answers, each of which is an estimate already",
            hint="Take the answers as they are: their noise has the mean 0 and the scale of the certificate.",
        )
    if found.table and not (found.has_bounds and target == "table"):
        raise ArgumentError(
            "the release",
            rule='one of the rows of its plan, and target="table", where a whole table was released column by column',
            got='target="population"' if found.has_bounds else "one whose share of changed values is not known",
            hint="Compute figures from the release as it is, and give no error; or ask the issuer for the columns that "
            "you need an interval for with noise.",
        )
    if found.unit is not None and target == "population":
        raise ArgumentError(
            "target",
            rule='"table" where several rows belong to a unit',
            got='"population"',
            hint="Rows of a unit are no independent draws, and the release does not say which belong together.",
        )
    known = found.public + found.kept + found.given
    table = open_table(frame).in_memory().with_levels(known=known, rows=found.rows)
    if not len(table.opened()):
        raise ArgumentError("the frame", rule="of at least one row", got="none", hint="Keep some rows of the release.")
    if len(table.opened()) > found.rows:
        raise UncoveredFrameError(
            "the rows of the frame",
            rule=f"those of the release, {found.rows:,} at most",
            got=f"{len(table.opened()):,}",
            hint="Leave out copies: a row counts once, as its noise was drawn once.",
        )
    dates = [name for name in found.public if name in table.names and table.has_dates(name)]
    assumed = _assumptions(frame, table, found)
    columns = ReleasedColumns(table=table.in_days(dates), certificate=found, assumptions=assumed, dates=dates)
    if columns.derived:
        columns.check_rows()
    kind = TableEstimator if found.table else Estimator
    return kind(columns=columns, target=target, library=library_of(frame))


def _assumptions(frame: NativeFrame, table: LocalTable, certificate: Certificate) -> tuple[str, ...]:
    """What an estimate rests on; raises UncoveredFrameError where a fingerprint refutes it."""
    opened = open_table(frame).in_memory()
    verdicts = [certificate.verify(found.native) for found in (opened, opened.by_place())]
    if any(verdict.startswith(("intact", "unsigned")) for verdict in verdicts):
        return ()
    fewer = len(table.opened()) < certificate.rows
    if not fewer and set(table.names) == {*certificate.public, *certificate.kept, *certificate.given}:
        raise UncoveredFrameError(
            "the frame",
            rule="the release as it was made, where all its rows and columns are there",
            got="other values, other types or another order of the rows",
            hint="Write .puffer.estimate() on the release itself, and sort or change it afterwards.",
        )
    unchanged = "no value was changed after the release: without all its rows and columns no fingerprint tells"
    return (unchanged, "each row is one of the release, once, and no noisy value decided which are left")[: 1 + fewer]
