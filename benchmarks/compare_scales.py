"""The scales and losses that compare.py writes: of reference tables, of synthetic ones, and of the numeric core."""

import importlib
import itertools
import sys

import numpy as np
import pandas as pd
import polars as pl
from compare_records import ALPHAS, CHAIN, DELTA, EPSILONS, LAPLACE, OTHERS, as_asked, attempt, fields, formula

CALIBRATIONS = ("exact", "theorem")


def plan_of(pf, frame, /, **asked):
    """The numbers of a calibration."""
    plan = pf.calibrate(frame, **{"secret": "group", "public": "x", "epsilon": 1.0} | as_asked(pf, asked))
    names = ("published_scale", "published_loss", "scale", "scale_per_belief", "verified", "none_needed", "adds_up")
    columns = {
        str(column): fields(found, *names)
        for column, found in (getattr(plan, "choices", None) or plan.selections).items()
    }
    return {"theorem": plan.theorem, "expected_error": plan.expected_error, **columns}


def adult(data):
    columns = {0: "age", 4: "education_num", 8: "race", 9: "sex", 12: "hours", 14: "income"}
    return pd.read_csv(data / "adult.data", header=None, skipinitialspace=True, usecols=list(columns)).rename(
        columns=columns
    )


def hungarian(data):
    columns = {1: "sex", 4: "chol"}
    frame = pd.read_csv(data / "processed.hungarian.data", header=None, na_values="?", usecols=list(columns))
    return frame.rename(columns=columns).dropna(ignore_index=True)


def diabetes(data):
    del data
    return importlib.import_module("sklearn.datasets").load_diabetes(scaled=False, as_frame=True).frame


def student(data):
    return pd.read_csv(data / "student-mat.csv", sep=";")


def bank(data):
    return pd.read_csv(data / "bank-full.csv", sep=";")


REAL = {
    adult: "education_num/race education_num/sex hours/sex age/income age/race",
    hungarian: "chol/sex",
    diabetes: "s6/sex bmi/sex",
    student: "G3/sex absences/romantic",
    bank: "age/marital day/housing duration/loan",
}
"""The tables of the papers, and which column is released and which one is hidden."""


def real_tables(data):
    """Name, frame and roles; a word for a table that is not there."""
    for read, roles in REAL.items():
        try:
            frame = read(data)
        except (OSError, ImportError):
            print(f"left out: the table {read.__name__} is not there", file=sys.stderr)
            continue
        for pair in roles.split():
            public, secret = pair.split("/")
            yield (
                f"{read.__name__}, {public} by {secret}",
                frame[[public, secret]],
                {"secret": secret, "public": public},
            )


def synthetic_tables():
    """One table per theorem, with the request for it."""
    rng = np.random.default_rng(3)
    group = rng.choice(list("abc"), 900)
    code = np.searchsorted(list("abc"), group)
    columns = {
        "bernoulli": rng.random(900) < 0.2 + 0.3 * code,
        "kantorovich": rng.integers(0, 12, 900) + 2 * code,
        "translation": rng.normal(2.0 * code, 3.0).round(),  # few values, for stable noise takes its time
        "gaussian": rng.normal(2.0 * code, 3.0 + code).round(),
        "gmm": rng.normal(np.where(rng.random(900) < 0.5, 20.0, 0.0) + code, 2.0).round(),
    }
    for theorem, values in columns.items():
        options = {"theorem": theorem, "components": 2} if theorem == "gmm" else {"theorem": theorem}
        yield theorem, pd.DataFrame({"group": group, "x": values.astype(float)}), options


def of_real_tables(pf, data):
    """Every request of a paper, and the other noises, of the real tables."""
    for name, frame, roles in real_tables(data):
        for epsilon, calibration, (noise, options) in itertools.product(EPSILONS, CALIBRATIONS, LAPLACE.items()):
            asked = roles | options | {"epsilon": epsilon, "calibration": calibration}
            yield f"{name}, {noise}, {calibration}, {epsilon}", attempt(plan_of, pf, frame, **asked)
        for theorem, (noise, options) in itertools.product(("translation", "gaussian", "gmm"), LAPLACE.items()):
            asked = roles | options | {"theorem": theorem, "beliefs": "fitted"}
            asked |= {"components": 2} if theorem == "gmm" else {}
            yield f"{name}, {noise}, {theorem}", attempt(plan_of, pf, frame, **asked)
        for noise in ("gaussian", "1.5-stable"):
            yield f"{name}, {noise}", attempt(plan_of, pf, frame, **roles, **OTHERS[noise])


def of_theorems(pf):
    """Every theorem, noise, epsilon and delta; pairs, domains, missing entries."""
    for theorem, frame, options in synthetic_tables():
        noises = (LAPLACE | OTHERS).items()
        for epsilon, calibration, (noise, chosen) in itertools.product(EPSILONS, CALIBRATIONS, noises):
            asked = options | chosen | {"epsilon": epsilon, "calibration": calibration}
            yield f"{theorem}, {noise}, {calibration}, {epsilon}", attempt(plan_of, pf, frame, **asked)
        for pairs, (noise, chosen) in itertools.product(([("a", "b")], [("a", "b"), ("c", "b")]), LAPLACE.items()):
            yield f"{theorem}, pairs {pairs}, {noise}", attempt(plan_of, pf, frame, pairs=pairs, **options, **chosen)
        holes = frame.assign(x=frame["x"].where(np.arange(len(frame)) % 7 != 3))
        free = {"epsilon": 60.0, "delta": 0.3, "allow_zero_noise": True}
        yield f"{theorem}, auto", attempt(plan_of, pf, frame)
        yield f"{theorem}, no noise", attempt(plan_of, pf, frame, **free, **options)
        yield f"{theorem}, domain", attempt(plan_of, pf, frame, domain={"x": (0.0, 6.0)}, **options)
        yield f"{theorem}, nulls", attempt(plan_of, pf, holes, nulls="drop", **options)


def believer(pf):
    """From a mapping to a belief in it alone, in the words of the checkout."""
    table = pd.DataFrame({"group": list("aabb"), "x": [1, 2, 2, 4]})
    priors = {"a": formula(pf, "Prior").bernoulli(0.2), "b": formula(pf, "Prior").bernoulli(0.5)}
    if isinstance(attempt(plan_of, pf, table, beliefs=("only", priors)), str):  # an error: the word is not known
        return lambda mapping: mapping
    return lambda mapping: ("only", mapping)


def of_beliefs(pf):
    """Beliefs by name and by prior."""
    only = believer(pf)
    discrete = {s: formula(pf, "Prior").empirical([0, 1, 5 + k], [3, 2, 1 + k]) for k, s in enumerate("abc")}
    smooth = {s: formula(pf, "Prior").gaussian(float(k), 1.0 + k) for k, s in enumerate("abc")}
    for theorem, frame, options in synthetic_tables():
        beliefs = {"fitted": "fitted", "empirical": "empirical", "discrete": only(discrete), "smooth": only(smooth)}
        if theorem in ("bernoulli", "kantorovich"):
            beliefs["empirical and two more"] = ("empirical", discrete, smooth)
        for (belief, chosen), calibration in itertools.product(beliefs.items(), CALIBRATIONS):
            asked = options | {"beliefs": chosen, "calibration": calibration}
            yield f"{theorem}, belief {belief}, {calibration}", attempt(plan_of, pf, frame, **asked)


def of_large_tables(pf):
    """Several public columns, values counted in cells, and many secrets."""
    rng = np.random.default_rng(4)
    rows = 200_000
    code = rng.integers(0, 3, rows)
    columns = {"x": rng.integers(0, 9, 300), "y": rng.normal(size=300).round(1), "z": rng.exponential(3, 300).round(1)}
    several = pl.DataFrame({"group": code[:300], **columns})
    for public, (noise, options) in itertools.product("yz", (LAPLACE | {"gaussian": OTHERS["gaussian"]}).items()):
        yield f"floats, {public}, {noise}", attempt(plan_of, pf, several, public=public, **options)
    domains = (None, {"y": (-2.0, 3.0)}, {"x": (0, 10), "y": (-9.0, 9.0), "z": (0.0, 50.0)})
    for (noise, options), domain in itertools.product((LAPLACE | OTHERS).items(), domains):
        asked = options | {"public": ["x", "y", "z"], "epsilon": 0.5, "domain": domain}
        yield f"columns, {noise}, {sorted(domain or ())}", attempt(plan_of, pf, several, **asked)
    cells = pl.DataFrame({"group": code, "x": rng.standard_t(5, rows) * (1 + 0.1 * code) + 0.2 * code})
    for theorem, (noise, options) in itertools.product(("kantorovich", "gaussian"), LAPLACE.items()):
        yield f"cells, {theorem}, {noise}", attempt(plan_of, pf, cells, theorem=theorem, **options)
    secret = rng.integers(0, 300, 30_000)
    whole = rng.integers(0, 40, 30_000) + secret % 7
    many = pl.DataFrame({"group": secret, "x": whole, "y": rng.normal(secret % 11, 10 + secret % 5).round()})
    listed = {"all": "all", "listed": [(k, k + 1) for k in range(0, 298, 2)]}
    for public, theorem, (named, pairs) in itertools.product("xy", ("kantorovich", "gaussian"), listed.items()):
        asked = {"public": public, "theorem": theorem, "pairs": pairs, "beliefs": "fitted"}
        yield f"many secrets, {public}, {theorem}, {named}", attempt(plan_of, pf, many, **asked)


def of_priors(pf):
    """Scales and losses of priors, without a frame."""
    make = formula(pf, "Prior")
    pairs = {
        "bernoulli": (make.bernoulli(0.2), make.bernoulli(0.9)),
        "atoms": (make.empirical([0, 1, 4, 9], [4, 3, 2, 1]), make.empirical([0, 2, 4, 7], [1, 5, 3, 1])),
        "cells": (make.empirical([0, 1, 2], [1, 2, 1], radius=0.25), make.empirical([0, 1, 3], [2, 1, 1], radius=0.25)),
        "shift": (make.gaussian(0, 1), make.gaussian(1, 1)),
        "gaussians": (make.gaussian(0, 1), make.gaussian(1, 2)),
        "mixtures": (make.mixture([0.5, 0.5], [0, 100], [1, 1]), make.mixture([0.5, 0.5], [0, 200], [1, 1])),
        "mixed": (make.mixture([0.3, 0.7], [0, 3], [0, 2]), make.gaussian(1, 1.5)),
        "atom and gaussian": (make.gaussian(0, 0), make.gaussian(1, 2)),
    }
    names = (
        "kantorovich",
        "bernoulli",
        "bernoulli_exact",
        "translation",
        "gaussian",
        "ubm",
        "presence",
        "presence_bound",
    )
    theorems = [(name, {}) for name in names]
    theorems += [(name, {"delta": DELTA}) for name in ("gaussian", "mixture", "gaussian_presence")]
    for (name, (p, q)), (noise, options) in itertools.product(pairs.items(), (LAPLACE | OTHERS).items()):
        for epsilon in EPSILONS:
            key = f"smallest_scale {name}, {noise}, {epsilon}"
            yield key, attempt(formula(pf, "smallest_scale"), {"s": p, "t": q}, epsilon=epsilon, **options)
        law = {key: value for key, value in options.items() if key != "delta"}
        for scale, order in itertools.product((0.5, 1.0, 30.0), ((p, q), (q, p))):
            key = f"{name}, {noise}, {scale}, {'there' if order[0] is p else 'back'}"
            yield f"pure_loss {key}", attempt(formula(pf, "pure_loss"), *order, scale=scale, **law)
            yield f"hockey_stick {key}", attempt(formula(pf, "hockey_stick"), *order, scale=scale, epsilon=0.5, **law)
    for name, (p, q) in pairs.items():
        yield f"w_infinity {name}", attempt(formula(pf, "w_infinity"), p, q)
        for (theorem, options), epsilon in itertools.product(theorems, EPSILONS):
            call = formula(pf, f"{theorem}_scale")
            key = f"{theorem}_scale {name}, {options}, {epsilon}"
            yield key, attempt(call, {"s": p, "t": q}, epsilon=epsilon, **options)


def of_formulas(pf):
    """Scales of values, answers and series, and the laws of the noise."""
    for epsilon in EPSILONS:
        yield f"value_scale {epsilon}", attempt(formula(pf, "value_scale"), [(5, 3), (4, None)], epsilon=epsilon)
        yield f"bounded_scales {epsilon}", attempt(formula(pf, "bounded_scales"), {"a": 3.0, "b": 0.1}, epsilon=epsilon)
        yield (
            f"bernoulli_presence_scale {epsilon}",
            attempt(formula(pf, "bernoulli_presence_scale"), 0.3, epsilon=epsilon),
        )
        for p, q in ((0.2, 0.9), (0.9, 0.2)):
            key = f"bernoulli_neighbour_scale {p}, {q}, {epsilon}"
            yield key, attempt(formula(pf, "bernoulli_neighbour_scale"), p, q, epsilon=epsilon)
    turning = [[0.0, 1.0, 0.0], [0.46, 0.0, 0.54], [0.54, 0.0, 0.46]]
    matrices = {"two": [[0.9, 0.1], [0.1, 0.9]], "three": CHAIN, "turning": turning}
    for (name, matrix), initial, length in itertools.product(
        matrices.items(), ("stationary", "any", "a"), (2, 100, 500)
    ):
        law = [1.0] + [0.0] * (len(matrix) - 1) if initial == "a" else initial
        chain = pf.MarkovChain.of(matrix, initial=law)
        for epsilon in EPSILONS:
            key, asked = f"{name}, {initial}, {length}, {epsilon}", {"length": length, "epsilon": epsilon}
            yield f"quilt_scale {key}", attempt(formula(pf, "quilt_scale"), chain, **asked)
            for rule in ("tight", "published"):
                yield (
                    f"quilt_approx_scale {rule}, {key}",
                    attempt(formula(pf, "quilt_approx_scale"), chain, rule=rule, **asked),
                )
    for delta in (1e-9, 1e-5, 0.3):
        yield (
            f"tau_star {delta}",
            [attempt(formula(pf, "tau_star"), delta), attempt(formula(pf, "tau_star_bound"), delta)],
        )
    z = np.array([-7.0, -0.5, 0.0, 1e-3, 3.0, 40.0])
    for law in (pf.Laplace(scale=1.3), pf.Gaussian(scale=1.3), *(pf.Stable(scale=1.3, alpha=a) for a in ALPHAS)):
        for name in ("log_density", "score", "survival", "cdf"):
            yield f"{name} {law}", attempt(getattr(law, name), z)
        yield f"quantile {law}", [attempt(law.quantile, p) for p in (0.01, 0.5, 0.975)]
        yield f"expected error {law}", attempt(lambda law: law.expected_absolute_error, law)
