"""Pictures of plans: each one call that takes and returns matplotlib Axes.

Without matplotlib, the extra `plot`, they raise MissingPackageError.
"""

from puffer_frames.verbs.pictures.losses import curve, loss, profile, quilt, robustness, sheet
from puffer_frames.verbs.pictures.matrices import associations, channel, distributions, released, transport

__all__ = [
    "associations",
    "channel",
    "curve",
    "distributions",
    "loss",
    "profile",
    "quilt",
    "released",
    "robustness",
    "sheet",
    "transport",
]
