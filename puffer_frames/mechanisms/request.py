"""Checked requests: what the arguments of a verb ask for, before a row is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias, get_args

from puffer_frames.errors import ArgumentError, ColumnTypeError
from puffer_frames.frames.columns import NativeFrame, as_names, as_row_id
from puffer_frames.frames.dates import bounds_in_days, day_of, to_dates
from puffer_frames.frames.null_values import Code, Dropped, Sampled, check_codes, dropped_rows, merged_frame, with_nulls
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows, Table, is_frame, open_table
from puffer_frames.loss.engine import COMPOSED
from puffer_frames.mechanisms.arguments import (
    CalibrateArguments,
    Layout,
    MechanismName,
    Options,
    check_layout,
    check_mechanism,
    check_publish,
    check_secrets,
    check_unit,
    read_given,
    split_domain,
)
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds, check_bounds, in_words
from puffer_frames.numbers.arguments import Target, by_name, check_count, check_flag, check_word
from puffer_frames.numbers.presentation import values_text
from puffer_frames.papers.catalogue import BOUNDED, KANTOROVICH, PUBLISHED_FOR
from puffer_frames.priors.pairs import Pairs, by_column, listed_pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import OTHER, JointCounts, Level, LevelCounts, Summary
from puffer_frames.scales.beliefs import read_beliefs
from puffer_frames.scales.joint.columns import check_weights
from puffer_frames.scales.joint.coupled import MOST_COLUMNS
from puffer_frames.scales.learned import Bootstrap, Contamination, OtherTable
from puffer_frames.scales.repeats import MOST_REPEATS, Repeats, Unit
from puffer_frames.scales.strata import Strata, Stratum

_IN_STRATA = (Contamination, Bootstrap)
"""Beliefs that hold in each stratum by itself; the confidences of populations would add up."""
_PLAIN: Mapping[str, Any] = {"noise": PUBLISHED_FOR, "theorem": "auto", "calibration": "exact"} | dict.fromkeys(
    ("components", "weights", "merge_rare")
)
"""What a request says of a mechanism whose options are left out."""


def check_given(request: Request, /) -> None:
    """Raise ArgumentError for what there is not beside given columns."""
    if request.given is None:
        return
    if request.mechanism == "remap":
        raise ArgumentError(
            "given", rule="left out beside this mechanism", got="columns", hint='Write mechanism="noise".'
        )
    known = ("fitted", "empirical")
    entries = request.beliefs
    if any(one not in known if isinstance(one, str) else not isinstance(one, _IN_STRATA) for one in entries):
        raise ArgumentError(
            "beliefs",
            rule='"fitted", "empirical", Contamination() or Bootstrap() beside given columns',
            got="others",
            hint="Leave it out, or say Contamination(share=1.0): that is every law on the domain.",
        )


def check_repeats(request: Request, /) -> None:
    """Raise ArgumentError for what there is not for several rows or releases."""
    if request.unit is None:
        return
    if request.unit.over == "sample" and request.repeats.releases > 1:
        raise ArgumentError(
            "releases",
            rule='1 for Unit(..., over="sample"): the rows of a unit that are used depend on their places, and several '
            "releases may use different ones",
            got=f"{request.repeats.releases:,}",
            hint='Draw the rows of each unit once, keep that table, and release it with over="raise".',
        )
    if request.given is not None:
        raise ArgumentError(
            "given",
            rule="left out for a release with unit",
            got=", ".join(map(repr, request.given_columns)),
            hint="Leave given out, or release one row of each unit without unit.",
        )
    if request.unit.column in (*request.secret, *request.public):
        raise ArgumentError(
            "unit",
            rule="another column than the secret and the public ones",
            got=repr(request.unit.column),
            hint="Name the column that says whose row it is.",
        )
    if request.unit.rows == "repeated" and request.nulls != "raise":
        raise ArgumentError(
            "nulls",
            rule='"raise" for Unit(..., rows="repeated"): rows that are left out would change the sizes of units',
            got=repr(request.nulls),
            hint="Leave out such rows, or whole units, before the release.",
        )
    if request.unit.rows == "any" and request.theorem not in ("auto", BOUNDED.name):
        raise ArgumentError(
            "theorem",
            rule='"auto" or "bounded" where nothing is assumed of the rows of a unit',
            got=repr(request.theorem),
            hint="Leave it out.",
        )


def _check_days(table: Table, given: Any, role: str, /, *, columns: Iterable[str]) -> None:
    """Raise ColumnTypeError for bounds that are dates of a column that has none: days would be taken for its unit.

    Raises ArgumentError for numbers or texts as bounds of dates, except for infinity, and texts as those of numbers.
    """
    named = by_name(given, role) if isinstance(given, Mapping) else {}
    for name in columns:
        entries = named.get(name, ()) if isinstance(given, Mapping) else given
        if not isinstance(entries, (list, tuple, range)) or name not in table.names:
            continue
        texts = [one for one in entries if isinstance(one, str)]
        dates = table.has_dates(name)
        if dates and (texts or any(isinstance(one, Real) and one not in (inf, -inf) for one in entries)):
            raise ArgumentError(
                role,
                rule=f"of dates for {name!r}, a column of dates",
                got="texts" if texts else "numbers",
                hint=f"Write {role}={{{name!r}: (date(1950, 1, 31), date(1999, 12, 31))}}, with from datetime import "
                "date.",
            )
        if texts and not dates and table.kind_of(name) == "numbers" and not table.has_lists(name):
            raise ArgumentError(
                role,
                rule=f"of numbers for {name!r}, a column of numbers",
                got="texts",
                hint=f"Write {role}={{{name!r}: (0, 100)}} in the unit of the column."
                + f" {to_dates(name)}" * all(text.count("-") == 2 for text in texts),
            )
        if any(day_of(one) is not one for one in entries) and not dates:
            raise ColumnTypeError(
                f"the public column {name!r}",
                rule=f"of dates, as {role} has them",
                got=f"a column of {table.kind_of(name)}",
                hint=f"Write {role}={{{name!r}: (0, 100)}} in the unit of a column of numbers. {to_dates(name)}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRequest:
    """How released rows are to look."""

    roles: Roles
    layout: RowOrder = field(default_factory=RowOrder)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    """To clip the released values to, per column."""
    to_integers: bool = False
    """Whether all released numbers are rounded."""
    publish: tuple[str, ...] = ()
    """What of the plan is to be in the certificate."""
    seeded: bool = False
    """Whether the noise can be drawn again by somebody else."""
    refine_key: str | Path | None = None
    """A key file that the order of the rows is noted in, for a refinement."""
    days: Collection[str] = ()
    """Public columns that are rounded in any case: they are released as dates."""

    @classmethod
    def of(cls, layout: Layout | None, table: Table, request: Request, /, *, seeded: bool) -> RowsRequest:
        """Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError."""
        layout, labels = check_layout(layout), table.labels
        _check_days(table, layout.clip, "clip", columns=request.public)
        bounds = check_bounds(bounds_in_days(layout.clip), role="clip", columns=request.public, finite=False)
        kept, numbered = as_names(layout.keep, labels, role="keep"), as_row_id(layout.row_id, labels)
        return cls(
            roles=Roles.of(
                secret=request.secret, public=request.public, given=request.given_columns, keep=kept, row_id=numbered
            ),
            layout=RowOrder(index=layout.index, shuffle=layout.shuffle),
            bounds=bounds,
            to_integers=layout.round,
            publish=check_publish(layout.publish),
            seeded=seeded,
            refine_key=layout.refine_key,
        )

    @property
    def done(self) -> str:
        """What is done after the noise, in words."""
        return in_words(self.bounds, to_integers=self.to_integers, days=self.days)

    def rounds(self, name: str, /) -> bool:
        """Whether the released numbers of a column are rounded to integers."""
        return self.to_integers or name in self.days


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `calibrate` is asked for, apart from the frame."""

    secret: tuple[str, ...]
    """Names of the secret columns."""
    apart: bool
    """Whether each of several secret columns is protected by itself, not their joint value."""
    public: tuple[str, ...]
    """Names of the columns to release."""
    given: Strata | None
    """On what the guarantee conditions."""
    given_columns: tuple[str, ...]
    """Names of its columns."""
    merged: tuple[Stratum, ...]
    """Small strata that have one label in the released columns; known when the table was looked at."""
    merged_as: str = OTHER
    """This label."""
    unit: Unit | None
    """The unit whose rows are protected together."""
    labels: tuple[str, ...]
    """Public columns of labels, where several columns are released together; known when the table was looked at."""
    repeats: Repeats
    """How many rows and releases the guarantee is for; the rows of a unit are counted later."""
    target: Target
    noise: NoiseFamily
    mechanism: str | Options
    """A word for a mechanism, or the options of one."""
    pairs: str | Iterable[Sequence[Secret]]
    """"all", or pairs of secrets, checked against the secrets of the table."""
    theorem: str
    """Name of the theorem, or "auto"."""
    calibration: str
    """"exact" or "theorem"."""
    beliefs: Sequence[Any]
    """The adversaries, as `read_beliefs` gives them; frames among them are read with the rows."""
    components: int | None
    """Number of components of a mixture; None for BIC."""
    nulls: str
    """"raise", or "drop" for rows with a missing value."""
    null_values: Mapping[str, tuple[Code, ...]]
    """Codes that stand for a missing value, by column."""
    domain: Mapping[str, Bounds]
    """Public bounds per column, to which values are clipped before the noise."""
    declared: Mapping[str, tuple[Level, ...]]
    """All levels that a column may have, where they were declared."""
    merge_rare: int | None
    """Levels of fewer rows are merged into one."""
    weights: Mapping[str, float]
    """What a unit of the scale of a column costs, where several scales are found together."""
    allow_zero_noise: bool
    """Whether a release without noise is allowed."""

    @property
    def what(self) -> str:
        """What a reader of a release looks at, in words."""
        return values_text(None if self.unit is None else self.unit.column, several=len(self.public) > 1)

    @property
    def one_draw(self) -> bool:
        """Whether a channel may take the place of noise: of single rows, once, without a condition."""
        return self.unit is None and self.given is None and self.repeats.releases == 1

    @classmethod
    def of(cls, arguments: CalibrateArguments, table: Table, /) -> Request:
        """Check what can be checked before a row is read.

        Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError for an argument out of range.
        """
        labels = table.labels
        secret = as_names(arguments.secret, labels, role="secret")
        public = as_names(arguments.public, labels, role="public")
        target, mechanism = Target.of(arguments.epsilon, arguments.delta), arguments.mechanism
        check_mechanism(mechanism, get_args(MechanismName))
        own = mechanism.asked() if isinstance(mechanism, Options) else {"mechanism": mechanism}
        options: dict[str, Any] = {**_PLAIN, **own}
        options["noise"].check(target)
        options["weights"] = check_weights(options["weights"], columns=public)
        bounds, declared = split_domain(bounds_in_days(arguments.domain), columns=public)
        _check_days(table, arguments.domain, "domain", columns=public)
        given, given_columns = read_given(arguments.given, labels)
        unit = check_unit(arguments.unit, labels)
        read = (*secret, *public, *given_columns, *([] if unit is None else as_names(unit.column, labels, role="unit")))
        codes = check_codes(arguments.null_values, labels, columns=read)
        beliefs = read_beliefs(arguments.beliefs, is_frame=is_frame)
        found = cls(
            secret=secret,
            apart=check_secrets(arguments.secrets, arguments.pairs) and len(secret) > 1,
            public=public,
            given=given,
            given_columns=given_columns,
            merged=(),
            unit=unit,
            labels=(),
            repeats=Repeats(releases=check_count(arguments.releases, "releases", at_least=1, at_most=MOST_REPEATS)),
            target=target,
            pairs=listed_pairs(arguments.pairs),
            beliefs=[with_nulls(entry, codes) if is_frame(entry) else entry for entry in beliefs],
            nulls=check_word(arguments.nulls, "nulls", ("raise", "drop", "level")),
            null_values=codes,
            domain=check_bounds(bounds, role="domain", columns=public, finite=True),
            declared=declared,
            allow_zero_noise=check_flag(arguments.allow_zero_noise, "allow_zero_noise"),
            **options,
        )
        check_given(found)
        check_repeats(found)
        return found

    def for_units(self, rows: int, /) -> Request:
        """For units of at most so many rows."""
        assert self.unit is not None
        repeats = replace(self.repeats, rows=rows, assumed=self.unit.rows)
        repeats = replace(repeats, composed=can_compose(self, repeats))
        if self.unit.rows != "any":
            return replace(self, repeats=repeats)
        return replace(self, repeats=repeats, theorem=BOUNDED.name, calibration="theorem")

    def roles(self) -> Roles:
        """What is counted for a plan."""
        return self.counting(Roles.of(secret=self.secret, public=self.public, given=self.given_columns))

    @property
    def read(self) -> tuple[str, ...]:
        """The columns in which no value may be missing."""
        return (*self.secret, *self.public, *self.given_columns)

    def dropped(self, frame: NativeFrame, /) -> Dropped | None:
        """The rows that are left out for a missing value, with a warning of many."""
        found = dropped_rows(frame, self.read) if self.nulls == "drop" else None
        if found is not None:
            found.warn(public=self.public)
        return found

    def sampled(self, rows: CompleteRows, /) -> Sampled | None:
        """The rows that are left out beyond those of a unit, with a warning of many."""
        left_out, of = rows.beyond
        if self.unit is None or self.unit.most is None or not left_out:
            return None
        found = Sampled(rows=left_out, of=of, unit=self.unit.column, most=self.unit.most)
        found.warn()
        return found

    def counting(self, roles: Roles, /) -> Roles:
        """The roles of columns where rows are counted by labels too, and rows beyond those of a unit are left out."""
        if self.unit is not None and self.unit.over == "sample":
            assert self.unit.most is not None
            roles = replace(roles, capped=(self.unit.column, self.unit.most))
        return roles.counting(self.labels) if self.labels else roles


def is_joint(request: Request, /) -> bool:
    """Whether the scales of the columns are found together, for whole rows: several columns with Laplace noise."""
    if len(request.public) == 1 or request.noise != PUBLISHED_FOR:
        return False
    return request.theorem == KANTOROVICH.name or (request.theorem == "auto" and request.calibration == "exact")


def is_coupled(request: Request, /) -> bool:
    """Whether such scales rest on a coupling: of more columns than the joint loss is computed for, or where asked."""
    return request.theorem == KANTOROVICH.name or len(request.public) > MOST_COLUMNS


def can_compose(request: Request, repeats: Repeats, /) -> bool:
    """Whether the loss of all rows of a unit may be computed together: there is a delta, and they are independent."""
    known = len(request.public) == 1 or (is_joint(request) and not is_coupled(request))
    several = repeats.assumed == "independent" and repeats.rows > 1
    asked = request.target.delta > 0 and request.calibration == "exact" and isinstance(request.noise, COMPOSED)
    return known and several and asked


def lacking(request: Request, /) -> tuple[str, ...]:
    """Beliefs that cannot be read back, in words."""
    given = sum(isinstance(entry, Mapping) for entry in request.beliefs)
    tables = sum(isinstance(entry, (OtherTable, LevelCounts, JointCounts)) for entry in request.beliefs)
    words = ["side knowledge"] * bool(given) + ["other tables"] * bool(tables)
    return tuple(words)


def lean_request(request: Request, pairs: Pairs, /) -> Request:
    """With the pairs as they were read: those that were given may have been read up."""
    return replace(
        request,
        pairs="all" if request.apart else pairs,
        given=None if request.given is None else replace(request.given, columns=request.given_columns),
        beliefs=tuple(lean_entry(entry) for entry in request.beliefs),
    )


def lean_entry(entry: Any, /) -> Any:
    """A belief that was asked for; of side knowledge and other tables what is left is that there were some."""
    if isinstance(entry, Mapping):
        return {}
    if isinstance(entry, OtherTable):
        return replace(entry, counts={})
    if isinstance(entry, LevelCounts):
        return replace(entry, levels=(), counts={})
    if isinstance(entry, JointCounts):
        return replace(entry, counts={}, labels={})
    return entry


Found: TypeAlias = Summary | LevelCounts | JointCounts


def with_other_tables(request: Request, count: Callable[[NativeFrame], Found], /) -> Request:
    """The request with the frames among its beliefs counted; raises as for the frame to release."""

    def read(frame: NativeFrame) -> OtherTable | LevelCounts | JointCounts:
        found = count(frame)
        if request.apart:
            found = found.grouped(by_column(found.counts, request.secret))
        return OtherTable(counts=found.counts, radius=found.radius) if isinstance(found, Summary) else found

    if not any(map(is_frame, request.beliefs)):
        return request
    return replace(request, beliefs=[read(entry) if is_frame(entry) else entry for entry in request.beliefs])


def as_planned(request: Request, frame: NativeFrame, /) -> NativeFrame:
    """A frame with null for codes, and strata merged, as in a plan; without a column, which is an error later, it is
    left as it is.
    """
    frame = with_nulls(frame, request.null_values)
    names = open_table(frame).names
    if not request.merged or not set(request.given_columns) <= set(names):
        return frame
    label, columns = request.merged_as, request.given_columns
    if (raw := (label,) * len(columns)) not in request.merged:  # a stratum of later rows that is called so is unknown
        frame = merged_frame(frame, columns, [raw], label=f"{label} (raw)")
    return merged_frame(frame, columns, request.merged, label=label)
