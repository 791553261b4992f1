"""Summary to priors: Gaussians and mixtures fitted to values and how often each occurs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr
from threadpoolctl import ThreadpoolController

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError, short_traceback
from puffer_frames.numbers.arguments import check_count, check_number
from puffer_frames.priors.prior import FloatArray, Prior


def group_moments(groups: Sequence[tuple[FloatArray, NDArray[np.int64]]], /) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each group, as `puffer_frames.core.fit_gaussian` has them.

    - `groups` (sequence of (values, counts)): Finite different values, and how often each occurs, at least once.
    Returns: In units of the values; a standard deviation of 0 where there is one value.

    **Cost**: a few passes over all values. **Rounding**: the squares are taken about the mean, and each group is
    measured in a unit of its own, a power of two, to keep huge and tiny squares in range.
    """
    sizes = np.array([values.size for values, _ in groups])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate([values for values, _ in groups])
    counts = np.concatenate([often for _, often in groups])
    shares = counts / np.repeat(np.add.reduceat(counts, starts), sizes)
    exponents = np.frexp(np.maximum.reduceat(np.abs(values), starts))[1]
    y = np.ldexp(values, -np.repeat(exponents, sizes))
    firsts = y[starts]
    means = firsts + np.add.reduceat(shares * (y - np.repeat(firsts, sizes)), starts)
    deviations = y - np.repeat(means, sizes)
    rest = np.add.reduceat(shares * deviations, starts)  # what rounding left in the mean
    deviations -= np.repeat(rest, sizes)
    stds = np.where(sizes > 1, np.sqrt(np.add.reduceat(shares * deviations**2, starts)), 0.0)
    means = np.where(stds > 0, np.ldexp(means + rest, exponents), values[starts])
    return means, np.ldexp(stds, exponents)


NARROWEST = 1e-6
"""A component this narrow, in standard deviations of the data, is an atom, unless values lie closer together."""
_WIDEST = 50.0
"""Logarithm of the standard deviation after a leap."""
_TINY = float(np.finfo(np.float64).tiny)

Components: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Weights, means and standard deviations."""


def climb(
    x: FloatArray,
    p: FloatArray,
    start: Components,
    /,
    *,
    lightest: float,
    tolerance: float,
    most_steps: int,
    narrowest: float = NARROWEST,
) -> Components:
    """Steps of EM until one changes the likelihood by less than the tolerance, with a leap after every two.

    A leap goes on in the direction of both steps, as far as they say (SQUAREM, scheme S3 of [VR08]); where the
    likelihood is lower there than after the first of them, EM goes on from the second.
    """
    now, farthest, steps = start, 4.0, 0
    while True:
        states, likelihoods = [now], list[float]()
        while len(states) < 3:
            likelihood, following = em_step(x, p, *states[-1], narrowest=narrowest)
            steps += 1
            if (likelihoods and abs(likelihood - likelihoods[-1]) < tolerance) or steps >= most_steps:
                return _without_light(following, lightest)
            kept = _without_light(following, lightest)
            if kept[0].size < following[0].size:
                states, likelihoods = [kept], []
                continue
            states.append(following)
            likelihoods.append(likelihood)
        leap, length = _leap(*states, farthest=farthest, narrowest=narrowest)
        reached, following = em_step(x, p, *leap, narrowest=narrowest)
        steps += 1
        if reached >= likelihoods[-1]:
            now, farthest = following, 4.0 * farthest if length == farthest else farthest
        else:
            now, farthest = states[-1], max(4.0, farthest / 4.0)


def _without_light(components: Components, lightest: float) -> Components:
    weights, means, stds = components
    kept = weights > lightest
    return components if kept.all() else (weights[kept] / weights[kept].sum(), means[kept], stds[kept])


def _leap(
    first: Components, second: Components, third: Components, *, farthest: float, narrowest: float
) -> tuple[Components, float]:
    """Where two steps lead, in log weights, means and log standard deviations, and how many steps far that is."""
    at = [np.array((np.log(np.maximum(w, _TINY)), m, np.log(s))) for w, m, s in (first, second, third)]
    step, change = at[1] - at[0], at[2] - 2.0 * at[1] + at[0]
    size = float(np.linalg.norm(change))
    length = min(max(1.0, float(np.linalg.norm(step)) / size), farthest) if size > 0 else 1.0
    weights, means, stds = at[0] + 2.0 * length * step + length**2 * change
    weights = np.exp(weights - weights.max())
    return (weights / weights.sum(), means, np.maximum(np.exp(np.minimum(stds, _WIDEST)), narrowest)), length


def em_step(
    x: FloatArray,
    p: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    /,
    *,
    narrowest: float = NARROWEST,
) -> tuple[float, Components]:
    """Mean log-likelihood (up to a constant) and the parameters after one E-step and one M-step."""
    z = (x - means[:, None]) / stds[:, None]
    squares = z * z
    with np.errstate(divide="ignore"):  # a component without weight
        logs = np.log(weights / stds)[:, None] - 0.5 * squares
    top = logs.max(axis=0)
    densities = np.exp(logs - top)
    sums = densities.sum(axis=0)
    likelihood = float(p @ (top + np.log(sums)))
    shares = densities * (p / sums)
    weights = shares.sum(axis=1)
    claimed = np.maximum(weights, _TINY)
    # Moments about the old mean in units of the old width: no cancellation for narrow components far out.
    shift = (shares * z).sum(axis=1) / claimed
    variances = (shares * squares).sum(axis=1) / claimed - shift**2
    widths = np.maximum(stds * np.sqrt(np.maximum(variances, 0)), narrowest)
    return likelihood, (weights, means + stds * shift, widths)


_CELLS = 256  # parts of the range, and of the counts, into which many values are grouped
_LIGHTEST = 1e-3  # a component that claims less than this share of the rarest value is dropped
_NEGLIGIBLE = 1e-30  # values with a smaller share of the counts are left out
_IMPOSSIBLE = 1e-300  # smaller probabilities count as this: one far value must not make every fit equally bad
_IN_VAIN = 2  # so many further components without a smaller BIC, and no more are tried
_STARTS = 4  # runs of k-means, of which the best one starts EM
_TOLERANCE = 1e-7
_MAX_ITERATIONS = 10_000
_FINER = (8, 12)  # numbers of components beyond five; the loss of 27 takes a second, and a search 40 of them
_SMALLEST_GAP = 1e-12  # gaps between values below this, in standard deviations, are rounding


@short_traceback
def fit_gaussian(values: ArrayLike, counts: ArrayLike, /) -> Prior:
    r"""Gaussian with the mean and the variance of the data; a point mass where all values are equal.

    .. math:: \mu = \frac{\sum_i c_i x_i}{\sum_i c_i}, \qquad \sigma^2 = \frac{\sum_i c_i (x_i - \mu)^2}{\sum_i c_i}

    Parameters
    ----------
    values : array_like, shape (n,)
        Finite, in units of the column, in any order, repeated or not.
    counts : array_like, shape (n,)
        How often each value occurs: at least 0, not all 0.

    Returns
    -------
    Prior
        One component, in units of the column.

    Raises
    ------
    PriorError
        For no value, other shapes, non-finite numbers, negative counts, or counts that are all 0.

    Notes
    -----
    **Cost**: one sort of the values. **Rounding**: the squares are taken about the mean, so that a large offset
    costs no more than the rounding of the values themselves.

    Examples
    --------
    >>> fit_gaussian([0, 10], [1, 1])
    Prior(1 Gaussian, mean 5, std 5)
    >>> fit_gaussian([7, 7], [2, 1])
    Prior(1 atom, mean 7, std 0)
    """
    sample = _sample(values, counts)
    return Prior.gaussian(sample.mean, sample.std)


@short_traceback
def fit_mixture(
    values: ArrayLike,
    counts: ArrayLike,
    /,
    *,
    components: int,
    seed: int = 0,
    tolerance: float = _TOLERANCE,
    max_iterations: int = _MAX_ITERATIONS,
) -> Prior:
    r"""Gaussian mixture of locally largest likelihood, by EM from a k-means start.

    With the responsibilities :math:`r_{mi} \propto \alpha_m N(x_i; \mu_m, \sigma_m^2)`, summing to 1 over m, and the
    shares :math:`p_i = c_i / \sum_j c_j`, each step takes

    .. math:: \alpha_m = \sum_i p_i r_{mi}, \qquad \mu_m = \frac{1}{\alpha_m} \sum_i p_i r_{mi} x_i, \qquad
        \sigma_m^2 = \frac{1}{\alpha_m} \sum_i p_i r_{mi} (x_i - \mu_m)^2

    until the mean log-likelihood changes by less than `tolerance`. After every two steps SQUAREM leaps in their
    direction, and a leap that lowers the likelihood is taken back.

    Parameters
    ----------
    values, counts : array_like, shape (n,)
        As in `fit_gaussian`.
    components : int
        Largest number of components, at least 1.
    seed : int
        Seed of the k-means start; equal seeds give equal priors.
    tolerance : float
        Change of the mean log-likelihood (nats per record) below which EM stops, at least 0.
    max_iterations : int
        Steps after which EM stops in any case, without a warning, at least 1.

    Returns
    -------
    Prior
        In units of the column. With as many components as distinct values: the empirical prior. A component narrower
        than 1e-6 standard deviations of the data, and than half of the gaps between values, is an atom, on the value
        where it sits; one that claims less than 1/1000 of the rarest value's records is dropped.

    Raises
    ------
    PriorError
        As in `fit_gaussian`.
    ArgumentError
        For an option out of range.

    Notes
    -----
    **Guarantee**: mean and variance are those of the data, up to rounding and what the width floor adds. Nothing is
    claimed of the global maximum, nor of the limit of EM: on overlapping components it stops long before it.
    **Cost**: one sort, then 20 to 40 microseconds per step however many values there are: more than 1,024 are grouped
    into at most 512 intervals that are narrow and light (1/256 of the range and of the counts, or one value), and each
    stands as two equally heavy points with its mean and variance. Start, steps and stopping rule are those of
    `sklearn.mixture.GaussianMixture`; the leaps need a fifth of the steps, and end at a likelihood as large or larger.

    References
    ----------
    [VR08] Varadhan and Roland, *Simple and globally convergent methods for accelerating the convergence of any EM
    algorithm*, Scandinavian Journal of Statistics 35, 2008, scheme S3.

    Examples
    --------
    >>> prior = fit_mixture([0, 1, 2, 100, 101, 102], [5, 10, 5, 2, 4, 2], components=2)
    >>> prior.means.round(6), prior.stds.round(3)
    (array([  1., 101.]), array([0.707, 0.707]))
    """
    tolerance = check_number(tolerance, "tolerance")
    if not tolerance >= 0:
        raise ArgumentError("tolerance", rule="at least 0", got=f"{tolerance:g}", hint="Leave it out for 1e-7.")
    components, steps = _at_least_one(components, "components"), _at_least_one(max_iterations, "max_iterations")
    return _mixture(_sample(values, counts), components, check_count(seed, "seed", at_least=0), tolerance, steps)


def fit_best(values: ArrayLike, counts: ArrayLike, /, *, most: int = 5, seed: int = 0) -> tuple[Prior, float]:
    """Mixture with the number of components, from 1 to `most`, of the smallest `bic`.

    Numbers are tried from 1 on, until two in a row are no better than the best one before.

    - `values`, `counts`, `seed`: As in `fit_mixture`.
    - `most`: Largest number of components to try, at least 1.
    Returns: The prior, in units of the column (of equally good ones the one with fewer components), and its BIC.
    Raises PriorError, ArgumentError as in `fit_mixture`.
    """
    sample = _sample(values, counts)
    most = min(_at_least_one(most, "most"), sample.values.size)
    fits = list[tuple[Prior, float]]()
    best = 0
    while len(fits) < min(most, best + 1 + _IN_VAIN):
        prior = _mixture(sample, len(fits) + 1, seed, _TOLERANCE, _MAX_ITERATIONS)
        fits.append((prior, _bic(prior, sample)))
        best = len(fits) - 1 if fits[-1][1] < fits[best][1] else best
    return fits[best]


def fit_finer(values: ArrayLike, counts: ArrayLike, /, *, seed: int = 0) -> tuple[Prior, float]:
    """As `fit_best`, with 8 or 12 components."""
    sample, fits = _sample(values, counts), list[tuple[Prior, float]]()
    for components in _FINER:
        prior = _mixture(sample, components, seed, _TOLERANCE, _MAX_ITERATIONS)
        fits.append((prior, _bic(prior, sample)))
    return min(fits, key=lambda fit: fit[1])


def common_variance_preferred(groups: Sequence[tuple[ArrayLike, ArrayLike]], /) -> bool:
    r"""Whether one variance for all groups has a BIC at most that of a variance for each, with Gaussian groups.

    .. math:: \sum_s n_s \log \frac{\sigma^2}{\sigma_s^2} \le (S - 1) \log n, \qquad
        \sigma^2 = \frac1n \sum_s n_s \sigma_s^2

    with n_s records and variance :math:`\sigma_s^2` in group s of S, and n records in all.

    - `groups` (sequence of (values, counts)): Data per secret, each as in `fit_gaussian`.
    Returns: False where some, but not all groups are constant.
    Raises PriorError for no group, and as in `fit_gaussian`.

    The means are free in both, so that their penalties cancel. **Cost**: one sort per group.
    """
    samples = [_sample(values, counts) for values, counts in groups]
    if not samples:
        raise PriorError("groups", rule="of at least one secret", got="none", hint="Give values and counts per secret.")
    sizes = np.array([sample.size for sample in samples])
    stds = np.array([sample.std for sample in samples])
    if not stds.all():
        return not stds.any()
    stds = stds / stds.max()
    total = float(sizes.sum())
    pooled = float(sizes @ stds**2) / total
    gain = float(sizes @ (math.log(pooled) - 2 * np.log(stds)))
    return gain <= (len(samples) - 1) * math.log(total)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Distinct values and their moments."""

    empirical: Prior
    """The data themselves."""
    values: FloatArray
    """Ascending, shape (n,), in units of the column."""
    scores: FloatArray
    """(values - mean) / std."""
    shares: FloatArray
    """Counts, divided by their sum."""
    size: float
    """Sum of the counts."""
    mean: float
    """In units of the column."""
    std: float
    """In units of the column; 0 for one value."""

    @property
    def narrowest(self) -> float:
        """A component this narrow, in standard deviations, is an atom: half of the gaps are no smaller."""
        gaps = np.diff(self.scores)
        return min(NARROWEST, max(float(np.median(gaps)), _SMALLEST_GAP)) if gaps.size else NARROWEST


def _sample(values: ArrayLike, counts: ArrayLike) -> _Sample:
    empirical = Prior.empirical(values, counts)
    kept = empirical.weights > _NEGLIGIBLE
    x, p = empirical.means[kept], empirical.weights[kept]
    # A power of two near the largest magnitude keeps squares and differences of huge and tiny values in range.
    exponent = int(np.frexp(np.abs(x).max())[1])
    y = np.ldexp(x, -exponent)
    mean = float(y[0] + p @ (y - y[0]))
    # What rounding left in the mean is taken out of the deviations.
    deviations = y - mean
    rest = float(p @ deviations)
    deviations = deviations - rest
    std = math.sqrt(float(p @ deviations**2)) if x.size > 1 else 0.0
    return _Sample(
        empirical=empirical,
        values=x,
        scores=deviations / std if std else np.zeros(x.size),
        shares=p,
        size=float(np.sum(counts, dtype=np.float64)),
        mean=float(np.ldexp(mean + rest, exponent)) if std else float(x[0]),
        std=float(np.ldexp(std, exponent)),
    )


def _mixture(sample: _Sample, components: int, seed: int, tolerance: float, max_iterations: int) -> Prior:
    if components >= sample.values.size:
        return sample.empirical
    if components == 1:
        return Prior.gaussian(sample.mean, sample.std)
    x, p = _compressed(sample.scores, sample.shares)
    narrowest = sample.narrowest
    start = _start(x, p, components=components, seed=seed, narrowest=narrowest)
    lightest = _LIGHTEST * float(sample.shares.min())
    weights, means, stds = climb(
        x, p, start, lightest=lightest, tolerance=tolerance, most_steps=max_iterations, narrowest=narrowest
    )
    nearest = np.searchsorted((sample.scores[1:] + sample.scores[:-1]) / 2, means)
    is_atom = stds <= narrowest * (1 + 1e-9)
    on_value = is_atom & (np.abs(sample.scores[nearest] - means) <= 4 * narrowest)
    return Prior.mixture(
        weights,
        np.where(on_value, sample.values[nearest], sample.mean + sample.std * means),
        np.where(is_atom, 0.0, sample.std * stds),
    )


def _compressed(x: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """At most 4 _CELLS points: each interval becomes mean ± std, so that quadratic functions keep their sums."""
    if x.size <= 4 * _CELLS:
        return x, p
    along = np.floor((x - x[0]) * (_CELLS / (x[-1] - x[0])))
    above = np.floor((np.cumsum(p) - p / 2) * _CELLS)
    starts = np.flatnonzero(np.diff(along + above, prepend=-1.0))
    lengths = np.diff(starts, append=x.size)
    mass = np.add.reduceat(p, starts)
    offsets = x - np.repeat(x[starts], lengths)
    means = np.add.reduceat(p * offsets, starts) / mass
    stds = np.sqrt(np.add.reduceat(p * (offsets - np.repeat(means, lengths)) ** 2, starts) / mass)
    centres = x[starts] + means
    points, place = np.unique(np.concatenate([centres - stds, centres + stds]), return_inverse=True)
    return points, np.bincount(place, weights=np.tile(mass / 2, 2)).astype(np.float64)


_THREAD_POOLS = cache(ThreadpoolController)
"""They are found once: it takes six milliseconds, half of a start."""


def _start(
    x: FloatArray, p: FloatArray, *, components: int, seed: int, narrowest: float = NARROWEST
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights, means and standard deviations of the k-means clusters."""
    # Imported here: it takes half a second that most requests do not need.
    from sklearn.cluster import KMeans

    # One thread: on so few points two only wait for each other, for a second where another program holds the core.
    with warnings.catch_warnings(), _THREAD_POOLS().limit(limits=1, user_api="openmp"):
        warnings.simplefilter("ignore")
        kmeans = KMeans(components, n_init=_STARTS, random_state=seed).fit(x[:, None], sample_weight=p)
    centres = np.sort(kmeans.cluster_centers_[:, 0])
    # The last digits depend on machine and unit; rounding keeps a value half way between two centres on one side.
    labels = np.searchsorted(np.round((centres[1:] + centres[:-1]) / 2, 9), x)
    member = (labels == np.unique(labels)[:, None]) * p
    weights = member.sum(axis=1)
    means = member @ x / weights
    variances = (member * (x - means[:, None]) ** 2).sum(axis=1) / weights
    return weights, means, np.sqrt(np.maximum(variances, narrowest**2))


def _bic(prior: Prior, sample: _Sample) -> float:
    r"""Bayesian information criterion of a fitted prior; smaller is better.

    .. math:: -2 \sum_i c_i \log P(X \in C_i) + (3k - 1) \log \sum_i c_i

    where k is the number of components and the cell C_i reaches half way from the value x_i to its neighbours (the
    outermost ones as far out as in). Probabilities of cells compare atoms with Gaussians, where an atom's density would
    be infinite. Where densities hardly change within a cell, the BICs of all priors differ from those of the densities
    by the same amount. An atom, too, counts three parameters. Probabilities below 1e-300 count as 1e-300.
    """
    x = sample.scores
    gaps = np.diff(x) / 2
    first, last = gaps[[0, -1]] if gaps.size else (1.0, 1.0)
    edges = np.concatenate([x[:1] - first, x[:-1] + gaps, x[-1:] + last])
    unit = sample.std or 1.0
    probabilities = np.zeros(x.size)
    for weight, mean, std in zip(prior.weights, prior.means, prior.stds, strict=True):
        z = (edges - (float(mean) - sample.mean) / unit) / max(float(std) / unit, NARROWEST**2)
        tails = ndtr(-np.abs(z))
        around = (z[:-1] < 0) & (z[1:] > 0)
        probabilities += weight * np.where(around, 1 - tails[:-1] - tails[1:], np.abs(np.diff(tails)))
    likelihood = sample.size * float(sample.shares @ np.log(np.maximum(probabilities, _IMPOSSIBLE)))
    return -2 * likelihood + (3 * prior.weights.size - 1) * math.log(sample.size)


def _at_least_one(number: int, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise ArgumentTypeError(
            name, rule="a whole number", got=f"a {type(number).__name__}", hint=f"Leave {name} out or write 1."
        )
    if number < 1:
        raise ArgumentError(name, rule="at least 1", got=f"{number}", hint=f"Leave {name} out or write 1.")
    return int(number)
