"""What strata, units and planned releases must not promise: each of these was promised once."""

import math

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Contamination, Layout, Noise, Unit, calibrate, compose, privatize
from puffer_frames.errors import ArgumentError, CalibrationError

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
RNG = np.random.default_rng(50)


def keys(released):
    return {statement.key for statement in released.puffer.certificate.statements}


def test_wrong_records_of_a_stratum_may_have_any_value_of_the_table():
    """Values are clipped to the range of the table, so that of a stratum is not enough."""
    n = 4_000
    secret, stratum = RNG.integers(0, 2, (2, n))
    narrow = RNG.integers(0, 3, n) + secret * (RNG.random(n) < 0.1)
    table = pd.DataFrame(
        {"s": secret, "z": stratum, "x": np.where(stratum == 0, narrow, RNG.integers(0, 100, n)) * 1.0}
    )
    beliefs = ("empirical", Contamination(0.05))
    made = calibrate(table, secret="s", public="x", epsilon=1.0, given="z", beliefs=beliefs)
    part = table[table["z"] == 0]
    laws = [part["x"][part["s"] == s].to_numpy() for s in (0, 1)]
    scale = made.strata[0,]["x"]

    def density(law, share):  # at 99, where this share of the rows is at 99
        return (1 - share) * np.exp(-(99 - law) / scale).mean() + share

    assert abs(math.log(density(laws[0], 0.05) / density(laws[1], 0.0))) <= 1.0
    alone = calibrate(part, secret="s", public="x", epsilon=1.0, beliefs=beliefs, domain={"x": (0, 99)})
    assert scale == pytest.approx(alone.scale)


def ones(given, epsilon=1.0, theorem="auto", **options):
    """A release of x by its range, or by a coupling in each stratum."""
    return privatize(
        BITS,
        secret="s",
        public="x",
        epsilon=epsilon,
        given=given,
        mechanism=Noise(theorem=theorem, calibration="theorem"),
        layout=Layout(shuffle=True),
        **options,
    )


A, B, C = (np.tile(np.repeat([0, 1], 2**k * 100), 2 ** (2 - k)) for k in range(3))
BITS = pd.DataFrame({"s": np.where(A, "a", "b"), "z": B, "w": C, "x": 10.0 * (A ^ B ^ C) + A})


def test_releases_that_condition_and_plans_for_several_do_not_cover_other_strata():
    # Each alone has the scale 1; given both columns x is 0 or 11, so that both together lose 22
    both = [ones(given, theorem="kantorovich") for given in ("z", "w")]
    assert [released.puffer.certificate.scales["x"] for released in both] == pytest.approx([1.0, 1.0])
    assert all("adds-up" not in keys(released) and not released.puffer.certificate.adds_up for released in both)
    with pytest.raises(CalibrationError, match="conditions"):
        compose(both)
    both = [ones("z", theorem="bounded", releases=2), ones("w", theorem="bounded")]
    assert all("adds-up" in keys(released) for released in both)
    together = compose(both)
    assert together.epsilon == pytest.approx(2.0)
    assert "beyond what z, w tells" in " ".join(str(together).split())


def test_units_rows_and_levels_at_their_limits():
    rows = pd.DataFrame({"u": [1, 1, 2, 2], "s": ["a", None, "b", "b"], "x": [1, 1, 2, 2]})
    with pytest.raises(ArgumentError, match="sizes of units"):
        calibrate(rows, secret="s", public="x", epsilon=0.2, unit=Unit("u", rows="repeated"), nulls="drop")
    table = pd.DataFrame({"s": ["a", "b"] * 60, "x": [k % 7 for k in range(120)], "job": ["clerk"] * 120})
    made = calibrate(table, secret="s", public=["x", "job"], epsilon=0.1, allow_zero_noise=True)
    assert "released as they are" in str(made)
    assert "randomised" not in keys(made.release(table))
    with pytest.raises(ArgumentError, match="1,000,000"):
        Unit("u", rows="any", most=10**20)
    columns = {f"x{k}": RNG.integers(0, 30, 300) for k in range(4)} | {"tiny": RNG.integers(0, 5, 300) * 5e-324}
    table = pd.DataFrame(columns | {"s": RNG.choice(["a", "b"], 300)})
    made = calibrate(table, secret="s", public=list(columns), epsilon=1.0, mechanism="noise")
    assert all(made.scales[name] > 0 for name in columns)
    with pytest.raises(CalibrationError, match="one of several rows or releases"):
        calibrate(BITS.assign(x=1), secret="s", public="x", epsilon=1.0, releases=3)


def test_what_one_row_needs_says_nothing_of_a_unit():
    """Equal bits against opposite ones: no row tells anything, and both together the secret."""
    first, secret = RNG.integers(0, 2, 300), np.repeat(["a", "b"], 150)
    first[:150], first[150:] = [0, 1] * 75, [0, 1] * 75
    second = np.where(secret == "a", first, 1 - first)
    rows = pd.DataFrame({"u": np.tile(np.arange(300), 2), "s": np.tile(secret, 2), "x": np.append(first, second)})
    released = privatize(
        rows,
        secret="s",
        public="x",
        epsilon=1.0,
        unit=Unit("u", rows="any"),
        layout=Layout(shuffle=True),
        allow_zero_noise=True,
    )
    assert released.puffer.certificate.scales["x"] == pytest.approx(2.0)
    assert "no-noise" not in keys(released)


@pytest.mark.parametrize("options", [{"releases": 10**400}, {"releases": 10**6 + 1}, {"given": ["z", "z"]}])
def test_out_of_range(options):
    with pytest.raises(ArgumentError, match=r"1,000,000|named twice"):
        calibrate(BITS, secret="s", public="x", epsilon=1.0, **options)
