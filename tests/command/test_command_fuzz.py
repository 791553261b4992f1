"""Odd command lines and config files: an error with its exit code, never a traceback, never an unprotected file."""

import json
import random
from pathlib import Path

from command_line import people, run
from conftest import sweep

from puffer_frames.doors.command.options import OPTIONS
from puffer_frames.frames.files import metadata_in, read_rows

TEXTS = [
    *("", "race", "age", "occupation", "region", "patient", "rase", "a:b", "a:", ":", "=", "age=0:100", "age=1"),
    *("race=a,b", "0", "1", "-1", "2.5", "1e400", "nan", "inf", "none", "all", "only", "auto", "channel", "remap"),
    *("bounded", "each", "joint", "one", "any", "independent", "repeated", "sample", "raise", "drop", "level"),
    *("laplace", "gaussian", "stable:", "stable:1.5", "population", "population:2", "contamination", "table:no.csv"),
    *("table:in.csv", "[", '["age"]', "[1]", "issuer=x", "dataset=d", "created=now", "x" * 5000, "\udc80", "\0", "é"),
    *("l.jsonl", "/", "in.parquet", "1.parquet"),
]
ENTRIES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    [],
    {},
    [[]],
    [["a", "b"]],
    {"age": [0, 1]},
    {"x": None},
    [None],
    [1, 2],
    *TEXTS,
]
INPUTS = ["in.parquet", "in.csv", "in.arrow", "parts", "no.csv", "wrong.parquet", "", "\0"]
OUTPUTS = ["out.parquet", "out.csv", "out.arrow", "out/", "in.csv", "no/out.csv", "out", "/dev/null", ""]
LIMITED = "--ledger book.jsonl --limit 0.5 --about dataset=d"
USUAL = {"secret": "race", "public": "age", "epsilon": "1"}


def words_of(rng):
    """A command line that often nearly is one."""
    asked = {name: entry for name, entry in USUAL.items() if rng.random() < 0.95}
    known = sorted(OPTIONS)
    if rng.random() < 0.8:  # the many options of whole tables are mostly refused: too few lines would be done
        known = [name for name in known if not name.startswith("sequential_")]
    for name in rng.sample(known, rng.choice([0, 1, 1, 2, 3])):
        asked[name] = rng.choice(TEXTS)
    found = ["release", rng.choice(INPUTS[: rng.choice([4, 8])]), rng.choice(OUTPUTS[: rng.choice([4, 9])])]
    if rng.random() < 0.3:
        held = {name: rng.choice(ENTRIES) if rng.random() < 0.3 else entry for name, entry in asked.items()}
        Path("job.json").write_text(json.dumps(held))
        asked = {}
        found += ["--config", "job.json"]
    for name, entry in asked.items():
        switch = not OPTIONS[name].metavar
        found += ["--" + name.replace("_", "-"), *([] if switch else [entry])]
    more = rng.choice(["", "", "", "--overwrite", "--json", "--bogus", "-v", "-qq", LIMITED])
    if more == "--overwrite" and found[2] == "in.csv" != found[1]:  # another file than the input may be replaced
        more = ""
    return [*found, *more.split()]


def check_output(words):
    """Whether there is a file: then it has a certificate, and its noisy columns are not those of the input."""
    target = Path(words[2]) if words[2] and "\0" not in words[2] else None
    if target is None or not str(target).startswith("out") or not target.exists():
        return False
    beside = target.with_name(target.name + ".certificate.json")
    plain = {"channels": {}} | (metadata_in(target) or json.loads(beside.read_text()))
    rows, given = read_rows(target, schema={}, streaming=False), people()
    assert set(rows.columns) <= {*plain["public"], *plain["kept"], *plain.get("given", ())}
    said = " ".join(words) + (Path("job.json").read_text() if "--config" in words else "")
    for name in plain["public"]:
        if name in plain["channels"]:  # of a column that tells little of the secret it may change no label at all
            continue
        moved = len(rows) != len(given) or (rows[name].cast(str) != given[name].cast(str)).any()
        assert moved or (plain["scales"][name] == 0 and "zero" in said)
    return True


@sweep(60, 2000)
def test_odd_command_lines(folder, count):
    import shutil

    (folder / "wrong.parquet").write_text("PAR1")
    rng, codes = random.Random(count), []
    given = {name: (folder / name).read_bytes() for name in ("in.parquet", "in.csv", "in.arrow")}
    for _ in range(count):
        words = words_of(rng)
        done = run(*words)
        codes.append(done.code)
        assert done.code in range(5), words
        assert "a fault" not in done.err + done.out, words
        assert check_output(words) or done.code, words
        assert {name: (folder / name).read_bytes() for name in given} == given
        for path in folder.glob("out*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert not list(folder.glob(".*"))
        assert not (done.code and (folder / words[2]).name.startswith("out") and Path(words[2]).exists())
    assert {0, 1, 2, 3} <= set(codes) or count < 100
    assert codes.count(0) >= count / 20
