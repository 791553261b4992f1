"""Labels beside numbers by a coupling of whole rows, and by noise for ranges: linear programs and direct sums."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, run, sweep, thinned
from scipy.optimize import linprog

import puffer_frames
from puffer_frames import Layout, Noise, Unit, certificate_of, compose
from puffer_frames.errors import CalibrationError
from puffer_frames.priors.row_coupling import RowBoxes, coupling_distance


def rates_of(plan):
    """1 / scale per column, from the certificate of a release alone."""
    return plan.fitted.all_scales


def distance(x, y, scales, labels):
    return sum((x[k] != y[k] if k in labels else abs(x[k] - y[k])) / scale for k, scale in enumerate(scales))


def can_couple(one, other, within, scales, labels):
    """Whether laws {row: probability} have a coupling whose rows are never farther apart: a linear program."""
    pairs = [(x, y) for x in one for y in other if distance(x, y, scales, labels) <= within]
    sides = [*((0, x, p) for x, p in one.items()), *((1, y, p) for y, p in other.items())]
    matrix = np.array([[float(pair[side] == row) for pair in pairs] for side, row, _ in sides])
    if not pairs:
        return False
    found = linprog(np.zeros(len(pairs)), A_eq=matrix, b_eq=[p for *_, p in sides], method="highs")
    return found.status == 0


def law(frame, public):
    counts = frame.groupby(public).size() / len(frame)
    return {tuple(row): float(p) for row, p in counts.items()}


def people(seed, rows=240):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    job = np.where(rng.random(rows) < 0.2 + 0.3 * (group == "b"), "cook", rng.choice(["clerk", "smith"], rows))
    return pd.DataFrame(
        {
            "group": group,
            "x": rng.integers(0, 4, rows) + (group == "a"),
            "job": job,
            "pet": rng.choice(["cat", "dog"], rows),
            "y": rng.integers(0, 3, rows),
            "z": rng.integers(0, 2, rows),
        }
    )


@few(1)
@pytest.mark.parametrize("public", [["x", "job"], ["job", "pet"], ["x", "job", "y"]])
def test_rows_can_be_paired_within_epsilon(public):
    frame = people(1)
    plan = puffer_frames.calibrate(
        frame, secret="group", public=public, epsilon=1.0, mechanism=Noise(theorem="kantorovich")
    )
    laws = [law(part, public) for _, part in frame.groupby("group")]
    scales, labels = (
        [plan.fitted.all_scales[name] for name in public],
        {k for k, n in enumerate(public) if n in ("job", "pet")},
    )
    assert can_couple(*laws, 1.0 + 1e-9, scales, labels)
    assert not can_couple(*laws, 0.97, scales, labels)
    assert plan.theorem == "kantorovich"
    certificate = certificate_of(plan.release(frame))
    assert compose([certificate, certificate_of(plan.release(frame))]).epsilon == pytest.approx(2.0, abs=1e-9)
    caps = {name: found["cap"] for name, found in certificate.channels.items()}
    assert caps == pytest.approx({name: 1 / plan.fitted.all_scales[name] for name in public if name in ("job", "pet")})


def test_more_than_four_columns():
    frame, public = people(2), ["x", "job", "pet", "y", "z"]
    plan = puffer_frames.calibrate(frame, secret="group", public=public, epsilon=1.0, mechanism="noise")
    assert plan.theorem == "kantorovich"
    laws = [law(part, public) for _, part in frame.groupby("group")]
    scales = [plan.fitted.all_scales[name] for name in public]
    assert can_couple(*laws, 1.0 + 1e-9, scales, {1, 2})
    found = plan.choices["x"].verified["empirical"].pure_loss
    assert 0 < found.lower <= found.upper <= 1.0


@sweep(20, 400)
def test_distances_of_boxes_with_labels(count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        ratios, columns = rng.uniform(0.3, 3, 3), {1}
        laws = [
            (np.unique(rng.integers(0, 5, (int(rng.integers(2, 8)), 3)), axis=0).astype(float), None) for _ in range(2)
        ]
        laws = [(points, np.ones(len(points), dtype=np.int64)) for points, _ in laws]
        exact = coupling_distance(*(RowBoxes.of(rows, ratios, most=50, labels=columns) for rows in laws), ratios)
        boxed = coupling_distance(*(RowBoxes.of(rows, ratios, most=3, labels=columns) for rows in laws), ratios)
        assert boxed >= exact
        sides = [{tuple(row): 1 / len(points) for row in points} for points, _ in laws]
        assert can_couple(*sides, exact + 1e-9, ratios, columns)
        assert not can_couple(*sides, exact * (1 - 1e-9) - 1e-9, ratios, columns)


@pytest.mark.parametrize("options", [{}, {"mechanism": Noise("gaussian", theorem="bounded"), "delta": 1e-5}], ids=str)
def test_noise_for_ranges_hides_any_two_rows(options):
    frame, public = people(3), ["x", "job", "pet"]
    plan = puffer_frames.calibrate(
        frame, secret="group", public=public, epsilon=1.2, **{"mechanism": Noise(theorem="bounded")} | options
    )
    assert plan.theorem == "bounded"
    scales = plan.fitted.all_scales
    assert scales["job"] == scales["pet"] == pytest.approx(3 / 1.2)
    if not options:
        reach = np.ptp(frame["x"]) / scales["x"] + 1 / scales["job"] + 1 / scales["pet"]
        assert 1.19 < reach <= 1.2
        first, second = (certificate_of(plan.release(frame)) for _ in range(2))
        assert compose([first, second]).epsilon == pytest.approx(2.4)
    wide = frame.assign(x=frame["x"] * 3)
    with pytest.raises(CalibrationError, match="wider range"):
        plan.release(wide, allow_other_frame=True)


def test_units_of_which_nothing_is_assumed():
    frame = people(4).assign(who=np.arange(240) % 120)
    frame["group"] = frame["group"].to_numpy()[frame["who"]]
    plan = puffer_frames.calibrate(
        frame, secret="group", public=["x", "job"], epsilon=1.0, unit=Unit("who", rows="any", most=2)
    )
    scales = plan.fitted.all_scales
    assert 2 * (np.ptp(frame["x"]) / scales["x"] + 1 / scales["job"]) <= 1.0
    assert scales["job"] == pytest.approx(4.0)
    released = plan.release(frame, layout=Layout(shuffle=True))
    assert set(released["job"]) <= {"clerk", "cook", "smith"}
    assert certificate_of(released).unit == "who"


@pytest.mark.parametrize(
    "kind", thinned(("pandas", "polars", "polars-lazy", "pyarrow", "duckdb"), few=("polars-lazy",)), indirect=True
)
def test_every_kind_of_frame(make_frame):
    frame = people(5)
    columns = {name: frame[name].tolist() for name in frame}
    options = {"secret": "group", "public": ["x", "job", "pet", "y", "z"], "epsilon": 1.0, "mechanism": "noise"}
    made = puffer_frames.calibrate(make_frame(columns), **options)
    assert made.fitted.all_scales == puffer_frames.calibrate(frame, **options).fitted.all_scales
    assert certificate_of(run(made.release(make_frame(columns)))).channels.keys() == {"job", "pet"}


def test_released_labels_have_the_law_of_randomised_response():
    frame = pd.concat([people(6)] * 40, ignore_index=True).sample(frac=1.0, random_state=1, ignore_index=True)
    plan = puffer_frames.calibrate(
        frame, secret="group", public=["job", "pet"], epsilon=2.0, mechanism=Noise(theorem="kantorovich")
    )
    released = plan.release(frame, rng=3)
    for name, levels in (("job", 3), ("pet", 2)):
        kept = 1 / (1 + (levels - 1) * math.exp(-1 / plan.fitted.all_scales[name]))
        seen = (released[name].to_numpy() == frame[name].to_numpy()).mean()
        assert abs(seen - kept) < 5 * math.sqrt(kept * (1 - kept) / len(frame))
    assert len(list(itertools.product(*plan.fitted.levels.values()))) == 6
