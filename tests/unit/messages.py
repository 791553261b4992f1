"""Every message that a request can meet, and the request that follows its hint."""

import warnings

import numpy as np
import pandas as pd

import puffer_frames
from puffer_frames import Prior, PufferError, PufferWarning

MARK = 8_675_309
"""A public value that no message may show."""

RNG = np.random.default_rng(0)
ROWS = 200
FRAME = pd.DataFrame(
    {"race": RNG.choice(["a", "b"], ROWS), "wage": RNG.integers(0, 5, ROWS) + MARK, "town": ["x"] * ROWS}
)
FRAME.loc[FRAME["race"] == "a", "wage"] += 2
MISSING = FRAME.assign(wage=FRAME["wage"].where(FRAME.index > 3))
NO_SECRET = FRAME.assign(race=FRAME["race"].where(FRAME.index > 3))
SORTED = FRAME.sort_values("race", ignore_index=True)
LABELLED = FRAME.iloc[::-1]
TEXT = FRAME.assign(wage=FRAME["wage"].astype(str))
ENDLESS = FRAME.assign(wage=FRAME["wage"].astype(float).where(FRAME.index > 3, np.inf))
FLOATS = FRAME.assign(wage=FRAME["wage"] + RNG.normal(size=ROWS), more=1.0)
GIVEN = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(1, 1)}
CALM = FRAME.assign(wage=RNG.permutation(FRAME["wage"]))

# name: (frame and options that meet the message, frame and options that follow its hint)
REQUESTS = {
    "misspelt column": ((FRAME, {"public": "wages"}), (FRAME, {"public": "wage"})),
    "no column": ((FRAME, {"public": None}), (FRAME, {"public": "wage"})),
    "column as both": ((FRAME, {"secret": "wage"}), (FRAME, {"secret": "race"})),
    "kept secret": ((FRAME, {"keep": "race"}), (FRAME, {"keep": ()})),
    "one secret value": ((FRAME, {"secret": "town"}), (FRAME, {"secret": "race"})),
    "epsilon": ((FRAME, {"epsilon": 0}), (FRAME, {"epsilon": 0.1})),
    "epsilon as text": ((FRAME, {"epsilon": "1"}), (FRAME, {"epsilon": 1.0})),
    "delta": ((FRAME, {"delta": 1}), (FRAME, {"delta": 0})),
    "delta missing": ((FRAME, {"delta": None}), (FRAME, {"delta": 1e-6})),
    "pairs": ((FRAME, {"pairs": "a"}), (FRAME, {"pairs": [("a", "b")]})),
    "unknown secret": ((FRAME, {"pairs": [("a", "A")]}), (FRAME, {"pairs": [("a", "b")]})),
    "pair of equals": ((FRAME, {"pairs": [("a", "a"), ("a", "b")]}), (FRAME, {"pairs": [("a", "b")]})),
    "theorem": ((FRAME, {"theorem": "w2"}), (FRAME, {"theorem": "auto"})),
    "bernoulli on many values": ((FRAME, {"theorem": "bernoulli"}), (FRAME, {"theorem": "kantorovich"})),
    "calibration": ((FRAME, {"calibration": "best"}), (FRAME, {"calibration": "exact"})),
    "no pure condition": (
        (FRAME, {"theorem": "gmm", "calibration": "theorem"}),
        (FRAME, {"theorem": "gmm", "calibration": "exact"}),
    ),
    "components": ((FRAME, {"components": 3, "theorem": "gaussian"}), (FRAME, {"theorem": "gaussian"})),
    "no component": ((FRAME, {"components": 0, "theorem": "gmm"}), (FRAME, {"theorem": "gmm"})),
    "beliefs": ((FRAME, {"beliefs": "mine"}), (FRAME, {"beliefs": ("fitted", "empirical")})),
    "belief without a secret": (
        (FRAME, {"beliefs": {"a": GIVEN["a"]}}),
        (FRAME, {"beliefs": GIVEN}),
    ),
    "nothing to hide": ((CALM, {"epsilon": 5.0}), (CALM, {"epsilon": 5.0, "allow_zero_noise": True})),
    "nulls": ((MISSING, {}), (MISSING, {"nulls": "drop"})),
    "null secrets": ((NO_SECRET, {}), (NO_SECRET, {"nulls": "drop"})),
    "index": ((LABELLED, {}), (LABELLED, {"index": "drop"})),
    "numbers as text": ((TEXT, {}), (TEXT.astype({"wage": int}), {})),
    "infinity": ((ENDLESS, {}), (ENDLESS.assign(wage=ENDLESS["wage"].clip(0, 2 * MARK)), {})),
    "no rows": ((FRAME.head(0), {}), (FRAME, {})),
    "not a frame": ((FRAME.to_dict("list"), {}), (pd.DataFrame(FRAME.to_dict("list")), {})),
    "names twice": ((FRAME.set_axis(["race", "wage", "wage"], axis=1), {}), (FRAME, {})),
    "clip": ((FRAME, {"clip": (9, 0)}), (FRAME, {"clip": (0, 100)})),
    "clip of something else": ((FRAME, {"clip": {"town": (0, 1)}}), (FRAME, {"clip": {"wage": (0, 100)}})),
    "domain": ((FRAME, {"domain": (0, 2 * MARK)}), (FRAME, {"domain": {"wage": (0, 2 * MARK)}})),
    "joint theorem": (
        (FLOATS, {"public": ["wage", "more"], "theorem": "gmm"}),
        (FLOATS, {"public": ["wage", "more"]}),
    ),
    "rng": ((FRAME, {"rng": "seed"}), (FRAME, {"rng": None})),
    "clustered rows": ((SORTED, {}), (SORTED, {"shuffle": True})),
}


def ask(frame, options):
    """The error or the warnings that a request meets; empty where it meets none."""
    request = {"secret": "race", "public": "wage", "epsilon": 1.0} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            puffer_frames.privatize(frame, **request)
        except PufferError as error:
            return [error]
    assert all(issubclass(w.category, PufferWarning) for w in caught)
    return [w.message for w in caught]
