"""Guarantees that condition on columns: the loss in every stratum by direct sums, and the odds by Bayes."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import sweep, table
from joint_oracle import floors_of, on_ray, worst_node

import puffer_frames
from puffer_frames import Strata, certificate_of

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::puffer_frames.errors.{name}")
    for name in ("FewRowsWarning", "WeakGuaranteeWarning", "RowOrderWarning", "KeptColumnWarning")
]

EPSILONS = (0.1, 0.5, 1.0, 3.0)


def random_table(rng, *, given, public):
    """A table of two or three secrets; some of them miss in some of the strata."""
    rows, secrets = int(rng.integers(14, 40)), int(rng.integers(2, 4))
    own = np.concatenate([np.arange(secrets), rng.integers(0, secrets, rows - secrets)])
    strata = {f"z{k}": rng.integers(0, int(rng.integers(2, 4)), rows) for k in range(given)}
    if rng.random() < 0.5:
        strata["z0"] = np.where((own == 0) & (strata["z0"] == 0), 1, strata["z0"])
    shift = rng.integers(-1, 2, (secrets, 4))
    values = rng.integers(0, 4, (rows, public)) + shift[own, strata["z0"]][:, None] * rng.integers(0, 2, public)
    values = values * 10.0 ** rng.integers(-1, 3, public)
    columns = {f"x{k}": values[:, k] for k in range(public)}
    named = {name: np.array(["u", "v", "w"])[each] for name, each in strata.items()}
    return {"s": np.array(["p", "q", "r"])[own], **named, **columns}


def strata_of(rows, given, public):
    """The laws in each stratum: the rows of each secret that occurs there."""
    places = list(zip(*(np.asarray(rows[c]).tolist() for c in given), strict=True))
    values = np.column_stack([np.asarray(rows[c], dtype=float) for c in public])
    found = {}
    for place, secret, row in zip(places, np.asarray(rows["s"]).tolist(), values, strict=True):
        found.setdefault(place, {}).setdefault(secret, []).append(row)
    return {place: {s: np.array(part) for s, part in laws.items()} for place, laws in found.items()}


def meeting(laws, pairs):
    """The pairs of which both secrets occur in a stratum."""
    listed = itertools.combinations(sorted(laws), 2) if isinstance(pairs, str) else pairs
    return [pair for pair in listed if set(pair) <= set(laws)]


def stratum_faults(strata, scales, *, epsilon, public, pairs="all"):
    """The strata whose loss at their scales is above epsilon, and those of no noise."""
    found = []
    for place, laws in strata.items():
        own = [scales[place][c] for c in public]
        if min(own) <= 0:
            found.append(f"no noise in {place}")
            continue
        met = meeting(laws, pairs)
        if met:
            worst = worst_node(laws, own, pairs=met)
            if worst.loss > epsilon * (1 + 1e-9) + worst.rounding:
                found.append(f"loss {worst.loss} of {worst.pair} in {place} at {worst.node}")
    return found


def planned(rows, *, given, epsilon, make=pd.DataFrame, **options):
    public = [c for c in rows if c.startswith("x")]
    plan = puffer_frames.calibrate(
        make(rows), secret="s", public=public, given=given, epsilon=epsilon, allow_zero_noise=True, **options
    )
    columns = given.columns if isinstance(given, Strata) else given
    columns = [columns] if isinstance(columns, str) else list(columns)
    return plan, strata_of(rows, columns, public), public


# --- the loss in every stratum


@sweep(8, 300)
def test_no_stratum_loses_more_than_epsilon(count):
    for seed in range(count):
        rng = np.random.default_rng([1, seed])
        rows = random_table(rng, given=1 + seed % 2, public=1 + seed // 2 % 2)
        given = [c for c in rows if c.startswith("z")]
        epsilon = float(rng.choice(EPSILONS))
        named = sorted(set(rows["s"]))
        pairs = "all" if seed % 3 else [(named[-1], named[0])]
        scale, minimum = ("each", "one")[seed % 5 == 4], int(rng.choice([1, 1, 3, 50]))
        strata = Strata(given if len(given) > 1 else given[0], scale=scale, minimum=minimum)
        make = (pd.DataFrame, pl.DataFrame)[seed % 2]
        if not any(meeting(laws, pairs) for laws in strata_of(rows, given, ["x0"]).values()):
            continue
        plan, laws, public = planned(rows, given=strata, epsilon=epsilon, pairs=pairs, make=make)
        assert set(plan.strata) == set(laws)
        if not any(max(each.values()) for each in plan.strata.values()):
            continue  # released without noise, as was allowed: no stratum needs any
        wrong = stratum_faults(laws, plan.strata, epsilon=epsilon, public=public, pairs=pairs)
        assert not wrong, (rows, strata, epsilon, pairs, wrong)
        if scale == "one":
            assert len({tuple(each.values()) for each in plan.strata.values()}) == 1


def least_scale(laws, pairs, *, epsilon):
    """The least scale of one column in a stratum, by bisection; 0 where none is needed."""
    if (
        not pairs
        or worst_node(laws, [1e-6 * (1 + np.ptp(np.vstack(list(laws.values()))))], pairs=pairs).loss <= epsilon
    ):
        return 0.0
    return float(on_ray(laws, [1.0], [0.0], epsilon=epsilon, pairs=pairs, within=1e-8)[0])


@sweep(4, 150)
def test_a_stratum_that_binds_has_the_least_scale(count):
    binding = 0
    for seed in range(count):
        rng = np.random.default_rng([2, seed])
        rows = random_table(rng, given=1, public=1)
        plan, strata, _ = planned(rows, given=Strata("z0", minimum=1), epsilon=0.3)
        for place, laws in strata.items():
            pairs = meeting(laws, "all")
            least = least_scale(laws, pairs, epsilon=0.3)
            found = plan.strata[place]["x0"]
            assert found >= least * (1 - 1e-7)
            if pairs and least > floors_of(laws, pairs, epsilon=0.3)[0] * (1 + 1e-6):
                binding += 1
                assert found == pytest.approx(least, rel=1e-5), (rows, place)
    assert binding >= count


def test_small_strata_have_noise_for_the_range():
    rng = np.random.default_rng(3)
    for _ in range(4):
        rows = random_table(rng, given=1, public=1)
        plan, strata, _ = planned(rows, given=Strata("z0", minimum=6), epsilon=0.5)
        for place, laws in strata.items():
            if meeting(laws, "all") and min(map(len, laws.values())) < 6:
                ends = {s: np.array([[np.min(rows["x0"])]]) for s in laws}
                ends[next(iter(ends))] = np.array([[np.max(rows["x0"])]])
                assert worst_node(ends, [plan.strata[place]["x0"]]).loss == pytest.approx(0.5, rel=1e-6)


# --- the odds


def densities(laws, scales, points):
    """The density of each secret at released rows, by plain sums."""
    found = {}
    for secret, law in laws.items():
        kernel = np.exp(-np.abs(points[:, None, :] - law[None, :, :]) / scales) / (2 * scales)
        found[secret] = kernel.prod(axis=2).mean(axis=1)
    return found


@sweep(3, 60)
def test_the_odds_given_stratum_and_release(count):
    """T4: for any prior of secret and stratum, y changes the odds given z by at most exp(epsilon)."""
    for seed in range(count):
        rng = np.random.default_rng([4, seed])
        rows = random_table(rng, given=1 + seed % 2, public=1 + seed // 2 % 2)
        given = [c for c in rows if c.startswith("z")]
        plan, strata, public = planned(rows, given=Strata(given, minimum=1), epsilon=0.5)
        if not all(min(each.values()) > 0 for each in plan.strata.values()):
            continue
        cells = [(place, s) for place, laws in strata.items() for s in laws]
        values = np.column_stack([rows[c] for c in public])
        points = np.vstack([values, values[rng.permutation(len(values))] + rng.normal(0, 3, values.shape)])
        for _ in range(3):
            prior = dict(zip(cells, rng.dirichlet(np.full(len(cells), 0.5)), strict=True))
            together = {}  # P(s, z, y), at each y
            for place, laws in strata.items():
                found = densities(laws, np.array([plan.strata[place][c] for c in public]), points)
                together |= {(place, s): prior[place, s] * each for s, each in found.items()}
            for place, laws in strata.items():
                of_stratum = sum(prior[place, s] for s in laws)
                of_release = sum(together[place, s] for s in laws)
                for s, t in itertools.permutations(laws, 2):
                    before = (prior[place, s] / of_stratum) / (prior[place, t] / of_stratum)
                    after = (together[place, s] / of_release) / (together[place, t] / of_release)
                    assert (after <= np.exp(0.5) * before * (1 + 1e-9)).all()


def loss_with_stratum(strata, scales, public):
    """The loss of stratum and release together: what is told by z, and by y given z. Two secrets, in every stratum."""
    totals = {s: sum(len(laws[s]) for laws in strata.values()) for s in next(iter(strata.values()))}
    found, of_strata = [], []
    for place, laws in strata.items():
        own = [scales[place][c] for c in public]
        told = np.log(len(laws["Male"]) / totals["Male"]) - np.log(len(laws["Female"]) / totals["Female"])
        of_strata.append(abs(told))
        for order, sign in ((("Male", "Female"), 1), (("Female", "Male"), -1)):
            found.append(worst_one_way(laws, own, order) + sign * told)
    return max(of_strata), max(found)


def worst_one_way(laws, scales, order):
    """The largest log ratio of the density of the first secret to that of the second, at all nodes of one column."""
    nodes = np.unique(np.vstack(list(laws.values())))[:, None]
    found = densities(laws, np.array(scales), nodes)
    return float(np.log(found[order[0]] / found[order[1]]).max())


# --- the reference numbers of adult.data


COLUMNS = {"age": 0, "workclass": 1, "education": 3, "race": 8, "sex": 9, "hours": 12}


@pytest.fixture(scope="module")
def census():
    people = table("adult.data", header=None, skipinitialspace=True, usecols=list(COLUMNS.values()))
    return people.set_axis(list(COLUMNS), axis=1)


def row_mean(people, given, plan, public):
    counts = people[given].value_counts()
    return sum(int(counts[place]) * each[public] for (place,), each in plan.strata.items()) / len(people)


def census_strata(people, given, secret, public):
    rows = {"s": people[secret].to_numpy(), given: people[given].to_numpy(), public: people[public].to_numpy()}
    return strata_of(rows, [given], [public])


def test_hours_by_sex_given_education(census):
    options = {"secret": "sex", "public": "hours", "epsilon": 1.0}
    lowest = census[census["education"] == "1st-4th"]
    assert puffer_frames.calibrate(lowest, **options).scale == pytest.approx(14.464856, abs=1e-6)
    each = puffer_frames.calibrate(census, given=Strata("education", minimum=1), **options)
    one = puffer_frames.calibrate(census, given=Strata("education", scale="one"), **options)
    scales = [found["hours"] for found in each.strata.values()]
    assert (min(scales), max(scales)) == pytest.approx((2.79, 14.464856), abs=2e-3)
    assert row_mean(census, "education", each, "hours") == pytest.approx(8.26, abs=5e-3)
    assert set(one.scales.values()) == {one.strata["1st-4th",]["hours"]}
    assert one.scale == pytest.approx(14.464856, abs=1e-6)
    assert certificate_of(one.release(census)).scales == one.scales
    strata = census_strata(census, "education", "sex", "hours")
    for plan in (each, one):
        assert not stratum_faults(strata, plan.strata, epsilon=1.0, public=["hours"])
    wide = puffer_frames.calibrate(census, given="education", **options)
    assert not stratum_faults(strata, wide.strata, epsilon=1.0, public=["hours"])
    assert wide.strata["1st-4th",]["hours"] == pytest.approx(98, rel=1e-6)  # 46 women: fewer than 50
    # What education tells by itself comes on top of it.
    assert loss_with_stratum(strata, one.strata, ["hours"]) == pytest.approx((0.9557, 1.2708), abs=1e-4)
    assert loss_with_stratum(strata, each.strata, ["hours"]) == pytest.approx((0.9557, 1.955703), abs=1e-4)


def test_age_by_race_given_workclass(census):
    options = {"secret": "race", "public": "age", "epsilon": 1.0}
    one = puffer_frames.calibrate(census, given=Strata("workclass", scale="one"), **options)
    each = puffer_frames.calibrate(census, given=Strata("workclass", minimum=1), **options)
    assert one.scale == pytest.approx(46.0, abs=1e-3)
    assert row_mean(census, "workclass", each, "age") == pytest.approx(9.67, abs=5e-3)
    strata = census_strata(census, "workclass", "race", "age")
    for plan in (one, each):
        assert not stratum_faults(strata, plan.strata, epsilon=1.0, public=["age"])


# --- planted faults


def test_a_scale_of_all_rows_is_found_to_fail_in_strata(census):
    strata = census_strata(census, "education", "sex", "hours")
    alone = puffer_frames.calibrate(census, secret="sex", public="hours", epsilon=1.0).scale
    assert alone == pytest.approx(6.495, abs=1e-3)
    assert worst_node(strata["1st-4th",], [alone]).loss == pytest.approx(4.52, abs=5e-3)
    taken = {place: {"hours": alone} for place in strata}
    assert any("1st-4th" in fault for fault in stratum_faults(strata, taken, epsilon=1.0, public=["hours"]))
    strata = census_strata(census, "workclass", "race", "age")
    losses = [worst_node(laws, [8.262], pairs=meeting(laws, "all")).loss for laws in strata.values()]
    assert max(losses) == pytest.approx(5.57, abs=5e-3)


def test_the_scale_of_another_stratum_and_a_smaller_one_are_found():
    rng = np.random.default_rng(5)
    rows = random_table(rng, given=1, public=2)
    plan, strata, public = planned(rows, given=Strata("z0", minimum=1), epsilon=0.2)
    assert not stratum_faults(strata, plan.strata, epsilon=0.2, public=public)
    low = {place: {c: 0.9 * b for c, b in each.items()} for place, each in plan.strata.items()}
    assert stratum_faults(strata, low, epsilon=0.2, public=public)
    least = min(plan.strata.values(), key=lambda each: each["x0"])
    assert stratum_faults(strata, dict.fromkeys(strata, least), epsilon=0.2, public=public)
    bare = {place: {"x0": 0.0, "x1": 1.0} for place in strata}
    assert stratum_faults(strata, bare, epsilon=0.2, public=public)[0].startswith("no noise")


# Labels beside numbers, in strata: the loss in each stratum by direct sums, from the numbers of the certificate.
def people(seed, rows=900):
    rng = np.random.default_rng(seed)
    town, group = rng.choice(["east", "north", "west"], rows, p=[0.6, 0.35, 0.05]), rng.choice(["a", "b"], rows)
    hours = rng.integers(0, 6, rows) + 2.0 * (group == "a") * (town == "east")
    job = np.where(rng.random(rows) < 0.3 + 0.3 * (group == "b"), "clerk", rng.choice(["cook", "smith"], rows))
    return {"town": town, "group": group, "hours": hours, "job": job}


def loss_in(part, scale, cap):
    """Largest |log-ratio| over released rows: Laplace noise and randomised response of single rows, summed directly."""
    laws = {s: one.groupby(["hours", "job"]).size() / len(one) for s, one in part.groupby("group")}
    worst = 0.0
    for y, label in itertools.product(sorted(part["hours"].unique()), sorted(part["job"].unique())):
        density = [
            sum(w * math.exp(-abs(y - x) / scale - cap * (label != own)) for (x, own), w in law.items())
            for law in laws.values()
        ]
        worst = max(worst, abs(math.log(density[0] / density[1])))
    return worst


@pytest.mark.parametrize("seed", range(3))
def test_each_stratum_is_within_epsilon(seed):
    frame = pd.DataFrame(people(seed))
    released = frame.puffer.privatize(
        secret="group", public=["hours", "job"], given=Strata("town", minimum=30), epsilon=1.0, rng=1
    )
    certificate = certificate_of(released)
    small = 0
    for found in certificate.strata:
        (town,), scale, cap = found["given"], found["scales"]["hours"], found["caps"]["job"]
        part = frame[frame["town"] == town]
        loss = loss_in(part, scale, cap)
        assert loss <= 1.0
        if part.groupby("group").size().min() < 30:
            small += 1
            assert cap <= 0.5
            assert scale >= 2 * np.ptp(frame["hours"])
        else:
            assert loss > 0.9 or (scale <= 0.5 and cap >= 1.9)  # at its least, or at the least noise there is
    assert small == 1
    assert certificate.scales["hours"] == max(s["scales"]["hours"] for s in certificate.strata)
    assert certificate.channels["job"]["cap"] == max(s["caps"]["job"] for s in certificate.strata)


def test_one_scale_is_enough_for_all():
    frame = pd.DataFrame(people(3))
    certificate = certificate_of(
        frame.puffer.privatize(
            secret="group", public=["job", "hours"], given=Strata("town", scale="one"), epsilon=1.0, rng=1
        )
    )
    assert certificate.strata == ()
    losses = [
        loss_in(p, certificate.scales["hours"], certificate.channels["job"]["cap"]) for _, p in frame.groupby("town")
    ]
    assert max(losses) <= 1.0


def test_labels_keep_as_often_as_their_stratum_says():
    frame = pd.DataFrame(people(4, rows=40_000))
    released = frame.puffer.privatize(secret="group", public=["hours", "job"], given="town", epsilon=0.7, rng=1)
    shares = set()
    for found in certificate_of(released).strata:
        mine = (frame["town"] == found["given"][0]).to_numpy()
        kept = 1 / (1 + 2 * math.exp(-found["caps"]["job"]))
        seen = (released["job"].to_numpy() == frame["job"].to_numpy())[mine].mean()
        assert abs(seen - kept) < 5 * math.sqrt(kept * (1 - kept) / mine.sum())
        shares.add(round(kept, 6))
    assert len(shares) > 1
