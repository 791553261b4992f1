"""A request of answers once more: what an audit lays beside a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.priors.prior import FloatArray, Prior


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What the same request gives; never to be published."""

    released: NativeFrame
    """A release with fresh noise and a certificate of its own."""
    exact: FloatArray
    """The answers without noise, in the order of its rows, shape (n,); NaN for none."""
    own_noise: NDArray[np.bool_]
    """Which answers do not follow from others, shape (n,)."""
    again: Callable[[], FloatArray] | None
    """Answers with fresh noise, where these are of rows that are drawn at random: then nobody knows the exact ones."""
    rivals: Mapping[str, tuple[Prior, Prior]]
    """Two laws that the noise must hide, per statistic: of what one unit adds, or of the whole count."""
