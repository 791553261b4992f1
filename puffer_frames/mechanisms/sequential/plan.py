"""The plan of a table: the order of its columns, and for each the contexts and their base tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from puffer_frames.mechanisms.channel.problem import Law, Problem
from puffer_frames.mechanisms.channel.program import exp_below, in_integers, solve
from puffer_frames.mechanisms.sequential.law import NetworkLaw, Rows, fit, information, k_means, nearest, spanning_tree
from puffer_frames.mechanisms.sequential.release import (
    SequentialPlan,
    Step,
    Walk,
    Whole,
    blocks,
    drawn,
    features,
    in_units,
)
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.numbers.progress import watched
from puffer_frames.numbers.target import Target
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.prior import FloatArray, IndexArray

_CLASSED = 20_000
"""Simulated rows that contexts are found from."""
_MANY_LEVELS = 24
"""Columns of more levels drop more levels from their programs, which take seconds each."""
_MOST_CONTEXTS = ((100, 4), (72, 8), (48, 12))
"""Columns of more levels times secrets have fewer contexts: a program of 80 takes a second, of 210 ten."""
_FEW_LEVELS = 4
"""Programs of so many levels are too small for two threads."""
_RARE = (1e-7, 1e-4)
"""Levels of a smaller share of a context are left out of its program."""
_UNIFORM = 1e-6
"""Share of the even law in each row: no entry is 0, and units of 2**-62 err by less than 1 part in 10**11."""
LEAST_SHARE = _UNIFORM / 2
"""Of the even law that is in each row, whatever was repaired."""
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
    costs: Sequence[FloatArray] | None = None,
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
    - `costs` (sequence of array): Cost of each output in place of each level, by column; 1 for a change by default.
    - `contexts`, `simulated`, `seed`: Contexts of a column at most, simulated rows, and the seed of both.
    """
    laws = tuple(laws) or (fit(rows, seed=seed),)
    rng = np.random.default_rng(seed)
    caps = np.broadcast_to(np.asarray(reader_caps, dtype=np.float64), len(rows.sizes)).tolist()
    order, _ = spanning_tree(information(rows))
    plan = SequentialPlan(epsilon=epsilon, laws=laws, steps=(), reserve=reserve_of(epsilon, len(order)))
    simulation = _Simulation(plan, rows, simulated, rng)
    with threadpool_limits(limits=1):  # programs are many and small
        for column in watched(order, label="columns planned"):
            size = rows.sizes[column]
            found = simulation.laws_of(column)
            most = next((few for inputs, few in _MOST_CONTEXTS if size * rows.groups > inputs), contexts)
            centres, own = _contexts(found, min(contexts, most), rng)
            asked = Asked(
                most=share * epsilon,
                reader_cap=caps[column],
                cap=cap,
                cost=1 - np.eye(size) if costs is None else costs[column],
                preserve=preserve,
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
    """Of the secrets."""


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
    """Of each output in place of each level."""
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
        found: FloatArray = moves / moves.sum(axis=(1, 2), keepdims=True)
        return found


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
    used = np.flatnonzero(pooled >= _RARE[len(pooled) > _MANY_LEVELS])
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
    """Whether the ratios between secrets are below both caps: in whole numbers, where floats cannot tell.

    Of tables of shape (secrets, levels, outputs), all above 0.
    """
    pairs = [(s, t) for s in range(len(tables)) for t in range(len(tables)) if s != t]
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
