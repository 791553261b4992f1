"""Polars plans: summaries by the streaming engine, and a released plan."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from puffer_frames.errors import ArgumentError, PufferWarning
from puffer_frames.frames import summary
from puffer_frames.frames.cells import cells_of_rows
from puffer_frames.frames.coded import Coded, Numbered, some_entries
from puffer_frames.frames.columns import Name, NativeFrame, check_column_names, check_rows
from puffer_frames.frames.counted_series import count_series
from puffer_frames.frames.counted_units import count_units
from puffer_frames.frames.draws import Draws
from puffer_frames.frames.extensions import stored_plan
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.found import FoundValues
from puffer_frames.frames.local.looks import order_warnings, warn_of_kept_in_plan
from puffer_frames.frames.local.of_polars import PolarsTable
from puffer_frames.frames.local.own import used_dtype, without_enums
from puffer_frames.frames.local.prepare import check_nulls, no_complete_row
from puffer_frames.frames.plans.blocks import NUMBER
from puffer_frames.frames.plans.compared import Compared
from puffer_frames.frames.plans.series import lay_out
from puffer_frames.frames.plans.source import Source, Watch
from puffer_frames.frames.plans.survey import Survey, survey
from puffer_frames.frames.plans.units import PolarsUnits
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Roles, RowOrder, kind_of
from puffer_frames.frames.series.asked import SeriesColumns
from puffer_frames.frames.stamps.attach import attribute_of, put_attribute
from puffer_frames.frames.summary import (
    check_few_levels,
    count_in_cells,
    count_levels,
    count_rows,
    count_values,
    levels_of,
)
from puffer_frames.frames.units.asked import UnitColumns
from puffer_frames.frames.units.sizes import UNIT, UnitSizes, plain_names, unit_sizes
from puffer_frames.noise.draw import Draw
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import Summary
from puffer_frames.priors.unit_rows import UnitRows

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

    is_plan = True

    @classmethod
    def of(cls, plan: pl.LazyFrame, /) -> LazyTable:
        """Look at the schema alone."""
        check_process()
        plan = stored_plan(plan)
        schema = nw.from_native(plan).collect_schema()
        check_column_names(schema.names())
        return cls(plan=plan, names=tuple(schema.names()), schema=dict(schema))

    @property
    def labels(self) -> Sequence[Name]:
        """Text."""
        return self.names

    def kind_of(self, name: str, /) -> str:
        """By the schema."""
        return kind_of(self.schema[name])

    def in_memory(self) -> PolarsTable:
        """Collected."""
        return PolarsTable(self.plan.collect())

    run = in_memory

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """By one group-by, as `unit_sizes.unit_sizes`."""
        of_groups, of_values = plain_names(groups, values)
        rows = self.plain({UNIT: unit, **of_groups, **of_values})
        return unit_sizes(rows, unit=unit, groups=of_groups, values=of_values, nulls=nulls)

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """By group-bys of the streaming engine, as `counted_units.count_units`."""
        return count_units(self, asked, PolarsUnits())

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """As `counted_series.count_series`: on a line, or by windows."""
        return count_series(self, asked, PolarsUnits(), lay_out=lay_out)

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """A Polars frame in memory."""
        return PolarsTable(self.plan.collect_schema().to_frame()).answers(labels=labels, numbers=numbers)

    def dtypes(self, names: Sequence[str], /) -> Mapping[str, nw.dtypes.DType]:
        """As `counted_units.PlainColumns`."""
        return {name: self.schema[name] for name in names}

    def plain(self, named: Mapping[str, str], /) -> pl.LazyFrame:
        """As `counted_units.PlainColumns`."""
        return self.plan.select(pl.nth(self.names.index(name)).alias(alias) for alias, name in named.items())

    def fingerprint(self, *, like: str = "") -> str:
        """Of the collected rows."""
        return self.in_memory().fingerprint(like=like)

    def metadata(self) -> dict[str, Any] | None:
        """From the attribute."""
        return attribute_of(self.plan)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """As an attribute."""
        return put_attribute(self.plan, metadata)

    def with_levels(self, *, known: Collection[str], rows: int) -> LazyTable:
        """Its columns are not looked into before it is run."""
        del known, rows
        return self

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """To be asked of the rows."""
        return self.in_memory().is_in_place(known=known)

    @staticmethod
    def _check(layout: RowOrder) -> None:
        """The rows of a plan come in their order."""
        if layout.shuffle:
            raise ArgumentError(
                "shuffle",
                rule="False for a lazy frame, whose rows are never in memory together",
                got="True",
                hint="Collect the frame first.",
            )

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> LazyRows:
        """Numbered by `row_id`, or else by position, for which the plan must give its rows in one order."""
        named = roles.row_id is not None
        if layout is not None:
            self._check(layout)
        check_nulls(nulls, roles)
        roles.check_names(self.names)
        roles.check_dtypes(self.schema)
        if layout is not None and not named and _UNORDERED.search(self.plan.explain(optimized=False)):
            raise ArgumentError(
                "the plan",
                rule="one whose rows come in the same order in every run, or given a row_id",
                got="one with a group_by, unique, join or sort",
                hint='Name a column that numbers the rows (Layout(row_id="id")), or collect the frame first.',
            )
        secrets, values = roles.plain("secret"), roles.plain("public")
        columns = [*(secrets | values).items(), *([(NUMBER, roles.row_id)] if roles.row_id is not None else [])]
        columns += roles.plain("keep").items()
        rows = self.plan.select(self._named(name, alias) for alias, name in columns)
        if nulls == "drop":
            rows = rows.filter(*(_present(name, rows) for name in (*secrets, *values)))
        given = rows
        if named:
            rows = rows.with_columns(pl.col(NUMBER).cast(pl.Int64, strict=False))
        found = survey(
            rows.select(*secrets, *values, *([NUMBER] * named)),
            secrets=len(secrets),
            own=roles.own,
            public=len(values),
            few=summary.EXACT_ROWS // 2,
            ordered=not named,
            coded=[roles.public.index(name) for name in roles.coded],
        )
        if found is None:
            check_rows(int(self.plan.select(pl.len()).collect().item()) if nulls == "drop" else 0)
            raise no_complete_row()
        if named and (found.unnumbered or found.repeated):
            missing = int(given.select(pl.col(NUMBER).null_count()).collect(engine="streaming").item())
            roles.check_numbers(missing=missing, repeated=found.repeated, outside=missing < found.unnumbered)
        return LazyRows(rows=rows, names=self.names, roles=roles, survey=found, nulls=nulls)

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
    nulls: str

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """Of what the survey counted, or else by group-bys of the streaming engine."""
        return {
            name: count_values(self._values(name), groups=self.roles.groups, public=name, domain=domain.get(name))
            for name in self.roles.numbers
        }

    def finer(self, name: str, width: float, domain: Bounds | None, /) -> Summary:
        """By a group-by of the streaming engine."""
        return count_in_cells(self._values(name), width, groups=self.roles.groups, public=name, domain=domain)

    def joint_counts(self, domain: Mapping[str, Bounds], widths: Mapping[str, float], /) -> JointCounts:
        """By one group-by of the streaming engine."""
        names, watch = self.roles.numbers, Watch()
        table = nw.from_native(self._grouped({name: f"value_{k}" for k, name in enumerate(names)}, watch))
        cells = cells_of_rows(names, widths, domain)
        counted = _counted(nw.to_native(table.with_columns(**cells) if cells else table), None, watch=watch)
        return count_rows(nw.from_native(counted), groups=self.roles.groups, public=names, domain=domain, widths=widths)

    def level_counts(self, name: str, /) -> LevelCounts:
        """By a group-by of the streaming engine."""
        check_few_levels(self.survey.different[self.roles.coded.index(name)], name=name)
        watch = Watch()
        counted = _counted(self._grouped({name: "value"}, watch), None, watch=watch)
        levels = levels_of(counted["value"], name=name)
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls)

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """By one run, which is compared with the survey."""
        watch, named = Watch(), self.roles.read_as(names)
        plan = Compared(rows=self.rows, checked=self._checked(), trace=self.survey.trace).plan(
            list(named.values()), over=watch.over
        )
        rows = watch.result(lambda: plan.collect(engine="streaming"))
        return some_entries({name: rows[alias] for name, alias in named.items()}, most, coded=self.roles.labels)

    def _grouped(self, values: Mapping[str, str], watch: Watch) -> pl.LazyFrame:
        """Secrets and some public columns under other names, in a run that is compared with the survey."""
        named = {f"public_{self.roles.public.index(name)}": alias for name, alias in values.items()}
        compared = Compared(rows=self.rows, checked=self._checked(), trace=self.survey.trace)
        return compared.plan([*self.roles.plain("secret"), *named], over=watch.over).rename(named)

    def _values(self, name: str) -> FoundValues:
        k, watch = self.roles.numbers.index(name), Watch()
        column = pl.col(f"public_{self.roles.public.index(name)}")
        different = self.rows.select(column.approx_n_unique())  # decides on no count, but how to count
        table = nw.from_native(self._grouped({name: "value"}, watch))
        return FoundValues(
            dtype=table.collect_schema()["value"],
            extent=self.survey.extents[k],
            rows=self.survey.trace.rows,
            different=lambda: different.collect(engine="streaming").item(),
            count=lambda cells, most: _counted(nw.to_native(cells.of(table) if cells else table), most, watch=watch),
            before=self.survey.counted[k],
        )

    def _checked(self) -> int:
        """How many columns the trace is of."""
        return len(self.roles.secret) + len(self.roles.public) + (self.roles.row_id is not None)

    def warnings(self, counts: Sequence[int], /) -> list[PufferWarning]:
        """Of windows that the survey took, and the first rows of kept columns; of all, where these raise suspicion."""
        found: list[PufferWarning] = []
        runs, public = self.survey.trace.runs, self.roles.public
        found += order_warnings(self.survey.sample, runs=runs, counts=counts, public=public)
        if self.roles.keep:
            found += warn_of_kept_in_plan(self.rows, self.roles, rows=self.survey.trace.rows)
        return found

    def release(self, draws: Sequence[Draw], /) -> Released:
        """A plan whose noise is drawn in every run, the same in each."""
        found = Draws.of(draws, public=self.roles.public)
        plain = {name: alias for alias, name in self.roles.plain("public", "keep").items()}
        source = Source(
            rows=self.rows,
            columns={plain[name]: name for name in self.names if name in plain},
            draws=found,
            read=self.roles.read_as(name for name, _ in found.reads),
            used=self._used(),
            checked=self._checked(),
            named=self.roles.row_id is not None,
            trace=self.survey.trace,
        )
        return Released(frame=source.plan(), rows=self.survey.trace.rows, sample={}, fingerprint="")

    def _used(self) -> dict[str, pl.DataType]:
        """Dtypes of kept columns of Enums: with the categories that the rows have."""
        schema = self.rows.collect_schema()
        names = [name for name in self.roles.plain("keep") if without_enums(schema[name]) != schema[name]]
        plans = [
            self.rows.select(pl.col(name) if schema[name].is_nested() else pl.col(name).unique()) for name in names
        ]
        found = pl.collect_all(plans, engine="streaming")
        return {name: used_dtype(table[name]) for name, table in zip(names, found, strict=True)}


def _present(name: str, rows: pl.LazyFrame) -> pl.Expr:
    there = pl.col(name).is_not_null()
    return there & pl.col(name).is_not_nan() if rows.collect_schema()[name].is_float() else there


def _counted(table: pl.LazyFrame, most: int | None, *, watch: Watch) -> nw.DataFrame[Any]:
    """As `FoundValues.count`, of compared rows."""
    names = table.collect_schema().names()
    sums = [pl.col(name).sum() for name in names if name.startswith("place")]
    counts = table.group_by([name for name in names if not name.startswith("place")]).agg(
        pl.len().alias("count"), *sums
    )
    some = counts if most is None else counts.head(most + 1)
    found = watch.result(lambda: some.collect(engine="streaming"))
    if not watch.ended:
        raise AssertionError("rows must be counted to their end")
    return nw.from_native(found, eager_only=True)
