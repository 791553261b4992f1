"""Requests of every kind, by what is asked for, and when each sentence of a certificate may appear."""

import functools
import tempfile
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

from puffer_frames import (
    Bootstrap,
    Channel,
    Contamination,
    Layout,
    MarkovChain,
    Noise,
    Population,
    Stable,
    Strata,
    Unit,
    aggregate,
    binary_class,
    calibrate,
    histogram,
    privatize,
)
from puffer_frames.core import BayesianNetwork, Prior

ROWS = 400
RNG = np.random.default_rng(3)
GROUP = RNG.choice(["a", "b", "c"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 6, ROWS) + (GROUP == "a"),
        "age": RNG.integers(20, 90, ROWS) // 5 * 5,
        "town": RNG.choice(["x", "y"], ROWS),
        "some": [None if k == 7 else float(k * k % 17) for k in range(ROWS)],
        "hobby": RNG.permutation(["chess", "go", "tag", "golf"] * (ROWS // 4)),
        "pet": [None if k % 9 == 0 else ("cat", "dog")[k * k % 7 % 2] for k in range(ROWS)],
    }
)
DATED = PEOPLE.assign(score=pd.Timestamp("2026-01-01") + pd.to_timedelta(PEOPLE["score"], unit="D"))
OTHER = PEOPLE.sample(frac=1, random_state=1, ignore_index=True).head(380)
GIVEN = {label: Prior.gaussian(k, 1.0) for k, label in enumerate("abc")}
NEAR = {label: Prior.gaussian(0.0, 100.0) for label in "abc"}
HUMPS = {"a": [0, 100], "b": [0, 200]}
PEAKED = pd.DataFrame(
    [(label, hump + RNG.normal()) for label in "ab" for hump in HUMPS[label] for _ in range(300)],
    columns=["group", "score"],
).sample(frac=1, random_state=0, ignore_index=True)
CALM = pd.DataFrame({"group": RNG.permutation(["a", "b"] * 200), "score": [3] * ROWS})
COINS = pd.DataFrame({"group": RNG.choice(["a", "b"], ROWS), "score": RNG.integers(0, 2, ROWS)})
LACKING = PEOPLE.assign(town=np.where((PEOPLE["group"] == "a") & (PEOPLE["town"] == "x"), "z", PEOPLE["town"]))
WARDS = PEOPLE.sample(frac=2, replace=True, random_state=2, ignore_index=True)
TWICE = pd.concat([PEOPLE.assign(ward=range(ROWS))] * 2).sample(frac=1, random_state=3, ignore_index=True)
WARDS = WARDS.assign(ward=WARDS["score"].astype(str) + WARDS["group"] + WARDS["town"])
LARGE = pd.DataFrame({"group": RNG.choice(["a", "b"], 140_000), "score": RNG.normal(size=140_000)})

VISITS = pd.DataFrame(
    {
        "patient": np.repeat(np.arange(60), 5),
        "visits": RNG.integers(0, 9, 300).astype(float),
        "ward": np.repeat(RNG.choice(["n", "s"], 60), 5),
        "change": np.tile([-np.sqrt(5.0), 1.0, np.sqrt(2.0), -2.0, 1.0], 60),
        "gap": [None if k == 9 else 1.0 for k in range(300)],
    }
)
DAY = pd.DataFrame({"minute": range(200), "state": RNG.choice(["eat", "sleep", "work"], 200)})
BINARY = pd.DataFrame({"minute": range(60), "state": RNG.choice(["in", "out"], 60)})
BROKEN = BINARY[~BINARY["minute"].isin([20, 21, 40])].reset_index(drop=True)
UNITS = pd.concat([BINARY.assign(who="p"), BINARY.assign(who="q")], ignore_index=True)
LEVELS_OF_UNITS = UNITS.assign(state=UNITS["state"].map({"in": -3, "out": 4}))
HOLES = BINARY.assign(state=BINARY["state"].where(BINARY["minute"] != 30))
THREE = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
TWO = [[0.6, 0.4], [0.4, 0.6]]
SURE = [1.0, 0.0]

HOBBIES = ["chess", "go", "tag", "golf"]
LEVELS = {label: {"chess": 1, "go": 2 + k} for k, label in enumerate("abc")}

RELEASE = {"secret": "group", "public": "score", "epsilon": 1.0, "frame": PEOPLE, "verb": "privatize"}
PLAN = {**RELEASE, "verb": "release", "batch": OTHER, "allow_other_frame": True}
ROWS = RELEASE | {"public": ["score", "age"]}
COLUMNS = ROWS | {"mechanism": Noise(theorem="bounded")}
LABELS = RELEASE | {"public": "hobby"}
LABEL_PLAN = PLAN | {"public": "hobby"}
CELLS = RELEASE | {"frame": LARGE.head(3000), "mechanism": "channel"}
WHOLE = {"unit": "patient", "value": "visits", "epsilon": 1.0, "frame": VISITS, "verb": "aggregate"}
SUM = WHOLE | {"contribution": "draw"}
SERIES = {"state": "state", "time": "minute", "epsilon": 1.0, "frame": BINARY, "chain": TWO, "verb": "histogram"}
SERIES["mechanism"] = "quilt"
SICK = [[0.9, 0.1], [0.5, 0.5]]
HOME = BayesianNetwork.of({"ann": [0.9, 0.1], "ben": SICK}, parents={"ben": ["ann"]})
NETWORK = {"state": "flu", "unit": "who", "epsilon": 1.0, "network": HOME, "verb": "histogram"}
NETWORK["frame"] = pd.DataFrame({"who": ["ben", "ann"], "flu": ["no", "yes"]})

CASES = {
    "release, population": RELEASE | {"beliefs": "population"},
    "release, population on a domain": RELEASE
    | {"beliefs": ("fitted", Population(confidence=0.9)), "domain": {"score": (0, 5)}},
    "release, wider beliefs": RELEASE | {"beliefs": (Contamination(), Bootstrap(resamples=3), OTHER)},
    "batch, population": PLAN | {"beliefs": "population"},
    "sum, population": SUM | {"laws": "population"},
    "sum, contaminated, on a domain": SUM | {"laws": Contamination(share=0.1), "domain": (0, 9)},
    "series, population": SERIES | {"chain": "population"},
    "release": RELEASE,
    "release, seeded": RELEASE | {"rng": 3},
    "release, shuffled": RELEASE | {"layout": Layout(shuffle=True)},
    "labels, shuffled": LABELS | {"layout": Layout(shuffle=True)},
    "release, refined": RELEASE | {"refined": 1.5},
    "rows, refined": ROWS | {"refined": 2.0, "noted": False},
    "release, few rows": RELEASE | {"frame": PEOPLE.assign(group=PEOPLE["group"].where(PEOPLE.index % 40 > 0, "d"))},
    "release, weak": RELEASE | {"epsilon": 11.0, "delta": 0.01},
    "release, delta": RELEASE | {"delta": 1e-6},
    "release, published scale": RELEASE | {"mechanism": Noise(calibration="theorem")},
    "release, published scale and delta": RELEASE | {"mechanism": Noise(calibration="theorem"), "delta": 1e-6},
    "release, fitted": RELEASE | {"mechanism": Noise(theorem="gaussian")},
    "release, Gaussian noise": RELEASE | {"mechanism": Noise("gaussian"), "delta": 1e-6},
    "release, stable noise": RELEASE | {"mechanism": Noise(Stable(alpha=1.7))},
    "release, side knowledge": RELEASE | {"beliefs": GIVEN},
    "release, nothing but side knowledge": RELEASE | {"beliefs": ("only", GIVEN), "pairs": [("a", "b")]},
    "release, wrong side knowledge": RELEASE | {"beliefs": ("only", NEAR), "epsilon": 0.1, "allow_zero_noise": True},
    "release, each secret": RELEASE | {"secret": ["group", "town"], "secrets": "each"},
    "rows, each secret": ROWS | {"secret": ["group", "town"], "secrets": "each"},
    "release, listed pairs": RELEASE | {"pairs": [("a", "b")]},
    "release, listed pairs that add up": RELEASE
    | {"pairs": [("a", "b")], "mechanism": Noise(theorem="bounded", calibration="theorem")},
    "release, kept": RELEASE | {"layout": Layout(keep="town")},
    "release, kept index": RELEASE | {"frame": PEOPLE.set_index(PEOPLE.index * 3), "layout": Layout(index="keep")},
    "release, kept objects": RELEASE
    | {"frame": PEOPLE.assign(odd=[object() for _ in range(len(PEOPLE))]), "layout": Layout(keep="odd")},
    "release, kept copy": RELEASE | {"frame": PEOPLE.assign(copy=2 * PEOPLE["score"]), "layout": Layout(keep="copy")},
    "release, sorted": RELEASE | {"frame": PEOPLE.sort_values("age", ignore_index=True), "public": "age"},
    "release, nulls": RELEASE | {"public": "some", "nulls": "drop"},
    "release, dates": RELEASE | {"frame": DATED, "beliefs": "empirical"},
    "release, codes for nulls": RELEASE | {"null_values": {"score": [0], "group": "c"}, "nulls": "drop"},
    "release, domain": RELEASE | {"domain": {"score": (0, 6)}},
    "release, clipped and rounded": RELEASE | {"layout": Layout(clip=(0, 6), round=True)},
    "release, refuted theorem": RELEASE
    | {"frame": PEAKED, "mechanism": Noise(theorem="gmm", components=2), "delta": 1e-4},
    "release, an odd epsilon": RELEASE | {"epsilon": 1 / 3},
    "release, cells": RELEASE | {"frame": LARGE, "mechanism": Noise(theorem="kantorovich"), "epsilon": 2.0},
    "release, remap": RELEASE | {"mechanism": Noise(remap=True)},
    "release, remap of cells": RELEASE
    | {"frame": LARGE, "mechanism": Noise(theorem="kantorovich", remap=True), "epsilon": 2.0},
    "release, remap of no noise": RELEASE | {"frame": CALM, "allow_zero_noise": True, "mechanism": Noise(remap=True)},
    "columns, remap": COLUMNS | {"mechanism": Noise(theorem="bounded", remap=True), "layout": Layout(clip=(0, 50))},
    "batch, remap": PLAN | {"epsilon": 0.5, "mechanism": Noise(calibration="theorem", remap=True)},
    "release, no noise": RELEASE | {"frame": CALM, "allow_zero_noise": True},
    "release, none needed": RELEASE | {"frame": COINS, "mechanism": Noise(calibration="theorem")},
    "columns": COLUMNS,
    "columns, domain": COLUMNS | {"domain": {"score": (0, 6), "age": (0, 100)}},
    "columns, one domain": COLUMNS | {"domain": {"age": (0, 100)}},
    "columns, one constant": COLUMNS | {"public": ["score", "three"], "frame": PEOPLE.assign(three=3)},
    "rows": ROWS,
    "rows, delta": ROWS | {"delta": 1e-6},
    "rows, given, delta": ROWS | {"given": "town", "delta": 1e-3},
    "rows, a delta too small to help": ROWS | {"delta": 1e-12},
    "batch of rows, delta": PLAN | {"public": ["score", "age"], "allow_drift": True, "delta": 1e-3},
    "rows, domain": ROWS | {"domain": {"score": (0, 6), "age": (0, 100)}},
    "rows, one constant": ROWS | {"public": ["score", "three", "age"], "frame": PEOPLE.assign(three=3)},
    "rows, nothing but another table": ROWS | {"beliefs": ("only", PEOPLE.assign(score=1, age=PEOPLE["age"] % 2))},
    "rows, remap": ROWS | {"mechanism": Noise(remap=True)},
    "rows, coupled": ROWS | {"mechanism": Noise(theorem="kantorovich")},
    "rows, coupled, delta": ROWS | {"mechanism": Noise(theorem="kantorovich"), "delta": 1e-6},
    "rows, labels": ROWS | {"public": ["score", "hobby"]},
    "release, given": RELEASE | {"given": Strata("town", minimum=1)},
    "release, given, one scale": RELEASE | {"given": Strata("town", scale="one")},
    "release, given, small": RELEASE | {"given": Strata(["town", "pet"], minimum=60), "nulls": "drop"},
    "release, given, merged": RELEASE | {"given": Strata(["town", "pet"], minimum=60, merge=True), "nulls": "drop"},
    "release, given, lacking": RELEASE | {"frame": LACKING, "given": Strata("town", minimum=1)},
    "rows, given": ROWS | {"given": "town"},
    "release, unit of independent rows": RELEASE | {"frame": WARDS, "unit": Unit("ward", rows="independent")},
    "release, unit of some rows": RELEASE
    | {"frame": WARDS, "unit": Unit("ward", rows="independent", most=2, over="sample")},
    "release, unit of composed rows": RELEASE
    | {"frame": WARDS, "unit": Unit("ward", rows="independent"), "delta": 1e-6, "releases": 2},
    "release, unit of rows with shares": RELEASE
    | {
        "frame": WARDS,
        "unit": Unit("ward", rows="independent"),
        "delta": 1e-6,
        "mechanism": Noise(calibration="theorem"),
    },
    "rows, unit of independent rows, delta": ROWS
    | {"frame": WARDS, "unit": Unit("ward", rows="independent"), "delta": 1e-6},
    "release, unit of repeated rows": RELEASE | {"frame": TWICE, "unit": Unit("ward", rows="repeated")},
    "columns, unit of any rows": COLUMNS | {"frame": WARDS, "unit": Unit("ward", rows="any")},
    "release, one of several": RELEASE | {"releases": 3},
    "batch of rows": PLAN | {"public": ["score", "age"], "allow_drift": True},
    "batch of rows that drifted": PLAN
    | {
        "public": ["score", "age"],
        "batch": OTHER.assign(score=OTHER["score"] + 9 * (OTHER["group"] == "b")),
        "allow_drift": True,
    },
    "columns, Gaussian noise": RELEASE | {"public": ["score", "age"], "mechanism": Noise("gaussian"), "delta": 1e-6},
    "batch": PLAN | {"epsilon": 0.5, "mechanism": Noise(calibration="theorem")},
    "batch that drifted": PLAN
    | {"batch": OTHER.assign(score=OTHER["score"] + 9 * (OTHER["group"] == "b")), "allow_drift": True},
    "batch that lacks a secret": PLAN
    | {
        "batch": OTHER[OTHER["group"] != "c"].reset_index(drop=True),
        "mechanism": Noise(calibration="theorem"),
        "epsilon": 0.5,
    },
    "labels": LABELS,
    "labels, seeded": LABELS | {"rng": 3},
    "labels, brittle": LABELS | {"mechanism": Channel(radius=0, cap=None), "epsilon": 0.05},
    "labels, brittle mapping": LABELS
    | {"mechanism": Channel(radius=dict.fromkeys("abc", 0.0), cap=None), "epsilon": 0.05},
    "labels, radius of a mapping": LABELS | {"mechanism": Channel(radius=dict.fromkeys("abc", 0.05))},
    "labels, radius of a number": LABELS | {"mechanism": Channel(radius=0.05)},
    "labels, no radius": LABELS | {"mechanism": Channel(radius=0)},
    "labels, no cap": LABELS | {"mechanism": Channel(cap=None), "epsilon": 0.1},
    "labels, seeing the secret": LABELS | {"mechanism": Channel(sees="secret")},
    "labels, seeing the secret, no caps": LABELS
    | {"mechanism": Channel(sees="secret", reader_cap=None, cap=None), "epsilon": 0.05},
    "labels, shares kept": LABELS | {"mechanism": Channel(preserve="marginal")},
    "labels, delta": LABELS | {"delta": 1e-4},
    "labels, declared": LABELS | {"domain": {"hobby": [*HOBBIES, "ludo"]}},
    "labels, population": LABELS | {"domain": {"hobby": [*HOBBIES, "ludo"]}, "beliefs": "population"},
    "labels, wider beliefs": LABELS | {"beliefs": (Contamination(0.02), Bootstrap(resamples=2), OTHER)},
    "labels, side knowledge": LABELS | {"beliefs": LEVELS},
    "labels, nothing but side knowledge": LABELS | {"beliefs": ("only", LEVELS), "pairs": [("a", "b")]},
    "labels, published": LABELS | {"layout": Layout(publish=("expected_error", "lower_bound", "levels"))},
    "labels, matrix": LABELS | {"mechanism": Channel(publish_matrix=True)},
    "labels, kept": LABELS | {"layout": Layout(keep="town")},
    "labels, sorted": LABELS | {"frame": PEOPLE.sort_values("hobby", ignore_index=True)},
    "labels, kept copy": LABELS
    | {"frame": PEOPLE.assign(copy=PEOPLE["hobby"].str.upper()), "layout": Layout(keep="copy")},
    "labels, nulls as a level": LABELS | {"public": "pet", "nulls": "level"},
    "labels, nulls dropped": LABELS | {"public": "pet", "nulls": "drop"},
    "labels, codes for nulls": LABELS | {"null_values": {"pet": "cat"}, "public": "pet", "nulls": "level"},
    "labels, rare": LABELS
    | {"frame": PEOPLE.assign(hobby=PEOPLE["hobby"].where(PEOPLE.index > 2, "rare"))}
    | {"mechanism": Channel(merge_rare=5)},
    "labels, rare, declared": LABELS
    | {"frame": PEOPLE.assign(hobby=PEOPLE["hobby"].where(PEOPLE.index > 2, "rare"))}
    | {"mechanism": Channel(merge_rare=5), "domain": {"hobby": [*HOBBIES, "rare"]}},
    "labels, none rare": LABELS | {"mechanism": Channel(merge_rare=5)},
    "labels, none rare, declared": LABELS | {"mechanism": Channel(merge_rare=5), "domain": {"hobby": HOBBIES}},
    "labels, given cost": LABELS | {"mechanism": Channel(cost=lambda x, y: float(x != y) + (x == "go"))},
    "two columns of labels, channel": LABELS | {"public": ["hobby", "town"], "mechanism": "channel"},
    "two columns of labels, channel, declared": LABELS
    | {
        "public": ["hobby", "town"],
        "mechanism": Channel(cap=None, radius=0),
        "domain": {"hobby": HOBBIES, "town": ["x", "y"]},
        "epsilon": 0.05,
    },
    "numbers, channel": RELEASE | {"mechanism": "channel"},
    "numbers, channel, mean kept": RELEASE | {"mechanism": Channel(preserve="mean")},
    "numbers, channel, domain": RELEASE | {"mechanism": "channel", "domain": {"score": (1, 5)}},
    "numbers, channel, declared": RELEASE | {"mechanism": "channel", "domain": {"score": range(8)}},
    "numbers, channel of cells": CELLS,
    "batch of labels": LABEL_PLAN | {"allow_drift": True},
    "batch of labels that drifted": LABEL_PLAN
    | {"batch": OTHER.assign(hobby=OTHER["hobby"].where(OTHER["group"] != "b", "go")), "allow_drift": True},
    "batch of labels, other order": LABEL_PLAN | {"batch": PEOPLE.iloc[::-1].reset_index(drop=True)},
    "batch of labels that lacks a secret": LABEL_PLAN
    | {"batch": OTHER[OTHER["group"] != "c"].reset_index(drop=True), "allow_drift": True},
    "sum": SUM,
    "sum, all rows": WHOLE,
    "sum, all rows of both signs": WHOLE | {"value": "change", "epsilon": 0.2},
    "sum, listed units": SUM | {"protect": "presence", "pairs": [(3, None)]},
    "sum of a value": SUM | {"protect": "value", "domain": (0, 9)},
    "sum of a value, all rows": WHOLE | {"protect": "value", "domain": (0, 9)},
    "sum of listed values": SUM | {"protect": "value", "pairs": [(3, 5)]},
    "count of all rows": WHOLE | {"query": "count"},
    "sum of a value or nothing": SUM | {"protect": "value-or-absence", "domain": (0, 9)},
    "sum, rows as units": WHOLE | {"unit": None, "domain": (0, 9)},
    "sum, replacement": SUM | {"protect": "replacement"},
    "sum, Gaussian laws": SUM | {"laws": "gaussian"},
    "sum, given laws": SUM | {"laws": {k: Prior.empirical([0, 9]) for k in range(60)}},
    "sum, published scale": SUM | {"calibration": "theorem"},
    "sum and count": SUM | {"query": ("sum", "count")},
    "sum and count that needs no noise": SUM
    | {"query": ("sum", "count"), "protect": "replacement", "allow_zero_noise": True},
    "mean": SUM | {"query": "mean"},
    "mean by a public number": SUM | {"query": "mean", "divisor": 60},
    "sum per ward": SUM | {"by": "ward"},
    "sum of integers": SUM | {"integer": True},
    "sum, delta": SUM | {"noise": "gaussian", "delta": 1e-6},
    "sum and count, delta": SUM
    | {"frame": VISITS.head(100), "noise": "gaussian", "delta": 1e-6, "query": ("sum", "count")},
    "sum, nulls": SUM | {"value": "gap", "nulls": "drop"},
    "sum, seeded": SUM | {"rng": 3},
    "count": SUM | {"query": "count", "value": None},
    "series": SERIES,
    "series of three states": SERIES | {"frame": DAY, "chain": THREE},
    "series, estimated": SERIES | {"chain": "estimated"},
    "series, group": SERIES | {"mechanism": "group", "chain": "estimated"},
    "series with gaps, group": SERIES | {"frame": BROKEN, "mechanism": "group", "chain": "estimated"},
    "series of pieces, group": SERIES
    | {"frame": BROKEN, "mechanism": "group", "chain": "estimated", "gaps": "independent"},
    "series, bounded influences": SERIES | {"mechanism": "quilt-approx"},
    "series, exact": SERIES | {"mechanism": "exact", "bins": ["in"]},
    "series, transport": SERIES | {"mechanism": "transport"},
    "series, frequencies": SERIES | {"counts": False},
    "series, sum of each": SERIES | {"frame": LEVELS_OF_UNITS, "unit": "who", "query": "sum", "per": "both"},
    "series, mean": SERIES | {"frame": LEVELS_OF_UNITS, "unit": "who", "query": "mean"},
    "series, given start": SERIES | {"initial": [0.5, 0.5]},
    "series, sure start": SERIES | {"initial": SURE},
    "series, several chains": SERIES | {"chain": [TWO, [[0.7, 0.3], [0.3, 0.7]]]},
    "series, a class of chains": SERIES | {"chain": binary_class(0.3)},
    "series, a chain with a start": SERIES | {"chain": MarkovChain.of(TWO, initial=[0.5, 0.5])},
    "series with gaps": SERIES | {"frame": BROKEN},
    "series with gaps, given start": SERIES | {"frame": BROKEN, "initial": [0.5, 0.5]},
    "series of pieces": SERIES | {"frame": BROKEN, "gaps": "independent"},
    "series, both": SERIES | {"frame": UNITS, "unit": "who", "per": "both"},
    "series, nulls": SERIES | {"frame": HOLES, "nulls": "drop"},
    "series, Gaussian noise": SERIES | {"noise": "gaussian", "delta": 1e-6},
    "series, stable noise": SERIES | {"noise": Stable(alpha=1.5)},
    "series of three states, stable noise": SERIES | {"frame": DAY, "chain": THREE, "noise": Stable(alpha=1.5)},
    "series, estimated start": SERIES | {"initial": "estimated"},
    "series, slow": SERIES | {"chain": [[0.999, 0.001], [0.001, 0.999]]},
    "series, seeded": SERIES | {"rng": 3},
    "network": NETWORK,
    "networks": NETWORK | {"network": [HOME, HOME]},
    "network, listed pairs": NETWORK | {"pairs": [("no", "yes")]},
    "networks in a range": NETWORK | {"network": HOME.to(HOME)},
    "network, a sure node": NETWORK
    | {"network": BayesianNetwork.of({"ann": [1.0, 0.0], "ben": SICK}, parents={"ben": ["ann"]})},
    "network, quilts": NETWORK | {"mechanism": "quilt"},
}


def flat(case):
    """The options of a case, those in records by their own names; `remap` is a word for the mechanism."""
    found = {name: value for name, value in case.items() if name != "layout" and not isinstance(value, Noise)}
    for record in (case.get("layout"), case.get("mechanism")):
        if isinstance(record, (Layout, Noise, Channel)):
            asked = {each.name: getattr(record, each.name) for each in fields(record)}
            found |= {name: value for name, value in asked.items() if value != getattr(type(record)(), name)}
    renamed = {"noise": found.pop("family")} if "family" in found else {}
    return found | renamed | ({"mechanism": "remap"} if found.pop("remap", False) else {})


def refined_twice(frame, epsilon, asked):
    """A release that was refined, and refined again."""
    key, noted = Path(tempfile.mkdtemp()) / "refine.key", asked.pop("noted", True)
    plan, noted = calibrate(frame, **asked), {"layout": Layout(refine_key=key)} if noted else {}
    once = plan.refine(frame, plan.release(frame, **noted), epsilon=epsilon, key=key)
    return plan.refine(frame, once, epsilon=2 * epsilon, key=key)


@functools.cache
def release_of_case(name):
    """The release of a case; warnings are not its business."""
    asked = dict(CASES[name])
    verb, frame = asked.pop("verb"), asked.pop("frame")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if verb == "release":
            batch = asked.pop("batch")
            late = {key: asked.pop(key) for key in ("allow_other_frame", "allow_drift") if key in asked}
            return calibrate(frame, **asked).release(batch, **late)
        if "refined" in asked:
            return refined_twice(frame, asked.pop("refined"), asked)
        return {"privatize": privatize, "aggregate": aggregate, "histogram": histogram}[verb](frame, **asked)


def certificate_of_case(name):
    """Its certificate."""
    return release_of_case(name).puffer.certificate


ABOUT = {
    "issuer": "Office for tests",
    "dataset": "people, 2026",
    "created": "2026-01-31T13:00:00+01:00",
    "intended_use": "teaching",
    "contact": "office@example.org",
}


def set_in(plain, path, value):
    *way, last = path
    for step in way:
        plain = plain[step]
    plain[last] = value


@functools.cache
def said_of():
    """A release with all that an office may say of it."""
    return privatize(PEOPLE, secret="group", public="score", layout=Layout(keep="town"), epsilon=1.0, about=ABOUT)
