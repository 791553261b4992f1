"""The arguments of the verbs, each written once: as a record, whose fields are the keywords of the functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from puffer_frames.certificates.about import About
from puffer_frames.errors import CallError, short_traceback
from puffer_frames.frames.columns import Name
from puffer_frames.mechanisms.arguments import (
    BeliefArgument,
    CalibrateArguments,
    CalibrationWord,
    EachMechanism,
    GuaranteeArguments,
    LayoutArguments,
    NullsWord,
    PairsArgument,
    SecretsWord,
    TheoremWord,
)
from puffer_frames.noise.families import NoiseArgument
from puffer_frames.noise.stream import RandomSource
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.scales.chains import ChainArgument
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.ledgers.reserved import LedgerArgument

ProtectWord: TypeAlias = Literal["presence", "value", "value-or-absence", "replacement"]
MechanismWord: TypeAlias = Literal["auto", "transport", "quilt", "quilt-approx", "exact", "group"]
QueryWord: TypeAlias = Literal["sum", "count", "mean"]

P = ParamSpec("P")
Owner = TypeVar("Owner")
Frame = TypeVar("Frame")
Record = TypeVar("Record")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class DrawArguments:
    """What every verb that draws noise may be told."""

    about: About = None
    ledger: LedgerArgument = None
    rng: RandomSource = None


@dataclass(frozen=True, kw_only=True)
class CompareArguments:
    """The arguments of `compare`."""

    secret: Name | Iterable[Name]
    public: Name | Iterable[Name] = "rest"
    epsilon: float | Iterable[float] = 1.0
    delta: float = 0.0
    secrets: SecretsWord = "joint"
    given: Name | Iterable[Name] | Strata = ()
    unit: Unit | None = None
    releases: int = 1
    pairs: PairsArgument = "all"
    mechanism: Literal["all"] | EachMechanism | Iterable[EachMechanism] = "all"
    theorem: Literal["all"] | TheoremWord | Iterable[TheoremWord] = "all"
    noise: NoiseArgument | Iterable[NoiseArgument] = ("laplace", "gaussian")
    beliefs: Literal["all"] | BeliefArgument | Iterable[BeliefArgument] = "all"
    components: int | None = None
    nulls: NullsWord = "raise"
    domain: Mapping[Name, Sequence[Any]] | None = None
    merge_rare: int | None = None
    weights: Mapping[Name, float] | None = None


@dataclass(frozen=True, kw_only=True)
class PrivatizeArguments(LayoutArguments, DrawArguments, CalibrateArguments):
    """The arguments of `privatize`."""


@dataclass(frozen=True, kw_only=True)
class ReleaseArguments(LayoutArguments, DrawArguments):
    """The arguments of `Plan.release`."""

    allow_other_frame: bool = False
    allow_drift: bool = False


@dataclass(frozen=True, kw_only=True)
class AggregateArguments(DrawArguments, GuaranteeArguments):
    """The arguments of `aggregate`."""

    epsilon: float | Iterable[float]  # type: ignore[assignment]  # several for a curve
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
class HistogramArguments(DrawArguments, GuaranteeArguments):
    """The arguments of `histogram`."""

    epsilon: float | Iterable[float]  # type: ignore[assignment]  # several for a curve
    state: Name
    time: Name
    unit: Name | None = None
    mechanism: MechanismWord = "auto"
    chain: ChainArgument = "estimated"
    initial: str | ArrayLike = "stationary"
    floor: float | None = None
    states: Sequence[Secret] | None = None
    bins: Sequence[Secret] | None = None
    query: Literal["counts", "sum", "mean"] = "counts"
    counts: bool = True
    per: Literal["pooled", "unit", "both"] = "pooled"
    gaps: Literal["bridge", "independent"] = "bridge"


def takes(
    record: Callable[P, Record], /
) -> Callable[[Callable[[Frame, Record], R]], Callable[Concatenate[Frame, P], R]]:
    """Give a function of a frame and a record the record's fields as keywords; signature and help show these."""

    def decorate(function: Callable[[Frame, Record], R]) -> Callable[Concatenate[Frame, P], R]:
        signature = _signature(function, record)

        @wraps(function)
        def call(frame: Frame, /, *args: P.args, **kwargs: P.kwargs) -> R:
            bind(signature, function.__name__, (frame, *args), kwargs)
            return function(frame, record(*args, **kwargs))

        call.__signature__ = signature  # type: ignore[attr-defined]
        return short_traceback(call)

    return decorate


def method_takes(
    record: Callable[P, Record], /
) -> Callable[[Callable[[Owner, Frame, Record], R]], Callable[Concatenate[Owner, Frame, P], R]]:
    """The same for a method."""

    def decorate(function: Callable[[Owner, Frame, Record], R]) -> Callable[Concatenate[Owner, Frame, P], R]:
        signature = _signature(function, record)

        @wraps(function)
        def call(self: Owner, frame: Frame, /, *args: P.args, **kwargs: P.kwargs) -> R:
            bind(signature, function.__name__, (self, frame, *args), kwargs)
            return function(self, frame, record(*args, **kwargs))

        call.__signature__ = signature  # type: ignore[attr-defined]
        return short_traceback(call)

    return decorate


def _signature(function: Callable[..., Any], record: Callable[..., Any]) -> inspect.Signature:
    """Columns first, then the guarantee, then options, last how the noise is drawn."""
    own = inspect.signature(function)
    positional = list(own.parameters.values())[:-1]
    guarantee, draw = ({entry.name for entry in fields(kind)} for kind in (GuaranteeArguments, DrawArguments))

    def place(parameter: inspect.Parameter) -> tuple[bool, bool, bool]:
        name = parameter.name
        required = name == "public" or parameter.default is parameter.empty
        return not required, name in draw, (name in guarantee) == required

    keywords = sorted(inspect.signature(record).parameters.values(), key=place)
    return own.replace(parameters=[*positional, *keywords])


OTHER_WORDS = {
    "seed": "rng",
    "random_state": "rng",
    "eps": "epsilon",
    "sensitive": "secret",
    "protected": "secret",
    "columns": "public",
}
"""Keywords as other packages have them, and what they are here."""


def bind(signature: inspect.Signature, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    """Raise CallError as Python raises TypeError, with the name of the function."""
    unknown = next((key for key in kwargs if key not in signature.parameters), None)
    if unknown is not None:
        meant = OTHER_WORDS.get(unknown)
        near = [meant] if meant in signature.parameters else get_close_matches(unknown, signature.parameters, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise _miscalled(name, f"got an unexpected keyword argument {unknown!r}{hint}")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _miscalled(name, f"is {error}" if "missing" in str(error) else f"has {error}") from None


def _miscalled(name: str, problem: str) -> CallError:
    return CallError(
        f"the call of {name}",
        rule="one with arguments that it takes",
        got=f"{name}() {problem}",
        hint=f"See the help of {name}.",
    )
