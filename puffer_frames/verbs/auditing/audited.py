"""The curator's test of a release, with the original at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import Name, NativeFrame, as_names
from puffer_frames.frames.null_values import NullValuesArgument, coded
from puffer_frames.frames.table import open_table
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.numbers.arguments import as_float, check_kind
from puffer_frames.verbs.attached import attached_to, is_covered
from puffer_frames.verbs.auditing.report import AuditReport


@short_traceback
def audit(
    original: NativeFrame,
    released: NativeFrame | Sequence[NativeFrame],
    /,
    *,
    certificate: Certificate | None = None,
    secret: Name | Sequence[Name] | None = None,
    request: Mapping[str, Any] | None = None,
    null_values: NullValuesArgument = None,
    level: float = 0.99,
    rng: RandomSource = None,
) -> AuditReport:
    """Test a release with the original at hand: is its noise as certified, and what does a guesser win?

    Parameters
    ----------
    original : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The table that was released, in the order of the release.
    released : frame of the same kinds
        What `privatize` returned, all rows of it. Where only the first frame has a certificate, that one is the
        release: `released.puffer.audit(original)`. For `aggregate` and `histogram`: the answers, or a list of several
        releases of the same request.
    certificate : Certificate, optional
        By default the attached one.
    secret : column name or list of names, optional
        By default the secret of the certificate.
    request : mapping, optional
        For answers: the arguments that `aggregate` or `histogram` was called with, `{"unit": "patient", ...}`. Epsilon
        and delta are by default those of the certificate; ledger and rng are not used.
    null_values : mapping of column to a code, or to several
        Codes that stand for a missing value in the original, as in `privatize`.
    level : float
        A release that is as its certificate says passes with at least this probability, between 0.5 and 1.
    rng : int or numpy.random.Generator, optional
        For the halves of the rows and for ties; the same seed gives the same report.

    Returns
    -------
    AuditReport
        Exact statistics of every secret: keep it private.

    Raises
    ------
    ArgumentTypeError
        For frames that are not in memory, and another certificate.
    UncoveredFrameError
        Where no certificate is given and none is attached.
    ColumnNotFoundError
        For a secret that the original does not have.
    ArgumentError
        For answers without their request, for rows that cannot be laid side by side, and for another level.

    Notes
    -----
    **Guarantee**: each of twelve checks that rest on chance fails a correct release with at most (1 - level) / 12,
    so that all pass with `level`. A channel that sees the secret has fourteen: the audit also plays readers who know
    the true value, or another column. The tests of the noise are exact, or by the normal law of ranks. The lower bounds
    of epsilon are those of Clopper and Pearson for events that were chosen without the released values, and hold for
    all pairs, strata and events together. Only "learned guesser" and the readers choose their events by half of the
    released rows, and are counted on the others. That an audit passes proves nothing: it finds faults. For answers, six
    checks rest on chance. The audit works out the request again, without noise and with it: it compares the scale with
    the certified one, and the differences between released and true answers with the certified law. Each answer is a
    trial of a guesser of two laws that the noise must hide, so that many groups, or releases, bound epsilon from below.
    **Cost**: some seconds for 30,000 rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "score": rng.integers(0, 9, 400)})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.5, mechanism="noise")
    >>> report = puffer_frames.audit(people, released)
    >>> raw = released.assign(score=people["score"])
    >>> puffer_frames.audit(people, raw, certificate=released.puffer.certificate).failures[:2]
    ('certificate', 'raw columns')
    """
    from puffer_frames.verbs.auditing.answers import report_of_answers
    from puffer_frames.verbs.auditing.checks import report_of  # SciPy's statistics take a second

    releases = list(released) if isinstance(released, (list, tuple)) else [released]
    if certificate is None and not any(map(is_covered, releases)) and is_covered(original):
        original, releases = releases[0], [original]
    found = [_certificate(each, certificate, request, alone=len(releases) == 1) for each in releases or [None]]
    original, _ = coded(original, null_values)
    level = _level(level)
    names = None if secret is None else as_names(secret, open_table(original).labels, role="secret")
    source = check_rng(rng)
    random = np.random.default_rng(None if isinstance(source, ReleaseKey) else source)
    if request is not None:
        return report_of_answers(original, releases, found, request, level=level, rng=random)
    return report_of(original, releases[0], found[0], secret=names, level=level, rng=random)


def _certificate(
    released: NativeFrame, given: Certificate | None, request: Mapping[str, Any] | None, *, alone: bool
) -> Certificate:
    if given is not None:
        hint = "puffer_frames.read_certificate(path) reads one."
        check_kind(given, Certificate, "certificate", rule="a Certificate, or left out for the attached one", hint=hint)
    found = attached_to(released) if given is None else given
    known = found.answers == isinstance(request, Mapping) == (request is not None)
    if not known or not (alone or found.answers) or not found.secret:
        raise ArgumentError(
            "the release",
            rule="one of rows with a secret column, or answers with their request",
            got="answers about all rows, with no mapping" if found.answers else "rows, with a request or in a list",
            hint='For answers give the arguments of aggregate or histogram: request={"unit": "patient", ...}.',
        )
    return found


def _level(level: float) -> float:
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.5 <= as_float(level) < 1:
        raise ArgumentError("level", rule="from 0.5 to below 1", got="another value", hint="0.99 is usual.")
    return float(level)
