"""Print the lower bounds of the dependencies as exact pins."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    name, floor = re.fullmatch(r"([a-z0-9-]+)>=([\d.]+)", requirement).groups()
    print(f"{name}=={floor}.*" if floor.count(".") < 2 else f"{name}=={floor}")
