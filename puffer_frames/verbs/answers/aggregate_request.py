"""A checked request for sums, means and counts over units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, PriorError
from puffer_frames.frames.columns import LARGEST_VALUE, Name, as_name, as_names
from puffer_frames.frames.local.table import check_free_names
from puffer_frames.frames.roles import check_distinct
from puffer_frames.frames.units import UnitColumns
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds, check_bounds
from puffer_frames.noise.totals import COLUMNS
from puffer_frames.numbers.arguments import Target, check_flag, check_word
from puffer_frames.priors.pairs import listed_pairs
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.series_rows import UnitRows
from puffer_frames.scales.choice import check_calibration
from puffer_frames.scales.learned import POPULATION, LearnedBelief, Population
from puffer_frames.scales.units import LawsArgument
from puffer_frames.verbs.answers import checks
from puffer_frames.verbs.requests import AggregateArguments, Drawing

DeclaredValues: TypeAlias = tuple[tuple[float, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateRequest:
    """What `aggregate` is asked for, apart from the frame."""

    unit: str | None
    value: str | None
    by: tuple[str, ...]
    queries: tuple[str, ...]
    protect: str
    target: Target
    noise: NoiseFamily
    pairs: str | Iterable[Sequence[Any]]
    """"all", or a list of pairs."""
    values: DeclaredValues | None
    """The values that a unit may report, where these are protected."""
    laws: LawsArgument
    added: bool
    """Whether a unit adds all its rows."""
    single: bool
    """Whether each unit has one row: each row is one, or the rows say so."""
    domain: Bounds | None
    divisor: float | None
    calibration: str
    integer: bool
    nulls: str
    allow_zero_noise: bool
    drawing: Drawing

    @classmethod
    def of(cls, arguments: AggregateArguments, labels: Sequence[Name], /) -> AggregateRequest:
        """Check what can be checked before a row is read; raises as the verb."""
        target, noise = checks.check_asked(arguments)
        protect = check_word(arguments.protect, "protect", checks.PROTECTIONS)
        queries = checks.check_queries(arguments.query, protect=protect, divisor=arguments.divisor)
        added = check_word(arguments.contribution, "contribution", ("rows", "draw")) == "rows"
        added = added and arguments.unit is not None  # a row is a unit's only one
        given = listed_pairs(arguments.pairs)
        pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else given
        names = {
            "unit": () if arguments.unit is None else as_name(arguments.unit, labels, role="unit"),
            "value": () if arguments.value is None else as_name(arguments.value, labels, role="value"),
            "by": as_names(arguments.by, labels, role="by"),
        }
        if not names["value"] and set(queries) != {"count"}:
            raise ArgumentError("value", rule="the name of a column", got="none", hint='Write value="column".')
        check_distinct(names)
        check_free_names(names["by"], role="by", taken=("query", *COLUMNS))
        domain = _domain(arguments.domain)
        absence = protect == "value-or-absence"
        declared = protect in ("value", "value-or-absence")
        found = cls(
            unit=next(iter(names["unit"]), None),
            value=next(iter(names["value"]), None),
            by=names["by"],
            queries=queries,
            protect=protect,
            target=target,
            noise=noise,
            pairs=pairs,
            values=checks.check_values(pairs, domain, absence=absence) if declared else None,
            laws=_laws(arguments.laws, domain, added=added),
            added=added,
            single=arguments.unit is None,
            domain=domain,
            divisor=arguments.divisor,
            calibration=check_calibration(arguments.calibration),
            integer=check_flag(arguments.integer, "integer"),
            nulls=arguments.nulls,
            allow_zero_noise=check_flag(arguments.allow_zero_noise, "allow_zero_noise"),
            drawing=Drawing.of(arguments),
        )
        return found._at_extremes()

    def _at_extremes(self) -> AggregateRequest:
        if not self.by_extremes or self.domain is None:
            return self
        return replace(self, values=tuple((end, None) for end in self.domain))

    def of_rows(self, rows: UnitRows, /) -> AggregateRequest:
        """What is known when the rows were read; raises ArgumentError for units of one row without a domain."""
        return replace(self, single=self.single or bool((rows.sizes == 1).all()))._at_extremes()

    def __post_init__(self) -> None:
        if self.by_extremes and self.domain is None:
            raise ArgumentError(
                "domain",
                rule="the public bounds of the value, where each "
                + ("row is a unit that" if self.unit is None else "unit has one row and")
                + " may be absent",
                got="none",
                hint="The scale is published, and would tell the largest value of the table. Write domain=(low, high)"
                + (", or name a unit of several rows." if self.unit is None else " with what anybody knows of it."),
            )
        if self.protect == "presence" and self.unit is None and self.pairs != "all":
            hint = "Name the column of units, or leave pairs out for every row."
            raise ArgumentError("pairs", rule='left out for protect="presence" without a unit', got="pairs", hint=hint)
        if not self.allow_zero_noise:
            checks.check_count(self.queries, protect=self.protect, added=self.added)
        if self.integer:
            checks.check_integer(self.queries, noise=self.noise, delta=self.target.delta)
            checks.check_integer_belief(self.laws, pairs=self.pairs, protect=self.protect)

    def check_values(self, values: FloatArray, /) -> None:
        """Raise PriorError for other values than integers where noise on the integers is asked for."""
        if self.integer and not (values == np.rint(values)).all():
            rule = "of integers for integer=True"
            hint = "Leave integer out."
            raise PriorError(f"the value column {self.value!r}", rule=rule, got="other numbers", hint=hint)

    def most_rows(self, rows: UnitRows, /) -> float:
        """How many rows one unit adds at most."""
        return float(rows.sizes.max()) if self.added else 1.0

    @property
    def statistics(self) -> tuple[str, ...]:
        """What gets noise: a mean is a sum, divided."""
        return tuple(dict.fromkeys("sum" if name == "mean" else name for name in self.queries))

    @property
    def listed(self) -> list[Sequence[Any]]:
        """The listed pairs; none for all."""
        return [] if isinstance(self.pairs, str) or not isinstance(self.pairs, Iterable) else list(self.pairs)

    @property
    def columns(self) -> UnitColumns:
        """What the rows of units are read by; units have names where they are listed, or have laws of their own."""
        low, high = (-math.inf, math.inf) if self.domain is None else self.domain
        return UnitColumns(
            unit=self.unit,
            value=self.value,
            by=self.by,
            nulls=self.nulls,
            low=low,
            high=high,
            named=bool(self.listed) or not isinstance(self.laws, str),
        )

    @property
    def by_extremes(self) -> bool:
        """Whether a row may be absent, and the largest value in the domain decides how much noise hides that."""
        learned = not isinstance(self.laws, Mapping)  # of one row, also the Gaussian and sets of laws
        return self.protect == "presence" and self.single and learned and self.queries != ("count",)

    @property
    def by_law(self) -> bool:
        """Whether what is protected has the law of a unit's rows."""
        return self.protect in ("presence", "replacement") and not self.by_extremes

    @property
    def belief(self) -> str:
        """How the laws of the units are called."""
        if not self.by_law:
            return "declared values"
        if isinstance(self.laws, LearnedBelief):
            return self.laws.title
        return self.laws if isinstance(self.laws, str) else "given"


def _laws(laws: LawsArgument, domain: Bounds | None, *, added: bool) -> LawsArgument:
    checks.check_laws(laws)
    if isinstance(laws, str) and laws == POPULATION:
        laws = Population()
    if isinstance(laws, LearnedBelief) and added:
        rule = '"empirical", "gaussian" or a mapping of unit to Prior with contribution="rows"'
        hint = 'Say contribution="draw": one row of each unit is drawn.'
        raise ArgumentError("laws", rule=rule, got=f"a {type(laws).__name__}", hint=hint)
    if isinstance(laws, Mapping) and domain is not None and not added:
        checks.check_support(laws, low=domain[0], high=domain[1])
    return laws


def _domain(domain: Sequence[float] | None) -> Bounds | None:
    if domain is None:
        return None
    found = check_bounds({"value": domain}, role="domain", columns=["value"], finite=True, example="(0, 100)")
    low, high = found["value"]
    if max(abs(low), abs(high)) > LARGEST_VALUE:
        raise ArgumentError("domain", rule="within 1e301 of 0", got="larger bounds", hint="Divide by a constant first.")
    return low, high
