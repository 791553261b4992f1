"""Correlated series: how often each state occurs, with every single state hidden (Markov quilt)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from puffer_frames._version import __version__
from puffer_frames.answers.correlated import MECHANISMS, Plan, plan_noise
from puffer_frames.answers.noisy import COLUMNS, AnswerRow, answer_row, with_noise
from puffer_frames.answers.statements import series_statements
from puffer_frames.arguments import check_delta, check_epsilon
from puffer_frames.certificate import Certificate
from puffer_frames.chains import MarkovChain, estimate_transition
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.answers import build_answers, check_free_names
from puffer_frames.frames.attach import fingerprint
from puffer_frames.frames.columns import Name, NativeFrame, as_names, labels_of, open_frame
from puffer_frames.frames.series import SeriesRows, read_series
from puffer_frames.frames.units import check_columns
from puffer_frames.noise.family import Family, noise_family
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.priors import FloatArray, Secret


def histogram(
    frame: NativeFrame,
    /,
    *,
    state: Name,
    time: Name,
    unit: Name | None = None,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "quilt",
    chain: str | ArrayLike | MarkovChain | Sequence[MarkovChain] = "estimated",
    initial: str | ArrayLike = "stationary",
    floor: float | None = None,
    states: Sequence[Secret] | None = None,
    bins: Sequence[Secret] | None = None,
    counts: bool = True,
    per: str = "pooled",
    noise: str = "laplace",
    alpha: float | None = None,
    nulls: str = "raise",
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release how often each state occurs in series whose neighbouring values depend on one another.

    What is hidden is the state at any one time, although the states around it tell of it: their dependence is a Markov
    chain. General Bayesian networks are out of scope.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
        Never changed. A lazy frame is collected.
    state : column name
        Strings, categories, booleans or integers.
    time : column name
        Integers, floats, dates or datetimes, in any order of the rows. Where it does not go on by its usual step, the
        series is cut into pieces, which are taken as independent.
    unit : column name, optional
        Whose series a row belongs to; without it there is one.
    epsilon : float
        Greater than 0.
    delta : float
        0, except for Gaussian noise.
    mechanism : "quilt", "quilt-approx", "exact" or "group"
        The Markov Quilt Mechanism with exact influences; with influences bounded by how fast the chain mixes; the exact
        loss of one count (two states, or one of `bins`); the privacy of a whole piece, for comparison.
    chain : "estimated", transition matrix, MarkovChain or several
        Rows from, columns to, in ascending order of the states. Several: the guarantee covers each.
    initial : "stationary", "estimated", "any" or a law
        Law of the first state of a piece.
    floor : float, optional
        Least probability of a transition of the estimated chain; by default 1 / (number of transitions).
    states : list, optional
        All states, in the order of the matrix; by default those observed, ascending.
    bins : list, optional
        The states to release; by default all.
    counts : bool
        Counts, or relative frequencies.
    per : "pooled", "unit" or "both"
        One histogram of all units, one each, or both, which share epsilon evenly.
    noise, alpha : str, float
        As in `privatize`.
    nulls : "raise" or "drop"
        What to do with rows that miss a state, time or unit.
    rng : None, int or numpy.random.Generator
        A seed makes the release reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        A row per histogram and state: the unit (where there are several histograms), the state, `answer`, `scale`,
        `expected_error` (mean absolute noise), `lower_95` and `upper_95`. Certificate attached.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range, and a time that occurs twice in a series.
    PriorError
        For an empty frame, missing entries, and a matrix that is no transition matrix.

    Notes
    -----
    **Guarantee**: for every time and pair of states s, t, and every chain,
    :math:`P(\text{answers} \in B \mid X_i = s) \le e^\varepsilon P(\text{answers} \in B \mid X_i = t)`. The query
    changes by at most 2 in all where one value does (by 1 for one bin), which the scale holds. A short series, or an
    epsilon too small for any quilt, gets the noise of group privacy. **Cost**: `puffer_frames.quilt_scale`.

    References
    ----------
    [SWC17]; [SC17] for several releases; theory section 10.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> day = pd.DataFrame({"minute": range(8), "activity": list("aababbba")})
    >>> chain = [[0.6, 0.4], [0.4, 0.6]]
    >>> found = day.puffer.histogram(state="activity", time="minute", epsilon=1.0, chain=chain)
    >>> list(found.columns), round(float(found["scale"].iloc[0]), 3)
    (['activity', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 7.144)
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    family = noise_family(noise, alpha=alpha)
    family.check(epsilon=epsilon, delta=delta)
    check_rng(rng)
    _check_words(mechanism=mechanism, per=per, nulls=nulls)
    if not isinstance(counts, (bool, np.bool_)):
        raise ArgumentTypeError("counts", rule="True or False", got=f"a {type(counts).__name__}", hint="Leave it out.")
    if mechanism == "exact" and per == "both":
        raise ArgumentError(
            "per",
            rule='"pooled" or "unit" for mechanism="exact", whose releases do not add up',
            got="'both'",
            hint='Leave it out for "pooled", or use mechanism="quilt".',
        )
    opened = open_frame(frame)
    names = {
        "state": as_names(state, frame, role="state"),
        "time": as_names(time, frame, role="time"),
        "unit": () if unit is None else as_names(unit, frame, role="unit"),
    }
    for role, listed in names.items():
        if len(listed) > 1 or (not listed and role != "unit"):
            got = "several" if listed else "none"
            raise ArgumentTypeError(role, rule="one column name", got=got, hint=f'Write {role}="column".')
    check_columns(names)
    check_free_names((*names["state"], *names["unit"]), role="state", taken=COLUMNS)
    rows = read_series(
        opened,
        state=names["state"][0],
        time=names["time"][0],
        unit=next(iter(names["unit"]), None),
        states=states,
        nulls=nulls,
    )
    released = _check_bins(bins, rows.states)
    chains = _chains(chain, rows, initial=initial, floor=floor)
    both = per == "both"
    share = math.nextafter(epsilon / 2, 0.0) if both else epsilon
    plan = plan_noise(
        chains,
        rows,
        mechanism=mechanism,
        released=released,
        epsilon=share,
        delta=delta / (2 if both else 1),
        family=family,
    )
    key = ReleaseKey.of(rng)
    found = _histograms(rows, plan, released=released, counts=counts, per=per, key=key, family=family)
    table = {name: list(column) for name, column in zip(COLUMNS, zip(*found, strict=True), strict=True)}
    shown = {names["state"][0]: [rows.states[k] for k in released] * (len(table["answer"]) // len(released))}
    labels: dict[str, list[Any]] = shown
    if per != "pooled" and names["unit"]:
        owners = ([None] if both else []) + list(rows.units)
        labels = {names["unit"][0]: [owner for owner in owners for _ in released], **shown}
    answers = build_answers(opened, labels=labels, numbers=table, names=labels_of(frame))
    certificate = Certificate(
        subject="the "
        + " of each ".join([f"{names['state'][0]} at each time", *names["unit"]])
        + ", every pair of states",
        answers=True,
        epsilon=epsilon,
        delta=delta,
        secret=names["state"],
        public=("answer",),
        kept=tuple(name for name in (*labels, *table) if name != "answer"),
        pairs="all",
        beliefs=("estimated chain" if isinstance(chain, str) else "given chains",),
        theorem=MECHANISMS[mechanism][0],
        source=MECHANISMS[mechanism][1],
        published_scales={"count": None if mechanism == "exact" else plan.scale},
        calibration="exact" if mechanism == "exact" else "mechanism",
        noise=family.title,
        scales={"count": plan.scale},
        expected_error={"count": family.at(plan.scale).expected_absolute_error},
        verified={"count": {"chain": plan.verified}},
        adds_up=mechanism != "exact",
        assumptions=series_statements(
            rows,
            plan,
            mechanism=mechanism,
            estimated=isinstance(chain, str),
            chains=chains,
            counts=counts,
            both=both,
            several=len(released) > 1,
            family=family,
            nulls=nulls,
        ),
        reproducible=rng is not None,
        rows=len(table["answer"]),
        version=__version__,
        fingerprint=fingerprint(answers),
    )
    return certificate.attach(answers)


def _histograms(
    rows: SeriesRows, plan: Plan, *, released: list[int], counts: bool, per: str, key: ReleaseKey, family: Family
) -> list[AnswerRow]:
    """Noisy counts or frequencies, histogram by histogram."""
    per_unit = rows.counts()
    pooled = per_unit.sum(axis=0, keepdims=True)
    exact = np.concatenate({"pooled": [pooled], "unit": [per_unit], "both": [pooled, per_unit]}[per])
    noise = family.at(plan.scale)
    flat = [Fraction(int(count)) for count in exact[:, released].ravel()]
    noisy = with_noise(flat, noise, stream=key.stream("count"))
    table = []
    for k, total in enumerate(exact.sum(axis=1).tolist()):
        own = noisy[k * len(released) : (k + 1) * len(released)]
        if plan.derived:
            own[0] = total - own[1]
        table += [answer_row(number, noise, by=Fraction(1 if counts else total)) for number in own]
    return table


def _chains(
    chain: str | ArrayLike | MarkovChain | Sequence[MarkovChain],
    rows: SeriesRows,
    *,
    initial: str | ArrayLike,
    floor: float | None,
) -> list[MarkovChain]:
    """The adversary's beliefs."""
    size = len(rows.states)
    if size < 2:
        raise ArgumentError(
            "the states",
            rule="at least two",
            got=str(size),
            hint="With one state there is nothing to hide; list all that are possible in states=[...].",
        )
    given = [chain] if isinstance(chain, MarkovChain) else chain
    if isinstance(given, Sequence) and given and all(isinstance(one, MarkovChain) for one in given):
        if initial != "stationary":
            raise ArgumentError(
                "initial", rule="left out where a MarkovChain is given", got="a law", hint="Say it in MarkovChain.of."
            )
        listed = [one for one in given if isinstance(one, MarkovChain)]
    else:
        start = _initial(initial, rows)
        if isinstance(chain, str):
            if chain != "estimated":
                raise ArgumentError(
                    "chain",
                    rule='"estimated", a transition matrix or a MarkovChain',
                    got=repr(chain),
                    hint='Leave it out for "estimated".',
                )
            transitions = rows.transitions()
            least = 1.0 / max(int(transitions.sum()), size) if floor is None else _floor(floor, size)
            matrix: ArrayLike = estimate_transition(transitions, floor=least)
        else:
            matrix = cast(ArrayLike, chain)
        listed = [MarkovChain.of(matrix, initial=start)]
    for one in listed:
        if one.states != size:
            raise ArgumentError(
                "chain",
                rule=f"of the {size} states of the series",
                got=f"{one.states}",
                hint="List all possible states in the order of the matrix: states=[...].",
            )
    return listed


def _initial(initial: str | ArrayLike, rows: SeriesRows) -> ArrayLike | str:
    if isinstance(initial, str) and initial == "estimated":
        law: FloatArray = rows.first_states() / rows.first_states().sum()
        return law
    return initial


def _floor(floor: float, size: int) -> float:
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0 <= floor <= 1 / size:
        raise ArgumentError(
            "floor",
            rule=f"from 0 to 1 / (number of states), here {1 / size:.3g}",
            got=f"{floor!r}",
            hint="Leave it out for 1 / (number of transitions).",
        )
    return float(floor)


def _check_bins(bins: Sequence[Secret] | None, states: Sequence[Secret]) -> list[int]:
    if bins is None:
        return list(range(len(states)))
    listed = [bins] if isinstance(bins, str) or not isinstance(bins, Iterable) else list(bins)
    unknown = [label for label in listed if not isinstance(label, Hashable) or label not in states]
    if unknown or not listed or len(set(listed)) < len(listed):
        raise ArgumentError(
            "bins",
            rule="different states of the series",
            got=repr(unknown[0]) if unknown else "none" if not listed else "one named twice",
            hint=f"Known states are, for example, {', '.join(repr(label) for label in list(states)[:5])}.",
        )
    return [list(states).index(label) for label in listed]


def _check_words(*, mechanism: str, per: str, nulls: str) -> None:
    words = {
        "mechanism": (mechanism, tuple(MECHANISMS)),
        "per": (per, ("pooled", "unit", "both")),
        "nulls": (nulls, ("raise", "drop")),
    }
    for role, (given, known) in words.items():
        if not isinstance(given, str) or given not in known:
            listed = ", ".join(f'"{word}"' for word in known)
            raise ArgumentError(role, rule=f"one of {listed}", got=repr(given), hint=f'Leave it out for "{known[0]}".')
