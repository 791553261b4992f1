"""Columns of a frame: which there are, and what may be in them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError
from puffer_frames.priors import FloatArray

NativeFrame: TypeAlias = Any
"""A pandas.DataFrame, polars.DataFrame or polars.LazyFrame."""
Frame: TypeAlias = nw.DataFrame[Any]

LARGEST_INTEGER = 2**53
"""Integers up to here are told apart as 64-bit floats."""


def open_frame(frame: NativeFrame, /) -> Frame:
    """Wrap a pandas or Polars frame; collect a lazy one.

    Raises
    ------
    ArgumentTypeError
        For any other object.
    """
    wrapped = nw.from_native(frame, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame) and wrapped.implementation.is_polars():
        return wrapped.collect()
    if isinstance(wrapped, nw.DataFrame) and (wrapped.implementation.is_pandas() or wrapped.implementation.is_polars()):
        return wrapped
    raise ArgumentTypeError(
        "the frame",
        rule="a pandas or Polars DataFrame",
        got=f"a {type(frame).__module__.partition('.')[0]} {type(frame).__name__}",
        hint="Convert it first, for example with polars.DataFrame(data).",
    )


def as_names(names: str | Sequence[str], /) -> tuple[str, ...]:
    """A column name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_names(
    frame: Frame, /, *, secret: tuple[str, ...], public: tuple[str, ...], keep: tuple[str, ...] = ()
) -> None:
    """Check that the named columns exist and that their roles do not overlap.

    Raises
    ------
    ColumnNotFoundError, ArgumentError
    """
    for role, names in (("secret", secret), ("public", public), ("keep", keep)):
        for name in names:
            if name not in frame.columns:
                raise _not_found(role, name, frame.columns)
        if len(set(names)) < len(names):
            raise ArgumentError(role, rule="different columns", got="one named twice", hint="Name each column once.")
    if not secret or not public:
        role = "public" if secret else "secret"
        raise ArgumentError(role, rule="the name of a column", got="none", hint=f'Write {role}="column".')
    for name in public:
        if name in secret:
            raise ArgumentError(
                "public",
                rule="another column than the secret",
                got=f"{name!r} for both",
                hint="The public column is released with noise, the secret is dropped: name two columns.",
            )
    for name in keep:
        if name in secret or name in public:
            raise ArgumentError(
                "keep",
                rule="columns other than the secret and the public one",
                got=repr(name),
                hint="A kept column is released as it is; leave this one out of keep.",
            )


def _not_found(role: str, name: object, columns: Sequence[str]) -> ColumnNotFoundError:
    names = [str(column) for column in columns]
    near = " or ".join(repr(n) for n in get_close_matches(str(name), names, n=3))
    hint = f"Did you mean {near}?" if near else f"The frame has {', '.join(repr(n) for n in names[:8]) or 'none'}."
    return ColumnNotFoundError(role, rule="a column of the frame", got=repr(name), hint=hint)


def check_dtypes(frame: Frame, /, *, secret: tuple[str, ...], public: str) -> None:
    """Check that the secret is categorical or integral and the public column numeric.

    Raises
    ------
    ArgumentTypeError, PriorError
    """
    if not len(frame):
        raise PriorError("the frame", rule="non-empty", got="0 rows", hint="Check the filter or the file it came from.")
    for name in secret:
        dtype = frame.schema[name]
        labels = isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Boolean))
        if not (labels or dtype.is_integer() or dtype.is_float()):
            raise ArgumentTypeError(
                f"the secret column {name!r}",
                rule="of strings, categories, booleans or integers",
                got=f"dtype {dtype}",
                hint="Convert it to strings or categories first.",
            )
    dtype = frame.schema[public]
    if not (dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Boolean)):
        raise ArgumentTypeError(
            f"the public column {public!r}",
            rule="numeric",
            got=f"dtype {dtype}",
            hint="Convert it to integers or floats first.",
        )


def to_floats(values: nw.Series[Any], counts: np.ndarray[Any, Any], /, *, name: str) -> FloatArray:
    """Distinct values of a public column as 64-bit floats, each occurring `counts` times.

    Raises
    ------
    PriorError
        For nulls, NaN, infinities, or integers beyond 2**53, which floats would merge. The message counts rows.
    """
    null = values.is_null().to_numpy()
    if values.dtype.is_integer() and bool(((values < -LARGEST_INTEGER) | (values > LARGEST_INTEGER)).any()):
        raise _bad(name, "within 2**53 of 0", "larger integers", "Subtract a constant, or divide, before the release.")
    floats = np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
    missing = int(counts[null | np.isnan(floats)].sum())
    if missing:
        raise _bad(
            name,
            "without nulls and NaN",
            _rows(missing) + " with one",
            "Drop or fill those rows first; that a value is missing can itself reveal the secret.",
        )
    infinite = int(counts[np.isinf(floats)].sum())
    if infinite:
        raise _bad(name, "finite", _rows(infinite) + " with an infinity", "Clip the column to its known range first.")
    return floats


def _bad(name: str, rule: str, got: str, hint: str) -> PriorError:
    return PriorError(f"the public column {name!r}", rule=rule, got=got, hint=hint)


def _rows(n: int) -> str:
    return f"{n} row{'s' * (n > 1)}"
