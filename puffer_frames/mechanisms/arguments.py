"""The arguments of a plan and of how its rows look: records, whose fields are the keywords of the verbs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from puffer_frames.frames.columns import Name, NativeFrame
from puffer_frames.noise.families import NoiseArgument
from puffer_frames.noise.postprocessing import BoundsArgument
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.observed import Belief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata


class Options:
    """The options of a mechanism, in place of its name: the base of `Channel`."""

    __slots__ = ()


PairsArgument: TypeAlias = Literal["all"] | Iterable[Sequence[Any]]
TheoremWord: TypeAlias = Literal["auto", "translation", "gaussian", "gmm", "kantorovich", "bernoulli", "bounded"]
CalibrationWord: TypeAlias = Literal["exact", "theorem"]
BeliefWord: TypeAlias = Literal["fitted", "empirical", "population", "only"]
BeliefArgument: TypeAlias = BeliefWord | Belief | LearnedBelief | NativeFrame
SecretsWord: TypeAlias = Literal["joint", "each"]
NullsWord: TypeAlias = Literal["raise", "drop", "level"]
PublishWord: TypeAlias = Literal["expected_error", "lower_bound", "levels"]
EachMechanism: TypeAlias = Literal["noise", "remap", "channel", "sequential"] | Options
MechanismName: TypeAlias = Literal["auto", "noise", "remap", "channel", "sequential"]
RowMechanism: TypeAlias = MechanismName | Options
IndexWord: TypeAlias = Literal["keep", "drop"]


@dataclass(frozen=True, kw_only=True)
class GuaranteeArguments:
    """What every verb is asked for."""

    epsilon: float
    delta: float = 0.0
    noise: NoiseArgument = "laplace"
    nulls: NullsWord = "raise"


@dataclass(frozen=True, kw_only=True)
class LayoutArguments:
    """How a release of rows looks."""

    keep: Name | Iterable[Name] = ()
    index: IndexWord | None = None
    shuffle: bool = False
    clip: BoundsArgument = None
    round: bool = False
    publish: PublishWord | Iterable[PublishWord] = ()
    row_id: Name | None = None
    refine_key: str | Path | None = None


@dataclass(frozen=True, kw_only=True)
class CalibrateArguments(GuaranteeArguments):
    """The arguments of `calibrate`."""

    secret: Name | Iterable[Name]
    public: Name | Iterable[Name] = "rest"
    secrets: SecretsWord = "joint"
    given: Name | Iterable[Name] | Strata = ()
    unit: Unit | None = None
    releases: int = 1
    pairs: PairsArgument = "all"
    mechanism: RowMechanism = "auto"
    theorem: TheoremWord = "auto"
    calibration: CalibrationWord = "exact"
    beliefs: BeliefArgument | Iterable[BeliefArgument] = ("fitted", "empirical")
    components: int | None = None
    domain: Mapping[Name, Sequence[Any]] | None = None
    merge_rare: int | None = None
    weights: Mapping[Name, float] | None = None
    allow_zero_noise: bool = False
