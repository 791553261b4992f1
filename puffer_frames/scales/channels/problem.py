"""What a channel must meet: the laws, what they withstand, and the cost of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from puffer_frames.numbers.target import Target
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law of the input given a secret, and the laws around it that are covered too."""

    counts: tuple[int, ...]
    """In proportion to the probabilities of the inputs."""
    replaced: Fraction = Fraction(0)
    """The share of the law that any other law may take the place of (contamination)."""
    moved: Fraction = Fraction(0)
    """How far a law may be in total variation."""

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

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.cost.shape[0]

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.cost.shape[1]

    def ordered_pairs(self, laws: Laws, /) -> Sequence[tuple[Secret, Secret]]:
        """The protected pairs of a belief, in both orders."""
        if self.pairs == "all":
            return [(one, other) for one in laws for other in laws if one != other]
        return list(dict.fromkeys(pair for a, b in self.pairs for pair in ((a, b), (b, a))))

    def only(self, outputs: Sequence[int], /) -> Problem:
        """With some of the outputs alone."""
        return replace(self, cost=self.cost[:, outputs])

    def expected_cost(self, matrix: FloatArray, /) -> float:
        """Mean cost of a channel under the pooled law."""
        return float(self.pooled @ (matrix * self.cost).sum(axis=1))
