"""What the plan of any release of rows says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from puffer_frames.numbers.presentation import Rows, as_html, as_text
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.verbs.request import Request


class _Plan(Protocol):
    @property
    def request(self) -> Request: ...

    @property
    def pairs(self) -> Pairs: ...

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]: ...

    @property
    def rows(self) -> int: ...


class Planned:
    """A request, and the table that it was planned for."""

    __slots__ = ()

    plan: _Plan
    """What is to be released, how, and why."""

    @property
    def epsilon(self) -> float:
        """Privacy parameter epsilon."""
        return self.plan.request.target.epsilon

    @property
    def delta(self) -> float:
        """Privacy parameter delta; 0 is pure privacy."""
        return self.plan.request.target.delta

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of the secret columns."""
        return self.plan.request.secret

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns to release."""
        return self.plan.request.public

    @property
    def pairs(self) -> Pairs:
        """The word "all", or the protected pairs of secrets."""
        return self.plan.pairs

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]:
        """Rows of each secret, complete ones; of each column and value, where each secret column is protected."""
        return self.plan.rows_per_secret

    @property
    def rows(self) -> int:
        """Rows of the frame it was made from, complete ones."""
        return self.plan.rows

    def _shown(self) -> tuple[str, Rows]:
        """Title and rows of what is shown."""
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(*self._shown())
