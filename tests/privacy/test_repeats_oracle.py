"""Several rows of a unit, and several releases: every plan against direct sums over all noisy values together."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import sweep, table
from coupling_oracle import loss_of_copies
from joint_oracle import floors_of, laws_of, loss_at, worst_node

import puffer_frames
from puffer_frames import Layout, Noise, Strata, Unit, certificate_of, compose
from puffer_frames.errors import ArgumentError, CalibrationError

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::puffer_frames.errors.{name}")
    for name in ("FewRowsWarning", "WeakGuaranteeWarning", "RowOrderWarning", "KeptColumnWarning")
]

EPSILONS = (0.1, 0.5, 1.0, 3.0)


def random_units(rng, *, columns, most, repeated=False):
    """Units of `most` rows each, which share the secret; with `repeated` also all values."""
    units, secrets = int(rng.integers(5, 9)), int(rng.integers(2, 4))
    of_unit = np.concatenate([np.arange(secrets), rng.integers(0, secrets, units - secrets)])
    unit = np.repeat(np.arange(units), most)
    own = of_unit[unit]
    values = rng.integers(0, 3, (unit.size, columns)) + own[:, None] * rng.integers(0, 2, columns)
    values[:2, :] = [[0] * columns, [2] * columns]  # no column is constant
    if repeated:
        values = values[np.searchsorted(unit, unit)]
    values = values * 10.0 ** rng.integers(-1, 3, columns)
    named = {"s": np.array(["p", "q", "r"])[own], "u": np.array([f"unit {k}" for k in unit])}
    return named | {f"x{k}": values[:, k] for k in range(columns)}


def planned(rows, *, epsilon, **options):
    """The plan, the laws of a row, and its scales; nothing where the table needs no noise."""
    public = [c for c in rows if c.startswith("x")]
    make = {"secret": "s", "public": public, "epsilon": epsilon} | options
    public = make["public"]
    plan = puffer_frames.calibrate(pd.DataFrame(rows), allow_zero_noise=True, **make)
    if not all(plan.scales.values()):
        return None
    public = [public] if isinstance(public, str) else public
    return plan, laws_of(rows, secret="s", public=public), np.array([plan.scales[c] for c in public])


def independent_rows(laws, k):
    """The laws of k rows, one after the other, that are independent draws."""
    return {s: np.array([np.concatenate(each) for each in itertools.product(law, repeat=k)]) for s, law in laws.items()}


def fewer(laws):
    """The laws with as few rows as they have, where all counts of a law have a common divisor."""
    found = {}
    for s, law in laws.items():
        atoms, counts = np.unique(law, axis=0, return_counts=True)
        found[s] = np.repeat(atoms, counts // np.gcd.reduce(counts), axis=0)
    return found


# --- independent rows


@pytest.mark.parametrize("k", [2, 3])
def test_bits_in_independent_rows(k):
    """B(.2) against B(.9), b = 1.2: k rows lose k times what one does."""
    laws = {"p": np.array([[1.0]] * 2 + [[0.0]] * 8), "q": np.array([[1.0]] * 9 + [[0.0]])}
    one, several = worst_node(laws, [1.2]), worst_node(independent_rows(laws, k), [1.2] * k)
    assert several.loss == pytest.approx(k * one.loss, rel=1e-12)
    assert 2 * one.loss == pytest.approx(1.182057, abs=1e-6)
    assert float(loss_at(laws, [1.2], one.node, one.pair)) == pytest.approx(one.loss, rel=1e-12)
    rows = {"s": ["p"] * 10 + ["q"] * 10, "u": range(20), "x": np.vstack([*laws.values()])[:, 0]}
    unit = Unit("u", rows="independent", most=k)
    options = {"secret": "s", "public": "x", "epsilon": several.loss, "unit": unit}
    assert puffer_frames.calibrate(pd.DataFrame(rows), **options).scale == pytest.approx(1.2, rel=1e-6)


@sweep(6, 150)
def test_independent_rows_lose_epsilon_together(count):
    checked = 0
    for seed in range(count):
        rng = np.random.default_rng([1, seed])
        k, columns = most, _ = ((2, 1), (3, 1), (2, 2))[seed % 3]
        rows, epsilon = random_units(rng, columns=columns, most=k), float(rng.choice(EPSILONS))
        told = k if seed % 2 else None
        found = planned(rows, epsilon=epsilon, unit=Unit("u", rows="independent", most=told))
        if found is None:
            continue
        _, laws, scales = found
        laws = fewer(laws)
        if max(map(len, laws.values())) > 12:
            k = 2  # fewer than are allowed lose less; the product of more is too large
        worst = worst_node(independent_rows(laws, k), np.tile(scales, k))
        assert worst.loss <= epsilon * (1 + 1e-9) + worst.rounding, (rows, scales)
        if k == most and (scales > floors_of(laws, epsilon=epsilon / k) * (1 + 1e-6)).all():
            checked += 1
            assert worst.loss >= epsilon * (1 - 1e-3), (rows, scales)
    assert checked >= count // 3


def test_a_table_says_nothing_of_units_together():
    """The loss of a row under the table's frequencies is not that of a unit."""
    rows = pd.DataFrame(random_units(np.random.default_rng(3), columns=1, most=2))
    asked = {
        "secret": "s",
        "public": "x0",
        "epsilon": 0.5,
        "unit": Unit("u", rows="any"),
        "layout": Layout(shuffle=True),
    }
    both = [puffer_frames.privatize(rows, **asked) for _ in range(2)]
    assert puffer_frames.compose(both).epsilon == pytest.approx(1.0)
    with pytest.raises(CalibrationError, match="units"):
        puffer_frames.compose(both, frame=rows)


def test_the_largest_number_of_rows_counts():
    rng = np.random.default_rng(2)
    rows = random_units(rng, columns=1, most=2, repeated=True)
    rows["u"] = np.where(rows["s"] == "p", rows["u"], [f"other {k}" for k in range(rows["s"].size)])
    with pytest.raises(ArgumentError, match="same number of rows"):
        planned(rows, epsilon=0.2, unit=Unit("u", rows="repeated"))
    for word in ("independent", "any"):
        told, counted = (planned(rows, epsilon=0.2, unit=Unit("u", rows=word, most=most))[2] for most in (2, None))
        assert told == pytest.approx(counted)
        more = planned(rows, epsilon=0.2, unit=Unit("u", rows=word, most=5))[2]
        assert more[0] > counted[0] * 1.5
        with pytest.raises(ArgumentError):
            planned(rows, epsilon=0.2, unit=Unit("u", rows=word, most=1))


# --- repeated rows


@sweep(6, 150)
def test_noisy_copies_of_one_value_lose_epsilon_together(count):
    checked = 0
    for seed in range(count):
        rng = np.random.default_rng([3, seed])
        k, columns = ((2, 1), (3, 1), (2, 2))[seed % 3]
        rows, epsilon = random_units(rng, columns=columns, most=k, repeated=True), float(rng.choice(EPSILONS))
        found = planned(rows, epsilon=epsilon, unit=Unit("u", rows="repeated"))
        if found is None:
            continue
        _, laws, scales = found
        loss = loss_of_copies(laws, [scales] * k)
        assert loss <= epsilon * (1 + 1e-9), (rows, scales)
        if (scales > k * floors_of(laws, epsilon=epsilon) * (1 + 1e-6)).all():
            checked += 1
            assert loss >= epsilon * (1 - 1e-3), (rows, scales)
    assert checked >= count // 3


# --- any rows


def opposed():
    """Two fair bits that are equal, of p, or opposite, of q, as one row of a unit after the other."""
    laws = {"p": np.array([[0.0, 0.0], [1.0, 1.0]]), "q": np.array([[0.0, 1.0], [1.0, 0.0]])}
    rows = {"s": np.repeat(["p", "p", "q", "q"], 2), "u": np.repeat(range(4), 2)}
    return laws, rows | {"x": np.concatenate([law.reshape(-1) for law in laws.values()])}


def test_equal_and_opposite_bits_of_a_unit():
    laws, rows = opposed()
    for b in (0.3, 0.603335, 2.0):
        found = worst_node(laws, [b, b])
        assert found.loss == pytest.approx(math.log(math.cosh(1 / b)), rel=1e-10)
    assert worst_node(laws, [0.603335] * 2).loss == pytest.approx(1.0, abs=1e-5)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        _, _, scales = planned(rows, epsilon=epsilon, unit=Unit("u", rows="any"))
        assert worst_node(laws, np.repeat(scales, 2)).loss <= epsilon
        assert scales == pytest.approx(2 / epsilon, rel=1e-6)
    # A row by itself has the same law under both secrets: as independent rows they would need no noise at all.
    assert planned(rows, epsilon=0.5, unit=Unit("u", rows="independent")) is None
    assert worst_node(laws, [0.05, 0.05]).loss > 10


@pytest.mark.parametrize("values", [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 2]])
def test_rows_that_differ_are_not_repeated(values):
    rows = {"s": list("pppqqq"), "u": list("aaabbb"), "x0": [*values, 1, 1, 1], "x1": [3.0, 3, 3, 4, 4, 4]}
    for shuffled in (range(6), (3, 2, 4, 0, 5, 1)):
        moved = {c: np.array([each[k] for k in shuffled]) for c, each in rows.items()}
        for public in ("x0", ["x1", "x0"]):
            with pytest.raises(ArgumentError, match="repeated"):
                planned(moved, epsilon=0.5, public=public, unit=Unit("u", rows="repeated"))
    assert planned(rows, epsilon=0.5, public="x1", unit=Unit("u", rows="repeated"))


@sweep(6, 100)
def test_any_rows_are_private_for_every_law_of_them(count):
    for seed in range(count):
        rng = np.random.default_rng([4, seed])
        k, columns = ((2, 1), (3, 1), (2, 2))[seed % 3]
        rows, epsilon = random_units(rng, columns=columns, most=k), float(rng.choice(EPSILONS))
        _, laws, scales = planned(rows, epsilon=epsilon, unit=Unit("u", rows="any"))
        low, high = (f(np.vstack([*laws.values()]), axis=0) for f in (np.min, np.max))
        assert scales == pytest.approx(k * columns * (high - low) / epsilon, rel=1e-6)
        ends = {"p": np.tile(low, k)[None, :], "q": np.tile(high, k)[None, :]}
        assert worst_node(ends, np.tile(scales, k)).loss == pytest.approx(epsilon, rel=1e-6)
        other = {s: low + (high - low) * rng.integers(0, 3, (4, k, columns)) / 2 for s in "pq"}
        other = {s: law.reshape(4, k * columns) for s, law in other.items()}
        assert worst_node(other, np.tile(scales, k)).loss <= epsilon * (1 + 1e-9)


# --- releases


@sweep(6, 150)
def test_planned_releases_lose_epsilon_together(count):
    checked = 0
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        n, columns = ((2, 1), (3, 1), (2, 2), (4, 1))[seed % 4]
        rows, epsilon = random_units(rng, columns=columns, most=2), float(rng.choice(EPSILONS))
        theorem = ("auto", "kantorovich", "bounded")[seed % 5 % 3] if columns > 1 else "auto"
        found = planned(rows, epsilon=epsilon, releases=n, mechanism=Noise(theorem=theorem))
        if found is None:
            continue
        _, laws, scales = found
        loss = loss_of_copies(laws, [scales] * n)
        assert loss <= epsilon * (1 + 1e-9), (rows, scales)
        above = (scales > n * floors_of(laws, epsilon=epsilon) * (1 + 1e-6)).all()
        if above and theorem == "auto":
            checked += 1
            assert loss >= epsilon * (1 - 1e-3), (rows, scales)
    assert checked >= count // 3


@sweep(4, 60)
def test_releases_of_rows_of_units(count):
    """Both at once: k rows of a unit, n releases of each."""
    for seed in range(count):
        rng = np.random.default_rng([6, seed])
        repeated = seed % 2 == 1
        rows, epsilon = random_units(rng, columns=1, most=2, repeated=repeated), float(rng.choice(EPSILONS))
        unit = Unit("u", rows="repeated" if repeated else "independent")
        found = planned(rows, epsilon=epsilon, unit=unit, releases=2)
        if found is None:
            continue
        _, laws, scales = found
        if repeated:
            together = loss_of_copies(laws, [scales] * 4)
        else:
            together = loss_of_copies(independent_rows(fewer(laws), 2), [np.tile(scales, 2)] * 2)
        assert together <= epsilon * (1 + 1e-9), (rows, scales)


def test_planned_releases_in_strata():
    for seed in range(4):
        rng = np.random.default_rng([7, seed])
        rows = random_units(rng, columns=1, most=3)
        rows["z"] = np.where(np.arange(rows["s"].size) % 3, "v", "w")
        found = planned(rows, epsilon=0.5, given=Strata("z", minimum=1), releases=3)
        if found is None:
            continue
        for (place,), scales in found[0].strata.items():
            here = {c: values[rows["z"] == place] for c, values in rows.items()}
            laws = laws_of(here, secret="s", public=["x0"])
            assert loss_of_copies(laws, [[scales["x0"]]] * 3) <= 0.5 * (1 + 1e-9)


def test_planned_releases_compose_to_the_epsilon_of_one():
    rng = np.random.default_rng(8)
    rows = pd.DataFrame(random_units(rng, columns=2, most=4))
    plan = puffer_frames.calibrate(rows, secret="s", public=["x0", "x1"], epsilon=0.5, releases=3)
    made = [certificate_of(plan.release(rows, layout=Layout(shuffle=True))) for _ in range(4)]
    laws = laws_of(rows, secret="s", public=["x0", "x1"])
    scales = [plan.scales[c] for c in ("x0", "x1")]
    for count in (2, 3):
        truth = loss_of_copies(laws, [scales] * count) if count < 3 else worst_node(laws, np.array(scales) / 3).loss
        found = compose(made[:count])
        assert truth <= found.epsilon * (1 + 1e-9)
        assert found.epsilon <= 0.5 * (1 + 1e-9)
        assert compose(made[:count], frame=rows).epsilon == pytest.approx(truth, rel=1e-3)
    with pytest.raises(CalibrationError):
        compose(made)  # one more than was planned


def test_education_by_race_planned_again_and_again():
    people = table("adult.data", header=None, skipinitialspace=True, usecols=[4, 8]).set_axis(["x", "s"], axis=1)
    laws = laws_of(people, secret="s", public=["x"])
    options = {"secret": "s", "public": "x"}
    alone = puffer_frames.calibrate(people, epsilon=1.0, **options).scale
    assert alone == pytest.approx(2.226604, abs=1e-6)
    for n, loss in ((2, 1.529573), (3, 1.733519)):
        if n == 2:
            assert loss_of_copies(laws, [[2.226604]] * n) == pytest.approx(loss, abs=2e-6)
        assert worst_node(laws, [2.226604 / n]).loss == pytest.approx(loss, abs=2e-6)
        again = puffer_frames.calibrate(people, epsilon=1.0, releases=n, **options).scale
        assert again == pytest.approx(n * alone, rel=1e-6)
        back = puffer_frames.calibrate(people, epsilon=loss, releases=n, **options).scale
        assert back == pytest.approx(2.226604, rel=1e-5)


def test_gaussian_noise_grows_with_the_root_of_the_number():
    """Precisions add: n releases, or n rows that repeat a value, tell as much as one of 1 / sqrt(n) of the spread."""
    rows = random_units(np.random.default_rng(10), columns=1, most=2, repeated=True)
    options = {"mechanism": Noise("gaussian"), "delta": 1e-6}
    one = planned(rows, epsilon=0.5, **options)[2]
    several = planned(rows, epsilon=0.5, releases=2, **options)[2]
    assert several == pytest.approx(one * math.sqrt(2), rel=1e-6)
    rows_of_unit = planned(rows, epsilon=0.5, unit=Unit("u", rows="repeated", most=3), **options)[2]
    assert rows_of_unit == pytest.approx(one * math.sqrt(3), rel=1e-6)


# --- planted faults


def test_the_scale_of_one_row_or_release_is_found_to_be_too_small():
    rng = np.random.default_rng(9)
    rows = random_units(rng, columns=1, most=2)
    _, laws, one = planned(rows, epsilon=0.3)
    assert worst_node(laws, one).loss == pytest.approx(0.3, rel=1e-6)
    assert loss_of_copies(laws, [one] * 2) > 0.45
    assert worst_node(independent_rows(laws, 2), np.tile(one, 2)).loss == pytest.approx(0.6, rel=1e-6)
    for word, options in (("independent", {"unit": Unit("u", rows="independent")}), ("releases", {"releases": 2})):
        _, _, scales = planned(rows, epsilon=0.3, **options)
        low = scales * 0.98
        loss = loss_of_copies(laws, [low] * 2) if word == "releases" else 2 * worst_node(laws, low).loss
        assert loss > 0.3 * (1 + 1e-3)
