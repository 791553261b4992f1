"""Requests that meet an error or a warning, and the same with its hint followed."""

import numpy as np
import pandas as pd
from message_tables import (
    BEYOND,
    BRITTLE,
    CALM,
    CHANNEL,
    CODED,
    DATED,
    ENDLESS,
    FEW_MISSING,
    FLOATS,
    FRAME,
    GIVEN,
    HAMLETS,
    LABELLED,
    LISTS,
    LOST,
    MANY,
    MARK,
    MARKED,
    MISSING,
    NO_SECRET,
    NO_TOWN,
    NUMBERED,
    PRICED,
    PRICES,
    RARE,
    RECODED,
    RISING,
    ROWS,
    SORTED,
    TEXT,
    TOWNS,
    TWO_CODES,
)

from puffer_frames import Channel, Laplace, Layout, Noise, Stable
from puffer_frames.core import Prior

# name: (frame and options that meet the message, frame and options that follow its hint)
REQUESTS = {
    "misspelt column": ((FRAME, {"public": "wages"}), (FRAME, {"public": "wage"})),
    "no column": ((FRAME, {"public": None}), (FRAME, {"public": "wage"})),
    "column as both": ((FRAME, {"secret": "wage"}), (FRAME, {"secret": "race"})),
    "kept secret": ((FRAME, {"layout": Layout(keep="race")}), (FRAME, {"layout": Layout(keep=())})),
    "one secret value": ((FRAME, {"secret": "town"}), (FRAME, {"secret": "race"})),
    "epsilon": ((FRAME, {"epsilon": 0}), (FRAME, {"epsilon": 0.1})),
    "epsilon as text": ((FRAME, {"epsilon": "1"}), (FRAME, {"epsilon": 1.0})),
    "delta": ((FRAME, {"delta": 1}), (FRAME, {"delta": 0})),
    "delta missing": ((FRAME, {"delta": None}), (FRAME, {"delta": 1e-6})),
    "pairs": ((FRAME, {"pairs": "a"}), (FRAME, {"pairs": [("a", "b")]})),
    "unknown secret": ((FRAME, {"pairs": [("a", "A")]}), (FRAME, {"pairs": [("a", "b")]})),
    "pair of equals": ((FRAME, {"pairs": [("a", "a"), ("a", "b")]}), (FRAME, {"pairs": [("a", "b")]})),
    "theorem": ((FRAME, {"mechanism": lambda: Noise(theorem="w2")}), (FRAME, {"mechanism": Noise(theorem="auto")})),
    "bernoulli on many values": (
        (FRAME, {"mechanism": Noise(theorem="bernoulli")}),
        (FRAME, {"mechanism": Noise(theorem="kantorovich")}),
    ),
    "calibration": (
        (FRAME, {"mechanism": lambda: Noise(calibration="best")}),
        (FRAME, {"mechanism": Noise(calibration="exact")}),
    ),
    "no pure condition": (
        (FRAME, {"mechanism": Noise(theorem="gmm", calibration="theorem")}),
        (FRAME, {"mechanism": Noise(theorem="gmm", calibration="exact")}),
    ),
    "components": (
        (FRAME, {"mechanism": lambda: Noise(components=3, theorem="gaussian")}),
        (FRAME, {"mechanism": Noise(theorem="gaussian")}),
    ),
    "no component": (
        (FRAME, {"mechanism": lambda: Noise(components=0, theorem="gmm")}),
        (FRAME, {"mechanism": Noise(theorem="gmm")}),
    ),
    "beliefs": ((FRAME, {"beliefs": "mine"}), (FRAME, {"beliefs": ("fitted", "empirical")})),
    "belief without a secret": ((FRAME, {"beliefs": {"a": GIVEN["a"]}}), (FRAME, {"beliefs": GIVEN})),
    "nothing to hide": ((CALM, {"epsilon": 5.0}), (CALM, {"epsilon": 5.0, "allow_zero_noise": True})),
    "nulls": ((MISSING, {}), (MISSING, {"nulls": "drop"})),
    "null secrets": ((NO_SECRET, {}), (NO_SECRET, {"nulls": "drop"})),
    "index": ((LABELLED, {}), (LABELLED, {"layout": Layout(index="drop")})),
    "numbers as text": ((TEXT, {"mechanism": "noise"}), (TEXT.astype({"wage": float}), {"mechanism": "noise"})),
    "text as the public column": (
        (TOWNS, {"public": "town", "mechanism": "noise"}),
        (TOWNS, {"public": "town", "mechanism": "channel"}),
    ),
    "one level": ((FRAME, {"public": "town"}), (FRAME, {"layout": Layout(keep="town")})),
    "rare levels": (
        (TOWNS.assign(town=TOWNS["town"].where(TOWNS.index != 7, "hamlet")), {"public": "town"}),
        (
            TOWNS.assign(town=TOWNS["town"].where(TOWNS.index != 7, "hamlet")),
            {"public": "town", "mechanism": Channel(merge_rare=5)},
        ),
    ),
    "rare combinations of labels": (
        (HAMLETS.assign(wage="w"), {"public": ["town", "wage"], **CHANNEL}),
        (HAMLETS.assign(wage="w"), {"public": ["town", "wage"]}),
    ),
    "too many combinations of labels": (
        (TWO_CODES, {"public": ["wage", "town"], **CHANNEL}),
        (TWO_CODES, {"public": ["wage", "town"]}),
    ),
    "missing values in all rows of a secret": (
        (LOST, {"nulls": "drop"}),
        (LOST.fillna({"wage": 0.0}), {"nulls": "drop"}),
    ),
    "more than 256 levels": (
        (MANY, {"public": "town"}),
        (MANY.assign(town=MANY["town"].where(MANY["town"].str.endswith("0"), "other")), {"public": "town"}),
    ),
    "labels beside another column": (
        (TOWNS, {"public": ["wage", "town"], "mechanism": Noise("gaussian"), "delta": 1e-6}),
        (TOWNS, {"public": "town"}),
    ),
    "few missing labels": (
        (FEW_MISSING, {"public": "town", "nulls": "level"}),
        (FEW_MISSING, {"public": "town", "nulls": "drop"}),
    ),
    "bounds of labels": (
        (TOWNS, {"public": "town", "domain": {"town": (0, 1)}}),
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", "z"]}}),
    ),
    "missing labels": ((NO_TOWN, {"public": "town"}), (NO_TOWN, {"public": "town", "nulls": "level"})),
    "merged numbers": (
        (FRAME, {"mechanism": Channel(merge_rare=5)}),
        (TOWNS, {"mechanism": Channel(merge_rare=5), "public": "town", **CHANNEL}),
    ),
    "rounded labels": ((TOWNS, {"public": "town", "layout": Layout(round=True)}), (TOWNS, {"public": "town"})),
    "clipped labels": ((TOWNS, {"public": "town", "layout": Layout(clip=(0, 1))}), (TOWNS, {"public": "town"})),
    "published beside noise": ((FRAME, {"layout": Layout(publish="levels")}), (FRAME, {})),
    "another word to publish": (
        (TOWNS, {"public": "town", "layout": lambda: Layout(publish="counts")}),
        (TOWNS, {"public": "town", "layout": Layout(publish="levels")}),
    ),
    "a level that was not declared": (
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y"]}}),
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", "z"]}}),
    ),
    "a level declared twice": (
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", "z", "x"]}}),
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", "z"]}}),
    ),
    "a declared level of several": (
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", ["z"]]}}),
        (TOWNS, {"public": "town", "domain": {"town": ["x", "y", "z"]}}),
    ),
    "every law of undeclared levels": (
        (TOWNS, {"public": "town", "beliefs": "population"}),
        (TOWNS, {"public": "town", "beliefs": "population", "domain": {"town": ["x", "y", "z"]}}),
    ),
    "a belief about other labels": (
        (TOWNS, {"public": "town", "beliefs": {"a": {"x": 1, "w": 1}, "b": {"x": 1}}}),
        (
            TOWNS,
            {
                "public": "town",
                "beliefs": {"a": {"x": 1, "w": 1}, "b": {"x": 1}},
                "domain": {"town": ["x", "y", "z", "w"]},
            },
        ),
    ),
    "a belief of no weight": (
        (TOWNS, {"public": "town", "beliefs": {"a": {"x": 0}, "b": {"x": 1}}}),
        (TOWNS, {"public": "town", "beliefs": {"a": {"x": 0.5, "y": 0.5}, "b": {"x": 1}}}),
    ),
    "a theorem of noise": ((TOWNS, {"public": "town", "mechanism": Noise(theorem="gmm")}), (TOWNS, {"public": "town"})),
    "a radius without a secret": (
        (TOWNS, {"public": "town", "mechanism": Channel(radius={"a": 0.1})}),
        (TOWNS, {"public": "town", "mechanism": Channel()}),
    ),
    "a distance of labels": (
        (TOWNS, {"public": "town", "mechanism": Channel(cost="absolute")}),
        (TOWNS, {"public": "town", "mechanism": Channel()}),
    ),
    "the mean of labels": (
        (TOWNS, {"public": "town", "mechanism": Channel(preserve="mean")}),
        (TOWNS, {"public": "town", "mechanism": Channel(preserve="marginal")}),
    ),
    "outputs beside what is kept": (
        (TOWNS, {"public": "town", "mechanism": Channel(preserve="marginal", outputs=2)}),
        (TOWNS, {"public": "town", "mechanism": Channel(outputs=2)}),
    ),
    "a matrix of another size": (
        (TOWNS, {"public": "town", "mechanism": Channel(cost=[[0, 1], [1, 0]])}),
        (TOWNS, {"public": "town", "mechanism": Channel(cost=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])}),
    ),
    "costs below 0": (
        (TOWNS, {"public": "town", "mechanism": Channel(cost=lambda x, y: -1.0)}),
        (TOWNS, {"public": "town", "mechanism": Channel(cost=lambda x, y: float(x != y))}),
    ),
    "costs that are no numbers": (
        (TOWNS, {"public": "town", "mechanism": Channel(cost=lambda x, y: "far")}),
        (TOWNS, {"public": "town"}),
    ),
    "declared levels beside noise": (
        (FRAME, {"domain": {"wage": [MARK + k for k in range(7)]}}),
        (FRAME, {"domain": {"wage": [MARK + k for k in range(7)]}, "mechanism": "channel"}),
    ),
    "declared numbers without one": (
        (FRAME, {"domain": {"wage": [MARK, MARK + 1, 3]}, "mechanism": "channel"}),
        (FRAME, {"domain": {"wage": [MARK + k for k in range(7)]}, "mechanism": "channel"}),
    ),
    "declared text of numbers": (
        (FRAME, {"domain": {"wage": ["x", "y", "z"]}, "mechanism": "channel"}),
        (FRAME, {"domain": {"wage": range(MARK, MARK + 7)}, "mechanism": "channel"}),
    ),
    "labels already private": (
        (TOWNS, {"public": "town", "epsilon": 5.0, "mechanism": BRITTLE}),
        (TOWNS, {"public": "town", "epsilon": 5.0, "mechanism": BRITTLE, "allow_zero_noise": True}),
    ),
    "times as the public column": (
        (DATED.assign(day=DATED["day"] + pd.Timedelta("1h")), {"public": "day"}),
        (DATED, {"public": "day"}),
    ),
    "lists as the public column": ((FRAME.assign(wage=pd.Series([[1]] * ROWS, dtype=LISTS)), {}), (FRAME, {})),
    "numbers in an object column": ((FRAME.astype({"wage": object}), {}), (FRAME.astype({"wage": int}), {})),
    "a level named like a column": (
        (LABELLED.rename_axis(index="wage"), {"layout": Layout(index="keep")}),
        (LABELLED.rename_axis(index="row"), {"layout": Layout(index="keep")}),
    ),
    "infinity": ((ENDLESS, {}), (ENDLESS.assign(wage=ENDLESS["wage"].clip(0, 2 * MARK)), {})),
    "no rows": ((FRAME.head(0), {}), (FRAME, {})),
    "not a frame": ((FRAME.to_dict("list"), {}), (pd.DataFrame(FRAME.to_dict("list")), {})),
    "a name with NUL": ((FRAME.rename(columns={"town": "to\0wn"}), {}), (FRAME, {})),
    "names twice": ((FRAME.set_axis(["race", "wage", "wage"], axis=1), {}), (FRAME, {})),
    "clip": ((FRAME, {"layout": Layout(clip=(9, 0))}), (FRAME, {"layout": Layout(clip=(0, 100))})),
    "clip of something else": (
        (FRAME, {"layout": Layout(clip={"town": (0, 1)})}),
        (FRAME, {"layout": Layout(clip={"wage": (0, 100)})}),
    ),
    "domain": ((FRAME, {"domain": (0, 2 * MARK)}), (FRAME, {"domain": {"wage": (0, 2 * MARK)}})),
    "joint theorem": (
        (FLOATS, {"public": ["wage", "more"], "mechanism": Noise(theorem="gmm")}),
        (FLOATS, {"public": ["wage", "more"]}),
    ),
    "noise": (
        (FRAME, {"mechanism": lambda: Noise("normal")}),
        (FRAME, {"mechanism": Noise("gaussian"), "delta": 1e-6}),
    ),
    "gaussian noise, pure": (
        (FRAME, {"mechanism": Noise("gaussian")}),
        (FRAME, {"mechanism": Noise("gaussian"), "delta": 1e-6}),
    ),
    "gaussian noise, huge epsilon": (
        (FRAME, {"mechanism": Noise("gaussian"), "delta": 1e-6, "epsilon": 800}),
        (FRAME, {"mechanism": Noise("gaussian"), "delta": 1e-6, "epsilon": 2}),
    ),
    "stable noise, delta": (
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7)), "delta": 1e-6}),
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7))}),
    ),
    "stable noise, remap": (
        (FRAME, {"mechanism": lambda: Noise(Stable(alpha=1.7), remap=True)}),
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7))}),
    ),
    "stable noise, no alpha": (
        (FRAME, {"mechanism": lambda: Noise("stable")}),
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7))}),
    ),
    "stable noise, theorem": (
        (FRAME, {"mechanism": lambda: Noise(Stable(alpha=1.7), theorem="gmm")}),
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7), theorem="kantorovich")}),
    ),
    "noise with a scale": (
        (FRAME, {"mechanism": lambda: Noise(Laplace(scale=2.0))}),
        (FRAME, {"mechanism": Noise(Laplace())}),
    ),
    "epsilon below the grid": ((FRAME, {"epsilon": 1e-12}), (FRAME, {"epsilon": 0.1})),
    "no bound of the loss": (
        (FRAME, {"mechanism": Noise(Stable(alpha=1.7)), "beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}}),
        (FRAME, {"beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}}),
    ),
    "rng": ((FRAME, {"rng": "seed"}), (FRAME, {"rng": None})),
    "misspelt row_id": ((NUMBERED, {"layout": Layout(row_id="idd")}), (NUMBERED, {"layout": Layout(row_id="id")})),
    "row_id is the secret": (
        (NUMBERED, {"layout": Layout(row_id="race")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "row_id of floats": ((NUMBERED, {"layout": Layout(row_id="part")}), (NUMBERED, {"layout": Layout(row_id="id")})),
    "row_id twice in a column": (
        (NUMBERED, {"layout": Layout(row_id="twice")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "row_id missing": (
        (NUMBERED.assign(id=pd.array([None, *range(1, ROWS)], dtype="Int64")), {"layout": Layout(row_id="id")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "row_id beyond 64 bits": (
        (NUMBERED.assign(id=np.arange(ROWS, dtype=np.uint64) + np.uint64(2**63)), {"layout": Layout(row_id="id")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "two columns as row_id": (
        (NUMBERED, {"layout": Layout(row_id=["id", "twice"])}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "epsilon that says nothing": ((FRAME, {"epsilon": 12}), (FRAME, {"epsilon": 2})),
    "delta that says nothing": ((FRAME, {"delta": 0.01}), (FRAME, {"delta": 1e-6})),
    "a belief beyond the domain": (
        (FRAME, {"beliefs": BEYOND, "domain": {"wage": (0, 2 * MARK)}}),
        (FRAME, {"beliefs": BEYOND}),
    ),
    "labels that look like numbers": ((PRICED, {}), (PRICES, {})),
    "a secret with a mark of missing values": (
        (MARKED, {}),
        (MARKED.assign(race=MARKED["race"].where(MARKED["race"] != "NA")), {"nulls": "drop"}),
    ),
    "a code for missing values": (
        (CODED, {}),
        (CODED.assign(wage=CODED["wage"].where(CODED["wage"] != MARK)), {"nulls": "drop"}),
    ),
    "a code that is a value": ((CODED, {}), (CODED, {"domain": {"wage": (0, 2 * MARK)}})),
    "a secret of few rows": ((RARE, {}), (RARE.assign(race=RARE["race"].replace("c", "b")), {})),
    "what the certificate says": ((FRAME, {"about": {"owner": "me"}}), (FRAME, {"about": {"issuer": "me"}})),
    "a time without a zone": (
        (FRAME, {"about": {"created": "2026-01-31T12:00:00"}}),
        (FRAME, {"about": {"created": "2026-01-31T12:00:00Z"}}),
    ),
    "clustered rows": ((SORTED, {}), (SORTED, {"layout": Layout(shuffle=True)})),
    "rows in the order of the public column": ((RISING, {}), (RISING, {"layout": Layout(shuffle=True)})),
    "an index that is an array": (
        (FRAME, {"layout": lambda: Layout(index=np.array(["keep", "drop"]))}),
        (FRAME, {"layout": Layout(index="drop")}),
    ),
    "a kept index of shuffled rows": (
        (FRAME, {"layout": lambda: Layout(index="keep", shuffle=True)}),
        (FRAME, {"layout": Layout(shuffle=True)}),
    ),
    "the secret kept under other labels": ((RECODED, {"layout": Layout(keep="code")}), (RECODED, {})),
    "a kept copy of the public column": (
        (RECODED, {"layout": Layout(keep="half")}),
        (RECODED, {"layout": Layout(keep="town")}),
    ),
    "a level of few rows": (
        (HAMLETS, {"public": "town"}),
        (HAMLETS, {"public": "town", "mechanism": Channel(merge_rare=5)}),
    ),
}
