"""Whether columns that are released as they are tell the secret, or determine a public column, whatever holds them."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.errors import KeptColumnWarning, UnreadColumnWarning
from puffer_frames.frames.arrow import DIGITS
from puffer_frames.frames.coded import codes_of, order_of
from puffer_frames.frames.order import (
    CERTAIN,
    Guess,
    advantage,
    counted,
    dense_ranks,
    guess,
    joined,
    look_at_runs,
    ranked,
    surprise,
)
from puffer_frames.frames.stamps.entries import is_null, is_shortened, plain_entry, spelled
from puffer_frames.priors.prior import FloatArray, IndexArray

ROWS = 1 << 16
"""Rows of a sample."""
_ERRORS, _SUSPECT = 0.01, 0.05
"""Share of the rows that a kept value may not tell; in a sample, up to which all rows are asked."""
LEAST_ROWS = 20
"""Rows with a kept value that comes twice, at least."""
_OF_GUESS, _SUSPECT_OF_GUESS, _FEW_GUESSES = 0.5, 0.75, 8
"""Errors, as a share of those of the most frequent target; in a sample, unless these are few."""
_CHANCE = 10.0
"""What is seen happens by chance with a probability of at most e to the minus this."""
_MOST_PAIRED, _MOST_TRIED = 24, 512
"""So many kept columns are looked at in pairs; so many joint looks at kept and released ones."""
_MOST_SIZES = 64
_TILTS = (1e-3, 1e-2, 0.05, 0.2)
FEW_VALUES = 64
"""Kept numbers of more values than this are also looked at in cells: in as many, with others in fewer of them."""
_CELLS = 8
RANKS = 0.995
"""Rank correlation of a kept column that is a copy of a public one, or a monotone map of it."""
_NOT_TOLD = 0.9
"""A column that tells more of the secrets than these is no stratum: in most there would be one secret alone."""
_MOSTLY = 0.5
"""Less than this share of rows with a kept value that comes twice: the values are nearly all different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How often the target is not the most frequent one of its kept value, over values of at least two rows.

    It is made of how often each number of rows comes, so that it does not grow with the rows.
    """

    sizes: IndexArray
    """Numbers of rows that a kept value has."""
    groups: IndexArray
    """Number of kept values with so many rows."""
    errors: int
    """Rows outside the most frequent target of their kept value."""
    target_sizes: IndexArray
    """Numbers of rows that a target has."""
    targets: IndexArray
    """Number of targets with so many rows."""

    @classmethod
    def of(cls, kept: IndexArray, targets: IndexArray, /) -> Evidence:
        """From the numbers of the kept values and of the targets of rows."""
        many = int(targets.max()) + 1
        pairs, counts = counted(kept * many + targets)
        owners = pairs // many
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        sums, most = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
        sizes, groups = np.unique(sums, return_counts=True)
        target_sizes, number = np.unique(np.bincount(targets), return_counts=True)
        return cls(
            sizes=sizes,
            groups=groups,
            errors=int((sums - most).sum()),
            target_sizes=target_sizes[target_sizes > 0],
            targets=number[target_sizes > 0],
        )

    @property
    def rows(self) -> int:
        """Rows with a kept value that comes at least twice."""
        return int((self.sizes * self.groups)[self.sizes > 1].sum())

    @property
    def share(self) -> float:
        """Share of these rows whose target is the most frequent one of their kept value."""
        return 1.0 - self.errors / self.rows

    @property
    def constant(self) -> bool:
        """Whether there is one target only."""
        return int(self.targets.sum()) == 1

    @property
    def repeats(self) -> bool:
        """Whether most rows have a kept value that comes twice."""
        return self.rows >= _MOSTLY * int(self.sizes @ self.groups)

    @property
    def _guess(self) -> float:
        """Errors of naming the target that is the most frequent of all."""
        return self.rows * (1.0 - int(self.target_sizes.max()) / int(self.target_sizes @ self.targets))

    def is_suspect(self) -> bool:
        """Whether all rows should be asked, if this is a sample."""
        if self.rows < LEAST_ROWS:
            return False
        guess = self._guess
        few = self.errors <= _SUSPECT_OF_GUESS * guess or guess < _FEW_GUESSES
        return self.constant or (self.errors <= _SUSPECT * self.rows and few)

    def determines(self, tries: int = 1) -> bool:
        """Whether the kept value tells the target, in all but a few rows, and more than chance explains in any try."""
        enough = self.rows >= LEAST_ROWS and not self.constant
        few = enough and self.errors <= min(_ERRORS * self.rows, _OF_GUESS * self._guess)
        return few and self._log_chance() <= -_CHANCE - math.log(tries)

    def _log_chance(self) -> float:
        r"""Logarithm of a bound on the probability of so few errors where the target does not depend on the kept value.

        For the errors of a group of g rows,
        :math:`E t^{g - \max_k n_k} \le \sum_k E t^{g - n_k} = \sum_k (p_k + t (1 - p_k))^g` for t up to 1; at most e
        errors in all have a probability of at most :math:`t^{-e}` times the product over the groups.
        """
        repeated = self.sizes > 1
        sizes, groups = self.sizes[repeated], self.groups[repeated]
        largest = np.argsort(-(sizes * groups))[:_MOST_SIZES]
        sizes, groups = sizes[largest].astype(np.float64), groups[largest]
        shares = self.target_sizes / int(self.target_sizes @ self.targets)
        best = 0.0
        for tilt in _TILTS if self.errors else (0.0, *_TILTS):
            logs = np.outer(sizes, np.log(shares + tilt * (1.0 - shares))) + np.log(self.targets)
            top = logs.max(axis=1)
            sums = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
            bound = float(groups @ np.minimum(sums, 0.0)) - (self.errors * math.log(tilt) if self.errors else 0.0)
            best = min(best, bound)
        return best


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column in a sample."""

    name: str
    """As a warning calls it."""
    codes: IndexArray
    """Numbers of the entries, from 0."""
    numbers: FloatArray | None
    """Entries that have an order, as numbers in it."""
    looks: tuple[IndexArray, ...] = ()
    """What is seen in many different entries, as numbers from 0: last letters, lengths, words, how often each comes."""
    is_read: bool = True
    """Whether the entries were read: objects without a text of their own are compared as a whole alone."""
    has_few_labels: bool = False
    """Whether it may be a given column: texts, integers or truth values, of which there are few and none is missing."""


Ask = Callable[[Sequence[str], str], Evidence | None]
"""Evidence of all rows, for the plain names of kept columns and a target; None where it cannot be had."""


def look_at_kept(
    kept: Mapping[str, Column],
    secrets: Mapping[str, Column],
    public: Mapping[str, Column],
    /,
    *,
    released: Mapping[str, Column],
    given: Collection[str] = (),
    in_order: bool = False,
    ask: Ask | None,
    of_all: bool = False,
) -> Iterator[KeptColumnWarning | UnreadColumnWarning]:
    """What a sample of rows tells of kept columns, by their plain names; `ask` is None where it is all rows.

    All rows are asked where the sample raises suspicion, or for `of_all` of every column, and of many together.

    The `released` columns are the public ones with noise. `in_order`: the rows are released in their order; the
    first two, the next two, ... are neighbours in it.

    Columns named in `given` are checked only for what they determine: the guarantee conditions on them. Each target is
    warned of once, whichever of its fields tells it.
    """
    targets = {**secrets, **public}
    told = guesses({own: column for own, column in kept.items() if column.name not in given}, secrets, released)
    yield from guessed_warnings(told, kept, secrets, released)
    every = ask if of_all else None
    seen, repeated = {target for _, target in told}, list[str]()
    said = {(kept[owns[0]].name, target) for owns, target in told if len(owns) == 1}
    for own, target in product(kept, targets):
        column, aim = kept[own], targets[target]
        evidence = _asked(every, [own], target) or Evidence.of(column.codes, aim.codes)
        if evidence.repeats and own not in repeated:
            repeated.append(own)
        if (column.name, target) in said:
            continue
        found = _determined(evidence, [own], target, ask=ask)
        if found is None and target in public and aim.numbers is not None:
            found = _in_step(column.numbers, aim.numbers)
        elif found is None and not evidence.repeats:
            found = _sorts(column.numbers, aim.codes)
        if found is not None:
            seen.add(target)
            said.add((column.name, target))
            yield KeptColumnWarning([column.name], determines=aim.name, share=found, given=given)
    left = {target: aim for target, aim in targets.items() if target not in seen and len(repeated) > 1}
    repeating = _few_first({own: kept[own].codes for own in repeated}, kept)
    together, codes = _together(repeating, every=every if left else None, target=next(iter(targets)))
    pairs = islice(_subsets(repeating, 2), _MOST_TRIED // max(1, len(left)))  # few rows for each fit a target by chance
    sets = [pair for pair in pairs if np.count_nonzero(np.bincount(pair[1])) * LEAST_ROWS <= pair[1].size]
    sets.append((tuple(together), codes))
    for target, aim in left.items():
        for owns, look in sets:
            whole = _asked(every, owns, target) if owns == sets[-1][0] else None
            evidence = whole or Evidence.of(look, aim.codes)
            found = _determined(evidence, owns, target, ask=ask, tries=len(sets) * len(left))
            if found is not None:
                names = list(dict.fromkeys(kept[own].name for own in kept if own in owns))
                yield KeptColumnWarning(names, determines=aim.name, share=found, given=given)
                break
    if in_order:
        left = {own: column for own, column in kept.items() if column.name not in given}
        yield from _told_by_steps(left, secrets, said=said)
    for name in dict.fromkeys(column.name for column in kept.values() if not column.is_read):
        yield UnreadColumnWarning(name)


_JOINT = "secrets"
"""Plain name of all columns of the secret together."""


def guesses(
    kept: Mapping[str, Column], secrets: Mapping[str, Column], released: Mapping[str, Column], /
) -> dict[tuple[tuple[str, ...], str], Guess]:
    """How well kept columns guess a column of the secret, or all together; in a sample of rows, half of which test it.

    By plain names. What is said of several together, or beside released columns, is beyond what was said of less.
    """
    found = dict[tuple[tuple[str, ...], str], Guess]()
    if not kept:
        return found
    tested = np.random.default_rng(1).random(next(iter(kept.values())).codes.size) < 0.5
    order, tested = np.argsort(tested, kind="stable"), np.sort(tested)  # a half in a row is taken ten times as fast

    def ways_of(columns: Mapping[str, Column], most: int = 0) -> dict[str, list[IndexArray]]:
        return {name: [look[order] for look in _ways(column)[-most:]] for name, column in columns.items()}

    aims = {name: column.codes[order] for name, column in secrets.items()}
    many = {name: column for name, column in secrets.items() if int(column.codes.max()) >= FEW_VALUES}
    ways, of_groups, beside = ways_of(kept), ways_of(many, 1), ways_of(released, 2)
    if len(aims) > 1:
        aims[_JOINT] = joined(list(aims.values()))
    tries = 2 * (sum(max(4, len(looks)) for looks in ways.values()) + 8)
    certain = _CHANCE + math.log(tries * len(aims))
    last = _few_first({own: looks[-1] for own, looks in ways.items()}, kept)
    seen = set[str]()
    for target, aim in aims.items():
        if target == _JOINT and seen:
            continue
        best_of = dict[str, str]()
        for own, looks in ways.items():
            aimed = product(looks, [aim, *of_groups.get(target, ())])
            told = [each for look, of in aimed if (each := guess(look, of, tested, certain=certain)) is not None]
            if told:
                best, before = max(told, key=_rank), best_of.get(kept[own].name)
                if before is None or _rank(best) > _rank(found[(before,), target]):
                    found.pop(((before or own,), target), None)
                    found[(own,), target], best_of[kept[own].name] = best, own
                seen.add(target)
        said = max((2.0 * found[(own,), target].right - 1.0 for own in best_of.values()), default=0.0)
        for names, each in _told_together(last, beside, aim, tested, said=said, aims=len(aims)):
            found[names, target] = each
            seen.add(target)
    return found


def _rank(found: Guess) -> tuple[float, float]:
    return found.right, found.told


def _told_together(
    kept: Mapping[str, IndexArray],
    released: Mapping[str, Sequence[IndexArray]],
    aim: IndexArray,
    tested: NDArray[np.bool_],
    /,
    *,
    said: float,
    aims: int,
) -> Iterator[tuple[tuple[str, ...], Guess]]:
    """The best guess from several kept columns, and that from kept ones and released ones.

    - `said`: Advantage of what single kept columns tell, which several must exceed.
    """
    together, codes = _together(kept, skip=True)
    all_together = [(tuple(together), codes)] if len(together) > 1 else []
    own = [(names, look, advantage(look, aim, tested)) for names, look in (*_subsets(kept, 1), *all_together)]
    looks = list(islice(_released_looks(released), _MOST_TRIED // len(own)))
    certain = _CHANCE + math.log(2 * aims * (math.comb(len(own), 2) + _CELLS + len(looks) * len(own)))
    sets = chain(_subsets(kept, 2), all_together)
    if not said and len(kept) > 1:
        sets = chain(sets, ((tuple(kept), votes) for votes in _votes(list(kept.values()), aim, tested)))
    best = _best((names, guess(look, aim, tested, certain=certain, beyond=said or None)) for names, look in sets)
    if best is not None:
        names, found = _needed(*best, kept, aim, tested)
        said = 2.0 * found.right - 1.0
        yield names, found

    def beside() -> Iterator[tuple[tuple[str, ...], Guess | None]]:
        for others, look in looks:
            parts = (look, *(each for own, each in looks if set(own) < set(others) or own == others))
            without = max(advantage(each, aim, tested) for each in parts)
            for names, kept_look, alone in own:
                least = max(without, said, alone)
                found = guess(_pair(kept_look, look), aim, tested, certain=certain, beyond=least)
                yield (*names, *others), found and replace(found, without=0.5 + 0.5 * without)

    best = _best(beside())
    if best is not None:
        yield best


def _best(told: Iterable[tuple[tuple[str, ...], Guess | None]]) -> tuple[tuple[str, ...], Guess] | None:
    """The best guess, from the fewest columns."""
    there = [(names, found) for names, found in told if found is not None]
    return max(there, key=lambda each: (each[1].right, -len(each[0])), default=None)


def _subsets(columns: Mapping[str, IndexArray], size: int) -> Iterator[tuple[tuple[str, ...], IndexArray]]:
    """All so large, of the first columns."""
    for names in combinations(islice(columns, _MOST_PAIRED), size):
        yield names, columns[names[0]] if size == 1 else _pair(*(columns[name] for name in names))


def _released_looks(released: Mapping[str, Sequence[IndexArray]]) -> Iterator[tuple[tuple[str, ...], IndexArray]]:
    """Released columns by themselves, two of them, and all."""
    last = {name: looks[-1] for name, looks in released.items()}
    for name, looks in released.items():
        yield from (((name,), look) for look in looks)
    if len(last) > 2:
        yield tuple(last), joined(list(last.values()))
    yield from _subsets(last, 2)


def _pair(one: IndexArray, other: IndexArray) -> IndexArray:
    """Numbers of the joint entries; few are not numbered anew, which takes longer."""
    size = int(other.max()) + 1
    return one * size + other if (int(one.max()) + 1) * size <= ROWS else joined([one, other])


def _needed(
    names: Sequence[str],
    best: Guess,
    kept: Mapping[str, IndexArray],
    aim: IndexArray,
    tested: NDArray[np.bool_],
    /,
) -> tuple[tuple[str, ...], Guess]:
    """The columns without which the guess is worse, and the guess from these."""
    left = list(names)
    for name in reversed(names):
        fewer = [own for own in left if own != name]
        if len(fewer) < 2:
            break
        again = guess(joined([kept[own] for own in fewer]), aim, tested, certain=_CHANCE)
        if again is not None and again.right >= best.right:
            left, best = fewer, again
    return tuple(left), best


def _votes(kept: Sequence[IndexArray], aim: IndexArray, tested: NDArray[np.bool_], /) -> Iterator[IndexArray]:
    """For each of the most frequent secrets whether kept columns, as if independent, speak for it: 1 or 0."""
    for secret in np.argsort(-np.bincount(aim))[:_CELLS]:
        own, others = ~tested & (aim == secret), ~tested & (aim != secret)
        score = np.zeros(aim.size)
        for codes in kept:
            counts = [np.bincount(codes[rows], minlength=int(codes.max()) + 1) + 0.5 for rows in (own, others)]
            score += (np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum()))[codes]
        yield (score > 0.0).astype(np.int64)


def guessed_warnings(
    told: Mapping[tuple[tuple[str, ...], str], Guess],
    kept: Mapping[str, Column],
    secrets: Mapping[str, Column],
    released: Mapping[str, Column],
    /,
) -> Iterator[KeptColumnWarning]:
    """What `guesses` found."""
    for (owns, target), found in told.items():
        names = list(dict.fromkeys(kept[own].name for own in kept if own in owns))
        beside = [released[own].name for own in owns if own in released]
        aim = " and ".join(column.name for column in secrets.values()) if target == _JOINT else secrets[target].name
        whole = next(column for column in kept.values() if column.name == names[0])
        strata = whole.has_few_labels and len(owns) == 1 and names[0] != "the index" and found.right <= _NOT_TOLD
        determines = (Evidence.of(whole.codes, secret.codes).determines() for secret in secrets.values())
        yield KeptColumnWarning(
            names,
            determines=aim,
            share=found.right,
            measured=found.words,
            released=beside,
            is_stratum=strata and not any(determines),
        )


def _ways(column: Column) -> list[IndexArray]:
    """A kept column as it is, and numbers of many values in cells; last the one that is looked at with others."""
    looks = [*column.looks, column.codes]
    if column.numbers is None or int(column.codes.max()) < FEW_VALUES:
        return looks
    missing = np.isnan(column.numbers)
    places = np.unique(column.numbers, return_inverse=True, equal_nan=True)[1]
    ends = np.cumsum(np.bincount(places)) - 1
    fine, coarse = (np.where(missing, cells, (ends * cells // places.size)[places]) for cells in (FEW_VALUES, _CELLS))
    return [*looks, fine, coarse]


def _together(
    columns: Mapping[str, IndexArray], /, *, skip: bool = False, every: Ask | None = None, target: str = ""
) -> tuple[list[str], IndexArray]:
    """Columns, the first ones, whose joint entries come twice in most rows, and numbers of these entries.

    The first one with which they do not ends it, or is skipped. Of `every` row where it is given, beside a target.
    """
    names, codes = list[str](), np.zeros(0, dtype=np.int64)
    for name, column in columns.items():
        more = joined([codes, column]) if names else column
        counts, whole = np.bincount(more), _asked(every, [*names, name], target)
        if whole.repeats if whole else int(counts[counts > 1].sum()) >= _MOSTLY * more.size:
            names, codes = [*names, name], more
        elif not skip:
            break
    return names, codes


def _asked(ask: Ask | None, kept: Sequence[str], target: str) -> Evidence | None:
    """Evidence of all rows, where it can be had."""
    return ask(kept, target) if ask is not None else None


def _few_first(looks: Mapping[str, IndexArray], kept: Mapping[str, Column]) -> dict[str, IndexArray]:
    """Columns of few values first, whatever their order in the frame."""
    return {own: looks[own] for own in sorted(looks, key=lambda own: (int(looks[own].max()), kept[own].name))}


def _determined(
    evidence: Evidence, kept: Sequence[str], target: str, *, ask: Ask | None, tries: int = 1
) -> float | None:
    """Share of the rows whose target the kept values tell, where they determine it; several mostly come twice."""
    if len(kept) > 1 and not evidence.repeats:
        return None
    if evidence.is_suspect():
        evidence = _asked(ask, kept, target) or evidence
    return evidence.share if evidence.determines(tries) else None


def _in_step(kept: FloatArray | None, public: FloatArray | None) -> float | None:
    """Rank correlation of two columns of numbers, where it is that of a copy."""
    if kept is None or public is None:
        return None
    there = ~(np.isnan(kept) | np.isnan(public))
    if np.count_nonzero(there) < LEAST_ROWS:
        return None
    one, other = ranked(kept[there]), ranked(public[there])
    spread = math.sqrt(float((one * one).sum()) * float((other * other).sum()))
    if not spread:
        return None
    rho = abs(float((one * other).sum())) / spread
    largest = float(np.abs(one).max() * np.abs(other).max()) * one.size / spread
    certain = surprise(rho * one.size, variance=one.size, largest=largest) >= CERTAIN
    return rho if rho >= RANKS and certain else None


def _sorts(kept: FloatArray | None, secrets: IndexArray) -> float | None:
    """Share of neighbours with equal secrets, or with others, where rows sorted by the kept value have too many."""
    if kept is None:
        return None
    there = ~np.isnan(kept)
    ties = np.random.default_rng(0).permutation(np.count_nonzero(there))  # equal values come in no order
    return look_at_runs(secrets[there][np.lexsort((ties, kept[there]))])


def _told_by_steps(
    kept: Mapping[str, Column], secrets: Mapping[str, Column], /, *, said: set[tuple[str, str]]
) -> Iterator[KeptColumnWarning]:
    """What steps of a kept number between neighbours tell: the second one's secret, or whether both have the same.

    A number that counts the rows of each secret goes up by 1 between rows of the same. No row is in two pairs, so that
    pairs come in a random order where the rows do.
    """
    for own, target in product(kept, secrets):
        column, aim = kept[own], secrets[target].codes
        if column.numbers is None or aim.size < LEAST_ROWS or (column.name, target) in said:
            continue
        first, second = (slice(k, aim.size - aim.size % 2, 2) for k in range(2))
        with np.errstate(invalid="ignore"):  # of infinities
            steps = column.numbers[second] - column.numbers[first]
        looks = _ways(replace(column, codes=np.unique(steps, return_inverse=True)[1], numbers=steps, looks=()))
        equal = (aim[first] == aim[second]).astype(np.int64)
        tested = np.random.default_rng(1).random(steps.size) < 0.5
        certain = _CHANCE + math.log(2 * len(looks) * len(kept) * len(secrets))
        told = [
            replace(found, pairs=of is equal)
            for look, of in product(looks, (aim[second], equal))
            if (found := guess(look, of, tested, certain=certain)) is not None
        ]
        if told:
            best = max(told, key=_rank)
            said.add((column.name, target))
            yield KeptColumnWarning(
                [column.name], determines=secrets[target].name, share=best.right, measured=best.words, in_order=True
            )


PLACES = 8
"""How many elements of a list, and how many frequent words of a text, are looked at one by one."""
MOST_PARTS = 16
"""Fields and elements of a column, at most; what is beyond is looked at as text."""
_DEPTH = 4
"""So deep in nested objects their form is looked at."""
LETTERS = 256
"""Words are looked for in so many letters of a text."""
_TIMES, _PARTS = (60, 3600, 86_400, 604_800), 42
"""Periods in seconds, and parts of each: a multiple of 7 days."""
_COUNTED = 1 << 16
"""Words that are counted, evenly spread, to find the frequent ones."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")
"""In the text of an object that has no text of its own."""
_NOT_OPENED = (
    ValueError,
    TypeError,
    NotImplementedError,
    pa.ArrowException,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
"""Errors of entries that Polars does not have."""


def kept_columns(entries: nw.Series[Any], /, *, name: str) -> list[Column]:
    """A kept column, and its fields or elements as columns of their own, under the same name."""
    native = nw.to_native(entries.alias("entries"))
    parts = _parts_of_pandas(native) if isinstance(native, pd.Series) else _parts(native)
    return [_column(part, name) for part in parts[: MOST_PARTS + 1]]


def _column(entries: pl.Series | Column, name: str) -> Column:
    """Plain entries with all that is looked at in them."""
    if isinstance(entries, Column):
        return replace(entries, name=name)
    codes = codes_of(nw.from_native(entries, series_only=True))
    numbers = order_of(entries)
    if entries.dtype.is_float() and (lower := (numbers == 0.0) & np.signbit(numbers)).any():
        codes = joined([codes, lower.astype(np.int64)])  # -0.0 and 0.0 are equal, and not the same
    many = int(codes.max()) >= FEW_VALUES
    labels = entries.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) or entries.dtype.is_integer()
    return Column(
        name=name,
        codes=codes,
        numbers=numbers,
        looks=tuple(_looks(entries, codes)) if many else (),
        has_few_labels=labels and not many and not entries.null_count(),
    )


def _looks(entries: pl.Series, codes: IndexArray) -> Iterator[IndexArray]:
    """Last letters or digits, lengths, frequent words, places in a period, and how often an entry comes."""
    if entries.dtype.is_temporal():
        texts = entries.to_physical().cast(pl.String).str.strip_chars_end("0")  # below the unit that is used
    else:
        texts = entries.bin.encode("hex") if entries.dtype == pl.Binary else entries.cast(pl.String)
    yield dense_ranks(texts.str.slice(-1))
    yield dense_ranks(texts.str.slice(-2))
    yield dense_ranks(texts.str.len_chars())
    if entries.dtype == pl.String:
        yield _words(texts)
    yield from _in_periods(entries)
    yield np.unique(np.bincount(codes), return_inverse=True)[1][codes]


def _in_periods(entries: pl.Series) -> Iterator[IndexArray]:
    """Numbers by their fraction and their remainder by 7, times by the part of a minute, hour, day and week."""
    periods: tuple[int, ...] = _TIMES
    if entries.dtype == pl.Duration:
        numbers = entries.dt.total_microseconds() / 1e6
    elif entries.dtype == pl.Time:
        numbers = entries.cast(pl.Int64) / 1e9
    elif entries.dtype.is_temporal():
        numbers = entries.dt.timestamp("us") / 1e6
    else:
        numbers, periods = entries, (1, 7) if entries.dtype.is_numeric() else ()
    for period in periods:
        with np.errstate(invalid="ignore"):  # of infinities
            found = np.floor(numbers.cast(pl.Float64).to_numpy() / period % 1.0 * _PARTS + 1e-6)
        yield np.where(np.isfinite(found), found, _PARTS + 1).astype(np.int64)


def _words(texts: pl.Series) -> IndexArray:
    """Which of the most frequent words are in each text, as bits."""
    found = texts.str.slice(0, LETTERS).str.extract_all(r"\w+")
    words = found.explode().drop_nulls()
    bits = np.zeros(len(texts), dtype=np.int64)
    if len(words):
        hashes = words.hash().alias("word")
        counts = hashes.gather_every(-(-len(words) // _COUNTED)).value_counts(name="n")
        counts = counts.sort("n", "word", descending=True)
        rows = np.repeat(np.arange(len(texts)), found.list.len().fill_null(0).to_numpy())
        own = hashes.to_numpy()
        for k, frequent in enumerate(counts["word"].to_numpy()[:PLACES]):
            bits[rows[own == frequent]] |= 1 << k
    return bits


def _parts_of_pandas(entries: pd.Series[Any]) -> list[pl.Series | Column]:
    dtype = entries.dtype
    if isinstance(dtype, pd.SparseDtype):
        return _parts_of_pandas(pd.Series(entries.array.to_dense()))
    if isinstance(dtype, pd.CategoricalDtype):
        codes = entries.cat.codes.to_numpy().astype(np.int64)
        labels, places = _parts_of_pandas(pd.Series(entries.cat.categories)), pl.Series(codes).replace(-1, None)
        return [
            replace(own, codes=np.unique(codes, return_inverse=True)[1])
            if isinstance(own, Column)
            else own.gather(places)
            for own in labels
        ]
    if isinstance(dtype, pd.IntervalDtype):
        ends = {"left": entries.array.left, "right": entries.array.right}
        return _parts(pl.from_pandas(pd.DataFrame(ends)).to_struct("entries"))
    if isinstance(dtype, pd.PeriodDtype):
        return [pl.from_pandas(entries.dt.start_time)]
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        return _parts(pl.DataFrame({"real": entries.to_numpy().real, "imag": entries.to_numpy().imag}).to_struct("e"))
    if not isinstance(dtype, np.dtype) or dtype.kind != "O":
        with suppress(*_NOT_OPENED):
            return _parts(nw.from_native(entries, series_only=True).to_polars())
    return _parts_of_objects(entries.tolist())


def _parts(entries: pl.Series) -> list[pl.Series | Column]:
    """Plain entries; of nested ones their text, and their fields or elements, those of fewer levels first."""
    if entries.dtype == pl.Object:
        return _parts_of_objects(entries.to_list())
    if not entries.dtype.is_nested():
        return [entries]
    texts = [None if entry is None else str(entry) for entry in entries.to_list()]
    found, left = list[pl.Series | Column]([pl.Series("entries", texts, dtype=pl.String)]), [entries]
    while left and len(found) <= MOST_PARTS:
        for own in _inner(left.pop(0)):
            (left if own.dtype.is_nested() else found).append(own)
    return found


def _inner(entries: pl.Series) -> list[pl.Series]:
    """Fields of structures; of lists and maps the number of elements, and the first ones."""
    if isinstance(entries.dtype, pl.Struct):
        return entries.struct.unnest().get_columns()
    if isinstance(entries.dtype, pl.Array):
        entries = entries.arr.to_list()
    elif not isinstance(entries.dtype, pl.List):
        entries = entries.map.entries()  # from Polars 2 on
    lengths = entries.list.len()
    most = int(lengths.to_numpy().max(initial=0)) if not lengths.null_count() else PLACES
    return [lengths, *(entries.list.get(k, null_on_oob=True) for k in range(min(PLACES, most)))]


def _parts_of_objects(entries: Sequence[Any]) -> list[pl.Series | Column]:
    """Python objects by their values, and where these differ in form by that too: 1 and 1.0 are equal, not the same."""
    entries = [plain_entry(entry) for entry in entries]
    found = _values_of_objects(entries)
    missing = [is_null(entry) for entry in entries]
    if {type(entry) for entry, null in zip(entries, missing, strict=True) if not null} == {str} and not any(missing):
        return found
    forms = [_form(entry) for entry in entries]
    if len(set(zip(missing, forms, strict=True))) > len(set(missing)):
        texts = [_plain_text(f"{form} {entry}") for form, entry in zip(forms, entries, strict=True)]
        found += [pl.Series("entries", [_plain_text(form) for form in forms]), pl.Series("entries", texts)]
    return found


def _form(entry: Any, depth: int = 0) -> str:
    """What may differ between equal objects: type, digits, offset from UTC, sign of a zero, order of keys."""
    kind = type(entry).__name__
    if is_null(entry) or depth > _DEPTH:
        return kind
    if isinstance(entry, decimal.Decimal):
        return f"{kind} {entry.as_tuple().exponent} {entry.is_zero() and entry.is_signed()}"
    if isinstance(entry, (datetime.datetime, datetime.time)):
        return f"{kind} {entry.utcoffset()} {entry.tzinfo} {entry.fold} {getattr(entry, 'unit', '')}"
    if isinstance(entry, (float, np.floating)) and entry == 0:
        return f"{kind} {np.signbit(entry)}"
    if isinstance(entry, np.ndarray):
        return f"{kind} {entry.dtype} {entry.shape}"
    if isinstance(entry, dict):
        keys = ((key, _form(key, depth + 1), _form(own, depth + 1)) for key, own in entry.items())
        return f"{kind} {list(islice(keys, PLACES))}"
    if isinstance(entry, (list, tuple)):
        return f"{kind} {[_form(own, depth + 1) for own in entry[:PLACES]]}"
    with suppress(Exception):  # an attribute may have no text
        return f"{kind} {object.__getstate__(entry)}"  # `__slots__`, too
    return kind


def _plain_text(text: str) -> str:
    return _ADDRESS.sub(">", text).encode(errors="backslashreplace").decode()


def _values_of_objects(entries: Sequence[Any]) -> list[pl.Series | Column]:
    """Python objects as Polars has them, or in their own order, and by their text."""
    there = [None if is_null(entry) else entry for entry in entries]
    kinds = {type(entry) for entry in there if entry is not None}
    nested = {kind for kind in kinds if issubclass(kind, (tuple, list, dict))}
    if all(issubclass(kind, complex) for kind in kinds):
        there = [None if entry is None else (entry.real, entry.imag) for entry in there]
        nested = kinds
    if nested == kinds:
        there = [_fields(entry) for entry in there]
    # of ranges beside lists, and large decimals
    with suppress(AttributeError, OverflowError, RuntimeError, *_NOT_OPENED):
        typed = pl.Series("entries", [] if any(map(_has_odd_decimal, there)) else there, strict=True)
        if len(typed) == len(there) and typed.dtype != pl.Object:
            return _parts(typed)
    texts = [None if entry is None else f"{type(entry).__name__} {entry}" for entry in there]
    if any(text is not None and _ADDRESS.search(text) for text in texts):
        codes = codes_of(nw.from_native(pd.Series(there, dtype=object), series_only=True))
        return [Column(name="", codes=codes, numbers=None, is_read=False)]
    short = any(is_shortened(entry, text) for entry, text in zip(there, texts, strict=True) if text is not None)
    texts = [None if text is None else _plain_text(text) for text in texts]
    found = list[pl.Series | Column]([pl.Series("entries", texts, dtype=pl.String)])
    if short:
        whole = pl.Series("entries", [None if entry is None else _plain_text(spelled(entry)) for entry in there])
        codes = codes_of(nw.from_native(whole, series_only=True))
        found.append(Column(name="", codes=codes, numbers=None, is_read=False))
    if kinds and nested == kinds:
        for field, _ in Counter(name for entry in there if entry for name in entry).most_common(PLACES):
            found += _parts_of_objects([entry and entry.get(field) for entry in there])
        return found
    try:
        ranks = {entry: rank for rank, entry in enumerate(sorted({entry for entry in there if entry is not None}))}
    except (TypeError, ValueError):
        return found
    return [pl.Series("entries", [None if entry is None else ranks[entry] for entry in there]), *found]


def _has_odd_decimal(entry: Any) -> bool:
    """Whether there is a Decimal that is no number or has many places: Polars panics, and says so itself."""
    if isinstance(entry, decimal.Decimal):
        return not entry.is_finite() or int(entry.as_tuple().exponent) < -DIGITS
    nested = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, (list, tuple)) else ()
    return any(map(_has_odd_decimal, nested))


def _fields(entry: Any) -> dict[str, Any] | None:
    """Elements by their places, fields by their names; None for a missing entry."""
    if entry is None:
        return None
    named = entry.items() if isinstance(entry, dict) else enumerate(entry)
    return {str(name): own for name, own in named}
