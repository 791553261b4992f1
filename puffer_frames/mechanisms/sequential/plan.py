"""The plan of a table: the order of its columns, and for each the contexts and their base tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from puffer_frames.mechanisms.channel.exact import in_integers
from puffer_frames.mechanisms.channel.problem import Law, Problem
from puffer_frames.mechanisms.channel.program import solve
from puffer_frames.mechanisms.sequential.law import NetworkLaw, Rows, fit, information, k_means, nearest, spanning_tree
from puffer_frames.mechanisms.sequential.release import BLOCK, SequentialPlan, Step, Walk, Whole, drawn, features, in_units
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.numbers.target import Target
from puffer_frames.priors.prior import FloatArray

_CLASSED = 20_000
"""Simulated rows that contexts are found from."""
_MANY_LEVELS = 24
"""Columns of more levels have fewer contexts and drop more levels from their programs, which take seconds each."""
_FEW_CONTEXTS = 8
_RARE = (1e-7, 1e-4)
"""Levels of a smaller share of a context are left out of its program."""
_UNIFORM = 1e-6
"""Share of the even law in each row: no entry is 0, and units of 2**-62 err by less than 1 part in 10**11."""
_ROOM = 1e-12
"""By how much a ratio must stay below its cap to need no repair: more than floats err."""
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

    Parameters
    ----------
    rows : Rows
    epsilon : float
        Bound of the loss of a whole row.
    laws : sequence of NetworkLaw, optional
        The beliefs; the fitted law of the rows by default.
    share : float
        By what share of epsilon the loss may grow with one column.
    reader_caps : float, or one for each column
        Largest loss of a column to a reader who knows its raw value; 0 for a channel that does not see the secret.
    cap : float
        Largest loss of a column under any belief.
    preserve : bool
        Whether the law of each column is kept within each context.
    costs : sequence of array, optional
        Cost of each output in place of each level, by column; 1 for a change by default.
    contexts, simulated, seed : int
        Contexts of a column at most, simulated rows, and the seed of both.

    Returns
    -------
    SequentialPlan
    """
    laws = tuple(laws) or (fit(rows, seed=seed),)
    rng = np.random.default_rng(seed)
    caps = np.broadcast_to(np.asarray(reader_caps, dtype=np.float64), len(rows.sizes)).tolist()
    order, _ = spanning_tree(information(rows))
    plan = SequentialPlan(epsilon=epsilon, laws=laws, steps=(), reserve=epsilon / (4 * len(order)))
    shares = np.bincount(rows.secrets, minlength=rows.groups) / len(rows.secrets)
    # rare secrets of several would have few rows
    drawn_shares = shares if rows.groups == 2 else (shares + 1 / rows.groups) / 2
    secrets = rng.choice(rows.groups, size=simulated, p=drawn_shares)
    raw, times = laws[0].sample(secrets, rng), (shares / drawn_shares)[secrets]
    parts = [slice(start, min(start + BLOCK, simulated)) for start in range(0, simulated, BLOCK)]
    walks = [Walk(plan, part.stop - part.start) for part in parts]
    for k, column in enumerate(order):
        size = rows.sizes[column]
        found = [walk.laws_of(column) for walk in walks]
        seen = np.concatenate([features(law[0]) for law in found])
        # the first column has one law, and one context
        centres = np.rint(k_means(seen[:_CLASSED], _FEW_CONTEXTS if size > _MANY_LEVELS else contexts, rng))
        centres = np.unique(centres, axis=0)
        held, own = np.unique(nearest(seen, centres), return_inverse=True)
        joint = shares[:, None] * np.exp(np.concatenate([walk.logs[0] for walk in walks], axis=1))
        mass = times * joint / joint.sum(axis=0)
        law = np.concatenate([law[0] for law in found], axis=1)
        tables = []
        for context in range(len(held)):
            mine = np.flatnonzero(own == context)
            weights = mass[:, mine].sum(axis=1)
            tables.append(
                base_table(
                    np.einsum("sr,srk->sk", mass[:, mine], law[:, mine]) / weights[:, None],
                    weights / weights.sum(),
                    most=share * epsilon,
                    reader_cap=caps[column],
                    cap=cap,
                    cost=1 - np.eye(size) if costs is None else costs[column],
                    preserve=preserve,
                )
            )
        step = Step(
            column=column, most=share * epsilon, reader_cap=caps[column], centres=centres[held], weights=np.stack(tables)
        )
        for walk, part, own_laws in zip(walks, parts, found, strict=True):
            channels = walk.channels(step, len(order) - 1 - k, own_laws)
            words = rng.integers(1 << TOTAL_BITS, size=part.stop - part.start, dtype=np.uint64)
            walk.see(channels, drawn(channels.weights(raw[part, column], secrets[part]), words))
        plan = replace(plan, steps=(*plan.steps, step))
    return plan


def base_table(
    laws: FloatArray, shares: FloatArray, /, *, most: float, reader_cap: float, cap: float, cost: FloatArray, preserve: bool
) -> Whole:
    """The channel of one column in one context in units of 2**-62, shape (secrets, levels, outputs).

    The caps hold exactly. The loss holds nearly: laws of a context are means, and lifts do the rest for each row.
    """
    pooled = shares @ laws
    used = np.flatnonzero(pooled >= _RARE[len(pooled) > _MANY_LEVELS])
    own = laws[:, used] / laws[:, used].sum(axis=1, keepdims=True)
    problem = _problem(
        own, shares, most=most, reader_cap=reader_cap, cap=cap, cost=cost[np.ix_(used, used)], preserve=preserve
    )
    matrix = np.broadcast_to(solve(problem).matrix.reshape(-1, used.size, used.size), (len(laws), used.size, used.size))
    found = np.zeros((len(laws), *cost.shape))
    # the same mean of rows for all secrets keeps both caps
    found[:, :, used] = np.einsum("k,ska->sa", shares @ own, matrix)[:, None]
    found[np.ix_(range(len(laws)), used, used)] = matrix
    found = (1 - _UNIFORM) * found + _UNIFORM / len(pooled)
    if _ratio(found, same=True) > np.exp(reader_cap) * (1 - _ROOM) or _ratio(found, same=False) > np.exp(cap) * (1 - _ROOM):
        every = _problem(laws, shares, most=most, reader_cap=reader_cap, cap=cap, cost=cost, preserve=False)
        rows = found[0] if every.groups is None else found.reshape(-1, len(pooled))
        return np.broadcast_to(in_integers(rows, replace(every, beliefs=())).reshape(-1, *cost.shape), found.shape)
    return in_units(found)


def _problem(
    laws: FloatArray, shares: FloatArray, *, most: float, reader_cap: float, cap: float, cost: FloatArray, preserve: bool
) -> Problem:
    secrets, size = laws.shape
    pooled = shares @ laws
    parts = np.rint(_PARTS * laws).astype(int)
    kept = {"kept": np.eye(size)[:-1], "kept_means": pooled[:-1], "constant": pooled} if preserve and size > 1 else {}
    plain = Problem(
        beliefs=({s: Law(counts=tuple(parts[s].tolist())) for s in range(secrets)},),
        target=Target(epsilon=most),
        pairs="all",
        cap=cap,
        pooled=pooled,
        cost=cost,
        **kept,
    )
    if reader_cap == 0:
        return plain
    placed = np.eye(secrets, dtype=int)[:, :, None] * parts
    return replace(
        plain,
        beliefs=({s: Law(counts=tuple(placed[s].ravel().tolist())) for s in range(secrets)},),
        pooled=(shares[:, None] * laws).ravel(),
        cost=np.tile(cost, (secrets, 1)),
        groups={s: tuple(range(s * size, (s + 1) * size)) for s in range(secrets)},
        reader_cap=reader_cap if np.isfinite(reader_cap) else None,
    )


def _ratio(tables: FloatArray, *, same: bool) -> float:
    """The largest ratio of two probabilities of an output given two secrets, and the same level or any two."""
    most, least = (tables, tables) if same else (tables.max(axis=1), tables.min(axis=1))
    pairs = [(s, t) for s in range(len(tables)) for t in range(len(tables)) if s != t]
    return max(float((most[s] / least[t]).max()) for s, t in pairs)
