"""Sets of laws against linear programs over laws on a fine grid, and laws drawn from the sets.

The oracle shares no code with the library: it builds bands by their definition, a largest or smallest density by a
linear program, and scans y.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep
from scipy.optimize import linprog
from scipy.stats import beta, norm
from sequence_oracle import influence

import puffer_frames.loss.sets as engine
from puffer_frames import Noise, Stable, calibrate
from puffer_frames.loss.noises.coupled import CoupledSetsLoss
from puffer_frames.loss.sets import GaussianSetsLoss, Intervals, LaplaceSetsLoss
from puffer_frames.papers.quilt.scales import _contractions, _diameters
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.markov import ChainBox, chains_not_refuted
from puffer_frames.scales.learned import Contamination, Population

ALPHA = 0.1


def kernel(distance, scale):
    return np.exp(-np.abs(distance) / scale)


def ranks_of(n):
    """1, 2, 3, ... in steps of ratio 1.1, and their mirrors."""
    found = [1]
    while found[-1] <= (n + 1) // 2:
        found.append(max(found[-1] + 1, math.floor(found[-1] * 1.1)))
    lower = found[:-1]
    return sorted({*lower, *(n + 1 - i for i in lower)})


class Band:
    """Bounds of a distribution function, from a sample, by definition."""

    def __init__(self, sample, low, high, alpha):
        x, n = np.sort(sample), len(sample)
        ranks = ranks_of(n)
        tail = alpha / len(ranks) / 2
        self.steps = [(x[i - 1], beta.ppf(tail, i, n + 1 - i), beta.isf(tail, i, n + 1 - i)) for i in ranks]
        self.low, self.high = low, high

    def cdf_least(self, x):
        return 1.0 if x >= self.high else max([0.0, *(least for at, least, _ in self.steps if x >= at)])

    def cdf_most(self, x):
        return 0.0 if x < self.low else min([1.0, *(most for at, _, most in self.steps if x < at)])

    def constraints(self, grid):
        """Rows and right sides of A p <= b for probabilities on a grid."""
        below = np.tril(np.ones((grid.size, grid.size)))
        most = np.array([self.cdf_most(x) for x in grid])
        least = np.array([self.cdf_least(x) for x in grid])
        return np.vstack([below, -below]), np.concatenate([most, -least])

    def quantile_ends(self, levels):
        """Smallest and largest quantile, by the definition of the infimum."""
        points = np.unique([self.low, self.high, *(at for at, _, _ in self.steps)])
        most = np.array([self.cdf_most(x) for x in points])
        least = np.array([self.cdf_least(x) for x in points])
        return (points[[int(np.argmax(cdf >= u - 1e-15)) for u in levels]] for cdf in (most, least))

    def draw(self, rng, pieces=60):
        """A law in the band: a monotone quantile between both ends."""
        levels = (np.arange(pieces) + 0.5) / pieces
        low, high = self.quantile_ends(levels)
        share = rng.beta(0.3, 0.3, pieces) if rng.random() < 0.5 else np.full(pieces, rng.random())
        return np.maximum.accumulate(low + share * (high - low)), np.full(pieces, 1 / pieces)


class Contaminated:
    """(1 - share) of the frequencies of a sample, the rest anything on the domain."""

    def __init__(self, sample, low, high, share):
        self.values, counts = np.unique(sample, return_counts=True)
        self.weights, self.share, self.low, self.high = counts / counts.sum(), share, low, high

    def constraints(self, grid):
        least = np.zeros(grid.size)
        np.add.at(least, np.searchsorted(grid, self.values), (1 - self.share) * self.weights)
        return -np.eye(grid.size), -least

    def draw(self, rng):
        free = rng.uniform(self.low, self.high, 3)
        parts = rng.dirichlet([0.3] * 3) * self.share
        return np.append(self.values, free), np.append((1 - self.share) * self.weights, parts)


def extreme(belief, grid, y, scale, *, largest):
    rows, sides = belief.constraints(grid)
    k = kernel(y - grid, scale)
    sign = -1.0 if largest else 1.0
    found = linprog(sign * k, A_ub=rows, b_ub=sides + 1e-12, A_eq=np.ones((1, grid.size)), b_eq=[1.0], bounds=(0, None))
    assert found.status == 0
    return sign * found.fun


def loss_at(y, one, other, grid, scale):
    most = extreme(one, grid, y, scale, largest=True)
    return math.log(most / extreme(other, grid, y, scale, largest=False))


def random_case(rng):
    """Two beliefs, the sets that the library makes of them, a scale."""
    low, high = 0.0, float(rng.integers(4, 9))
    samples = [np.round(rng.uniform(low, high, rng.integers(6, 40)) * 2) / 2 for _ in range(2)]
    samples[1] = np.clip(samples[1] + rng.integers(0, 3), low, high)
    counts = {name: np.unique(x, return_counts=True) for name, x in zip("st", samples, strict=True)}
    scale = float(rng.uniform(0.5, 4.0))
    if rng.random() < 0.6:
        beliefs = [Band(x, low, high, ALPHA / 2) for x in samples]
        sets = Population(1 - ALPHA).laws(counts, bounds=(low, high), radius=0.0)
    else:
        share = float(rng.uniform(0.02, 0.5))
        beliefs = [Contaminated(x, low, high, share) for x in samples]
        sets = Contamination(share).laws(counts, bounds=(low, high), radius=0.0)
    return beliefs, sets, scale, (low, high)


def check(seed):
    rng = np.random.default_rng(seed)
    beliefs, sets, scale, (low, high) = random_case(rng)
    found = LaplaceSetsLoss(sets, pairs="all").pure(scale).bracket
    assert found.width <= 1e-6
    assert abs(sum(sets["s"].weights) - 1) < 1e-9
    # laws of the sets never lose more
    ys = np.linspace(low - 1, high + 1, 301)[:, None]
    for _ in range(20):
        densities = [(kernel(ys - x, scale) * w).sum(axis=1) for x, w in (belief.draw(rng) for belief in beliefs)]
        assert np.abs(np.log(densities[0] / densities[1])).max() <= found.upper + 1e-9
    # and where the loss is largest a linear program finds it. Every end and midpoint is a point of the grid
    ends = np.concatenate([part for one in sets.values() for part in (one.lows, one.highs)])
    scan = np.unique(np.concatenate([np.linspace(low, high, 161), ends]))
    every = {name: extremes(one, scan, scale) for name, one in sets.items()}
    losses = [np.log(every[a][0] / every[b][1]) for a, b in ("st", "ts")]
    order = int(np.argmax([loss.max() for loss in losses]))
    y = float(scan[losses[order].argmax()])
    grid = np.unique(np.concatenate([np.linspace(low, high, 41), ends, [y]]))
    one, other = beliefs if order == 0 else beliefs[::-1]
    exact = loss_at(y, one, other, grid, scale)
    assert exact <= found.upper + 1e-7
    step = (high - low) / 160
    assert exact >= found.lower - step / scale - 1e-7  # the ratio changes by at most 2/b per unit, on half a step
    at = float(rng.uniform(low, high))
    grid = np.unique(np.concatenate([grid, [at]]))
    assert loss_at(at, one, other, grid, scale) <= found.upper + 1e-7


def extremes(law, y, scale):
    """Largest and smallest density of a set of intervals at y."""
    y = np.asarray(y)[..., None]
    near = np.clip(y, law.lows, law.highs)
    far = np.maximum(np.abs(y - law.lows), np.abs(y - law.highs))
    return kernel(y - near, scale) @ law.weights, kernel(far, scale) @ law.weights


def check_many(count):
    for seed in range(count):
        check(seed)


@sweep(12, 300)
def test_linear_programs_and_drawn_laws_agree(count):
    check_many(count)


def test_oracle_finds_a_band_that_is_too_narrow(monkeypatch):
    def narrower(sets):
        return {
            name: LawSet.of(
                one.weights, one.lows + 0.05 * (one.highs - one.lows), one.highs - 0.05 * (one.highs - one.lows)
            )
            for name, one in sets.items()
        }

    whole = LaplaceSetsLoss.__init__
    monkeypatch.setattr(LaplaceSetsLoss, "__init__", lambda self, sets, /, **rest: whole(self, narrower(sets), **rest))
    with pytest.raises(AssertionError):
        check_many(12)


def test_oracle_finds_a_lost_order(monkeypatch):
    monkeypatch.setattr(LaplaceSetsLoss, "_ends", (np.array([0]), np.array([1])))
    with pytest.raises(AssertionError):
        check_many(12)


def test_oracle_finds_forgotten_midpoints(monkeypatch):
    class AtEnds(Intervals):
        def __init__(self, sets, /):
            ends = [
                LawSet.of(np.repeat(one.weights, 2) / 2, *[np.ravel([one.lows, one.highs], order="F")] * 2)
                for one in sets
            ]
            super().__init__(sets)
            self._far_ends = Intervals.__new__(Intervals)
            Intervals.__init__(self._far_ends, [*sets, *ends])
            self._ends, self._whole = ends, sets

        def at(self, scale, /):
            found = self._far_ends.at(scale)
            k = len(self._whole)
            tables = {name: getattr(found, name)[:k] for name in ("log_a", "slack_a", "log_b", "log_c")}
            return replace(found, **tables, log_d=found.log_d[k:], log_e=found.log_e[k:])

    monkeypatch.setattr(engine, "Intervals", AtEnds)
    with pytest.raises(AssertionError):
        check_many(12)


def test_a_maximum_between_the_values():
    # of s against t the loss is 1.061 at the values and at the middle of the domain, 1.323 in truth
    s, t = (
        Contamination(0.3).laws({0: pair}, bounds=(0.0, 4.5), radius=0.0)[0]
        for pair in ((np.array([0.0]), np.array([1])), (np.array([0.0, 4.0]), np.array([1, 1])))
    )
    scan = np.linspace(0, 4.5, 45001)
    most, least = (extremes(law, scan, 1.0)[k] for k, law in ((0, s), (1, t)))
    loss = LaplaceSetsLoss({"s": s, "t": t}, pairs="all")
    loss._ends = (np.array([0]), np.array([1]))
    found = loss.pure(1.0).bracket
    assert found.upper == pytest.approx(np.log(most / least).max(), abs=1e-6)
    assert found.upper == pytest.approx(1.323, abs=1e-3)


@few(2)
@pytest.mark.parametrize("seed", range(6))
def test_the_hockey_stick_holds_that_of_drawn_laws(seed):
    rng = np.random.default_rng(seed)
    beliefs, sets, scale, (low, high) = random_case(rng)
    epsilon = 0.5 * LaplaceSetsLoss(sets, pairs="all").pure(scale).bracket.upper
    found = LaplaceSetsLoss(sets, pairs="all").hockey_stick(scale, epsilon=epsilon).bracket
    ys = np.linspace(low - 25 * scale, high + 25 * scale, 40001)
    least = 0.0
    for _ in range(15):
        laws = [belief.draw(rng) for belief in beliefs]
        p, q = (sum(w * kernel(ys - x, scale) for x, w in zip(*law, strict=True)) / (2 * scale) for law in laws)
        for one, other in ((p, q), (q, p)):
            least = max(least, float(np.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0), ys)))
    assert least <= found.upper + 1e-6
    both = [[density / (2 * scale) for density in extremes(law, ys, scale)] for law in sets.values()]
    upper = max(
        float(np.trapezoid(np.maximum(both[i][0] - math.exp(epsilon) * both[j][1], 0), ys)) for i, j in ((0, 1), (1, 0))
    )
    assert found.upper == pytest.approx(min(upper, 1.0), abs=5e-6)
    assert found.lower <= found.upper


def hockey_stick_of(p, q, scale, epsilon, *, points=400_001):
    """Of atoms under Laplace noise, by quadrature."""
    atoms = np.concatenate([p[0], q[0]])
    ys = np.linspace(atoms.min() - 30 * scale, atoms.max() + 30 * scale, points)
    f, g = (kernel(ys[:, None] - np.asarray(x), scale) @ w / (2 * scale) for x, w in (p, q))
    return float(np.trapezoid(np.maximum(f - math.exp(epsilon) * g, 0), ys))


@pytest.mark.parametrize(("scale", "epsilon"), [(2.0, 1.0), (1.0, 0.5), (4.0, 1.0)])
@pytest.mark.parametrize("share", [1e-6, 1e-3])
def test_cells_that_are_positive_throughout_count(scale, epsilon, share):
    # both ends of the cell between 20 and 30 exceed, and next to nothing may lie inside it
    weights = np.array([0.9, 0.05, 0.05])
    s = LawSet.of(np.append((1 - share) * weights, share), np.array([0.0, 20, 30, 0]), np.array([0.0, 20, 30, 30]))
    t = LawSet.of(np.array([1 - share, share]), np.array([0.0, 0]), np.array([0.0, 30]))
    found = LaplaceSetsLoss({"s": s, "t": t}, pairs="all").hockey_stick(scale, epsilon=epsilon).bracket
    true = hockey_stick_of((np.array([0.0, 20, 30]), weights), (np.array([0.0]), np.ones(1)), scale, epsilon)
    assert found.upper >= true - 1e-6 - 2 * share
    assert found.upper <= true + 30 * share + 1e-6
    assert found.lower <= found.upper


@few(1)
@pytest.mark.filterwarnings("ignore::puffer_frames.WeakGuaranteeWarning")
@pytest.mark.parametrize("delta", [0.04, 0.05, 0.08])
def test_no_superset_of_the_frequencies_needs_less_noise(delta):
    count = 20_000
    values = [0] * (count * 9 // 10) + [20] * (count // 20) + [30] * (count // 20) + [0] * count
    people = pd.DataFrame({"who": ["a"] * count + ["b"] * count, "x": values})
    beliefs = ("empirical", "population", Contamination(1e-6), Contamination(0.01))
    for noise in ("laplace", "gaussian"):
        plan = calibrate(
            people, secret="who", public="x", epsilon=1.0, delta=delta, beliefs=beliefs, mechanism=Noise(noise)
        )
        needs = plan.scale_per_belief
        assert min(needs.values()) >= needs["empirical"] * (1 - 1e-6)
        rows = plan.robustness().set_index("belief")
        assert rows.loc["population", "loss"] >= rows.loc["empirical", "loss"] * (1 - 1e-6)


@few(13)
@pytest.mark.parametrize("seed", range(40))
def test_sets_lose_at_least_what_their_laws_do(seed):
    """Intervals of any kind, with a delta: laws at the ends, which a set holds, against the upper bound."""
    rng = np.random.default_rng(seed)
    laws = {}
    for name in "st":
        size = int(rng.integers(2, 6))
        lows = rng.choice([0.0, 5, 10, 20, 30], size)
        weights = rng.dirichlet(np.full(size, 0.5)) * (1 - 1e-4)
        laws[name] = LawSet.of(
            np.append(weights, 1e-4), np.append(lows, 0.0), np.append(lows + rng.choice([0.0, 0, 3], size), 30.0)
        )
    scale, epsilon = float(10 ** rng.uniform(-0.3, 1)), float(rng.uniform(0.05, 2))
    found = LaplaceSetsLoss(laws, pairs="all").hockey_stick(scale, epsilon=epsilon).bracket
    worst = 0.0
    for one, other in ("st", "ts"):
        for p, q in ((a, b) for a in ("lows", "highs") for b in ("lows", "highs")):
            pair = [(getattr(laws[name], ends), laws[name].weights) for name, ends in ((one, p), (other, q))]
            worst = max(worst, hockey_stick_of(*pair, scale, epsilon, points=40_001))  # good to 1e-6
    assert worst <= found.upper + 1e-5


# Sets of laws under other noise than Laplace's, and boxes of chains, against laws and chains drawn from them.
def random_set(rng, high):
    """Intervals in the order of a band, or as they come."""
    size = int(rng.integers(1, 12))
    ends = np.sort(rng.uniform(0, high, (2, size)), axis=0)
    if rng.random() < 0.5:
        ends = np.sort(ends, axis=1)
    return LawSet.of(rng.dirichlet(np.ones(size)), *np.round(ends, 1))


def drawn_law(rng, law):
    """Atoms of a law of the set: in each interval a mixture of some points, often of its ends."""
    share = rng.choice([0.0, 1.0, rng.random()], size=(3, law.weights.size))
    parts = rng.dirichlet(np.ones(3), law.weights.size).T
    return (law.lows + share * (law.highs - law.lows)).ravel(), (law.weights * parts).ravel()


def density(ys, atoms, weights, scale):
    return norm.pdf((ys[:, None] - atoms) / scale) @ weights / scale


@sweep(25, 200)
def test_gaussian_noise_holds_drawn_laws_and_is_near_the_integral(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        high = float(rng.integers(2, 9))
        laws = {name: random_set(rng, high) for name in "st"}
        scale, epsilon = float(rng.uniform(0.5, 4)), float(rng.uniform(0.1, 2))
        found = GaussianSetsLoss(laws, pairs="all").hockey_stick(scale, epsilon=epsilon).bracket.upper
        ys = np.linspace(-8 * scale, high + 8 * scale, 3001)
        step, factor = ys[1] - ys[0], math.exp(epsilon)
        for _ in range(8):
            p, q = (density(ys, *drawn_law(rng, law), scale) for law in laws.values())
            for one, other in ((p, q), (q, p)):
                assert np.maximum(one - factor * other, 0).sum() * step <= found + 1e-9
        extremes = []
        for law in laws.values():
            near = np.maximum(np.maximum(law.lows - ys[:, None], ys[:, None] - law.highs), 0)
            far = np.maximum(np.abs(ys[:, None] - law.lows), np.abs(ys[:, None] - law.highs))
            extremes.append([norm.pdf(away / scale) @ law.weights / scale for away in (near, far)])
        whole = max(np.maximum(extremes[i][0] - factor * extremes[j][1], 0).sum() * step for i, j in ((0, 1), (1, 0)))
        assert found <= min(1.0, whole) * 1.05 + 1e-6


def test_gaussian_noise_on_a_grid_of_many_ends():
    rng = np.random.default_rng(3)
    ends = np.sort(np.sort(rng.uniform(0, 8, (2, 900)), axis=0), axis=1)
    laws = {"s": LawSet.of(np.full(900, 1 / 900), *ends), "t": LawSet.of(np.full(900, 1 / 900), *(ends + 1.0))}
    found = GaussianSetsLoss(laws, pairs="all").hockey_stick(3.0, epsilon=0.3).bracket.upper
    ys = np.linspace(-24, 33, 3001)
    p, q = (
        density(ys, atoms, law.weights, 3.0)
        for atoms, law in ((laws["s"].lows, laws["s"]), (laws["t"].highs, laws["t"]))
    )
    exact = np.maximum(q - math.exp(0.3) * p, 0).sum() * (ys[1] - ys[0])
    assert exact <= found <= 1.6 * exact  # one law need not be the worst everywhere


@sweep(20, 200)
def test_stable_noise_holds_drawn_laws(count):
    noise = Stable(alpha=1.5)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        high = float(rng.integers(2, 9))
        laws = {name: random_set(rng, high) for name in "st"}
        scale = float(rng.uniform(0.5, 4))
        found = CoupledSetsLoss(laws, pairs="all", noise=noise).pure(scale).bracket.upper
        ys = np.linspace(-8 * scale, high + 8 * scale, 401)
        for _ in range(5):
            logs = [
                np.log(np.exp(noise.at(scale).log_density(np.abs(ys[:, None] - atoms))) @ weights)
                for atoms, weights in (drawn_law(rng, law) for law in laws.values())
            ]
            assert np.abs(logs[0] - logs[1]).max() <= found + 1e-6


def drawn_matrix(rng, box):
    """A transition matrix of a box, entries often at their bounds."""
    for _ in range(1000):
        share = rng.choice([0.0, 1.0, rng.random()], size=box.least.shape)
        rows = box.least + share * (box.most - box.least)
        rows[:, -1] = 1 - rows[:, :-1].sum(axis=1)
        if ((rows >= box.least - 1e-12) & (rows <= box.most + 1e-12)).all():
            return rows
    return None


def box_about(rng, states):
    rows = 0.5 * rng.dirichlet(np.ones(states), states) + 0.5 / states
    width = rng.uniform(0.005, 0.1)
    return ChainBox(least=np.maximum(rows - width, 1e-3), most=np.minimum(rows + width, 1.0))


@sweep(12, 150)
def test_every_chain_of_a_box_tells_no_more(count):
    tried = 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        box = box_about(rng, 2 + seed % 2)
        bounds = _diameters(_contractions(box), np.arange(1, 7))
        for _ in range(4):
            transition = drawn_matrix(rng, box)
            if transition is None:
                continue
            start = rng.dirichlet(np.full(box.states, 0.5))
            for before, after in product((0, 1, 2), (0, 1, 3)):
                quilt = tuple(time for time, there in ((3 - before, before), (3 + after, after)) if there)
                if quilt:
                    told = sum(bounds[away - 1] for away in (before, after) if away)
                    assert influence(transition, start, 6, 3, quilt) <= told + 1e-12
                    tried += 1
    assert tried > 5 * count


@pytest.mark.parametrize("rows", [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]])
@sweep(300, 5000)
def test_the_box_misses_the_matrix_of_at_most_one_series_in_twenty(rows, count):
    rng, transition = np.random.default_rng(2), np.array(rows)
    missed = 0
    for _ in range(count):
        states, uniform = [0], rng.random(int(rng.integers(5, 120)))
        for u in uniform:
            states.append(int(np.searchsorted(np.cumsum(transition[states[-1]]), u, side="right")))
        seen = np.zeros(transition.shape, dtype=np.intp)
        np.add.at(seen, (states[:-1], states[1:]), 1)
        box = chains_not_refuted(seen, alpha=0.05)
        missed += not ((box.least <= transition) & (transition <= box.most)).all()
    assert missed <= count * 0.05 + 2 * math.sqrt(count * 0.05 * 0.95)


def test_the_box_has_the_bounds_of_clopper_and_pearson():
    seen = np.array([[30, 10], [5, 55]])
    box = chains_not_refuted(seen, alpha=0.1)
    tail = 0.1 / (2 * 2 * 100)
    assert box.least[0, 0] == pytest.approx(beta.ppf(tail, 30, 11), rel=1e-6)
    assert box.most[1, 0] == pytest.approx(beta.isf(tail, 6, 55), rel=1e-6)
    assert box.least.sum(axis=1) + box.most.sum(axis=1) == pytest.approx(2.0, abs=1e-6)
