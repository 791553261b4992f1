"""Title, promise and pictures of a certificate state the largest loss that was measured; what warns stands first."""

import hashlib
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from certificate_cases import CASES, OTHER, PEOPLE, WARDS, certificate_of_case, flat
from html_page import Page

from puffer_frames import Noise, Stable, Unit, calibrate, certificate_of, privatize
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.text import certificate_rows, certificate_title, headline
from puffer_frames.errors import ArgumentError, ArgumentTypeError


def page_of(certificate, folder, **more):
    certificate.report(folder / "page.html", overwrite=True, **more)
    return Page((folder / "page.html").read_text(encoding="utf-8"))


def laplace_loss(frame, scale):
    """The pure loss of the observed frequencies: log-ratios of mixtures of Laplace laws are extreme at atoms."""
    laws = [part["score"].to_numpy() for _, part in frame.groupby("group")]
    y = np.unique(frame["score"]).astype(float)
    logs = [np.log(np.exp(-np.abs(y[:, None] - law) / scale).mean(axis=1)) for law in laws]
    return max(float(np.abs(one - other).max()) for one in logs for other in logs)


def up(number):
    """Three digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return math.ceil(number / unit - 1e-9) * unit


@pytest.mark.parametrize("name", ["release, unit of independent rows", "columns, unit of any rows"])
def test_what_is_printed_of_a_unit_is_of_all_its_rows(name):
    """It was the loss of one row, beside a meaning that is of all."""
    certificate, asked = certificate_of_case(name), dict(CASES[name])
    (first, *_) = next(iter(certificate.verified.values())).values()
    share = first.epsilon * certificate.unit_rows  # columns share epsilon, too
    most = share if "any" in name else first.pure_loss.upper * certificate.unit_rows
    assert first.pure_loss.upper < most <= share * (1 + 1e-9)
    (line, *_) = [text for label, text in certificate_rows(certificate) if label == "proved"]
    assert line.endswith(f"a factor of at most {up(math.exp(most)):,g} (pure loss at most {most:.6g})")
    plan = " ".join(str(calibrate(asked.pop("frame"), **{k: v for k, v in asked.items() if k != "verb"})).split())
    assert f"measured: pure loss at most {most:.6g} " in plan
    assert "losses below of all rows of a unit together" in plan


@pytest.mark.parametrize("public", ["score", ["score", "age"]])
def test_rows_of_a_unit_that_may_be_anything_have_no_pure_loss_with_gaussian_noise(public):
    asked = {"secret": "group", "public": public, "epsilon": 1.0, "delta": 1e-5, "mechanism": Noise("gaussian")}
    plan = calibrate(WARDS, unit=Unit("ward", rows="any"), **asked)
    shown = " ".join(f"{plan} {certificate_of(plan.release(WARDS, rng=1))}".split())
    assert f"delta at most 1e-05 at epsilon {1 if public == 'score' else 0.5}" in shown
    assert "pure loss" not in shown
    assert "1.00001e-05" not in shown


@pytest.mark.parametrize("public", ["score", ["score", "age"]])
def test_what_warns_of_a_unit_is_of_all_its_rows(public):
    frame = WARDS.assign(score=WARDS["score"] + 3 * (WARDS["group"] == "a"))
    asked = {"secret": "group", "public": public, "epsilon": 1.0, "unit": Unit("ward", rows="independent")}
    plan = calibrate(frame, **asked, beliefs=("only", WARDS))
    certificate = certificate_of(plan.release(frame, rng=1))
    most = max(found.pure_loss.upper for found in certificate.observed.values()) * certificate.unit_rows
    said = {one.key: one.text for one in certificate.statements}
    warned = re.fullmatch(
        r".*, all rows of a ward together, under .*: pure loss at most (\S+), .*", said["observed-exceeds"]
    )
    assert most <= float(warned[1]) <= most * (1 + 1e-5)
    if public != "score":
        ranges = sum(np.ptp(frame[name]) / scale for name, scale in plan.scales.items()) * certificate.unit_rows
        assert f"of all rows of a ward together is at most {math.ceil(ranges)}" in said["joint-any-law"]
        (at,) = re.findall(
            r"under any law on the ranges of the columns: pure loss at most (\S+)", " ".join(str(plan).split())
        )
        assert float(at) == pytest.approx(ranges, rel=1e-5)


def test_units_beyond_the_range_that_their_noise_is_for_lose_in_proportion():
    plan = calibrate(WARDS, secret="group", public="score", epsilon=1.0, unit=Unit("ward", rows="any"))
    batch = WARDS.assign(score=3 * WARDS["score"] + 10 * (WARDS["group"] == "a"))
    certificate = certificate_of(plan.release(batch, rng=1, allow_other_frame=True, allow_drift=True))
    ratio = np.ptp(batch["score"]) / np.ptp(WARDS["score"])
    loss = math.ceil(10 * ratio) / 10
    assert f"a pure loss of at most {loss:g} for these rows, under any law on their range" in certificate_title(
        certificate
    )
    assert not [text for label, text in certificate_rows(certificate) if text.startswith("observed frequencies")]


@pytest.fixture(scope="module")
def drifted():
    """A batch released in spite of its loss, which is computed here from its rows."""
    plan = calibrate(PEOPLE, secret="group", public="score", epsilon=1.0)
    batch = OTHER.assign(score=OTHER["score"] + 2 * (OTHER["group"] == "b"))
    released = plan.release(batch, allow_other_frame=True, allow_drift=True)
    return certificate_of(released), laplace_loss(batch, plan.scale)


def test_the_title_and_the_small_pictures_of_rows_that_drifted(drifted):
    certificate, loss = drifted
    assert loss > 1.5
    assert headline(certificate).epsilon == pytest.approx(up(loss))
    assert certificate_title(certificate) == (
        f"Certificate of Pufferfish privacy: a pure loss of {up(loss):g} for these rows, "
        "where epsilon = 1 was asked for"
    )
    meaning = str(certificate).partition("meaning")[2].partition("noise")[0]
    assert f"e^{up(loss):g}" in meaning
    assert "epsilon 1 was asked for" in " ".join(meaning.split())
    assert f"{up(loss):.4g}" in certificate._repr_html_()
    assert "color:#a40e26" in certificate._repr_html_()


def test_the_page_of_rows_that_drifted(drifted, tmp_path):
    certificate, loss = drifted
    page = page_of(certificate, tmp_path)
    odds = math.exp(up(loss)) / 9
    assert f"at most {up(100 * odds / (1 + odds)):g} in 100" in page.text
    assert "epsilon = 1 " not in page.all("h1")[0].text.partition(", where")[0]
    assert page.row("the frequencies of these rows") == [f"at most {up(loss):g}"]
    alarms = [one for one in page.all("rect") if one.given["class"] == "alarm"]
    assert len(alarms) == 2  # what may be held after, and the loss of these rows
    (box,) = [one for one in page.all("section") if one.given.get("class") == "box warnings"]
    assert "more than was asked for" in box.text


def test_headlines_of_columns_together_of_no_bound_and_of_a_channel(tmp_path):
    # The joint loss is stated once, not once a column
    certificate = certificate_of_case("batch of rows that drifted")
    (loss,) = {found.pure_loss.upper for found in certificate.observed.values()}
    assert headline(certificate).epsilon == pytest.approx(up(loss))
    certificate = certificate_of_case("release, wrong side knowledge")
    assert "more, without a known bound," in certificate_title(certificate)
    assert "in 100, but" not in page_of(certificate, tmp_path).text
    certificate = certificate_of_case("batch of labels that drifted")
    assert "was asked for" in certificate_title(certificate)
    assert headline(certificate).epsilon > certificate.epsilon or headline(certificate).delta > certificate.delta


def test_the_registry_is_told_what_was_measured(drifted):
    certificate, loss = drifted
    assert f"epsilon: {up(loss):g}" in certificate.to_registry(published="2026-01-31")
    with pytest.raises(ArgumentError, match="one whose loss is known"):
        certificate_of_case("release, wrong side knowledge").to_registry(published="2026-01-31")


def test_an_order_that_tells_is_in_the_title_and_first(tmp_path):
    """A file that is sorted by the secret: whatever the noise, its place tells it."""
    frame = PEOPLE.sort_values("group", ignore_index=True)
    with pytest.warns(UserWarning, match="the order of the rows"):
        released = privatize(frame, secret="group", public="score", epsilon=1.0)
    certificate = certificate_of(released)
    assert certificate.warnings == ("order-tells",)
    assert certificate_title(certificate).endswith("; NOT of the order of the rows, which tells more")
    assert str(certificate).splitlines()[1].startswith("  WARNING")
    page = page_of(certificate, tmp_path)
    assert "NOT of the order of the rows" in page.all("h1")[0].text
    assert "not of the order of the rows" in page.text.partition("The promise")[2]


def test_secrets_of_few_rows_are_named(tmp_path):
    """Three others among 297: their names, and no count."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 147 + ["Other"] * 3, "score": [k * k % 11 for k in range(297)]})
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    with pytest.warns(UserWarning, match="say much: 'Other'"):
        released = privatize(frame, secret="sex", public="score", epsilon=1.0)
    certificate = certificate_of(released)
    assert certificate.warnings == ("few-rows",)
    (said,) = [one.text for one in certificate.statements if one.key == "few-rows"]
    assert "'Other'" in said
    assert "3" not in said
    assert said in page_of(certificate, tmp_path).text


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("release", ()),
        ("release, kept copy", ("kept-tells",)),
        ("release, few rows", ("few-rows",)),
        ("release, weak", ("weak-epsilon", "weak-delta")),
        ("release, no noise", ("no-noise",)),
        ("labels, rare", ("rare-levels",)),
        ("labels, declared", ()),  # a level of no row is of nobody
        ("release, seeded", ("warning-seed",)),
    ],
)
def test_warnings_are_a_field(name, keys):
    certificate = certificate_of_case(name)
    assert certificate.warnings == keys
    texts = {one.key: one.text for one in certificate.statements}
    shown = " ".join(str(certificate).split())
    assert all(f"WARNING {texts[key]}" in shown for key in keys)


# The losses under wider laws


@pytest.mark.parametrize("name", ["rows", "release, given", "rows, given"])
def test_any_law_of_rows_is_the_range_over_the_scale(name):
    certificate, case = certificate_of_case(name), flat(CASES[name])
    columns = [case["public"]] if isinstance(case["public"], str) else case["public"]
    widths = {column: float(np.ptp(case["frame"][column])) for column in columns}
    scales = [one["scales"] for one in certificate.strata] or [certificate.scales]
    loss = max(sum(widths[column] / own[column] for column in columns) for own in scales)
    for column in columns:
        assert loss <= certificate.wider[column]["any law"] <= loss * 1.1


def test_the_losses_of_a_channel():
    """Brute force over the printed probabilities: any law at all, and laws near the observed ones."""
    certificate = certificate_of_case("labels, matrix")
    found = certificate.channels["hobby"]
    matrix = np.array(found["matrix"])
    any_law = float(np.log(matrix.max(axis=0) / matrix.min(axis=0)).max())
    assert any_law <= certificate.wider["hobby"]["any law"] <= any_law * 1.1
    frame = CASES["labels, matrix"]["frame"]
    laws = [part["hobby"].value_counts(normalize=True).reindex(found["inputs"]) for _, part in frame.groupby("group")]
    outputs = [law.fillna(0).to_numpy() @ matrix for law in laws]
    observed = max(float(np.log(one / other).max()) for one in outputs for other in outputs)
    assert observed < certificate.wider["hobby"]["population"] <= certificate.wider["hobby"]["any law"]


# The file that is published


def test_the_page_names_the_file_and_the_commands_that_check_it(tmp_path):
    file = tmp_path / "my release.csv"
    file.write_text("score\n1\n", encoding="utf-8")
    page = page_of(certificate_of_case("release"), tmp_path, file=file)
    assert page.row("SHA-256 of my release.csv") == [hashlib.sha256(b"score\n1\n").hexdigest()]
    assert page.row("To check its bytes") == ["sha256sum 'my release.csv'"]
    assert page.row("To check its columns and values") == ["puffer verify 'my release.csv' --schema COLUMN=TYPE,..."]
    assert "cannot be trusted" in page.text


@pytest.mark.parametrize("file", [3, b"x"])
def test_what_is_no_file(file, tmp_path):
    with pytest.raises(ArgumentTypeError, match="file must be a str or a Path"):
        page_of(certificate_of_case("release"), tmp_path, file=file)
    with pytest.raises(ArgumentError, match="a single file"):
        page_of(certificate_of_case("release"), tmp_path, file=tmp_path)
    assert not (tmp_path / "page.html").exists()


def test_a_loss_is_called_proved_only_where_it_is():
    """Under stable noise nothing is proved, and of a belief whose laws a plan file lacks the file alone speaks."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 9, 100)})
    asked = {"secret": "group", "public": "score", "epsilon": 0.05}
    plain = frame.puffer.privatize(**asked, mechanism="noise").puffer.certificate
    stable = frame.puffer.privatize(**asked, mechanism=Noise(Stable(alpha=1.5))).puffer.certificate
    told = replace(plain, statements=(*plain.statements, say("from-file", beliefs="empirical")))
    for certificate, label in ((plain, "proved"), (stable, "measured"), (told, "measured")):
        assert label in [name for name, text in certificate_rows(certificate) if text.startswith("empirical belief: ")]


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("asked", [{"public": "pet", "domain": {"pet": list("fmuv")}}, {"public": "x"}])
def test_laws_that_are_believed_lose_no_more_than_was_asked_for(asked):
    """Rounded up, the same laws lost 1.1 where 1.05 was guaranteed."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"s": rng.choice(["f", "m"], 1200)})
    frame["pet"] = frame["s"].where(rng.random(1200) < 0.3, rng.choice(["u", "v"], 1200))
    frame["x"] = rng.integers(20, 60, 1200) + 3 * (frame["s"] == "f")
    certificate = frame.puffer.privatize(
        secret="s", epsilon=1.05, beliefs="population", mechanism="noise" if asked["public"] == "x" else "auto", **asked
    ).puffer.certificate
    assert certificate.wider[asked["public"]]["population"] == 1.05
    assert "does not refute at 95 %: the odds of two secrets change by a factor of at most 2.86" in " ".join(
        str(certificate).split()
    )
