"""Tables of many secrets: their labels are numbered once, and few values are counted one by one."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import thinned

from puffer_frames import Channel, calibrate
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, CalibrationError, PriorError
from puffer_frames.frames import summary
from puffer_frames.frames.local import engine
from puffer_frames.frames.summary import cell_of, place_of
from puffer_frames.loss.atoms import discrete
from puffer_frames.mechanisms.channel.best import FEWER, WHOLE, best_channel, grown
from puffer_frames.mechanisms.channel.program import attempt, check, solve
from puffer_frames.numbers.arguments import Target
from puffer_frames.scales.choice import measure


def table_of(rng, rows):
    return {
        "secret_0": rng.integers(-40, 40, rows),
        "secret_1": np.array(["é", "", "a b", "Ω"])[rng.integers(0, 4, rows)],
        "value": rng.integers(0, 9, rows) - 0.0,
        "count": rng.integers(1, 5, rows),
    }


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("names", [("secret_0",), ("secret_1",), ("secret_0", "secret_1")])
def test_numbers_of_long_tables_are_those_of_short_ones(monkeypatch, library, names):
    data = table_of(np.random.default_rng(5), 3000)
    columns = {f"secret_{k}": data[name] for k, name in enumerate(names)}
    rows = {**columns, "value": data["value"], "count": data["count"], "place": 3 * data["count"]}
    table = nw.from_native(library(rows), eager_only=True)
    found = summary._of_values(table, groups=names, public="value", domain=None)
    monkeypatch.setattr(summary, "_LONG", 100)
    cells = summary._of_cells(table, 1.0, groups=names)
    assert repr(list(found.counts)) == repr(list(cells.counts))  # of the same types
    for secret, (values, counts) in found.counts.items():
        means, often = cells.counts[secret]
        np.testing.assert_array_equal(values + 3.5 / 2**16, means)
        np.testing.assert_array_equal(counts, often)


@pytest.mark.parametrize("far", [0, 1 << 40])
def test_rows_of_a_cell_are_added_up_in_order(far):
    rng = np.random.default_rng(3)
    codes, numbers = rng.integers(0, 5, 400), rng.integers(-9, 9, 400) * (1 + far)
    counts, places = rng.integers(1, 5, 400), rng.integers(0, 9, 400)
    naive = {}
    for code, number, count, place in zip(codes * (1 + far), numbers, counts, places, strict=True):
        of = naive.setdefault((int(code), int(number)), [0, 0])
        of[0], of[1] = of[0] + int(count), of[1] + int(place)
    found = summary._by_cell(codes * (1 + far), numbers, counts, places)
    assert [(int(a), int(b), [int(c), int(d)]) for a, b, c, d in zip(*found, strict=True)] == [
        (*key, naive[key]) for key in sorted(naive)
    ]


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8])
@pytest.mark.parametrize("domain", [None, (-0.5, 1.5)])
def test_cells_by_sorting_are_those_of_a_group_by(monkeypatch, kind, domain):
    rng = np.random.default_rng(11)
    monkeypatch.setattr(engine, "FEWEST_ROWS", 100)
    secrets = rng.integers(0, 100, 3000) + {np.uint64: 2**60, np.int8: -100}.get(kind, -(2**63))
    rows = nw.from_native(pl.DataFrame({"secret_0": secrets.astype(kind), "value": rng.normal(size=3000)}))
    found = engine.sorted_cells(rows, 2.0**-5, domain).to_native()
    cells = {"value": cell_of(2.0**-5, domain), "place": place_of(2.0**-5, domain)}
    grouped = engine.count_groups(rows, rows.columns, added=["place"], **cells).to_native()
    naive = sorted(tuple(map(int, row)) for row in grouped.select(found.columns).rows())
    assert [tuple(map(int, row)) for row in found.rows()] == naive


def test_secrets_may_be_numbers_far_apart(monkeypatch):
    rng = np.random.default_rng(13)
    monkeypatch.setattr(engine, "FEWEST_ROWS", 100)
    near = {"secret_0": rng.integers(0, 100, 3000), "value": rng.normal(size=3000)}
    far = {**near, "secret_0": near["secret_0"] * 10**9}
    one, other = (engine.sorted_cells(nw.from_native(pl.DataFrame(rows)), 2.0**-5, None) for rows in (near, far))
    assert other.to_native().equals(one.to_native().with_columns(pl.col("secret_0") * 10**9))


def test_cells_are_sorted_only_where_that_is_faster(monkeypatch):
    rng = np.random.default_rng(12)
    rows = {"secret_0": rng.integers(0, 100, 3000), "value": rng.normal(size=3000)}
    assert engine.sorted_cells(nw.from_native(pl.DataFrame(rows)), 2.0**-5, None) is None  # few rows
    monkeypatch.setattr(engine, "FEWEST_ROWS", 100)
    far = rows["secret_0"] * 2**56
    texts = [f"{k}" for k in range(3000)]
    for other, width in (
        ({"secret_0": rows["secret_0"] % 3}, 2.0**-2),  # few groups
        ({"secret_0": far}, 2.0**-5),  # no 64-bit number holds secret, cell and place
        ({"secret_0": texts}, 2.0**-5),
        ({"secret_1": rows["secret_0"]}, 2.0**-5),
    ):
        assert engine.sorted_cells(nw.from_native(pl.DataFrame({**rows, **other})), width, None) is None
    assert engine.sorted_cells(nw.from_native(pd.DataFrame(rows)), 2.0**-5, None) is None
    assert engine.sorted_cells(nw.from_native(pl.DataFrame(rows)), 2.0**-5, None) is not None


def test_a_missing_label_is_an_error_in_long_tables(monkeypatch):
    monkeypatch.setattr(summary, "_LONG", 2)
    table = nw.from_native(pl.DataFrame({"secret_0": ["a", None, "b"], "count": [1, 7, 1]}), eager_only=True)
    with pytest.raises(PriorError, match="got 7 rows with one"):
        summary._numbered(table, np.array([1, 7, 1]), groups=["the secret column 's'"])


def test_few_values_of_many_secrets_are_counted_one_by_one():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"secret": rng.integers(0, 10_000, 400_000), "value": rng.integers(0, 40, 400_000)})
    plan = calibrate(frame, secret="secret", public="value", epsilon=1.0)
    assert {prior.radius for prior in plan.priors.values()} == {0.0}


def test_more_secrets_than_pairs_are_compared_of_at_delta_0(monkeypatch):
    """The hockey stick is a figure beside the pure loss U: f_i - e^epsilon f_j is at most (1 - e^(epsilon - U)) f_i."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"household": rng.integers(0, 8, 600), "cars": rng.integers(0, 5, 600)})
    asked = {"secret": "household", "public": "cars", "epsilon": 0.5}
    every = calibrate(frame, **asked)
    monkeypatch.setattr(discrete, "MOST_SECRETS", 5)
    bounded = calibrate(frame, **asked)
    assert bounded.scale == every.scale
    exact, bound = (plan.published_loss.hockey_stick for plan in (every, bounded))
    assert bound.lower == 0 <= exact.upper <= bound.upper
    with pytest.raises(CalibrationError, match="Take delta 0"):
        calibrate(frame, **asked, delta=1e-3)
    laws = {k: Prior.empirical([0, 1], [1 + k, 9]) for k in range(8)}
    measured = measure(discrete.DiscreteLoss(laws, pairs="all"), 0.5, Target(epsilon=0.1))[0]
    monkeypatch.undo()
    known = measure(discrete.DiscreteLoss(laws, pairs="all"), 0.5, Target(epsilon=0.1))[0]
    assert 0 < known.hockey_stick.upper <= measured.hockey_stick.upper < 1


# Channels of more than 100 levels: near the optimum, exact, and with a bound of all channels.
LEVELS = WHOLE + 1
ROWS = 60_000


def counts(shape):
    """Rows of three secrets, of about equally frequent levels or of fewer and fewer."""
    rng = np.random.default_rng(0)
    found = {}
    for secret, rows in {"a": ROWS, "b": ROWS // 2, "c": ROWS // 3}.items():
        noise = rng.normal(size=LEVELS)
        law = np.exp(0.2 * noise if shape == "flat" else 0.3 * noise - np.arange(LEVELS) / 30)
        found[secret] = rng.multinomial(rows, law / law.sum())
    return found


REQUESTS = {"default": ({}, 1.0), "exact": ({"radius": 0, "cap": None}, 0.1)}
KINDS = {"numbers": list(range(LEVELS)), "labels": [f"level {k}" for k in range(LEVELS)]}


@pytest.mark.parametrize(("kind", "shape", "request_"), thinned(KINDS, ["falling", "flat"], ["exact", "default"]))
def test_near_the_optimum(kind, shape, request_):
    options, epsilon = REQUESTS[request_]
    found = best_channel(counts(shape), levels=KINDS[kind], epsilon=epsilon, options=Channel(**options))
    assert len(found.outputs) == LEVELS
    optimum = solve(found.problem, interior=True).bound
    assert optimum * (1 - 1e-9) <= found.expected_error <= 1.05 * optimum
    assert 0 < found.lower_bound <= optimum * (1 + 1e-6)
    check(found.weights.tolist(), found.problem)


def test_a_bound_of_all_channels():
    """However few entries there are, the bound holds, and the entries that are let in do better."""
    problem = best_channel(counts("flat"), levels=[str(k) for k in range(LEVELS)], epsilon=1.0).problem
    best = solve(problem).bound
    diagonal = np.eye(LEVELS, dtype=bool)
    diagonal[:, 0] = True
    few = attempt(problem, support=diagonal)
    assert few.bound <= best < problem.expected_cost(few.matrix)
    assert few.reduced.min() < 0
    outside = few.matrix - few.matrix.min(axis=0)
    assert outside[~diagonal].max() < 1e-9
    matrix, bound = grown(problem)
    assert bound <= best * (1 + 1e-9)
    assert problem.expected_cost(matrix) <= 1.01 * best


def test_no_end_within_the_iterations():
    problem = best_channel(counts("falling"), levels=list(range(LEVELS)), epsilon=1.0).problem
    assert attempt(problem, iterations=10) is None


def test_fewer_outputs_on_request():
    levels = [str(k) for k in range(LEVELS)]
    found = best_channel(counts("flat"), levels=levels, epsilon=1.0, options=Channel(outputs=FEWER))
    assert len(found.outputs) == FEWER
    assert found.expected_error > 0.3
    whole = best_channel(counts("flat"), levels=levels, epsilon=1.0, options=Channel(outputs=LEVELS))
    assert len(whole.outputs) == LEVELS
    assert whole.expected_error < 0.12


@pytest.mark.parametrize("secrets", [2, 5])
def test_more_than_256_levels(secrets):
    """Of more levels times secrets there is less work; the constraints are met all the same."""
    rng, levels = np.random.default_rng(0), 300
    law = np.exp(-np.arange(levels) / 60)
    rows = {str(k): rng.multinomial(ROWS, law / law.sum()) for k in range(secrets)}
    found = best_channel(rows, levels=[f"level {k}" for k in range(levels)], epsilon=1.0)
    assert found.lower_bound <= found.expected_error < 0.3 * found.constant_error
    check(found.weights.tolist(), found.problem)


def test_a_large_table_of_probabilities_is_not_published():
    """A certificate of more than 4 MiB would not be read again."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 600, "job": [f"job {k % 300}" for k in range(1200)]})
    with pytest.raises(ArgumentError, match="publish_matrix must be left out for more than 256 levels"):
        calibrate(frame, secret="sex", public="job", epsilon=1, mechanism=Channel(publish_matrix=True))
