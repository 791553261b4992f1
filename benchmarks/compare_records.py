"""What compare.py writes of a call: numbers without rounding, the name of an error, the SHA-256 of a release."""

import hashlib
import inspect
import sys
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

EPSILONS = (0.1, 0.5, 1.0, 2.0)
DELTA = 1e-5
ALPHAS = (1.0, 1.5, 1.7)
LAPLACE = {"laplace": {}, "laplace, delta": {"delta": DELTA}}
OTHERS = {
    "gaussian": {"noise": "gaussian", "delta": DELTA},
    **{f"{alpha}-stable": {"noise": "stable", "alpha": alpha} for alpha in ALPHAS},
}
CHAIN = [[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]]
WORDS = ("assumptions", "source", "subject", "version")
"""Fields of a certificate that are words."""


def exact(value):
    """A value as JSON can hold it without rounding."""
    if isinstance(value, Mapping):
        return {str(key): exact(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [exact(entry) for entry in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (np.bool_, np.integer)):
        return value.item()
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    parts = fields(value, "lower", "upper", "pure_loss", "hockey_stick")  # a bracket, or what was measured
    return exact(parts) if parts else repr(value)


def fields(thing, *names):
    """The attributes that there are."""
    return {name: getattr(thing, name) for name in names if hasattr(thing, name)}


def attempt(call, *arguments, **options):
    """What a call gives, its warnings left out; the name of the error where it raises one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return exact(call(*arguments, **as_called(options)))
        except Exception as error:
            return f"error: {type(error).__name__}"


def as_called(options):
    """The options in the words of the checkout: a noise with its exponent was two of them."""
    pf = sys.modules["puffer_frames"]
    if "alpha" not in options or "alpha" in inspect.signature(pf.calibrate).parameters:
        return options
    others = {name: entry for name, entry in options.items() if name not in ("noise", "alpha")}
    return others | {"noise": pf.Stable(alpha=options["alpha"])}


NOISE = (("noise", "family"), *((name, name) for name in ("theorem", "calibration", "components")))
"""Keywords of earlier checkouts, and the fields of `Noise` that they are."""
LAYOUT = ("keep", "row_id", "clip", "round", "shuffle")


def as_asked(pf, options):
    """The options of a release or a plan in the words of the checkout: fields of records were keywords."""
    if not hasattr(pf, "Layout"):
        return options
    noise = {field: options[name] for name, field in NOISE if name in options}
    layout = {name: options[name] for name in LAYOUT if name in options}
    others = {name: entry for name, entry in options.items() if name not in (*dict(NOISE), *LAYOUT)}
    others |= {"mechanism": pf.Noise(**noise)} if noise else {}
    return others | ({"layout": pf.Layout(**layout)} if layout else {})


def formula(pf, name):
    """A function or class of the numeric core or of a paper, wherever the checkout has it."""
    places = [pf, *(getattr(pf, place) for place in ("core", "papers") if hasattr(pf, place))]
    return next(getattr(place, name) for place in places if hasattr(place, name))


def digest(frame):
    """SHA-256 of names and entries; of a Spark frame in whatever order."""
    is_spark = hasattr(frame, "toArrow")
    table = frame.toArrow() if is_spark else frame
    if isinstance(table, pd.DataFrame):
        columns = {str(name): [None if pd.isna(v) else v for v in table[name].tolist()] for name in table}
    else:
        columns = table.to_pydict() if isinstance(table, pa.Table) else table.to_dict(as_series=False)
    rows = list(zip(*(map(exact, entries) for entries in columns.values()), strict=True))
    return hashlib.sha256(repr((list(columns), sorted(rows, key=repr) if is_spark else rows)).encode()).hexdigest()


def released(pf, function, frame, /, **asked):
    """The digest of a release, and its certificate without the words."""
    found = getattr(pf, function)(frame, **(as_asked(pf, asked) if function == "privatize" else asked))
    found = found.puffer.collect() if isinstance(found, pl.LazyFrame) else found
    certificate = pf.certificate_of(found).to_dict()
    return digest(found), {name: entry for name, entry in certificate.items() if name not in WORDS}
