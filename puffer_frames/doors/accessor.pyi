"""Written by .ci/stub.py from the verbs: the `.puffer` accessor, its arguments written out for editors."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, overload

import pandas as pd
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from puffer_frames.certificates.about import About
from puffer_frames.certificates.record import Certificate, PublicKey, Verdict
from puffer_frames.frames.columns import Name, NativeFrame
from puffer_frames.frames.null_values import NullValuesArgument
from puffer_frames.mechanisms.arguments import (
    BeliefArgument,
    EachMechanism,
    Layout,
    NullsWord,
    PairsArgument,
    RowMechanism,
    SecretsWord,
)
from puffer_frames.mechanisms.noise.options import CalibrationWord
from puffer_frames.noise.families import NoiseArgument
from puffer_frames.noise.stream import RandomSource
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.scales.chains import ChainArgument
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.auditing.report import AuditReport
from puffer_frames.verbs.estimating.estimated import Target
from puffer_frames.verbs.estimating.estimator import Estimator
from puffer_frames.verbs.ledgers.release_ledger import LedgerArgument
from puffer_frames.verbs.plans.plan import Plan
from puffer_frames.verbs.quality import Quality
from puffer_frames.verbs.requests import MechanismWord, ProtectWord, QueryWord

NAME: str
Frame = TypeVar("Frame")
Answer = TypeVar("Answer")

class PufferAccessor(Generic[Frame, Answer]):
    """Pufferfish privacy for this frame: `privatize`, `calibrate`, `aggregate`, `estimate`, `audit` and `verify`."""

    def __init__(self, frame: Frame) -> None: ...
    def privatize(
        self,
        /,
        *,
        secret: Name | Iterable[Name],
        public: Name | Iterable[Name] = "rest",
        epsilon: float,
        delta: float = 0.0,
        mechanism: RowMechanism = "auto",
        beliefs: BeliefArgument | Iterable[BeliefArgument] = ("fitted", "empirical"),
        pairs: PairsArgument = "all",
        secrets: SecretsWord = "joint",
        given: Name | Iterable[Name] | Strata = (),
        unit: Unit | None = None,
        releases: int = 1,
        domain: Mapping[Name, Sequence[Any]] | None = None,
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
        allow_zero_noise: bool = False,
        layout: Layout | None = None,
        ledger: LedgerArgument = None,
        about: About = None,
        rng: RandomSource = None,
    ) -> Frame:
        """Release a column with noise that is confirmed to keep another one secret."""

    def calibrate(
        self,
        /,
        *,
        secret: Name | Iterable[Name],
        public: Name | Iterable[Name] = "rest",
        epsilon: float,
        delta: float = 0.0,
        mechanism: RowMechanism = "auto",
        beliefs: BeliefArgument | Iterable[BeliefArgument] = ("fitted", "empirical"),
        pairs: PairsArgument = "all",
        secrets: SecretsWord = "joint",
        given: Name | Iterable[Name] | Strata = (),
        unit: Unit | None = None,
        releases: int = 1,
        domain: Mapping[Name, Sequence[Any]] | None = None,
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
        allow_zero_noise: bool = False,
    ) -> Plan:
        """Plan a release without drawing noise; print the result to read the plan."""

    def compare(
        self,
        /,
        *,
        secret: Name | Iterable[Name],
        public: Name | Iterable[Name] = "rest",
        epsilon: float | Iterable[float] = 1.0,
        delta: float = 0.0,
        mechanism: Literal["all"] | EachMechanism | Iterable[EachMechanism] = "all",
        beliefs: Literal["all"] | BeliefArgument | Iterable[BeliefArgument] = "all",
        pairs: PairsArgument = "all",
        secrets: SecretsWord = "joint",
        given: Name | Iterable[Name] | Strata = (),
        unit: Unit | None = None,
        releases: int = 1,
        domain: Mapping[Name, Sequence[Any]] | None = None,
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
    ) -> NativeFrame:
        """Set the ways to release columns side by side: how much noise each needs, and what it costs."""

    def aggregate(
        self,
        /,
        *,
        epsilon: float | Iterable[float],
        delta: float = 0.0,
        noise: NoiseArgument = "laplace",
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
        unit: Name | None = None,
        value: Name | None = None,
        query: QueryWord | Sequence[QueryWord] = "sum",
        protect: ProtectWord = "presence",
        pairs: PairsArgument = "all",
        laws: Literal["empirical", "gaussian", "population"] | Mapping[Secret, Prior] | LearnedBelief = "empirical",
        contribution: Literal["rows", "draw"] = "rows",
        by: Name | Iterable[Name] = (),
        domain: Sequence[float] | None = None,
        divisor: float | None = None,
        calibration: CalibrationWord = "exact",
        integer: bool = False,
        allow_zero_noise: bool = False,
        ledger: LedgerArgument = None,
        about: About = None,
        rng: RandomSource = None,
    ) -> Answer:
        """Release a sum, count or mean over units that hides what one unit adds."""

    def histogram(
        self,
        /,
        *,
        state: Name,
        epsilon: float | Iterable[float],
        delta: float = 0.0,
        noise: NoiseArgument = "laplace",
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
        time: Name | None = None,
        unit: Name | None = None,
        mechanism: Literal["all"] | MechanismWord | Sequence[MechanismWord] = "auto",
        chain: ChainArgument = "estimated",
        initial: str | ArrayLike = "stationary",
        floor: float | None = None,
        states: Sequence[Secret] | None = None,
        bins: Sequence[Secret] | None = None,
        query: Literal["counts", "sum", "mean"] = "counts",
        counts: bool = True,
        per: Literal["pooled", "unit", "both"] = "pooled",
        gaps: Literal["bridge", "independent"] = "bridge",
        network: BayesianNetwork | NetworkRange | Sequence[BayesianNetwork] | None = None,
        pairs: PairsArgument = "all",
        ledger: LedgerArgument = None,
        about: About = None,
        rng: RandomSource = None,
    ) -> Answer:
        """Release how often each state occurs, or its mean, in series of values that depend on one another."""

    def audit(
        self,
        released: NativeFrame | Sequence[NativeFrame],
        /,
        *,
        certificate: Certificate | None = None,
        secret: Name | Sequence[Name] | None = None,
        request: Mapping[str, Any] | None = None,
        null_values: NullValuesArgument = None,
        level: float = 0.99,
        rng: RandomSource = None,
    ) -> AuditReport:
        """Test a release with the original at hand: is its noise as certified, and what does a guesser win?"""

    def estimate(
        self,
        certificate: Certificate | None = None,
        /,
        *,
        target: Target = "table",
    ) -> Estimator:
        """Estimate statistics of the raw rows from a release of rows, as if there were no noise."""

    def quality(
        self,
        original: NativeFrame,
        /,
        *,
        null_values: NullValuesArgument = None,
    ) -> Quality:
        """How near this release is to the table that it was made from, as `puffer_frames.compare_tables`."""

    def verify(
        self,
        certificate: Certificate | None = None,
        /,
        *,
        public_key: PublicKey | None = None,
    ) -> Verdict:
        """Compare a frame with a certificate, by default the attached one."""

    def plot(
        self,
        original: NativeFrame,
        /,
    ) -> Figure:
        """Draw how often each value occurs in a table and in its release, a picture for each public column."""

    def report(
        self,
        path: str | Path,
        /,
        *,
        ledger: object = None,
        audit: object = None,
        justification: str | None = None,
        file: str | Path | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the page of a release, to read, print and sign: `released.puffer.certificate.report(path)`."""

    def write_parquet(
        self,
        path: str | Path,
        /,
        *,
        derived: bool = False,
    ) -> None:
        """Write a release to a Parquet file, with its certificate in the file's metadata."""

    @property
    def certificate(self) -> Certificate:
        """The certificate attached to this release; raises UncoveredFrameError where there is none."""

class LazyPufferAccessor(PufferAccessor[pl.LazyFrame, pl.DataFrame]):
    """The accessor of a lazy Polars frame; `collect` and `sink_parquet` run what `privatize` returned."""

    def collect(
        self,
        /,
    ) -> pl.DataFrame:
        """Run a released plan, and attach its certificate to the rows."""

    def sink_parquet(
        self,
        path: str | Path,
        /,
    ) -> None:
        """Write a released plan to a Parquet file with its certificate in the metadata, in one pass."""

@overload
def of(frame: pl.LazyFrame, /) -> LazyPufferAccessor: ...
@overload
def of(frame: pl.DataFrame, /) -> PufferAccessor[pl.DataFrame, pl.DataFrame]: ...
@overload
def of(frame: pd.DataFrame, /) -> PufferAccessor[pd.DataFrame, pd.DataFrame]: ...
@overload
def of(frame: Any, /) -> PufferAccessor[Any, Any]:
    """The accessor of a frame of any kind: `of(frame).privatize(...)` is `frame.puffer.privatize(...)`."""

def register() -> None:
    """Register the accessor with pandas and Polars."""
