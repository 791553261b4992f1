"""Pictures of plans: each one call that takes and returns matplotlib Axes. They need the extra `plot`."""

from puffer_frames.verbs.pictures.against_epsilon import curve, profile
from puffer_frames.verbs.pictures.associations import associations
from puffer_frames.verbs.pictures.distributions import distributions
from puffer_frames.verbs.pictures.losses import loss, robustness
from puffer_frames.verbs.pictures.matrices import channel, transport
from puffer_frames.verbs.pictures.release import released
from puffer_frames.verbs.pictures.series import quilt
from puffer_frames.verbs.pictures.sheets import sheet

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
