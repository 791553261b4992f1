"""Estimates from releases of adult.data, against the raw figures (docs/estimates.md)."""

import functools

import numpy as np
import pytest
from conftest import sweep, table

from puffer_frames import Noise, calibrate, estimate

PLACES = {"age": 0, "education_num": 4, "race": 8, "sex": 9, "hours": 12}
DECILES = np.arange(1, 10) / 10
Z = 1.959964


@functools.cache
def people():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=list(PLACES.values()))
    return frame.set_axis(list(PLACES), axis=1)


@functools.cache
def plan(secret, *public):
    return calibrate(people(), secret=secret, public=list(public), epsilon=1.0, mechanism="noise")


@functools.cache
def slopes(releases):
    """Coefficients of hours on age and education in joint releases by sex: values, standard errors, naive ones."""
    asked, found, naive = plan("sex", "age", "education_num", "hours"), [], []
    for seed in range(releases):
        released = asked.release(people(), rng=seed)
        fit = estimate(released).regress("hours", on=["age", "education_num"])
        found.append((fit.value, fit.standard_error))
        naive.append(least_squares(released))
    return *(np.array(part) for part in zip(*found, strict=True)), np.array(naive)


def least_squares(frame):
    design = np.column_stack([np.ones(len(frame)), frame["age"], frame["education_num"]])
    return np.linalg.lstsq(design, frame["hours"].to_numpy(float), rcond=None)[0]


@sweep(25, 400)
def test_regressions_are_those_of_the_raw_rows(count):
    values, errors, naive = slopes(count)
    truth = least_squares(people())
    assert truth[1:].round(4).tolist() == [0.0574, 0.6998]
    assert (np.abs(values.mean(axis=0) - truth) < 4 * values.std(axis=0) / np.sqrt(count)).all()
    assert np.abs(naive.mean(axis=0) - truth)[1:].min() > 4 * values.std(axis=0)[1:].max() / np.sqrt(count)
    assert errors.mean(axis=0) == pytest.approx(values.std(axis=0), rel=0.12 if count == 400 else 0.4)
    covered = (np.abs(values - truth) < Z * errors).mean(axis=0)
    low, high = (0.93, 0.97) if count == 400 else (0.84, 1.0)
    assert ((low <= covered) & (covered <= high)).all()


def test_noise_for_whole_ranges_leaves_nothing_to_regress_on():
    asked = calibrate(people(), secret="sex", public=["age", "hours"], mechanism=Noise(theorem="bounded"), epsilon=1.0)
    with pytest.raises(ValueError, match="swamps"):
        estimate(asked.release(people(), rng=1)).regress("hours", on="age")


@pytest.mark.parametrize(
    ("column", "support", "most", "naive"),
    [("age", range(17, 91), 0.3, 2.0), ("education_num", range(1, 17), 0.2, 0.9)],
)
def test_deciles(column, support, most, naive):
    truth = people()[column].quantile(DECILES).to_numpy()
    found = []
    for seed in range(3):
        released = plan("race", column).release(people(), rng=seed)
        own = estimate(released).quantile(column, DECILES, support=support, resamples=2)
        found.append([np.abs(own.value - truth).mean(), np.abs(released[column].quantile(DECILES) - truth).mean()])
    ours, theirs = np.mean(found, axis=0)
    assert ours <= most
    assert theirs > naive


def test_the_histogram_of_age():
    edges = np.array([-np.inf, *range(17, 93, 5), np.inf])
    counts, found = np.histogram(people()["age"], edges)[0], []
    for seed in range(3):
        released = plan("race", "age").release(people(), rng=seed)
        own = estimate(released).histogram("age", edges[1:-1], support=range(17, 91), resamples=2)
        naive = np.histogram(released["age"], edges)[0]
        found.append([0.5 * np.abs(shares - counts).sum() / len(people()) for shares in (np.pad(own.value, 1), naive)])
    ours, theirs = np.mean(found, axis=0)
    assert ours <= 0.03
    assert theirs > 0.1
