"""Released values of a remap have the expected error that the plan states; the test fails at 0.7 and 1.3 times it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import few

from puffer_frames import Noise, calibrate

ROWS = 200_000
REQUESTS = {
    "laplace": {},
    "gaussian": {"mechanism": Noise("gaussian"), "delta": 1e-6},
    "two columns": {"public": ["score", "wage"], "epsilon": 4.0},
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    group = rng.choice(["a", "b"], ROWS)
    wage = np.exp(rng.normal(size=ROWS)).round(1).clip(max=20)
    return pd.DataFrame({"group": group, "score": rng.binomial(12, 0.3 + 0.1 * (group == "a")), "wage": wage})


@few(1)
@pytest.mark.parametrize("name", REQUESTS)
def test_mean_error(people, name):
    asked = {"secret": "group", "public": "score", "epsilon": 0.4} | REQUESTS[name]
    plan = calibrate(people, **asked | {"mechanism": replace(asked.get("mechanism", Noise()), remap=True)})
    released = plan.release(people, rng=9)
    for column, expected in plan.expected_error.items():
        errors = np.abs(released[column] - people[column]).to_numpy()
        spread = errors.std() / ROWS**0.5
        assert abs(errors.mean() - expected) < 5 * spread
        assert abs(errors.mean() - 0.7 * expected) > 5 * spread
        assert abs(errors.mean() - 1.3 * expected) > 5 * spread
        same, share = float((errors == 0).mean()), plan.remap[column].unchanged
        assert abs(same - share) < 5 * (share * (1 - share) / ROWS) ** 0.5
