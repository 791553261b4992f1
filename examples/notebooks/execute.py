"""Run the notebooks of this folder, and store their outputs small: python examples/notebooks/execute.py [NAME ...].

Needs nbclient and Pillow, which the extra `docs` installs. Pictures get a palette, times and machine metadata are
left out, and an output of more than MOST_BYTES or with a path of this machine is an error.
"""

import base64
import json
import os
import re
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).resolve().parent
MOST_BYTES = 20_000
COLOURS = 64
"""Of the palette of a picture, fewer where it is still too large."""
MACHINE = re.compile(r"/(?:home|root|Users|usr|opt|tmp|work|var)/")
"""How the paths of a machine begin."""
CELL = re.compile(r"/\S*/ipykernel_\d+/\d+\.py:\d+: ")
SETTINGS = {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore:IProgress not found"}
"""One thread is faster where a machine is busy; a bar of progress is no part of an output."""
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def small(png: str) -> str:
    """A picture with a palette, in base64."""
    picture = Image.open(BytesIO(base64.b64decode(png))).convert("RGB")
    for colours in (COLOURS, COLOURS // 2, COLOURS // 4):
        written = BytesIO()
        picture.quantize(colours, method=Image.Quantize.FASTOCTREE).save(written, format="PNG", optimize=True)
        found = base64.b64encode(written.getvalue()).decode()
        if len(found) <= MOST_BYTES:
            break
    return found


def is_bar(output: dict[str, Any]) -> bool:
    """Whether an output is what a bar of progress left."""
    return output.get("name") == "stderr" and not output["text"].split("\r")[-1].strip()


def execute(path: Path) -> None:
    """Run one notebook and write it; raises ValueError for an output that is too large or names this machine."""
    book = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(book, timeout=600, kernel_name="python3", coalesce_streams=True, resources=place).execute()
    for number, cell in enumerate(book.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if not is_bar(output)]
        for output in cell.get("outputs", []):
            if output.output_type == "stream":  # the file of a cell, before a warning
                output.text = CELL.sub("", output.text)
            output.pop("metadata", None) if output.output_type == "stream" else output.update(metadata={})
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = small(output.data["image/png"])
            text = json.dumps(output)
            if len(text) > MOST_BYTES or MACHINE.search(text):
                raise ValueError(f"{path.name}, cell {number}: {len(text)} bytes: {text[:300]}")
    book.metadata = KERNEL
    nbformat.write(book, path)
    print(path.name, path.stat().st_size)


if __name__ == "__main__":
    os.environ |= SETTINGS
    for name in sys.argv[1:] or sorted(found.name for found in FOLDER.glob("*.ipynb")):
        execute(FOLDER / name)
