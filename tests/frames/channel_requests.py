"""Tables and requests of releases through a channel."""

import functools

import numpy as np
from conftest import build_frame, run

import puffer_frames
from puffer_frames import Bootstrap, Channel, Contamination, Layout, Population
from puffer_frames.core import Prior

ROWS = 1200
RNG = np.random.default_rng(21)
GROUP = RNG.choice(["p", "q", "r"], ROWS, p=[0.5, 0.3, 0.2])
AT_P = GROUP == "p"
MARK = "secret-level-8675309"
"""A level that no message may show."""
TOWNS = ["bath", "cork", "hull", MARK]
COLUMNS = {
    "group": GROUP,
    "town": np.where(AT_P & (RNG.random(ROWS) < 0.4), MARK, RNG.choice(TOWNS, ROWS)),
    "flag": RNG.random(ROWS) < np.where(AT_P, 0.8, 0.3),
    "grade": RNG.integers(-2, 3, ROWS) + AT_P,
    "half": (RNG.integers(0, 9, ROWS) + AT_P) / 2,
    "real": RNG.normal(size=ROWS) + AT_P,
    "pet": [None if k % 9 == 0 else "cd"[int(AT_P[k]) if k % 3 else k % 2] for k in range(ROWS)],
    "some": [None if k % 10 == 0 else k * k % 5 for k in range(ROWS)],
    "note": RNG.permutation(["u", "v"] * (ROWS // 2)),
    "id": RNG.permutation(ROWS) * 7 - 100,
}
RARE = COLUMNS | {"town": np.where(np.arange(ROWS) % 400 == 7, "rare", COLUMNS["town"])}
LEVELS = {"p": {"bath": 1, MARK: 3}, "q": {"bath": 1, "cork": 1}, "r": {"hull": 0.1, "cork": 0.2}}
ATOMS = {"p": Prior.empirical([0, 3]), "q": Prior.empirical([-2, 3], [1, 2]), "r": Prior.empirical([1])}
REQUESTS = {
    "text": {},
    "text, by name": {"mechanism": "channel"},
    "text, delta": {"delta": 1e-4},
    "text, pairs": {"pairs": [("p", "q")]},
    "text, side knowledge": {"beliefs": LEVELS},
    "text, nothing but side knowledge": {"beliefs": ("only", LEVELS)},
    "text, declared": {"domain": {"town": [*TOWNS, "nowhere"]}, "layout": Layout(publish="levels")},
    "text, population": {"domain": {"town": TOWNS}, "beliefs": Population(confidence=0.9), "epsilon": 2.0},
    "text, wider": {"beliefs": (Contamination(0.1), Bootstrap(resamples=2))},
    "text, two levels out": {"mechanism": Channel(outputs=2)},
    "text, shares kept": {"mechanism": Channel(preserve="marginal", publish_matrix=True)},
    "text, two secrets": {"secret": ["group", "flag"], "layout": Layout(keep=["note", "id"])},
    "rare text": {"mechanism": Channel(merge_rare=5)},
    "booleans": {"public": "flag", "mechanism": "channel"},
    "integers": {"public": "grade", "mechanism": "channel"},
    "integers, mean kept": {"public": "grade", "mechanism": Channel(preserve="mean")},
    "integers, atoms": {"public": "grade", "mechanism": "channel", "beliefs": ATOMS},
    "integers, on a domain": {"public": "grade", "mechanism": "channel", "domain": {"grade": (-1, 2)}},
    "integers, declared": {"public": "grade", "mechanism": "channel", "domain": {"grade": range(-3, 6)}},
    "few floats": {"public": "half", "mechanism": "channel"},
    "cells": {"public": "real", "mechanism": Channel(cells=12)},
    "cells, on a domain": {"public": "real", "mechanism": Channel(cells=6), "domain": {"real": (-1.0, 1.5)}},
    "missing level": {"public": "pet", "nulls": "level"},
    "missing rows": {"public": "pet", "nulls": "drop", "layout": Layout(keep="note")},
    "missing numbers": {"public": "some", "nulls": "drop", "mechanism": "channel"},
}
PLAN_KEYS = ("public", "secret", "mechanism", "delta", "pairs", "beliefs", "domain", "nulls", "epsilon")


def asked(name):
    return {"secret": "group", "public": "town", "epsilon": 0.5} | REQUESTS[name]


def columns_of(name):
    return RARE if name == "rare text" else COLUMNS


def release(frame, **options):
    return puffer_frames.privatize(frame, **{"secret": "group", "public": "town", "epsilon": 0.5, "rng": 7} | options)


def plan(frame, **options):
    return puffer_frames.calibrate(frame, **{"secret": "group", "public": "town", "epsilon": 0.5} | options)


@functools.cache
def elsewhere(kind, name):
    return run(release(build_frame(kind, columns_of(name)), **asked(name)))


@functools.cache
def planned_elsewhere(kind, name):
    return plan(build_frame(kind, columns_of(name)), **planned(name))


def planned(name):
    return {key: value for key, value in asked(name).items() if key in PLAN_KEYS}
