"""A certificate's record in JSON types, checked against its JSON Schema before it is believed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from puffer_frames.certificates.fields import FORMS, REQUIRED, SCHEMA, has_facts, second_number
from puffer_frames.certificates.forms import object_schema
from puffer_frames.certificates.sentences import SENTENCES, WARNINGS
from puffer_frames.errors import ArgumentError

_WITH_WARNINGS = 5
"""From this second number of the schema on a record names the sentences that warn."""
_COMPOSED = (
    *("adds-up", "adds-up-rows", "one-release", "planned-releases"),
    *("channel-again", "channel-again-capped", "table-again"),
)
JSON_SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "puffer_frames certificate",
    **object_schema(FORMS, required=["schema", *REQUIRED], closed=False),
}
"""Of the record; docs/certificate.schema.json has the docstrings of the fields too."""


def check_plain(plain: object, /) -> None:
    """Raise ArgumentError unless this is a record that this version of the package can read."""
    if not isinstance(plain, Mapping):
        raise refused(f"a {type(plain).__name__}")
    given = str(plain.get("schema"))
    if _major(given) > _major(SCHEMA):
        raise ArgumentError(
            "the certificate's record",
            rule=f"of schema {_major(SCHEMA)}, which this version of the package knows",
            got=f"schema {given[:20]}",
            hint="Read it with a later version of puffer_frames.",
        )
    if not _is_json(plain):
        raise refused("what JSON cannot hold: an infinite number, half of a surrogate pair, or another type")
    first = next(iter(sorted(_validator().iter_errors(plain), key=lambda error: list(map(str, error.path)))), None)
    if first is not None:
        missing = first.validator == "required"
        got = first.message.removesuffix(" is a required property") if missing else None
        place = ".".join(map(str, first.path)) or "the record"
        raise refused(f"none for {got}" if missing else f"something else in {place[:80]!r}")
    for beliefs in plain["verified"].values():
        if any(_exceeds(each, plain["epsilon"], plain["delta"]) for each in beliefs.values()):
            raise refused("a loss that is more than epsilon and delta")
    _check_columns(plain)
    _check_sentences(plain)
    _check_facts(plain)


def _check_facts(plain: Mapping[str, Any]) -> None:
    """Facts that other fields have, too."""
    if ("facts" in plain) != has_facts(plain["schema"]):
        raise refused("none for 'facts'" if "facts" not in plain else "facts in a record of an earlier schema")
    facts = plain.get("facts")
    if facts is None:
        return
    agree = (
        facts["seeded"] <= plain["reproducible"],
        facts["processed"] == bool(plain.get("processed")),
        facts["order_assumed"] <= bool(plain.get("refines")),
        (facts["rows_of_unit"] is None) == (plain.get("unit") is None),
        set(facts["clipped"]) <= set(plain["public"]),
    )
    if not all(agree):
        raise refused("facts that its other fields do not have")


def _check_sentences(plain: Mapping[str, Any]) -> None:
    """A record without a sentence that every release of its kind has is none."""
    keys = {statement["key"] for statement in plain["statements"]}
    if not set(plain.get("warnings", ())) <= keys:
        raise refused("a warning without its sentence")
    if second_number(plain["schema"]) >= _WITH_WARNINGS and not keys & set(WARNINGS) <= set(plain.get("warnings", ())):
        raise refused("a sentence that warns and is not among the warnings")
    wrong = [s["key"] for s in plain["statements"] if s["key"] in SENTENCES and s["kind"] != SENTENCES[s["key"]][0]]
    if wrong:
        raise refused(f"another kind of sentence for {wrong[0]!r}")
    for needed in _mandatory(plain):
        if not keys & set(needed):
            raise refused(f"none of the sentences {', '.join(map(repr, needed))}, which it must have")


def _mandatory(plain: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Of each of these at least one must be there."""
    noisy = any(float(scale) for scale in plain["scales"].values()) or plain["noise"] in ("channel", "sequential")
    if plain["reproducible"] and noisy:
        yield ("warning-seed",)
    if plain.get("batches"):
        yield ("batches",)
    if plain["answers"]:
        yield ("units", "chain", "any-dependence", "network")
        yield ("other-answers",)
        return
    yield ("records", "units")
    yield ("beliefs",)
    yield _COMPOSED
    yield ("other-columns",)
    yield ("learned", "channel-learned")
    if not plain.get("unit"):
        yield ("per-record",)
    if plain["noise"] == "sequential":
        yield from ((key,) for key in ("table-loss", "table-readers", "table-planned", "table-laws", "table-some"))
        yield ("table-again",)
        if "changed" in plain["table"]:
            yield from (("table-changed",), ("table-figures",))
    if plain["kept"]:
        yield ("kept",)
    if plain.get("given"):
        yield ("given-alone",)
    if plain["pairs"] != "all":
        yield ("secrets-each",) if plain["pairs"] == "each" else ("listed-pairs",)


def _check_columns(plain: Mapping[str, Any]) -> None:
    """Fields that must agree with one another."""
    columns = set(plain["scales"])
    found = [*plain["observed"].values(), *(f for beliefs in plain["verified"].values() for f in beliefs.values())]
    if any(float(f[name][0]) > float(f[name][1]) for f in found for name in ("pure_loss", "hockey_stick")):
        raise refused("a bracket whose ends are in the wrong order")
    if any(set(plain[name]) != columns for name in ("expected_error", "published_scales")):
        raise refused("scales, errors and published scales of different columns")
    channels = set(plain.get("channels", {}))
    released = columns | channels
    if plain["noise"] in ("none", "sequential"):  # these have neither
        released = set(plain["verified"])
    if not plain["answers"] and (released != set(plain["public"]) or columns & channels):
        raise refused("scales or channels of other columns than those that were released")
    if (plain["noise"] == "sequential") != bool(plain.get("table")):
        raise refused("a table that was released column by column without its figures, or figures of another release")
    table = plain.get("table", {})
    if "changed" in table and not _are_changes(table, set(plain["public"])):
        raise refused("shares of changed values that are none, or of other columns")
    if not set(plain.get("processed", ())) <= columns:
        raise refused("something done to noisy values of a column that has none")
    if set(plain["public"]) & set(plain["kept"]):
        raise refused("a column that is noisy and kept")
    _check_channels(plain)
    _check_strata(plain, columns)
    _check_refined(plain)


def _are_changes(table: Mapping[str, Any], public: set[str]) -> bool:
    """Whether a table has numbers for each column, and for some of them how far they move."""
    found = [table.get(name) for name in ("changed", "changed_most", "moved")]
    told = [each for each in found if isinstance(each, Mapping)]
    if len(told) < len(found) or not set(told[0]) == set(told[1]) == public >= set(told[2]):
        return False
    return all(isinstance(number, int | float) and number >= 0 for each in told for number in each.values())


def _check_channels(plain: Mapping[str, Any]) -> None:
    """Levels are those of the column, or rows of them where several columns are one draw."""
    for name, found in plain.get("channels", {}).items():
        together = found.get("columns", [name])
        if name not in together or ("columns" in found and list(together) != list(plain["public"])):
            raise refused("a channel of other columns than those that were released")
        for level in (*found.get("levels", ()), *found.get("inputs", ())):
            parts = level if isinstance(level, list | tuple) else [level]
            if isinstance(level, list | tuple) != ("columns" in found) or len(parts) != len(together):
                raise refused("a level of another number of columns")
            if not all(part is None or isinstance(part, str | int | float) for part in parts):
                raise refused("a level that is none")


def _check_strata(plain: Mapping[str, Any], columns: Collection[str]) -> None:
    given, strata = plain.get("given", []), plain.get("strata", [])
    if set(given) & {*plain["public"], *plain["kept"]}:
        raise refused("a given column that is noisy, or outside the guarantee")
    if any(len(one["given"]) != len(given) or set(one["scales"]) != set(columns) for one in strata):
        raise refused("strata of other columns")
    if any(not set(one.get("caps", ())) <= set(plain.get("channels", ())) for one in strata):
        raise refused("strata of other columns")
    if any(float(one["scales"][name]) > float(plain["scales"][name]) for one in strata for name in columns):
        raise refused("a scale of a stratum above the largest one")


def _check_refined(plain: Mapping[str, Any]) -> None:
    """Noise gets less, and the guarantee weaker, from one to the next."""
    chain = [*plain.get("refines", []), plain]
    for first, second in pairwise(chain):
        if set(first["scales"]) != set(second["scales"]) or first["epsilon"] >= second["epsilon"]:
            raise refused("a release that refines one of other columns, or of a larger epsilon")
        if any(float(first["scales"][name]) < float(scale) for name, scale in second["scales"].items()):
            raise refused("a release that refines one with less noise")
    digests = [found["fingerprint"] for found in chain if found["fingerprint"]]
    if len(set(digests)) < len(digests):
        raise refused("a release that refines itself")


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isascii() and first.isdigit() else 0


def _exceeds(measured: Mapping[str, Any], epsilon: float, delta: float) -> bool:
    loss, stick = float(measured["pure_loss"][1]), float(measured["hockey_stick"][1])
    return (
        measured["epsilon"] > epsilon or (loss > epsilon and not 0 <= stick <= delta) or (loss > epsilon and not delta)
    )


def _is_json(plain: Mapping[str, Any]) -> bool:
    try:
        json.dumps(dict(plain), allow_nan=False, ensure_ascii=False, sort_keys=True).encode()
    except (TypeError, ValueError, RecursionError):  # of an encoding too
        return False
    return True


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(JSON_SCHEMA)


def refused(got: str, /) -> ArgumentError:
    """The error of a record that nobody could have saved."""
    return ArgumentError(
        "the certificate's record",
        rule="one of Certificate.to_dict",
        got=got,
        hint="Ask whoever issued it for the record as it was saved.",
    )
