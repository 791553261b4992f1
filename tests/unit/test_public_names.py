"""Where public names are, and what the spelling says that they had before."""

import subprocess
import sys

import pytest

import puffer_frames
from puffer_frames import core, errors, papers

MOVED = [("core", name) for name in core.__all__]
MOVED += [("papers", name) for name in ("kantorovich_scale", "quilt_scale", "value_scale", "network_quilt_scale")]
MOVED += [("errors", name) for name in ("ArgumentError", "NoNoiseNeededError", "LedgerError", "PriorError")]


@pytest.mark.parametrize(("home", "name"), MOVED)
def test_the_old_spelling_says_the_new_one(home, name):
    said = rf"Write puffer_frames\.{home}\.{name}$"
    with pytest.raises(AttributeError, match=said):
        getattr(puffer_frames, name)
    with pytest.raises(ImportError, match=said):
        exec(f"from puffer_frames import {name}")
    assert not hasattr(puffer_frames, name)
    exec(f"from puffer_frames.{home} import {name}")


def test_a_name_has_one_home():
    with pytest.raises(AttributeError, match=r"has no attribute 'Path'$"):
        _ = puffer_frames.Path
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from puffer_frames import nothing")
    homes = [set(module.__all__) for module in (puffer_frames, core, papers)]
    assert len(set().union(*homes)) == sum(map(len, homes))
    assert puffer_frames.PufferError is errors.PufferError
    assert len(puffer_frames.__all__) < 50


# Packages that not everybody has are imported when they are needed.
CODE = """
import sys, numpy as np, pandas as pd, puffer_frames
assert not {"sklearn", "scipy.stats", "scipy.optimize"} & set(sys.modules)
puffer_frames.pictures
frame = pd.DataFrame({"group": np.arange(200) % 3 % 2, "x": np.arange(200) % 7})
puffer_frames.calibrate(frame, secret="group", public="x", epsilon=0.01)
print({name.partition(".")[0] for name in sys.modules} & {"duckdb", "_duckdb", "pyspark", "matplotlib"})
"""


@pytest.mark.apart
def test_they_are_not_imported_without_need():
    """Neither DuckDB nor Spark for a frame of pandas, nor matplotlib before a picture, nor statistics before a call."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
