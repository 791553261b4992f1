"""`puffer report`: a page of a release, a certificate or a plan."""

import re

import pytest
from command_line import ends, people, run

ASKED = ["--secret", "race", "--public", "age", "--epsilon", "1"]
NAMED = ["--about", "dataset=people of 2026"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().write_parquet("in.parquet")
    return tmp_path


def test_a_release_and_its_certificate_have_the_same_page(folder):
    assert run("release", "in.parquet", "out.csv", *ASKED, *NAMED, "--ledger", "releases.jsonl").code == 0
    done = run("report", "out.csv", "1.html")
    assert (done.code, done.out) == (0, "1.html: a report of age, epsilon 1\n")
    assert run("report", "out.csv.certificate.json", "2.html", "--json").found["status"] == "reported"
    first, second = ((folder / name).read_text() for name in ("1.html", "2.html"))
    assert "puffer verify out.csv<" in first  # each page names its own file, and how it is checked
    of_file = re.compile(r"<tr><th[^>]*>SHA-256 .*?</table>", flags=re.DOTALL)
    assert of_file.sub("", first) == of_file.sub("", second)
    said = ["--ledger", "releases.jsonl", "--justification", "Chosen by the committee."]
    assert run("report", "out.csv", "3.html", *said).code == 0
    text = (folder / "3.html").read_text()
    assert "Chosen by the committee." in text
    assert "finished" in text


def test_a_plan_has_a_private_page(folder):
    run("plan", "in.parquet", "plan.json", *ASKED)
    done = ends(run("report", "plan.json", "plan.html"), 0)
    assert "keep it private" in done.out
    assert (folder / "plan.html").stat().st_mode & 0o777 == 0o600
    assert run("report", "plan.json", "other.html", "--justification", "x").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["report", "out.parquet"], 2, "no page"),
        (["report", "out.parquet", "page.pdf"], 2, ".html"),
        (["report", "out.parquet", "there.html"], 3, "--overwrite"),
        (["report", "out.parquet", "out.parquet", "--overwrite"], 2, "the path of an input"),
        (["report", "out.parquet", "no/page.html"], 3, "no"),
        (["report", "no.parquet", "page.html"], 3, "no.parquet"),
        (["report", "in.parquet", "page.html"], 1, "certificate"),
        (["report", "out.parquet", "page.html", "--ledger", "no.jsonl"], 3, "no.jsonl"),
        (["report", "out.parquet", "page.html", "--justification", " "], 2, "justification"),
    ],
)
def test_failures(folder, words, code, said):
    run("release", "in.parquet", "out.parquet", *ASKED)
    (folder / "there.html").write_text("there")
    before = (folder / "out.parquet").read_bytes()
    ends(run(*words), code, said)
    assert (folder / "there.html").read_text() == "there"
    assert (folder / "out.parquet").read_bytes() == before
    assert not (folder / "page.html").exists()


def test_overwrite(folder):
    run("release", "in.parquet", "out.parquet", *ASKED)
    (folder / "there.html").write_text("there")
    assert run("report", "out.parquet", "there.html", "--overwrite").code == 0
    assert (folder / "there.html").read_text().startswith("<!DOCTYPE html>")
