"""Noise for the range of one column holds for every law on the domain, and for every law of a belief that is named.

The oracle adds up Laplace densities over the values of the table and of the domain; it shares no code with the package.
"""

import numpy as np
import pandas as pd
import pytest

import puffer_frames
from puffer_frames import Contamination, Noise, Population, Strata, Unit, certificate_of, compose
from puffer_frames.certificates.text import headline
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, CalibrationError, NoNoiseNeededError

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")


def table(*cells, columns=("s", "z", "y")):
    """Rows of (secret, stratum, value, how often)."""
    rows = [values for *values, often in cells for _ in range(often)]
    return pd.DataFrame(rows, columns=list(columns)).sample(frac=1, random_state=0, ignore_index=True)


FEW_IN_H = table(
    *(("a", "g", 0, 30), ("a", "g", 1, 30), ("b", "g", 0, 40), ("b", "g", 1, 20)),
    *(("a", "h", 0, 4), ("b", "h", 0, 3), ("b", "h", 1, 4)),
)
TOLD_IN_EACH = table(("a", "g", 0, 20), ("b", "g", 1, 20), ("a", "h", 1, 20), ("b", "h", 0, 20))
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame({"s": np.repeat(["a", "b"], 120), "y": RNG.integers(0, 3, 240)})
PEOPLE["u"] = PEOPLE.s + (PEOPLE.groupby("s").cumcount() // 3).astype(str)


def contaminated_loss(frame, scale, share, ends, *, rows=1):
    """The largest log-ratio of one released value, or of as many equal rows, each with noise of its own."""
    at = np.linspace(*ends, 601)
    density = {
        s: np.exp(-rows * np.abs(at[:, None] - g.y.to_numpy(float)) / scale).mean(1) for s, g in frame.groupby("s")
    }
    anything = np.exp(-rows * np.abs(at[:, None] - at) / scale)
    most, least = anything.max(1), anything.min(1)
    return max(
        float(np.log(((1 - share) * density[s] + share * most) / ((1 - share) * density[t] + share * least)).max())
        for s, t in ("ab", "ba")
    )


def loss_of_equal_rows(laws, scale, at, *, rows):
    """The rows of a unit of secret a are equal, those of b independent; all released values are `at`."""
    a, b = (np.array([[p, np.exp(-abs(at - v) / scale)] for v, p in laws[s].items()]) for s in "ab")
    return float(np.log((a[:, 0] * a[:, 1] ** rows).sum()) - rows * np.log((b[:, 0] * b[:, 1]).sum()))


@pytest.mark.parametrize("share", [0.01, 1.0])
@pytest.mark.parametrize("domain", [{"y": (-2, 4)}, None])
def test_a_stratum_of_few_rows(share, domain):
    asked = {"given": Strata("z", minimum=10), "domain": domain, "beliefs": Contamination(share)}
    certificate = certificate_of(puffer_frames.privatize(FEW_IN_H, secret="s", public="y", epsilon=2.5, **asked))
    for one in certificate.strata:
        (z,), scale = one["given"], one["scales"]["y"]
        rows = FEW_IN_H[FEW_IN_H.z == z]
        assert contaminated_loss(rows, scale, share, domain["y"] if domain else (0, 1)) <= 2.5 + 1e-9


@pytest.mark.parametrize("share", [0.001, 0.2])
def test_rows_of_a_unit_that_may_be_anything(share):
    plan = puffer_frames.calibrate(
        PEOPLE,
        secret="s",
        public="y",
        epsilon=2.5,
        domain={"y": (0, 60)},
        unit=Unit("u", rows="any"),
        beliefs=Contamination(share),
    )
    assert plan.scale == pytest.approx(3 * 60 / 2.5, rel=1e-9)
    assert contaminated_loss(PEOPLE, plan.scale, share, (0, 60), rows=3) <= 2.5


def test_a_belief_about_values_beyond_the_table(tmp_path):
    other = PEOPLE.copy()
    other.loc[other.index[:6], "y"] = other.loc[other.index[-1], "y"] = 42
    laws = {s: g.y.value_counts(normalize=True).to_dict() for s, g in other.groupby("s")}
    asked = {"secret": "s", "public": "y", "epsilon": 1.0, "unit": Unit("u", rows="any")}
    given = {s: Prior.empirical(list(law), list(law.values())) for s, law in laws.items()}
    for belief in (other, given, ["empirical", other]):
        plan = puffer_frames.calibrate(PEOPLE, **asked, beliefs=belief)
        assert plan.scale == pytest.approx(3 * 42, rel=1e-9)
        assert loss_of_equal_rows(laws, plan.scale, 42, rows=3) <= 1.0
        plan.save(tmp_path / "plan.json")
        assert puffer_frames.load_plan(tmp_path / "plan.json").scale == plan.scale
    assert puffer_frames.calibrate(PEOPLE, **asked).scale == pytest.approx(3 * 2, rel=1e-9)


def test_domains_gaussians_and_cells_within_the_range():
    asked = {"unit": Unit("u", rows="any"), "domain": {"y": (0, 60)}, "beliefs": Population()}
    plan = puffer_frames.calibrate(PEOPLE, secret="s", public="y", epsilon=1.0, **asked)
    laws = {s: g.y.value_counts(normalize=True).to_dict() for s, g in PEOPLE.groupby("s")}
    laws["a"] = {**{v: 0.9 * p for v, p in laws["a"].items()}, 60: 0.1}
    assert loss_of_equal_rows(laws, plan.scale, 60, rows=3) <= 1.0
    belief = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(1, 1)}
    for asked in ({"unit": Unit("u", rows="any")}, {"mechanism": Noise(theorem="bounded")}):
        with pytest.raises(ArgumentError, match="a Gaussian, which no range holds"):
            puffer_frames.calibrate(PEOPLE, secret="s", public="y", epsilon=1.0, beliefs=belief, **asked)
    rng = np.random.default_rng(1)
    many = pd.DataFrame({"s": rng.choice(["a", "b"], 200_000), "y": rng.normal(size=200_000)})
    asked = {"mechanism": Noise(theorem="bounded", calibration="theorem")}
    plan = puffer_frames.calibrate(many, secret="s", public="y", epsilon=1.0, **asked)
    assert plan.scale >= np.ptp(many.y)


def test_releases_by_the_domain_add_up():
    asked = {"mechanism": Noise(theorem="bounded", calibration="theorem"), "domain": {"y": (0, 60)}}
    for belief in ("empirical", Contamination(0.01)):
        one, two = (
            certificate_of(
                puffer_frames.privatize(PEOPLE, secret="s", public="y", epsilon=1.0, beliefs=belief, **asked)
            )
            for _ in "12"
        )
        both = compose([one, two])
        rate = 1 / one.scales["y"] + 1 / two.scales["y"]
        assert 60 * rate <= both.epsilon == 2.0  # a is certainly 0, b certainly 60
        assert one.adds_up


def test_one_certificate_twice_is_two_releases():
    frame = pd.DataFrame({"s": ["a"] * 20 + ["b"] * 20, "x": [0, 1] * 20, "y": [0, 0, 1, 1] * 5 + [1, 2, 2, 1] * 5})
    asked = {"secret": "s", "public": ["x", "y"], "epsilon": 2.0, "mechanism": Noise(theorem="kantorovich")}
    one, two = (certificate_of(puffer_frames.privatize(frame, **asked)) for _ in "12")
    rows = {s: g[["x", "y"]].to_numpy(float) for s, g in frame.groupby("s")}
    places = np.array([(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0, 2.0)])
    rates = 2 / np.array([one.scales["x"], one.scales["y"]])  # two draws at one place
    densities = [np.exp(-np.abs(places[:, None] - r) @ rates).mean(1) for r in rows.values()]
    assert np.abs(np.log(densities[0] / densities[1])).max() > 2.01
    assert compose([one, one]).epsilon == compose([one, two]).epsilon == 4.0
    assert compose([one, one, two]).epsilon == 6.0


@pytest.mark.parametrize("options", [{"minimum": 50}, {"minimum": 5}, {"minimum": 50, "scale": "one"}])
def test_noise_that_each_stratum_needs(options):
    certificate = certificate_of(
        puffer_frames.privatize(TOLD_IN_EACH, secret="s", public="y", epsilon=1.0, given=Strata("z", **options))
    )
    assert "no-noise" not in certificate.warnings
    assert 0.99 < certificate.verified["y"]["empirical"].pure_loss.upper <= 1.0  # of a stratum: all rows lose nothing


def test_noise_that_only_a_stratum_of_few_rows_needs():
    asked = {"secret": "s", "public": "y", "epsilon": 2.5, "given": Strata("z", minimum=10)}
    with pytest.raises(NoNoiseNeededError, match="in every stratum with enough rows"):
        puffer_frames.calibrate(FEW_IN_H, **asked)
    certificate = certificate_of(puffer_frames.privatize(FEW_IN_H, **asked, allow_zero_noise=True))
    assert [one["scales"]["y"] > 0 for one in certificate.strata] == [False, True]
    assert "no-noise" not in certificate.warnings


def test_a_belief_is_kept_where_every_stratum_has_few_rows(tmp_path):
    frame = FEW_IN_H[FEW_IN_H.z == "h"].reset_index(drop=True)
    asked = {"given": Strata("z", minimum=10), "domain": {"y": (-2, 4)}, "beliefs": Contamination(0.2)}
    plan = puffer_frames.calibrate(frame, secret="s", public="y", epsilon=2.5, **asked)
    certificate = certificate_of(plan.release(frame))
    assert certificate.beliefs == ("contaminated",)
    assert contaminated_loss(frame, certificate.scales["y"], 0.2, (-2, 4)) <= 2.5
    plan.save(tmp_path / "plan.json")
    assert puffer_frames.load_plan(tmp_path / "plan.json").scales == plan.scales


@pytest.mark.parametrize("public", [["x", "y"], ["y", "l"]])
@pytest.mark.parametrize("beliefs", ["empirical", Contamination(0.2)])
def test_several_columns_where_every_stratum_has_few_rows(public, beliefs, tmp_path):
    frame = TOLD_IN_EACH.assign(x=np.arange(80) % 3, l=np.where(TOLD_IN_EACH.y > 0, "p", "q"))
    asked = {"given": Strata("z", minimum=50), "domain": {"y": (-1, 5)}, "beliefs": beliefs}
    plan = puffer_frames.calibrate(frame, secret="s", public=public, epsilon=1.0, **asked)
    plan.save(tmp_path / "plan.json")
    for each in (plan, puffer_frames.load_plan(tmp_path / "plan.json")):
        certificate = certificate_of(each.release(frame))  # of its own rows
        assert certificate.theorem == "bounded"
        assert 6 / certificate.scales["y"] <= 0.5


def test_later_rows_beyond_the_range_are_an_error():
    asked = {"secret": "s", "public": "y", "epsilon": 1.0}
    wider = PEOPLE.assign(y=PEOPLE.y.where(PEOPLE.index % 60 > 0, 40))
    for options in (
        {"unit": Unit("u", rows="any")},
        {"mechanism": Noise(theorem="bounded", calibration="theorem"), "releases": 3},
    ):
        plan = puffer_frames.calibrate(PEOPLE, **asked, **options)
        plan.release(PEOPLE[::-1].reset_index(drop=True).assign(y=PEOPLE.y), allow_other_frame=True)
        with pytest.raises(CalibrationError, match="a wider range than the plan was made for"):
            plan.release(wider, allow_other_frame=True)


def test_a_curve_is_about_the_same_range():
    asked = {"mechanism": Noise(theorem="bounded", calibration="theorem"), "domain": {"y": (0, 60)}}
    plan = puffer_frames.calibrate(PEOPLE, secret="s", public="y", epsilon=1.0, **asked)
    (row,) = plan.curve([1.0]).to_dict("records")
    assert row["scale"] == plan.scale
    assert row["published_scale"] == plan.published_scale == 60.0


@pytest.mark.parametrize("public", [["x"], ["x", "y"]])
def test_a_wider_range_states_what_any_law_on_it_loses(public):
    frame = pd.DataFrame({"s": ["a", "b"] * 60, "x": np.arange(120) % 22, "y": np.arange(120) % 5})
    wider = frame.assign(x=np.arange(120) % 29)
    plan = frame.puffer.calibrate(secret="s", public=public, epsilon=1.0, mechanism=Noise(theorem="bounded"))
    (figure,) = [each for each in plan.check(wider).findings if each.check == "range"]
    assert figure.found == pytest.approx(28 / 21 / len(public))
    assert figure.limit == 1 / len(public)
    found = certificate_of(plan.release(wider, allow_other_frame=True, allow_drift=True))
    (share, total) = (1.4, 1.4) if len(public) == 1 else (0.67, 1.17)
    assert found.wider["x"]["any law of the rows"] == share
    assert headline(found).epsilon == total
    assert f"at most {total:g} for these rows, under any law on their range" in str(found)
    assert "range-exceeds" in found.warnings
    assert "observed-exceeds" not in found.warnings
    assert found.observed == {}  # within the loss of any law
    assert type(found).from_dict(found.to_dict()) == found
    with pytest.raises(CalibrationError, match="lose more than was asked for"):
        compose([found, certificate_of(plan.release(frame))])


def test_where_the_range_lies_does_not_round_the_loss_of_any_law():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120) % 13, unit="D")
    frame = pd.DataFrame({"s": ["a", "b"] * 60, "day": days})
    plan = frame.puffer.calibrate(secret="s", public="day", epsilon=1.0, mechanism=Noise(theorem="bounded"))
    assert certificate_of(plan.release(frame)).wider["day"]["any law"] == 1.0


WITH_LABELS = pd.DataFrame({"s": ["a", "b"] * 200, "x": [float(k * k % 7) for k in range(400)]})
WITH_LABELS["lab"] = ["uvw"[k * k % 11 % 3] for k in range(400)]
TOLD = pd.DataFrame({"s": ["a", "b"] * 150, "x": [0.0, 4.0] * 150, "lab": ["u", "w"] * 150})
"""Its value and its label tell the secret: no table on these levels and this range tells more."""
NORMAL = {"mechanism": Noise("gaussian", theorem="bounded"), "delta": 1e-4}


@pytest.mark.parametrize("asked", [{"mechanism": Noise(theorem="bounded")}, NORMAL])
@pytest.mark.parametrize("given", [{}, {"given": Strata("z", minimum=2)}])
def test_other_rows_with_labels_within_the_range(asked, given):
    """The range and the levels decide: a loss of epsilon itself is covered, and none is measured with Laplace noise."""
    own, other = WITH_LABELS.assign(z="p"), TOLD.assign(z="p")
    plan = own.puffer.calibrate(secret="s", public=["x", "lab"], epsilon=0.5, **given, **asked)
    assert plan.check(other).verdict == "covered"
    assert not certificate_of(plan.release(other, rng=1, allow_other_frame=True)).facts.exceeds
    if "delta" in asked:  # of each column by itself: of whole rows no loss is known beside this noise
        found = plan.check(other).frame
        assert set(found[found["check"] == "loss"]["column"]) == {"x", "lab"}
    wide = other.assign(x=3 * other.x)
    assert plan.check(wide).verdict == "recalibrate"
    certificate = certificate_of(plan.release(wide, rng=1, allow_other_frame=True, allow_drift=True))
    assert certificate.facts.exceeds
    assert "x" not in certificate.observed


def test_several_releases_of_labels_beside_gaussian_noise():
    """The log-ratios of changed labels add up, whatever noise is beside them: n times, not the square root of n."""
    asked = {"secret": "s", "public": ["x", "lab"], "epsilon": 0.5, **NORMAL}
    plan = WITH_LABELS.puffer.calibrate(**asked, releases=9)
    one = WITH_LABELS.puffer.calibrate(**asked)
    assert plan.scales["x"] == pytest.approx(3 * one.scales["x"])
    made = [certificate_of(plan.release(WITH_LABELS)) for _ in range(9)]
    assert sum(each.channels["lab"]["cap"] for each in made) <= 0.25 * (1 + 1e-12)
    assert compose(made).epsilon == 0.5
