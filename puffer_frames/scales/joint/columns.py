"""Scales of several columns of numbers that are released together, exact under the observed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.joint.joint_loss import JointLoss
from puffer_frames.loss.joint.lines import JointLaw
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import Noise
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.target import Target
from puffer_frames.papers.catalogue import JOINT
from puffer_frames.priors.joint_counts import JointCounts, JointRows
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.scales.choice import Choice, require_noise
from puffer_frames.scales.joint.exchange import JointScales, joint_scales

MOST_COLUMNS = 4
"""Of more columns the grid is too large."""
BELIEF = "empirical"


def choose_jointly(
    joint: JointCounts,
    target: Target,
    /,
    *,
    noise: Noise,
    pairs: Pairs,
    domain: Mapping[str, Bounds],
    allow_zero_noise: bool,
) -> dict[str, Choice]:
    """The scales of 2 to 4 columns, each in its units, with the least sum of scale / standard deviation.

    Parameters
    ----------
    joint : JointCounts
        Of the secrets that the pairs name.
    target, noise, pairs, domain, allow_zero_noise
        As in `puffer_frames.privatize`.

    Raises
    ------
    CalibrationError
        Where every column is constant, unless `allow_zero_noise`, and where no scales are confirmed.

    Notes
    -----
    A constant column needs no noise. Any other has a scale of at least its smallest step, so that no column is
    released as it is. With delta the scales are those of pure privacy, which is more.
    """
    varies = [k for k in range(len(joint.columns)) if _varies(joint, k)]
    if not varies:
        require_noise(0.0, [BELIEF], target, allow_zero_noise=allow_zero_noise)
    asked = unrounded(target, noise=noise, columns=len(varies))
    found = _solved(joint, varies, asked, pairs=pairs) if varies else None
    measured = Verification(
        pure_loss=found.loss if found else Bracket(lower=0.0, upper=0.0),
        hockey_stick=Bracket(lower=0.0, upper=0.0),
        epsilon=asked.epsilon,
    )
    scales = dict.fromkeys(joint.columns, 0.0) | (
        {joint.columns[k]: scale for k, scale in zip(varies, found.scales, strict=True)} if found else {}
    )
    pair = found.worst.pair if found else tuple(list(joint.counts)[:2])
    choices = {}
    for k, name in enumerate(joint.columns):
        priors = {secret: _prior(rows, k) for secret, rows in joint.counts.items()}
        choices[name] = Choice(
            theorem=JOINT,
            published_scale=None,
            scale=scales[name],
            scale_per_belief={BELIEF: scales[name]},
            none_needed=not scales[name],
            binding_belief=BELIEF,
            worst_pair=(pair[0], pair[1]),
            verified={BELIEF: measured},
            adds_up=False,
            priors=priors,
            beliefs={BELIEF: priors},
            words={BELIEF: "the observed frequencies of whole rows of these columns"},
            bounds=domain.get(name) or _extent(joint, k),
            clips=name in domain,
            empirical=priors,
            observed=measured,
        )
    return choices


def unrounded(target: Target, /, *, noise: Noise, columns: int) -> Target:
    """What unrounded values of so many columns must meet so that those on the grid meet the target."""
    for _ in range(columns):
        target = noise.unrounded(target)
    return target


def measure_jointly(joint: JointCounts, scales: Sequence[float], target: Target, /, *, pairs: Pairs) -> Verification:
    """The joint loss of some rows at these scales."""
    varies = [k for k, scale in enumerate(scales) if scale]
    still = [k for k, scale in enumerate(scales) if not scale and _varies(joint, k)]
    bracket = Bracket(lower=0.0, upper=0.0)
    if still:  # a column without noise in the plan, which varies here
        bracket = Bracket(lower=0.0, upper=float("inf"))
    elif varies:
        loss = JointLoss(_laws(joint, varies), pairs=pairs)
        bracket = loss.bracket([scales[k] for k in varies], enough=target.epsilon)
    confirmed = bracket.upper <= target.epsilon
    return Verification(
        pure_loss=bracket, hockey_stick=Bracket(lower=0.0, upper=0.0 if confirmed else 1.0), epsilon=target.epsilon
    )


def _solved(joint: JointCounts, varies: Sequence[int], target: Target, *, pairs: Pairs) -> JointScales:
    columns = [_pooled(joint, k) for k in varies]
    return joint_scales(
        _laws(joint, varies),
        epsilon=target.epsilon,
        pairs=pairs,
        weights=[1 / _spread(values, weights) for values, weights in columns],
        floors=[float(np.diff(np.unique(values)).min()) for values, _ in columns],
    )


def _laws(joint: JointCounts, columns: Sequence[int]) -> dict[Secret, JointLaw]:
    return {
        secret: JointLaw(points=points[:, columns], weights=counts / counts.sum())
        for secret, (points, counts) in joint.counts.items()
    }


def _pooled(joint: JointCounts, column: int) -> tuple[FloatArray, FloatArray]:
    values = np.concatenate([points[:, column] for points, _ in joint.counts.values()])
    return values, np.concatenate([counts.astype(np.float64) for _, counts in joint.counts.values()])


def _varies(joint: JointCounts, column: int) -> bool:
    values, _ = _pooled(joint, column)
    return bool(values.min() < values.max())


def _extent(joint: JointCounts, column: int) -> Bounds:
    values, _ = _pooled(joint, column)
    return float(values.min()), float(values.max())


def _spread(values: FloatArray, weights: FloatArray) -> float:
    """Standard deviation; values are scaled first, so that squares of huge and tiny ones stay in range."""
    unit = float(np.abs(values).max())
    scaled = values / unit
    shares = weights / weights.sum()
    return unit * float(np.sqrt(max(shares @ (scaled - shares @ scaled) ** 2, 1e-30)))


def _prior(rows: JointRows, column: int) -> Prior:
    points, counts = rows
    values, codes = np.unique(points[:, column], return_inverse=True)
    return Prior.empirical(values, np.bincount(codes.ravel(), weights=counts).astype(np.int64))
