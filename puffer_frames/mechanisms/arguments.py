"""The arguments of a plan and of how its rows look: records, whose fields are the keywords of the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, short_traceback
from puffer_frames.frames.columns import Name, NativeFrame, as_names
from puffer_frames.frames.null_values import NullValuesArgument
from puffer_frames.frames.roles import RowOrder
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.postprocessing import BoundsArgument
from puffer_frames.numbers.arguments import by_name, check_flag, check_kind, check_word, described, is_array, keep_own
from puffer_frames.priors.summary import Level
from puffer_frames.scales.learned import Belief, LearnedBelief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata


class Options:
    """The options of a mechanism, in place of its name: the base of `Noise` and `Channel`."""

    __slots__ = ()

    def asked(self) -> Mapping[str, Any]:
        """What a request says of the mechanism: fields of `Request`, its word or record among them."""
        return {"mechanism": self}

    @property
    def title(self) -> str:
        """What a comparison calls it."""
        return type(self).__name__.lower()


PairsArgument: TypeAlias = Literal["all"] | Iterable[Sequence[Any]]
BeliefWord: TypeAlias = Literal["fitted", "empirical", "population", "only"]
BeliefArgument: TypeAlias = BeliefWord | Belief | LearnedBelief | NativeFrame
SecretsWord: TypeAlias = Literal["joint", "each"]
NullsWord: TypeAlias = Literal["raise", "drop", "level"]
EachMechanism: TypeAlias = Literal["noise", "channel", "sequential"] | Options
MechanismName: TypeAlias = Literal["auto", "noise", "channel", "sequential"]
RowMechanism: TypeAlias = MechanismName | Options


@dataclass(frozen=True, kw_only=True)
class TableArguments:
    """What every verb of rows is asked for."""

    secret: Name | Iterable[Name]
    public: Name | Iterable[Name] = "rest"
    epsilon: float
    delta: float = 0.0
    mechanism: RowMechanism = "auto"
    beliefs: BeliefArgument | Iterable[BeliefArgument] = ("fitted", "empirical")
    pairs: PairsArgument = "all"
    secrets: SecretsWord = "joint"
    given: Name | Iterable[Name] | Strata = ()
    unit: Unit | None = None
    releases: int = 1
    domain: Mapping[Name, Sequence[Any]] | None = None
    nulls: NullsWord = "raise"
    null_values: NullValuesArgument = None


@dataclass(frozen=True, kw_only=True)
class CalibrateArguments(TableArguments):
    """The arguments of `calibrate`."""

    allow_zero_noise: bool = False


PUBLISHED = ("expected_error", "lower_bound", "levels")


def check_mechanism(mechanism: object, known: Sequence[str], /) -> None:
    """Raise ArgumentError, ArgumentTypeError unless this is the options of a mechanism, or a word for one."""
    meant = {"remap": "remap=True"} | {word: f'"{word}"' for word in WORDS}
    if isinstance(mechanism, str) and mechanism in meant:
        hint = f"Write mechanism=Noise({meant[mechanism]})."
        raise ArgumentError("mechanism", rule="a word or a record", got=repr(mechanism), hint=hint)
    if not isinstance(mechanism, Options):
        check_word(mechanism, "mechanism", known)


def check_publish(words: object, /) -> tuple[str, ...]:
    """The words of `publish`; raises ArgumentError for another one."""
    several = isinstance(words, Iterable) and not (isinstance(words, str) or is_array(words))
    listed = tuple(words) if several else (words,)  # type: ignore[arg-type]
    hint = f'Write publish="{PUBLISHED[0]}", say; left out, none of them is published.'
    return tuple(check_word(word, "publish", PUBLISHED, hint=hint) for word in listed)


def check_merge(rows: object, /) -> int | None:
    """Return the number of rows below which a level is merged; raises ArgumentError."""
    if rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1):
        return rows
    raise ArgumentError(
        "merge_rare", rule="a whole number of at least 1", got=described(rows), hint="Write Channel(merge_rare=5)."
    )


def split_domain(domain: Any, /, *, columns: Sequence[str]) -> tuple[Any, dict[str, tuple[Level, ...]]]:
    """The bounds of numbers, and the declared levels of other columns.

    Raises ArgumentError, ArgumentTypeError for levels of a column that is not public, one twice, and what is no level.
    """
    if not isinstance(domain, Mapping):
        return domain, {}
    bounds, declared = {}, {}
    for name, entries in by_name(domain, "domain").items():
        found = _as_levels(entries) if isinstance(entries, Iterable) and not isinstance(entries, str) else None
        if found is None or name not in columns:
            bounds[name] = entries
        elif not all(isinstance(level, (str, int, float, NoneType)) and level == level for level in found):
            raise ArgumentTypeError(
                "domain",
                rule="of texts, numbers, dates, truth values or None, where it lists levels",
                got="NaN or another type",
                hint="List the levels as the column has them, and a missing one as None.",
            )
        elif len({(type(level), level) for level in found}) < len(found):
            raise ArgumentError("domain", rule="of different levels", got="one twice", hint="List each level once.")
        else:
            declared[name] = found
    return bounds, declared


def check_secrets(word: object, pairs: object, /) -> bool:
    """Whether the word is "each"; raises ArgumentError for another one than "joint", and for pairs beside "each"."""
    if check_word(word, "secrets", ("joint", "each")) == "joint":
        return False
    if isinstance(pairs, str) and pairs == "all":
        return True
    raise ArgumentError("pairs", rule='"all" beside secrets="each"', got="others", hint="Leave it out.")


def read_given(given: Any, labels: Sequence[Name], /) -> tuple[Strata | None, tuple[str, ...]]:
    """The columns on which the guarantee conditions; raises ColumnNotFoundError, ArgumentError, ArgumentTypeError."""
    if isinstance(given, Strata):
        names = as_names(given.columns, labels, role="given")
        if not names:
            raise ArgumentError("given", rule="the name of a column", got="none", hint='Write Strata("column").')
        return given, names
    names = as_names(given, labels, role="given")
    return (Strata(names), names) if names else (None, ())


def check_unit(unit: Any, labels: Sequence[Name], /) -> Unit | None:
    """Return a unit whose column is there; raises ColumnNotFoundError, ArgumentTypeError."""
    if unit is None:
        return None
    hint = "How the rows of a unit depend on one another is an assumption that only you can make: "
    hint += '"independent" given the secret, "repeated" for one value in all rows, "any" for no assumption.'
    check_kind(unit, Unit, "unit", rule='Unit(column, rows="independent", "repeated" or "any")', hint=hint)
    return replace(unit, column=as_names(unit.column, labels, role="unit")[0])


def _as_levels(entries: Any, /) -> tuple[Level, ...] | None:
    """The levels that a domain declares; None for the bounds (low, high) of numbers."""
    listed = [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]
    bounds = len(listed) == 2 and all(isinstance(e, (int, float)) and not isinstance(e, bool) for e in listed)
    return None if bounds else tuple(listed)


PublishWord: TypeAlias = Literal["expected_error", "lower_bound", "levels"]
IndexWord: TypeAlias = Literal["keep", "drop"]


@short_traceback
@dataclass(frozen=True, kw_only=True)
class Layout:
    """How a release looks: its further columns, its rows, and what is done to its values after the noise.

    A plan has no layout, and each of its releases may have its own. So `clip`, `round` and `publish` are here and not
    with the mechanism: they change what is shown of a release, not what is drawn.

    Parameters
    ----------
    keep : column name or several
        Further columns to release as they are, outside the guarantee; `given` has those within it.
    index : None, "keep" or "drop"
        What to do with a pandas index other than 0, 1, ..., n - 1.
    shuffle : bool
        Release the rows in random order. Not with index="keep", which would tell their order.
    row_id : column name, optional
        Column of integers that numbers the rows, each differently: the noise of a row follows its number wherever the
        row stands. It is not released unless kept. By default rows are numbered by position, for which a lazy frame
        must give its rows in one order, and the rows of a Spark frame are materialised.
    clip : (low, high), or mapping of column to (low, high)
        Bounds to clip the released values to. Use public constants; costs no epsilon, and moves means. For noise.
    round : bool
        Round the released values to integers, which stay floats; costs no epsilon. For noise.
    publish : "expected_error", "lower_bound", "levels", or several of these
        What the certificate of a channel says besides. They are exact statistics of the table, which can tell a record
        to a reader who knows all others; levels that are declared in `domain` are there in any case.
    refine_key : str or Path, optional
        A key file for `Plan.refine`, which may release these rows with less noise later: the order of the rows
        is noted in it. Laplace noise on numbers, of frames in memory.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value out of range.

    Examples
    --------
    >>> from puffer_frames import Layout
    >>> Layout(keep="education", round=True).keep
    'education'
    """

    keep: Name | Iterable[Name] = ()
    index: IndexWord | None = None
    shuffle: bool = False
    row_id: Name | None = None
    clip: BoundsArgument = None
    round: bool = False
    publish: PublishWord | Iterable[PublishWord] = ()
    refine_key: str | Path | None = None

    def __post_init__(self) -> None:
        keep_own(self, "keep", "clip", "publish")
        check_flag(self.shuffle, "shuffle")
        check_flag(self.round, "round")
        check_publish(self.publish)
        RowOrder(index=self.index, shuffle=self.shuffle)


def check_layout(layout: object, /) -> Layout:
    """Return a layout, the plain one for None; raises ArgumentTypeError."""
    rule, hint = "Layout(...), or None", 'Write Layout(keep="column").'
    return Layout() if layout is None else check_kind(layout, Layout, "layout", rule=rule, hint=hint)
