"""The seeded releases that compare.py writes: of rows, of answers about units, and of histograms."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from compare_records import CHAIN, DELTA, EPSILONS, LAPLACE, OTHERS, attempt, released

KINDS = ("pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow")
SHUFFLED = "shuffled"
"""How the names of releases in random order begin."""


def people(rows):
    """Columns of text, booleans, numbers and missing entries."""
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], rows)
    return {
        "group": group,
        "old": rng.random(rows) < 0.5,
        "score": rng.integers(0, 6, rows) + (group == "a"),
        "height": rng.normal(170, 9, rows) + 3 * (group == "b"),
        "some": [None if k % 10 == 0 else k * k % 17 for k in range(rows)],
        "note": (["x", None, "ζ"] * rows)[:rows],
        "id": rng.permutation(rows) * 3 - 700,
    }


def frame_of(kind, data, spark=None):
    """The columns as a frame of a kind."""
    if kind == "spark":
        return spark.createDataFrame(pa.table(data)).localCheckpoint()
    if kind.startswith("pandas"):
        backend = {"pandas-nullable": "numpy_nullable", "pandas-pyarrow": "pyarrow"}.get(kind)
        frame = pd.DataFrame(data)
        return frame.convert_dtypes(dtype_backend=backend) if backend else frame
    return {"polars": pl.DataFrame, "polars-lazy": pl.LazyFrame, "pyarrow": pa.table}[kind](data)


ROWS = {
    "plain": {},
    "gaussian": {"noise": "gaussian", "delta": DELTA},
    "stable": {"noise": "stable", "alpha": 1.5},
    "row_id": {"row_id": "id", "keep": "id"},
    "keep": {"keep": ["note", "old"]},
    "floats": {"public": "height", "theorem": "gaussian", "epsilon": 0.5},
    "domain": {"domain": {"score": (1, 5)}},
    "clip and round": {"clip": (0, 8), "round": True},
    "nulls": {"public": "some", "nulls": "drop", "epsilon": 0.01},
    "two columns": {"public": ["score", "height"], "domain": {"height": (120, 220)}},
    "two secrets": {"secret": ["group", "old"]},
    "pairs": {"pairs": [("a", "b")]},
    "theorem": {"calibration": "theorem"},
    "no noise": {"epsilon": 9.0, "delta": 0.9, "allow_zero_noise": True},
    SHUFFLED: {"shuffle": True, "keep": "note"},
}
"""Requests for releases of rows."""


def of_rows(pf, *, spark):
    """Releases of rows, of every kind of frame; some of many rows, which are drawn in several parts."""
    small, large = people(1200), people(300_000)
    shared = {"secret": "group", "public": "score", "epsilon": 0.05, "rng": 7}
    for kind in (*KINDS, *(["spark"] if spark else [])):
        frame = frame_of(kind, small, spark)
        for name, options in ROWS.items():
            yield f"{name}, {kind}", attempt(released, pf, "privatize", frame, **shared | options)
        if kind in ("pandas", "polars-lazy"):
            frame = frame_of(kind, {name: large[name] for name in ("group", "height")})
            asked = shared | {"public": "height", "epsilon": 1.0, "theorem": "gaussian"}
            yield f"300,000 rows, {kind}", attempt(released, pf, "privatize", frame, **asked)


def of_units(pf):
    """Sums, counts and means: every protection, query, contribution and noise."""
    rng = np.random.default_rng(6)
    unit = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    frame = pl.DataFrame({"unit": unit, "clinic": unit % 3, "x": rng.integers(-3, 9, unit.size)})
    shared = {"unit": "unit", "value": "x", "epsilon": 1.0, "rng": 7}
    protections = {
        "value": {"protect": "value", "domain": (-2, 8)},
        "value or absence": {"protect": "value-or-absence", "pairs": [(5, None), (-2, None)]},
        "presence": {"protect": "presence"},
        "replacement": {"protect": "replacement", "pairs": [(1, 2), (3, 11)]},
        "replacement of all": {"protect": "replacement"},
    }
    queries = {
        "sum": {"query": "sum"},
        "count": {"query": "count"},
        "mean": {"query": "mean"},
        "sum and count": {"query": ("sum", "count")},
        "mean by 12": {"query": "mean", "divisor": 12},
        "integers": {"query": ("sum", "count"), "integer": True},
        "sum by clinic": {"query": "sum", "by": "clinic"},
        "without noise": {"query": ("sum", "count"), "allow_zero_noise": True},
    }
    rules = {
        "one row": {},
        "rows": {"contribution": "rows"},
        "Gaussian laws": {"laws": "gaussian"},
        "published": {"calibration": "theorem"},
    }
    noises = LAPLACE | {name: OTHERS[name] for name in ("gaussian", "1.5-stable")}
    for request in itertools.product(protections.items(), queries.items(), rules.items(), noises.items()):
        names, options = zip(*request, strict=True)
        few = names[1] in ("sum", "count", "mean") and names[2] in ("one row", "rows")
        if not few and names[3] in OTHERS:
            continue
        asked = {name: value for part in options for name, value in part.items()}
        yield f"aggregate {', '.join(names)}", attempt(released, pf, "aggregate", frame, **shared, **asked)
    for kind in KINDS:
        other = frame_of(kind, frame.to_dict(as_series=False))
        yield f"aggregate {kind}", attempt(released, pf, "aggregate", other, **shared, by="clinic")


def of_series(pf):
    """Histograms: every mechanism, belief, form, kind of gap and noise."""
    rng = np.random.default_rng(8)
    state = np.array(list("abc"))[(np.cumsum(rng.random(250) < 0.2) + (rng.random(250) < 0.1)) % 3]
    minute = np.concatenate([np.arange(160), np.arange(90)])
    frame = pl.DataFrame({"who": ["p"] * 160 + ["q"] * 90, "minute": minute, "state": state})
    holes = frame.filter(pl.col("minute") % 9 != 4)
    shared = {"state": "state", "time": "minute", "unit": "who", "epsilon": 1.0, "states": list("abc"), "rng": 7}
    mechanisms = ("quilt", "quilt-approx", "exact", "group")
    beliefs = {
        "given": {"chain": CHAIN},
        "estimated": {},
        "any start": {"chain": CHAIN, "initial": "any"},
        "law": {"chain": CHAIN, "initial": [0.2, 0.3, 0.5]},
        "two chains": {"chain": [CHAIN, [[0.6, 0.2, 0.2]] * 3]},
    }
    forms = {
        "all": {},
        "one bin": {"bins": ["b"]},
        "per unit": {"per": "unit"},
        "both": {"per": "both"},
        "frequency": {"counts": False, "bins": ["b"]},
    }
    gaps = {"whole": (frame, {}), "bridged": (holes, {}), "anew": (holes, {"gaps": "independent"})}
    for mechanism, belief, form, gap in itertools.product(mechanisms, beliefs, forms, gaps):
        if belief not in ("given", "estimated") and form not in ("all", "one bin"):
            continue
        table, anew = gaps[gap]
        asked = {**shared, "mechanism": mechanism, **beliefs[belief], **forms[form], **anew}
        name = f"histogram {mechanism}, {belief}, {form}, {gap}"
        yield name, attempt(released, pf, "histogram", table, **asked)
    for noise, form, epsilon in itertools.product(OTHERS, list(forms)[:4], (0.2, 3.0)):
        asked = {**shared, "chain": CHAIN, **OTHERS[noise], **forms[form], "epsilon": epsilon}
        yield f"histogram {noise}, {form}, {epsilon}", attempt(released, pf, "histogram", frame, **asked)
    binary = frame.with_columns(pl.col("state").replace("c", "a"))
    for mechanism, epsilon in itertools.product(mechanisms, EPSILONS):
        asked = shared | {"states": ["a", "b"], "chain": [[0.9, 0.1], [0.2, 0.8]]}
        asked |= {"epsilon": epsilon, "mechanism": mechanism}
        yield f"histogram of two states, {mechanism}, {epsilon}", attempt(released, pf, "histogram", binary, **asked)
    for kind in KINDS:
        other = frame_of(kind, frame.to_dict(as_series=False))
        yield f"histogram {kind}", attempt(released, pf, "histogram", other, **shared)
