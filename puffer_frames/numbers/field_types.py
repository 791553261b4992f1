"""Whether the fields of a record hold what their annotations say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

_LABELS = (str, int, float, NoneType)


def misfit(record: Any, /) -> str | None:
    """Name of the first field of a frozen dataclass that holds something else than its annotation says; None for none.

    A sequence is a tuple here, and a whole number is a float too. A hashable object is a label: a text, a number, a
    truth value, None, or a tuple of these.
    """
    kind: Any = type(record)
    hints = type_hints(kind)
    return next((each.name for each in fields(record) if not fits(getattr(record, each.name), hints[each.name])), None)


@cache
def type_hints(kind: Any, /) -> Mapping[str, Any]:
    """The annotations of the fields of a dataclass, resolved."""
    found = get_type_hints(kind)
    return {each.name: found[each.name] for each in fields(kind)}


def fits(value: Any, hint: Any, /) -> bool:
    """Whether a value is of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in args)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in args)
    if hint is Hashable:
        return is_label(value)
    if hint is float:
        return _is_number(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _is_of(value, *get_args(args[1]))
    if origin in (Mapping, dict):
        return isinstance(value, Mapping) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if origin in (Sequence, Iterable):
        return isinstance(value, tuple) and all(fits(each, args[0]) for each in value)
    if origin is tuple:
        return isinstance(value, tuple) and _fit_in_order(value, args)
    if origin is frozenset:
        return isinstance(value, frozenset) and all(fits(each, args[0]) for each in value)
    return origin is not Callable and isinstance(hint, type) and isinstance(value, hint)


def is_label(value: object, /) -> bool:
    """Whether a value can be a secret, or a level: its type survives in a file."""
    if isinstance(value, tuple):
        return all(is_label(each) for each in value)
    return isinstance(value, _LABELS)


def _is_number(value: object) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return float(value) == float(value)  # no NaN
    except OverflowError:
        return False


def _is_of(array: np.ndarray[Any, Any], entries: Any) -> bool:
    return entries is Any or array.dtype == np.dtype(entries)


def _fit_in_order(value: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(each, args[0]) for each in value)
    return len(value) == len(args) and all(fits(each, one) for each, one in zip(value, args, strict=True))
