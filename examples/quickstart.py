"""Hand over a table and keep one of its columns secret: a made-up table, no download."""

import numpy as np
import pandas as pd

import puffer_frames  # noqa: F401  (registers .puffer)

rng = np.random.default_rng(0)
woman = rng.random(5000) < 0.5
people = pd.DataFrame(
    {
        "sex": np.where(woman, "f", "m"),
        "job": np.where(rng.random(5000) < 0.6, np.where(woman, "nurse", "driver"), "clerk"),
        "hours": np.where(rng.random(5000) < np.where(woman, 0.5, 0.2), 20, 40),
        "night": rng.random(5000) < 0.3,
        "age": rng.integers(18, 66, 5000),
    }
)

plan = people.puffer.calibrate(secret="sex", epsilon=1.0)  # some seconds: attackers are tried, too
print(plan, end="\n\n")

released = plan.release(people)
print(released.head(), end="\n\n")
print(released.puffer.certificate, end="\n\n")
print(released.puffer.quality(people))
