"""Programs that are badly scaled: far costs, far levels, losses that no float holds, means that need every level."""

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, WeakGuaranteeWarning, calibrate
from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.channel.best import best_channel

COUNTS = {"a": [60, 40, 3], "b": [20, 80, 0]}
EXACT = {"radius": 0, "cap": None}


@pytest.mark.parametrize("dear", [1e2, 1e9, 1e12, 1e300])
def test_a_dear_mistake_leaves_the_others_as_they_are(dear):
    cost = [[0, dear, 1], [1, 0, 1], [1, 1, 0]]
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=1.0, options=Channel(cost=cost, **EXACT))
    assert found.expected_error == pytest.approx(0.0225013209, rel=1e-6)
    assert found.lower_bound <= found.expected_error


@pytest.mark.parametrize("far", [20.0, 1e4, 1e8, 1e11, 1e12, 1e15, 1e300])
@pytest.mark.parametrize("options", [EXACT, {}], ids=["exact", "default"])
def test_a_far_level(far, options):
    rng = np.random.default_rng(0)
    first, second = rng.multinomial(1000, np.full(10, 0.1)), rng.multinomial(1000, np.arange(1, 11) / 55)
    counts = {"a": np.append(first, 1), "b": np.append(second, 0)}
    found = best_channel(counts, levels=[*range(10), far], epsilon=0.5, options=Channel(**options))
    assert found.lower_bound <= found.expected_error <= found.constant_error * (1 + 1e-12)


@pytest.mark.parametrize("far", [10.0, 1e6, 1e12])
def test_a_far_level_that_no_row_has(far):
    counts = {"a": [50, 50, 0], "b": [40, 60, 0]}
    found = best_channel(counts, levels=[0, 1, far], epsilon=0.1, options=Channel(radius=0, cap=8))
    near = best_channel(
        {s: n[:2] for s, n in counts.items()}, levels=[0, 1], epsilon=0.1, options=Channel(radius=0, cap=8)
    )
    assert found.expected_error == pytest.approx(near.expected_error, rel=1e-6)
    assert 0 < found.lower_bound <= near.expected_error


@pytest.mark.parametrize("cap", [36, 100.0, 1e300, np.float64(8.0)])
def test_large_caps(cap):
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=1.0, options=Channel(cap=cap))
    assert found.lower_bound <= found.expected_error < 0.085


@pytest.mark.parametrize("epsilon", [35.0, 50.0, 400.0])
def test_large_epsilons(epsilon):
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=epsilon, options=Channel(**EXACT))
    assert found.lower_bound <= found.expected_error < 1e-10


@pytest.mark.parametrize("word", ["mean", "marginal"])
@pytest.mark.parametrize("options", [EXACT, {"cap": None}, {"radius": 0}, {}], ids=["exact", "radius", "cap", "both"])
def test_kept_means_beside_levels_that_no_row_has(word, options):
    counts = {"a": np.array([60, 0, 40, 3, 0]), "b": np.array([20, 0, 80, 1, 0])}
    levels = np.array([0.0, 1.0, 2.0, 5.0, 9.0])
    found = best_channel(counts, levels=levels.tolist(), epsilon=1.0, options=Channel(preserve=word, **options))
    pooled = sum(counts.values()) / 204
    kept = pooled @ found.matrix
    assert kept @ levels == pytest.approx(pooled @ levels, abs=1e-8)
    assert word == "mean" or kept == pytest.approx(pooled, abs=1e-8)


@pytest.mark.parametrize("word", ["mean", "marginal"])
def test_kept_means_of_too_many_levels(word):
    counts = {"a": [3] * 101, "b": [2] * 101}
    with pytest.raises(ArgumentError, match="preserve must be for a column of at most 100 levels"):
        best_channel(counts, levels=list(range(101)), epsilon=1.0, options=Channel(preserve=word))


@pytest.mark.parametrize("epsilon", [19.0, 45.0, 1e5])
@pytest.mark.parametrize(
    "options", [{"radius": {"a": 1.0, "b": 0.0}, "cap": 60.0}, {"cap": None}], ids=["wide", "auto"]
)
def test_plans_of_large_epsilons(epsilon, options):
    frame = pd.DataFrame({"s": ["a", "b"] * 300, "x": ["p", "q", "r", "p", "p", "p"] * 100})
    asked = {"secret": "s", "public": "x", "allow_zero_noise": True, "mechanism": Channel(**options)}
    with pytest.warns(WeakGuaranteeWarning):
        plan = calibrate(frame, epsilon=epsilon, delta=1e-9, **asked)
    assert plan.observed["x"].pure_loss.lower <= epsilon
    assert "pure" not in str(plan).splitlines()[0]
