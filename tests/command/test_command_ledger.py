"""The ledger on the command line."""

import json

import pytest
from command_line import ASKED, ends, run

from puffer_frames import Ledger
from puffer_frames.verbs.ledgers import locked_lines

BOOK = ("--ledger", "l.jsonl", "--theorem", "bounded", "--calibration", "theorem")


def release(target, *, of="people", secret="race", epsilon="0.1"):
    asked = ("--secret", secret, "--public", "age", "--epsilon", epsilon, "--about", f"dataset={of}")
    assert run("release", "in.parquet", target, *asked, *BOOK).code == 0


def test_a_list_and_totals(folder):
    release("1.parquet")
    release("2.parquet", epsilon="0.2")
    release("3.parquet", of="others", secret="region")
    heads, *lines = run("ledger", "list", "l.jsonl").out.splitlines()
    assert heads.split() == ["time", "data", "set", "secret", "public", "epsilon", "delta", "state", "entry"]
    first = next(iter(Ledger("l.jsonl")))
    assert lines[0].split() == [first.time, "people", "race", "age", "0.1", "0", "finished", first.entry]
    assert len(lines) == 3
    found = run("ledger", "list", "l.jsonl", "--dataset", "others", "--json").found
    assert [(one["secret"], one["epsilon"]) for one in found["entries"]] == [("region", 0.1)]
    for limit, code in (("0.3", 0), ("0.29", 1)):
        done = run("ledger", "total", "l.jsonl", "--limit", limit, "--json")
        assert (done.code, done.found["exit"]) == (code, code)
        assert [row["epsilon"] for row in done.found["totals"]] == [0.3, 0.1]
        assert [row["within"] for row in done.found["totals"]] == [code == 0, True]
    release("4.parquet", secret="region")
    totals = run("ledger", "total", "l.jsonl", "--json").found["totals"]
    assert [(one["secret"], one["epsilon"]) for one in totals[:3]] == [
        ("race, region", None),
        ("race", 0.3),
        ("region", 0.1),
    ]
    assert run("ledger", "total", "l.jsonl", "--limit", "9").code == 1
    assert "no guarantee holds for all together: different secrets" in run("ledger", "total", "l.jsonl").out


def test_an_entry_is_withdrawn_and_the_file_checked(folder):
    release("1.parquet")
    entry = Ledger("l.jsonl").reserve(next(iter(Ledger("l.jsonl"))).certificate, None)
    assert run("ledger", "check", "l.jsonl", "--json").found["not_finished"] == [entry]
    with locked_lines.locked(folder / "l.jsonl", what="the ledger"):
        assert "locked by process" in run("ledger", "check", "l.jsonl").out
    assert run("ledger", "withdraw", "l.jsonl", entry).out == f"l.jsonl: {entry} is withdrawn\n"
    assert run("ledger", "check", "l.jsonl").out == "l.jsonl: whole, 2 releases; locked by nobody\n"
    lines = (folder / "l.jsonl").read_text().splitlines()
    (folder / "l.jsonl").write_text("\n".join([*lines[:-1], lines[-1][:40]]))
    cut = run("ledger", "check", "l.jsonl")
    assert (cut.code, "whole but for 1 line that was cut off" in cut.out) == (1, True)
    lie = {key: value for key, value in json.loads(lines[1]).items() if key != "digest"} | {"epsilon": 0.01}
    lie |= {"schema": "1.0"}  # whose lines have no digest
    for wrong, said in (
        (lines[1].replace("0.1", "0.2", 1), "line 2 that was changed"),
        (json.dumps(lie), "line 2 that says something else than its certificate"),
        (lines[1].replace(entry, "x" * 16)[:99], "no entry"),
        (json.dumps({k: v for k, v in json.loads(lines[1]).items() if k != "digest"}), "line 2 that has no digest"),
    ):
        (folder / "l.jsonl").write_text("\n".join([lines[0], wrong, *lines[2:]]) + "\n")
        ends(run("ledger", "check", "l.jsonl"), 1, said)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "list, total, withdraw or check"),
        (["sum", "l.jsonl"], 2, "list, total, withdraw or check"),
        (["list"], 2, "with the ledger"),
        (["list", "no.jsonl"], 3, "no.jsonl"),
        (["check", "no.jsonl"], 3, "no.jsonl"),
        (["withdraw", "no.jsonl", "0" * 16], 3, "no.jsonl"),
        (["withdraw", "l.jsonl", "0" * 16], 2, "puffer ledger list"),
        (["list", "l.jsonl", "0" * 16], 2, "given with withdraw"),
        (["check", "l.jsonl", "--limit", "1"], 2, "given with total"),
        (["total", "l.jsonl", "--limit-delta", "1e-6"], 2, "limit"),
        (["list", "l.jsonl", "--dataset", "other"], 2, "one of the data sets"),
        (["check", "in.parquet"], 3, "another file: its first line is no entry"),
    ],
)
def test_what_cannot_be(folder, words, code, said):
    run("release", "in.parquet", "1.parquet", *ASKED, *BOOK, "--about", "dataset=people")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = run("ledger", *words)
    assert (done.code, said in done.err, done.out) == (code, True, "")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
