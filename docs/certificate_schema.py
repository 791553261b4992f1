"""Print the JSON Schema of certificates, with what the docstrings of the fields say.

Run: python docs/certificate_schema.py > docs/certificate.schema.json
"""

import json
from typing import Any

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.fields import Fields, WholeTable, later

_WHAT = "What is guaranteed of a release. Fields that are not listed here belong to a later minor version and are kept."


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, _: Any) -> bool:
        return False


def documented() -> dict[str, Any]:
    """The whole of it."""
    Fields.__pydantic_config__ |= ConfigDict(use_attribute_docstrings=True)
    schema = TypeAdapter(Fields).json_schema(schema_generator=_Untitled)
    for kind in (Fields, Facts, WholeTable):
        record = schema if kind is Fields else schema["$defs"][kind.__name__]
        record.pop("additionalProperties", None)  # an entry that is not known is kept
        record.pop("description", None)  # pydantic before 2.13 has none
        for name, minor in later(kind).items():
            record["properties"][name]["description"] += f" Since version 1.{minor}."
    facts = schema["$defs"]["Facts"]
    facts["required"] = [name for name in facts["properties"] if name not in later(Facts)]
    schema["required"].append("schema")
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "puffer_frames certificate"}
    found: dict[str, Any] = json.loads(json.dumps(about | schema | about | {"description": _WHAT}).replace("\\n", " "))
    return found


if __name__ == "__main__":
    print(json.dumps(documented(), indent=2, ensure_ascii=False))
