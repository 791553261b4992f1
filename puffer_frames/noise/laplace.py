"""Laplace noise: density exp(-|z|/b) / 2b."""

from __future__ import annotations

import numpy as np

from puffer_frames.arguments import check_scale
from puffer_frames.errors import ArgumentTypeError
from puffer_frames.priors import FloatArray

RandomSource = None | int | np.random.Generator


def add_laplace(values: FloatArray, /, *, scale: float, rng: RandomSource = None) -> FloatArray:
    """Return values + Laplace(scale) noise, one fresh draw per value.

    Parameters
    ----------
    values : array, shape (n,)
        In units of the column.
    scale : float
        Laplace scale b, in units of the column; 0 adds nothing.
    rng : None, int or Generator
        None: a generator seeded by the operating system. Otherwise the noise is reproducible, hence not private.

    Raises
    ------
    ArgumentError
        For a negative or non-finite scale.
    ArgumentTypeError
        For another kind of `rng`.

    Notes
    -----
    **Guarantee**: that of the ideal, real-valued mechanism. The noise is drawn and added in 64-bit floats; the low
    bits of the results depend on the values (Mironov 2012).
    """
    check_scale(scale)
    generator = check_rng(rng)
    return values + generator.laplace(scale=scale, size=values.shape) if scale else values.copy()


def expected_absolute_error(scale: float, /) -> float:
    """E|N| of Laplace noise, equal to its scale."""
    return scale


def check_rng(rng: RandomSource, /) -> np.random.Generator:
    """Return a generator; raise ArgumentTypeError unless `rng` is None, an int or a Generator."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or (isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0):
        return np.random.default_rng(rng)
    raise ArgumentTypeError(
        "rng",
        rule="None, a non-negative int or a numpy.random.Generator",
        got=f"a {type(rng).__name__}",
        hint="Leave it out: a release needs fresh noise.",
    )
