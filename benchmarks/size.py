"""How large the package is, beside other packages: lines and files, and how many of the lines are code.

Run: python benchmarks/size.py [FOLDER ...]

Folders of other packages, for example of checkouts of lineax, dataframely and dp_accounting, are measured alike.
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def main() -> None:
    """Print a row per folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    others = parser.parse_args().folders
    print(f"{'folder':<28}{'files':>7}{'lines':>9}{'code':>9}{'docstrings':>12}{'lines a file':>14}")
    for folder in (ROOT / "puffer_frames", ROOT / "tests", ROOT / "benchmarks", *others):
        paths = [path for path in sorted(folder.rglob("*.py")) if "test" not in path.name or folder.name == "tests"]
        lines, code, docstrings = (sum(counts) for counts in zip(*map(_counts, paths), strict=True))
        print(f"{folder.name:<28}{len(paths):>7,}{lines:>9,}{code:>9,}{docstrings:>12,}{lines / len(paths):>14.0f}")


def _counts(path: Path) -> tuple[int, int, int]:
    """All lines, lines that hold code, and lines of docstrings (of attributes, too)."""
    text = path.read_text("utf-8")
    told = set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            told.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    coded = set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            coded.update(range(token.start[0], token.end[0] + 1))
    return len(text.splitlines()), len(coded - told), len(told)


if __name__ == "__main__":
    main()
