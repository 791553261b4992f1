"""Sums of a unit's rows: bounds against every sum one by one, and laws on a grid against the exact ones."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep, thinned
from oracle import pure_loss as oracle_loss
from scipy import stats

from puffer_frames import Stable
from puffer_frames.core import Prior, smallest_scale, w_infinity
from puffer_frames.errors import CalibrationError
from puffer_frames.loss import presence
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.displaced import DisplacedLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.presence import ABSENT, NOTHING, PresenceLoss, RowsLoss, SumLaw
from puffer_frames.noise.families import GAUSSIAN, LAPLACE
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors import unit_laws
from puffer_frames.priors.transport import rows_diameter, w_infinity_diameter
from puffer_frames.priors.unit_laws import UnitLaws, sum_of_draws
from puffer_frames.scales.search import smallest_scale_of


def random_rows(rng):
    rows = int(rng.integers(2, 6))
    kinds = (
        lambda: rng.normal(size=rows),
        lambda: rng.integers(-9, 10, rows).astype(float),
        lambda: rng.standard_cauchy(rows) * 1e3,
        lambda: rng.normal(size=rows) * 1e-9 + 1e-7,
        lambda: np.round(rng.normal(size=rows), 1),
    )
    return np.sort(kinds[rng.integers(len(kinds))]())


def every_sum(rows):
    return np.array([math.fsum(one) for one in itertools.product(rows.tolist(), repeat=rows.size)])


def law_of(rows, copies=None):
    copies = rows.size if copies is None else copies
    square = copies * np.mean(rows**2) + copies * (copies - 1) * np.mean(rows) ** 2
    return SumLaw.of_rows(rows, np.full(rows.size, 1 / rows.size), copies, spread=math.sqrt(square) or 1.0)


@sweep(40, 1000)
def test_the_mean_lies_between_its_bounds(count):
    rng = np.random.default_rng(1)
    for case in range(count):
        rows = random_rows(rng)
        sums = every_sum(rows)
        law = law_of(rows)
        for scale in np.abs(sums).mean() * 10.0 ** rng.uniform(-0.7, 2, size=3) + 1e-300:
            exact = np.exp(-np.abs(sums) / scale).mean()
            low, high = law.mean_decay(scale)
            assert low <= exact * (1 + 1e-14), case
            assert exact <= high * (1 + 1e-14), case
            assert low >= exact - 1e-4, case


def test_on_a_coarse_grid_the_bound_is_needed(monkeypatch):
    """Without it the sums that were moved would be too near to 0 for some rows."""
    monkeypatch.setattr(presence, "MOST_PLACES", 64)
    rng = np.random.default_rng(2)
    too_high = 0
    for case in range(40):
        rows = rng.normal(size=4)
        rows.sort()
        sums = every_sum(rows)
        law, scale = law_of(rows), np.abs(sums).mean()
        exact, found = (
            np.exp(-np.abs(sums) / scale).mean(),
            law.weights @ np.exp(-np.abs(law.lowest + law.step * np.arange(law.weights.size)) / scale),
        )
        low, high = law.mean_decay(scale)
        assert low <= exact <= high, case
        too_high += found > exact
    assert too_high > 0


@sweep(30, 1000)
def test_presence_of_rows_of_both_signs(count):
    rng = np.random.default_rng(3)
    for case in range(count):
        units = [random_rows(rng) for _ in range(int(rng.integers(1, 4)))]
        starts = np.cumsum([0, *map(len, units)])
        laws = UnitLaws.of_rows(range(len(units)), np.concatenate(units), starts, added=True)
        scale = max(np.abs(every_sum(rows)).mean() for rows in units) * 10.0 ** rng.uniform(-0.3, 1.5) + 1e-300
        worst = max(largest_loss(every_sum(rows), scale) for rows in units)
        bracket = PresenceLoss(laws).pure(scale).bracket
        assert bracket.lower * (1 - 1e-12) - 1e-12 <= worst <= bracket.upper * (1 + 1e-12), case
        assert bracket.upper <= worst * 1.001 + 1e-7, case


def largest_loss(sums, scale):
    """Over outputs beside every sum, beside 0 and far away."""
    outputs = np.unique(np.concatenate([sums, [0.0], np.array([-2, 2]) * np.abs(sums).max()]))
    return max(abs(math.log(np.exp((abs(y) - np.abs(y - sums)) / scale).mean())) for y in outputs)


def test_many_rows_need_the_noise_of_their_sum():
    """A hundred rows of both signs: the bound by their magnitudes needs five times the noise."""
    rows = np.sort(np.random.default_rng(0).normal(size=100))
    laws = UnitLaws.of_rows(["a"], rows, np.array([0, 100]), added=True)
    found = PresenceLoss(laws).pure(8.0).bracket
    assert found.upper < 1.0005 * found.lower + 0.005
    assert 100 * -math.log(np.exp(-np.abs(rows) / 8.0).mean()) > 5 * found.upper


@sweep(25, 400)
def test_sums_on_a_grid_are_within_the_radius(count):
    rng = np.random.default_rng(4)
    with pytest.MonkeyPatch.context() as patch:
        for case in range(count):
            rows = random_rows(rng)
            prior = Prior.empirical(rows)
            exact = sum_of_draws(prior, rows.size)
            patch.setattr(unit_laws, "LARGEST_CONVOLUTION", 64)
            found = sum_of_draws(prior, rows.size)
            patch.undo()
            assert found.means.size <= 2 * 64
            apart = w_infinity(replace(exact, radius=0.0), replace(found, radius=0.0))
            assert apart <= found.radius + exact.radius, case
            reach = rows.size * (rows[-1] - rows[0]) / (64 // rows.size - 2) * (1 + 1 / 32)
            assert found.radius <= 0.5 * reach + 1e-9 * np.abs(found.means).max(), case


def test_the_cost_of_a_shift_is_that_of_the_noise():
    """The curve of Gaussian noise at the epsilon asked for is at most the delta asked for; with less no epsilon is."""
    noise = Gaussian()
    for shift in (1e-6, 0.01, 0.3, 2.0):
        for delta in (0.4, 1e-3, 1e-9, 1e-200):
            epsilon, spent = noise.cost_of_shift_at(shift, delta=delta)
            assert spent <= delta * (1 + 1e-9)
            assert noise.unit(Target(epsilon=epsilon, delta=spent)) * shift <= 1 + 1e-9
            assert epsilon <= noise.cost_of_shift(shift)[0]
    assert noise.cost_of_shift_at(0.01, delta=0.0) == noise.cost_of_shift(0.01)


def test_units_share_one_grid():
    """So that their sums are the same points, and all pairs of units are compared at these alone."""
    rng = np.random.default_rng(5)
    starts = np.arange(0, 61, 20)
    rows = np.concatenate([np.sort(rng.normal(size=20)) for _ in range(3)])
    laws = UnitLaws.of_rows(range(3), rows, starts, added=True).priors()
    points = np.unique(np.concatenate([law.means for law in laws.values()]))
    assert points.size <= 1 << 16
    assert max(law.radius for law in laws.values()) < 0.02
    for unit, law in laws.items():
        own = sum_of_draws(Prior.empirical(rows[20 * unit : 20 * unit + 20]), 20)
        apart = w_infinity(replace(law, radius=0.0), replace(own, radius=0.0))
        assert apart <= law.radius + own.radius


@pytest.mark.parametrize("step", [0.5, 0.01])
def test_many_units_whose_sums_lie_on_a_lattice_need_no_grid(step):
    """Seventy units whose sums are more than fit on a grid, but all among 4,201 points."""
    rng = np.random.default_rng(8)
    sizes = rng.integers(100, 300, 70)
    starts = np.append(0, np.cumsum(sizes))
    rows = np.concatenate([np.sort(rng.integers(-7, 8, n)) for n in sizes]) * step
    laws = UnitLaws.of_rows(range(70), rows, starts, added=True).priors()
    for k in (0, 17):
        law = laws[k]
        own = sum_of_draws(Prior.empirical(rows[starts[k] : starts[k + 1]]), int(sizes[k]))
        assert np.array_equal(law.means, own.means)
        assert np.array_equal(law.weights, own.weights)
        assert law.radius == own.radius < 1e-11


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_many_units_are_replaced_at_the_pure_loss_of_all_pairs(delta):
    """More than 400 different laws: their densities at every sum are compared all at once."""
    rng = np.random.default_rng(6)
    rows = rng.integers(0, 30, (450, 3))
    frame = pd.DataFrame({"unit": np.repeat(np.arange(450), 3), "value": rows.ravel()})
    asked = {"unit": "unit", "value": "value", "protect": "replacement", "epsilon": 0.7, "delta": delta}
    scale = frame.puffer.aggregate(**asked)["scale"].iloc[0]
    sums = rows[:, :, None, None] + rows[:, None, :, None] + rows[:, None, None, :]
    outputs = np.arange(-5, 100)[:, None]
    logs = np.array([np.log(np.exp(-np.abs(outputs - own.ravel()) / scale).sum(axis=1)) for own in sums])
    assert (logs.max(axis=0) - logs.min(axis=0)).max() == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("noise", ["laplace", pytest.param("gaussian", marks=pytest.mark.slow)])
@pytest.mark.parametrize("outlier", [pytest.param(1e3, marks=pytest.mark.slow), 1e9])
def test_units_that_share_an_outlier_need_what_their_rows_differ_by(outlier, noise):
    """The outlier widens the grid of the sums; rows that are drawn together differ by W-infinity at the most."""
    rng = np.random.default_rng(1)
    one = rng.normal(size=12)
    other = one + 0.1 * rng.normal(size=12)
    one[0] = other[0] = outlier
    frame = pd.DataFrame({"unit": np.repeat([0, 1], 12), "value": np.append(one, other)})
    asked = {"unit": "unit", "value": "value", "protect": "replacement", "epsilon": 1.0}
    most = 12 * w_infinity(Prior.empirical(one), Prior.empirical(other))
    if noise == "gaussian":
        asked |= {"noise": noise, "delta": 1e-6}
        most *= Gaussian().unit(Target(epsilon=1.0, delta=1e-6))
    assert frame.puffer.aggregate(**asked)["scale"].iloc[0] <= most * (1 + 1e-5)


@sweep(10, 200)
def test_units_of_unlike_sizes_lie_within_the_coupled_distance(count):
    rng = np.random.default_rng(7)
    for case in range(count):
        units = [random_rows(rng) for _ in range(3)]
        starts = np.cumsum([0, *map(len, units)])
        laws = UnitLaws.of_rows(range(3), np.concatenate(units), starts, added=True)
        sums = [np.sort(every_sum(rows)) for rows in units]
        for one, other in itertools.combinations(sums, 2):
            apart = w_infinity(Prior.empirical(one), Prior.empirical(other))
            assert apart <= laws.coupled_distance(range(3)) * (1 + 1e-12), case


@pytest.mark.parametrize("rows", [142, 143, 2000])
def test_gaussian_noise_for_weights_that_no_float_holds(rows):
    """One row of 1 among zeros: the sum is binomial, and weights below every float are a part of delta."""
    frame = pd.DataFrame({"unit": 0, "value": np.append(np.zeros(rows), 1.0)})
    asked = {"unit": "unit", "value": "value", "epsilon": 1.0, "delta": 1e-6, "noise": "gaussian"}
    scale = frame.puffer.aggregate(**asked)["scale"].iloc[0]
    count = np.arange(60)
    weights = stats.binom.pmf(count, rows + 1, 1 / (rows + 1))
    outputs = np.linspace(-60, 120, 60_001)
    present = (weights[:, None] * stats.norm.pdf(outputs, count[:, None], scale)).sum(axis=0)
    absent = stats.norm.pdf(outputs, 0, scale)
    sticks = [np.trapezoid(np.maximum(p - math.e * q, 0), outputs) for p, q in ((present, absent), (absent, present))]
    assert max(sticks) == pytest.approx(1e-6, rel=0.02)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=lambda noise: noise.name)
@sweep(4, 150)
def test_what_is_moved_at_random_is_paid_for(noise, count):
    """Rows on a grid of few steps, split between two points: the loss of the exact sums lies within the bounds."""
    rng = np.random.default_rng(8)
    too_low = 0
    for case in range(count):
        rows = random_rows(rng)
        prior, k = Prior.empirical(rows), rows.size
        width = float(rows[-1] - rows[0] or 1.0) / int(rng.integers(2, 30))
        law = sum_of_draws(prior, k, width=width, parts=int(rng.choice([2, 16])))
        exact = privacy_loss({0: sum_of_draws(prior, k), 1: NOTHING}, pairs=((0, 1),), noise=noise)
        split = privacy_loss({0: law, 1: NOTHING}, pairs=((0, 1),), noise=noise)
        found = DisplacedLoss(split, radius=0.0, noise=noise, blur=(math.sqrt(k) * width / 2, k * width))
        scales = float(np.abs(every_sum(rows)).mean()) * 10.0 ** rng.uniform(-0.5, 1.5, size=2) + 1e-300
        for scale in scales.tolist():
            for epsilon in (0.05, 0.5, 2.0):
                true = exact.hockey_stick(scale, epsilon=epsilon).bracket
                bounds = found.hockey_stick(scale, epsilon=epsilon).bracket
                assert true.lower <= bounds.upper, case
                assert bounds.lower <= true.upper, case
                bare = privacy_loss({0: replace(law, radius=0.0), 1: NOTHING}, pairs=((0, 1),), noise=noise)
                too_low += bare.hockey_stick(scale, epsilon=epsilon).bracket.upper < true.lower
            true, bounds = exact.pure(scale).bracket, found.pure(scale).bracket
            assert true.lower <= bounds.upper, case
            assert bounds.lower <= true.upper, case
    assert too_low > 0  # the split laws alone say too little


@pytest.mark.slow
def test_gaussian_noise_needs_hardly_more_on_a_grid_than_for_the_sum_itself():
    """A hundred rows, whose sum another grid and a transform of floats give; 0.6 % less noise is not private."""
    values = np.random.default_rng(0).normal(size=160)[60:]
    frame = pd.DataFrame({"unit": 0, "value": values})
    asked = {"unit": "unit", "value": "value", "epsilon": 1.0, "delta": 1e-6, "noise": "gaussian"}
    scale = frame.puffer.aggregate(**asked)["scale"].iloc[0]
    step = 0.05
    low = math.floor(values.min() / step)
    places, shares = np.divmod(values / step - low, 1.0)
    row = np.zeros(1 << 14)
    np.add.at(row, places.astype(int), (1 - shares) / 100)
    np.add.at(row, places.astype(int) + 1, shares / 100)
    weights = np.maximum(np.fft.irfft(np.fft.rfft(row) ** 100), 0)
    sums = step * (100 * low + np.arange(weights.size))
    held = weights > 1e-14
    outputs = np.linspace(-12 * scale, 12 * scale, 3001)

    def delta_of(std):
        present = stats.norm.pdf(outputs[:, None], sums[held], std) @ weights[held]
        absent = stats.norm.pdf(outputs, 0, std)
        pairs = ((present, absent), (absent, present))
        return max(np.trapezoid(np.maximum(p - math.e * q, 0), outputs) for p, q in pairs)

    assert delta_of(scale) <= 1e-6 < delta_of(0.994 * scale)


@pytest.mark.parametrize(
    ("power", "asked"),
    [
        (-900, {}),
        (980, {"protect": "replacement"}),
        *(
            pytest.param(*others, marks=pytest.mark.slow)
            for others in ((980, {}), (-900, {"delta": 1e-6}), (-900, {"protect": "replacement"}))
        ),
    ],
)
def test_values_near_the_ends_of_the_floats(power, asked):
    """Values times a power of two have the same scale, times that power, up to roundings."""
    rows = np.random.default_rng(0).normal(size=28)
    frame = pd.DataFrame({"unit": np.repeat([0, 1], 14), "value": rows})
    asked = {"unit": "unit", "value": "value", "epsilon": 1.0, **asked}
    plain = frame.puffer.aggregate(**asked)["scale"].iloc[0]
    found = frame.assign(value=np.ldexp(rows, power)).puffer.aggregate(**asked)["scale"].iloc[0]
    assert np.ldexp(found, -power) == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("power", [-1030, -1016])
def test_values_near_the_least_normal_float(power):
    """At least the scale of the larger values, or a documented error, and no overflow."""
    rows = np.random.default_rng(0).normal(size=28)
    frame = pd.DataFrame({"unit": np.repeat([0, 1], 14), "value": rows})
    small = frame.assign(value=np.ldexp(rows, power))
    for protect in ("presence", "replacement"):
        asked = {"unit": "unit", "value": "value", "epsilon": 1.0, "protect": protect}
        plain = frame.puffer.aggregate(**asked)["scale"].iloc[0]
        try:
            found = small.puffer.aggregate(**asked)["scale"].iloc[0]
        except CalibrationError:
            continue
        assert np.ldexp(found, -power) >= plain * (1 - 1e-4)


@pytest.mark.parametrize(
    ("noise", "protect"),
    thinned([{}, {"noise": "gaussian", "delta": 1e-6}, {"noise": Stable(alpha=1.5)}], ["presence", "replacement"]),
)
def test_rows_that_are_all_alike(protect, noise):
    """Sums of 80 equal irrational numbers are one number, which no grid is needed for."""
    frame = pd.DataFrame({"unit": np.repeat([0, 1], 80), "value": np.repeat([math.sqrt(2), -math.pi], 80)})
    scale = frame.puffer.aggregate(unit="unit", value="value", epsilon=1.0, protect=protect, **noise)["scale"].iloc[0]
    assert scale == pytest.approx(
        80 * (math.pi + (protect == "replacement") * math.sqrt(2)) * scale_of(**noise), rel=1e-3
    )


def scale_of(noise="laplace", delta=0.0):
    return smallest_scale({0: Prior.empirical([0.0]), 1: Prior.empirical([1.0])}, epsilon=1.0, delta=delta, noise=noise)


# Aggregates against laws of whole sums, worked out user by user, and against the oracle of additive noise.
NEAR = 1e-6


def users(rng, *, count, rows=3, signed=False):
    """A small table: a few integer rows per user."""
    low = -4 if signed else 0
    return {k: rng.integers(low, 6, rng.integers(1, rows + 1)).astype(float) for k in range(count)}


def law_of_sum(draws):
    """Triples of the law of the sum of independent uniform draws."""
    weight = 1 / np.prod([len(values) for values in draws]) if draws else 1.0
    sums = [sum(chosen) for chosen in itertools.product(*draws)]
    return [(weight, float(total), 0.0) for total in sums]


def aggregate(table, **options):
    frame = pd.DataFrame([(k, v) for k, values in table.items() for v in values], columns=["who", "what"])
    return frame.puffer.aggregate(unit="who", value="what", allow_zero_noise=True, **options)


@pytest.mark.parametrize("signed", [False, True])
def test_presence_in_the_whole_sum(signed):
    """The sum of all users, with and without one: private at the released scale, whatever the others are."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        table = users(rng, count=3, signed=signed)
        scale = float(aggregate(table, protect="presence", contribution="draw", epsilon=0.7)["scale"].iloc[0])
        losses = []
        for k in table:
            others = [table[j] for j in table if j != k]
            with_one, without = law_of_sum([table[k], *others]), law_of_sum(others)
            if scale:
                assert oracle_loss(with_one, without, scale=scale) <= 0.7 * (1 + NEAR)
                losses.append(oracle_loss(law_of_sum([table[k]]), [(1.0, 0.0, 0.0)], scale=scale))
        if losses:
            assert max(losses) == pytest.approx(0.7, rel=NEAR)


def test_the_presence_of_a_user_of_several_rows():
    """contribution="rows": the sum of k independent draws."""
    rng = np.random.default_rng(4)
    for signed in (False, True):
        for _ in range(8):
            table = users(rng, count=2, signed=signed)
            scale = float(aggregate(table, contribution="rows", epsilon=0.7)["scale"].iloc[0])
            losses = [
                oracle_loss(law_of_sum([values] * len(values)), [(1.0, 0.0, 0.0)], scale=scale)
                for values in table.values()
            ]
            assert max(losses) <= 0.7 * (1 + NEAR)
            if not signed:
                assert max(losses) == pytest.approx(0.7, rel=NEAR)


def test_replacement():
    rng = np.random.default_rng(5)
    for _ in range(12):
        table = users(rng, count=3, signed=True)
        scale = float(aggregate(table, protect="replacement", contribution="draw", epsilon=0.7)["scale"].iloc[0])
        if not scale:
            continue
        pairs = list(itertools.combinations(table, 2))
        losses = [oracle_loss(law_of_sum([table[a]]), law_of_sum([table[b]]), scale=scale) for a, b in pairs]
        assert max(losses) == pytest.approx(0.7, rel=NEAR)


LAWS = [
    Prior.gaussian(1, 2),
    Prior.gaussian(0, 1),
    Prior.gaussian(-3, 0.5),
    Prior.mixture([0.3, 0.7], [-1, 3], [0, 2]),
    Prior.empirical([-3, 1, 2], [2, 3, 3]),
]


@few(2)
@pytest.mark.parametrize(("law", "epsilon"), thinned(LAWS, [0.2, 1.0, 3.0]))
def test_the_closed_form_of_presence_is_the_loss_of_the_pair(law, epsilon):
    """max(log E e^(D/b), log E e^(-D/b), -log E e^(-|D|/b)), against the engine of pairs and the oracle."""
    closed = PresenceLoss(UnitLaws.of_priors({0: law}))
    pair = privacy_loss({0: law, ABSENT: NOTHING})
    scale = smallest_scale_of(closed, Target(epsilon=epsilon, delta=0.0))
    assert scale == pytest.approx(smallest_scale_of(pair, Target(epsilon=epsilon, delta=0.0)), rel=1e-7)
    triples = list(zip(law.weights, law.means, law.stds))
    assert oracle_loss(triples, [(1.0, 0.0, 0.0)], scale=scale) == pytest.approx(epsilon, rel=1e-5)
    found = closed.pure(scale).bracket
    exact = pair.pure(scale).bracket
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper <= epsilon
    for delta in (1e-2,) if epsilon == 1.0 else (1e-6,):
        with_delta = smallest_scale_of(closed, Target(epsilon=epsilon, delta=delta))
        assert with_delta == pytest.approx(smallest_scale_of(pair, Target(epsilon=epsilon, delta=delta)), rel=1e-7)


def rows_of(rng, *, units, integers):
    sizes = rng.integers(1, 6, units)
    values = rng.integers(0, 9, sizes.sum()).astype(float) if integers else rng.normal(size=sizes.sum())
    starts = np.concatenate([[0], np.cumsum(sizes)])
    parts = [np.sort(values[starts[k] : starts[k + 1]]) for k in range(units)]
    return np.concatenate(parts), starts, {k: Prior.empirical(part) for k, part in enumerate(parts)}


def test_many_units_are_their_pairs():
    """The table of all units gives what the engine of priors gives; on a grid, a bracket that holds it."""
    rng = np.random.default_rng(6)
    for integers in (True, False):
        for _ in range(6):
            values, starts, priors = rows_of(rng, units=40, integers=integers)
            exact, rows = DiscreteLoss(priors, pairs="all"), RowsLoss(list(priors), values, starts)
            for scale in (0.3, 2.0):
                found, expected = rows.pure(scale).bracket, exact.pure(scale).bracket
                assert found.lower == pytest.approx(expected.lower, abs=1e-10)
                assert found.upper == pytest.approx(expected.upper, abs=1e-10)
            assert rows_diameter(values, starts) == w_infinity_diameter(list(priors.values()))


def test_a_grid_of_values_is_paid_for(monkeypatch):
    monkeypatch.setattr("puffer_frames.loss.presence.CELLS", 40 * 64)
    rng = np.random.default_rng(7)
    for _ in range(6):
        values, starts, priors = rows_of(rng, units=40, integers=False)
        exact, rows = DiscreteLoss(priors, pairs="all"), RowsLoss(list(priors), values, starts)
        for scale in (0.3, 2.0, 20.0):
            found, expected = rows.pure(scale).bracket, exact.pure(scale).bracket
            assert found.lower < expected.upper
            assert expected.lower < found.upper
            assert found.width > expected.width
        scale = smallest_scale_of(rows, Target(epsilon=1.0, delta=0.0))
        least = smallest_scale(priors, epsilon=1.0)
        assert least <= scale <= least * 1.1
        assert exact.pure(scale).bracket.upper <= 1.0


def test_sums_of_draws():
    rng = np.random.default_rng(8)
    for copies in (1, 2, 4):
        values = rng.integers(-3, 4, 3).astype(float)
        found = sum_of_draws(Prior.empirical(values), copies)
        expected = {}
        for weight, total, _ in law_of_sum([values] * copies):
            expected[total] = expected.get(total, 0) + weight
        assert dict(zip(found.means, found.weights)) == pytest.approx(expected)
