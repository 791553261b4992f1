"""A plan of each kind, from small tables that no generator of random numbers made: the files of plan_files/ are theirs.

Run: python tests/plan_cases.py writes the files that are not there yet. Those that are there stay as they are:
every later version of the package reads them.
"""

import functools
import warnings
from pathlib import Path

import pandas as pd

from puffer_frames import Bootstrap, Channel, Contamination, Noise, Population, Stable, Strata, Unit, calibrate
from puffer_frames.core import Prior

FOLDER = Path(__file__).with_name("plan_files")
ROWS = 180
PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "m", "m"] * 60,
        "old": [k * k % 11 + k % 3 > 5 for k in range(ROWS)],
        "score": [k * k % 11 + (k % 3 == 0) for k in range(ROWS)],
        "age": [20 + k * k % 13 for k in range(ROWS)],
        "real": [(k * k % 1009) / 8 + (k % 3) for k in range(ROWS)],
        "town": [("bath", "cork", "hull", "ζ")[k * k % 17 % 4] for k in range(ROWS)],
        "rare": [("chess", "go", "tag")[k % 3] if k > 2 else "ludo" for k in range(ROWS)],
        "pet": [None if k % 9 == 0 else ("cat", "dog")[k * k % 7 % 2] for k in range(ROWS)],
        "some": [None if k == 7 else float(k * k % 11 + k % 3) for k in range(ROWS)],
        "ward": [k // 3 for k in range(ROWS)],
        "class": [("1a", "1b")[k % 2] for k in range(ROWS)],
    }
)
UNITS = PEOPLE.assign(sex=[("f", "m")[k // 3 % 2] for k in range(ROWS)])
TWICE = pd.concat([PEOPLE.assign(ward=range(ROWS))] * 2, ignore_index=True)
MANY = pd.DataFrame({"sex": ["f", "m"] * 300, "real": [(k * k % 1009) / 8 + k % 2 for k in range(600)]})
CALM = PEOPLE.assign(score=3)
ATOMS = {"f": Prior.empirical([0, 4, 9]), "m": Prior.mixture([0.1, 0.9], [1, 8], [0, 2])}
LEVELS = {"f": {"bath": 1, "ζ": 2}, "m": {"bath": 0.25, "hull": 0.5}}
WITH_DELTA = {"mechanism": Noise("gaussian"), "delta": 1e-6}
ROWS_OF = {"public": ["score", "age"]}
LABELS = {"public": "town"}

CASES = {
    "laplace noise": {},
    "laplace noise, delta": {"delta": 1e-6},
    "gaussian noise": WITH_DELTA,
    "stable noise": {"mechanism": Noise(Stable(alpha=1.7))},
    "published scale": {"mechanism": Noise(calibration="theorem")},
    "gaussian model": {"mechanism": Noise(theorem="gaussian")},
    "mixture model": {"frame": MANY, "public": "real", "mechanism": Noise(theorem="gmm", components=2), "delta": 1e-3},
    "background model": {"frame": MANY, "public": "real", "mechanism": Noise(theorem="ubm", components=2)},
    "listed pairs": {"secret": ["sex", "old"], "pairs": [(("f", True), ("m", False)), (("f", False), ("m", False))]},
    "each secret column": {"secret": ["sex", "old"], "secrets": "each"},
    "secret of truth values": {"secret": "old"},
    "secret of numbers": {"secret": "class", "frame": PEOPLE.assign(**{"class": [k % 3 for k in range(ROWS)]})},
    "rows left out": {"public": "some", "nulls": "drop", "epsilon": 0.05},
    "domain": {"domain": {"score": (1, 9)}},
    "no noise": {"frame": CALM, "allow_zero_noise": True},
    "remap": {"mechanism": Noise(remap=True)},
    "population": {"beliefs": ("fitted", Population(confidence=0.9))},
    "wider beliefs": {"beliefs": (Contamination({"f": 0.02, "m": 0.01}), Bootstrap(resamples=2, seed=1))},
    "another table": {"beliefs": ("fitted", PEOPLE.tail(150))},
    "side knowledge": {"beliefs": ATOMS},
    "bounded columns": ROWS_OF | {"mechanism": Noise(theorem="bounded"), "domain": {"age": (0, 100)}},
    "bounded columns, gaussian noise": ROWS_OF | WITH_DELTA,
    "columns together": ROWS_OF | {"mechanism": Noise(weights={"age": 0.5})},
    "columns together, contaminated": ROWS_OF | {"beliefs": Contamination(0.01)},
    "columns together, remap": ROWS_OF | {"mechanism": Noise(remap=True)},
    "columns with labels": {"public": ["score", "town"]},
    "bounded columns with labels": {"public": ["score", "town"], "mechanism": Noise(theorem="bounded")},
    "coupled columns": ROWS_OF | {"mechanism": Noise(theorem="kantorovich")},
    "strata": {"given": Strata("class", minimum=10)},
    "small strata": {"given": Strata(["class", "pet"], minimum=16), "nulls": "drop"},
    "merged strata": {"given": Strata(["class", "town"], minimum=14, merge=True)},
    "strata, one scale": {"given": Strata("class", scale="one")},
    "strata of columns together": ROWS_OF | {"given": Strata("class", minimum=10)},
    "strata of labels": {"public": ["score", "town"], "given": Strata("class", minimum=10)},
    "units of independent rows": {"frame": UNITS, "unit": Unit("ward", rows="independent", most=4)},
    "units of some rows": {"frame": UNITS, "unit": Unit("ward", rows="independent", most=2, over="sample")},
    "units of repeated rows": {"frame": TWICE, "unit": Unit("ward", rows="repeated")},
    "units of any rows": ROWS_OF | {"frame": UNITS, "unit": Unit("ward", rows="any")},
    "several releases": {"releases": 3},
    "channel of labels": LABELS,
    "channel of labels, delta": LABELS | {"delta": 1e-3, "mechanism": Channel(radius=0.01), "epsilon": 0.05},
    "channel of declared labels": LABELS | {"domain": {"town": ["bath", "cork", "hull", "ζ", "york"]}},
    "channel, population": LABELS | {"domain": {"town": ["bath", "cork", "hull", "ζ"]}, "beliefs": "population"},
    "channel, wider beliefs": LABELS | {"beliefs": (Contamination(0.1), Bootstrap(resamples=2), PEOPLE.tail(150))},
    "channel, side knowledge": LABELS | {"beliefs": LEVELS},
    "channel of merged labels": {"public": "rare", "mechanism": Channel(merge_rare=4)},
    "channel of missing labels": {"public": "pet", "nulls": "level"},
    "channel, two outputs": LABELS | {"mechanism": Channel(outputs=2)},
    "channel, shares kept": LABELS | {"mechanism": Channel(preserve="marginal", publish_matrix=True)},
    "channel, own cost": LABELS | {"mechanism": Channel(cost=lambda x, y: float(x != y) + (x == "cork"))},
    "channel, each secret column": LABELS | {"secret": ["sex", "old"], "secrets": "each"},
    "channel of truth values": {"public": "old", "mechanism": "channel"},
    "channel of numbers": {"mechanism": Channel(preserve="mean")},
    "channel of declared numbers": {"mechanism": "channel", "domain": {"score": range(14)}},
    "channel of cells": {"frame": MANY, "public": "real", "mechanism": Channel(cells=6), "domain": {"real": (1, 120)}},
}
"""What is asked for beside the secret "sex", the column "score" and epsilon 0.3; `frame` is another table."""


def table_of(name):
    """The table of a plan."""
    return CASES[name].get("frame", PEOPLE)


def asked(name):
    """What the plan was asked for."""
    given = {key: value for key, value in CASES[name].items() if key != "frame"}
    return {"secret": "sex", "public": "score", "epsilon": 0.3} | given


@functools.cache
def planned(name):
    """The plan; warnings are not its business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return calibrate(table_of(name), **asked(name))


def file_of(name):
    """Where its file is kept."""
    return FOLDER / f"{name.replace(', ', '_').replace(' ', '_')}.json"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        if not file_of(name).exists():
            planned(name).save(file_of(name))
            file_of(name).chmod(0o644)  # there is nobody behind these tables
            print(file_of(name).name)
