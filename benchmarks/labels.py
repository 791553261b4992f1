"""Time of counting and releasing a column of text, beside what Polars alone takes for the same passes.

Run: python benchmarks/labels.py [--rows N] [--levels N] [--rounds N]

The reference counts the rows per secret and text, and replaces each text by another: `group_by([secret, text]).len()`
and `replace_strict`. Ours opens the frame, counts, and releases through a channel that keeps a level with probability
0.8, with the fingerprint of what is released; and through one that sees the secret. Prints medians of seconds over
interleaved rounds in one process, for rows in memory and for a plan over them, and the ratios.
"""

import argparse
import statistics
import time

import numpy as np
import polars as pl

from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.noise.channel import ChannelTable, LabelChannel
from puffer_frames.noise.stream import ReleaseKey

ROLES = Roles(secret=("secret",), public=("text",), coded=("text",))
STAYS = 0.8
KINDS = {
    "in memory": (False, False),
    "in memory, sees the secret": (False, True),
    "plan": (True, False),
    "plan, sees the secret": (True, True),
}
"""Whether it is a plan, and whether the channel sees the secret."""


def make_frame(rows, levels):
    rng = np.random.default_rng(0)
    texts = pl.Series([f"level number {k:03}" for k in range(levels)])
    groups = pl.Series([f"group {k}" for k in range(4)])
    return pl.DataFrame(
        {
            "secret": groups.gather(rng.integers(0, 4, rows).astype(np.uint32)),
            "text": texts.gather(rng.integers(0, levels, rows).astype(np.uint32)),
        }
    )


def make_channel(counts, *, sees_secret):
    levels, secrets = counts.levels, list(counts.counts)
    n = len(levels)
    weights = np.full((n, n), int((1 - STAYS) * 2**62) // n, dtype=np.int64)
    weights[np.arange(n), np.arange(n)] += 2**62 - weights.sum(axis=1)
    codes, key = {level: k for k, level in enumerate(levels)}, ReleaseKey.of(1)
    if not sees_secret:
        return LabelChannel.of("text", key=key, codes=codes, outputs=levels, table=ChannelTable(weights))
    return LabelChannel(
        columns=("text", "secret"),
        key=key,
        inputs={(level, secret): k * n + code for k, secret in enumerate(secrets) for level, code in codes.items()},
        outputs=tuple((level,) for level in levels),
        table=ChannelTable(np.concatenate([weights] * len(secrets))),
        seen=1,
    )


def reference(frame):
    counted = frame.group_by(["secret", "text"]).len()
    levels = counted["text"].unique().to_list()
    return frame["text"].replace_strict(levels, levels[::-1])


def ours(frame, spent, *, sees_secret):
    start = time.perf_counter()
    rows = open_table(frame).complete(ROLES, nulls="raise", layout=RowOrder())
    opened = time.perf_counter()
    counts = rows.level_counts("text")
    counted = time.perf_counter()
    released = rows.release([make_channel(counts, sees_secret=sees_secret)]).frame
    if isinstance(released, pl.LazyFrame):
        released.collect(engine="streaming")
    spent["open"].append(opened - start)
    spent["count"].append(counted - opened)
    spent["release"].append(time.perf_counter() - counted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--levels", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    frame = make_frame(options.rows, options.levels)
    parts = {kind: {"open": [], "count": [], "release": []} for kind in KINDS}
    base = []
    for _ in range(options.rounds):
        start = time.perf_counter()
        reference(frame)
        base.append(time.perf_counter() - start)
        for kind, (lazy, sees_secret) in KINDS.items():
            ours(frame.lazy() if lazy else frame, parts[kind], sees_secret=sees_secret)
    reference_seconds = statistics.median(base)
    print(f"{options.rows:,} rows, {options.levels} levels; reference {reference_seconds:.3f} s")
    print(f"{'':<28}{'open':>8}{'count':>8}{'release':>9}{'sum':>8}{'ratio':>8}")
    for kind, spent in parts.items():
        total = statistics.median(map(sum, zip(*spent.values(), strict=True)))
        columns = [f"{statistics.median(spent[part]):.3f}" for part in spent]
        ratio = total / reference_seconds
        print(f"{kind:<28}{columns[0]:>8}{columns[1]:>8}{columns[2]:>9}{total:>8.3f}{ratio:>8.2f}")


if __name__ == "__main__":
    main()
