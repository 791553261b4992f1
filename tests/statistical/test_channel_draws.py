"""Released levels have the law of the plan's weights, row by row; the tests fail for weights that are a little off."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few
from scipy import stats

from puffer_frames import Channel, calibrate
from puffer_frames.noise.channel import ChannelTable
from puffer_frames.noise.stream import Purpose, ReleaseKey

UNLIKELY = 1e-4
COUNTS = [pytest.param(10**6, id="some"), pytest.param(10**7, id="many", marks=pytest.mark.slow)]
REQUESTS = {
    "text": {"public": "town"},
    "text, a little of everything": {"public": "town", "mechanism": Channel(radius=0, cap=1.0)},
    "numbers": {"public": "score", "mechanism": "channel"},
    "cells": {"public": "real", "mechanism": Channel(cells=16, cap=2.0)},
}
"""What is released, and how."""


@functools.cache
def people(rows):
    rng = np.random.default_rng(8)
    group = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    at_a = group == "a"
    towns = np.array(["bath", "cork", "hull", "york"])
    return pl.DataFrame(
        {
            "group": group,
            "town": np.where(at_a & (rng.random(rows) < 0.5), "hull", towns[rng.integers(0, 4, rows)]),
            "score": rng.binomial(9, 0.3 + 0.2 * at_a),
            "real": rng.normal(size=rows) + at_a,
        }
    )


@functools.cache
def drawn(name, rows):
    """Numbers of the inputs and of the outputs of each row, and the plan's channel."""
    frame = people(rows)
    made = calibrate(frame, secret="group", epsilon=0.3, **REQUESTS[name])
    (public,) = made.public
    found = made.channels[public]
    released = made.release(frame, rng=9)[public]
    if public == "real":
        inputs = np.searchsorted(made.fitted.column.edges, frame[public], side="right")
    else:
        inputs = frame[public].replace_strict(list(found.inputs), range(len(found.inputs))).to_numpy()
    outputs = released.replace_strict(list(found.outputs), range(len(found.outputs))).to_numpy()
    return inputs, outputs, found


def p_values(inputs, outputs, weights):
    """Chi-square of the outputs of each input against its weights; what is expected less than 5 times is one class."""
    found = []
    for code, row in enumerate(weights / weights.sum(axis=1, keepdims=True)):
        counts = np.bincount(outputs[inputs == code], minlength=row.size)
        expected = row * counts.sum()
        few = expected < 5
        assert not counts[row == 0].any(), "an output of probability 0"
        if few.any():
            counts = np.append(counts[~few], counts[few].sum())
            expected = np.append(expected[~few], expected[few].sum())
        if expected[-1] < 1:
            counts, expected = counts[:-1], expected[:-1] * counts[:-1].sum() / expected[:-1].sum()
        found.append(stats.chisquare(counts, expected).pvalue if counts.size > 1 else 1.0)
    return np.array(found)


@few(2)
@pytest.mark.parametrize("rows", COUNTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_levels_have_the_law_of_the_weights(name, rows):
    inputs, outputs, found = drawn(name, rows)
    values = p_values(inputs, outputs, found.weights)
    assert values.min() > UNLIKELY / values.size
    assert np.unique(outputs).size > 1


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_the_test_can_fail(name, factor):
    """Probabilities of all outputs but the likeliest are 0.7, or 1.3, times those of the plan."""
    inputs, outputs, found = drawn(name, 10**6)
    weights = found.matrix * factor
    places = np.arange(len(weights)), found.matrix.argmax(axis=1)
    weights[places] = 0
    weights[places] = 1 - weights.sum(axis=1)
    assert p_values(inputs, outputs, weights).min() < UNLIKELY / len(weights)


@pytest.mark.parametrize("name", REQUESTS)
def test_the_error_is_the_expected_one(name):
    inputs, outputs, found = drawn(name, 10**6)
    costs = found.problem.cost
    places = [found.inputs.index(level) for level in found.outputs]
    paid = costs[inputs, np.array(places)[outputs]]
    spread = paid.std() / paid.size**0.5
    assert abs(paid.mean() - found.expected_error) < 5 * spread
    for factor in (0.7, 1.3):
        assert abs(paid.mean() - factor * found.expected_error) > 5 * spread


def uniform(inputs, outputs, matrix):
    """Place of each output in the cumulative law of its input, its middle: without trend among independent rows."""
    cumulative = matrix.cumsum(axis=1)
    middle = cumulative - matrix / 2
    centred = middle - (matrix * middle).sum(axis=1, keepdims=True)
    scale = np.sqrt((matrix * centred**2).sum(axis=1, keepdims=True))
    return np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 1e-9)[inputs, outputs]


@pytest.mark.parametrize("name", REQUESTS)
def test_rows_are_independent(name):
    """Scores of rows that are 1, 2, 3, ... apart are without correlation, whatever their inputs."""
    inputs, outputs, found = drawn(name, 10**6)
    scores = uniform(inputs, outputs, found.matrix)
    for lag in (1, 2, 3, 4, 16, 256, 4096, 65536):
        product = scores[lag:] * scores[:-lag]
        assert abs(product.mean()) < 5 * product.std() / product.size**0.5, lag
    product = scores * inputs
    assert abs(product.mean()) < 5 * product.std() / product.size**0.5
    product = np.roll(scores, 1)[1:] * inputs[1:]
    assert abs(product.mean()) < 5 * product.std() / product.size**0.5


def test_rows_that_share_their_word_would_be_found():
    inputs, outputs, found = drawn("text", 10**6)
    scores = uniform(inputs, outputs, found.matrix)
    product = np.repeat(scores[::2], 2)[1:] * np.repeat(scores[::2], 2)[:-1]
    assert abs(product.mean()) > 5 * product.std() / product.size**0.5


def test_two_seeds_are_independent():
    frame = people(10**6)
    made = calibrate(frame, secret="group", epsilon=0.3, **REQUESTS["text"])
    found, inputs = made.channels["town"], drawn("text", 10**6)[0]
    scores = []
    for seed in (1, 2):
        released = made.release(frame, rng=seed)["town"]
        outputs = released.replace_strict(list(found.outputs), range(len(found.outputs))).to_numpy()
        scores.append(uniform(inputs, outputs, found.matrix))
    product = scores[0] * scores[1]
    assert abs(product.mean()) < 5 * product.std() / product.size**0.5


def test_rare_outputs():
    """Outputs of a probability of 1 in a million, and the last and first word of a cell of the guide."""
    rows, rare = 1 << 22, 2**62 // 1_000_000
    weights = np.array([[2**62 - 5 * rare, rare, rare, rare, rare, rare], [rare, 2**62 - 2 * rare, rare, 0, 0, 0]])
    codes = (np.arange(rows) % 2).astype(np.uint16)
    out = ChannelTable(weights).draw(codes, ReleaseKey.of(3).stream(Purpose.NOISE, "x"))
    for code in (0, 1):
        counts = np.bincount(out[codes == code], minlength=6)
        expected = weights[code] / 2**62 * counts.sum()
        assert (abs(counts - expected) <= 5 * np.sqrt(expected) + 1).all()
        assert not counts[weights[code] == 0].any()


def test_the_kind_of_frame_does_not_matter():
    frame = people(10**6)
    made = calibrate(frame, secret="group", epsilon=0.3, **REQUESTS["text"])
    theirs = made.release(frame, rng=9)["town"].to_numpy()
    ours = made.release(pd.DataFrame(frame.to_dict(as_series=False)), rng=9)["town"].to_numpy()
    assert (ours == theirs).all()
