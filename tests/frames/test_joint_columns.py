"""Several columns of numbers released together: the same scales on every kind of frame, and what is refused."""

import functools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import LOCAL_KINDS, build_frame, run, thinned
from kinds import both_releases, other_kind
from threadpoolctl import threadpool_info, threadpool_limits

import puffer_frames
from puffer_frames import Bootstrap, Noise, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, PriorError
from puffer_frames.mechanisms.noise import fitted, rows_seen

ROWS = 900
RNG = np.random.default_rng(19)
GROUP = RNG.choice(["p", "q", "r"], ROWS, p=[0.5, 0.3, 0.2])
GRADE = RNG.integers(0, 7, ROWS) + (GROUP == "p")
COLUMNS = {
    "group": GROUP,
    "other": RNG.choice([True, False], ROWS),
    "grade": GRADE,
    "mark": 10 - GRADE + RNG.integers(0, 4, ROWS),
    "wage": np.round(RNG.normal(size=ROWS) + 0.5 * (GROUP == "q"), 1),
    "still": np.full(ROWS, 4),
    "gaps": [None if k % 11 == 0 else k % 5 for k in range(ROWS)],
    "id": RNG.permutation(ROWS),
}
REQUESTS = {
    "two": {"public": ["grade", "mark"]},
    "three, floats": {"public": ["grade", "wage", "mark"]},
    "two secrets": {"public": ["grade", "mark"], "secret": ["group", "other"]},
    "pairs": {"public": ["grade", "mark"], "pairs": [("p", "q")]},
    "domain": {"public": ["grade", "wage"], "domain": {"wage": (-1.0, 1.0)}},
    "constant": {"public": ["still", "grade", "mark"]},
    "missing": {"public": ["gaps", "mark"], "nulls": "drop"},
    "delta": {"public": ["grade", "mark"], "delta": 1e-6},
    "remap": {"public": ["grade", "mark"], "mechanism": Noise(remap=True)},
    "weights": {"public": ["grade", "mark"], "mechanism": Noise(weights={"grade": 9.0})},
}


def plan(frame, **options):
    return puffer_frames.calibrate(frame, **{"secret": "group", "public": ["grade", "mark"], "epsilon": 0.7} | options)


@functools.cache
def planned(kind, name):
    return plan(build_frame(kind, COLUMNS), **REQUESTS[name])


CASES = thinned(LOCAL_KINDS, REQUESTS)
CASES += [pytest.param("spark", "missing"), pytest.param("spark", "two", marks=pytest.mark.slow)]


@pytest.mark.parametrize(("kind", "name"), CASES, indirect=["kind"])
def test_same_plan_and_same_release(kind, make_frame, name):
    frame = make_frame(COLUMNS)
    made, other = plan(frame, **REQUESTS[name]), planned(other_kind(kind), name)
    assert made.theorem == "joint"
    assert made.scales == other.scales
    released, same = both_releases(made, other, kind, frame, COLUMNS)
    one, two = certificate_of(released), certificate_of(same)
    assert [s.text for s in one.statements] == [s.text for s in two.statements]
    assert one.verify(released) == "unsigned: cannot be trusted"


def test_other_rows_with_the_same_columns_are_another_table():
    """Each column has the same counts; only which values stand side by side is another."""
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame)
    mixed = frame.with_columns(pl.col("mark").shuffle(seed=1).over("group"))
    with pytest.raises(CalibrationError, match="a frame with other rows"):
        made.release(mixed)
    assert certificate_of(made.release(frame.sample(fraction=1.0, shuffle=True, seed=2))).rows == ROWS


def test_drift_of_the_joint_law_alone():
    """Columns with the same laws for every secret, which tell the secret together in the batch."""
    rng = np.random.default_rng(3)
    group, first, second = rng.permutation(["a", "b"] * 500), rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    frame = pl.DataFrame({"group": group, "x": first, "y": second})
    made = plan(frame, public=["x", "y"], epsilon=0.2)
    told = frame.with_columns(y=pl.when(pl.col("group") == "a").then("x").otherwise(1 - pl.col("x")))
    with pytest.raises(CalibrationError, match=r"columns .x, y. .* more than was asked for") as caught:
        made.release(told, allow_other_frame=True)
    assert "allow_drift=True" in caught.value.hint
    certificate = certificate_of(made.release(told, allow_other_frame=True, allow_drift=True))
    assert certificate.observed["x"].pure_loss.lower > 0.2
    assert {"observed-exceeds", "other-rows"} <= {statement.key for statement in certificate.statements}
    twice = certificate_of(made.release(pl.concat([frame, frame]), allow_other_frame=True))
    assert "observed-exceeds" not in {statement.key for statement in twice.statements}


def test_batches_that_lack_or_add_a_secret_and_vary_where_the_plan_does_not():
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame)
    with pytest.raises(CalibrationError, match="secrets of the frame"):
        made.release(frame.with_columns(group=pl.col("group").replace("r", "s")), allow_other_frame=True)
    fewer = made.release(frame.filter(pl.col("group") != "r"), allow_other_frame=True, allow_drift=True)
    assert certificate_of(fewer).secret_values == ("p", "q", "r")
    alone = made.release(frame.filter(pl.col("group") == "p"), allow_other_frame=True)
    assert certificate_of(alone).observed == {}
    still = plan(frame, public=["still", "grade"])
    with pytest.raises(CalibrationError, match="not known to be within"):
        still.release(frame.with_columns(still=pl.col("mark")), allow_other_frame=True)


def test_beliefs_of_another_table_and_of_resamples():
    frame, last = pl.DataFrame(COLUMNS), pl.DataFrame(COLUMNS).with_columns(mark=pl.col("mark").shuffle(seed=4))
    spread = {name: float(np.std(COLUMNS[name])) for name in ("grade", "mark")}

    def total(made):
        return sum(made.scales[name] / spread[name] for name in spread)

    own = plan(frame)
    for beliefs, names in (
        ([last], ["empirical", "other table"]),
        (["fitted", pd.DataFrame(COLUMNS)], ["empirical", "other table"]),
        (("only", last), ["other table"]),
        (["empirical", Bootstrap(resamples=3)], ["empirical", "bootstrap"]),
        (Bootstrap(resamples=3), ["bootstrap"]),
    ):
        made = plan(frame, beliefs=beliefs)
        verified = made.choices["grade"].verified
        assert list(verified) == names
        assert all(found.pure_loss.upper <= 0.7 for found in verified.values())
        assert total(made) >= 0.99 * total(own) or "empirical" not in names
        certificate = certificate_of(made.release(frame))
        assert certificate.beliefs == tuple(names)
    with pytest.raises(ArgumentError, match="one without 'r'"):
        plan(frame, beliefs=[last.filter(pl.col("group") != "r")])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"mechanism": Noise(weights={"nobody": 1.0})}, ArgumentError, "weights"),
        ({"mechanism": Noise(weights={"grade": 0})}, ArgumentError, "weights"),
        ({"mechanism": Noise(weights={"grade": float("inf")})}, ArgumentError, "weights"),
        ({"mechanism": Noise(weights=[1, 2])}, ArgumentTypeError, "weights"),
        ({"mechanism": Noise(weights={"grade": 1}), "public": "grade"}, ArgumentError, "weights"),
        ({"beliefs": "population"}, ArgumentError, "beliefs"),
        ({"mechanism": Noise(theorem="bounded"), "beliefs": Bootstrap()}, ArgumentError, "beliefs"),
        ({"mechanism": Noise(theorem="gmm")}, ArgumentError, "theorem"),
        ({"public": ["grade", "gaps"]}, PriorError, "without nulls"),
        ({"public": ["still", "two"]}, CalibrationError, "one that needs noise"),
    ],
)
def test_refused(options, error, match):
    frame = pl.DataFrame(COLUMNS).with_columns(two=pl.lit(2))
    with pytest.raises(error, match=match):
        plan(frame, **options)


@pytest.mark.parametrize("kind", thinned(LOCAL_KINDS, few=("pandas",)), indirect=True)
def test_what_is_not_joint(make_frame, monkeypatch):
    frame = make_frame(COLUMNS | {"a": GRADE % 3, "b": GRADE % 2})
    assert plan(frame, mechanism=Noise(theorem="bounded")).theorem == "bounded"
    assert plan(frame, mechanism=Noise(calibration="theorem")).theorem == "bounded"
    assert plan(frame, mechanism=Noise("gaussian"), delta=1e-6).theorem == "bounded"
    five = plan(frame, public=["grade", "mark", "wage", "a", "b"], mechanism="noise")
    assert five.theorem == "kantorovich"
    assert plan(frame, mechanism=Noise(theorem="kantorovich")).theorem == "kantorovich"
    monkeypatch.setattr(rows_seen, "MOST_SECRETS", 2)
    assert plan(frame).theorem == "bounded"
    with pytest.raises(CalibrationError, match="of at most 2 values"):
        plan(frame, mechanism=Noise(theorem="kantorovich"))


CELLS = {"public": ["wage", "grade", "word"], "mechanism": Noise()}
WORDS = {"word": np.where(RNG.random(ROWS) < 0.3, GROUP, "o")}


@functools.cache
def planned_in_cells(kind):
    return plan(build_frame(kind, COLUMNS | WORDS), **CELLS)


@pytest.mark.parametrize(
    "kind",
    [*thinned(LOCAL_KINDS, few=("pandas", "polars-lazy", "duckdb")), pytest.param("spark", marks=pytest.mark.slow)],
    indirect=True,
)
def test_many_rows_are_counted_in_cells(kind, make_frame, monkeypatch, tmp_path):
    """They had noise for the whole ranges, and beside labels there was an error."""
    exact = planned_in_cells("polars").all_scales
    monkeypatch.setattr(rows_seen, "MOST_ROWS", 400)
    monkeypatch.setattr(rows_seen, "MOST_CELLS", 3 * 3 * 8 * 16)
    frame, same = make_frame(COLUMNS | WORDS), build_frame("polars", COLUMNS | WORDS)
    made, other = plan(frame, **CELLS), plan(same, **CELLS)
    assert (made.theorem, made.all_scales, made.checksum) == ("joint", other.all_scales, other.checksum)
    for name, scale in exact.items():
        assert scale < made.all_scales[name] < 1.3 * scale
    wages = made.choices["wage"].empirical["p"]
    assert wages.radius == 0  # by itself the column is counted as narrowly as ever
    made.save(tmp_path / "plan.json")
    kept = puffer_frames.Plan.load(tmp_path / "plan.json")
    assert certificate_of(run(kept.release(frame))).rows == ROWS  # the rows are those of the plan
    batch = same.sample(fraction=1.0, with_replacement=True, seed=1)
    assert certificate_of(other.release(batch, allow_other_frame=True, allow_drift=True)).rows == ROWS


def test_few_values_are_counted_by_themselves(monkeypatch):
    frame, asked = pl.DataFrame(COLUMNS | {"a": GRADE % 3, "b": GRADE % 2}), {"public": ["a", "b"]}
    exact = plan(frame, **asked)
    monkeypatch.setattr(rows_seen, "MOST_ROWS", 18)  # 3 x 2 values of 3 secrets
    monkeypatch.setattr(rows_seen, "MOST_CELLS", 1)
    assert plan(frame, **asked).checksum == exact.checksum
    monkeypatch.setattr(rows_seen, "MOST_ROWS", 17)
    assert plan(frame, **asked).checksum != exact.checksum


@pytest.mark.parametrize(("epsilon", "share"), [(0.1, 0.5), (1.0, 0.5), (4.0, 0.125)])
def test_no_column_is_released_as_it_is(epsilon, share):
    """Rows that tell nothing: the least scale is half the smallest step, divided by epsilon above 1."""
    rows = pl.DataFrame({"x": [0, 2, 4, 9] * 25, "y": [0.0, 0.5, 3.5, 9.0] * 25})
    frame = pl.concat([rows.with_columns(group=pl.lit(group)) for group in "ab"]).sample(
        fraction=1, shuffle=True, seed=1
    )
    made = plan(frame, public=["x", "y"], epsilon=epsilon)
    assert made.scales == pytest.approx({"x": 2 * share, "y": 0.5 * share})
    assert made.choices["x"].verified["empirical"].pure_loss.upper < 1e-9


def test_what_a_plan_says_of_other_laws():
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame, beliefs=[frame.with_columns(mark=pl.col("mark").shuffle(seed=4))])
    table = made.robustness()
    assert table["belief"].to_list() == ["empirical", "other table", "any law"]
    assert table["covered"].to_list() == [True, True, False]
    assert table["column"].unique().to_list() == ["grade, mark"]
    ranges = {name: int(COLUMNS[name].max() - COLUMNS[name].min()) for name in made.scales}
    most = sum(ranges[name] / scale for name, scale in made.scales.items())
    assert table["loss"][2] == pytest.approx(most)
    assert f"pure loss at most {most:.6g}" in " ".join(str(made).split())
    certificate = certificate_of(made.release(frame))
    said = next(s.text for s in certificate.statements if s.key == "joint-any-law")
    assert float(said.rstrip(".").rsplit(" ", 1)[1]) >= most


def test_columns_at_the_ends_of_the_floats():
    # It varies for another secret, by little or by much, and far from 0
    for step in (1e-9, 3.0, 1e12):
        rows = {"s": list("aabbcc"), "x": [5.0] * 5 + [5.0 + step], "y": [0.0, 1, 1, 0, 5, 6]}
        made = plan(pd.DataFrame(rows), secret="s", public=["x", "y"], epsilon=0.1, pairs=[("a", "b")])
        assert made.scales["x"] == pytest.approx(step / 2, rel=1e-6)
    rows = pd.DataFrame({"s": list("aabb"), "x": [0.0, 1e300, 0, 0], "y": [0.0, 1e300, 1e300, 0]})
    with pytest.raises(CalibrationError, match="in the range of floats"):
        plan(rows, secret="s", public=["x", "y"], epsilon=1e-9)
    frame = pd.DataFrame({"group": list("aab") * 20, "x": [0.0, 5e-324, 5e-324] * 20, "y": [1.0, 2.0, 4.0] * 20})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = frame.puffer.calibrate(secret="group", public=["x", "y"], epsilon=1.0)
    assert 0 < made.scales["x"] < 1e-200 < made.scales["y"]


def test_drift_beyond_the_plan_and_with_delta():
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame)
    far = frame.with_columns(mark=pl.when(pl.int_range(pl.len()) == 0).then(10**9).otherwise("mark"))
    with pytest.raises(CalibrationError, match="not known to be within"):
        made.release(far, allow_other_frame=True)
    # The joint hockey stick is computed for these rows too
    made = plan(frame, delta=1e-6)
    drifted = frame.with_columns(mark=pl.col("mark") + 9 * (pl.col("group") == "p"))
    with pytest.raises(CalibrationError, match=r"delta between .* more than was asked for"):
        made.release(drifted, allow_other_frame=True)


def test_scales_do_not_depend_on_the_cores(monkeypatch):
    """With another number of threads a product of matrices has other last bits."""
    seen, choose = [], fitted.choose_jointly

    def watched(*args, **asked):
        seen.extend(own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas")
        return choose(*args, **asked)

    monkeypatch.setattr(fitted, "choose_jointly", watched)
    with threadpool_limits(limits=2):
        plan(pl.DataFrame(COLUMNS))
    assert set(seen) == {1}
