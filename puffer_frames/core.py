"""The numeric core, for priors without a table, and the classes of what the verbs return.

>>> from puffer_frames.core import Prior, pure_loss, smallest_scale
>>> priors = {"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}
>>> scale = smallest_scale(priors, epsilon=1.0)
>>> round(scale, 4), round(pure_loss(priors["s"], priors["t"], scale=scale).upper, 4)
(0.6908, 1.0)
"""

from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.loss.outcome import Bracket
from puffer_frames.loss.renyi import renyi_divergence, renyi_epsilon
from puffer_frames.mechanisms.batch_report import BatchReport
from puffer_frames.mechanisms.channel.best import FoundChannel, best_channel
from puffer_frames.noise.totals import add_share, shares_p_value
from puffer_frames.priors.fitting import fit_gaussian, fit_mixture
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.prior import Prior
from puffer_frames.priors.transport import transport_plan, w_infinity
from puffer_frames.scales.networks import network_scale
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.search import smallest_scale
from puffer_frames.verbs.auditing.report import AuditCheck, AuditedPair, AuditReport
from puffer_frames.verbs.estimating.estimated import Estimate
from puffer_frames.verbs.estimating.estimator import Estimator
from puffer_frames.verbs.ledgers.composition import Composition

__all__ = [
    "AuditCheck",
    "AuditReport",
    "AuditedPair",
    "BatchReport",
    "BayesianNetwork",
    "Bracket",
    "Composition",
    "Estimate",
    "Estimator",
    "FoundChannel",
    "Prior",
    "Remap",
    "add_share",
    "best_channel",
    "fit_gaussian",
    "fit_mixture",
    "hockey_stick",
    "network_scale",
    "pure_loss",
    "renyi_divergence",
    "renyi_epsilon",
    "shares_p_value",
    "smallest_scale",
    "transport_plan",
    "w_infinity",
]
