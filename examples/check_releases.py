"""A check before publication, for CI: every file in a folder must be a release, or the certificate beside one.

    python check_releases.py public/ --most 1.0 --public-key key.pem

It calls the command `puffer verify`, prints its verdict of each file, and ends with 1 where one is not as it should be.
"""

import argparse
import contextlib
import io
import json
import sys
from pathlib import Path

from puffer_frames.doors.command.main import main as puffer

BESIDE = ".certificate.json"


def verdict(path: Path, most: dict[str, float], key: Path | None) -> tuple[bool, str]:
    """Whether a file may be published, and what is said of it."""
    printed, signed = io.StringIO(), [] if key is None else ["--public-key", str(key)]
    with contextlib.redirect_stdout(printed):
        code = puffer(["verify", str(path), "--json", *signed])  # in this process: to import the package takes a second
    found = json.loads(printed.getvalue())
    said = found.get("verdict") or found["error"]["message"]
    if code:
        return False, said
    if found["reproducible"]:
        return False, "not private: its noise came from a seed"
    for name, limit in most.items():
        loss = found.get(f"measured_{name}", found[name])  # of its rows, where it is more than was asked for
        if loss is None:  # infinity, which JSON lacks
            return False, f"its {name} has no known bound"
        if loss > limit:
            return False, f"{name} {loss} is more than {limit}"
    return True, said


def main(words=None) -> int:
    """Check a folder; the exit code says whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=float, default=1.0, help="largest epsilon")
    parser.add_argument("--most-delta", type=float, default=0.0, help="largest delta")
    signer = parser.add_mutually_exclusive_group(required=True)
    signer.add_argument("--public-key", type=Path, help="of whoever signs the certificates: only signed ones pass")
    signer.add_argument("--unsigned", action="store_true", help="nobody signs: an edited certificate may pass")
    options = parser.parse_args(words)
    files = {path for path in options.folder.rglob("*") if path.is_symlink() or not path.is_dir()}
    tables = sorted(files - {path.with_name(path.name + BESIDE) for path in files if path.suffix == ".csv"})
    most = {"epsilon": options.most, "delta": options.most_delta}
    found = {path: verdict(path, most, options.public_key) for path in tables}
    for path, (_, said) in found.items():
        print(f"{path}: {said}")
    return int(not found or not all(fits for fits, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
