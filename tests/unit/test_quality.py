"""How near a release is to its table: the definitions on small tables, every kind of frame, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from puffer_frames import compare_tables
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.verbs import quality as quality_module

RNG = np.random.default_rng(0)
BEFORE = pd.DataFrame(
    {
        "age": RNG.integers(20, 60, 400),
        "pay": RNG.lognormal(3, 1, 400),
        "town": RNG.choice(["x", "y", "z"], 400),
        "night": RNG.random(400) < 0.3,
    }
)
AFTER = BEFORE.assign(
    age=BEFORE["age"] + 3 * (BEFORE["age"] > 40), town=np.where(RNG.random(400) < 0.2, "x", BEFORE["town"])
)


def test_each_similarity_is_that_of_its_definition():
    found = compare_tables(BEFORE, AFTER)
    columns = found.columns.set_index("name")["similarity"]
    marks = np.arange(20, 70)
    far = abs(
        (BEFORE["age"].to_numpy() <= marks[:, None]).mean(1) - (AFTER["age"].to_numpy() <= marks[:, None]).mean(1)
    )
    assert columns["age"] == pytest.approx(1 - far.max())
    shares = [frame["town"].value_counts(normalize=True) for frame in (BEFORE, AFTER)]
    assert columns["town"] == pytest.approx(1 - abs(shares[0] - shares[1]).sum() / 2)
    assert columns[["pay", "night"]].tolist() == [1.0, 1.0]
    pairs = found.pairs.set_index(["first", "second"])
    assert len(pairs) == 6
    told = [np.corrcoef(frame["age"], frame["pay"])[0, 1] for frame in (BEFORE, AFTER)]
    assert pairs.loc[("age", "pay"), ["similarity", "before", "after"]].tolist() == pytest.approx(
        [1 - abs(told[0] - told[1]) / 2, *told]
    )
    joint = [pd.crosstab(frame["town"], frame["night"], normalize=True) for frame in (BEFORE, AFTER)]
    assert pairs.loc[("town", "night"), "similarity"] == pytest.approx(
        1 - abs(joint[0] - joint[1]).to_numpy().sum() / 2
    )
    assert found.score == pytest.approx((columns.mean() + pairs["similarity"].mean()) / 2)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_release_in_another_order_and_library(kind):
    whole = compare_tables(BEFORE, AFTER)
    released = AFTER.sample(frac=1, random_state=1).reset_index(drop=True)
    first = {"pandas": BEFORE.convert_dtypes(), "polars": pl.from_pandas(BEFORE), "pyarrow": pa.table(BEFORE)}[kind]
    found = compare_tables(first, pl.from_pandas(released))
    assert found.score == pytest.approx(whole.score, abs=1e-12)
    assert isinstance(found.columns, pl.DataFrame)
    assert compare_tables(BEFORE, BEFORE).score == 1.0


def test_missing_values_levels_and_columns_of_one_frame():
    first = pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": ["x", None, "y", "y"], "c": [[1]] * 4, "d": range(4)})
    first["e"] = None
    found = compare_tables(first, first.drop(columns="d").assign(b=["x", "x", "y", "y"]))
    assert dict(zip(found.columns["name"], found.columns["similarity"])) == {"a": 1.0, "b": 0.75, "c": 1.0, "e": 1.0}
    assert found.left_out == ("d",)
    text = str(found)
    assert "left out" in text
    assert "keep private" in text
    assert "<table>" in found._repr_html_()
    one = compare_tables(first[["a"]], first[["a"]])
    assert (one.score, len(one.pairs)) == (1.0, 0)


def test_many_pairs_and_rows_are_drawn(monkeypatch):
    monkeypatch.setattr(quality_module, "_MOST_PAIRS", 2)
    monkeypatch.setattr(quality_module, "_MOST_ROWS", 100)
    found = compare_tables(BEFORE, AFTER)
    assert len(found.pairs) == 2
    assert found.pairs.equals(compare_tables(BEFORE, AFTER).pairs)


def test_what_is_refused():
    for first, second, error in (
        (BEFORE, BEFORE.rename(columns=str.upper), ArgumentError),
        (BEFORE, BEFORE.head(0), PriorError),
        (BEFORE, 3, ArgumentTypeError),
        (BEFORE, pl.from_pandas(BEFORE).lazy(), ArgumentTypeError),
    ):
        with pytest.raises(error):
            compare_tables(first, second)


def test_of_a_release_by_its_accessor_and_its_picture():
    pytest.importorskip("matplotlib")
    released = AFTER.assign(sex=np.where(BEFORE["age"] > 40, "f", "m")).puffer.privatize(
        secret="sex", public="town", epsilon=1.0
    )
    found = released.puffer.quality(BEFORE)
    assert found.left_out == ("age", "pay", "night")
    figure = compare_tables(BEFORE, AFTER).plot()
    assert [ax.get_title(loc="left") for ax in figure.axes[:3]] == ["Before", "After", "Difference"]
