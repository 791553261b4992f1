"""The options of the command: the fields of the argument records of Python, with a line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from puffer_frames.certificates.about import FIELDS
from puffer_frames.doors.command import values
from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.arguments import Layout
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.ledgers.release_ledger import Ledger
from puffer_frames.verbs.requests.arguments import MOVED


@dataclass(frozen=True, slots=True)
class Option:
    """An argument as it is written on a command line."""

    metavar: str
    """What is shown for its value; empty for a switch."""
    help: str
    read: Callable[..., Any] = values.word
    """The value of a text, given the argument's name too."""


_FLAG = ""
PLANNED: Mapping[str, Option] = {
    "secret": Option("COLUMN[,...]", "column to keep secret, or several", values.names),
    "public": Option("COLUMN[,...]", "columns to release with noise; every other one if left out", values.names),
    "epsilon": Option("NUMBER", "the privacy parameter, greater than 0", values.number),
    "delta": Option("NUMBER", "0 (the default), or far below 1 / rows", values.number),
    "secrets": Option("WORD", "of several secret columns: joint or each"),
    "noise": Option("NOISE", "laplace, gaussian or stable:ALPHA", values.noise),
    "nulls": Option("WORD", "missing values: raise, drop or level"),
    "given": Option("COLUMN[,...]", "columns released as they are, on which the guarantee conditions", values.names),
    "given_scale": Option("WORD", "each stratum its own scale, or one"),
    "given_minimum": Option("ROWS", "strata with fewer rows of a secret have noise for the range", values.whole),
    "given_merge": Option(_FLAG, "merge such strata into one, in the released columns too"),
    "unit": Option("COLUMN", "whose rows are protected together; say --unit-rows too"),
    "unit_rows": Option("WORD", "what is assumed of the rows of a unit: independent, repeated or any"),
    "unit_most": Option("ROWS", "most rows of a unit", values.whole),
    "unit_over": Option("WORD", "units with more rows: raise or sample"),
    "releases": Option("N", "plan for so many releases of these columns", values.whole),
    "pairs": Option("A:B[,...]", "protect these pairs of secrets alone", values.pairs),
    "mechanism": Option("WORD", "auto, noise, remap, channel or sequential"),
    "channel_radius": Option("SHARE", "of a channel: rows that may be wrong", values.number_or_word),
    "channel_cap": Option("LOSS", "of a channel: largest loss under any law, or none", values.number_or_word),
    "channel_cost": Option("WORD", "of a channel: what an error costs"),
    "channel_preserve": Option("WORD", "of a channel: mean or marginal"),
    "channel_cells": Option("N", "of a channel: cells of a column of numbers", values.whole),
    "channel_outputs": Option("N", "of a channel: most outputs", values.whole),
    "channel_sees": Option("WORD", "of a channel: value (the default) or secret"),
    "channel_reader_cap": Option(
        "LOSS", "of one that sees the secret: most that readers of the value learn, or none", values.number_or_word
    ),
    "channel_weights": Option("WORD", "of one that sees the secret: mean error over rows or secrets"),
    "channel_publish_matrix": Option(_FLAG, "of a channel: put its table into the certificate"),
    "sequential_step": Option("SHARE", "of a whole table: by what share of epsilon a column may add", values.number),
    "sequential_known": Option("COLUMN[,...]", "of a whole table: columns that readers may know", values.names),
    "sequential_holdout": Option("SHARE", "of a whole table: rows that attackers are tried on", values.number),
    "sequential_allow_unaudited": Option(_FLAG, "of a whole table: even where an attacker shows more than epsilon"),
    "sequential_components": Option("N", "of a whole table: trees of the network", values.whole),
    "sequential_smoothing": Option("ROWS", "of a whole table: as by so many rows more", values.number),
    "sequential_contexts": Option("N", "of a whole table: most channels of a column", values.whole),
    "sequential_cells": Option("N", "of a whole table: most cells of a column of numbers", values.whole),
    "sequential_reader_cap": Option("LOSS", "of a whole table: most that readers of a value learn", values.number),
    "sequential_cap": Option("LOSS", "of a whole table: largest loss of a column under any law", values.number),
    "sequential_preserve": Option("WORD", "of a whole table: marginal or none", values.number_or_word),
    "sequential_derived": Option("WORD", "of a whole table: auto or none", values.number_or_word),
    "theorem": Option("WORD", "auto, translation, gaussian, gmm, ubm, kantorovich, bernoulli or bounded"),
    "calibration": Option("WORD", "exact or theorem"),
    "beliefs": Option(
        "BELIEF[,...]",
        "fitted, empirical, only, population[:CONFIDENCE], contamination[:SHARE], bootstrap[:N], table:FILE",
        values.beliefs,
    ),
    "components": Option("N", "components of the Gaussian mixtures", values.whole),
    "domain": Option("COLUMN=LOW:HIGH", "range of a column, or all its levels: job=nurse,clerk", values.domain),
    "merge_rare": Option("ROWS", "merge levels of fewer rows into one", values.whole),
    "weights": Option("COLUMN=NUMBER[,...]", "how much the error of a column counts", values.weights),
    "allow_zero_noise": Option(_FLAG, "release a column that needs no noise"),
}
"""What a plan is asked for."""
LAID_OUT: Mapping[str, Option] = {
    "keep": Option("COLUMN[,...]", "further columns to release as they are, outside the guarantee", values.names),
    "shuffle": Option(_FLAG, "release the rows in random order (in memory)"),
    "clip": Option("LOW:HIGH", "clip released values, of all columns or of one: age=0:100", values.clip),
    "round": Option(_FLAG, "round released values to whole numbers"),
    "publish": Option("WORD[,...]", "of a channel: expected_error, lower_bound, levels", values.names),
    "row_id": Option("COLUMN", "key the noise of a row to its number in this column"),
}
"""The fields of `Layout`."""
WITH_PLAN: Mapping[str, Option] = {
    **LAID_OUT,
    "about": Option("NAME=TEXT", f"for the certificate: {', '.join(FIELDS)}", values.text_of),
    "ledger": Option("FILE", "write the release down there; say --about dataset=NAME too"),
    "limit": Option("EPSILON", "of the ledger: what all releases of the data set may have together", values.number),
    "limit_delta": Option("DELTA", "of the ledger: the same for delta", values.number),
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
    "epsilon": Option(
        "NUMBER[,...]", "the privacy parameter, or several; 1 if left out", values.several(values.number)
    ),
    "noise": Option("NOISE[,...]", "laplace, gaussian, stable:ALPHA", values.several(values.noise)),
    "mechanism": Option("WORD[,...]", "all (the default), noise, remap or channel", values.several(values.word)),
    "theorem": Option("WORD[,...]", "all (the default), or any of those of release", values.several(values.word)),
    "beliefs": Option("BELIEF[,...]", "each has rows of its own; words as of release, but for only", values.beliefs),
}
"""Those of `compare` that take several where the others take one."""
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
    return values.joined([option.read(text, name=name) for text in texts], name=name)


def read_entry(name: str, entry: Any, /, *, own: Mapping[str, Option]) -> Any:
    """The value of an entry of a config file: a text as on the command line, but for names; else as in Python."""
    option = own.get(name, OPTIONS[name])
    if isinstance(entry, str) and option.read not in (values.names, values.word):
        return option.read(entry, name=name)
    if option.read is values.beliefs and isinstance(entry, list):
        return [values.belief(one, name=name) if isinstance(one, str) else one for one in entry]
    return tuple(entry) if name == "clip" and isinstance(entry, list) else entry


def as_arguments(found: Mapping[str, Any], /, *, compares: bool = False) -> dict[str, Any]:
    """The keywords of Python for some options, of a comparison or another verb: the parts of an argument become one.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For parts without the argument that they are of, and for parts that may not be.
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
    if compares and (options or "remap" in values.as_listed(left.get("mechanism"))):
        left["mechanism"] = _compared(left.get("mechanism", "all"), options, delta=left.get("delta", 0.0))
    elif not compares and (options or "mechanism" in left):
        left["mechanism"] = _mechanism(left.get("mechanism", "auto"), options)
    if left.get("unit") is not None and not isinstance(left["unit"], Unit):
        left["unit"] = _unit({"column": left["unit"]})
    limits = {"limit": left.pop("limit", None), "delta": left.pop("limit_delta", 0.0)}
    if limits != {"limit": None, "delta": 0.0}:
        if "ledger" not in left:
            raise _without("limit", "ledger")
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
    ways = product(families if isinstance(families, list) else [families], values.as_listed(theorems))
    noises = [options | {"noise": family, "theorem": "auto" if one == "all" else one} for family, one in ways]
    listed = ["noise", "remap", "channel"] if words == "all" else values.as_listed(words)
    return [_mechanism(word, each) for word in listed for each in ([merged] if word == "channel" else noises)]


def spelled(names: Iterable[str], /) -> str:
    """Names as options."""
    return ", ".join("--" + name.replace("_", "-") for name in names)


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
        spelled([part if part == "limit" or part in PARTS else f"{group}_{part}"]),
        rule=f"given with --{f'mechanism {group}' if group in ('channel', 'sequential', 'noise') else group}",
        got="it alone",
        hint="Leave it out, or say both.",
    )
