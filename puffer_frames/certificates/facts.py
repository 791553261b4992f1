"""What is known of a release beside its numbers, as fields: sentences are made of them, never the other way round.

Certificates of schemas before 1.6 have sentences alone. `facts_of` reads them, and nothing else in the package does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field
from pydantic.json_schema import SkipJsonSchema

from puffer_frames.certificates.sentences import SENTENCES
from puffer_frames.certificates.statement import Statement
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.presentation import end_text, shown


def _once(entries: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(entries)) < len(entries):
        raise ValueError("an entry twice")
    return entries


ONCE, UNIQUE = AfterValidator(_once), Field(json_schema_extra={"uniqueItems": True})
"""No entry is there twice: the check, and what the JSON Schema says of it."""
Joint: TypeAlias = Literal["rule", "exact", "delta", "coupled"]
RowsOfUnit: TypeAlias = Literal["independent", "repeated", "any"]
Replaced: TypeAlias = Literal["values", "cells"]
Prepared: TypeAlias = Literal["merged", "cells", "clipped"]


@dataclass(frozen=True, slots=True)
class Since:
    """From which second number of the schema on there is a field; where it is the default, the record lacks it."""

    minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What decides what a release guarantees beside others, and what can be computed from it."""

    seeded: bool = False
    """Whether it has noise that came from a seed: then it is not private."""
    clipped: Mapping[str, Bounds | None] = field(default_factory=dict)
    """Columns whose values were clipped before the noise, and to which bounds; None for the range of the table of the
    plan, which is not printed."""
    prepared: Annotated[tuple[Prepared, ...], ONCE, UNIQUE] = ()
    """What was done to values before a channel: rare levels "merged", numbers put into "cells", values beyond the
    domain "clipped" to it."""
    replaced: Replaced | None = None
    """Whether noisy values were replaced by "values" of the table (remap), or centres of "cells" of them, too."""
    processed: bool = False
    """Whether noisy values were clipped or rounded. The certificate's `processed` says how, from schema 1.4 on."""
    joint: Joint | None = None
    """Why several columns of noise have the guarantee together: the bounded-column "rule", or scales found for whole
    rows, whose pure loss ("exact") or delta ("delta") was bounded, or that rest on a pairing of rows ("coupled")."""
    other_rows: bool = False
    """Whether the plan was made from other rows than these."""
    exceeds: bool = False
    """Whether the measured loss under the observed frequencies of these rows is more than was asked for, or their range
    is wider than that which noise for the range is for."""
    unmeasured: bool = False
    """Whether that loss is unknown: there are too many pairs of secrets."""
    rows_of_unit: RowsOfUnit | None = None
    """What is assumed of the rows of a unit, where several are protected together; "any" is nothing."""
    sampled: bool = False
    """Whether some rows of each unit were chosen at random, and the others left out."""
    dropped: bool = False
    """Whether rows with missing values were to be left out, which may be others in a release of other columns."""
    recoded: bool = False
    """Whether codes were read as missing values, which may be other codes in another release."""
    shuffled: bool = False
    """Whether the rows were put into a random order."""
    order_tells: bool = False
    """Whether the order of the rows was found to tell more than a random one."""
    kept_tells: bool = False
    """Whether kept columns were found to tell of the secret or of a noisy column."""
    order_assumed: bool = False
    """Whether a refined release takes it for granted that its rows have the order of the first one."""
    dates: Annotated[tuple[str, ...], ONCE, UNIQUE, Since(6)] = ()
    """Columns of dates, in the order of the release; all their figures are in days."""
    useless: Annotated[tuple[str, ...], ONCE, UNIQUE, Since(6)] = ()
    """Columns of noise, or of a channel, that one constant is about as near to in the table of the plan, before noisy
    values are clipped."""
    extra: SkipJsonSchema[Mapping[str, Any]] = field(default_factory=dict)
    """Facts of a later version, kept as they are."""

    @property
    def whole_rows(self) -> bool:
        """Whether the scales of several columns were found together, for whole rows."""
        return self.joint not in (None, "rule")


_WHERE_SAID: Mapping[str, tuple[str, ...]] = {
    "seeded": ("warning-seed",),
    "processed": ("after",),
    "other_rows": ("other-rows", "channel-other-rows"),
    "exceeds": ("observed-exceeds", "range-exceeds"),
    "unmeasured": ("observed-unknown",),
    "sampled": ("unit-sampled",),
    "dropped": ("nulls",),
    "recoded": ("null-values",),
    "shuffled": ("shuffled",),
    "order_tells": ("order-tells",),
    "kept_tells": ("kept-tells",),
    "order_assumed": ("refined-order",),
}
"""Facts that hold where one of these sentences is there, and nowhere else."""
CELLS = ", or the centre of a cell of them"
"""Part of the sentence of replaced values, where they are values of cells."""
_NUMBER = r"(-?(?:[\d.]+(?:e[+-]?\d+)?|inf))"


def ends_text(name: str, bounds: Bounds, /, *, dates: Collection[str]) -> str:
    """To what a column was clipped, as its sentence has it."""
    low, high = (end_text(bound, is_day=name in dates) for bound in bounds)
    return f"{shown(name)} to [{low}, {high}]"


def facts_of(statements: Sequence[Statement], /, *, columns: Sequence[str]) -> Facts:
    """The facts that the sentences of a certificate say; `columns` are the released ones."""
    said = {statement.key: statement.text for statement in statements}
    ends = _filled("clipped", said)
    clipped: dict[str, Bounds | None] = dict.fromkeys(_named("clipped-to-range", said, columns))
    for name in columns:
        found = re.search(rf"(?:^|; ){re.escape(shown(name))} to \[{_NUMBER}, {_NUMBER}\]", ends)
        clipped |= {name: (float(found[1]), float(found[2]))} if found else {}
    holds: dict[str, Any] = {name: any(key in said for key in keys) for name, keys in _WHERE_SAID.items()}
    return Facts(
        **holds,
        clipped=clipped,
        prepared=tuple(word for word in get_args(Prepared) if f"channel-{word}" in said),
        replaced=None if "remap" not in said else "cells" if CELLS in said["remap"] else "values",
        joint=next((word for word in get_args(Joint) if f"joint-{word}" in said), None),
        rows_of_unit=next((word for word in get_args(RowsOfUnit) if f"unit-{word}" in said), None),
        dates=_named("dates", said, columns),
        useless=_named("useless", said, columns),
    )


def are_said(facts: Facts, statements: Sequence[Statement], /, *, columns: Sequence[str]) -> bool:
    """Whether the sentences of a certificate say these facts, and no others."""
    said = {statement.key: statement.text for statement in statements}
    ends = [
        [ends_text(name, bounds, dates=dates) for name, bounds in facts.clipped.items() if bounds is not None]
        for dates in (facts.dates, ())  # older records have the ends of dates as days
    ]
    ranged = [shown(name) for name, bounds in facts.clipped.items() if bounds is None]
    read = facts_of(statements, columns=columns)
    return (
        replace(read, clipped=facts.clipped, extra=facts.extra) == facts
        and any(_lists(_filled("clipped", said), parts, "; ") for parts in ends)
        and _lists(_filled("clipped-to-range", said), ranged, ", ")
        and all(
            _lists(_filled(key, said), list(map(shown, names)), ", ")
            for key, names in {"dates": facts.dates, "useless": facts.useless}.items()
        )
    )


def _filled(key: str, said: Mapping[str, str]) -> str:
    """What is between the words of a sentence with one gap; nothing where the sentence is not there."""
    before, _, rest = SENTENCES[key].text.partition("{")
    return said.get(key, "").removeprefix(before).removesuffix(rest.partition("}")[2])


def _named(key: str, said: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that a sentence lists."""
    listed = f", {_filled(key, said)}, "
    return tuple(name for name in columns if key in said and f", {shown(name)}, " in listed)


def _lists(text: str, parts: Sequence[str], between: str) -> bool:
    """Whether a text is a list of these, in any order; a name may look like several, so that it is not taken apart."""
    return all(part in text for part in parts) and sorted(text) == sorted(between.join(parts))
