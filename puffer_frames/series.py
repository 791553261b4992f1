"""Correlated series: how often each state occurs, with every single state hidden (Markov quilt)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from puffer_frames._version import __version__
from puffer_frames.answers.belief import ChainArgument, believed_chains
from puffer_frames.answers.correlated import MECHANISMS, Plan, plan_noise
from puffer_frames.answers.noisy import COLUMNS, AnswerRow, answer_row, with_noise
from puffer_frames.answers.statements import series_statements
from puffer_frames.arguments import check_delta, check_epsilon, check_flag
from puffer_frames.certificate import Certificate
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.answers import build_answers, check_free_names
from puffer_frames.frames.columns import Name, NativeFrame, as_name, labels_of, open_frame
from puffer_frames.frames.fingerprint import fingerprint
from puffer_frames.frames.series import GAPS, SeriesRows, read_series
from puffer_frames.frames.units import check_columns
from puffer_frames.frames.unordered import is_null
from puffer_frames.frames.write import as_given
from puffer_frames.noise.family import GAUSSIAN, Family, noise_family
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.priors import Secret


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
    chain: ChainArgument = "estimated",
    initial: str | ArrayLike = "stationary",
    floor: float | None = None,
    states: Sequence[Secret] | None = None,
    bins: Sequence[Secret] | None = None,
    counts: bool = True,
    per: str = "pooled",
    noise: str = "laplace",
    alpha: float | None = None,
    gaps: str = "bridge",
    nulls: str = "raise",
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release how often each state occurs in series whose neighbouring values depend on one another.

    What is hidden is the state at any one time, although the states around it tell of it: their dependence is a Markov
    chain. General Bayesian networks are out of scope.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Never changed. A lazy frame is collected.
    state : column name
        Strings, categories, booleans or integers.
    time : column name
        Integers, floats, dates or datetimes, in any order of the rows, apart by one step: that which occurs most.
    unit : column name, optional
        Whose series a row belongs to; without it there is one.
    epsilon : float
        Greater than 0.
    delta : float
        0, except for Gaussian noise.
    mechanism : "quilt", "quilt-approx", "exact" or "group"
        The Markov Quilt Mechanism with exact influences; with influences bounded by how fast the chain mixes; the exact
        loss of one count (two states, or one of `bins`; at most 2,000 times); the privacy of a whole series, which
        needs no chain, for comparison.
    chain : "estimated", transition matrix, MarkovChain or several
        Rows from, columns to, in ascending order of the states. Several: the guarantee covers each. Not used, nor are
        `initial` and `floor`, for mechanism="group".
    initial : "stationary", "estimated", "any" or a law
        Law of the first state of a series.
    floor : float, optional
        Least probability of a transition of the estimated chain, and of an estimated first state; by default
        1 / (number of transitions), and 1 / (number of first states).
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
    gaps : "bridge" or "independent"
        What is believed of times without a row. "bridge": the chain runs on through them. "independent": the series
        starts anew after each, and what lies before tells nothing of what follows.
    nulls : "raise" or "drop"
        What to do with rows that miss a state, time or unit; dropped rows are gaps.
    rng : None, int or numpy.random.Generator
        A seed makes the release reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        A row per histogram and state: the unit (where there are several histograms), the state, `answer`, `scale`,
        `expected_error` (mean absolute noise), `lower_95` and `upper_95`. Certificate attached.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range, a time that occurs twice in a series, and times apart by other than
        whole numbers of steps.
    PriorError
        For an empty frame, missing entries, a matrix that is no transition matrix, and a reducible chain with a
        stationary start.
    CalibrationError
        Where the chain leaves nothing open, and for mechanism="exact" where no noise would be added.

    Notes
    -----
    **Guarantee**: for every time and pair of states s, t, and every chain,
    :math:`P(\text{answers} \in B \mid X_i = s) \le e^\varepsilon P(\text{answers} \in B \mid X_i = t)`. The query
    changes by at most 2 in all where one value does (by 1 for one bin), which the scale holds; of two states the first
    count is the public total less the second, so that one is released. A short series, or an epsilon too small for any
    quilt, gets the noise of group privacy. A scale for bridged gaps is private for independent pieces too, where the
    start is stationary or any. **Cost**: `puffer_frames.quilt_scale`.

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
    (['activity', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 3.572)
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    family = noise_family(noise, alpha=alpha)
    family.check(epsilon=epsilon, delta=delta)
    check_rng(rng)
    _check_words(mechanism=mechanism, per=per, nulls=nulls, gaps=gaps)
    check_flag(counts, "counts")
    _check_unused(family, delta=delta, chain=chain, initial=initial, floor=floor)
    if per == "both" and (mechanism == "exact" or unit is None):
        exact = mechanism == "exact"
        raise ArgumentError(
            "per",
            rule='"pooled" or "unit"'
            + (' for mechanism="exact", whose releases do not add up' * exact or " without a unit"),
            got="'both'",
            hint='Leave it out for "pooled"'
            + (', or use mechanism="quilt".' if exact else '; name the unit for "both".'),
        )
    opened = open_frame(frame)
    names: dict[str, tuple[str, ...]] = {
        "state": as_name(state, frame, role="state"),
        "time": as_name(time, frame, role="time"),
        "unit": () if unit is None else as_name(unit, frame, role="unit"),
    }
    check_columns(names)
    check_free_names((*names["state"], *names["unit"]), role="state", taken=COLUMNS)
    rows = read_series(
        opened,
        state=names["state"][0],
        time=names["time"][0],
        unit=next(iter(names["unit"]), None),
        states=states,
        nulls=nulls,
        gaps=gaps,
    )
    released = _check_bins(bins, rows.states)
    chains = [] if mechanism == "group" else believed_chains(chain, rows, initial=initial, floor=floor)
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
        beliefs=(
            "any dependence"
            if mechanism == "group"
            else "estimated chain"
            if isinstance(chain, str)
            else "given chains",
        ),
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
    return certificate.attach(as_given(answers, frame))


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


def _check_unused(family: Family, *, delta: float, chain: object, initial: object, floor: float | None) -> None:
    """What would have no effect is refused."""
    if delta and family != GAUSSIAN:
        raise ArgumentError(
            "delta",
            rule="0 for a histogram with other than Gaussian noise",
            got=f"{delta:g}",
            hint='Leave it out, or say noise="gaussian".',
        )
    if isinstance(chain, str) and chain != "estimated":
        raise ArgumentError(
            "chain",
            rule='"estimated", a transition matrix or a MarkovChain',
            got=repr(chain),
            hint='Leave it out for "estimated".',
        )
    estimated = isinstance(chain, str) or (isinstance(initial, str) and initial == "estimated")
    if floor is not None and not estimated:
        raise ArgumentError(
            "floor", rule="left out where the chain is given", got="a number", hint="Raise the entries of the matrix."
        )


def _check_bins(bins: Sequence[Secret] | None, states: Sequence[Secret]) -> list[int]:
    if bins is None:
        return list(range(len(states)))
    listed = [bins] if isinstance(bins, str) or not isinstance(bins, Iterable) else list(bins)
    unknown = [label for label in listed if not isinstance(label, Hashable) or is_null(label) or label not in states]
    if unknown or not listed or len(set(listed)) < len(listed):
        raise ArgumentError(
            "bins",
            rule="different states of the series",
            got=repr(unknown[0]) if unknown else "none" if not listed else "one named twice",
            hint=f"Known states are, for example, {', '.join(repr(label) for label in list(states)[:5])}.",
        )
    return [list(states).index(label) for label in listed]


def _check_words(*, mechanism: str, per: str, nulls: str, gaps: str) -> None:
    words = {
        "mechanism": (mechanism, tuple(MECHANISMS)),
        "per": (per, ("pooled", "unit", "both")),
        "nulls": (nulls, ("raise", "drop")),
        "gaps": (gaps, GAPS),
    }
    for role, (given, known) in words.items():
        if not isinstance(given, str) or given not in known:
            listed = ", ".join(f'"{word}"' for word in known)
            raise ArgumentError(role, rule=f"one of {listed}", got=repr(given), hint=f'Leave it out for "{known[0]}".')
