"""CSV files: what the texts of a column become, by what it is for, and what is said of files that cannot be read."""

import datetime
import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import ends, run
from conftest import few
from csv_tables import ASKED, ROWS, draws, read, table, write

import puffer_frames
from puffer_frames import Layout
from puffer_frames.errors import ColumnTypeError, TableFileError
from puffer_frames.frames.csv_dialect import Dialect
from puffer_frames.frames.csv_texts import TextRoles, what_is_wrong
from puffer_frames.frames.files import read_rows

CODED = ("--secret", "code", "--public", "age", "--epsilon", "1")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def texts(name):
    return pd.read_csv(name, dtype=str, keep_default_na=False)


@few(17, rest="apart")
@pytest.mark.parametrize(
    "column",
    [
        ["02116", "94110"],
        ["05112025", "11022025"],
        ["1.50", "2.25"],
        ["1", "1.5"],
        ["1e3", "1000"],
        ["+5", "5"],
        ["TRUE", "true"],
        ["True", "False"],
        ["-0", "0"],
        ["12345678901234567890", "1"],
        ["1" * 60, "2"],
        ["1", "2"],
        ["1.5", "2.0"],
        ["true", "false"],
        ["1", ""],
        ["007", ""],
    ],
)
@pytest.mark.parametrize("role", ["keep", "given"])
def test_what_is_released_as_it_is_has_the_texts_of_the_file(column, role):
    given = write("in.csv", code=draws().choice(column, ROWS))
    if role == "given" and ("" in column or "2.0" in column):
        return  # no label of a stratum
    assert run("release", "in.csv", "out.csv", *ASKED, f"--{role}", "code").code == 0
    assert texts("out.csv").code.tolist() == given.code.tolist()
    assert run("verify", "out.csv").code == 0


@pytest.mark.parametrize(
    ("column", "secrets"),
    [
        (["1", "01", "2"], ["01", "1", "2"]),
        (["1.0", "1", "2"], ["1", "1.0", "2"]),
        (["+5", "5"], ["+5", "5"]),
        (["true", "TRUE"], ["TRUE", "true"]),
        (["1e3", "1000"], ["1000", "1e3"]),
        (["-0.0", "0.0"], ["-0.0", "0.0"]),
        (["inf", "1.0", "2.0"], ["1.0", "2.0", "inf"]),
        (["1", "2"], [1, 2]),
        (["true", "false"], [False, True]),
    ],
)
def test_texts_of_the_secret_that_differ_are_different_secrets(column, secrets):
    code = draws().choice(column, ROWS)
    given = write("in.csv", code=code, age=table().age + 15 * (code == column[1]))
    done = run("release", "in.csv", "out.csv", *CODED, "--json")
    found = done.found["certificate"]
    assert found["secret_values"] == secrets
    of_texts = given.puffer.calibrate(secret="code", public="age", epsilon=1)  # every text is a secret of pandas
    assert found["scales"]["age"] == of_texts.scale


APART = {
    "Int64": (["1", "2"], ["+1", "01", " 1", "1.0"]),
    "Float64": (["1.0", "2.5"], ["1", "2.50", "1e0"]),
    "Decimal": (["1.0", "2.5"], ["1", "2.50"]),
    "Boolean": (["true", "false"], ["True", "FALSE"]),
    "Date": (["2026-01-31", "2026-02-01"], ["2026-1-31", "2026/01/31"]),
    "Datetime": (["2026-01-31 10:00:00", "2026-02-01"], ["2026-01-31T10:00:00", "2026-02-01 00:00"]),
    "String": (["1", "+1", "01"], []),
    "Categorical": (["1", "+1", "01"], []),
}


@few(3, rest="apart")
@pytest.mark.parametrize("dtype", APART)
def test_no_type_of_the_schema_merges_texts_that_are_kept_apart(dtype):
    held, others = APART[dtype]
    typed = ("--schema", f"code={dtype}", "--overwrite")
    for more in (CODED, (*ASKED, "--keep", "code"), (*ASKED, "--given", "code")):
        write("in.csv", code=draws().choice(held, ROWS))
        if "--keep" in more or dtype in ("Int64", "Boolean", "String"):  # others are no secrets
            done = ends(run("release", "in.csv", "out.parquet", *more, *typed, "--json"), 0)
            assert more != CODED or len(done.found["certificate"]["secret_values"]) == len(held)
        for text in others:
            write("in.csv", code=[text, *draws().choice(held, ROWS - 1)])
            done = run("release", "in.csv", "out.parquet", *more, *typed)
            assert (done.code, "the column 'code' must be of the type" in done.err) == (4, True), text
    if dtype in ("Int64", "Boolean"):
        write("in.csv", code=draws().choice(held, ROWS))
        assert run("plan", "in.csv", "plan.json", *CODED, *typed).code == 0
        write("in.csv", code=[others[0], *draws().choice(held, ROWS - 1)])
        asked = ("--plan", "plan.json", "--allow-other-frame", "--allow-drift")
        ends(run("release", "in.csv", "out.parquet", *asked, *typed), 4, "with one that this type would change")


def test_texts_of_numbers_that_floats_hold_as_one():
    write("in.csv", code=draws().choice(["-0.0", "0.0"], ROWS))
    ends(run("release", "in.csv", "out.csv", *CODED, "--schema", "code=Float64"), 4, "would change")
    write("in.csv", age=draws().choice(["1", "01", "+2.0"], ROWS))  # of public numbers the number is protected
    ends(run("plan", "in.csv", "plan.json", *ASKED, "--schema", "age=Float64"), 0)


def test_the_type_of_the_schema_decides():
    write("in.csv", code=draws().choice(["1", "01", "2"], ROWS))
    done = run("release", "in.csv", "more.csv", *CODED, "--schema", "code=String", "--json")
    assert done.found["certificate"]["secret_values"] == ["01", "1", "2"]
    assert not done.err
    assert "2 texts for 1 number" not in run("release", "in.csv", "other.csv", *ASKED, "--keep", "code").err
    assert "2 numbers as 3 texts" in run("release", "in.csv", "third.csv", *CODED).err


@pytest.mark.parametrize(
    ("texts", "said", "hint"),
    [
        (["123456789012345678901234567890", "123456789012345678901234567891"], "", ""),
        (["9007199254740993", "9007199254740992", "+9007199254740992"], "2 numbers as 3 texts", "Write each in one"),
        (["1", "1.0", "2.5"], "2 numbers as 3 texts", "Write each in one way"),
        (["9007199254740993.0", "9007199254740992", "+9007199254740992"], "2 numbers as 3 texts", "Write each in one"),
        (["1", "01", "x"], "1 number as 2 texts", "Write each in one way"),
    ],
)
def test_numbers_that_are_written_in_two_ways(texts, said, hint):
    """Numbers beyond 2^53 are compared as they are written."""
    write("in.csv", code=draws().choice(texts, ROWS))
    done = ends(run("release", "in.csv", "out.csv", *CODED), 0, said, hint)
    assert said or "texts for" not in done.err


def test_a_column_of_the_schema_that_is_not_there():
    write("in.csv")
    ends(run("release", "in.csv", "out.csv", *ASKED, "--schema", "aeg=Int64"), 2, "Did you mean 'age'?")


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (["1.50", "2", "3.0"], pl.Float64),
        (["+1", "2"], pl.Int64),
        (["1e2", "2.5"], pl.Float64),
        (["12345678901234567890", "1"], pl.Int128),
        (["True", "false"], pl.Boolean),
        (["1", ""], pl.Int64),
        (["", ""], pl.String),
        (["1", "x"], pl.String),
    ],
)
def test_public_columns_are_numbers_however_they_are_written(tmp_path, column, dtype):
    pd.DataFrame({"x": column, "y": 0}).to_csv("in.csv", index=False)
    roles = TextRoles(public=("x",), alone=True)
    found = read_rows(tmp_path / "in.csv", schema={}, streaming=False, roles=roles)
    assert found.schema == {"x": dtype, "y": pl.Null}  # of the other column the name is needed


def test_numbers_are_those_of_python(tmp_path):
    rng = draws()
    values = (rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000)).tolist()
    (tmp_path / "in.csv").write_text("x\n" + "\n".join(map(repr, values)) + "\n")
    found = read_rows(tmp_path / "in.csv", schema={}, streaming=False)
    assert found["x"].to_list() == values


@pytest.mark.parametrize("mark", ["NA", "?", ".", "N/A", " ? ", "NaN", "<NA>", "None"])
@pytest.mark.parametrize("schema", [(), ("--schema", "age=Int64")])
def test_marks_of_missing_values_among_numbers(mark, schema):
    age = table().age.astype(str).to_numpy(dtype=object)
    age[::20] = mark
    write("in.csv", age=age)
    ends(run("release", "in.csv", "out.csv", *ASKED, *schema), 4, "20 rows", "--nulls drop")
    ends(run("release", "in.csv", "out.csv", *ASKED, *schema, "--nulls", "drop"), 0)
    assert pd.read_csv("out.csv").age.dtype == float
    assert len(pd.read_csv("out.csv")) == ROWS - 20


def test_a_release_whose_numbers_are_written_otherwise():
    table(code=np.random.default_rng(1).choice([1e-7, 2.5], ROWS)).to_parquet("in.parquet")
    assert run("release", "in.parquet", "out.csv", *ASKED, "--keep", "code").code == 0
    found = texts("out.csv")
    found.assign(code=found.code.map({"1e-7": "1e-07", "2.5": "2.50"})).to_csv("out.csv", index=False)
    assert run("verify", "out.csv").code == 0
    found.assign(code=found.code.str.replace("2.5", "2.6")).to_csv("out.csv", index=False)
    assert run("verify", "out.csv").code == 1


def test_other_texts_do_not_fit_a_type():
    age = table().age.astype(str).to_numpy(dtype=object)
    age[:3] = ["?", "old-4711", "older-4711"]
    write("in.csv", age=age)
    done = run("release", "in.csv", "out.csv", *ASKED, "--schema", "age=Int64", "--nulls", "drop")
    assert (done.code, "2 rows with another text" in done.err, "4711" in done.err) == (4, True, False)


def test_a_secret_with_a_mark_of_a_missing_value():
    write("in.csv", code=draws().choice(["a", "b", "?"], ROWS))
    ends(run("release", "in.csv", "out.csv", *CODED), 0, "'?' in")


def test_lines_that_end_in_a_comma(tmp_path):
    """The hint was to drop all rows."""
    write("in.csv")
    text = (tmp_path / "in.csv").read_text()
    (tmp_path / "in.csv").write_text(text.replace("\n", ",\n"))
    ends(run("plan", "in.csv", "plan.json", *ASKED[:2], "--epsilon", "1"), 4, "name the others in public")
    assert run("plan", "in.csv", "plan.json", *ASKED).code == 0


def test_public_codes_with_zeros():
    write("in.csv", age=["007", "12"] * (ROWS // 2))
    done = run("plan", "in.csv", "plan.json", *ASKED, "--allow-zero-noise")
    assert f"{ROWS // 2} rows with a leading zero" in done.err
    assert "--schema age=String" in done.err


def test_a_plan_decides_the_types_of_later_files():
    rng = draws()
    code = rng.choice(["1", "2"], ROWS)
    write("numbers.csv", code=code)
    write("zeros.csv", code=np.where(code == "1", "01", "2"))
    write("short.csv", code=["2"] * ROWS)
    assert run("plan", "numbers.csv", "numbers.json", *CODED).code == 0
    assert run("plan", "zeros.csv", "zeros.json", *CODED).code == 0
    batch = ("--allow-other-frame", "--allow-drift")
    ends(run("release", "zeros.csv", "out.csv", "--plan", "numbers.json", *batch), 4, "as in the plan")
    assert "secret '1' of code" in run("check", "numbers.csv", "--plan", "zeros.json").out
    assert run("release", "short.csv", "out.csv", "--plan", "zeros.json", *batch).code == 0
    write("labels.csv", age=rng.choice(["1", "2", "x"], ROWS))
    write("later.csv", age=rng.choice(["1", "2"], ROWS))
    assert run("plan", "labels.csv", "labels.json", *ASKED).code == 0
    assert run("release", "later.csv", "later_out.csv", "--plan", "labels.json", *batch).code == 0
    assert set(texts("later_out.csv").age) <= {"1", "2", "x"}


def test_the_table_of_a_belief_has_the_types_of_the_table():
    code = draws().choice(["1", "01"], ROWS)
    write("in.csv", code=code)
    write("last.csv", code=np.where(code == "1", "1", "2"))
    assert run("plan", "in.csv", "plan.json", *CODED, "--beliefs", "fitted,table:in.csv").code == 0
    ends(run("plan", "in.csv", "other.json", *CODED, "--beliefs", "fitted,table:last.csv"), 2, "'01'")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("sex,age\nMädchen,3\n".encode("latin-1"), "first in line 2"),
        ("söx,age\nf,3\n".encode("latin-1"), "first in line 1"),
        ("sex,age\nf,3\n".encode("utf-16"), "UTF-16"),
        ("sex,age\nf,3\n".encode("utf-16-le"), "UTF-16"),
        (b"", "an empty file"),
        (b"\n\n", "an empty file"),
        (b"sex,age\n", "a first line with names alone"),
        (b"# survey\nsex,age\nf,3\n", "looks like a comment"),
        (b"sex,age\nf,3\nf,4,5\n", "3 fields in line 3"),
        (b"sex,age\n" + b"f,3\nm,4\n" * 99 + b"f", "1 field in line 200"),  # cut off
        (b"sex,age,note\n" + b"f,3,\nm,4,\n" * 99 + b"f,3\n", "2 fields in line 200"),
        (b"sex,age,note\nf,3\n" + b"f,3,x\nm,4,x\n" * 99, "2 fields in line 2"),
        (b"sex;age\n", "one column, with ';' in its name"),  # nothing confirms it
        (b"sex;age|town\nf;3|x\n", "one column, with ';' in its name"),
        (b"sex;age\nf;3\nm;4;\n", "one column, with ';' in its name"),
        (b'sex;"age"\n"f";3\nm\n', "one column, with ';' in its name"),
        (b'"sex;age"\nf;3\nm;4\n', "one column, with ';' in its name"),
        (b'sex,age\nf,"3\nm,4\n', "a CSV file whose values fit"),
    ],
)
def test_files_that_are_no_table(tmp_path, content, said):
    (tmp_path / "in.csv").write_bytes(content)
    done = run("release", "in.csv", "out.csv", *ASKED)
    empty = said == "a first line with names alone"
    assert (done.code, said in done.err) == (4 if empty else 3, True), done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]
    assert run("release", "in.csv", "out.csv", *ASKED, "--json").found["error"]["kind"] == (
        "PriorError" if empty else "TableFileError"
    )


def test_a_file_with_nothing_wrong(tmp_path):
    write("in.csv")
    assert what_is_wrong(tmp_path / "in.csv") is None
    text = (tmp_path / "in.csv").read_text()
    more = [f"{line},{'note' if k == 0 else ''}" for k, line in enumerate(text.splitlines())]
    (tmp_path / "more.csv").write_text("\n".join(more))  # empty last fields, and no end of the last line
    assert run("release", "more.csv", "out.csv", *ASKED, "--overwrite").code == 0
    (tmp_path / "out.csv").unlink()
    (tmp_path / "out.csv.certificate.json").unlink()
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "in.csv").read_bytes())
    assert run("release", "in.csv", "out.csv", *ASKED).code == 0


@pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.arrow", "parts"])
def test_two_columns_of_one_name(tmp_path, name):
    given = table()
    arrow = pa.Table.from_arrays([pa.array(given[c]) for c in ("sex", "age", "age")], names=["sex", "age", "age"])
    (tmp_path / "parts").mkdir()
    if name == "in.csv":
        (tmp_path / name).write_text("sex,age,age\n" + "f,1,2\nm,2,3\n" * 9)
    elif name == "in.arrow":
        with pa.ipc.new_file(name, arrow.schema) as writer:
            writer.write_table(arrow)
    else:
        pq.write_table(arrow, f"{name}/0.parquet" if name == "parts" else name)
    ends(run("release", name, "out.parquet", *ASKED), 2, "one name twice, of columns 2 and 3")


NESTED = {
    "list": pa.array([["a", "b"]] * ROWS),
    "struct": pa.array([{"x": 1}] * ROWS),
    "binary": pa.array([b"\xff"] * ROWS),
    "duration": pa.array([datetime.timedelta(seconds=5)] * ROWS),
}


@pytest.mark.parametrize("kind", NESTED)
def test_columns_that_csv_cannot_hold(tmp_path, kind):
    given = table()
    pq.write_table(pa.table({"sex": given.sex, "age": given.age, "answers": NESTED[kind]}), "in.parquet")
    book = ("--ledger", "book.jsonl", "--about", "dataset=d")
    ends(run("release", "in.parquet", "out.csv", *ASKED, "--keep", "answers", *book), 3, "'answers'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]
    assert run("release", "in.parquet", "out.parquet", *ASKED, "--keep", "answers").code == 0


def test_times_beyond_the_calendar(tmp_path, capfd):
    given = table()
    seen = pl.Series([9 * 10**18, *[0] * (ROWS - 1)], dtype=pl.Datetime("us"))
    frame = pl.DataFrame({"sex": given.sex.to_list(), "age": given.age.to_list(), "seen": seen})
    frame.write_parquet("in.parquet")
    done = run("release", "in.parquet", "out.csv", *ASKED, "--keep", "seen", "--json")
    assert (done.code, done.found["error"]["what"]) == (3, "the column 'seen'")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]
    capfd.readouterr()
    released = frame.puffer.privatize(secret="sex", public="age", layout=Layout(keep="seen"), epsilon=1)
    assert puffer_frames.audit(frame, released, level=0.9999999).passed
    assert "panicked" not in capfd.readouterr().err


def test_hints_that_mend_numbers_with_marks():
    values = table().age * 37
    for marked in (
        values.map("{:,}".format),
        values.map("${}".format),
        values.map(" {}".format),
        values.map("{}%".format),
    ):
        found = pd.to_numeric(marked.str.replace(r"[^0-9.eE-]", "", regex=True), errors="coerce")
        assert found.tolist() == values.tolist()
    assert pd.read_csv(io.StringIO("x\n" + '"1,5"\n'), decimal=",").x.tolist() == [1.5]


@pytest.mark.parametrize("left_out", [(), ("--public", "rest")])
def test_without_public_every_other_column_is_released(left_out):
    """As if they were named: texts of numbers are numbers, however they are written, and kept ones stay texts."""
    write("in.csv", wage=["1e3", "2000.0"] * (ROWS // 2), code=["01", "2"] * (ROWS // 2))
    asked = ("--secret", "sex", "--epsilon", "0.05", "--keep", "code")
    assert run("release", "in.csv", "named.csv", *asked, "--public", "age,wage").code == 0
    done = ends(run("release", "in.csv", "rest.csv", *asked, *left_out), 0)
    assert "age, wage" in done.out
    assert texts("rest.csv")["code"].equals(texts("in.csv")["code"])
    certificates = [puffer_frames.Certificate.load(f"{name}.csv.certificate.json") for name in ("rest", "named")]
    assert certificates[0].scales == certificates[1].scales
    assert run("plan", "in.csv", "plan.json", "--secret", "sex", "--epsilon", "0.05").code == 0
    assert run("compare", "in.csv", "--secret", "sex", "--epsilon", "0.05", "--beliefs", "empirical").code == 0
    assert puffer_frames.load_plan("plan.json").public == ("age", "wage", "code")


MOMENTS = pl.Series(range(10**15, 10**15 + ROWS))


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (pl.Series(range(ROWS)).cast(pl.Decimal(20, 2)), "Decimal"),
        (MOMENTS.cast(pl.Datetime("us", "Asia/Tokyo")), "DatetimeUTC"),
        (MOMENTS.cast(pl.Datetime("us")), "Datetime"),
        ((MOMENTS * 1000 + 7).cast(pl.Datetime("ns", "Asia/Tokyo")), None),
    ],
)
def test_the_schema_of_the_warning_verifies(column, word):
    frame = pl.DataFrame({"sex": draws().choice(["f", "m"], ROWS), "kept": column})
    frame.with_columns(age=pl.Series(draws().integers(20, 60, ROWS)) + 5 * (pl.col("sex") == "f")).write_parquet(
        "in.pq"
    )
    done = ends(
        run("release", "in.pq", "out.csv", "--secret", "sex", "--public", "age", "--epsilon", "1", "--keep", "kept"), 0
    )
    if word is None:
        assert "no --schema brings the values" in done.err
        return
    schema = f"kept={word},age=Float64"
    assert f"verify it with --schema {schema}\n" in done.err
    assert run("verify", "out.csv").code == 1
    assert run("verify", "out.csv", "--schema", schema).code == 0
    assert "as --released-schema age=Float64" in run("audit", "in.pq", "out.csv").out  # no message named it
    assert run("audit", "in.pq", "out.csv", "--released-schema", schema).code == 0
    assert run("report", "out.csv", "page.html").code == 0
    assert "puffer verify out.csv --schema COLUMN=TYPE,..." in Path("page.html").read_text(encoding="utf-8")


def test_every_text_that_was_read_as_missing_is_in_the_certificate():
    """As codes of one column are, so that a ledger does not add up releases with different ones."""
    own = table(pay=(np.arange(ROWS) % 50 + 100).astype(str))
    own.loc[:9, "pay"] = "0102"
    own.loc[10:19, "pay"] = "0101"
    own.to_csv("in.csv", index=False)
    words = ("--secret", "sex", "--public", "pay", "--epsilon", "1", "--nulls", "drop", "--about", "dataset=d")
    words, limit = (*words, "--mechanism", "noise", "--json"), ("--limit", "9")
    for k, marks in enumerate(("0102", "0101", "pay=0101")):
        found = run("release", "in.csv", f"{k}.csv", *words, "--null-values", marks, "--ledger", "book", *limit).found
        if k:
            assert "codes that were read as missing values" in found["error"]["message"]
            continue
        assert found["certificate"]["facts"]["recoded"]
        assert "pay (1 code)" in run("show", f"{k}.csv").out
    planned = run("plan", "in.csv", "plan.json", *words[:8], "--null-values", "pay=0102")
    assert (planned.code, planned.err.count("no row")) == (0, 0)
    by_plan = ("release", "in.csv", "by_plan.csv", "--plan", "plan.json")
    assert "others of 'pay'" in run(*by_plan, "--null-values", "0101").err
    assert run(*by_plan, "--null-values", "pay=0102").code == 0
    later = run("plan", "in.csv", "later.json", *words[:8], "--null-values", "pay=refused")  # of later files
    assert "in no row" in later.err
    assert puffer_frames.load_plan("later.json").fitted.request.null_values == {"pay": ("refused",)}
    assert "pay (1 code)" in run("show", "by_plan.csv").out


def test_a_column_that_is_named_rest():
    """Without --public it was released alone, and all others were left out."""
    table().assign(rest=lambda t: t["age"].astype(float) + draws().integers(0, 9, ROWS)).to_csv("in.csv", index=False)
    words = ("release", "in.csv", "out.csv", "--secret", "sex", "--epsilon", "1", "--mechanism", "noise")
    assert "beside others" in run(*words).err
    assert run(*words, "--public", "rest").code == 0
    assert list(texts("out.csv")) == ["rest"]


def test_a_row_that_is_cut_off_behind_a_long_field():
    Path("in.csv").write_text("sex,age,k\n" + "f,3,x\nm,4,x\n" * 100 + f"f,3,{'x' * 200_000}\nm,5\n")
    assert "2 fields in line 203" in run("release", "in.csv", "out.csv", *ASKED, "--keep", "k").err


def test_a_release_that_is_written_is_a_release():
    """A kept text with NUL was taken for UTF-16 after the file was written: exit code 3, and no second try is due."""
    table(k=["a\0b", None] * (ROWS // 2)).to_parquet("in.parquet")
    done = run("release", "in.parquet", "out.csv", *ASKED, "--keep", "k")
    assert (done.code, run("verify", "out.csv").code) == (0, 0), done.err


def test_an_option_that_nothing_reads_is_an_error():
    table(pay=[-9 if k % 9 == 0 else k % 20 for k in range(ROWS)]).to_parquet("in.parquet")
    release = ("release", "in.parquet", "out.parquet", "--secret", "sex", "--public", "pay", "--epsilon", "1")
    for word in ("--separator=;", "--encoding=latin-1", "--thousands='", "--comment=#", "--password-file=none"):
        ends(run(*release, word), 2, word.partition("=")[0])
    more = ("--nulls", "drop", "--ledger", "book", "--about", "dataset=d", "--mechanism", "noise")
    assert run(*release, *more, "--null-values", "pay=-9").code == 0
    assert run("ledger", "check", "book", "--dataset", "d").code == 2
    assert run("audit", "in.parquet", "out.parquet", "--null-values", "pay=-9", "--level", "0.9999999").code == 0
    assert run("audit", "in.parquet", "out.parquet", "--null-values", "none=1").code == 2


def test_a_text_for_missing_values_in_no_row_is_a_warning():
    table().to_csv("in.csv", index=False)
    for mark in ("-99", "age=-9.50", "NA, -9"):
        ends(
            run("release", "in.csv", "out.csv", *ASKED, "--null-values", mark, "--overwrite"),
            0,
            "texts that are in no row",
        )


def test_nan_is_missing_among_public_numbers():
    for text in ("NaN", "nan", "NA"):
        own = table(pay=[text if k % 9 == 0 else str(k % 7 / 2) for k in range(ROWS)])
        own.to_csv("in.csv", index=False)
        done = run("compare", "in.csv", "--secret", "sex", "--public", "pay", "--nulls", "drop")
        assert "stands for a missing value" in done.err


def test_a_link_leaves_no_certificate_of_another_table():
    """The new certificate was beside the link, and the old one beside the new table."""
    table().to_csv("in.csv", index=False)
    assert run("release", "in.csv", "real.csv", *ASKED).code == 0
    Path("link.csv").symlink_to("real.csv")
    assert "a link to one" in run("release", "in.csv", "link.csv", *ASKED, "--overwrite").err
    assert run("verify", "real.csv").code == 0


def test_files_that_are_called_otherwise(monkeypatch):
    """And one without a line of names, whose first values are no names to print."""
    Path("in.csv").write_bytes(gzip.compress(table().to_csv(index=False).encode()))
    assert "the format gzip" in run("release", "in.csv", "out.csv", *ASKED).err
    Path("in.csv").write_text("7700,7700\n1,2\n")
    assert "7700" not in run("release", "in.csv", "out.csv", *ASKED).err
    Path("folder").mkdir()
    table().to_parquet("folder/0.parquet")
    monkeypatch.chdir("folder")
    assert "one without" in run("verify", ".").err


def test_what_the_names_of_folders_say_is_text_unless_all_are_whole_numbers():
    def write(name, **columns):
        Path(name).parent.mkdir(parents=True)
        pl.DataFrame({"age": [1, 2]} | columns).write_parquet(name)

    for code in ("01", "1", "2"):
        write(f"texts/code={code}/a.parquet")
    assert read("texts")["code"].unique().sort().to_list() == ["01", "1", "2"]
    for code in ("1", "20", "__HIVE_DEFAULT_PARTITION__"):
        write(f"numbers/code={code}/a.parquet")
    assert read("numbers")["code"].unique().sort().to_list() == [None, 1, 20]
    write("twice/code=1/a.parquet", code=["x", "y"])
    with pytest.raises(TableFileError, match="the column 'code' of 'code=1/a"):
        read("twice")
    write("mixed/one/a.parquet", code=["x", "y"])
    write("mixed/two/a.parquet", code=[1, 2])
    with pytest.raises(TableFileError, match="must be in every file of the folder"):
        read("mixed")
    for code in ("a b", "a%20b", "c"):
        write(f"spelled/code={code}/a.parquet")
    with pytest.raises(TableFileError, match="folders of the column 'code' must be of a different value each"):
        read("spelled")
    write("again/1/code=a b/a.parquet")
    write("again/2/code=a b/a.parquet")
    assert read("again")["code"].unique().to_list() == ["a b"]


@pytest.mark.parametrize("public", [("--public", "job"), ()], ids=["named", "rest"])
def test_missing_values_of_a_single_column_are_no_empty_lines(public):
    rng = draws()
    pl.DataFrame(
        {"sex": rng.choice(["f", "m"], ROWS), "job": [["a", None][k] for k in rng.integers(0, 2, ROWS)]}
    ).write_csv("in.csv")
    asked = ("--secret", "sex", *public, "--epsilon", "1", "--nulls", "level", "--mechanism", "channel")
    ends(run("release", "in.csv", "out.csv", *asked), 2, "empty line")
    assert not Path("out.csv").exists()
    assert run("release", "in.csv", "out.parquet", *asked).code == 0
    assert run("plan", "in.csv", "plan.json", *asked).code == 0
    assert run("release", "in.csv", "out.csv", "--plan", "plan.json").code == 2


def test_certificates_name_the_columns_that_are_left_out():
    write("in.csv", who=["a"] * ROWS, number=range(ROWS))
    for more in ((), ("--keep", "number"), ("--row-id", "number", "--shuffle"), ("--null-values", "who=a,number=7")):
        certificate = run("release", "in.csv", "out.csv", *ASKED, *more, "--overwrite", "--json").found["certificate"]
        assert certificate["withheld"] == ["sex", "who", *["number"] * ("--keep" not in more)]
    assert run("plan", "in.csv", "plan.json", *ASKED).code == 0
    certificate = run("release", "in.csv", "out.parquet", "--plan", "plan.json", "--json").found["certificate"]
    assert certificate["withheld"] == ["sex", "who", "number"]
    assert pl.read_parquet("out.parquet").columns == ["age"]


@pytest.mark.parametrize(
    ("dtype", "held", "changed"),
    [
        ("Decimal", ["1.5", "-0.125", ""], ["1e-5", "1." + "1" * 40]),
        ("Date", ["2020-06-05", ""], ["05/06/2020"]),
        (
            "Datetime",
            ["2020-01-31T01:02:03.123456", "2020-01-31 01:02:03.100000000", ""],
            ["2020-01-31 01:02:03.1234567"],
        ),
        ("Datetime", ["2020-01-31 01:02:03"], ["2020-01-31 01:02:03+02:00"]),
        ("DatetimeUTC", ["2020-01-31 01:02:03+02:00"], ["2020-01-31 01:02:03.1234567+02:00"]),
        ("Float64", ["9007199254740992", "0.1", "1e300", "inf", ""], ["9007199254740993", "9007199254740993.0"]),
        ("Time", ["01:02:03.123456", ""], ["01:02:03.123456789"]),
        ("Float32", ["16777216", "0.1"], ["16777217"]),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_type_of_the_schema_changes_no_text(dtype, held, changed, encoding):
    dialect = Dialect(encoding=encoding, separator=";")

    def read_as(own):
        Path("in.csv").write_text("é;x\n" + "".join(f"a;{text}\n" for text in own), encoding=encoding)
        return read_rows(Path("in.csv"), schema={"x": dtype}, streaming=False, dialect=dialect)["x"]

    assert read_as(held).null_count() == held.count("")
    for text in changed:
        with pytest.raises(ColumnTypeError, match="1 row with another text, or with one that this type would change"):
            read_as([text])


def test_names_with_quotation_marks_are_those_of_the_file():
    table(**{'5" days': pd.Series(pd.date_range("2020-01-01", periods=ROWS)).dt.date}).to_csv("in.csv", index=False)
    typed = ("--schema", '5" days=Date')
    assert run("release", "in.csv", "out.csv", *ASKED, "--keep", '5" days', *typed).code == 0
    assert texts("out.csv").columns.tolist() == ["age", '5" days']
    assert run("verify", "out.csv", *typed).code == 0


def test_a_code_of_a_plan_may_be_written_as_a_whole_float():
    own = table(v=[-9.0, 20.0, 31.0, 21.0] * (ROWS // 4))
    own["v"] += own["sex"].eq("f") * (own["v"] > 0)
    own.to_csv("in.csv", index=False)
    assert "-9.0" in Path("in.csv").read_text()
    asked = ("--secret", "sex", "--public", "v", "--epsilon", "1", "--nulls", "drop", "--null-values", "v=-9.0")
    assert run("plan", "in.csv", "plan.json", *asked).code == 0
    assert run("release", "in.csv", "out.parquet", "--plan", "plan.json", "--null-values", "v=-9.0").code == 0
    assert run("release", "in.csv", "other.parquet", "--plan", "plan.json", "--null-values", "v=20.0").code == 2


def test_texts_over_several_lines_and_codes_of_categories():
    own = table(note=["x\ny", "z", "?", "w"] * (ROWS // 4))
    own.to_csv("in.csv", index=False, lineterminator="\r\n")
    asked = ("--secret", "sex", "--public", "note", "--epsilon", "1", "--mechanism", "channel", "--nulls", "drop")
    done = run("release", "in.csv", "out.parquet", *asked, "--schema", "note=Categorical", "--null-values", "?")
    assert (done.code, "in no row" in done.err) == (0, False)
    assert len(pl.read_parquet("out.parquet")) == 3 * (ROWS // 4)


def test_one_line_that_ends_otherwise_hides_nothing():
    Path("in.csv").write_bytes(b"sex,age\n" + b"".join(b"%c,%d\r\n" % (b"fm"[k % 2], k % 5) for k in range(ROWS)))
    assert read("in.csv")["age"].to_list()[:6] == [0, 1, 2, 3, 4, 0]


def test_dates_of_a_file_are_released_as_dates():
    """Those that are written as 2026-01-31 alone: of others the step is named."""
    rng = draws()
    born = [datetime.date(1980, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 400, ROWS)]
    write("a.csv", born=["NA" if k % 50 == 0 else each for k, each in enumerate(born)])
    asked = ("--secret", "sex", "--public", "born", "--epsilon", "1", "--nulls", "drop")
    out = run(
        "release", "a.csv", "b.csv", *asked, "--domain", "born=1950-01-01:2010-12-31", "--clip=1975-01-01:1990-12-31"
    )
    assert out.code == 0
    assert "8 rows with a text that stands for a missing value" in out.err
    assert "--schema" not in out.err.partition("Hint")[2].partition("\n")[2]
    assert run("verify", "b.csv").code == run("verify", "b.csv", "--schema", "born=Date").code == 0
    assert run("audit", "a.csv", "b.csv").code == 0
    released = pl.read_csv("b.csv", try_parse_dates=True)["born"]
    assert (released.dtype, len(released)) == (pl.Date, ROWS - 8)
    assert datetime.date(1975, 1, 1) <= released.min() < released.max() <= datetime.date(1990, 12, 31)
    table(born=born).to_parquet("a.parquet")
    assert run("release", "a.parquet", "b.parquet", *asked).code == 0
    assert pl.read_parquet("b.parquet").schema == {"born": pl.Date}
    write("c.csv", born=[(born[0] + datetime.timedelta(k)).strftime("%d.%m.%Y") for k in range(ROWS)])
    labels = run("release", "c.csv", "labels.csv", *asked)
    assert "text that looks like dates, and is released as labels" in labels.err
    assert "Convert the text to dates first: in pandas pd.to_datetime(frame['born'], format=\"%d.%m.%Y\"" in labels.err
    wrong = run("release", "a.csv", "d.csv", *asked, "--domain", "born=1950-01-01:soon")
    assert "LOW:HIGH" in wrong.err
    assert "or of a column of dates --domain=1950-01-31:1999-12-31" in wrong.err
