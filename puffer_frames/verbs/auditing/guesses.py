"""What guessers of the secret win, and what that proves of epsilon.

A guesser without a model: gradient boosting learns the secret from half of the rows, and is tested on the others.

What the certificate does not know it finds too: another mechanism, a column that tells. How often it is right on rows
that it has not seen is counted; of the events that it chooses, the probability on the other half is below that on its
own half on average, so that bounds err on the side of no alarm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import headline, on_own_range
from puffer_frames.numbers.presentation import lower_text, plain, upper_text
from puffer_frames.numbers.rounding import share_at_least, share_at_most
from puffer_frames.numbers.threads import one_blas_thread
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.auditing.guesser import (
    Bound,
    PairOfCodes,
    Ratios,
    bounds_of_ratios,
    event_bounds,
    held_out_scores,
    largest_advantage,
    model_bounds,
)
from puffer_frames.verbs.auditing.report import AuditCheck, AuditedPair, check_of, check_within
from puffer_frames.verbs.auditing.rows import AuditRows, Secrets, View, views_of

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
    with one_blas_thread():
        model.fit(features[mine], codes)
        shares = np.log(np.maximum(model.predict_proba(features), 1e-12))
    scores[:] = -30.0
    scores[:, present] = shares
    return scores


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

    def ratios(s: int, t: int) -> Ratios:
        ratio, own = scores[:, s] - scores[:, t], secrets == s
        return ratio[trained & own], ratio[~trained & own], ratio[~trained & (secrets == t)]

    return bounds_of_ratios(pairs, ratios, _LEVELS, delta=delta, alpha=alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates of a guesser of two secrets, on rows that it has not seen."""

    accuracy: float
    """Share of right guesses where both secrets are equally likely."""
    advantage: float
    """True positive rate less false positive rate."""
    low: float
    """Lower end of a Clopper-Pearson interval of the advantage."""
    high: float
    """Its upper end."""


def rates_of(own: FloatArray, other: FloatArray, /, *, alpha: float) -> Rates:
    """From log-ratios of rows of the one secret and of the other: above 0 the guess is the first one, else the other.

    The interval holds at 1 - alpha: four bounds of alpha / 4, of both rates.
    """
    if not (own.size and other.size):
        return Rates(accuracy=0.5, advantage=0.0, low=-1.0, high=1.0)
    hits, false, each = int((own > 0).sum()), int((other > 0).sum()), alpha / 4
    advantage = hits / own.size - false / other.size
    low = float(share_at_least(hits, own.size, each)) - float(share_at_most(false, other.size, each))
    high = float(share_at_most(hits, own.size, each)) - float(share_at_least(false, other.size, each))
    return Rates(accuracy=0.5 * (1 + advantage), advantage=advantage, low=low, high=high)


_NAMES = ("epsilon", "advantage", "learned guesser")


def claimed(certificate: Certificate, /) -> tuple[float, float] | None:
    """Epsilon and delta that the certificate says of the observed frequencies of these rows; None where it says none.

    The guarantee is under its beliefs. Where the observed law of these rows is none of them, what was measured of it
    counts; of rows that are not those of the plan that is said where it is more.
    """
    facts = certificate.facts
    if on_own_range(certificate):
        most = headline(certificate)
        return most.epsilon, most.delta
    within = facts.other_rows and not certificate.table  # where it was measured
    own = "empirical" in certificate.beliefs and not (facts.unmeasured or facts.other_rows)
    if not facts.exceeds and (facts.joint == "rule" or within or own):
        return certificate.epsilon, certificate.delta
    if not certificate.observed or set(certificate.observed) < set(certificate.scales) or facts.unmeasured:
        return None
    found = list(certificate.observed.values())
    if certificate.delta:
        return certificate.epsilon, max(certificate.delta, *(each.hockey_stick.upper for each in found))
    rows = certificate.unit_rows if facts.rows_of_unit == "independent" else 1  # what was measured is of one of these
    return max(certificate.epsilon, *(rows * each.pure_loss.upper for each in found)), 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Learned:
    """Scores of gradient boosting on some columns, of all rows."""

    before: FloatArray
    after: FloatArray
    kept: FloatArray | None
    weights: FloatArray
    """Weight of each secret: 1 / rows."""


def guesses(
    rows: AuditRows, limit: tuple[float, float] | None, /, *, level: float, alpha: float, rng: np.random.Generator
) -> tuple[list[AuditCheck], list[AuditedPair]]:
    """The checks of epsilon, and a line for each pair; each check at level alpha."""
    if rows.shuffled or not rows.columns:
        why = "the rows were put into a random order" if rows.shuffled else "there is no certified column to look at"
        return [check_of(name, "not applicable", why) for name in (*_NAMES, "kept columns")], []
    trained = rng.random(rows.rows) < 0.5
    learned = {group.names: _learn(rows, group, trained, rng) for group in rows.secrets}
    views = list(views_of(rows))
    epsilon, delta = limit or (rows.certificate.epsilon, rows.certificate.delta)
    found: list[AuditedPair] = []
    free: list[Bound] = []
    bounds: list[Bound] = []
    for view in views:
        share = alpha / len(views)
        proved = _proved(view, delta=delta, alpha=share, rng=rng)
        mine = trained[view.rows]
        scores = _in_view(learned[view.names].after, learned[view.names], view, mine)
        free += learned_bounds(scores, view.codes, mine, view.pairs, delta=delta, alpha=share).values()
        bounds += proved.values()
        found += _pairs(view, learned[view.names], mine, proved, (epsilon, delta), level, rng)
    checks = bound_checks(bounds, free, limit, alpha)
    return [*checks, _kept(found)], found


def _proved(view: View, *, delta: float, alpha: float, rng: np.random.Generator) -> Mapping[PairOfCodes, Bound]:
    """By both families of events, with half of alpha each."""
    model = model_bounds(view.columns, view.codes, view.pairs, delta=delta, alpha=alpha / 2, rng=rng)
    events = event_bounds(view.columns, view.codes, view.pairs, delta=delta, alpha=alpha / 2)
    return {pair: model[pair].or_more(events[pair].epsilon, events[pair].advantage) for pair in view.pairs}


def _learn(rows: AuditRows, group: Secrets, trained: NDArray[np.bool_], rng: np.random.Generator) -> _Learned:
    certificate = rows.certificate
    given = [rows.released[name].codes.astype(float) for name in certificate.given if name in rows.released]
    kept = [
        entries.codes.astype(float) if entries.numbers is None else entries.numbers
        for name, entries in rows.released.items()
        if name not in certificate.given and name not in certificate.public
    ]
    before, after = [each.before for each in rows.columns], [each.after for each in rows.columns]

    def scores(columns: Sequence[FloatArray]) -> FloatArray:
        return learned_scores(np.column_stack(columns), group.codes, trained, rng)

    return _Learned(
        before=scores([*before, *given]),
        after=scores([*after, *given]),
        kept=scores([*after, *given, *kept]) if kept else None,
        weights=1 / np.bincount(group.codes).astype(float),
    )


def _in_view(scores: FloatArray, learned: _Learned, view: View, trained: NDArray[np.bool_]) -> FloatArray:
    """Log of P(secret | row) / P(secret) in the rows of a stratum, where a secret counts by its weight."""
    counts = np.bincount(view.codes[trained], minlength=len(view.present))
    return scores[view.rows][:, view.present] - np.log(np.maximum(counts, 0.5) * learned.weights[view.present])


def bound_checks(
    bounds: Sequence[Bound], free: Sequence[Bound], limit: tuple[float, float] | None, alpha: float, /
) -> list[AuditCheck]:
    """The checks of epsilon, by what was proved and by what was learned."""
    if limit is None or not bounds:
        why = "the certificate says nothing of the observed frequencies" if limit is None else "no pair is protected"
        return [check_of(name, "not applicable", why) for name in _NAMES]
    epsilon, delta = limit
    most = largest_advantage(epsilon, delta)
    sure = f"{100 * (1 - alpha):.6g} % confidence"
    at = f" at delta {plain(delta)}" if delta else ""
    low, advantage = max(each.epsilon for each in bounds), max(each.advantage for each in bounds)
    learned = max((each.epsilon for each in free), default=0.0)
    said = (
        f"at least {lower_text(low, digits=4)}{at}, with {sure}; {plain(epsilon)} certified",
        f"at least {lower_text(advantage, digits=4)} for the best guesser; {upper_text(most, digits=4)} allowed",
        f"shows an epsilon of at least {lower_text(learned, digits=4)}{at}; {plain(epsilon)} certified",
    )
    figures = zip(_NAMES, said, (low, advantage, learned), (epsilon, most, epsilon), strict=True)
    return [check_within(name, why, found, limit) for name, why, found, limit in figures]


def _kept(found: Sequence[AuditedPair]) -> AuditCheck:
    known = [each.advantage_kept for each in found if not math.isnan(each.advantage_kept)]
    if not known:
        return check_of("kept columns", "not applicable", "no column is kept")
    without = max(each.advantage_learned for each in found)
    why = f"with them gradient boosting has an advantage of {max(known):.3f}, {without:.3f} without"
    return check_of("kept columns", "information", why, found=max(known), limit=math.nan)


def _pairs(
    view: View,
    learned: _Learned,
    trained: NDArray[np.bool_],
    proved: Mapping[PairOfCodes, Bound],
    limit: tuple[float, float],
    level: float,
    rng: np.random.Generator,
) -> list[AuditedPair]:
    """A line for each pair of one stratum."""
    held = ~trained
    codes = view.codes[held]
    best = (
        held_out_scores(view.columns, view.codes, trained, rng)
        if trained.any() and held.any()
        else np.zeros((codes.size, len(view.present)))
    )
    tables = [learned.before, learned.after, *([] if learned.kept is None else [learned.kept])]
    scores = [best, *(_in_view(table, learned, view, trained)[held] for table in tables)]
    found = []
    for pair in view.pairs:
        s, t = pair
        ratios = [table[:, s] - table[:, t] for table in scores]
        after, raw, free, *kept = (rates_of(one[codes == s], one[codes == t], alpha=1 - level) for one in ratios)
        found.append(
            AuditedPair(
                secret=view.labels[s],
                other=view.labels[t],
                stratum=view.stratum,
                rows=int(np.isin(view.codes, pair).sum()),
                accuracy_before=raw.accuracy,
                accuracy_after=after.accuracy,
                advantage=after.advantage,
                advantage_low=after.low,
                advantage_high=after.high,
                advantage_bound=largest_advantage(*limit),
                epsilon_low=proved[pair].epsilon,
                advantage_learned=free.advantage,
                advantage_kept=kept[0].advantage if kept else math.nan,
            )
        )
    return found
