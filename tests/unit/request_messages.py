"""Requests that meet an error or a warning, and the same with its hint followed."""

from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa

from puffer_frames import Channel, Laplace, Layout, Noise, Stable
from puffer_frames.core import Prior

# Tables whose releases meet an error or a warning.

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
WARDS = FRAME.assign(ward=np.where(np.random.default_rng(1).random(ROWS) < 0.5, FRAME["race"] == "a", FRAME.index % 2))
WARDS = pd.concat([WARDS] * 10, ignore_index=True).sample(frac=1, random_state=0, ignore_index=True)
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
MANY = MANY.assign(town=[f"n{MARK + k // 10}" for k in range(26 * ROWS)]).sample(frac=1, random_state=0)
MANY = MANY.reset_index(drop=True)


def both(frame, bad, good):
    """One frame with either options."""
    return (frame, bad), (frame, good)


def one(frame, name, bad, good):
    """One option of a frame, with either value."""
    return both(frame, {name: bad}, {name: good})


def towns(bad, good):
    """Labels as the public column."""
    return both(TOWNS, {"public": "town"} | bad, {"public": "town"} | good)


# name: (frame and options that meet the message, frame and options that follow its hint)
REQUESTS = {
    "misspelt column": one(FRAME, "public", "wages", "wage"),
    "no column": one(FRAME, "public", None, "wage"),
    "column as both": one(FRAME, "secret", "wage", "race"),
    "kept secret": one(FRAME, "layout", Layout(keep="race"), Layout(keep=())),
    "one secret value": one(FRAME, "secret", "town", "race"),
    "epsilon": one(FRAME, "epsilon", 0, 0.1),
    "epsilon as text": one(FRAME, "epsilon", "1", 1.0),
    "delta": one(FRAME, "delta", 1, 0),
    "delta missing": one(FRAME, "delta", None, 1e-6),
    "pairs": one(FRAME, "pairs", "a", [("a", "b")]),
    "unknown secret": one(FRAME, "pairs", [("a", "A")], [("a", "b")]),
    "pair of equals": one(FRAME, "pairs", [("a", "a"), ("a", "b")], [("a", "b")]),
    "theorem": one(FRAME, "mechanism", lambda: Noise(theorem="w2"), Noise(theorem="auto")),
    "bernoulli on many values": one(FRAME, "mechanism", Noise(theorem="bernoulli"), Noise(theorem="kantorovich")),
    "calibration": one(FRAME, "mechanism", lambda: Noise(calibration="best"), Noise(calibration="exact")),
    "no pure condition": one(
        FRAME, "mechanism", Noise(theorem="gmm", calibration="theorem"), Noise(theorem="gmm", calibration="exact")
    ),
    "components": one(FRAME, "mechanism", lambda: Noise(components=3, theorem="gaussian"), Noise(theorem="gaussian")),
    "no component": one(FRAME, "mechanism", lambda: Noise(components=0, theorem="gmm"), Noise(theorem="gmm")),
    "beliefs": one(FRAME, "beliefs", "mine", ("fitted", "empirical")),
    "belief without a secret": one(FRAME, "beliefs", {"a": GIVEN["a"]}, GIVEN),
    "nothing to hide": both(CALM, {"epsilon": 5.0}, {"epsilon": 5.0, "allow_zero_noise": True}),
    "nulls": both(MISSING, {}, {"nulls": "drop"}),
    "null secrets": both(NO_SECRET, {}, {"nulls": "drop"}),
    "index": both(LABELLED, {}, {"layout": Layout(index="drop")}),
    "numbers as text": ((TEXT, {"mechanism": "noise"}), (TEXT.astype({"wage": float}), {"mechanism": "noise"})),
    "text as the public column": towns({"mechanism": "noise"}, {"mechanism": "channel"}),
    "one level": both(FRAME, {"public": "town"}, {"layout": Layout(keep="town")}),
    "rare levels": both(
        TOWNS.assign(town=TOWNS["town"].where(TOWNS.index > 5, "hamlet").where(TOWNS.index > 2, "hut")),
        {"public": "town"},
        {"public": "town", "mechanism": Channel(merge_rare=5)},
    ),
    "rare combinations of labels": both(
        HAMLETS.assign(wage="w"), {"public": ["town", "wage"], **CHANNEL}, {"public": ["town", "wage"]}
    ),
    "too many combinations of labels": both(
        TWO_CODES, {"public": ["wage", "town"], **CHANNEL}, {"public": ["wage", "town"]}
    ),
    "missing values in all rows of a secret": (
        (LOST, {"nulls": "drop"}),
        (LOST.fillna({"wage": 0.0}), {"nulls": "drop"}),
    ),
    "more than 512 levels": (
        (MANY, {"public": "town"}),
        (MANY.assign(town=MANY["town"].where(MANY["town"].str.endswith("0"), "other")), {"public": "town"}),
    ),
    "labels beside another column": both(
        TOWNS, {"public": ["wage", "town"], "mechanism": Noise("gaussian"), "delta": 1e-6}, {"public": "town"}
    ),
    "few missing labels": both(FEW_MISSING, {"public": "town", "nulls": "level"}, {"public": "town", "nulls": "drop"}),
    "bounds of labels": towns({"domain": {"town": (0, 1)}}, {"domain": {"town": ["x", "y", "z"]}}),
    "missing labels": both(NO_TOWN, {"public": "town"}, {"public": "town", "nulls": "level"}),
    "merged numbers": (
        (FRAME, {"mechanism": Channel(merge_rare=5)}),
        (TOWNS, {"mechanism": Channel(merge_rare=5), "public": "town", **CHANNEL}),
    ),
    "rounded labels": towns({"layout": Layout(round=True)}, {}),
    "clipped labels": towns({"layout": Layout(clip=(0, 1))}, {}),
    "published beside noise": both(FRAME, {"layout": Layout(publish="levels")}, {}),
    "another word to publish": towns(
        {"layout": lambda: Layout(publish="counts")}, {"layout": Layout(publish="expected_error")}
    ),
    "a level that was not declared": towns({"domain": {"town": ["x", "y"]}}, {"domain": {"town": ["x", "y", "z"]}}),
    "a level declared twice": towns({"domain": {"town": ["x", "y", "z", "x"]}}, {"domain": {"town": ["x", "y", "z"]}}),
    "a declared level of several": towns(
        {"domain": {"town": ["x", "y", ["z"]]}}, {"domain": {"town": ["x", "y", "z"]}}
    ),
    "every law of undeclared levels": towns(
        {"beliefs": "population"}, {"beliefs": "population", "domain": {"town": ["x", "y", "z"]}}
    ),
    "a belief about other labels": towns(
        {"beliefs": {"a": {"x": 1, "w": 1}, "b": {"x": 1}}},
        {"beliefs": {"a": {"x": 1, "w": 1}, "b": {"x": 1}}, "domain": {"town": ["x", "y", "z", "w"]}},
    ),
    "a belief of no weight": towns(
        {"beliefs": {"a": {"x": 0}, "b": {"x": 1}}}, {"beliefs": {"a": {"x": 0.5, "y": 0.5}, "b": {"x": 1}}}
    ),
    "a theorem of noise": towns({"mechanism": Noise(theorem="gmm")}, {}),
    "a radius without a secret": towns({"mechanism": Channel(radius={"a": 0.1})}, {"mechanism": Channel()}),
    "a distance of labels": towns({"mechanism": Channel(cost="absolute")}, {"mechanism": Channel()}),
    "the mean of labels": towns({"mechanism": Channel(preserve="mean")}, {"mechanism": Channel(preserve="marginal")}),
    "outputs beside what is kept": towns(
        {"mechanism": Channel(preserve="marginal", outputs=2)}, {"mechanism": Channel(outputs=2)}
    ),
    "a matrix of another size": towns(
        {"mechanism": Channel(cost=[[0, 1], [1, 0]])}, {"mechanism": Channel(cost=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])}
    ),
    "costs below 0": towns(
        {"mechanism": Channel(cost=lambda x, y: -1.0)}, {"mechanism": Channel(cost=lambda x, y: float(x != y))}
    ),
    "costs that are no numbers": towns({"mechanism": Channel(cost=lambda x, y: "far")}, {}),
    "declared levels beside noise": both(
        FRAME,
        {"domain": {"wage": [MARK + k for k in range(7)]}},
        {"domain": {"wage": [MARK + k for k in range(7)]}, "mechanism": "channel"},
    ),
    "declared numbers without one": both(
        FRAME,
        {"domain": {"wage": [MARK, MARK + 1, 3]}, "mechanism": "channel"},
        {"domain": {"wage": [MARK + k for k in range(7)]}, "mechanism": "channel"},
    ),
    "declared text of numbers": both(
        FRAME,
        {"domain": {"wage": ["x", "y", "z"]}, "mechanism": "channel"},
        {"domain": {"wage": range(MARK, MARK + 7)}, "mechanism": "channel"},
    ),
    "labels already private": towns(
        {"epsilon": 5.0, "mechanism": BRITTLE}, {"epsilon": 5.0, "mechanism": BRITTLE, "allow_zero_noise": True}
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
    "clip": one(FRAME, "layout", Layout(clip=(9, 0)), Layout(clip=(0, 100))),
    "clip of something else": one(FRAME, "layout", Layout(clip={"town": (0, 1)}), Layout(clip={"wage": (0, 100)})),
    "domain": one(FRAME, "domain", (0, 2 * MARK), {"wage": (0, 2 * MARK)}),
    "joint theorem": both(
        FLOATS, {"public": ["wage", "more"], "mechanism": Noise(theorem="gmm")}, {"public": ["wage", "more"]}
    ),
    "noise": both(FRAME, {"mechanism": lambda: Noise("normal")}, {"mechanism": Noise("gaussian"), "delta": 1e-6}),
    "gaussian noise, pure": both(
        FRAME, {"mechanism": Noise("gaussian")}, {"mechanism": Noise("gaussian"), "delta": 1e-6}
    ),
    "gaussian noise, huge epsilon": both(
        FRAME,
        {"mechanism": Noise("gaussian"), "delta": 1e-6, "epsilon": 800},
        {"mechanism": Noise("gaussian"), "delta": 1e-6, "epsilon": 2},
    ),
    "stable noise, delta": both(
        FRAME, {"mechanism": Noise(Stable(alpha=1.7)), "delta": 1e-6}, {"mechanism": Noise(Stable(alpha=1.7))}
    ),
    "stable noise, remap": one(
        FRAME, "mechanism", lambda: Noise(Stable(alpha=1.7), remap=True), Noise(Stable(alpha=1.7))
    ),
    "stable noise, no alpha": one(FRAME, "mechanism", lambda: Noise("stable"), Noise(Stable(alpha=1.7))),
    "stable noise, theorem": one(
        FRAME,
        "mechanism",
        lambda: Noise(Stable(alpha=1.7), theorem="gmm"),
        Noise(Stable(alpha=1.7), theorem="kantorovich"),
    ),
    "noise with a scale": one(FRAME, "mechanism", lambda: Noise(Laplace(scale=2.0)), Noise(Laplace())),
    "epsilon below the grid": one(FRAME, "epsilon", 1e-12, 0.1),
    "no bound of the loss": both(
        FRAME,
        {"mechanism": Noise(Stable(alpha=1.7)), "beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}},
        {"beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}},
    ),
    "rng": one(FRAME, "rng", "seed", None),
    "misspelt row_id": one(NUMBERED, "layout", Layout(row_id="idd"), Layout(row_id="id")),
    "row_id is the secret": one(NUMBERED, "layout", Layout(row_id="race"), Layout(row_id="id")),
    "row_id of floats": one(NUMBERED, "layout", Layout(row_id="part"), Layout(row_id="id")),
    "row_id twice in a column": one(NUMBERED, "layout", Layout(row_id="twice"), Layout(row_id="id")),
    "row_id missing": (
        (NUMBERED.assign(id=pd.array([None, *range(1, ROWS)], dtype="Int64")), {"layout": Layout(row_id="id")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "row_id beyond 64 bits": (
        (NUMBERED.assign(id=np.arange(ROWS, dtype=np.uint64) + np.uint64(2**63)), {"layout": Layout(row_id="id")}),
        (NUMBERED, {"layout": Layout(row_id="id")}),
    ),
    "two columns as row_id": one(NUMBERED, "layout", Layout(row_id=["id", "twice"]), Layout(row_id="id")),
    "epsilon that says nothing": one(FRAME, "epsilon", 12, 2),
    "delta that says nothing": one(FRAME, "delta", 0.01, 1e-6),
    "a belief beyond the domain": both(
        FRAME, {"beliefs": BEYOND, "domain": {"wage": (0, 2 * MARK)}}, {"beliefs": BEYOND}
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
    "a code that is a value": both(CODED, {}, {"domain": {"wage": (0, 2 * MARK)}}),
    "a secret of few rows": ((RARE, {}), (RARE.assign(race=RARE["race"].replace("c", "b")), {})),
    "what the certificate says": one(FRAME, "about", {"owner": "me"}, {"issuer": "me"}),
    "a time without a zone": one(
        FRAME, "about", {"created": "2026-01-31T12:00:00"}, {"created": "2026-01-31T12:00:00Z"}
    ),
    "clustered rows": both(SORTED, {}, {"layout": Layout(shuffle=True)}),
    "rows in the order of the public column": both(RISING, {}, {"layout": Layout(shuffle=True)}),
    "an index that is an array": one(
        FRAME, "layout", lambda: Layout(index=np.array(["keep", "drop"])), Layout(index="drop")
    ),
    "a kept index of shuffled rows": one(
        FRAME, "layout", lambda: Layout(index="keep", shuffle=True), Layout(shuffle=True)
    ),
    "the secret kept under other labels": both(RECODED, {"layout": Layout(keep="code")}, {}),
    "a kept column that may be given": both(WARDS, {"layout": Layout(keep="ward")}, {"given": "ward"}),
    "a kept column beside a belief without given ones": both(
        WARDS, {"layout": Layout(keep="ward"), "beliefs": "population", "epsilon": 2.0}, {"beliefs": "population"}
    ),
    "given labels of a channel": towns({"given": "wage", **CHANNEL}, {**CHANNEL}),
    "a given column of floats": (
        (NUMBERED.assign(part=FRAME.index % 2 / 2), {"given": "part"}),
        (NUMBERED.assign(part=(FRAME.index % 2 / 2).astype(str)), {"given": "part"}),
    ),
    "bounds of dates that are numbers": (
        (DATED, {"public": "day", "domain": {"day": (0, 100)}}),
        (DATED, {"public": "day", "domain": {"day": (date(1950, 1, 31), date(2099, 12, 31))}}),
    ),
    "bounds of numbers that are texts": one(
        FRAME, "domain", {"wage": ("2026-01-01", "2026-12-31")}, {"wage": (0, 2 * MARK)}
    ),
    "a kept copy of the public column": one(RECODED, "layout", Layout(keep="half"), Layout(keep="town")),
    "a level of few rows": ((HAMLETS, {"public": "town"}), (TOWNS, {"public": "town"})),
}
