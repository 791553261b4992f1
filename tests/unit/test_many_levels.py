"""Channels of more than 100 levels: near the optimum, exact, and with a bound of all channels."""

import numpy as np
import pytest
from conftest import thinned

from puffer_frames import Channel
from puffer_frames.mechanisms.channel.best import FEWER, WHOLE, best_channel, grown
from puffer_frames.mechanisms.channel.exact import check
from puffer_frames.mechanisms.channel.program import attempt, solve

LEVELS = WHOLE + 1
ROWS = 60_000


def counts(shape):
    """Rows of three secrets, of about equally frequent levels or of fewer and fewer."""
    rng = np.random.default_rng(0)
    found = {}
    for secret, rows in {"a": ROWS, "b": ROWS // 2, "c": ROWS // 3}.items():
        noise = rng.normal(size=LEVELS)
        law = np.exp(0.2 * noise if shape == "flat" else 0.3 * noise - np.arange(LEVELS) / 30)
        found[secret] = rng.multinomial(rows, law / law.sum())
    return found


REQUESTS = {"default": ({}, 1.0), "exact": ({"radius": 0, "cap": None}, 0.1)}
KINDS = {"numbers": list(range(LEVELS)), "labels": [f"level {k}" for k in range(LEVELS)]}


@pytest.mark.parametrize(("kind", "shape", "request_"), thinned(KINDS, ["falling", "flat"], ["exact", "default"]))
def test_near_the_optimum(kind, shape, request_):
    options, epsilon = REQUESTS[request_]
    found = best_channel(counts(shape), levels=KINDS[kind], epsilon=epsilon, options=Channel(**options))
    assert len(found.outputs) == LEVELS
    optimum = solve(found.problem, interior=True).bound
    assert optimum * (1 - 1e-9) <= found.expected_error <= 1.05 * optimum
    assert 0 < found.lower_bound <= optimum * (1 + 1e-6)
    check(found.weights.tolist(), found.problem)


def test_a_bound_of_all_channels():
    """However few entries there are, the bound holds, and the entries that are let in do better."""
    problem = best_channel(counts("flat"), levels=[str(k) for k in range(LEVELS)], epsilon=1.0).problem
    best = solve(problem).bound
    diagonal = np.eye(LEVELS, dtype=bool)
    diagonal[:, 0] = True
    few = attempt(problem, support=diagonal)
    assert few.bound <= best < problem.expected_cost(few.matrix)
    assert few.reduced.min() < 0
    outside = few.matrix - few.matrix.min(axis=0)
    assert outside[~diagonal].max() < 1e-9
    matrix, bound = grown(problem)
    assert bound <= best * (1 + 1e-9)
    assert problem.expected_cost(matrix) <= 1.01 * best


def test_no_end_within_the_iterations():
    problem = best_channel(counts("falling"), levels=list(range(LEVELS)), epsilon=1.0).problem
    assert attempt(problem, iterations=10) is None


def test_fewer_outputs_on_request():
    levels = [str(k) for k in range(LEVELS)]
    found = best_channel(counts("flat"), levels=levels, epsilon=1.0, options=Channel(outputs=FEWER))
    assert len(found.outputs) == FEWER
    assert found.expected_error > 0.3
    whole = best_channel(counts("flat"), levels=levels, epsilon=1.0, options=Channel(outputs=LEVELS))
    assert len(whole.outputs) == LEVELS
    assert whole.expected_error < 0.12
