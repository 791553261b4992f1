"""The gallery is what its script writes."""

import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"
TOLERANCE = 6.0
"""Mean difference of two images, of 255: letters are drawn differently from machine to machine."""


def test_the_gallery_is_what_its_script_writes(tmp_path):
    spec = importlib.util.spec_from_file_location("gallery_script", DOCS / "gallery.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(tmp_path)
    page = (DOCS / script.PAGE).read_text(encoding="utf-8")
    assert (tmp_path / script.PAGE).read_text(encoding="utf-8") == page
    names = {path.name for path in (DOCS / script.FOLDER).iterdir()}
    drawn = {f"{name}.png" for name in (*script.CALLS, *script.ELSEWHERE)}
    assert names == {path.name for path in (tmp_path / script.FOLDER).iterdir()} == drawn
    for name in names:
        one, other = (
            np.asarray(Image.open(folder / script.FOLDER / name).convert("L"), dtype=float)
            for folder in (DOCS, tmp_path)
        )
        assert one.shape == other.shape
        assert np.abs(one - other).mean() < TOLERANCE
        assert (DOCS / script.FOLDER / name).stat().st_size <= script.MOST_BYTES
