"""How near a release is to its table: the definitions on small tables, every kind of frame, and what is refused."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from puffer_frames import compare_tables
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.mechanisms.batch_report import chance_bound, ks_distance
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.usefulness import usefulness
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
    named = [each.set_axis([f"r{k}" for k in range(len(each))]) for each in (BEFORE, AFTER)]
    assert compare_tables(*named).score == whole.score  # the index is no column


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


# The error of one constant, as a certificate states it from the released values: right to a quarter, or a bound.
ROWS = 1 << 15
RNG_OF_USEFULNESS = np.random.default_rng(5)
COLUMNS = {
    "one value": np.zeros(ROWS),
    "nine in ten are equal": np.where(
        RNG_OF_USEFULNESS.random(ROWS) < 0.1, RNG_OF_USEFULNESS.exponential(5.0, ROWS), 0.0
    ),
    "one in a hundred is far away": np.where(RNG_OF_USEFULNESS.random(ROWS) < 0.01, 100.0, 0.0),
    "two values": RNG_OF_USEFULNESS.choice([-1.0, 1.0], ROWS),
    "a normal law": RNG_OF_USEFULNESS.normal(size=ROWS),
    "an exponential law": RNG_OF_USEFULNESS.exponential(size=ROWS),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.0, 30.0])
def test_the_error_of_a_constant(name, family, scale):
    """Of a column of equal values noise of scale 30 gave 'about 2.1' where it is 0."""
    values, noise = COLUMNS[name], WORDS[family].at(scale)
    draw = RNG_OF_USEFULNESS.laplace if family == "laplace" else RNG_OF_USEFULNESS.normal
    released = values + draw(scale=scale, size=ROWS)
    found = usefulness(released, noise)
    error = float(np.abs(values - np.median(released)).mean())
    if found.constant_error_is_bound:
        assert found.constant_error >= error
    else:
        assert found.constant_error == pytest.approx(error, rel=0.25)
    if scale <= 0.3 and error > 0.5:
        assert not found.constant_error_is_bound  # noise that hides little leaves a figure


def test_figures_that_are_called_bounds_are_above_the_truth():
    """Of two scales that are nearly equal the figures for the smaller one were below it in every second release."""
    values = RNG_OF_USEFULNESS.integers(0, 20, 600).astype(float)
    truth = values.std(), np.abs(values - np.median(values)).mean()
    below = np.zeros(2)
    for _ in range(100):
        released = values + RNG_OF_USEFULNESS.laplace(scale=np.where(np.arange(600) % 2, 3.0, 3.1))
        found = usefulness(released, WORDS["laplace"].at(3.0), as_bounds=True)
        assert found.spread_is_bound
        assert found.constant_error_is_bound
        below += np.array([found.spread, found.constant_error]) < truth
    assert below.max() <= 8  # two standard errors: 2.3 of 100


@pytest.mark.parametrize("rows", [80, 600])
def test_bounds_of_a_spread_that_noise_hides_hold_at_95_percent(rows):
    """One in eight was below the spread: samples with few far values have a small variance and a small error of it."""
    values = RNG_OF_USEFULNESS.normal(0, 3.3, rows)
    below, about, times = 0, [], 400
    for _ in range(times):
        found = usefulness(values + RNG_OF_USEFULNESS.laplace(scale=4.0, size=rows), WORDS["laplace"].at(4.0))
        below += found.spread_is_bound and found.spread < values.std()
        about += [] if found.spread_is_bound else [found.spread / values.std()]
    assert below <= 0.05 * times
    assert not about or np.median(about) < 1.7


# How far two samples are apart, and what of it may be chance.
SAMPLES = st.lists(st.integers(-5, 5), min_size=1, max_size=30)


def brute_force(one, other):
    """By every point where a distribution function steps."""
    points = [*one, *other]
    share = [[np.mean(np.asarray(sample) <= x) for x in points] for sample in (one, other)]
    return float(np.abs(np.subtract(*share)).max())


def counted(sample, *, width=0.0):
    """Values and counts, or the centres of cells."""
    values = np.asarray(sample, dtype=float)
    if width:
        values = (np.floor(values / width) + 0.5) * width
    return np.unique(values, return_counts=True)


@given(SAMPLES, SAMPLES)
def test_the_distance_of_two_samples(one, other):
    expected = brute_force(one, other)
    assert ks_distance(counted(one), counted(other)) == pytest.approx(expected, abs=1e-12)
    assert ks_distance(counted(other), counted(one)) == pytest.approx(expected, abs=1e-12)


@given(SAMPLES, SAMPLES, st.sampled_from([0.0, 1.0, 2.0, 8.0]), st.sampled_from([0.0, 1.0, 4.0]))
def test_values_in_cells_are_at_least_as_far_apart(one, other, width, other_width):
    """Wherever the values of a cell are: what is not known is not called a distance."""
    found = ks_distance(
        counted(one, width=width), counted(other, width=other_width), radius=(width / 2, other_width / 2)
    )
    assert found <= brute_force(one, other) + 1e-12


def test_samples_and_what_may_be_chance():
    # Two samples of one law are farther apart in fewer than 5 % of all cases; so are those of several secrets
    rng = np.random.default_rng(0)
    for secrets in (1, 3):
        bound, beyond = chance_bound(60, 90, secrets=secrets), 0
        for _ in range(300):
            pairs = [(rng.integers(0, 20, 60), rng.integers(0, 20, 90)) for _ in range(secrets)]
            beyond += any(ks_distance(counted(one), counted(other)) > bound for one, other in pairs)
        assert beyond <= 15
    # 2 exp(-2 n t^2) is the probability left to each of the 2 m samples
    for rows, secrets in ((10, 1), (5000, 7)):
        t = chance_bound(10**9, rows, secrets=secrets) - chance_bound(10**9, 10**9, secrets=secrets) / 2
        assert t == pytest.approx(min(1, math.sqrt(math.log(2 * 2 * secrets / 0.05) / (2 * rows))), rel=1e-6)
    assert chance_bound(1, 1, secrets=1) == 1.0


def test_codes_that_the_comparison_was_not_told_of_are_named():
    frame = pd.DataFrame({"sex": RNG.choice(["f", "m"], 200), "pay": RNG.choice([1, 2, 3, 9], 200)})
    released = frame.puffer.privatize(secret="sex", public="pay", epsilon=0.1, null_values={"pay": 9}, nulls="drop")
    assert "codes" in (unsaid := str(released.puffer.quality(frame)))
    assert "null_values={column: code}" in unsaid
    assert "codes  " not in str(released.puffer.quality(frame, null_values={"pay": 9}))
    assert "codes  " not in str(compare_tables(frame, frame))


def test_infinities_are_values_beyond_all_others():
    rng = np.random.default_rng(0)
    rate = np.where(np.arange(200) % 40 == 7, np.inf, rng.normal(size=200))
    table = pd.DataFrame({"x": rng.normal(size=200), "rate": rate, "town": rng.choice(["p", "q"], 200)})
    assert compare_tables(table, table).score == 1.0
    other = table.assign(rate=table["rate"].replace(np.inf, -np.inf))
    quality = compare_tables(table, other)
    assert quality.columns["similarity"].tolist() == pytest.approx([0.975, 1.0, 1.0])
    assert np.isfinite(quality.pairs["similarity"]).all()


@pytest.mark.parametrize("step", [2, 3, 4])
def test_figures_of_many_rows_are_not_those_of_every_nth(step):
    """Rows of one kind at every n-th place were all that was looked at: a spread of 3 for 446."""
    rows = np.arange(70_000)
    values = np.where(rows % step == step - 1, 900.0 + rows % 100, rows % 10)
    found = usefulness(values + np.random.default_rng(0).laplace(size=rows.size), WORDS["laplace"].at(1.0))
    assert found.spread == pytest.approx(values.std(), rel=0.05)
