"""A check before publication, for CI: every table in a folder must be a release, intact, within an epsilon.

    python check_releases.py public/ --most 1.0

It calls the command `puffer verify`, prints a line for each table, and ends with 1 where one is not as it should be.
"""

import argparse
import contextlib
import io
import json
import sys
from pathlib import Path

from puffer_frames.doors.command.main import main as puffer

TABLES = (".parquet", ".csv", ".arrow")


def verdict(path: Path, most: float) -> str:
    """What is wrong with a table; an empty text for nothing."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = puffer(["verify", str(path), "--json"])  # in this process: to import the package takes a second
    found = json.loads(printed.getvalue())
    if code:
        return found.get("verdict") or found["error"]["message"]
    if "measured_epsilon" in found:
        return "its rows lose more than was asked for"
    return f"epsilon {found['epsilon']:g} is more than {most:g}" if found["epsilon"] > most else ""


def main(words=None) -> int:
    """Check a folder; the exit code says whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=float, default=1.0, help="largest epsilon")
    options = parser.parse_args(words)
    tables = sorted(path for path in options.folder.rglob("*") if path.suffix in TABLES)
    wrong = {path: found for path in tables if (found := verdict(path, options.most))}
    for path in tables:
        print(f"{path}: {wrong.get(path, 'intact')}")
    return int(bool(wrong) or not tables)


if __name__ == "__main__":
    sys.exit(main())
