"""A guesser without a model: gradient boosting learns the secret from half of the rows, and is tested on the others.

What the certificate does not know it finds too: another mechanism, a column that tells. How often it is right on rows
that it has not seen is counted; of the events that it chooses, the probability on the other half is below that on its
own half on average, so that bounds err on the side of no alarm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.auditing.guesser import Bound, PairOfCodes, better

_MOST_ROWS = 20_000
_TREES = 120
_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


def learned_scores(
    features: FloatArray, secrets: IndexArray, trained: NDArray[np.bool_], rng: np.random.Generator, /
) -> FloatArray:
    """Log of P(secret | row), where all secrets are equally likely, shape (rows, secrets).

    All rows get scores; only those of rows that are not `trained` mean anything for others.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier  # it takes a second

    count = int(secrets.max()) + 1
    mine = rng.permutation(np.flatnonzero(trained))[:_MOST_ROWS]
    trees = max(6, _TREES // count)
    model = HistGradientBoostingClassifier(
        max_iter=trees,
        max_leaf_nodes=15,
        min_samples_leaf=20,
        learning_rate=0.15,
        early_stopping=False,
        class_weight="balanced",
        random_state=int(rng.integers(2**31)),
    )
    scores = np.zeros((secrets.size, count))
    present, codes = np.unique(secrets[mine], return_inverse=True)
    if present.size < 2:
        return scores
    with threadpool_limits(limits=1):
        model.fit(features[mine], codes)
        shares = np.log(np.maximum(model.predict_proba(features), 1e-12))
    scores[:] = -30.0
    scores[:, present] = shares
    return scores


def ratios_to_prior(
    scores: FloatArray, secrets: IndexArray, trained: NDArray[np.bool_], weights: FloatArray, /
) -> FloatArray:
    """Log of P(secret | row) / P(secret) in some of the rows, where a secret counts by its weight."""
    counts = np.bincount(secrets[trained], minlength=scores.shape[1])
    found: FloatArray = scores - np.log(np.maximum(counts, 0.5) * weights)
    return found


def learned_bounds(
    scores: FloatArray,
    secrets: IndexArray,
    trained: NDArray[np.bool_],
    pairs: Sequence[PairOfCodes],
    /,
    *,
    delta: float,
    alpha: float,
) -> Mapping[PairOfCodes, Bound]:
    """What the learned scores show of each pair on the rows that were held out; thresholds are of the others."""
    each_alpha = alpha / (4 * (len(_LEVELS) + 1) * max(1, len(pairs)))
    found = {}
    for first, second in pairs:
        best = Bound(epsilon=0.0, advantage=0.0)
        for s, t in ((first, second), (second, first)):
            ratio = scores[:, s] - scores[:, t]
            learned = ratio[trained & (secrets == s)]
            own, other = ratio[~trained & (secrets == s)], ratio[~trained & (secrets == t)]
            if not (learned.size and own.size and other.size):
                continue
            cuts = np.append(np.quantile(learned, _LEVELS), 0.0)
            hits = (own[:, None] >= cuts).sum(axis=0).astype(float), (other[:, None] >= cuts).sum(axis=0).astype(float)
            best = better(best, hits, (own.size, other.size), delta=delta, alpha=each_alpha)
        found[first, second] = best
    return found
