"""How a record is written in JSON types and read back, and the JSON Schema of it: all of them from its annotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from puffer_frames.numbers.presentation import shown

_KINDS = {str: "string", bool: "boolean"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # by identity: annotations must be hashable
class Form:
    """How an entry is written."""

    schema: Mapping[str, Any]
    """Its JSON Schema."""
    write: Callable[[Any], Any]
    """To JSON types."""
    read: Callable[[Any], Any]
    """Back, of what the schema allows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """What a JSON Schema says of an entry beyond its type."""

    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """From which second number of the schema on there is a field; where it is the default, the record lacks it."""

    minor: int


def limits(**schema: Any) -> Limits:
    """A note in `Annotated`."""
    return Limits(schema=schema)


def form_of(hint: Any, /) -> Form:
    """The form of a type: of texts, numbers, truth values, tuples, mappings by name, dataclasses; `Annotated` adds."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        own = [note for note in args[1:] if isinstance(note, Form)]
        form = own[0] if own else form_of(args[0])
        notes = [note.schema for note in args[1:] if isinstance(note, Limits)]
        return replace(form, schema={key: entry for part in (form.schema, *notes) for key, entry in part.items()})
    if origin in (Union, UnionType):
        return _nullable(*(form_of(each) for each in args if each is not NoneType))
    if origin is Literal:
        return raw(enum=list(args))
    if origin is tuple:
        return _listed(args)
    if origin is Mapping:
        return by_name(form_of(args[1]))
    if hint is float:
        return Form(schema={"type": "number"}, write=number_plain, read=float)
    if hint is int:
        return Form(schema={"type": "integer"}, write=_same, read=int)
    if hint is Any:
        return raw()
    return raw(type=_KINDS[hint]) if hint in _KINDS else record(hint)


def raw(**schema: Any) -> Form:
    """The form of an entry that is the same in memory."""
    return Form(schema=schema, write=as_plain, read=_same)


@cache
def hints_of(kind: Any, /) -> Mapping[str, Any]:
    """The annotations of a dataclass's fields; `extra` is none of a record: it holds the entries that are not known."""
    found = get_type_hints(kind, include_extras=True)
    return {each.name: found[each.name] for each in fields(kind) if each.name != "extra"}


def since(hint: Any, /) -> int:
    """From which second number of the schema on there is a field; 0 for the first one."""
    return max((note.minor for note in get_args(hint)[1:] if isinstance(note, Since)), default=0)


@cache
def added(kind: Any, /) -> Mapping[str, Any]:
    """Fields that came later, and what they are where a record lacks them."""
    later = [each for each in fields(kind) if each.name != "extra" and since(hints_of(kind)[each.name])]
    return {each.name: {} if each.default is MISSING else each.default for each in later}


def record(kind: Any, /, **other: Form) -> Form:
    """The form of a dataclass, some of whose fields have other forms than their types say."""
    forms = {name: other.get(name) or form_of(hint) for name, hint in hints_of(kind).items()}
    extra, later = any(each.name == "extra" for each in fields(kind)), added(kind)

    def write(value: Any) -> dict[str, Any]:
        found = {name: getattr(value, name) for name in forms}
        plain = {n: forms[n].write(entry) for n, entry in found.items() if n not in later or entry != later[n]}
        return (dict(value.extra) if extra else {}) | plain

    def read(plain: Mapping[str, Any]) -> Any:
        rest = {"extra": {name: entry for name, entry in plain.items() if name not in forms}} if extra else {}
        return kind(**{name: form.read(plain[name]) for name, form in forms.items() if name in plain}, **rest)

    required = [name for name in forms if name not in later]
    return Form(schema=object_schema(forms, required=required, closed=not extra), write=write, read=read)


def entries(*, optional: Collection[str] = (), closed: bool = True, **forms: Form) -> Form:
    """The form of a mapping in memory with these entries; others are kept where it is not closed."""

    def write(value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: forms[name].write(entry) if name in forms else entry for name, entry in value.items()}

    def read(plain: Mapping[str, Any]) -> dict[str, Any]:
        return {name: forms[name].read(entry) if name in forms else entry for name, entry in plain.items()}

    required = [name for name in forms if name not in optional]
    return Form(schema=object_schema(forms, required=required, closed=closed), write=write, read=read)


def by_name(form: Form, /) -> Form:
    """The form of a mapping of any names."""
    return Form(
        schema={"type": "object", "additionalProperties": form.schema},
        write=lambda value: {name: form.write(entry) for name, entry in value.items()},
        read=lambda plain: {name: form.read(entry) for name, entry in plain.items()},
    )


def object_schema(forms: Mapping[str, Form], /, *, required: list[str], closed: bool) -> dict[str, Any]:
    """The JSON Schema of an object."""
    properties = {name: form.schema for name, form in forms.items()}
    schema: dict[str, Any] = {"type": "object", "required": required, "properties": properties}
    return schema | ({"additionalProperties": False} if closed else {})


def _nullable(form: Form) -> Form:
    return Form(
        schema={"oneOf": [{"type": "null"}, form.schema]},
        write=lambda value: None if value is None else form.write(value),
        read=lambda plain: None if plain is None else form.read(plain),
    )


def _listed(args: tuple[Any, ...]) -> Form:
    """The form of a tuple: of any length, or of a fixed number of entries of one type."""
    form = form_of(args[0])
    count = {} if args[-1] is Ellipsis else {"minItems": len(args), "maxItems": len(args)}
    return Form(
        schema={"type": "array", "items": form.schema, **count},
        write=lambda value: [form.write(entry) for entry in value],
        read=lambda plain: tuple(form.read(entry) for entry in plain),
    )


def _same(value: Any) -> Any:
    return value


def number_plain(number: float | None) -> float | str | None:
    """A number as JSON can hold it: infinity as text."""
    return number if number is None or abs(number) < float("inf") else str(number)


def as_plain(value: Any) -> Any:
    """Tuples as lists, and text that UTF-8 cannot hold with escapes."""
    if isinstance(value, (tuple, list)):
        return [as_plain(entry) for entry in value]
    return shown(value) if isinstance(value, str) and not value.isprintable() and _is_broken(value) else value


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
