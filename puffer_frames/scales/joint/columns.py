"""Scales of several columns of numbers that are released together, exact under the observed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.loss.joint.joint_loss import JointLaw
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target, by_name, described
from puffer_frames.numbers.records import refused
from puffer_frames.numbers.rounding import up
from puffer_frames.papers.catalogue import BOUNDED, COUPLED, JOINT, Theorem
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import JointCounts, Summary
from puffer_frames.scales.choice import Choice, require_noise
from puffer_frames.scales.joint.coupled import (
    EMPIRICAL,
    JointBelief,
    coupled_scales,
    is_coupled_within,
    joint_beliefs,
    laws_of,
    levels_of,
    measured,
    pooled,
    prior_of,
    unrounded,
    varies_in,
    worst_loss,
    wrong_rows,
)
from puffer_frames.scales.joint.exchange import JointScales, joint_scales
from puffer_frames.scales.learned import observed_belief

_TINY = 2.0**-900
"""No scale is below this: the rest of the range of floats is for the grid."""
_LARGEST = 1e300
"""No weight is above this."""


def choose_jointly(
    joint: JointCounts,
    target: Target,
    /,
    *,
    coupled: bool,
    named: Sequence[Secret],
    beliefs: Sequence[Any],
    weights: Mapping[str, float],
    noise: NoiseFamily,
    pairs: Pairs,
    domain: Mapping[str, Bounds],
    allow_zero_noise: bool,
    alone: Mapping[str, Summary],
    near: Mapping[str, float] | None = None,
    known: Mapping[str, float] | None = None,
    rows: int = 1,
) -> dict[str, Choice]:
    """The scales of several columns, each in its units, with a small weighted sum.

    - `joint`: The rows of all secrets.
    - `coupled`: Whether the scales rest on a coupling of whole rows, not on their joint loss, which up to 4 columns
      have.
    - `named` (sequence of secrets): Those that the pairs name.
    - `beliefs` (sequence): As `joint_beliefs` takes them.
    - `weights` (mapping of column to float): What a unit of its scale costs; by default 1 / standard deviation.
    - `target`, `noise`, `pairs`, `domain`, `allow_zero_noise`: As in `puffer_frames.privatize`.
    - `alone` (mapping of column to Summary): The columns of numbers each by itself.
    - `near` (mapping of column to float): Good scales of a table like this one, from which the search starts: four
      times as fast.
    - `known` (mapping of column to float): The scales of a plan from a file. None are searched for, and nothing is
      believed of these: the losses are what is measured, and the theorem is no coupling where there is none.
    - `rows`: Number of independent rows of a unit that are held to the target together, and were measured.
    Raises ArgumentError for other beliefs; CalibrationError where every column is constant, unless `allow_zero_noise`,
    and where no scales are confirmed.

    A column of labels has randomised response in place of noise: its scale is 1 / (log-ratio of two labels), and its
    error the share of changed labels, which by default counts in units of that of the most frequent label. A constant
    column needs no noise. Any other has a scale of at least half the smallest step between two of its
    values, divided by epsilon above 1, so that no column is released as it is. With delta the scales of pure privacy
    are shrunk until the hockey stick of whole rows is about delta, in their proportions or in those that the columns
    have alone, which do without noise for values rarer than delta. They stay as they are with a
    coupling, where not all coordinates are lines of the grid (`JointLoss.is_whole`), and where that would cost much.
    """
    whole, joint = joint, replace(joint, counts={secret: joint.counts[secret] for secret in named})
    covered = joint_beliefs(beliefs, joint)
    bounds = _bounds_of(whole, domain, alone)
    clips = any(belief.shares is not None for belief in covered.values())
    if clips:
        covered = _clipped(covered, bounds, coupled=coupled)
    tables = [table for belief in covered.values() for table in belief.tables]
    varies = _varying(whole, tables, bounds if clips else None)
    if not varies:
        require_noise(0.0, list(covered), target, allow_zero_noise=allow_zero_noise)
    held_to = unrounded(target, noise=noise, columns=len(varies))
    scales, by_delta = dict.fromkeys(joint.columns, 0.0), False
    if known is not None:
        scales = {name: known[name] for name in joint.columns}
        if not all(scales[joint.columns[k]] for k in varies):
            raise refused("no noise in a column that varies")
    elif varies:
        of: dict[str, Any] = {"pairs": pairs, "weights": weights, "near": near, "epsilon": target.epsilon}
        found = _solved(coupled, list(covered.values()), bounds, whole, tables, varies, held_to, rows, **of)
        scales |= {joint.columns[k]: scale for k, scale in zip(varies, found.scales, strict=True)}
        by_delta = found.by_delta
    listed = list(scales.values())
    of = {"pairs": pairs, "levels": {k: len(found) for k, found in whole.labels.items()}, "rows": rows}
    sure: dict[str, Any] = {"bounds": bounds, "by_delta": by_delta, "confirmed": known is None}
    worst = {name: worst_loss(one, listed, held_to, **sure, **of) for name, one in covered.items()}
    observed = worst[EMPIRICAL][0] if EMPIRICAL in worst else measured(joint, listed, held_to, **of)[0]
    learned = [belief.learned for belief in covered.values() if belief.learned is not None]
    clipped = {name: name in domain or (clips and k in bounds) for k, name in enumerate(joint.columns)}
    if known is not None and coupled and varies:
        coupled = is_coupled_within(tables, listed, epsilon=held_to.share(rows).epsilon, pairs=pairs)
    reasons = _reasons(worst, observed, theorem=COUPLED if coupled else JOINT, by_delta=by_delta)
    return {
        name: replace(
            _of_column(joint, k, scales[name], covered, reasons, alone.get(name)),
            bounds=bounds.get(k, (0.0, 1.0)),
            clips=clipped[name],
            learned=tuple(one for one in learned if clipped[name] or not one.clips),
        )
        for k, name in enumerate(joint.columns)
    }


def _varying(whole: JointCounts, tables: Sequence[JointCounts], replaced: Mapping[int, Bounds] | None, /) -> list[int]:
    """The columns with different values, in the rows or in those that are `replaced` by anything within bounds."""
    found = [k for k in range(len(whole.columns)) if varies_in((whole, *tables), k)]
    if replaced is None:
        return found
    wide = {k for k, (low, high) in replaced.items() if low < high} | {
        k for k, of in whole.labels.items() if len(of) > 1
    }
    return sorted(wide.union(found))


def _clipped(
    covered: Mapping[str, JointBelief], bounds: Mapping[int, Bounds], *, coupled: bool
) -> dict[str, JointBelief]:
    """The beliefs with every row within the domain; ArgumentError for a coupling."""
    if coupled:
        raise ArgumentError(
            "beliefs",
            rule="without Contamination() for a coupling of whole rows",
            got="it",
            hint='Say Noise(theorem="bounded"), for every prior within the domain, or release at most 4 columns.',
        )
    return {name: belief.clipped(bounds) for name, belief in covered.items()}


def _reasons(
    worst: Mapping[str, tuple[Verification, Pair]], observed: Verification, *, theorem: Theorem, by_delta: bool
) -> dict[str, Any]:
    """What the choices of all columns say of their scales."""
    binding = max(worst, key=lambda name: worst[name][0].loss(delta=by_delta).upper)
    return {
        "theorem": theorem,
        "published_scale": None,
        "binding_belief": binding,
        "worst_pair": worst[binding][1],
        "verified": {belief: found for belief, (found, _) in worst.items()},
        "adds_up": False,
        "remarks": frozenset({"by delta"} if by_delta else ()),
        "observed": observed,
    }


def _of_column(
    joint: JointCounts,
    column: int,
    scale: float,
    covered: Mapping[str, JointBelief],
    reasons: Mapping[str, Any],
    alone: Summary | None,
) -> Choice:
    """The choice of one column."""
    if alone is not None and column in joint.widths:  # whose own cells are narrower
        priors = observed_belief({secret: alone.counts[secret] for secret in joint.counts}, radius=alone.radius)
    else:
        priors = {secret: prior_of(rows, column) for secret, rows in joint.counts.items()}
    return Choice(
        **reasons,
        scale=scale,
        scale_per_belief=dict.fromkeys(covered, scale),
        none_needed=not scale,
        priors=priors,
        beliefs=dict.fromkeys(covered, priors),
        words={belief: one.words for belief, one in covered.items()},
        empirical=priors,
    )


def bounded_labels(joint: JointCounts, share: Target, /) -> dict[str, Choice]:
    """Randomised response that costs at most this share of epsilon under any law, per column of labels.

    - `share`: What each of the columns may use.
    """
    found, belief = {}, "any prior on the levels of the table"
    first, *_, last = joint.counts
    for k in joint.labels:
        name, scale = joint.columns[k], up(1 / Fraction(share.epsilon)) if varies_in((joint,), k) else 0.0
        priors = {secret: prior_of(rows, k) for secret, rows in joint.counts.items()}
        counts = {secret: (prior.means[:, None], prior.levels[0]) for secret, prior in priors.items()}
        alone = JointCounts(columns=(name,), labels={0: joint.labels[k]}, counts=counts)
        loss, _ = measured(alone, [scale], share, pairs="all", enough=0.0)
        if scale:  # the log-ratio of any two rows of the table of probabilities is at most 1 / scale
            most = Bracket(
                lower=min(loss.pure_loss.lower, share.epsilon), upper=min(loss.pure_loss.upper, share.epsilon)
            )
            loss = replace(loss, pure_loss=most)
        found[name] = Choice(
            theorem=BOUNDED,
            published_scale=None,
            scale=scale,
            scale_per_belief={belief: scale},
            none_needed=not scale,
            binding_belief=belief,
            worst_pair=(first, last),
            verified={EMPIRICAL: loss},
            adds_up=True,
            priors=priors,
            beliefs={belief: priors},
            words={belief: belief},
            bounds=(0.0, 1.0),
            empirical=priors,
            observed=loss,
        )
    return found


def check_weights(weights: object, /, *, columns: Sequence[str]) -> dict[str, float]:
    """Positive numbers of some of the columns; raises ArgumentError, ArgumentTypeError."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise ArgumentTypeError(
            "weights",
            rule="a mapping of column to a positive number",
            got=f"a {type(weights).__name__}",
            hint='Write Noise(weights={"age": 0.1}), or leave it out for 1 / standard deviation.',
        )
    found = by_name(weights, "weights")
    unknown = [name for name in found if name not in columns]
    numbers = {name: isinstance(w, (int, float)) and not isinstance(w, bool) for name, w in found.items()}
    wrong = [w for name, w in found.items() if not (numbers[name] and 1e-300 < float(w) < 1e300)]
    if len(columns) < 2 or unknown or wrong:
        raise ArgumentError(
            "weights",
            rule="numbers between 1e-300 and 1e300 of public columns, where there are several",
            got=described((unknown or wrong)[0]) if unknown or wrong else "those of one column",
            hint="Leave it out for 1 / standard deviation of each column.",
        )
    return {name: float(weight) for name, weight in found.items()}


def _solved(
    coupled: bool,
    beliefs: Sequence[JointBelief],
    bounds: Mapping[int, Bounds],
    whole: JointCounts,
    tables: Sequence[JointCounts],
    varies: Sequence[int],
    target: Target,
    rows: int,
    /,
    *,
    pairs: Pairs,
    weights: Mapping[str, float],
    near: Mapping[str, float] | None,
    epsilon: float,
) -> JointScales:
    """Scales under each of some beliefs; those that rest on a coupling of whole rows are pure."""
    units = {k: 1 / max(_unit_of(whole, k), 1 / _LARGEST) for k in varies if varies_in((whole,), k)}
    of: dict[str, Any] = {
        "weights": [weights.get(whole.columns[k], units.get(k, 1.0)) for k in varies],
        "floors": [_least_scale((whole, *tables), k, epsilon=epsilon) for k in varies],
        "near": None if near is None else [near[whole.columns[k]] for k in varies],
    }
    if coupled:
        epsilon = target.share(rows).epsilon
        wide = coupled_scales(tables, varies, epsilon=epsilon, pairs=pairs, **of)
        return JointScales(scales=wide, loss=Bracket(lower=0.0, upper=epsilon))
    first, shares = tables[0], beliefs[0].shares
    laws: dict[Secret, JointLaw] = laws_of(first, varies)
    if len(tables) > 1:
        listed = list(combinations(first.counts, 2)) if pairs == "all" else pairs
        laws = {(k, s): law for k, table in enumerate(tables) for s, law in laws_of(table, varies).items()}
        pairs = tuple(((k, a), (k, b)) for k in range(len(tables)) for a, b in listed)
        wrong = [belief.shares for belief in beliefs for _ in belief.tables]
        if any(own is not None for own in wrong):
            shares = {(k, s): 0.0 if own is None else own[s] for k, own in enumerate(wrong) for s in first.counts}
    return joint_scales(
        laws,
        epsilon=target.epsilon,
        delta=target.delta,
        rows=rows,
        pairs=pairs,
        **of,
        levels=levels_of(whole, varies),
        wrong=None if shares is None else wrong_rows(shares, bounds, first, varies),
    )


def _unit_of(joint: JointCounts, column: int) -> float:
    """What the error of a column is measured in: its standard deviation, or the error of its most frequent label."""
    values, counts = pooled((joint,), column)
    if column not in joint.labels:
        return _spread(values, counts)
    return float(1 - np.bincount(values.astype(np.intp), weights=counts).max() / counts.sum())


def _bounds_of(
    joint: JointCounts, domain: Mapping[str, Bounds], alone: Mapping[str, Summary]
) -> dict[int, tuple[float, float]]:
    """The domain of each column of numbers, or the range of its values; of means the table alone knows that."""
    found = {}
    for k, name in enumerate(joint.columns):
        if k not in joint.labels:
            values, _ = pooled((joint,), k)
            own = alone[name].extent if k in joint.widths else (float(values.min()), float(values.max()))
            found[k] = domain.get(name) or own
    return found


def _least_scale(tables: Sequence[JointCounts], column: int, *, epsilon: float) -> float:
    """Half the smallest difference of two values, divided by epsilon above 1."""
    values, _ = pooled(tables, column)
    step = 1.0 if column in tables[0].labels else float(np.diff(np.unique(values)).min(initial=np.inf))
    if step == np.inf:  # of a constant column, which varies on its domain
        return _TINY
    return max(_TINY, step / (2 * max(1.0, epsilon)))


def _spread(values: FloatArray, weights: FloatArray) -> float:
    """Standard deviation; values are scaled first, so that squares of huge and tiny ones stay in range."""
    unit = float(np.abs(values).max())
    scaled = values / unit
    shares = weights / weights.sum()
    return unit * float(np.sqrt(max(shares @ (scaled - shares @ scaled) ** 2, 1e-30)))
