"""Every run of a plan that a release rests on is of the same rows, or nothing is released."""

import numpy as np
import polars as pl
import pytest
from conftest import few, thinned
from polars.io.plugins import register_io_source

from puffer_frames import Layout, Noise
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames import summary
from puffer_frames.frames.plans import trace as trace_module
from puffer_frames.frames.plans.survey import survey
from puffer_frames.frames.plans.trace import Compared

ROWS = 1000
ASKED = {"secret": "group", "epsilon": 0.2, "mechanism": Noise(theorem="kantorovich"), "rng": 1}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks in a small table."""
    monkeypatch.setattr(trace_module, "BLOCK", 64)


@pytest.fixture(scope="module")
def table():
    """Values of floats are not counted in the survey, nor cells that a domain cuts: a second run counts them."""
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "c"], ROWS)
    few = rng.integers(0, 6, ROWS) / 2 + (group == "a")
    return pl.DataFrame(
        {
            "few": few,
            "many": rng.normal(size=ROWS) + few,
            "other": rng.integers(0, 4, ROWS) / 8,
            "group": group,
            "id": rng.permutation(ROWS) * 3,
        }
    )


class Once:
    """A source of rows that gives others in one of its runs."""

    def __init__(self, rows, others, run):
        self.rows, self.others, self.run, self.runs = rows, others, run, 0
        self.plan = register_io_source(self.read, schema=rows.schema)

    def read(self, with_columns, predicate, n_rows, batch_size):
        self.runs += 1
        found = self.others if self.runs == self.run else self.rows
        found = found.head(n_rows) if n_rows is not None else found
        yield found if with_columns is None else found.select(with_columns)


OTHERS = {
    "a quarter of the rows": lambda rows: rows.head(ROWS // 4),
    "a last row less": lambda rows: rows.head(ROWS - 1),
    "whole blocks less": lambda rows: rows.head(64 * 10),
    "a row more": lambda rows: pl.concat([rows, rows.head(1)]),
    "a row of values": lambda rows: rows.with_columns(
        pl.when(pl.int_range(pl.len()) == 500).then(9.5).otherwise(name).alias(name) for name in ("few", "many")
    ),
    "one group": lambda rows: rows.with_columns(group=pl.lit("a")),
    "equal numbers": lambda rows: rows.with_columns(id=pl.lit(1, dtype=pl.Int64)),
    "no rows": lambda rows: rows.head(0),
}
REQUESTS = {
    "few floats": {"public": "few"},
    "two columns": {"public": ["few", "other"], "mechanism": Noise(theorem="auto")},
    "a domain that cuts": {"public": "many", "mechanism": Noise(theorem="gaussian"), "domain": {"many": (0.0, 1.0)}},
}


@few(5, rest="apart")
@pytest.mark.parametrize(("name", "request_name", "row_id"), thinned(OTHERS, REQUESTS, [None, "id"]))
def test_a_run_of_other_rows_is_an_error_whichever_it_is(table, monkeypatch, name, request_name, row_id):
    """Otherwise the release is that of the table, to the last bit."""
    if "domain" in REQUESTS[request_name]:
        monkeypatch.setattr(summary, "EXACT_ROWS", 64)
        monkeypatch.setattr(summary, "MOST_CELLS", 64)
    asked = ASKED | REQUESTS[request_name] | {"layout": Layout(row_id=row_id)}
    usual = Once(table, table, 0)
    expected = usual.plan.puffer.privatize(**asked).puffer.collect()
    assert usual.runs > 2  # one that counts, beside the survey and the release
    noticed = 0
    for run in range(1, usual.runs + 1):
        source = Once(table, OTHERS[name](table), run)
        try:
            found = source.plan.puffer.privatize(**asked).puffer.collect()
        except (CalibrationError, ArgumentError):
            noticed += 1
        except Exception as error:  # of a survey without rows, or with one group
            assert run == 1, error  # noqa: PT017
        else:
            assert found.equals(expected)
            assert found.puffer.certificate.scales == expected.puffer.certificate.scales
    if name != "equal numbers" or row_id:
        assert noticed >= 2


@pytest.mark.parametrize("row_id", [None, "id"])
def test_the_error_says_what_to_do(table, row_id):
    source = Once(table, table.head(ROWS // 4), 2)
    with pytest.raises(CalibrationError, match="other rows than when") as caught:
        source.plan.puffer.calibrate(**{name: ASKED[name] for name in ("secret", "epsilon", "mechanism")}, public="few")
    assert "the same order" in str(caught.value)
    with pytest.raises(CalibrationError, match="other rows than when"):
        Once(table, table.head(ROWS // 4), 2).plan.puffer.privatize(**ASKED, public="few", layout=Layout(row_id=row_id))


def test_numbers_are_those_of_the_rows_that_are_released(table):
    """Different ones in an earlier run do not help: equal numbers have equal noise."""
    same = OTHERS["equal numbers"](table)
    for run in range(1, 4):
        source = Once(same, table, run)
        with pytest.raises((ArgumentError, CalibrationError)):
            source.plan.puffer.privatize(**ASKED, public="few", layout=Layout(row_id="id")).puffer.collect()


@pytest.mark.parametrize("ordered", [True, False])
def test_the_columns_that_are_asked_for_are_compared(ordered):
    """Those alone, where the rows are in order; and each as itself."""
    rows = pl.LazyFrame(
        {"secret_0": [1, 2] * 100, "public_0": range(200), "public_1": range(200, 400), "number": range(200)}
    )
    found = survey(rows, secrets=1, own=1, public=2, few=10, ordered=ordered)
    for other, noticed in (
        ({"public_1": pl.col("public_0")}, True),
        ({"public_0": pl.lit(5)}, not ordered),
        ({"secret_0": pl.lit(1)}, True),
    ):
        changed = rows.with_columns(**{name: value.cast(pl.Int64) for name, value in other.items()})
        compared = Compared(rows=changed, checked=4, trace=found.trace)
        plan = compared.plan(["secret_0", "public_1"], over=lambda batches: batches)
        if noticed:
            with pytest.raises((CalibrationError, pl.exceptions.ComputeError), match="other rows"):
                plan.collect(engine="streaming")
        else:
            assert plan.collect(engine="streaming").equals(changed.select("secret_0", "public_1").collect())
