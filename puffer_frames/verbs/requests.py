"""Arguments of the verbs, each written once as a record; how noise is drawn and written down; selections of columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, get_args, overload

from numpy.typing import ArrayLike

from puffer_frames.certificates.about import About, check_about, today
from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, CallError, short_traceback
from puffer_frames.frames.columns import REST, Name, NativeFrame, Typed, as_names, selected
from puffer_frames.frames.levels import check_no_index, index_columns
from puffer_frames.frames.null_values import NullValuesArgument
from puffer_frames.mechanisms.arguments import (
    BeliefArgument,
    CalibrateArguments,
    EachMechanism,
    Layout,
    NullsWord,
    PairsArgument,
    TableArguments,
    check_layout,
)
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.options import CalibrationWord, Noise
from puffer_frames.noise.families import NoiseArgument
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.numbers.records import type_hints
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.scales.chains import ChainArgument
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.ledgers.release_ledger import Ledger, LedgerArgument, Reserved, as_ledger

ProtectWord: TypeAlias = Literal["presence", "value", "value-or-absence", "replacement"]
MechanismWord: TypeAlias = Literal[
    "auto", "transport", "quilt", "quilt-approx", "exact", "group", "wasserstein", "gk16", "entry"
]
QueryWord: TypeAlias = Literal["sum", "count", "mean"]

P = ParamSpec("P")
Frame = TypeVar("Frame")
Record = TypeVar("Record")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class DrawArguments:
    """What every verb that draws noise may be told."""

    ledger: LedgerArgument = None
    about: About = None
    rng: RandomSource = None


@dataclass(frozen=True, kw_only=True)
class LaidOutArguments(DrawArguments):
    """What every verb that releases rows may be told."""

    layout: Layout | None = None


@dataclass(frozen=True, kw_only=True)
class CompareArguments(TableArguments):
    """The arguments of `compare`."""

    epsilon: float | Iterable[float] = 1.0  # type: ignore[assignment]  # each has rows of its own
    mechanism: Literal["all"] | EachMechanism | Iterable[EachMechanism] = "all"  # type: ignore[assignment]
    beliefs: Literal["all"] | BeliefArgument | Iterable[BeliefArgument] = "all"


@dataclass(frozen=True, kw_only=True)
class PrivatizeArguments(LaidOutArguments, CalibrateArguments):
    """The arguments of `privatize`."""


@dataclass(frozen=True, kw_only=True)
class ReleaseArguments(LaidOutArguments):
    """The arguments of `Plan.release`."""

    allow_other_frame: bool = False
    allow_drift: bool = False


@dataclass(frozen=True, kw_only=True)
class AnswerArguments(DrawArguments):
    """What both verbs that answer questions are asked for."""

    epsilon: float | Iterable[float]
    """Several for a curve."""
    delta: float = 0.0
    noise: NoiseArgument = "laplace"
    nulls: NullsWord = "raise"
    null_values: NullValuesArgument = None


@dataclass(frozen=True, kw_only=True)
class AggregateArguments(AnswerArguments):
    """The arguments of `aggregate`."""

    unit: Name | None = None
    value: Name | None = None
    query: QueryWord | Sequence[QueryWord] = "sum"
    protect: ProtectWord = "presence"
    pairs: PairsArgument = "all"
    laws: Literal["empirical", "gaussian", "population"] | Mapping[Secret, Prior] | LearnedBelief = "empirical"
    contribution: Literal["rows", "draw"] = "rows"
    by: Name | Iterable[Name] = ()
    domain: Sequence[float] | None = None
    divisor: float | None = None
    calibration: CalibrationWord = "exact"
    integer: bool = False
    allow_zero_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class HistogramArguments(AnswerArguments):
    """The arguments of `histogram`."""

    state: Name
    time: Name | None = None
    unit: Name | None = None
    mechanism: Literal["all"] | MechanismWord | Sequence[MechanismWord] = "auto"
    """Several for a comparison."""
    chain: ChainArgument = "estimated"
    initial: str | ArrayLike = "stationary"
    floor: float | None = None
    states: Sequence[Secret] | None = None
    bins: Sequence[Secret] | None = None
    query: Literal["counts", "sum", "mean"] = "counts"
    counts: bool = True
    per: Literal["pooled", "unit", "both"] = "pooled"
    gaps: Literal["bridge", "independent"] = "bridge"
    network: BayesianNetwork | NetworkRange | Sequence[BayesianNetwork] | None = None
    pairs: PairsArgument = "all"


def takes(
    record: Callable[P, Record], /
) -> Callable[[Callable[[Frame, Record], R]], Callable[Concatenate[Frame, P], R]]:
    """Give a function of a frame and a record the record's fields as keywords; signature and help show these."""
    return partial(_taking, record)


class Releases(Protocol[P]):
    """A function of a frame and keywords that gives a frame of its kind.

    For other libraries the return type is open: a DuckDB relation comes back as an Arrow table, and PyArrow has no
    types.
    """

    @overload
    def __call__(self, frame: Typed, /, *args: P.args, **kwargs: P.kwargs) -> Typed: ...
    @overload
    def __call__(self, frame: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class ReleasesOf(Protocol[P]):
    """A method that is such a function."""

    def __get__(self, owner: object, kind: type | None = None, /) -> Releases[P]: ...


def releases(record: Callable[P, Record], /) -> Callable[[Callable[[Any, Record], Any]], Releases[P]]:
    """As `takes`, of a function that releases a frame."""
    return partial(_taking, record)


def method_releases(record: Callable[P, Record], /) -> Callable[[Callable[[Any, Any, Record], Any]], ReleasesOf[P]]:
    """As `releases`, for a method."""
    return partial(_taking, record)


def _taking(record: Callable[..., Any], function: Callable[..., R], /) -> Callable[..., R]:
    signature = _signature(function, record)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        bind(signature, function.__name__, args, kwargs)
        return function(*args, record(**kwargs))

    call.__signature__ = signature  # type: ignore[attr-defined]
    return short_traceback(call)


def _signature(function: Callable[..., Any], record: Callable[..., Any]) -> inspect.Signature:
    """Columns first, then the guarantee, then options, last how the noise is drawn."""
    own = inspect.signature(function)
    positional = list(own.parameters.values())[:-1]
    draw = {entry.name for entry in fields(DrawArguments)}

    def place(parameter: inspect.Parameter) -> tuple[bool, bool, bool]:
        name = parameter.name
        required = name == "public" or parameter.default is parameter.empty
        return not required, name in draw, (name in ("epsilon", "delta")) == required

    keywords = sorted(inspect.signature(record).parameters.values(), key=place)
    return own.replace(parameters=[*positional, *keywords])


OTHER_WORDS = {
    **dict.fromkeys(("seed", "random_state", "random_seed"), "rng"),
    **dict.fromkeys(("eps", "budget", "privacy_budget"), "epsilon"),
    **dict.fromkeys(("sensitive", "sensitive_attribute", "sensitive_features", "protected"), "secret"),
    **dict.fromkeys(("private", "target", "hide"), "secret"),
    **dict.fromkeys(("column", "columns", "features", "exclude", "drop", "ignore"), "public"),
    **dict.fromkeys(("method", "algorithm"), "mechanism"),
}
"""Keywords as other packages have them, and what they are here."""
MOVED: Mapping[str, tuple[str, type, str]] = {
    "merge_rare": ("mechanism", Channel, "merge_rare"),
    "noise": ("mechanism", Noise, "family"),
    **{each.name: ("mechanism", Noise, each.name) for each in fields(Noise) if each.name != "family"},
    **{each.name: ("layout", Layout, each.name) for each in fields(Layout)},
}
"""Keywords of earlier versions: in which argument they are now, in which record, and as which field."""


def bind(signature: inspect.Signature, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Raise CallError as Python raises TypeError, with the name of the function."""
    unknown = next((key for key in kwargs if key not in signature.parameters), None)
    if unknown is not None:
        taken = signature.parameters
        check_moved(name, kwargs, taken=taken)
        words = {key: f"{place}={kind.__name__}({field}=...)" for key, (place, kind, field) in _moved(taken).items()}
        words |= {key: repr(key) for key in taken}
        meant = OTHER_WORDS.get(unknown, "")
        near = [meant] if meant in taken else [] if meant else get_close_matches(unknown, words, n=1)
        hint = f"; did you mean {words[near[0]]}?" if near else ""
        if unknown == "about":
            hint = '; who issues a release is said when it is made: privatize(..., about={"issuer": "Our office"})'
        raise _miscalled(name, f"got an unexpected keyword argument {unknown!r}{hint}")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        problem = f"is {error}" if "missing" in str(error) else f"has {error}"
        named = [key for key in ("secret", "public", "value", "epsilon") if key in signature.parameters]
        if "positional" in problem and named:
            problem += f"; name them: {', '.join(f'{key}=...' for key in named)}"
        raise _miscalled(name, problem) from None


def _moved(taken: Collection[str]) -> dict[str, tuple[str, type, str]]:
    """The entries of `MOVED` whose record is an argument here; `histogram` has mechanisms of its own."""
    return {key: at for key, at in MOVED.items() if at[0] in taken and key not in taken and "state" not in taken}


def check_moved(name: str, kwargs: Mapping[str, object], /, *, taken: Collection[str]) -> None:
    """Raise CallError for keywords that are fields of a record now, where the argument of that record is taken."""
    moved = [key for key in kwargs if key in _moved(taken)]
    if moved:
        argument, record, _ = MOVED[moved[0]]
        alike = [key for key in moved if MOVED[key][1] is record]
        values = ", ".join(f"{MOVED[key][2]}={_option(kwargs[key], record, MOVED[key][2])}" for key in alike)
        old = " and ".join(map(repr, alike))
        raise _miscalled(name, f"no longer takes {old}; write {argument}={record.__name__}({values})")


def _option(value: object, record: Any, field: str) -> str:
    """A number, a truth value, or a word of the option; dots for all else, such as names of columns."""
    words = {word for hint in get_args(type_hints(record)[field]) for word in (hint, *get_args(hint))}
    plain = isinstance(value, (bool, int, float)) or (isinstance(value, str) and value in words)
    return repr(value) if plain else "..."


def _miscalled(name: str, problem: str) -> CallError:
    rule = "one with arguments that it takes"
    return CallError(f"the call of {name}", rule=rule, got=f"{name}() {problem}", hint=f"See the help of {name}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How the noise of one release is drawn, and what its certificate says of it."""

    rng: RandomSource | ReleaseKey = field(repr=False)
    about: Mapping[str, str]
    ledger: Ledger | None = None
    """The ledger that the release is written into."""

    @classmethod
    def of(cls, arguments: DrawArguments, /) -> Drawing:
        """Raises ArgumentError, ArgumentTypeError."""
        about = check_about(arguments.about)
        book = as_ledger(arguments.ledger, dataset=about.get("dataset"))
        found = cls(rng=check_rng(arguments.rng), about=about, ledger=book)
        return found if found.seeded else replace(found, about={"created": today(), **about})

    @property
    def seeded(self) -> bool:
        """Whether the noise can be drawn again by somebody else."""
        return self.rng is not None and not isinstance(self.rng, ReleaseKey)

    def key(self) -> ReleaseKey:
        """A key for one release."""
        return ReleaseKey.of(self.rng)

    def reserve(self, certificate: Certificate, frame: NativeFrame, /) -> Reserved:
        """Write a release into the ledger, if there is one, before the noise is drawn; raises as `Ledger.reserve`."""
        return Reserved.of(self.ledger, certificate, frame)


Arguments = TypeVar("Arguments", bound=TableArguments)


def with_names(arguments: Arguments, frame: NativeFrame, labels: Sequence[Name], /) -> Arguments:
    """The arguments with names of columns in place of selections, and of the rest.

    Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError for what selects no column, and where there is no rest.
    """
    layout = check_layout(getattr(arguments, "layout", None))
    roles = {"secret": arguments.secret, "given": arguments.given, "keep": layout.keep, "public": arguments.public}
    asked = {role: selected(names, frame, labels, role=role) for role, names in roles.items()}
    public = asked["public"]
    if isinstance(public, (str, list)) and public in (REST, [REST]):
        if REST not in map(str, labels):
            asked["public"] = _rest(arguments, labels, asked | {"row_id": layout.row_id})
        elif public == REST and len(_rest(arguments, labels, asked | {"row_id": layout.row_id, "public": ()})) > 1:
            rule, hint = "clear which columns it means", f"Name all of them, or write public=[{REST!r}] for this one."
            raise ArgumentError("public", rule=rule, got=f"{REST!r}, a column of the frame beside others", hint=hint)
    if asked["public"] is not arguments.public:  # the rest, or a selection
        check_no_index(index_columns(as_names(asked["public"], labels, role="public"), frame))
    kept: dict[str, Any] = {"layout": replace(layout, keep=asked.pop("keep"))}
    return replace(arguments, **asked, **(kept if hasattr(arguments, "layout") else {}))


def _rest(arguments: TableArguments, labels: Sequence[Name], asked: dict[str, Any]) -> list[Name]:
    """The columns without another role, in the frame's order."""
    given = asked["given"]
    others = {
        "secret": asked["secret"],
        "given": given.columns if isinstance(given, Strata) else given,
        "keep": asked["keep"],
        "unit": arguments.unit.column if isinstance(arguments.unit, Unit) else (),
        "row_id": () if asked["row_id"] is None else asked["row_id"],
    }
    taken = {name for role, names in others.items() for name in as_names(names, labels, role=role)}
    rest = [label for label in labels if str(label) not in taken]
    if not rest:
        rule = "a column besides the secret, given, kept, unit and row_id ones"
        hint = "Name the columns to release, and leave them out of the other arguments."
        raise ArgumentError("public", rule=rule, got="a frame without another one", hint=hint)
    return rest
