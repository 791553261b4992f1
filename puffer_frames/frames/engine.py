"""Aggregates by the engine that does them fastest: Polars' streaming one, also for frames in memory."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

_STREAMING: dict[str, Any] = (
    {"engine": "streaming"}
    if "streaming" in str(inspect.signature(pl.LazyFrame.collect).parameters.get("engine"))
    else {}
)


def count_groups(table: nw.DataFrame[Any], keys: Sequence[str], /) -> nw.DataFrame[Any]:
    """Number of rows per combination of the keys, in a column `count`."""
    if not table.implementation.is_polars():
        return table.group_by(list(keys)).agg(nw.len().alias("count"))
    native = table.to_native().lazy().group_by(list(keys)).agg(pl.len().alias("count"))
    return nw.from_native(native.collect(**_STREAMING), eager_only=True)
