"""The fields of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from puffer_frames.certificates.statement import Statement
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.usefulness import Usefulness
from puffer_frames.priors.pairs import ProtectedPairs

SCHEMA = "1.5"
"""Version of the record: another first number is another meaning; a larger second one adds fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """What a certificate says; `record.Certificate` is it with what can be done with it."""

    subject: str
    """What is protected, in words."""
    answers: bool
    """True where the release is a table of answers about all rows, not a row per record."""
    epsilon: float
    """Privacy parameter epsilon."""
    delta: float
    """Privacy parameter delta; 0 is pure privacy."""
    secret: tuple[str, ...]
    """Names of the secret columns; not in the release."""
    secret_values: tuple[Any, ...]
    """Values of the secret that are covered, twelve at most; none for units."""
    secret_count: int
    """How many values of the secret are covered; 0 for units."""
    public: tuple[str, ...]
    """Names of the released noisy columns."""
    kept: tuple[str, ...]
    """Names of columns released as they were, outside the guarantee."""
    withheld: tuple[str, ...]
    """Names of columns that were in the table and are not released."""
    pairs: ProtectedPairs
    """"all", or the pairs of secrets that are protected; "each" for every pair of values of each secret column by
    itself: its secrets are tuples of column and value."""
    beliefs: tuple[str, ...]
    """Names of the adversary's beliefs that the guarantee covers."""
    theorem: str
    """The theorem that proposed a scale."""
    source: str
    """Paper and number of the theorem."""
    published_scales: Mapping[str, float | None]
    """Scale that the theorem asks for, per column, in its units; None where its condition does not exist."""
    calibration: str
    """"exact" (smallest confirmed scale), "theorem", or "mechanism" (whose theorem proves the scale)."""
    noise: str
    """Noise family."""
    scales: Mapping[str, float]
    """Noise scale per released column, in its units; of strata the largest one."""
    expected_error: Mapping[str, float]
    """Mean absolute noise per released column, in its units, over all rows."""
    estimated: Mapping[str, Usefulness]
    """What the noise is measured against, per column, estimated from the released values."""
    verified: Mapping[str, Mapping[str, Verification]]
    """What the engine measured at the scale, per column and belief."""
    observed: Mapping[str, Verification]
    """What it measured under the observed frequencies of the released rows, per column, whatever was asked for."""
    adds_up: bool
    """Whether the epsilons of several releases of the same values add."""
    statements: tuple[Statement, ...]
    """What the guarantee rests on and what it leaves out."""
    reproducible: bool
    """True where the noise came from a seed: then it is not private."""
    rows: int
    """Rows of the release."""
    version: str
    """Version of puffer_frames."""
    fingerprint: str
    """SHA-256 over the names, kinds and values of the released columns; that of a Spark frame begins with "rows:"."""
    wider: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The loss at the scale, per column, under every law that the table of the plan does not refute at 95 %
    ("population") and under any law on the domain, the range of that table or its levels ("any law"): the pure loss
    where delta is 0, else the delta at epsilon. At most these numbers, which are rounded up to two digits. Of columns
    whose scales were found together, or that have one channel, they are of a row."""
    warnings: tuple[str, ...] = ()
    """Keys of the statements that warn of this release: each of them is shown first, and marked."""
    channels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of columns that were released through a channel, which have no scale: what counts as error ("cost"), with which
    probability each row may be replaced by anything ("radius"), the loss under any law at all ("cap"), what is kept on
    average ("preserve"); the released levels ("levels") where they are public, and what of the plan the curator chose
    to print: "expected_error", "lower_bound", and "inputs" with "matrix". Of labels beside other columns also how many
    levels there are ("count")."""
    given: tuple[str, ...] = ()
    """Names of columns that were released as they were, and on which the guarantee conditions."""
    strata: tuple[Mapping[str, Any], ...] = ()
    """Where the scale depends on these: per stratum its values ("given") and its scales ("scales"), per column; of
    columns of labels the loss of a label under any law ("caps"), None of labels that stay as they are."""
    unit: str | None = None
    """Name of the column whose rows of one value are protected together, where there is one."""
    unit_rows: int = 1
    """So many rows of a unit, at most, are protected together."""
    releases: int = 1
    """So many releases of these columns, with these scales, have the guarantee together."""
    refines: tuple[Mapping[str, Any], ...] = ()
    """Earlier releases of the same rows with more noise, the first one first, each with its "fingerprint", "epsilon"
    and "scales" per column: they and this release together have the guarantee of this one."""
    processed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was done to the noisy values of a column, at no cost: "round", whether they were rounded to integers, then
    "clip", the bounds to which they were clipped, or None."""
    issuer: str | None = None
    """Who signs for the release."""
    dataset: str | None = None
    """What the table is."""
    created: str | None = None
    """When it was released: UTC, as 2026-01-31T12:00:00Z."""
    intended_use: str | None = None
    """What the release is for."""
    contact: str | None = None
    """Whom to ask."""
    derived: bool = False
    """True where the frame or file that holds this record was changed after the release (`attach`)."""
    signature: str | None = None
    """Ed25519 signature of the other fields but `derived`, in base64."""
    schema: str = SCHEMA
    """Version of the record."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a later version, kept as they are."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The sentences of `statements`."""
        return tuple(statement.text for statement in self.statements)
