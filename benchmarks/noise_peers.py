"""Time of other libraries' Laplace mechanisms a value, beside the same NumPy reference as benchmarks/noise.py.

Run: python benchmarks/noise_peers.py, in an environment of its own with opendp or diffprivlib (they need older
releases of Polars and scikit-learn than this package): pip install opendp diffprivlib "scikit-learn<1.7" "numpy<2.4"
"""

import statistics
import time

import numpy as np

SCALE = 1.7


def opendp(x):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=x.size), dp.l1_distance(T=float)
    mechanisms = {"default grid": dp.m.make_laplace(*space, scale=SCALE)}
    mechanisms["k = -40"] = dp.m.make_laplace(*space, scale=SCALE, k=-40)
    values = x.tolist()
    return {f"opendp, {name}": (lambda m=m: m(values)) for name, m in mechanisms.items()}


def diffprivlib(x):
    from diffprivlib.mechanisms import Laplace

    mechanism = Laplace(epsilon=1 / SCALE, sensitivity=1.0)
    return {"diffprivlib": lambda: [mechanism.randomise(value) for value in x.tolist()]}


def main():
    x = np.random.default_rng(0).normal(size=20_000) * 5
    generator = np.random.Generator(np.random.PCG64(0))
    large = np.tile(x, 50)
    functions = {"numpy": lambda: large + SCALE * generator.laplace(size=large.size)}
    for peer in (opendp, diffprivlib):
        try:
            functions |= peer(x)
        except ImportError as error:
            print(f"{peer.__name__}: not installed ({error.name})")
    times = {name: [] for name in functions}
    for _ in range(5):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - began) / (large.size if name == "numpy" else x.size))
    found = {name: statistics.median(t) for name, t in times.items()}
    for name, seconds in found.items():
        print(f"{name:<22} {seconds * 1e9:10.1f} ns  {seconds / found['numpy']:8.1f} times numpy")


if __name__ == "__main__":
    main()
