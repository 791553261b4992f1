"""What is measured of the plan of a table: what a release keeps, and what it tells other beliefs and attackers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.mechanisms.sequential.law import NetworkLaw, Rows
from puffer_frames.mechanisms.sequential.release import (
    SequentialPlan,
    hockey_stick,
    largest_mean,
    release,
    released_with_logs,
)
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.rounding import epsilon_at_least, share_at_least, share_at_most
from puffer_frames.numbers.threads import one_blas_thread, watched
from puffer_frames.priors.prior import FloatArray, IndexArray

CONFIDENCE = 0.95
_SIMULATED = 16_000
"""Rows of all secrets together that are drawn from each belief."""
_RELEASES = 8
"""Releases of the rows from which an attacker who knows some secrets learns."""
_TUNED = 1 / 3
"""Share of the tested rows that thresholds are chosen on."""
_THRESHOLDS = 40
_ROUNDS = 150
"""Rounds of boosting."""
FEWEST_TESTED = 30
"""Rows of each secret, without which no attack is tried."""
_DIGITS = 4
_CLEAR, _HARDLY, _STRONG, _HALF = 0.3, 0.05, 0.5, math.sqrt(0.5)
"""The least correlation that is clear, what is hardly one, the least that is strong, and how much of that is left where
its square is halved."""
_SPREAD = 1e-18
"""Less than what rounding makes of the spread of a constant, of numbers up to 1."""
_SEEN_OFTEN = 10
"""Rows of a level that explains, or is explained: rarer ones go together by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a release keeps of the rows that the plan was made from: one release was simulated."""

    changed: Mapping[str, float]
    """Share of the rows with another value, or another cell, per column."""
    changed_of: Mapping[str, tuple[float, ...]]
    """The same for each secret, in their order."""
    distance: Mapping[str, float]
    """Mean distance of the released value to the row's own, at most, per column of numbers."""
    marginals: float
    """Mean total variation between the released and the true shares of the levels of a column."""
    pairs: float
    """The same of two columns together."""
    counts: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """Rows of each secret with each level, per column; none in a file of an earlier version."""
    unrelated: tuple[tuple[str, str], ...] = ()
    """Each two columns whose correlation is clear, and hardly there after, or of the other sign; or strong, and its
    square less than half as large after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherBelief:
    """The loss of the same mechanism under another belief, on rows drawn from it."""

    name: str
    delta: float
    """Upper bound at the epsilon of the plan, the largest of all pairs of secrets."""
    tail: float
    """99 % of the losses are at most this: an estimate."""
    auc: float
    """The estimated AUC of the best guess between two secrets, the largest over all pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """An attacker who was tried on rows that the plan was not made from."""

    name: str
    auc: tuple[float, ...]
    """The AUC of each secret against all others."""
    shown: float
    """The loss is at least this: 95 % confidence, for all attackers and pairs of secrets together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """All attacks on rows that the plan was not made from."""

    rows: int
    """Rows that were attacked."""
    secrets: tuple[int, ...]
    """Numbers of the secrets that had enough rows: the attacks are on these."""
    raw: tuple[float, ...]
    """The same from the raw columns, the largest of attackers who learned from raw rows: those of the plan, and the
    half that attackers of the release learn from."""
    attacks: tuple[Attack, ...]

    @property
    def best(self) -> tuple[float, ...]:
        """The largest AUC of each secret."""
        return tuple(np.max([attack.auc for attack in self.attacks], axis=0).tolist())

    @property
    def shown(self) -> float:
        """The largest loss that an attacker showed."""
        return max(attack.shown for attack in self.attacks)


def auc_margin(auc: float, positive: float, negative: float, /) -> float:
    """Two standard errors of an AUC of so many rows of both kinds: [HM82], equation 1."""
    same, other = auc / (2 - auc) - auc**2, 2 * auc**2 / (1 + auc) - auc**2
    variance = auc * (1 - auc) + (positive - 1) * same + (negative - 1) * other
    return 2 * math.sqrt(max(variance, 0.0) / (positive * negative))


def kept_of(
    rows: Rows,
    released: NDArray[np.integer],
    values: Mapping[str, FloatArray | None],
    /,
    *,
    within: Mapping[str, float],
) -> Kept:
    """Compare released codes with those of the rows.

    - `rows`, `released`: The codes.
    - `values` (mapping of column to array): The value of each code of a column of numbers; None for labels.
    - `within` (mapping of column to float): Mean distance of the numbers to the value of their code.
    """
    changed, by_secret, distance = dict[str, float](), dict[str, tuple[float, ...]](), dict[str, float]()
    for k, (name, numbers) in enumerate(values.items()):
        other = released[:, k] != rows.codes[:, k]
        changed[name] = float(other.mean())
        sums = np.bincount(rows.secrets, other, minlength=rows.groups)
        by_secret[name] = tuple((sums / np.bincount(rows.secrets, minlength=rows.groups)).tolist())
        if numbers is not None:
            apart = np.abs(numbers[released[:, k]] - numbers[rows.codes[:, k]])
            distance[name] = within[name] + (0.0 if np.isnan(apart).all() else float(np.nanmean(apart)))
    columns = range(len(values))
    ones = [_apart(rows.codes[:, [k]], released[:, [k]], rows.sizes) for k in columns]
    twos = [_apart(rows.codes[:, pair], released[:, pair], rows.sizes) for pair in map(list, combinations(columns, 2))]
    return Kept(
        changed=changed,
        changed_of=by_secret,
        distance=distance,
        marginals=float(np.mean(ones)),
        pairs=float(np.mean(twos)) if twos else 0.0,
        counts=counts_of(rows, values),
        unrelated=tuple(_unrelated(rows.codes, released, values, rows.sizes)),
    )


def counts_of(rows: Rows, names: Iterable[str], /) -> dict[str, tuple[tuple[int, ...], ...]]:
    """How many rows of each secret have each level, of columns of these names."""
    return {name: tuple(map(tuple, rows.of((k,)).astype(int).tolist())) for k, name in enumerate(names)}


def _unrelated(
    before: NDArray[np.integer],
    after: NDArray[np.integer],
    values: Mapping[str, FloatArray | None],
    sizes: Sequence[int],
    /,
) -> Iterator[tuple[str, str]]:
    """Each two columns of which a release has lost the correlation."""
    names, levels = list(values), list(values.values())
    numbers = [np.zeros(size) if own is None else own for own, size in zip(levels, sizes, strict=True)]
    one, other = (
        _correlations(np.array([own[codes[:, k]] for k, own in enumerate(numbers)])) for codes in (before, after)
    )  # 0 of labels
    for i, j in combinations(range(len(names)), 2):
        found = [(float(abs(one[i, j])), float(np.sign(one[i, j]) * other[i, j]))]
        if levels[i] is None or levels[j] is None:
            places = (codes[:, [i, j]] @ (sizes[j], 1) for codes in (before, after))
            tables = [np.bincount(each, minlength=sizes[i] * sizes[j]).reshape(sizes[i], sizes[j]) for each in places]
            found += [_explained(tables, levels[j]), _explained([table.T for table in tables], levels[i])]
        if any((c >= _CLEAR and x < _HARDLY) or (c >= _STRONG and x < _HALF * c) for c, x in found):
            yield names[i], names[j]


def _explained(tables: Sequence[NDArray[np.integer]], values: FloatArray | None) -> tuple[float, float]:
    """The root of what the levels of one column explain of another (eta squared), and what is left of it after.

    Labels are explained as a number for each level, 1 or 0: Goodman and Kruskal's tau. Eta squared is Kelley's, 0 on
    average where nothing is explained, less two standard errors; rare levels are left out. What is left: the means
    after, projected on those before.

    - `tables`: Counts of the rows before and after, shape (levels of the one, levels of the other).
    - `values`: Numbers of the levels of the other; None of labels.
    """
    often = [tables[0].sum(axis=axis) >= _SEEN_OFTEN for axis in (1, 0)]
    points = np.eye(tables[0].shape[1]) if values is None else values[:, None]
    there = often[1] if values is None else ~np.isnan(values)
    tables = [table[often[0]] for table in tables]
    if not (there.any() and often[0].any()):
        return 0.0, 0.0
    points = points[there] - points[there].mean(axis=0)
    points /= max(np.abs(points).max(initial=0.0), np.finfo(np.float64).tiny)
    found = list[FloatArray]()
    for table in tables:
        counts = table[:, there].astype(np.float64)
        shares = counts.sum(axis=0) / max(counts.sum(), 1)
        rows, mean = counts.sum(axis=1, keepdims=True), shares @ points
        spread = shares @ ((points - mean) ** 2).sum(axis=1)
        scale = np.sqrt(rows * counts.sum() * (spread if spread > _SPREAD else 0.0))
        means = counts @ points - rows * mean
        found.append(np.divide(means, scale, out=np.zeros_like(means), where=scale > 0))
    square, groups = float((found[0] ** 2).sum()), int(tables[0][:, there].any(axis=1).sum())
    rows_there = int(tables[0][:, there].sum())
    if (free := rows_there - groups) <= 0:
        return 0.0, 0.0
    error = math.sqrt(2 * (groups - 1) / (free * (rows_there + 1)))  # where nothing is explained
    clear = math.sqrt(max(1 - (1 - square) * (rows_there - 1) / free - 2 * error, 0.0))
    return clear, clear * float((found[0] * found[1]).sum()) / square if clear else 0.0


def _correlations(values: FloatArray) -> FloatArray:
    """Pearson's of all rows of an array, in the places in which both have a number; 0 of constants."""
    there = (~np.isnan(values)).astype(np.float64)
    counts = there.sum(axis=1, keepdims=True)
    plain = np.where(there, values - np.nansum(values, axis=1, keepdims=True) / np.maximum(counts, 1), 0.0)
    plain /= np.maximum(np.abs(plain).max(axis=1, initial=0.0, keepdims=True), np.finfo(np.float64).tiny)
    both, sums, squares = there @ there.T, plain @ there.T, plain**2 @ there.T
    both = np.maximum(both, 1)
    spread = squares - sums**2 / both
    scale = np.sqrt(np.maximum(spread * spread.T, 0.0))
    return np.divide(plain @ plain.T - sums * sums.T / both, scale, out=np.zeros_like(both), where=scale > 1e-9)


def _apart(first: NDArray[np.integer], second: NDArray[np.integer], sizes: Sequence[int]) -> float:
    """Total variation between the shares of the levels of one or two columns."""
    most = max(sizes)
    places = [part @ (most ** np.arange(part.shape[1])) for part in (first, second)]
    one, other = (np.bincount(place, minlength=most ** first.shape[1]) for place in places)
    return float(np.abs(one - other).sum() / (2 * len(first)))


def other_beliefs(
    plan: SequentialPlan, laws: Mapping[str, NetworkLaw], names: Sequence[str], /, *, epsilon: float
) -> tuple[OtherBelief, ...]:
    """Measure the mechanism under other beliefs, each on rows drawn from it."""
    found = []
    groups = plan.laws[0].secrets
    failure = (1 - CONFIDENCE) / (len(laws) * groups * (groups - 1))
    for k, (name, law) in enumerate(watched(laws.items(), label="other networks, fitted again")):
        secrets = np.repeat(np.arange(groups), _SIMULATED // groups)
        codes = law.sample(secrets, np.random.default_rng(k))
        logs = released_with_logs(plan, codes, secrets, key=ReleaseKey.of(100 + k), names=names, others=[law])[1][-1]
        deltas, tails, aucs = [], [], []
        for s, t in permutations(range(groups), 2):
            losses = (logs[s] - logs[t])[secrets == s]
            deltas.append(largest_mean(hockey_stick(losses, epsilon), losses.size, failure))
            both = np.isin(secrets, (s, t))
            tails.append(np.quantile(np.abs(logs[s] - logs[t])[both], 0.99))
            aucs.append(_auc(secrets[both] == s, (logs[s] - logs[t])[both]))
        delta, tail, auc = (float(max(each)) for each in (deltas, tails, aucs))
        found.append(OtherBelief(name=name, delta=delta, tail=round(tail, _DIGITS), auc=round(auc, _DIGITS)))
    return tuple(found)


def attacked(
    plan: SequentialPlan, rows: Rows, released: NDArray[np.integer], held: Rows, names: Sequence[str], /
) -> HeldOut | None:
    """Try attackers on one half of rows that the plan was not made from; None where two secrets have too few.

    - `rows`, `released`: That the plan was made from, and a release of these.
    - `held`: Other rows. One half is what an attacker knows who has secrets of other people.
    """
    learned = np.arange(len(held.secrets)) % 2 == 0
    fewest = np.min([np.bincount(held.secrets[part], minlength=rows.groups) for part in (learned, ~learned)], axis=0)
    among = tuple(np.flatnonzero(fewest >= FEWEST_TESTED).tolist())
    if len(among) < 2:
        return None
    enough = np.isin(held.secrets, among)
    learned, others = learned & enough, ~learned & enough
    known, tested = held.secrets[learned], held.secrets[others]
    again = [
        release(plan, held.codes[learned], known, key=ReleaseKey.of(200 + k), names=names) for k in range(_RELEASES)
    ]
    target, found = released_with_logs(
        plan, held.codes[others], tested, key=ReleaseKey.of(200 + _RELEASES), names=names
    )
    guesses = {
        "the likelihood ratio of the fitted network": _chances(found[0], rows),
        "boosted trees that learned from releases of other rows": _guess(
            np.concatenate(again), np.tile(known, _RELEASES), target, rows.groups
        ),
        "boosted trees that learned from the release of the table": _guess(released, rows.secrets, target, rows.groups),
    }
    guesses["the mean of these three"] = np.mean(list(guesses.values()), axis=0)
    seen, asked = (np.concatenate([rows.codes, held.codes[learned]]), held.codes[others])
    law = plan.laws[0]  # of few rows it tells more than trees: without it the raw columns would seem to tell too little
    ratio = [law.log_likelihood(asked, np.full(tested.size, secret)) for secret in range(rows.groups)]
    raw = [_guess(seen, np.concatenate([rows.secrets, known]), asked, rows.groups), _chances(np.stack(ratio), rows)]
    raw.append(np.mean(raw, axis=0))
    most = np.max([_aucs(tested, guess) for guess in raw], axis=0)
    attacks = [
        Attack(name=name, auc=_aucs(tested, guess), shown=_shown(tested, guess, attackers=len(guesses)))
        for name, guess in guesses.items()
    ]
    return HeldOut(rows=tested.size, secrets=among, raw=tuple(most.tolist()), attacks=tuple(attacks))


def _chances(logs: FloatArray, rows: Rows) -> FloatArray:
    """How probable each secret is, from the log-probabilities given each, shape (secrets, rows)."""
    logs = logs + np.log(np.bincount(rows.secrets, minlength=rows.groups))[:, None]
    found = np.exp(logs - logs.max(axis=0)).T
    return cast(FloatArray, found / found.sum(axis=1, keepdims=True))


def _guess(rows: NDArray[np.integer], secrets: IndexArray, asked: NDArray[np.integer], groups: int) -> FloatArray:
    from sklearn.ensemble import HistGradientBoostingClassifier  # here, since it takes a third of a second

    with one_blas_thread():  # the trees are small: threads would wait for one another
        model = HistGradientBoostingClassifier(random_state=0, max_iter=_ROUNDS).fit(rows, secrets)
        found = np.zeros((len(asked), groups))
        found[:, model.classes_] = model.predict_proba(asked)
    return found


def _aucs(secrets: IndexArray, guess: FloatArray) -> tuple[float, ...]:
    return tuple(round(_auc(secrets == s, guess[:, s]), _DIGITS) for s in np.unique(secrets))


def _auc(positive: NDArray[np.bool_], scores: FloatArray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, scores))


def _shown(secrets: IndexArray, guess: FloatArray, *, attackers: int) -> float:
    """Clopper and Pearson's lower bound of the loss, the largest of all pairs, each threshold from other rows.

    Each test fails with its part of what all may; half of that is for each of the two shares.
    """
    pairs = list(permutations(np.unique(secrets), 2))
    failure = (1 - CONFIDENCE) / (attackers * len(pairs))
    scores = np.log(guess.clip(1e-12))
    tuning = np.random.default_rng(0).random(secrets.size) < _TUNED
    most = 0.0
    for s, t in pairs:
        score = scores[:, s] - scores[:, t]
        first, second = (score[tuning & (secrets == k)] for k in (s, t))
        if not first.size or not second.size:
            continue
        marks = np.quantile(np.concatenate([first, second]), np.linspace(0.02, 0.98, _THRESHOLDS))
        chosen = max(marks, key=lambda mark: _ratio(first >= mark, second >= mark, failure=failure))
        above = [score[~tuning & (secrets == k)] >= chosen for k in (s, t)]
        most = max(most, _ratio(above[0], above[1], failure=failure))
    return round(most, _DIGITS)


def _ratio(first: NDArray[np.bool_], second: NDArray[np.bool_], *, failure: float) -> float:
    """Lower bound of the log-ratio of two shares."""
    low = share_at_least(first.sum(), first.size, failure / 2)
    high = share_at_most(second.sum(), second.size, failure / 2)
    return float(epsilon_at_least(low, high, 0.0))
