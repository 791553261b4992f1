"""What a release makes of a column of numbers, beside what its plan, warnings and certificate say."""

import operator
import warnings

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Channel, Layout, Noise, WideNoiseWarning

ROWS = 600
OWN = np.random.default_rng(9)
GROUP = OWN.choice(["a", "b"], ROWS)
SHAPES = {
    "nearly one value": np.where(OWN.random(ROWS) < 0.06 + 0.03 * (GROUP == "a"), OWN.integers(4, 20, ROWS), 3.0),
    "amounts": np.where(OWN.random(ROWS) < 0.65 - 0.15 * (GROUP == "a"), 0.0, np.exp(OWN.normal(7, 1, ROWS)).round(-1)),
    "heavy": np.exp(OWN.normal(3 + 0.4 * (GROUP == "a"), 1.8, ROWS)),
    "counts": OWN.poisson(1.2 + 0.8 * (GROUP == "a")).astype(float),
    "normal": OWN.normal(50 + 8 * (GROUP == "a"), 15),
    "shares": OWN.beta(2 + (GROUP == "a"), 5),
}
SHAPES["a few far"] = np.where(np.arange(ROWS) % 120 == 0, OWN.uniform(3e5, 6e5, ROWS), SHAPES["amounts"])
REQUESTS = [
    *[(shape, Noise(), 6.0, "ends") for shape in ("nearly one value", "amounts", "heavy", "shares")],
    *[(shape, Channel(), 0.7, "") for shape in ("nearly one value", "heavy", "counts", "normal", "shares")],
    *[("a few far", mechanism, 4.0, "domain") for mechanism in (Noise(), Channel(), Noise(remap=True))],
    *[(shape, Noise(remap=True), 1.0, "most") for shape in ("heavy", "counts", "shares")],
    ("a few far", Noise(), 4.0, "most"),
    ("shares", Noise(), 4.0, "round"),
    ("heavy", Channel(cost=lambda x, y: (x - y) ** 2), 1.0, ""),
]


def _off(raw, released, *, printed):
    """What a comparison of a column with its releases shows, by the reasons of which one must be told."""
    away = np.concatenate([each - raw for each in released])
    constant, by_chance = np.abs(raw - np.median(raw)).mean(), 3 / np.sqrt(away.size)
    error, sure = np.abs(away).mean(), by_chance * np.abs(away).std()
    after = np.concatenate(released)
    moved, levels = abs(away.mean()), [x for x in set(raw) if (raw == x).mean() > 0.03]
    off = {x: abs((raw == x).mean() - (after == x).mean()) for x in levels if np.isin(after, raw).all()}
    with np.errstate(invalid="ignore"):  # of a release of one value
        correlation = np.corrcoef(np.tile(raw, len(released)), after)[0, 1]
    return {
        ("constant", "clip", "round"): error > 1.15 * constant,
        ("clip", "round", "values"): error > 1.3 * printed + sure,
        ("tail", "constant", "clip", "round", "values"): moved > 0.2 * constant + by_chance * away.std(),
        ("shares", "constant", "tail"): max(off.values(), default=0.0) > 0.1,
        ("correlation", "constant", "clip", "round"): correlation < 0.35,
    }


@pytest.mark.parametrize(("shape", "mechanism", "epsilon", "layout"), REQUESTS)
def test_no_release_is_worse_than_it_says_in_silence(shape, mechanism, epsilon, layout):
    """Raw columns beside their releases: clipped noise, rare far values beyond a domain and lost counts were silent."""
    frame = pd.DataFrame({"group": GROUP, "x": SHAPES[shape]})
    low, most, high = frame["x"].quantile([0, 0.99, 1])
    asked = {"secret": "group", "public": "x", "epsilon": epsilon, "mechanism": mechanism}
    asked |= {"domain": {"x": (low, most)}} if layout == "domain" else {}
    bounds = {"ends": (low, high), "most": (low, most)}.get(layout)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = frame.puffer.calibrate(**asked)
        released = [plan.release(frame, rng=k, layout=Layout(clip=bounds, round=layout == "round")) for k in range(4)]
    told = {each.message.reason for each in caught if each.category is WideNoiseWarning}
    told |= {"values" for each in caught if "leaves about" in str(each.message)}
    cost = getattr(mechanism, "cost", "auto")
    printed = plan.expected_error["x"] if cost == "auto" else np.inf
    off = _off(SHAPES[shape], [each["x"].to_numpy() for each in released], printed=printed)
    assert [reasons for reasons, is_off in off.items() if is_off and not told & {*reasons}] == []


def _away(layout, frame, **asked):
    """What is said of the clipped column, its error and its mean, and what those of forty releases are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = frame.puffer.calibrate(secret="group", public="x", mechanism=Noise(), **asked)
        away = [plan.release(frame, rng=k, layout=layout)["x"] - frame["x"] for k in range(40)]
    told = {each.message.reason: str(each.message) for each in caught if each.category is WideNoiseWarning}
    said = told["clip"].split(":")[0]
    figures = float(said.split(" to ")[2].split()[0]), float(said.split(" mean by ")[1])
    return set(told), figures, pytest.approx((np.abs(away).mean(), np.mean(away)), rel=0.05)


def test_one_value_far_out_is_part_of_the_figures():
    """It was between two of the ranks that were looked at: an error of 20, and a mean that moves by 4, were told."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 20_000)
    frame = pd.DataFrame({"group": group, "x": rng.integers(0, 30, group.size) + 3.0 * (group == "a")})
    frame.loc[7, "x"] = 2e6
    assert operator.eq(*_away(Layout(clip=(0, 40)), frame, epsilon=3.0)[1:])


def test_clipping_is_told_of_beside_rounding():
    """Only the rounding was: an error of 0.5, where that of the release was 8."""
    rng = np.random.default_rng(2)
    x = np.where(rng.random(ROWS) < 0.2, rng.uniform(20, 60, ROWS), 3 * rng.beta(2, 5, ROWS)) + 0.2 * (GROUP == "a")
    frame = pd.DataFrame({"group": GROUP, "x": x})
    told, figures, own = _away(Layout(clip=(0, 3), round=True), frame, epsilon=8.0, beliefs="empirical")
    assert ({"round", "clip"} <= told, figures) == (True, own)


def test_each_stratum_has_its_own_values_and_noise():
    """Values of all strata had the noise of any: an error of 5 was told, where that of the release was 3.8."""
    rng = np.random.default_rng(3)
    group, high = rng.choice(["a", "b"], 3000), rng.random(3000) < 0.1
    x = np.where(high, rng.normal(1000, 60, 3000), rng.normal(1, 0.3, 3000) + 0.05 * (group == "a"))
    frame = pd.DataFrame({"group": group, "kind": high.astype(str), "x": x})
    told, figures, own = _away(Layout(clip=(-3000, 900)), frame, epsilon=1.0, given="kind")
    assert ("clip" in told, figures) == (True, own)


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_what_is_not_measured_of_cells_is_not_said():
    """Of values in cells "0% lie beyond all that come out" was printed, where a third did."""
    frame = pd.DataFrame({"group": GROUP, "x": SHAPES["heavy"]})
    plan = frame.puffer.calibrate(secret="group", public="x", epsilon=0.5, mechanism=Channel())
    assert frame["x"].between(*plan.release(frame, rng=0)["x"].agg(["min", "max"])).mean() < 0.9
    said = " ".join(str(plan).split())
    assert ("SHARES OF VALUES ARE OFF" in said, "lie beyond all" in said) == (True, False)
