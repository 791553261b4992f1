"""How well codes of rows guess their secret: learned on some rows, measured on the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
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

    @property
    def words(self) -> str:
        """What was measured."""
        if self.told:
            return f"in {self.told:.1%} of the rows it raises the odds of one secret by a factor of 10 or more"
        right = f"are right in {self.right:.0%}; without it 50%"
        return f"guesses between one secret (or group of them) and others, equally frequent, {right}"


def guess(codes: IndexArray, secrets: IndexArray, tested: NDArray[np.bool_], /, *, certain: float) -> Guess | None:
    r"""The guess from the codes that is better than chance by far; None where none is.

    On the rows that are not `tested` a set of codes is learned for each secret: those at which the secret is more
    frequent than among the other rows, and those at which it is so by a factor of 10. Of the B tested rows P have a
    code of the set, b have the secret, and h both. Where codes and secrets meet at random, h is hypergeometric given
    the set, and :math:`P(h \ge x) \le \exp(-n KL(x / n \| q))` with (n, q) = (b, P / B) or (P, b / B)
    (Hoeffding, 1963).

    - `certain`: Chance finds any guess with a probability of at most e to the minus this.
    """
    kinds = int(secrets.max()) + 1
    learned, test = (
        _Counts.of(codes[~tested], secrets[~tested], kinds),
        _Counts.of(codes[tested], secrets[tested], kinds),
    )
    if not learned.rows or not test.rows:
        return None
    own, of_secret = test.of_secret, np.maximum(learned.of_secret, 1)
    size = max(learned.of_code.size, test.of_code.size)
    of_code = np.zeros(size)
    of_code[: test.of_code.size] = test.of_code
    others = np.maximum(test.rows - own, 1)
    for odds in (1.0, _ODDS):
        here = learned.pairs % kinds
        rest = learned.of_code[learned.pairs // kinds] - learned.counts + (odds > 1) * 0.5
        likely = learned.counts * (learned.rows - of_secret[here]) > odds * rest * of_secret[here]
        chosen = learned.pairs[likely]
        places = np.bincount(chosen % kinds, weights=of_code[chosen // kinds], minlength=kinds)
        hit = np.isin(test.pairs, chosen, assume_unique=True)
        hits = np.bincount(test.pairs[hit] % kinds, weights=test.counts[hit], minlength=kinds)
        ahead = hits / np.maximum(own, 1) - (places - hits) / others
        if odds == 1.0:
            enough = ahead >= ADVANTAGE
        else:
            enough = (hits * others >= odds * (places - hits) * own) & (places >= _SHARE * test.rows)
        surprising = _exponent(hits, places, own, test.rows) >= certain + math.log(4 * kinds)
        found = np.flatnonzero(enough & surprising)
        if found.size:
            told = float(places[found].max()) / test.rows if odds > 1.0 else 0.0
            return Guess(right=0.5 + 0.5 * float(ahead[found].max()), told=told)
    return None


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


def counted(codes: IndexArray, /) -> tuple[IndexArray, IndexArray]:
    """Different numbers, ascending, and how often each comes."""
    if codes.size and int(codes.max()) <= _FEW_CODES:
        counts = np.bincount(codes)
        found = np.flatnonzero(counts)
        return found, counts[found]
    return np.unique(codes, return_counts=True)
