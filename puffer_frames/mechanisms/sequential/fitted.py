"""The plan of a whole table: from its rows in codes to a network, base tables, and what was measured of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations
from typing import Self, cast

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.outcome import largest_auc
from puffer_frames.mechanisms.channel.problem import Law, Problem
from puffer_frames.mechanisms.channel.program import exp_below, in_integers, solve
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import Fitted
from puffer_frames.mechanisms.sequential.columns import CodedRows, TableColumn, secret_levels
from puffer_frames.mechanisms.sequential.law import (
    NetworkLaw,
    Rows,
    fit,
    information,
    k_means,
    nearest,
    refit,
    spanning_tree,
)
from puffer_frames.mechanisms.sequential.measured import (
    CONFIDENCE,
    FEWEST_TESTED,
    HeldOut,
    Kept,
    OtherBelief,
    attacked,
    auc_margin,
    kept_of,
    other_beliefs,
)
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.mechanisms.sequential.release import (
    SequentialPlan,
    Step,
    Walk,
    Whole,
    blocks,
    drawn,
    features,
    in_units,
    release,
)
from puffer_frames.noise.adding import Arrays, Codes, Columns, Move, numbered, other_levels
from puffer_frames.noise.channel import TOTAL_BITS, Integers, JointLevels, looked_up
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.noise.stream import Rows as RowNumbers
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import listed
from puffer_frames.numbers.threads import each_of, one_blas_thread, watched
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.scales.learned import Bootstrap, OtherTable
from puffer_frames.scales.utility import Shift, shift_of

_CLASSED = 20_000
"""Simulated rows that contexts are found from."""
_MANY_LEVELS = 24
"""Columns of more levels drop more levels from their programs, which take seconds each."""
_MOST_CONTEXTS = ((100, 4), (72, 8), (48, 12))
"""Columns of more levels times secrets have fewer contexts: a program of 80 takes a second, of 210 ten."""
_FEW_LEVELS = 4
"""Programs of so many levels are too small for two threads."""
_RARE_SHARES = (1e-7, 1e-4)
"""Levels of a smaller share of a context are left out of its program."""
_UNIFORM = 1e-6
"""Share of the even law in each row: no entry is 0, and units of 2**-62 err by less than 1 part in 10**11."""
LEAST_SHARE = _UNIFORM / 2
"""The least share of the even law in each row, whatever was repaired."""
_CLOSE = 1e-9
"""Ratios that are nearer to their cap are compared in whole numbers."""
_PARTS = 1 << 40
"""Laws are given to the program in these parts."""


def make_plan(
    rows: Rows,
    /,
    *,
    epsilon: float,
    laws: Sequence[NetworkLaw] = (),
    share: float = 0.25,
    reader_caps: float | Sequence[float] = 1.0,
    cap: float = 8.0,
    preserve: bool = True,
    contexts: int = 64,
    simulated: int = 60_000,
    seed: int = 0,
) -> SequentialPlan:
    r"""The plan of a table under its network law.

    - `epsilon`: Bound of the loss of a whole row.
    - `laws` (sequence of NetworkLaw): The beliefs; the fitted law of the rows by default.
    - `share`: By what share of epsilon the loss may grow with one column.
    - `reader_caps`: Largest loss of a column to a reader who knows its raw value; 0 for a channel that does not see the
      secret.
    - `cap`: Largest loss of a column under any belief.
    - `preserve`: Whether the law of each column is kept within each context.
    - `contexts`, `simulated`, `seed`: Contexts of a column at most, simulated rows, and the seed of both.
    """
    laws = tuple(laws) or (fit(rows, seed=seed),)
    rng = np.random.default_rng(seed)
    caps = np.broadcast_to(np.asarray(reader_caps, dtype=np.float64), len(rows.sizes)).tolist()
    order, _ = spanning_tree(information(rows))
    plan = SequentialPlan(epsilon=epsilon, laws=laws, steps=(), reserve=reserve_of(epsilon, len(order)))
    simulation = _Simulation(plan, rows, simulated, rng)
    with one_blas_thread():  # programs are many and small
        for column in watched(order, label="columns planned"):
            size = rows.sizes[column]
            found = simulation.laws_of(column)
            most = next((few for inputs, few in _MOST_CONTEXTS if size * rows.groups > inputs), contexts)
            centres, own = _contexts(found, min(contexts, most), rng)
            asked = Asked(
                most=share * epsilon, reader_cap=caps[column], cap=cap, cost=1 - np.eye(size), preserve=preserve
            )
            means = [simulation.means(found, np.flatnonzero(own == context)) for context in range(len(centres))]
            tables = np.stack(each_of(means, partial(base_table, asked=asked), large=size > _FEW_LEVELS))
            step = Step(column=column, most=asked.most, reader_cap=asked.reader_cap, centres=centres, weights=tables)
            plan = replace(plan, steps=(*plan.steps, replace(step, moves=simulation.release(step, found))))
    return plan


def reserve_of(epsilon: float, columns: int, /) -> float:
    """What is left to each later column at least."""
    return epsilon / (4 * columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLaw:
    """The law of a column in a context."""

    laws: FloatArray
    """Given each secret, shape (secrets, levels)."""
    shares: FloatArray
    """Shares of the secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for of the base tables of a column."""

    most: float
    """By how much the loss may grow."""
    reader_cap: float
    """Largest loss to a reader who knows the value; 0 for tables that do not see the secret."""
    cap: float
    """Largest loss under any belief."""
    cost: FloatArray
    """Cost of each output in place of each level."""
    preserve: bool
    """Whether the law of the column is kept."""


class _Simulation:
    """Rows drawn from the first belief, and what was released of them so far."""

    def __init__(self, plan: SequentialPlan, rows: Rows, count: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._shares = np.bincount(rows.secrets, minlength=rows.groups) / len(rows.secrets)
        # the rarest of several secrets would have too few rows
        even = self._shares if rows.groups == 2 else (self._shares + 1 / rows.groups) / 2
        self._secrets = rng.choice(rows.groups, size=count, p=even)
        self._times = (self._shares / even)[self._secrets]
        self._codes = plan.laws[0].sample(self._secrets, rng)
        self._parts = blocks(count)
        self._walks = [Walk(plan, part.stop - part.start) for part in self._parts]
        self._mass = self._shares[:, None] * self._times

    def laws_of(self, column: int) -> FloatArray:
        """As `Walk.laws_of`, of all rows."""
        return np.concatenate(each_of(self._walks, lambda walk: walk.laws_of(column), large=True), axis=2)

    def means(self, laws: FloatArray, rows: IndexArray) -> ContextLaw:
        """The law of a column in the context of these rows, each of any secret as probable as it is by now."""
        mass = self._mass[:, rows]
        weights = mass.sum(axis=1)
        return ContextLaw(
            laws=np.einsum("sr,srk->sk", mass, laws[0][:, rows]) / weights[:, None], shares=weights / weights.sum()
        )

    def release(self, step: Step, laws: FloatArray) -> FloatArray:
        """Release the next column; its `Step.moves`."""
        moves = np.zeros(step.weights.shape[1:])
        for walk, part in zip(self._walks, self._parts, strict=True):
            channels = walk.channels(step, laws[:, :, part])
            words = self._rng.integers(1 << TOTAL_BITS, size=part.stop - part.start, dtype=np.uint64)
            codes, secrets = self._codes[part, step.column], self._secrets[part]
            weights = channels.weights(codes, secrets)
            np.add.at(moves, (secrets, codes), np.ldexp(weights.astype(np.float64), -TOTAL_BITS))
            walk.see(channels, drawn(weights, words))
        logs = np.concatenate([walk.logs[0] for walk in self._walks], axis=1)
        joint = self._shares[:, None] * np.exp(logs - logs.max(axis=0))
        self._mass = self._times * joint / joint.sum(axis=0)
        moves[~moves.any(axis=(1, 2))] = moves.sum(axis=0)  # a secret so rare that no row was drawn
        return moves / moves.sum(axis=(1, 2), keepdims=True)


def _contexts(laws: FloatArray, most: int, rng: np.random.Generator) -> tuple[FloatArray, IndexArray]:
    """Centres of contexts, different ones with a row each at least, and the context of each row."""
    seen = features(laws[0])
    centres = np.unique(np.rint(k_means(seen[:_CLASSED], most, rng)), axis=0)
    held, own = np.unique(nearest(seen, centres), return_inverse=True)
    return centres[held], own


def base_table(law: ContextLaw, asked: Asked) -> Whole:
    """The channel of one column in one context in units of 2**-62, shape (secrets, levels, outputs).

    The caps hold exactly. The loss holds nearly: laws of a context are means, and lifts do the rest for each row.
    """
    pooled = law.shares @ law.laws
    used = np.flatnonzero(pooled >= _RARE_SHARES[len(pooled) > _MANY_LEVELS])
    own = law.laws[:, used] / law.laws[:, used].sum(axis=1, keepdims=True)
    problem = _problem(replace(law, laws=own), replace(asked, cost=asked.cost[np.ix_(used, used)]))
    solved = solve(problem, interior=used.size > _MANY_LEVELS).matrix.reshape(-1, used.size, used.size)
    matrix = np.broadcast_to(solved, (len(own), *solved.shape[1:]))
    found = np.zeros((len(own), *asked.cost.shape))
    # the same mean of rows for all secrets keeps both caps
    found[:, :, used] = np.einsum("k,ska->sa", law.shares @ own, matrix)[:, None]
    found[:, used[:, None], used] = matrix
    found = (1 - _UNIFORM) * found + _UNIFORM / len(pooled)
    whole = in_units(found)
    if keeps_caps(whole, asked.reader_cap, asked.cap):
        return whole
    every = replace(_problem(law, replace(asked, preserve=False)), beliefs=())
    rows = found[0] if every.groups is None else found.reshape(-1, len(pooled))
    return np.broadcast_to(in_integers(rows, every).reshape(-1, *asked.cost.shape), found.shape)


def _problem(law: ContextLaw, asked: Asked) -> Problem:
    secrets, size = law.laws.shape
    pooled = law.shares @ law.laws
    parts = np.rint(_PARTS * law.laws).astype(int)
    kept = asked.preserve and size > 1
    plain = Problem(
        beliefs=({s: Law(counts=tuple(parts[s].tolist())) for s in range(secrets)},),
        target=Target(epsilon=asked.most),
        pairs="all",
        cap=asked.cap,
        pooled=pooled,
        cost=asked.cost,
        kept=np.eye(size)[:-1] if kept else None,
        kept_means=pooled[:-1] if kept else None,
        constant=pooled if kept else None,
    )
    if asked.reader_cap == 0:
        return plain
    placed = np.eye(secrets, dtype=int)[:, :, None] * parts
    return replace(
        plain,
        beliefs=({s: Law(counts=tuple(placed[s].ravel().tolist())) for s in range(secrets)},),
        pooled=(law.shares[:, None] * law.laws).ravel(),
        cost=np.tile(asked.cost, (secrets, 1)),
        groups={s: tuple(range(s * size, (s + 1) * size)) for s in range(secrets)},
        reader_cap=asked.reader_cap if np.isfinite(asked.reader_cap) else None,
    )


def keeps_caps(tables: Whole, reader_cap: float, cap: float, /) -> bool:
    """Whether a table (secrets, levels, outputs), all above 0, keeps both caps: in whole numbers where floats fail."""
    pairs = list(permutations(range(len(tables)), 2))
    ends = tables.max(axis=1), tables.min(axis=1)
    any_two = all(_is_below(ends[0][s], ends[1][t], cap) for s, t in pairs)
    return any_two and (reader_cap == 0 or all(_is_below(tables[s], tables[t], reader_cap) for s, t in pairs))


def _is_below(first: Whole, second: Whole, most: float) -> bool:
    """Whether all ratios are at most e to the power of a number."""
    close = first > second * (np.exp(most) * (1 - _CLOSE))
    odds = exp_below(most)
    return all(
        one * odds.denominator <= other * odds.numerator
        for one, other in zip(first[close].tolist(), second[close].tolist(), strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class TableDraw:
    """Release rows column by column."""

    key: ReleaseKey
    """Key of the release."""
    columns: tuple[TableColumn, ...]
    secret: JointLevels
    plan: SequentialPlan

    @cached_property
    def drawn(self) -> tuple[TableColumn, ...]:
        """The columns that are no functions of others, in the order of the plan's codes."""
        return tuple(column for column in self.columns if column.source is None)

    @property
    def reads(self) -> Columns:
        """The columns read, and the secret."""
        return {**{column.name: column.reads for column in self.drawn}, **self.secret.reads}

    @property
    def writes(self) -> Columns:
        """All columns, as levels: numbers keep their type."""
        return {column.name: column.levels for column in self.columns}

    def prepared(self) -> Move:
        """Raises CalibrationError for a secret that is not known, PriorError for a missing number."""
        secret_of, names = self.secret.prepared(), [column.name for column in self.drawn]

        def move(arrays: Arrays, rows: RowNumbers | None) -> Arrays:
            secrets = secret_of(arrays)
            if strange := int(np.count_nonzero(secrets == self.secret.unknown)):
                raise other_levels(", ".join(self.secret.columns), got=f"{strange} row{'s' * (strange > 1)}")
            codes = np.stack([column.coded(arrays[column.name]) for column in self.drawn], axis=1)
            out = release(self.plan, codes, secrets, key=self.key, names=names, rows=numbered(secrets.size, rows))
            found: dict[str, Codes] = {name: out[:, k] for k, name in enumerate(names)}
            for column in self.columns:
                if column.source is not None:
                    table = np.array(column.codes, dtype=np.uint16)
                    found[column.name] = looked_up(table, cast(Integers, found[column.source]))
            return found

        return move


FLOATS = 1e-8
"""The filter works in floats: what the loss may err by is taken from epsilon beforehand."""
_SMALL, _RARE = 5_000, 1_000
"""Tables of fewer rows, or with a secret of fewer, are lifted for refits of the network too."""
_LIFTED, _REFITS = 3, 3
"""Refits that small tables are lifted for, and that are measured."""
_FEW_TREES = 2
"""The most trees for a small table."""
_FEWEST_CONTEXTS, _ROWS_OF_CONTEXT, _PROGRAMS = 4, 100, 1_100
"""More contexts than a small table can tell apart would take time alone; each of a column has a program of its own."""
_WIDE = 100
"""Tables of more columns have few trees, too: the information of each pair of columns is computed for each tree."""
_SIMULATED, _FEW_SIMULATED = 60_000, 20_000
"""Rows that contexts and base tables are found from; of small tables fewer."""
MOST_NAMED = 6
"""Secrets that a sentence names."""
_ABOUT, _ERRORS = 0.9, 3.0
"""A constant is about as near where values move by so much of its distance or more, and a share of labels by so many of
its standard errors beyond that."""
_UNCHANGED = 0.01
"""A release in which fewer cells are others is nearly the table itself."""
_MANY, _CLEARLY = 0.1, 0.01
"""Cells that are changed in vain, and a loss that an attacker shows: where nothing tells the secret, attacks on a
release and on the raw columns are equally good by chance."""
_HALF, _NEARLY = 0.5, 0.9
"""Of the distance of an AUC from that of a blind guess: where a release keeps so much, it hides next to nothing."""
_BEST = 1.25
"""The best of four is chosen: 2.5 standard errors for it are as rare as 2 for one attacker."""
WARNED, REFUSED = 1.5, 2.0
"""If 99 % of the losses under a refit of the network exceed this many times epsilon, there is a warning, or an error.
"""
STEPS = (0.25, 0.15, 0.09)
"""Each tells less than the one before and changes more cells: of adult.data by sex 9.3 % first, 12.4 % last."""
_BY_DOUBLING = 1.15
"""Twice as many refits among the beliefs lower the losses under others by such a factor: 1.15 to 1.21 on a table of 395
rows and 33 columns. A hint needs no better figure."""
_MOST_DOUBLINGS = 4
FEWEST_HELD, MOST_HELD = 2 * FEWEST_TESTED, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Shift):
    """What a release does to a column on average under the fitted network: it follows from the plan, not from rows."""

    share: float
    """Share of values that become another one, or one of another cell."""
    most: float
    """The same of the secret whose values change most."""
    distance: float | None
    """Mean distance between the values of the two cells, where both are numbers; None of labels."""
    constant: float
    """What one constant would do: the share of other labels than the most frequent one, or the mean distance of the
    cells' values to their median, of rows that are numbers before and after."""

    @property
    def is_useless(self) -> bool:
        """Whether a constant is nearer, or about as near."""
        if self.distance is None:
            return self.share > _ABOUT * self.constant + _ERRORS * math.sqrt(self.share / _FEW_SIMULATED)
        return self.distance > _ABOUT * self.constant


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFit(Fitted[CodedRows]):
    """What is released of a table, and what is known of it. It holds exact statistics of every secret."""

    request: Request
    options: Sequential
    pairs: Pairs
    columns: tuple[TableColumn, ...]
    plan: SequentialPlan
    rows_per_secret: Mapping[Secret, int]
    rows: int
    planned: int
    """Rows that the network was fitted to."""
    likelihood: float
    """Mean log-likelihood of these rows given their secrets."""
    kept: Kept
    others: tuple[OtherBelief, ...]
    held: HeldOut | None

    @classmethod
    def of(cls, request: Request, options: Sequential, seen: CodedRows, /) -> Self:
        """The plan of a table, as of a small one where its rows settle the network no better than those of one.

        Unless a step was asked for, it is the first with which losses under other networks are near epsilon.
        """
        planned, held = split(seen, options.holdout)
        sizes = [int(count) for count in np.bincount(planned.secrets, minlength=planned.groups)]
        small = len(planned.secrets) < _SMALL or min(sizes) < _RARE
        for step in STEPS if options.step is None else (options.step,):
            own = replace(options, step=step)
            found = cls.planned_from(planned, replace(request, mechanism=own), own, seen, small=small)
            if found.is_refused and not small:
                small = True
                found = cls.planned_from(planned, replace(request, mechanism=own), own, seen, small=small)
            if not found.is_far:
                break
        return found if held is None else replace(found, held=found.attacked(planned, held))

    @classmethod
    def planned_from(
        cls, planned: Rows, request: Request, options: Sequential, seen: CodedRows, /, *, small: bool
    ) -> Self:
        """The plan of some rows; that of a small table is lifted for refits of a network of few trees."""
        assert options.step is not None
        names = [column.name for column in seen.columns if column.source is None]
        components = min(options.components, _FEW_TREES) if small or len(names) > _WIDE else options.components
        law = fit(planned, components=components, smoothing=options.smoothing)
        resamples = max((each.resamples for each in request.beliefs if isinstance(each, Bootstrap)), default=0)
        lifted = [
            refitted(law, planned, seed, smoothing=options.smoothing)
            for seed in range(1, 1 + (resamples or small * _LIFTED))
        ]
        tables = [replace(planned, codes=other.codes, secrets=other.groups) for other in seen.others]
        lifted += [refit(law, table, smoothing=options.smoothing) for table in tables]
        target = request.target.epsilon
        plan = make_plan(
            planned,
            epsilon=below(target),
            laws=(law, *lifted),
            share=options.step,
            reader_caps=[0.0 if name in options.known else options.reader_cap for name in names],
            cap=options.cap,
            preserve=options.preserve is not None,
            contexts=min(
                options.contexts,
                max(_FEWEST_CONTEXTS, len(planned.secrets) // _ROWS_OF_CONTEXT),
                max(_FEWEST_CONTEXTS, _PROGRAMS // len(names)),
            ),
            simulated=_FEW_SIMULATED if small else _SIMULATED,
        )
        released = release(plan, planned.codes, planned.secrets, key=ReleaseKey.of(0), names=names)
        laws = {f"refit {k + 1}": refitted(law, planned, 1000 + k, smoothing=options.smoothing) for k in range(_REFITS)}
        laws["other trees"] = fit(planned, components=components + 2, smoothing=options.smoothing, seed=1)
        codes, secrets = planned.codes, planned.secrets
        return cls(
            request=request,
            options=options,
            pairs="all",
            columns=seen.columns,
            plan=plan,
            rows_per_secret=seen.rows_per_secret,
            rows=sum(seen.rows_per_secret.values()),
            planned=len(codes),
            likelihood=float(law.log_likelihood(codes, secrets).mean()),
            kept=kept_of(planned, released, values_of(seen.columns), within=seen.within),
            others=other_beliefs(plan, laws, names, epsilon=target),
            held=None,
        )

    def attacked(self, planned: Rows, held: Rows, /) -> HeldOut | None:
        """What attackers of other rows find."""
        released = release(self.plan, planned.codes, planned.secrets, key=ReleaseKey.of(0), names=self.names)
        return attacked(self.plan, planned, released, held, self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are drawn, in the order of the codes; the others are functions of these."""
        return tuple(column.name for column in self.columns if column.source is None)

    @property
    def beliefs(self) -> tuple[str, ...]:
        """Names of the laws that the loss is bounded under."""
        names = ["other table"] if self.tables == 1 else [f"other table {k}" for k in range(1, self.tables + 1)]
        return ("fitted", *(f"refit {k}" for k in range(1, self.refits + 1)), *names)

    @property
    def tables(self) -> int:
        """Other tables among the beliefs."""
        return sum(isinstance(each, OtherTable) for each in self.request.beliefs)

    @property
    def refits(self) -> int:
        """Networks among the beliefs that were fitted again to draws of the rows."""
        return len(self.plan.laws) - 1 - self.tables

    @property
    def belief_words(self) -> str:
        """What they are, in words."""
        trees, tables = len(self.plan.laws[0].trees), self.tables
        mixture = f"a mixture of {trees} trees" if trees > 1 else "a tree"
        network = (
            f"that of a network, {mixture}, fitted to {self.planned:,} rows of the table that the plan was made from"
        )
        again = f", or of one of {self.refits} networks fitted again to draws of these rows" * (self.refits > 0)
        others = f"{tables} other tables" if tables > 1 else "another table"
        return network + again + f", or of its trees fitted to {others}" * (tables > 0)

    @property
    def reader_loss(self) -> float:
        """The loss to a reader who knows the whole row."""
        return float(sum(step.reader_cap for step in self.plan.steps))

    @property
    def cap(self) -> float:
        """The loss under any law at all."""
        return float(self.options.cap * len(self.plan.steps))

    @property
    def worst_delta(self) -> float:
        """Under other beliefs, at the epsilon that was asked for."""
        return max(each.delta for each in self.others)

    @property
    def worst_tail(self) -> float:
        """99 % of the losses under other beliefs are at most this."""
        return max(each.tail for each in self.others)

    @property
    def worst_auc(self) -> float:
        """The AUC of the best guess between two secrets under other beliefs."""
        return max(each.auc for each in self.others)

    @property
    def is_far(self) -> bool:
        """Whether the losses under other beliefs are far above epsilon."""
        return self.worst_tail > WARNED * self.request.target.epsilon

    @property
    def more_beliefs(self) -> str:
        """What to write for more networks among the beliefs."""
        within = (REFUSED if self.is_refused else WARNED) * self.request.target.epsilon
        doublings = min(max(1, math.ceil(math.log(self.worst_tail / within) / math.log(_BY_DOUBLING))), _MOST_DOUBLINGS)
        return f'beliefs=("fitted", Bootstrap({max(5, 2**doublings * self.refits)}))'

    @property
    def step(self) -> float:
        """By what share of epsilon the loss may grow with one column without a lift."""
        assert self.options.step is not None  # a plan has found its own
        return self.options.step

    @property
    def smaller_step(self) -> str:
        """What to write for a plan that changes more and tells less."""
        return f"mechanism=Sequential(step={0.6 * self.step:.2g})"

    @property
    def is_unchanged(self) -> bool:
        """Whether hardly any cell is another one after a release."""
        return sum(self.kept.changed.values()) < _UNCHANGED * len(self.kept.changed)

    @property
    def is_exceeded(self) -> bool:
        """Whether an attacker showed more than epsilon."""
        return self.held is not None and self.held.shown > self.request.target.epsilon

    @property
    def allowed_auc(self) -> float:
        """The largest AUC that an attacker could have if the network were the truth."""
        return largest_auc(self.request.target.epsilon)

    def _margins(self, aucs: Sequence[float]) -> tuple[float, ...]:
        """Two standard errors of an AUC of each attacked secret.

        Rows were held out at random: of those that were attacked each secret has about its share.
        """
        if self.held is None:
            return ()
        counts = np.array(list(self.rows_per_secret.values()))[list(self.held.secrets)]
        own = (self.held.rows * counts / counts.sum()).clip(FEWEST_TESTED)
        rest = (self.held.rows - own).clip(FEWEST_TESTED)
        return tuple(map(auc_margin, aucs, own.tolist(), rest.tolist()))

    def _clearly_above(self, aucs: Sequence[float], limit: float) -> tuple[float, ...]:
        """Those AUCs of the attacked secrets that are above a limit by more than two standard errors."""
        return tuple(auc for auc, off in zip(aucs, self._margins(aucs), strict=True) if auc - off > limit)

    @property
    def beyond(self) -> tuple[float, ...]:
        """AUCs of attackers that are clearly above what epsilon allows."""
        return self._clearly_above(self.held.best, self.allowed_auc) if self.held is not None else ()

    @property
    def told(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The largest AUC of attackers of a release, and of the raw columns, each with two standard errors."""
        found = ((0.5,), (0.5,)) if self.held is None else (self.held.best, self.held.raw)
        best, raw = (max(zip(aucs, self._margins(aucs) or (0.5,), strict=True)) for aucs in found)
        return best, raw

    @property
    def is_close(self) -> bool:
        """Whether attackers tell over half of what the raw columns tell, by more than two standard errors, two and a
        half for a release: of few rows the best of several attackers is often as good by chance.
        """
        (best, off), (raw, raw_off) = self.told
        return best - 0.5 - _HALF * (raw - 0.5) > math.hypot(_BEST * off, _HALF * raw_off)

    @property
    def is_idle(self) -> bool:
        """Whether attackers tell as much from a release as from the raw columns, which tell clearly more than chance,
        though it changes much, or they show a loss; or nearly as much, and clearly more than epsilon allows.
        """
        held, changed = self.held, self.kept.changed
        if held is None or not self._clearly_above(held.raw, 0.5) or not self.is_close:
            return False
        best, raw = max(held.best), max(held.raw)
        if self.beyond:
            return best - 0.5 >= _NEARLY * (raw - 0.5)
        return best >= raw and (sum(changed.values()) > _MANY * len(changed) or held.shown >= _CLEARLY)

    @property
    def is_open(self) -> bool:
        """Whether the rows are too few to say if a release hides anything of what the raw columns tell."""
        (best, off), (raw, raw_off) = self.told
        return raw - raw_off > 0.5 and not self.is_close and raw - best <= math.hypot(off, raw_off)

    @property
    def least_shown(self) -> float:
        """The loss that attackers showed, in hundredths; 0 where the test is too small to say how much is lost."""
        return math.floor(100 * self.held.shown) / 100 if self.held is not None else 0.0

    @property
    def unattacked(self) -> tuple[Secret, ...]:
        """Secrets that no attack was tried on: too few of their rows were held out."""
        tried = () if self.held is None else self.held.secrets
        return tuple(secret for k, secret in enumerate(self.rows_per_secret) if k not in tried)

    @property
    def unattacked_words(self) -> str:
        """Their names, of many the first."""
        return listed(list(map(repr, self.unattacked)), most=MOST_NAMED)

    @property
    def changes(self) -> Mapping[str, Change]:
        """Per column; none of a plan from a file of an earlier version."""
        counts = np.array(list(self.rows_per_secret.values()))
        shares = counts / counts.sum()
        moves = {self.names[step.column]: step.moves for step in self.plan.steps}
        found = {}
        for column in self.columns:
            joint = moves[column.source or column.name]
            if joint is None:
                return {}
            codes = np.array(column.codes) if column.source is not None else np.arange(joint.shape[1])
            by_secret = (joint * (codes[:, None] != codes)).sum(axis=(1, 2))
            mean = np.tensordot(shares, joint, 1)
            before, after = (np.bincount(codes, mean.sum(axis=axis)) for axis in (1, 0))
            off = shift_of(before, after)
            distance, constant = None, 1.0 - float(before.max())
            if column.edges is not None:
                values = np.array(column.levels, dtype=np.float64)[codes]
                there = ~np.isnan(values)  # a missing value is no constant and has no distance, as in `kept_of`
                apart, both = np.abs(np.subtract.outer(values[there], values[there])), mean[np.ix_(there, there)]
                rows = both.sum() or 1.0
                distance, constant = float((both * apart).sum() / rows), float((both.sum(axis=1) @ apart).min() / rows)
            share = float(counts @ by_secret / counts.sum())
            found[column.name] = Change(
                share=share,
                most=float(by_secret.max()),
                distance=distance,
                constant=constant,
                shift=off.shift,
                times=off.times,
            )
        return found

    @property
    def useless_columns(self) -> tuple[str, ...]:
        """Columns that a constant is about as near to as a release, or nearer, on average under the fitted network."""
        return tuple(name for name, change in self.changes.items() if change.is_useless)

    @property
    def unrelated(self) -> list[tuple[str, str]]:
        """Each two columns whose correlation is mostly lost, none of which a constant is as near to."""
        useless = self.useless_columns
        return [pair for pair in self.kept.unrelated if not {*pair} & {*useless}]

    @property
    def unrelated_words(self) -> str:
        """Their names, of many the first."""
        return listed([f"{one!r} and {other!r}" for one, other in self.unrelated], most=MOST_NAMED)

    @property
    def merged(self) -> Mapping[str, int]:
        """Different values of whole numbers and dates that come out as fewer, though each could have a cell."""
        return {column.name: column.different for column in self.columns if column.different is not None}

    @property
    def shifted_columns(self) -> Mapping[str, Change]:
        """Columns in which the share of some level is another one in a release."""
        return {name: change for name, change in self.changes.items() if change.is_shifted}

    def draw(self, key: ReleaseKey, /) -> TableDraw:
        """What a release does to the rows."""
        secret = secret_levels(tuple(self.rows_per_secret), self.request.secret)
        return TableDraw(key=key, columns=self.columns, secret=secret, plan=self.plan)

    @property
    def is_refused(self) -> bool:
        """Whether the losses under other beliefs are too far above epsilon for a release."""
        return self.worst_tail > REFUSED * self.request.target.epsilon

    def refuse(self) -> None:
        """Raise CalibrationError where what was measured is far from what was asked for."""
        epsilon = self.request.target.epsilon
        if self.is_refused:
            raise CalibrationError(
                "the losses under networks that are fitted again",
                rule=f"within {REFUSED:g} times epsilon, {REFUSED * epsilon:g}, in 99 % of rows",
                got=f"{self.worst_tail:.3g}: the table is too small for so many columns and secrets",
                hint=f"Say {self.more_beliefs}, merge rare secrets, or release fewer columns.",
            )
        if self.is_exceeded and not self.options.allow_unaudited:
            assert self.held is not None
            raise CalibrationError(
                "the loss that attackers show on rows that the plan was not made from",
                rule=f"within epsilon, {epsilon:g}",
                got=f"at least {self.held.shown:.3g} ({100 * CONFIDENCE:g} % confidence)",
                hint=f"Take a smaller step ({self.smaller_step}), leave out columns that tell together, or say "
                "Sequential(allow_unaudited=True): the certificate then says so.",
            )


def below(epsilon: float, /) -> float:
    """What is left of an epsilon for the loss as floats have it."""
    return epsilon - FLOATS


def split(seen: CodedRows, holdout: float, /) -> tuple[Rows, Rows | None]:
    """Rows to plan on, and rows to attack: of the secrets with enough rows for that, None where these are not two."""
    sizes, groups = tuple(len(column.levels) for column in seen.columns if column.source is None), len(seen.secrets)
    order = np.random.default_rng(0).permutation(len(seen.codes))
    held = order[: min(int(holdout * len(order)), MOST_HELD)]
    many = np.flatnonzero(np.bincount(seen.groups[held], minlength=groups) >= FEWEST_HELD)
    # held-out rows stay in random order: neighbours among sorted rows would stand on both sides of an attack
    held = held[np.isin(seen.groups[held], many)] if many.size > 1 else held[:0]
    planned, attacked = (
        Rows(codes=seen.codes[part], secrets=seen.groups[part], sizes=sizes, groups=groups)
        for part in (np.setdiff1d(np.arange(len(order)), held), held)
    )
    return planned, attacked if held.size else None


def refitted(law: NetworkLaw, rows: Rows, seed: int, /, *, smoothing: float) -> NetworkLaw:
    """The law of a bootstrap sample of the rows."""
    own = np.random.default_rng(seed).integers(len(rows.codes), size=len(rows.codes))
    return refit(law, replace(rows, codes=rows.codes[own], secrets=rows.secrets[own]), smoothing=smoothing)


def values_of(columns: Sequence[TableColumn], /) -> dict[str, FloatArray | None]:
    """The values of the levels of the drawn columns; None of labels."""
    return {
        column.name: None if column.edges is None else np.array(column.levels, dtype=np.float64)
        for column in columns
        if column.source is None
    }
