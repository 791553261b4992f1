"""Correct releases of many kinds, and faults, for `audit.py` and the tests."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl

import puffer_frames as pf
from puffer_frames import Layout, Noise

LEVELS = ["craft", "sales", "exec", "clerk", "tech", "other"]


def people(rng, rows=1500):
    """A table whose columns tell something of its secrets, and an index of rows."""
    race = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.25, 0.15])
    sex = rng.choice(["f", "m"], rows)
    shift = (race == "b") * 1 + (sex == "m") * 2
    return pd.DataFrame(
        {
            "id": rng.permutation(rows),
            "race": race,
            "sex": sex,
            "region": rng.choice(["n", "s", "w"], rows),
            "education": np.clip(rng.binomial(12, 0.6, rows) + shift, 1, 16),
            "hours": np.clip(np.rint(rng.normal(38, 9, rows) + 2 * shift), 1, 99),
            "income": rng.gamma(3 + shift / 4, 9000.0),
            "job": rng.choice(LEVELS, rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1]),
            "person": rng.permutation(np.arange(rows) // 2),
        }
    )


def _gaussian(frame):
    return frame.puffer.privatize(secret="race", public="hours", epsilon=1.0, delta=1e-5, mechanism=Noise("gaussian"))


def _filled(frame):
    with_gaps = frame.assign(hours=frame["hours"].where(frame["id"] % 17 > 0))
    return with_gaps, with_gaps.puffer.privatize(secret="sex", public="hours", epsilon=1.0, nulls="drop")


def _refined(frame):
    import tempfile
    from pathlib import Path

    key = Path(tempfile.mkdtemp()) / "refine.key"
    plan = frame.puffer.calibrate(secret="sex", public="education", epsilon=0.5, mechanism="noise")
    first = plan.release(frame, layout=Layout(refine_key=key))
    return frame, plan.refine(frame, first, epsilon=1.0, key=key)


def _of_plan(frame):
    half = frame.iloc[::2].reset_index(drop=True)
    plan = half.puffer.calibrate(secret="sex", public="education", epsilon=1.0, mechanism="noise", beliefs="population")
    other = frame.iloc[1::2].reset_index(drop=True)
    return other, plan.release(other, allow_other_frame=True, allow_drift=True)


def _polars(frame):
    table = pl.from_pandas(frame)
    return table, table.puffer.privatize(secret="sex", public="income", epsilon=1.0)


def _arrow(frame):
    table = pl.from_pandas(frame).to_arrow()
    return table, pf.privatize(table, secret="sex", public="education", epsilon=1.0, mechanism="noise")


def _plain(**asked):
    return lambda frame: (frame, frame.puffer.privatize(**{"epsilon": 1.0, **asked}))


KINDS = {
    "laplace": _plain(secret="race", public="education", mechanism="noise"),
    "laplace, small epsilon": _plain(secret="sex", public="hours", epsilon=0.2, mechanism="noise"),
    "gaussian": lambda frame: (frame, _gaussian(frame)),
    "stable": _plain(secret="race", public="education", mechanism=Noise(pf.Stable(alpha=1.7))),
    "cauchy": _plain(secret="sex", public="hours", mechanism=Noise(pf.Stable(alpha=1))),
    "fitted model": _plain(secret="sex", public="income"),
    "remap": _plain(secret="race", public="education", mechanism=Noise(remap=True)),
    "channel of numbers": _plain(secret="race", public="education", mechanism="channel"),
    "channel of labels": _plain(secret="race", public="job"),
    "published channel": _plain(secret="race", public="job", mechanism=pf.Channel(publish_matrix=True)),
    "channel that sees the secret": _plain(secret="race", public="education", mechanism=pf.Channel(sees="secret")),
    "several labels": _plain(secret="sex", public=["job", "region"], mechanism="channel"),
    "two numbers": _plain(secret="sex", public=["education", "hours"]),
    "number and label": _plain(secret="sex", public=["education", "job"]),
    "strata": _plain(secret="sex", public="education", given="region", mechanism="noise"),
    "strata, one scale": _plain(
        secret="sex", public="hours", given=pf.Strata("region", scale="one"), mechanism="noise"
    ),
    "bounded": _plain(secret="race", public=["education", "hours"], mechanism=Noise(theorem="bounded")),
    "shuffled": _plain(secret="race", public="education", mechanism="noise", layout=Layout(shuffle=True)),
    "clipped and rounded": _plain(
        secret="sex", public="hours", layout=Layout(clip=(20, 60), round=True), mechanism="noise"
    ),
    "domain": _plain(secret="sex", public="hours", domain={"hours": (20, 60)}, mechanism="noise"),
    "rows left out": _filled,
    "kept column": _plain(secret="race", public="education", layout=Layout(keep=["region", "job"]), mechanism="noise"),
    "secrets each": _plain(secret=["race", "sex"], secrets="each", public="education", mechanism="noise"),
    "population": _plain(secret="sex", public="education", beliefs="population", mechanism="noise"),
    "units": _plain(secret="sex", public="hours", unit=pf.Unit("person", rows="any"), mechanism="noise"),
    "three releases": _plain(secret="sex", public="hours", releases=3, mechanism="noise"),
    "listed pairs": _plain(secret="race", public="education", pairs=[("a", "b")], mechanism="noise"),
    "refined": _refined,
    "numbered rows": _plain(secret="sex", public="education", layout=Layout(row_id="id"), mechanism="noise"),
    "plan of other rows": _of_plan,
    "Polars": _polars,
    "PyArrow": _arrow,
}


def release(kind, frame):
    """A correct release of a kind: the original and what was released of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "units":
            sex = frame.groupby("person")["sex"].transform("first")
            frame = frame.assign(sex=sex)
        return KINDS[kind](frame)


def _base(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return frame.puffer.privatize(
            secret="race", public="education", layout=Layout(keep="region"), epsilon=1.0, mechanism="noise"
        )


def _as_if(released, certificate, **changed):
    """A release with other values, and a certificate that was made to fit them: only its noise or columns tell."""
    from puffer_frames.frames.table import open_table

    frame = released.assign(**changed)
    frame.attrs.clear()
    return frame, replace(certificate, fingerprint=open_table(frame).fingerprint())


def _half(frame, _):
    released = _base(frame)
    certificate = released.puffer.certificate
    noise = (released["education"] - frame["education"]) / 2
    return frame, *_as_if(released, certificate, education=frame["education"] + noise)


def _seed(frame, _):
    released = _base(frame)
    certificate = released.puffer.certificate
    drawn = np.random.default_rng(0).laplace(scale=certificate.scales["education"], size=len(frame))
    return frame, *_as_if(released, certificate, education=frame["education"] + drawn)


def _legacy_seed(frame, _):
    released = _base(frame)
    certificate = released.puffer.certificate
    drawn = np.random.RandomState(0).laplace(scale=certificate.scales["education"], size=len(frame))
    return frame, *_as_if(released, certificate, education=frame["education"] + drawn)


def _raw(frame, rng):
    """The kept column holds the raw public one, or the secret in other letters."""
    released = _base(frame)
    hidden = frame["education"] if rng.random() < 0.5 else frame["race"].map({"a": "n", "b": "s", "c": "w"})
    return frame, *_as_if(released, released.puffer.certificate, region=hidden)


def _sorted(frame, _):
    frame = frame.sort_values("race", ignore_index=True)
    released = _base(frame)
    return frame, released, released.puffer.certificate


def _of_another(frame, rng):
    released = _base(frame)
    other = _base(frame.sample(frac=1.0, replace=True, random_state=int(rng.integers(2**31)), ignore_index=True))
    return frame, released, other.puffer.certificate


def _edited(frame, rng):
    released = _base(frame)
    return frame, released, replace(released.puffer.certificate, epsilon=float(rng.choice([0.1, 0.5, 0.9, 1.1, 3.0])))


def _edited_throughout(frame, _):
    """The epsilon is a smaller one in every field."""
    released = _base(frame)
    certificate = released.puffer.certificate
    found = {
        name: {
            belief: replace(one, epsilon=0.5, pure_loss=pf.core.Bracket(lower=0.49, upper=0.5))
            for belief, one in beliefs.items()
        }
        for name, beliefs in certificate.verified.items()
    }
    return frame, released, replace(certificate, epsilon=0.5, verified=found)


def _same_noise(frame, _):
    """One draw for every ten rows."""
    released = _base(frame)
    certificate = released.puffer.certificate
    noise = (released["education"] - frame["education"]).to_numpy()
    noise = np.repeat(noise[: len(frame) // 10 + 1], 10)[: len(frame)]
    return frame, *_as_if(released, certificate, education=frame["education"] + noise)


def _no_reader_cap(frame, _):
    """A channel that sees the secret without any cap, under the certificate of one with both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = {"secret": "sex", "public": "education", "epsilon": 0.3}
        certificate = frame.puffer.privatize(**asked, mechanism=pf.Channel(sees="secret")).puffer.certificate
        bare = pf.Channel(sees="secret", reader_cap=None, cap=None, radius=0)
        return frame, *_as_if(frame.puffer.privatize(**asked, mechanism=bare), certificate)


FAULTS = {
    "half the scale": _half,
    "seed 0 of default_rng": _seed,
    "seed 0 of RandomState": _legacy_seed,
    "a raw column under another name": _raw,
    "rows sorted by the secret": _sorted,
    "the certificate of another release": _of_another,
    "epsilon edited": _edited,
    "epsilon edited in every field": _edited_throughout,
    "one draw for ten rows": _same_noise,
    "no reader cap": _no_reader_cap,
}
SHOWN_BY = {
    "half the scale": "noise law",
    "seed 0 of default_rng": "known seeds",
    "seed 0 of RandomState": "known seeds",
    "a raw column under another name": "raw columns",
    "rows sorted by the secret": "row order",
    "the certificate of another release": "certificate",
    "epsilon edited": "certificate",
    "epsilon edited in every field": "loss at the scale",
    "one draw for ten rows": "repeats",
    "no reader cap": "reader of the value",
}
"""The check that must find each fault by itself."""


def fault(kind, frame, rng):
    """The original, a faulty release, and its certificate."""
    return FAULTS[kind](frame, rng)
