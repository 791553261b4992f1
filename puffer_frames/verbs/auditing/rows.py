"""The rows of a release beside those of its original."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame, not_found
from puffer_frames.frames.side_by_side import PlainColumn, read_columns
from puffer_frames.priors.prior import IndexArray
from puffer_frames.verbs.auditing.columns import ReleasedColumn, RowStrata, column_of, listed_key
from puffer_frames.verbs.auditing.guesser import PairOfCodes

_MOST_PAIRS, _FEWEST_PAIRS = 300, 6
_MOST_STRATA = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Secrets:
    """A secret column, or several as one."""

    names: tuple[str, ...]
    """Its columns."""
    codes: IndexArray
    """Numbers of the secrets, shape (n,)."""
    labels: tuple[str, ...]
    """The secrets, as text."""
    pairs: tuple[PairOfCodes, ...]
    """Which are protected, those with most rows first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditRows:
    """What an audit looks at."""

    certificate: Certificate
    original: Mapping[str, PlainColumn]
    """All columns of the original, the rows of the release."""
    released: Mapping[str, PlainColumn]
    """All columns of the release."""
    columns: tuple[ReleasedColumn, ...]
    """The certified columns that both have."""
    secrets: tuple[Secrets, ...]
    strata: RowStrata
    """The given columns."""
    shuffled: bool
    """Whether the rows were put into a random order: they cannot be compared one by one."""
    rows: int


def rows_of(
    original: NativeFrame, released: NativeFrame, certificate: Certificate, /, *, secret: Sequence[str] | None
) -> AuditRows:
    """Read both, and lay them side by side.

    Raises ArgumentTypeError for a frame that is not in memory; ColumnNotFoundError where the original lacks the secret;
    ArgumentError where the rows of the original are not as many as those of the release.
    """
    known = (*certificate.public, *certificate.kept, *certificate.given)
    after = read_columns(released, role="released", known=known, rows=certificate.rows)
    before = read_columns(original, role="original", known=known, rows=certificate.rows)
    names = tuple(certificate.secret if secret is None else secret)
    for name in names:
        if name not in before:
            raise not_found("secret", name, list(before))
    rows = len(next(iter(after.values())).codes) if after else 0
    if not rows:
        raise ArgumentError("released", rule="a release with rows", got="0 rows", hint="Give the whole release.")
    before = _complete(before, [*names, *certificate.public, *certificate.given], rows)
    strata = _strata(certificate, before if certificate.facts.shuffled else after, rows)
    columns = tuple(
        column_of(certificate, name, before[name], after[name], strata)
        for name in certificate.public
        if name in before and name in after
    )
    for column in columns:
        if column.noise is not None and np.isnan(column.before).any():
            raise _another(f"missing values of {column.name!r}, or codes for them, which got no noise")
    each = certificate.pairs == "each" and secret is None
    groups = (
        [_secrets((name,), before, certificate, own=each) for name in names]
        if each
        else [_secrets(names, before, certificate, own=secret is None)]
    )
    return AuditRows(
        certificate=certificate,
        original=before,
        released=after,
        columns=columns,
        secrets=tuple(groups),
        strata=strata,
        shuffled=certificate.facts.shuffled,
        rows=rows,
    )


def _complete(columns: Mapping[str, PlainColumn], names: Sequence[str], rows: int) -> Mapping[str, PlainColumn]:
    """The rows that were released: all, or those without a missing entry."""
    count = len(next(iter(columns.values())).codes) if columns else 0
    if count == rows:
        return columns
    whole = np.ones(count, dtype=bool)
    for name in names:
        if name in columns:
            whole &= ~columns[name].missing
    if int(whole.sum()) == rows:
        return {name: each.part(whole) for name, each in columns.items()}
    raise _another(f"{count:,} rows, {int(whole.sum()):,} of them complete, for {rows:,} released ones")


def _another(got: str) -> ArgumentError:
    return ArgumentError(
        "the original",
        rule="the table that was released, row by row",
        got=got,
        hint="Give the table that privatize was called with, with its null_values, and all rows of the release, in its "
        "order. Rows of units that were drawn at random (over='sample') cannot be found again.",
    )


def _secrets(
    names: tuple[str, ...], columns: Mapping[str, PlainColumn], certificate: Certificate, *, own: bool
) -> Secrets:
    joint = _joint_levels(names, columns)
    every = list(itertools.combinations(range(len(joint.levels)), 2))
    if own and not isinstance(certificate.pairs, str):
        wanted = {frozenset(map(listed_key, pair)) for pair in certificate.pairs}
        keys = [listed_key(level) for level in joint.levels]
        every = [(s, t) for s, t in every if frozenset((keys[s], keys[t])) in wanted]
    counts = np.bincount(joint.codes)
    every.sort(key=lambda pair: -min(counts[pair[0]], counts[pair[1]]))
    return Secrets(names=names, codes=joint.codes, labels=joint.labels, pairs=tuple(every))


def _joint_levels(names: Sequence[str], columns: Mapping[str, PlainColumn]) -> RowStrata:
    rows = np.column_stack([columns[name].codes for name in names])
    distinct, codes = np.unique(rows, axis=0, return_inverse=True)
    levels = tuple(
        tuple(None if code < 0 else columns[name].levels[code] for name, code in zip(names, row, strict=True))
        for row in distinct.tolist()
    )
    labels = tuple(", ".join(str(_plain(entry)) for entry in level) for level in levels)
    return RowStrata(codes=codes.reshape(-1), labels=labels, levels=levels)


def _plain(entry: Any) -> Any:
    return int(entry) if isinstance(entry, float) and entry.is_integer() else entry


def _strata(certificate: Certificate, columns: Mapping[str, PlainColumn], rows: int) -> RowStrata:
    """By the given columns of the release, or of the original where the rows of the release are in another order."""
    given = [name for name in certificate.given if name in columns]
    if not given:
        return RowStrata(codes=np.zeros(rows, dtype=np.intp), labels=("",), levels=((),))
    return _joint_levels(given, columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """The rows of one stratum, and one secret of them."""

    names: tuple[str, ...]
    """The columns of the secret."""
    rows: IndexArray
    """Places of the rows."""
    columns: tuple[ReleasedColumn, ...]
    codes: IndexArray
    """Numbers of the secrets among those `present`."""
    present: IndexArray
    """Which secrets occur here."""
    labels: tuple[str, ...]
    """Theirs."""
    pairs: tuple[PairOfCodes, ...]
    """Protected pairs of these."""
    stratum: str


def views_of(rows: AuditRows, /) -> Iterator[View]:
    """Every secret in every stratum; of many strata or pairs those with most rows."""
    most = max(_FEWEST_PAIRS, _MOST_PAIRS // min(len(rows.strata.labels), _MOST_STRATA))
    counts = np.bincount(rows.strata.codes, minlength=len(rows.strata.labels))
    for stratum in np.argsort(-counts, kind="stable")[:_MOST_STRATA].tolist():
        places = np.flatnonzero(rows.strata.codes == stratum)
        for group in rows.secrets:
            present, codes = np.unique(group.codes[places], return_inverse=True)
            number = {int(code): k for k, code in enumerate(present)}
            pairs = tuple((number[s], number[t]) for s, t in group.pairs if s in number and t in number)[:most]
            if pairs:
                yield View(
                    names=group.names,
                    rows=places,
                    columns=tuple(each.part(places) for each in rows.columns),
                    codes=codes.reshape(-1),
                    present=present,
                    labels=tuple(group.labels[code] for code in present),
                    pairs=pairs,
                    stratum=rows.strata.labels[stratum],
                )
