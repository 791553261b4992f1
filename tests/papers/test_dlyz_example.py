"""The example of [DLYZ] prints the published numbers and draws its figure."""

import importlib.util
from pathlib import Path

import pytest
from conftest import SHARED_DATA

EXAMPLE = Path(__file__).parents[2] / "examples" / "users.py"


def test_users_example(tmp_path, capsys):
    if not SHARED_DATA.exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    spec = importlib.util.spec_from_file_location("users_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(["--data", str(SHARED_DATA), "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    for number in ("30.556039", "1.669407", "7.884803", "10.444339", "0.542138", "2.181491"):
        assert number in printed
    assert (tmp_path / "dlyz_figures_5_and_9.png").stat().st_size > 10_000
