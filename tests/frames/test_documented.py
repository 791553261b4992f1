"""The answers of docs/tables.md and docs/certificates.md are those of the library."""

import re
from pathlib import Path

import pandas as pd
import pytest
from cases import CASES, answer
from conftest import few
from uses import USES, answers

DOCS = Path(__file__).parents[2] / "docs"


HEADS = {"tables.md": "| table |", "certificates.md": "| after |"}
"""How the table of a page begins."""


def rows(name):
    """First cell to the other cells of every row of the page's table."""
    _, _, table = (DOCS / name).read_text(encoding="utf-8").partition(HEADS[name])
    lines = re.findall(r"^\| (.*) \|$", table.partition("\n\n")[0], flags=re.MULTILINE)
    cells = [line.replace("`", "").split(" | ") for line in lines]
    return {first: rest for first, *rest in cells[1:]}


@few(12, rest="apart")
@pytest.mark.parametrize("case", CASES)
def test_table_of_cases(case):
    assert rows("tables.md")[case] == [answer(case)]


@pytest.mark.parametrize("use", USES)
def test_certificate_under_use(use):
    documented, found = rows("certificates.md")[use], answers(use)
    assert documented[::2] == found[::2]
    if pd.__version__ >= "3":  # pandas 2 keeps attrs through fewer operations
        assert documented == found


def test_nothing_else_is_documented():
    assert set(rows("tables.md")) == set(CASES)
    assert set(rows("certificates.md")) == set(USES)
