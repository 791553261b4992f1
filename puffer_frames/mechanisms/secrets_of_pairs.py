"""Which secrets something fitted protects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from puffer_frames.mechanisms.request import Request, protected_rows
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret


class SecretsOfPairs:
    """What is found for a request and a table, whatever the mechanism."""

    __slots__ = ()

    request: Request
    pairs: Pairs
    """"all", or the protected pairs of secrets."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret, or of each column and value where these are protected by themselves."""
    rows: int
    """Rows of the table, complete ones."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The values of the secret that the pairs name."""
        return tuple(named_secrets(self.pairs, self.rows_per_secret))

    def protected_rows(self, rows: Mapping[Secret, int], /) -> dict[Secret, int]:
        """Of the rows of each secret those of each that the pairs name, or of each column and value of it."""
        return protected_rows(rows, self.request, named=self.secrets)


def named_secrets(pairs: Pairs, secrets: Iterable[Secret], /) -> list[Secret]:
    """The secrets that pairs name, each once."""
    return list(secrets) if pairs == "all" else list(dict.fromkeys(secret for pair in pairs for secret in pair))
