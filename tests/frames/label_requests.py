"""A table of labels, and what opens and releases a column of it."""

import numpy as np

from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.noise.channel import ChannelTable, LabelChannel
from puffer_frames.noise.stream import ReleaseKey

ROWS = 900


RNG = np.random.default_rng(11)


ODD = ["", "a\0b", "a\0c", 'it\'s "odd"; --', "ζ 日本", "1"]


COLUMNS = {
    "group": RNG.choice(["p", "q", "r"], ROWS),
    "text": RNG.choice(["low", "middle", "high"], ROWS),
    "odd": RNG.choice(np.array(ODD, dtype=object), ROWS),
    "flag": RNG.random(ROWS) < 0.4,
    "some": [None if k % 9 == 0 else "xyz"[k * k % 7 % 3] for k in range(ROWS)],
    "grade": RNG.integers(-2, 3, ROWS),
    "score": RNG.integers(0, 6, ROWS),
    "note": RNG.permutation(["u", "v"] * (ROWS // 2)),
    "id": RNG.permutation(ROWS) * 7 - 100,
}


def channel(column, levels, outputs=None, *, stays=0.75):
    """Keeps a level with some probability, and gives any output otherwise."""
    outputs = levels if outputs is None else outputs
    weights = np.full((len(levels), len(outputs)), int(2**62 * (1 - stays)) // len(outputs), dtype=np.int64)
    places = np.arange(len(levels))
    weights[places, places % len(outputs)] += 2**62 - weights.sum(axis=1)
    codes = {level: k for k, level in enumerate(levels)}
    return LabelChannel.of(
        column, key=ReleaseKey.of(1), codes=codes, outputs=tuple(outputs), table=ChannelTable(weights)
    )


def opened(frame, name, *, nulls="raise", secret="group", keep=(), by=None, layout=None, coded=None, public=None):
    public = (name,) if public is None else public
    coded = public if coded is None else coded
    roles = Roles(secret=(secret,), public=public, keep=keep, row_id=by, coded=coded)
    return open_table(frame).complete(roles, nulls=nulls, layout=layout or RowOrder())


def released(frame, name, outputs=None, **options):
    rows = opened(frame, name, **options)
    counted = rows.level_counts(name)
    return counted, rows.release([channel(name, counted.levels, outputs)])
