"""Several secret columns, each protected by itself: the least noise for all of them, and nothing about two together."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import LOCAL_KINDS, run, thinned

import puffer_frames
from puffer_frames import Layout, Noise, Strata, Unit, certificate_of, compose
from puffer_frames.errors import ArgumentError, CalibrationError

RNG = np.random.default_rng(11)
ROWS = 1_500
TEAM, SHIFT = RNG.choice(["p", "q", "r"], ROWS, p=[0.5, 0.3, 0.2]), RNG.choice([True, False], ROWS)
COLUMNS = {
    "team": TEAM,
    "shift": SHIFT,
    "town": RNG.choice(["a", "b"], ROWS),
    "grade": RNG.integers(0, 6, ROWS) + 2 * (TEAM == "q") + (SHIFT & (TEAM == "r")) * 3,
    "mark": RNG.integers(0, 4, ROWS) + SHIFT,
    "job": np.where(SHIFT & (RNG.random(ROWS) < 0.3), "cook", RNG.choice(["cook", "clerk", "smith"], ROWS)),
}
FRAME = pd.DataFrame(COLUMNS)
BOTH = ["team", "shift"]


def plan(frame=FRAME, **options):
    return puffer_frames.calibrate(
        frame, **{"secret": BOTH, "secrets": "each", "public": "grade", "epsilon": 1.0} | options
    )


def worst_of(public, density, secret):
    """Largest |log-ratio| of two values of a secret, over all released rows with the coordinates of the table."""
    laws = [part.groupby(public).size() / len(part) for _, part in FRAME.groupby(secret)]
    rows = list(itertools.product(*(sorted(FRAME[name].unique()) for name in public)))
    logs = [
        [math.log(sum(w * density(y, x if isinstance(x, tuple) else (x,)) for x, w in law.items())) for law in laws]
        for y in rows
    ]
    return max(max(found) - min(found) for found in logs)


def test_the_scale_is_the_largest_that_a_secret_needs():
    alone = [plan(secret=name, secrets="joint").scale for name in BOTH]
    assert plan().scale == max(alone) > min(alone)
    assert plan(secrets="joint").scale > 1.05 * plan().scale
    assert plan(secret="team").scale == alone[0]  # one column: the same


@pytest.mark.parametrize("public", [["grade", "mark"], ["grade", "job"]])
def test_rows_are_within_epsilon_for_each_secret(public):
    made = plan(public=public)
    certificate = certificate_of(made.release(FRAME, rng=1))
    rates = [
        1 / certificate.scales[name] if name in certificate.scales else certificate.channels[name]["cap"]
        for name in public
    ]

    def density(y, x):
        away = [abs(a - b) if name != "job" else a != b for a, b, name in zip(y, x, public, strict=True)]
        return math.exp(-sum(r * d for r, d in zip(rates, away, strict=True)))

    losses = [worst_of(public, density, name) for name in BOTH]
    assert 0.97 < max(losses) <= 1.0


def test_a_channel_is_within_epsilon_for_each_secret():
    made = plan(public="job")
    weights = np.array(made.channels["job"].weights, dtype=float) / 2**62
    levels = list(made.channels["job"].outputs)
    for name in BOTH:
        laws = pd.crosstab(FRAME[name], FRAME["job"], normalize="index")[levels].to_numpy()
        released = np.log(laws @ weights)
        assert (released.max(axis=0) - released.min(axis=0)).max() <= 1.0
    single = [plan(public="job", secret=name, secrets="joint").expected_error for name in BOTH]
    assert made.expected_error["job"] >= max(error["job"] for error in single) - 1e-9
    assert made.rows == ROWS


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"public": ["grade", "mark"]},
        {"public": "job"},
        {"public": ["job", "mark"]},
        {"given": Strata("town", minimum=10)},
        {"beliefs": "population"},
        {"mechanism": Noise(theorem="kantorovich")},
    ],
    ids=str,
)
def test_the_certificate_says_what_is_protected(options):
    made = plan(**options)
    released = made.release(FRAME, rng=1)
    certificate = certificate_of(released)
    assert certificate.pairs == "each"
    assert set(certificate.secret_values) == {("team", t) for t in "pqr"} | {("shift", s) for s in (True, False)}
    assert "every pair of values of each by itself" in str(certificate)
    assert "secrets-each" in {statement.key for statement in certificate.statements}
    assert "listed-pairs" not in {statement.key for statement in certificate.statements}
    assert puffer_frames.Certificate.from_dict(certificate.to_dict()) == certificate
    assert puffer_frames.verify(released) == "unsigned: cannot be trusted"
    assert made.rows == certificate.rows == ROWS
    assert made.rows_per_secret["team", "p"] == (TEAM == "p").sum()
    assert "every pair of values of each by itself" in str(made)
    assert not {"team", "shift"} & set(released.columns)


def test_other_rows_are_measured_for_each_secret():
    made, rows = plan(), FRAME.sample(frac=1.0, replace=True, random_state=3)
    with pytest.raises(CalibrationError, match="within epsilon"):
        plan(epsilon=0.3).release(FRAME.assign(grade=FRAME["grade"] + 9 * (TEAM == "q")), allow_other_frame=True)
    certificate = certificate_of(
        made.release(rows, allow_other_frame=True, allow_drift=True, layout=Layout(index="drop"))
    )
    assert certificate.pairs == "each"
    with pytest.raises(CalibrationError, match="secrets of the plan"):
        made.release(FRAME.replace({"team": {"p": "x"}}), allow_other_frame=True)


def test_a_plan_file_of_three_secrets_is_read(tmp_path):
    plan(secret=["team", "shift", "town"]).save(tmp_path / "plan.json")
    kept = puffer_frames.load_plan(tmp_path / "plan.json")
    assert certificate_of(kept.release(FRAME)).rarest == 100
    few = FRAME.assign(team=np.where(np.arange(ROWS) < ROWS - 9, TEAM, "rare"))
    with pytest.warns(puffer_frames.errors.FewRowsWarning):
        made = plan(few)
    batch = made.release(few.head(ROWS - 9), allow_other_frame=True, allow_drift=True)
    said = {one.key: one.text for one in certificate_of(batch).statements}
    assert "in the table of the plan: ('team', 'rare')." in said["few-rows"]


def test_units_and_another_table_and_two_releases():
    units = FRAME.assign(who=[f"u{k // 2}" for k in range(ROWS)])
    first = np.arange(ROWS) // 2 * 2
    units = units.assign(team=TEAM[first], shift=SHIFT[first])
    made = plan(units, unit=Unit("who", rows="independent", most=2))
    single = [plan(units, unit=Unit("who", rows="independent", most=2), secret=name).scale for name in BOTH]
    assert made.scale == max(single)
    other = FRAME.sample(frac=1.0, replace=True, random_state=1)
    assert plan(beliefs=["empirical", other]).scale >= plan(beliefs="empirical").scale
    certificates = [certificate_of(plan(public=name).release(FRAME)) for name in ("grade", "mark")]
    scales = {name: value for each in certificates for name, value in each.scales.items()}

    def density(y, x):
        return math.exp(-sum(abs(a - b) / scales[name] for a, b, name in zip(y, x, ("grade", "mark"), strict=True)))

    lost = max(worst_of(["grade", "mark"], density, name) for name in BOTH)
    assert lost > 1.0
    assert compose(certificates, frame=FRAME).epsilon == pytest.approx(lost, abs=1e-9)


@pytest.mark.parametrize("kind", thinned(LOCAL_KINDS, few=("pandas-pyarrow", "polars-lazy", "duckdb")), indirect=True)
def test_every_kind_of_frame_has_the_same_plan(make_frame):
    made = plan(make_frame(COLUMNS))
    assert made.scales == plan().scales
    assert made.checksum == plan().checksum
    assert certificate_of(run(made.release(make_frame(COLUMNS)))).pairs == "each"


def test_what_is_refused():
    with pytest.raises(ArgumentError, match='"all" beside secrets="each"'):
        plan(pairs=[("p", "q")])
    with pytest.raises(ArgumentError, match="secrets must be"):
        plan(secrets="both")
    with pytest.raises(ArgumentError, match="'shift' must be of at least two"):
        plan(FRAME.assign(shift=True))
