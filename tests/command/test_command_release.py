"""`puffer release`: every format, every kind of option, and what a release by a plan needs."""

import json

import polars as pl
import pytest
from command_line import ASKED, ends, people, run
from conftest import few

import puffer_frames
from puffer_frames import Layout
from puffer_frames.doors.command.options import (
    GROUPS,
    LAID_OUT,
    NOT_OPTIONS,
    OPTIONS,
    PLANNED,
    WITH_PLAN,
    as_options,
)
from puffer_frames.frames.files import read_rows
from puffer_frames.verbs.requests import MOVED, PrivatizeArguments, ReleaseArguments

SOURCES = ("in.parquet", "in.csv", "in.arrow", "parts")
TARGETS = ("out.parquet", "out.csv", "out.arrow", "out/")


def released(path):
    return read_rows(path, schema={}, streaming=False)


def test_every_argument_of_python_is_an_option_or_left_out_with_a_reason():
    fields = {*PrivatizeArguments.__dataclass_fields__, *ReleaseArguments.__dataclass_fields__}
    parts = {
        f"{group}_{name}"
        for group, (kind, main) in GROUPS.items()
        for name in kind.__dataclass_fields__
        if name != main and MOVED.get(name, ("", None))[1] is not kind
    }
    assert set(OPTIONS) == ((fields - {"layout"} | set(MOVED)) - set(NOT_OPTIONS)) | parts | {"limit", "limit_delta"}
    assert set(LAID_OUT) == set(Layout.__dataclass_fields__) - set(NOT_OPTIONS)
    assert set(WITH_PLAN) >= set(ReleaseArguments.__dataclass_fields__) - {"layout"} - set(NOT_OPTIONS)
    assert not set(PLANNED) & set(WITH_PLAN)


@few(7, rest="apart")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_formats(folder, source, target):
    done = run("release", source, target, *ASKED, "--keep", "region", "--json")
    assert (done.code, done.found["status"], done.found["exit"]) == (0, "released", 0)
    rows, given = released(folder / target), people()
    assert rows.columns == ["age", "region"]
    assert rows["region"].to_list() == given["region"].to_list()
    assert (rows["age"] != given["age"]).mean() > 0.9
    assert run("verify", target).out.strip() == f"{target.rstrip('/')}: unsigned: cannot be trusted"
    assert puffer_frames.Certificate.from_dict(done.found["certificate"]).epsilon == 1
    assert not list(folder.glob(".*"))
    shown = run("show", target, "--as", "json")
    assert json.loads(shown.out) == done.found["certificate"]


def test_parquet_goes_batch_by_batch(folder):
    done = run("release", "in.parquet", "out.parquet", *ASKED, "-v")
    assert "read: as a stream" in done.err
    done = run("release", "in.parquet", "more.parquet", *ASKED, "--shuffle", "-v")
    assert "read: 240 rows, in memory" in done.err


def test_types_of_csv_columns(folder):
    n = [k % 10 + 3 * (k >= 75) for k in range(120)]
    pl.DataFrame({"code": ["007", "012"] * 60, "sex": ["f"] * 75 + ["m"] * 45, "n": n}).write_csv("c.csv")
    asked = ("--secret", "sex", "--public", "n", "--epsilon", "1", "--keep", "code")
    ends(run("release", "c.csv", "o.csv", *asked, "--schema", "code=Categorical"), 0)
    assert "007" in (folder / "o.csv").read_text()
    assert run("verify", "o.csv").code == 0
    assert run("release", "c.csv", "whole.csv", *asked[:-1], "sex", "--round").code == 2
    done = run("release", "c.csv", "t.csv", *asked[:4], "--epsilon", "1", "--schema", "n=String")
    assert "--schema n=String" in done.err
    assert run("verify", "t.csv").code == 1
    assert run("verify", "t.csv", "--schema", "n=String").code == 0
    assert run("release", "c.csv", "p.csv", *asked, "--schema", "code=Text").code == 2
    assert run("release", "in.parquet", "p.csv", *ASKED, "--schema", "age=Int64").code == 2
    unfit = ends(run("release", "c.csv", "p.csv", *asked, "--schema", "code=Date"), 4)
    assert "007" not in unfit.err


@pytest.mark.parametrize(
    "words",
    [
        *("--unit patient --unit-rows any --unit-most 4", "--given region --given-minimum 2"),
        *("--pairs a:b,b:c --pairs a:c", "--domain age=0:100 --clip age=0:100 --round", "--clip=-5:120"),
        *("--noise gaussian --delta 1e-6", "--noise stable:1.7", "--theorem gaussian --calibration theorem"),
        *("--mechanism remap --noise gaussian --delta 1e-6", "--public occupation --merge-rare 2"),
        *("--public occupation --mechanism channel --channel-cap none --merge-rare 2", "--beliefs population"),
        *("--beliefs fitted,empirical,contamination:0.05", "--beliefs fitted,table:in.csv", "--mechanism remap"),
        "--mechanism channel --channel-cap none --channel-radius 0.1",
        "--public age,occupation --weights age=2,occupation=1",
        *("--public occupation --domain occupation=x,y,z,w --publish expected_error", "--releases 3"),
        '--keep ["region"] --about issuer=Office --about contact=me',
    ],
)
def test_options(folder, words):
    asked = ASKED if "--public" not in words else ("--secret", "race", "--epsilon", "1")
    ends(run("release", "in.parquet", "out.parquet", *asked, *words.split()), 0)
    assert run("verify", "out.parquet").code == 0


def test_levels_have_the_type_of_their_column(folder):
    people().with_columns(race=pl.col("race").replace_strict({"a": 1, "b": 2, "c": 3})).write_parquet("coded.parquet")
    done = run("release", "coded.parquet", "out.parquet", *ASKED, "--pairs", "1:2", "--json")
    assert done.found["certificate"]["pairs"] == [[1, 2]]
    assert run("release", "coded.parquet", "more.parquet", *ASKED, "--pairs", "1:x").code == 2


def test_a_config_file_says_the_same(folder):
    (folder / "job.toml").write_text(
        'input = "in.parquet"\noutput = "out.parquet"\nsecret = "race"\npublic = ["age"]\nepsilon = 1\n'
        'clip = [0, 100]\npairs = [["a", "b"]]\nnoise = "stable:1.7"\n'
        '[unit]\ncolumn = "patient"\nrows = "independent"\n'
        '[about]\nissuer = "Office"\n'
    )
    (folder / "job.json").write_text(json.dumps({"secret": "race", "public": "age", "epsilon": 5, "round": True}))
    done = run("release", "--config", "job.toml", "--noise", "laplace", "--json")
    assert done.code == 0, done.out
    found = done.found["certificate"]
    assert (found["issuer"], found["noise"], found["pairs"]) == ("Office", "Laplace", [["a", "b"]])
    done = run("release", "in.csv", "out.csv", "--config", "job.json", "--epsilon", "2", "--json")
    assert (done.code, done.found["certificate"]["epsilon"]) == (0, 2)
    assert released(folder / "out.csv")["age"].to_list() == released(folder / "out.csv")["age"].round().to_list()


def test_the_command_line_leaves_other_columns_of_a_config_file_as_they_are(folder):
    """Codes are as in Python too: a mapping named its columns as texts of every column, and no code."""
    entry = {"domain": {"age": [0, 200]}, "theorem": "bounded", "null_values": {"race": "c", "age": [20, 21]}}
    (folder / "job.json").write_text(json.dumps(entry | {"secret": "race", "epsilon": 1, "nulls": "drop"}))
    job = ("out.csv", "--config", "job.json", "--public", "age,patient", "--json", "--overwrite")
    for name in ("in.csv", "in.parquet"):
        more = ("--domain", "patient=0:200", "--null-values", "age=30")
        found = run("release", name, *job, *more).found["certificate"]
        rows = people().filter(pl.col("race") != "c")
        assert found["scales"]["age"] >= 400
        assert found["rows"] == len(rows.filter(pl.col("age") != 30))
        found = run("release", name, *job).found["certificate"]
        assert found["rows"] == len(rows.filter(~pl.col("age").is_in([20, 21])))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("null_values = -9", "null_values"),
        ("null_values = {age = [2020-01-01]}", "null_values"),
        ("epsilom = 1", "Did you mean 'epsilon'?"),
        ("zzz = 1", "See puffer release --help."),  # it was that of plan
        ("[layout]\nkeep = 'race'", "Write its parts as options of their own"),
        ("epsilon = ", "a whole TOML file"),
        ('password = "x"', "'password'"),
        ('json = "yes"', "true or false"),
        ("schema = 3", "schema"),
        ("[unit]\nsize = 3", "unit_size"),
    ],
)
def test_config_files_that_cannot_be(folder, text, said):
    (folder / "job.toml").write_text(text + "\n")
    ends(run("release", "in.parquet", "out.parquet", *ASKED, "--config", "job.toml"), 2, said)
    assert not (folder / "out.parquet").exists()


def test_plans(folder, monkeypatch):
    done = run("plan", "in.parquet", "plan.json", *ASKED, "--json")
    assert (done.code, done.found["status"], done.found["rows"]) == (0, "planned", 240)
    assert (folder / "plan.json").stat().st_mode & 0o777 == 0o600
    assert run("release", "in.csv", "out.parquet", "--plan", "plan.json").code == 0
    people(100, seed=1).write_parquet("batch.parquet")
    assert run("release", "batch.parquet", "b.parquet", "--plan", "plan.json").code == 1
    ends(run("release", "batch.parquet", "b.parquet", "--plan", "plan.json", "--allow-other-frame", "--allow-drift"), 0)
    assert run("release", "in.csv", "c.parquet", "--plan", "plan.json", "--epsilon", "1").code == 2
    assert run("release", "in.csv", "c.parquet", *ASKED, "--allow-drift").code == 2
    assert not (folder / "c.parquet").exists()


def test_a_batch_with_a_new_secret_is_refused_and_leaves_nothing(folder):
    assert run("plan", "in.parquet", "plan.json", *ASKED).code == 0
    people(60).with_columns(race=pl.lit("new")).write_parquet("batch.parquet")
    before = sorted(folder.iterdir())
    done = run(
        "release", "batch.parquet", "b.parquet", "--plan", "plan.json", "--allow-other-frame", "--allow-drift", "--json"
    )
    assert (done.code, done.found["status"], done.found["error"]["kind"]) == (1, "refused", "CalibrationError")
    assert sorted(folder.iterdir()) == before
    assert run("check", "batch.parquet", "--plan", "plan.json", "--json").found["status"] == "refused"


def test_check(folder):
    assert run("plan", "in.parquet", "plan.json", *ASKED, "--beliefs", "population").code == 0
    done = ends(run("check", "in.csv", "--plan", "plan.json"), 0)
    assert done.out.startswith("covered: ")
    people(60).with_columns(age=pl.lit(1) + (pl.col("race") == "a") * 90).write_parquet("far.parquet")
    done = ends(run("check", "far.parquet", "--plan", "plan.json", "--json"), 1)
    assert done.found["status"] in ("recalibrate", "refused")
    assert len(run("check", "far.parquet", "--plan", "plan.json", "--figures").out.splitlines()) > 5


def test_passwords_come_from_a_file_or_the_environment(folder, monkeypatch):
    (folder / "word").write_text("a long and\fodd one\nno more\n")
    assert run("plan", "in.parquet", "plan.json", *ASKED, "--password-file", "word").code == 0
    assert "encryption" in (folder / "plan.json").read_text()
    assert run("check", "in.parquet", "--plan", "plan.json").code == 3
    monkeypatch.setenv("PUFFER_PASSWORD", "a long and\fodd one")
    assert run("check", "in.parquet", "--plan", "plan.json").code == 0
    assert run("show", "plan.json").out.startswith("Plan: release age")
    (folder / "word").write_text("\n")
    assert run("check", "in.parquet", "--plan", "plan.json", "--password-file", "word").code == 2
    assert run("release", "in.parquet", "o.parquet", *ASKED, "--password", "x").code == 2


def test_a_ledger_with_a_limit(folder):
    book = ("--theorem", "bounded", "--ledger", "l.jsonl", "--about", "dataset=people of 2026")
    assert run("release", "in.parquet", "1.parquet", *ASKED, *book, "--limit", "2").code == 0
    done = run("release", "in.parquet", "2.parquet", *ASKED, *book, "--limit", "0.5", "--json")
    assert (done.code, done.found["error"]["kind"]) == (1, "LedgerError")
    assert not (folder / "2.parquet").exists()
    assert len(puffer_frames.ledger("l.jsonl")) == 1
    assert run("release", "in.parquet", "2.parquet", *ASKED, "--limit", "2").code == 2
    assert run("release", "in.parquet", "2.parquet", *ASKED, "--ledger", "l.jsonl").code == 2


def test_a_release_of_a_release_is_warned_about(folder):
    ends(run("release", "in.parquet", "first.parquet", *ASKED, "--keep", "region"), 0)
    asked = ["--secret", "region", "--public", "age", "--epsilon", "1", "--allow-zero-noise"]
    ends(run("release", "first.parquet", "second.parquet", *asked), 0, "the table is itself a release")


@pytest.mark.parametrize(
    ("hint", "options"),
    [
        (
            'Say Sequential(step=0.09), or nulls="drop".',
            "Say --mechanism sequential --sequential-step 0.09, or --nulls drop.",
        ),
        ("Say layout=Layout(shuffle=True).", "Say --shuffle."),
        ("Give Layout(clip=...) the bounds", "Give --clip LOW:HIGH the bounds"),
        ("Say mechanism=Channel(merge_rare=5) to", "Say --mechanism channel --merge-rare 5 to"),
        ("Or merge levels: merge_rare=5.", "Or merge levels: --merge-rare 5."),
        ('Write Noise(weights={"age": 0.1}).', "Write --weights age=0.1."),
        ("the column 'epsilon=1' says nulls=\"drop\".", "the column 'epsilon=1' says --nulls drop."),
        ("or leave Noise(remap=True) out", "or leave --mechanism remap out"),
        ('Noise(theorem="bounded") and allow_drift=True', "--theorem bounded and --allow-drift"),
        ('Write domain={"x": (0, 100)}.', "Write --domain x=0:100."),
        ('domain={column: ["a", "b"]}, given=\'job\'', "--domain COLUMN=a,b, --given job"),
        ("null_values={'far': code}", "--null-values far=CODE"),
        (
            "null_values={secret: ['?', 'NA', -9]}",
            "--null-values 'SECRET=?' --null-values SECRET=NA --null-values SECRET=-9",
        ),
        ('about={"dataset": "survey of 2026"}', "--about 'dataset=survey of 2026'"),
        ('Say about={"dataset": ...} when', "Say --about dataset=... when"),
        ("side by side with puffer_frames.compare.", "side by side with puffer compare."),
        ("or a noise such as puffer_frames.Stable(alpha=1.7)", "or a noise such as stable:1.7"),
        ("say Contamination(0.02), Bootstrap()", "say contamination:0.02, bootstrap"),
        ("say puffer_frames.Ledger('a.jsonl').withdraw('b-1').", "say puffer ledger withdraw a.jsonl b-1."),
        ("say Layout(clip={'age': [0, 9]}) or public=['a', 'b'].", "say --clip age=0,9 or --public a,b."),
        *[
            (same, same)
            for same in (
                'given=Strata("site", merge=True)',
                "puffer_frames.compare(frame)",
                "f(x, allow_drift=True)",
                "with reader_cap=None",
            )
        ],
        *[(same, same) for same in ('Strata("site", merge=True)', "frame.drop(columns=1, axis=2)", "Layout(index=1)")],
        *[(same, same) for same in ("the columns 'a', 'unit=2', \"it's\"", 'Noise("gaussian", remap=True)')],
    ],
)
def test_hints_are_options(hint, options):
    assert as_options(hint) == options


def test_a_hint_of_the_command_is_one_that_it_takes(folder):
    """The shares and levels of a channel; followed, the second warning is gone."""
    jobs = ["clerk"] * 500 + ["cook"] * 480 + ["smith"] * 3 + ["mason"] * 4
    pl.DataFrame({"race": ["a", "b"] * 493 + ["a"], "job": jobs}).write_parquet(folder / "jobs.parquet")
    words = ("release", "jobs.parquet", "o.parquet", "--secret", "race", "--public", "job", "--epsilon", "1", "--json")
    told = ends(run(*words), 0).found["warnings"]
    assert "--mechanism channel --merge-rare 5 to merge them" in told[0]["message"]
    again = ends(run(*words, "--overwrite", "--mechanism", "channel", "--merge-rare", "5"), 0).found["warnings"]
    assert "RareLevelsWarning" not in [one["kind"] for one in again]


def test_a_plan_says_what_becomes_of_labels_beside_numbers(folder):
    rows = people().with_columns(job=pl.lit("clerk") + (pl.int_range(pl.len()) % 3).cast(pl.String))
    rows.write_parquet("jobs.parquet")
    words = (
        "plan",
        "jobs.parquet",
        "p.json",
        "--secret",
        "race",
        "--public",
        "age,job",
        "--epsilon",
        "1",
        "--overwrite",
    )
    found = ends(run(*words, "--json"), 0).found
    assert (set(found["expected_error"]), set(found["changed_labels"])) == ({"age"}, {"job"})
    assert f"; share of the labels that change, at most: job {found['changed_labels']['job']:.6g}" in run(*words).out
