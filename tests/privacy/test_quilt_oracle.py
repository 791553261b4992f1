"""Quilt histograms and counts against brute force over all sequences."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import sweep, thinned
from scipy.stats import norm
from sequence_oracle import count_loss as brute_count_loss
from sequence_oracle import (
    gapped_count_loss,
    histogram_loss,
    influence,
    random_chain,
    sequences,
    sigma,
    stationary,
    weighted_sum_loss,
)

from puffer_frames import MarkovChain
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import quilt_approx_scale, quilt_scale
from puffer_frames.papers.quilt import nodes as nodes_module
from puffer_frames.papers.quilt.influence import any_start_influence, distances, pair_influence, stationary_influence
from puffer_frames.papers.quilt.nodes import Nodes, Quilt, Windows
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.search import smallest_scale_of

LIPSCHITZ = 2
"""Of a histogram of counts: one changed value moves two of them."""


def chains(count, *, seed):
    """Random chains of two and three states; every second one mixes well, so that quilts help a short series."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        states = 2 + k % 2
        transition = random_chain(rng, states)
        if k % 4 >= 2:
            transition = 0.4 * transition + 0.6 / states
        yield transition, rng


def violations(factor, *, count):
    """How many random chains have a histogram whose loss exceeds epsilon at factor * sigma."""
    found = 0
    for k, (transition, _) in enumerate(chains(count, seed=11)):
        epsilon, length = (1.0, 4.0)[k // 2 % 2], 8 if k % 20 == 0 else 4 + k % 3
        start = stationary(transition)
        scale = factor * quilt_scale(MarkovChain.of(transition), length=length, epsilon=epsilon)
        found += histogram_loss(transition, start, length, scale) > epsilon * (1 + 1e-12)
    return found


@sweep(5, 100)
def test_histograms_are_private(count):
    assert violations(LIPSCHITZ, count=count) == 0


@sweep(10, 100)
def test_without_the_factor_2_they_are_not(count):
    assert violations(LIPSCHITZ - 1, count=count) >= count / 4


@sweep(4, 30)
def test_given_starts_and_any_start_are_private(count):
    for k, (transition, rng) in enumerate(chains(count, seed=12)):
        states, epsilon, length = transition.shape[0], (1.0, 4.0)[k % 2], 5
        initial = np.eye(states)[0] if k % 3 == 0 else rng.dirichlet(np.ones(states))
        given = quilt_scale(MarkovChain.of(transition, initial=initial), length=length, epsilon=epsilon)
        whatever = quilt_scale(MarkovChain.of(transition, initial="any"), length=length, epsilon=epsilon)
        assert given <= whatever * (1 + 1e-9)
        if given:
            assert histogram_loss(transition, initial, length, LIPSCHITZ * given) <= epsilon * (1 + 1e-12)


@sweep(6, 60)
def test_scales_are_those_of_all_quilts(count):
    """The search over quilts equals brute force over all of them, with influences from all sequences."""
    for k, (transition, rng) in enumerate(chains(count, seed=13)):
        states, epsilon, length = transition.shape[0], (0.3, 1.0, 4.0)[k % 3], 2 + k % 6
        start = stationary(transition)
        found = quilt_scale(MarkovChain.of(transition), length=length, epsilon=epsilon)
        assert found == pytest.approx(sigma(transition, start, length, epsilon), rel=1e-9)
        initial = rng.dirichlet(np.ones(states))
        found = quilt_scale(MarkovChain.of(transition, initial=initial), length=length, epsilon=epsilon)
        assert found == pytest.approx(sigma(transition, initial, length, epsilon), rel=1e-9)
        found = quilt_scale(MarkovChain.of(transition, initial="any"), length=length, epsilon=epsilon)
        nearly_known = (1 - 1e-12) * np.eye(states) + 1e-12 / states
        assert found == pytest.approx(sigma(transition, nearly_known, length, epsilon), rel=1e-6)


def test_influences_are_those_of_all_sequences():
    for transition, _ in chains(20, seed=14):
        start, steps = stationary(transition), distances(3)
        table = stationary_influence(MarkovChain.of(transition), steps)
        for a in (1, 2, 3):
            for b in (1, 2):
                exact = influence(transition, start, 6, 4, (4 - a, 4 + b))
                found, _ = pair_influence(table, a - 1, b - 1)
                assert found == pytest.approx(exact, rel=1e-9, abs=1e-11)
                assert found >= exact


def test_mixing_bounds_are_never_below_the_exact_scale():
    for k, (transition, _) in enumerate(chains(60, seed=15)):
        chain, epsilon = MarkovChain.of(transition), (0.5, 2.0, 8.0)[k % 3]
        exact = quilt_scale(chain, length=30, epsilon=epsilon)
        for rule in ("tight", "published"):
            assert quilt_approx_scale(chain, length=30, epsilon=epsilon, rule=rule) >= exact * (1 - 1e-9)


def test_counts():
    """The forward-backward loss of a count is that of all sequences; its smallest scale is private, none below it."""
    for transition, rng in chains(40, seed=16):
        states, length = transition.shape[0], int(rng.integers(1, 7))
        initial = stationary(transition) if rng.random() < 0.5 else rng.dirichlet(np.ones(states))
        state = int(rng.integers(states))
        loss = count_loss([MarkovChain.of(transition, initial=initial)], np.arange(states) == state, length=length)
        found = loss.pure(1.3).bracket
        exact = brute_count_loss(transition, initial, length, state, 1.3)
        assert found.lower - 1e-10 <= exact <= found.upper + 1e-10
        scale = smallest_scale_of(loss, Target(epsilon=0.8, delta=0.0))
        assert brute_count_loss(transition, initial, length, state, scale) <= 0.8 * (1 + 1e-10)
        assert brute_count_loss(transition, initial, length, state, scale * (1 - 1e-6)) > 0.8


def test_one_bin_and_sums_have_their_own_constants():
    """One count changes by 1, a sum of values in [low, high] by high - low."""
    for k, (transition, rng) in enumerate(chains(20, seed=17)):
        states, length, epsilon = transition.shape[0], 5, (1.0, 4.0)[k % 2]
        start = stationary(transition)
        scale = quilt_scale(MarkovChain.of(transition), length=length, epsilon=epsilon)
        assert brute_count_loss(transition, start, length, 0, scale) <= epsilon * (1 + 1e-12)
        values = np.sort(rng.uniform(0, 3, states)).tolist()
        width = values[-1] - values[0]
        assert weighted_sum_loss(transition, start, length, values, width * scale) <= epsilon * (1 + 1e-12)


def test_thinned_distances_cost_little(monkeypatch):
    """Slow chains: distances far apart are thinned, which can only raise the scale."""
    slow = MarkovChain.of([[0.995, 0.005], [0.01, 0.99]])
    full = quilt_scale(slow, length=10**6, epsilon=1.0)
    monkeypatch.setattr("puffer_frames.papers.quilt.influence.FINE", 64)
    monkeypatch.setattr("puffer_frames.papers.quilt.influence._ALL", 32)
    assert full <= quilt_scale(slow, length=10**6, epsilon=1.0) <= full * 1.02


GAPPED = [0, 1, 3, 4, 6, 7, 9, 10]
LAZY = [[0.95, 0.05], [0.05, 0.95]]


def gapped(gaps, **options):
    """The scale of one count, and its loss where the chain runs on through the gaps."""
    frame = pd.DataFrame({"t": GAPPED, "s": [0, 1] * 4})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": LAZY, "bins": [0], "gaps": gaps, **options}
    scale = float(frame.puffer.histogram(**asked)["scale"].iloc[0])
    return scale, gapped_count_loss(LAZY, [0.5, 0.5], [time + 1 for time in GAPPED], 0, scale)


def test_gaps_do_not_cut_a_chain():
    for mechanism in ("quilt", "quilt-approx", "group"):
        assert gapped("bridge", mechanism=mechanism)[1] <= 1 + 1e-12
    assert gapped("independent", mechanism="quilt")[1] > 2.5  # 2.79: short pieces need little noise of their own
    assert gapped("independent", mechanism="group")[1] > 2.5


@pytest.mark.filterwarnings("ignore:the given chain make")
@sweep(16, 40)
def test_bridged_gaps_are_private_on_random_chains(count):
    """Whether the chain runs on or starts anew."""
    found = 0
    for k, (transition, rng) in enumerate(chains(count, seed=18)):
        observed = np.sort(rng.choice(np.arange(2, 9), size=5, replace=False))
        times = np.append(0, observed)
        frame = pd.DataFrame({"t": times, "s": rng.integers(transition.shape[0], size=6)})
        asked = {"states": list(range(transition.shape[0])), "bins": [0], "chain": transition}
        try:
            released = frame.puffer.histogram(state="s", time="t", epsilon=(1.0, 4.0)[k % 2], **asked)
        except ArgumentError:
            continue  # no step of which all differences are multiples
        found += 1
        scale = float(released["scale"].iloc[0])
        step = int(np.diff(times).min())
        places = (times // step + 1).tolist()
        start = stationary(transition)
        assert gapped_count_loss(transition, start, places, 0, scale) <= (1.0, 4.0)[k % 2] * (1 + 1e-12)
        runs = np.split(times, np.flatnonzero(np.diff(times) > step) + 1)
        for run in runs:
            assert brute_count_loss(transition, start, len(run), 0, scale) <= (1.0, 4.0)[k % 2] * (1 + 1e-12)
    assert found >= 3 * count / 8


@sweep(12, 40)
def test_two_states_release_one_count(count):
    """Its change is 1, not 2: the second count is the public total less the first."""
    for k, (transition, _) in enumerate(chains(count, seed=19)):
        if transition.shape[0] > 2:
            continue
        epsilon = (1.0, 4.0)[k // 2 % 2]
        frame = pd.DataFrame({"t": range(6), "s": [0, 1] * 3})
        asked = {"state": "s", "time": "t", "epsilon": epsilon, "chain": transition, "rng": 1}
        both, one = frame.puffer.histogram(**asked), frame.puffer.histogram(**asked, bins=[1])
        assert both["answer"].sum() == 6
        assert both["scale"].iloc[0] == one["scale"].iloc[0]
        loss = brute_count_loss(transition, stationary(transition), 6, 1, float(one["scale"].iloc[0]))
        assert loss <= epsilon * (1 + 1e-12)


def two_release_loss(laws, first, second):
    """Largest log-ratio of the densities of two releases of one count with Laplace noise, at the atoms of both."""
    places = np.arange(laws[0].size)
    kernels = [np.exp(-np.abs(places[:, None] - places) / scale) for scale in (first, second)]
    densities = [np.einsum("ac,bc,c->ab", *kernels, law) for law in laws]
    return max(np.abs(np.log(f / g)).max() for f in densities for g in densities)


def two_release_delta(laws, first, second, epsilon):
    """Largest hockey stick of two releases with Gaussian noise: their weighted mean tells all that they tell."""
    scale, places = (first**-2 + second**-2) ** -0.5, np.arange(laws[0].size)
    grid = np.linspace(-12 * scale, laws[0].size + 12 * scale, 8001)
    densities = [norm.pdf(grid[:, None] - places, scale=scale) @ law for law in laws]
    tops = [np.maximum(f - np.exp(epsilon) * g, 0).sum() for f in densities for g in densities]
    return max(tops) * (grid[1] - grid[0])


def count_laws(transition, initial, length):
    """Law of the count of state 1 given each state at each time."""
    paths, weights = sequences(transition, initial, length)
    counts = (paths == 1).sum(axis=1)
    for column in paths.T:
        given = [np.bincount(counts, weights * (column == s), minlength=length + 1) for s in range(len(initial))]
        yield [law / law.sum() for law in given if law.sum() > 0]


@sweep(8, 16)
def test_releases_of_the_same_rows_add_up(count):
    """Whatever the epsilons, and whichever quilts are in use; those of the exact loss do not."""
    over = 0
    for k, (transition, rng) in enumerate(chains(count, seed=22)):
        states, length, start = transition.shape[0], 5 + k % 2, stationary(transition)
        epsilons = rng.choice([0.5, 1.0, 2.0, 4.0, 6.0], size=2)
        frame = pd.DataFrame({"t": range(length), "s": np.arange(length) % states})
        asked = {"state": "s", "time": "t", "chain": transition, "bins": [1]}
        laws = list(count_laws(transition, start, length))

        def scales(asked=asked, epsilons=epsilons, frame=frame, **options):
            return [float(frame.puffer.histogram(**asked, epsilon=e, **options)["scale"].iloc[0]) for e in epsilons]

        mechanism = ("quilt", "quilt-approx")[k // 4 % 2]
        pure, normal = scales(mechanism=mechanism), scales(mechanism=mechanism, noise="gaussian", delta=0.01)
        assert max(two_release_loss(law, *pure) for law in laws) <= epsilons.sum() * (1 + 1e-9)
        assert max(two_release_delta(law, *normal, epsilons.sum()) for law in laws) <= 0.02
        exact = scales(mechanism="exact")
        over += max(two_release_loss(law, *exact) for law in laws) > epsilons.sum() * (1 + 1e-6)
    assert over >= count / 4


def test_an_estimated_start_hides_the_first_state():
    """One series starts in one state: the adversary is not sure of it all the same."""
    frame = pd.DataFrame({"t": range(5), "s": [0, 1, 1, 0, 1]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "initial": "estimated", "chain": LAZY, "bins": [0]}
    asked["mechanism"] = "quilt"
    scale = float(frame.puffer.histogram(**asked)["scale"].iloc[0])
    for start in ([0.5, 0.5], [1.0, 0.0]):
        assert brute_count_loss(LAZY, start, 5, 0, scale) <= 1 + 1e-12
    with pytest.raises(ArgumentError, match="floor"):
        frame.puffer.histogram(**{**asked, "initial": "stationary"}, floor=0.1)


def test_settled_laws_stand_for_later_ones(monkeypatch):
    """Of a given start: nodes far from both ends are looked at once, with a factor that is paid for."""
    for k, (transition, rng) in enumerate(chains(8, seed=20)):
        states = transition.shape[0]
        initial = np.eye(states)[0] if k % 2 else rng.dirichlet(np.ones(states))
        chain, length = MarkovChain.of(0.5 * transition + 0.5 / states, initial=initial), 150
        found = quilt_scale(chain, length=length, epsilon=1.0)
        with monkeypatch.context() as patched:
            patched.setattr("puffer_frames.papers.quilt.influence._SETTLED", -1.0)
            alone = quilt_scale(chain, length=length, epsilon=1.0)
        assert alone <= found <= alone * (1 + 1e-7)
        assert found == pytest.approx(quilt_scale(chain, length=10**9, epsilon=1.0), rel=1e-7)


def test_searches_that_take_too_long_answer_for_any_start_and_node(monkeypatch):
    chain = MarkovChain.of([[0.9, 0.1], [0.4, 0.6]], initial=[1, 0])
    whatever = MarkovChain.of(chain.transition, initial="any")
    searched = quilt_scale(whatever, length=500, epsilon=1.0)
    monkeypatch.setattr("puffer_frames.papers.quilt.influence._LARGEST_SEARCH", 100)
    assert quilt_scale(chain, length=500, epsilon=1.0) == quilt_scale(whatever, length=500, epsilon=1.0) > searched


@sweep(6, 24)
def test_nodes_in_the_middle_are_those_where_the_sides_cross(monkeypatch, count):
    """Distances up to `most` alone: the nodes left out need no more noise than those that are looked at."""
    for k, (transition, _) in enumerate(chains(count, seed=21)):
        length, most = 120 + k, 5 + k
        influence = stationary_influence if k % 2 == 0 else any_start_influence
        table = influence(MarkovChain.of(transition), distances(most))
        nodes = Nodes(table, epsilon=(0.3, 1.0, 4.0)[k % 3], length=length)
        found = nodes.solve()
        with monkeypatch.context() as patched:
            patched.setattr(Nodes, "_different", lambda self: np.arange(1, self._length + 1))
            alone = nodes.solve()
        assert found.sigma == alone.sigma
        for node in range(1, length + 1):  # whatever the noise: some quilt of its own costs no more than one
            own = list(quilts_of(table, node, length))
            assert any(q.card >= card and q.influence >= tells - 1e-12 for q in found.quilts for card, tells in own)


def quilts_of(table, node, length):
    """Number of nodes and influence of every quilt of a node within the distances of a table."""
    right = [b for b in table.steps if node + b <= length]
    left = [a for a in table.steps if node - a >= 1]
    yield length, 0.0
    yield from ((node - 1 + b, table.right[b - 1].max()) for b in right)
    yield from ((length - node + a, table.left[a - 1].max()) for a in left)
    yield from ((a + b - 1, (table.left[a - 1] + table.right[b - 1]).max()) for a in left for b in right)


@pytest.mark.parametrize(
    ("initial", "mechanism", "stay"),
    thinned([[0.5, 0.5], [1.0, 0.0], "estimated", "stationary", "any"], ["quilt", "quilt-approx"], [0.8, 0.999, 1e-9]),
)
def test_one_long_gap_costs_no_time(initial, mechanism, stay):
    times = [0, 1, 2, 3, 10**12, 10**12 + 1, 10**12 + 2]
    frame = pd.DataFrame({"t": times, "s": list("aabbaba")})
    released = frame.puffer.histogram(
        state="s",
        time="t",
        chain=[[stay, 1 - stay], [1 - stay, stay]],
        initial=initial,
        epsilon=0.3,
        mechanism=mechanism,
    )
    assert released["scale"].iloc[0] <= 7 / 0.3 * (1 + 1e-9)


# Quilts of series with gaps, of which only the observed nodes near a value count, against brute force.
TOLERANCE = 1 + 1e-12
STAY = [[0.9, 0.1], [0.1, 0.9]]


def released(transition, times, *, epsilon, start):
    states = dict(zip(times, np.arange(len(times)) % 2, strict=True))
    every = range(times[-1] + 1)
    frame = pd.DataFrame({"t": every, "s": [float(states.get(time, np.nan)) for time in every]})
    asked = {"state": "s", "time": "t", "epsilon": epsilon, "chain": transition, "initial": start, "bins": [1]}
    return float(frame.puffer.histogram(**asked, nulls="drop", mechanism="quilt", rng=1)["scale"].iloc[0])


def cases(count, *, seed):
    """Chains of two states that forget fast, up to 12 times of which about half are observed."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        stays = 0.5 + rng.uniform(-0.35, 0.35, 2)
        transition = np.array([[stays[0], 1 - stays[0]], [1 - stays[1], stays[1]]])
        length = int(rng.integers(6, 12))
        inner = np.flatnonzero(rng.random(length - 2) < 0.5) + 1
        times = [0, *inner.tolist(), length - 1]
        yield transition, times, float(rng.choice([1.0, 2.0, 4.0])), ["stationary", "any", "law"][k % 3], rng


def largest_loss(transition, times, start, scale):
    observed = [time + 1 for time in times]
    laws = [np.eye(2)[0], np.eye(2)[1], np.full(2, 0.5)] if isinstance(start, str) else [start]
    if isinstance(start, str) and start == "stationary":
        laws = [stationary(transition)]
    return max(gapped_count_loss(transition, law, observed, 1, scale) for law in laws)


@sweep(12, 150)
def test_no_release_loses_more_than_epsilon(count):
    fewer = 0
    for transition, times, epsilon, start, rng in cases(count, seed=3):
        start = rng.dirichlet([1, 1]) if start == "law" else start
        scale = released(transition, times, epsilon=epsilon, start=start)
        whole = quilt_scale(MarkovChain.of(transition, initial=start), length=times[-1] + 1, epsilon=epsilon)
        fewer += scale < min(whole, len(times) / epsilon) * 0.999
        assert largest_loss(transition, times, start, scale) <= epsilon * TOLERANCE
    assert fewer >= count / 6


def test_a_planted_fault_is_found(monkeypatch):
    """The oracle can fail: what the quilt tells is forgotten."""
    monkeypatch.setattr(nodes_module, "Quilt", lambda *, card, influence: Quilt(card=card, influence=0.0 * influence))
    lost = [
        largest_loss(transition, times, "stationary", released(transition, times, epsilon=epsilon, start="stationary"))
        / epsilon
        for transition, times, epsilon, _, _ in cases(40, seed=5)
    ]
    assert max(lost) > 1.01


@pytest.mark.parametrize("initial", ["stationary", "any", [0.5, 0.5]])
def test_two_of_five_times(initial):
    """docs/theory.md, section 10, "Gaps": 31.74 where unobserved nodes count."""
    times = [k for k in range(120) if k % 5 in (0, 1)]
    scale = released(STAY, times, epsilon=1.0, start=initial)
    if isinstance(initial, str) and initial == "stationary":
        assert scale == pytest.approx(11.487603, rel=1e-6)
    assert scale < 13.2


def test_one_quilt_for_all_nodes_needs_a_little_more(monkeypatch):
    """Where there are too many nodes for quilts of their own."""
    monkeypatch.setattr(nodes_module, "_MOST_GAPPED_NODES", 0.0)
    times = [k for k in range(120) if k % 5 in (0, 1)]
    assert released(STAY, times, epsilon=1.0, start="stationary") == pytest.approx(12.822556, rel=1e-6)


def rows_of(units):
    """Rows of units that are observed at these times; the most usual step has to be 1."""
    return SeriesRows(
        states=["a"],
        units=list(range(len(units))),
        lengths=np.array([run.size for u in units for run in runs(u)]),
        first=np.zeros(sum(len(runs(u)) for u in units), dtype=np.intp),
        unit_of=np.array([k for k, u in enumerate(units) for _ in runs(u)]),
        skipped=np.array(
            [gap for u in units for gap in (0, *(run[0] - 1 - u[u < run[0]].max() for run in runs(u)[1:]))]
        ),
        bridged=True,
        counts=np.array([[sum(u.size for u in units)]]),
        transitions=np.array([[0]]),
    )


def runs(times):
    return np.split(times, np.flatnonzero(np.diff(times) > 1) + 1)


def test_windows_hold_the_most_observed_times():
    rng = np.random.default_rng(1)
    for _ in range(20):
        units = [np.flatnonzero(rng.random(int(rng.integers(3, 40))) < 0.4) for _ in range(3)]
        units = [times for times in units if times.size]
        rows = rows_of(units)
        spans = np.arange(1, 45)
        by_hand = [max(int(((u >= t) & (u < t + span)).sum()) for u in units for t in u) for span in spans]
        assert rows.most_within(spans).tolist() == by_hand
        assert Windows.of(rows, length=44).at(spans).tolist() == by_hand
        nodes, before = rows.timeline(apart=5)
        assert nodes.size == rows.times == sum(u[-1] - u[0] + 1 for u in units)
        assert (np.diff(before)[nodes] == np.concatenate([np.isin(np.arange(u[0], u[-1] + 1), u) for u in units])).all()


@pytest.mark.parametrize("power", [40, 53, 56, 60])
def test_times_far_apart_are_numbered_exactly(power):
    """As floats they would fall together beyond 2**53: a scale of 2.25 and a loss of 2.9 for 1."""
    times = np.append([0, 1], 2**power + np.arange(1000))
    frame = pd.DataFrame({"t": times, "s": np.arange(1002) % 2})
    released = frame.puffer.histogram(
        state="s", time="t", epsilon=1.0, chain=STAY, initial="stationary", bins=[1], rng=1, mechanism="quilt"
    )
    assert released["scale"].iloc[0] == pytest.approx(31.737789, rel=1e-6)


@pytest.mark.parametrize(("units", "power"), [(100, 40), (1000, 44), (3000, 50)])
def test_so_are_those_of_many_units(units, power):
    short = [0, 1, 2**power, 2**power + 1]
    names = np.repeat(np.arange(units), 4)
    long = np.append([0, 1], 2**power + np.arange(1000))
    frame = pd.DataFrame(
        {"u": np.append(names, np.full(1002, units)), "t": np.append(np.tile(short, units), long), "s": 0}
    )
    frame["s"] = np.arange(len(frame)) % 2
    asked = {"state": "s", "time": "t", "unit": "u", "epsilon": 1.0, "chain": STAY, "bins": [1], "rng": 1}
    assert frame.puffer.histogram(**asked, mechanism="quilt")["scale"].iloc[0] == pytest.approx(31.737789, rel=1e-6)


def test_many_short_units_and_a_slow_chain_take_little_memory():
    units, length, stay = 20_000, 50_000, 1 - 1e-6
    short = pd.DataFrame({"u": np.repeat(np.arange(units), 3), "t": np.tile([0, 1, 3], units)})
    long = pd.DataFrame({"u": units, "t": [0, 1, length - 3, length - 2, length - 1]})
    frame = pd.concat([short, long], ignore_index=True)
    frame["s"] = np.arange(len(frame)) % 2
    chain = [[stay, 1 - stay], [1 - stay, stay]]
    tracemalloc.start()
    released = frame.puffer.histogram(
        state="s", time="t", unit="u", epsilon=1.0, chain=chain, bins=[1], mechanism="quilt", rng=1
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert released["scale"].iloc[0] == pytest.approx(5.0, rel=1e-6)
    assert peak < 400e6
