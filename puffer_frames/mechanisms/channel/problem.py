"""What a channel must meet: the laws, what they withstand, and the cost of an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.columns import LARGEST_INTEGER
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Level


def is_numeric(levels: Sequence[Level], /) -> bool:
    """Whether levels are numbers that floats tell apart, none missing.

    Truth values are labels, and so are columns with integers beyond 2**53: these name something.
    """
    return all(
        isinstance(level, (int, float, np.number)) and not isinstance(level, bool) and _is_told(level)
        for level in levels
    )


def _is_told(number: Any) -> bool:
    return isinstance(number, (float, np.floating)) or abs(int(number)) <= LARGEST_INTEGER


def cost_word(levels: Sequence[Level], cost: Any, /) -> str:
    """What a cost is: "absolute", "change", "share" (of the labels that differ), or "given"."""
    if not isinstance(cost, str) or cost != "auto":
        return cost if isinstance(cost, str) else "given"
    if any(isinstance(level, tuple) for level in levels):
        return "share"
    return "absolute" if is_numeric(levels) else "change"


def cost_matrix(levels: Sequence[Level], cost: Any, /) -> FloatArray:
    """The cost of each level in place of each, shape (levels, levels): by default the distance of numbers, 1 for
    another label, and for tuples of labels the share of those that differ.

    Raises ArgumentError, ArgumentTypeError for a distance of labels, and for a function or matrix that gives anything
    but finite numbers of at least 0.
    """
    word = cost_word(levels, cost)
    if word == "share":
        return np.array([[np.mean([a != b for a, b in zip(x, y, strict=True)]) for y in levels] for x in levels])  # type: ignore[arg-type]
    if word == "change":
        return 1.0 - np.eye(len(levels))
    if word == "absolute":
        if not is_numeric(levels):
            raise ArgumentError(
                "cost",
                rule='"change", a function or a matrix for a column of labels, or of integers beyond 2**53',
                got='"absolute"',
                hint='Leave it out for "change".',
            )
        numbers = np.array(levels, dtype=np.float64)
        return np.abs(numbers[:, None] - numbers[None, :])
    given = _asked(cost, levels) if callable(cost) else cost
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "cost",
            rule="a function that gives numbers, or a matrix of numbers",
            got="something else",
            hint="Leave it out, or write cost=lambda x, y: abs(rank[x] - rank[y]).",
        ) from None
    if found.shape != (len(levels), len(levels)):
        raise ArgumentError(
            "cost",
            rule=f"a matrix of {len(levels)} rows and columns, one for each level",
            got=f"shape {found.shape}",
            hint="The levels, in their order, are plan.channels[column].inputs.",
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError(
            "cost", rule="finite and at least 0", got="other numbers", hint="Take 0 for a level in its own place."
        )
    return found


def _asked(cost: Callable[[Level, Level], Any], levels: Sequence[Level]) -> list[list[Any]]:
    """What a function says of every pair of levels; the text of its error is often the level that it does not know."""
    try:
        return [[cost(x, y) for y in levels] for x in levels]
    except Exception as error:
        raise ArgumentError(
            "cost",
            rule="a function that knows every pair of levels",
            got=f"one that raises a {type(error).__name__} for some pair of {len(levels)} levels",
            hint='Calibrate with cost="change" first: plan.channels[column].inputs lists the levels.',
        ) from None


_FEW_SECRETS = 10
"""Up to so many, pairs are cheap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law of the input given a secret, and the laws around it that are covered too."""

    counts: tuple[int, ...]
    """In proportion to the probabilities of the inputs."""
    replaced: Fraction = Fraction(0)
    """The probability with which a row is replaced by anything, whatever its value (contamination)."""
    moved: Fraction = Fraction(0)
    """How far a law may be in total variation."""

    @property
    def is_widened(self) -> bool:
        """Whether other laws are covered too."""
        return bool(self.replaced or self.moved)

    @property
    def shares(self) -> FloatArray:
        """Probabilities of the inputs."""
        total = sum(self.counts)
        return np.array([count / total for count in self.counts])


Laws = Mapping[Secret, Law]
"""One law per secret: a belief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The channel with the least expected error that meets all of this."""

    beliefs: tuple[Laws, ...]
    """The adversaries."""
    target: Target
    pairs: Pairs
    cap: float | None
    """Bound of the loss under any law at all; None for none."""
    pooled: FloatArray
    """Law of the input in the whole table, by which the expected error is meant, shape (inputs,)."""
    cost: FloatArray
    """Cost of each output in place of each input, shape (inputs, outputs)."""
    kept: FloatArray | None = None
    """Linear statistics of the output, shape (statistics, outputs), whose mean under the pooled law is to be kept."""
    kept_means: FloatArray | None = None
    """These means, shape (statistics,)."""
    constant: FloatArray | None = None
    """A law of the output that keeps them, shape (outputs,)."""
    groups: Mapping[Secret, tuple[int, ...]] | None = None
    """Of a channel that sees the secret: the inputs of each secret, in the order of its values, of all the same. None
    of one that sees the value alone: every input may be that of any secret."""
    reader_cap: float | None = None
    """Of such a channel: bound of what a reader learns of the secret who knows the value; None for none."""
    times: Mapping[Secret, float] | None = None
    """By what the costs of each secret were multiplied, so that all secrets have the same weight; None for nothing."""
    star: bool | None = None
    """Whether all pairs at delta 0 take the star form: the probability of an output given each secret lies between m
    and e^epsilon m. It has 2 rows for each output and secret where pairs have (secrets - 1), and is the same for single
    laws. Where other laws are covered it holds two laws of one secret together too, which is not asked for. By default
    where it is the same, and for more than 10 secrets."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.cost.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.cost.shape[1])

    def takes_star(self, laws: Laws, /) -> bool:
        """Whether a belief takes the star form."""
        if self.pairs != "all" or self.star is not None:
            return self.pairs == "all" and bool(self.star)
        return len(laws) > _FEW_SECRETS or not any(law.is_widened for law in laws.values())

    @property
    def is_sharp(self) -> bool:
        """Whether the program asks for no more than the guarantee: its value bounds all that see the value alone."""
        widened = [laws for laws in self.beliefs if any(law.is_widened for law in laws.values())]
        moved = any(law.moved for laws in widened for law in laws.values())
        strict = any(self.takes_star(laws) for laws in widened)
        return self.kept is None and not moved and not strict and not (widened and self.target.delta)

    def inputs_of(self, secret: Secret, /) -> Sequence[int]:
        """The inputs that rows of a secret may have."""
        return range(self.inputs) if self.groups is None else self.groups[secret]

    def times_of(self, secret: Secret, /) -> float:
        """By what the costs of a secret were multiplied."""
        return 1.0 if self.times is None else self.times[secret]

    @property
    def other_pairs(self) -> Sequence[tuple[Secret, Secret]]:
        """Two different secrets each, in both orders, of a channel that sees them."""
        groups = self.groups or {}
        return [(one, other) for one in groups for other in groups if one != other]

    @property
    def same_values(self) -> Sequence[tuple[int, ...]]:
        """The inputs of one value and every secret, of a channel that sees these."""
        return list(zip(*(self.groups or {}).values(), strict=True))

    def ordered_pairs(self, laws: Laws, /) -> Sequence[tuple[Secret, Secret]]:
        """The protected pairs of a belief, in both orders."""
        if self.pairs == "all":
            return [(one, other) for one in laws for other in laws if one != other]
        return list(dict.fromkeys(pair for a, b in self.pairs for pair in ((a, b), (b, a))))

    def only(self, outputs: Sequence[int], /) -> Problem:
        """With some of the outputs alone."""
        kept = None if self.kept is None else self.kept[:, outputs]
        constant = None if self.constant is None else self.constant[list(outputs)]
        return replace(self, cost=self.cost[:, outputs], kept=kept, constant=constant)

    def relaxed(self) -> Problem:
        """What is asked for of single laws alone: its value bounds every mechanism that sees the value alone."""
        beliefs = tuple(
            {s: replace(law, replaced=Fraction(0), moved=Fraction(0)) for s, law in laws.items()}
            for laws in self.beliefs
        )
        return replace(self, beliefs=beliefs, kept=None, kept_means=None, constant=None)

    def expected_cost(self, matrix: FloatArray, /) -> float:
        """Mean cost of a channel under the pooled law."""
        return float(self.pooled @ (matrix * self.cost).sum(axis=1))
