"""The fields of a certificate: their types are the record's JSON Schema, and how it is written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, TypeAlias

from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.forms import (
    Form,
    Since,
    added,
    as_plain,
    by_name,
    entries,
    form_of,
    hints_of,
    limits,
    number_plain,
    raw,
    record,
    since,
)
from puffer_frames.certificates.statement import Statement
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.noise.usefulness import Usefulness
from puffer_frames.priors.pairs import ProtectedPairs

SCHEMA = "1.6"
"""Version of the record: another first number is another meaning; a larger second one adds fields."""


def _as_label(plain: Any) -> Any:
    """A label of a secret: a list stands for several columns."""
    return tuple(plain) if isinstance(plain, list) else plain


_ENTRY = {"type": ["string", "number", "boolean", "null"]}
_LABEL = Form(schema={"oneOf": [_ENTRY, {"type": "array", "items": _ENTRY}]}, write=as_plain, read=_as_label)
_PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "items": _LABEL.schema}
_PAIRS = Form(
    schema={"oneOf": [{"enum": ["all", "each"]}, {"type": "array", "minItems": 1, "items": _PAIR}]},
    write=as_plain,
    read=lambda plain: plain if isinstance(plain, str) else tuple((_as_label(a), _as_label(b)) for a, b in plain),
)
_SIZE = Form(schema={"oneOf": [{"type": "number", "minimum": 0}, {"const": "inf"}]}, write=number_plain, read=float)
_END = Form(schema={"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}, write=number_plain, read=float)
_BRACKET = Form(
    schema={"type": "array", "minItems": 2, "maxItems": 2, "items": _SIZE.schema},
    write=lambda bracket: [number_plain(bracket.lower), number_plain(bracket.upper)],
    read=lambda plain: Bracket(lower=float(plain[0]), upper=float(plain[1])),
)
_Text: TypeAlias = Annotated[str, limits(minLength=1)]
_Count: TypeAlias = Annotated[int, limits(minimum=0)]
_Several: TypeAlias = Annotated[int, limits(minimum=1)]
_Names: TypeAlias = Annotated[tuple[str, ...], limits(uniqueItems=True)]
_Named: TypeAlias = Annotated[_Names, limits(minItems=1)]
_Number: TypeAlias = Annotated[float, limits(minimum=0)]
_Positive: TypeAlias = Annotated[float, limits(exclusiveMinimum=0)]
_Figure: TypeAlias = Annotated[float, raw(type="number", minimum=0)]
"""As the file has it: a signature tells 50 from 50.0."""
_Share: TypeAlias = Annotated[_Figure, limits(maximum=1)]
_Size: TypeAlias = Annotated[float, _SIZE]
_End: TypeAlias = Annotated[float, _END]
_Time: TypeAlias = Annotated[str, limits(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?$")]
_DIGEST = "[0-9a-f]{64}"
_GIVEN: Any = Annotated[Any, raw(type=["string", "number", "boolean"])]
_TEXT, _NUMBER, _SCALES = form_of(_Text), form_of(_Number), form_of(Mapping[str, _Number])

_MEASURED = record(Verification, pure_loss=_BRACKET, hockey_stick=_BRACKET, epsilon=_NUMBER)
_SAID = record(Statement, key=_TEXT, kind=_TEXT, text=_TEXT)
_USEFUL = record(Usefulness, spread=_NUMBER, constant_error=_NUMBER)
_Measured: TypeAlias = Annotated[Verification, _MEASURED]
_LEVELS = raw(type="array", items={"type": ["string", "number", "boolean", "null", "array"]})
_SHARES = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}}
_CHANNEL = entries(
    optional=(
        *("columns", "levels", "inputs", "count", "matrix", "expected_error", "lower_bound"),
        *("sees", "reader_loss", "weights", "outputs"),
    ),
    closed=False,
    cost=raw(enum=["absolute", "change", "share", "given"]),
    radius=raw(type=["string", "null"]),
    cap=raw(oneOf=[{"type": "null"}, {"type": "number", "exclusiveMinimum": 0}]),
    preserve=raw(enum=["mean", "marginal", None]),
    sees=raw(enum=["value", "secret"]),
    reader_loss=raw(oneOf=[{"type": "null"}, {"type": "number", "exclusiveMinimum": 0}]),
    weights=raw(enum=["rows", "secrets"]),
    outputs=raw(type="integer", minimum=1),
    columns=raw(type="array", items={"type": "string"}),
    levels=_LEVELS,
    inputs=_LEVELS,
    count=raw(type="integer", minimum=1),
    matrix=raw(type="array", items=_SHARES),
    expected_error=raw(type="number", minimum=0),
    lower_bound=raw(type="number", minimum=0),
)
_CAPS = form_of(Mapping[str, _Number | None])
_STRATUM = entries(optional=("caps",), closed=False, given=form_of(tuple[_GIVEN, ...]), scales=_SCALES, caps=_CAPS)
_PROCESSED = entries(round=form_of(bool), clip=form_of(tuple[_End, _End] | None))
_SHARE, _FIGURE = form_of(_Share), form_of(_Figure)
_REFITS = entries(closed=False, delta=_SHARE, tail=_FIGURE, auc=_SHARE)
_ATTACKS = entries(closed=False, rows=form_of(_Several), auc=_SHARE, raw=_SHARE, shown=_FIGURE)
_REFINED = entries(fingerprint=raw(type="string", pattern=f"^{_DIGEST}$"), epsilon=form_of(_Positive), scales=_SCALES)


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
    refits: Annotated[Mapping[str, float], _REFITS]
    """Under networks fitted again: delta at epsilon, the loss of all but 1 % of the rows, the AUC of the best guess."""
    attacks: Annotated[Mapping[str, float], _ATTACKS, Since(minor=6)] = field(default_factory=dict)
    """The rows that attackers were tried on, their largest AUC, that from the raw columns, and the loss they showed."""
    changed: Annotated[Mapping[str, _Share], Since(minor=6)] = field(default_factory=dict)
    """Share of the values of a column that become another one, or one of another cell."""
    changed_most: Annotated[Mapping[str, _Share], Since(minor=6)] = field(default_factory=dict)
    """The same of the secret where it is largest."""
    moved: Annotated[Mapping[str, _Figure] | None, form_of(Mapping[str, _Figure]), Since(minor=6)] = None
    """How far numbers move between cells on average; empty without numbers."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Entries of a later version, kept as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What a certificate says; `record.Certificate` is it with what can be done with it."""

    subject: _Text
    """What is protected, in words."""
    answers: bool
    """True where the release is a table of answers about all rows, not a row per record."""
    epsilon: _Positive
    """Privacy parameter epsilon."""
    delta: Annotated[_Number, limits(exclusiveMaximum=1)]
    """Privacy parameter delta; 0 is pure privacy."""
    secret: _Named
    """Names of the secret columns; not in the release."""
    secret_values: Annotated[tuple[Annotated[Any, _LABEL], ...], limits(maxItems=12)]
    """Values of the secret that are covered, twelve at most; none for units."""
    secret_count: _Count
    """How many values of the secret are covered; 0 for units."""
    public: _Named
    """Names of the released noisy columns."""
    kept: _Names
    """Names of columns released as they were, outside the guarantee."""
    withheld: _Names
    """Names of columns that were in the table and are not released."""
    pairs: Annotated[ProtectedPairs, _PAIRS]
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
    calibration: Annotated[str, raw(enum=["exact", "theorem", "mechanism"])]
    """"exact" (smallest confirmed scale), "theorem", or "mechanism" (whose theorem proves the scale)."""
    noise: _Text
    """Noise family."""
    scales: Mapping[str, _Number]
    """Noise scale per released column, in its units; of strata the largest one."""
    expected_error: Mapping[str, _Size]
    """Mean absolute noise per released column, in its units, over all rows."""
    estimated: Mapping[str, Annotated[Usefulness, _USEFUL]]
    """What the noise is measured against, per column, estimated from the released values."""
    verified: Mapping[str, Annotated[Mapping[str, _Measured], limits(minProperties=1)]]
    """What the engine measured at the scale, per column and belief."""
    observed: Mapping[str, _Measured]
    """What it measured under the observed frequencies of the released rows, per column, whatever was asked for."""
    adds_up: bool
    """Whether the epsilons of several releases of each column alone add; those of whole rows do where `facts.joint` is
    "coupled"."""
    statements: Annotated[tuple[Annotated[Statement, _SAID], ...], limits(minItems=1)]
    """What the guarantee rests on and what it leaves out."""
    reproducible: bool
    """True where the noise came from a seed: then it is not private."""
    rows: _Count
    """Rows of the release."""
    version: _Text
    """Version of puffer_frames."""
    fingerprint: Annotated[str, limits(pattern=f"^((rows:)?{_DIGEST})?$")]
    """SHA-256 over the names, kinds and values of the released columns; that of a Spark frame begins with "rows:"."""
    wider: Annotated[Mapping[str, Mapping[str, _Size]], Since(minor=1)] = field(default_factory=dict)
    """The loss at the scale, per column, under every law that the table of the plan does not refute at 95 %
    ("population") and under any law on the domain, the range of that table or its levels ("any law"): the pure loss
    where delta is 0, else the delta at epsilon. At most these numbers, which are rounded up to two digits. Where scales
    were found together, or columns share one channel, they hold for a whole row, and with units for all rows of one."""
    warnings: Annotated[tuple[_Text, ...], Since(minor=5), limits(minItems=1, uniqueItems=True)] = ()
    """Keys of the statements that warn of this release: each of them is shown first, and marked."""
    channels: Annotated[Mapping[str, Mapping[str, Any]], by_name(_CHANNEL), Since(minor=2)] = field(
        default_factory=dict
    )
    """For columns that were released through a channel, which have no scale: what counts as error ("cost"), with which
    probability each row may be replaced by anything ("radius"), the loss under any law at all ("cap"), what is kept on
    average ("preserve"); the released levels ("levels") where they are public, and what of the plan the curator chose
    to print: "expected_error", "lower_bound", and "inputs" with "matrix". Labels beside other columns also have their
    number of levels ("count"). Where the error is a mean over the secrets "weights"; how many levels may be released at
    most is "outputs"."""
    given: Annotated[tuple[str, ...], Since(minor=3)] = ()
    """Names of columns that were released as they were, and on which the guarantee conditions."""
    strata: Annotated[tuple[Annotated[Mapping[str, Any], _STRATUM], ...], Since(minor=3)] = ()
    """Set where the scale depends on these: per stratum its values ("given") and its scales ("scales"), per column; of
    columns of labels the loss of a label under any law ("caps"), None of labels that stay as they are."""
    unit: Annotated[str | None, Since(minor=3)] = None
    """Name of the column whose rows of one value are protected together, where there is one."""
    unit_rows: Annotated[_Several, Since(minor=3)] = 1
    """The most rows of a unit that are protected together."""
    releases: Annotated[_Several, Since(minor=3)] = 1
    """How many releases of these columns, with these scales, have the guarantee together."""
    refines: Annotated[tuple[Annotated[Mapping[str, Any], _REFINED], ...], Since(minor=3)] = ()
    """Earlier releases of the same rows with more noise, the first one first, each with its "fingerprint", "epsilon"
    and "scales" per column: they and this release together have the guarantee of this one."""
    processed: Annotated[Mapping[str, Mapping[str, Any]], by_name(_PROCESSED), Since(minor=4)] = field(
        default_factory=dict
    )
    """What was done to the noisy values of a column, at no cost: "round", whether they were rounded to integers, then
    "clip", the bounds to which they were clipped, or None."""
    table: Annotated[WholeTable | None, record(WholeTable), Since(minor=6)] = None
    """How a whole table was released column by column, and what was measured of it."""
    rarest: Annotated[_Count | None, Since(minor=6)] = None
    """Rows that the secret with the fewest has at least: 1,000, 100, 20, or 0 for fewer. None where nothing is known of
    it, and of answers."""
    facts: Annotated[Facts, Since(minor=6)] = field(default_factory=Facts)
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
    recipients: Annotated[str | None, Since(minor=6)] = None
    """Who gets the release, and under which conditions."""
    legal_basis: Annotated[str | None, Since(minor=6)] = None
    """On what ground in law it is made."""
    review: Annotated[str | None, Since(minor=6)] = None
    """When the release is to be looked at again."""
    batch: Annotated[str | None, Since(minor=6)] = None
    """Which part of the data set the rows are, where it is released in batches."""
    batches: Annotated[str | None, Since(minor=6)] = None
    """What is declared of them: "no person is in two", or nothing."""
    derived: bool = False
    """True where the frame or file that holds this record was changed after the release (`attach`)."""
    signature: str | None = None
    """Ed25519 signature of the other fields but `derived`, in base64."""
    schema: Annotated[str, limits(pattern=r"^1\.[0-9]+$")] = SCHEMA
    """Version of the record."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a later version, kept as they are."""

    @property
    def useless(self) -> tuple[str, ...]:
        """Columns whose noise is larger than the error of one constant, their median, in place of every value."""
        errors = self.expected_error
        return tuple(name for name, one in self.estimated.items() if errors.get(name, 0.0) > one.constant_error)

    @property
    def changed(self) -> Mapping[str, float]:
        """The share of changed values per column of a whole table, where the record has it."""
        return {} if self.table is None else self.table.changed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences of `statements`."""
        return tuple(statement.text for statement in self.statements)

    def has(self, name: str, /) -> bool:
        """Whether the record has this field: it lacks facts before their schema, and others that are the default.

        Records of earlier versions have no such fields, and a signature covers what there is.
        """
        if name == "facts":
            return has_facts(self.schema)
        return name not in added(Fields) or getattr(self, name) != added(Fields)[name]


FORMS: Mapping[str, Form] = {name: form_of(hint) for name, hint in hints_of(Fields).items()}
"""How each field is written."""
REQUIRED = [each.name for each in fields(Fields) if each.default is MISSING and each.default_factory is MISSING]
"""Fields that every record has, beside its version."""


def has_facts(schema: str, /) -> bool:
    """Whether records of this schema have facts as fields."""
    return numbers_of(schema)[1] >= since(hints_of(Fields)["facts"])


def numbers_of(schema: str, /) -> list[int]:
    """Both numbers of a version of the record; 0 for what is none."""
    first, _, second = schema.partition(".")
    return [int(text) if text.isascii() and text.isdigit() else 0 for text in (first, second)]
