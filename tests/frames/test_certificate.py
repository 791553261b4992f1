"""What a certificate says of the frame it came with, and of what became of it."""

import itertools
import json
import pickle
import re
from dataclasses import replace

import kinds
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import build_frame, run
from kinds import entries

from puffer_frames import Certificate, Layout, certificate_of, privatize, read_certificate, verify
from puffer_frames.errors import TableFileError, UncoveredFrameError
from puffer_frames.frames.stamps import fingerprint


@pytest.fixture(scope="module")
def released(make_frame, people):
    return run(
        privatize(make_frame(people), secret="group", public="score", epsilon=0.05, layout=Layout(keep="note"), rng=7)
    )


def test_attached_and_intact(released):
    certificate = certificate_of(released)
    assert certificate.epsilon == 0.05
    assert verify(released) == certificate.verify(released) == "unsigned: cannot be trusted"
    for kind in ("pandas", "polars", "pyarrow"):
        assert certificate.verify(build_frame(kind, dict(entries(released)))) == "unsigned: cannot be trusted"


def test_derived_and_uncovered(kind, released):
    certificate, frame = certificate_of(released), nw.from_native(released)
    ordered = "unsigned: cannot be trusted" if kind == "spark" else "derived"  # the rows of Spark come in no order
    assert certificate.verify(frame.sort("score").to_native()) == ordered
    assert certificate.verify(frame.head(10).to_native()) == "derived"
    assert certificate.verify(frame.select("score").to_native()) == "derived"
    assert certificate.verify(frame.with_columns(note=nw.lit("z")).to_native()) == "derived"
    more = frame.with_columns(raw=nw.lit(1)).to_native()
    assert certificate.verify(more) == "uncovered"
    with pytest.raises(UncoveredFrameError, match="raw"):
        certificate.attach(more)


def test_the_fingerprint_decides_and_attach_follows_its_hint(people):
    released = pd.DataFrame(people).puffer.privatize(secret="group", public="score", epsilon=0.05)
    raw_again = released.assign(score=people["score"])
    assert raw_again.attrs
    assert raw_again.puffer.verify() == "derived"
    with pytest.raises(UncoveredFrameError, match="group"):
        _ = released.assign(group=people["group"]).puffer.certificate
    released = pl.DataFrame(people).puffer.privatize(secret="group", public="score", epsilon=0.05)
    certificate = released.puffer.certificate
    rounded = released.with_columns(pl.col("score").round())
    with pytest.raises(UncoveredFrameError):
        _ = rounded.puffer.certificate
    with pytest.raises(UncoveredFrameError, match="derived=True"):
        certificate.attach(rounded)
    assert certificate.attach(rounded, derived=True).puffer.certificate == replace(certificate, derived=True)
    assert rounded.puffer.verify() == "derived"


def test_a_frame_without_certificate(make_frame, people):
    frame = make_frame(people)
    for ask in (certificate_of, verify):
        with pytest.raises(UncoveredFrameError, match="attach"):
            ask(frame)


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}, {"pairs": [("a", "c"), ("b", "c")]}])
def test_round_trips(people, tmp_path, options):
    frame = pd.DataFrame(people)
    certificate = frame.puffer.privatize(secret="group", public="score", epsilon=0.05, **options).puffer.certificate
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))) == certificate
    certificate.save(tmp_path / "release.json")
    assert Certificate.load(tmp_path / "release.json") == certificate
    assert pickle.loads(pickle.dumps(certificate)) == certificate


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_infinite_losses_survive_json(people):
    frame = pd.DataFrame({"s": ["a", "a", "b", "b"], "x": [0, 1, 1, 1]})
    options = {"epsilon": 1.0, "delta": 0.6, "allow_zero_noise": True}
    certificate = frame.puffer.privatize(secret="s", public="x", **options).puffer.certificate
    assert certificate.verified["x"]["empirical"].pure_loss.upper == float("inf")
    assert Certificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False))) == certificate


def test_csv_with_a_saved_certificate(people, tmp_path):
    released = pd.DataFrame(people).puffer.privatize(
        secret="group", public="score", epsilon=0.05, layout=Layout(keep="note")
    )
    released.to_csv(tmp_path / "release.csv", index=False)
    released.puffer.certificate.save(tmp_path / "release.json")
    exact = {"float_precision": "round_trip"} if pd.__version__ < "3" else {}  # pandas 2 reads floats to 15 digits
    again = pd.read_csv(tmp_path / "release.csv", **exact)
    assert Certificate.load(tmp_path / "release.json").verify(again) == "unsigned: cannot be trusted"
    assert (
        verify(pl.read_csv(tmp_path / "release.csv"), Certificate.load(tmp_path / "release.json"))
        == "unsigned: cannot be trusted"
    )


def test_another_version_is_refused(people):
    plain = (
        pd.DataFrame(people).puffer.privatize(secret="group", public="score", epsilon=0.05).puffer.certificate.to_dict()
    )
    del plain["noise"]
    with pytest.raises(ValueError, match="noise"):
        Certificate.from_dict(plain)


def test_text_says_what_matters(released):
    text = str(certificate_of(released))
    for part in ("epsilon = 0.05", "group of each record", "score", "note", "Laplace", "not covered", "seed"):
        assert part in text
    assert "<table>" in certificate_of(released)._repr_html_()


def test_it_holds_no_statistic_of_a_single_secret(people):
    frame = pd.DataFrame(people)
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=0.05)
    text = str(plan.release(frame).puffer.certificate.to_dict())
    numbers = re.findall(r"(?<![\w.])\d[\w.]*", text)
    assert "200" in numbers  # the rows in all
    for secret, prior in plan.priors.items():
        assert str(prior.mean) not in text
        assert str(plan.rows_per_secret[secret]) not in numbers


@pytest.mark.parametrize("sizes", [(1, 6, 3), (4, 4, 2), (10,), (0, 5, 0, 5), (3, 7)])
def test_a_fingerprint_does_not_depend_on_how_the_rows_come(monkeypatch, sizes):
    """Parts of four rows, two of them in two threads; rows in pieces of any size."""
    monkeypatch.setattr(fingerprint, "PART", 4)
    monkeypatch.setattr(fingerprint, "MANY", 2)
    rows = {"x": [1.5, None, 3.0] * 3 + [4.0], "note": ["a", None, "ζ", "", "a,"] * 2, "day": [None, *range(9)]}
    frame = pl.DataFrame(rows).with_columns(pl.col("day").cast(pl.Date))
    whole, pieces = fingerprint.Fingerprint(), fingerprint.Fingerprint()
    whole.update(nw.from_native(frame, eager_only=True))
    ends = np.cumsum([0, *sizes])
    for start, stop in itertools.pairwise(ends.tolist()):
        pieces.update(nw.from_native(frame[start:stop], eager_only=True))
    assert pieces.hexdigest() == whole.hexdigest() == kinds.fingerprint(frame)
    changed = frame.with_columns(x=pl.when(pl.int_range(10) == 5).then(0.0).otherwise("x"))
    assert kinds.fingerprint(changed) != whole.hexdigest()
    assert kinds.fingerprint(frame.reverse()) != whole.hexdigest()


WIDE = {
    "128-bit integers": pl.Series([1, 2**100, None] * 40, dtype=pl.Int128),
    "unsigned ones": pl.Series([1, 2**64 - 1, 5] * 40, dtype=pl.UInt64),
    "decimals": pl.Series(["1.25", "3.50", "0.00"] * 40).cast(pl.Decimal(20, 2)),
    "32-bit floats": pl.Series([0.1, float("inf"), float("-inf")] * 40, dtype=pl.Float32),
    "floats that are none": pl.Series([0.1, float("nan"), None] * 40),
}


@pytest.mark.parametrize("name", WIDE)
def test_kept_numbers_of_every_kind_enter_the_fingerprint(name):
    rng = np.random.default_rng(4)
    group, x = rng.permutation(["a", "b"] * 60), rng.permutation([1, 2, 4] * 40)
    frame = pl.DataFrame({"group": group, "x": x, "more": WIDE[name]})
    asked = {"secret": "group", "public": "x", "layout": Layout(keep="more"), "epsilon": 0.5, "allow_zero_noise": True}
    released = frame.puffer.privatize(**asked)
    assert released.puffer.verify() == "unsigned: cannot be trusted"
    changed = released.with_columns(more=pl.col("more").reverse())
    assert released.puffer.certificate.verify(changed) == "derived"


def test_a_damaged_parquet_file_is_named(tmp_path):
    """It was an OSError of PyArrow, or a fault."""
    path = tmp_path / "release.parquet"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "score": np.arange(400) % 7})
    released = frame.puffer.privatize(secret="group", public="score", epsilon=0.02)
    released.puffer.write_parquet(path)
    certificate, whole = read_certificate(path), path.read_bytes()
    path.write_bytes(whole[:200] + whole[300:])
    with pytest.raises(TableFileError, match="damaged or was cut short"):
        certificate.verify(path)
    path.write_bytes(whole[:-100])
    with pytest.raises(TableFileError, match="damaged or was cut short"):
        read_certificate(path)
    path.write_text("score\n1\n")
    with pytest.raises(TableFileError, match=r"another format(?s:.*)Certificate\.load"):
        read_certificate(path)


def test_a_page_is_about_the_file_of_the_release(tmp_path):
    """The page had the SHA-256 of any file, the raw table's too, as that of what is published."""
    people = pd.DataFrame({"group": ["a", "b"] * 50, "score": [k * k % 7 + k % 2 for k in range(100)]})
    people = people.sample(frac=1, random_state=0, ignore_index=True)
    released = people.puffer.privatize(secret="group", public="score", epsilon=0.5, mechanism="noise")
    certificate = certificate_of(released)
    people.to_parquet(tmp_path / "raw.parquet")
    people.to_csv(tmp_path / "raw.csv", index=False)
    people[["score"]].to_parquet(tmp_path / "other.parquet")
    for name in ("raw.parquet", "raw.csv", "other.parquet"):
        with pytest.raises(UncoveredFrameError):
            certificate.report(tmp_path / "page.html", file=tmp_path / name)
    assert not (tmp_path / "page.html").exists()
    released.puffer.write_parquet(tmp_path / "released.parquet")
    released.to_csv(tmp_path / "released.csv", index=False)
    released.assign(score=released["score"] + 1).to_csv(tmp_path / "changed.csv", index=False)
    certificate.save(tmp_path / "own.json")
    certificate_of(people.puffer.privatize(secret="group", public="score", epsilon=0.5)).save(tmp_path / "other.json")
    with pytest.raises(UncoveredFrameError, match="another certificate"):
        certificate.report(tmp_path / "page.html", file=tmp_path / "other.json")
    for name in ("released.parquet", "released.csv", "changed.csv", "own.json"):
        certificate.report(tmp_path / f"{name}.html", file=tmp_path / name)
        page = (tmp_path / f"{name}.html").read_text()
        assert ("this file may hold other values" in page) == (name == "changed.csv")
