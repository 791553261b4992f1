"""Frozen records as JSON types, and back; JSON is read so that it has one meaning, and written for a person."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from puffer_frames.errors import PlanFileError
from puffer_frames.numbers.arguments import as_path

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
    origin, args = _parts(hint)
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
        (entries,) = get_args(args[1])
        return isinstance(value, np.ndarray) and (entries is Any or value.dtype == np.dtype(entries))
    if origin in (Mapping, dict):
        return isinstance(value, Mapping) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if origin in (Sequence, Iterable):
        return isinstance(value, tuple) and all(fits(each, args[0]) for each in value)
    if origin is tuple:
        return isinstance(value, tuple) and _fit_in_order(value, args)
    if origin is frozenset:
        return isinstance(value, frozenset) and all(fits(each, args[0]) for each in value)
    return origin is not Callable and isinstance(hint, type) and isinstance(value, hint)


def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    origin, args = get_origin(hint), get_args(hint)
    alias = getattr(origin, "__value__", None)  # of NDArray from NumPy 2.5 on, where Python has type statements
    return (origin, args) if alias is None else _parts(alias[args])


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


def _fit_in_order(value: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(each, args[0]) for each in value)
    return len(value) == len(args) and all(fits(each, one) for each, one in zip(value, args, strict=True))


ELSEWHERE: Mapping[str, bool] = {"elsewhere": True}
"""Metadata of a field that another record has in a file."""
TAG = "is"
"""The key that says what an object stands for; a plain mapping with text keys has none."""
_FRACTION = re.compile(r"-?[0-9]{1,4000}/[0-9]{1,4000}", flags=re.ASCII)
_INFINITE = ("inf", "-inf")
_DTYPES: Mapping[str, type] = {"float64": np.float64, "int64": np.int64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a class that is not written field by field is written."""

    plain: Callable[[Any], dict[str, Any]]
    """From an object to texts, numbers and lists of them, by name."""
    value: Callable[[Mapping[str, Any]], Any]
    """Back; raises ValueError, TypeError, KeyError or a PufferError for anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Which classes may be in a file, and how they are written.

    A record is an object with its class under `is` and its fields under their names. Numbers, texts, truth values and
    None are themselves; a sequence is a list, and comes back as a tuple; a mapping with text keys is an object, any
    other a list of pairs, so that keys keep their types. Arrays of numbers are lists with the dtype. Floats come back
    bit for bit.
    """

    records: Mapping[str, type]
    """The frozen dataclasses by their names in a file. No other class is ever made."""
    constants: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Objects that are written by their names alone, by the name of their class."""
    forms: Mapping[str, Form] = field(default_factory=dict)
    """Classes that are written in another way, by name."""
    added: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Values of fields without a default that files of earlier versions lack, per record."""

    def plain(self, value: Any, /) -> Any:
        """A value in JSON types; raises PlanFileError for an object that a file cannot hold."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, str, int)):
            return value
        if isinstance(value, float):
            return _plain_number(value)
        if isinstance(value, (tuple, list)):
            return [self.plain(entry) for entry in value]
        if isinstance(value, Mapping):
            return self._plain_mapping(value)
        if isinstance(value, (frozenset, set)):
            return {TAG: "set", "entries": sorted((self.plain(entry) for entry in value), key=repr)}
        if isinstance(value, Fraction):
            return {TAG: "fraction", "value": f"{value.numerator}/{value.denominator}"}
        if isinstance(value, np.ndarray):
            return _plain_array(value)
        return self._plain_record(value)

    def _plain_mapping(self, value: Mapping[Any, Any]) -> Any:
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {key: self.plain(entry) for key, entry in value.items()}
        return {TAG: "mapping", "entries": [[self.plain(key), self.plain(entry)] for key, entry in value.items()]}

    def _plain_record(self, value: Any) -> dict[str, Any]:
        kind: Any = type(value)
        names: dict[Any, str] = {record: name for name, record in self.records.items()}
        name: str = names.get(kind, kind.__name__)
        if name in self.constants:
            for word, constant in self.constants[name].items():
                if constant is value:
                    return {TAG: name, "named": word}
        elif name in self.forms:
            return {TAG: name, **self.forms[name].plain(value)}
        elif name in self.records and self.records[name] is kind:
            return {
                TAG: name,
                **{
                    each.name: self.plain(getattr(value, each.name))
                    for each in fields(kind)
                    if each.metadata != ELSEWHERE
                },
            }
        raise PlanFileError(
            "a plan that is saved",
            rule="made of what belongs to this package",
            got=f"a {kind.__module__.partition('.')[0]} {name}",
            hint="Use a noise family or a belief of puffer_frames, or calibrate again instead of keeping the plan.",
        )

    def value(self, plain: Any, /, place: tuple[str, ...] = ()) -> Any:
        """What `plain` made of a value.

        Raises PlanFileError for an unknown class, a field that is missing, unknown or of another type, and numbers that
        are none. The message names fields and positions, never an entry.
        """
        if plain is None or isinstance(plain, (bool, str, int)):
            return plain
        if isinstance(plain, float):
            if not math.isfinite(plain):
                raise refused("a number that is none", place)
            return plain
        if isinstance(plain, list):
            return tuple(self.value(entry, (*place, f"entry {k}")) for k, entry in enumerate(plain, 1))
        if not isinstance(plain, dict):
            raise refused("something else than JSON", place)
        name = plain.get(TAG)
        if TAG not in plain:
            return {key: self.value(entry, (*place, f"entry {k}")) for k, (key, entry) in enumerate(plain.items(), 1)}
        if not isinstance(name, str):
            raise refused("an object without a name", place)
        return self._tagged(name, plain, place)

    def _tagged(self, name: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> Any:
        rest = {key: entry for key, entry in plain.items() if key != TAG}
        own = _OWN.get(name) or (_of_constant if name in self.constants else None)
        try:
            if own is not None:
                return own(self, name, rest, place)
            if name in self.forms:
                return self.forms[name].value(rest)
            if name in self.records:
                return self._record(name, rest, place)
        except PlanFileError:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError):  # of the package too
            raise refused(f"a {name} that cannot be" if name in self.records else f"no {name}", place) from None
        raise refused("a class that this version of the package does not know", place)

    def _record(self, name: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> Any:
        kind, given = cast(Any, self.records[name]), dict(plain)
        known = {each.name: each for each in fields(kind)}
        if unknown := next((key for key in given if key not in known), None):
            raise refused("a field that this version of the package does not know", (*place, unknown[:40]))
        found = {key: self.value(entry, (*place, key)) for key, entry in given.items()}
        for key, each in known.items():
            if key in found:
                continue
            if key in self.added.get(name, {}):
                found[key] = self.added[name][key]
            elif each.default is MISSING and each.default_factory is MISSING:
                raise refused("none", (*place, key))
        made = kind(**found)
        if wrong := misfit(made):
            raise refused("something else", (*place, wrong))
        return made


def refused(got: str, place: tuple[str, ...] = (), /) -> PlanFileError:
    """The error of a file that `save` has not written."""
    where = f" of {' / '.join(place)}" if place else ""
    return PlanFileError(
        f"the entry{where} in the plan file" if place else "the plan file",
        rule="one that save wrote",
        got=got,
        hint="Load the file as it was saved, with this version of puffer_frames or a later one, or calibrate again.",
    )


def _plain_number(number: float) -> Any:
    if math.isnan(number):
        raise refused("a NaN")
    return number if math.isfinite(number) else {TAG: "number", "value": str(number)}


def _plain_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    kind = "float64" if array.dtype == np.float64 else "int64" if array.dtype.kind in "iu" else None
    if kind is None or (array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max):
        raise refused(f"an array of {array.dtype}")

    def listed(entries: Any) -> Any:
        if isinstance(entries, list):
            return [listed(entry) for entry in entries]
        if kind == "float64" and not math.isfinite(entries):
            if math.isnan(entries):
                raise refused("a NaN")
            return str(entries)
        return entries

    return {TAG: kind, "entries": listed(array.tolist())}


def _of_mapping(codec: Codec, _: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> dict[Any, Any]:
    (entries,) = _only(plain, "entries")
    pairs = codec.value(entries, place)
    found = dict(pairs)
    if len(found) < len(pairs):
        raise refused("a key twice", place)
    return found


def _of_set(codec: Codec, _: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> frozenset[Any]:
    (entries,) = _only(plain, "entries")
    return frozenset(codec.value(entries, place))


def _of_number(_: Codec, __: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> float:
    (text,) = _only(plain, "value")
    if text not in _INFINITE:
        raise refused("a number that is none", place)
    return float(text)


def _of_fraction(_: Codec, __: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> Fraction:
    (text,) = _only(plain, "value")
    if not (isinstance(text, str) and _FRACTION.fullmatch(text)):
        raise refused("a fraction that is none", place)
    numerator, _slash, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator))


def _of_array(_: Codec, name: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> np.ndarray[Any, Any]:
    (entries,) = _only(plain, "entries")
    if not isinstance(entries, list):
        raise refused("an array that is none", place)
    return array_of(entries, name)


def array_of(entries: list[Any], name: str, /) -> np.ndarray[Any, Any]:
    """The array of nested lists of numbers, of dtype "float64" or "int64"; raises ValueError for anything else."""
    kind = float if name == "float64" else int

    def checked(entry: Any) -> Any:
        if isinstance(entry, list):
            return [checked(each) for each in entry]
        if kind is float and entry in _INFINITE and isinstance(entry, str):
            return float(entry)
        if type(entry) is int or (kind is float and type(entry) is float and math.isfinite(entry)):
            return entry
        raise ValueError("no number")

    return np.array(checked(entries), dtype=_DTYPES[name])  # OverflowError, ValueError for ragged lists


def _of_constant(codec: Codec, name: str, plain: Mapping[str, Any], place: tuple[str, ...]) -> object:
    (word,) = _only(plain, "named")
    if not isinstance(word, str) or word not in codec.constants[name]:
        raise refused(f"a {name} that this version of the package does not know", place)
    return codec.constants[name][word]


def _only(plain: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """These entries, where there are no others; raises KeyError, ValueError."""
    if len(plain) != len(names):
        raise ValueError("another entry")
    return tuple(plain[name] for name in names)


_OWN: Mapping[str, Callable[[Codec, str, Mapping[str, Any], tuple[str, ...]], Any]] = {
    "mapping": _of_mapping,
    "set": _of_set,
    "number": _of_number,
    "fraction": _of_fraction,
    "float64": _of_array,
    "int64": _of_array,
}


PLAN_BYTES, CERTIFICATE_BYTES, CONFIG_BYTES = 128 << 20, 4 << 20, 16 << 20
"""Most bytes of a text: read as JSON it takes up to thirty times as many, unless its entries are counted first."""
WIDTH = 120
_STEP = 2
_SHOWN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = json.JSONEncoder(allow_nan=False)


def file_content(path: str | Path, /, *, most: int) -> bytes:
    """What is in a file; raises OSError, and UnclearJsonError for a pipe, a device, or more than so many bytes."""
    path = as_path(path)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnclearJsonError("no end: a pipe or a device")
        found = file.read(most + 1)
    check_size(found, most=most)
    return found


def check_size(text: str | bytes, /, *, most: int) -> None:
    """Raise UnclearJsonError for a longer text."""
    if len(text) > most:
        raise UnclearJsonError(f"more than {most / (1 << 20):g} MiB")


def parsed(text: str | bytes, /, *, most: int | None = None) -> Any:
    """What a text of JSON says, where every reader must find the same.

    - `text`: Bytes are UTF-8, with or without its mark.
    Raises UnclearJsonError for a key that stands twice in one object: of such a key some readers take the first entry,
    others the last. For NaN, infinities, numbers beyond the floats, integers of thousands of digits, lists in lists
    without end, and a longer text than `most`; ValueError for a text that is no JSON, is cut short, or is followed by
    another one; for bytes that are no UTF-8.
    """
    if most is not None:
        check_size(text, most=most)
    try:
        return json.loads(
            text.decode("utf-8-sig") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_repetition,
            parse_constant=_finite,
            parse_float=_finite,
        )
    except (json.JSONDecodeError, UnicodeDecodeError, UnclearJsonError):
        raise
    except RecursionError:
        raise UnclearJsonError("lists nested too deeply") from None
    except ValueError:  # Python's limit for integers
        raise UnclearJsonError("an integer of thousands of digits") from None


class UnclearJsonError(ValueError):
    """JSON that two readers may understand in two ways; its text says what is in it."""


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnclearJsonError("a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnclearJsonError("NaN or an infinite number")
    return number


def readable(value: Any, /) -> str:
    """A value in JSON types as text; raises ValueError for NaN and infinities."""
    return "".join(_lines_of_json(value, 0, _STEP))


def _lines_of_json(value: Any, used: int, indent: int) -> list[str]:
    """The text of a value that begins after so many characters, its further lines indented by so many."""
    if not isinstance(value, (dict, list)) or not value:
        return [_short(value)]
    most, margin, last = WIDTH - used - 1, " " * indent, " " * (indent - _STEP)
    if isinstance(value, list) and not any(isinstance(entry, (dict, list)) for entry in value):
        text = _short(value)
        return [text] if len(text) <= most else ["[\n", _filled(value, text, margin), "\n", last, "]"]
    if _is_small(value, most) and len(text := _short(value)) <= most:
        return [text]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    found = [opening]
    entries = [(f"{_short(key)}: ", entry) for key, entry in value.items()] if isinstance(value, dict) else None
    for k, (head, entry) in enumerate(entries or [("", entry) for entry in value]):
        found += [",\n" if k else "\n", margin, head, *_lines_of_json(entry, indent + len(head), indent + _STEP)]
    return [*found, "\n", last, closing]


def _is_small(value: Any, most: int) -> bool:
    """Whether a value may be a text of so many characters: no long one is made to find that it is."""
    left = most - 3 * len(value)
    entries = value.values() if isinstance(value, dict) else value
    return left > 0 and all(_is_small(entry, left) for entry in entries if isinstance(entry, (dict, list)))


def _filled(entries: list[Any], text: str, margin: str) -> str:
    """Entries, whose text on one line is given, in lines as long as may be."""
    numbers = not any(isinstance(entry, str) for entry in entries)
    parts = text[1:-1].split(", ") if numbers else [_short(entry) for entry in entries]
    lines, line, room = list[str](), list[str](), WIDTH - len(margin)
    left = room
    for part in parts:
        if len(part) + 1 > left and line:
            lines.append(margin + ", ".join(line))
            line, left = [], room
        line.append(part)
        left -= len(part) + 2
    return ",\n".join([*lines, margin + ", ".join(line)])


def _short(value: Any) -> str:
    """On one line; what a terminal would not show as it is, and half of a surrogate pair, as an escape."""
    text = _SHOWN.encode(value)
    return text if text.isprintable() else _ESCAPED.encode(value)
