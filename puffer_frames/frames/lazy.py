"""Polars plans: summaries by the streaming engine, and a released plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from puffer_frames.errors import ArgumentError
from puffer_frames.frames import summary
from puffer_frames.frames.blocks import NUMBER
from puffer_frames.frames.columns import check_rows
from puffer_frames.frames.found import FoundValues
from puffer_frames.frames.prepare import check_nulls, no_complete_row, share_of_runs
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.source import Source
from puffer_frames.frames.summary import Summary, count_values
from puffer_frames.frames.survey import Survey, survey
from puffer_frames.mechanism import Mechanism
from puffer_frames.postprocessing import Bounds

_UNORDERED = re.compile(
    r"^\s*(UNIQUE\[maintain_order: false|AGGREGATE\[maintain_order: false|UNION\[maintain_order: false|MERGE.SORTED"
    r"|[A-Z ]*JOIN\b|SORT BY (?!\[maintain_order: true))",
    flags=re.MULTILINE,
)
"""Steps of a plan that may give their rows in another order in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyTable:
    """A plan whose columns are named by position: Polars reads names like "^x$" as patterns."""

    plan: pl.LazyFrame
    names: tuple[str, ...]
    schema: Mapping[str, nw.dtypes.DType]

    @classmethod
    def of(cls, plan: pl.LazyFrame, /) -> LazyTable:
        """Look at the schema alone."""
        schema = nw.from_native(plan).collect_schema()
        return cls(plan=plan, names=tuple(schema.names()), schema=dict(schema))

    @staticmethod
    def _check(layout: Layout) -> None:
        """A plan has no index, and its rows come in their order."""
        if layout.index not in (None, "keep", "drop"):
            got = repr(layout.index)
            raise ArgumentError("index", rule='"keep", "drop" or None', got=got, hint='Write index="drop".')
        if layout.shuffle:
            raise ArgumentError(
                "shuffle",
                rule="False for a lazy frame, whose rows are never in memory together",
                got="True",
                hint="Collect the frame first.",
            )

    def complete(self, roles: Roles, /, *, nulls: str, layout: Layout | None) -> LazyRows:
        """Numbered by `row_id`, or else by position, for which the plan must give its rows in one order."""
        named = roles.row_id is not None
        if layout is not None:
            self._check(layout)
        check_nulls(nulls)
        roles.check_names(self.names)
        roles.check_dtypes(self.schema)
        if layout is not None and not named and _UNORDERED.search(self.plan.explain(optimized=False)):
            raise ArgumentError(
                "the plan",
                rule="one whose rows come in the same order in every run, or given a row_id",
                got="one with a group_by, unique, join or sort",
                hint='Name a column that numbers the rows (row_id="id"), or collect the frame first.',
            )
        secrets, values = _plain("secret", roles.secret), _plain("public", roles.public)
        columns = [*(secrets | values).items(), *([(NUMBER, roles.row_id)] if roles.row_id is not None else [])]
        columns += _plain("keep", roles.keep).items()
        rows = self.plan.select(self._named(name, alias) for alias, name in columns)
        if nulls == "drop":
            rows = rows.filter(*(_present(name, rows) for name in (*secrets, *values)))
        if named:
            _check_numbers(roles, rows)
            rows = rows.with_columns(pl.col(NUMBER).cast(pl.Int64))
        found = survey(
            rows.select(*secrets, *values, *([NUMBER] * named)),
            secrets=len(secrets),
            public=len(values),
            few=summary.EXACT_ROWS // 2,
            ordered=not named,
        )
        if found is None:
            check_rows(int(self.plan.select(pl.len()).collect().item()) if nulls == "drop" else 0)
            raise no_complete_row()
        return LazyRows(rows=rows, names=self.names, roles=roles, survey=found)

    def _named(self, name: str, alias: str) -> pl.Expr:
        entries = pl.nth(self.names.index(name))
        if self.schema[name].is_float() and not alias.startswith("keep_"):
            entries = entries.cast(pl.Float64)
            if alias.startswith("secret_"):
                entries = pl.when(entries == 0.0).then(0.0).otherwise(entries)  # of zeros there are two
        return entries.alias(alias)


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyRows:
    """Complete rows of a plan: columns `secret_0`, ..., `public_0`, ..., perhaps `NUMBER`, and `keep_0`, ..."""

    rows: pl.LazyFrame
    names: tuple[str, ...]
    """The frame's own columns."""
    roles: Roles
    survey: Survey
    """What one run found, and every other must repeat."""

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """Of what the survey counted, or else by group-bys of the streaming engine."""
        return {
            name: count_values(self._values(k), secret=self.roles.secret, public=name, domain=domain.get(name))
            for k, name in enumerate(self.roles.public)
        }

    def _values(self, k: int) -> FoundValues:
        table = self.rows.select(*_plain("secret", self.roles.secret), pl.col(f"public_{k}").alias("value"))
        different = table.select(pl.col("value").approx_n_unique())
        return FoundValues(
            table=nw.from_native(table),
            extent=self.survey.extents[k],
            rows=self.survey.trace.rows,
            different=lambda: different.collect(engine="streaming").item(),
            collect=_collected,
            before=self.survey.counted[k],
        )

    def run_share(self, counts: Sequence[int], /) -> float | None:
        """As `prepare.run_share`; None for rows in no order."""
        return share_of_runs(self.survey.trace.runs, counts) if self.roles.row_id is None else None

    def release(self, mechanisms: Mapping[str, Mechanism], /) -> Released:
        """A plan whose noise is drawn in every run, the same in each."""
        given = _plain("public", self.roles.public) | _plain("keep", self.roles.keep)
        plain = {name: alias for alias, name in given.items()}
        named = self.roles.row_id is not None
        source = Source(
            rows=self.rows,
            columns={plain[name]: name for name in self.names if name in plain},
            moves={plain[name]: mechanism.prepared() for name, mechanism in mechanisms.items()},
            checked=len(self.roles.secret) + len(self.roles.public) + named,
            named=named,
            trace=self.survey.trace,
        )
        return Released(frame=source.plan(), rows=self.survey.trace.rows, fingerprint="")


def _plain(role: str, names: Sequence[str]) -> dict[str, str]:
    """The frame's names by those of their position."""
    return {f"{role}_{k}": name for k, name in enumerate(names)}


def _present(name: str, rows: pl.LazyFrame) -> pl.Expr:
    there = pl.col(name).is_not_null()
    return there & pl.col(name).is_not_nan() if rows.collect_schema()[name].is_float() else there


def _check_numbers(roles: Roles, rows: pl.LazyFrame) -> None:
    """Every row has a number of its own."""
    number = pl.col(NUMBER)
    asked = rows.select(
        pl.len(),
        number.null_count().alias("null"),
        number.n_unique().alias("different"),
        number.min().alias("low"),
        number.max().alias("high"),
    )
    total, null, different, low, high = asked.collect(engine="streaming").row(0)
    outside = low is not None and not -(2**63) <= low <= high < 2**63
    roles.check_numbers(missing=null, repeated=total - null - (different - (null > 0)), outside=outside)


def _collected(table: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    return table.collect("polars", engine="streaming")
