"""A frame of any kind with one label in place of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import narwhals.stable.v2 as nw

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.priors.level_counts import Level


def merged_frame(
    frame: NativeFrame, columns: Sequence[str], strata: Sequence[Sequence[Level]], /, *, label: str
) -> NativeFrame:
    """The frame with one label in place of those of some strata, in all columns."""
    parts = [
        nw.all_horizontal(
            *(nw.col(name).cast(nw.String) == nw.lit(cast(str, level)) for name, level in zip(columns, z, strict=True)),
            ignore_nulls=False,
        )
        for z in strata
    ]
    is_small = nw.any_horizontal(*parts, ignore_nulls=False)
    return nw.to_native(
        nw.from_native(frame).with_columns(
            nw.when(is_small).then(nw.lit(label)).otherwise(nw.col(name).cast(nw.String)).alias(name)
            for name in columns
        )
    )
