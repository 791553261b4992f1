"""Several columns where a share of the rows may be anything: dense grids of released rows, both wrong rows by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import sweep

import puffer_frames
from puffer_frames import Bootstrap, Contamination, Noise, certificate_of
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.joint.joint_loss import JointLoss, WrongRows
from puffer_frames.loss.joint.lines import JointLaw


def density(law, share, wrong, points, scales):
    """Of noisy rows at some points, where the wrong rows of a share are one row."""
    rows, weights = np.vstack([law.points, wrong]), np.append((1 - share) * law.weights, share)
    away = sum(np.abs(points[:, [k]] - rows[:, k]) / scale for k, scale in enumerate(scales))
    return np.exp(-away) @ weights


def loss_of(likely, other, shares, box, scales, steps):
    """Largest log-ratio on a grid: each wrong row is tried at the released row itself, and in every corner."""
    axes = [
        np.union1d(np.linspace(*ends, steps), np.r_[likely.points[:, k], other.points[:, k]])
        for k, ends in enumerate(box)
    ]
    points = np.array(list(itertools.product(*axes)))
    top = np.array([density(likely, shares[0], point, point[None], scales)[0] for point in points])
    bottom = np.min([density(other, shares[1], corner, points, scales) for corner in itertools.product(*box)], axis=0)
    return float(np.log(top / bottom).max())


def law(rows, weights=None):
    rows = np.array(rows, dtype=float)
    return JointLaw(points=rows, weights=np.full(len(rows), 1 / len(rows)) if weights is None else np.array(weights))


def test_the_largest_loss_is_at_no_coordinate():
    """The box [0, 10] squared: 1.2975 at the coordinates and the middles, 1.4792 at (0, 6.66)."""
    laws = {"s": law([(0, 0), (10, 10)]), "t": law([(9, 10), (3, 1)])}
    wrong = WrongRows(shares={"s": 0.1, "t": 0.1}, domain={0: (0.0, 10.0), 1: (0.0, 10.0)})
    both = JointLoss(laws, pairs=(("s", "t"),), wrong=wrong)
    found = both.bracket([5, 2], enough=0.0)
    expected = max(
        loss_of(laws[a], laws[b], (0.1, 0.1), [(0, 10), (0, 10)], (5, 2), 101) for a, b in (("s", "t"), ("t", "s"))
    )
    assert found.lower - 5e-4 <= expected <= found.upper
    assert found.upper - found.lower < 2e-4
    forth = loss_of(laws["s"], laws["t"], (0.1, 0.1), [(0, 10), (0, 10)], (5, 2), 151)
    assert forth == pytest.approx(1.4792, abs=2e-4)


@sweep(3, 100)
def test_brackets_hold_dense_grids(count):
    rng = np.random.default_rng(8)
    for _ in range(count):
        width, columns = float(rng.integers(4, 12)), int(rng.integers(1, 3))
        box = [(0.0, width)] * columns
        laws = {s: law(rng.integers(0, 5, (int(rng.integers(1, 6)), columns))) for s in "ab"}
        shares, scales = rng.uniform(0.01, 0.5, 2), rng.uniform(0.4, 5, columns)
        wrong = WrongRows(shares=dict(zip("ab", shares, strict=True)), domain=dict(enumerate(box)))
        found = JointLoss(laws, pairs="all", wrong=wrong).bracket(scales, enough=0.0)
        steps = 61 if columns == 2 else 2001
        expected = max(
            loss_of(laws["a"], laws["b"], shares, box, scales, steps),
            loss_of(laws["b"], laws["a"], shares[::-1], box, scales, steps),
        )
        assert expected <= found.upper + 1e-12
        assert found.lower <= expected + 0.02  # the grid is coarse


def people(seed, rows=600):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    job = np.where(rng.random(rows) < 0.3 + 0.3 * (group == "b"), "cook", "clerk")
    return pd.DataFrame(
        {"group": group, "x": rng.integers(0, 5, rows), "y": rng.integers(0, 4, rows) + (group == "a"), "job": job}
    )


@pytest.mark.parametrize("domain", [None, {"x": (0, 3), "y": (-1, 8)}])
def test_released_rows_are_within_epsilon(domain):
    frame = people(1)
    options = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "domain": domain}
    plan = puffer_frames.calibrate(frame, beliefs=Contamination(), **options)
    box = [tuple(map(float, (domain or {}).get(n, (frame[n].min(), frame[n].max())))) for n in ("x", "y")]
    parts = {s: part[["x", "y"]].clip(*np.array(box).T, axis=1) for s, part in frame.groupby("group")}
    laws = {s: law(part.to_numpy()) for s, part in parts.items()}
    shares = [2 / math.sqrt(len(part)) for part in parts.values()]
    scales = list(plan.scales.values())
    losses = [
        loss_of(laws["a"], laws["b"], shares, box, scales, 41),
        loss_of(laws["b"], laws["a"], shares[::-1], box, scales, 41),
    ]
    assert 0.98 < max(losses) <= 1.0
    assert plan.fitted.clipped == dict(zip(("x", "y"), box, strict=True))
    certificate = certificate_of(plan.release(frame, rng=1))
    assert certificate.beliefs == ("contaminated",)
    assert ("clipped" if domain else "clipped-to-range") in {statement.key for statement in certificate.statements}
    narrow = puffer_frames.calibrate(frame, **options)
    assert all(plan.scales[name] > narrow.scales[name] for name in ("x", "y"))


def test_with_labels_other_tables_and_resamples():
    frame = people(2)
    options = {
        "secret": "group",
        "public": ["x", "job"],
        "epsilon": 1.0,
        "mechanism": Noise(weights={"x": 1.0, "job": 1.0}),
    }
    alone = puffer_frames.calibrate(frame, beliefs=Contamination(0.05), **options)
    more = puffer_frames.calibrate(
        frame, beliefs=[Contamination(0.05), "empirical", people(3), Bootstrap(resamples=3)], **options
    )
    assert set(more.choices["x"].verified) == {"empirical", "contaminated", "other table", Bootstrap(resamples=3).title}
    assert all(found.pure_loss.upper <= 1.0 for found in more.choices["x"].verified.values())
    assert alone.choices["x"].verified["contaminated"].pure_loss.lower > 0.99
    assert more.fitted.all_scales["x"] > 0


def test_wrong_rows_may_have_a_level_that_no_protected_row_has():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m", "z"], 900)
    job = np.where(sex == "z", rng.choice(["u", "v", "w"], 900), rng.choice(["u", "v"], 900))
    frame = pd.DataFrame({"sex": sex, "x": rng.integers(0, 6, 900) + (sex == "f"), "job": job})
    plan = puffer_frames.calibrate(
        frame, secret="sex", public=["x", "job"], epsilon=1.0, pairs=[("f", "m")], beliefs=Contamination(0.05)
    )
    scales, worst = plan.fitted.all_scales, 0.0
    kernel = {}
    for s, part in frame.groupby("sex"):
        at = [(x, j) for x in range(7) for j in "uvw"]
        away = np.array([[abs(x - a) / scales["x"] + (j != b) / scales["job"] for a, b in at] for x, j in at])
        law = np.array([((part["x"] == a) & (part["job"] == b)).mean() for a, b in at])
        kernel[s] = np.exp(-away) @ law, np.exp(-away).min(axis=1)
    for first, second in (("f", "m"), ("m", "f")):
        top, bottom = 0.95 * kernel[first][0] + 0.05, 0.95 * kernel[second][0] + 0.05 * kernel[second][1]
        worst = max(worst, float(np.log(top / bottom).max()))
    assert 0.9 < worst <= 1.0


def test_a_constant_column_has_noise_where_wrong_rows_may_differ():
    frame = people(5).assign(y=3)
    options = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "beliefs": Contamination(0.1)}
    assert puffer_frames.calibrate(frame, domain={"y": (0, 10)}, **options).scales["y"] > 1.0
    assert puffer_frames.calibrate(frame, **options).scales["y"] == 0.0


def test_not_beside_a_coupling():
    with pytest.raises(ArgumentError, match="without Contamination"):
        puffer_frames.calibrate(
            people(4),
            secret="group",
            public=["x", "y"],
            epsilon=1.0,
            mechanism=Noise(theorem="kantorovich"),
            beliefs=Contamination(),
        )
