"""Columns of a frame: which there are, what may be in them, selections of them, and hints where one is wrong."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from pandas.api.types import infer_dtype
from polars import selectors

from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    ColumnNotFoundError,
    ColumnTypeError,
    PriorError,
)
from puffer_frames.numbers.arguments import described, is_array
from puffer_frames.priors.prior import FloatArray

NativeFrame: TypeAlias = Any
"""A frame of one of the `table.KINDS`."""
Typed = TypeVar("Typed", bound="pl.DataFrame | pl.LazyFrame | pd.DataFrame")
"""Type of such a frame, where its library has types."""
Frame: TypeAlias = nw.DataFrame[Any]
Name: TypeAlias = Hashable
"""Name of a column: text, or in pandas any other label."""

LARGEST_VALUE = 1e301
"""Larger values leave no room for the noise in the range of floats."""
LARGEST_INTEGER = 2**53
"""Integers up to here are told apart as 64-bit floats."""


_MOST_NAMES = 20
"""More names than this, and than the frame has, are taken for the entries of a column."""


def as_names(names: Name | Iterable[Name], labels: Iterable[Name], /, *, role: str) -> tuple[str, ...]:
    """One of the column labels of a frame, or several, as text; a tuple that is itself a label is one,
    the empty tuple is none.

    Raises ColumnNotFoundError for a label that the frame does not have; ArgumentTypeError for something else.
    """
    labels = list(labels)
    none = names is None or (isinstance(names, tuple) and not names)
    if not none and isinstance(names, Hashable) and (_among(names, labels) or not isinstance(names, Iterable)):
        listed: tuple[Any, ...] = (names,)
    elif isinstance(names, Iterable):
        listed = (names,) if isinstance(names, str) else tuple(names)
    else:
        listed = (None,)
    if not all(name is not None and isinstance(name, Hashable) for name in listed):
        raise ArgumentTypeError(
            role,
            rule="a column name or a list of them",
            got=f"a {type(names).__name__}",
            hint=f'Write {role}="column".',
        )
    known = set(labels)
    unknown = [name for name in listed if not (_is_in(name, known) or _among(name, labels))]
    index = type(names).__name__ == "Index"  # of pandas: mostly names, as frame.columns has them
    if unknown and ((is_array(names) and not index) or len(listed) > max(len(labels), _MOST_NAMES)):
        # entries of a column: no message shows them
        own = [str(label) for label in labels if isinstance(label, str) and label == getattr(names, "name", None)]
        raise ArgumentTypeError(
            role,
            rule="a column name or a list of them",
            got=described(names),
            hint=f'Write the name, not the column: {role}="{own[0] if own else "column"}".',
        )
    if unknown:
        raise not_found(role, unknown[0], labels)
    return tuple(str(name) for name in listed)


def as_name(name: Name, labels: Iterable[Name], /, *, role: str) -> tuple[str]:
    """One of the column labels of a frame, as text.

    Raises ColumnNotFoundError for a label that the frame does not have; ArgumentTypeError for something else, or
    several.
    """
    listed = as_names(name, labels, role=role)
    if len(listed) != 1:
        got = "several" if listed else "none"
        raise ArgumentTypeError(role, rule="one column name", got=got, hint=f'Write {role}="column".')
    return (listed[0],)


def as_row_id(name: Name | None, labels: Iterable[Name], /) -> str | None:
    """The column that numbers the rows, or None.

    Raises ColumnNotFoundError, ArgumentTypeError for a label that the frame does not have, something else, or several.
    """
    if name is None:
        return None
    return as_name(name, labels, role="row_id")[0]


def _is_in(name: Name, labels: set[Name]) -> bool:
    """Membership without a look at every label; False for a tuple that holds a list."""
    try:
        return name in labels
    except TypeError:
        return False


def _among(name: Name, labels: Sequence[Name]) -> bool:
    """Membership where comparing with a label may fail (a missing value as a label)."""
    for label in labels:
        try:
            if label is name or bool(label == name):
                return True
        except (TypeError, ValueError):
            continue
    return False


def column(frame: Frame, name: str, /) -> nw.Series[Any]:
    """A column under a plain name: Polars reads names like "^x$" as patterns in operations."""
    return frame[name].alias("column")


def missing(values: nw.Series[Any], /) -> NDArray[np.bool_]:
    """Whether each value is null or NaN."""
    null: NDArray[np.bool_] = values.is_null().to_numpy().astype(bool)
    if values.dtype.is_float():
        null = null | np.isnan(np.asarray(values.cast(nw.Float64).fill_null(0.0).to_numpy(), dtype=np.float64))
    return null


def check_one_type(entries: nw.Series[Any], what: str, /) -> None:
    """Raise ColumnTypeError for pandas objects that are texts and others: 1 and True would be one label.

    Narwhals looks at the first entries alone.
    """
    native = entries.to_native()
    texts = not isinstance(native, pd.Series) or native.dtype != object
    if not texts and infer_dtype(native.dropna(), skipna=False) not in ("string", "empty"):
        raise ColumnTypeError(
            what, rule="of entries of one type", got="texts and others", hint="Convert it to strings first."
        )


_DEEPEST = 100
"""Deeper objects take more than a minute, and one that holds itself ends the process in Polars."""


def check_depth(entries: nw.Series[Any], /, *, name: str) -> None:
    """Raise ColumnTypeError for lists and dicts that are nested without an end, or far."""
    native = nw.to_native(entries)
    if native.dtype not in (np.dtype(object), pl.Object):
        return
    level: Iterable[Any] = native.to_list()
    for _ in range(_DEEPEST + 1):
        nested = {id(own): own for own in level if isinstance(own, (list, tuple, dict))}.values()
        level = chain.from_iterable(own.values() if isinstance(own, dict) else own for own in nested)
        if not nested:
            return
    raise ColumnTypeError(
        f"the column {name!r}",
        rule=f"of objects that are nested at most {_DEEPEST} deep",
        got="deeper ones, or one that holds itself",
        hint="Convert it to text first, or leave it out of keep.",
    )


def check_column_names(names: Sequence[str], /) -> None:
    """Raise ArgumentError where two columns have the same name, and for names that a file or stream cannot hold."""
    odd = next((name for name in names if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name)), None)
    if odd is not None:
        raise ArgumentError(
            "the column names of the frame",
            rule="text that UTF-8 can hold, without the character NUL",
            got=repr(odd),
            hint="Rename this column first: frame.columns = [...].",
        )
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ArgumentError(
            "the column names of the frame",
            rule="different from one another (as text)",
            got=f"{twice!r} twice",
            hint="Rename one: frame.columns = [...].",
        )


def not_found(role: str, name: object, columns: Sequence[Name], /) -> ColumnNotFoundError:
    """The error of a column that the frame does not have."""
    labels = {str(column): repr(column) for column in columns}
    begun = [label for label in labels if str(name) and label.casefold().startswith(str(name).casefold())]
    near = " or ".join(labels[n] for n in dict.fromkeys([*get_close_matches(str(name), labels, n=3), *begun][:3]))
    hint = f"Did you mean {near}?" if near else f"The frame has {', '.join(list(labels.values())[:8]) or 'none'}."
    if not near and any(number_in(label) is not None for label in labels):  # values, of a file without a line of names
        hint = "Some of its columns are named by numbers: write a first line of names where the file has none."
    whole = name if isinstance(name, tuple) else (name,)
    got = repr(name) if all(isinstance(part, (str, int)) for part in whole) else f"a {type(name).__name__}"
    return ColumnNotFoundError(role, rule="a column of the frame", got=got, hint=hint)


def number_in(text: str, /) -> float | None:
    """A finite number; None for another text."""
    with suppress(ValueError):
        return found if math.isfinite(found := float(text)) else None
    return None


def check_rows(rows: int, /) -> None:
    """Raise PriorError for a frame without rows."""
    if not rows:
        raise PriorError("the frame", rule="non-empty", got="0 rows", hint="Check the filter or the file it came from.")


def to_floats(
    values: nw.Series[Any], counts: np.ndarray[Any, Any], /, *, name: str, role: str = "public"
) -> FloatArray:
    """Distinct values of a column as 64-bit floats, each occurring `counts` times.

    Raises PriorError for nulls, NaN, infinities, or integers beyond 2**53, which floats would merge. The message counts
    rows.
    """
    null = values.is_null().to_numpy()
    if values.dtype.is_integer() and not null.all():
        low, high = int(values.min()), int(values.max())
        if low < -LARGEST_INTEGER or high > LARGEST_INTEGER:
            hint = "Subtract a constant, or divide, before the release."
            raise _bad(role, name, "within 2**53 of 0", "larger integers", hint)
    floats = np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    missing = int(counts[null | np.isnan(floats)].sum())
    if missing:
        hint = 'Say nulls="drop" to leave those rows out; that a value is missing can itself reveal the secret.'
        hint = NO_VALUE if role == "public" and missing == counts.sum() else hint
        raise _bad(role, name, "without nulls and NaN", rows_text(missing) + " with one", hint)
    infinite = int(counts[np.isinf(floats)].sum())
    if infinite:
        got = rows_text(infinite) + " with an infinity"
        raise _bad(role, name, "finite", got, "Clip the column to its known range first.")
    if bool((np.abs(floats) > LARGEST_VALUE).any()):
        raise _bad(role, name, "within 1e301 of 0", "larger values", "Divide the column by a constant first.")
    return floats


def _bad(role: str, name: str, rule: str, got: str, hint: str) -> PriorError:
    return PriorError(f"the {role} column {name!r}", rule=rule, got=got, hint=hint)


def check_labelled(name: str, missing: int, /) -> None:
    """Raise PriorError for rows without a label in a column, so many."""
    hint = 'Say nulls="drop" to leave those rows out, or give them a label of their own such as "unknown".'
    check_no_nulls(f"the column {name!r}", missing, hint=hint)


NO_VALUE = (
    "Leave the column out (name the others in public): no row has a value in it. A CSV file whose lines end in a comma "
    "has such a column, with an empty name."
)


def check_no_nulls(what: str, missing: int, /, *, hint: str, rows: float = math.inf) -> None:
    """Raise PriorError for so many rows without an entry; `rows`: of all, where that is known."""
    if missing:
        hint = NO_VALUE if missing == rows and what.startswith("the public") else hint
        raise PriorError(what, rule="without nulls", got=f"{rows_text(missing)} with one", hint=hint)


def rows_text(n: int, /) -> str:
    """A number of rows in words."""
    return f"{n} row{'s' * (n > 1)}"


MISSING = frozenset(
    (
        *("", "?", ".", "..", "-", "--", "*", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>", "n.a.", "N.A."),
        *("NaN", "nan", "NAN", "-nan", "-NaN", "NaT", "NAT", "None", "NONE", "nil", "undefined", "missing"),
        *("NULL", "Null", "null", "(null)", "(NULL)", "<null>", "<NULL>", r"\N"),
    )
)
"""Texts that programs write for a missing value: R, SAS, Stata, Excel, Python, pandas, Julia, Go, JavaScript,
databases, the tables of UCI. "none" and "unknown" are answers that people write.
"""
_PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CURRENCY = r"(?:AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|INR|JPY|MXN|NOK|PLN|SEK|TRY|USD|ZAR)"
_WRITTEN = re.compile(
    rf"\s*(?:[-−+(]?\s*[$€£¥]?|{_CURRENCY}\s*[-−]?)\s*"
    r"(?P<number>\d[\d.,'’\s_]*|[.,]\d+)(?:[eE][+-]?\d+)?"
    r"(?:(?<=\d\d)-|\s*[%+€$)]*|\s*(?P<unit>°?[^\W\d_]\D{0,11}))\s*"
)
"""A number with separators of thousands, a comma for the point, a sign of a currency or of percent, spaces, a minus
behind it (1- and 2- are grades), or a unit."""
_NO_UNITS = ("st", "nd", "rd", "th", "s", "'s", "’s")
"""What is behind the numbers of labels: 5th, 60s."""
_WITH_POINTS = re.compile(r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?|[0-9]*\.?[0-9]*")
_WITH_COMMAS = re.compile(r"[1-9][0-9]{0,2}(\.[0-9]{3})+(,[0-9]*)?|[0-9]*,?[0-9]*")
"""Points before decimals and commas between thousands; and the other way round. 5.600 may be either."""
_CODE = re.compile(r"\s*0[0-9]+\s*")
_FEWEST, _MOSTLY = 5, 0.9
"""This many different numbers, and this share of numbers among the texts, are no labels such as "1", "2+"."""


def are_written_numbers(texts: Iterable[object], /, *, decimals: bool = False) -> bool:
    """Whether different texts are nearly all numbers, and some of them can only be read as numbers by a person.

    Plain numbers alone are not, or where `decimals` says so, plain whole ones: somebody wants them to be labels. Codes
    with leading zeros are no numbers.
    """
    listed = [text for text in texts if isinstance(text, str)]
    there = [text for text in listed if text.strip() not in MISSING]
    numbers = len(_written(text for text in there if not _CODE.fullmatch(text)))
    plain = sum(bool(_PLAIN.fullmatch(text)) for text in listed)
    only_read = plain < len(listed) or (decimals and any("." in text for text in listed))
    return numbers >= _FEWEST and numbers >= _MOSTLY * len(there) and only_read


def _written(texts: Iterable[str], /) -> list[re.Match[str]]:
    """Those of texts that are numbers, all of one unit or none: the one that most have."""
    found = [match for match in map(_WRITTEN.fullmatch, texts) if match is not None]
    units = [(match["unit"] or "").strip() for match in found]
    most = next((unit for unit, _ in Counter(units).most_common(1)), "")
    labels = most in _NO_UNITS or most[:1].isnumeric()  # as of 27½
    return [match for match, unit in zip(found, units, strict=True) if unit == most and not labels]


_DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
)
_BEHIND = r"[T ]+\d{1,2}:.*$"
_TIME = re.compile(r"[T ]+\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AP]M)?( ?(Z|UTC|GMT|[+-]\d\d(:?\d\d)?))?", re.IGNORECASE)
"""What is behind a day: a time, which may have a fraction, a half of the day and a zone."""
_MOST_READ = 1 << 10


def _date_format(texts: Iterable[object], /) -> str | None:
    """How the days of texts are written that are nearly all dates; of several ways that of most."""
    listed = [text for text in texts if isinstance(text, str) and text.strip() not in MISSING][:_MOST_READ]
    times = [re.search(_BEHIND, text) for text in listed]
    listed = [t[: at.start()] if at and _TIME.fullmatch(at[0]) else t for t, at in zip(listed, times, strict=True)]
    found, most = None, math.floor((1 - _MOSTLY) * len(listed)) + 1
    for form in _DAYS if len(listed) >= _FEWEST else ():
        others = 0
        for text in listed:
            try:
                datetime.strptime(text, form)
            except ValueError:
                others += 1
            if others >= most:
                break
        else:
            found, most = form, others
    return found


_MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d[T ]00:00:00")
"""A moment that is a day: of others none is released as a date."""


def meant_as(name: str, texts: Sequence[object], /) -> tuple[str, str] | None:
    """What different texts mean that are hardly labels, "dates" or "numbers", and how to come to these; or None."""
    if form := _date_format(texts):
        cut = any(isinstance(text, str) and re.search(_BEHIND, text) for text in texts)
        in_pandas = f'.str.replace(r"{_BEHIND}", "", regex=True)' * cut
        in_polars = f'.str.replace(r"{_BEHIND}", "")' * cut
        in_command = "The command reads dates as 2026-01-31 alone: convert the column before that."
        if form == _DAYS[0] and not cut:
            in_command = "The command reads them where no other text is among them: name such texts in --null-values."
        if all(_MIDNIGHT.fullmatch(text) for text in texts if isinstance(text, str)):
            in_command = f"The command reads them with --schema {name}=Datetime."
        return "dates", (
            f'Convert the text to dates first: in pandas pd.to_datetime(frame[{name!r}]{in_pandas}, format="{form}", '
            f'errors="coerce"), in Polars pl.col({name!r}){in_polars}.str.to_date("{form}", strict=False), elsewhere '
            f'in the same format; then nulls="drop" leaves out what is none. {in_command}'
        )
    if are_written_numbers(texts):
        return "numbers", from_text(name, texts)
    return ("numbers", _in_steps(name, ()) + _PLAINLY) if are_written_numbers(texts, decimals=True) else None


def merging(name: str, /) -> str:
    """How to merge the rare labels of a column before a release, so that as many are left as whole tables take."""
    counted = f"value_counts(sort=True, name={f'rows of {name}'!r})"  # "count", by default, may be the name
    in_polars = f"pl.col({name!r}).{counted}.struct.field({name!r}).head(60).implode()"
    return (
        f"Keep the 60 most frequent labels, and merge the others: in pandas frame[{name!r}].where(frame[{name!r}].isin("
        f"frame[{name!r}].value_counts().index[:60]), 'other'), in Polars "
        f"pl.when(pl.col({name!r}).is_in({in_polars})).then({name!r}).otherwise(pl.lit('other'))."
    )


def from_text(name: str, texts: Iterable[object], /) -> str:
    """How to come to numbers from such texts with marks: one step that reads them all as they are meant, or none."""
    listed = [text for text in texts if isinstance(text, str) and text.strip() not in MISSING]
    numbers = _written(listed)
    written = [re.sub(r"['’\s_]", "", match["number"]) for match in numbers]
    steps, more = list[tuple[str, str]](), ""
    if any("(" in match[0] for match in numbers):  # as accounts have negative numbers
        if not all(match[0].strip().endswith(")") for match in numbers if match[0].strip().startswith("(")):
            return _BY_HAND
        steps.append((r"^\s*\((.*)\)\s*$", r"-\1"))
    if any(match[0].strip().endswith("-") for match in numbers):
        steps.append((r"^(.*\d)-\s*$", r"-\1"))
    if any("−" in match[0] for match in numbers):
        steps.append(("−", "-"))
    marks = {mark for mark in ".," if mark in "".join(written)}
    with_points, with_commas = (all(map(form.fullmatch, written)) for form in (_WITH_POINTS, _WITH_COMMAS))
    if not (with_points or with_commas) or (with_points and with_commas and len(marks) > 1):
        return _BY_HAND
    if with_points and with_commas and marks:
        steps += [(r"\.", "")] * ("." in marks)
        mark = "point" if "." in marks else "comma"
        more = f" The {mark} is taken to mark thousands, for three digits follow it in all texts: take another step if "
        more += "it marks decimals."
    elif not with_points:
        steps += [(r"\.", ""), (",", ".")]
        if not re.search(r"[^\d.,+\-\s]", "".join(listed)):
            more = f" The command reads them with {_POINTS if '.' in ''.join(written) else _COMMAS}."
    behind = r"[%+€$£¥)]+$"
    if any(match["unit"] for match in numbers):
        behind = r"[^\d.]\D*$"
        more += " Units are cut off so: look first whether all texts have the same."
    if any(text.strip().endswith("+") for text in listed):
        more += " A number with + behind it becomes that number."
    if any(re.search("[<>≤≥]", text) for text in listed):
        more += " Texts with < or > become missing values: give them numbers before that, if they mean any."
    prefix = r"^\s*[A-Z]{3}|" * any(re.match(rf"\s*{_CURRENCY}", match[0]) for match in numbers)
    return _in_steps(name, [*steps, (rf"{prefix}[\s$€£¥,'’_]|{behind}", "")]) + more


def _in_steps(name: str, steps: Sequence[tuple[str, str]], /) -> str:
    """The same in words: patterns, and what takes their place."""
    in_pandas = "".join(f'.str.replace(r"{this}", r"{by}", regex=True)' for this, by in steps)
    in_polars = "".join(f'.str.replace_all(r"{this}", "{by}")' for this, by in steps).replace(r"-\1", "-${1}")
    elsewhere = "a cast" + " after the same replacements" * bool(steps)
    return (
        f'Convert the text to numbers first: in pandas pd.to_numeric(frame[{name!r}]{in_pandas}, errors="coerce"), in '
        f"Polars pl.col({name!r}){in_polars}.cast(pl.Float64, strict=False), elsewhere by {elsewhere}; then "
        'nulls="drop" leaves missing values out.'
    )


_PLAINLY = (
    " The command reads them as numbers where no --thousands or --decimal says otherwise: leave that out, and write "
    "all numbers of a file alike."
)
_POINTS, _COMMAS = '--thousands "."', '--decimal ","'
_BY_HAND = (
    "Convert the text to numbers first. It is written in several ways, as with points and commas for the same, or in "
    'other digits than 0 to 9, so that no single step does; then nulls="drop" leaves missing values out.'
)


def to_numbers(name: str, dtype: nw.dtypes.DType, /, *, role: str) -> str:
    """How to come to a column of numbers from one of this name and dtype."""
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Binary)):
        first = f"Name a column of numbers as {role}"
        if role == "public" and not isinstance(dtype, nw.Binary):
            first = 'Write mechanism="channel", which releases random labels'
        return (
            f"{first}; text that holds numbers is converted by astype(float) in pandas, "
            "cast(pl.Float64) in Polars, cast(double) in Spark, CAST(x AS DOUBLE) in DuckDB."
        )
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Time, nw.Duration)):
        return (
            "Convert it to a number first, such as the days since a date that everybody knows: in pandas "
            f"(frame[{name!r}] - pd.Timestamp('1970-01-01')).dt.days, in Polars pl.col({name!r}).dt.epoch('d')."
            if isinstance(dtype, (nw.Date, nw.Datetime))
            else "Convert it to a number first, such as seconds."
        )
    lists = (
        "In a Polars frame in memory, or a PyArrow table, lists of text or of whole numbers are labels, released by a "
        "channel. Of others make a column of yes or no for each answer: in pandas "
        f"frame.drop(columns={name!r}).join(frame[{name!r}].str.join('|').str.get_dummies().astype(bool)), in Polars "
        f"frame.with_columns(pl.col({name!r}).list.contains(x).alias(x) for x in frame[{name!r}].explode().unique())"
        f".drop({name!r}), in Spark array_contains({name!r}, x), in DuckDB list_contains(column, x)."
    )
    if isinstance(dtype, nw.Array):
        return f"Make lists of it first: in Polars pl.col({name!r}).arr.to_list(). {lists}"
    if isinstance(dtype, (nw.List, nw.Struct)):
        return lists if isinstance(dtype, nw.List) else f"Name a column of one number per row as {role}."
    return "Convert it to integers or floats first." + f" {lists}" * isinstance(dtype, nw.Object)


def to_times(dtype: nw.dtypes.DType, /) -> str:
    """How to come to times from a column of this dtype, or from floats that are not all finite."""
    if dtype.is_float():
        return "Leave out the rows with an infinite time, or number the times of each series 0, 1, 2, ..."
    if isinstance(dtype, nw.String):
        return (
            "Convert it to datetimes or numbers first (pandas.to_datetime; in Polars str.to_datetime), or number the "
            "times of each series 0, 1, 2, ..."
        )
    return "Number the times of each series 0, 1, 2, ... in a column of integers."


REST = "rest"
"""Stands for every column without another role, in a frame that has no column of this name."""


def selected(names: Any, frame: NativeFrame, labels: Sequence[Name], /, *, role: str) -> Any:
    """The labels that a selection stands for; names are returned as they are.

    Raises ColumnNotFoundError for a selector that asks for a column by a name that the frame does not have;
    ArgumentTypeError for booleans, an expression that computes, and a selection of another kind of frame.
    """
    if isinstance(names, Iterator):
        names = tuple(names)
    if isinstance(names, pl.Expr):
        return _by_selector(names, frame, labels, role)
    if callable(names) and not any(label is names for label in labels):
        if not isinstance(frame, pd.DataFrame):
            raise _wrong(role, "a function with a pandas frame", "one with another kind of frame", labels)
        names = names(frame)
    if isinstance(names, (list, tuple)) and any(isinstance(each, pl.Expr) for each in names):
        each = (_by_selector(part, frame, labels, role) if isinstance(part, pl.Expr) else [part] for part in names)
        return list(dict.fromkeys(name for part in each for name in part))
    if _is_mask(names) and not any(isinstance(label, bool) for label in labels):
        raise _wrong(role, "the names of columns", "booleans", labels)
    return names


def _by_selector(selector: pl.Expr, frame: NativeFrame, labels: Sequence[Name], role: str) -> list[str]:
    if not isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        raise _wrong(role, "a selector with a Polars frame", "one with another kind of frame", labels)
    try:
        return list(selectors.expand_selector(frame, selector, strict=False))
    except pl.exceptions.ColumnNotFoundError:
        raise not_found(role, str(selector), labels) from None
    except TypeError:
        raise _wrong(role, "an expression that selects columns and does nothing else", "another", labels) from None


def _is_mask(names: Any) -> bool:
    """Whether these are booleans, which would be taken for the labels 0 and 1."""
    listed = isinstance(names, (list, tuple, np.ndarray, pd.Series, pd.Index, pl.Series))
    if not listed or getattr(names, "ndim", 1) != 1 or not len(names):
        return False
    return all(isinstance(each, (bool, np.bool_)) for each in names)


def _wrong(role: str, rule: str, got: str, labels: Sequence[Name]) -> ArgumentTypeError:
    example = next((label for label in labels if isinstance(label, str)), "column")
    return ArgumentTypeError(role, rule=rule, got=got, hint=f"Name the columns: {role}=[{example!r}].")
