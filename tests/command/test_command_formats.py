"""Files of other formats and of packed text, marks that are none, and readers that are not there."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import ends, run
from csv_tables import ASKED, ROWS, read, table, write
from pyarrow.feather import write_feather

from puffer_frames.errors import ArgumentError, TableFileError
from puffer_frames.frames import files


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_file_of_stata():
    """Labels of values are categories, as pandas has them; a release is Parquet, CSV or Arrow."""
    own = table(job=pd.Categorical(["nurse", "clerk"] * (ROWS // 2))).assign(age=lambda t: t["age"].where(t.index > 9))
    own.to_stata("in.dta", write_index=False)
    assert read("in.dta").equals(pl.from_pandas(own))
    assert run("release", "in.dta", "out.parquet", *ASKED, "--keep", "job", "--nulls", "drop").code == 0
    assert pl.read_parquet("out.parquet")["job"].to_list() == own["job"].tolist()[10:]
    for name in ("out.dta", "out.xlsx"):
        ends(run("release", "in.dta", name, *ASKED), 2, "read alone")
    codes = own.assign(sex=(own["sex"] == "f").astype("int8"))
    codes.to_stata("twice.dta", write_index=False, value_labels={"sex": {0: "m", 1: "m"}})
    ends(
        run("release", "twice.dta", "out.csv", *ASKED), 3, "the same label for two codes", "convert_categoricals=False"
    )
    Path("no.dta").write_text("sex,age")
    ends(run("release", "no.dta", "out.csv", *ASKED), 3, "must be a file of Stata")


def test_a_file_of_excel():
    """Empty cells are missing; texts that mean as much are texts. Nothing is renamed."""
    pytest.importorskip("openpyxl")
    own = pd.DataFrame({"sex": ["f", "NA", None], "age": [1, 2, 3], 2019: [1.5, None, 2.5]})
    own.to_excel("in.xlsx", index=False)
    assert read("in.xlsx").to_dict(as_series=False) == {
        "sex": ["f", "NA", None],
        "age": [1, 2, 3],
        "2019": [1.5, None, 2.5],
    }
    pd.DataFrame([["a", "a"], [1, 2]]).to_excel("twice.xlsx", index=False, header=False)
    with pytest.raises(ArgumentError, match="of columns 1 and 2"):
        read("twice.xlsx")
    for odd in ([1, "x"], [True, 1]):
        pd.DataFrame({"a": odd}).to_excel("mixed.xlsx", index=False)
        with pytest.raises(TableFileError, match="the column 'a' must be of one type"):
            read("mixed.xlsx")
    texts = {"code": ["1", "01", "1.0"], "said": ["TRUE", "true", "True"]}
    days = {"day": [datetime.datetime(2026, 1, 1)] * 3, "none": [None] * 3, "yes": [True, None, False]}
    pd.DataFrame(texts | days).to_excel("texts.xlsx", index=False)
    found = read("texts.xlsx")
    assert found.to_dict(as_series=False) == texts | days
    assert found["none"].dtype == pl.Float64


@pytest.mark.parametrize(("name", "package"), [("in.xlsx", "openpyxl"), ("in.sav", "pyreadstat")])
def test_a_reader_that_is_not_installed(monkeypatch, name, package):
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    Path(name).touch()
    ends(run("release", name, "out.csv", *ASKED), 2, f"pip install {package}")


def test_a_file_that_zstd_packed():
    write("in.csv")
    with pa.output_stream("in.csv.zst", compression="zstd") as file:
        file.write(Path("in.csv").read_bytes())
    assert read("in.csv.zst").equals(read("in.csv"))
    packed = Path("in.csv.zst").read_bytes()
    Path("cut.csv.zst").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(TableFileError, match="in the format of zstd"):
        read("cut.csv.zst")


@pytest.mark.parametrize(
    ("option", "word"),
    [
        (("--separator", "ab"), "separator must be one character"),
        (("--separator", "a"), "separator must be one character"),
        (("--separator", "§"), "separator must be one character"),
        (("--decimal", ";"), "decimal must be one of"),
        (("--decimal", ","), "decimal must be another mark than separator"),
        (("--decimal", ",", "--thousands", ",", "--separator", ";"), "decimal must be another mark than thousands"),
        (("--encoding", "klingon"), "encoding must be one that Python knows"),
        (("--comment", " "), "comment must be what a line begins with"),
    ],
)
def test_marks_that_are_none(option, word):
    write("in.csv")
    ends(run("release", "in.csv", "out.csv", *ASKED, *option), 2, word)
    assert not Path("out.csv").exists()


def test_a_release_is_not_compressed_and_what_is_not_packed_is_said():
    write("in.csv")
    ends(run("release", "in.csv", "out.csv.gz", *ASKED), 2, "not compressed")
    assert not list(Path().glob("out*"))
    Path("in.csv").rename("in.csv.gz")
    ends(run("release", "in.csv.gz", "out.csv", *ASKED), 3, "format of gzip")


def test_no_csv_file_holds_lists(tmp_path):
    rng = np.random.default_rng(0)
    lists = [[[1], [], [None]][k] for k in rng.integers(0, 3, 400)]
    pl.DataFrame({"sex": rng.choice(["f", "m"], 400), "a": lists}).write_ipc(tmp_path / "in.arrow")
    for named in (("--public", "a"), ("--mechanism", "sequential")):
        words = ("release", "in.arrow", "out.csv", "--secret", "sex", *named, "--epsilon", "1")
        ends(run(*words, "--ledger", "book.jsonl"), 3, "the column 'a' must be of numbers, text, booleans or times")
        assert [path.name for path in tmp_path.iterdir()] == ["in.arrow"]
    assert run("release", "in.arrow", "out.arrow", "--secret", "sex", "--public", "a", "--epsilon", "1").code == 0
    assert pl.read_ipc("out.arrow").schema["a"] == pl.List(pl.Int64)


@pytest.mark.parametrize(("index", "level"), [(None, "__index_level_0__"), ("person", "person")])
def test_an_index_that_pandas_has_stored_is_no_column_to_release(index, level):
    own = table().sample(frac=1, random_state=0).rename_axis(index)
    own.to_parquet("in.parquet")
    write_feather(pa.Table.from_pandas(own), "in.arrow")
    Path("in").mkdir()
    own.to_parquet("in/a.parquet")
    for name in ("in.parquet", "in.arrow", "in"):
        for verb in (("release", name, "out.csv"), ("compare", name)):
            ends(run(*verb, "--secret", "sex", "--epsilon", "1"), 2, "an index of pandas", repr(level), "index=False")
    assert run("release", "in.parquet", "out.csv", "--secret", "sex", "--public", "age", "--epsilon", "1").code == 0
    unit = ("--unit", level, "--unit-rows", "independent")
    assert run("release", "in.parquet", "unit.csv", "--secret", "sex", *unit, "--epsilon", "1").code == 0
    own.to_parquet("in.parquet", index=False)
    assert run("release", "in.parquet", "all.csv", "--secret", "sex", "--epsilon", "1").code == 0
