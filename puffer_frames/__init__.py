"""Pufferfish privacy for pandas and Polars: publish a table, keep a column secret.

>>> import pandas as pd, puffer_frames
>>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
>>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0)
>>> released.puffer.verify()
'intact'
"""

from puffer_frames._version import __version__
from puffer_frames.accessor import register
from puffer_frames.calibration import Calibration
from puffer_frames.certificate import Certificate, verify
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PriorError,
    PufferError,
    PufferWarning,
    UncoveredFrameError,
)
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.priors import Prior
from puffer_frames.release import calibrate, privatize
from puffer_frames.search import smallest_scale
from puffer_frames.theorems.bernoulli import bernoulli_exact_scale, bernoulli_scale
from puffer_frames.theorems.kantorovich import kantorovich_scale
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
    "Prior",
    "PriorError",
    "PufferError",
    "PufferWarning",
    "UncoveredFrameError",
    "__version__",
    "bernoulli_exact_scale",
    "bernoulli_scale",
    "calibrate",
    "hockey_stick",
    "kantorovich_scale",
    "privatize",
    "pure_loss",
    "smallest_scale",
    "verify",
    "w_infinity",
]
