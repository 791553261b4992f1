"""One sentence of a certificate or its report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, get_args

Kind: TypeAlias = Literal["proved", "measured", "assumed", "not covered", "done", "technical", "said"]
"""Proved by a theorem, measured by the engine, assumed, not covered, done to the values, technical, or said by the
issuer, which nothing here checks."""


class Sentence(NamedTuple):
    """A sentence before its braces are filled in, and what kind of claim it is."""

    kind: Kind
    text: str
    warning: str = ""
    """What is warned of when a release is planned, in other words."""
    hint: str = ""
    """What to do then."""
    reason: str = ""
    """That of a `WideNoiseWarning`; without one it is a `WeakGuaranteeWarning`."""


KINDS = tuple(partial(Sentence, kind) for kind in get_args(Kind))
"""Sentences of each kind, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence, and what kind of claim it is."""

    key: str
    """Its name in `SENTENCES`, the same in every certificate, or in `REPORT_SENTENCES`."""
    kind: Kind
    text: str
    """The sentence."""

    @classmethod
    def of(cls, catalogue: Mapping[str, Sentence], key: str, /, **parts: object) -> Statement:
        """A sentence of a catalogue with its parts filled in."""
        return cls(key=key, kind=catalogue[key].kind, text=catalogue[key].text.format(**parts))

    def __str__(self) -> str:
        return f"{self.text} ({self.kind})"


def of_keys(statements: Iterable[Statement], keys: Collection[str], /) -> list[Statement]:
    """The statements to print in one place, in their order. What is true of a release is in its facts."""
    return [one for one in statements if one.key in keys]


def of_kind(statements: Iterable[Statement], kind: str, /) -> list[str]:
    """The sentences of one kind, to print them."""
    return [one.text for one in statements if one.kind == kind]


def of_given(statements: Iterable[Statement], /) -> str:
    """How given columns were released."""
    return how_given(merged=bool(of_keys(statements, {"strata-merged"})))


def how_given(*, merged: bool) -> str:
    """The same in a sentence."""
    return "with merged strata" if merged else "as it was"
