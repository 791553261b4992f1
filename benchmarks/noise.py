"""Time and memory of adding keyed noise, beside NumPy's textbook samplers.

Run: python benchmarks/noise.py [--rounds N]

Prints nanoseconds a value and ratios: medians over interleaved rounds in one process. The reference draws and adds
with `numpy.random.Generator(PCG64)`, and with Chambers' and Mallows' and Stuck's transformation for stable noise.
benchmarks/noise_peers.py measures other libraries beside the same reference.
"""

import argparse
import statistics
import time
import tracemalloc

import numpy as np

from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey

SCALE, ALPHA = 1.7, 1.5


def textbook_stable(generator, n):
    v = generator.uniform(-np.pi / 2, np.pi / 2, n)
    w = generator.standard_exponential(n)
    ratio = (np.cos((1 - ALPHA) * v) / w) ** ((1 - ALPHA) / ALPHA)
    return SCALE * np.sin(ALPHA * v) / np.cos(v) ** (1 / ALPHA) * ratio


def candidates(x):
    n, generator = x.size, np.random.Generator(np.random.PCG64(0))
    stream, rows = ReleaseKey.of(None).stream(Purpose.NOISE, "x"), np.random.default_rng(1).permutation(n)
    ours = {
        name: noise.sampler()
        for name, noise in (
            ("laplace", Laplace(scale=SCALE)),
            ("gaussian", Gaussian(scale=SCALE)),
            ("stable", Stable(scale=SCALE, alpha=ALPHA)),
        )
    }
    return {
        "laplace": {
            "numpy": lambda: x + SCALE * generator.laplace(size=n),
            "one thread": lambda: add_noise(x, ours["laplace"], stream=stream, threads=1),
            "two threads": lambda: add_noise(x, ours["laplace"], stream=stream, threads=2),
            "rows in any order": lambda: add_noise(x, ours["laplace"], stream=stream, threads=1, rows=rows),
        },
        "gaussian": {
            "numpy": lambda: x + SCALE * generator.normal(size=n),
            "one thread": lambda: add_noise(x, ours["gaussian"], stream=stream, threads=1),
            "two threads": lambda: add_noise(x, ours["gaussian"], stream=stream, threads=2),
        },
        "stable": {
            "numpy": lambda: x + textbook_stable(generator, n),
            "one thread": lambda: add_noise(x, ours["stable"], stream=stream, threads=1),
            "two threads": lambda: add_noise(x, ours["stable"], stream=stream, threads=2),
        },
    }


def medians(functions, *, rounds):
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(t) for name, t in times.items()}


def extra_memory(x):
    sampler, stream = Laplace(scale=SCALE).sampler(), ReleaseKey.of(0).stream(Purpose.NOISE, "x")
    peaks = []
    for threads in (1, 2):
        tracemalloc.start()
        out = add_noise(x, sampler, stream=stream, threads=threads)
        peaks.append(tracemalloc.get_traced_memory()[1] - out.nbytes)
        tracemalloc.stop()
    return [peak / 2**20 for peak in peaks]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    for n in (10**5, 10**6, 10**7):
        x = np.random.default_rng(2).normal(size=n) * 5
        for kind, functions in candidates(x).items():
            found = medians(functions, rounds=max(3, rounds // 3) if n == 10**7 else rounds)
            for name, seconds in found.items():
                ratio = seconds / found["numpy"]
                print(f"{n:>10,}  {kind:<9} {name:<18} {seconds / n * 1e9:8.1f} ns  {ratio:5.2f}")
    one, two = extra_memory(np.zeros(10**7))
    print(f"memory beside the result, 10,000,000 values: {one:.1f} MiB with one thread, {two:.1f} MiB with two")


if __name__ == "__main__":
    main()
