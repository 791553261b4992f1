"""Large columns are counted in cells: the guarantee is that of the exact values."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, thinned
from summaries import summary_of

from puffer_frames import Noise, Stable, WeakGuaranteeWarning
from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale, w_infinity
from puffer_frames.errors import PriorError
from puffer_frames.frames import summary
from puffer_frames.loss import displaced
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.displaced import CellMeansLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.noises import stable_noise
from puffer_frames.loss.noises.stable_noise import GaussianCellMeansLoss
from puffer_frames.mechanisms.noise import fitted, rows_seen
from puffer_frames.noise.families import GAUSSIAN, LAPLACE
from puffer_frames.papers import kantorovich_scale
from puffer_frames.priors.prior import MEANS_ERROR, middles, observed_priors
from puffer_frames.priors.summary import in_wider_cells
from puffer_frames.scales import learned
from puffer_frames.scales.beliefs import learn

ROWS = 200_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, ROWS)
    return {"group": np.array(list("abc"))[group], "value": rng.standard_t(4, ROWS) * (1 + 0.2 * group) + 0.5 * group}


def raw_priors(table):
    return {g: Prior.empirical(table["value"][table["group"] == g]) for g in "abc"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_cells_hold_every_value(table, make):
    found = summary_of(make(table), secret=["group"], public="value")
    assert found.radius > 0
    for label, (values, counts) in found.counts.items():
        own = np.sort(table["value"][table["group"] == label])
        assert counts.sum() == own.size
        assert np.abs(np.repeat(middles(values, found.radius), counts) - own).max() <= found.radius
        assert_means(values, counts, own, 2 * found.radius)


def assert_means(values, counts, own, width):
    """Each value is the mean of those in its cell, within `MEANS_ERROR` of its width."""
    cells, rows = np.unique(np.floor(own / width), return_counts=True)
    assert np.array_equal(np.floor(values / width), cells)
    assert np.array_equal(rows, counts)
    sums = np.add.reduceat(own, np.cumsum(rows) - rows)
    assert np.abs(sums / rows - values).max() <= MEANS_ERROR * width


def test_libraries_count_alike_and_few_values_exactly(table):
    frames = pd.DataFrame(table), pl.DataFrame(table), pl.DataFrame(table).sample(fraction=1.0, shuffle=True, seed=1)
    sums = {summary_of(frame, secret=["group"], public="value").checksum() for frame in frames}
    assert len(sums) == 1
    rng = np.random.default_rng(4)
    many = {"group": rng.choice(list("ab"), ROWS), "value": rng.integers(0, 1000, ROWS) / 7}
    assert summary_of(pl.DataFrame(many), secret=["group"], public="value").radius == 0
    small = {"group": rng.choice(list("ab"), 1000), "value": rng.normal(size=1000)}
    assert summary_of(pl.DataFrame(small), secret=["group"], public="value").radius == 0


@pytest.mark.parametrize(("delta", "theorem"), thinned([0.0, 1e-6], ["kantorovich", "gaussian"]))
def test_the_scale_is_private_for_the_exact_values(table, delta, theorem):
    frame = pl.DataFrame(table)
    plan = frame.puffer.calibrate(
        secret="group", public="value", epsilon=0.8, delta=delta, mechanism=Noise(theorem=theorem)
    )
    exact = raw_priors(table)
    for a, b in ("ab", "ac", "bc"):
        if delta:
            assert hockey_stick(exact[a], exact[b], epsilon=0.8, scale=plan.scale).upper <= delta
        else:
            assert pure_loss(exact[a], exact[b], scale=plan.scale).upper <= 0.8
    least = smallest_scale(exact, epsilon=0.8, delta=delta)
    assert plan.scale_per_belief["empirical"] <= least * (1.001 if delta == 0 else 1.003)


@pytest.mark.parametrize("few_rows", [0, 1 << 18])
def test_gaussian_noise_is_that_of_the_exact_values(monkeypatch, table, few_rows):
    """From the means of cells, and for few rows from the values."""
    monkeypatch.setattr(fitted, "_FEW_ROWS", few_rows)
    asked = {"epsilon": 0.8, "delta": 1e-6, "mechanism": Noise("gaussian", theorem="kantorovich")}
    plan = pl.DataFrame(table).puffer.calibrate(secret="group", public="value", **asked)
    exact = privacy_loss(raw_priors(table), noise=GAUSSIAN)
    assert exact.hockey_stick(plan.scale, epsilon=0.8).bracket.upper <= 1e-6
    less = (1 - 1e-5) if few_rows else 0.999
    assert exact.hockey_stick(less * plan.scale, epsilon=0.8).bracket.lower > 1e-6


def test_the_published_scale_covers_the_exact_distance(table):
    plan = pl.DataFrame(table).puffer.calibrate(
        secret="group", public="value", epsilon=0.8, mechanism=Noise(theorem="kantorovich")
    )
    assert plan.published_scale >= kantorovich_scale(raw_priors(table), epsilon=0.8)
    assert "in cells" in " ".join(plan.release(pl.DataFrame(table)).puffer.certificate.assumptions)


@few(1)
@pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN, Stable(alpha=1.5)], ids=lambda family: family.name)
def test_a_radius_is_paid_for(family):
    """Atoms moved within the radius in the worst way: the bracket holds their loss."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        values = [rng.normal(size=6), rng.normal(0.5, 1.0, size=5)]
        radius = 0.01
        known = {k: Prior.empirical(v, radius=radius) for k, v in enumerate(values)}
        bounds = privacy_loss(known, noise=family)
        for _ in range(4):
            moved = {k: Prior.empirical(v + rng.choice([-radius, radius], v.size)) for k, v in enumerate(values)}
            true = privacy_loss(moved, noise=family)
            for scale in (0.5, 2.0):
                if family != GAUSSIAN:
                    found, exact = bounds.pure(scale).bracket, true.pure(scale).bracket
                    assert found.lower <= exact.upper
                    assert exact.lower <= found.upper
                if family.takes_delta:
                    found = bounds.hockey_stick(scale, epsilon=1.0).bracket
                    exact = true.hockey_stick(scale, epsilon=1.0).bracket
                    assert found.lower <= exact.upper
                    assert exact.lower <= found.upper
            assert w_infinity(known[0], known[1]) >= w_infinity(moved[0], moved[1])


def test_values_that_first_look_few(monkeypatch):
    """A column whose first rows are alike, and whose values are then found to be many."""
    monkeypatch.setattr(summary, "EXACT_ROWS", 100)
    monkeypatch.setattr(summary, "MOST_CELLS", 64)
    monkeypatch.setattr(summary, "FEWEST_CELLS", 32)
    value = np.concatenate([np.zeros(200), np.linspace(0, 1, 2000)])
    frame = pl.DataFrame({"group": ["a", "b"] * 1100, "value": value})
    found = summary_of(frame, secret=["group"], public="value")
    assert found.radius == 0.5 / 32  # the largest power of two that gives 64 cells at most, and 32 at least


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_the_order_of_the_rows_does_not_decide(make):
    """A plan releases its rows in any order, also where one order begins with few values."""
    rng = np.random.default_rng(5)
    value = np.sort(np.where(rng.random(ROWS) < 0.4, 0.0, rng.integers(1, 10**6, ROWS)))
    frame = pl.DataFrame({"group": rng.choice(list("ab"), ROWS), "value": value})
    orders = (make(frame.to_dict(as_series=False)), make(frame.sample(fraction=1.0, shuffle=True, seed=1).to_dict()))
    found = [summary_of(order, secret=["group"], public="value") for order in orders]
    assert found[0].checksum() == found[1].checksum()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_domain_may_leave_one_value(table, make):
    found = summary_of(make(table), secret=["group"], public="value", domain=(900.0, 1000.0))
    assert all(values.size == 1 and abs(values[0] - 900.0) <= found.radius for values, _ in found.counts.values())


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_missing_and_infinite_values_are_found(table, make, bad):
    value = table["value"].tolist()
    value[ROWS - 3 :] = [bad] * 3
    frame = make({"group": table["group"], "value": value})
    with pytest.raises(PriorError, match="3 rows with"):
        frame.puffer.calibrate(secret="group", public="value", epsilon=1.0)


def test_cells_are_merged_for_many_secrets(table, monkeypatch):
    """Wider cells for the engine, with a radius that still holds every value; the fit keeps the narrow ones."""
    counts = summary_of(pl.DataFrame(table), secret=["group"], public="value")
    _, _, fine = learn(counts.counts, theorem="kantorovich", radius=counts.radius)
    _, fitted, _ = learn(counts.counts, theorem="gaussian", radius=counts.radius)
    monkeypatch.setattr("puffer_frames.scales.learned.MOST_ENTRIES", 3000)
    _, again, coarse = learn(counts.counts, theorem="gaussian", radius=counts.radius)
    assert again == fitted
    for label, prior in coarse.items():
        own = np.sort(table["value"][table["group"] == label])
        assert prior.in_cells
        assert prior.means.size < fine[label].means.size / 3
        assert_means(prior.means, prior.levels[0], own, 2 * prior.radius)


def standardised(seed):
    rng = np.random.default_rng(seed)
    value = pl.Series(rng.standard_t(3, ROWS))
    return pl.DataFrame({"group": rng.choice(["a", "b"], ROWS), "value": (value - value.mean()) / value.std()})


@few(1)
@pytest.mark.parametrize("seed", [3, 5, 8])
def test_the_last_digits_of_a_standard_deviation_do_not_decide(seed):
    """Of a standardised column every engine finds 1, up to rounding."""
    frame = standardised(seed)
    asked = {
        "secret": "group",
        "public": "value",
        "epsilon": 0.5,
        "mechanism": Noise(theorem="kantorovich"),
        "allow_zero_noise": True,
    }
    orders = frame, frame.lazy(), frame.sample(fraction=1.0, shuffle=True, seed=1), frame.to_pandas()
    assert len({order_.puffer.calibrate(**asked).checksum for order_ in orders}) == 1


def test_huge_values_signs_of_zero_and_clusters():
    rng = np.random.default_rng(0)
    data = {"group": rng.choice(["a", "b"], ROWS), "value": rng.normal(size=ROWS) * 1e299}
    found = [summary_of(make(data), secret=["group"], public="value") for make in (pd.DataFrame, pl.DataFrame)]
    assert found[0].checksum() == found[1].checksum()
    rng = np.random.default_rng(0)
    data = {"group": rng.choice(["a", "b"], 1000), "value": rng.choice([0.0, -0.0, 1.0, 2.0], 1000)}
    frames = pd.DataFrame(data), pl.DataFrame(data), pl.DataFrame(data).reverse()
    sums = {summary_of(frame, secret=["group"], public="value").checksum() for frame in frames}
    plain = pl.DataFrame(data).with_columns(pl.col("value").abs())
    assert sums == {summary_of(plain, secret=["group"], public="value").checksum()}
    # Values that no width separates are counted in so many passes at the most
    values = np.repeat([0.0, 1e300], ROWS // 2) + np.random.default_rng(0).normal(size=ROWS)
    found = summary_of(pd.DataFrame({"group": 1, "value": values}), secret=["group"], public="value")
    assert found.radius >= 0.5 * summary.least_width(0.0, 1e300)


def in_clusters(rng, group):
    return rng.integers(0, 5, ROWS) * 1e4 + 0.01 * (rng.normal(size=ROWS) + 0.3 * group)


def with_an_outlier(rng, group):
    values = rng.normal(size=ROWS) + 0.3 * group
    values[(7, 8, 9),] = 1e6, 1e6, 1e6
    return values


def heavy_tailed(rng, group):
    return rng.standard_cauchy(ROWS) + 0.3 * group


@pytest.mark.parametrize("make", [in_clusters, with_an_outlier, heavy_tailed])
def test_values_that_fill_few_cells_are_counted_in_narrower_ones(make):
    """In cells of equal width between the extremes the noise for clusters was 2,394 times as large."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    values = make(rng, group)
    found = summary_of(pd.DataFrame({"group": group, "value": values}), secret=["group"], public="value")
    assert len(set().union(*(there.tolist() for there, _ in found.counts.values()))) >= summary.FEWEST_CELLS // 2
    ours = {k: Prior.empirical(*found.counts[k], radius=found.radius) for k in (0, 1)}
    exact = {k: Prior.empirical(values[group == k]) for k in (0, 1)}
    assert smallest_scale(ours, epsilon=1.0) == pytest.approx(smallest_scale(exact, epsilon=1.0), rel=0.05)


@few(5)
@pytest.mark.parametrize("shape", ["normal", "lognormal", "Cauchy", "clusters", "an outlier"])
@pytest.mark.parametrize("small", [True, False])
def test_noise_narrower_than_cells_is_counted_again(monkeypatch, shape, small):
    """A delta far above 1 / rows: the second count is of values, or of cells that are narrow against the noise."""
    monkeypatch.setattr(rows_seen, "most_filled", lambda secrets: 1 << 20 if small else 0)
    monkeypatch.setattr(summary, "EXACT_ROWS", 2000)
    monkeypatch.setattr(summary, "MOST_CELLS", 512)
    monkeypatch.setattr(summary, "FEWEST_CELLS", 64)
    rng = np.random.default_rng(2)
    rows = 10_000
    group = rng.integers(0, 2, rows)
    value = {
        "normal": rng.normal(size=rows) + 0.2 * group,
        "lognormal": np.exp(rng.normal(size=rows) + 0.1 * group),
        "Cauchy": rng.standard_cauchy(rows) * (1 + 0.1 * group),
        "clusters": rng.integers(0, 5, rows) * 1e4 + 0.01 * (rng.normal(size=rows) + 0.3 * group),
        "an outlier": np.where(np.arange(rows) == 7, 1e6, rng.normal(size=rows) + 0.2 * group),
    }[shape]
    frame = pl.DataFrame({"group": group, "value": value})
    asked = {
        "secret": "group",
        "public": "value",
        "epsilon": 1.0,
        "delta": 0.01,
        "mechanism": Noise(theorem="kantorovich"),
    }
    with pytest.warns(WeakGuaranteeWarning):
        plan = frame.puffer.calibrate(**asked)
    exact = [Prior.empirical(value[group == k]) for k in (0, 1)]
    assert hockey_stick(*exact, epsilon=1.0, scale=plan.scale).upper <= 0.01
    assert hockey_stick(*exact, epsilon=1.0, scale=(0.99999 if small else 0.96) * plan.scale).lower > 0.01
    other = frame.head(rows - 1)  # is measured in cells as narrow
    released = plan.release(other, allow_other_frame=True, allow_drift=True)
    text = " ".join(str(released.puffer.certificate).split())
    assert text.count("delta between 0.009") == text.count("delta between")
    assert ("delta between 0.009" in text) is not small


def test_cells_without_values_do_not_widen_those_of_many_secrets(monkeypatch):
    """The means in a cell differ between secrets; what counts is how many cells hold values."""
    monkeypatch.setattr(learned, "MOST_ENTRIES", 1 << 12)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"group": rng.integers(0, 20, ROWS), "value": rng.integers(0, 5, ROWS) * 1e4})
    frame["value"] += rng.random(ROWS) * 0.01
    seen = summary_of(frame, secret=["group"], public="value")
    cells_held = {int(cell) for values, _ in seen.counts.values() for cell in np.floor(values / (2 * seen.radius))}
    belief = learned.observed_belief(seen.counts, radius=seen.radius)
    times = 2.0 ** math.ceil(math.log2(20 * len(cells_held) / (1 << 12)))
    assert belief[0].radius == max(1.0, times) * seen.radius < 10


# What the means of cells tell of the loss, beside the exact values: random cells of all noises, and planted faults.
@few(1)
@pytest.mark.parametrize("seed", range(12))
def test_means_of_cells_hold_the_exact_loss(seed):
    """Values anywhere in their cells, wide ones too: the exact loss lies within the bounds."""
    assert outside(60, seed=seed) == 0


def test_faults_of_the_means_are_found(monkeypatch):
    """The oracle can fail: values are taken to lie at the means of their cells."""
    usual = displaced._AtScale.largest_ratio

    def at_means(at, i, least):
        return usual(replace(at, mass=0.0 * at.mass, log_high=at.log_low), i, least)

    monkeypatch.setattr(displaced._AtScale, "largest_ratio", at_means)
    monkeypatch.setattr(displaced._AtScale, "growth", lambda *_: (1.0, 0.0))
    assert outside(60, seed=0) > 10


def random_cells(rng):
    """Values of some secrets: their width of cells, what is known by the means of these, and the exact laws."""
    width = 2.0 ** rng.integers(-4, 3)
    counts, exact = {}, {}
    for secret in range(int(rng.choice([2, 3, 10]))):
        size = int(rng.integers(1, 60))
        values = (
            rng.normal(rng.normal(), rng.choice([0.3, 2.0, 8.0]), size),
            rng.standard_cauchy(size),
            rng.integers(-6, 6, size) + rng.choice([0.0, 0.5, 1 - 1e-9], size),
        )[int(rng.integers(3))] * width
        often = rng.integers(1, 9, size)
        order = np.argsort(values)
        counts |= in_wider_cells({secret: (values[order], often[order])}, radius=width / 2)
        exact[secret] = Prior.empirical(values, often)
    return width, observed_priors(counts, radius=width / 2), exact


def outside(count, *, seed):
    """How many brackets of the means of random cells miss the exact loss."""
    rng, missed = np.random.default_rng(seed), 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        found, true = CellMeansLoss(known, pairs="all"), DiscreteLoss(exact, pairs="all")
        scale, epsilon = width * float(rng.choice([2.01, 5.0, 20.0, 100.0])), float(rng.choice([0.05, 0.3, 1.0]))
        for bound, loss in (
            (found.pure(scale), true.pure(scale)),
            (found.hockey_stick(scale, epsilon=epsilon), true.hockey_stick(scale, epsilon=epsilon)),
        ):
            missed += bound.bracket.lower > loss.bracket.upper or loss.bracket.lower > bound.bracket.upper
    return missed


def outside_gaussian(count, *, seed):
    """The same under Gaussian noise; and how many brackets there are of the means."""
    rng, missed, narrow = np.random.default_rng(seed), 0, 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        found, true = (privacy_loss(laws, noise=GAUSSIAN) for laws in (known, exact))
        scale, epsilon = width * float(rng.choice([4.01, 10.0, 40.0, 300.0])), float(rng.choice([0.05, 0.3, 1.0, 3.0]))
        bound = found.hockey_stick(scale, epsilon=epsilon).bracket
        loss = true.hockey_stick(scale, epsilon=epsilon).bracket
        missed += bound.lower > loss.upper or loss.lower > bound.upper
        coarse = found._coarse.hockey_stick(scale, epsilon=epsilon).bracket
        narrow += bound.upper < coarse.upper
    return missed, narrow


def outside_stable(count, *, seed):
    """The same under stable noise."""
    rng, missed, narrow = np.random.default_rng(seed), 0, 0
    for _ in range(count):
        width, known, exact = random_cells(rng)
        noise = Stable(alpha=float(rng.choice([1.0, 1.4, 1.8])))
        found, true = (privacy_loss(laws, noise=noise) for laws in (known, exact))
        scale = width * float(rng.choice([4.01, 10.0, 40.0, 300.0]))
        bound, loss = (each.pure(scale).bracket for each in (found, true))
        missed += bound.lower > loss.upper or loss.lower > bound.upper
        narrow += bound.upper < found._coarse.pure(scale).bracket.upper
    return missed, narrow


@few(1)
@pytest.mark.parametrize("seed", range(12))
def test_under_stable_noise_the_loss_is_within_what_the_means_of_cells_tell(seed):
    missed, narrow = outside_stable(12, seed=seed)
    assert not missed
    assert narrow > 7


def test_a_planted_fault_of_stable_means_is_found(monkeypatch):
    """As if all values were at the means of their cells."""
    monkeypatch.setattr(stable_noise, "cost_of_means", lambda *_, **__: (0.0, 0.0))
    assert outside_stable(8, seed=0)[0] > 2


@few(1)
@pytest.mark.parametrize("seed", range(4))
def test_under_gaussian_noise_the_loss_is_within_what_the_means_of_cells_tell(seed):
    missed, narrow = outside_gaussian(12, seed=seed)
    assert not missed
    assert narrow > 5


def test_a_planted_fault_of_gaussian_means_is_found(monkeypatch):
    """As if all values were at the means of their cells."""
    made = GaussianCellMeansLoss.__init__

    def init(self, *losses, priors):
        made(self, *losses, priors=priors)
        self._width = self._unsure = 0.0

    monkeypatch.setattr(GaussianCellMeansLoss, "__init__", init)
    assert outside_gaussian(8, seed=0)[0] > 2
