"""Rows of a Spark frame that no column numbers: computed once, and numbered by partition and place."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from puffer_frames.frames.noisy import NUMBER, PLACE_BITS


def materialised(rows: Any, /) -> Any:
    """The rows computed once: in the checkpoint directory, or with the executors where there is none."""
    context = getattr(rows.sparkSession, "sparkContext", None)  # Spark Connect has none
    reliable = context is not None and context.getCheckpointDir() is not None
    return rows.checkpoint(eager=True) if reliable else rows.localCheckpoint(eager=True)


def first_numbers(rows: Any, /) -> tuple[int, ...]:
    """Number of the first row of each partition of materialised rows."""
    partition = F.shiftright(F.col(NUMBER), PLACE_BITS).alias("partition")
    counted = rows.groupBy(partition).agg(F.count(F.lit(1)).alias("rows")).toArrow().to_pylist()
    sizes = {part["partition"]: part["rows"] for part in counted}
    return tuple(accumulate((sizes.get(k, 0) for k in range(max(sizes))), initial=0))
