"""What a plan file may hold: the records of a plan, and how those are written that have a form of their own.

A field that is added to one of these records travels without a change here. A new record is added to `RECORDS`, or to
those of its mechanism; a field
without a default needs, in `ADDED`, the value that it has in files of earlier versions. A test holds both
(tests/unit/test_plan_records.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms import registry
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import Compared
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.postprocessing import Replacement
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.records import Codec, Form, array_of
from puffer_frames.numbers.target import Target
from puffer_frames.papers import catalogue
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.prior import FloatArray, Prior
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import Bootstrap, Contamination, OtherTable, Population
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import Repeats, Unit
from puffer_frames.scales.strata import Strata, StrataChoices

RECORDS: tuple[type, ...] = (
    Request,
    Target,
    Repeats,
    Unit,
    Strata,
    Laplace,
    Gaussian,
    Stable,
    Population,
    Contamination,
    Bootstrap,
    OtherTable,
    LevelCounts,
    JointCounts,
    LawSet,
    Choice,
    StrataChoices,
    Verification,
    Bracket,
    Remap,
    Replacement,
    Compared,
)
"""Every dataclass that a plan can hold beside its mechanism's own; `Prior` and `Theorem` have a form of their own."""

ADDED: Mapping[str, Mapping[str, object]] = {Request.__name__: {"merged": (), "null_values": {}}}
"""Values of fields without a default that were added after a version whose files may lack them, per record."""


def _plain_prior(prior: Prior) -> dict[str, Any]:
    """Weights follow from the levels; atoms have no standard deviations."""
    stds = {} if prior.is_discrete else {"stds": prior.stds.tolist()}
    cells = {"in_cells": True} if prior.in_cells else {}
    return {"radius": prior.radius, **cells, "means": prior.means.tolist(), **stds, "levels": prior.levels[0].tolist()}


def _as_prior(plain: Mapping[str, Any]) -> Prior:
    """Raises ValueError, TypeError, KeyError for what is no prior."""
    if not set(plain) <= {"radius", "in_cells", "means", "stds", "levels"} or plain.get("in_cells", True) is not True:
        raise ValueError("another entry")
    means = array_of(plain["means"], "float64")
    stds = array_of(plain["stds"], "float64") if "stds" in plain else np.zeros(means.size)
    listed, radius = list(plain["levels"]), plain["radius"]
    if not all(type(level) is int and level > 0 for level in listed) or not isinstance(radius, float):
        raise ValueError("no numbers")
    total = sum(listed)
    levels = np.array(listed, dtype=np.int64 if total < 2**53 else object)
    if not (means.ndim == 1 and means.size and means.shape == stds.shape == levels.shape):
        raise ValueError("different lengths")
    ascending = bool((np.diff(means) >= 0).all())
    if not (np.isfinite(means).all() and np.isfinite(stds).all() and (stds >= 0).all() and ascending):
        raise ValueError("no prior")
    if not 0 <= radius < math.inf:
        raise ValueError("no radius")
    in_cells = "in_cells" in plain
    if in_cells and not _are_means_of_cells(means, stds, radius):
        raise ValueError("means of no cells")
    weights = (levels / total).astype(np.float64)
    return Prior(weights=weights, means=means, stds=stds, levels=(levels, total), radius=radius, in_cells=in_cells)


def _are_means_of_cells(means: FloatArray, stds: FloatArray, radius: float) -> bool:
    """Whether there are cells of such a radius, and one atom at most in each."""
    power = radius > 0 and math.frexp(radius)[0] == 0.5
    return power and not stds.any() and bool((np.diff(np.floor(means / (2 * radius))) >= 1).all())


def codec() -> Codec:
    """How plans are written: with the records of every mechanism."""
    constants = {name.lower(): each for name, each in vars(catalogue).items() if isinstance(each, Theorem)}
    records: dict[str, type] = {kind.__name__: kind for kind in RECORDS}
    for mechanism in registry.MECHANISMS:
        records |= mechanism.records
    return Codec(
        records=records,
        constants={Theorem.__name__: constants},
        forms={Prior.__name__: Form(plain=_plain_prior, value=_as_prior)},
        added=ADDED,
    )
