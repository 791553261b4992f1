"""Aggregates by the engine that does them fastest: Polars' streaming one, also for frames in memory."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

_ENGINE = inspect.signature(pl.LazyFrame.collect).parameters.get("engine")
_STREAMING: dict[str, Any] = {"engine": "streaming"} if _ENGINE is not None and _ENGINE.default == "auto" else {}
"""Older versions of Polars have no streaming engine under this name."""


def count_groups(table: nw.DataFrame[Any], keys: Sequence[str], /, **changed: nw.Expr) -> nw.DataFrame[Any]:
    """Number of rows per combination of the keys, in a column `count`.

    Columns may be changed first, in the same pass: `name=expression`.
    """
    if not table.implementation.is_polars():
        ready = table.with_columns(**changed) if changed else table
        return ready.group_by(list(keys)).agg(nw.len().alias("count"))
    plan = table.lazy().with_columns(**changed) if changed else table.lazy()
    counted = plan.group_by(list(keys)).agg(nw.len().alias("count"))
    return nw.from_native(counted.to_native().collect(**_STREAMING), eager_only=True)
