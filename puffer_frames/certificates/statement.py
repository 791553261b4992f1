"""One sentence of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

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


def as_statement(plain: Mapping[str, str], /) -> Statement:
    """The statement that a certificate's record holds, also one that this version does not know."""
    return Statement(key=plain["key"], kind=cast(Kind, plain["kind"]), text=plain["text"])
