"""The fields of a certificate: their types are the record's JSON Schema, and how it is written and read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, TypeAlias, get_args, get_type_hints

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import BeforeValidator, ConfigDict, GetCoreSchemaHandler, StringConstraints, WrapValidator, with_config
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # pydantic reads that of Python from 3.12 on

from puffer_frames.certificates.facts import ONCE, UNIQUE, Facts, Since
from puffer_frames.certificates.statement import Statement
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.noise.usefulness import Usefulness
from puffer_frames.numbers.presentation import shown
from puffer_frames.priors.pairs import ProtectedPairs

SCHEMA = "1.6"
"""Version of the record: another first number is another meaning; a larger second one adds fields."""
_WITH_FACTS = 6
"""From this second number of the schema on a record has facts as fields."""


@dataclass(frozen=True, slots=True)
class _Json:
    """The type that a value has in the record, where it is another one, and how the value is made of it."""

    kind: Any
    read: Callable[[Any], Any] | None = None

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kind = handler.generate_schema(self.kind)
        return kind if self.read is None else core_schema.no_info_after_validator_function(self.read, kind)


def _entries(name: str, /, **kinds: Any) -> Any:
    """The type of a mapping with these entries, and no others."""
    return TypedDict(name, kinds)  # type: ignore[operator]


def _open(name: str, /, **kinds: Any) -> Any:
    """The same with any others: those of a later version are kept."""
    return with_config(ConfigDict(strict=True, allow_inf_nan=False, extra="allow"))(_entries(name, **kinds))


def _record(made: Any, /, **kinds: Any) -> _Json:
    """The same, of which a record is made."""
    return _Json(_entries(made.__name__, **kinds), lambda plain: made(**plain))


def _pattern(text: str) -> StringConstraints:
    return StringConstraints(pattern=text)


_AS_IT_IS = WrapValidator(lambda number, check: (check(number), number)[1])
"""As the file has it: a signature tells 50 from 50.0."""
_Text: TypeAlias = Annotated[str, Len(1)]
_WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
"""Some JSON libraries write 400 as 400.0."""
_Count: TypeAlias = Annotated[int, Ge(0), _WHOLE]
_Several: TypeAlias = Annotated[int, Ge(1), _WHOLE]
_Names: TypeAlias = Annotated[tuple[str, ...], ONCE, UNIQUE]
_Named: TypeAlias = Annotated[tuple[str, ...], Len(1), ONCE, UNIQUE]
_Number: TypeAlias = Annotated[float, Ge(0)]
_Positive: TypeAlias = Annotated[float, Gt(0)]
_Figure: TypeAlias = Annotated[float, Ge(0), _AS_IT_IS]
_Share: TypeAlias = Annotated[float, Ge(0), Le(1), _AS_IT_IS]
_Size: TypeAlias = Annotated[float, _Json(_Number | Literal["inf"], float)]
_End: TypeAlias = Annotated[float, _Json(float | Literal["inf", "-inf"], float)]
_Time: TypeAlias = Annotated[str, _pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$")]
_DIGEST = "[0-9a-f]{64}"
_Signature: TypeAlias = Annotated[str, _pattern("^[A-Za-z0-9+/]{85}[AQgw]==$")]
"""64 bytes in base64: four bits of the last digit are none of theirs, and 0."""
_Entry: TypeAlias = str | bool | int | float | None
_Label: TypeAlias = Annotated[Any, _Json(_Entry | tuple[_Entry, ...])]
_LISTED = Annotated[tuple[tuple[_Label, _Label], ...], Len(1)]
_BRACKET = Annotated[Bracket, _Json(tuple[_Size, _Size], lambda ends: Bracket(lower=ends[0], upper=ends[1]))]
_MEASURED = _record(Verification, pure_loss=_BRACKET, hockey_stick=_BRACKET, epsilon=_Positive)
_Measured: TypeAlias = Annotated[Verification, _MEASURED]
_SAID = _record(Statement, key=_Text, kind=_Text, text=_Text)
_USEFUL = _record(
    Usefulness, spread=_Number, spread_is_bound=bool, constant_error=_Number, constant_error_is_bound=bool
)
_CAP = Annotated[float, Gt(0), _AS_IT_IS] | None
_LEVELS = list[_Entry | list[Any]]
_CHANNEL = _open(
    "Channel",
    cost=Literal["absolute", "change", "share", "given"],
    radius=str | None,
    cap=_CAP,
    preserve=Literal["mean", "marginal"] | None,
    sees=NotRequired[Literal["value", "secret"]],
    reader_loss=NotRequired[_CAP],
    weights=NotRequired[Literal["rows", "secrets"]],
    outputs=NotRequired[_Several],
    columns=NotRequired[list[str]],
    levels=NotRequired[_LEVELS],
    count=NotRequired[_Several],
    expected_error=NotRequired[_Figure],
    lower_bound=NotRequired[_Figure],
    inputs=NotRequired[_LEVELS],
    matrix=NotRequired[list[list[_Share]]],
)
_SCALES = dict[str, _Number]
_GIVEN = tuple[str | bool | int | float, ...]
_STRATUM = _open("Stratum", given=_GIVEN, scales=_SCALES, caps=NotRequired[dict[str, _Number | None]])
_PROCESSED = _entries("Processed", round=bool, clip=tuple[_End, _End] | None)
_REFITS = _open("Refits", delta=_Share, tail=_Figure, auc=_Share)
_ATTACKS = _open("Attacks", rows=_Several, auc=_Share, raw=_Share, shown=_Figure)
_REFINED = _entries("Refined", fingerprint=Annotated[str, _pattern(f"^{_DIGEST}$")], epsilon=_Positive, scales=_SCALES)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTable:
    """How a whole table was released column by column; changes are those under its network, in whole percents."""

    planned: _Several
    """Rows that the plan was made from."""
    trees: _Several
    """Trees of its network."""
    smoothing: _Figure
    """By how many rows each table of the network is drawn towards that of all secrets."""
    order: _Named
    """The columns in the order of their release."""
    derived: Mapping[str, str]
    """Columns that were computed from the release of another one."""
    step: _Share
    """Share of epsilon by which the loss may grow with one column."""
    reader_loss: _Figure
    """Bound of the loss for readers who know the row."""
    cap: _Figure
    """Bound of the loss for any reader."""
    refits: Annotated[Mapping[str, float], _Json(_REFITS)]
    """Under networks fitted again: delta at epsilon, the loss of all but 1 % of the rows, the AUC of the best guess."""
    attacks: Annotated[Mapping[str, float], _Json(_ATTACKS), Since(6)] = field(default_factory=dict)
    """The rows that attackers were tried on, their largest AUC, that from the raw columns, and the loss they showed."""
    changed: Annotated[Mapping[str, _Share], Since(6)] = field(default_factory=dict)
    """Share of the values of a column that become another one, or one of another cell."""
    changed_most: Annotated[Mapping[str, _Share], Since(6)] = field(default_factory=dict)
    """The same of the secret where it is largest."""
    moved: Annotated[Mapping[str, _Figure] | None, _Json(dict[str, _Figure]), Since(6)] = None
    """How far numbers move between cells on average; empty without numbers."""
    in_cells: Annotated[_Names | None, Since(6)] = None
    """Columns of numbers of which one value is released for all of a cell."""
    extra: SkipJsonSchema[Mapping[str, Any]] = field(default_factory=dict)
    """Entries of a later version, kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What a certificate says; `record.Certificate` is it with what can be done with it."""

    __pydantic_config__ = ConfigDict(strict=True, allow_inf_nan=False, extra="forbid")

    subject: _Text
    """What is protected, in words."""
    answers: bool
    """True where the release is a table of answers about all rows, not a row per record."""
    epsilon: _Positive
    """Privacy parameter epsilon."""
    delta: Annotated[_Number, Lt(1)]
    """Privacy parameter delta; 0 is pure privacy."""
    secret: _Named
    """Names of the secret columns; not in the release."""
    secret_values: Annotated[tuple[_Label, ...], Len(0, 12)]
    """Values of the secret that are covered, twelve at most; none for units."""
    secret_count: _Count
    """How many values of the secret are covered; 0 for units."""
    public: _Named
    """Names of the released noisy columns."""
    kept: _Names
    """Names of columns released as they were, outside the guarantee."""
    withheld: _Names
    """Names of columns that were in the table and are not released."""
    pairs: Annotated[ProtectedPairs, _Json(Literal["all", "each"] | _LISTED)]
    """"all", or the pairs of secrets that are protected; "each" for every pair of values of each secret column by
    itself: its secrets are tuples of column and value."""
    beliefs: _Named
    """Names of the adversary's beliefs that the guarantee covers."""
    theorem: _Text
    """The theorem that proposed a scale."""
    source: _Text
    """Paper and number of the theorem."""
    published_scales: Mapping[str, _Size | None]
    """Scale that the theorem asks for, per column, in its units; None where its condition does not exist."""
    calibration: Annotated[str, _Json(Literal["exact", "theorem", "mechanism"])]
    """"exact" (smallest confirmed scale), "theorem", or "mechanism" (whose theorem proves the scale)."""
    noise: _Text
    """Noise family."""
    scales: Mapping[str, _Number]
    """Noise scale per released column, in its units; of strata the largest one."""
    expected_error: Mapping[str, _Size]
    """Mean absolute noise per released column, in its units, over all rows."""
    estimated: Mapping[str, Annotated[Usefulness, _USEFUL]]
    """What the noise is measured against, per column, estimated from the released values."""
    verified: Mapping[str, Annotated[Mapping[str, _Measured], Len(1)]]
    """What the engine measured at the scale, per column and belief."""
    observed: Mapping[str, _Measured]
    """What it measured under the observed frequencies of the released rows, per column, whatever was asked for; of rows
    that are not those of the plan only what is more than was asked for, as any other loss would tell of their secrets.
    """
    adds_up: bool
    """Whether the epsilons of several releases of each column alone add; those of whole rows do where `facts.joint` is
    "coupled"."""
    statements: Annotated[tuple[Annotated[Statement, _SAID], ...], Len(1)]
    """What the guarantee rests on and what it leaves out."""
    reproducible: bool
    """True where the noise came from a seed: then it is not private."""
    rows: _Count
    """Rows of the release."""
    version: _Text
    """Version of puffer_frames."""
    fingerprint: Annotated[str, _pattern(f"^((rows:)?{_DIGEST})?$")]
    """SHA-256 over the names, kinds and values of the released columns; that of a Spark frame begins with "rows:"."""
    wider: Annotated[Mapping[str, Mapping[str, _Size]], Since(1)] = field(default_factory=dict)
    """The loss at the scale, per column, under every law that the table of the plan does not refute at 95 %
    ("population") and under any law on the domain, the range of that table or its levels ("any law"): the pure loss
    where delta is 0, else the delta at epsilon. Where noise for the range was added to rows on a wider one, also
    under any law on theirs ("any law of the rows"), of that column alone. At most these numbers, which are rounded up
    to two digits. Where scales were found together, or columns share one channel, they hold for a whole row, and with
    units for all rows of one."""
    warnings: Annotated[_Named, Since(5)] = ()
    """Keys of the statements that warn of this release: each of them is shown first, and marked."""
    channels: Annotated[Mapping[str, Mapping[str, Any]], _Json(dict[str, _CHANNEL]), Since(2)] = field(
        default_factory=dict
    )
    """For columns that were released through a channel, which have no scale: what counts as error ("cost"), with which
    probability each row may be replaced by anything ("radius"), the loss under any law at all ("cap"), what is kept on
    average ("preserve"); the released levels ("levels") where they are public, and what of the plan the curator chose
    to print: "expected_error", "lower_bound", and "inputs" with "matrix". Labels beside other columns also have their
    number of levels ("count"). Where the error is a mean over the secrets "weights"; how many levels may be released at
    most is "outputs"."""
    given: Annotated[tuple[str, ...], Since(3)] = ()
    """Names of columns that were released as they were, and on which the guarantee conditions."""
    strata: Annotated[tuple[Annotated[Mapping[str, Any], _Json(_STRATUM)], ...], Since(3)] = ()
    """Set where the scale depends on these: per stratum its values ("given") and its scales ("scales"), per column; of
    columns of labels the loss of a label under any law ("caps"), None of labels that stay as they are."""
    unit: Annotated[str | None, Since(3)] = None
    """Name of the column whose rows of one value are protected together, where there is one."""
    unit_rows: Annotated[_Several, Since(3)] = 1
    """The most rows of a unit that are protected together."""
    releases: Annotated[_Several, Since(3)] = 1
    """How many releases of these columns, with these scales, have the guarantee together."""
    refines: Annotated[tuple[Annotated[Mapping[str, Any], _Json(_REFINED)], ...], Since(3)] = ()
    """Earlier releases of the same rows with more noise, the first one first, each with its "fingerprint", "epsilon"
    and "scales" per column: they and this release together have the guarantee of this one."""
    processed: Annotated[Mapping[str, Mapping[str, Any]], _Json(dict[str, _PROCESSED]), Since(4)] = field(
        default_factory=dict
    )
    """What was done to the noisy values of a column, at no cost to the guarantee: "round", whether they were rounded to
    integers, then "clip", the bounds to which they were clipped, or None."""
    table: Annotated[WholeTable | None, _Json(WholeTable), Since(6)] = None
    """How a whole table was released column by column, and what was measured of it."""
    rarest: Annotated[_Count | None, Since(6)] = None
    """Rows that the secret with the fewest has at least: 1,000, 100, 20, or 0 for fewer. None where nothing is known of
    it, of rows that are not those of the plan, and of answers."""
    facts: Facts = field(default_factory=Facts)
    """What else is known of the release, as fields: what its sentences say, for whoever computes with it."""
    issuer: str | None = None
    """Who signs for the release."""
    dataset: str | None = None
    """What the table is."""
    created: _Time | None = None
    """When it was released, in UTC: the day, as 2026-01-31, or what the issuer said, as 2026-01-31T12:00:00Z. None of a
    release from a seed of which nothing was said: it can be made again on any day."""
    intended_use: str | None = None
    """What the release is for."""
    contact: str | None = None
    """Whom to ask."""
    recipients: Annotated[str | None, Since(6)] = None
    """Who gets the release, and under which conditions."""
    legal_basis: Annotated[str | None, Since(6)] = None
    """On what ground in law it is made."""
    review: Annotated[str | None, Since(6)] = None
    """When the release is to be looked at again."""
    rows_per_person: Annotated[str | None, Since(6)] = None
    """What is declared of the rows of a person: "one", or nothing."""
    batch: Annotated[str | None, Since(6)] = None
    """Which part of the data set the rows are, where it is released in batches."""
    batches: Annotated[str | None, Since(6)] = None
    """What is declared of them: "no person is in two", or nothing."""
    derived: bool = False
    """True where the frame or file that holds this record was changed after the release (`attach`)."""
    signed_by: Annotated[Annotated[str, _pattern(f"^{_DIGEST}$")] | None, Since(6)] = None
    """SHA-256 of the public key that checks the signature, in DER (SubjectPublicKeyInfo)."""
    signature: _Signature | None = None
    """Ed25519 signature of the other fields but `derived`, in base64."""
    schema: Annotated[str, _pattern(r"^1\.[0-9]+$")] = SCHEMA
    """Version of the record."""
    extra: SkipJsonSchema[Mapping[str, Any]] = field(default_factory=dict)
    """Fields of a later version, kept as they are."""

    @property
    def useless(self) -> tuple[str, ...]:
        """Columns that one constant is about as near to: as the plan has found, and of other rows, or in a record that
        does not have this, as it is estimated from the released values.
        """
        known, errors = self.facts.useless, self.expected_error
        if has_facts(self.schema) and (self.given or not self.facts.other_rows):  # of strata the mean error says little
            return known
        found = (name for name, one in self.estimated.items() if errors.get(name, 0.0) > one.constant_error)
        return tuple(dict.fromkeys((*known, *found)))

    @property
    def estimated_useless(self) -> str:
        """How it is known of some of these, in words."""
        return ", as estimated from the released values" * bool({*self.useless} - {*self.facts.useless})

    @property
    def changed(self) -> Mapping[str, float]:
        """The share of changed values per column of a whole table, where the record has it."""
        return {} if self.table is None else self.table.changed

    @property
    def has_bounds(self) -> bool:
        """Whether it tells how many of these rows a whole table has changed, at most."""
        table = self.table
        return bool(self.changed) and table is not None and table.in_cells is not None and not self.facts.other_rows

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences of `statements`."""
        return tuple(statement.text for statement in self.statements)


@cache
def later(kind: Any, /) -> Mapping[str, int]:
    """The fields that came later, and from which second number of the schema on there are."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: note.minor for name, hint in hints.items() for note in get_args(hint) if isinstance(note, Since)}


def as_json(value: Any, /) -> Any:
    """A record in JSON types: infinity is a text, and text that UTF-8 cannot hold has escapes."""
    if isinstance(value, Bracket):
        return [as_json(value.lower), as_json(value.upper)]
    if is_dataclass(value):
        kind: Any = type(value)
        said = {each.name: getattr(value, each.name) for each in fields(kind) if not _is_lacking(value, each)}
        return {**said.pop("extra", {}), **{name: as_json(entry) for name, entry in said.items()}}
    if isinstance(value, Mapping):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(entry) for entry in value]
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    broken = isinstance(value, str) and value.encode(errors="replace").decode() != value
    return shown(value) if broken else value


def _is_lacking(record: Any, each: Field[Any]) -> bool:
    kind: Any = type(record)
    default = each.default if each.default_factory is MISSING else each.default_factory()
    return each.name in later(kind) and getattr(record, each.name) == default


def folded(plain: Mapping[str, Any], kind: Any = Fields, /) -> dict[str, Any]:
    """A record, with the entries of a later version under `extra`, as in memory."""
    parts = {"facts": Facts, "table": WholeTable} if kind is Fields else {}
    known = {each.name for each in fields(kind)} - {"extra"}
    found: dict[str, Any] = {"extra": {name: entry for name, entry in plain.items() if name not in known}}
    for name in known & plain.keys():
        entry = plain[name]
        found[name] = folded(entry, parts[name]) if name in parts and isinstance(entry, Mapping) else entry
    return found


def has_facts(schema: str, /) -> bool:
    """Whether records of this schema have facts as fields."""
    return numbers_of(schema)[1] >= _WITH_FACTS


def numbers_of(schema: str, /) -> list[int]:
    """Both numbers of a version of the record; 0 for what is none."""
    first, _, second = schema.partition(".")
    return [int(text) if text.isascii() and text.isdigit() else 0 for text in (first, second)]
