"""One sentence of a certificate."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["proved", "measured", "assumed", "not covered", "done", "technical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of a certificate, and what kind of claim it is."""

    key: str
    """Its name in `SENTENCES`, the same in every certificate."""
    kind: Kind
    """Proved by a theorem, measured by the engine, assumed, not covered, done to the values, or technical."""
    text: str
    """The sentence."""


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
