"""The options of the command: fields of the argument records of Python, and what a text means as an argument."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

from puffer_frames.certificates.about import FIELDS
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.files import LevelKind
from puffer_frames.frames.null_values import ReadCode
from puffer_frames.mechanisms.arguments import Layout
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.records import parsed
from puffer_frames.scales.learned import Bootstrap, Contamination, Population
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.ledgers.release_ledger import Ledger
from puffer_frames.verbs.requests import MOVED

_BELIEFS: Mapping[str, tuple[Callable[..., Any], str, Callable[[str], Any]]] = {
    "population": (Population, "confidence", float),
    "contamination": (Contamination, "share", float),
    "bootstrap": (Bootstrap, "resamples", int),
}
"""Beliefs with a number after a colon: what makes them, of which parameter, of which type."""
_MECHANISMS = ("noise", "remap", "channel", "sequential")
_BELIEF_WORDS = ("fitted", "empirical", "only", *_BELIEFS)
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


def one_of(*words: str) -> Callable[..., str]:
    """A reader of one of these words, whose error has them as they are written here."""

    def read(text: str, /, *, name: str) -> str:
        if text in words:
            return text
        rule, hint = "one of " + ", ".join(words), "Leave it out, or write one of these words."
        raise ArgumentError(f"--{name}", rule=rule, got=repr(text), hint=hint)

    return read


def number(text: str, /, *, name: str) -> float:
    """A number; raises ArgumentError."""
    return _converted(text, float, name, "a number")


def whole(text: str, /, *, name: str) -> int:
    """A whole number; raises ArgumentError."""
    return _converted(text, int, name, "a whole number")


def number_or_word(text: str, /, *, name: str) -> float | str | None:
    """A number, "none", or a word."""
    del name
    try:
        return text if "_" in text else float(text)  # Python reads 1_0 as 10
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
    if text not in _BELIEF_WORDS:
        rule = f"one of {', '.join(_BELIEF_WORDS)} or table:FILE, some with :NUMBER"
        raise ArgumentError(f"--{name}", rule=rule, got=repr(text), hint='Leave it out for "fitted,empirical".')
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


def bounds(text: str, /, *, name: str) -> tuple[float | date, float | date]:
    """Two numbers, "0:100", or two dates, "1950-01-01:1999-12-31"."""
    low, colon, high = text.partition(":")
    try:
        if low.count("-") == high.count("-") == 2 and "e" not in text.lower():
            return date.fromisoformat(low), date.fromisoformat(high)
        return float(low if colon else "x"), float(high)
    except ValueError:
        hint = f"Write --{name}=0:100, or of a column of dates --{name}=1950-01-31:1999-12-31."
        raise ArgumentError(name, rule="of the form LOW:HIGH", got="another text", hint=hint) from None


def domain(text: str, /, *, name: str) -> dict[str, Any]:
    """The domain of one column, written "age=0:100" or "job=nurse,clerk"."""
    column, rest = _entry(text, name, "column=LOW:HIGH, or column=a,b,c")
    if ":" in rest and "," not in rest:
        return {column: bounds(rest, name=name)}
    return {column: names(rest, name=name)}


def clip(text: str, /, *, name: str) -> Any:
    """Bounds for all columns, written "0:100", or for one, written "age=0:100"."""
    if "=" not in text:
        return bounds(text, name=name)
    column, rest = _entry(text, name, "column=LOW:HIGH")
    return {column: bounds(rest, name=name)}


def weights(text: str, /, *, name: str) -> dict[str, float]:
    """Numbers by column, "age=1,visits=2"."""
    entries = [_entry(part, name, "column=NUMBER") for part in names(text, name=name)]
    return joined([{column: number(rest, name=name)} for column, rest in entries], name=name)


def text_of(text: str, /, *, name: str) -> dict[str, str]:
    """One text by name, "issuer=Our office"."""
    key, rest = _entry(text, name, "NAME=TEXT")
    return {key: rest}


def joined(found: Sequence[Any], /, *, name: str) -> Any:
    """What an option that was written several times says together: lists in a row, mappings in one.

    Raises ArgumentError for what cannot be said twice, and for a key that was.
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

    Raises ArgumentError for a text that is no level of such a column.
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
        found["null_values"] |= {
            column: [
                code if isinstance(code, ReadCode) else _level(code, kinds.get(column, "text"), "null_values")
                for code in codes
            ]
        }
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
        if "_" in text:  # Python reads 1_0 as 10
            raise ValueError
        return kind(text)
    except ValueError:
        raise ArgumentError(name, rule=rule, got="another text", hint="Write digits.") from None


@dataclass(frozen=True, slots=True)
class Option:
    """An argument as it is written on a command line."""

    metavar: str
    """What is shown for its value; empty for a switch."""
    help: str
    read: Callable[..., Any] = word
    """The value of a text, given the argument's name too."""


_FLAG = ""
PLANNED: Mapping[str, Option] = {
    "secret": Option("COLUMN[,...]", "column to keep secret, or several", names),
    "public": Option("COLUMN[,...]", "columns to release with noise; every other one if left out", names),
    "epsilon": Option("NUMBER", "the privacy parameter, greater than 0", number),
    "delta": Option("NUMBER", "0 (the default), or far below 1 / rows", number),
    "secrets": Option("WORD", "of several secret columns: joint or each"),
    "noise": Option("NOISE", "laplace, gaussian or stable:ALPHA", noise),
    "nulls": Option("WORD", "missing values: raise, drop or level"),
    "given": Option("COLUMN[,...]", "columns released as they are, on which the guarantee conditions", names),
    "given_scale": Option("WORD", "each stratum its own scale, or one"),
    "given_minimum": Option("ROWS", "strata with fewer rows of a secret have noise for the range", whole),
    "given_merge": Option(_FLAG, "merge such strata into one, in the released columns too"),
    "unit": Option("COLUMN", "whose rows are protected together; say --unit-rows too"),
    "unit_rows": Option("WORD", "what is assumed of the rows of a unit: independent, repeated or any"),
    "unit_most": Option("ROWS", "most rows of a unit", whole),
    "unit_over": Option("WORD", "units with more rows: raise or sample"),
    "releases": Option("N", "plan for so many releases of these columns", whole),
    "pairs": Option("A:B[,...]", "protect these pairs of secrets alone", pairs),
    "mechanism": Option(
        "WORD",
        "auto, noise, remap, channel or sequential",
        one_of("auto", *_MECHANISMS),
    ),
    "channel_radius": Option("SHARE", "of a channel: rows that may be wrong", number_or_word),
    "channel_cap": Option("LOSS", "of a channel: largest loss under any law, or none", number_or_word),
    "channel_cost": Option("WORD", "of a channel: what an error costs"),
    "channel_preserve": Option("WORD", "of a channel: mean or marginal"),
    "channel_cells": Option("N", "of a channel: cells of a column of numbers", whole),
    "channel_outputs": Option("N", "of a channel: most outputs", whole),
    "channel_sees": Option("WORD", "of a channel: value (the default) or secret"),
    "channel_reader_cap": Option(
        "LOSS", "of one that sees the secret: most that readers of the value learn, or none", number_or_word
    ),
    "channel_weights": Option("WORD", "of one that sees the secret: mean error over rows or secrets"),
    "channel_publish_matrix": Option(_FLAG, "of a channel: put its table into the certificate"),
    "sequential_step": Option("SHARE", "of a whole table: by what share of epsilon a column may add", number),
    "sequential_known": Option("COLUMN[,...]", "of a whole table: columns that readers may know", names),
    "sequential_holdout": Option("SHARE", "of a whole table: rows that attackers are tried on", number),
    "sequential_allow_unaudited": Option(_FLAG, "of a whole table: even where an attacker shows more than epsilon"),
    "sequential_components": Option("N", "of a whole table: trees of the network", whole),
    "sequential_smoothing": Option("ROWS", "of a whole table: as by so many rows more", number),
    "sequential_contexts": Option("N", "of a whole table: most channels of a column", whole),
    "sequential_cells": Option("N", "of a whole table: most cells of a column of numbers", whole),
    "sequential_reader_cap": Option("LOSS", "of a whole table: most that readers of a value learn", number),
    "sequential_cap": Option("LOSS", "of a whole table: largest loss of a column under any law", number),
    "sequential_preserve": Option("WORD", "of a whole table: marginal or none", number_or_word),
    "sequential_derived": Option("WORD", "of a whole table: auto or none", number_or_word),
    "theorem": Option(
        "WORD", "auto, translation, gaussian, gmm, coupling, ubm, kantorovich, relaxed, bernoulli or bounded"
    ),
    "calibration": Option("WORD", "exact or theorem"),
    "beliefs": Option(
        "BELIEF[,...]",
        "fitted, empirical, only, population[:CONFIDENCE], contamination[:SHARE], bootstrap[:N], table:FILE",
        beliefs,
    ),
    "components": Option("N", "components of the Gaussian mixtures", whole),
    "domain": Option("COLUMN=LOW:HIGH", "range of a column, or all its levels: job=nurse,clerk", domain),
    "merge_rare": Option("ROWS", "merge levels of fewer rows into one", whole),
    "weights": Option("COLUMN=NUMBER[,...]", "how much the error of a column counts", weights),
    "allow_zero_noise": Option(_FLAG, "release a column that needs no noise"),
}
"""What a plan is asked for."""
LAID_OUT: Mapping[str, Option] = {
    "keep": Option("COLUMN[,...]", "further columns to release as they are, outside the guarantee", names),
    "shuffle": Option(_FLAG, "release the rows in random order (in memory)"),
    "clip": Option("LOW:HIGH", "clip released values, of all columns or of one: age=0:100", clip),
    "round": Option(_FLAG, "round released values to whole numbers"),
    "publish": Option("WORD[,...]", "of a channel: expected_error, lower_bound, levels", names),
    "row_id": Option("COLUMN", "key the noise of a row to its number in this column"),
}
"""The fields of `Layout`."""
WITH_PLAN: Mapping[str, Option] = {
    **LAID_OUT,
    "about": Option("NAME=TEXT", f"for the certificate: {', '.join(FIELDS)}", text_of),
    "ledger": Option("FILE", "write the release down there; say --about dataset=NAME too"),
    "limit": Option("EPSILON", "of the ledger: what all releases of the data set may have together", number),
    "limit_delta": Option("DELTA", "of the ledger: the same for delta", number),
    "allow_other_frame": Option(_FLAG, "with --plan: release other rows than those of the plan"),
    "allow_drift": Option(_FLAG, "with --plan: even if they lose more than was asked for"),
}
"""What a release by a plan is asked for."""
OPTIONS: Mapping[str, Option] = {**PLANNED, **WITH_PLAN}
"""Every option of `plan` and `release` that is an argument of Python; a new argument needs a line above."""
COMPARING = [
    name for name in PLANNED if not name.startswith(("channel_", "sequential_")) and name != "allow_zero_noise"
]
COMPARED: Mapping[str, Option] = {
    "epsilon": Option("NUMBER[,...]", "the privacy parameter, or several; 1 if left out", several(number)),
    "noise": Option("NOISE[,...]", "laplace, gaussian, stable:ALPHA", several(noise)),
    "mechanism": Option(
        "WORD[,...]", "all (the default), noise, remap, channel or sequential", several(one_of("all", *_MECHANISMS))
    ),
    "theorem": Option("WORD[,...]", "all (the default), or any of those of release", several(word)),
    "beliefs": Option("BELIEF[,...]", "each has rows of its own; words as of release, but for only", beliefs),
}
"""Options of `compare` that take several values where other commands take one."""
NOT_OPTIONS = {
    "index": "files have no index",
    "null_values": "how a CSV file is written says it: it is an option of reading",
    "refine_key": "a release is refined in Python, in memory",
    "remap": "it is a word of --mechanism",
    "rng": "a release from a seed is not private",
}
"""Arguments that are no options, and why."""
GROUPS: Mapping[str, tuple[type, str]] = {
    "unit": (Unit, "column"),
    "given": (Strata, "columns"),
    "channel": (Channel, ""),
    "sequential": (Sequential, ""),
}
"""Arguments with parts: the record, and which of its fields the option itself is."""
PARTS = [name for name in MOVED if name not in NOT_OPTIONS]
"""Options that are fields of the records for `mechanism` and `layout`."""


def read(name: str, texts: Sequence[str], /, *, own: Mapping[str, Option]) -> Any:
    """The value of an option, or of a subcommand's own, that was written with these texts; raises ArgumentError."""
    option = own.get(name, OPTIONS[name])
    return joined([option.read(text, name=name) for text in texts], name=name)


def read_entry(name: str, entry: Any, /, *, own: Mapping[str, Option]) -> Any:
    """The value of an entry of a config file: a text as on the command line, but for names; else as in Python."""
    option = own.get(name, OPTIONS[name])
    if isinstance(entry, str) and option.read not in (names, word):
        return option.read(entry, name=name)
    if option.read is beliefs and isinstance(entry, list):
        return [belief(one, name=name) if isinstance(one, str) else one for one in entry]
    return tuple(entry) if name == "clip" and isinstance(entry, list) else entry


def as_arguments(found: Mapping[str, Any], /, *, compares: bool = False) -> dict[str, Any]:
    """The keywords of Python for some options, of a comparison or another verb: the parts of an argument become one.

    Raises ArgumentError, ArgumentTypeError for parts without the argument that they are of, and for parts that may not
    be.
    """
    left = dict(found)
    for group, (kind, main) in GROUPS.items():
        parts = {name.removeprefix(f"{group}_"): left.pop(name) for name in list(left) if name.startswith(f"{group}_")}
        if not parts:
            continue
        name = group if main else "mechanism"
        if main and group in left:
            parts[main] = left[group]
        elif main or left.get("mechanism", group) != group:
            raise _without(next(iter(parts)), group)
        left[name] = kind(**parts) if group != "unit" else _unit(parts)
    layout = {name: left.pop(name) for name in LAID_OUT if name in left}
    if layout:
        left["layout"] = Layout(**layout)
    options = {name: left.pop(name) for name in PARTS if name in left}
    if compares and (options or "remap" in as_listed(left.get("mechanism"))):
        left["mechanism"] = _compared(left.get("mechanism", "all"), options, delta=left.get("delta", 0.0))
    elif not compares and (options or "mechanism" in left):
        left["mechanism"] = _mechanism(left.get("mechanism", "auto"), options)
    if left.get("unit") is not None and not isinstance(left["unit"], Unit):
        left["unit"] = _unit({"column": left["unit"]})
    limits = {"limit": left.pop("limit", None), "delta": left.pop("limit_delta", 0.0)}
    if limits != {"limit": None, "delta": 0.0}:
        if "ledger" not in left:
            raise _without("limit_delta" if limits["limit"] is None else "limit", "ledger")
        left["ledger"] = Ledger(left["ledger"], **limits)
    return left


def _mechanism(word: Any, options: Mapping[str, Any]) -> Any:
    """The argument `mechanism` for a word or a channel, and options of noise or a channel; raises ArgumentError."""
    if not options and word != "remap":
        return word
    if "merge_rare" in options:
        if len(options) > 1 or not (word in ("auto", "channel") or isinstance(word, Channel)):
            raise _without("merge_rare", "channel")
        return replace(word if isinstance(word, Channel) else Channel(), **options)
    if word not in ("auto", "noise", "remap"):
        raise _without(next(iter(options)), "noise")
    return Noise(**{MOVED[name][2]: value for name, value in options.items()}, remap=word == "remap")


def _compared(words: Any, options: dict[str, Any], *, delta: float) -> list[Any]:
    """The argument `mechanism` of `compare`: a record for each word of it, noise and theorem; raises ArgumentError."""
    merged = {"merge_rare": options.pop("merge_rare")} if "merge_rare" in options else {}
    families, theorems = options.get("noise", ["laplace", "gaussian"][: 1 + bool(delta)]), options.get("theorem", "all")
    ways = product(families if isinstance(families, list) else [families], as_listed(theorems))
    noises = [options | {"noise": family, "theorem": "auto" if one == "all" else one} for family, one in ways]
    listed = ["noise", "remap", "channel"] if words == "all" else as_listed(words)
    return [_mechanism(word, each) for word in listed for each in ([merged] if word == "channel" else noises)]


def spelled(names: Iterable[str], /) -> str:
    """Names as options."""
    return ", ".join("--" + name.replace("_", "-") for name in names)


_RECORDS = {"Layout": "", "Noise": "", "Channel": "channel_", "Sequential": "sequential_"}
_IN_PYTHON = re.compile(
    rf"(?<!\w)'[^']*'(?!\w)|(?:mechanism=|layout=)?\b({'|'.join(_RECORDS)})\(([^()]*)\)"
    r"|(?<![\w-])([a-z_]+=(?:\"[^\"]*\"|'[^']*'|\{[^{}]*\}|\[[^][]*\]|\w+(?:\.\w+)*|\.\.\.))(?![\w(])"
    r"|puffer_frames\.(compare|audit)\b(?!\()|(?:puffer_frames\.|\b)(Stable|Population|Contamination|Bootstrap)\((?:\w+=)?([\d.]*)\)"
)
"""Names between quotes, which are the user's; a record with its arguments; an argument; a verb; a noise or a belief.

No full stop is of a value.
"""
_WITHDRAWING = re.compile(r"puffer_frames\.Ledger\('([^']*)'\)\.withdraw\('([^']*)'\)")


def as_options(text: str, /) -> str:
    """A text of the verbs with options in place of arguments that it writes in Python: --nulls drop for nulls="drop".

    Names in a mapping are to be replaced, and come in capitals. What stands in parentheses is code, and stays; so does
    what has no option.
    """

    def spelled_out(found: re.Match[str]) -> str:
        before = text[: found.start()]
        if before.count("(") > before.count(")"):
            return found[0]
        if found[4] or found[5]:
            return f"puffer {found[4]}" if found[4] else found[5].lower() + f":{found[6]}" * bool(found[6])
        if not found[2] and not found[3]:
            return found[0]
        try:
            called = ast.parse(f"f({found[2] or found[3]})", mode="eval").body
        except SyntaxError:
            return found[0]
        assert isinstance(called, ast.Call)
        prefix = _RECORDS.get(found[1] or "Noise", "")
        given = {str(one.arg): one.value for one in called.keywords}
        words = [_as_option(name if name in MOVED else prefix + name, value) for name, value in given.items()]
        if prefix and given:
            words.insert(0, f"--mechanism {found[1].lower()}")
        return " ".join(words) if words and all(words) and not called.args else found[0]

    return _IN_PYTHON.sub(spelled_out, _WITHDRAWING.sub(r"puffer ledger withdraw \1 \2", text))


def _as_option(name: str, value: ast.expr) -> str:
    """As it is written in the command; empty for what is no option."""
    option = _MARKS if name == "null_values" else OPTIONS.get(name)
    plain = value.value if isinstance(value, ast.Constant) else ()
    if (name, plain) == ("remap", True):
        return "--mechanism remap"
    if option is None or isinstance(value, ast.Name) or plain is False or (plain is True) != (option.metavar == _FLAG):
        return ""
    if plain is True:
        return spelled([name])
    if not isinstance(value, ast.Dict):
        written = option.metavar if plain is ... else shlex.quote(_in_shell(name, value))
        return f"{spelled([name])} {written}"
    entries = []
    for key, entry in zip(value.keys, value.values, strict=True):
        codes = entry.elts if name == "null_values" and isinstance(entry, ast.List) else [entry]
        entries += [f"{_in_shell(name, key)}={_in_shell(name, one)}" for one in codes]
    return " ".join(f"{spelled([name])} {shlex.quote(entry)}" for entry in entries)


_MARKS = Option("COLUMN=TEXT", "")
"""`null_values`, an option of reading."""


def _in_shell(name: str, value: ast.expr | None) -> str:
    """A value, or several: a tuple is bounds where there may be some."""
    if isinstance(value, (ast.List, ast.Tuple)):
        mark = ":" if isinstance(value, ast.Tuple) and name in ("domain", "clip") else ","
        return mark.join(_in_shell(name, one) for one in value.elts)
    if isinstance(value, ast.Name):
        return value.id.upper()
    if isinstance(value, ast.Constant):
        return "none" if value.value is None else "..." if value.value is ... else str(value.value)
    return "" if value is None else ast.unparse(value)


def _unit(parts: dict[str, Any]) -> Unit:
    if "rows" in parts:
        return Unit(**parts)
    raise ArgumentError(
        "unit",
        rule="given with what is assumed of its rows",
        got="no --unit-rows",
        hint="Say --unit-rows independent, repeated or any: an assumption that only you can make.",
    )


def _without(part: str, group: str) -> ArgumentError:
    return ArgumentError(
        spelled([part if part in ("limit", "limit_delta", *PARTS) else f"{group}_{part}"]),
        rule=f"given with --{f'mechanism {group}' if group in ('channel', 'sequential', 'noise') else group}",
        got="it alone",
        hint="Leave it out, or say both.",
    )
