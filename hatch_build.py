"""A bill of materials in every wheel (PEP 770): CycloneDX 1.6 of the package and of what it asks for."""

from __future__ import annotations

import json
import re
import tempfile
import uuid
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BillOfMaterials(BuildHookInterface):
    """Puts `puffer_frames.cdx.json` into `.dist-info/sboms` of a wheel; the same sources give the same file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file before the wheel is built; an editable one has none."""
        if version == "editable":
            return
        path = Path(tempfile.mkdtemp()) / "puffer_frames.cdx.json"
        path.write_text(json.dumps(self.bill(), indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def bill(self) -> dict[str, Any]:
        """The package holds no code of others: each dependency is named, with the versions that are allowed."""
        core = self.metadata.core
        own = f"pkg:pypi/{core.name}@{self.metadata.version}"
        found = {re.split(r"[^A-Za-z0-9._-]", asked, maxsplit=1)[0].lower(): asked for asked in core.dependencies}
        return {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own)}",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "library",
                    "bom-ref": own,
                    "name": core.name,
                    "version": self.metadata.version,
                    "purl": own,
                    "licenses": [{"license": {"id": core.license_expression or core.license}}],
                }
            },
            "components": [
                {
                    "type": "library",
                    "bom-ref": f"pkg:pypi/{name}",
                    "name": name,
                    "purl": f"pkg:pypi/{name}",
                    "scope": "required",
                    "properties": [{"name": "requires", "value": asked}],
                }
                for name, asked in sorted(found.items())
            ],
            "dependencies": [{"ref": own, "dependsOn": [f"pkg:pypi/{name}" for name in sorted(found)]}],
        }
