"""The property of tests/properties/release_property.py on many odd tables and requests.

Run: python benchmarks/fuzz.py [--examples N] [--seed N]

Prints how often what happened, and the shortest case of every failure; the exit code is 1 where there is one.
"""

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.append(str(Path(__file__).parents[1] / "tests"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "properties"))
from odd_requests import cases
from release_property import check


def where(error):
    """The kind of a failure: the error and the last line of the library or of the property that it came from."""
    places = [f for f in traceback.extract_tb(error.__traceback__) if "site-packages" not in f.filename]
    last = places[-1]
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {text[0][:120]}"


def run(examples, *, start):
    counts, failures, slowest = Counter(), {}, (0.0, "")

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),  # nothing may end the count early
    )
    @given(cases())
    def sample(case):
        nonlocal slowest
        began = time.perf_counter()
        try:
            counts.update(set(check(case)))
        except Exception as error:
            kind = where(error)
            counts["failure"] += 1
            seen, text = failures.get(kind, (0, ""))
            failures[kind] = seen + 1, min(filter(None, (text, repr(case))), key=len)
        slowest = max(slowest, (time.perf_counter() - began, repr(case)))
        counts["examples"] += 1

    sample()
    return counts, failures, slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.perf_counter()
    counts, failures, slowest = run(arguments.examples, start=arguments.seed)
    print(f"{time.perf_counter() - began:.0f} s; the slowest example took {slowest[0]:.1f} s")
    for name, count in sorted(counts.items()):
        print(f"{count:7,}  {name}")
    print("slowest:", slowest[1][:3000])
    for kind, (count, case) in sorted(failures.items(), key=lambda item: -item[1][0]):
        print(f"\n{count} times {kind}\n{case}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
