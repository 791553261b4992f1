"""Tables whose releases meet an error or a warning."""

import numpy as np
import pandas as pd
import pyarrow as pa

from puffer_frames import Channel
from puffer_frames.core import Prior

MARK = 8_675_309
"""A public value that no message may show."""

RNG = np.random.default_rng(0)
ROWS = 200
FRAME = pd.DataFrame(
    {"race": RNG.choice(["a", "b"], ROWS), "wage": RNG.integers(0, 5, ROWS) + MARK, "town": ["x"] * ROWS}
)
FRAME.loc[FRAME["race"] == "a", "wage"] += 2
RARE = FRAME.assign(race=FRAME["race"].where(FRAME.index % 20 > 0, "c"))
MISSING = FRAME.assign(wage=FRAME["wage"].where(FRAME.index > 3))
NO_SECRET = FRAME.assign(race=FRAME["race"].where(FRAME.index > 3))
SORTED = FRAME.sort_values("race", ignore_index=True)
RISING = FRAME.sort_values("wage", ignore_index=True)
RECODED = FRAME.assign(code=FRAME["race"].map({"a": 2, "b": 7}), half=FRAME["wage"] / 2)
LABELLED = FRAME.iloc[::-1]
TEXT = FRAME.assign(wage=FRAME["wage"].astype(str))
PRICED = FRAME.assign(wage=FRAME["wage"].map("${:,}".format))
PRICES = PRICED.assign(
    wage=pd.to_numeric(PRICED["wage"].str.replace(r"[^0-9.eE-]", "", regex=True), errors="coerce")  # as the hint says
)
MARKED = FRAME.assign(race=FRAME["race"].where(np.random.default_rng(1).random(ROWS) > 0.2, "NA"))
CODED = FRAME.assign(wage=(FRAME["wage"] - MARK).where(FRAME.index % 20 > 0, MARK))
DATED = FRAME.assign(day=pd.Timestamp("2026-01-01") + pd.to_timedelta(FRAME["wage"] - MARK, unit="D"))
LISTS = pd.ArrowDtype(pa.list_(pa.int64()))
ENDLESS = FRAME.assign(wage=FRAME["wage"].astype(float).where(FRAME.index > 3, np.inf))
FLOATS = FRAME.assign(wage=FRAME["wage"] + RNG.normal(size=ROWS), more=1.0)
GIVEN = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(1, 1)}
BEYOND = {"a": Prior.empirical([0, 1]), "b": Prior.empirical([-1, 2])}
PEAKED = pd.DataFrame({"race": ["a", "b"] * ROWS, "wage": RNG.normal(size=2 * ROWS) + [0, 0, 100, 200] * (ROWS // 2)})
PEAKED = PEAKED.sample(frac=1, random_state=1, ignore_index=True)
CALM = FRAME.assign(wage=RNG.permutation(FRAME["wage"]))
HAMLETS = FRAME.assign(town=RNG.permutation(["x"] * 120 + ["y"] * (ROWS - 122) + ["hamlet"] * 2))
NUMBERED = FRAME.assign(id=range(ROWS), twice=[0, *range(ROWS - 1)], part=[0.5] * ROWS)
CHANNEL = {"mechanism": "channel"}
BRITTLE = Channel(radius=0, cap=None)
TOWNS = FRAME.assign(town=RNG.choice(["x", "y", "z"], ROWS))
FEW_MISSING = TOWNS.assign(town=TOWNS["town"].where(TOWNS.index > 2))
NO_TOWN = TOWNS.assign(town=TOWNS["town"].where(TOWNS.index % 9 > 0))
LOST = FRAME.assign(wage=FRAME["wage"].where(FRAME["race"] == "a"))
CODES = np.random.default_rng(1).integers(0, [[17], [19]], (2, 3 * ROWS))
TWO_CODES = pd.DataFrame({"race": [*FRAME["race"]] * 3, "wage": CODES[0].astype(str), "town": CODES[1].astype(str)})
MANY = pd.concat([TOWNS] * 26, ignore_index=True)
MANY = MANY.assign(town=[f"n{MARK + k // 20}" for k in range(26 * ROWS)]).sample(frac=1, random_state=0)
MANY = MANY.reset_index(drop=True)
