"""What a file may hold: each writer is another one than the package's reader, and no cell is merged or changed."""

import csv
import datetime
import decimal
import gzip
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from conftest import thinned

from puffer_frames.errors import PufferError
from puffer_frames.frames.files import read_rows

ROWS = 120
TEXTS = {
    "zeros": ["0", "00", "-0", "+0", "0.0", "-0.0"],
    "whole numbers": ["1", "2", "3"],
    "ones": ["1", "01", "+1", "1.0", "1e0", "1."],
    "large numbers": ["9007199254740992", "9007199254740993", "9223372036854775807"],
    "larger numbers": ["9223372036854775807", "9223372036854775808", "18446744073709551616"],
    "large decimals": ["9007199254740992.0", "9007199254740993.0"],
    "decimals": ["1.50", "1.5", "1.500"],
    "numbers in words": ["1e5", "1E5", "100000", "1_000", "1,000", "0x10", "16", "1e400", "2e400"],
    "no numbers": ["NaN", "1.0", "2.0"],
    "no number": ["nan", "NaN", "inf", "Infinity", "-inf"],
    "missing in words": ["NA", "N/A", "null", "NULL", "None", "none", "?", ".", "-", "1"],
    "truth values": ["TRUE", "true", "True", "false", "T", "yes"],
    "two truth values": ["true", "false"],
    "days": ["2020-01-01", "2020-1-1", "01/01/2020", "43831"],
    "moments": ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00+00:00", "2020-01-01 00:00:00.000000001"],
    "blanks": ["a", " a", "\ta", "a\xa0", "\ufeffa", "a\u200b", "a b", "a  b"],
    "blanks behind": ["a", "a ", "1", "1 ", " "],
    "letters": ["é", "e\u0301", "ß", "ss", "SS", "\u212a", "K", "k", "\U0001f600"],
    "marks": ['a"b', "a,b", "a\tb", "'a'", '""', '"', "#a", "=1+1", "\\N", "a\\", "%41"],
    "lines": ["a\nb", "ab", "a\n", "\na", "a"],
    "carriage returns": ["a\rb", "a\r", "\ra", "a\r\nb", "ab"],
    "NUL": ["a\0b", "a\0", "a"],
    "long": ["x" * 32_000 + "a", "x" * 32_000 + "b"],
    "empty": ["", "a", "b"],
}


def comma(path, columns, opened=open, encoding="utf-8"):
    with opened(path, "wt", newline="", encoding=encoding) as file:
        csv.writer(file).writerows([[*columns], *zip(*columns.values(), strict=True)])


def quoted(path, columns):
    """Every text between quotation marks, and nothing for a missing one."""
    rows = [[*columns], *zip(*columns.values(), strict=True)]
    cells = (["" if cell is None else '"{}"'.format(str(cell).replace('"', '""')) for cell in row] for row in rows)
    Path(path).write_bytes("\n".join(map(",".join, cells)).encode())


def arrow(path, columns):
    table = pa.table(columns)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def excel(path, columns):
    book = pytest.importorskip("openpyxl").Workbook()
    for row, cells in enumerate([[*columns], *zip(*columns.values(), strict=True)], 1):
        for place, entry in enumerate(cells, 1):
            cell = book.active.cell(row, place)
            cell.value = entry
            if isinstance(entry, str):
                cell.data_type = "s"  # not a formula
    book.save(path)


def spss(path, columns):
    pytest.importorskip("pyreadstat").write_sav(pd.DataFrame(columns), path)


def same(text):
    return text


FORMATS = {  # the end of a name, who writes it, what it says of a text, and what it cannot hold
    "CSV": ("in.csv", comma, lambda text: text or None, ()),
    "CSV in quotes": ("in.csv", quoted, same, ()),
    "CSV with a mark": ("in.csv", lambda path, own: comma(path, own, encoding="utf-8-sig"), lambda t: t or None, ()),
    "gzip": ("in.csv.gz", lambda path, own: comma(path, own, gzip.open), lambda text: text or None, ()),
    "Parquet": ("in.parquet", lambda path, own: pq.write_table(pa.table(own), path), same, ()),
    "folder": ("in", lambda path, own: pq.write_to_dataset(pa.table(own), path, ["cell"]), same, ("NUL", "long")),
    "Arrow": ("in.feather", arrow, same, ()),
    "Excel": ("in.xlsx", excel, lambda text: (text or "").replace("\r\n", "\n").replace("\r", "\n") or None, ("NUL",)),
    "SPSS": ("in.sav", spss, lambda text: (text or "").rstrip(" ") or None, ("NUL",)),
    "Stata": ("in.dta", lambda path, own: pd.DataFrame(own).to_stata(path, version=118), lambda t: t or None, ("NUL",)),
}


def released(name):
    """The columns of a file, as another reader has them; a missing entry of CSV is an empty text."""
    if name.endswith(".csv"):
        with Path(name).open(newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file)
        return dict(zip(names, zip(*rows, strict=True), strict=True))
    return (pa.ipc.open_file(name).read_all() if name.endswith(".arrow") else pq.read_table(name)).to_pydict()


def spelled(entry):
    """A number or truth value as it was written."""
    return entry if entry is None or isinstance(entry, str) else str(entry).lower().replace("nan", "NaN")


def written(name, cells, write):
    """A table with these cells, by number; the public column depends on them."""
    own = [cells[k % len(cells)] for k in range(ROWS)]
    age = [20 + 7 * k % 30 + 9 * (k % len(cells)) for k in range(ROWS)]
    write(name, {"n": list(range(ROWS)), "cell": own, "age": age, "sex": ["f", "f", "m"] * (ROWS // 3)})
    return own


def asked(secret):
    return ("--secret", secret, "--public", "age", "--epsilon", "0.1", "--quiet")


@pytest.mark.parametrize(("form", "kind"), thinned(FORMATS, TEXTS))
def test_texts_are_those_of_the_file(tmp_path, monkeypatch, form, kind):
    monkeypatch.chdir(tmp_path)
    name, write, says, cannot = FORMATS[form]
    if kind in cannot:
        return
    own = written(name, [*TEXTS[kind], None], write)
    secrets = run("release", name, "secret.csv", *asked("cell"), "--nulls", "drop", "--json").found["certificate"]
    assert {spelled(secret) for secret in secrets["secret_values"]} == {says(cell) for cell in own} - {None}
    for to in ("csv", "parquet", "arrow"):
        assert run("release", name, f"out.{to}", *asked("sex"), "--keep", "cell", "--keep", "n").code == 0
        found = released(f"out.{to}")
        told = [says(own[int(float(n))]) for n in found["n"]]
        assert list(map(spelled, found["cell"])) == ([text or "" for text in told] if to == "csv" else told)


MOMENTS = [1, 2, 1_577_836_800_000_000_001]
TYPED = {
    "whole": pa.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1, -1, None]),
    "unsigned": pa.array([2**53 + 1, 2**63, 2**64 - 1, None], pa.uint64()),
    "whole floats": pa.array([-1.0, 0.0, 2.0**53, 2.0**53 + 2, None]),
    "floats": pa.array([0.1, -0.0, 0.0, 5e-324, float("inf"), None]),
    "truth values": pa.array([True, False, None]),
    "texts": pa.array(["1", "01", "", " ", "NA", None], pa.large_string()),
    "categories": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["b", "a", "b "])),
    "categories of numbers": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array([2**53, 2**53 + 1])),
    "a missing category": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", None, "b"])),
    "decimals": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-0.00"), None]),
    "days": pa.array([0, 1, None], pa.date32()),
    "moments": pa.array([*MOMENTS, None], pa.timestamp("ns")),
    "moments in a zone": pa.array([*MOMENTS, None], pa.timestamp("ns", "Europe/Berlin")),
    "times": pa.array([1000, 2000, None], pa.time64("ns")),
}


@pytest.mark.parametrize(("form", "kind"), thinned(["Parquet", "Arrow"], TYPED))
def test_typed_entries_are_those_of_the_file(tmp_path, monkeypatch, form, kind):
    """As a secret each is one of its own, or its type is refused; in CSV different entries have different texts."""
    monkeypatch.chdir(tmp_path)
    name, write, *_ = FORMATS[form]
    if (form, kind) == ("Parquet", "a missing category"):
        return  # PyArrow does not write it
    different = {str(entry) for entry in TYPED[kind].to_pylist()} - {"None"}
    cells = TYPED[kind].take(pa.array([k % len(TYPED[kind]) for k in range(ROWS)]))
    written(name, range(len(TYPED[kind])), lambda path, columns: write(path, columns | {"cell": cells}))
    secret = run("release", name, "secret.csv", *asked("cell"), "--nulls", "drop", "--json")
    if secret.code:
        assert secret.found["error"]["kind"] == "ColumnTypeError"
    else:
        assert len(secret.found["certificate"]["secret_values"]) == len(different)
    for to in ("csv", "parquet", "arrow"):
        assert run("release", name, f"out.{to}", *asked("sex"), "--keep", "cell", "--keep", "n").code == 0
        found = released(f"out.{to}")
        told = [cells.to_pylist()[int(n)] for n in found["n"]]
        if to == "csv":
            pairs = {(str(entry), text) for entry, text in zip(told, found["cell"], strict=True)}
            texts = {text for entry, text in pairs if entry != "None"}
            assert len(texts) == len(pairs) - 1 == len(different)
        else:
            assert list(map(str, found["cell"])) == list(map(str, told))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k,l\na\r,b\nc,d\n", "one outside of them in line 2"),
        ('k,l\na,b\n"c"\r,d\n', "one outside of them in line 3"),
        ('k,l\n"a\r\nb",c\na,b\nc,d\r\n', "line 5 with another end than those before it"),
        ("k,l\r\na,b\nc,d\r\n", "line 2 with another end than those before it"),
        ("k\ra\rb\r", "one outside of them in line 1"),
        ('k,l\na,b\n"a"b"c",d\n', "another one in the row of line 3"),
        ('k,l\n"a\nb",c\n""a"",d\n', "another one in the row of line 4"),
        ('k,l\na,b\nc,"""d""', "another one in the row of line 3"),
        ('k,l\nx"y"z,"{""a"":""b,""}"\na\rb,d\n', None),
        ('k,l\n"a\r\nb","c\r"\na\rb,d\n', None),
        ('k,l\r\n"a\nb\r","c"\r\na\rb,d\r\n', None),
    ],
)
def test_marks_of_csv(tmp_path, text, said):
    """What would be left out, or may be, is refused, and the line is named; the others stay."""
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode())
    if said is None:
        assert read_rows(path, schema={}, streaming=False).rows()[1] == ("a\rb", "d")
    else:
        with pytest.raises(PufferError, match=said):
            read_rows(path, schema={}, streaming=False)


@pytest.mark.parametrize("cells", [[1, "1"], [True, 1], [1, datetime.timedelta(1)], [2**63, 1], [datetime.time(1), 1]])
def test_entries_of_excel_of_several_types_are_refused(tmp_path, cells):
    excel(tmp_path / "in.xlsx", {"a": cells})
    with pytest.raises(PufferError, match="the column 'a' must be of one type"):
        read_rows(tmp_path / "in.xlsx", schema={}, streaming=False)


@pytest.mark.parametrize("form", ["Parquet", "Excel", "SPSS", "Stata"])
@pytest.mark.parametrize("role", ["secret", "given", "unit"])
def test_codes_that_floats_merge_are_refused(tmp_path, monkeypatch, form, role):
    """Excel, SPSS and Stata hold floats: 2**53 may have been 2**53 + 1."""
    monkeypatch.chdir(tmp_path)
    name, write, _, _ = FORMATS[form]
    more = {"secret": (), "given": ("--secret", "sex"), "unit": ("--secret", "sex", "--unit-rows", "independent")}
    words = ("--" + role, "code", *more[role], "--public", "age", "--epsilon", "1", "--nulls", "drop", "--overwrite")
    no_integers = (form, role) == ("Parquet", "unit")  # floats are none
    for least, refused in ((2.0**53 - 2, False), (2.0**53 - 1, True)):
        codes, sexes = [least, least + 1, None] * (ROWS // 3), ["f", "m", "f"] * (ROWS // 3)
        write(name, {"code": codes, "sex": sexes, "age": [k % 7 + 9.5 * (k % 3) for k in range(ROWS)]})
        found = run("release", name, "out.csv", *words)
        assert found.code == (4 if refused or no_integers else 0), found.err
        assert ("beyond 2**53" in found.err) == (refused and not no_integers)


@pytest.mark.parametrize(
    ("codes", "labels", "missing", "found"),
    [
        ([1.0, 2.0], {1: "a", 2: "b", 3: "b"}, [], ["a", "b"]),
        ([1.0, 2.0, 98.0, 99.0], {1: "a", 2: "b", 98: "no", 99: "no"}, [98, 99], ["a", "b", None, None]),
        ([1.0, 2.0, 99.0], {99: "no answer"}, [99], [1, 2, None]),
        (["x", "y", "z"], {}, ["z"], ["x", "y", None]),
        (["x", "", "y"], {}, [], ["x", None, "y"]),
        (["x", "", "y"], {"x": "a", "y": "b"}, [], ["a", None, "b"]),
        ([1.0, 2.0], {1: "2"}, [], "of one type, and with a label for each"),
        (["1", "2"], {"1": "2"}, [], "of one type, and with a label for each"),
        (["1", "2"], {"1": "a", "2": "a"}, [], "a label of its own for every code"),
    ],
)
def test_labels_of_spss_stand_for_one_code_each(tmp_path, codes, labels, missing, found):
    path, pyreadstat = tmp_path / "in.sav", pytest.importorskip("pyreadstat")
    more = {"variable_value_labels": {"a": labels} if labels else None, "missing_ranges": {"a": missing}}
    pyreadstat.write_sav(pd.DataFrame({"a": codes}), str(path), **more)
    if isinstance(found, list):
        assert read_rows(path, schema={}, streaming=False)["a"].to_list() == found
    else:
        with pytest.raises(PufferError, match=found):
            read_rows(path, schema={}, streaming=False)


@pytest.mark.parametrize(
    ("dtype", "text", "value"),
    [
        ("Date", "2020/01/31", "2020-01-31"),
        ("Date", "2020-1-5", "2020-01-05"),
        ("DatetimeUTC", "2020-01-31 10:00:00+02", "2020-01-31 08:00:00+00:00"),
    ],
)
def test_times_that_are_clear_are_read(tmp_path, dtype, text, value):
    path = tmp_path / "in.csv"
    pd.DataFrame({"x": [text, text]}).to_csv(path, index=False)
    assert str(read_rows(path, schema={"x": dtype}, streaming=False)["x"][0]) == value


@pytest.mark.parametrize("end", ["csv", "arrow", "parquet"])
def test_the_name_of_a_file_is_no_pattern(tmp_path, end):
    """data[1].csv was read as the pattern of data1.csv, and that file was released."""
    for name, first in (("data[1]", 0), ("data1", 1000)):
        frame, path = pl.DataFrame({"age": range(first, first + ROWS)}), tmp_path / f"{name}.{end}"
        {"csv": frame.write_csv, "arrow": frame.write_ipc, "parquet": frame.write_parquet}[end](path)
    found = read_rows(tmp_path / f"data[1].{end}", schema={}, streaming=False)
    assert found["age"].to_list() == list(range(ROWS))
