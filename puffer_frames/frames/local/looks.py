"""What frames show to `order` and `kept`: rows in memory, and plans by the streaming engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.errors import PufferWarning, RowOrderWarning
from puffer_frames.frames import kept, order
from puffer_frames.frames.coded import Coded, codes_of, is_plain, is_plain_dtype, numbers_of
from puffer_frames.frames.columns import Frame
from puffer_frames.frames.draws import Draws, Reader, read_series
from puffer_frames.frames.kept import Ask, Column, Evidence, kept_columns, look_at_kept
from puffer_frames.frames.local.engine import LocalSecrets
from puffer_frames.frames.order import WINDOW, Sample, look_at_order, share_of_runs, window_places
from puffer_frames.frames.roles import Roles
from puffer_frames.noise.adding import Draw

Entries = Mapping[str, nw.Series[Any]]
"""Columns by plain names: `secret_0`, ..., `public_0`, ..., `keep_0`, ..."""
Rehearsed = Callable[[], Sequence[Draw]]
"""The draws of a release, with another key than its own."""
_ROW = "row"


def warn_of_order(
    frame: Frame, secrets: LocalSecrets, roles: Roles, coded: Mapping[str, Coded], /, *, counts: Sequence[int]
) -> list[RowOrderWarning]:
    """Warn of the row order of a frame in memory; columns of labels are numbers of their levels."""
    places = window_places(len(frame), most=WINDOW * order.WINDOWS, windows=order.FEWER)
    public = [
        coded[name].codes[places].astype(np.float64) if name in coded else numbers_of(frame[name][places])
        for name in roles.public
    ]
    sample = Sample.of(
        secrets.in_order(places), [values for values in public if values is not None], whole=places.size == len(frame)
    )
    runs = secrets.runs(len(frame)) if places.size == len(frame) else None
    return order_warnings(sample, runs=runs, counts=counts, public=roles.public)


def order_warnings(
    sample: Sample, /, *, runs: int | None, counts: Sequence[int], public: Sequence[str]
) -> list[RowOrderWarning]:
    """One at most."""
    found = look_at_order(sample, runs=runs, counts=counts, public=public)
    share = share_of_runs(sample.runs(sum(counts)) if runs is None else runs, counts)
    return [RowOrderWarning(found, share=share)] if found else []


def warn_of_kept(
    frame: Frame, roles: Roles, /, *, keeps_index: bool, in_order: bool, read: Reader, draws: Rehearsed
) -> list[PufferWarning]:
    """Warn of kept columns of a frame in memory; a pandas index may be kept too. `read` reads all rows.

    Of many rows some pairs of neighbours are looked at.
    """
    names = roles.plain("keep")
    columns = {alias: frame[name] for alias, name in names.items()}
    if keeps_index and frame.implementation.is_pandas():
        index = frame.to_native().index
        if not index.equals(pd.RangeIndex(len(index))):  # which is the order of the rows
            columns |= {f"index_{k}": _level(index, k) for k in range(index.nlevels)}
    if not columns:
        return []
    columns |= {alias: frame[name] for alias, name in roles.without_given().plain("secret", "public").items()}
    whole = len(frame) <= kept.ROWS
    places = np.arange(len(frame))
    if not whole:
        first = np.sort(np.random.default_rng(0).choice(len(frame) // 2, kept.ROWS // 2, replace=False))
        places = (2 * first[:, None] + np.arange(2)).ravel()

    def ask(own: Sequence[str], target: str) -> Evidence | None:
        asked = {name: columns[name] for name in (*own, target)}
        if not all(map(is_plain, asked.values())):
            return None
        read: Callable[[Any], Any] = codes_of if frame.implementation.is_pandas() else nw.to_native
        return plan_evidence(pl.LazyFrame({name: read(entries) for name, entries in asked.items()}), own, target)

    sampled = {name: entries if whole else entries[places] for name, entries in columns.items()}
    released = _released(draws(), roles, lambda name, levels: read(name, levels)[places])
    return kept_warnings(sampled, roles, names, released=released, in_order=in_order, ask=None if whole else ask)


def warn_of_kept_in_plan(plan: pl.LazyFrame, roles: Roles, /, *, rows: int, draws: Rehearsed) -> list[PufferWarning]:
    """Warn of kept columns of a plan under their plain names; some random rows are looked at."""
    own = roles.plain("keep")
    columns = plan.select(*roles.without_given().plain("secret", "public"), *own)
    step = -(-rows // kept.ROWS)
    some = (
        columns
        if step == 1
        else columns.with_row_index(_ROW).filter((pl.col(_ROW) // 2).hash(1) % step == 0).drop(_ROW)
    )
    ask = None if step == 1 else lambda kept_, target: plan_evidence(columns, kept_, target)
    return warn_of_kept_in_sample(some.collect(engine="streaming"), roles, in_order=True, draws=draws, ask=ask)


def warn_of_kept_in_sample(
    sample: pl.DataFrame, roles: Roles, /, *, in_order: bool, draws: Rehearsed, ask: Ask | None
) -> list[PufferWarning]:
    """The same of a sample of rows, under their plain names, of any engine, which is asked for all rows."""
    entries = {name: nw.from_native(sample[name], series_only=True) for name in sample.columns}
    released, names = released_in(sample, draws(), roles), roles.plain("keep")
    return kept_warnings(entries, roles, names, released=released, in_order=in_order, ask=ask)


def _level(index: Any, k: int) -> nw.Series[Any]:
    """A level of a pandas index as a column."""
    return nw.from_native(pd.Series(index.get_level_values(k)).reset_index(drop=True), series_only=True)


def _released(draws: Sequence[Draw], roles: Roles, read: Reader) -> dict[str, Column]:
    """The public columns as they are released, with the noise of a key of their own: that of the release says nothing
    of the secret here.
    """
    drawn = Draws.of(draws, public=roles.public).prepared()(read, None)
    codes = {name: np.unique(values, return_inverse=True)[1] for name, values in drawn.items()}
    return {
        plain: Column(name=name, codes=codes[name], numbers=drawn[name].astype(np.float64))
        for plain, name in roles.plain("public").items()
    }


def released_in(sample: pl.DataFrame, draws: Sequence[Draw], roles: Roles, /) -> dict[str, Column]:
    """The same of rows under their plain names."""
    plain = roles.read_as(name for draw in draws for name in draw.reads)
    return _released(draws, roles, lambda name, levels: read_series(sample[plain[name]], levels, name=name))


def kept_warnings(
    sample: Entries,
    roles: Roles,
    names: Mapping[str, str],
    /,
    *,
    released: Mapping[str, Column],
    in_order: bool,
    ask: Ask | None,
    of_all: bool = False,
) -> list[PufferWarning]:
    """From some rows; `names` are those of the kept columns, and others are of the index. See `look_at_kept`."""
    targets = {
        plain: Column(name=name, codes=codes_of(sample[plain]), numbers=numbers_of(sample[plain]))
        for plain, name in roles.without_given().plain("secret", "public").items()
    }
    secrets, public = (
        {name: column for name, column in targets.items() if name.startswith(role)} for role in ("secret_", "public_")
    )
    own = {
        plain if k == 0 else f"{plain}_{k}": column
        for plain, entries in sample.items()
        if plain not in targets
        for k, column in enumerate(kept_columns(entries, name=names.get(plain, "the index")))
    }
    asked = ask and (lambda kept_, target: ask(kept_, target) if set(kept_) <= set(sample) else None)
    asks: dict[str, Any] = {"given": roles.given, "in_order": in_order, "ask": asked, "of_all": of_all}
    return list(look_at_kept(own, secrets, public, released=released, **asks))


def plan_evidence(plan: pl.LazyFrame, own: Sequence[str], target: str, /) -> Evidence | None:
    """What group-bys count of all rows of a plan; None for entries that cannot be grouped."""
    schema = plan.collect_schema()
    if not all(is_plain_dtype(schema[name]) for name in (*own, target)):
        return None
    sizes, targets = pl.collect_all(evidence_plans(plan, own, target), engine="streaming")
    return evidence_of(sizes, targets)


def evidence_plans(rows: Any, own: Sequence[str], target: str, /) -> list[Any]:
    """Native lazy frames of what `Evidence` is made of, whatever the engine: how many kept values have so many rows,
    and how many of these are outside the most frequent target; how many targets have so many rows.
    """
    counts = nw.from_native(rows).group_by(*own, target).agg(nw.len().alias("rows"))
    size, number = nw.col("rows").sum().alias("size"), nw.len().alias("number")
    errors = (nw.col("size") - nw.col("most")).sum().alias("errors")
    sizes = counts.group_by(*own).agg(size, nw.col("rows").max().alias("most")).group_by("size").agg(number, errors)
    targets = counts.group_by(target).agg(size).group_by("size").agg(number)
    return [nw.to_native(found.select(nw.all().cast(nw.Int64))) for found in (sizes, targets)]


def evidence_of(sizes: Any, targets: Any, /) -> Evidence:
    """From the results of both: tables of Polars or PyArrow."""
    (size, number, wrong), (target_size, targets_of) = (
        [np.asarray(table[name].to_numpy(), dtype=np.int64) for name in names]
        for table, names in ((sizes, ("size", "number", "errors")), (targets, ("size", "number")))
    )
    return Evidence(sizes=size, groups=number, errors=int(wrong.sum()), target_sizes=target_size, targets=targets_of)
