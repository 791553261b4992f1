"""Columns by a selection in place of names: a selector of Polars, or a function of a pandas frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from polars import selectors

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import Name, NativeFrame, not_found

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
