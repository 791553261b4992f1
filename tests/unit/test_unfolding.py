"""Laws behind noise: exact probabilities of bins, a number of steps that the rows choose; counts behind channels."""

import math

import numpy as np
import pytest
from conftest import few
from scipy import stats

from puffer_frames import Gaussian, Laplace, Stable
from puffer_frames.errors import ArgumentError
from puffer_frames.noise.channel import is_unmixable
from puffer_frames.noise.postprocessing import postprocess
from puffer_frames.verbs.estimating.laws import (
    MOST_BINS,
    MOST_POINTS,
    BinnedColumn,
    Unfolding,
    best_steps,
    even_support,
    law_of_rows,
    unfold,
)
from puffer_frames.verbs.estimating.levels import response_shares, unmixed, unmixed_response
from puffer_frames.verbs.estimating.released_columns import NoisyColumn

POINTS = np.arange(1.0, 7.0)
SHARES = np.array([0.3, 0.05, 0.05, 0.2, 0.0, 0.4])
LAWS = {
    "Laplace": (Laplace(scale=1.5), stats.laplace(scale=1.5)),
    "Gaussian": (Gaussian(scale=1.5), stats.norm(scale=1.5)),
    "Cauchy": (Stable(scale=1.5, alpha=1.0), stats.cauchy(scale=1.5)),
}


def column(values, *noises, places=None, **done):
    places = np.zeros(len(values), dtype=np.intp) if places is None else places
    return NoisyColumn(values=np.asarray(values, dtype=float), noises=noises, places=places, **done)


def rows_behind(law, rng, rows=4000, *, bounds=None, to_integers=False):
    x = rng.choice(POINTS, rows, p=SHARES)
    return x, postprocess(x + law.rvs(rows, random_state=rng), bounds=bounds, to_integers=to_integers)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "done",
    [{}, {"to_integers": True}, {"bounds": (0.0, 7.5)}, {"bounds": (0.5, 6.2), "to_integers": True},
     {"bounds": (-math.inf, 5.0)}, {"bounds": (2.0, math.inf), "to_integers": True}],
    ids=["as drawn", "rounded", "clipped", "both", "clipped above", "rounded, clipped below"],
)  # fmt: skip
def test_counts_of_bins_have_the_probabilities_of_the_kernel(law, done):
    """Rows at each point by themselves: a chi-square test of all bins."""
    noise, reference = LAWS[law]
    rng = np.random.default_rng(2)
    x, y = rows_behind(reference, rng, **done)
    whole = BinnedColumn.of(column(y, noise, **done), POINTS)
    assert whole.kernel.sum(axis=0) == pytest.approx(np.ones(POINTS.size), abs=1e-12)
    assert whole.counts.sum() == y.size
    expected = whole.kernel @ np.array([(x == point).sum() for point in POINTS])
    enough = expected > 5
    excess = ((whole.counts - expected) ** 2 / np.maximum(expected, 1e-9))[enough].sum()
    assert stats.chi2.sf(excess, enough.sum() - 1) > 1e-4
    assert abs(whole.counts[~enough].sum() - expected[~enough].sum()) < 5 * math.sqrt(expected[~enough].sum() + 1)


@pytest.mark.parametrize("fault", ["twice the scale", "not clipped", "not rounded"])
def test_a_wrong_kernel_is_found(fault):
    rng, done = np.random.default_rng(3), {"bounds": (0.0, 7.0), "to_integers": True}
    x, y = rows_behind(LAWS["Laplace"][1], rng, 20_000, **done)
    noise = Laplace(scale=3.0 if fault == "twice the scale" else 1.5)
    believed = {key: value for key, value in done.items() if (key == "bounds") is not (fault == "not clipped")}
    believed = done if fault == "twice the scale" else believed
    found = BinnedColumn.of(column(y, noise, **believed), POINTS)
    expected = found.kernel @ np.array([(x == point).sum() for point in POINTS])
    enough = expected > 5
    excess = ((found.counts - expected) ** 2 / np.maximum(expected, 1e-9))[enough].sum()
    assert stats.chi2.sf(excess, enough.sum() - 1) < 1e-9


@few(2)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("done", [{}, {"bounds": (0.0, 7.0), "to_integers": True}], ids=["as drawn", "processed"])
def test_the_law_is_found_again(law, done):
    noise, reference = LAWS[law]
    noise, reference = noise.at(0.8), type(reference)(reference.dist, scale=0.8)
    rng = np.random.default_rng(4)
    x, y = rows_behind(reference, rng, 30_000, **done)
    own = column(y, noise, **done)
    found = unfold(BinnedColumn.of(own, POINTS), is_grid=False, population=False, resamples=40, rng=rng)
    truth = np.array([(x == point).mean() for point in POINTS])
    naive = np.array([(np.clip(np.rint(y), 1, 6) == point).mean() for point in POINTS])
    assert np.abs(found.shares - truth).sum() < 0.5 * np.abs(naive - truth).sum()
    assert found.shares.sum() == pytest.approx(1)
    assert found.draws.shape == (40, 6)
    # the chance of the noise: resamples are as far from the estimate as the estimate is from the truth
    apart = np.abs(found.draws - found.shares).sum(axis=1)
    assert np.abs(found.shares - truth).sum() < 2 * apart.max()


def test_laws_of_noise_that_differ_by_row_are_taken_together():
    """The rows with little noise tell more, and all rows more than these."""
    rng = np.random.default_rng(5)
    x = rng.choice(POINTS, 20_000, p=SHARES)
    places = rng.integers(0, 3, x.size)
    scales = np.array([0.8, 4.0, 0.0])
    y = x + rng.laplace(0, 1, x.size) * scales[places]
    own = column(y, Laplace(scale=0.8), Laplace(scale=4.0), None, places=places)
    binned = BinnedColumn.of(own, POINTS)
    assert sum(rows for _, rows in binned.sizes) == x.size
    found = unfold(binned, is_grid=False, population=True, resamples=10, rng=rng)
    truth = np.bincount(x.astype(int))[1:] / x.size
    assert np.abs(found.shares - truth).max() < 0.015


def test_the_rows_choose_the_number_of_steps():
    """A smooth law needs few steps, a law of few values many."""
    rng = np.random.default_rng(6)
    smooth = column(rng.normal(0, 10, 8000) + rng.laplace(0, 4, 8000), Laplace(scale=4.0))
    spiky = column(rng.choice([-12.0, 0, 12], 8000) + rng.laplace(0, 4, 8000), Laplace(scale=4.0))
    steps = [
        best_steps(BinnedColumn.of(own, np.arange(-40.0, 41.0)), rng=np.random.default_rng(7))
        for own in (smooth, spiky)
    ]
    assert 1 <= steps[0] < 60
    assert steps[1] > 3 * steps[0]


def test_supports():
    own = column(np.linspace(0, 10, 2001), Laplace(scale=1.0))
    assert even_support(own, step=1.0).tolist() == list(range(11))
    assert even_support(own, step=0.25).size == 41
    grid = even_support(own)
    assert (grid[0], grid[-1]) == pytest.approx((0.01, 9.99), abs=0.01)
    assert grid.size == 128
    fine = column(np.linspace(0, 1e6, 2001), Laplace(scale=0.1))
    assert even_support(fine).size == MOST_POINTS
    assert BinnedColumn.of(fine, even_support(fine)).counts.size <= MOST_BINS + 1
    with pytest.raises(OverflowError):
        even_support(fine, step=1.0)
    assert even_support(column([3.0, 3.0], None)).tolist() == [3.0]
    one = unfold(BinnedColumn.of(column([3.0, 3.5], Laplace(scale=1.0)), np.array([3.0])), is_grid=True,
                 population=False, resamples=2, rng=np.random.default_rng(0))  # fmt: skip
    assert one.shares.tolist() == [1.0]


def test_shares_and_quantiles_of_a_law():
    law = law_of_rows(np.array([1.0, 1, 2, 5]), population=False, resamples=3, rng=np.random.default_rng(0))
    assert law.below(np.array([0.0, 1.0, 4.9, 5.0]))[0].tolist() == [0, 0.5, 0.75, 1]
    assert law.quantiles(np.array([0.0, 0.5, 0.51, 1.0]))[0].tolist() == [1, 1, 2, 5]
    assert law.draws.tolist() == [[0.5, 0.25, 0.25]] * 3
    again = law_of_rows(np.array([1.0, 1, 2, 5]), population=True, resamples=50, rng=np.random.default_rng(0))
    assert again.draws.std() > 0.05


MATRIX = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])


def through(matrix, held, rng):
    """Released counts of so many rows of each input."""
    return sum(rng.multinomial(rows, law) for rows, law in zip(held, matrix, strict=True)).astype(float)


def test_laws_and_counts_behind_channels():
    rng, held = np.random.default_rng(8), np.array([500, 120, 3])
    found = [unmixed(through(MATRIX, held, rng), MATRIX, population=False) for _ in range(3000)]
    counts = np.array([counts for counts, _ in found])
    assert (np.abs(counts.mean(axis=0) - held) < 4 * counts.std(axis=0) / math.sqrt(3000)).all()
    mean = np.mean([covariance for _, covariance in found], axis=0)
    assert np.sqrt(np.diag(mean)) == pytest.approx(counts.std(axis=0), rel=0.06)
    assert np.corrcoef(counts.T)[0, 1] == pytest.approx(mean[0, 1] / math.sqrt(mean[0, 0] * mean[1, 1]), abs=0.08)
    wide = np.hstack([0.5 * MATRIX, 0.5 * MATRIX])
    assert unmixed(held @ wide, wide, population=True)[0] == pytest.approx(held)
    rng, shares = np.random.default_rng(9), np.array([0.5, 0.3, 0.2])
    found = [unmixed(through(MATRIX, rng.multinomial(800, shares), rng), MATRIX, population=True) for _ in range(2000)]
    counts = np.array([counts for counts, _ in found])
    assert np.sqrt(np.diag(np.mean([covariance for _, covariance in found], axis=0))) == pytest.approx(
        counts.std(axis=0), rel=0.06
    )


@pytest.mark.parametrize(
    ("matrix", "can_be"),
    [(MATRIX, True), (MATRIX[:, :2], False), (np.full((2, 2), 0.5), False), (np.eye(4), True), (MATRIX[:2], True)],
)
def test_what_can_be_unmixed(matrix, can_be):
    assert is_unmixable(matrix) is can_be


def test_randomised_response():
    """The closed form is that of the matrix."""
    kept, other = response_shares(3, 1.2)
    assert kept + 2 * other == pytest.approx(1)
    assert math.log(kept / other) == pytest.approx(1.2)
    matrix = np.full((3, 3), other) + (kept - other) * np.eye(3)
    counts = np.array([410.0, 300.0, 250.0])
    for population in (False, True):
        found, spread = unmixed_response(counts, kept, other, population=population)
        rows, covariance = unmixed(counts, matrix, population=population)
        assert found == pytest.approx(rows)
        assert spread == pytest.approx(np.diag(covariance))
    assert response_shares(3, None) == (1, 0)
    assert response_shares(1, 0.5) == (1, 0)


def law_on(support, column):
    return Unfolding.of(support=support, resamples=2, rng=0, population=False).law(column)


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0])
def test_a_support_that_the_released_values_refute(scale):
    rng = np.random.default_rng(10)
    x = rng.choice([2.0, 5.0, 6.0, 30.0], 6000, p=[0.2, 0.5, 0.2, 0.1])  # peaks, which take most steps
    own = column(x + rng.laplace(0, scale, x.size), Laplace(scale=scale))
    for right in (range(31), [2, 5, 6, 30], 1, None):
        assert law_on(right, own).shares.sum() == pytest.approx(1)
    for wrong in ((0, 30), (1, 2), [2, 30], range(10, 31), 25):
        with pytest.raises(ArgumentError, match=r"refute\.\n\nHint: Write support=range\(LOWEST, HIGHEST \+ 1\)"):
            law_on(wrong, own)
    with pytest.raises(ArgumentError, match="the larger value first"):
        law_on((30, 0), own)


def test_a_support_of_strata_and_of_values_without_noise():
    """Strata with laws of their own, which one law for all of them does not explain."""
    rng, places = np.random.default_rng(11), np.repeat([0, 1], 3000)
    x = np.where(places == 0, rng.integers(0, 5, 6000), rng.integers(20, 31, 6000))
    own = column(
        x + rng.laplace(0, 1, 6000) * np.where(places, 6, 1), Laplace(scale=1.0), Laplace(scale=6.0), places=places
    )
    assert law_on(range(31), own).steps
    with pytest.raises(ArgumentError, match="refute"):
        law_on(range(12), own)
    exact = column(x, None)
    for right in (None, range(31), 1, 0.5):
        assert law_on(right, exact).quantiles(np.array([1.0])).values == 30
    for wrong in ((0, 30), 4):
        with pytest.raises(ArgumentError, match="refute"):
            law_on(wrong, exact)


def test_rows_far_from_every_point_for_their_noise():
    """Strata of very different scales: the even points of the large one are far from the rows of the small one."""
    values = np.concatenate([np.repeat([1.0, 1.3, 1.7, 2.0], 5), np.full(150, -10.0), np.full(50, 10.0)])
    far = column(values, Laplace(scale=1e-5), Laplace(scale=1.0), places=np.repeat([0, 1], [20, 200]))
    points = np.array([-10.0, 10.0])
    asked = {"is_grid": True, "population": False, "resamples": 2, "rng": np.random.default_rng(0)}
    with pytest.raises(ArgumentError, match="the spread of the column must be clear of the noise"):
        unfold(BinnedColumn.of(far, points), **asked)
