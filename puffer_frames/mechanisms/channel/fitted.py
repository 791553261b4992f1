"""The plan of a release through a channel: from counts of the table to exact weights, without seeing a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import NoneType
from typing import Self, cast

import numpy as np

from puffer_frames.certificates.build import warn_of_weakness
from puffer_frames.certificates.sentences import warn_of
from puffer_frames.errors import ArgumentError, NoNoiseNeededError
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import CompleteRows, Table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel.best import FoundChannel, find
from puffer_frames.mechanisms.channel.measure import Adversary, adversaries, largest_loss, loss_of_channel
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import (
    MOST_MERGED,
    InputColumn,
    LevelTable,
    cost_word,
    known_numbers,
    label_column,
    number_column,
    tuple_column,
)
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import Fitted, named_secrets
from puffer_frames.noise.adding import Draw, Levels
from puffer_frames.noise.channel import ChannelTable, JointLevels, LabelChannel, NumberChannel, is_unmixable
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.priors.pairs import Pairs, by_column, check_pairs, pairs_within
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Level, LevelCounts, Summary, joint_levels, typed
from puffer_frames.scales.cautions import warn_of_few_rows, warn_of_marks, warn_of_texts, warn_of_values
from puffer_frames.scales.learned import ROOT_WORDS
from puffer_frames.scales.utility import FAR_MEAN, NEARLY, Shift, Utility, shift_of

CONFIDENCE = 0.95
MUCH_MERGED = 0.1
"""There is a warning where the levels of more of the rows were merged."""
_SELDOM = 0.1
"""A level that comes less than so many times as often is hardly ever released."""
_ERRORS = 3.0
"""A level is missed that has so many standard errors of its rows fewer in a release: of one that is never released
those of 10 rows."""
_NOTHING = 1e-12
"""Rows that are changed, as a share of all, where a channel is not needed."""


def roles_of(roles: Roles, table: Table, /) -> Roles:
    """The roles, with the public columns as ones of labels where they are."""
    coded = tuple(name for name in roles.public if table.kind_of(name) != "numbers")
    if len(roles.public) > 1:
        return roles.counting(coded)
    return replace(roles, coded=coded, most_levels=MOST_MERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the rows say of the public column; of several, of their joint levels."""

    found: LevelCounts | Summary

    @classmethod
    def of(cls, rows: CompleteRows, request: Request, /, *, coded: bool) -> Seen:
        """Count the rows by level, or by number."""
        name = request.public[0]
        if len(request.public) > 1:
            return cls(found=joint_levels(rows.level_counts(name), own=len(request.secret)))
        return cls(found=rows.level_counts(name) if coded else rows.summaries(request.domain)[name])

    def protected(self, request: Request, /) -> Seen:
        """By what is protected: the joint value of the secret columns, or the values of each by itself."""
        if not request.apart:
            return self
        return Seen(found=self.found.grouped(by_column(self.found.counts, request.secret)))

    def with_levels(self, request: Request, /) -> Request:
        """The request, in which two whole numbers are the levels of a column whose labels are whole numbers."""
        name, found = request.public[0], self.found
        ends = request.domain.get(name, ())
        if len(request.public) > 1 or not ends or not isinstance(found, LevelCounts):
            return request
        whole = all(type(level) in (int, NoneType) for level in found.levels)
        if not whole or not all(end.is_integer() for end in ends):
            return request
        return replace(request, domain={}, declared={name: tuple(map(int, ends))})

    def checksum(self) -> str:
        """Equal for frames with the same rows in any order."""
        return self.found.checksum()

    def column(self, request: Request, options: Channel, /) -> InputColumn:
        """The inputs of the channel."""
        if len(request.public) > 1:
            return tuple_column(self._levels(), options, columns=request.public, declared=request.declared)
        declared = request.declared.get(request.public[0])
        if isinstance(self.found, LevelCounts):
            if request.domain:
                raise ArgumentError(
                    "domain", rule="a list of levels for a column of labels", got="(low, high)", hint="List all levels."
                )
            if declared is not None and request.nulls == "level":  # which says that there may be a missing one
                declared = tuple(dict.fromkeys((*declared, None)))
            return label_column(
                request.public[0], self.found, options, declared=declared, merge_rare=request.merge_rare
            )
        if request.merge_rare is not None or request.nulls == "level":
            word = "merge_rare" if request.merge_rare is not None else "nulls"
            raise ArgumentError(word, rule="for a column of labels", got="numbers", hint="Leave it out.")
        return number_column(self.found, options, declared=_numbers(declared))

    def warn_of_values(self, request: Request, /) -> None:
        """Warn of numbers written as text, unless the levels are declared, and of codes among numbers."""
        found, public = self.found, request.public
        if isinstance(found, Summary):
            if public[0] not in request.domain:
                warn_of_values(public[0], found)
            return
        levels = [found.levels] if len(public) == 1 else zip(*map(tuple, found.levels), strict=True)  # type: ignore[arg-type]
        for name, own in zip(public, levels, strict=True):
            if name not in request.declared:
                warn_of_texts(name, dict.fromkeys(own))

    def _levels(self) -> LevelCounts:
        assert isinstance(self.found, LevelCounts)
        return self.found

    def counts(self, column: InputColumn, /) -> LevelTable:
        """Rows of each input of a plan, per secret; raises CalibrationError for levels that it does not have."""
        if isinstance(self.found, LevelCounts):
            return column.labelled(self.found)
        known_numbers(column, self.found)
        return {secret: column.counted(pair) for secret, pair in self.found.counts.items()}

    def unsure(self, column: InputColumn, /) -> dict[Secret, Fraction]:
        """The share of the rows of each secret of which it is not known which input of a plan they are."""
        if isinstance(self.found, LevelCounts):
            return dict.fromkeys(self.found.counts, Fraction(0))
        radius = self.found.radius
        return {
            secret: Fraction(column.unsure(pair, radius=radius), int(pair[1].sum()))
            for secret, pair in self.found.counts.items()
        }


def _numbers(declared: Sequence[object] | None) -> list[float] | None:
    if declared is None:
        return None
    if not all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in declared):
        raise ArgumentError(
            "domain", rule="numbers for a column of numbers", got="other levels", hint="Write (low, high), or a range."
        )
    return [float(level) for level in declared]  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelShift(Shift):
    """How far the shares of the levels of a column in a release are from those of the table."""

    lost: tuple[Level, ...]
    """Levels that are hardly ever released."""
    is_missed: bool
    """Whether so many rows have these that chance does not explain it, or one of these."""

    @classmethod
    def of(cls, raw: Mapping[tuple[type, Level], float], after: FloatArray, /, *, rows: int) -> Self:
        """For the share of each level in a table of so many rows, and in a release."""
        before = np.array(list(raw.values()))
        own, seldom = shift_of(before, after), after < _SELDOM * before
        gone = (before - after)[seldom]
        return cls(
            shift=max(own.shift, float(gone.sum())),
            times=own.times,
            lost=tuple(level for (_, level), is_lost in zip(raw, seldom.tolist(), strict=True) if is_lost),
            is_missed=bool((rows * gone > _ERRORS * np.sqrt(rows * before[seldom])).any()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFit(Fitted[Seen]):
    """What is to be released, through which channel, and why. It holds exact statistics of every secret."""

    request: Request
    options: Channel
    pairs: Pairs
    column: InputColumn
    beliefs: Mapping[str, Adversary]
    channel: FoundChannel
    rows_per_secret: Mapping[Secret, int]
    rows: int
    observed: Verification
    """The loss under the observed frequencies."""
    population: Verification
    """The loss under every law of these levels that the table does not refute at 95 %."""

    @classmethod
    def of(cls, request: Request, options: Channel, seen: Seen, /) -> Self:
        """The plan for a table; raises as `puffer_frames.calibrate`."""
        request = seen.with_levels(request)
        if request.apart and options.sees_secret:
            raise ArgumentError(
                "secrets",
                rule='"joint" for a channel that sees the secret',
                got='"each"',
                hint="Leave it out, or protect each column by a release of its own.",
            )
        column, number = seen.column(request, options), sum(seen.found.rows_per_secret.values())
        if request.apart:
            groups = by_column(column.counts, request.secret)
            column, pairs = column.grouped(groups), pairs_within(groups)
        else:
            pairs = check_pairs(request.pairs, list(column.counts), nulls=request.nulls)
        rows = {secret: int(counts.sum()) for secret, counts in column.counts.items()}
        named = named_secrets(pairs, rows)
        beliefs = adversaries(request.beliefs, column, options, secrets=named)
        channel = find(
            tuple(laws for belief in beliefs.values() for laws in belief.laws),
            column,
            target=request.target,
            pairs=pairs,
            options=options,
        )
        _require_change(channel, request, in_cells=column.in_cells)
        if column.in_cells or column.is_partial:  # a mechanism with other outputs may do better
            channel = replace(channel, lower_bound=0.0)
        warn_of_weakness(request.target, rows=number)
        if options.sees_secret and options.reader_cap is None:
            cap = options.cap
            most = "nothing bounds what it learns" if cap is None else f"it may come near a loss of {cap:g}"
            warn_of("channel-reader-any", most=most)
        warn_of_few_rows({label: rows[label] for label in named})
        warn_of_marks(rows)
        seen.warn_of_values(request)
        counts = {secret: column.counts[secret] for secret in named}
        observed, population = (
            loss_of_channel(counts, channel, pairs=pairs, epsilon=request.target.epsilon, confidence=confidence)
            for confidence in (None, CONFIDENCE)
        )
        return cls(
            request=request,
            options=options,
            pairs=pairs,
            column=column,
            beliefs=beliefs,
            channel=channel,
            rows_per_secret=rows,
            rows=number,
            observed=observed,
            population=population,
        )

    @property
    def name(self) -> str:
        """Name of the public column, or of several."""
        return ", ".join(self.request.public)

    @property
    def radius(self) -> str | None:
        """With which probability each row is replaced, in words; None where the observed frequencies are no belief."""
        return radius_words(self.options, self.secrets) if "empirical" in self.beliefs else None

    @property
    def is_brittle(self) -> bool:
        """Whether under some law of the levels the loss may have no bound."""
        any_law = (
            all(law.replaced == 1 for law in laws.values()) for each in self.beliefs.values() for laws in each.laws
        )
        return self.options.cap is None and (self.request.target.delta > 0 or not any(any_law))

    @property
    def merged(self) -> tuple[int, float]:
        """How many rare levels were merged, or renamed, and their share of the rows."""
        levels, codes, pooled = self.column.levels, self.column.codes or {}, self.column.pooled
        into = {code for level, code in codes.items() if levels[code] != level}
        return sum(code in into for code in codes.values()), float(pooled[list(into)].sum() / pooled.sum())

    @property
    def is_much_merged(self) -> bool:
        """Whether so many rows lose their level before the channel, whose error does not count them."""
        levels, share = self.merged
        return levels > 1 and share > MUCH_MERGED

    @property
    def largest_loss(self) -> float:
        """The pure loss under any law of the levels."""
        return largest_loss(self.channel)

    def column_errors(self) -> dict[str, tuple[float, float]]:
        """Share of the labels of each column that are changed, and by its most frequent one for all; of several."""
        if len(self.request.public) == 1:
            return {}
        joint, found = self.channel.joint, {}
        for k, name in enumerate(self.request.public):
            inputs, outputs = (
                [cast(Levels, level)[k] for level in levels] for levels in (self.column.levels, self.channel.outputs)
            )
            changed = np.array([[x != y for y in outputs] for x in inputs])
            most = max(float(joint[[x == level for x in inputs]].sum()) for level in set(inputs))
            found[name] = float((joint * changed).sum()), 1.0 - most
        return found

    def useless_columns(self) -> tuple[str, ...]:
        """Columns that a constant is about as near to, of several each by itself."""
        if 0 < self.channel.expected_error >= NEARLY * self.channel.constant_error:
            return self.request.public
        errors = self.column_errors().items()
        return tuple(name for name, (error, constant) in errors if constant and error >= NEARLY * constant)

    @property
    def is_lost(self) -> bool:
        """Whether its table is published in vain: it has no inverse."""
        return self.options.publish_matrix and not is_unmixable(self.channel.matrix)

    @property
    def utility(self) -> Utility | None:
        """What a release makes of a column of numbers; of cells by their medians, but for the mean. None of labels, and
        of numbers of which the share of changes is the error.
        """
        if self.means is None:
            return None
        found = replace(self.channel.utility, moved=-float(np.subtract(*self.means).sum()))
        # a cell is no value of many rows, and what is lost of the outer ones the mean tells
        return replace(found, times=1.0, beyond=0.0) if self.column.in_cells else found

    @property
    def means(self) -> tuple[FloatArray, FloatArray] | None:
        """What the rows of each input add to the mean of a column of numbers: in the table, and in a release on
        average; None as `utility`.
        """
        column, channel, cost = self.column, self.channel, cost_word(self.column.levels, self.options.cost)
        if column.edges is None or cost == "change":
            return None
        shares, levels = column.pooled / column.pooled.sum(), np.array(column.levels, dtype=np.float64)
        # no row of a later cell is below the first level, and none of the first above the last: what these levels cost
        # in place of the rows tells their mean
        raw = np.append(levels[-1] - column.cost[0, -1], levels[0] + column.cost[1:, 0])
        raw = raw if cost == "absolute" else levels
        return shares * raw, shares * (channel.matrix @ np.array(channel.outputs, dtype=np.float64))

    @property
    def little_use(self) -> dict[str, Utility]:
        """What a release makes of a column of numbers of which hardly anything is left, by the sentence that tells of
        it; also where that is so of the mean with the values of an outer cell alone.
        """
        own = self.utility
        if own is None or self.means is None or self.useless_columns():
            return {}
        told = {key: own for key in own.cautions if key != "remap-means"}
        outer = np.abs(np.subtract(*self.means)[[0, -1]]).max() if self.column.in_cells else 0.0
        return told | ({"channel-tail": own} if own.is_moved or outer > FAR_MEAN * own.constant else {})

    @property
    def shifted_columns(self) -> dict[str, LevelShift]:
        """Columns in which counts of a level in a release are far from those of the table, but numbers as such."""
        names, found = self.request.public, {}
        if self.column.edges is not None and cost_word(self.column.levels, self.options.cost) == "absolute":
            return {}
        before = self.column.pooled / self.column.pooled.sum()
        sides = (self.column.levels, before), (self.channel.outputs, before @ self.channel.matrix)
        for k, name in enumerate(names):
            raw, released = (
                _summed([cast(Levels, level)[k] if len(names) > 1 else level for level in levels], shares)
                for levels, shares in sides
            )
            after = np.array([released.get(level, 0.0) for level in raw])
            own = LevelShift.of(raw, after, rows=int(self.column.pooled.sum()))
            if own.is_shifted or own.is_missed:
                found[name] = own
        return found

    def keyed(self, key: ReleaseKey, /) -> tuple[Draw, ...]:
        """What a release does to the columns: one draw, for several columns together.

        An output that no input has is left out, so that the type of a released plan does not name it.
        """
        possible = np.flatnonzero(self.channel.weights.any(axis=0))
        names, table = self.request.public, ChannelTable(self.channel.weights[:, possible])
        outputs = tuple(self.channel.outputs[k] for k in possible)
        if self.options.sees_secret:
            return (self._seeing(key, outputs, table),)
        if len(names) > 1:
            levels, joint = (cast(tuple[Levels, ...], each) for each in (self.column.levels, outputs))
            inputs = {level: k for k, level in enumerate(levels)}
            return (LabelChannel(columns=names, key=key, inputs=inputs, outputs=joint, table=table),)
        if self.column.codes is not None:
            return (LabelChannel.of(self.name, key=key, codes=self.column.codes, outputs=outputs, table=table),)
        assert self.column.edges is not None
        values = [float(level) for level in outputs]  # type: ignore[arg-type]
        return (NumberChannel.of(self.name, key=key, edges=self.column.edges, outputs=values, table=table),)

    def _seeing(self, key: ReleaseKey, outputs: Levels, table: ChannelTable) -> Draw:
        """The draw of a channel that sees the secret: the inputs of each secret follow those of the one before."""
        column, names = self.column, self.request.secret
        secrets = [secret if isinstance(secret, tuple) else (secret,) for secret in self.channel.secrets]
        if column.edges is not None:
            numbers = {cast(Levels, secret): k for k, secret in enumerate(secrets)}
            values = np.array([float(level) for level in outputs])  # type: ignore[arg-type]
            beside = JointLevels(columns=names, numbers=numbers)
            return NumberChannel(
                column=self.name, key=key, edges=column.edges, outputs=values, table=table, secret=beside
            )
        several = len(self.request.public) > 1
        codes = (
            column.codes if column.codes is not None and not several else {x: k for k, x in enumerate(column.levels)}
        )

        def parts(level: Level) -> Levels:
            return cast(Levels, level) if several else (level,)

        return LabelChannel(
            columns=(*self.request.public, *names),
            key=key,
            inputs={
                (*parts(level), *cast(Levels, secret)): k * len(column.levels) + code
                for k, secret in enumerate(secrets)
                for level, code in codes.items()
            },
            outputs=tuple(map(parts, outputs)),
            table=table,
            seen=len(names),
        )


def _require_change(channel: FoundChannel, request: Request, *, in_cells: bool) -> None:
    """A channel that changes nothing is to be asked for; what cannot be told from nothing is left of any repair."""
    if not channel.problem.cost.any() and channel.problem.cost.shape[1] > 1:
        raise ArgumentError("cost", rule="positive for some change", got="0 for all", hint="Leave it out.")
    if channel.unchanged >= 1 - _NOTHING and not request.allow_zero_noise and not in_cells:
        target, alone = request.target, channel.problem.cost.shape[1] == 1 and not channel.problem.cost.any()
        got = f"values that are already private at epsilon {target.epsilon:g} and delta {target.delta:g}"
        raise NoNoiseNeededError(
            "the request",
            rule="one that needs a channel",
            got="values that are all the same" if alone else got,
            hint=f"{'Leave the column out' if alone else 'Try a smaller epsilon'}, or say allow_zero_noise=True to "
            "release the values as they are.",
        )


def _summed(levels: Sequence[Level], shares: FloatArray) -> dict[tuple[type, Level], float]:
    """The share of each level."""
    found = dict.fromkeys(map(typed, levels), 0.0)
    for level, share in zip(levels, shares.tolist(), strict=True):
        found[typed(level)] += share
    return found


def radius_words(options: Channel, secrets: Sequence[Secret], /) -> str | None:
    """With which probability a row of these secrets is replaced, without a count of the table; None for never."""
    if options.radius == "auto":
        return ROOT_WORDS
    if isinstance(options.radius, Mapping):
        return "as given for its secret" if any(map(options.radius.get, secrets)) else None
    return f"{float(options.radius)!r}" if options.radius else None
