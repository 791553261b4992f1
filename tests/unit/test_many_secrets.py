"""Tables of many secrets: their labels are numbered once, and few values are counted one by one."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from puffer_frames import PriorError, calibrate
from puffer_frames.frames import summary


def table_of(rng, rows):
    return {
        "secret_0": rng.integers(-40, 40, rows),
        "secret_1": np.array(["é", "", "a b", "Ω"])[rng.integers(0, 4, rows)],
        "value": rng.integers(0, 9, rows) - 0.0,
        "count": rng.integers(1, 5, rows),
    }


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("names", [("secret_0",), ("secret_1",), ("secret_0", "secret_1")])
def test_numbers_of_long_tables_are_those_of_short_ones(monkeypatch, library, names):
    data = table_of(np.random.default_rng(5), 3000)
    columns = {f"secret_{k}": data[name] for k, name in enumerate(names)}
    table = nw.from_native(library({**columns, "value": data["value"], "count": data["count"]}), eager_only=True)
    found = summary._per_secret(table, data["value"], data["count"], groups=names)
    monkeypatch.setattr(summary, "_LONG", 100)
    places = 3 * data["count"]
    numbered = summary._per_secret(table, data["value"], data["count"], places, groups=names)
    assert repr(list(found)) == repr(list(numbered))  # of the same types
    for secret, (values, counts) in found.items():
        np.testing.assert_array_equal(values, numbered[secret][0])
        np.testing.assert_array_equal(counts, numbered[secret][1])
        np.testing.assert_array_equal(3 * counts, numbered[secret][2])


def test_a_missing_label_is_an_error_in_long_tables(monkeypatch):
    monkeypatch.setattr(summary, "_LONG", 2)
    table = nw.from_native(pl.DataFrame({"secret_0": ["a", None, "b"], "count": [1, 7, 1]}), eager_only=True)
    with pytest.raises(PriorError, match="got 7 rows with one"):
        summary._numbered(table, np.array([1, 7, 1]), groups=["the secret column 's'"])


def test_few_values_of_many_secrets_are_counted_one_by_one():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"secret": rng.integers(0, 10_000, 400_000), "value": rng.integers(0, 40, 400_000)})
    plan = calibrate(frame, secret="secret", public="value", epsilon=1.0)
    assert {prior.radius for prior in plan.priors.values()} == {0.0}
