"""Kept columns enter the fingerprint with their type and all their bits, alike in every library."""

import datetime
import decimal
import hashlib
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import LOCAL_KINDS, build_frame, run, thinned
from kinds import entries, fingerprint, opened
from scipy import sparse
from spark_rows import without_looks

from puffer_frames import Layout, certificate_of, privatize
from puffer_frames.frames.stamps import fingerprint as fingerprint_module

pytestmark = [
    pytest.mark.filterwarnings("ignore::puffer_frames.errors.RowOrderWarning"),
    pytest.mark.filterwarnings("ignore::puffer_frames.errors.KeptColumnWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning"),  # pandas 2.2, of infinities
]  # tables made by hand

ROWS = 40
START = datetime.datetime(2020, 1, 1, 12, 30, 15, 123456)
MOMENTS = [START + datetime.timedelta(hours=k) for k in range(ROWS)]
LARGE = [2**60 + 7 * k for k in range(ROWS)]
DIGITS = [decimal.Decimal(f"12345678901234567.{k:03}") for k in range(ROWS)]
NANOSECONDS = np.datetime64("2020-01-01T00:00:00.000000001", "ns") + np.arange(ROWS)
UTC = [moment.replace(tzinfo=datetime.UTC) for moment in MOMENTS]


def changed(values, place=5, value=None):
    return [value if k == place else entry for k, entry in enumerate(values)]


CHANGES = {
    "whole numbers shifted by 50": (LARGE, [entry + 50 for entry in LARGE]),
    "one whole number by 1": (LARGE, changed(LARGE, value=LARGE[5] + 1)),
    "digit 20 of a decimal": (DIGITS, changed(DIGITS, value=DIGITS[5] + decimal.Decimal("0.001"))),
    "nanoseconds": (NANOSECONDS, NANOSECONDS + np.arange(ROWS) % 2),
    "microseconds": (UTC, changed(UTC, value=UTC[5] + datetime.timedelta(microseconds=1))),
    "no zone": (UTC, MOMENTS),
    "text for numbers": (list(range(ROWS)), [str(k) for k in range(ROWS)]),
    "truth for numbers": ([k % 2 for k in range(ROWS)], [k % 2 == 1 for k in range(ROWS)]),
    "bytes for text": ([str(k) for k in range(ROWS)], [str(k).encode() for k in range(ROWS)]),
    "text for decimals": (DIGITS, [str(entry) for entry in DIGITS]),
    "nothing for empty text": (["", "a"] * 20, changed(["", "a"] * 20, place=4)),
    "a border of text": (["ab", "c"] * 20, ["a", "bc"] * 20),
}


PEOPLE = {"group": ["a", "b"] * 20, "score": [k % 7 for k in range(ROWS)]}
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0, "allow_zero_noise": True}


@pytest.mark.parametrize(("kind", "name"), thinned(LOCAL_KINDS, CHANGES, often=2), indirect=["kind"])
def test_a_changed_kept_column_is_noticed(make_frame, name):
    kept, other = CHANGES[name]
    released = run(privatize(make_frame({**PEOPLE, "more": kept}), **ASKED, layout=Layout(keep="more")))
    certificate = certificate_of(released)
    assert certificate.verify(released) == "unsigned: cannot be trusted"
    score = dict(entries(released))["score"]
    for elsewhere in LOCAL_KINDS:
        assert (
            certificate.verify(build_frame(elsewhere, {"score": score, "more": kept})) == "unsigned: cannot be trusted"
        )
        assert certificate.verify(build_frame(elsewhere, {"score": score, "more": other})) == "derived"


IN_SPARK = {name: change for name, change in CHANGES.items() if name != "nanoseconds"}  # Spark has none


@pytest.fixture(scope="module")
def released_by_spark(spark):
    """Every column of `IN_SPARK` kept by one release: its certificate, and the columns as they were released."""
    kept = {name: kept for name, (kept, _) in IN_SPARK.items()}
    with pytest.MonkeyPatch.context() as patch:
        without_looks(patch)
        released = privatize(build_frame("spark", {**PEOPLE, **kept}, spark), **ASKED, layout=Layout(keep=list(kept)))
    certificate = certificate_of(released)
    assert certificate.verify(released) == "unsigned: cannot be trusted"
    return certificate, {"score": dict(entries(released.select("score")))["score"], **kept}


@pytest.mark.parametrize("elsewhere", thinned(LOCAL_KINDS, few=("polars",)))
def test_a_changed_kept_column_of_a_spark_frame_is_noticed(released_by_spark, elsewhere):
    certificate, columns = released_by_spark
    assert certificate.verify(build_frame(elsewhere, columns)) == "unsigned: cannot be trusted"
    found = {
        name: certificate.verify(build_frame(elsewhere, {**columns, name: IN_SPARK[name][1]})) for name in IN_SPARK
    }
    assert found == dict.fromkeys(IN_SPARK, "derived")


COLUMNS = {
    "small integers": [1, None, -5, 0],
    "large integers": [2**53 + 1, -(2**63), 2**63 - 1, 3],
    "floats": [1.5, None, float("inf"), -0.0],
    "truth": [True, None, False, True],
    "text": ["a", None, "ζ\n", ""],
    "bytes": [b"a", None, b"", b"\xff\0"],
    "dates": [datetime.date(2020, 2, 29), None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "moments": [START, None, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(1900, 1, 1)],
    "instants": [START.replace(tzinfo=datetime.UTC), None, *UTC[:2]],
    "times": [datetime.time(1, 2, 3, 4), None, datetime.time(0), datetime.time(23, 59, 59, 999999)],
    "durations": [datetime.timedelta(1, 2, 3), None, datetime.timedelta(microseconds=-1), datetime.timedelta(0)],
    "decimals": [decimal.Decimal("1.25"), None, decimal.Decimal("-0.00"), decimal.Decimal("100.00")],
    "lists": [[1, 2], None, [], [3, None]],
    "structures": [{"a": 1, "b": "x"}, None, {"a": 2, "b": None}, {"a": None, "b": "y"}],
    "nothing": [None] * 4,
}


def everywhere(values):
    """A column in every library and type that holds it."""
    arrow = pa.table({"x": pa.array(values)})
    objects = pd.Series(values, dtype=object)
    frames = {
        "polars": pl.DataFrame({"x": values}),
        "polars to pandas": pl.DataFrame({"x": values}).to_pandas(),
        "arrow": arrow,
        "arrow to pandas": arrow.to_pandas(),
        "pandas of arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas": pd.DataFrame({"x": values}),
        "objects": pd.DataFrame({"x": objects}),
        "nullable": pd.DataFrame({"x": objects}).convert_dtypes(),
    }
    if not isinstance(values[0], list | dict):
        frames["categories"] = pd.DataFrame({"x": objects.astype("category")})
    if isinstance(values[0], str):
        frames["Polars categories"] = pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)})
        frames["Polars enum"] = pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(["", "ζ\n", "b", "a"]))})
        frames["dictionary"] = pa.table({"x": pa.array(values).dictionary_encode()})
    return frames


@pytest.mark.parametrize("like", ["", "rows:"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_one_fingerprint_in_every_library(name, like):
    found = {where: fingerprint(frame, like=like) for where, frame in everywhere(COLUMNS[name]).items()}
    assert set(found.values()) == {found["polars"]}, found


@pytest.mark.parametrize("like", ["", "rows:"])
def test_columns_of_other_types_have_other_fingerprints(like):
    """Entries that look alike, and missing ones alone where there are no others."""
    columns = {
        **COLUMNS,
        "midnights": [START.replace(hour=0), None],
        "zeros": [0, None],
        "false": [False, None],
        "0": ["0", None],
        "b0": [b"0", None],
        "0s": [datetime.timedelta(0), None],
        "0h": [datetime.time(0), None],
        "1970": [datetime.datetime(1970, 1, 1), None],
        "1970 UTC": [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), None],
        "one zero less": [None, None],
        "0.00": [decimal.Decimal("0.00"), None],
    }
    found = {name: fingerprint(pl.DataFrame({"x": values}), like=like) for name, values in columns.items()}
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize("like", ["", "rows:"])
def test_wide_whole_numbers(like):
    """Python's own integers say what 64 and 128 bits hold."""
    values = [2**64 - 1, 2**63, 2**53 + 1, 5]
    wide = [*values, -(2**126) - 1, 2**100 + 1]
    objects = {tuple(own): pd.DataFrame({"x": pd.Series(own, dtype=object)}) for own in (values, wide)}
    unsigned = pl.DataFrame({"x": pl.Series(values, dtype=pl.UInt64)})
    assert fingerprint(unsigned, like=like) == fingerprint(objects[tuple(values)], like=like)
    assert fingerprint(unsigned.to_pandas(), like=like) == fingerprint(unsigned, like=like)
    long = pl.DataFrame({"x": pl.Series(wide, dtype=pl.Int128)})
    assert fingerprint(long, like=like) == fingerprint(objects[tuple(wide)], like=like)
    for place in range(len(wide)):
        other = pl.DataFrame({"x": pl.Series(changed(wide, place, wide[place] - 1), dtype=pl.Int128)})
        assert fingerprint(other, like=like) != fingerprint(long, like=like)


def test_numbers_objects_and_texts_that_differ():
    # pandas makes floats of integers where one is missing
    assert fingerprint(pl.DataFrame({"x": [1, None]})) == fingerprint(pd.DataFrame({"x": [1.0, None]}))
    assert fingerprint(pl.DataFrame({"x": [2**53 + 1]})) != fingerprint(pl.DataFrame({"x": [2.0**53]}))
    frames = [pd.DataFrame({"x": pd.Series([entry, (0,)], dtype=object)}) for entry in MIXED]
    assert len({fingerprint(frame) for frame in frames}) == len(frames)
    assert len({fingerprint(frame, like="rows:") for frame in frames}) == len(frames)
    lone, other = (pd.DataFrame({"x": pd.Series(["a", text], dtype=object)}) for text in ("\ud800", "\ud801"))
    assert fingerprint(lone) == fingerprint(lone.copy()) != fingerprint(other)
    moments = pl.DataFrame({"x": [1, 2]}).select(pl.concat_list(pl.col("x").cast(pl.Datetime("ns"))))
    assert fingerprint(moments[:1]) != fingerprint(moments[1:])
    assert fingerprint(moments) == fingerprint(moments.to_pandas())


MIXED = [1, "1", b"1", True, decimal.Decimal(1), START, START.replace(tzinfo=datetime.UTC), datetime.timedelta(1)]


@pytest.mark.parametrize("kind", [pl.Time(), pl.Datetime("ns"), pl.Duration("ns")], ids=["time", "moment", "duration"])
def test_nanoseconds_in_nested_entries(kind):
    cases = (
        (pl.List(kind), [[1_000], [1_001], None]),
        (pl.Array(kind, 1), [[1_000], [1_001], None]),
        (pl.Struct({"a": pl.List(pl.Struct({"b": kind}))}), [{"a": [{"b": k}]} for k in (1_000, 1_001)] + [None]),
    )
    for dtype, values in cases:
        own = pl.DataFrame({"x": pl.Series(values).cast(dtype)})
        arrow = pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.array(own["x"].to_arrow())))})
        for like in ("", "rows:"):
            assert fingerprint(own[:1], like=like) != fingerprint(own[1:2], like=like)
            assert fingerprint(arrow, like=like) == fingerprint(own, like=like)
    times = pd.DataFrame({"x": pd.Series([[datetime.time(0, 0, 0, 1)], None], dtype=object)})
    assert fingerprint(times) == fingerprint(pl.DataFrame({"x": [[1_000], None]}).cast(pl.List(pl.Time)))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_moments(unit):
    """Their values count, not the unit; far ones need more than 64 bits of microseconds."""
    days = np.array(["2020-01-01", "1969-12-31", "NaT"], dtype=f"datetime64[{unit}]")
    expected = pl.DataFrame({"x": [datetime.datetime(2020, 1, 1), datetime.datetime(1969, 12, 31), None]})
    assert fingerprint(pd.DataFrame({"x": days})) == fingerprint(expected)
    if unit == "s":
        far = [pd.DataFrame({"x": np.array([k], dtype="datetime64[s]")}) for k in (2**61, 2**61 + 1, 2**61 - 2**58)]
        assert len({fingerprint(frame) for frame in far}) == 3


def test_the_order_and_the_parts_of_rows_do_not_count_in_sums_of_rows(monkeypatch):
    texts = ["", None, "a", "ζ"] * 10
    frame = pl.DataFrame({"x": texts, "y": LARGE, "z": [None, *MOMENTS[1:]]})
    whole = fingerprint(frame, like="rows:")
    monkeypatch.setattr(fingerprint_module, "CHUNK", 3)
    assert fingerprint(frame.reverse(), like="rows:") == whole
    parts = [fingerprint_module.RowSums.of(build) for build in map(opened, (frame[:1], frame[1:7], frame[7:]))]
    assert fingerprint_module.RowSums.joined(parts).digest(frame.columns) == whole


def test_sums_of_rows_are_those_of_a_cryptographic_hash():
    """By the definition, in Python: SHAKE128 of 24 bytes an entry, 32 sums of 64 bits; fewer can be forged."""
    number = hashlib.blake2b(b"", digest_size=24, person=b"number").digest()
    rows = [(1.5, "a"), (1.5, "a"), (-2.0, None)]
    sums = [0] * 32
    for x, t in rows:
        entry = bytes(24) if t is None else hashlib.blake2b(t.encode(), digest_size=24, person=b"text").digest()
        hashed = hashlib.shake_128(entry + struct.pack("<d", x) + number[8:]).digest(256)
        sums = [(one + more) % 2**64 for one, more in zip(sums, struct.unpack("<32Q", hashed), strict=True)]
    expected = hashlib.sha256(repr((["t", "x"], 3, tuple(sums))).encode()).hexdigest()
    frame = pl.DataFrame({"x": [x for x, _ in rows], "t": [t for _, t in rows]})
    assert fingerprint(frame, like="rows:") == fingerprint(frame.to_pandas(), like="rows:") == "rows:" + expected


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("make", [sparse.csr_matrix, pd.DataFrame, pl.DataFrame, np.matrix])
def test_objects_whose_text_leaves_entries_out(make):
    """Frames and sparse matrices print a part of what they hold."""
    whole = [pd.DataFrame({"x": pd.Series([make(np.eye(60) * k), None], dtype=object)}) for k in (1, 1, 2)]
    first, same, other = map(fingerprint, whole)
    assert first == same != other
