"""See that no number moved: write the numbers of a checkout to a file, and compare the files of two checkouts.

Run: python benchmarks/compare.py write FILE.json [--checkout DIR] [--data DIR] [--spark]
     python benchmarks/compare.py diff A.json B.json [--skip WORD ...] [--common]

Groups: "scales" (scales and measured losses, of reference tables and of the numeric core), "noise" (SHA-256 of seeded
releases, of every kind of frame), "shuffle" (the same in random order) and "certificates" (all but their words).
Floats are written exactly (float.hex), a call that raises as the name of its error. diff prints what differs and exits
with 1 if anything does; --skip leaves out paths that begin with a word or match a pattern (noise, "*/fingerprint");
--common leaves out what one file alone has, as where a later version has further fields. It takes some three minutes.
"""

import argparse
import fnmatch
import importlib
import json
import math
import sys
import time
from pathlib import Path

import compare_releases
import compare_scales

NUMBERS = ("scales", "published_scales", "expected_error", "verified")
"""Fields of a certificate that belong to the scales."""
SLOW = 2.0
"""An entry that takes longer, in seconds of this process, is named."""


def timed(parts):
    """Every entry of some parts, with a word about the time of each part and of slow entries."""
    for name, entries in parts.items():
        begun = last = time.process_time()
        for key, record in entries:
            now = time.process_time()
            if now - last > SLOW:
                print(f"    {key}: {now - last:.1f} s", file=sys.stderr)
            last = now
            yield key, record
        print(f"{name}: {time.process_time() - begun:.0f} s", file=sys.stderr)


def numbers(pf, *, data, spark):
    """The four groups."""
    scales = {
        "real tables": compare_scales.of_real_tables(pf, data),
        "theorems": compare_scales.of_theorems(pf),
        "beliefs": compare_scales.of_beliefs(pf),
        "large tables": compare_scales.of_large_tables(pf),
        "priors": compare_scales.of_priors(pf),
        "formulas": compare_scales.of_formulas(pf),
    }
    releases = {
        "rows": compare_releases.of_rows(pf, spark=spark),
        "units": compare_releases.of_units(pf),
        "series": compare_releases.of_series(pf),
    }
    found = {"scales": dict(timed(scales)), "noise": {}, "shuffle": {}, "certificates": {}}
    for name, record in timed(releases):
        values, certificate = record if isinstance(record, list) else (record, record)
        if name.startswith(compare_releases.SHUFFLED):
            found["shuffle"][name] = {"values": values, "certificate": certificate}
            continue
        found["noise"][name] = values
        found["certificates"][name] = certificate
        if isinstance(certificate, dict):
            found["scales"][name] = {field: certificate[field] for field in NUMBERS if field in certificate}
    return found


def write(options):
    root = options.checkout.resolve()
    sys.path.insert(0, str(root))
    pf = importlib.import_module("puffer_frames")
    if root not in Path(pf.__file__).parents:
        sys.exit(f"there is no puffer_frames in {root}")
    found = numbers(
        pf, data=options.data or root.parent / "shared" / "data", spark=start_spark() if options.spark else None
    )
    options.file.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    entries = [entry for group in found.values() for entry in group.values()]
    failed = sum(str(entry).startswith("error") for entry in entries)
    print(f"{len(entries):,} entries, {failed:,} of them errors: puffer_frames {pf.__version__}, {options.file}")


def start_spark():
    sql = importlib.import_module("pyspark.sql")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
    return sql.SparkSession.builder.master("local[2]").config(map=quiet).getOrCreate()


def leaves(record, path=""):
    """Path and value of every entry that holds no further ones."""
    if not isinstance(record, dict):
        return {path: record}
    return {k: v for name, part in record.items() for k, v in leaves(part, f"{path}/{name}" if path else name).items()}


def shown(value):
    """A value for the eye: floats as decimals, long ones cut."""
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value[:6])) + (", ..." if len(value) > 6 else "") + "]"
    if isinstance(value, str) and value.lstrip("-").startswith("0x"):
        return repr(float.fromhex(value))
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 60 else f'{text[:20]}..."'


def distance(a, b):
    """How far apart two written floats are, as a share of the larger one; empty for anything else."""
    if not all(isinstance(value, str) and value.lstrip("-").startswith("0x") for value in (a, b)):
        return ""
    first, second = float.fromhex(a), float.fromhex(b)
    most = max(abs(first), abs(second))
    return f" (by {abs(first - second) / most:.1e} of it)" if 0 < most < math.inf else ""


def diff(options):
    first, second = (leaves(json.loads(file.read_text(encoding="utf-8"))) for file in (options.a, options.b))
    paths = [
        path
        for path in dict.fromkeys([*first, *second])
        if not any(path.startswith(word) or fnmatch.fnmatchcase(path, word) for word in options.skip)
    ]
    both = [path for path in paths if path in first and path in second]
    moved = [path for path in both if first[path] != second[path]]
    alone = [path for path in paths if (path in first) != (path in second)]
    for path in moved:
        print(f"{path}: {shown(first[path])} -> {shown(second[path])}{distance(first[path], second[path])}")
    for path in [] if options.common else alone:
        print(f"only in {options.a if path in first else options.b}: {path}")
    print(f"{len(both):,} compared, {len(moved):,} differ, {len(alone):,} in one file alone")
    sys.exit(bool(moved or (alone and not options.common)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    writing = commands.add_parser("write", help="compute the numbers of a checkout")
    writing.add_argument("file", type=Path)
    writing.add_argument(
        "--checkout", type=Path, default=Path(__file__).parents[1], help="by default that of this file"
    )
    writing.add_argument("--data", type=Path, help="by default ../shared/data beside the checkout")
    writing.add_argument("--spark", action="store_true", help="Spark frames too")
    writing.set_defaults(run=write)
    comparing = commands.add_parser("diff", help="compare two files")
    comparing.add_argument("a", type=Path)
    comparing.add_argument("b", type=Path)
    comparing.add_argument("--skip", nargs="*", default=[], help='such as noise shuffle "*/fingerprint"')
    comparing.add_argument("--common", action="store_true", help="leave out what one file alone has")
    comparing.set_defaults(run=diff)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
