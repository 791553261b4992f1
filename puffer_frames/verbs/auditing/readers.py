"""What a channel that sees the secret tells to readers who know more of a row than its release.

The reader who knows the true value, and the one who knows another column of the row. As many rows of one secret as of
another are laid side by side for each thing that is known, so that by itself it tells nothing: all that these rows show
is the release's. They are chosen without the released values, and the events by half of the rows, so that the rows of a
secret in an event are independent trials; where for each thing that is known the probability of the event changes by
e^k at most, so does the mean of these probabilities (`share_at_least`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from puffer_frames.numbers.presentation import lower_text, plain, shown
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.auditing.guesser import PairOfCodes
from puffer_frames.verbs.auditing.guesses import learned_bounds
from puffer_frames.verbs.auditing.report import AuditCheck, check_of, check_within
from puffer_frames.verbs.auditing.rows import AuditRows, Secrets

NAMES = ("reader of the value", "reader of a column")
_MOST_PAIRS = 60
_CELLS, _LEVELS = 64, 256
"""How many cells of numbers, and how many labels, of what is known are learned apart."""
_SMOOTHED = 5.0
"""Rows that each law of the released values is taken to have beside its own, with the law of both secrets."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Known:
    """What a reader knows of each row."""

    name: str
    exact: IndexArray
    """Numbers of what he knows, from 0, shape (n,): rows with the same one are laid side by side."""
    learned: IndexArray
    """The same, with few numbers: the released values have a law for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What the release shows to a reader, of the pair of which it shows most."""

    known: str
    pair: str
    epsilon: float
    """The log-odds change by at least this."""
    alone: float
    """Area under the curve of true and false positive rates of a guesser who has only what is known."""
    with_release: float
    """With the released values too."""
    release: float
    """With the released values alone."""


def sees_secret(rows: AuditRows, /) -> bool:
    """Whether the certificate says that the mechanism saw the secret, and this secret is looked at."""
    certificate = rows.certificate
    own = any(group.names == tuple(certificate.secret) for group in rows.secrets)
    return own and any(each.get("sees") == "secret" for each in certificate.channels.values())


def readers(rows: AuditRows, /, *, alpha: float, rng: np.random.Generator) -> list[AuditCheck]:
    """What both readers learn, each check at level alpha; none where the mechanism sees the value alone."""
    if not sees_secret(rows):
        return []
    if rows.shuffled or not rows.columns:
        why = "the rows were put into a random order" if rows.shuffled else "there is no certified column to look at"
        return [check_of(name, "not applicable", why) for name in NAMES]
    record = next(each for each in rows.certificate.channels.values() if each.get("sees") == "secret")
    value = _best(rows, [_value(rows)], alpha=alpha, rng=rng)
    column = _best(rows, list(_columns(rows)), alpha=alpha, rng=rng)
    reader = record.get("reader_loss")
    return [
        check_of(NAMES[0], "not applicable", "no pair is protected")
        if value is None
        else _compared(NAMES[0], value, "the true value", reader, alpha),
        _of_column(column, reader, record["cap"], alpha),
    ]


def _of_column(found: _Shown | None, reader: float | None, cap: float | None, alpha: float) -> AuditCheck:
    if found is None:
        return check_of(NAMES[1], "not applicable", "there is no other column, or no pair is protected")
    more = "" if reader is None else f", and at most {plain(reader)} more than the true values would show him"
    areas = (
        f"{more}; AUC for {shown(found.pair)} {found.alone:.3f} without the release, {found.with_release:.3f} with it, "
        f"{found.release:.3f} from the release alone"
    )
    knows = f"{shown(found.known)}, with which the release shows most"
    return _compared(NAMES[1], found, knows, cap, alpha, more=areas)


def _compared(name: str, found: _Shown, knows: str, most: float | None, alpha: float, more: str = "") -> AuditCheck:
    """The check of a bound; a figure that decides nothing where nothing is certified."""
    limit = "nothing bounds it" if most is None else f"{plain(most)} allowed"
    shows = f"at least {lower_text(found.epsilon, digits=4)}, with {100 * (1 - alpha):.6g} % confidence"
    why = f"who knows {knows}: {shows}; {limit}{more}"
    if most is None:
        return check_of(name, "information", why, found=found.epsilon)
    return check_within(name, why, found.epsilon, most)


def _value(rows: AuditRows) -> _Known:
    """The true values of the released columns together."""
    _, exact = np.unique(np.column_stack([each.before for each in rows.columns]), axis=0, return_inverse=True)
    numbers = rows.original[rows.columns[0].name].numbers if len(rows.columns) == 1 else None
    return _Known(name="the value", exact=exact.reshape(-1), learned=_few(exact.reshape(-1), numbers))


def _columns(rows: AuditRows) -> Iterator[_Known]:
    """Every other raw column, in cells."""
    hidden = {*rows.certificate.public, *rows.certificate.secret}
    for name, column in rows.original.items():
        if name not in hidden:
            known = _few(column.codes - column.codes.min(), column.numbers)
            yield _Known(name=name, exact=known, learned=known)


def _few(codes: IndexArray, numbers: FloatArray | None) -> IndexArray:
    """The cells of numbers, or the labels with most rows and one number for all others."""
    if numbers is not None and np.isfinite(numbers).any():
        edges = np.unique(np.quantile(numbers[np.isfinite(numbers)], np.arange(1, _CELLS) / _CELLS))
        return np.searchsorted(edges, numbers)
    _, places, counts = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.minimum(ranks[places], _LEVELS - 1)


def _best(rows: AuditRows, known: Sequence[_Known], *, alpha: float, rng: np.random.Generator) -> _Shown | None:
    """The reader and pair to whom the release shows most; all bounds together hold at 1 - alpha."""
    _, outputs = np.unique(np.column_stack([each.after for each in rows.columns]), axis=0, return_inverse=True)
    trained = rng.random(rows.rows) < 0.5
    group = next(each for each in rows.secrets if each.names == tuple(rows.certificate.secret))
    pairs = group.pairs[:_MOST_PAIRS]
    found = [
        _shown(one, group, pair, outputs.reshape(-1), trained, alpha=alpha / (len(known) * len(pairs)), rng=rng)
        for one in known
        for pair in pairs
    ]
    return max(found, key=lambda each: (each.epsilon, each.with_release - each.alone), default=None)


def _shown(
    known: _Known,
    group: Secrets,
    pair: PairOfCodes,
    outputs: IndexArray,
    trained: NDArray[np.bool_],
    *,
    alpha: float,
    rng: np.random.Generator,
) -> _Shown:
    """What the release shows to one reader of one pair."""
    own = np.flatnonzero(np.isin(group.codes, pair))
    second, trained, outputs = (group.codes[own] == pair[1]).astype(np.intp), trained[own], outputs[own]
    learned = known.learned[own]
    told = _log_ratio(outputs, learned, second, trained)
    nothing = np.zeros_like(learned)
    before, alone = _log_ratio(learned, nothing, second, trained), _log_ratio(outputs, nothing, second, trained)
    chosen = trained.copy()
    chosen[_side_by_side(known.exact[own], second, ~trained, rng)] = True
    scores, codes = np.column_stack([told, np.zeros_like(told)])[chosen], second[chosen]
    bound = learned_bounds(scores, codes, trained[chosen], [(0, 1)], delta=0.0, alpha=alpha)[0, 1]
    held, others = ~trained & (second == 0), ~trained & (second == 1)
    areas = [_area(each[held], each[others]) for each in (before, before + told, alone)]
    return _Shown(
        known=known.name,
        pair=" / ".join(group.labels[code] for code in pair),
        epsilon=bound.epsilon,
        alone=areas[0],
        with_release=areas[1],
        release=areas[2],
    )


def _log_ratio(outputs: IndexArray, known: IndexArray, second: IndexArray, trained: NDArray[np.bool_]) -> FloatArray:
    """For each row log P(output | known, first secret) / P(output | known, second one), learned from some rows."""
    counts = np.zeros((2, int(known.max(initial=0)) + 1, int(outputs.max(initial=0)) + 1))
    np.add.at(counts, (second[trained], known[trained], outputs[trained]), 1.0)
    both = counts.sum(axis=0) + 1 / counts.shape[2]
    laws = counts + _SMOOTHED * both / both.sum(axis=1, keepdims=True)
    logs = np.log(laws / laws.sum(axis=2, keepdims=True))
    return (logs[0] - logs[1])[known, outputs]


def _side_by_side(
    known: IndexArray, second: IndexArray, held: NDArray[np.bool_], rng: np.random.Generator
) -> IndexArray:
    """Places of held rows, at random: as many of the first secret as of the second one for each thing that is known."""
    places = rng.permutation(np.flatnonzero(held))
    keys = 2 * known[places] + second[places]
    order = np.argsort(keys, kind="stable")
    places, keys = places[order], keys[order]
    counts = np.bincount(keys, minlength=2 * int(known.max(initial=0)) + 2)
    common = np.minimum(counts[0::2], counts[1::2])
    ranks = np.arange(keys.size) - np.searchsorted(keys, keys)
    return places[ranks < common[keys // 2]]


def _area(own: FloatArray, other: FloatArray) -> float:
    """The probability that a row of the first secret has the larger ratio, ties counted half."""
    if not (own.size and other.size):
        return 0.5
    ranks = scipy.stats.rankdata(np.concatenate([own, other]))[: own.size]
    return float((ranks.sum() - own.size * (own.size + 1) / 2) / (own.size * other.size))
