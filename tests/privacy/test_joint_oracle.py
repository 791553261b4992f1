"""Several columns released together: every plan and every bracket against direct sums at all nodes of the grid."""

import itertools
import math

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
from puffer_frames import Bootstrap, Contamination, Noise, calibrate, certificate_of
from puffer_frames.core import Bracket
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss, WrongRows
from puffer_frames.mechanisms.noise import rows_seen
from puffer_frames.noise.channel import changed_share, randomised_response

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


@sweep(12, 100)
def test_rows_that_were_counted_in_cells(count, monkeypatch):
    """The loss of the rows themselves is within the bounds that follow from the cells."""
    monkeypatch.setattr(rows_seen, "MOST_ROWS", 1)
    larger = []
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        monkeypatch.setattr(rows_seen, "MOST_CELLS", int(rng.choice([1 << 6, 1 << 10, 1 << 14])))
        style, epsilon = STYLES[seed % len(STYLES)], float(rng.choice(EPSILONS))
        table, public = random_table(rng, style, int(rng.choice([2, 2, 3])))
        beliefs = ["empirical", Contamination(0.1)] if seed % 3 == 2 else ["empirical"]
        plan, laws, scales, bracket = planned(table, public, epsilon=epsilon, beliefs=beliefs)
        true, slack = worst_node(laws, scales), 1e-9 * (1 + epsilon)
        assert plan.theorem == "joint"
        assert bracket.lower - slack <= true.loss <= min(bracket.upper, epsilon) + slack, (seed, style)
        larger.append(bracket.upper - bracket.lower)
    assert max(larger) > 1e-3


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


def test_planted_faults_of_scales_brackets_and_pairs_are_caught():
    laws = opposed_bits()
    scales = [alone(laws, k, 0.5) for k in range(2)]
    assert scales == pytest.approx([0.208337] * 2, abs=1e-6)
    assert worst_node(laws, scales).loss == pytest.approx(4.443261, abs=1e-5)
    assert any("above epsilon" in fault for fault in faults(laws, scales, epsilon=1.0))
    least = on_ray(laws, [1.0, 1.0], [0.0, 0.0], epsilon=0.3, within=1e-7)
    assert (least > 1).all()  # above their floors
    assert not faults(laws, least * (1 + 1e-5), epsilon=0.3)
    assert "above epsilon" in faults(laws, least * 0.99, epsilon=0.3)[0]
    assert "below epsilon" in faults(laws, least * 1.01, epsilon=0.3)[0]
    assert any("floor" in fault for fault in faults(laws, [0.49, 30.0], epsilon=0.3))
    assert "no noise" in faults(laws, [0.0, 30.0], epsilon=0.3)[0]
    taken = least * 0.995
    truth = worst_node(laws, taken).loss
    for bracket in (Bracket(lower=0.29, upper=0.3), Bracket(lower=0.0, upper=truth * (1 - 1e-6))):
        assert any("misses" in fault for fault in faults(laws, taken, epsilon=0.3, bracket=bracket))
    wide = Bracket(lower=0.29, upper=truth)
    assert any("upper end" in fault for fault in faults(laws, taken, epsilon=0.3, bracket=wide))
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
        monkeypatch.setattr("puffer_frames.loss.joint.joint_loss._EXP", np.inf)
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


# Rows of numbers and labels: the loss by direct sums over all nodes and levels.
# Nothing here is shared with the library. The kernel of a number is exp(-|y - x| / b), that of a label 1 for the label
# itself and exp(-1 / b) for another one.
def loss_of(laws, scales, labels):
    """The largest log ratio of any two secrets at any released row; a law is a list of (row, probability)."""
    axes = [sorted({row[k] for law in laws.values() for row, _ in law}) for k in range(len(scales))]
    worst = 0.0
    for node in itertools.product(*axes):
        logs = []
        for law in laws.values():
            density = 0.0
            for row, share in law:
                away = sum(
                    (float(x != y) if k in labels else abs(y - x)) / scales[k]
                    for k, (x, y) in enumerate(zip(row, node, strict=True))
                )
                density += share * math.exp(-away)
            logs.append(math.log(density))
        worst = max(worst, max(logs) - min(logs))
    return worst


def drawn(seed):
    """A table of 2 or 3 columns, of which one or two hold labels."""
    rng = np.random.default_rng(seed)
    rows, count = int(rng.integers(30, 200)), int(rng.integers(2, 4))
    labels = sorted(rng.choice(count, int(rng.integers(1, count + 1)), replace=False).tolist())
    secrets = rng.choice(list("pqr")[: int(rng.integers(2, 4))], rows)
    table = {"secret": secrets}
    for k in range(count):
        lean = (secrets == "p") * rng.integers(0, 3, rows)
        values = (rng.integers(0, int(rng.integers(2, 6)), rows) + lean) % 6
        table[f"c{k}"] = [f"level {v}" for v in values] if k in labels else values * float(rng.choice([0.5, 1.0, 3.0]))
    return pd.DataFrame(table), [f"c{k}" for k in range(count)], labels


def label_laws_of(table, public):
    found = {}
    for secret, part in table.groupby("secret"):
        counts = part.groupby(public).size()
        found[secret] = [(row, count / len(part)) for row, count in counts.items()]
    return found


@sweep(12, 200)
def test_the_loss_of_a_plan_is_at_most_epsilon_and_near_it(count):
    for seed in range(count):
        table, public, labels = drawn(seed)
        epsilon = [0.3, 1.0, 2.5][seed % 3]
        made = calibrate(table, secret="secret", public=public, epsilon=epsilon)
        scales = [made.fitted.all_scales[name] for name in public]
        laws = label_laws_of(table, public)
        found = loss_of(laws, scales, labels)
        assert found <= epsilon
        measured = made.choices[public[0]].verified["empirical"].pure_loss
        assert measured.lower - 1e-12 <= found <= measured.upper + 1e-12
        floors = [min_step(table[name], k in labels) / (2 * max(1, epsilon)) for k, name in enumerate(public)]
        if any(scale > 1.001 * floor for scale, floor in zip(scales, floors, strict=True)):
            assert found > 0.995 * epsilon
            assert loss_of(laws, [0.9 * scale for scale in scales], labels) > epsilon  # a fault would be found


def min_step(values, is_label):
    return 1.0 if is_label else float(np.diff(np.unique(values)).min())


def test_the_engine_has_the_kernel_of_labels():
    rng = np.random.default_rng(5)
    for _ in range(40):
        points = [np.unique(rng.integers(0, 4, (12, 2)).astype(float), axis=0) for _ in "st"]
        laws = {}
        for name, rows in zip("st", points, strict=True):
            weights = rng.random(len(rows))
            laws[name] = JointLaw(points=rows, weights=weights / weights.sum())
        scales = rng.uniform(0.2, 3.0, 2).tolist()
        direct = {
            name: [(tuple(row), share) for row, share in zip(law.points.tolist(), law.weights, strict=True)]
            for name, law in laws.items()
        }
        for labels in ((), (0,), (1,), (0, 1)):
            found = JointLoss(laws, pairs="all", labels=labels).bracket(scales, enough=0.0)
            assert found.lower - 1e-12 <= loss_of(direct, scales, labels) <= found.upper + 1e-12


@pytest.mark.parametrize("levels", [1, 2, 3, 17, 256])
@pytest.mark.parametrize("scale", [0.02, 0.125, 0.5, 1.0, 40.0])
def test_the_probabilities_of_a_response(levels, scale):
    """No two rows differ by more than 1 / scale; the share of changed labels is the one that is said."""
    weights = randomised_response(levels, scale)
    assert [sum(row) for row in weights.tolist()] == [2**62] * levels
    if levels > 1:
        same, other = int(weights[0, 0]), int(weights[0, 1])
        assert {int(weights[i, j]) for i in range(levels) for j in range(levels) if i != j} == {other}
        assert same >= other
        assert math.log(same / other) <= 1 / scale * (1 + 1e-15)
        assert 1 - same / 2**62 == pytest.approx(changed_share(levels, scale), rel=1e-9, abs=1e-15)


# Several columns where a share of the rows may be anything: dense grids of released rows, both wrong rows by hand.
def density(law, share, wrong, points, scales):
    """Of noisy rows at some points, where the wrong rows of a share are one row."""
    rows, weights = np.vstack([law.points, wrong]), np.append((1 - share) * law.weights, share)
    away = sum(np.abs(points[:, [k]] - rows[:, k]) / scale for k, scale in enumerate(scales))
    return np.exp(-away) @ weights


def replaced_loss_of(likely, other, shares, box, scales, steps):
    """Largest log-ratio on a grid: each wrong row is tried at the released row itself, and in every corner."""
    axes = [
        np.union1d(np.linspace(*ends, steps), np.r_[likely.points[:, k], other.points[:, k]])
        for k, ends in enumerate(box)
    ]
    points = np.array(list(itertools.product(*axes)))
    top = np.array([density(likely, shares[0], point, point[None], scales)[0] for point in points])
    bottom = np.min([density(other, shares[1], corner, points, scales) for corner in itertools.product(*box)], axis=0)
    return float(np.log(top / bottom).max())


def law(rows, weights=None):
    rows = np.array(rows, dtype=float)
    return JointLaw(points=rows, weights=np.full(len(rows), 1 / len(rows)) if weights is None else np.array(weights))


def test_the_largest_loss_is_at_no_coordinate():
    """The box [0, 10] squared: 1.2975 at the coordinates and the middles, 1.4792 at (0, 6.66)."""
    laws = {"s": law([(0, 0), (10, 10)]), "t": law([(9, 10), (3, 1)])}
    wrong = WrongRows(shares={"s": 0.1, "t": 0.1}, domain={0: (0.0, 10.0), 1: (0.0, 10.0)})
    both = JointLoss(laws, pairs=(("s", "t"),), wrong=wrong)
    found = both.bracket([5, 2], enough=0.0)
    expected = max(
        replaced_loss_of(laws[a], laws[b], (0.1, 0.1), [(0, 10), (0, 10)], (5, 2), 101)
        for a, b in (("s", "t"), ("t", "s"))
    )
    assert found.lower - 5e-4 <= expected <= found.upper
    assert found.upper - found.lower < 2e-4
    forth = replaced_loss_of(laws["s"], laws["t"], (0.1, 0.1), [(0, 10), (0, 10)], (5, 2), 151)
    assert forth == pytest.approx(1.4792, abs=2e-4)


@sweep(3, 100)
def test_brackets_hold_dense_grids(count):
    rng = np.random.default_rng(8)
    for _ in range(count):
        width, columns = float(rng.integers(4, 12)), int(rng.integers(1, 3))
        box = [(0.0, width)] * columns
        laws = {s: law(rng.integers(0, 5, (int(rng.integers(1, 6)), columns))) for s in "ab"}
        shares, scales = rng.uniform(0.01, 0.5, 2), rng.uniform(0.4, 5, columns)
        wrong = WrongRows(shares=dict(zip("ab", shares, strict=True)), domain=dict(enumerate(box)))
        found = JointLoss(laws, pairs="all", wrong=wrong).bracket(scales, enough=0.0)
        steps = 61 if columns == 2 else 2001
        expected = max(
            replaced_loss_of(laws["a"], laws["b"], shares, box, scales, steps),
            replaced_loss_of(laws["b"], laws["a"], shares[::-1], box, scales, steps),
        )
        assert expected <= found.upper + 1e-12
        assert found.lower <= expected + 0.02  # the grid is coarse


def people(seed, rows=600):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    job = np.where(rng.random(rows) < 0.3 + 0.3 * (group == "b"), "cook", "clerk")
    return pd.DataFrame(
        {"group": group, "x": rng.integers(0, 5, rows), "y": rng.integers(0, 4, rows) + (group == "a"), "job": job}
    )


@pytest.mark.parametrize("domain", [None, {"x": (0, 3), "y": (-1, 8)}])
def test_released_rows_are_within_epsilon(domain):
    frame = people(1)
    options = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "domain": domain}
    plan = puffer_frames.calibrate(frame, beliefs=Contamination(), **options)
    box = [tuple(map(float, (domain or {}).get(n, (frame[n].min(), frame[n].max())))) for n in ("x", "y")]
    parts = {s: part[["x", "y"]].clip(*np.array(box).T, axis=1) for s, part in frame.groupby("group")}
    laws = {s: law(part.to_numpy()) for s, part in parts.items()}
    shares = [2 / math.sqrt(len(part)) for part in parts.values()]
    scales = list(plan.scales.values())
    losses = [
        replaced_loss_of(laws["a"], laws["b"], shares, box, scales, 41),
        replaced_loss_of(laws["b"], laws["a"], shares[::-1], box, scales, 41),
    ]
    assert 0.98 < max(losses) <= 1.0
    assert plan.fitted.clipped == dict(zip(("x", "y"), box, strict=True))
    certificate = certificate_of(plan.release(frame, rng=1))
    assert certificate.beliefs == ("contaminated",)
    assert ("clipped" if domain else "clipped-to-range") in {statement.key for statement in certificate.statements}
    narrow = puffer_frames.calibrate(frame, **options)
    assert all(plan.scales[name] > narrow.scales[name] for name in ("x", "y"))


def test_with_labels_other_tables_and_resamples():
    frame = people(2)
    options = {
        "secret": "group",
        "public": ["x", "job"],
        "epsilon": 1.0,
        "mechanism": Noise(weights={"x": 1.0, "job": 1.0}),
    }
    alone = puffer_frames.calibrate(frame, beliefs=Contamination(0.05), **options)
    more = puffer_frames.calibrate(
        frame, beliefs=[Contamination(0.05), "empirical", people(3), Bootstrap(resamples=3)], **options
    )
    assert set(more.choices["x"].verified) == {"empirical", "contaminated", "other table", Bootstrap(resamples=3).title}
    assert all(found.pure_loss.upper <= 1.0 for found in more.choices["x"].verified.values())
    assert alone.choices["x"].verified["contaminated"].pure_loss.lower > 0.99
    assert more.fitted.all_scales["x"] > 0


def test_wrong_rows_may_have_a_level_that_no_protected_row_has():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m", "z"], 900)
    job = np.where(sex == "z", rng.choice(["u", "v", "w"], 900), rng.choice(["u", "v"], 900))
    frame = pd.DataFrame({"sex": sex, "x": rng.integers(0, 6, 900) + (sex == "f"), "job": job})
    plan = puffer_frames.calibrate(
        frame, secret="sex", public=["x", "job"], epsilon=1.0, pairs=[("f", "m")], beliefs=Contamination(0.05)
    )
    scales, worst = plan.fitted.all_scales, 0.0
    kernel = {}
    for s, part in frame.groupby("sex"):
        at = [(x, j) for x in range(7) for j in "uvw"]
        away = np.array([[abs(x - a) / scales["x"] + (j != b) / scales["job"] for a, b in at] for x, j in at])
        law = np.array([((part["x"] == a) & (part["job"] == b)).mean() for a, b in at])
        kernel[s] = np.exp(-away) @ law, np.exp(-away).min(axis=1)
    for first, second in (("f", "m"), ("m", "f")):
        top, bottom = 0.95 * kernel[first][0] + 0.05, 0.95 * kernel[second][0] + 0.05 * kernel[second][1]
        worst = max(worst, float(np.log(top / bottom).max()))
    assert 0.9 < worst <= 1.0


def test_a_constant_column_has_noise_where_wrong_rows_may_differ():
    frame = people(5).assign(y=3)
    options = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "beliefs": Contamination(0.1)}
    assert puffer_frames.calibrate(frame, domain={"y": (0, 10)}, **options).scales["y"] > 1.0
    assert puffer_frames.calibrate(frame, **options).scales["y"] == 0.0


def test_not_beside_a_coupling():
    with pytest.raises(ArgumentError, match="without Contamination"):
        puffer_frames.calibrate(
            people(4),
            secret="group",
            public=["x", "y"],
            epsilon=1.0,
            mechanism=Noise(theorem="kantorovich"),
            beliefs=Contamination(),
        )
