"""Whether the parts of a plan from a file agree with one another, whatever its mechanism."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from puffer_frames.errors import ColumnTypeError, PufferError
from puffer_frames.frames.columns import as_names
from puffer_frames.frames.dates import to_dates
from puffer_frames.frames.null_values import check_codes
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import Table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.arguments import Options, check_merge
from puffer_frames.mechanisms.request import Request, can_compose, check_given, check_repeats
from puffer_frames.mechanisms.seam import Fitted
from puffer_frames.noise.postprocessing import check_bounds
from puffer_frames.numbers.arguments import Target, check_count, check_word
from puffer_frames.numbers.records import refused
from puffer_frames.papers.catalogue import BOUNDED, check_theorem
from puffer_frames.priors.pairs import check_pairs, pairs_within
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import OTHER, JointCounts, LevelCounts
from puffer_frames.scales.beliefs import ONLY, WORDS, check_components
from puffer_frames.scales.choice import check_calibration
from puffer_frames.scales.drift import is_within
from puffer_frames.scales.joint.columns import check_weights
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.repeats import MOST_REPEATS

KINDS = ("labels", "booleans", "numbers", "dates", "lists")
"""What a column may hold."""


def kinds_of(table: Table, request: Request, /) -> dict[str, str]:
    """What the secret, given and public columns of a request hold."""
    names = dict.fromkeys((*request.secret, *request.given_columns, *request.public))
    return {name: _kind_of(table, name) for name in names}


def _kind_of(table: Table, name: str) -> str:
    return "dates" if table.has_dates(name) else "lists" if table.has_lists(name) else table.kind_of(name)


def check_origin(checksum: str, kinds: Mapping[str, str], request: Request, /) -> None:
    """Raise PlanFileError for what is no checksum of counts, for kinds of other columns, and for what is no kind."""
    require(_CHECKSUM.fullmatch(checksum) is not None, "a checksum that is none")
    known = {*request.secret, *request.given_columns, *request.public}
    require(set(kinds) <= known and set(kinds.values()) <= set(KINDS), "kinds of other columns")


def check_columns(
    table: Table, request: Request, roles: Roles, /, *, kinds: Mapping[str, str], coded: Collection[str] = ()
) -> None:
    """Check that a frame has the columns of a plan, and that they hold what they held there.

    - `roles`: What the columns are for in this frame.
    - `kinds` (mapping of column to str): Those of the plan, as `kinds_of` gives them.
    - `coded` (collection of str): Columns that are released through a channel: there truth values are labels, and not
      numbers.
    Raises ColumnNotFoundError for a column that is not there; ArgumentError for a column with two roles;
    ArgumentTypeError for a column of labels that holds numbers, and the other way round.
    """
    roles.check_names(table.names)
    if request.unit is not None:
        as_names(request.unit.column, table.names, role="unit")
    found = {name: _kind_of(table, name) for name in kinds}
    labels = {*coded, *request.given_columns}  # whose levels a release looks up
    other = [
        name
        for name, known in kinds.items()
        if found[name] != known and (name in labels or {known, found[name]} != {"booleans", "numbers"})
    ]
    if other:
        name, more = other[0], other[1:]
        role = "secret" if name in request.secret else "public" if name in request.public else "given"
        dates = next((each for each in other if kinds[each] == "dates"), None)
        hint = "" if other == [dates] else f"Convert {'each' if more else 'it'} to what it was when the plan was made. "
        raise ColumnTypeError(
            f"the columns {', '.join(map(repr, other))}" if more else f"the {role} column {name!r}",
            rule=f"as in the plan ({_listed(kinds, other)})" if more else f"of {kinds[name]}, as in the plan",
            got=_listed(found, other) if more else f"a column of {found[name]}",
            hint=f"{hint}{to_dates(dates) + ' ' if dates else ''}Or calibrate this frame.",
        )


def _listed(kinds: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name!r} of {kinds[name]}" for name in names)


def check_other_tables(table: Table, others: Iterable[Table], names: Iterable[str], /) -> None:
    """Raise ColumnTypeError for a table of a belief with numbers, of whatever unit, where this one has dates, or so."""
    for other in others:
        for name in names:
            if {name} <= set(table.names) & set(other.names) and table.has_dates(name) != other.has_dates(name):
                raise ColumnTypeError(
                    f"the public column {name!r} of a table in beliefs",
                    rule=f"of {_kind_of(table, name)}, as in the table that is released",
                    got=f"a column of {_kind_of(other, name)}",
                    hint="Convert it to what it is there.",
                )


_CHECKSUM = re.compile(r"(?:[0-9a-f]{64})+")
_ROUNDING = 1e-9


def check_request(request: Request, /) -> None:
    """As when it was made; raises PlanFileError."""
    tried(lambda: _check_words(request), "a request that is none")
    require(request.noise.scale == 1.0, "a noise that has a scale already")
    require((request.given is None) == (not request.given_columns), "given columns without their options")
    merged = request.given is not None and request.given.merge
    require(not request.merged or merged, "strata that are merged without a word")
    require(re.fullmatch(rf"{OTHER}( \(merged\))*", request.merged_as) is not None, "merged strata of another label")
    require(all(len(z) == len(request.given_columns) for z in request.merged), "merged strata of other columns")
    require(set(request.labels) <= set(request.public), "columns of labels that are not released")
    require(set(request.declared) <= set(request.public), "levels of columns that are not released")
    known = (Mapping, LearnedBelief, LevelCounts, JointCounts)
    require(bool(request.beliefs), "no belief")
    for entry in request.beliefs:
        require(entry in WORDS if isinstance(entry, str) else isinstance(entry, known), "a belief that is none")
    require(any(entry != ONLY for entry in request.beliefs), "no belief")
    repeats, unit = request.repeats, request.unit
    assumed = "" if unit is None else unit.rows
    require(repeats.assumed == assumed, "another assumption about the rows of a unit")
    ranged = request.theorem == BOUNDED.name and request.calibration == "theorem"
    require(assumed != "any" or ranged, "rows of a unit that may be anything beside another theorem")
    require(unit is not None or repeats.rows == 1, "rows of a unit without a unit")
    require(not repeats.composed or can_compose(request, repeats), "rows of a unit whose loss is not known together")
    require(unit is None or unit.most in (None, repeats.rows), "another number of rows of a unit")


def _check_words(request: Request) -> None:
    target = Target.of(request.target.epsilon, request.target.delta)
    request.noise.check(target)
    if not isinstance(request.mechanism, Options):
        check_word(request.mechanism, "mechanism", ("auto", "noise", "remap"))
    check_theorem(request.theorem, noise=request.noise)
    check_calibration(request.calibration)
    check_components(request.components, theorem="gmm")
    check_word(request.nulls, "nulls", ("raise", "drop", "level"))
    domain: dict[Any, Any] = dict(request.domain)
    check_bounds(domain, role="domain", columns=request.public, finite=True)
    check_weights(request.weights or None, columns=request.public)
    check_merge(request.merge_rare)
    for count in (request.repeats.rows, request.repeats.releases):
        check_count(count, "releases", at_least=1, at_most=MOST_REPEATS)
    request.repeats.factor(request.noise)
    check_given(request)
    check_repeats(request)
    roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
    read = [*request.secret, *request.public, *request.given_columns]
    read += [] if request.unit is None else [str(request.unit.column)]
    check_codes(request.null_values, read, columns=read)
    roles.check_names((*request.secret, *request.public, *request.given_columns))


def check_secrets(plan: Fitted[Any], /) -> None:
    """Secrets are values of a column, tuples of those of several, or of each by itself a tuple of column and value."""
    request, rows, pairs = plan.request, plan.rows_per_secret, plan.pairs
    require(all(count >= 1 for count in rows.values()), "a secret without rows")
    several = len(request.secret)
    parts = 2 if request.apart else several
    shaped = all((len(secret) if isinstance(secret, tuple) else 1) == parts for secret in rows)
    require(shaped and (several > 1 or not request.apart), "secrets of another number of columns")
    if request.apart:
        columns = dict.fromkeys(request.secret, 0)
        for key, count in rows.items():
            column = cast(tuple[Any, ...], key)[0]
            require(column in columns, "secrets of another column")
            columns[column] += count
        require(set(columns.values()) == {plan.rows}, "rows that do not add up")
        groups: dict[Secret, list[Secret]] = {key: [] for key in rows}
        tried(lambda: require(pairs_within(groups) == pairs, "pairs that are none"), "pairs that are none")
        require(request.pairs == "all", "other pairs than were asked for")
        return
    require(sum(rows.values()) == plan.rows, "rows that do not add up")
    tried(lambda: require(check_pairs(pairs, list(rows)) == pairs, "pairs that are none"), "pairs that are none")
    require(request.pairs == pairs, "other pairs than were asked for")


def require(good: bool, got: str, /) -> None:
    """Raise PlanFileError for what is not good."""
    if not good:
        raise refused(got)


def tried(check: Any, got: str, /) -> None:
    """Raise PlanFileError where this fails."""
    try:
        check()
    except (PufferError, ArithmeticError, LookupError, TypeError, ValueError):
        raise refused(got) from None


def agree(stored: Verification | None, found: Verification | None, /) -> bool:
    """Whether two measures of one loss agree: each may be what the other one is, up to rounding."""
    if stored is None or found is None:
        return stored is found
    both = all(
        is_within(one, other, delta=delta) for one, other in ((stored, found), (found, stored)) for delta in (0.0, 1.0)
    )
    return both and is_close(stored.epsilon, found.epsilon)


def is_close(one: float | None, other: float | None, /) -> bool:
    """Whether two numbers differ by rounding alone."""
    if one is None or other is None:
        return one is other
    return one == other or math.isclose(one, other, rel_tol=_ROUNDING)
