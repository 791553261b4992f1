"""Every docstring example and every code block of the README runs."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import puffer_frames

ROOT = Path(__file__).parents[1]
NAMES = [m.name for m in pkgutil.walk_packages(puffer_frames.__path__, "puffer_frames.")] + ["puffer_frames"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_docstring_examples(name):
    if name.endswith(".spark"):
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_readme_examples():
    """Python blocks run in their order; a following text block is their output."""
    blocks = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", README, flags=re.DOTALL)
    assert blocks
    names = {}
    for code, output in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)
        if output:
            assert printed.getvalue().rstrip() == output.rstrip()


def test_public_functions_document_their_parts():
    for name in puffer_frames.__all__:
        documented = getattr(puffer_frames, name).__doc__
        assert documented, name
        if callable(getattr(puffer_frames, name)) and name.islower():
            for part in ("Returns", "Raises"):
                assert part in documented, f"{name} lacks {part}"


def test_version_is_in_the_changelog():
    assert f"## {puffer_frames.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
