"""Aggregates against laws of whole sums, worked out user by user, and against the oracle of additive noise."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import few, thinned
from oracle import pure_loss as oracle_loss

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.presence import ABSENT, NOTHING, PresenceLoss, RowsLoss
from puffer_frames.numbers.target import Target
from puffer_frames.priors.transport import rows_diameter, w_infinity_diameter
from puffer_frames.priors.unit_laws import UnitLaws, sum_of_draws
from puffer_frames.scales.search import smallest_scale_of

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
