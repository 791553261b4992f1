"""Columns on which a guarantee conditions, and what becomes of the scales of their strata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from puffer_frames.errors import short_traceback
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.numbers.arguments import check_count, check_flag, check_word, keep_own
from puffer_frames.priors.summary import Level
from puffer_frames.scales.choice import Choice

Stratum: TypeAlias = tuple[Level, ...]
"""Values of the given columns."""


@short_traceback
@dataclass(frozen=True, slots=True)
class Strata:
    r"""Columns on which the guarantee conditions. They are released as they are; their joint value is a stratum.

    Parameters
    ----------
    columns : column name or several
        Columns of labels, booleans or integers, with at most 512 different values each.
    scale : "each" or "one"
        "each": a scale for each stratum. "one": the largest of these for all rows.
    minimum : int
        With "each": a stratum with fewer rows than this of one of its secrets has noise for the whole range of the
        column, since its frequencies are known too badly. With "one" nothing follows from it.
    merge : bool
        Merge such strata, and those that lack a secret, into one, with the smallest of the others where they are too
        few together: they have the label "other" in the columns, also where these are released, or "other (merged)"
        beside a stratum of that name. For columns of text and categories.

    Raises
    ------
    ArgumentError
        For a value out of range.

    Notes
    -----
    **Guarantee**: for each stratum z, each pair of secrets that occur in it and each released value y, the odds of the
    pair given y and z are at most :math:`e^\varepsilon` times those given z. What z tells by itself is not covered. A
    secret that does not occur in a stratum is told by the stratum itself.

    References
    ----------
    docs/theory.md, section 17 (T4).

    Examples
    --------
    >>> from puffer_frames import Strata
    >>> Strata("workclass", scale="one")
    Strata(columns='workclass', scale='one', minimum=50, merge=False)
    """

    columns: str | Sequence[str]
    scale: Literal["each", "one"] = "each"
    minimum: int = 50
    merge: bool = False

    def __post_init__(self) -> None:
        keep_own(self, "columns")
        check_flag(self.merge, "merge")
        check_word(self.scale, "scale", ("each", "one"))
        check_count(self.minimum, "minimum", at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrataChoices:
    """Scales per stratum, and why."""

    given: tuple[str, ...]
    """Names of the columns."""
    one_scale: bool
    """Whether all rows have the same scale."""
    minimum: int
    choices: Mapping[Stratum, Mapping[str, Choice]]
    """Per stratum and column; where no two protected secrets meet, that of another stratum."""
    small: tuple[Stratum, ...]
    """Strata with noise for the whole range, since one of their secrets has too few rows."""
    unbound: tuple[Stratum, ...]
    """Strata in which no two protected secrets occur."""
    lacking: int
    """How many strata lack a protected secret."""
    rows: Mapping[Stratum, int]
    """Rows per stratum."""
    alone: float
    """The loss from the stratum itself: the largest log-ratio of its frequencies given two protected secrets."""
    refuted: tuple[str, ...] = ()
    """Columns whose scale, in some stratum, is that of a fitted model that the table refutes; a file has no models."""
    constants: Mapping[Stratum, Mapping[str, float]] = field(default_factory=dict)
    """The mean error of one constant in place of the values of a stratum, or the share of labels that it changes, per
    column; of strata with few rows, or with nothing to hide, there is none."""

    @property
    def knows_constants(self) -> bool:
        """Whether these are known where there are any; files of earlier versions lack them."""
        return bool(self.constants) or set(self.choices) == {*self.small, *self.unbound}

    @property
    def scales(self) -> dict[Stratum, dict[str, float]]:
        """Scale per stratum and column."""
        return {z: {name: choice.scale for name, choice in found.items()} for z, found in self.choices.items()}


def largest(found: Iterable[Choice], /) -> Choice:
    """What holds of all strata: the largest scale, and the largest losses that were measured in any of them."""
    choices = list(found)
    first = max(choices, key=lambda choice: choice.scale)
    measured = [choice.observed for choice in choices if choice.observed is not None]
    beliefs = dict.fromkeys(name for choice in choices for name in choice.verified)
    return replace(
        first,
        verified={
            name: worst(choice.verified[name] for choice in choices if name in choice.verified) for name in beliefs
        },
        scale_per_belief={
            name: max(choice.scale_per_belief.get(name, 0.0) for choice in choices)
            for name in dict.fromkeys(name for choice in choices for name in choice.scale_per_belief)
        },
        observed=worst(measured) if len(measured) == len(choices) else None,
        wider={},
        adds_up=all(choice.adds_up for choice in choices),
        none_needed=all(choice.none_needed for choice in choices),
        published_scale=None,
        published_loss=None,
        remarks=frozenset().union(*(choice.remarks for choice in choices)),
    )


def worst(found: Iterable[Verification], /) -> Verification:
    """The largest losses of some strata."""
    listed = list(found)

    def most(brackets: Iterable[Bracket]) -> Bracket:
        ends = [(bracket.lower, bracket.upper) for bracket in brackets]
        return Bracket(lower=max(low for low, _ in ends), upper=max(high for _, high in ends))

    return Verification(
        pure_loss=most(one.pure_loss for one in listed),
        hockey_stick=most(one.hockey_stick for one in listed),
        epsilon=listed[0].epsilon,
    )
