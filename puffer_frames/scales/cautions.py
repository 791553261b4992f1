"""Warnings of requests that are granted, and yet say little."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import FewRowsWarning, SuspectValuesWarning, WeakGuaranteeWarning, WideNoiseWarning, warn
from puffer_frames.frames.coded import Numbered
from puffer_frames.frames.columns import MISSING, meant_as, rows_text
from puffer_frames.frames.table import CompleteRows
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Counts, Summary
from puffer_frames.scales.utility import FAR_MEAN, Utility

LARGE_EPSILON = 10.0
FEWEST_ROWS = 20
"""Fewer rows than these are few."""
_OFTEN, _OFTEN_SHARE, _MOST_SHARE, _FEW_SHARE = 5, 0.001, 0.5, 0.2
"""Rows that a value comes in, at least, to be a code, and their share; the share of all codes at most, and of codes
beside a scale, of which a value may just be missing."""
_MOST_CODES = 3
"""Codes at one end, such as 997, 998 and 999."""
MOVED, _BEYOND, _LOOKED_AT = 0.01, 0.1, 1 << 16
"""Share of the rows beyond a domain that may be there unsaid, and beyond the range of the table of a plan, which later
rows exceed by chance; so many rows are looked at."""
WIDEN = "Widen the domain to what anybody knows of the column."
_TAIL, _FEWEST_VALUES = 0.01, 5
"""Share of the other rows that may lie far out, too; different values that the others have, at least."""
_MERGED = 0.1
"""There is a warning where a larger share of the rows has the label of merged strata."""
_OTHER_SIGN = 20
"""The only value below 0, as -1 among incomes, is a code where the others are so many times as far from 0."""


def warn_of_width(columns: Sequence[str], found: str, /, *, hint: str, reason: str) -> None:
    """Warn of columns of little use: as `WideNoiseWarning` has it."""
    warn(WideNoiseWarning(columns, found, hint=hint, reason=reason))


def warn_of_weak_guarantee(found: str, /, *, hint: str) -> None:
    """Warn of a guarantee that says little."""
    warn(WeakGuaranteeWarning(found, hint=hint))


def _suspect(what: str, found: str, /, *, hint: str) -> None:
    warn(SuspectValuesWarning(what, found, hint=hint))


def warn_of_identifiers(name: str, /, *, often: str = "none of them twice") -> None:
    """Warn of a column of a whole table that numbers its rows, or whom these are of."""
    _suspect(
        f"the public column {name!r}",
        f"holds whole numbers, {often}, as identifiers do: what is released are true ones, in other rows",
        hint="Leave it out: name the other columns in public.",
    )


def warn_of_tail(name: str, /) -> None:
    """Warn of a column of a whole table with values far out, for which the middle one of their cell is released."""
    warn_of_width(
        [name],
        "{columns} has values far from the others, in whose place the middle one of their cell is released: means, "
        "sums and the spread of released values are off by far",
        hint="Take more cells: mechanism=Sequential(cells=64). Medians and shares below a value are not affected.",
        reason="tail",
    )


def few_rows(rows_per_secret: Mapping[Secret, int], /) -> tuple[Secret, ...]:
    """The secrets in few rows."""
    return tuple(secret for secret, rows in rows_per_secret.items() if rows < FEWEST_ROWS)


def rarest_rows(rows_per_secret: Mapping[Secret, int], /) -> int | None:
    """Rows that the secret with the fewest has at least: 1,000, 100, 20 or 0, and no more of them is published."""
    if not rows_per_secret:
        return None
    fewest = min(rows_per_secret.values())
    return next(rows for rows in (1000, 100, FEWEST_ROWS, 0) if fewest >= rows)


def size_text(rows: int, /) -> str:
    """What is published of the size of a group."""
    fewest = rarest_rows({0: rows})
    return f"at least {fewest:,} rows" if fewest else f"fewer than {FEWEST_ROWS} rows"


def warn_of_few_rows(rows_per_secret: Mapping[Secret, int], /) -> None:
    """Warn of secrets whose frequencies were seen in few rows."""
    if few := few_rows(rows_per_secret):
        warn(FewRowsWarning(few, fewest=FEWEST_ROWS))


def warn_of_marks(rows_per_secret: Mapping[Secret, int], /) -> None:
    """Warn of values of the secret that mean a missing one elsewhere: they are hidden as if they were a value."""
    marks: dict[str, int] = {}
    for secret, rows in rows_per_secret.items():
        for entry in dict.fromkeys(secret if isinstance(secret, tuple) else (secret,)):
            if isinstance(entry, str) and entry.strip() in MISSING:
                marks[entry] = marks.get(entry, 0) + rows
    if marks:
        _suspect(
            "the secret",
            "holds text that may stand for a missing value: "
            + ", ".join(f"{mark!r} in {rows_text(rows)}" for mark, rows in marks.items()),
            hint=f"Say null_values={{secret: {list(marks)!r}}} to read them as nulls, "
            'and nulls="drop" to leave those rows out. If they are values like any other, ignore this.',
        )


def warn_of_texts(name: str, levels: Iterable[object], /) -> None:
    """Warn of a public column of labels that are nearly all dates, or numbers: as labels they lose their order."""
    if found := meant_as(name, list(levels)):
        what, hint = found
        told = f"holds text that looks like {what}, and is released as labels"
        _suspect(f"the public column {name!r}", told, hint=hint)


def share_at_ends(summary: Summary, bounds: Bounds, /) -> float:
    """Share of the rows whose value is an end of the bounds, to which it was clipped: at most so many were moved."""
    low, high = (end + sign * 2 * summary.radius for end, sign in zip(bounds, (1, -1), strict=True))
    values, counts = _pooled(summary)
    return float(counts[(values <= low) | (values >= high)].sum() / counts.sum())


def moved_text(share: float | None, /) -> str:
    """What a plan says of the values beyond a domain."""
    most = "" if share is None else f", in at most {math.ceil(1e4 * share) / 100:g} % of the rows"
    return f"values beyond the domain are moved to its ends{most}; all errors here are those of the moved values"


def warn_of_moved(
    rows: CompleteRows,
    summaries: Mapping[str, Summary],
    bounds: Mapping[str, Bounds],
    /,
    *,
    ranged: Collection[str] = (),
) -> None:
    """Warn of a domain, or of the range of the table of a plan for the `ranged` columns, that many values are beyond,
    or few by far: they are moved, and every stated error is of the moved ones.
    """
    for name, (low, high) in bounds.items():
        most = _BEYOND if name in ranged else MOVED
        if name in summaries and not share_at_ends(summaries[name], (low, high)):
            continue
        entries = rows.entries([name], _LOOKED_AT)[name]
        values = entries.values[~np.isnan(entries.values)] if isinstance(entries, Numbered) else np.zeros(0)
        moved = float(np.mean((values < low) | (values > high))) if values.size else 0.0
        away = Utility.of(values, values.clip(low, high)) if moved else None
        if moved <= most and (away is None or away.error <= FAR_MEAN * away.constant):
            continue
        if name in ranged:
            hint = "Look at the unit of the column, or make a plan from these rows."
            warn_of_share(f"the range of the public column {name!r} in the plan", moved, hint=hint)
        else:
            warn_of_share(f"the domain of the public column {name!r}", moved)


def warn_of_share(what: str, moved: float, /, *, by: str = "plan and certificate", hint: str = WIDEN) -> None:
    """Warn of bounds, and of the share of the rows whose values are moved to them."""
    _suspect(
        what,
        f"leaves about {moved:.2%} of the rows outside, whose values are moved to its ends: the errors that {by} "
        "state are those of the moved values",
        hint=hint,
    )


def warn_of_strange(columns: Mapping[str, float], /) -> None:
    """Warn of rows that a plan does not know the values of, which come out as others: the share per column."""
    listed = ", ".join(f"{share:.2%} of {name!r}" for name, share in columns.items())
    _suspect(
        "the rows",
        f"have numbers that the plan was not made from, or other values than it computes ({listed}); the nearest "
        "that it knows, and those that it computes, are released in their place",
        hint="Make a plan from these rows, or leave such columns out of it.",
    )


def warn_of_merged(given: Sequence[str], merged: Mapping[bool, Sequence[int]], /, *, label: str, minimum: int) -> None:
    """Warn of given columns of which nothing is left, or little; `merged` are the rows of strata, merged and not."""
    what = f"the given column{'s' * (len(given) > 1)} {', '.join(map(repr, given))}"
    own, others = merged[True], merged[False]
    strata, rows, of = len(own) + len(others), sum(own), sum(own) + sum(others)
    if not others:
        _suspect(
            what,
            f"will say 'other' in all rows: all {strata:,} strata were merged, for too few had {minimum:,} rows "
            "of each secret",
            hint="Leave given out, take a smaller minimum, or merge rare secrets.",
        )
    elif rows > _MERGED * of:
        _suspect(
            what,
            f"will say {label!r} in {rows:,} of {of:,} rows ({100 * rows / of:.3g} %): {len(own):,} of {strata:,} "
            f"strata are merged, since at least one of them has fewer than {minimum:,} rows of a secret; where small "
            "ones are too few together, the smallest of the others join them",
            hint="Give small strata the label of one that is like them yourself, before the release, or take a smaller "
            "minimum.",
        )


def warn_of_values(name: str, found: Summary, /, *, whole: bool = True) -> bool:
    """Warn of whole numbers that are dates, and of a value far from all others that comes often, as a code for missing
    values does (9999, -999); say whether it did. `whole`: these are all rows, and not some that were drawn.
    """
    values, counts = _pooled(found)
    if form := _days_in(values):
        fill = f".str.zfill({8 if 'Y' in form else 6})" * (not form.startswith("%Y"))
        _suspect(
            f"the public column {name!r}",
            f"holds dates as numbers, such as {_DAY:{form}}, and is released as numbers, many of them no dates",
            hint=f"Convert them first: in pandas pd.to_datetime(frame[{name!r}].astype('Int64').astype('string')"
            f"{fill}, format='{form}', errors='coerce'), in Polars pl.col({name!r}).cast(pl.Int64)"
            f".cast(pl.String){fill}.str.to_date('{form}', strict=False); the command reads dates as 2025-01-31. "
            f"If they are numbers, say the range of the column: domain={{{name!r}: (low, high)}}.",
        )
        return True
    rows = int(counts.sum())
    upper = _far(values, counts)
    values, counts = values[: values.size - upper], counts[: values.size - upper]
    lower = _far(-values[::-1], counts[::-1])
    values, counts = values[lower:], counts[lower:]
    if lower and not upper:  # these may have hidden others
        upper = _far(values, counts)
        counts = counts[: values.size - upper]
    far = rows - int(counts.sum())
    if far:
        _suspect(
            f"the public column {name!r}",
            f"has {rows_text(far)}{'' if whole else ' of those that were drawn'} with a value that comes often and "
            "lies far from all others, as a code for missing values does",
            hint=f'If it is one, say null_values={{{name!r}: code}} and nulls="drop"; if it is a value, say '
            f"the range of the column: domain={{{name!r}: (low, high)}}.",
        )
    return far > 0


_DAY, _MOSTLY, _FEWEST_SHORT = date(2025, 1, 31), 0.9, 20
"""Share of the different numbers that are days, from 1900 to 2100: of others up to 3.7 % would be. Days of six digits
are at least so many different ones, of two months."""


def _days_in(values: FloatArray) -> str | None:
    """How different numbers are written that are nearly all days; 50131 is 050131, and 131 none."""
    whole = values[np.mod(values, 1) == 0]
    first, middle, last = whole // 1e4, whole // 100 % 100, whole % 100
    written = {
        "%Y%m%d": (first, middle, last),
        "%d%m%Y": (whole % 1e4, first % 100, first // 100),
        "%m%d%Y": (whole % 1e4, first // 100, first % 100),
        "%y%m%d": (np.where((first > 0) & (first < 100) & (np.unique(middle).size > 1), 2000, 0), middle, last),
    }
    for form, (year, month, day) in written.items():
        is_day = (year >= 1900) & (year <= 2100) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        days = np.count_nonzero(is_day)
        if days >= max(_FEWEST_VALUES if "Y" in form else _FEWEST_SHORT, _MOSTLY * values.size):
            return form
    return None


def _pooled(found: Summary) -> Counts:
    """Different values over all secrets, ascending, and their rows."""
    pairs = list(found.counts.values())
    values, places = np.unique(np.concatenate([own for own, _ in pairs]), return_inverse=True)
    counts = np.bincount(places, weights=np.concatenate([often for _, often in pairs]))
    return values, counts.astype(np.int64)


def _far(values: FloatArray, counts: NDArray[np.int64]) -> int:
    """How many of the largest values, at most `_MOST_CODES`, come often, yet in a minority of the rows, and lie as far
    above the others as these are spread, or has the other sign and is near 0 beside them. Of 8 and 9 beside a scale
    from 1 to 5, in few of the rows, 9 does.
    """
    rows = int(counts.sum())
    for codes in range(1, min(_MOST_CODES, values.size - 1) + 1):
        own, others = counts[-codes:], counts[:-codes]
        if own[0] < max(_OFTEN, _OFTEN_SHARE * rows) or own.sum() > _MOST_SHARE * rows:
            return 0
        below = np.cumsum(others) <= (1.0 - _TAIL) * int(others.sum())
        bulk = values[: 1 + int(np.count_nonzero(below))][: others.size]
        steps = np.diff(values)
        is_scale = steps[-codes] > 1 and bool((np.delete(steps, -codes) == 1).all()) and own.sum() <= _FEW_SHARE * rows
        is_far = values[-1 if is_scale else -codes] - bulk[-1] >= bulk[-1] - bulk[0]
        middle = values[np.searchsorted(np.cumsum(others), others.sum() / 2)]
        if codes == 1 and values[-2] <= 0 < _OTHER_SIGN * values[-1] <= -middle:
            is_far = True
        if bulk.size >= _FEWEST_VALUES and is_far:
            return codes
    return 0


def warn_of_noisy_answers(query: str, exact: FloatArray | Sequence[Fraction], error: float, /) -> None:
    """Warn where most exact answers of a query are smaller than the mean absolute noise."""
    answers = np.abs(np.asarray(exact, dtype=np.float64))
    small = int((answers < error).sum()) if error < math.inf else 0  # it is infinite for Cauchy's
    if 2 * small > answers.size:
        where = "" if answers.size == 1 else f" for {small:,} of {answers.size:,} answers"
        warn(
            WideNoiseWarning(
                [query],
                f"the noise of the answer {{columns}} is larger on average than the answer itself{where}",
                hint="Ask for a larger epsilon, or for fewer answers at once.",
                reason="answer",
            )
        )


LARGER = "Ask for a larger epsilon, or leave the column out."
