"""Whether the order of rows tells the secret, or a public column: what one sees in windows of neighbouring rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import xlogy

from puffer_frames.priors.prior import FloatArray, IndexArray

ADVANTAGE = 0.25
"""A guess that is right in 62.5 % of the rows where half would be right by chance, or better, counts."""
_ODDS, _SHARE = 10.0, 0.02
"""So does a change of the odds of a secret by this factor, in at least this share of the rows."""
_FEW_CODES = 1 << 18
"""Numbers up to here are counted faster than they are sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The best guess that was found of whether a row has one secret or another one."""

    right: float
    """Share of right guesses, where rows of the secret and of all others are equally many: 0.5 by chance."""
    told: float
    """Share of the rows in which the code raises the odds of a secret by a factor of 10; 0.0 for not looked at."""
    without: float = 0.5
    """Share of right guesses without the kept columns."""
    pairs: bool = False
    """Whether it is of neighbouring rows, whose secrets are equal or not."""

    @property
    def words(self) -> str:
        """What was measured."""
        if self.told:
            of = "that neighbouring rows have equal secrets, or others," if self.pairs else "of one secret"
            return f"in {self.told:.1%} of the rows it raises the odds {of} by a factor of 10 or more"
        right = f"are right in {self.right:.0%}; without it {self.without:.0%}"
        of = "neighbouring rows with equal secrets and with" if self.pairs else "one secret (or group of them) and"
        return f"guesses between {of} others, equally frequent, {right}"


def guess(
    codes: IndexArray, secrets: IndexArray, tested: NDArray[np.bool_], /, *, certain: float, beyond: float | None = None
) -> Guess | None:
    r"""The guess from the codes that is better than chance by far; None where none is.

    On the rows that are not `tested` a set of codes is learned for each secret: those at which the secret is more
    frequent than among the other rows, and those at which it is so by a factor of 10. Among the B tested rows, P have a
    code of the set, b have the secret, and h both. Where codes and secrets meet at random, h is hypergeometric given
    the set, and :math:`P(h \ge x) \le \exp(-n KL(x / n \| q))` with (n, q) = (b, P / B) or (P, b / B)
    (Hoeffding, 1963).

    - `certain`: Chance finds any guess with a probability of at most e to the minus this.
    - `beyond`: Advantage of a guess from less, as `advantage`, which this one must exceed by far: by 0.25, or by half
      of what is left, and by more than chance explains, if each of the two has half of the difference by chance.
    """
    halves = _halves(codes, secrets, tested)
    for odds in (1.0, _ODDS) if beyond is None else (1.0,):
        if not all(half.rows for half in halves):
            return None
        found = _Tested.of(*halves, odds=odds)
        ahead, places = found.ahead, found.places
        if odds > 1.0:
            enough = (found.hits * found.others >= odds * (places - found.hits) * found.own) & (
                places >= _SHARE * found.rows
            )
        else:
            least = ADVANTAGE if beyond is None else beyond + min(ADVANTAGE, 0.5 * (1.0 - beyond))
            enough = ahead >= max(ADVANTAGE, least)
        needed = certain + math.log(4 * ahead.size)
        surprising = _exponent(found.hits, places, found.own, found.rows) >= needed
        if beyond is not None:
            surprising &= 0.5 * (ahead - beyond) ** 2 >= needed * (1.0 / np.maximum(found.own, 1) + 1.0 / found.others)
        best = np.flatnonzero(enough & surprising)
        if best.size:
            told = float(places[best].max()) / found.rows if odds > 1.0 else 0.0
            return Guess(right=0.5 + 0.5 * float(ahead[best].max()), told=told)
    return None


def advantage(codes: IndexArray, secrets: IndexArray, tested: NDArray[np.bool_], /) -> float:
    """How much more often the learned guess names a secret where it is right than where it is wrong, at best."""
    halves = _halves(codes, secrets, tested)
    return max(0.0, float(_Tested.of(*halves, odds=1.0).ahead.max())) if all(half.rows for half in halves) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tested:
    """How the sets of codes that were learned do in the tested rows, for each secret."""

    rows: int
    own: IndexArray
    """Rows of the secret."""
    others: IndexArray
    """Other rows."""
    places: NDArray[Any]
    """Rows with a code of the set."""
    hits: NDArray[Any]
    """Rows of the secret among these."""

    @classmethod
    def of(cls, learned: _Counts, test: _Counts, /, *, odds: float) -> _Tested:
        kinds = test.of_secret.size
        of_secret = np.maximum(learned.of_secret, 1)
        of_code = np.zeros(max(learned.of_code.size, test.of_code.size))
        of_code[: test.of_code.size] = test.of_code
        here = learned.pairs % kinds
        rest = learned.of_code[learned.pairs // kinds] - learned.counts + (odds > 1) * 0.5
        likely = learned.counts * (learned.rows - of_secret[here]) > odds * rest * of_secret[here]
        chosen = learned.pairs[likely]
        hit = np.isin(test.pairs, chosen, assume_unique=True)
        return cls(
            rows=test.rows,
            own=test.of_secret,
            others=np.maximum(test.rows - test.of_secret, 1),
            places=np.bincount(chosen % kinds, weights=of_code[chosen // kinds], minlength=kinds),
            hits=np.bincount(test.pairs[hit] % kinds, weights=test.counts[hit], minlength=kinds),
        )

    @property
    def ahead(self) -> FloatArray:
        """Share of the set among rows of the secret, less that among the others."""
        return self.hits / np.maximum(self.own, 1) - (self.places - self.hits) / self.others


def _exponent(hits: NDArray[Any], places: NDArray[Any], own: NDArray[Any], rows: int) -> FloatArray:
    """Minus the logarithm of the larger of the two bounds on the chance of so many hits; 0 for fewer than expected."""
    exponent = np.zeros(hits.size)
    for tries, base in ((own, places / rows), (places, own / rows)):
        share = hits / np.maximum(tries, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = xlogy(share, share / base) + xlogy(1 - share, (1 - share) / (1 - base))
        exponent = np.maximum(exponent, np.where(share > base, tries * np.nan_to_num(apart, posinf=0.0), 0.0))
    return exponent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Rows per code and secret."""

    rows: int
    pairs: IndexArray
    """Code times the number of secrets, plus the secret, where such rows are."""
    counts: IndexArray
    of_code: IndexArray
    of_secret: IndexArray

    @classmethod
    def of(cls, codes: IndexArray, secrets: IndexArray, kinds: int, /) -> _Counts:
        pairs, counts = counted(codes * kinds + secrets)
        return cls(
            rows=codes.size,
            pairs=pairs,
            counts=counts,
            of_code=np.bincount(codes),
            of_secret=np.bincount(secrets, minlength=kinds),
        )


def _halves(codes: IndexArray, secrets: IndexArray, tested: NDArray[np.bool_]) -> list[_Counts]:
    """The rows that are learned from, and those that are tested."""
    return [_Counts.of(codes[rows], secrets[rows], int(secrets.max()) + 1) for rows in (~tested, tested)]


def counted(codes: IndexArray, /) -> tuple[IndexArray, IndexArray]:
    """Different numbers, ascending, and how often each comes."""
    if codes.size and int(codes.max()) <= _FEW_CODES:
        counts = np.bincount(codes)
        found = np.flatnonzero(counts)
        return found, counts[found]
    return np.unique(codes, return_counts=True)


WINDOW = 128
"""Neighbouring rows that are looked at together."""
WINDOWS = 1024
"""Frames of no more rows than these have are looked at as a whole."""
FEWER = 256
"""Most windows of larger ones."""
CERTAIN = 12.5
"""What is seen happens by chance with a probability of about e to the minus this: 5 standard deviations."""
_CLUSTERED = 0.5
"""Fewer than this share of the runs of a random order: the position tells the secret."""
_HALF = 0.5
"""Share of what a random order has, below which neighbours are too much or too little alike."""
_DEVIATIONS = 4.0
"""Standard deviations below a random order's number of repeats; its lower tail is lighter than the normal one."""
_LAGS = range(1, 65)
"""Distances at which secrets are compared."""
_KAPPA = 0.2
"""Least agreement beyond chance (Cohen's kappa, for two secrets the correlation) at a distance that counts."""
_PATTERN = CERTAIN + math.log(len(_LAGS))
"""As CERTAIN, for one of many distances or sizes of blocks."""
_CONTEXT_ROWS = 64
"""Rows for each series of earlier secrets from which the next one is guessed, at least."""
_MANY, _GROUPS = 16, 8
"""Secrets of more values than this are also looked at in so many groups of neighbouring values."""
_BLOCKS, _BLOCK_ROWS = 64, (16, 64, 128, 512)
"""Parts of the frame whose shares of secrets are compared: so many, or of so many rows."""
_MOST_CELLS = 1 << 20
"""Blocks times secrets, at most: a secret of fewer rows than blocks is counted with the other such ones."""
_DRIFT = 0.05
"""Least (chi-square - degrees of freedom) / rows that counts: phi-squared, about that of a correlation of 0.22."""
_RARE = 16
"""Secrets of fewer rows are counted as one."""
_PARTS, _PART_ROWS = 8, 32
"""Parts of the frame that are looked at by themselves, and the least rows in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Rows of a frame in its order, by parts of the frame, windows in them, and places in these."""

    secrets: IndexArray
    """Numbers of the joint secrets, from 0, shape (parts, windows, rows of a window)."""
    others: tuple[IndexArray, ...]
    """The single columns of a joint secret, and groups of neighbouring values; all of the same shape."""
    public: tuple[FloatArray, ...]
    """Values of each public column, of the same shape."""

    @classmethod
    def of(cls, secrets: Sequence[IndexArray], public: Sequence[FloatArray], /, *, whole: bool) -> Sample:
        """From rows in whole windows, or all rows of a frame, which are one window; some last ones are left out.

        The columns of the secret are numbers from 0 in the order of its values, if these have one.
        """
        rows = secrets[0].size
        length = rows if whole else WINDOW
        parts = _PARTS if rows >= _PARTS * _PART_ROWS and (whole or rows >= _PARTS * WINDOW) else 1
        windows = 1 if whole else rows // length // parts
        shape = (parts, windows, length // parts if whole else length)

        def shaped(entries: NDArray[Any]) -> NDArray[Any]:
            return entries[: math.prod(shape)].reshape(shape)

        others = [*(secrets if len(secrets) > 1 else ()), *(_grouped(own) for own in secrets if own.max() >= _MANY)]
        return cls(
            secrets=shaped(joined(secrets)), others=tuple(map(shaped, others)), public=tuple(map(shaped, public))
        )

    def neighbours(self) -> tuple[int, int, int]:
        """How many neighbours have equal secrets, of how many pairs of them, and how many rows are in two pairs."""
        windows = self.secrets.reshape(-1, self.secrets.shape[-1])
        pairs = windows[:, 1:] == windows[:, :-1]
        return int(np.count_nonzero(pairs)), pairs.size, pairs.size - len(windows)

    def runs(self, rows: int, /) -> int:
        """Number of runs of equal secrets among so many rows that have as many as these in proportion."""
        equal, pairs, _ = self.neighbours()
        return 1 + round((pairs - equal) / pairs * (rows - 1))


def window_places(rows: int, /, *, most: int, windows: int) -> IndexArray:
    """Places of all rows, up to so many; else of those of so many windows, which are spread evenly over the frame."""
    if rows <= most:
        return np.arange(rows)
    starts = np.arange(windows) * (rows - WINDOW) // (windows - 1)
    return (starts[:, None] + np.arange(WINDOW)).ravel()


class Windows:
    """Takes windows from rows as they pass: all, until there are too many, then every second one of them, ...

    - `secrets`: How many of the columns, the first ones, are the secret's: numbers or texts, or 64 bits of each entry;
      the others are public.
    """

    def __init__(self, secrets: int, /) -> None:
        self._secrets = secrets
        self._rows, self._step = 0, 1
        self._taken: list[tuple[NDArray[Any], ...]] = []

    def wanted(self, rows: int, /) -> IndexArray:
        """Which of the next so many rows are to be taken, counted from the first of them."""
        step = self._step
        while self._rows + rows > WINDOW * (WINDOWS if step == 1 else FEWER * step):
            step *= 2
        if step > self._step:
            self._step, self._taken = step, self._thinned(step)
        first, last = self._rows // WINDOW, (self._rows + rows - 1) // WINDOW
        numbers = np.arange(first + -first % step, last + 1, step)
        places = (WINDOW * numbers[:, None] + np.arange(WINDOW)).ravel() - self._rows
        return places[(places >= 0) & (places < rows)]

    def _thinned(self, step: int) -> list[tuple[NDArray[Any], ...]]:
        """What was taken, as one part, and of it the windows whose number is a multiple of the step."""
        if not self._taken:
            return []
        whole = [np.concatenate(parts) for parts in zip(*self._taken, strict=True)]
        stays = whole[0] // WINDOW % step == 0
        return [tuple(entries[stays] for entries in whole)]

    def take(self, wanted: IndexArray, columns: Sequence[NDArray[Any]], /, *, rows: int) -> None:
        """Take the `wanted` ones of the next so many rows: their entries, column by column."""
        self._taken.append((wanted + self._rows, *columns))
        self._rows += rows

    def sample(self) -> Sample:
        """What was taken."""
        _, *columns = (np.concatenate(parts) for parts in zip(*self._taken, strict=True))
        secrets, public = [_in_order(column) for column in columns[: self._secrets]], columns[self._secrets :]
        return Sample.of(secrets, public, whole=self._step == 1)


def look_at_order(
    sample: Sample, /, *, runs: int | None, counts: Sequence[int], public: Sequence[str]
) -> Mapping[str, str]:
    """What the order tells, in words by reason: "runs", "repeats", "drift", "pattern" and "public".

    - `runs`: Number of runs of equal secrets among all rows; by default what the neighbours in the sample tell of it.
    - `counts` (sequence of int): Number of all rows of each secret.
    - `public` (sequence of str): Names of the public columns of the sample.

    In a random order of the rows each is found with a probability far below 1 in 1,000 ("runs" is not a question of
    chance: on few rows it may be one).
    """
    found = {}
    rows = sum(counts)
    equal, pairs, chained = sample.neighbours() if runs is None else (rows - runs, rows - 1, rows - 2)
    share = share_of_runs(sample.runs(rows) if runs is None else runs, counts)
    if share < _CLUSTERED:
        found["runs"] = f"{share:.0%} of the runs of equal secrets that a random order has"
    elif _few_repeats(equal, counts, pairs=pairs, chained=chained):
        found["repeats"] = "secrets that change from row to row far more often than in a random order"
    looks = (sample.secrets, *sample.others)
    if any(_drifts(codes.ravel()) for codes in looks):
        found["drift"] = "shares of the secrets that change along the frame"
    if not found and any(_has_pattern(codes) or _is_told_by_earlier(codes) for codes in looks):
        found["pattern"] = f"secrets that those of up to {_LAGS[-1]} rows before tell"
    alike = [repr(name) for k, name in enumerate(public) if _is_alike(sample.public[k])]
    if alike:
        found["public"] = f"neighbours whose values of {' and '.join(alike)} are alike"
    return found


def share_of_runs(runs: int, counts: Sequence[int], /) -> float:
    """Number of runs of equal secrets, divided by that expected in a random order of so many rows of each."""
    n = sum(counts)
    return runs / (1 + n - sum(count * count for count in counts) / n)


def look_at_runs(secrets: IndexArray, /) -> float | None:
    """Share of neighbours with equal secrets where these are too many, of others where equal ones are too few."""
    counts, pairs = np.bincount(secrets).tolist(), secrets.size - 1
    equal = int(np.count_nonzero(secrets[1:] == secrets[:-1]))
    if pairs < 1:
        return None
    if _few_repeats(equal, counts, pairs=pairs, chained=pairs - 1):
        return 1.0 - equal / pairs
    mean, variance = agreements(counts, pairs=pairs, chained=pairs - 1)
    certain = equal > mean and surprise(equal - mean, variance=variance, largest=1.0) >= CERTAIN
    return equal / pairs if certain and share_of_runs(secrets.size - equal, counts) < _CLUSTERED else None


def _few_repeats(repeats: int, counts: Sequence[int], *, pairs: int, chained: int) -> bool:
    """Whether fewer than half as many neighbours are equal as in a random order, more than chance explains."""
    mean, variance = agreements(counts, pairs=pairs, chained=chained)
    return repeats < _HALF * mean and mean - repeats >= _DEVIATIONS * math.sqrt(variance)


def agreements(counts: Sequence[int], /, *, pairs: int, chained: int) -> tuple[float, float]:
    """Mean and variance of the number of pairs of places with equal entries, when the entries are in a random order.

    With so many entries of each kind; no place is in more than two pairs, and `chained` places are in two.
    """
    n = float(sum(counts))
    if n < 4:
        return 0.0, math.inf
    c = np.asarray(counts, dtype=np.float64)
    twos = c * (c - 1)
    two = float(twos.sum()) / (n * (n - 1))
    three = float((twos * (c - 2)).sum()) / (n * (n - 1) * (n - 2))
    fours = float((twos * (c - 2) * (c - 3)).sum()) + float(twos.sum()) ** 2 - float((twos * twos).sum())
    four = fours / (n * (n - 1) * (n - 2) * (n - 3))
    apart = 0.5 * pairs * (pairs - 1) - chained
    variance = pairs * two * (1 - two) + 2 * (chained * (three - two * two) + apart * (four - two * two))
    return pairs * two, max(0.0, variance)


def surprise(away: float, /, *, variance: float, largest: float) -> float:
    """Exponent of Bernstein's bound on a sum that is so far from its mean; its terms are at most `largest` away."""
    away = abs(away)
    return 0.5 * away * away / (variance + largest * away / 3) if away else 0.0


def _has_pattern(secrets: IndexArray) -> bool:
    """Whether at one of the distances too many secrets agree, or too few: in all parts together, or in one."""
    parts, windows, length = secrets.shape
    counts = [np.bincount(part.ravel()).tolist() for part in secrets] + [np.bincount(secrets.ravel()).tolist()]
    shares = [agreements(own, pairs=1, chained=0)[0] for own in counts]
    codes = secrets.astype(np.int16 if secrets.max() < 1 << 15 else np.int32)
    for lag in _LAGS:
        pairs, chained = windows * max(0, length - lag), windows * max(0, length - 2 * lag)
        agree = [int(np.count_nonzero(part[:, lag:] == part[:, :-lag])) for part in codes]
        for own, share, found, times in zip(counts, shares, [*agree, sum(agree)], [1] * parts + [parts], strict=True):
            if _is_far(found, share * times * pairs, pairs=times * pairs):
                mean, variance = agreements(own, pairs=times * pairs, chained=times * chained)
                if surprise(found - mean, variance=variance, largest=1.0) >= _PATTERN:
                    return True
    return False


def _is_far(agree: int, mean: float, *, pairs: int) -> bool:
    """Whether so many agreeing pairs tell enough to count: by kappa, or less than half of what chance gives."""
    if agree < mean <= _PATTERN / 1.5:  # the most that Bernstein's bound makes of none
        return False
    return abs(agree - mean) >= _KAPPA * (pairs - mean) > 0.0 or agree < _HALF * mean


def _is_told_by_earlier(secrets: IndexArray) -> bool:
    """Whether the secret of a row is guessed from those of some rows before it, learned in every second block."""
    kinds, length = int(secrets.max()) + 1, secrets.shape[-1]
    steps = int(math.log(max(1.0, secrets.size / _CONTEXT_ROWS)) / math.log(max(2, kinds)))
    if kinds < 2 or not 0 < steps < length:
        return False
    windows = secrets.reshape(-1, length)
    earlier = np.zeros_like(windows[:, steps:])
    for lag in range(1, steps + 1):
        earlier = earlier * kinds + windows[:, steps - lag : length - lag]
    blocks = np.arange(earlier.size) // WINDOW % 2 == 1
    certain = _PATTERN + math.log(earlier.size)  # the number of guesses is open before the order is drawn
    return guess(earlier.ravel(), windows[:, steps:].ravel(), blocks, certain=certain) is not None


def _drifts(secrets: IndexArray) -> bool:
    """Whether the shares of the secrets differ between blocks of consecutive rows, long or short ones."""
    n = secrets.size
    counts = np.bincount(secrets)
    sizes = {min(_BLOCKS, n // _BLOCK_ROWS[0]), *(n // rows for rows in _BLOCK_ROWS)}
    return any(_differ(secrets, counts, blocks=blocks) for blocks in sorted(sizes) if blocks > 1)


def _differ(secrets: IndexArray, counts: IndexArray, *, blocks: int) -> bool:
    """Whether the shares differ between so many blocks, by chi-square."""
    n, rare = secrets.size, max(_RARE, blocks if blocks > _BLOCKS else 0)
    codes = np.where(counts < rare, 0, np.cumsum(counts >= rare))[secrets]  # rare ones together are 0
    kinds = int(codes.max()) + 1
    if kinds * blocks > _MOST_CELLS:
        return False
    table = np.bincount(np.arange(n) * blocks // n * kinds + codes, minlength=blocks * kinds).reshape(blocks, kinds)
    table = table[:, table.sum(axis=0) >= rare]
    table = table[table.sum(axis=1) > 0]
    n = int(table.sum())
    if table.shape[1] < 2:
        return False
    rows, columns = table.sum(axis=1).astype(np.float64), table.sum(axis=0).astype(np.float64)
    expected = np.outer(rows, columns) / n
    square = float(((table - expected) ** 2 / expected).sum())
    mean, variance = chi_square_moments(rows, columns)
    certain = square - mean >= math.sqrt(2 * _PATTERN * variance) + _PATTERN * variance / mean  # bound of a gamma law
    return certain and square - (rows.size - 1) * (columns.size - 1) >= _DRIFT * n


def chi_square_moments(rows: FloatArray, columns: FloatArray, /) -> tuple[float, float]:
    """Exact mean and variance of chi-square over all tables with these sums of rows and columns (Dawson, 1954)."""
    n = float(rows.sum())

    def parts(sums: FloatArray) -> tuple[float, float]:
        m = sums.size
        return (m - 1) * (n - m) / (n - 1), (float((n / sums).sum()) - m * m) / (n - 2)

    (v, w), (v_, w_) = parts(rows), parts(columns)
    mean = n / (n - 1) * (rows.size - 1) * (columns.size - 1)
    return mean, 2 * n / (n - 3) * (v - w) * (v_ - w_) + n * n / (n - 1) * w * w_


def _is_alike(values: FloatArray) -> bool:
    """Whether neighbours are alike in a public column: in all parts together, or in one."""
    ranks = ranked(values.ravel()).reshape(values.shape)
    return alike(ranks.reshape(-1, values.shape[-1])) or any(map(alike, ranks))


def alike(ranks: FloatArray, /) -> bool:
    """Whether neighbours in windows have like ranks, by von Neumann's ratio: mean squared step / (2 variance)."""
    own = ranks - ranks.mean()
    squares, steps = own * own, np.diff(own)
    variance = float(squares.mean())
    if variance <= 0.0 or not steps.size:
        return False
    ratio = float((steps * steps).mean()) / (2 * variance)
    largest = float(squares.max()) / variance
    return ratio < _HALF and surprise(steps.size * (1 - ratio), variance=steps.size, largest=largest) >= CERTAIN


def dense_ranks(entries: pl.Series, /) -> IndexArray:
    """Numbers from 1 of the entries of a column, in their order; 0 for a missing one."""
    return entries.rank("dense").fill_null(0).to_numpy().astype(np.int64)


def _in_order(entries: NDArray[Any]) -> IndexArray:
    """Numbers from 0 of the entries of a column, in their order."""
    if entries.dtype == np.dtype(object):  # texts
        entries = dense_ranks(pl.Series(entries.tolist(), dtype=pl.String))
    return np.unique(entries, return_inverse=True)[1]


def _grouped(codes: IndexArray) -> IndexArray:
    """Groups of neighbouring values with about equally many rows."""
    ends = np.cumsum(np.bincount(codes))
    return np.unique((ends - 1) * _GROUPS // codes.size, return_inverse=True)[1][codes]


def joined(columns: Sequence[IndexArray], /) -> IndexArray:
    """Numbers of the joint entries of some columns, from theirs."""
    codes = columns[0]
    for more in columns[1:]:
        codes = np.unique(codes * (int(more.max()) + 1) + more, return_inverse=True)[1]
    return codes


def ranked(values: FloatArray, /) -> FloatArray:
    """Ranks, less about their mean; equal values share one."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - 0.5 * (counts + values.size))[places]
