"""One quilt for every node of a series with gaps: of the nodes near a value only the observed ones change an answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.papers.quilt.influence import Influence, any_start_influence, stationary_influence
from puffer_frames.papers.quilt.nodes import Quilt, QuiltScale
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows

_MOST_SUMS = 2e7
"""Sums of two sides' influences that are looked at: distances on the left times on the right times pairs of states."""
_MOST_NODES, _FEWEST_STEPS = 1e8, 8
"""Of nodes with quilts of their own: nodes times distances squared, and distances."""
_MOST_PLACES = 1e7
"""Times of all units, and the room between these."""
_FEWEST_SPANS, _MOST_SPANS, _MOST_LOOKS = 64, 8192, 20_000_000
"""Of windows: lengths that are looked at, and lengths times pieces."""
_ROUND_UP = 1 + 2**-50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """The largest number of observed nodes among consecutive ones."""

    spans: IndexArray
    """Numbers of consecutive nodes, ascending."""
    most: NDArray[np.int64]
    """The largest number of observed ones among them."""

    @classmethod
    def of(cls, rows: SeriesRows, /, *, length: int) -> Windows:
        """Of the rows of all units, up to a number of nodes; between those that are looked at, of the next larger."""
        count = max(_FEWEST_SPANS, min(_MOST_SPANS, _MOST_LOOKS // rows.lengths.size))
        spans = np.arange(1, length + 1) if length <= count else _thinned(length, count)
        return cls(spans=spans, most=rows.most_within(spans))

    def at(self, spans: IndexArray, /) -> NDArray[np.int64]:
        """An upper bound for each number of nodes."""
        found: NDArray[np.int64] = self.most[np.minimum(np.searchsorted(self.spans, spans), self.spans.size - 1)]
        return found


def gap_quilt(influence: Influence, windows: Windows, /, *, epsilon: float) -> Quilt | None:
    r"""The quilt {i - a, i + b} that serves all nodes with the least noise; None where no influence is below epsilon.

    .. math:: \min_{a, b} \frac{K(a + b - 1)}{\varepsilon - e(a, b)}

    Parameters
    ----------
    influence : Influence
        Of a stationary start or of any, so that it does not depend on the node.
    windows : Windows
        K.
    epsilon : float

    Notes
    -----
    A side that does not fit is left out: then no more nodes are near, K does not grow, and the influence neither, since
    that of a side is at least 0. **Cost**: the sums of all sides.

    References
    ----------
    [SWC17] Theorem 4.2; docs/theory.md, section 10, "Gaps".
    """
    steps, best = influence.steps, Quilt(card=0, influence=math.inf)
    least = math.inf
    for k, step in enumerate(steps.tolist()):
        told = (influence.left[k] + influence.right).max(axis=1) * _ROUND_UP
        card = windows.at(steps + (step - 1))
        with np.errstate(divide="ignore"):
            scores = np.where(told < epsilon, card / np.maximum(epsilon - told, 0.0), np.inf)
        at = int(scores.argmin())
        if scores[at] < least:
            least, best = float(scores[at]), Quilt(card=int(card[at]), influence=float(told[at]))
    return best if least < math.inf else None


def node_quilts(influence: Influence, rows: SeriesRows, /, *, epsilon: float) -> QuiltScale | None:
    r"""A quilt {i - a, i + b} of its own for each node i, where there are not too many nodes; otherwise None.

    .. math:: \max_i \min_{a, b} \frac{|\text{observed nodes in } [i - a + 1, i + b - 1]|}{\varepsilon - e(a, b)}

    A side that does not fit is left out, as in `gap_quilt`. **Cost**: distances squared times nodes.
    """
    reach = int(influence.steps[-1])
    places = rows.times + (len(rows.units) + 1) * reach
    if places > _MOST_PLACES:
        return None
    count = int(math.sqrt(_MOST_NODES / places))
    if reach > count and count < _FEWEST_STEPS:
        return None
    kept = np.arange(influence.steps.size)
    if influence.steps.size > count:
        kept = np.unique(np.searchsorted(influence.steps, _thinned(reach, count)))
    steps, told = influence.steps[kept], influence.right[kept]
    nodes, before = rows.timeline(apart=reach)
    scores, cards, held = np.full(nodes.size, np.inf), np.zeros(nodes.size, dtype=np.int64), np.zeros(nodes.size)
    for k, a in zip(kept.tolist(), steps.tolist(), strict=True):
        sides = (influence.left[k] + told).max(axis=1) * _ROUND_UP
        first = before[nodes - a + 1]
        for b, side in zip(steps.tolist(), sides.tolist(), strict=True):
            if side < epsilon:
                card = before[nodes + b] - first
                score = card / (epsilon - side)
                better = score < scores
                scores[better], cards[better], held[better] = score[better], card[better], side
    if not np.isfinite(scores).all():
        return None
    pairs = dict.fromkeys(zip(cards.tolist(), held.tolist(), strict=True))
    quilts = tuple(Quilt(card=card, influence=side) for card, side in pairs)
    return QuiltScale(sigma=max(quilt.score(epsilon) for quilt in quilts), quilts=quilts)


def gap_influence(chain: MarkovChain, windows: Windows, /, *, epsilon: float, length: int) -> Influence:
    """Influences at all distances that a best quilt may have; at fewer of them where there are many.

    They are those of a stationary chain, or of one with any start. Doubling a distance m finds quilts {i - m, i + m};
    one with more than epsilon times their least score observed nodes on a side is no better.
    """
    stationary = isinstance(chain.initial, str) and chain.initial == "stationary"
    table = stationary_influence if stationary else any_start_influence
    best, m = math.inf, 1
    while m < length and windows.at(np.array([m]))[0] < epsilon * best:
        sides = table(chain, np.array([m]))
        told = float((sides.left + sides.right).max())
        if told < epsilon:
            best = min(best, float(windows.at(np.array([2 * m - 1]))[0]) / (epsilon - told))
        m *= 2
    reach = min(m, length - 1)
    count = int(math.sqrt(_MOST_SUMS / (chain.states * (chain.states - 1))))
    return table(chain, np.arange(1, reach + 1) if reach <= count else _thinned(reach, count))


def _thinned(reach: int, count: int) -> IndexArray:
    """Distances from 1 to `reach`, ever farther apart."""
    steps: IndexArray = np.unique(np.rint(np.geomspace(1, reach, count)).astype(np.intp))
    return steps
