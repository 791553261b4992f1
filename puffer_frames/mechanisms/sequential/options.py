"""The options of a release of a whole table, column by column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.mechanisms.arguments import Options
from puffer_frames.mechanisms.channel.options import LEAST_READER_CAP
from puffer_frames.numbers.arguments import check_count, check_flag, check_kind, check_number, described

DerivedWord: TypeAlias = Literal["auto"]


@short_traceback
@dataclass(frozen=True, kw_only=True)
class Sequential(Options):
    r"""A whole table, released column by column, each by a channel that sees the secret and what was released before.

    The adversary's belief is a network: a mixture of trees of the columns given the secret, fitted to the table. For
    every row, whatever is released of it, the odds of two secrets change by at most :math:`e^\varepsilon` under it.
    It is a model of the table: a reader who holds the table, or some raw columns of a row, is not covered by epsilon.

    Parameters
    ----------
    components : int
        Trees of the mixture.
    smoothing : float
        The table of each column given its parent and the secret is drawn towards that of all secrets, as by so many
        rows more.
    step : float, optional
        By what share of epsilon the loss may grow with one column before the smallest lift that keeps it within
        epsilon is needed. Smaller ones change more cells, and tell less. By default 0.25, and where 1 % of the losses
        under networks that are fitted again are then above 1.5 times epsilon, 0.15 or 0.09.
    contexts : int
        Classes of what was released of a row before, at most, each with a channel of its own, for each column.
    cells : int
        Numbers of more different values are released as one value of each of so many cells, at most.
    reader_cap : float
        The log-odds of two secrets change by at most this with each column for a reader who knows its raw value; 0 for
        channels that do not see the secret.
    cap : float
        The loss of each column under any law at all is at most this.
    preserve : "marginal" or None
        Whether the tables that the lifts start from keep the share of each level within each context. The lifts do not:
        where they are large, as in small tables at a small epsilon, so are the changes of the shares.
    known : column names
        Columns whose raw value a reader may hold: their channels do not see the secret, so that their release adds
        nothing to this value. What the other columns tell this reader is not bounded by it.
    derived : "auto" or None
        Whether columns that are functions of another one, as a code of its labels is, are computed from its release.
    holdout : float
        Share of the rows that are not planned on, and on which attackers are tried before the release.
    allow_unaudited : bool
        Release even where an attacker showed more than epsilon on these rows; the certificate says so.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value out of range.

    References
    ----------
    docs/whole_tables.md; docs/theory.md, section 18.

    Examples
    --------
    >>> from puffer_frames import Sequential
    >>> Sequential(step=0.15).contexts
    64
    """

    components: int = 4
    smoothing: float = 50.0
    step: float | None = None
    contexts: int = 64
    cells: int = 16
    reader_cap: float = 1.0
    cap: float = 8.0
    preserve: Literal["marginal"] | None = "marginal"
    known: str | Iterable[str] = ()
    derived: DerivedWord | None = "auto"
    holdout: float = 0.2
    allow_unaudited: bool = False

    def __post_init__(self) -> None:
        for name, most in (("components", 16), ("contexts", 256), ("cells", 64)):
            check_count(getattr(self, name), name, at_least=1 + (name == "cells"), at_most=most)
        # far smaller steps are near what floats err by
        for name, low, high in (
            ("smoothing", 1e-3, 1e6),
            ("step", 1e-3, 1.0),
            ("cap", 1e-2, 30.0),
            ("holdout", 0, 0.5),
        ):
            if name == "step" and self.step is None:
                continue
            if not low <= check_number(getattr(self, name), name) <= high:
                rule = f"a number from {low:g} to {high:g}"
                raise ArgumentError(name, rule=rule, got=repr(getattr(self, name)), hint="Leave it out.")
        cap = check_number(self.reader_cap, "reader_cap")
        if cap != 0 and not LEAST_READER_CAP <= cap <= self.cap:
            raise ArgumentError(
                "reader_cap",
                rule=f"0, or from {LEAST_READER_CAP:g} to cap",
                got=repr(self.reader_cap),
                hint="Leave it out for 1.",
            )
        for name, word in (("preserve", "marginal"), ("derived", "auto")):
            own = getattr(self, name)
            if not (own is None or (isinstance(own, str) and own == word)):
                raise ArgumentError(
                    name, rule=f'"{word}" or None', got=described(own), hint=f'Leave it out for "{word}".'
                )
        check_flag(self.allow_unaudited, "allow_unaudited")
        check_kind(self.known, Iterable, "known", rule="names of columns", hint='Write known=["age"].')
        names = (self.known,) if isinstance(self.known, str) else tuple(self.known)
        object.__setattr__(self, "known", tuple(map(str, names)))
