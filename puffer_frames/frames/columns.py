"""Columns of a frame: which there are, and what may be in them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError
from puffer_frames.priors.prior import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

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
    for name in listed:
        if not (_is_in(name, known) or _among(name, labels)):
            raise not_found(role, name, labels)
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
    near = " or ".join(labels[n] for n in get_close_matches(str(name), labels, n=3))
    hint = f"Did you mean {near}?" if near else f"The frame has {', '.join(list(labels.values())[:8]) or 'none'}."
    return ColumnNotFoundError(role, rule="a column of the frame", got=repr(name), hint=hint)


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
        raise _bad(
            role,
            name,
            "without nulls and NaN",
            rows_text(missing) + " with one",
            'Say nulls="drop" to leave those rows out; that a value is missing can itself reveal the secret.',
        )
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
    if missing:
        raise PriorError(
            f"the column {name!r}",
            rule="without nulls",
            got=rows_text(missing) + " with one",
            hint='Say nulls="drop" to leave those rows out, or give them a label of their own such as "unknown".',
        )


def rows_text(n: int, /) -> str:
    """A number of rows in words."""
    return f"{n} row{'s' * (n > 1)}"
