"""Which numbers of a series are released, what their noise is found for, and errors of its chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.choice import Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedCounts:
    """Which counts of a histogram get noise."""

    released: tuple[int, ...]
    """Numbers of the states that are released."""
    derived: bool
    """Whether the second of two counts is the public total less the first, at no cost."""
    several: bool
    """Whether more than one is released."""
    reach: int = 0
    """How far one value moves the sum of the values, where that gets noise in place of counts."""
    values: tuple[int, ...] = ()
    """The states as numbers, where their sum gets noise."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Pairs of numbers of states, of the nodes of a network, that are hidden; none for all."""

    @classmethod
    def of(cls, rows: SeriesRows, released: Sequence[int], /) -> ReleasedCounts:
        """For some of the states."""
        derived = len(rows.states) == 2 and len(released) == 2
        return cls(released=tuple(released), derived=derived, several=len(released) > 1)

    @classmethod
    def of_sum(cls, values: Sequence[int], /) -> ReleasedCounts:
        """None of the counts: their sum, weighted by the values."""
        reach = max(values) - min(values)
        return cls(released=(), derived=False, several=False, reach=reach, values=tuple(values))

    @property
    def bins(self) -> int:
        """How many numbers get noise."""
        return 1 if self.derived or self.reach else len(self.released)

    @property
    def lipschitz(self) -> int:
        """How much all of them together change where one value does."""
        return self.reach or (1 if self.bins == 1 else 2)

    def change(self, states: int, /) -> FloatArray:
        """How much all of them together change where one state is put in the place of another, shape (states, states).

        With several counts, that of each of the two states moves by 1 where it is released.
        """
        if self.reach:
            values = np.array(self.values, dtype=object)
            return np.abs(values[:, None] - values[None, :]).astype(np.float64)
        held = np.isin(np.arange(states), self.released[-1:] if self.bins == 1 else self.released).astype(np.float64)
        if self.bins == 1:
            return np.abs(held[:, None] - held[None, :])
        both: FloatArray = held[:, None] + held[None, :]
        np.fill_diagonal(both, 0.0)
        return both

    def unrounded(self, target: Target, noise: NoiseFamily, /) -> Target:
        """What the numbers must meet before each of them is put on the grid of the noise."""
        for _ in range(self.bins):
            target = noise.unrounded(target)
        return target


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesNoiseRequest:
    """What the noise of counts of series is found for."""

    chains: list[Chain]
    rows: SeriesRows
    counts: ReleasedCounts
    target: Target
    belief: str
    noise: NoiseFamily
    networks: Sequence[BayesianNetwork] = ()

    def choice(
        self,
        theorem: Theorem,
        scale: float,
        verified: Verification,
        /,
        *,
        published: float | None = None,
        adds_up: bool = False,
        remarks: frozenset[str] = frozenset(),
    ) -> Choice:
        """A scale, and what was found of it under the one belief."""
        return Choice(
            theorem=theorem,
            published_scale=published,
            scale=scale,
            binding_belief=self.belief,
            verified={self.belief: verified},
            adds_up=adds_up,
            remarks=remarks,
        )


def has_law(chains: list[Chain]) -> bool:
    """Whether the law of the first state is known: then it matters how long before the first row seen that was.

    A stationary law is that of every time, and whatever the law of the first state is, "any" covers a later one.
    """
    return any(not isinstance(chain.initial, str) for chain in chains)


def nothing_to_hide() -> CalibrationError:
    """The error of a chain that leaves no state open."""
    return CalibrationError(
        "the chain",
        rule="one that leaves the state open at some time",
        got="one in which every state follows from the first",
        hint='Give another law of the first state (initial="stationary"), or a floor to the transition probabilities.',
    )
