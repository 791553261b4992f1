"""Pufferfish privacy for pandas, Polars and Spark: publish a table, keep a column secret.

>>> import pandas as pd, puffer_frames
>>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
>>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
>>> released.puffer.verify()
'intact'
"""

from puffer_frames._version import __version__
from puffer_frames.accessor import register
from puffer_frames.aggregates import aggregate
from puffer_frames.attached import certificate_of, read_certificate, verify, write_parquet
from puffer_frames.calibration import Calibration
from puffer_frames.certificate import Certificate
from puffer_frames.chains import MarkovChain, binary_class
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PriorError,
    PufferError,
    PufferWarning,
    RowOrderWarning,
    UncoveredFrameError,
    UnsoundTheoremWarning,
)
from puffer_frames.fitting import fit_gaussian, fit_mixture
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.priors import Prior
from puffer_frames.release import calibrate, privatize
from puffer_frames.search import smallest_scale
from puffer_frames.series import histogram
from puffer_frames.theorems.bernoulli import bernoulli_exact_scale, bernoulli_scale
from puffer_frames.theorems.bounded import bounded_scales
from puffer_frames.theorems.gaussian import gaussian_scale, tau_star, tau_star_bound, translation_scale
from puffer_frames.theorems.kantorovich import kantorovich_scale
from puffer_frames.theorems.mixture import mixture_scale, ubm_scale
from puffer_frames.theorems.quilt import quilt_approx_scale, quilt_scale
from puffer_frames.theorems.users import (
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    gaussian_presence_scale,
    presence_bound_scale,
    presence_scale,
    value_scale,
)
from puffer_frames.transport import w_infinity

register()

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "Bracket",
    "Calibration",
    "CalibrationError",
    "Certificate",
    "ColumnNotFoundError",
    "Gaussian",
    "Laplace",
    "MarkovChain",
    "Prior",
    "PriorError",
    "PufferError",
    "PufferWarning",
    "RowOrderWarning",
    "Stable",
    "UncoveredFrameError",
    "UnsoundTheoremWarning",
    "__version__",
    "aggregate",
    "bernoulli_exact_scale",
    "bernoulli_neighbour_scale",
    "bernoulli_presence_scale",
    "bernoulli_scale",
    "binary_class",
    "bounded_scales",
    "calibrate",
    "certificate_of",
    "fit_gaussian",
    "fit_mixture",
    "gaussian_presence_scale",
    "gaussian_scale",
    "histogram",
    "hockey_stick",
    "kantorovich_scale",
    "mixture_scale",
    "presence_bound_scale",
    "presence_scale",
    "privatize",
    "pure_loss",
    "quilt_approx_scale",
    "quilt_scale",
    "read_certificate",
    "smallest_scale",
    "tau_star",
    "tau_star_bound",
    "translation_scale",
    "ubm_scale",
    "value_scale",
    "verify",
    "w_infinity",
    "write_parquet",
]
