"""The next step where a column is of a dtype that its role cannot have, or holds numbers as text."""

from __future__ import annotations

import re
from collections.abc import Iterable

import narwhals.stable.v2 as nw

MISSING = frozenset(
    (
        *("", "?", ".", "..", "-", "--", "*", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>", "n.a.", "N.A."),
        *("NaN", "nan", "NAN", "-nan", "-NaN", "NaT", "NAT", "None", "NONE", "nil", "undefined", "missing"),
        *("NULL", "Null", "null", "(null)", "(NULL)", "<null>", "<NULL>", r"\N"),
    )
)
"""Texts that programs write for a missing value: R, SAS, Stata, Excel, Python, pandas, Julia, Go, JavaScript,
databases, the tables of UCI. "none" and "unknown" are answers that people write.
"""
_PLAIN = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WRITTEN = re.compile(r"\s*[-+(]?\s*[$€£¥]?\s*([0-9][0-9.,'’\s_]*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*[%+€$)]*\s*")
"""A number with separators of thousands, a comma for the point, a sign of a currency or of percent, or spaces."""
_WITH_POINTS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?|[0-9]*\.?[0-9]*")
_WITH_COMMAS = re.compile(r"[0-9]{1,3}(\.[0-9]{3})+(,[0-9]*)?|[0-9]*,?[0-9]*")
"""Points before decimals and commas between thousands; and the other way round."""
_CODE = re.compile(r"\s*0[0-9]+\s*")
_FEWEST, _MOSTLY = 5, 0.9
"""So many different numbers, and such a share of numbers among the different texts, are no labels such as "1", "2+"."""


def are_written_numbers(texts: Iterable[object], /) -> bool:
    """Whether different texts are nearly all numbers, and some of them can only be read as numbers by a person.

    Plain numbers alone are text because somebody wants them to be labels; codes with leading zeros are no numbers.
    """
    listed = [text for text in texts if isinstance(text, str)]
    there = [text for text in listed if text.strip() not in MISSING]
    numbers = sum(bool(_WRITTEN.fullmatch(text)) and not _CODE.fullmatch(text) for text in there)
    plain = sum(bool(_PLAIN.fullmatch(text)) for text in listed)
    return numbers >= _FEWEST and numbers >= _MOSTLY * len(there) and plain < len(listed)


def from_text(name: str, texts: Iterable[object], /) -> str:
    """How to come to numbers from such texts with marks: one step that reads them all as they are meant, or none."""
    found = [_WRITTEN.fullmatch(text) for text in texts if isinstance(text, str) and text.strip() not in MISSING]
    numbers = [match for match in found if match is not None]
    written = [re.sub(r"['’\s_]", "", match[1]) for match in numbers]
    steps = ""
    if any("(" in match[0] for match in numbers):  # as accounts have negative numbers
        if not all(match[0].strip().endswith(")") for match in numbers if match[0].strip().startswith("(")):
            return _BY_HAND
        steps = r'.str.replace(r"^\s*\((.*)\)\s*$", r"-\1", regex=True)'
    if not all(map(_WITH_POINTS.fullmatch, written)):
        if not all(map(_WITH_COMMAS.fullmatch, written)):
            return _BY_HAND
        steps += '.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)'
    return (
        "Convert the text to numbers first: in pandas "
        f'pd.to_numeric(frame[{name!r}]{steps}.str.replace(r"[^0-9.eE-]", "", regex=True), errors="coerce"); '
        'then nulls="drop" leaves missing values out.'
    )


_BY_HAND = (
    "Convert the text to numbers first. It is written in several ways, as with points and commas for the same, so that "
    'no single step does; then nulls="drop" leaves missing values out.'
)


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
