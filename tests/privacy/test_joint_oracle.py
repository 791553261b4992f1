"""Several columns released together: every plan and every bracket against direct sums at all nodes of the grid."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, sweep, thinned
from joint_oracle import (
    best_climb,
    best_ray,
    bracket_faults,
    climb,
    faults,
    floors_of,
    laws_of,
    log_ratio,
    loss_at,
    on_ray,
    orders_of,
    spread_sum,
    varying,
    worst_node,
)

import puffer_frames
from puffer_frames import Noise
from puffer_frames.core import Bracket
from puffer_frames.loss.joint.joint_loss import JointLoss
from puffer_frames.loss.joint.lines import JointLaw

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::puffer_frames.errors.{name}")
    for name in ("FewRowsWarning", "WeakGuaranteeWarning", "RowOrderWarning")
]

STYLES = ("integers", "floats", "ties", "heavy", "few", "bits", "constant", "unequal", "hundredths", "shifted")
EPSILONS = (0.1, 0.5, 1.0, 3.0, 8.0)


def random_table(rng, style, columns):
    """Rows of two to five secrets, none of them without rows."""
    secrets = int(rng.integers(2, 6))
    rows = int(rng.integers(secrets + 3, 41 if columns == 2 else 25 if columns == 3 else 13))
    if style == "few":
        secrets, rows = 2, int(rng.integers(3, 6))
    weights = rng.dirichlet(np.full(secrets, 0.5 if style == "unequal" else 5.0))
    own = np.concatenate([np.arange(secrets), rng.choice(secrets, rows - secrets, p=weights)])
    shared, apart = rng.normal(size=(rows, 1)), rng.normal(size=(secrets, columns))
    values = rng.choice([-1.0, 0.0, 1.0], columns) * shared + rng.normal(size=(rows, columns))
    values = values + rng.choice([0.0, 0.3, 3.0]) * apart[own]
    if style == "integers":
        values = np.rint(3 * values) * 10.0 ** rng.integers(-1, 4, columns)
    elif style == "ties":
        values = np.rint(values)
    elif style == "hundredths":
        values = (values * 100).round() / 100
    elif style == "heavy":
        values = values * np.abs(rng.standard_cauchy((rows, columns)))
    elif style == "bits":
        first = rng.random((rows, 1)) < rng.uniform(0.2, 0.8)
        flips = rng.random((rows, columns)) < rng.choice([0.0, 0.1, 0.9], columns)
        flips = flips ^ ((own % 2 == 1)[:, None] & (rng.random(columns) < 0.7))
        values = (first ^ flips).astype(float)
    elif style == "constant":
        values[:, int(rng.integers(columns))] = rng.choice([0.0, 7.5])
    if style == "shifted":
        values = values * 10.0 ** rng.integers(-3, 4, columns) + 1000
    order = rng.permutation(rows)
    names = list("xyzw"[:columns])
    return {"s": [f"s{k}" for k in own[order]], **{c: values[order, k] for k, c in enumerate(names)}}, names


def planned(table, public, *, epsilon, make=pd.DataFrame, **options):
    """The plan, the laws that it is about, its scales and the bracket that it states."""
    options = {"mechanism": "noise"} | options
    plan = puffer_frames.calibrate(make(table), secret="s", public=public, epsilon=epsilon, **options)
    laws = laws_of(table, secret="s", public=public, domain=options.get("domain"))
    bracket = plan.choices[public[0]].verified["empirical"].pure_loss
    return plan, laws, [plan.scales[c] for c in public], bracket


def check(table, public, *, epsilon, **options):
    plan, laws, scales, bracket = planned(table, public, epsilon=epsilon, **options)
    assert plan.theorem == "joint"
    wrong = faults(laws, scales, epsilon=epsilon, bracket=bracket, pairs=options.get("pairs", "all"))
    assert not wrong, (table, options, epsilon, wrong)


def nested(columns):
    """A law that the library takes, from an array of rows."""
    points, counts = np.unique(columns, axis=0, return_counts=True)
    return JointLaw(points=points, weights=counts / counts.sum())


def joint_loss(laws, pairs="all"):
    return JointLoss({s: nested(law) for s, law in laws.items()}, pairs=pairs)


def table_of(laws):
    """The table whose laws are these."""
    rows = np.vstack(list(laws.values()))
    own = [s for s, law in laws.items() for _ in law]
    return {"s": own, **{c: rows[:, k] for k, c in zip(range(rows.shape[1]), "xyzw")}}


def opposed_bits():
    """Bits that agree, evenly, against bits that differ, of which the first is 1 in three rows of ten."""
    return {"a": np.array([[0.0, 0.0], [1.0, 1.0]]), "b": np.array([[0.0, 1.0]] * 7 + [[1.0, 0.0]] * 3)}


# --- plans


@sweep(10, 200)
def test_every_plan_loses_epsilon_and_no_more(count):
    for seed in range(count):
        rng = np.random.default_rng([1, seed])
        style, epsilon = STYLES[seed % len(STYLES)], float(rng.choice(EPSILONS))
        table, public = random_table(rng, style, int(rng.choice([2, 2, 3])))
        check(table, public, epsilon=epsilon, make=(pd.DataFrame, pl.DataFrame)[seed % 2])


@sweep(3, 30)
def test_four_columns(count):
    for seed in range(count):
        rng = np.random.default_rng([2, seed])
        table, public = random_table(rng, STYLES[seed % len(STYLES)], 4)
        check(table, public, epsilon=float(rng.choice(EPSILONS)))


@sweep(2, 40)
def test_named_pairs_and_domains(count):
    for seed in range(count):
        rng = np.random.default_rng([3, seed])
        table, public = random_table(rng, ("floats", "ties", "heavy", "integers")[seed % 4], 2)
        named = sorted(set(table["s"]))
        pairs = [(named[0], named[1])] + ([(named[-1], named[0])] if len(named) > 2 else [])
        low, high = np.quantile(table["x"], [0.1, 0.9])
        domain = {"x": (float(low), float(high) + 0.5), "y": (-1e6, 1e6)}
        check(table, public, epsilon=1.0, pairs=pairs)
        check(table, public, epsilon=1.0, domain=domain)


@sweep(4, 40)
def test_the_bounded_rule_is_private_for_any_law(count):
    for seed in range(count):
        rng = np.random.default_rng([4, seed])
        table, public = random_table(rng, STYLES[seed % 6], int(rng.choice([2, 3])))
        plan, laws, scales, _ = planned(table, public, epsilon=1.0, mechanism=Noise(theorem="bounded"))
        rows = np.vstack(list(laws.values()))
        ends = {"a": rows.min(axis=0)[None, :], "b": rows.max(axis=0)[None, :]}
        assert plan.theorem == "bounded"
        assert worst_node(laws, scales).loss <= worst_node(ends, scales).loss <= 1 + 1e-9


# --- brackets


@sweep(12, 200)
def test_brackets_contain_the_loss_at_any_scales(count):
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        table, public = random_table(rng, STYLES[seed % len(STYLES)], int(rng.choice([2, 2, 3, 4])))
        laws = laws_of(table, secret="s", public=public)
        spread = np.vstack(list(laws.values())).std(axis=0)
        laws, spread = varying(laws, spread)
        if len(spread) < 2:
            continue
        engine = joint_loss(laws)
        for size in (-4, -2, -1, 0, 1, 3):
            scales = np.array(spread) * 10.0 ** (size + rng.normal(0, 0.5, len(spread)))
            wrong = bracket_faults(engine.bracket(tuple(scales), enough=0.0), worst_node(laws, scales))
            assert not wrong, (table, scales, wrong)


@sweep(1, 7)
def test_brackets_of_large_tables(count):
    """No local maximum is above the bracket, and one of many is as high as its lower end."""
    for seed in range(count):
        rng = np.random.default_rng([6, seed])
        columns, rows = int(rng.choice([2, 3, 4])) if seed else 2, (3000, 1000, 6000)[seed % 3]
        rows = rows if columns < 4 else 200  # a narrow bracket of four columns and more rows takes minutes
        own = rng.integers(0, 2 + seed % 2, rows)
        values = rng.standard_t((3, 30)[seed % 2], (rows, columns)) * (1 + 0.2 * own[:, None]) + 0.3 * own[:, None]
        values[:, 1] += rng.choice([-1.0, 1.0]) * values[:, 0] * (own == 0)
        laws = {k: values[own == k] for k in np.unique(own).tolist()}
        engine = joint_loss(laws)
        for size in (0.3, 1.0, 5.0):
            scales = values.std(axis=0) * size * np.exp(rng.normal(0, 0.3, columns))
            bracket = engine.bracket(tuple(scales), enough=0.0)
            high = best_climb(laws, scales, rng, starts=5)
            assert bracket.lower * (1 - 1e-9) <= bracket.upper
            assert high <= bracket.upper * (1 + 1e-9), (seed, size, bracket, high)
            assert high >= bracket.lower * (1 - 1e-2), (seed, size, bracket, high)


@sweep(1, 3)
def test_plans_of_large_tables(count):
    for seed in range(count):
        rng = np.random.default_rng([7, seed])
        own = rng.integers(0, 2, 3000)
        values = rng.normal(size=(3000, 2 + seed % 3)) + 0.4 * own[:, None]
        values[:, 1] += (1 - 2 * own) * values[:, 0]
        table = {"s": np.array(["a", "b"])[own], **{c: values[:, k] for k, c in zip(range(values.shape[1]), "xyzw")}}
        _, laws, scales, bracket = planned(table, list("xyzw"[: values.shape[1]]), epsilon=1.0)
        high = best_climb(laws, scales, rng, starts=5)
        assert high <= bracket.upper * (1 + 1e-9)
        assert bracket.upper <= 1
        assert high >= bracket.lower * (1 - 1e-2)


# --- strange values


def strange_tables():
    few = {"s": list("aabbb"), "x": [0.0, 1, 0, 1, 1], "y": [0.0, 1, 1, 0, 0]}
    return {
        "bits": few,
        "huge beside tiny": few | {"x": [1e150, 1, 2, 3e-5, -1e150]},
        "all huge": few | {"x": [1e150, 2e150, 0, 3e150, 1e150], "y": [-1e140, 1e140, 0.0, 1, 1]},
        "all tiny": few | {"x": [1e-150, 2e-150, 0, 3e-150, 1e-150]},
        "tiny and huge columns": few | {"x": [1e-150, 2e-150, 0, 3e-150, 1e-150], "y": [1e150, 0, 2e150, 1e150, 5e149]},
        "one ulp": few | {"x": [1.0, np.nextafter(1, 2), 1.0, 1.0, np.nextafter(1, 2)]},
        "equal within a secret": few | {"x": [0.0, 0, 1, 1, 1], "y": [5.0, 5, 7, 7, 7]},
        "negative zeros": few | {"x": [-0.0, 1, 0.0, -0.0, 1], "y": [0.0, -0.0, 2, 0.0, -0.0]},
        "one row each": {"s": list("abc"), "x": [0.0, 1, 5], "y": [2.0, 2, 9]},
        "a secret of one row": {"s": list("abbbbbb"), "x": [0.0, 1, 1, 2, 3, 1, 4], "y": [9.0, 1, 5, 2, 2, 2, 1]},
        "twice the same": few | {"x": [0.0, 1, 4, 1, 2], "y": [0.0, 1, 4, 1, 2]},
        "functions of the secret": few | {"x": [1.0, 1, 0, 0, 0], "y": [0.0, 0, 3, 3, 3]},
        "one of the secret": few | {"x": [1.0, 1, 0, 0, 0], "y": [0.0, 2, 2, 0, 0]},
        "one constant": few | {"x": [4.0] * 5},
        "alike": {"s": list("abab"), "x": [0.0, 0, 1, 1], "y": [1.0, 1, 3, 3]},
        "alike in one": {"s": list("abab"), "x": [0.0, 0, 1, 1], "y": [1.0, 3, 3, 1]},
        "whole numbers": few | {"x": [1, 2, 3, 4, 5], "y": [2**52, 2**53, 0, 1, -(2**53)]},
        "booleans": few | {"x": [True, False, True, True, False], "y": [True, True, False, True, False]},
        "far outlier": few | {"x": [0.0, 1, 0, 1, 1e9]},
    }


@few(6)
@pytest.mark.parametrize(("name", "epsilon"), thinned(strange_tables(), [0.01, 1.0, 20.0]))
def test_strange_values(name, epsilon):
    check(strange_tables()[name], ["x", "y"], epsilon=epsilon)


# --- the oracle itself


def test_no_released_row_tells_more_than_the_nodes():
    rng = np.random.default_rng(8)
    for seed in range(12):
        table, public = random_table(rng, STYLES[seed % len(STYLES)], 2 + seed % 2)
        laws = laws_of(table, secret="s", public=public)
        spread = np.vstack(list(laws.values())).std(axis=0)
        laws, scales = varying(laws, spread * np.exp(rng.normal(0, 1, spread.size)))
        worst = worst_node(laws, scales)
        rows = np.vstack(list(laws.values()))
        near = np.array(worst.node) + rng.laplace(size=(300, rows.shape[1])) * scales * 10.0 ** rng.integers(-4, 1)
        anywhere = rows[rng.integers(0, len(rows), 300)] + rng.laplace(size=(300, rows.shape[1])) * scales
        for pair in orders_of(laws):
            assert log_ratio(laws, scales, np.vstack([near, anywhere]), pair).max() <= worst.loss + 1e-9
            assert climb(laws, scales, rows[0], pair)[0] <= worst.loss + 1e-9
        assert abs(float(loss_at(laws, scales, worst.node, worst.pair)) - worst.loss) <= worst.rounding


def test_small_scales_are_summed_as_in_decimals():
    laws = {s: law * 1e4 for s, law in opposed_bits().items()}
    worst = worst_node(laws, [3.0, 0.5])
    assert abs(float(loss_at(laws, [3.0, 0.5], worst.node, worst.pair)) - worst.loss) <= worst.rounding
    assert worst.loss > 3000


# --- planted faults


def alone(laws, column, epsilon):
    """The least scale of a column by itself."""
    own = {s: law[:, [column]] for s, law in laws.items()}
    return float(on_ray(own, [1.0], [0.0], epsilon=epsilon, within=1e-9)[0])


def test_scales_of_single_columns_are_caught():
    laws = opposed_bits()
    scales = [alone(laws, k, 0.5) for k in range(2)]
    assert scales == pytest.approx([0.208337] * 2, abs=1e-6)
    assert worst_node(laws, scales).loss == pytest.approx(4.443261, abs=1e-5)
    assert any("above epsilon" in fault for fault in faults(laws, scales, epsilon=1.0))


def test_scales_a_little_off_are_caught():
    laws = opposed_bits()
    least = on_ray(laws, [1.0, 1.0], [0.0, 0.0], epsilon=0.3, within=1e-7)
    assert (least > 1).all()  # above their floors
    assert not faults(laws, least * (1 + 1e-5), epsilon=0.3)
    assert "above epsilon" in faults(laws, least * 0.99, epsilon=0.3)[0]
    assert "below epsilon" in faults(laws, least * 1.01, epsilon=0.3)[0]
    assert any("floor" in fault for fault in faults(laws, [0.49, 30.0], epsilon=0.3))
    assert "no noise" in faults(laws, [0.0, 30.0], epsilon=0.3)[0]


def test_a_lower_end_taken_for_certified_is_caught():
    laws = opposed_bits()
    least = on_ray(laws, [1.0, 1.0], [0.0, 0.0], epsilon=0.3, within=1e-7)
    taken = least * 0.995
    truth = worst_node(laws, taken).loss
    for bracket in (Bracket(lower=0.29, upper=0.3), Bracket(lower=0.0, upper=truth * (1 - 1e-6))):
        assert any("misses" in fault for fault in faults(laws, taken, epsilon=0.3, bracket=bracket))
    wide = Bracket(lower=0.29, upper=truth)
    assert any("upper end" in fault for fault in faults(laws, taken, epsilon=0.3, bracket=wide))


def test_a_pair_left_out_is_caught():
    laws = opposed_bits() | {"c": np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])}
    _, _, scales, bracket = planned(table_of(laws), ["x", "y"], epsilon=0.3, pairs=[("a", "c")])
    assert not faults(laws, scales, epsilon=0.3, bracket=bracket, pairs=[("a", "c")])
    wrong = faults(laws, scales, epsilon=0.3, bracket=bracket)
    assert any("above epsilon" in fault for fault in wrong)
    assert any("misses" in fault for fault in wrong)


# --- how small the scales are


@sweep(3, 20)
def test_no_other_proportions_are_much_better(count):
    for seed in range(count):
        rng = np.random.default_rng([9, seed])
        epsilon = float(rng.choice(EPSILONS[:4]))
        table, public = random_table(rng, STYLES[seed % len(STYLES)], 2 + seed % 2)
        _, laws, scales, _ = planned(table, public, epsilon=epsilon)
        if (np.array(scales) <= floors_of(laws, epsilon=epsilon) * (1 + 1e-9)).all():
            continue
        least, best = best_ray(laws, scales, rng, epsilon=epsilon, rays=30 if count < 10 else 90)
        assert spread_sum(laws, scales) <= 1.05 * least, (table, epsilon, scales, best, least)


def test_sweeps_and_products_of_matrices_give_the_same_sums(monkeypatch):
    rng = np.random.default_rng(4)
    for columns in (1, 2, 3):
        points = rng.integers(0, 9, (40, columns)) + rng.integers(0, 2, (40, columns)) * 0.3
        loss = joint_loss({"a": points, "b": points[:20] + rng.integers(0, 3, (20, columns))})
        scales = rng.uniform(0.05, 4, columns)
        products = loss.nodes(scales)
        monkeypatch.setattr("puffer_frames.loss.joint.lines._EXP", np.inf)
        for secret, sums in loss.nodes(scales).items():
            np.testing.assert_allclose(sums, products[secret], rtol=1e-12)
        monkeypatch.undo()


@sweep(6, 200)
def test_proportions_found_on_few_lines_are_those_of_the_whole_grid(count):
    for seed in range(count):
        rng = np.random.default_rng([19, seed])
        epsilon = float(rng.choice(EPSILONS[:4]))
        table, public = random_table(rng, STYLES[seed % len(STYLES)], 2 + seed % 2)
        _, laws, whole, _ = planned(table, public, epsilon=epsilon)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("puffer_frames.scales.joint.exchange._FEW_NODES", 16)
            patch.setattr("puffer_frames.loss.joint.joint_loss._FIRST_NODES", 16)
            _, _, found, bracket = planned(table, public, epsilon=epsilon)
        assert not faults(laws, found, epsilon=epsilon, bracket=bracket), seed
        assert spread_sum(laws, found) <= (1 + 1e-4) * spread_sum(laws, whole), seed


@pytest.mark.parametrize("beliefs", ["empirical", "default"])
@pytest.mark.parametrize("pairs", ["all", [("a", "b")]])
def test_a_constant_column_changes_nothing(beliefs, pairs):
    """Clusters far apart need noise for the distances within them."""
    rng = np.random.default_rng(1)
    secret = np.array(list("abc")).repeat(30)
    values = rng.integers(0, 2, 90) * 10_000.0 + rng.normal(size=90).round(2)
    frame = pl.DataFrame({"secret": secret, "value": values, "constant": 7})
    asked = {"secret": "secret", "epsilon": 12.0, "pairs": pairs}
    if beliefs != "default":
        asked["beliefs"] = beliefs
    both = frame.puffer.calibrate(public=["value", "constant"], **asked)
    alone = frame.puffer.calibrate(
        public="value",
        mechanism=Noise(theorem="kantorovich"),
        beliefs="empirical",
        **{key: value for key, value in asked.items() if key != "beliefs"},
    )
    assert both.scales["constant"] == 0.0
    assert both.scales["value"] == pytest.approx(alone.scale, rel=1e-6)
    assert both.scales["value"] < 1.0
