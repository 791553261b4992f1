"""Every message of the package, and the call that follows its hint."""

import multiprocessing
import pickle
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest import mock

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
from answer_messages import ANSWERS
from conftest import made
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from estimate_messages import ESTIMATES, LEDGERS, REFINEMENTS
from request_messages import CALM, FEW_MISSING, FLOATS, FRAME, MISSING, PEAKED, RARE, TOWNS

from puffer_frames import (
    Certificate,
    Channel,
    Laplace,
    Layout,
    MarkovChain,
    Noise,
    PufferError,
    PufferWarning,
    Stable,
    WideNoiseWarning,
    calibrate,
    compare,
    compose,
    load_plan,
    privatize,
    read_certificate,
    verify,
    write_parquet,
)
from puffer_frames.core import Prior, fit_mixture, hockey_stick, pure_loss, smallest_scale
from puffer_frames.errors import FaultError
from puffer_frames.frames.files import read_rows
from puffer_frames.papers import (
    bernoulli_scale,
    bounded_scales,
    gaussian_scale,
    kantorovich_scale,
    mixture_scale,
    tau_star_bound,
    translation_scale,
    ubm_scale,
)
from puffer_frames.verbs.pictures import quilt

NARROW, WIDE = Prior.gaussian(0, 1), Prior.gaussian(5, 2)
ATOMS = Prior.empirical([0, 1], [1, 3])
TWO_PEAKS = Prior.mixture([0.5, 0.5], [0, 100], [1, 1])
LIGHTER = Prior.mixture([0.3, 0.7], [0, 200], [1, 1])
PLAN = calibrate(FRAME, secret="race", public="wage", epsilon=1.0)
DRIFTED = FRAME.assign(wage=FRAME["wage"] + 9 * (FRAME["race"] == "a"))
JOINT = calibrate(FLOATS, secret="race", public=["wage", "more"], epsilon=1.0)
RELEASED = PLAN.release(FRAME)
CERTIFICATE = RELEASED.puffer.certificate
RANGED = {"secret": "race", "public": "wage", "epsilon": 5.0, "mechanism": Noise(theorem="bounded")}
CALM_RELEASE = privatize(CALM, **RANGED | {"mechanism": "noise"}, allow_zero_noise=True)
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
        PEAKED,
        secret="race",
        public="wage",
        epsilon=1.0,
        delta=1e-3,
        mechanism=Noise(theorem="gmm", calibration=calibration),
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


def _table_file(*, broken=False):
    """A Parquet file, or one that is only named so."""
    path = Path(tempfile.mkdtemp()) / "table.parquet"
    FRAME.to_parquet(path)
    if broken:
        path.write_text("age, wage", encoding="utf-8")
    return path


def _plan_file(*, edited=False, **options):
    """A file of a plan; one that was edited holds more rows than before."""
    path = Path(tempfile.mkdtemp()) / "plan.json"
    PLAN.save(path, **options)
    if edited:
        path.write_text(path.read_text(encoding="utf-8").replace('"rows": 1', '"rows": 2'), encoding="utf-8")
    return path


def _undrawn():
    """A picture where matplotlib is not installed."""
    hidden = dict.fromkeys(["matplotlib", "matplotlib.pyplot"])
    with mock.patch.dict(sys.modules, hidden):
        quilt(CHAIN, length=9, epsilon=1.0)


def _forked():
    """What a process that was forked has to say."""
    said = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD], capture_output=True, check=True)
    raise pickle.loads(said.stdout)


def _spawned():
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(privatize, FRAME, secret="race", public="wage", epsilon=0.1).result()


# name: (call that meets the message, call that follows its hint)
mpl.use("Agg")
LAZY = pl.LazyFrame({"race": ["a", "b"] * 100, "wage": [1, 2, 3, 3] * 50, "town": ["x"] * 200})
LAZY_ASKED = {"secret": "race", "public": "wage", "given": "town", "epsilon": 0.1}
CHAIN = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])

CALLS = (
    {
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
        "several columns at other epsilons": (
            lambda: JOINT.curve(),
            lambda: compare(
                FLOATS, secret="race", public=["wage", "more"], epsilon=[0.5, 1], beliefs="empirical", mechanism="noise"
            ),
        ),
        "a scale of several columns": (lambda: JOINT.scale, lambda: JOINT.scales),
        "rows that have drifted": (
            lambda: PLAN.release(DRIFTED, allow_other_frame=True),
            lambda: PLAN.release(DRIFTED, allow_other_frame=True, allow_drift=True),
        ),
        "a secret that the plan does not know": (
            lambda: PLAN.release(RARE, allow_other_frame=True, allow_drift=True),
            lambda: PLAN.release(
                RARE[RARE["race"] != "c"], layout=Layout(index="drop"), allow_other_frame=True, allow_drift=True
            ),
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
        "a table file of another format": (
            lambda: read_rows(_table_file(broken=True), schema={}, streaming=False),
            lambda: read_rows(_table_file(), schema={}, streaming=False),
        ),
        "a plan file that is there": (
            lambda: PLAN.save(_plan_file(), overwrite=False),
            lambda: PLAN.save(_plan_file(), overwrite=True),
        ),
        "a plan file that was changed": (lambda: load_plan(_plan_file(edited=True)), lambda: load_plan(_plan_file())),
        "a column that holds something else than in the plan": (
            lambda: PLAN.release(FRAME.assign(wage=FRAME["wage"].astype(str)), allow_other_frame=True),
            lambda: PLAN.release(FRAME.assign(wage=FRAME["wage"].astype(str).astype(int)), allow_other_frame=True),
        ),
        "two columns that hold something else than in the plan": (
            lambda: PLAN.release(FRAME.assign(wage=FRAME["town"], race=FRAME["race"] == "a"), allow_other_frame=True),
            lambda: PLAN.release(FRAME, allow_other_frame=True),
        ),
        "missing values in other rows": (
            lambda: PLAN.release(MISSING, allow_other_frame=True),
            lambda: PLAN.release(
                MISSING.dropna(subset=["race", "wage"], ignore_index=True), allow_other_frame=True, allow_drift=True
            ),
        ),
        "missing labels in other rows": (
            lambda: TOWN_PLAN.release(FEW_MISSING, allow_other_frame=True),
            lambda: TOWN_PLAN.release(
                FEW_MISSING.dropna(subset=["race", "town"], ignore_index=True),
                allow_other_frame=True,
                allow_drift=True,
            ),
        ),
        "rows of a release that were drawn again": (
            lambda: CERTIFICATE.attach(RELEASED.iloc[[*range(9), *range(9)]]),
            lambda: CERTIFICATE.attach(RELEASED),
        ),
        "an index that is not of the release": (
            lambda: CERTIFICATE.attach(RELEASED.head(9).rename_axis(index="row").rename("{}x".format), derived=True),
            lambda: CERTIFICATE.attach(
                RELEASED.head(9).rename_axis(index="row").rename("{}x".format).reset_index(drop=True), derived=True
            ),
        ),
        "releases with and without noise, beside their table": (
            lambda: compose([RELEASED, CALM_RELEASE], frame=CALM),
            lambda: compose([privatize(CALM, **RANGED), privatize(CALM, **RANGED)]),
        ),
        "a plan file with another password": (
            lambda: load_plan(_plan_file(password="right"), password="wrong"),
            lambda: load_plan(_plan_file(password="right"), password="right"),
        ),
        "a plan from a file that is to be compared with beliefs": (
            lambda: load_plan(_plan_file()).robustness(),
            lambda: PLAN.robustness(),
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
            lambda: PLAN.release(FRAME.tail(150), layout=Layout(index="drop")),
            lambda: PLAN.release(
                FRAME.tail(150), layout=Layout(index="drop"), allow_other_frame=True, allow_drift=True
            ),
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
        "a file without a certificate": (
            lambda: read_certificate(_file(FRAME)),
            lambda: read_certificate(_file(RELEASED)),
        ),
        "a process that was forked": (_forked, _spawned),
        "a picture without matplotlib": (_undrawn, lambda: quilt(CHAIN, length=9, epsilon=1.0)),
        "a file of another format": (
            lambda: CERTIFICATE.verify(_text_file(RELEASED)),
            lambda: CERTIFICATE.verify(pd.read_csv(_text_file(RELEASED))),
        ),
        "a folder in place of a file": (
            lambda: write_parquet(RELEASED, Path(_file(RELEASED)).parent),
            lambda: write_parquet(RELEASED, Path(_file(RELEASED)).parent / "released.parquet"),
        ),
        "a lazy frame that fails": (
            lambda: calibrate(LAZY.with_columns(pl.col("town").cast(pl.Int64)), **LAZY_ASKED),
            lambda: calibrate(LAZY, **LAZY_ASKED),
        ),
        "a theorem that is refuted": (lambda: _published("theorem"), lambda: _published("exact")),
    }
    | ANSWERS
    | ESTIMATES
    | LEDGERS
    | REFINEMENTS
)


def ask(frame, options):
    """What `met` says of a request."""
    request = {"secret": "race", "public": "wage", "epsilon": 1.0} | options
    return met(lambda: privatize(frame, **made(request)))


def met(call):
    """The error or the warnings that a call meets, but those of wide noise, which small epsilons have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (PufferError, FaultError) as error:
            return [error]
    assert all(issubclass(w.category, PufferWarning) for w in caught)
    return [w.message for w in caught if not isinstance(w.message, WideNoiseWarning)]
