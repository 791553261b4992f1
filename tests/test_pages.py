"""Paths and names that the pages for contributors give exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "puffer_frames"
PAGES = ("CONTRIBUTING.md", "docs/glossary.md", "docs/extend.md")
ADDED = {"puffer_frames/noise/logistic.py", "puffer_frames/papers/range.py", "puffer_frames/mechanisms/merging.py"}
"""Files that a page tells its reader to write."""
FEWEST = {"CONTRIBUTING.md": 50, "docs/glossary.md": 25, "docs/extend.md": 26}
"""So that a test of nothing fails."""

QUOTED = re.compile(r"`([^`\n]+)`")
LINKED = re.compile(r"\]\(([^)#:]+?)(?:#[\w-]*)?\)")
FILE = re.compile(r"[\w./-]+\.(?:py|md|json)")
NAMED = re.compile(r"([\w./-]+\.py):([\w.]+)")
FOLDER = re.compile(r"[\w./-]+/|(?:tests|puffer_frames|benchmarks|docs)/[\w/]+")


def prose(page):
    """A page without its blocks of code."""
    return re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)


def found(name):
    """The file or folder of a name: of the repository, or of the package."""
    return next((path for path in (ROOT / name, PACKAGE / name) if path.exists()), None)


@cache
def defined(path):
    """Names that a file defines, those in classes as Class.name."""

    def of(body, prefix=""):
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from of(node.body, f"{prefix}{node.name}.")
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (prefix + name.id for t in targets for name in ast.walk(t) if isinstance(name, ast.Name))

    return set(of(ast.parse(path.read_text(encoding="utf-8")).body))


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_names_exist(page):
    looked = 0
    for quoted in QUOTED.findall(prose(page)):
        named = NAMED.fullmatch(quoted)
        if quoted in ADDED or not (named or FILE.fullmatch(quoted) or FOLDER.fullmatch(quoted)):
            continue
        looked += 1
        path = found(named[1] if named else quoted)
        assert path, quoted
        if named:
            assert named[2] in defined(path), quoted
    assert looked >= FEWEST[page]


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_links_lead_to_files(page):
    for target in LINKED.findall(prose(page)):
        assert ((ROOT / page).parent / target).exists(), target


def test_files_of_commands_exist():
    commands = " ".join(QUOTED.findall(prose("CONTRIBUTING.md")))
    for path in re.findall(r"\b(?:tests|benchmarks|docs)/[\w/.]+", commands):
        assert (ROOT / path).exists(), path


def test_folders_are_those_of_the_package_in_the_order_of_imports():
    listed = re.findall(
        r"^\| `(\w+(?:/|\.py))` \|", prose("CONTRIBUTING.md").partition("Inside `verbs/`")[0], flags=re.M
    )
    modules = {path.name + "/" * path.is_dir() for path in PACKAGE.iterdir() if path.suffix not in (".typed", ".pyi")}
    assert set(listed) == modules - {"__pycache__/"}
    rank = {name.removesuffix("/").removesuffix(".py"): k for k, name in enumerate(listed)}
    apart = {"loss", "papers", "frames"}
    for path in PACKAGE.rglob("*.py"):
        here = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for there in re.findall(r"^\s*from puffer_frames\.(\w+)", path.read_text(encoding="utf-8"), flags=re.M):
            assert rank[there] <= rank[here], (path, there)
            assert here == there or not {here, there} <= apart, (path, there)


def test_the_glossary_has_one_entry_for_each_word():
    words = re.findall(r"^\*\*(.+?)\.\*\*", prose("docs/glossary.md"), flags=re.M)
    assert len(words) == len(set(words)) >= 40
    for verdict in (
        "intact",
        "unsigned: cannot be trusted",
        "intact, signature not checked",
        "derived",
        "uncovered",
        "forged",
    ):
        assert f'"{verdict}"' in prose("docs/glossary.md")


def test_the_tutorial_links_each_word_of_the_glossary_where_it_first_stands():
    """But for headings, and words that are explained there in a sentence of their own."""
    words = re.findall(r"^\*\*(.+?)\.\*\*", prose("docs/glossary.md"), flags=re.M)
    text = re.sub(
        r"^(?:```.*?^```|---.*?^---|#.*?$)", "", (ROOT / "docs" / "tutorial.md").read_text(), flags=re.M | re.S
    )
    linked = re.sub(r"\[[^\]]*\]\((?!glossary)[^)]*\)|`[^`]*`", "", text)  # links to other pages, and code
    found = []
    for word in (re.escape(part.strip().lower()) for each in words for part in re.sub(r" \(.*\)", "", each).split(",")):
        first = re.search(rf"\b{word}\b", linked.lower())
        if first and not re.search(rf"\[[^\]]*\b{word}\b[^\]]*\]\(glossary\.md\)", linked.lower()[: first.end() + 20]):
            found.append(word)
    assert not found
