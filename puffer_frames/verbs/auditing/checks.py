"""All checks of an audit, together at one level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import library_of
from puffer_frames.verbs.auditing.certificate import (
    check_certificate,
    check_columns,
    check_loss,
    check_raw_columns,
    check_seeded,
    singling_out,
)
from puffer_frames.verbs.auditing.guesses import claimed, guesses
from puffer_frames.verbs.auditing.noise import check_grid, check_order, check_shuffle, noise_checks
from puffer_frames.verbs.auditing.readers import NAMES, readers, sees_secret
from puffer_frames.verbs.auditing.report import AuditReport
from puffer_frames.verbs.auditing.rows import rows_of

SHARES = 12
"""So many checks rest on chance, and those of readers beside: each has this part of 1 - level."""


def report_of(
    original: NativeFrame,
    released: NativeFrame,
    certificate: Certificate,
    /,
    *,
    secret: Sequence[str] | None,
    level: float,
    rng: np.random.Generator,
) -> AuditReport:
    """The report of a release; raises as `audited.audit`."""
    rows = rows_of(original, released, certificate, secret=secret)
    alpha = (1 - level) / (SHARES + len(NAMES) * sees_secret(rows))
    limit = claimed(certificate)
    guessed, pairs = guesses(rows, limit, level=level, alpha=alpha, rng=rng)
    read = readers(rows, alpha=alpha, rng=rng)
    checks = (
        check_certificate(certificate, released),
        check_seeded(certificate),
        check_columns(rows, released),
        check_raw_columns(rows),
        check_order(rows, alpha=alpha),
        check_shuffle(rows, alpha=alpha),
        *noise_checks(rows, alpha=alpha, rng=rng),
        check_grid(rows),
        check_loss(rows, limit, rng),
        *guessed,
        *read,
        singling_out(rows),
    )
    return AuditReport(
        passed=not any(each.result == "failed" for each in checks),
        level=level,
        checks=checks,
        pairs=tuple(pairs),
        library=library_of(original),
    )
