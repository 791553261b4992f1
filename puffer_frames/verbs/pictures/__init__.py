"""Pictures of plans: each one call that takes and returns matplotlib Axes.

Without matplotlib, the extra `plot`, they raise MissingPackageError.

Examples
--------
>>> import numpy as np, pandas as pd, puffer_frames
>>> from puffer_frames import pictures
>>> rng = np.random.default_rng(0)
>>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100), "town": "x"})
>>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
>>> pictures.curve(plan, epsilons=[0.2, 0.5, 1]).get_xscale(), pictures.profile(plan, epsilons=[0.2, 1]).get_ylabel()
('log', 'delta')
>>> pictures.distributions(plan).get_xlabel(), pictures.transport(plan, pair=("a", "b")).get_xlabel()
('score', 'score, group b')
>>> pictures.loss(plan).get_ylabel(), len(pictures.sheet(plan).axes)
('log-ratio of densities', 4)
>>> [each.get_text() for each in pictures.robustness(plan).get_yticklabels()]
['any law', 'contaminated', 'population', 'empirical']
>>> people.loc[people["group"] == "b", "town"] = rng.choice(["x", "y", "z"], sum(people["group"] == "b"))
>>> pictures.channel(people.puffer.calibrate(secret="group", public="town", epsilon=0.5)).get_ylabel()
'town'
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
