"""Every message of the package, and the call that follows its hint."""

import multiprocessing
import pickle
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from answer_messages import ANSWERS
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from puffer_frames import (
    Certificate,
    Channel,
    Laplace,
    Prior,
    PufferError,
    PufferWarning,
    Stable,
    bernoulli_scale,
    bounded_scales,
    calibrate,
    fit_mixture,
    gaussian_scale,
    hockey_stick,
    kantorovich_scale,
    mixture_scale,
    privatize,
    pure_loss,
    read_certificate,
    smallest_scale,
    translation_scale,
    verify,
    write_parquet,
)
from puffer_frames.papers import tau_star_bound, ubm_scale

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
MANY = pd.concat([TOWNS] * 26, ignore_index=True)
MANY = MANY.assign(town=[f"n{MARK + k // 20}" for k in range(26 * ROWS)]).sample(frac=1, random_state=0)
MANY = MANY.reset_index(drop=True)

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
    "numbers as text": ((TEXT, {"mechanism": "noise"}), (TEXT.astype({"wage": float}), {"mechanism": "noise"})),
    "text as the public column": (
        (TOWNS, {"public": "town", "mechanism": "noise"}),
        (TOWNS, {"public": "town", "mechanism": "channel"}),
    ),
    "one level": ((FRAME, {"public": "town"}), (FRAME, {"keep": "town"})),
    "rare levels": (
        (TOWNS.assign(town=TOWNS["town"].where(TOWNS.index != 7, "hamlet")), {"public": "town"}),
        (TOWNS.assign(town=TOWNS["town"].where(TOWNS.index != 7, "hamlet")), {"public": "town", "merge_rare": 5}),
    ),
    "more than 256 levels": (
        (MANY, {"public": "town"}),
        (MANY.assign(town=MANY["town"].where(MANY["town"].str.endswith("0"), "other")), {"public": "town"}),
    ),
    "labels beside another column": (
        (TOWNS, {"public": ["wage", "town"]}),
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
    "missing labels": (
        (NO_TOWN, {"public": "town"}),
        (NO_TOWN, {"public": "town", "nulls": "level"}),
    ),
    "merged numbers": ((FRAME, {"merge_rare": 5}), (TOWNS, {"merge_rare": 5, "public": "town", **CHANNEL})),
    "rounded labels": ((TOWNS, {"public": "town", "round": True}), (TOWNS, {"public": "town"})),
    "clipped labels": ((TOWNS, {"public": "town", "clip": (0, 1)}), (TOWNS, {"public": "town"})),
    "published beside noise": ((FRAME, {"publish": "levels"}), (FRAME, {})),
    "another word to publish": (
        (TOWNS, {"public": "town", "publish": "counts"}),
        (TOWNS, {"public": "town", "publish": "levels"}),
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
    "a theorem of noise": ((TOWNS, {"public": "town", "theorem": "gmm"}), (TOWNS, {"public": "town"})),
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
    "dates as the public column": (
        (DATED, {"public": "day"}),
        (DATED.assign(day=DATED["day"].dt.day), {"public": "day"}),
    ),
    "lists as the public column": ((FRAME.assign(wage=pd.Series([[1]] * ROWS, dtype=LISTS)), {}), (FRAME, {})),
    "numbers in an object column": ((FRAME.astype({"wage": object}), {}), (FRAME.astype({"wage": int}), {})),
    "a level named like a column": (
        (LABELLED.rename_axis(index="wage"), {"index": "keep"}),
        (LABELLED.rename_axis(index="row"), {"index": "keep"}),
    ),
    "infinity": ((ENDLESS, {}), (ENDLESS.assign(wage=ENDLESS["wage"].clip(0, 2 * MARK)), {})),
    "no rows": ((FRAME.head(0), {}), (FRAME, {})),
    "not a frame": ((FRAME.to_dict("list"), {}), (pd.DataFrame(FRAME.to_dict("list")), {})),
    "a name with NUL": ((FRAME.rename(columns={"town": "to\0wn"}), {}), (FRAME, {})),
    "names twice": ((FRAME.set_axis(["race", "wage", "wage"], axis=1), {}), (FRAME, {})),
    "clip": ((FRAME, {"clip": (9, 0)}), (FRAME, {"clip": (0, 100)})),
    "clip of something else": ((FRAME, {"clip": {"town": (0, 1)}}), (FRAME, {"clip": {"wage": (0, 100)}})),
    "domain": ((FRAME, {"domain": (0, 2 * MARK)}), (FRAME, {"domain": {"wage": (0, 2 * MARK)}})),
    "joint theorem": (
        (FLOATS, {"public": ["wage", "more"], "theorem": "gmm"}),
        (FLOATS, {"public": ["wage", "more"]}),
    ),
    "noise": ((FRAME, {"noise": "normal"}), (FRAME, {"noise": "gaussian", "delta": 1e-6})),
    "gaussian noise, pure": ((FRAME, {"noise": "gaussian"}), (FRAME, {"noise": "gaussian", "delta": 1e-6})),
    "gaussian noise, huge epsilon": (
        (FRAME, {"noise": "gaussian", "delta": 1e-6, "epsilon": 800}),
        (FRAME, {"noise": "gaussian", "delta": 1e-6, "epsilon": 2}),
    ),
    "stable noise, delta": (
        (FRAME, {"noise": Stable(alpha=1.7), "delta": 1e-6}),
        (FRAME, {"noise": Stable(alpha=1.7)}),
    ),
    "stable noise, remap": (
        (FRAME, {"noise": Stable(alpha=1.7), "mechanism": "remap"}),
        (FRAME, {"noise": Stable(alpha=1.7)}),
    ),
    "stable noise, no alpha": ((FRAME, {"noise": "stable"}), (FRAME, {"noise": Stable(alpha=1.7)})),
    "stable noise, theorem": (
        (FRAME, {"noise": Stable(alpha=1.7), "theorem": "gmm"}),
        (FRAME, {"noise": Stable(alpha=1.7), "theorem": "kantorovich"}),
    ),
    "noise with a scale": ((FRAME, {"noise": Laplace(scale=2.0)}), (FRAME, {"noise": Laplace()})),
    "epsilon below the grid": ((FRAME, {"epsilon": 1e-12}), (FRAME, {"epsilon": 0.1})),
    "no bound of the loss": (
        (FRAME, {"noise": Stable(alpha=1.7), "beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}}),
        (FRAME, {"beliefs": GIVEN | {"b": Prior.gaussian(1, 2)}}),
    ),
    "rng": ((FRAME, {"rng": "seed"}), (FRAME, {"rng": None})),
    "misspelt row_id": ((NUMBERED, {"row_id": "idd"}), (NUMBERED, {"row_id": "id"})),
    "row_id is the secret": ((NUMBERED, {"row_id": "race"}), (NUMBERED, {"row_id": "id"})),
    "row_id of floats": ((NUMBERED, {"row_id": "part"}), (NUMBERED, {"row_id": "id"})),
    "row_id twice in a column": ((NUMBERED, {"row_id": "twice"}), (NUMBERED, {"row_id": "id"})),
    "row_id missing": (
        (NUMBERED.assign(id=pd.array([None, *range(1, ROWS)], dtype="Int64")), {"row_id": "id"}),
        (NUMBERED, {"row_id": "id"}),
    ),
    "row_id beyond 64 bits": (
        (NUMBERED.assign(id=np.arange(ROWS, dtype=np.uint64) + np.uint64(2**63)), {"row_id": "id"}),
        (NUMBERED, {"row_id": "id"}),
    ),
    "two columns as row_id": ((NUMBERED, {"row_id": ["id", "twice"]}), (NUMBERED, {"row_id": "id"})),
    "epsilon that says nothing": ((FRAME, {"epsilon": 12}), (FRAME, {"epsilon": 2})),
    "delta that says nothing": ((FRAME, {"delta": 0.01}), (FRAME, {"delta": 1e-6})),
    "a belief beyond the domain": (
        (FRAME, {"beliefs": BEYOND, "domain": {"wage": (0, 2 * MARK)}}),
        (FRAME, {"beliefs": BEYOND}),
    ),
    "a secret of few rows": ((RARE, {}), (RARE.assign(race=RARE["race"].replace("c", "b")), {})),
    "what the certificate says": ((FRAME, {"about": {"owner": "me"}}), (FRAME, {"about": {"issuer": "me"}})),
    "a time without a zone": (
        (FRAME, {"about": {"created": "2026-01-31T12:00:00"}}),
        (FRAME, {"about": {"created": "2026-01-31T12:00:00Z"}}),
    ),
    "clustered rows": ((SORTED, {}), (SORTED, {"shuffle": True})),
    "rows in the order of the public column": ((RISING, {}), (RISING, {"shuffle": True})),
    "a kept index of shuffled rows": ((FRAME, {"index": "keep", "shuffle": True}), (FRAME, {"shuffle": True})),
    "the secret kept under other labels": ((RECODED, {"keep": "code"}), (RECODED, {})),
    "a kept copy of the public column": ((RECODED, {"keep": "half"}), (RECODED, {"keep": "town"})),
    "a level of few rows": ((HAMLETS, {"public": "town"}), (HAMLETS, {"public": "town", "merge_rare": 5})),
}


NARROW, WIDE = Prior.gaussian(0, 1), Prior.gaussian(5, 2)
ATOMS = Prior.empirical([0, 1], [1, 3])
TWO_PEAKS = Prior.mixture([0.5, 0.5], [0, 100], [1, 1])
FAR_PEAKS = Prior.mixture([0.5, 0.5], [0, 200], [1, 1])
LIGHTER = Prior.mixture([0.3, 0.7], [0, 200], [1, 1])
PLAN = calibrate(FRAME, secret="race", public="wage", epsilon=1.0)
DRIFTED = FRAME.assign(wage=FRAME["wage"] + 9 * (FRAME["race"] == "a"))
JOINT = calibrate(FLOATS, secret="race", public=["wage", "more"], epsilon=1.0)
RELEASED = PLAN.release(FRAME)
CERTIFICATE = RELEASED.puffer.certificate
TOWN_PLAN = calibrate(TOWNS, secret="race", public="town", epsilon=0.5)
DRIFTED_TOWNS = TOWNS.assign(town=TOWNS["town"].where(TOWNS["race"] == "a", "x"))


def _priors(*priors):
    return dict(zip("st", priors, strict=True))


def _file(frame):
    """A Parquet file of a frame, with its certificate where it has one."""
    path = Path(tempfile.mkdtemp()) / "frame.parquet"
    frame.to_parquet(path)
    return path


def _text_file(frame):
    path = Path(tempfile.mkdtemp()) / "frame.csv"
    frame.to_csv(path, index=False)
    return path


def _published(calibration):
    return privatize(
        PEAKED, secret="race", public="wage", epsilon=1.0, delta=1e-3, theorem="gmm", calibration=calibration
    )


CHILD = """
import os, pickle, sys
import polars as pl
import puffer_frames
from puffer_frames.frames import forked

forked.LIMIT = 0.5
frame = pl.DataFrame({"race": ["a", "b"] * 100, "wage": [1, 2, 3, 3] * 50})
frame.group_by("race").len()
if not os.fork():
    try:
        puffer_frames.privatize(frame, secret="race", public="wage", epsilon=0.1)
    except puffer_frames.PufferError as error:
        sys.stdout.buffer.write(pickle.dumps(error))
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


def _forked():
    """What a process that was forked has to say."""
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, check=True)
    raise pickle.loads(said.stdout)


def _spawned():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(privatize, FRAME, secret="race", public="wage", epsilon=0.1).result()


# name: (call that meets the message, call that follows its hint)
CALLS = {
    "a standard deviation below 0": (lambda: Prior.gaussian(0, -1), lambda: Prior.gaussian(0, 0)),
    "weights that are none": (
        lambda: Prior.mixture([0.5, 0.6], [0, 1], [1, 1]),
        lambda: Prior.mixture(np.divide([0.5, 0.6], 1.1), [0, 1], [1, 1]),
    ),
    "lists of two lengths": (lambda: Prior.mixture([1], [0, 1], [1]), lambda: Prior.mixture([1], [0], [1])),
    "no values": (lambda: Prior.empirical([]), lambda: Prior.empirical([3])),
    "values with a NaN": (lambda: Prior.empirical([1, np.nan]), lambda: Prior.empirical([1])),
    "a count below 0": (lambda: Prior.empirical([1, 2], [1, -1]), lambda: Prior.empirical([1, 2], [0.25, 0.75])),
    "counts that are all 0": (lambda: Prior.empirical([1, 2], [0, 0]), lambda: Prior.empirical([1, 2], [0, 1])),
    "too few counts": (lambda: Prior.empirical([1, 2], [1]), lambda: Prior.empirical([1, 2], [1, 1])),
    "not a probability": (lambda: Prior.bernoulli(2), lambda: Prior.bernoulli(1)),
    "a scale below 0": (lambda: pure_loss(NARROW, WIDE, scale=-1), lambda: pure_loss(NARROW, WIDE, scale=0)),
    "an epsilon below 0": (
        lambda: hockey_stick(NARROW, WIDE, epsilon=-1, scale=1),
        lambda: hockey_stick(NARROW, WIDE, epsilon=0.1, scale=1),
    ),
    "stable noise, alpha 2": (lambda: Stable(alpha=2), lambda: Stable(alpha=1.7)),
    "more drop-outs than contributors": (
        lambda: Stable(scale=1.0, alpha=1.5).share(3, drop_outs=3),
        lambda: Stable(scale=1.0, alpha=1.5).share(3, drop_outs=2),
    ),
    "a scale below every grid": (
        lambda: Laplace(scale=1e-320).sampler(),
        lambda: Laplace(scale=1e-320 * 2.0**60).sampler(),
    ),
    "one prior": (
        lambda: smallest_scale({"s": NARROW}, epsilon=1),
        lambda: smallest_scale(_priors(NARROW, WIDE), epsilon=1),
    ),
    "no atoms": (
        lambda: kantorovich_scale(_priors(NARROW, WIDE), epsilon=1),
        lambda: gaussian_scale(_priors(NARROW, WIDE), epsilon=1),
    ),
    "not on two values": (
        lambda: bernoulli_scale(_priors(ATOMS, Prior.empirical([2, 3])), epsilon=1),
        lambda: kantorovich_scale(_priors(ATOMS, Prior.empirical([2, 3])), epsilon=1),
    ),
    "not shifts": (
        lambda: translation_scale(_priors(NARROW, WIDE), epsilon=1),
        lambda: gaussian_scale(_priors(NARROW, WIDE), epsilon=1),
    ),
    "not one component": (
        lambda: gaussian_scale(_priors(TWO_PEAKS, WIDE), epsilon=1, delta=0.01),
        lambda: mixture_scale(_priors(TWO_PEAKS, WIDE), epsilon=1, delta=0.01),
    ),
    "no delta": (
        lambda: mixture_scale(_priors(NARROW, WIDE), epsilon=1, delta=0),
        lambda: gaussian_scale(_priors(NARROW, WIDE), epsilon=1),
    ),
    "no delta for tau": (lambda: tau_star_bound(0), lambda: gaussian_scale(_priors(NARROW, WIDE), epsilon=1)),
    "not one background": (
        lambda: ubm_scale(_priors(TWO_PEAKS, LIGHTER), epsilon=1),
        lambda: mixture_scale(_priors(TWO_PEAKS, LIGHTER), epsilon=1, delta=0.01),
    ),
    "a range below 0": (
        lambda: bounded_scales({"wage": -1.0}, epsilon=1),
        lambda: bounded_scales({"wage": 7.0 - 3.0}, epsilon=1),
    ),
    "a tolerance below 0": (
        lambda: fit_mixture([0, 1, 5], [2, 2, 1], components=1, tolerance=-1),
        lambda: fit_mixture([0, 1, 5], [2, 2, 1], components=1),
    ),
    "components below 1": (
        lambda: fit_mixture([0, 1, 5], [2, 2, 1], components=0),
        lambda: fit_mixture([0, 1, 5], [2, 2, 1], components=1),
    ),
    "a scale of several columns": (lambda: JOINT.scale, lambda: JOINT.scales),
    "rows that have drifted": (
        lambda: PLAN.release(DRIFTED, allow_other_frame=True),
        lambda: PLAN.release(DRIFTED, allow_other_frame=True, allow_drift=True),
    ),
    "a secret that the plan does not know": (
        lambda: PLAN.release(RARE, allow_other_frame=True, allow_drift=True),
        lambda: PLAN.release(RARE[RARE["race"] != "c"], index="drop", allow_other_frame=True, allow_drift=True),
    ),
    "a frame that was changed": (
        lambda: CERTIFICATE.attach(RELEASED.round(0)),
        lambda: CERTIFICATE.attach(RELEASED.round(0), derived=True),
    ),
    "a key that is none": (lambda: CERTIFICATE.sign("key"), lambda: CERTIFICATE.sign(Ed25519PrivateKey.generate())),
    "a certificate of a later version": (
        lambda: Certificate.from_dict(CERTIFICATE.to_dict() | {"schema": "2.0"}),
        lambda: Certificate.from_dict(CERTIFICATE.to_dict()),
    ),
    "another level in other rows": (
        lambda: TOWN_PLAN.release(TOWNS.replace({"town": {"x": "w"}}), allow_other_frame=True),
        lambda: TOWN_PLAN.release(TOWNS.tail(150).reset_index(drop=True), allow_other_frame=True, allow_drift=True),
    ),
    "a secret that a plan of labels does not know": (
        lambda: TOWN_PLAN.release(TOWNS.assign(race=RARE["race"]), allow_other_frame=True),
        lambda: TOWN_PLAN.release(TOWNS.tail(150).reset_index(drop=True), allow_other_frame=True, allow_drift=True),
    ),
    "labels that have drifted": (
        lambda: TOWN_PLAN.release(DRIFTED_TOWNS, allow_other_frame=True),
        lambda: TOWN_PLAN.release(DRIFTED_TOWNS, allow_other_frame=True, allow_drift=True),
    ),
    "other labels": (
        lambda: TOWN_PLAN.release(TOWNS.tail(150).reset_index(drop=True)),
        lambda: TOWN_PLAN.release(TOWNS.tail(150).reset_index(drop=True), allow_other_frame=True, allow_drift=True),
    ),
    "a radius beyond 1": (lambda: Channel(radius=2.0), lambda: Channel(radius="auto")),
    "a cap of 0": (lambda: Channel(cap=0), lambda: Channel(cap=8.0)),
    "another word for the cost": (lambda: Channel(cost="squared"), lambda: Channel(cost="auto")),
    "another word for what is kept": (lambda: Channel(preserve="sum"), lambda: Channel(preserve=None)),
    "one cell": (lambda: Channel(cells=1), lambda: Channel()),
    "half an output": (lambda: Channel(outputs=1.5), lambda: Channel()),
    "another frame": (
        lambda: PLAN.release(FRAME.tail(150), index="drop"),
        lambda: PLAN.release(FRAME.tail(150), index="drop", allow_other_frame=True, allow_drift=True),
    ),
    "no certificate": (lambda: verify(FRAME), lambda: verify(CERTIFICATE.attach(pd.DataFrame(RELEASED)))),
    "a column from elsewhere": (
        lambda: CERTIFICATE.attach(RELEASED.assign(raw=1)),
        lambda: CERTIFICATE.attach(RELEASED.assign(raw=1)[["wage"]]),
    ),
    "a certificate of something else": (
        lambda: Certificate.from_dict({"epsilon": 1.0}),
        lambda: Certificate.from_dict(CERTIFICATE.to_dict()),
    ),
    "a file without a certificate": (lambda: read_certificate(_file(FRAME)), lambda: read_certificate(_file(RELEASED))),
    "a process that was forked": (_forked, _spawned),
    "a file of another format": (
        lambda: CERTIFICATE.verify(_text_file(RELEASED)),
        lambda: CERTIFICATE.verify(pd.read_csv(_text_file(RELEASED))),
    ),
    "a folder in place of a file": (
        lambda: write_parquet(RELEASED, Path(_file(RELEASED)).parent),
        lambda: write_parquet(RELEASED, Path(_file(RELEASED)).parent / "released.parquet"),
    ),
    "a theorem that is refuted": (lambda: _published("theorem"), lambda: _published("exact")),
} | ANSWERS


def ask(frame, options):
    """What `met` says of a request."""
    request = {"secret": "race", "public": "wage", "epsilon": 1.0} | options
    return met(lambda: privatize(frame, **request))


def met(call):
    """The error or the warnings that a call meets; empty where it meets none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except PufferError as error:
            return [error]
    assert all(issubclass(w.category, PufferWarning) for w in caught)
    return [w.message for w in caught]
