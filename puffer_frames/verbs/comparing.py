"""Comparison: what every mechanism, noise, theorem and belief costs, before anything is drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PufferError, PufferWarning, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import warn_of_unused, with_nulls
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import Table, frame_of, is_frame, library_of, open_table
from puffer_frames.mechanisms.arguments import CalibrateArguments, Options, TableArguments, check_mechanism
from puffer_frames.mechanisms.channel import mechanism as channels
from puffer_frames.mechanisms.channel.fitted import Seen, roles_of
from puffer_frames.mechanisms.channel.options import SEEING, Channel
from puffer_frames.mechanisms.noise import mechanism as noises
from puffer_frames.mechanisms.noise import rows_seen
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.request import Request, is_joint
from puffer_frames.mechanisms.seam import ComparedRow, Spread
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.noise.channel import MOST_NUMBERS
from puffer_frames.noise.families import WORDS, noise_family
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import catalogue
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.summary import LevelCounts, Summary
from puffer_frames.scales.beliefs import MANY_SECRETS, ONLY
from puffer_frames.scales.columns import ANY_LAW
from puffer_frames.scales.joint.coupled import MOST_COLUMNS
from puffer_frames.scales.learned import Contamination, LearnedBelief
from puffer_frames.verbs.release import mechanism_for, read
from puffer_frames.verbs.requests import CompareArguments, takes, with_names

ALL = "all"
WITHIN_CAP = "contaminated, any law within 8"
"""The guarantee of a channel whose options are left out."""
NETWORK = "network"
"""What the guarantee of a table that is released column by column is under."""
MODELS = (catalogue.TRANSLATION.name, catalogue.GAUSSIAN.name, catalogue.MIXTURE.name, catalogue.UBM.name)
"""Theorems that fit a model; the last one is compared where it is named."""
BELIEFS = ("fitted", "empirical", Contamination(), "population")
FAMILIES = (Noise(), Noise("gaussian"))
"""What "noise" stands for; the latter with a delta alone."""
_SHARED = tuple(x.name for x in fields(TableArguments) if x.name not in ("epsilon", "mechanism", "beliefs"))


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows there are of a mechanism."""

    options: Options
    remaps: bool = False
    """Whether the posterior median after this noise is a further row."""
    named: bool = False
    """Whether it was asked for by name: then a row says why it does not apply."""

    def has(self, theorem: str, /) -> bool:
        """Whether it is noise with this theorem, or with any."""
        known = (theorem,) if theorem == catalogue.UBM.name else ("auto", theorem)
        return isinstance(self.options, Noise) and self.options.theorem in known


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to release the columns."""

    epsilon: float
    belief: str
    """What the guarantee is under, in a word."""
    entries: tuple[Any, ...]
    """The same as the argument `beliefs`."""
    rows: Rows
    theorem: str = "channel"
    quoted: bool = True
    """Whether the theorem has a condition for this belief."""

    @property
    def options(self) -> Options:
        """The mechanism with the theorem of the row; raises ArgumentError for one that its noise has not."""
        options, theorem = self.rows.options, self.theorem
        if not isinstance(options, Noise):
            return options
        if options.theorem != theorem:  # what else was said of noise is for some theorems alone
            weights = options.weights if theorem == "auto" else None
            components = options.components if theorem in {each.name for each in catalogue.MIXTURES} else None
            options = replace(options, theorem=theorem, weights=weights, components=components)  # type: ignore[arg-type]
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The lists of a comparison, checked."""

    arguments: CompareArguments
    epsilons: tuple[float, ...]
    noises: tuple[Rows, ...]
    plain: tuple[Rows, ...]
    """The channel that has the guarantee under one belief and no other, where it is a row of each."""
    channels: tuple[tuple[str, Rows], ...]
    """The channels of the default options, of both kinds, and those whose options were given; each with words for its
    guarantee.
    """
    tables: tuple[Rows, ...]
    """Several columns one after another."""
    others: tuple[Rows, ...]
    """Further mechanisms, which have a row under each belief."""
    beliefs: Mapping[str, Any]
    """By name."""

    @classmethod
    def of(cls, arguments: CompareArguments, /) -> Asked:
        """Raises ArgumentError, ArgumentTypeError for an epsilon or a mechanism that is none, and for an empty list."""
        epsilons = _listed(arguments.epsilon, "epsilon")
        for epsilon in epsilons:
            Target.of(epsilon, arguments.delta)
        every = isinstance(arguments.beliefs, str) and arguments.beliefs == ALL
        beliefs = named_beliefs(BELIEFS if every else _listed(arguments.beliefs, "beliefs"))
        listed, named = _listed(arguments.mechanism, "mechanism"), arguments.mechanism != ALL
        noises, plain, tables, others = (list[Rows]() for _ in range(4))
        channels = list[tuple[str, Rows]]()
        for mechanism in listed:
            check_mechanism(mechanism, (ALL, "noise", "channel", "sequential"))
            if isinstance(mechanism, Noise):
                noises.append(Rows(mechanism, named=True))
            elif isinstance(mechanism, Channel):
                number = 1 + sum(name != WITHIN_CAP for name, _ in channels)
                name = f"as its options say{f' {number}' * (number > 1)}"
                channels.append((name, Rows(mechanism, named=True)))
            elif isinstance(mechanism, Sequential) or mechanism in (ALL, "sequential"):
                tables.append(Rows(mechanism if isinstance(mechanism, Sequential) else Sequential(), named=named))
            elif isinstance(mechanism, Options):
                others.append(Rows(mechanism, named=True))
            if mechanism in (ALL, "noise"):
                families = FAMILIES if arguments.delta else FAMILIES[:1]
                noises += [Rows(noise, remaps=mechanism == ALL) for noise in families]
            if mechanism in (ALL, "channel"):
                plain = [Rows(Channel(radius=0, cap=None), named=named)]
                if any(isinstance(entry, Contamination) for entry in beliefs.values()):
                    both = (Channel(), Channel(sees="secret"))
                    channels = [*((WITHIN_CAP, Rows(one, named=named)) for one in both), *channels]
        return cls(
            arguments=arguments,
            epsilons=tuple(map(float, dict.fromkeys(epsilons))),
            noises=tuple(noises),
            plain=tuple(plain),
            channels=tuple(channels),
            tables=tuple(tables),
            others=tuple(others),
            beliefs=beliefs,
        )

    def calibrating(self, one: Alternative | None, /) -> CalibrateArguments:
        """The arguments of `calibrate` for an alternative; None for what all have in common."""
        asked: dict[str, Any] = {name: getattr(self.arguments, name) for name in _SHARED}
        asked |= {"epsilon": self.epsilons[0], "allow_zero_noise": True}
        if one is not None:
            asked |= {"epsilon": one.epsilon, "beliefs": one.entries, "mechanism": one.options}
        return CalibrateArguments(**asked)


def _listed(entries: Any, name: str) -> tuple[Any, ...]:
    """One entry, or several; raises ArgumentError for none."""
    alone = isinstance(entries, (str, Mapping, LearnedBelief, Options)) or not isinstance(entries, Iterable)
    if alone or (not isinstance(entries, (Sequence, set, frozenset)) and name == "beliefs"):  # a frame is one belief
        return (entries,)
    found = tuple(entries)
    if not found:
        raise ArgumentError(name, rule="one, or several", got="none", hint="Leave it out.")
    return found


def named_beliefs(entries: Sequence[Any], /) -> dict[str, Any]:
    """The beliefs by a name of their own: the word, the title of a wider one, "given" or "other table"."""
    found: dict[str, Any] = {}
    for entry in entries:
        if isinstance(entry, str):
            title = entry
        elif isinstance(entry, LearnedBelief):
            title = entry.title
        else:
            title = "given" if isinstance(entry, Mapping) else "other table"
        number = 1 + sum(name == title or name.startswith(f"{title} ") for name in found)
        found[title if number == 1 else f"{title} {number}"] = entry
    return found


def entries_of(entry: Any, /) -> tuple[Any, ...]:
    """A belief alone, as the argument `beliefs`: side knowledge would add to the observed frequencies."""
    return (entry,) if isinstance(entry, (str, LearnedBelief)) else (ONLY, entry)


def of_one(asked: Asked, /, *, two_values: bool) -> Iterator[Alternative]:
    """The alternatives for one column, of numbers or, without noises, of labels."""
    observed = catalogue.BERNOULLI.name if two_values else catalogue.KANTOROVICH.name
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            fitted, empirical = entry == "fitted", isinstance(entry, str) and entry == "empirical"
            if fitted and two_values:  # there is no other model of two values
                continue
            for theorem, rows in product(MODELS if fitted else (observed,), asked.noises):
                if rows.has(theorem):
                    yield Alternative(epsilon, name, entries_of(entry), rows, theorem, fitted or empirical)
            for rows in () if fitted else asked.plain:
                yield Alternative(epsilon, name, entries_of(entry), rows)
        for rows in asked.noises:  # for the range of the column, which is the domain where there is one
            if rows.has(catalogue.BOUNDED.name):
                yield Alternative(epsilon, ANY_LAW, (Contamination(share=1.0),), rows, catalogue.BOUNDED.name)
        for name, rows in asked.channels:
            yield Alternative(epsilon, name, ("empirical",), rows)


def of_columns(asked: Asked, /, *, columns: int) -> Iterator[Alternative]:
    """The alternatives for several columns: by joint loss, by a coupling of whole rows, by their ranges, one by one."""
    for epsilon in asked.epsilons:
        for name, entry in asked.beliefs.items():
            if isinstance(entry, str) and entry == "fitted":
                continue
            for theorem, rows in product(("auto", catalogue.KANTOROVICH.name), asked.noises):
                twice = theorem != "auto" and rows.has("auto") and columns > MOST_COLUMNS
                if rows.has(theorem) and not twice:  # of so many both words mean the coupling
                    yield Alternative(epsilon, name, entries_of(entry), rows, theorem)
        for rows in asked.noises:
            if rows.has(catalogue.BOUNDED.name):
                yield Alternative(epsilon, ANY_LAW, ("empirical",), rows, catalogue.BOUNDED.name)
        for rows in asked.tables:
            yield Alternative(epsilon, NETWORK, ("fitted",), rows, "sequential")


def with_bounds(rows: list[ComparedRow], /) -> list[ComparedRow]:
    """The bound that was proved for a channel, on every row with the same guarantee that sees the value alone too."""
    bounds = {(row.epsilon, row.belief): row.bound for row in rows if row.bound > 0}
    return [
        replace(row, bound=math.nan if row.mechanism == SEEING else bounds.get((row.epsilon, row.belief), math.nan))
        for row in rows
    ]


LEVELS_UNASKED = 64
"""Beyond this many different numbers the program of a channel takes longer, and is solved only where asked for."""
PAIRS_UNASKED = 90
"""The same limit for pairs of a level and a secret, for a channel that sees the secret."""
_NOT_THERE = (ArgumentError, ArgumentTypeError)


@takes(CompareArguments)
def compare(frame: NativeFrame, arguments: CompareArguments, /) -> NativeFrame:
    """Set the ways to release columns side by side: how much noise each needs, and what it costs.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table, pyspark.sql.DataFrame or \
    duckdb.DuckDBPyRelation
    secret, public, delta, pairs, secrets, given, unit, releases, domain, nulls, null_values
        As in `privatize`.
    epsilon : float or several
        Each has rows of its own.
    mechanism : "all", "noise", "channel", "sequential", Noise(...), Channel(...), Sequential(...), or several of these
        "noise" has rows for Laplace noise and, with a delta, for Gaussian noise; "all" has these, the remap after
        them, and channels. A record has rows for its options alone. For one column of numbers, theorem="auto" has a row
        for each theorem: kantorovich (and bernoulli, for two values) under the observed law; translation, gaussian and
        gmm under the fitted one; bounded under any law. For several columns it has rows for the joint loss, kantorovich
        and bounded. "sequential" is for several columns, and "all" has it in tables of 2,000 rows or more: its belief
        is the "network" of the plan, an error of numbers is at most this, and columns that are computed from others
        have no row.
    beliefs : "all", or any of those of `privatize`
        Each of them alone has rows, unlike in `privatize`, where all together have to be satisfied. "all" is "fitted",
        "empirical", `Contamination()` and "population".

    Returns
    -------
    frame
        Of the library of the frame (of PyArrow for a DuckDB relation, of pandas for a Spark frame), a row per
        alternative and public column, by epsilon, then by belief, then by error:

        - "epsilon", "delta", "belief": the guarantee; "any law" is any on the domain, or on the range of the table;
        - "mechanism", "noise", "theorem", "column";
        - "published_scale": what the theorem asks for; "verdict": "sound", "refuted", "sound up to rounding" or "not
          available", under the priors that the theorem assumes;
        - "scale": the smallest that is confirmed; of several columns one of those that are found together; of strata
          the largest;
        - "error": mean absolute error in units of the column, of labels the share that changes; "error_std" and
          "error_constant": the same as a share of the standard deviation, and of the error of one constant (the median,
          or the most frequent label) in place of every value: 1 or more is of no use for single values;
        - "bound": no mechanism with this guarantee that sees this value alone has a smaller error, where that is known;
        - "loss_observed", "loss_population" (95 %), "loss_any_law": upper bounds of the pure loss, where delta is
          above 0 of the delta at this epsilon, whatever the guarantee is for; with units, of all rows of a unit;
        - "loss_reader": the same to a reader who knows the true value; 0 but for a channel that sees the secret;
        - "composes": "epsilons add", "largest losses add" or "no rule", of another release like this one;
        - "seconds", which the row took; "reason", why there are no numbers, that no noise is needed, or that the
          error is of merged levels.

    Raises
    ------
    ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError
        As `privatize`, for what no alternative could mend.

    Warns
    -----
    WeakGuaranteeWarning, FewRowsWarning, RareLevelsWarning
        As `privatize`, once.

    Notes
    -----
    What does not apply is left out, unless it was listed as a record: then, and where no scale is found, a row says so
    in "reason". Numbers are those of `calibrate` with the same words. The plain channel of a belief is
    `Channel(radius=0, cap=None)`; "contaminated, any law within 8" are the channel that `privatize` takes by default,
    and `Channel(sees="secret")`. To choose by the smallest error depends on the table, as the scale does: no
    certificate counts it.

    The result holds exact statistics of the table: keep it private. **Cost**: the rows of the frame are counted once;
    a calibration per row (docs/compare.md has times).

    References
    ----------
    docs/compare.md.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> found = people.puffer.compare(secret="group", public="score", epsilon=0.5, beliefs="empirical")
    >>> list(zip(found["belief"], found["mechanism"], found["error"].round(2).tolist()))[:3]
    [('empirical', 'channel', 0.06), ('empirical', 'remap', 0.29), ('empirical', 'noise', 0.47)]
    """
    asked = Asked.of(with_names(arguments, frame, open_table(frame).labels))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counted = Counted.of(frame, asked)
        found, first = _all_rows(counted)
    _warn_again(caught)
    if all(math.isnan(row.error) for row in found):
        raise first or ArgumentError(
            "the comparison",
            rule="one with rows",
            got="words of which none applies to these columns",
            hint="Leave out mechanism and beliefs for all that there are.",
        )
    return frame_of(_ordered(with_bounds(found)), ComparedRow, library=library_of(frame))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The rows of a table, counted once for all alternatives."""

    frame: NativeFrame
    table: Table
    base: Request
    """What all have in common, with what was found of labels, units and strata."""
    rows: rows_seen.RowsSeen | None
    """Counts of numbers, and of whole rows of several columns; None for one column of labels."""
    levels: Seen | None
    """Counts of the labels of one column, or the same of numbers; None of several."""
    spreads: dict[str, Spread]
    asked: Asked
    """With the frames among its beliefs read."""

    @classmethod
    def of(cls, frame: NativeFrame, asked: Asked, /) -> Counted:
        """Raises as `compare`."""
        base = Request.of(asked.calibrating(None), open_table(frame))
        warn_of_unused(frame, base.null_values)
        frame = with_nulls(frame, base.null_values)
        table = open_table(frame)
        one = len(base.public) == 1
        if one and table.kind_of(base.public[0]) == "labels":
            roles = roles_of(Roles(secret=base.secret, public=base.public), table)
            rows = table.complete(roles, nulls=base.nulls, layout=None)
            levels = Seen.of(rows, base, coded=True)
            read = _read_beliefs(asked, base, roles.coded)
            return cls(frame=frame, table=table, base=base, rows=None, levels=levels, spreads={}, asked=read)
        if base.nulls == "level":
            rule = '"raise" or "drop" to compare numbers, or several columns'
            hint = 'Leave it out. Whole tables take them as a level: make a plan with mechanism="sequential".'
            raise ArgumentError("nulls", rule=rule, got="'level'", hint=hint)
        base, frame, table = rows_seen.with_merged(rows_seen.with_labels(base, table), frame, table)
        base = rows_seen.with_units(base, table)
        seen = rows_seen.RowsSeen.of(table.complete(base.roles(), nulls=base.nulls, layout=None), base)
        merged = seen.protected(replace(base, apart=False)).summaries
        return cls(
            frame=frame,
            table=table,
            base=base,
            rows=seen,
            levels=Seen(found=seen.summaries[base.public[0]]) if one and base.given is None else None,
            spreads={name: _spread(summary) for name, summary in merged.items()},
            asked=_read_beliefs(asked, base, ()),
        )

    def alternatives(self) -> Iterator[Alternative]:
        """The alternatives that may apply to these columns."""
        if len(self.base.public) > 1:
            yield from of_columns(self.asked, columns=len(self.base.public))
        elif self.rows is None:
            yield from of_one(replace(self.asked, noises=()), two_values=False)
        else:
            yield from of_one(self.asked, two_values=self.values == 2)
        for epsilon, (name, entry), rows in product(self.asked.epsilons, self.asked.beliefs.items(), self.asked.others):
            yield Alternative(epsilon, name, entries_of(entry), rows, rows.options.title)

    @property
    def values(self) -> int:
        """Different numbers of one column."""
        assert self.rows is not None
        pairs = self.rows.summaries[self.base.public[0]].counts.values()
        return len({float(value) for values, _ in pairs for value in values[: MOST_NUMBERS + 1]})

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]:
        """Complete rows of each value of the secret."""
        assert self.rows is not None
        return self.rows.rows_of_secrets(len(self.base.secret), given=self.base.given is not None)

    def pairs(self, options: Channel, /) -> int:
        """How many levels and secrets a channel of one column would see together."""
        assert self.levels is not None
        found = self.levels.found
        levels = len(found.levels) if isinstance(found, LevelCounts) else self.values
        return (options.cells if levels > MOST_NUMBERS else levels) * len(found.counts)

    def request(self, one: Alternative, /) -> Request:
        """The request of an alternative; raises as `calibrate`."""
        _, found = mechanism_for(Request.of(self.asked.calibrating(one), self.table), self.table)
        found = replace(found, merged=self.base.merged, merged_as=self.base.merged_as)
        return found if found.unit is None else found.for_units(self.base.repeats.rows)

    def seen(self, request: Request, /) -> rows_seen.RowsSeen:
        """What this request may know of the rows."""
        assert self.rows is not None
        whole = bool(request.labels) or is_joint(request)
        return self.rows if whole else replace(self.rows, joint=None)


def _spread(summary: Summary) -> Spread:
    """The spread of all rows that were counted."""
    priors = {secret: Prior.empirical(*pair) for secret, pair in summary.counts.items()}
    std, constant = rows_seen.spread_of(priors, summary.rows_per_secret)
    return Spread(std=std, constant=constant)


def _read_beliefs(asked: Asked, base: Request, coded: tuple[str, ...]) -> Asked:
    """The same with the frames among the beliefs read, once."""
    read = partial(channels.with_tables, coded=coded) if coded else rows_seen.with_tables
    found = {
        name: read(replace(base, beliefs=[entry])).beliefs[0] if is_frame(entry) else entry
        for name, entry in asked.beliefs.items()
    }
    return replace(asked, beliefs=found)


def _all_rows(counted: Counted) -> tuple[list[ComparedRow], PufferError | None]:
    """The rows of all alternatives, and the first error."""
    found: list[ComparedRow] = []
    first: PufferError | None = None
    for one in counted.alternatives():
        try:
            found += _tried(one, counted)
        except PufferError as error:
            first = first or error
            if one.rows.named or not isinstance(error, _NOT_THERE):
                found += _failed(one, counted, str(error).partition("\n")[0])
    return found, first


def _tried(one: Alternative, counted: Counted) -> list[ComparedRow]:
    """The rows of an alternative; raises as `calibrate`."""
    start = perf_counter()
    options = one.options
    if not isinstance(options, Noise | Channel):
        return _of_table(one, counted, start)
    request = counted.request(one)
    secrets = len(counted.rows_per_secret) if one.rows.has("auto") and one.entries == ("fitted",) else 0
    if secrets > MANY_SECRETS:
        return _failed(one, counted, f"models of {secrets} secrets take long: name the theorem")
    if isinstance(options, Channel):
        if counted.levels is None:
            raise ArgumentError("public", rule="one column for a channel", got="several", hint="Leave it out.")
        if counted.rows is not None and not one.rows.named and LEVELS_UNASKED < counted.values <= MOST_NUMBERS:
            reason = f'{counted.values} levels take up to a minute: say mechanism="channel"'
            return _failed(one, counted, reason)
        unasked = options.sees_secret and one.belief == WITHIN_CAP and not request.apart
        if unasked and (pairs := counted.pairs(options)) > PAIRS_UNASKED:
            reason = f'{pairs} pairs of a level and a secret may take minutes: say mechanism=Channel(sees="secret")'
            return _failed(one, counted, reason)
        fitted = channels.FittedChannel.of(request, options, counted.levels)
        return fitted.compared_rows(_told(one, counted, start), counted.spreads, counted.levels)
    whole = len(request.public) > 1 and one.theorem != catalogue.BOUNDED.name
    if whole and not is_joint(request):
        raise _not_whole("other noise")
    noisy = noises.FittedNoise.of(request, counted.seen(request))
    if whole and not noisy.is_joint:
        raise _not_whole("a larger table")
    seen, found = counted.seen(request), []
    if not options.remap:
        found += noisy.compared_rows(_told(one, counted, start), counted.spreads, seen)
    if (
        (one.rows.remaps or options.remap)
        and not request.labels
        and request.given is None
        and request.noise in WORDS.values()
    ):
        after = noisy.remapped(seen)
        found += after.compared_rows(_told(one, counted, start), counted.spreads, seen)
    return found


def _told(one: Alternative, counted: Counted, start: float) -> ComparedRow:
    """What a row of an alternative says whatever is found."""
    return ComparedRow(
        epsilon=one.epsilon,
        delta=counted.base.target.delta,
        belief=one.belief,
        mechanism=one.rows.options.title,
        theorem=one.theorem if one.quoted else "",
        column=", ".join(counted.base.public),
        verdict="not available",
        seconds=perf_counter() - start,
    )


def _of_table(one: Alternative, counted: Counted, start: float) -> list[ComparedRow]:
    """The rows of a mechanism that reads the table by itself."""
    few = noises.MANY_ROWS
    if isinstance(one.options, Sequential) and not one.rows.named and sum(counted.rows_per_secret.values()) < few:
        rule = f"of {few:,} rows or more"
        raise ArgumentError("the table", rule=rule, got="fewer", hint='Say mechanism="sequential".')
    request = Request.of(counted.asked.calibrating(one), counted.table)
    mechanism, found = read(counted.frame, request, None)
    fitted = mechanism.fit(found.request, found.seen)
    return fitted.compared_rows(_told(one, counted, start), counted.spreads, found.seen)


def _not_whole(got: str) -> ArgumentError:
    rule = "one with Laplace noise, for the loss of whole rows, of a table whose rows can be counted"
    return ArgumentError("the request", rule=rule, got=got, hint='Say Noise(theorem="bounded").')


def _failed(one: Alternative, counted: Counted, reason: str) -> list[ComparedRow]:
    """A row that says why there are no numbers."""
    options = one.rows.options
    family = noise_family(options.family).name if isinstance(options, Noise) else ""
    return [replace(_told(one, counted, 0.0), noise=family, verdict="", seconds=math.nan, reason=reason)]


def _ordered(rows: list[ComparedRow]) -> list[ComparedRow]:
    """By epsilon and belief as they were given, then by error: of several columns by the sum of their relative ones."""
    guarantees = list(dict.fromkeys((row.epsilon, row.belief) for row in rows))
    totals: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], int] = {}

    def which(row: ComparedRow) -> tuple[str, ...]:
        return str(row.epsilon), row.belief, row.mechanism, row.noise, row.theorem, row.reason

    for k, row in enumerate(rows):
        error = row.error if math.isnan(row.error_constant) else row.error_constant
        totals[which(row)] = totals.get(which(row), 0.0) + (math.inf if math.isnan(error) else error)
        first.setdefault(which(row), k)

    def place(row: ComparedRow) -> tuple[int, float, int]:
        error = float(f"{totals[which(row)]:.6g}")  # scales are searched to 1e-8 of themselves
        return guarantees.index((row.epsilon, row.belief)), error, first[which(row)]

    return sorted(rows, key=place)


def _warn_again(caught: list[warnings.WarningMessage]) -> None:
    """Each warning of this package once; those of others as they were."""
    said = set()
    for message in caught:
        text = str(message.message)
        if text in said:
            continue
        said.add(text)
        if isinstance(message.message, PufferWarning):
            warn(message.message)
        else:
            warnings.warn_explicit(message.message, message.category, message.filename, message.lineno)
