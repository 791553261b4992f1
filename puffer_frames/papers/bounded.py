"""Several columns at once: noise for the whole range of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

from puffer_frames.errors import ArgumentError, ArgumentTypeError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found, check_number
from puffer_frames.numbers.rounding import up

K = TypeVar("K")


@short_traceback
def bounded_scales(ranges: Mapping[K, float], /, *, epsilon: float) -> dict[K, float]:
    r"""Laplace scales for a joint release of columns of bounded range.

    .. math:: b_k = d \, \mathrm{range}_k / \varepsilon \qquad (k = 1, \dots, d)

    Parameters
    ----------
    ranges : mapping of column to float
        Largest difference of two values of each column, in its units.
    epsilon : float
        Greater than 0; split evenly.

    Returns
    -------
    dict of column to float
        Scale per column, in its units.

    Raises
    ------
    ArgumentError
        For an epsilon out of range, no column, or a negative range.

    Notes
    -----
    **Guarantee**: any coupling of two joint laws has :math:`\sum_k |X_k - X'_k| / b_k \le \varepsilon` surely, so that
    independent noise gives pure epsilon-Pufferfish privacy of the joint release, whatever the columns have to do with
    one another; the epsilons of several releases add. Guarantees of single columns do not add up to this.
    **Rounding**: up.

    References
    ----------
    docs/theory.md, section 8, "Bounded columns".

    Examples
    --------
    >>> bounded_scales({"age": 80.0, "visits": 10.0}, epsilon=2.0)
    {'age': 80.0, 'visits': 10.0}
    """
    exact = Fraction(check_epsilon(epsilon))
    if not isinstance(ranges, Mapping):
        raise ArgumentTypeError(
            "ranges", rule="a mapping of column to range", got=f"a {type(ranges).__name__}", hint='Write {"age": 80.0}.'
        )
    widths = {name: check_number(width, "a range") for name, width in ranges.items()}
    if not widths or any(not 0 <= width < math.inf for width in widths.values()):
        raise ArgumentError("ranges", rule="at least 0, for at least one column", got="others", hint="Give max - min.")
    return {name: check_found(up(Fraction(width) * len(widths) / exact)) for name, width in widths.items()}
