"""Docstrings, comments and certificates refer to sections of docs/theory.md that exist, in one form."""

import re
from pathlib import Path

from puffer_frames.papers.catalogue import MECHANISMS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
SECTIONS = {int(n): text for n, text in re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)}
REFERENCE = re.compile(r'docs/theory\.md, sections? (\d+)(?: (?:to|and) (\d+))?(?:, "([^"]+)")?')
HERE = Path(__file__).name
FILES = [p for folder in ("puffer_frames", "tests", "docs") for p in sorted((ROOT / folder).rglob("*.py"))]
FILES += [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
FILES = [path for path in FILES if path.name != HERE and "theory.md" in path.read_text(encoding="utf-8")]


def unwrapped(path):
    """The text of a file, a docstring or comment of several lines in one."""
    return re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text(encoding="utf-8"))


def headings(number):
    return re.findall(r"^### (.+)$", SECTIONS[number], flags=re.M)


def test_sections_are_numbered_in_order():
    assert list(SECTIONS) == list(range(1, 20))


def test_the_old_form_is_gone():
    for folder in ("puffer_frames", "tests", "docs", "examples", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            assert path.name == HERE or not re.search(r"(?i)\btheory sections? \d", unwrapped(path)), path


def test_each_link_names_a_heading():
    anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", PAGE, re.M)}
    for path in FILES:
        if path.suffix != ".py":
            assert set(re.findall(r"theory\.md#([\w-]+)", path.read_text(encoding="utf-8"))) <= anchors, path


def test_each_reference_names_a_heading():
    for path in FILES:
        if path.suffix == ".py":
            text = unwrapped(path)
            found = list(REFERENCE.finditer(text))
            assert len(found) == text.count("docs/theory.md, "), path
            for first, last, heading in (match.groups() for match in found):
                assert int(first) in SECTIONS, path
                assert last is None or int(first) < int(last) <= max(SECTIONS), path
                assert not heading or heading in headings(int(first)), (path, heading)


def test_most_of_the_package_refers_to_the_page():
    """The loop above has something to look at."""
    assert sum(path.is_relative_to(ROOT / "puffer_frames") for path in FILES) >= 20
    assert MECHANISMS["exact"].source == "docs/theory.md, section 10"


def test_keys_of_papers_are_explained():
    listed = set(re.findall(r"^\| \[(\w+)\] \|", SECTIONS[19], flags=re.M))
    for path in sorted((ROOT / "puffer_frames").rglob("*.py")):
        cited = set(re.findall(r"\[([A-Z]+\d{2}|DLYZ|ZA)\]", path.read_text(encoding="utf-8")))
        assert cited <= listed, (path, cited - listed)
    assert set(re.findall(r"\[([A-Z]+\d*)\]", PAGE)) == listed


def test_files_that_the_page_names_exist():
    named = set(re.findall(r"`([a-z_/]+\.py)`", PAGE))
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / "puffer_frames" / name).is_file()]
