"""The arguments of a plan and of how its rows look: records, whose fields are the keywords of the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from puffer_frames.frames.columns import Name, NativeFrame
from puffer_frames.frames.null_values import NullValuesArgument
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.observed import Belief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata


class Options:
    """The options of a mechanism, in place of its name: the base of `Noise` and `Channel`."""

    __slots__ = ()

    def asked(self) -> Mapping[str, Any]:
        """What a request says of the mechanism: fields of `Request`, its word or record among them."""
        return {"mechanism": self}


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
