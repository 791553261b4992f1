"""How often the scale for the population is not private for it: a small version of benchmarks/population.py."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import few, sweep

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from population import POPULATIONS, misses


@few(1)
@pytest.mark.parametrize("name", ["ties, n = 20", "two atoms, n = 20", "a rare far value, n = 200"])
@sweep(60, 2000)
def test_at_most_one_table_in_twenty_is_missed(name, count):
    n, laws = POPULATIONS[name]
    rng = np.random.default_rng(7)
    observed, population = np.mean([misses(laws, n, rng)[0] for _ in range(count)], axis=0)
    assert population <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / count)
    assert observed > 0.1  # which is why there is such a belief
