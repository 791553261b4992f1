"""Packages that not everybody has are imported when they are needed."""

import subprocess
import sys

import pytest

CODE = """
import sys, numpy as np, pandas as pd, puffer_frames
puffer_frames.pictures
frame = pd.DataFrame({"group": np.arange(200) % 3 % 2, "x": np.arange(200) % 7})
puffer_frames.calibrate(frame, secret="group", public="x", epsilon=0.01)
print({name.partition(".")[0] for name in sys.modules} & {"duckdb", "_duckdb", "pyspark", "matplotlib"})
"""


@pytest.mark.apart
def test_they_are_not_imported_without_need():
    """Neither DuckDB nor Spark for a frame of pandas, nor matplotlib before a picture is drawn."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
