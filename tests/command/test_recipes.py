"""The recipes and the pages about the command run, without the tools that they are for."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import duckdb
import polars as pl
import pytest
from command_line import ASKED, people, run
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sklearn.datasets import load_diabetes

import puffer_frames

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/command.md").read_text(encoding="utf-8")


def example(name):
    """A file of examples/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def patients():
    return people().rename({"race": "sex", "age": "glucose", "region": "ward"})


def test_the_task_of_a_scheduler_releases_once(folder):
    task = example("airflow_release")
    assert run("plan", "in.parquet", "plan.json", *ASKED).code == 0
    asked = ("in.parquet", "out.parquet", "plan.json", "l.jsonl", "people of today")
    assert task.release(*asked) == "unsigned: cannot be trusted"
    first = (folder / "out.parquet").read_bytes()
    assert task.release(*asked) == "unsigned: cannot be trusted"
    assert (folder / "out.parquet").read_bytes() == first
    assert len(puffer_frames.ledger("l.jsonl")) == 1
    pl.read_parquet("out.parquet").head(3).write_parquet("other.parquet")
    with pytest.raises(puffer_frames.errors.UncoveredFrameError):
        task.release("in.parquet", "other.parquet", *asked[2:])


def test_a_model_of_dbt(folder):
    step, session = example("duckdb_model"), duckdb.connect()
    given = patients().to_arrow()
    session.register("patients", given)

    class Dbt:
        def config(self, **_):
            pass

        def ref(self, name):
            return session.table(name)

    session.register("stored", step.model(Dbt(), session))
    session.execute("create table released_patients as select * from stored").fetchall()
    assert step.verdict(session, "released_patients") == "unsigned: cannot be trusted"
    session.execute("update released_patients set glucose = 0").fetchall()
    assert step.verdict(session, "released_patients") == "derived"


def test_a_script_for_cron(folder, capsys):
    script = example("nightly")
    patients().write_csv("raw.csv")
    assert script.main("raw.csv", "public.csv") == 0
    assert run("verify", "public.csv").code == 0
    patients().with_columns(sex=pl.lit("f")).write_csv("raw.csv")
    assert script.main("raw.csv", "other.csv") == 1
    assert not (folder / "other.csv").exists()
    assert "Error" in capsys.readouterr().err


def test_a_check_in_ci(folder, capsys):
    check = example("check_releases")
    (folder / "public").mkdir()
    asked = ["public", "--unsigned"]
    assert check.main(asked) == 1
    assert run("release", "in.parquet", "public/a.parquet", *ASKED).code == 0
    assert run("release", "in.parquet", "public/b.csv", *ASKED).code == 0
    assert check.main(asked) == 0
    assert "a.parquet: unsigned: cannot be trusted" in capsys.readouterr().out
    assert check.main([*asked, "--most", "0.5"]) == 1
    for raw in ("raw.parquet", "raw.pq", "raw.feather", "raw.csv.gz", "a.parquet.certificate.json", ".raw", "c/_raw"):
        place = folder / "public" / raw
        place.parent.mkdir(exist_ok=True)
        people().write_ipc(place) if raw == "raw.feather" else people().write_parquet(place)
        assert check.main(asked) == 1
        assert f"{raw}: the " in capsys.readouterr().out
        place.unlink()
    assert check.main(asked) == 0


def test_the_check_of_signed_releases(folder, capsys):
    check, key = example("check_releases"), Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / "key.pem").write_bytes(public)
    (folder / "public").mkdir()
    asked, beside = ["public", "--public-key", "key.pem"], folder / "public" / "b.csv.certificate.json"
    assert run("release", "in.parquet", "public/b.csv", *ASKED).code == 0
    certificate = puffer_frames.Certificate.load(beside)
    assert check.main(asked) == 1
    beside.write_text(json.dumps(certificate.sign(key).to_dict()))
    assert check.main(asked) == 0
    assert capsys.readouterr().out == "public/b.csv: forged\npublic/b.csv: intact\n"
    beside.write_text(json.dumps(certificate.sign(key).to_dict() | {"issuer": "somebody else"}))
    assert check.main(asked) == 1


def test_what_the_check_refuses_of_releases_that_are_intact(folder, capsys):
    check = example("check_releases")
    (folder / "public").mkdir()

    def said(asked=(), **more):
        release = people().puffer.privatize(secret="race", public="age", **({"epsilon": 1.0} | more))
        release.puffer.write_parquet(folder / "public" / "a.parquet")
        code = check.main(["public", "--unsigned", *asked])
        (folder / "public" / "a.parquet").unlink()
        return code, capsys.readouterr().out.removeprefix("public/a.parquet: ").strip()

    assert said() == (0, "unsigned: cannot be trusted")
    assert said(rng=1) == (1, "not private: its noise came from a seed")
    assert said(epsilon=1.0000001) == (1, "epsilon 1.0000001 is more than 1.0")
    gaussian = {"delta": 0.001, "mechanism": puffer_frames.Noise("gaussian", theorem="bounded")}
    assert said(**gaussian) == (1, "delta 0.001 is more than 0.0")
    assert said(("--most-delta", "0.001"), **gaussian)[0] == 0


def test_the_session_of_the_page(folder):
    load_diabetes(scaled=False, as_frame=True).frame.to_csv("patients.csv", index=False)
    session = PAGE.partition("## A session")[2]
    commands, printed = re.search(r"```sh\n(.*?)```\s*```text\n(.*?)```", session, flags=re.S).groups()
    found = "".join(run(*shlex.split(line)[1:]).out for line in commands.splitlines() if line.startswith("puffer "))
    assert found == printed


def test_the_config_file_of_the_page(folder):
    (folder / "job.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, flags=re.S)[1])
    done = run("release", "--config", "job.toml", "--public", "age", "--json")
    assert done.code == 0, done.out
    assert json.loads(json.dumps(done.found["certificate"]))["public"] == ["age"]
