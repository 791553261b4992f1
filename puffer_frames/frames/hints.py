"""The next step where a column is of a dtype that its role cannot have."""

from __future__ import annotations

import narwhals.stable.v2 as nw


def to_numbers(dtype: nw.dtypes.DType, /, *, role: str) -> str:
    """How to come to a column of numbers from one of this dtype."""
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Binary)):
        first = f"Name a column of numbers as {role}"
        if role == "public" and not isinstance(dtype, nw.Binary):
            first = 'Write mechanism="channel", which releases random labels'
        return (
            f"{first}; text that holds numbers is converted by astype(float) in pandas, "
            "cast(pl.Float64) in Polars, cast(double) in Spark, CAST(x AS DOUBLE) in DuckDB."
        )
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Time, nw.Duration)):
        return "Convert it to a number first, such as the days since a date that everybody knows."
    if isinstance(dtype, (nw.List, nw.Array, nw.Struct)):
        return f"Name a column of one number per row as {role}."
    return "Convert it to integers or floats first."


def to_times(dtype: nw.dtypes.DType, /) -> str:
    """How to come to times from a column of this dtype, or from floats that are not all finite."""
    if dtype.is_float():
        return "Leave out the rows with an infinite time, or number the times of each series 0, 1, 2, ..."
    if isinstance(dtype, nw.String):
        return (
            "Convert it to datetimes or numbers first (pandas.to_datetime; in Polars str.to_datetime), or number the "
            "times of each series 0, 1, 2, ..."
        )
    return "Number the times of each series 0, 1, 2, ... in a column of integers."
