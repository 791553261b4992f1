"""What a frame says of its secrets: how often each public value occurs with each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentTypeError, PriorError
from puffer_frames.frames import cells
from puffer_frames.frames.columns import rows_text, to_floats
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Counts, Summary

EXACT_ROWS = 1 << 17
"""Up to so many rows, and for columns of at most half as many different values, each value is counted by itself."""


class Values(Protocol):
    """A public column and its secrets, as an engine counts them: columns `secret_0`, ..., `value` and `count`."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def exceeds(self, different: int, /) -> bool:
        """Whether the column is known at once to have more different values."""

    def counted(self, most: int, /) -> nw.DataFrame[Any]:
        """Rows per secret and value; where these are more than `most`, perhaps not all of them."""

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell, `cells.cell_of` the column `value`."""

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest value; raises PriorError as `to_floats`."""

    def std(self) -> float:
        """Standard deviation of the values."""


def count_values(values_of: Values, /, *, secret: Sequence[str], public: str, domain: Bounds | None) -> Summary:
    """Count the values of one public column per secret by any engine; the errors name the columns.

    With a domain (low, high), values beyond it count as its ends.

    Raises
    ------
    PriorError
        For nulls, NaN and infinities, and integers beyond 2**53.
    ArgumentTypeError
        For a secret of floats that are not integers.
    """
    few, most = EXACT_ROWS // 2, max(EXACT_ROWS, 4 * cells.MOST_CELLS)
    large = values_of.rows > EXACT_ROWS
    counted = None if large and values_of.exceeds(few) else values_of.counted(most)
    if counted is None or (large and (len(counted) > most or int(counted["value"].n_unique()) > few)):
        return _in_cells(values_of, secret=secret, public=public, domain=domain)
    counts = counted["count"].to_numpy().astype(np.int64)
    values = to_floats(counted["value"], counts, name=public)
    if domain is not None:
        values = values.clip(*domain)
    return Summary(counts=_per_secret(counted, values, counts, secret=secret), radius=0.0)


def _in_cells(values_of: Values, *, secret: Sequence[str], public: str, domain: Bounds | None) -> Summary:
    """Counts on a grid, which its centres stand for."""
    ends = values_of.ends(public)
    low, high = ends if domain is None else ends.clip(*domain)
    width = cells.cell_width(float(low), float(high), std=values_of.std())
    counted = values_of.in_cells(width, domain)
    counts = counted["count"].to_numpy().astype(np.int64)
    values = (counted["value"].to_numpy().astype(np.float64) + 0.5) * width
    if domain is not None:
        values = values.clip(*domain)
    return Summary(counts=_per_secret(counted, values, counts, secret=secret), radius=0.5 * width)


def _per_secret(
    table: nw.DataFrame[Any], values: FloatArray, counts: NDArray[np.int64], *, secret: Sequence[str]
) -> dict[Secret, Counts]:
    """Values and counts of each secret, ascending."""
    columns = [_labels(table[f"secret_{k}"], counts, name=name) for k, name in enumerate(secret)]
    labels = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    numbers: dict[Secret, int] = {label: k for k, label in enumerate(dict.fromkeys(labels))}
    values = values + 0.0  # one zero
    codes = np.fromiter(map(numbers.__getitem__, labels), dtype=np.intp, count=len(labels))
    order = np.lexsort((values, codes))
    codes, values, counts = codes[order], values[order], counts[order]
    fresh = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (values[1:] != values[:-1])))
    codes, values, counts = codes[fresh], values[fresh], np.add.reduceat(counts, fresh)
    bounds = np.searchsorted(codes, np.arange(len(numbers) + 1))
    parts = {
        label: (values[bounds[k] : bounds[k + 1]], counts[bounds[k] : bounds[k + 1]]) for label, k in numbers.items()
    }
    return {label: parts[label] for label in sorted(parts, key=sort_key)}


def _labels(keys: nw.Series[Any], counts: NDArray[np.int64], *, name: str) -> list[Any]:
    """Values of one secret column as strings, booleans or integers."""
    missing = keys.is_null().to_numpy()
    if keys.dtype.is_float():
        floats = np.asarray(keys.cast(nw.Float64).to_numpy(), dtype=np.float64)
        missing = missing | np.isnan(floats)
    if missing.any():
        rows = int(counts[missing].sum())
        raise PriorError(
            f"the secret column {name!r}",
            rule="without nulls",
            got=f"{rows_text(rows)} with one",
            hint="Say nulls='drop' to leave those rows out, or give them a value of their own such as 'unknown'.",
        )
    if not keys.dtype.is_float():
        labels = list(keys.to_list())
        odd = next((kind.__name__ for kind in set(map(type, labels)) if not issubclass(kind, (str, bool, int))), None)
        if odd is None:
            return labels
    else:
        odd = "floats that are not integers"
        if np.isfinite(floats).all() and (floats == np.rint(floats)).all():
            return [int(value) for value in floats]
    raise ArgumentTypeError(
        f"the secret column {name!r}",
        rule="of strings, categories, booleans or integers",
        got=odd if " " in odd else f"categories of type {odd}",
        hint="Convert it to strings, or group the values into categories: a secret is one of a few values.",
    )


def sort_key(label: Secret) -> tuple[tuple[str, Any], ...]:
    """Sort key of a label, entry by entry for several secret columns; labels of different types are kept apart."""
    return tuple((type(entry).__name__, entry) for entry in (label if isinstance(label, tuple) else (label,)))
