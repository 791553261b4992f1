"""The notebooks of examples/ run, and what is stored of them is small and names no machine."""

import json
import warnings
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

import puffer_frames

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
MOST_BYTES = 20_000
MACHINE = ("/home/", "/root/", "/Users/", "/usr/", "/opt/", "/tmp/", "/work/", "/var/", "site-packages")


def cells(name):
    """The cells of code: source, number of the run, outputs."""
    book = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) >= (4, 5)
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


NEEDED = {
    "adult": "adult.data",
    "heart": "processed.hungarian.data",
    "series": "electricity.csv",
    "users": "bank-full.csv",
}
"""The file whose absence a notebook names."""


def test_each_notebook_is_listed():
    page = (FOLDER.parents[1] / "docs" / "index.md").read_text(encoding="utf-8")
    assert NAMES == ["adult", "analyst", "heart", "nightly", "series", "users"]
    assert [name for name in NAMES if f"notebooks/{name}.ipynb)" in page and f"notebooks/{name}\n" in page] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_cells_run(name, monkeypatch):
    if name in NEEDED and not (FOLDER.parents[2] / "shared" / "data" / NEEDED[name]).exists():
        pytest.skip(f"{NEEDED[name]} is not at hand")
    monkeypatch.chdir(FOLDER)
    names = {"__name__": "__main__"}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        warnings.simplefilter("default", puffer_frames.PufferWarning)
        for cell in cells(name):
            exec(compile("".join(cell["source"]), f"{name}.ipynb", "exec"), names)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_stored_small(name):
    ran = cells(name)
    assert [cell["execution_count"] for cell in ran] == list(range(1, len(ran) + 1))
    outputs = [output for cell in ran for output in cell["outputs"]]
    assert len(outputs) >= 4
    for output in outputs:
        assert output["output_type"] in ("stream", "display_data", "execute_result")
        assert output.get("name") != "stderr"
        text = json.dumps(output)
        assert len(text) <= MOST_BYTES
        assert not [part for part in MACHINE if part in text]


@pytest.mark.parametrize("name", NEEDED)
def test_a_notebook_says_what_it_lacks(monkeypatch, name):
    monkeypatch.setattr(Path, "exists", lambda path: False)
    with pytest.raises(FileNotFoundError, match=f"shared/data/{NEEDED[name]}"):
        exec("".join(cells(name)[0]["source"]), {})


def test_pictures_are_stored():
    kinds = [kind for cell in cells("analyst") for output in cell["outputs"] for kind in output.get("data", {})]
    assert kinds.count("image/png") >= 2
