"""What a text on the command line, or an entry of a config file, means as an argument of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.files import LevelKind
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.records import parsed
from puffer_frames.scales.learned import Bootstrap, Contamination, Population

_BELIEFS: Mapping[str, tuple[Callable[..., Any], str, Callable[[str], Any]]] = {
    "population": (Population, "confidence", float),
    "contamination": (Contamination, "share", float),
    "bootstrap": (Bootstrap, "resamples", int),
}
"""Beliefs with a number after a colon: what makes them, of which parameter, of which type."""
_TRUTH = {"true": True, "false": False}


def as_path(text: object, /, *, role: str) -> Path:
    """A path; raises ArgumentError for what is none."""
    if isinstance(text, str) and text and "\0" not in text:
        return Path(text)
    raise ArgumentError(role, rule="the path of a file", got="none", hint="Write the name of a file.")


def word(text: str, /, *, name: str) -> str:
    """As it is: whatever takes the argument checks it."""
    del name
    return text


def number(text: str, /, *, name: str) -> float:
    """A number; raises ArgumentError."""
    found: float = _converted(text, float, name, "a number")
    return found


def whole(text: str, /, *, name: str) -> int:
    """A whole number; raises ArgumentError."""
    found: int = _converted(text, int, name, "a whole number")
    return found


def number_or_word(text: str, /, *, name: str) -> float | str | None:
    """A number, "none", or a word."""
    del name
    try:
        return float(text)
    except ValueError:
        return None if text == "none" else text


def names(text: str, /, *, name: str) -> list[str]:
    """Names with commas between them, or a list of JSON, for names with commas in them."""
    if not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        found = parsed(text)
    except ValueError:
        found = None
    if isinstance(found, list) and all(isinstance(part, str) for part in found):
        return found
    raise ArgumentError(name, rule="a list of texts", got="another text", hint='Write --public \'["a,b", "c"]\'.')


def as_listed(names: object, /) -> list[str]:
    """One name or several as a list, without what is none: whatever takes the argument checks it."""
    listed = names if isinstance(names, (list, tuple)) else [names]
    return [name for name in listed if isinstance(name, str)]


def noise(text: str, /, *, name: str) -> Any:
    """A word, or "stable:1.7"."""
    family, colon, alpha = text.partition(":")
    return Stable(alpha=number(alpha, name=name)) if family == "stable" and colon else text


def several(one: Callable[..., Any], /) -> Callable[..., Any]:
    """A reader of one value, or of several with commas between them."""

    def read(text: str, /, *, name: str) -> Any:
        found = [one(part.strip(), name=name) for part in text.split(",")]
        return found if len(found) > 1 else found[0]

    return read


def belief(text: str, /, *, name: str) -> Any:
    """A word; "population:0.99", "contamination:0.01" or "bootstrap:50"; or the path of "table:FILE"."""
    key, colon, rest = text.partition(":")
    if key == "table" and colon:
        return as_path(rest, role="the table of beliefs")
    if key in _BELIEFS and colon:
        make, parameter, kind = _BELIEFS[key]
        return make(**{parameter: _converted(rest, kind, name, f"{key}:NUMBER")})
    return Contamination() if key == "contamination" else Bootstrap() if key == "bootstrap" else text


def beliefs(text: str, /, *, name: str) -> list[Any]:
    """Several, with commas between them."""
    return [belief(part, name=name) for part in names(text, name=name)]


def pairs(text: str, /, *, name: str) -> list[Any]:
    """Pairs "a:b" with commas between them, or the word "all"."""
    found: list[Any] = []
    for part in names(text, name=name):
        first, colon, second = part.partition(":")
        if not colon and part != "all":
            raise ArgumentError(
                name, rule="of the form a:b", got="a text without a colon", hint="Write --pairs a:b,b:c."
            )
        found.append((first, second) if colon else part)
    return found


def bounds(text: str, /, *, name: str) -> tuple[float, float]:
    """Two numbers, "0:100"."""
    low, colon, high = text.partition(":")
    try:
        return float(low if colon else "x"), float(high)
    except ValueError:
        raise ArgumentError(
            name, rule="of the form LOW:HIGH", got="another text", hint=f"Write --{name}=0:100."
        ) from None


def domain(text: str, /, *, name: str) -> dict[str, Any]:
    """Of a column, "age=0:100" or "job=nurse,clerk"."""
    column, rest = _entry(text, name, "column=LOW:HIGH, or column=a,b,c")
    if ":" in rest and "," not in rest:
        return {column: bounds(rest, name=name)}
    return {column: names(rest, name=name)}


def clip(text: str, /, *, name: str) -> Any:
    """Of all columns, "0:100", or of one, "age=0:100"."""
    if "=" not in text:
        return bounds(text, name=name)
    column, rest = _entry(text, name, "column=LOW:HIGH")
    return {column: bounds(rest, name=name)}


def weights(text: str, /, *, name: str) -> dict[str, float]:
    """Numbers by column, "age=1,visits=2"."""
    entries = [_entry(part, name, "column=NUMBER") for part in names(text, name=name)]
    found: dict[str, float] = joined([{column: number(rest, name=name)} for column, rest in entries], name=name)
    return found


def text_of(text: str, /, *, name: str) -> dict[str, str]:
    """One text by name, "issuer=Our office"."""
    key, rest = _entry(text, name, "NAME=TEXT")
    return {key: rest}


def joined(found: Sequence[Any], /, *, name: str) -> Any:
    """What an option that was written several times says together: lists in a row, mappings in one.

    Raises
    ------
    ArgumentError
        For what cannot be said twice, and for a key that was.
    """
    if len(found) == 1:
        return found[0]
    if all(isinstance(one, list) for one in found):
        return [entry for one in found for entry in one]
    if all(isinstance(one, dict) for one in found):
        keys = [key for one in found for key in one]
        if len(set(keys)) == len(keys):
            return {key: value for one in found for key, value in one.items()}
    raise ArgumentError(name, rule="given once", got=f"{len(found)} of them", hint="Leave all but one out.")


def with_levels(arguments: dict[str, Any], kinds: Mapping[str, LevelKind], /) -> dict[str, Any]:
    """The arguments with levels in the types of their columns: "1" is a number in a column of numbers.

    Raises
    ------
    ArgumentError
        For a text that is no level of such a column.
    """
    found = dict(arguments)
    secret = found.get("secret")
    listed = secret if isinstance(secret, list) else [secret]
    if isinstance(found.get("pairs"), list):
        kind = kinds.get(str(listed[0]), "text") if len(listed) == 1 else "text"
        given = ["all" if one == "all" else tuple(_level(x, kind, "pairs") for x in one) for one in found["pairs"]]
        found["pairs"] = "all" if given == ["all"] else given
    if isinstance(found.get("domain"), dict):
        found["domain"] = {
            column: [_level(x, kinds.get(column, "text"), "domain") for x in entry]
            if isinstance(entry, list)
            else entry
            for column, entry in found["domain"].items()
        }
    for column, codes in found.get("null_values", {}).items():
        found["null_values"] |= {column: [_level(code, kinds.get(column, "text"), "null_values") for code in codes]}
    return found


def _level(entry: Any, kind: LevelKind, name: str) -> Any:
    if isinstance(entry, list):
        return tuple(entry)
    if not isinstance(entry, str) or kind == "text":
        return entry
    try:
        return _TRUTH[entry.lower()] if kind == "truth" else int(entry) if kind == "whole" else float(entry)
    except (ValueError, KeyError):
        raise ArgumentError(
            name,
            rule="of the type of its column",
            got="a text that is none",
            hint="Write the levels as the column has them.",
        ) from None


def _entry(text: str, name: str, form: str) -> tuple[str, str]:
    key, equals, rest = text.partition("=")
    if key and equals:
        return key.strip(), rest
    raise ArgumentError(name, rule=f"of the form {form}", got="another text", hint=f"Write --{name} {form}.")


def _converted(text: str, kind: Callable[[str], Any], name: str, rule: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise ArgumentError(name, rule=rule, got="another text", hint="Write digits.") from None
