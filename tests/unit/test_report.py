"""Reports: what the page holds, what it must never hold, and how it is written."""

import itertools
import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from certificate_cases import ABOUT, PEOPLE, certificate_of_case, said_of
from html_page import Page

import puffer_frames
from puffer_frames import Layout, Noise, Strata, privatize
from puffer_frames.certificates.report.page import example, use_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.loss.outcome import largest_auc
from puffer_frames.numbers.presentation import Bar, Bars, Section, as_sections
from puffer_frames.scales.cautions import rarest_rows

CASES = (
    *("release", "release, delta", "release, seeded", "rows", "rows, given, delta", "labels", "labels, published"),
    *("labels, no cap", "series, population", "sum and count, delta", "release, unit of independent rows"),
    *("release, kept", "release, stable noise", "columns", "rows, labels", "release, no noise", "rows, refined"),
)
ODD = '<script>alert("1")</script>\x07\u202e & \'"'


def page_of(certificate, folder, **more):
    path = folder / "report.html"
    certificate.report(path, overwrite=True, **more)
    text = path.read_text(encoding="utf-8")
    return Page(text), text


@pytest.mark.parametrize("name", CASES)
def test_every_page(name, tmp_path):
    """It is whole, needs nothing from elsewhere, guides a screen reader, and has every sentence of the certificate."""
    certificate = certificate_of_case(name)
    page, text = page_of(certificate, tmp_path)
    assert_whole(page, text)
    assert_readable(page)
    for statement in certificate.statements:
        assert " ".join(statement.text.split()) in page.text
    (box,) = (one for one in page.all("section") if one.given.get("class") == "box")
    for statement in certificate.statements:
        assert (statement.text in box.text) == (statement.kind == "not covered")


def assert_whole(page, text):
    assert {one.tag for one in page.elements} <= {
        *("html", "head", "meta", "title", "style", "body", "main", "p", "h1", "h2", "section", "ul", "li", "div"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
        *("svg", "text", "rect", "line", "wbr"),
    }
    given = {name for one in page.elements for name in one.given}
    assert not given & {"src", "href", "onload", "onclick", "style", "xlink:href"}
    assert not re.search(r"url\(|@import|https?://", text)
    assert "{" not in page.text


def assert_readable(page):
    assert page.all("html")[0].given["lang"] == "en"
    headings = [int(one.tag[1]) for one in page.all("h1", "h2", "h3")]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(headings))
    assert all(one.given["scope"] in ("row", "col") for one in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    named = [one.given["id"] for one in page.elements if "id" in one.given]
    assert len(named) == len(set(named))
    for one in page.elements:
        assert set(one.given.get("aria-labelledby", "").split()) <= set(named)
    for svg in page.all("svg"):
        assert svg.given["role"] == "img"
        title, _, bars = svg.given["aria-label"].partition(": ")
        assert title in page.text
        assert bars


def test_what_an_issuer_says_is_named_and_what_nobody_said_too(tmp_path):
    page, _ = page_of(said_of().puffer.certificate, tmp_path, justification="Our committee's usual value.")
    for head, word in (("Data set", "dataset"), ("Issued by", "issuer"), ("For what use", "intended_use")):
        assert page.row(head) == [ABOUT[word]]
    assert page.row("When") == ["2026-01-31T12:00:00Z"]
    assert page.row("Why this epsilon") == ["NIST", "Our committee's usual value. (said)"]
    page, _ = page_of(certificate_of_case("release"), tmp_path)
    assert page.row("When") == [certificate_of_case("release").created]
    for head in ("Data set", "Issued by", "For what use", "For whom", "On what legal basis", "Contact"):
        assert page.row(head) == ["not said"]
    assert page.row("After the release, and in an incident")[1].startswith("Not said when")
    assert page.row("Why this epsilon")[1].startswith("Not said")


def test_how_sure_the_promise_is(tmp_path):
    for case, sure in (("release", True), ("release, stable noise", False), ("batch that drifted", None)):
        page, _ = page_of(certificate_of_case(case), tmp_path)
        assert ("How sure: the bound is proved" in page.text) == (sure is True)
        assert ("but is not proved throughout" in page.text) == (sure is False)


def test_the_smallest_group_has_one_of_four_sizes(tmp_path):
    certificate = certificate_of_case("release")
    fewest = PEOPLE["group"].value_counts().min()
    assert certificate.rarest == 100 < fewest < 1000
    for rows, words in ((certificate.rarest, f"at least {certificate.rarest} rows"), (0, "fewer than 20 rows")):
        page, _ = page_of(replace(certificate, rarest=rows), tmp_path)
        assert words in page.row("Smallest group")[0]
    sizes = [{"a": 1999, "b": 40}, {"a": 99}, {"a": 1000}, {"a": 19}, {}]
    assert [rarest_rows(rows) for rows in sizes] == [20, 20, 1000, 0, None]


def test_every_text_is_escaped(tmp_path):
    names = {"secret": f"s{ODD}", "public": f"p{ODD}", "layout": Layout(keep=f"k{ODD}")}
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            names["secret"]: rng.choice([f"a{ODD}", f"b{ODD}"], 100),
            names["public"]: rng.integers(0, 5, 100),
            names["layout"].keep: rng.integers(0, 2, 100),
        }
    )
    said = {"issuer": ODD, "dataset": ODD, "intended_use": ODD, "contact": ODD}
    released = frame.puffer.privatize(**names, epsilon=0.5, about=said)
    page, text = page_of(released.puffer.certificate, tmp_path, justification=ODD)
    assert "<script" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert page.row("Issued by") == ['<script>alert("1")</script>\\x07\\u202e & \'"']
    frame.puffer.calibrate(secret=names["secret"], public=names["public"], epsilon=0.5).report(tmp_path / "plan.html")
    text = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "<script" not in text
    Page(text)


def test_a_release_shows_what_there_is_and_writes_its_page(tmp_path):
    released = said_of()
    text = repr(released.puffer)
    assert text.startswith("Certificate of pure Pufferfish privacy, epsilon = 1\n")
    assert "protects" in text
    assert "report(path)" in text
    assert len(text.splitlines()) < 20
    assert "privatize(secret=" in repr(PEOPLE.puffer)
    released.puffer.report(tmp_path / "one.html", justification="usual")
    released.puffer.certificate.report(tmp_path / "other.html", justification="usual")
    assert (tmp_path / "one.html").read_text() == (tmp_path / "other.html").read_text()
    with pytest.raises(puffer_frames.errors.UncoveredFrameError):
        PEOPLE.puffer.report(tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_how_to_use_the_file(tmp_path):
    certificate = certificate_of_case("release")
    page, _ = page_of(certificate, tmp_path)
    (name,) = certificate.scales
    (advice,) = [section.text for section in page.all("section") if section.text.startswith("How to use")]
    assert f"a variance of {2 * certificate.scales[name] ** 2:.4g}" in advice
    assert "slope" not in advice.replace(".regress", "")  # of one column
    assert "intervals of histograms and quantiles hold less often" in advice
    asked = {"secret": "group", "public": "score", "layout": Layout(keep="town"), "rng": 1}
    page, _ = page_of(privatize(PEOPLE, epsilon=1.0, **asked).puffer.certificate, tmp_path)
    assert re.search(r"divide it by [\d.]+ to [\d.]+, which holds in 95 % of releases\.", page.text)
    many = replace(privatize(PEOPLE, epsilon=1.0, **asked).puffer.certificate, rows=40_000)
    page, _ = page_of(many, tmp_path)
    assert "95 % of releases, of columns without rare values far out." in page.text
    page, _ = page_of(privatize(PEOPLE, epsilon=0.01, **asked).puffer.certificate, tmp_path)
    assert "smaller than in the raw rows: by how much is not known." in page.text
    for case, words in (
        ("labels", "not published"),
        ("labels, matrix", "has the table of probabilities"),
        ("rows, labels", "counts of rare labels come out too large"),
        ("release", 'regress("Y", on=["X"])'),
        ("release", 'Certificate.load("CERTIFICATE.json") to estimate'),
        ("release, stable noise", "no variance"),
        ("rows, given, delta", " to "),
        ("columns, domain", "means and all other figures are of the moved ones"),
        ("labels, shares kept", "Shares of levels are right on average"),
        ("numbers, channel, mean kept", "The mean of all rows of the release is right on average"),
        ("sum and count, delta", "estimates already"),
        ("mean", "It is not right on average, has no scale"),
    ):
        page, _ = page_of(certificate_of_case(case), tmp_path)
        (advice,) = [section.text for section in page.all("section") if section.text.startswith("How to use")]
        assert words in advice, case


def test_the_order_is_not_hidden_unless_rows_were_shuffled(tmp_path):
    for case, said in (("release", True), ("release, shuffled", False)):
        page, _ = page_of(certificate_of_case(case), tmp_path)
        assert ("how many rows it has; the order of the rows." in page.text) == said
        assert "how many rows it has" in page.text


def test_the_example_names_two_secrets(tmp_path):
    labels = privatize(PEOPLE, secret="group", public=["score", "hobby"], epsilon=1.0, given=Strata("town", minimum=1))
    page, _ = page_of(labels.puffer.certificate, tmp_path)
    assert "With what probability a label is the raw one depends on town" in page.text
    page, _ = page_of(certificate_of_case("release"), tmp_path)
    first, second = (repr(value) for value in certificate_of_case("release").secret_values[:2])
    assert f"takes group = {first} to be true with probability 1 in 10 and group = {second}" in page.text


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize(("mechanism", "delta", "squares"), [("noise", 0.0, 2.0), (Noise("gaussian"), 0.01, 1.0)])
def test_the_share_of_a_slope_is_in_its_range(mechanism, delta, squares):
    """It was the rounding of the spread alone, and held in half of the releases."""
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], 400)
    frame = pd.DataFrame({"group": group, "x": rng.normal(0, 10, 400).round() + 2 * (group == "a"), "kept": 1})
    asked = {"secret": "group", "public": "x", "epsilon": 1.0, "delta": delta, "mechanism": mechanism}
    plan, right = frame.puffer.calibrate(**asked, beliefs="empirical"), []
    raw = frame["x"].var()
    share = raw / (raw + squares * plan.scales["x"] ** 2)
    for seed in range(80):
        certificate = plan.release(frame, layout=Layout(keep="kept"), rng=seed).puffer.certificate
        text = str(dict(use_of(certificate))["x"])
        low, high = map(float, re.search(r"divide it by ([\d.]+) to ([\d.]+), which", text).groups())
        right.append(low <= share <= high)
    assert np.mean(right) >= 0.95


def test_a_release_from_a_seed_promises_nothing(tmp_path):
    page, _ = page_of(certificate_of_case("release, seeded"), tmp_path)
    (first, *_) = page.all("p")
    assert first.given["class"] == "notice"
    assert first.text.startswith("WARNING")
    assert page.all("h1")[0].text.endswith("1; NOT private: the noise came from a seed")
    for promise in ("1 in 10", "keeps the guarantee", "promise does not end", "largest risk", "Delta is 0"):
        assert promise not in page.text


def test_the_checklist_says_for_whom_and_with_which_scales(tmp_path):
    certificate = certificate_of_case("rows, given, delta")
    page, _ = page_of(certificate, tmp_path)
    scales = [stratum["scales"]["score"] for stratum in certificate.strata]
    assert f"score {min(scales):.6g} to {max(scales):.6g}, by stratum" in page.text
    assert "for readers with the beliefs named here it holds for every protected pair" in page.text
    assert "who knows that the record is in the table" in page.text
    assert "no end date" not in page.text


def test_a_promise_beside_other_columns_is_narrower(tmp_path):
    page, _ = page_of(certificate_of_case("release, kept"), tmp_path)
    assert "After looking at one noisy value" in page.text
    page, _ = page_of(certificate_of_case("rows, given, delta"), tmp_path)
    assert "knows nothing else of one record but its town" in page.text
    assert "among records with the same town" in page.text


def test_the_three_figures_of_robustness_are_those_of_the_certificate(tmp_path):
    certificate = certificate_of_case("release")
    page, _ = page_of(certificate, tmp_path)
    wider = certificate.wider["score"]
    assert page.row("the beliefs named here") == ["at most 1, as asked for"]
    assert page.row("every law that the table does not refute at 95 %") == [f"at most {wider['population']:g}"]
    assert page.row("any law on the range or domain") == [f"at most {wider['any law']:g}"]
    page, _ = page_of(certificate_of_case("labels, no cap"), tmp_path)
    assert page.row("any law of these levels (pure loss)") == ["at most 0.43"]  # of this channel, without a cap
    page, _ = page_of(certificate_of_case("rows"), tmp_path)
    assert page.row("every law that the table does not refute at 95 %") == [
        "not computed: possible for one column by itself only"
    ]


def test_figures_of_the_table_of_the_plan_are_called_so(tmp_path):
    """Of rows up to 500 and a plan up to 10 the page said 'any law on the range' of the plan's figure."""
    frame = pd.DataFrame({"s": ["a", "b"] * 100, "x": [float(k % 14 + k % 2) for k in range(200)]})
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    plan = frame.puffer.calibrate(secret="s", public="x", epsilon=1.0)
    other = frame.assign(x=[500.0 * (k % 6 < 2) for k in range(200)])
    for rows in (frame, other):
        found = puffer_frames.certificate_of(plan.release(rows, allow_other_frame=True, allow_drift=True))
        page, _ = page_of(found, tmp_path)
        of_plan = " of the plan" * (rows is other)
        assert page.row(f"every law that the table{of_plan} does not refute at 95 %")
        ranges = "domain, or the range of the table of the plan" if rows is other else "range or domain"
        assert page.row(f"any law on the {ranges}")


def test_delta_is_held_against_the_rows(tmp_path):
    page, _ = page_of(certificate_of_case("rows, given, delta"), tmp_path)  # 0.001 and 400 rows
    assert "is at most 0.4" in page.row("Delta against rows")[1]
    plain = certificate_of_case("release").to_dict() | {"delta": 0.01}
    weak, _ = page_of(puffer_frames.Certificate.from_dict(plain), tmp_path)
    assert "may be 1 or more" in weak.row("Delta against rows")[1]


@pytest.mark.parametrize(("epsilon", "after", "seen"), [(1.0, 0.232, 0.272), (0.5, 0.155, 0.165), (20.0, 1.0, 1.0)])
def test_the_example_in_numbers(epsilon, after, seen):
    found = example(epsilon, 0.0)
    assert (found.after, found.seen, found.chance) == (after, seen, 0.0)
    assert found.after >= Fraction(math.exp(epsilon)) / (9 + Fraction(math.exp(epsilon))) * (1 - Fraction(1, 10**12))


def test_the_example_holds_for_laws_at_delta():
    """Two laws of five values, and the least delta at epsilon: who gave a secret 1 in 10 rarely comes above."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        p, q = rng.dirichlet(np.full(5, 0.4), 2)
        epsilon = float(rng.uniform(0.05, 2))
        delta = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
        if not 0 < delta < 0.5:
            continue
        found = example(epsilon, delta)
        above = 0.1 * p / (0.1 * p + 0.9 * q) > found.after + 1e-12
        assert max(p[above].sum(), q[above].sum()) <= found.chance + 1e-12
        parts = [list(part) for k in range(6) for part in itertools.combinations(range(5), k)]
        assert all(p[part].sum() <= found.seen + 1e-12 for part in parts if q[part].sum() <= 0.1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.0), (1.0, 0.0), (1.0, 0.01), (3.0, 0.3)])
def test_no_attack_has_a_larger_area_under_its_curve(epsilon, delta, tmp_path):
    """The area below the lines of the region; and laws, one of them a mixture, as extreme as the promise allows."""
    false = np.linspace(0, 1, 100_001)
    lines = delta + math.exp(epsilon) * false, 1 - (1 - delta - false) * math.exp(-epsilon)
    area = np.trapezoid(np.minimum(np.minimum(*lines), 1.0), false)
    assert largest_auc(epsilon, delta) == pytest.approx(area, abs=1e-9)
    rest = (1 - delta) / (1 + math.exp(epsilon))
    worst = [np.array([delta, 1 - delta - rest, rest, 0.0]), np.array([0.0, rest, 1 - delta - rest, delta])]
    weak = np.array([0.0, 0.5, 0.5 - delta, delta])
    for other, equal in ((worst[1], True), ((worst[1] + weak) / 2, False)):
        order = np.argsort(-worst[0] / np.maximum(other, 1e-300))
        first, second = worst[0][order], other[order]
        auc = float(sum(p * (second[k + 1 :].sum() + second[k] / 2) for k, p in enumerate(first)))
        assert auc == pytest.approx(largest_auc(epsilon, delta), abs=1e-12) if equal else auc < area
    certificate = replace(certificate_of_case("release"), epsilon=epsilon, delta=delta, observed={})
    page, _ = page_of(certificate, tmp_path)
    printed = float(re.search(r"an AUC of at most ([\d.]+) on average", page.text)[1])
    assert area <= printed < area + 0.0011


def test_the_path(tmp_path):
    certificate = certificate_of_case("release")
    with pytest.raises(ArgumentError, match=r"ends in \.html"):
        certificate.report(tmp_path / "report.pdf")
    with pytest.raises(ArgumentTypeError, match="a str or a Path"):
        certificate.report(3)
    certificate.report(tmp_path / "report.html")
    before = (tmp_path / "report.html").read_bytes()
    with pytest.raises(ArgumentError, match="one that is there"):
        certificate.report(tmp_path / "report.html")
    with pytest.raises(ArgumentTypeError, match="True or False"):
        certificate.report(tmp_path / "report.html", overwrite="yes")
    with pytest.raises(ArgumentError, match="justification"):
        certificate.report(tmp_path / "report.html", overwrite=True, justification=" ")
    assert (tmp_path / "report.html").read_bytes() == before
    with pytest.raises(FileNotFoundError):
        certificate.report(tmp_path / "none" / "report.html")
    certificate.report(str(tmp_path / "report.html"), overwrite=True)
    assert (tmp_path / "report.html").read_bytes() == before  # nothing in it changes from run to run
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@dataclass
class Audited:
    passed: object
    figure: str = "race a: 0.8125"

    def __str__(self):
        return f"accuracy {self.figure}"


def test_a_test_of_the_release(tmp_path):
    certificate = certificate_of_case("release")
    page, text = page_of(certificate, tmp_path, audit=Audited(True))
    assert page.row("Adversarial test")[1] == (
        "An audit of the release against its table (Audited) found no fault. It looks for raw values, for an order or "
        "a seed that tells, and for more of the secret in single released columns than the certificate allows. "
        "(measured)"
    )
    assert "0.8125" not in text
    page, _ = page_of(certificate, tmp_path, audit=Audited(False))
    assert "FAILED" in page.all("p")[0].text
    assert page.all("p")[0].given["class"] == "notice"
    for wrong in (Audited("yes"), "passed", 1):
        with pytest.raises(ArgumentTypeError, match="audit"):
            certificate.report(tmp_path / "wrong.html", audit=wrong)
    assert not (tmp_path / "wrong.html").exists()


def test_the_ledger_tells_of_this_data_set_alone(tmp_path):
    book = puffer_frames.Ledger(tmp_path / "releases.jsonl")
    asked = {"secret": "group", "public": ["score", "age"], "mechanism": Noise(theorem="bounded"), "ledger": book}
    for dataset in ("ours", "theirs", "ours"):
        released = PEOPLE.puffer.privatize(**asked, epsilon=0.5, about={"dataset": dataset})
    page, text = page_of(released.puffer.certificate, tmp_path, ledger=book)
    assert "theirs" not in text
    assert len([one for one in page.all("td") if one.text == "finished"]) == 2
    assert "in the ledger together: epsilon 1 (" in page.text
    assert "not among those of the ledger" not in page.text
    other = PEOPLE.puffer.privatize(secret="group", public="score", epsilon=1.0, about={"dataset": "ours"})
    page, _ = page_of(other.puffer.certificate, tmp_path, ledger=book)
    assert "not among those of the ledger" in page.text
    PEOPLE.puffer.privatize(secret="group", public="some", nulls="drop", epsilon=1.0, about=ours(), ledger=book)
    page, _ = page_of(other.puffer.certificate, tmp_path, ledger=book)
    assert "Nothing is known of all releases" in page.text
    with pytest.raises(ArgumentError, match="names no data set"):
        certificate_of_case("release").report(tmp_path / "none.html", ledger=book)
    with pytest.raises(ArgumentError, match="one without"):
        said_of().puffer.certificate.report(tmp_path / "none.html", ledger=book)
    with pytest.raises(ArgumentTypeError, match="a Ledger"):
        said_of().puffer.certificate.report(tmp_path / "none.html", ledger="releases.jsonl")


def ours():
    return {"dataset": "ours"}


PLANS = {
    "noise": {"public": "score"},
    "several": {"public": ["score", "age"]},
    "labels beside": {"public": ["score", "hobby"]},
    "strata": {"public": "score", "given": "town"},
    "channel": {"public": "hobby"},
    "channel, delta": {"public": "hobby", "delta": 1e-4},
    "channel of two": {"public": ["hobby", "town"], "mechanism": "channel"},
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_begins_with_a_warning_and_is_private(name, tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", epsilon=1.0, **PLANS[name])
    plan.report(tmp_path / "plan.html", audit=Audited(True))
    assert (tmp_path / "plan.html").stat().st_mode & 0o777 == 0o600
    page = Page((tmp_path / "plan.html").read_text(encoding="utf-8"))
    assert page.all("body")[0].text.lstrip().startswith("KEEP PRIVATE")
    assert all(str(rows) in page.text for rows in plan.rows_per_secret.values())
    assert "0.8125" in page.text
    with pytest.raises(ArgumentError, match="one that is there"):
        plan.report(tmp_path / "plan.html")


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("public", ["score", ["score", "age"]])
def test_a_page_leads_with_what_to_do_where_noise_drowns_the_values(public, tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", public=public, epsilon=0.01, mechanism="noise")
    plan.report(tmp_path / "plan.html")
    certificate = plan.release(PEOPLE).puffer.certificate
    certificate.report(tmp_path / "release.html")
    figures = plan.column_errors()
    assert any(one.constant_error_is_bound for one in certificate.estimated.values())
    for name in ("plan", "release"):
        first = Page((tmp_path / f"{name}.html").read_text()).all("section")[0]
        assert first.given["aria-labelledby"] == "instead"
        assert ('mechanism="channel"' in first.text, "Leave out columns" in first.text) == (
            public == "score",
            public != "score",
        )
        times = re.search(r"about ([\d.]+) times smaller", first.text)
        assert (times is None) == (name == "release")  # which knows no more than that a constant's error is below that
        most = max(one.error / one.constant for one in figures)
        assert times is None or 1 < most <= float(times[1]) < 1.1 * most


def test_no_label_of_a_picture_is_cut_off():
    label = "every law that the table does not refute at 95 % of " + "a_name_without_blanks" * 4
    bars = [Bar(label=label, value=1.0, text="at most 1"), Bar(label="b", value=2.0, text="2")]
    drawn = as_sections([Section("key", "title", [Bars(title="title", bars=bars)])])
    lines = re.findall(r'<text x="0" y="(\d+)">([^<]*)</text>', drawn)
    assert "".join(text for _, text in lines[:-1]).replace(" ", "") == label.replace(" ", "")
    assert max(len(text) for _, text in lines) <= 40
    heights = [int(y) for y, _ in lines]
    assert heights == sorted(set(heights))


def test_columns_of_one_channel_are_one_row(tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", epsilon=1.0, **PLANS["channel of two"])
    page, _ = page_of(plan.release(PEOPLE).puffer.certificate, tmp_path)
    assert "a random level for each row of values together" in page.row("hobby, town")[0]
    assert "After looking at the released values of one row together" in page.text


def test_a_certificate_has_no_statistics_that_the_plan_has(tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", public="age", epsilon=1.0)
    certificate = plan.release(PEOPLE).puffer.certificate
    page, _ = page_of(certificate, tmp_path)
    text = page.text.replace(certificate.fingerprint, "")  # which may hold any number
    for secret, rows in plan.rows_per_secret.items():
        prior = plan.priors[secret]
        for figure in (f"{rows:,}", f"{prior.mean:.6g}", f"{prior.std:.6g}"):
            assert not re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d.])", text), figure


def test_a_changed_frame_says_so(tmp_path):
    released = PEOPLE.puffer.privatize(secret="group", public="score", epsilon=1.0)
    certificate = released.puffer.certificate
    changed = certificate.attach(released.head(50), derived=True)
    page, _ = page_of(changed.puffer.certificate, tmp_path)
    assert "was changed after the release" in page.text
