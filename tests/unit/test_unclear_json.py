"""JSON that two readers may understand in two ways is refused, wherever JSON is read."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import puffer_frames
from puffer_frames import Certificate, Layout, Ledger
from puffer_frames.doors.command.main import main
from puffer_frames.errors import ArgumentError, LedgerError, PlanFileError, UncoveredFrameError
from puffer_frames.numbers.records import CERTIFICATE_BYTES, CONFIG_BYTES, UnclearJsonError, parsed

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame({"s": RNG.choice(["a", "b"], 60), "x": RNG.integers(0, 6, 60) * 1.0})
ASKED = {"secret": "s", "public": "x", "epsilon": 1.0}
UNCLEAR = {
    "a key twice": '"epsilon": 0.01, "epsilon": 0.01, ',
    "a key twice, one with an escape": '"a": 1, "\\u0061": 2, ',
    "a key twice, deep inside": '"a": [{"b": {"c": 1, "c": 1}}], ',
    "NaN": '"a": NaN, ',
    "an infinity": '"a": -Infinity, ',
    "a number beyond the floats": '"a": 1e999, ',
    "an integer of thousands of digits": f'"a": {"1" * 5000}, ',
    "lists without end": f'"a": {"[" * 100_000}{"]" * 100_000}, ',
}
AFTER = "a further object"
"""Behind the one that is read."""


def made_unclear(text, how):
    """The text of an object with more in it; what there was stays as it was."""
    return text.rstrip() + "{}" if how == AFTER else text.replace("{", "{" + UNCLEAR[how], 1)


@pytest.mark.parametrize("how", UNCLEAR)
def test_what_is_unclear(how):
    with pytest.raises(UnclearJsonError):
        parsed(made_unclear('{"x": 1}', how))
    with pytest.raises(UnclearJsonError):
        parsed(b"\xef\xbb\xbf" + made_unclear('{"x": 1}', how).encode())


def test_what_is_clear_is_read_as_python_reads_it():
    text = '{"a": [1, 2.5, -0.0, 1e-400, null, true, "\\ud800"], "A": {"a": {"a": 9007199254740993}}}'
    assert parsed(text) == json.loads(text)
    with pytest.raises(json.JSONDecodeError):
        parsed('{"a": 1')


@pytest.fixture(scope="module")
def released():
    return PEOPLE.puffer.privatize(**ASKED)


@pytest.mark.parametrize("how", [*UNCLEAR, AFTER])
def test_certificates_are_refused(released, tmp_path, how):
    record = json.dumps(released.puffer.certificate.to_dict())
    text = made_unclear(record, how)
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ArgumentError, match="the certificate's record"):
        Certificate.load(tmp_path / "c.json")
    table = pa.Table.from_pandas(released).replace_schema_metadata({"puffer_frames": text})
    with pytest.raises(UncoveredFrameError):
        puffer_frames.certificate_of(table)
    pq.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(UncoveredFrameError):
        puffer_frames.read_certificate(tmp_path / "c.parquet")
    attributes = json.dumps({"puffer_frames": 0}).replace("0", text)
    pq.write_table(table.replace_schema_metadata({"PANDAS_ATTRS": attributes}), tmp_path / "c.parquet")
    with pytest.raises(UncoveredFrameError):
        puffer_frames.read_certificate(tmp_path / "c.parquet")
    with pa.ipc.new_file(tmp_path / "c.arrow", table.schema) as file:
        file.write_table(table)
    released.to_csv(tmp_path / "c.csv", index=False)
    (tmp_path / "c.csv.certificate.json").write_text(text)
    for name in ("c.parquet", "c.arrow", "c.csv"):
        assert main(["verify", str(tmp_path / name)]) == 1


def test_certificates_that_are_two_are_refused(released, tmp_path):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    released.puffer.certificate.sign(Ed25519PrivateKey.generate()).save(tmp_path / "c.json")
    text = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(text.replace("{\n", '{\n  "epsilon": 0.01,\n', 1))
    with pytest.raises(ArgumentError, match="a file with a key twice"):
        Certificate.load(tmp_path / "c.json")
    records = [json.dumps({**released.puffer.certificate.to_dict(), "issuer": name}) for name in ("a", "b")]
    table = pa.Table.from_pandas(released).replace_schema_metadata({"puffer_frames": records[0]})
    with pq.ParquetWriter(tmp_path / "two.parquet", table.schema) as file:
        file.write_table(table)
        file.add_key_value_metadata({"puffer_frames": records[1]})
    with pytest.raises(UncoveredFrameError):
        puffer_frames.read_certificate(tmp_path / "two.parquet")


@pytest.mark.parametrize("how", [*UNCLEAR, AFTER])
def test_plan_files_are_refused(tmp_path, how):
    PEOPLE.puffer.calibrate(**ASKED).save(tmp_path / "plan")
    (tmp_path / "plan").write_text(made_unclear((tmp_path / "plan").read_text(), how))
    with pytest.raises(PlanFileError, match="JSON" if how == AFTER else "a file with"):
        puffer_frames.load_plan(tmp_path / "plan")


@pytest.mark.parametrize("how", UNCLEAR)
@pytest.mark.parametrize("last", [False, True])
def test_lines_of_ledgers_and_of_key_files_are_refused(tmp_path, how, last):
    path, key = tmp_path / "l.jsonl", tmp_path / "key"
    plan = PEOPLE.puffer.calibrate(**ASKED)
    plan.release(PEOPLE, ledger=path, about={"dataset": "d"}, layout=Layout(refine_key=key))
    for file in (path, key):
        *lines, end = file.read_text().splitlines()
        file.write_text("\n".join([*lines, made_unclear(end, how)]) + "\n" * (not last))
    with pytest.raises(LedgerError, match="line 2 that is no entry"):
        Ledger(path, limit=5.0).entries()
    with pytest.raises(ArgumentError, match="the key file"):
        plan.release(PEOPLE, layout=Layout(refine_key=key))


def test_a_key_file_with_a_number_beyond_the_floats_is_refused(tmp_path):
    plan = PEOPLE.puffer.calibrate(**ASKED | {"epsilon": 0.5})
    released = plan.release(PEOPLE)
    plan.refine(PEOPLE, released, epsilon=0.8, key=tmp_path / "key")
    (tmp_path / "key").write_text((tmp_path / "key").read_text().replace('"epsilon": 0.8', f'"epsilon": {10**400}'))
    with pytest.raises(ArgumentError, match="the key file"):
        plan.refine(PEOPLE, released, epsilon=0.8, key=tmp_path / "key")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_what_is_too_large_or_has_no_end_is_refused(released, tmp_path, capsys):
    released.to_parquet(tmp_path / "r.parquet")
    record = json.dumps(released.puffer.certificate.to_dict())
    (tmp_path / "c.json").write_text(record + " " * CERTIFICATE_BYTES)
    with pytest.raises(ArgumentError, match="a file with more than 4 MiB"):
        Certificate.load(tmp_path / "c.json")
    table = pa.Table.from_pandas(released, preserve_index=False).replace_schema_metadata(None)
    table = table.replace_schema_metadata({"puffer_frames": record + " " * CERTIFICATE_BYTES})
    pq.write_table(table, tmp_path / "large.parquet")
    for frame in (table, tmp_path / "large.parquet"):
        with pytest.raises(UncoveredFrameError):
            puffer_frames.read_certificate(frame) if frame is not table else puffer_frames.verify(frame)
    (tmp_path / "job.json").write_text("{}" + " " * CONFIG_BYTES)
    assert main(["check", "in.parquet", "--config", str(tmp_path / "job.json")]) == 2
    assert "more than 16 MiB" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe.json")
    for read in (Certificate.load, puffer_frames.load_plan):
        with pytest.raises((ArgumentError, PlanFileError), match="no end"):
            read(tmp_path / "pipe.json")
    assert main(["check", "in.parquet", "--config", str(tmp_path / "pipe.json")]) == 2


@pytest.mark.parametrize("how", [*UNCLEAR, AFTER])
def test_config_files_are_refused(tmp_path, capsys, how):
    PEOPLE.to_parquet(tmp_path / "in.parquet")
    (tmp_path / "job.json").write_text(made_unclear(json.dumps(ASKED), how))
    words = ["release", str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")]
    assert main([*words, "--config", str(tmp_path / "job.json")]) == 2
    assert "the config file must be" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    "entries",
    ['[unit]\ncolumn = "x"\nmost = 3\n"most" = 4', "[given]\nco-lumns = 1\nco_lumns = 2", "epsilon = 1\nepsilon = 2"],
)
def test_a_name_twice_in_a_table_of_a_config_file_is_refused(tmp_path, capsys, entries):
    PEOPLE.to_parquet(tmp_path / "in.parquet")
    (tmp_path / "job.toml").write_text(entries)
    assert main(["check", str(tmp_path / "in.parquet"), "--config", str(tmp_path / "job.toml")]) == 2
    assert "the config file must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"index_columns": [], "index_columns": []}', '{"index_columns": [{"kind": "range"}]}']
)
def test_metadata_of_pandas_that_is_unclear_is_an_error_with_a_way_out(released, tmp_path, text):
    table = pa.Table.from_pandas(released).replace_schema_metadata({"pandas": text})
    certificate = released.puffer.certificate
    pq.write_table(table, tmp_path / "r.parquet")
    for frame in (table, tmp_path / "r.parquet"):
        with pytest.raises(ArgumentError, match="pandas metadata"):
            certificate.verify(frame)
    assert certificate.verify(table.replace_schema_metadata(None)) == "unsigned: cannot be trusted"


def test_a_range_too_long_for_any_table_is_no_index(released):
    ranges = {"kind": "range", "name": None, "start": 0, "step": 1}
    for stop in (10**13, 10**30):
        pandas = json.dumps({"index_columns": [{**ranges, "stop": stop}]})
        table = pa.Table.from_pandas(released).replace_schema_metadata({"pandas": pandas})
        assert released.puffer.certificate.verify(table) == "unsigned: cannot be trusted"
