"""Types of Arrow columns before and after a release."""

from __future__ import annotations

import pyarrow as pa


def kept_type(own: pa.DataType, found: pa.DataType, /) -> pa.DataType:
    """The type of a released column of type `found`: the given column's own one, unless it holds other entries."""
    if pa.types.is_floating(found) and not own.equals(found):
        return found  # noise
    families = arrow_family(own), arrow_family(found)
    other = None not in families and families[0] != families[1]
    wider = families[0] == "int" and pa.types.is_integer(own) and not own.equals(found)
    return found if other or wider else own


def arrow_family(kind: pa.DataType, /) -> str | None:
    """One of "text", "bool" and "int", of a dictionary too; None for others."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "bool"
    return "int" if pa.types.is_integer(kind) else None
