"""What noisy values lose beside other columns, against direct sums over the atoms of every stratum."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import build_frame
from kinds import entries

from puffer_frames import PufferError, Strata, Unit, calibrate, certificate_of, compare
from puffer_frames.errors import ArgumentError, CalibrationError, ColumnNotFoundError, PriorError

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")

ROWS = 500
_RNG = np.random.default_rng(8)
GROUP = _RNG.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
TOWN = np.where((GROUP == "c") & (_RNG.random(ROWS) < 0.5), "z", _RNG.choice(["x", "y"], ROWS))
COLUMNS = {
    "group": GROUP.tolist(),
    "town": TOWN.tolist(),
    "floor": _RNG.integers(0, 3, ROWS).tolist(),
    "score": (_RNG.integers(0, 6, ROWS) + 2 * (GROUP == "a") * (TOWN == "x")).tolist(),
    "level": (_RNG.integers(0, 4, ROWS) + (GROUP == "b")).tolist(),
    "job": np.where(GROUP == "a", "cook", _RNG.choice(["cook", "smith"], ROWS)).tolist(),
}
FRAME = pd.DataFrame(COLUMNS)
ASKED = {"secret": "group", "public": "score", "epsilon": 0.8}


def direct(rows, scales):
    """The largest log ratio at any row of the grid of atoms, of any two secrets."""
    axes = [np.unique(rows[name]) for name in scales]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    logs = {}
    for secret, own in rows.groupby("group"):
        away = np.abs(grid[:, None, :] - own[list(scales)].to_numpy()[None]) / np.array(list(scales.values()))
        logs[secret] = np.log(np.exp(-away.sum(axis=2)).mean(axis=1))
    return max((np.abs(logs[s] - logs[t]).max() for s in logs for t in logs if s < t), default=math.nan)


def told(rows, whole):
    counts, of = rows["group"].value_counts(), whole["group"].value_counts()
    if set(counts.index) != set(of.index):
        return math.inf
    return max(abs(math.log(counts[s] / counts[t] / (of[s] / of[t]))) for s in of.index for t in of.index)


@pytest.mark.parametrize("public", ["score", ["score", "level"]])
@pytest.mark.parametrize("columns", ["town", ["floor"], ["town", "floor"]])
def test_losses_are_those_of_direct_sums(public, columns):
    plan = calibrate(FRAME, **ASKED | {"public": public})
    found = plan.loss_given(FRAME, columns)
    names = [columns] if isinstance(columns, str) else columns
    groups = {tuple(map(str, key)): rows for key, rows in FRAME.groupby(names)}
    assert {tuple(row) for row in found[names].itertuples(index=False)} == set(groups)
    for row in found.to_dict("records"):
        rows = groups[tuple(row[name] for name in names)]
        assert row["rows"] == len(rows)
        assert row["loss"] == pytest.approx(direct(rows, plan.scales), abs=1e-9, nan_ok=True)
        assert row["told"] == pytest.approx(told(rows, FRAME), abs=1e-12)
    assert found["loss"].max() > ASKED["epsilon"]


def test_beside_given_columns():
    """What strata of the plan hide, and what their scales lose beside one more column."""
    plan = calibrate(FRAME[FRAME["town"] != "z"], **ASKED, given=Strata("town"))
    part = FRAME[FRAME["town"] != "z"]
    found = plan.loss_given(part, "floor")
    assert list(found.columns) == ["town", "floor", "rows", "loss", "told"]
    for row in found.to_dict("records"):
        own = part[part["town"] == row["town"]]
        rows = own[own["floor"] == int(row["floor"])]
        scales = {"score": plan.fitted.strata.scales[(row["town"],)]["score"]}
        assert row["loss"] == pytest.approx(direct(rows, scales), abs=1e-9)
        assert row["told"] == pytest.approx(told(rows, own), abs=1e-12)
    with pytest.raises(ArgumentError, match="does not condition already"):
        plan.loss_given(part, "town")
    with pytest.raises(CalibrationError, match="strata of the plan"):
        plan.loss_given(FRAME, "floor")


def test_every_kind(kind, make_frame):
    expected = calibrate(FRAME, **ASKED).loss_given(FRAME, ["town"])
    found = calibrate(make_frame(COLUMNS), **ASKED).loss_given(make_frame(COLUMNS), "town")
    for (name, values), own in zip(entries(found), expected.to_dict("list").values(), strict=True):
        values = [math.nan if value is None else value for value in values]
        assert values == (own if name == "town" else pytest.approx(own, nan_ok=True))


def test_labels_beside_numbers_and_delta():
    plan = calibrate(FRAME, **ASKED | {"public": ["score", "job"]})
    found = plan.loss_given(FRAME, "town")
    assert len(found) == 3
    assert found["loss"].max() > 0
    less = calibrate(FRAME, **ASKED, delta=1e-3).loss_given(FRAME, "town")
    assert 0 <= less["loss"].min() <= less["loss"].max() <= 1


def test_wrong_columns():
    plan = calibrate(FRAME, **ASKED)
    with pytest.raises(ColumnNotFoundError):
        plan.loss_given(FRAME, "nothing")
    for name in ("group", "score"):
        with pytest.raises(ArgumentError):
            plan.loss_given(FRAME, name)
    gaps = FRAME.assign(town=FRAME["town"].replace("z", None))
    with pytest.raises(PriorError, match=r"(?s)'town' must be without nulls.*Calibrate with nulls=.drop") as caught:
        plan.loss_given(gaps, "town")
    assert "'score', 'town'" in caught.value.hint
    assert len(calibrate(gaps, **ASKED, nulls="drop").loss_given(gaps, "town")) == 2
    many = build_frame("polars", COLUMNS | {"id": list(range(ROWS))})
    assert len(calibrate(many, **ASKED).loss_given(many, "id")) == ROWS


def two_rows(units=300):
    """Two rows of each unit, which tell the secret; the law of both is the square of that of one."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"unit": np.repeat(np.arange(units), 2), "group": np.repeat(rng.choice(["a", "b"], units), 2)})
    return frame.assign(
        x=rng.integers(0, 4, 2 * units) + (frame["group"] == "a"), town=rng.choice(["n", "s"], 2 * units)
    )


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_figures_beside_the_guarantee_are_of_all_rows_of_a_unit(delta):
    """They were those of one row: a third of what three rows lose, below an epsilon that is for all three."""
    frame, unit = two_rows(), Unit("unit", rows="independent")
    asked = {"secret": "group", "public": "x", "epsilon": 1.0, "delta": delta}
    plan = calibrate(frame, **asked, mechanism="noise", unit=unit)
    found = plan.robustness().set_index("belief")["loss"]
    most = delta or 1.0
    assert found["empirical"] == pytest.approx(most, rel=1e-3)
    assert most < found["population"] <= found["any law"]
    assert {laws: loss for laws, loss, _ in plan.fitted.figures().losses}["the observed law"] == pytest.approx(
        most, rel=0.01
    )
    wider = certificate_of(plan.release(frame)).wider["x"]
    assert {laws: loss for laws, loss in found.items() if laws in wider} == pytest.approx(wider, rel=0.1)
    assert plan.loss_given(frame.assign(one="same"), "one")["loss"][0] == pytest.approx(most, rel=1e-3)
    alone = calibrate(frame, **asked, mechanism="noise").loss_given(frame, "town").set_index("town")["told"]
    assert (plan.loss_given(frame, "town").set_index("town")["told"] / alone).tolist() == pytest.approx([2.0, 2.0])
    profile = plan.privacy_profile([0.9, 1.0]).set_index(["belief", "epsilon"])["upper"]
    assert profile["empirical", 0.9] > 0.0
    assert profile["empirical", 1.0] == pytest.approx(delta, abs=1e-9 if not delta else 1e-4)
    row = compare(frame, **asked, unit=unit).query("mechanism == 'noise' and belief == 'empirical'").iloc[0]
    assert row["loss_observed"] == pytest.approx(most, rel=1e-3)


def test_nothing_is_told_of_one_row_where_nothing_is_assumed():
    frame = two_rows()
    plan = calibrate(frame, secret="group", public="x", epsilon=1.0, mechanism="noise", unit=Unit("unit", rows="any"))
    assert certificate_of(plan.release(frame)).wider == {"x": {"any law": 1.0}}
    found = plan.robustness().set_index("belief")["loss"]
    assert found.isna().tolist() == [name != "any law" for name in found.index]
    for ask in (lambda: plan.loss_given(frame, "town"), plan.privacy_profile):
        with pytest.raises(PufferError, match='rows="any"'):
            ask()
