"""Any table and any request of answers: a certified release or a documented error, and the frame unchanged."""

import math
import warnings
from collections import Counter

import numpy as np
from conftest import sweep
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_tables import tables
from release_property import check_error, snapshot, within

import puffer_frames
from puffer_frames import (
    Certificate,
    Contamination,
    Population,
    PufferError,
    PufferWarning,
    Stable,
    aggregate,
    histogram,
)
from puffer_frames.core import Prior

SECONDS = 60
NOISES = ({}, {}, {"delta": 1e-6}, {"noise": "gaussian", "delta": 1e-5}, {"noise": Stable(alpha=1.5)})
CHAINS = (
    *["estimated"] * 5,
    "population",
    Population(0.5),
    [[0.9, 0.1], [0.4, 0.6]],
    [[0.0, 1.0], [1.0, 0.0]],
    [[0.6, 0.2, 0.2]] * 3,
    None,
    "x",
)


@st.composite
def aggregates(draw):
    """A table, and a request that may be sensible."""
    table = draw(tables())
    labels = table.labels
    options = {
        "unit": draw(st.sampled_from([None, *(labels[k] for k in table.secret)])),
        "value": labels[table.public[0]],
        "epsilon": draw(st.sampled_from([0.1, 1, 7.5])),
        "query": draw(st.sampled_from(["sum"] * 4 + ["mean", "count", ("sum", "count"), "max"])),
        "protect": draw(st.sampled_from(["presence"] * 3 + ["replacement"] * 2 + ["value", "value-or-absence"])),
        "laws": draw(
            st.sampled_from(
                ["empirical"] * 3 + ["gaussian", "population", Contamination(0.1), {"a": Prior.gaussian(0, 1)}]
            )
        ),
        "contribution": draw(st.sampled_from(["draw", "rows"])),
        "nulls": draw(st.sampled_from(["drop", "drop", "raise"])),
        "allow_zero_noise": draw(st.booleans()),
        "rng": draw(st.integers(0, 9)),
        **draw(st.sampled_from(NOISES)),
    }
    if draw(st.booleans()):
        options["domain"] = draw(st.sampled_from([(0, 5), (0, 5), (-1e300, 1e300), (1, 0), 3]))
    if draw(st.integers(0, 3)) == 0:
        options["divisor"] = draw(st.sampled_from([10, 0, "ten"]))
    if draw(st.integers(0, 3)) == 0 and table.keep:
        options["by"] = labels[table.keep[0]]
    if draw(st.integers(0, 3)) == 0:
        options["integer"] = True
    if draw(st.integers(0, 3)) == 0:
        options["calibration"] = "theorem"
    return table, options


@st.composite
def histograms(draw):
    """A table, and a request that may be sensible."""
    table = draw(tables())
    labels = table.labels
    options = {
        "state": labels[table.secret[0]],
        "time": labels[table.public[0]],
        "epsilon": draw(st.sampled_from([0.1, 1, 7.5])),
        "mechanism": draw(st.sampled_from(["quilt"] * 4 + ["quilt-approx", "exact", "group", "x"])),
        "chain": draw(st.sampled_from(CHAINS)),
        "initial": draw(st.sampled_from(["stationary"] * 3 + ["estimated", "any", [0.5, 0.5]])),
        "counts": draw(st.booleans()),
        "per": draw(st.sampled_from(["pooled", "unit", "both"])),
        "nulls": draw(st.sampled_from(["drop", "drop", "raise"])),
        "rng": draw(st.integers(0, 9)),
        **draw(st.sampled_from(NOISES)),
    }
    if draw(st.integers(0, 2)) == 0 and table.keep:
        options["unit"] = labels[table.keep[0]]
    return table, options


def check(function, case):
    """Require the property of a case; return what happened in a word."""
    table, options = case
    before = snapshot(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        try:
            with within(SECONDS):
                released = function(table.frame, **options)
        except PufferError as error:
            check_error(error)
            assert snapshot(table) == before, "the input frame has changed"
            return type(error).__name__
    assert all(isinstance(warning.message, PufferWarning) for warning in caught), [str(w.message) for w in caught]
    assert snapshot(table) == before, "the input frame has changed"
    assert released.puffer.verify() == "unsigned: cannot be trusted"
    certificate = released.puffer.certificate
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert str(certificate)
    quotients = "query" in released.columns and "mean" in released["query"].to_list()
    assert np.isfinite(released["answer"].to_numpy().astype(float)).all() or quotients
    for statistic, scale in certificate.scales.items():
        verified = next(iter(certificate.verified[statistic].values()))
        assert 0 <= scale < math.inf
        bound = verified.hockey_stick.upper if certificate.delta else verified.pure_loss.upper
        assert bound <= (certificate.delta or certificate.epsilon)
    return "release"


def check_all(function, strategy, count):
    """Require the property of so many cases."""

    @settings(max_examples=count)
    @given(strategy())
    def holds(case):
        check(function, case)

    holds()


@sweep(15, 150)
def test_aggregates(count):
    check_all(aggregate, aggregates, count)


@sweep(25, 150)
def test_histograms(count):
    check_all(histogram, histograms, count)


def counts(strategy, function, examples, *, start):
    """What happened in many cases, for a longer run by hand."""
    from hypothesis import Phase, seed

    found = Counter()

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy())
    def sample(case):
        try:
            found[check(function, case)] += 1
        except Exception as error:
            found[f"FAILURE {type(error).__name__}: {str(error)[:90]}"] += 1
            failures.setdefault(f"{type(error).__name__}: {str(error)[:60]}", (case, error))

    failures = {}
    sample()
    return found, failures
