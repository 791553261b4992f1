"""Markov chains: the adversary's belief about a correlated series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from scipy.special import betaincinv

from puffer_frames.errors import PriorError, short_traceback
from puffer_frames.numbers.arguments import check_number
from puffer_frames.priors.prior import FloatArray, IndexArray

_WIDER = 1e-10
"""The bounds are moved outwards by this share, for the error of the inverse beta function and of sums."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainBox:
    """Every chain whose transition matrix lies between two bounds, whatever the law of its first state is."""

    least: FloatArray
    """Lower bounds of the entries, shape (states, states), rows from, columns to."""
    most: FloatArray
    """Upper bounds."""

    @property
    def initial(self) -> str:
        """Any law of the first state."""
        return "any"

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.least)


def chains_not_refuted(transitions: IndexArray, /, *, alpha: float) -> ChainBox:
    r"""The transition matrices that series do not refute: a box that misses the true one with probability alpha.

    For n transitions from a state, k of which go to another, Clopper and Pearson's bounds

    .. math:: B^{-1}(\gamma; k, n - k + 1) \le P \le 1 - B^{-1}(\gamma; n - k, k + 1)

    with gamma = alpha / (2 entries N), N being the number of all transitions: how many of them leave a state depends on
    the chain, so the bounds must hold for every such number at once.

    - `transitions` (array of int, shape (states, states)): How often each was seen, of series that all follow one
      matrix.

    See docs/theory.md, section 14.
    """
    seen = np.asarray(transitions, dtype=np.float64)
    states, leaving = seen.shape[0], seen.sum(axis=1, keepdims=True)
    entries = 2 if states == 2 else states * states  # of two, each row has one bound of either side
    tail = alpha / (2 * entries * max(1.0, float(seen.sum())))
    staying = leaving - seen
    least = np.where(seen > 0, betaincinv(np.maximum(seen, 1.0), staying + 1, tail), 0.0) * (1 - _WIDER)
    above = np.where(staying > 0, betaincinv(np.maximum(staying, 1.0), seen + 1, tail), 0.0) * (1 - _WIDER)
    most = 1 - above
    rest = most.sum(axis=1, keepdims=True) - most
    others = least.sum(axis=1, keepdims=True) - least
    return ChainBox(
        least=np.maximum(least, (1 - rest) * (1 - _WIDER) - _WIDER),
        most=np.minimum(most, (1 - others) * (1 + _WIDER) + _WIDER),
    )


Initial: TypeAlias = FloatArray | Literal["stationary", "any"]

_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarkovChain:
    """A transition matrix and the law of the first state. Make one with `of`."""

    transition: FloatArray
    """P(next state | state), shape (states, states), rows summing to 1."""
    initial: Initial
    """"stationary", "any" (whatever the first state's law is), or a law, shape (states,)."""

    @classmethod
    @short_traceback
    def of(cls, transition: ArrayLike, /, *, initial: ArrayLike | str = "stationary") -> MarkovChain:
        """Check a transition matrix and an initial law.

        Parameters
        ----------
        transition : array_like, shape (states, states)
            Non-negative, each row summing to 1 within 1e-6 (then normalised).
        initial : "stationary", "any" or array_like, shape (states,)

        Raises
        ------
        PriorError
            For other shapes, sums or numbers, and for a stationary start of a reducible chain, whose stationary law is
            not one.

        Examples
        --------
        >>> MarkovChain.of([[0.9, 0.1], [0.4, 0.6]]).stationary.round(3).tolist()
        [0.8, 0.2]
        """
        matrix = _numbers(transition, "a transition matrix")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
            raise _not("a transition matrix", "square, of at least two states", f"shape {matrix.shape}")
        _check_law(matrix, "each row of a transition matrix")
        matrix /= matrix.sum(axis=1, keepdims=True)
        matrix.setflags(write=False)
        if isinstance(initial, str):
            if initial not in ("stationary", "any"):
                raise _not("initial", '"stationary", "any" or a law of the states', repr(initial))
            chain = cls(transition=matrix, initial="any" if initial == "any" else "stationary")
            if initial == "stationary":
                chain._require_irreducible()
            return chain
        law = _numbers(initial, "initial")
        if law.shape != matrix.shape[:1]:
            raise _not("initial", f"a law of {matrix.shape[0]} states", f"shape {law.shape}")
        _check_law(law[None], "initial")
        law /= law.sum()
        law.setflags(write=False)
        return cls(transition=matrix, initial=law)

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.transition.shape[0])

    @property
    def is_irreducible(self) -> bool:
        """Whether every state is reached from every other."""
        parts, _ = connected_components(self.transition > 0, directed=True, connection="strong")
        return bool(parts == 1)

    @property
    def is_primitive(self) -> bool:
        """Whether some power of the matrix is positive throughout: irreducible, and of period 1."""
        pattern, steps = self.transition > 0, 1
        while steps < self.states**2:
            pattern, steps = pattern.astype(float) @ pattern > 0, 2 * steps
        return bool(pattern.all())

    @property
    def stationary(self) -> FloatArray:
        """The stationary law, shape (states,), by GTH elimination: no subtraction, every entry accurate.

        Raises
        ------
        PriorError
            For a reducible chain.

        References
        ----------
        Grassmann, Taksar, Heyman, Operations Research 33(5), 1985.
        """
        self._require_irreducible()
        p = self.transition.copy()
        for n in range(self.states - 1, 0, -1):
            p[:n, n] /= p[n, :n].sum()
            p[:n, :n] += np.outer(p[:n, n], p[n, :n])
        law = np.ones(self.states)
        for n in range(1, self.states):
            law[n] = law[:n] @ p[:n, n]
        return law / law.sum()

    @property
    def reversal(self) -> FloatArray:
        r"""Transition matrix of the stationary chain read backwards, :math:`\pi(y) P(y, x) / \pi(x)`."""
        law = self.stationary
        return self.transition.T * law / law[:, None]

    @property
    def is_reversible(self) -> bool:
        """Whether the stationary chain reads the same backwards, up to rounding."""
        return bool(np.allclose(self.reversal, self.transition, rtol=1e-9, atol=1e-14))

    def _require_irreducible(self) -> None:
        if not self.is_irreducible:
            raise PriorError(
                "a chain with a stationary start",
                rule="irreducible (every state reached from every other)",
                got="a reducible one",
                hint="Give the law of the first state (initial=[...]), or a floor to the transition probabilities.",
            )


@short_traceback
def binary_class(low: float, /) -> list[MarkovChain]:
    """The binary chains with both diagonal entries in [low, 1 - low] and a stationary start, for quilt mechanisms.

    Their largest scale is that of the diagonal (low, low), and equally (1 - low, 1 - low): these two stand for all.

    Parameters
    ----------
    low : float
        Greater than 0, less than 1/2.

    Returns
    -------
    list of MarkovChain

    Raises
    ------
    PriorError
        Unless 0 < low < 1/2.

    References
    ----------
    docs/theory.md, section 10, "Classes of chains".

    Examples
    --------
    >>> len(binary_class(0.3))
    2
    """
    low = check_number(low, "low")
    if not 0 < low < 0.5:
        raise PriorError("low", rule="greater than 0 and less than 1/2", got=f"{low:g}", hint="Write 0.3.")
    return [MarkovChain.of([[p, 1 - p], [1 - p, p]]) for p in (low, 1 - low)]


def estimate_transition(pairs: ArrayLike, /, *, floor: float) -> FloatArray:
    """Transition matrix from counts of transitions: frequencies raised to the floor, then rows divided by their sum.

    - `pairs` (array_like, shape (states, states)): How often each transition was seen; a state that was never left goes
      anywhere with equal probability.
    - `floor`: At least 0, at most 1 / states. An entry raised to it ends a little below it, by the division: at least
      at floor / (1 + states x floor).
    """
    counts = np.array(pairs, dtype=np.float64)
    left = counts.sum(axis=1, keepdims=True)
    share = np.where(left > 0, counts / np.maximum(left, 1.0), 1.0 / counts.shape[0])
    raised = np.maximum(share, floor)
    return raised / raised.sum(axis=1, keepdims=True)


def _numbers(given: ArrayLike, what: str) -> FloatArray:
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _not(what, "of numbers", f"a {type(given).__name__}") from None


def _check_law(rows: FloatArray, what: str) -> None:
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise _not(what, "of finite numbers of at least 0", "others")
    worst = float(np.abs(rows.sum(axis=1) - 1).max())
    if worst > _SUM_TOLERANCE:
        raise _not(what, "a distribution (sum 1)", f"a sum that is off by {worst:.3g}")


def _not(what: str, rule: str, got: str) -> PriorError:
    return PriorError(what, rule=rule, got=got, hint="Write [[0.9, 0.1], [0.4, 0.6]], rows from, columns to.")
