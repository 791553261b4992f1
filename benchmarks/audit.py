"""How often an audit raises a false alarm, and how often it finds planted faults.

Run: nice python benchmarks/audit.py [--releases 7] [--faults 100] [--rows 1500] [--only NAME]
"""

import argparse
import time

import numpy as np
from audit_kinds import FAULTS, KINDS, SHOWN_BY, fault, people, release

from puffer_frames import audit


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--releases", type=int, default=7, help="correct releases of each kind")
    arguments.add_argument("--faults", type=int, default=100, help="releases with each fault")
    arguments.add_argument("--rows", type=int, default=1500)
    arguments.add_argument("--only", default="", help="kinds and faults whose name has this")
    asked = arguments.parse_args()
    rng, alarms, count, begun = np.random.default_rng(), 0, 0, time.perf_counter()
    for kind in (name for name in KINDS if asked.only in name):
        for _ in range(asked.releases):
            original, released = release(kind, people(rng, asked.rows))
            report = audit(original, released)
            count += 1
            if not report.passed:
                alarms += 1
                print(f"false alarm: {kind}: {report.failures}\n{report}", flush=True)
        print(f"{kind}: {asked.releases} releases; {time.perf_counter() - begun:.0f} s", flush=True)
    print(f"{alarms} false alarms in {count} correct releases of {len(KINDS)} kinds", flush=True)
    for kind in (name for name in FAULTS if asked.only in name):
        found = []
        for _ in range(asked.faults):
            original, released, certificate = fault(kind, people(rng, asked.rows), rng)
            found.append(audit(original, released, certificate=certificate).failures)
        own = sum(SHOWN_BY[kind] in each for each in found)
        caught = sum(bool(each) for each in found)
        print(f"{kind}: found in {caught} of {len(found)}, by {SHOWN_BY[kind]!r} in {own}", flush=True)
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
