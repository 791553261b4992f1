"""Scales that rest on a coupling of whole rows: every plan against linear programs and direct sums over the grid."""

import bisect
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, run, sweep, thinned
from coupling_oracle import (
    can_couple,
    couples_in_order,
    coupling_faults,
    distances,
    farthest,
    least_by_permutations,
    least_distance,
    loss_of_copies,
    loss_together,
    meets_hall,
    random_rows,
)
from joint_oracle import floors_of, laws_of, loss_at, spread_sum, worst_node
from scipy.optimize import linprog

import puffer_frames
from puffer_frames import Layout, Noise, Unit, certificate_of, compose
from puffer_frames.errors import CalibrationError
from puffer_frames.scales.joint.coupled import RowBoxes, coupling_distance, has_coupling

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::puffer_frames.errors.{name}")
    for name in ("FewRowsWarning", "WeakGuaranteeWarning", "RowOrderWarning")
]

EPSILONS = (0.1, 0.5, 1.0, 3.0)


def planned(table, *, epsilon, theorem="kantorovich", weights=None, **options):
    """The plan for all columns of numbers, the laws that it is about, and its scales."""
    public = [c for c in table if c.startswith("x")]
    options = {"mechanism": Noise(theorem=theorem, weights=weights), "public": public} | options
    plan = puffer_frames.calibrate(pd.DataFrame(table), secret="s", epsilon=epsilon, **options)
    public = options["public"]
    laws = laws_of(table, secret="s", public=public, domain=options.get("domain"))
    return plan, laws, [plan.scales[c] for c in public]


def check(table, *, epsilon, **options):
    plan, laws, scales = planned(table, epsilon=epsilon, **options)
    assert plan.theorem == "kantorovich"
    wrong = coupling_faults(laws, scales, epsilon=epsilon, pairs=options.get("pairs", "all"))
    assert not wrong, (table, options, epsilon, wrong)
    return laws, scales


# --- plans


@sweep(4, 150)
def test_rows_can_be_coupled_within_epsilon_and_not_closer(count):
    binding = 0
    for seed in range(count):
        rng = np.random.default_rng([1, seed])
        table = random_rows(rng, 2 + seed % 4)
        epsilon = float(rng.choice(EPSILONS))
        if table["s"].size < 4:
            continue
        laws, scales = check(table, epsilon=epsilon)
        if (scales > floors_of(laws, epsilon=epsilon) * (1 + 1e-6)).all():
            binding += 1
            assert farthest(laws, np.array(scales) * 0.98) > epsilon
    assert binding >= count // 2


@sweep(2, 20)
def test_more_than_four_columns_are_coupled_without_being_asked(count):
    for seed in range(count):
        rng = np.random.default_rng([2, seed])
        check(random_rows(rng, 5), epsilon=float(rng.choice(EPSILONS)), theorem="auto")


@sweep(1, 40)
def test_named_pairs_domains_and_weights(count):
    for seed in range(count):
        rng = np.random.default_rng([3, seed])
        table = random_rows(rng, 2 + seed % 2)
        named = sorted(set(table["s"]))
        pairs = [(named[-1], named[0])]
        weights = {c: float(10.0 ** rng.uniform(-2, 2)) for c in table if c != "s"}
        low, high = np.quantile(table["x0"], [0.1, 0.9])
        check(table, epsilon=0.5, pairs=pairs)
        check(table, epsilon=0.5, weights=weights)
        check(table, epsilon=0.5, domain={"x0": (float(low), float(high) + 0.5)})


@sweep(2, 80)
def test_the_sum_is_never_above_that_of_noise_for_ranges(count):
    for seed in range(count):
        rng = np.random.default_rng([4, seed])
        table, epsilon = random_rows(rng, 2 + seed % 3), float(rng.choice(EPSILONS))
        weights = {c: float(10.0 ** rng.uniform(-2, 2)) for c in table if c != "s"} if seed % 2 else None
        _, laws, scales = planned(table, epsilon=epsilon, weights=weights)
        _, _, wide = planned(table, epsilon=epsilon, theorem="bounded")
        if weights is None:
            sums = [spread_sum(laws, each) for each in (scales, wide)]
        else:
            sums = [float(np.dot(list(weights.values()), each)) for each in (scales, wide)]
        assert sums[0] <= sums[1] * (1 + 1e-9), (table, epsilon, weights, scales, wide)


# --- the flow itself


@sweep(60, 1500)
def test_has_coupling_as_hall_and_a_linear_program_say(count):
    found = []
    for seed in range(count):
        rng = np.random.default_rng([5, seed])
        allowed, supply, demand = random_transport(rng, largest=20)
        found.append(has_coupling(allowed, supply, demand))
        assert found[-1] == meets_hall(allowed, supply, demand), (allowed, supply, demand)
        assert found[-1] == can_couple(allowed, supply, demand), (allowed, supply, demand)
    assert 0.1 < np.mean(found) < 0.9


@sweep(60, 1500)
def test_has_coupling_is_exact_beyond_32_bits(count):
    """One in the wrong place, of up to 2**55, is seen."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng([6, seed])
        allowed, supply, demand = random_transport(rng, largest=2 ** int(rng.integers(25, 50)))
        found.append(has_coupling(allowed, supply, demand))
        assert found[-1] == meets_hall(allowed, supply, demand), (allowed, supply.tolist(), demand.tolist())
    assert 0.1 < np.mean(found) < 0.9


@sweep(8, 400)
def test_many_rows_on_a_line_are_coupled_in_order(count):
    found = []
    for seed in range(count):
        rng = np.random.default_rng([7, seed])
        rows, columns = rng.integers(10, 80, 2)
        places, others = rng.integers(0, 1000, rows), rng.integers(0, 1000, columns)
        supply = rng.integers(0, 2 ** int(rng.integers(4, 42)), rows)
        demand = rng.multinomial(int(supply.sum()), rng.dirichlet(np.ones(columns)))
        line = (places, others, supply, demand)
        exact = bisect.bisect_left(range(1001), True, key=lambda within: couples_in_order(*line, within))
        for within in (exact - 1, exact):
            found.append(has_coupling(np.abs(places[:, None] - others) <= within, supply, demand))
            assert found[-1] == (within == exact), (seed, within)


def random_transport(rng, *, largest):
    """A small graph, a supply and a demand that a transport through it joins, or has joined but for one move."""
    rows, columns = rng.integers(2, 8, 2)
    allowed = rng.random((rows, columns)) < rng.uniform(0.1, 0.6)
    allowed[0, 0] = True
    sent = rng.integers(0, largest, (rows, columns)) * (allowed & (rng.random((rows, columns)) < 0.7))
    sent[0, 0] += 1
    supply, demand = sent.sum(axis=1), sent.sum(axis=0)
    if rng.random() < 0.8:
        one, other = rng.integers(0, columns, 2)
        moved = min(int(demand[other]), int(rng.choice([1, rng.integers(0, largest)])))
        demand[other] -= moved
        demand[one] += moved
    return allowed, supply, demand


# --- several releases


def released(table, public, **options):
    """The certificate of a release."""
    frame = pd.DataFrame(table)
    options = {"secret": "s", "public": public, "layout": Layout(shuffle=True)} | options
    return certificate_of(puffer_frames.privatize(frame, **options))


def bound(certificates):
    """The rule: the epsilon of one coupled release, times what the others add, of the best such one."""
    found = []
    for one in certificates:
        if one.theorem != "kantorovich" or any(set(other.scales) - set(one.scales) for other in certificates):
            continue
        others = [other for other in certificates if other is not one]
        found.append(one.epsilon * (1 + sum(max(one.scales[c] / b for c, b in each.scales.items()) for each in others)))
    return min(found)


@sweep(2, 60)
def test_releases_beside_a_coupled_one_lose_no_more_than_composed(count):
    for seed in range(count):
        rng = np.random.default_rng([8, seed])
        columns = 2 + seed % 2
        table = random_rows(rng, columns)
        while len(set(table["s"])) == table["s"].size:
            table = random_rows(rng, columns)
        public = [c for c in table if c != "s"]
        coupled = released(table, public, epsilon=float(rng.choice([0.3, 1.0])), mechanism=Noise(theorem="kantorovich"))
        others = []
        for _ in range(int(rng.integers(1, 3))):
            some = list(rng.permutation(public)[: rng.integers(1, columns + 1)])
            weights = {c: float(10.0 ** rng.uniform(-1, 1)) for c in some}
            theorem = str(rng.choice(["auto", "kantorovich"])) if len(some) > 1 else "auto"
            more = {"mechanism": Noise(weights=weights, theorem=theorem)} if len(some) > 1 else {}
            others.append(released(table, some, epsilon=0.3, allow_zero_noise=True, **more))
        others = [each for each in others if all(each.scales.values())]
        if not others:
            continue
        together = [coupled, *others]
        found = compose(together)
        laws = laws_of(table, secret="s", public=public)
        truth = loss_together(laws, public, [each.scales for each in together])
        assert truth <= found.epsilon * (1 + 1e-9), (table, together)
        assert found.epsilon <= bound(together) * (1 + 1e-6), (table, together)
        from_table = compose(together, frame=pd.DataFrame(table))
        assert truth * (1 - 1e-9) <= from_table.epsilon <= truth * (1 + 1e-3) + 1e-9


def crossed():
    """Two rows each: coupled straight they move along the first column only, crosswise less along it."""
    return {"s": np.array([[2.0, 1.0], [1.0, 2.0]]), "t": np.array([[0.0, 1.0], [2.0, 2.0]])}


def crossed_table():
    rows = np.vstack(list(crossed().values()))
    return {"s": ["s", "s", "t", "t"], "x": rows[:, 0], "y": rows[:, 1]}


@pytest.mark.parametrize(
    ("releases", "epsilons", "loss"),
    [
        ([(2, 2), (1e9, 1)], [1, 0], None),
        ([(2, 4 / 7), (1.09, 1.09 * 100 / 9)], [1, 1], 2.337247),  # ratios 2/7 and 100/9
        ([(2, 0.5), (1.25, 5)], [1, 1], None),  # ratios 1/4 and 4
        ([(2, 0.4), (1, np.inf)], [1, 1], None),  # the second of the first column only
    ],
)
def test_other_proportions_and_single_columns_do_not_add(releases, epsilons, loss):
    laws = crossed()
    for scales, epsilon in zip(releases, epsilons, strict=True):
        own = [k for k, b in enumerate(scales) if np.isfinite(b)]
        part = {s: law[:, own] for s, law in laws.items()}
        if epsilon:
            assert least_distance(part["s"], part["t"], [scales[k] for k in own]) == pytest.approx(1)
    total = [1 / sum(1 / each[k] for each in releases) for k in range(2)]
    found = worst_node(laws, total)
    assert float(loss_at(laws, total, found.node, found.pair)) == pytest.approx(found.loss, abs=1e-12)
    if loss is not None:
        assert found.loss == pytest.approx(loss, abs=1e-6)
    if all(epsilons):
        assert found.loss > 2.1
    ratios = [max(b / c for b, c in zip(one, other, strict=True)) for one, other in itertools.permutations(releases, 2)]
    assert found.loss <= 1 + min(ratios)


def test_compose_refuses_values_that_were_clipped_for_the_coupling_only():
    """The pairing of clipped rows says nothing of rows that another release does not clip."""
    rng = np.random.default_rng(12)
    table = random_rows(rng, 2)
    low, high = np.quantile(table["x0"], [0.2, 0.7])
    narrow = {"x0": (float(low), float(high))}
    options = {"epsilon": 0.3, "mechanism": Noise(theorem="kantorovich")}
    wide = released(table, ["x0", "x1"], **options)
    clipped = released(table, ["x0", "x1"], domain=narrow, **options)
    alone = [released(table, "x0", epsilon=0.3, domain=domain) for domain in ({}, narrow)]
    with pytest.raises(puffer_frames.errors.CalibrationError):
        compose([clipped, alone[0]])
    rates = [1 / wide.scales["x0"], 1 / alone[1].scales["x0"]]
    laws = {  # the clipped value is a column of its own
        s: np.column_stack([law, np.clip(law[:, 0], low, high)])
        for s, law in laws_of(table, secret="s", public=["x0", "x1"]).items()
    }
    truth = worst_node(laws, [1 / rates[0], wide.scales["x1"], 1 / rates[1]]).loss
    assert truth <= compose([wide, alone[1]]).epsilon * (1 + 1e-9)


def test_compose_does_not_add_the_epsilons_of_other_proportions():
    table = crossed_table()
    flat = released(
        table, ["x", "y"], epsilon=1.0, mechanism=Noise(theorem="kantorovich", weights={"x": 0.01, "y": 1.0})
    )
    steep = released(
        table, ["x", "y"], epsilon=1.0, mechanism=Noise(theorem="kantorovich", weights={"x": 1.0, "y": 0.01})
    )
    alone = released(table, "x", epsilon=1.0, mechanism=Noise(theorem="kantorovich", calibration="theorem"))
    laws = crossed()
    losses = []
    for together in ([flat, steep], [flat, alone], [flat, steep, alone]):
        losses.append(loss_together(laws, ["x", "y"], [each.scales for each in together]))
        assert losses[-1] <= compose(together).epsilon * (1 + 1e-9)
    assert max(losses[0], losses[1]) > 2.1  # these pairs are ones whose epsilons do not add
    again = released(
        table, ["x", "y"], epsilon=0.25, mechanism=Noise(theorem="kantorovich", weights={"x": 0.01, "y": 1.0})
    )
    assert compose([flat, again]).epsilon == pytest.approx(1.25, rel=1e-6)


# --- the oracle itself, and planted faults


def test_the_linear_program_agrees_with_brute_force():
    for seed in range(25):
        rng = np.random.default_rng([9, seed])
        rows = int(rng.integers(1, 6))
        one, other = rng.integers(0, 4, (2, rows, 2)).astype(float)
        scales = rng.uniform(0.2, 3, 2)
        assert least_distance(one, other, scales) == least_by_permutations(one, other, scales)


def test_copies_lose_what_the_sum_of_rates_says():
    for seed in range(6):
        rng = np.random.default_rng([10, seed])
        table = random_rows(rng, 2)
        laws = laws_of(table, secret="s", public=["x0", "x1"])
        spread = np.vstack(list(laws.values())).std(axis=0)
        releases = [spread * np.exp(rng.normal(0, 1, 2)) for _ in range(2)]
        named = [dict(zip("xy", each, strict=True)) for each in releases]
        assert loss_of_copies(laws, releases) == pytest.approx(loss_together(laws, "xy", named), rel=1e-9)


@sweep(1, 2)
def test_scales_a_little_too_small_or_large_are_found(count):
    for seed in range(count):
        rng = np.random.default_rng([11, seed])
        table = random_rows(rng, 2)
        _, laws, scales = planned(table, epsilon=0.1)
        assert not coupling_faults(laws, scales, epsilon=0.1)
        assert "beyond epsilon" in coupling_faults(laws, np.array(scales) * 0.9, epsilon=0.1)[0]
        assert "far below" in coupling_faults(laws, np.array(scales) * 1.1, epsilon=0.1)[0]


def test_the_couplings_of_single_columns_are_not_one_of_rows():
    """Bits that agree against bits that differ: each column by itself is the same law, or nearly."""
    laws = {"a": np.array([[0.0, 0.0], [1.0, 1.0]]), "b": np.array([[0.0, 1.0], [1.0, 0.0]])}
    alone = [least_distance(laws["a"][:, [k]], laws["b"][:, [k]], [1.0]) for k in range(2)]
    assert alone == [0, 0]
    assert least_distance(laws["a"], laws["b"], [1.0, 1.0]) == 1
    assert distances(laws["a"], laws["b"], [1.0, 2.0]).tolist() == [[0.5, 1.0], [1.0, 0.5]]
    laws = crossed()
    single = [least_distance(laws["s"][:, [k]], laws["t"][:, [k]], [0.25]) / 2 for k in range(2)]
    scales = np.maximum(single, floors_of(laws, epsilon=0.5))
    assert any("beyond epsilon" in fault for fault in coupling_faults(laws, scales, epsilon=0.5))


# Labels beside numbers by a coupling of whole rows, and by noise for ranges: linear programs and direct sums.


def distance(x, y, scales, labels):
    return sum((x[k] != y[k] if k in labels else abs(x[k] - y[k])) / scale for k, scale in enumerate(scales))


def can_couple_labels(one, other, within, scales, labels):
    """Whether laws {row: probability} have a coupling whose rows are never farther apart: a linear program."""
    pairs = [(x, y) for x in one for y in other if distance(x, y, scales, labels) <= within]
    sides = [*((0, x, p) for x, p in one.items()), *((1, y, p) for y, p in other.items())]
    matrix = np.array([[float(pair[side] == row) for pair in pairs] for side, row, _ in sides])
    if not pairs:
        return False
    found = linprog(np.zeros(len(pairs)), A_eq=matrix, b_eq=[p for *_, p in sides], method="highs")
    return found.status == 0


def law(frame, public):
    counts = frame.groupby(public).size() / len(frame)
    return {tuple(row): float(p) for row, p in counts.items()}


def people(seed, rows=240):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    job = np.where(rng.random(rows) < 0.2 + 0.3 * (group == "b"), "cook", rng.choice(["clerk", "smith"], rows))
    return pd.DataFrame(
        {
            "group": group,
            "x": rng.integers(0, 4, rows) + (group == "a"),
            "job": job,
            "pet": rng.choice(["cat", "dog"], rows),
            "y": rng.integers(0, 3, rows),
            "z": rng.integers(0, 2, rows),
        }
    )


@few(1)
@pytest.mark.parametrize("public", [["x", "job"], ["job", "pet"], ["x", "job", "y"]])
def test_rows_can_be_paired_within_epsilon(public):
    frame = people(1)
    plan = puffer_frames.calibrate(
        frame, secret="group", public=public, epsilon=1.0, mechanism=Noise(theorem="kantorovich")
    )
    laws = [law(part, public) for _, part in frame.groupby("group")]
    scales, labels = (
        [plan.fitted.all_scales[name] for name in public],
        {k for k, n in enumerate(public) if n in ("job", "pet")},
    )
    assert can_couple_labels(*laws, 1.0 + 1e-9, scales, labels)
    assert not can_couple_labels(*laws, 0.97, scales, labels)
    assert plan.theorem == "kantorovich"
    certificate = certificate_of(plan.release(frame))
    assert compose([certificate, certificate_of(plan.release(frame))]).epsilon == pytest.approx(2.0, abs=1e-9)
    caps = {name: found["cap"] for name, found in certificate.channels.items()}
    assert caps == pytest.approx({name: 1 / plan.fitted.all_scales[name] for name in public if name in ("job", "pet")})


def test_more_than_four_columns():
    frame, public = people(2), ["x", "job", "pet", "y", "z"]
    plan = puffer_frames.calibrate(frame, secret="group", public=public, epsilon=1.0, mechanism="noise")
    assert plan.theorem == "kantorovich"
    laws = [law(part, public) for _, part in frame.groupby("group")]
    scales = [plan.fitted.all_scales[name] for name in public]
    assert can_couple_labels(*laws, 1.0 + 1e-9, scales, {1, 2})
    found = plan.choices["x"].verified["empirical"].pure_loss
    assert 0 < found.lower <= found.upper <= 1.0


@sweep(20, 400)
def test_distances_of_boxes_with_labels(count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        ratios, columns = rng.uniform(0.3, 3, 3), {1}
        laws = [
            (np.unique(rng.integers(0, 5, (int(rng.integers(2, 8)), 3)), axis=0).astype(float), None) for _ in range(2)
        ]
        laws = [(points, np.ones(len(points), dtype=np.int64)) for points, _ in laws]
        exact = coupling_distance(*(RowBoxes.of(rows, ratios, most=50, labels=columns) for rows in laws), ratios)
        boxed = coupling_distance(*(RowBoxes.of(rows, ratios, most=3, labels=columns) for rows in laws), ratios)
        assert boxed >= exact
        sides = [{tuple(row): 1 / len(points) for row in points} for points, _ in laws]
        assert can_couple_labels(*sides, exact + 1e-9, ratios, columns)
        assert not can_couple_labels(*sides, exact * (1 - 1e-9) - 1e-9, ratios, columns)


@pytest.mark.parametrize("options", [{}, {"mechanism": Noise("gaussian", theorem="bounded"), "delta": 1e-5}], ids=str)
def test_noise_for_ranges_hides_any_two_rows(options):
    frame, public = people(3), ["x", "job", "pet"]
    plan = puffer_frames.calibrate(
        frame, secret="group", public=public, epsilon=1.2, **{"mechanism": Noise(theorem="bounded")} | options
    )
    assert plan.theorem == "bounded"
    scales = plan.fitted.all_scales
    assert scales["job"] == scales["pet"] == pytest.approx(3 / 1.2)
    if not options:
        reach = np.ptp(frame["x"]) / scales["x"] + 1 / scales["job"] + 1 / scales["pet"]
        assert 1.19 < reach <= 1.2
        first, second = (certificate_of(plan.release(frame)) for _ in range(2))
        assert compose([first, second]).epsilon == pytest.approx(2.4)
    wide = frame.assign(x=frame["x"] * 3)
    with pytest.raises(CalibrationError, match="wider range"):
        plan.release(wide, allow_other_frame=True)


def test_units_of_which_nothing_is_assumed():
    frame = people(4).assign(who=np.arange(240) % 120)
    frame["group"] = frame["group"].to_numpy()[frame["who"]]
    plan = puffer_frames.calibrate(
        frame, secret="group", public=["x", "job"], epsilon=1.0, unit=Unit("who", rows="any", most=2)
    )
    scales = plan.fitted.all_scales
    assert 2 * (np.ptp(frame["x"]) / scales["x"] + 1 / scales["job"]) <= 1.0
    assert scales["job"] == pytest.approx(4.0)
    released = plan.release(frame, layout=Layout(shuffle=True))
    assert set(released["job"]) <= {"clerk", "cook", "smith"}
    assert certificate_of(released).unit == "who"


@pytest.mark.parametrize(
    "kind", thinned(("pandas", "polars", "polars-lazy", "pyarrow", "duckdb"), few=("polars-lazy",)), indirect=True
)
def test_every_kind_of_frame(make_frame):
    frame = people(5)
    columns = {name: frame[name].tolist() for name in frame}
    options = {"secret": "group", "public": ["x", "job", "pet", "y", "z"], "epsilon": 1.0, "mechanism": "noise"}
    made = puffer_frames.calibrate(make_frame(columns), **options)
    assert made.fitted.all_scales == puffer_frames.calibrate(frame, **options).fitted.all_scales
    assert certificate_of(run(made.release(make_frame(columns)))).channels.keys() == {"job", "pet"}


def test_released_labels_have_the_law_of_randomised_response():
    frame = pd.concat([people(6)] * 40, ignore_index=True).sample(frac=1.0, random_state=1, ignore_index=True)
    plan = puffer_frames.calibrate(
        frame, secret="group", public=["job", "pet"], epsilon=2.0, mechanism=Noise(theorem="kantorovich")
    )
    released = plan.release(frame, rng=3)
    for name, levels in (("job", 3), ("pet", 2)):
        kept = 1 / (1 + (levels - 1) * math.exp(-1 / plan.fitted.all_scales[name]))
        seen = (released[name].to_numpy() == frame[name].to_numpy()).mean()
        assert abs(seen - kept) < 5 * math.sqrt(kept * (1 - kept) / len(frame))
    assert len(list(itertools.product(*plan.fitted.levels.values()))) == 6
