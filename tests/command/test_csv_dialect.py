"""How CSV files are written: separators, marks in numbers, lines of names, texts for missing values."""

import gzip
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from command_line import ends, run
from csv_tables import ASKED, ROWS, table
from test_command_csv import CODED, here, texts  # noqa: F401 - an autouse fixture

import puffer_frames
from puffer_frames.frames.csv_dialect import Dialect
from puffer_frames.frames.csv_texts import TextRoles
from puffer_frames.frames.files import read_rows


def test_files_that_are_written_otherwise():
    """The same rows are read however the file is written, and the errors on the way say how."""
    own = table(pay=(np.arange(ROWS) * 7 % 3000 / 2 + 1000), town=["Orléans", "Nîmes"] * (ROWS // 2))
    own.to_csv("plain.csv", index=False)
    words = ("--secret", "sex", "--public", "pay,age", "--keep", "town", "--epsilon", "1", "--mechanism", "noise")
    marks = own.assign(pay=[f"{pay:,.1f}".translate(str.maketrans(",.", ".,")) for pay in own["pay"]])
    text = "# written elsewhere\n" + marks.to_csv(index=False, sep=";")
    packed = gzip.compress(text.encode("latin-1"))
    Path("other.csv.gz").write_bytes(packed)
    options = []
    for hint, option in (("--encoding", ("--encoding", "latin-1")), ("--comment", ("--comment", "#"))):
        ends(run("release", "other.csv.gz", "other.csv", *words, *options), 3, hint)
        options += option
    done = run("release", "other.csv.gz", "labels.csv", *words, *options)
    assert (done.code, "read with ';' between its fields" in done.err) == (0, True)
    options += ("--separator", ";")
    done = run("release", "other.csv.gz", "labels.csv", *words, *options, "--overwrite")
    assert (done.code, "between its fields" in done.err, "text that looks like numbers" in done.err) == (0, False, True)
    options += ("--decimal", ",", "--thousands", ".")
    assert run("release", "other.csv.gz", "other.csv", *words, *options).code == 0
    assert texts("other.csv")["town"].tolist() == own["town"].tolist()
    roles = TextRoles(exact=("sex", "town"), public=("pay", "age"))
    dialect = Dialect.of({name[2:]: mark for name, mark in zip(options[::2], options[1::2], strict=True)})
    plain, read = (
        read_rows(Path(name), schema={}, streaming=False, roles=roles, dialect=how)
        for name, how in (("plain.csv", Dialect()), ("other.csv.gz", dialect))
    )
    assert read.equals(plain)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_only_mark_between_the_names_is_the_separator(mark):
    own = table(town=np.where(np.arange(ROWS) % 2, 'a, "b"', "c"), pay=[f"{k % 9},5" for k in range(ROWS)])
    own.to_csv("in.csv", index=False)
    own.to_csv("other.csv", index=False, sep=mark)
    told = f"is read with {mark!r} between its fields"
    words = (*ASKED, "--keep", "town")
    done = run("release", "other.csv", "out.csv", *words, "--json")
    assert done.code == 0
    assert told in done.err
    assert told in done.found["warnings"][0]["message"]
    assert texts("out.csv")["town"].tolist() == own["town"].tolist()
    ends(run("release", "other.csv", "no.csv", *words, "--separator", ","), 3, "Say --separator")
    assert run("plan", "in.csv", "kept.json", *words[:6]).code == 0
    for asked in (
        ("check", "other.csv", "--plan", "kept.json"),
        ("compare", "other.csv", *words[:6]),
        ("audit", "other.csv", "out.csv"),
        ("plan", "in.csv", "learned.json", *words[:6], "--beliefs", "table:other.csv"),
    ):
        done = run(*asked)
        assert (done.code, done.err.count(told)) == (0, 1), asked
    pd.read_csv("out.csv", dtype=str).to_csv("out.csv", index=False, sep=mark)
    verified = run("verify", "out.csv")
    assert (verified.out.split(": ")[1].startswith("unsigned"), told in verified.err) == (True, True)
    for done in (verified, run("audit", "in.csv", "out.csv")):  # neither has an option for marks of a release
        assert ("Take the file as it was released" in done.err, "Say --separator" in done.err) == (True, False)
    labels = run("release", "other.csv", "labels.csv", *words[:2], "--public", "pay", *words[4:])
    assert ("holds text that looks like numbers" in labels.err, labels.err.count('--decimal ","')) == (
        True,
        1 + (mark == ";"),
    )


@pytest.mark.parametrize(
    ("lines", "warned"),
    [
        (["39,State-gov,Male", "50,Private,Male", "28,State-gov,Female"], True),
        (["5.1,3.5,4.2", "6.0,2.9,4.9", "4.8,3.9,1.0"], True),
        (["age,work,sex", "50,Private,Male", "28,State-gov,Female"], False),
        (["land,2019,2021", "Peru,2000,3000", "Chile,2050,1000"], False),
        (["0,1,2", "1,2,0", "0,1,2"], False),  # as pandas names columns
        (["x,y,1022,7157", "a,b,0,1", "x,c,1,0"], False),  # numbers of products
    ],
)
def test_a_first_line_like_the_others_is_warned_of(lines, warned):
    """It was read as names, and nothing was said."""
    Path("in.csv").write_text("\n".join(lines))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_rows(Path("in.csv"), schema={}, streaming=False)
    assert [str(each.message).partition("\n")[0] for each in caught] == [
        "the input 'in.csv' has a first line like those below it, which is read as the names of the columns, and not "
        "as a row."
    ] * warned


def test_a_first_line_that_is_one_name_is_not_split():
    Path("in.csv").write_text("a;b\nx;y\n")
    roles = TextRoles(exact=("a;b",))
    assert read_rows(Path("in.csv"), schema={}, streaming=False, roles=roles).columns == ["a;b"]


def test_a_point_is_no_decimal_mark_beside_a_decimal_comma():
    """Without --thousands 1.000 was 1, beside 999,5; with it 1.23 stayed 1.23."""
    for texts_, more, read_as in (
        (["999,5", "1.000"], {}, None),
        (["1.23", "999,5"], {"thousands": "."}, None),
        (["1.000,5", "1.000", ".", "-,5"], {"thousands": "."}, [1000.5, 1000, None, -0.5]),
    ):
        Path("in.csv").write_text("pay;x\n" + "".join(f"{text};1\n" for text in texts_))
        dialect = Dialect(separator=";", decimal=",", **more)
        with warnings.catch_warnings(action="ignore"):
            found = read_rows(
                Path("in.csv"), schema={}, streaming=False, roles=TextRoles(public=("pay",)), dialect=dialect
            )
        assert found["pay"].to_list() == (read_as or texts_)


def test_decimal_commas_between_quotation_marks():
    """The hint was to say --separator, and with it the same hint came again."""
    table(pay=[f"{k},5" for k in np.random.default_rng(0).integers(9, size=ROWS)]).to_csv("in.csv", index=False)
    words = ("release", "in.csv", "out.csv", "--secret", "sex", "--public", "pay", "--epsilon", "1", "--decimal", ",")
    ends(run(*words), 2, 'Say --separator, too; --separator "," where such numbers stand between quotation marks.')
    assert run(*words, "--separator", ",").code == 0
    assert abs(texts("out.csv")["pay"].astype(float).mean() - 4.5) < 3
    Path("in.csv").write_text(Path("in.csv").read_text().replace('"', ""))
    ends(run(*words, "--separator", ",", "--overwrite"), 3, "fields")


def test_decimals_that_another_mark_makes_labels_are_warned_of():
    table(pay=[f"0.{k % 9}" for k in range(ROWS)]).to_csv("in.csv", index=False, sep=";")
    words = ("release", "in.csv", "out.csv", "--secret", "sex", "--public", "pay", "--epsilon", "1", "--separator", ";")
    ends(run(*words, "--thousands", "."), 0, "holds text that looks like numbers", "no --thousands or --decimal")


@pytest.mark.parametrize("mark", ".,")
def test_points_that_look_as_if_they_were_between_thousands(mark):
    """840, 1.590 and 4.089 were 840, 1.59 and 4.089."""
    pay = np.random.default_rng(0).integers(500, 2500, ROWS)
    words = ("--secret", "sex", "--public", "pay", "--epsilon", "1", "--separator", ";")
    words += ("--decimal", ",") * (mark == ",")
    for texts_, warned in (
        ([f"{number:,}".replace(",", mark) for number in pay], True),
        ([f"{number / 1000:.3f}".replace(".", mark) for number in pay], False),  # of one unit or another
        ([str(number / 1000).replace(".", mark) if number % 3 else "2" for number in pay], False),
        ([str(number) if number % 3 else "1.590".replace(".", mark) for number in pay], False),
    ):
        table(pay=texts_).to_csv("in.csv", index=False, sep=";")
        done = run("plan", "in.csv", "plan.json", *words, "--allow-zero-noise", "--overwrite")
        assert ("as where" in done.err) == warned, done.err
        if warned:
            hint = re.search(r"Say (--thousands .*) if it stands there, and (--schema \S+) if not", done.err)
            assert "as where" not in run("plan", "in.csv", "typed.json", *words, *hint[2].split()).err
            mended = [*words[:8], *hint[1].replace('"', "").split()]
            assert run("release", "in.csv", "out.csv", *mended, "--round").code == 0
            assert abs(texts("out.csv")["pay"].astype(float).mean() - pay.mean()) < 200


def test_texts_that_stand_for_a_missing_value():
    own = table(pay=np.arange(ROWS) % 50 + 100, code=["99", "1"] * (ROWS // 2))
    own.loc[:9, "pay"] = 9999
    own.to_csv("in.csv", index=False)
    words = ("--secret", "sex", "--public", "pay", "--keep", "code", "--epsilon", "1", "--nulls", "drop")
    assert run("release", "in.csv", "out.csv", *words, "--null-values", "pay=9999").code == 0
    assert len(texts("out.csv")) == ROWS - 10
    assert set(texts("out.csv")["code"]) == {"99", "1"}
    assert run("plan", "in.csv", "kept.json", *words[:4], *words[6:], "--null-values", "pay=9999").code == 0
    for asked in (words, ("--plan", "kept.json", "--keep", "code")):  # kept columns are as they were
        assert run("release", "in.csv", "kept.csv", *asked, "--null-values", "1,pay=9999", "--overwrite").code == 0
        assert set(texts("kept.csv")["code"]) == {"99", "1"}
        refused = run("release", "in.csv", "no.csv", *asked, "--null-values", "code=1")
        ends(refused, 2, "must be codes of secret, public, given and unit columns; got some of 'code'")
    pl.read_csv("in.csv").write_parquet("in.parquet")
    marks = ("--null-values", "pay=9999,pay=9998")
    for name in ("in.csv", "in.parquet"):  # as the argument of Python, and the plan keeps them
        ends(
            run("plan", name, f"{name}.json", *words[:4], *words[6:], *marks),
            0,
            "'pay' name codes that are in no row: 9998",
        )
        assert puffer_frames.load_plan(f"{name}.json").fitted.request.null_values == {"pay": (9999, 9998)}
        out = (f"by_plan.{name}", "--plan", f"{name}.json")
        assert run("release", "in.csv", *out).code == run("release", "in.parquet", *out, "--overwrite").code == 0
    assert "pay (2 codes)" in run("show", "by_plan.in.parquet").out
    for option, word in (("NA", "of a column"), ("pay=many", "of the type of its column")):
        ends(run("release", "in.parquet", "no.csv", *words, "--null-values", option), 2, word)
    ends(run("release", "in.parquet", "no.csv", "--plan", "in.csv.json", *marks), 2, "left out with --plan")
    assert run("release", "in.csv", "mixed.csv", *words, "--null-values", "pay=none,pay=9999").code == 0
    ends(
        run("release", "in.csv", "no.csv", *words, "--null-values", "pay=-9,5"),
        2,
        "a number after the code of a column",
    )
    ends(run("release", "in.csv", "no.csv", *words, "--null-values", "wage=9999"), 2, "wage")
