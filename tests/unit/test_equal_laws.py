"""Equal laws of units are found, and looking at them once changes no loss."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import few

from puffer_frames.loss.presence import PresenceLoss, RowsLoss
from puffer_frames.noise.stable import Stable
from puffer_frames.papers.users import presence_scale
from puffer_frames.priors.unit_laws import UnitLaws, first_of_equals, rows_of


def units(rng, *, number, sizes, values):
    sizes = rng.integers(1, sizes + 1, number)
    starts = np.append(0, np.cumsum(sizes))
    rows = [np.sort(rng.choice(values, size)) for size in sizes]
    return np.concatenate(rows), starts


def firsts(values, starts):
    """By a dictionary of tuples."""
    seen = {}
    for k, (start, end) in enumerate(pairwise(starts.tolist())):
        seen.setdefault(tuple(values[start:end].tolist()), k)
    return sorted(seen.values())


@pytest.mark.parametrize("sizes", [1, 3, 40])
@pytest.mark.parametrize("width", [1, 3, 2**20])
def test_first_units_of_equal_rows(sizes, width):
    rng = np.random.default_rng(sizes)
    cells, starts = units(rng, number=300, sizes=sizes, values=np.unique(rng.integers(0, width, 5)))
    assert first_of_equals(cells, starts, width).tolist() == firsts(cells, starts)


def test_units_that_differ_late_are_told_apart():
    cells = np.zeros((3, 50), dtype=np.intp)
    cells[1, -1] = cells[2, -1] = 2**20 - 1
    assert first_of_equals(cells.ravel(), np.arange(0, 151, 50), 2**20).tolist() == [0, 1]


def test_rows_of_some_units():
    rows, starts = rows_of(np.array([0, 2]), np.array([0, 2, 3, 6]))
    assert rows.tolist() == [0, 1, 3, 4, 5]
    assert starts.tolist() == [0, 2, 5]


@pytest.mark.parametrize("added", [False, True])
def test_presence_of_units_with_equal_laws(added):
    values, starts = units(np.random.default_rng(7), number=500, sizes=3, values=[-2.0, 0.5, 3.0])
    laws = UnitLaws.of_rows(range(500), values, starts, added=added)
    few = laws.different()
    assert list(few.units) == firsts(values, starts)
    assert presence_scale(few, epsilon=0.7) == presence_scale(laws, epsilon=0.7)
    for scale in (0.0, 0.1, 4.0, 1e9):
        assert PresenceLoss(few).pure(scale) == PresenceLoss(laws).pure(scale)
    assert PresenceLoss(few).hockey_stick(4.0, epsilon=0.3) == PresenceLoss(laws).hockey_stick(4.0, epsilon=0.3)


def test_given_and_gaussian_laws_are_left():
    values, starts = units(np.random.default_rng(8), number=50, sizes=3, values=[-2.0, 0.5, 3.0])
    laws = UnitLaws.of_gaussians(range(50), values, starts, times=np.ones(values.size, dtype=int), added=False)
    assert laws.different() is laws
    one = UnitLaws.of_rows(range(50), values, starts, added=False)
    given = UnitLaws.of_priors(one.priors())
    assert given.different() is given


@pytest.mark.parametrize("different", [1, 2, 9])
def test_replacement_of_units_with_equal_laws(different, monkeypatch):
    rng = np.random.default_rng(different)
    row = rng.integers(0, different, 300)
    row[:different] = np.arange(different)
    values = np.sort(rng.choice(6, (different, 4)), axis=1)[row].ravel().astype(float)
    few = RowsLoss(range(300), values, np.arange(0, 1201, 4))
    monkeypatch.setattr("puffer_frames.loss.presence.MOST_PAIRS_IN_CELLS", 300)
    every = RowsLoss(range(300), values, np.arange(0, 1201, 4))
    for scale in (0.0, 0.5, 4.0):
        assert few.pure(scale) == every.pure(scale)
    monkeypatch.undo()
    assert few.ratio_cells(1.0) is None


def test_quantile_of_stable_noise_scales():
    unit = Stable(scale=1.0, alpha=1.5).quantile(0.975)
    for scale in (0.25, 1.0, 512.0):
        assert Stable(scale=scale, alpha=1.5).quantile(0.975) == scale * unit
        assert Stable(scale=scale, alpha=1.5).quantile(0.025) == pytest.approx(-scale * unit, rel=1e-12)
    assert float(Stable(scale=1.0, alpha=1.5).survival(np.array([unit]))[0]) == pytest.approx(0.025, rel=1e-9)


NOISES = {
    "laplace": {},
    "laplace with delta": {"delta": 1e-3},
    "gaussian": {"noise": "gaussian", "delta": 1e-5},
}


@few(5, rest="apart")
@pytest.mark.parametrize("protect", ["presence", "replacement"])
@pytest.mark.parametrize("noise", [*NOISES, "stable"])
def test_many_users_need_the_noise_of_their_different_laws(protect, noise):
    """Beyond 400 units too, where pairs of units were not compared, or not with this noise."""
    asked = {"value": "value", "query": "sum", "protect": protect, "epsilon": 1.0, "unit": "user", "rng": 1}
    asked |= NOISES.get(noise, {"noise": Stable(alpha=1.5)})
    rows = np.array([[1, 1], [1, 4], [2, 5], [5, 5], [3, 3]])
    found = []
    for repeats in (2, 150):
        users = np.tile(rows, (repeats, 1))
        table = pd.DataFrame({"user": np.repeat(np.arange(len(users)), 2), "value": users.ravel()})
        found.append(table.puffer.aggregate(**asked, contribution="rows").puffer.certificate.scales["sum"])
    assert found[0] == found[1] > 0


def test_users_of_one_law_need_no_noise():
    table = pd.DataFrame({"user": np.arange(500), "value": 3})
    asked = {"value": "value", "query": "sum", "protect": "replacement", "epsilon": 1.0, "unit": "user"}
    released = table.puffer.aggregate(**asked, allow_zero_noise=True)
    assert released.puffer.certificate.scales["sum"] == 0
