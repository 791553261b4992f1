"""What a certificate says of the noise of each row of a column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.side_by_side import PlainColumn
from puffer_frames.noise.channel import changed_share
from puffer_frames.noise.families import family_titled
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.scales.remap import Remap
from puffer_frames.verbs.auditing.noise_tests import label_ends, noise_ends


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedColumn:
    """What was certified of a column, and what its rows were before and after; labels are their numbers."""

    name: str
    before: FloatArray
    """Original values, clipped as the certificate says, shape (n,)."""
    after: FloatArray
    """Released values, shape (n,)."""
    scale: FloatArray
    """Scale of the noise of each row, in units of the column, shape (n,); 0 for none. Not used for a channel."""
    noise: NoiseFamily | None
    """The family; None for a channel."""
    kept: FloatArray | None = None
    """For labels with randomised response: the probability that a row keeps its own, shape (n,)."""
    levels: int = 0
    """For labels: how many there are."""
    ends: tuple[FloatArray, FloatArray] | None = None
    """Between which the certified distribution function at the row's noise lay; None where that is not known."""
    continuous: bool = False
    """Whether the noise of each row is known: nothing was done to the noisy values."""

    @property
    def is_numbers(self) -> bool:
        """Whether the values have an order."""
        return self.levels == 0

    def part(
        self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]] | np.ndarray[tuple[int], np.dtype[np.intp]], /
    ) -> ReleasedColumn:
        """Some of its rows."""
        kept = None if self.kept is None else self.kept[rows]
        ends = None if self.ends is None else (self.ends[0][rows], self.ends[1][rows])
        before, after, scale = (each[rows] for each in (self.before, self.after, self.scale))
        return replace(self, before=before, after=after, scale=scale, kept=kept, ends=ends)

    def log_likelihood(self, values: FloatArray, points: FloatArray, /) -> FloatArray:
        """Log of the certified density of the `points` given original `values`, shape (points, values).

        All rows have the first row's scale: the rows of one stratum. A channel whose table is not known is taken to
        keep most labels, which makes a worse guesser, and never a wrong bound.
        """
        if self.noise is None:
            kept = float(self.kept[0]) if self.kept is not None else 0.8
            others = (1 - kept) / max(self.levels - 1, 1)
            same = points[:, None] == values[None, :]
            return np.where(same, math.log(max(kept, 1e-300)), math.log(max(others, 1e-300)))
        scale = float(self.scale[0]) or 1e-9 * (float(np.ptp(self.before)) or 1.0)
        return self.noise.at(scale).log_density(points[:, None] - values[None, :])

    def simulated(self, rng: np.random.Generator, /) -> FloatArray:
        """About what another release of the same rows is: where a guesser looks, before it sees the release."""
        rows = self.before.size
        if self.noise is None:
            kept = np.full(rows, 0.8) if self.kept is None else self.kept
            return np.where(rng.random(rows) < kept, self.before, rng.integers(0, max(self.levels, 1), rows))
        draws = rng.normal(size=rows) if self.noise.name == "gaussian" else rng.laplace(size=rows)
        return self.before + self.scale * draws


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowStrata:
    """The joint value of some columns, row by row."""

    codes: IndexArray
    """Number of each row's stratum, shape (n,)."""
    labels: tuple[str, ...]
    """The strata as text."""
    levels: tuple[tuple[Any, ...], ...]
    """Their values."""


def column_of(
    certificate: Certificate, name: str, before: PlainColumn, after: PlainColumn, strata: RowStrata, /
) -> ReleasedColumn:
    """A certified column, with what is known of the noise of each row."""
    if name in certificate.channels or before.numbers is None or after.numbers is None:
        return _labels(certificate, name, before, after, strata)
    scale, family = _scales(certificate, name, strata, field="scales"), family_titled(certificate.noise)
    values = _clipped(certificate, name, before.numbers)
    ends, continuous = None, False
    if values is not None and family is not None and bool((scale > 0).all()):
        low, high, continuous = _noise_between(certificate, name, values, after.numbers, family, scale)
        ends = None if low is None or high is None else noise_ends(low, high, family, scale)
    return ReleasedColumn(
        name=name,
        before=before.numbers if values is None else values,
        after=after.numbers,
        scale=np.nan_to_num(scale),
        noise=family,
        ends=ends,
        continuous=continuous,
    )


def _scales(certificate: Certificate, name: str, strata: RowStrata, /, *, field: str) -> FloatArray:
    """The scale of each row's stratum; NaN where there is none."""
    alone = certificate.scales.get(name) if field == "scales" else certificate.channels.get(name, {}).get("cap")
    found = np.full(strata.codes.size, math.nan if alone is None else float(alone))
    if certificate.strata:
        own = {listed_key(each["given"]): each.get(field, {}).get(name) for each in certificate.strata}
        for k, level in enumerate(strata.levels):
            number = own.get(listed_key(level))
            found[strata.codes == k] = math.nan if number is None else number
    return found


def _clipped(certificate: Certificate, name: str, values: FloatArray, /) -> FloatArray | None:
    """The values as they were before the noise; None where they were clipped to the range of another table."""
    facts = certificate.facts
    bounds = facts.clipped.get(name)
    if bounds is not None:
        return values.clip(*bounds)
    return None if facts.other_rows and name in facts.clipped else values


def _noise_between(
    certificate: Certificate,
    name: str,
    values: FloatArray,
    after: FloatArray,
    family: NoiseFamily,
    scale: FloatArray,
    /,
) -> tuple[FloatArray | None, FloatArray | None, bool]:
    """Two ends of the noise of each row, and whether they are the noise itself."""
    if certificate.facts.replaced:
        low, high = _before_remap(certificate, values, after, family, scale)
        return low, high, False
    processed = _after(certificate, name)
    if processed is None:
        return None, None, False
    rounded, bounds = processed
    half = 0.5 if rounded else 0.0
    low, high = after - half, after + half
    if bounds is not None:
        least, most = bounds
        low = np.where(after <= least, -np.inf, low)
        high = np.where(after >= most, np.inf, high)
        if rounded:  # what is rounded to an integer beyond a bound becomes the bound
            high = np.where(after <= least, math.floor(least) + half if math.isfinite(least) else high, high)
            low = np.where(after >= most, math.ceil(most) - half if math.isfinite(most) else low, low)
    with np.errstate(invalid="ignore"):
        return low - values, high - values, not rounded and bounds is None


def _after(certificate: Certificate, name: str, /) -> tuple[bool, Bounds | None] | None:
    """Whether values were rounded, and to what they were clipped; None where an older certificate says it in words."""
    if not certificate.processed:
        return None if certificate.facts.processed else (False, None)
    found = certificate.processed.get(name, {"round": False, "clip": None})
    bounds = found["clip"]
    return bool(found["round"]), None if bounds is None else (float(bounds[0]), float(bounds[1]))


def _before_remap(
    certificate: Certificate, values: FloatArray, after: FloatArray, family: NoiseFamily, scale: FloatArray, /
) -> tuple[FloatArray | None, FloatArray | None]:
    """The noise of which the remap made the released values; None where it was made from another table, or cells."""
    facts = certificate.facts
    if facts.other_rows or facts.replaced == "cells" or facts.processed or np.ptp(scale) > 0:
        return None, None
    try:
        remap = Remap.of(values, np.ones(values.size), family.at(float(scale[0])))
    except (ValueError, ArithmeticError):
        return None, None
    places = np.searchsorted(remap.values, after).clip(0, remap.values.size - 1)
    if not (remap.values[places] == after).all():
        return None, None
    ends = np.concatenate([[-np.inf], remap.thresholds, [np.inf]])
    return ends[places] - values, ends[places + 1] - values


def _labels(
    certificate: Certificate, name: str, before: PlainColumn, after: PlainColumn, strata: RowStrata, /
) -> ReleasedColumn:
    """A column of labels, or of numbers that went through a channel."""
    own, released, levels = shared_codes(before, after)
    kept, ends = None, None
    channel = certificate.channels.get(name, {})
    if "count" in channel:
        known = int(channel["count"])
        caps = _scales(certificate, name, strata, field="caps")
        share = {
            cap: changed_share(known, 1 / cap) if cap > 0 else 1 - 1 / known
            for cap in np.unique(caps[~np.isnan(caps)]).tolist()
        }
        kept = np.array([1 - share.get(cap, 0.0) for cap in caps.tolist()])
        if known == levels:
            ends = label_ends(own.astype(float), released.astype(float), kept, levels)
    elif "matrix" in channel and "columns" not in channel:
        ends = _of_matrix(channel, before, after)
    return ReleasedColumn(
        name=name,
        before=own.astype(float),
        after=released.astype(float),
        scale=np.ones(own.size),
        noise=None,
        kept=kept,
        levels=levels,
        ends=ends,
    )


def _of_matrix(
    channel: Mapping[str, Any], before: PlainColumn, after: PlainColumn, /
) -> tuple[FloatArray, FloatArray] | None:
    """Between which probabilities the random number of each row lay; None where the inputs were merged or are cells."""
    places = [{level_key(level): k for k, level in enumerate(channel[field])} for field in ("inputs", "levels")]
    keys = [[level_key(level) for level in each.levels] for each in (before, after)]
    if any(not set(own) <= set(known) for own, known in zip(keys, places, strict=True)):
        return None
    if before.missing.any() or after.missing.any():
        return None
    rows, outputs = (
        np.array([known[key] for key in own])[each.codes]
        for known, own, each in zip(places, keys, (before, after), strict=True)
    )
    matrix = np.array(channel["matrix"], dtype=float)
    sums = np.concatenate([np.zeros((len(matrix), 1)), np.cumsum(matrix, axis=1)], axis=1)
    return sums[rows, outputs], sums[rows, outputs + 1]


def shared_codes(first: PlainColumn, second: PlainColumn, /) -> tuple[IndexArray, IndexArray, int]:
    """Two columns as numbers of the same levels, and how many levels there are; a missing entry is a level."""
    numbers: dict[object, int] = {}
    found = []
    for each in (first, second):
        places = np.array([numbers.setdefault(level_key(level), len(numbers)) for level in each.levels], dtype=np.intp)
        codes = np.full(each.codes.shape, -1, dtype=np.intp)
        codes[each.codes >= 0] = places[each.codes[each.codes >= 0]] if places.size else 0
        found.append(codes)
    if any((codes < 0).any() for codes in found):
        found = [np.where(codes < 0, len(numbers), codes) for codes in found]
        return found[0], found[1], len(numbers) + 1
    return found[0], found[1], len(numbers)


def level_key(level: Any, /) -> object:
    """Equal for equal levels of any two libraries."""
    return float(level) if isinstance(level, (int, float)) and not isinstance(level, bool) else str(level)


def listed_key(secret: Any, /) -> tuple[object, ...]:
    """The keys of a secret or stratum, of one column or several."""
    return tuple(map(level_key, secret)) if isinstance(secret, (tuple, list)) else (level_key(secret),)
