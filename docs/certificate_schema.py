"""Print the JSON Schema of certificates, with what the docstrings of the fields say.

Run: python docs/certificate_schema.py > docs/certificate.schema.json
"""

import ast
import inspect
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.fields import Fields, WholeTable
from puffer_frames.certificates.forms import hints_of, since
from puffer_frames.certificates.record import JSON_SCHEMA

_WHAT = "What is guaranteed of a release. Fields that are not listed here belong to a later minor version and are kept."


def described(schema: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """The schema of a record, with the docstrings of its fields."""
    body: list[Any] = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
    said = {
        line.target.id: " ".join(after.value.value.split())
        for line, after in pairwise(body)
        if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr)
    }
    added = {name: since(hint) for name, hint in hints_of(kind).items()}
    properties = {
        name: {"description": said[name] + f" Since version 1.{added[name]}." * bool(added[name]), **entry}
        for name, entry in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def documented() -> dict[str, Any]:
    """The whole of it."""
    schema = described(JSON_SCHEMA, Fields)
    for name, kind in (("facts", Facts), ("table", WholeTable)):
        schema["properties"][name] = described(schema["properties"][name], kind)
    return {name: schema.pop(name) for name in ("$schema", "title")} | {"description": _WHAT} | schema


if __name__ == "__main__":
    print(json.dumps(documented(), indent=2, ensure_ascii=False))
