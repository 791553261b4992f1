"""Every docstring example runs, and so does every code block of the README and of some pages."""

import contextlib
import doctest
import importlib
import io
import re
import warnings
from pathlib import Path

import pytest
from conftest import few

import puffer_frames
from puffer_frames import core, errors, papers

ROOT = Path(__file__).parents[1]
NAMES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "puffer_frames").rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]
"""Modules with an example."""
PAGES = [
    *("README.md", "docs/answers.md", "docs/audit.md", "docs/certificates.md", "docs/compare.md", "docs/sklearn.md"),
    *("docs/estimates.md", "docs/ledger.md", "docs/options.md", "docs/reference.md", "docs/whole_tables.md"),
]
"""Pages whose Python runs, block after block."""


@few(20, rest="apart")
@pytest.mark.parametrize("name", NAMES)
def test_docstring_examples(name):
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0
    assert found.attempted > 0


@few(1, rest="apart")
@pytest.mark.parametrize("page", PAGES)
def test_examples_of_pages(page):
    """Python blocks run in their order; a following text block is their output."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", text, flags=re.DOTALL)
    assert blocks
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
    names = {}
    for code, output in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        if output:
            assert printed.getvalue().rstrip() == output.rstrip()


def test_cells_of_the_tutorial_run():
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", text, flags=re.DOTALL)
    assert len(cells) > 5
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in cells:
            exec(compile(cell, "docs/tutorial.md", "exec"), names)
    assert "Plan: release glucose, hide sex" in printed.getvalue()


def test_the_reference_lists_every_public_name():
    text = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
    listed = {}
    for module, names in re.findall(r"currentmodule:: ([\w.]+)\n(.*?)```", text, flags=re.DOTALL):
        listed.setdefault(module, set()).update(re.findall(r"^   (\w+)$", names, flags=re.MULTILINE))
    kinds = {name for name in vars(errors) if name.endswith(("Error", "Warning"))}
    assert listed == {
        "puffer_frames": set(puffer_frames.__all__) - {"__version__"},
        "puffer_frames.core": set(core.__all__),
        "puffer_frames.papers": set(papers.__all__),
        "puffer_frames.errors": kinds - set(puffer_frames.__all__),
    }


def test_every_page_is_in_a_table_of_contents():
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    listed = {"index"}
    for page in pages:
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL):
            listed |= set(re.findall(r"^(?:.* <)?([a-z_]+)>?$", block, flags=re.MULTILINE))
    assert pages == listed & pages, pages - listed


def test_public_functions_document_their_parts():
    public = [(name, getattr(module, name)) for module in (puffer_frames, core, papers) for name in module.__all__]
    for name, entry in public:
        documented = entry.__doc__
        assert documented, name
        if callable(entry) and name.islower():
            for part in ("Returns", "Raises"):
                assert part in documented, f"{name} lacks {part}"


def test_files_that_pages_name_are_there():
    files = {path.as_posix() for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts}
    pages = [ROOT / "CONTRIBUTING.md", *(path for path in (ROOT / "docs").glob("*.md") if path.stem != "extend")]
    named = {(page.name, name) for page in pages for name in re.findall(r"`([\w/]+\.py)`", page.read_text("utf-8"))}
    assert {(page, name) for page, name in named if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_version_is_in_the_changelog():
    assert f"## {puffer_frames.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
