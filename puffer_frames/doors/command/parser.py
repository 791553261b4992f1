"""The command line: subcommands, their options, their help."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from puffer_frames.certificates.version import __version__
from puffer_frames.doors.command import options as options_module
from puffer_frames.doors.command.options import (
    COMPARED,
    COMPARING,
    GROUPS,
    LAID_OUT,
    OPTIONS,
    PLANNED,
    WITH_PLAN,
    Option,
    read,
    read_entry,
    spelled,
)
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.csv_dialect import DIALECT, Dialect, marks_of
from puffer_frames.numbers.records import CONFIG_BYTES, UnclearJsonError, file_content, parsed


def read_config(path: Path, /, *, known: Collection[str], subcommand: str) -> dict[str, Any]:
    """The entries of the file, by the names of options with "_"; those of a table `unit`, `given` or `channel` too.

    Raises OSError where the file cannot be read; ArgumentError for a file of another form, and for an entry that is no
    option of the subcommand.
    """
    if path.suffix.lower() not in (".toml", ".json"):
        raise _refused("a file that ends in .toml or .json", "another one")
    try:
        content = file_content(path, most=CONFIG_BYTES)
        text = content.decode("utf-8-sig")
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else parsed(text)
    except UnclearJsonError as error:
        raise _refused("a text that every program reads alike", f"one with {error}") from None
    except (ValueError, RecursionError):  # errors of both formats and of the encoding are values
        raise _refused(f"a whole {path.suffix[1:].upper()} file", "one that cannot be read as that") from None
    if not isinstance(found, dict):
        raise _refused("an object with the names of options", f"a {type(found).__name__}")
    entries: dict[str, Any] = {}
    for key, value in found.items():
        name = key.replace("-", "_")
        table = [(name, value)]
        if name in GROUPS and isinstance(value, dict):
            main = GROUPS[name][1]
            table = [(name if part == main else f"{name}_{part.replace('-', '_')}", x) for part, x in value.items()]
        for entry, content_of in table:
            if entry not in known:
                near, hint = _near(entry, known), f"See puffer {subcommand} --help."
                if entry == "layout":
                    near, hint = "", 'Write its parts as options of their own: keep = "town".'
                hint = f"Did you mean {near!r}?" if near else hint
                raise _refused("one with names of options of this subcommand", repr(entry), hint)
            if entry in entries:
                raise _refused("one that names an option once", f"{entry!r} twice")
            entries[entry] = content_of
    return entries


def _near(name: str, known: Iterable[str], /) -> str:
    """The option that is meant, of those of a release first; empty where none is near."""
    options = sorted(known, key=lambda option: (option.replace("-", "_") not in OPTIONS, option))
    begun = [option for option in options if option.startswith(name)]
    return next(iter([*get_close_matches(name, options, n=1, cutoff=0.75), *begun]), "")


def _refused(rule: str, got: str, hint: str = "See docs/command.md.") -> ArgumentError:
    return ArgumentError("the config file", rule=rule, got=got, hint=hint)


_EXITS = (
    "exit codes: 0 done, or not altered (signed or not), 1 refused for privacy, 2 a request that cannot be, 3 a file "
    "that cannot be read or written, 4 rows at fault: none, missing values, other types. Formats by the name: "
    ".parquet, .csv, .arrow, a folder of Parquet files; also read .xlsx, .sav, .dta. docs/command.md says more."
)
_OWN: Mapping[str, dict[str, Any]] = {
    "config": {"metavar": "FILE", "help": "options from a TOML or JSON file; those written here come first"},
    "schema": {"metavar": "COLUMN=TYPE[,...]", "help": "types of columns of a CSV file: age=Int64", "action": "append"},
    "separator": {"metavar": "MARK", "help": "between the fields of a CSV file: a comma by default, ; or tab"},
    "decimal": {"metavar": "MARK", "help": "of the numbers of a CSV file: . by default, or ,"},
    "thousands": {"metavar": "MARK", "help": "between groups of three digits of the numbers of a CSV file"},
    "encoding": {"metavar": "NAME", "help": "of a CSV file: utf-8 by default, latin-1, utf-16"},
    "null_values": {
        "metavar": "[COLUMN=]TEXT[,...]",
        "help": "texts of a CSV file that stand for a missing value, in every column or in one: NA,income=9999999",
        "action": "append",
    },
    "comment": {"metavar": "TEXT", "help": "what the lines of a CSV file begin with that are left out: #"},
    "released_schema": {
        "metavar": "COLUMN=TYPE[,...]",
        "help": "the same of a released CSV file",
        "action": "append",
    },
    "level": {"metavar": "NUMBER", "help": "a correct release passes with this probability: 0.99 by default"},
    "plan": {"metavar": "FILE", "help": "a plan that puffer plan kept"},
    "password_file": {"metavar": "FILE", "help": "its first line is the password of the plan (or PUFFER_PASSWORD)"},
    "overwrite": {"action": "store_true", "help": "replace an output that is there"},
    "certificate": {"metavar": "FILE", "help": "of a certificate beside the table"},
    "public_key": {"metavar": "FILE", "help": "PEM of the public key of whoever signed the certificate"},
    "as": {"metavar": "FORM", "help": "text (the default), html or json"},
    "dataset": {"metavar": "NAME", "help": "the releases of this data set alone"},
    "ledger": {"metavar": "FILE", "help": "list the releases of this data set, and what they guarantee together"},
    "justification": {"metavar": "TEXT", "help": "why this epsilon was chosen, in your words"},
    "figures": {"action": "store_true", "help": "print all figures: they are exact statistics, keep them private"},
    "json": {"action": "store_true", "help": "print one JSON object, of errors too"},
    "log_format": {"metavar": "FORM", "help": "of what is logged: text (the default), or json, a line for each step"},
    "metrics": {"metavar": "FILE", "help": "write rows, seconds, epsilon, loss and exit code there, for Prometheus"},
}
_PLACES = {
    "action": "list, total, withdraw or check",
    "book": "the ledger",
    "entry": "of withdraw: the entry, as list prints it",
    "input": "the table",
    "output": "where the release goes",
    "original": "the table that was released",
    "released": "its release",
    "kept_plan": "where the plan goes",
    "file": "a release, a certificate or a plan",
    "page": "where the page goes: a file that ends in .html",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """What one takes."""

    help: str
    places: Sequence[str]
    """Its positional arguments."""
    usage: str
    """What a call looks like, without the options that may be left out."""
    own: Sequence[str]
    """Options of the command itself."""
    arguments: Sequence[str] = ()
    """Options that are arguments of Python."""
    read_otherwise: Mapping[str, Option] = field(default_factory=dict)
    """Options that are not read as `OPTIONS` says."""

    @property
    def known(self) -> list[str]:
        """What a config file may hold."""
        return [*self.places, *(name for name in self.own if name != "config"), *self.arguments]


_KEY = "password_file"
_RUN = ("json", "log_format", "metrics")
SUBCOMMANDS: Mapping[str, Subcommand] = {
    "compare": Subcommand(
        help="print what every mechanism, noise, theorem and belief would cost; nothing is released",
        places=("input",),
        usage="puffer compare INPUT --secret COLUMN [--public COLUMN[,...]] [--epsilon NUMBER[,...]] [option ...]",
        own=("config", "schema", *DIALECT, *_RUN),
        arguments=COMPARING,
        read_otherwise=COMPARED,
    ),
    "plan": Subcommand(
        help="find how much noise a release needs, and keep the plan in a private file",
        places=("input", "kept_plan"),
        usage="puffer plan INPUT PLAN --secret COLUMN [--public COLUMN[,...]] --epsilon NUMBER [option ...]",
        own=("config", "schema", *DIALECT, _KEY, "overwrite", "figures", *_RUN),
        arguments=list(PLANNED),
    ),
    "release": Subcommand(
        help="write a table with noise, and its certificate",
        places=("input", "output"),
        usage="puffer release INPUT OUTPUT --secret COLUMN [--public COLUMN[,...]] --epsilon NUMBER [option ...]\n"
        "       puffer release INPUT OUTPUT --plan FILE [option ...]",
        own=("config", "schema", *DIALECT, "plan", _KEY, "overwrite", *_RUN),
        arguments=list(OPTIONS),
    ),
    "check": Subcommand(
        help="say whether a plan covers other rows; nothing is released",
        places=("input",),
        usage="puffer check INPUT --plan FILE [option ...]",
        own=("config", "schema", *DIALECT, "plan", _KEY, "figures", *_RUN),
    ),
    "verify": Subcommand(
        help="compare a release with its certificate",
        places=("input",),
        usage="puffer verify INPUT [option ...]",
        own=("config", "schema", "certificate", "public_key", *_RUN),
    ),
    "audit": Subcommand(
        help="test a release with the original at hand: its noise, and what a guesser of the secret wins",
        places=("original", "released"),
        usage="puffer audit ORIGINAL RELEASED [option ...]",
        own=("config", "schema", *DIALECT, "released_schema", "certificate", "level", "figures", *_RUN),
        arguments=("secret",),
    ),
    "show": Subcommand(
        help="print the certificate of a release, or a plan",
        places=("file",),
        usage="puffer show FILE [option ...]",
        own=("config", "as", _KEY, "json"),
    ),
    "report": Subcommand(
        help="write the certificate of a release, or a plan, as a page to read, print and sign",
        places=("file", "page"),
        usage="puffer report FILE PAGE [option ...]",
        own=("config", "ledger", "justification", _KEY, "overwrite", "json"),
    ),
    "ledger": Subcommand(
        help="list the releases of a ledger, add them up, withdraw one that nobody has, or check the file",
        places=("action", "book", "entry"),
        usage="puffer ledger list|total|check LEDGER [option ...]\n       puffer ledger withdraw LEDGER ENTRY",
        own=("dataset", "json"),
        arguments=("limit", "limit_delta"),
    ),
}


class Parser(argparse.ArgumentParser):
    """One whose errors are those of this package."""

    def error(self, message: str) -> NoReturn:
        """Raise ArgumentError."""
        unknown = re.search(r"unknown option (--[\w-]+)", message)
        options = [option.removeprefix("--") for option in self._option_string_actions if option.startswith("--")]
        name = unknown[1].removeprefix("--") if unknown else ""
        near, hint = _near(name, options) if name else "", f"See {self.prog} --help."
        begun = len(name) > 1 and not any(option.startswith(name) for option in options)
        if begun and any(place.dest.startswith(name) for place in self._get_positional_actions()):
            usage = self.format_usage().splitlines()[0].removeprefix("usage: ")
            near, hint = "", f"Write it without its name: {usage}."
        raise ArgumentError(
            "the command line",
            rule=f"one that {self.prog} takes",
            got=message,
            hint=f"Did you mean --{near}?" if near else hint,
        )


def parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the whole command, and those of its subcommands."""
    top = Parser(
        prog="puffer",
        description="Publish a table and keep a column of it secret: Pufferfish privacy for files.",
        epilog=_EXITS,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"puffer_frames {__version__}")
    found: dict[str, Parser] = {}
    below = top.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", parser_class=Parser)
    for name, each in SUBCOMMANDS.items():
        one = found[name] = below.add_parser(
            name,
            help=each.help,
            usage=each.usage,
            description=each.help[0].upper() + each.help[1:] + ".",
            epilog=_EXITS,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,
        )
        for place in each.places:
            metavar = {"kept_plan": "PLAN", "book": "LEDGER"}.get(place, place.upper())
            one.add_argument(place, nargs="?", metavar=metavar, help=_PLACES[place])
        for own in each.own:
            one.add_argument(spelled([own]), dest=own, **_OWN[own])
        one.add_argument("-v", "--verbose", action="count", help="log more; -vv most")
        one.add_argument("-q", "--quiet", action="count", help="log errors alone")
        _add_arguments(one, each)
    return top, found


def _add_arguments(one: Parser, each: Subcommand) -> None:
    groups = (("what to release, and how well", PLANNED), ("how the release looks", [*LAID_OUT, *WITH_PLAN]))
    added: set[str] = set()
    for title, names in groups:
        group = one.add_argument_group(title)
        for name in names:
            if name in each.arguments and name not in added:
                added.add(name)
                option = each.read_otherwise.get(name, OPTIONS[name])
                how: dict[str, Any] = {"dest": name, "help": option.help}
                if option.metavar:
                    how |= {"metavar": option.metavar, "action": "append"}
                else:
                    how |= {"action": "store_true"}
                group.add_argument(spelled([name]), **how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a command line and its config file ask for."""

    subcommand: str
    found: Mapping[str, Any]
    """Positional arguments and options of the command itself."""
    arguments: Mapping[str, Any]
    """Options that are arguments of Python, with their values."""
    louder: int = 0

    @classmethod
    def of(cls, words: Sequence[str], /) -> Request:
        """Read a command line; raises ArgumentError, OSError, and SystemExit after help was printed."""
        top, below = parsers()
        parsed, left = top.parse_known_args(list(words))
        taken = vars(parsed)
        subcommand = taken.pop("subcommand", None)
        if subcommand is None:
            top.error("no subcommand of " + ", ".join(SUBCOMMANDS))
        if left:
            unknown = left[0].startswith("-")
            below[subcommand].error(f"the unknown option {left[0]}" if unknown else "a word too many")
        louder = taken.pop("verbose", 0) - taken.pop("quiet", 0)
        each = SUBCOMMANDS[subcommand]
        arguments = {
            name: entry if entry is True else read(name, entry, own=each.read_otherwise)
            for name, entry in _only(taken, each.arguments).items()
        }
        found = {name: entry for name, entry in taken.items() if name not in each.arguments}
        for name in ("schema", "released_schema"):
            if name in found:
                found[name] = _schema(found[name])
        if "config" in found:
            path = options_module.as_path(found["config"], role="the config file")
            entries = read_config(path, known=each.known, subcommand=subcommand)
            held = {
                name: read_entry(name, entry, own=each.read_otherwise)
                for name, entry in _only(entries, each.arguments).items()
            }
            arguments = _merged(held, arguments)
            found = _merged({name: entry for name, entry in entries.items() if name not in each.arguments}, found)
        return cls(subcommand=subcommand, found=found, arguments=arguments, louder=louder)

    def path(self, name: str, /) -> Any:
        """A path that is needed; raises ArgumentError."""
        if name in self.found:
            return options_module.as_path(self.found[name], role=_PLACES.get(name, f"--{name}"))
        word = _PLACES.get(name, spelled([name]))
        raise ArgumentError(
            "the command line",
            rule=f"one with {word}",
            got=f"no {name.replace('kept_', '')}",
            hint=f"See puffer {self.subcommand} --help.",
        )

    def path_or_none(self, name: str, /) -> Any:
        """A path, where it is given."""
        return self.path(name) if name in self.found else None

    def flag(self, name: str, /) -> bool:
        """Whether a switch is on; raises ArgumentError for an entry of a config file that is neither."""
        found = self.found.get(name, False)
        if not isinstance(found, bool):
            raise ArgumentError(name, rule="true or false", got=f"a {type(found).__name__}", hint="Leave it out.")
        return found

    @property
    def logs_json(self) -> bool:
        """Whether lines of JSON are logged; raises ArgumentError for another word than json and text."""
        form = self.found.get("log_format", "text")
        if form not in ("text", "json"):
            raise ArgumentError("--log-format", rule="text or json", got="another word", hint="Say --log-format json.")
        return bool(form == "json")

    @property
    def dialect(self) -> Dialect:
        """How a CSV file is written; raises ArgumentError."""
        return Dialect.of(self.found)

    def types(self, name: str = "schema", /) -> dict[str, str]:
        """Types of the columns of a CSV file, by the name of the option; raises ArgumentError."""
        found = self.found.get(name, {})
        if isinstance(found, Mapping) and all(isinstance(x, str) for x in [*found, *found.values()]):
            return dict(found)
        raise ArgumentError(name, rule="of texts", got="another type", hint=f'Write {name} = {{age = "Int64"}}.')


def _schema(texts: Iterable[str]) -> dict[str, str]:
    pairs = [
        options_module.text_of(part, name="schema")
        for text in texts
        for part in options_module.names(text, name="schema")
    ]
    return options_module.joined(pairs, name="schema")


def _merged(held: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What a config file holds, and the command line says: of mappings, each entry."""
    found = dict(held)
    for name, entry in said.items():
        own, more = (marks_of(each) if name == "null_values" else each for each in (held.get(name, {}), entry))
        found[name] = own | more if isinstance(own, dict) and isinstance(more, dict) else entry
    return found


def _only(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: entry for name, entry in found.items() if name in names}
