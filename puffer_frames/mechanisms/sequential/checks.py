"""Plan files of whole tables: what one says must agree with itself."""

from __future__ import annotations

import math
from itertools import chain
from operator import le

import numpy as np

from puffer_frames.mechanisms.file_checks import check_request, check_secrets, require
from puffer_frames.mechanisms.sequential.columns import MOST_LEVELS, TableColumn
from puffer_frames.mechanisms.sequential.fitted import LEAST_SHARE, TableFit, below, keeps_caps, reserve_of
from puffer_frames.mechanisms.sequential.law import NetworkLaw
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.mechanisms.sequential.release import Step, Whole
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.summary import typed
from puffer_frames.scales.learned import Bootstrap

_NEAR = 1e-12
"""More than the rounding of a sum of probabilities."""


def check_table_plan(plan: TableFit, /) -> None:
    """Raise PlanFileError for parts that do not belong together.

    The lifts of a release are computed from the networks of the plan, so that the loss under these is at most epsilon
    whatever its tables say; that the tables keep the caps is checked in whole numbers. What was measured of the rows,
    refits and attacks, is believed.
    """
    request, own = plan.request, plan.plan
    check_request(request)
    require(request.mechanism == plan.options and isinstance(plan.options, Sequential), "another mechanism")
    require(plan.options.step is not None, "no step")
    require(plan.pairs == "all" and request.target.delta == 0, "another guarantee")
    one = request.repeats.releases == 1 and not request.apart
    require(request.given is None and request.unit is None and one, "another guarantee")
    check_secrets(plan)
    require(tuple(column.name for column in plan.columns) == request.public, "other columns")
    for column in plan.columns:
        _check_column(column, plan)
    epsilon = request.target.epsilon
    require(own.epsilon == below(epsilon), "another epsilon")
    require(own.reserve == reserve_of(own.epsilon, len(plan.names)), "another reserve")
    require(bool(own.laws), "no network")
    asked = [belief.resamples for belief in request.beliefs if isinstance(belief, Bootstrap)]
    require(plan.refits >= max(asked, default=0), "fewer networks than were asked for")
    drawn = own.laws[: 1 + plan.refits]  # another table may be the same one
    kinds = {law.shares.tobytes() + law.trees[0].tables[0].tobytes() for law in drawn}
    require(len(kinds) == len(drawn), "a network twice")
    sizes = tuple(len(column.levels) for column in plan.columns if column.source is None)
    for law in own.laws:
        _check_law(law, sizes, len(plan.rows_per_secret))
    require(sorted(step.column for step in own.steps) == list(range(len(sizes))), "columns that are released twice")
    for step in own.steps:
        _check_step(step, plan, sizes[step.column])
    require(0 < plan.planned <= plan.rows, "more rows than there are")
    named = tuple(plan.kept.changed) == tuple(plan.kept.changed_of) == plan.names
    named = named and {*chain(*plan.kept.unrelated)} <= {*plan.names}
    require(named, "changes of other columns")
    kept, each = plan.kept, [share for shares in plan.kept.changed_of.values() for share in shares]
    shares = [*kept.changed.values(), *each, kept.marginals, kept.pairs]
    require(all(0 <= share <= 1 for share in shares), "a share of rows that is none")
    require(all(0 <= distance < math.inf for distance in kept.distance.values()), "a distance that is none")
    require(bool(plan.others), "nothing that was measured")
    _check_counts(plan, sizes)
    held = plan.held
    if held is not None:
        secrets = range(len(plan.rows_per_secret))
        right = len(held.secrets) > 1 and list(held.secrets) == [k for k in secrets if k in held.secrets]
        require(right and bool(held.attacks) and len(held.raw) == len(held.secrets), "attacks on something else")
        require(all(len(each.auc) == len(held.raw) for each in held.attacks), "attacks on something else")
        aucs = [auc for each in (held.raw, *(attack.auc for attack in held.attacks)) for auc in each]
        require(all(0 <= auc <= 1 for auc in aucs), "an AUC that is none")
    require(all(0 <= share <= 1 for each in plan.others for share in (each.delta, each.auc)), "an AUC that is none")
    plan.refuse()


def _check_counts(plan: TableFit, sizes: tuple[int, ...]) -> None:
    """Rows of each secret and level, which a file of an earlier version lacks."""
    counts, secrets = plan.kept.counts, len(plan.rows_per_secret)
    require(tuple(counts) in ((), plan.names), "rows of other columns")
    for own, size in zip(counts.values(), sizes, strict=False):
        require([*map(len, own)] == [size] * secrets and min(map(min, own)) >= 0, "rows of other levels")
        rows = [*map(sum, own)]
        require(min(rows) > 0 and sum(rows) == plan.planned, "other rows")
        known = rows == [*map(sum, next(iter(counts.values())))] and all(map(le, rows, plan.rows_per_secret.values()))
        require(known, "rows of other secrets")


def _check_column(column: TableColumn, plan: TableFit) -> None:
    require(bool(column.levels) and len({*map(typed, column.levels)}) == len(column.levels), "a level twice")
    require(None not in column.levels[:-1], "a missing value that is not the last level")
    require(set(column.rare) <= set(range(len(column.levels))), "rare levels that are none")
    if column.source is not None:
        source = next((other for other in plan.columns if other.name == column.source), None)
        require(source is not None and source.source is None, "a function of a column that is not drawn")
        assert source is not None
        good = len(column.codes) == len(source.levels) and set(column.codes) <= set(range(len(column.levels)))
        require(good, "a function of other levels")
    edges = column.edges
    if column.different is not None:
        require(column.is_in_cells and len(column.known) < column.different <= MOST_LEVELS, "fewer values than cells")
    if edges is not None:
        there = column.known
        rising = edges.shape == (len(there) - 1,) and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        numbers = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in there)
        require(rising and numbers, "cells of no numbers")
        values = np.array(there, dtype=np.float64)
        require(bool((np.searchsorted(edges, values) == np.arange(values.size)).all()), "a value of another cell")


def _check_law(law: NetworkLaw, sizes: tuple[int, ...], secrets: int) -> None:
    require(bool(law.trees) and law.shares.shape == (len(law.trees), secrets), "a network of other secrets")
    _check_laws(law.shares.T)
    for tree in law.trees:
        parents = tree.parents
        require(len(parents) == len(tree.tables) == len(sizes), "a tree of other columns")
        require(parents.count(-1) == 1 and all(-1 <= k < len(sizes) for k in parents), "a tree that is none")
        for column in range(len(sizes)):
            above = {column}
            while (column := parents[column]) >= 0:
                require(column not in above, "a tree that is none")
                above.add(column)
        for column, table in enumerate(tree.tables):
            parent = parents[column]
            require(table.shape == (secrets, sizes[parent] if parent >= 0 else 1, sizes[column]), "another shape")
            _check_laws(table)


def _check_laws(laws: FloatArray) -> None:
    require(bool((laws > 0).all() and np.isfinite(laws).all()), "a probability that is none")
    _check_sums(laws)


def _check_sums(laws: FloatArray) -> None:
    require(bool((np.abs(laws.sum(axis=-1) - 1) < _NEAR).all()), "probabilities of another sum")


def _check_step(step: Step, plan: TableFit, size: int) -> None:
    options, name = plan.options, plan.names[step.column]
    known = options.reader_cap * (name not in options.known)
    require(step.reader_cap == known, "another bound for readers who know the value")
    require(step.most == plan.step * plan.plan.epsilon, "another step")
    contexts, secrets = len(step.weights), len(plan.rows_per_secret)
    require(step.weights.shape == (contexts, secrets, size, size) and contexts > 0, "tables of another shape")
    require(step.centres.shape == (contexts, secrets * size), "contexts of another shape")
    require(bool(np.isfinite(step.centres).all()), "a context that is none")
    if step.moves is not None:
        require(step.moves.shape == (secrets, size, size) and bool((step.moves >= 0).all()), "moves of another column")
        _check_sums(step.moves.reshape(secrets, -1))
    for table in step.weights:
        _check_table(table, step, options)


def _check_table(table: Whole, step: Step, options: Sequential) -> None:
    """Rows of probabilities that keep both caps, in whole numbers."""
    least = LEAST_SHARE / table.shape[-1] * (1 << TOTAL_BITS)  # rounding to whole numbers must be next to nothing
    require(bool((table >= least).all()), "a probability that is none, or next to none")
    sums = table.reshape(-1, table.shape[-1]).tolist()
    require(all(sum(row) == 1 << TOTAL_BITS for row in sums), "probabilities of another sum")
    require(step.reader_cap > 0 or bool((table == table[0]).all()), "a table that sees the secret")
    require(keeps_caps(table, step.reader_cap, options.cap), "a table beyond its caps")
