"""Exact privacy loss of discrete priors under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.loss.positive_part import positive_part, raw_positive_part
from puffer_frames.loss.recursion import AtomDensities, log_densities
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.priors import FloatArray, Prior, Secret
from puffer_frames.rounding import UNIT_ROUNDOFF

_CHUNK = 1 << 21
"""Entries of the largest temporary table."""

_Error: TypeAlias = Callable[[FloatArray], FloatArray]


class DiscreteLoss:
    r"""Privacy loss of several discrete priors, prepared once and evaluated at many scales.

    Between neighbouring atoms :math:`f_i/f_j` is monotone (a Moebius function of :math:`e^{2y/b}`), and constant
    beyond the outermost ones. So the pure loss is attained at an atom, and each interval holds at most one
    crossing of :math:`f_i = e^\varepsilon f_j`.

    Parameters
    ----------
    priors : mapping of secret to Prior
        Atoms only.
    pairs : "all" or tuple of pairs
        Already checked (`puffer_frames.pairs.check_pairs`).

    Notes
    -----
    **Cost** per evaluation, for m secrets and n distinct atoms of all of them: pure loss O(m n) for all pairs;
    hockey stick O(p n) for p pairs.

    References
    ----------
    Theory section 3, "Atoms only" and "All pairs at once".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs) -> None:
        self._secrets = list(priors)
        self._priors = list(priors.values())
        self._pairs = pairs
        self._positions = np.unique(np.concatenate([prior.means for prior in self._priors]))
        self._places = [np.searchsorted(self._positions, prior.means) for prior in self._priors]
        number = {secret: i for i, secret in enumerate(self._secrets)}
        if pairs == "all":
            self._first, self._second = np.triu_indices(len(self._secrets), k=1)
        else:
            self._first = np.array([number[a] for a, _ in pairs])
            self._second = np.array([number[b] for _, b in pairs])

    @property
    def span(self) -> float:
        """Distance between the outermost atoms."""
        return float(self._positions[-1] - self._positions[0])

    @property
    def resolution(self) -> float:
        """Smallest distance between two atoms: far below it, noise no longer mixes them."""
        return float(np.diff(self._positions).min()) if self._positions.size > 1 else 0.0

    def only(self, pair: Pair, /) -> DiscreteLoss:
        """The same for one of the pairs."""
        return DiscreteLoss({s: self._priors[self._secrets.index(s)] for s in pair}, pairs=(pair,))

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y; with scale 0, of the weights themselves."""
        if self._pairs == "all":
            return self._pure_of_all(scale)
        log_f, error = self._log_densities(slice(None), scale)
        lower, upper, worst = 0.0, -math.inf, 0
        for k, (i, j) in enumerate(zip(self._first, self._second, strict=True)):
            low, high, _ = _largest_ratio(np.maximum(log_f[i], log_f[j]), np.minimum(log_f[i], log_f[j]), error)
            lower = max(lower, low)
            if high > upper:
                upper, worst = high, k
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    def _pure_of_all(self, scale: float) -> WorstCase:
        """sup_y (max_i log f_i - min_j log f_j): one density per secret, no loop over pairs."""
        n = self._positions.size
        highest, lowest = np.full(n, -np.inf), np.full(n, np.inf)
        at_highest, at_lowest = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        step = max(1, _CHUNK // n)
        for start in range(0, len(self._secrets), step):
            log_f, error = self._log_densities(slice(start, start + step), scale)
            for k, row in enumerate(log_f, start):
                higher, lower_ = row > highest, row < lowest
                highest[higher], at_highest[higher] = row[higher], k
                lowest[lower_], at_lowest[lower_] = row[lower_], k
        low, high, at = _largest_ratio(highest, lowest, error)
        pair = self._secrets[at_highest[at]], self._secrets[at_lowest[at]]
        if pair[0] == pair[1]:  # every prior is the same
            pair = self._secrets[0], self._secrets[1]
        return WorstCase(bracket=Bracket(lower=low, upper=high), pair=pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """Largest integral of [f_i - e^epsilon f_j]_+ over the pairs, both orders."""
        lower = upper = -math.inf
        worst = 0
        tables = self._tables(slice(None), scale) if scale else None
        weights = self._weights(slice(None))
        for chunk in self._pair_chunks():
            for i, j in ((self._first[chunk], self._second[chunk]), (self._second[chunk], self._first[chunk])):
                if tables is not None:
                    low, high = positive_part(tables, i, j, epsilon=epsilon)
                else:
                    low, high = raw_positive_part(weights[i], weights[j], epsilon=epsilon)
                lower = max(lower, float(low.max()))
                if high.max() > upper:
                    upper, worst = float(high.max()), chunk.start + int(high.argmax())
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    def _pair(self, k: int) -> Pair:
        return self._secrets[int(self._first[k])], self._secrets[int(self._second[k])]

    def _weights(self, rows: slice) -> FloatArray:
        places, priors = self._places[rows], self._priors[rows]
        table = np.zeros((len(priors), self._positions.size))
        for row, place, prior in zip(table, places, priors, strict=True):
            row[place] = prior.weights
        return table

    def _tables(self, rows: slice, scale: float) -> AtomDensities:
        return log_densities(self._positions, self._weights(rows), scale=scale)

    def _log_densities(self, rows: slice, scale: float) -> tuple[FloatArray, _Error]:
        """Log 2b f at the atoms (log weight where the scale is 0) and its rounding error as a function of it."""
        if scale:
            tables = self._tables(rows, scale)
            return tables.log_f, tables.error
        with np.errstate(divide="ignore"):
            return np.log(self._weights(rows)), _error_of_log

    def _pair_chunks(self) -> Iterator[slice]:
        step = max(1, _CHUNK // self._positions.size)
        for start in range(0, self._first.size, step):
            yield slice(start, min(start + step, self._first.size))


def _error_of_log(value: FloatArray) -> FloatArray:
    return 4 * UNIT_ROUNDOFF * (1 + np.abs(value))


def _largest_ratio(highest: FloatArray, lowest: FloatArray, error: _Error) -> tuple[float, float, int]:
    """Bounds of max(highest - lowest), and where the upper one is; empty places (-inf twice) do not count."""
    with np.errstate(invalid="ignore"):
        ratio = highest - lowest
        slack = error(highest) + error(lowest) + UNIT_ROUNDOFF * ratio
        upper, lower = ratio + slack, ratio - slack
    unbounded = np.isposinf(ratio)
    upper[np.isnan(ratio)] = lower[np.isnan(ratio)] = 0.0
    upper[unbounded] = lower[unbounded] = np.inf
    at = int(upper.argmax())
    return max(0.0, float(lower.max())), float(upper[at]), at
