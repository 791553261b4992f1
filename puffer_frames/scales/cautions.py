"""Warnings of requests that are granted, and yet say little."""

from __future__ import annotations

from collections.abc import Mapping

from puffer_frames.errors import FewRowsWarning, WeakGuaranteeWarning, warn
from puffer_frames.numbers.target import Target
from puffer_frames.priors.prior import Secret

LARGE_EPSILON = 10.0
FEWEST_ROWS = 20
"""Fewer rows than these are few."""


def warn_of_weakness(target: Target, /, *, rows: int, of: str = "rows") -> None:
    """Warn of an epsilon above 10, and of a delta that is no smaller than one row's share."""
    epsilon, delta = target.epsilon, target.delta
    if epsilon > LARGE_EPSILON:
        warn(
            WeakGuaranteeWarning(
                "epsilon",
                rule=f"at most {LARGE_EPSILON:g}",
                got=f"{epsilon:g}, by which a reader who gave a secret 50 % may come to 99.99 % and more",
                hint="Values from 0.1 to 2 are usual.",
            )
        )
    if delta * rows >= 1:
        warn(
            WeakGuaranteeWarning(
                "delta",
                rule=f"below 1 / (number of {of})",
                got=f"{delta:g} for {rows:,} {of}: a release that publishes the secret of one of them in full meets it",
                hint=f"Choose a delta far below {1 / rows:.2g}.",
            )
        )


def few_rows(rows_per_secret: Mapping[Secret, int], /) -> tuple[Secret, ...]:
    """The secrets in few rows."""
    return tuple(secret for secret, rows in rows_per_secret.items() if rows < FEWEST_ROWS)


def warn_of_few_rows(rows_per_secret: Mapping[Secret, int], /) -> None:
    """Warn of secrets whose frequencies were seen in few rows."""
    if few := few_rows(rows_per_secret):
        warn(FewRowsWarning(few, fewest=FEWEST_ROWS))
