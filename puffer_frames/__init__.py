"""Pufferfish privacy for pandas, Polars and Spark: publish a table, keep a column secret.

>>> import numpy as np, pandas as pd, puffer_frames
>>> rng = np.random.default_rng(0)
>>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
>>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
>>> released.puffer.verify()
'unsigned: cannot be trusted'
"""

from typing import TYPE_CHECKING, Any

from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.version import __version__
from puffer_frames.doors.accessor import of, register
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    CallError,
    ColumnNotFoundError,
    FaultError,
    FewRowsWarning,
    ForkedProcessError,
    KeptColumnWarning,
    LedgerError,
    LedgerNoiseWarning,
    LedgerWarning,
    MissingPackageError,
    NoNoiseNeededError,
    PlanFileError,
    PriorError,
    PufferError,
    PufferWarning,
    RareLevelsWarning,
    RowOrderWarning,
    SuspectValuesWarning,
    UncoveredFrameError,
    UnreadColumnWarning,
    UnsoundTheoremWarning,
    WeakGuaranteeWarning,
    WideNoiseWarning,
)
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.mechanisms.batch_report import BatchReport
from puffer_frames.mechanisms.channel.best import FoundChannel, best_channel
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.papers.bernoulli import bernoulli_scale
from puffer_frames.papers.bounded import bounded_scales
from puffer_frames.papers.gaussian import gaussian_scale, translation_scale
from puffer_frames.papers.kantorovich import kantorovich_scale
from puffer_frames.papers.mixture import mixture_scale
from puffer_frames.papers.quilt.networks import network_quilt_scale
from puffer_frames.papers.quilt.scales import quilt_approx_scale, quilt_scale
from puffer_frames.papers.users import (
    presence_scale,
    value_scale,
)
from puffer_frames.priors.fitting import fit_gaussian, fit_mixture
from puffer_frames.priors.markov import MarkovChain, binary_class
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.prior import Prior
from puffer_frames.priors.transport import transport_plan, w_infinity
from puffer_frames.scales.learned import Bootstrap, Contamination, Population
from puffer_frames.scales.networks import network_scale
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.search import smallest_scale
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs import pictures as pictures
from puffer_frames.verbs.answers.aggregates import aggregate
from puffer_frames.verbs.answers.series import histogram
from puffer_frames.verbs.attached import certificate_of, read_certificate, verify, write_parquet
from puffer_frames.verbs.auditing.audited import audit
from puffer_frames.verbs.auditing.report import AuditCheck, AuditedPair, AuditReport
from puffer_frames.verbs.comparing.comparison import compare
from puffer_frames.verbs.estimating.estimated import Estimate
from puffer_frames.verbs.estimating.estimation import estimate
from puffer_frames.verbs.estimating.estimator import Estimator
from puffer_frames.verbs.ledgers.composition import Composition, compose
from puffer_frames.verbs.ledgers.release_ledger import Ledger, ledger
from puffer_frames.verbs.plans.plan import Plan, load_plan
from puffer_frames.verbs.release import calibrate, privatize

if TYPE_CHECKING:
    from puffer_frames.doors.transformer import PufferTransformer

register()


def __getattr__(name: str) -> Any:
    """The transformer is imported when it is asked for: scikit-learn takes a second."""
    if name == "PufferTransformer":
        from puffer_frames.doors.transformer import PufferTransformer

        return PufferTransformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "AuditCheck",
    "AuditReport",
    "AuditedPair",
    "BatchReport",
    "BayesianNetwork",
    "Bootstrap",
    "Bracket",
    "CalibrationError",
    "CallError",
    "Certificate",
    "Channel",
    "ColumnNotFoundError",
    "Composition",
    "Contamination",
    "Estimate",
    "Estimator",
    "FaultError",
    "FewRowsWarning",
    "ForkedProcessError",
    "FoundChannel",
    "Gaussian",
    "KeptColumnWarning",
    "Laplace",
    "Ledger",
    "LedgerError",
    "LedgerNoiseWarning",
    "LedgerWarning",
    "MarkovChain",
    "MissingPackageError",
    "NoNoiseNeededError",
    "Plan",
    "PlanFileError",
    "Population",
    "Prior",
    "PriorError",
    "PufferError",
    "PufferTransformer",
    "PufferWarning",
    "RareLevelsWarning",
    "Remap",
    "RowOrderWarning",
    "Stable",
    "Strata",
    "SuspectValuesWarning",
    "UncoveredFrameError",
    "Unit",
    "UnreadColumnWarning",
    "UnsoundTheoremWarning",
    "WeakGuaranteeWarning",
    "WideNoiseWarning",
    "__version__",
    "aggregate",
    "audit",
    "bernoulli_scale",
    "best_channel",
    "binary_class",
    "bounded_scales",
    "calibrate",
    "certificate_of",
    "compare",
    "compose",
    "estimate",
    "fit_gaussian",
    "fit_mixture",
    "gaussian_scale",
    "histogram",
    "hockey_stick",
    "kantorovich_scale",
    "ledger",
    "load_plan",
    "mixture_scale",
    "network_quilt_scale",
    "network_scale",
    "of",
    "presence_scale",
    "privatize",
    "pure_loss",
    "quilt_approx_scale",
    "quilt_scale",
    "read_certificate",
    "smallest_scale",
    "translation_scale",
    "transport_plan",
    "value_scale",
    "verify",
    "w_infinity",
    "write_parquet",
]
