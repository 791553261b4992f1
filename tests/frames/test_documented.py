"""The answers of docs/tables.md and docs/certificates.md are those of the library."""

import copy
import io
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import CASES, answer
from conftest import few

from puffer_frames import Layout

# What users do with a release, and what verify answers: the source of docs/certificates.md.

RNG = np.random.default_rng(3)
PEOPLE = {
    name: RNG.permutation(entries * 20).tolist()
    for name, entries in {"group": list("abcabc"), "x": [1, 5, 2, 8, 3, 7], "note": list("pqpqpq")}.items()
}


def parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer) if isinstance(frame, pd.DataFrame) else frame.write_parquet(buffer)
    buffer.seek(0)
    return pd.read_parquet(buffer) if isinstance(frame, pd.DataFrame) else pl.read_parquet(buffer)


def csv(frame):
    if isinstance(frame, pd.DataFrame):
        exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}
        return pd.read_csv(io.StringIO(frame.to_csv(index=False)), **exact)
    return pl.read_csv(io.StringIO(frame.write_csv()))


RAW = PEOPLE["x"]
SMALL = {"note": ["p", "q"], "more": [1, 2]}

USES = {
    "as released": (lambda f: f, lambda f: f),
    "copy": (lambda f: f.copy(), lambda f: f.clone()),
    "deepcopy": (copy.deepcopy, copy.deepcopy),
    "pickle": (lambda f: pickle.loads(pickle.dumps(f)), lambda f: pickle.loads(pickle.dumps(f))),
    "Parquet": (parquet, parquet),
    "CSV": (csv, csv),
    "to the other library": (pl.from_pandas, lambda f: f.to_pandas()),
    "head": (lambda f: f.head(10), lambda f: f.head(10)),
    "sort": (lambda f: f.sort_values("x"), lambda f: f.sort("x")),
    "filter": (lambda f: f[f["x"] > 3], lambda f: f.filter(pl.col("x") > 3)),
    "round": (lambda f: f.round(1), lambda f: f.with_columns(pl.col("x").round(1))),
    "one column": (lambda f: f[["x"]], lambda f: f.select("x")),
    "other column order": (lambda f: f[["note", "x"]], lambda f: f.select("note", "x")),
    "overwrite with raw values": (lambda f: f.assign(x=RAW), lambda f: f.with_columns(pl.Series("x", RAW))),
    "add a raw column": (lambda f: f.assign(raw=RAW), lambda f: f.with_columns(pl.Series("raw", RAW))),
    "merge": (lambda f: f.merge(pd.DataFrame(SMALL), on="note"), lambda f: f.join(pl.DataFrame(SMALL), on="note")),
    "concat with itself": (lambda f: pd.concat([f, f]), lambda f: pl.concat([f, f])),
    "group means": (
        lambda f: f.groupby("note", as_index=False)["x"].mean(),
        lambda f: f.group_by("note").agg(pl.col("x").mean()),
    ),
    "rename": (lambda f: f.rename(columns={"x": "y"}), lambda f: f.rename({"x": "y"})),
}


def release(make):
    return make(PEOPLE).puffer.privatize(secret="group", public="x", epsilon=0.5, layout=Layout(keep="note"), rng=1)


def answers(use):
    """verify() of the result, and whether the certificate is still attached, for pandas and for Polars."""
    rows = []
    for make, change in zip((pd.DataFrame, pl.DataFrame), USES[use], strict=True):
        released = release(make)
        certificate = released.puffer.certificate
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed = change(released)
        rows += [
            certificate.verify(changed).replace("unsigned: cannot be trusted", "matches"),
            "yes" if attached(changed, certificate) else "no",
        ]
    return rows


def attached(frame, certificate):
    try:
        return frame.puffer.certificate == certificate
    except Exception as error:
        return "columns of the certificate" in str(error)


DOCS = Path(__file__).parents[2] / "docs"


HEADS = {"tables.md": "| table |", "certificates.md": "| after |"}
"""How the table of a page begins."""


def rows(name):
    """First cell to the other cells of every row of the page's table."""
    _, _, table = (DOCS / name).read_text(encoding="utf-8").partition(HEADS[name])
    lines = re.findall(r"^\| (.*) \|$", table.partition("\n\n")[0], flags=re.MULTILINE)
    cells = [line.replace("`", "").split(" | ") for line in lines]
    return {first: rest for first, *rest in cells[1:]}


@few(12, rest="apart")
@pytest.mark.parametrize("case", CASES)
def test_table_of_cases(case):
    assert rows("tables.md")[case] == [answer(case)]


@pytest.mark.parametrize("use", USES)
def test_certificate_under_use(use):
    documented, found = rows("certificates.md")[use], answers(use)
    assert documented[::2] == found[::2]
    if pd.__version__ >= "3":  # pandas 2 keeps attrs through fewer operations
        assert documented == found


def test_nothing_else_is_documented():
    assert set(rows("tables.md")) == set(CASES)
    assert set(rows("certificates.md")) == set(USES)
