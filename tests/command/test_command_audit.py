"""`puffer audit`: exit codes, what it prints, and what it keeps to itself."""

import polars as pl
import pytest
from command_line import ASKED, ends, run, write_tables


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_a_release_passes(form):
    assert run("release", f"in.{form}", f"out.{form}", *ASKED).code == 0
    done = run("audit", f"in.{form}", f"out.{form}", "--level", "0.9999999")
    assert (done.code, done.out.strip()) == (0, f"out.{form}: passed")


def test_raw_values_fail():
    run("release", "in.csv", "out.csv", *ASKED)
    raw = pl.read_csv("in.csv").select(pl.col("age").cast(pl.Float64))
    raw.write_csv("raw.csv")
    words = ("audit", "in.csv", "raw.csv", "--certificate", "out.csv.certificate.json")
    done = ends(run(*words), 1)
    assert done.out.startswith("raw.csv: failed; certificate: ")
    found = run(*words, "--json").found
    assert (found["status"], found["exit"]) == ("failed", 1)
    assert {"certificate", "raw columns", "noise law"} <= {each["name"] for each in found["failed"]}
    assert "pairs" not in found


def test_what_no_check_can_test_is_said():
    """Rows of other people passed beside a whole table, and nothing was said of what was not tested."""
    pl.read_csv("in.csv").with_columns(pl.all().shuffle(seed=3)).write_csv("other.csv")
    asked = ("--secret", "race", "--epsilon", "1")
    assert run("release", "in.csv", "all.csv", *asked, "--mechanism", "sequential").code == 0
    assert run("release", "in.csv", "channel.csv", *asked, "--public", "region").code == 0
    loss = "not tested: epsilon: the certificate says nothing"
    done = run("audit", "in.csv", "all.csv")
    assert (done.code, done.out.startswith(f"all.csv: passed; {loss}")) == (0, True), done.out
    other = run("audit", "other.csv", "all.csv", "--json").found
    assert [each["name"] for each in other["failed"]] == ["changed values"]
    done = run("audit", "other.csv", "channel.csv")
    assert (done.code, "passed; not tested: whether these are the released rows" in done.out) == (0, True), done.out


def test_figures_are_printed_where_they_are_asked_for():
    run("release", "in.parquet", "out.parquet", *ASKED)
    assert "guessers" in run("audit", "in.parquet", "out.parquet", "--figures").out
    found = run("audit", "in.parquet", "out.parquet", "--figures", "--json", "--level", "0.9999999").found
    assert found["status"] == "passed"
    assert len(found["pairs"]) == 3
    assert {each["name"] for each in found["checks"]} >= {"noise law", "epsilon"}


def test_types_of_csv_files():
    run("release", "in.csv", "out.csv", *ASKED)
    typed = ("--schema", "age=Float64", "--released-schema", "age=Float64")
    assert run("audit", "in.csv", "out.csv", *typed, "--level", "0.9999999").code == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["in.parquet"], 2, "its release"),
        (["in.parquet", "nowhere.parquet"], 3, "nowhere"),
        (["in.parquet", "in.parquet"], 1, "--certificate"),
        (["in.parquet", "out.parquet", "--level", "2"], 2, "level must be"),
        (["in.parquet", "out.parquet", "--level", "x"], 2, "level"),
        (["in.parquet", "out.parquet", "--secret", "nothing"], 2, "secret must be"),
        (["in.parquet", "out.parquet", "--epsilon", "1"], 2, "unknown option"),
    ],
)
def test_what_is_refused(words, code, said):
    run("release", "in.parquet", "out.parquet", *ASKED)
    ends(run("audit", *words), code, said)
