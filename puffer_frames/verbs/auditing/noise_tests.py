"""Whether noise has the law that was certified, and depends on nothing: tests of uniform numbers.

The noise of a row goes through the distribution function of its certified law. What comes out is uniform on (0, 1),
whatever the value was, and independent of it and of all other rows: all tests here are of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from puffer_frames.noise.family import NoiseFamily
from puffer_frames.priors.prior import FloatArray, IndexArray

SEEDS = (*range(11), 42, 99, 100, 123, 1234, 12345, 1337, 2023, 2024, 2025, 2026)
"""Seeds that people write."""
_STREAMS: tuple[tuple[str, Callable[[int], Any], Sequence[str]], ...] = (
    ("default_rng", np.random.default_rng, ("laplace", "normal", "random")),
    ("RandomState", np.random.RandomState, ("laplace", "normal", "random_sample")),
    ("random.Random", lambda seed: np.random.RandomState([seed]), ("random_sample",)),
)
_FEWEST = 8
_MANY = 100
_MOST_ROWS = 4_000
_CHUNK = 2_000_000
_RESOLUTIONS = (36, 30, 24)
_NEAR = 1e-6


def noise_ends(
    low: FloatArray, high: FloatArray, noise: NoiseFamily, scale: FloatArray, /
) -> tuple[FloatArray, FloatArray]:
    """The distribution function of noise that lay between two ends, a row each, at these.

    The ends are equal where the noise is known; they differ where the noisy value was rounded, clipped or replaced.
    """
    unit = noise.at(1.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return unit.cdf(low / scale), unit.cdf(high / scale)


def label_ends(
    before: FloatArray, after: FloatArray, kept: FloatArray, levels: int, /
) -> tuple[FloatArray, FloatArray]:
    """As above, for labels: up to `kept` for the own label, then equal shares for the others, in turn from it on."""
    others = max(levels - 1, 1)
    turn = np.mod(after - before - 1, levels)
    width = (1 - kept) / others
    same = after == before
    low = np.where(same, 0.0, kept + turn * width)
    return low, np.where(same, kept, low + width)


def uniform_noise(ends: tuple[FloatArray, FloatArray], rng: np.random.Generator, /) -> FloatArray:
    """Uniform numbers between the ends of each row: uniform on (0, 1) under the certified law."""
    low, high = ends
    return low + rng.random(low.size) * (high - low)


def p_of_law(uniform: FloatArray, /) -> float:
    """The p-value of all being uniform: Kolmogorov and Smirnov, and the mean size of the noise.

    With T = -log(1 - |2u - 1|), which for Laplace noise is |z| / b, the sum of T has a Gamma law of n: exact, and for a
    wrong scale the sharper one of both.
    """
    sizes = -np.log(np.maximum(1 - np.abs(2 * uniform - 1), 1e-300))
    total = float(sizes.sum())
    law = scipy.stats.gamma(uniform.size)
    both = 2 * min(float(law.cdf(total)), float(law.sf(total)))
    return smallest([both, float(scipy.stats.kstest(uniform, "uniform").pvalue)])


def p_of_sum(after: FloatArray, before: FloatArray, noise: NoiseFamily, scale: float, /) -> float:
    """The p-value of released values in a random order: that they are the original ones with noise of this law.

    The distance of Kolmogorov and Smirnov to the mean of the laws of all rows, which is no larger on average than of
    equal laws. For noise of finite variance also the characteristic function, at frequencies where the noise shows: at
    those of whole numbers, if the original values are some, the noise alone is seen.
    """
    atoms, counts = np.unique(before, return_counts=True)
    unit, n = noise.at(1.0), before.size
    uniform = np.zeros(n)
    for start in range(0, n, max(1, _CHUNK // atoms.size)):
        part = slice(start, start + max(1, _CHUNK // atoms.size))
        uniform[part] = unit.cdf((after[part, None] - atoms) / scale) @ counts / n
    found = [float(scipy.stats.kstest(uniform, "uniform").pvalue)]
    if math.isinf(noise.variance) or n < _MANY:
        return found[0]
    gap = float(np.diff(atoms).min()) if atoms.size > 1 else 0.0
    regular = gap > 0 and bool((np.mod((atoms - atoms[0]) / gap, 1.0) == 0).all())
    frequencies = [0.3 / scale, 1 / scale, 2 / scale, *([2 * math.pi / gap, 4 * math.pi / gap] if regular else [])]
    for t in frequencies:
        one, two = (float(1 / unit.inverse_characteristic(np.array([k * t * scale]))[0]) for k in (1, 2))
        for wave, sign in ((np.cos, 1.0), (np.sin, -1.0)):
            means = wave(t * before) * one
            spread = 0.5 + sign * 0.5 * np.cos(2 * t * before) * two - means**2
            deviation = float((wave(t * after) - means).sum()) / math.sqrt(max(float(spread.sum()), 1e-9))
            found.append(float(2 * scipy.stats.norm.sf(abs(deviation))))
    return smallest(found)


def p_of_groups(uniform: FloatArray, groups: IndexArray, /) -> float:
    """The p-value of equal laws in all groups: ranks of the noise and of its size (Kruskal and Wallis)."""
    counts = np.bincount(groups)
    merged = np.where(counts[groups] >= _FEWEST, groups, counts.size)
    names, codes = np.unique(merged, return_inverse=True)
    if names.size < 2 or np.ptp(uniform) == 0:
        return 1.0
    parts = [[each[codes == k] for k in range(names.size)] for each in (uniform, np.abs(2 * uniform - 1))]
    return smallest(float(scipy.stats.kruskal(*part).pvalue) for part in parts)


def p_of_correlation(first: FloatArray, second: FloatArray, /) -> float:
    """The p-value of independence: rank correlations of the noise, and of its size, with something else."""
    if first.size < _FEWEST or np.ptp(second) == 0 or np.ptp(first) == 0:
        return 1.0
    return smallest(p_of_ranks(each, second) for each in (first, np.abs(2 * first - 1)))


def p_of_neighbours(uniform: FloatArray, /) -> float:
    """The p-value of independent neighbouring rows."""
    if uniform.size < 2 * _FEWEST or np.ptp(uniform) == 0:
        return 1.0
    return smallest(p_of_ranks(each[1:], each[:-1]) for each in (uniform, np.abs(2 * uniform - 1)))


def p_of_shifts(first: FloatArray, second: FloatArray, /) -> float:
    """The p-value of independence of the noise of rows and of any later ones: the largest rank correlation of all.

    Rows follow one another in a circle, so that it is one Fourier transform for all distances.
    """
    if first.size < _MANY or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    found = []
    for pair in ((first, second), (np.abs(2 * first - 1), np.abs(2 * second - 1))):
        one, other = (np.fft.rfft(scipy.stats.zscore(scipy.stats.rankdata(each))) for each in pair)
        at = np.fft.irfft(one * np.conj(other), first.size) / first.size
        # a column is itself, and even; half way round each pair would count twice
        at = at[1 : (first.size + 1) // 2] if first is second else at
        found.append(at.size * _p_of(float(np.abs(at).max()), first.size))
    return smallest(found)


def p_of_places(changed: NDArray[np.bool_], /) -> float:
    """The p-value of changed labels at independent places: how many are the same number of rows apart, in a circle.

    At each distance they are hypergeometric: so many of m rows among m of n.
    """
    n, m = changed.size, int(changed.sum())
    m = min(m, n - m)
    if n < _MANY or not m:
        return 1.0
    wave = np.fft.rfft(changed if int(changed.sum()) == m else ~changed)
    most = np.rint(np.fft.irfft(np.abs(wave) ** 2, n)[1 : (n + 1) // 2]).max()
    return min(1.0, n // 2 * float(scipy.stats.hypergeom.sf(most - 1, n, m, m)))


def p_of_shared(noises: Sequence[FloatArray], noise: NoiseFamily, /, *, largest: float) -> tuple[int, float]:
    """As `repeats`, of the sizes of the noise of all columns together, in units of their scales, in any order.

    It need only be as near as a program leaves it that rounds both columns in its own way.
    """
    pooled = np.abs(np.concatenate(noises))
    return repeats(pooled, 1.0, noise, largest=largest, sides=2, resolutions=_RESOLUTIONS[1:])


def repeats(
    noise_values: FloatArray,
    scale: float,
    noise: NoiseFamily,
    /,
    *,
    largest: float,
    sides: int = 1,
    resolutions: Sequence[int] = _RESOLUTIONS,
) -> tuple[int, float]:
    """How many rows repeat the noise of another one, and the p-value of so many.

    Noise is equal here within 2^-36 of the scale, or as nearly as floats of the size of the values tell. Among n rows,
    n^2 w f(0) / 2 pairs, on average, are that near, with w the width and f(0) the largest density: at most Poisson.
    Sizes of noise of both `sides` have twice the density.
    """
    width = next((scale * 2.0**-k for k in resolutions if scale * 2.0**-k > 8 * np.spacing(largest)), None)
    if width is None or noise_values.size < 2:
        return 0, 1.0
    rounded = np.sort(np.rint(noise_values / width))
    found = int(np.count_nonzero(np.diff(rounded) == 0))
    density = sides * math.exp(float(noise.at(1.0).log_density(np.zeros(1))[0])) / scale
    expected = 0.5 * noise_values.size**2 * width * density
    return found, float(scipy.stats.poisson.sf(found - 1, expected)) if found else 1.0


def p_of_seeds(noises: Sequence[FloatArray], /) -> tuple[str, float]:
    """What known stream of NumPy the noise of the columns is nearest to, and the p-value of being so near.

    Laplace, normal and uniform draws of seeds that people write, by `default_rng` and `RandomState`, one column after
    the other, row by row, or each column anew; and uniform ones of Python, which NumPy seeds by a list of one number.
    With few rows the numbers themselves are compared, with more their order.
    """
    best, smallest_p, looked = "", 1.0, 0
    count, rows = len(noises), noises[0].size
    few = rows < _FEWEST
    most = min(rows, _MOST_ROWS)
    ranks = list(noises) if few else [_standard(each[:most]) for each in noises]
    for seed in SEEDS:
        for title, make, laws in _STREAMS:
            for law in laws:
                draw = getattr(make(seed), law)
                drawn = draw(size=count * rows)
                by_row = [drawn.reshape(rows, count).T] if count > 1 else []
                for shape in [drawn.reshape(count, rows), *by_row]:
                    for k, each in enumerate(ranks):
                        for part in {0, k}:
                            looked += 1
                            drawn_part = shape[part, :most]
                            if few:  # each number is near that of a law with density 1/2 at most by chance
                                p = _NEAR**most if np.abs(each - drawn_part).max() < _NEAR else 1.0
                            else:
                                p = _p_of(float(each @ _standard(drawn_part)) / most, most)
                            if p < smallest_p:
                                best, smallest_p = f"{title}({seed}).{law}", p
    return best, min(1.0, smallest_p * looked)


def _standard(values: FloatArray) -> FloatArray:
    """The middle values alone count: heavy tails would hide all else."""
    clipped = np.clip(values, *np.quantile(values, (0.02, 0.98)))
    spread = float(clipped.std())
    return (clipped - clipped.mean()) / (spread or 1.0)


def smallest(found: Iterable[float], /) -> float:
    """The p-value of several tests together (Bonferroni); a test that could not be done counts as passed."""
    listed = [1.0 if math.isnan(p) else p for p in found]
    return min(1.0, len(listed) * min(listed, default=1.0))


def p_of_ranks(first: FloatArray, second: FloatArray, /) -> float:
    """The p-value of the rank correlation; 1 where one of them is constant."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    correlation = np.corrcoef(scipy.stats.rankdata(first), scipy.stats.rankdata(second))[0, 1]
    return _p_of(float(correlation), first.size)


def _p_of(correlation: float, rows: int) -> float:
    """Two-sided, by the normal law; never so small that few rows could not show it."""
    return float(2 * scipy.stats.norm.sf(abs(correlation) * math.sqrt(rows - 1)))
