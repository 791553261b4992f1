"""Secrets of pandas are numbered and counted as numbers: the counts are those of the rows one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from kinds import opened
from summaries import summary_of

from puffer_frames.errors import PriorError
from puffer_frames.frames.local.engine import LocalSecrets, LocalValues

ROWS = 2000
RNG = np.random.default_rng(5)
SECRETS = {
    "text": pd.Series(RNG.choice(["a", "b", "", "ζ" * 20], ROWS)),
    "objects": pd.Series(RNG.choice(np.array(["x", "yes"], dtype=object), ROWS), dtype=object),
    "categories": pd.Series(RNG.choice(["low", "high"], ROWS)).astype(pd.CategoricalDtype(["none", "low", "high"])),
    "booleans": pd.Series(RNG.random(ROWS) < 0.3).astype("boolean"),
    "integers": pd.Series(RNG.integers(-2, 2, ROWS)),
    "whole floats": pd.Series(RNG.integers(0, 3, ROWS).astype(np.float32)),
    "one value": pd.Series(["only"] * ROWS),
}
VALUES = {
    "integers": pd.Series(RNG.integers(0, 9, ROWS)),
    "nullable": pd.Series(RNG.integers(0, 9, ROWS)).astype("Int64"),
    "arrow": pd.Series(RNG.integers(0, 9, ROWS) / 4).astype("double[pyarrow]"),
    "32-bit floats": pd.Series(RNG.integers(0, 9, ROWS).astype(np.float32) / 4),
    "booleans": pd.Series(RNG.random(ROWS) < 0.5),
    "every second one": pd.Series(RNG.integers(0, 9, 2 * ROWS)[::2]),
}


def counts_of(frame, names):
    counts = summary_of(frame, secret=names, public="value").counts
    return {(s, float(v)): int(n) for s, (vs, ns) in counts.items() for v, n in zip(vs, ns, strict=True)}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "names", [*([name] for name in SECRETS), ["text", "booleans"], ["categories", "integers", "objects", "text"]]
)
def test_counts_are_those_of_the_rows(names, value):
    frame = pd.DataFrame({**{name: SECRETS[name] for name in names}, "value": VALUES[value]})
    rows = frame[names[0]] if len(names) == 1 else zip(*(frame[name] for name in names), strict=True)
    assert counts_of(frame, names) == Counter(zip(rows, map(float, frame["value"]), strict=True))


@pytest.mark.parametrize("names", [["text"], ["integers", "booleans"]])
def test_runs_of_the_secret(names):
    for rows in (1, 2, ROWS):
        frame = pd.DataFrame({name: SECRETS[name].head(rows) for name in names})
        secrets = LocalSecrets.of(opened(frame), names)
        assert secrets.runs(rows) == 1 + sum(a != b for a, b in pairwise(frame.itertuples(index=False)))


@pytest.mark.filterwarnings("ignore::puffer_frames.SuspectValuesWarning")
def test_a_secret_of_pandas_is_looked_up_once(monkeypatch):
    """Further public columns, and the order of the rows, are read with the numbers."""
    frame = pd.DataFrame({"secret": SECRETS["text"], "x": VALUES["integers"], "y": VALUES["nullable"]})
    calls, factorize = [], pd.Series.factorize
    monkeypatch.setattr(pd.Series, "factorize", lambda self, **ask: calls.append(self.name) or factorize(self, **ask))
    frame.puffer.privatize(secret="secret", public=["x", "y"], epsilon=1.0)
    assert len(calls) == 1


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_entries_are_counted(missing):
    frame = pd.DataFrame({"secret": [*SECRETS["text"][1:], missing], "value": VALUES["integers"]})
    with pytest.raises(PriorError, match="1 row with one"):
        counts_of(frame, ["secret"])
    for dtype in ("Int64", "float64", "Float64", "boolean"):
        values = pd.Series([None, True, *[False] * (ROWS - 3), None], dtype="object").astype(dtype)
        frame = pd.DataFrame({"secret": SECRETS["text"], "value": values})
        table = opened(frame)
        values_of = LocalValues.of(table, LocalSecrets.of(table, ["secret"]), "value")
        with pytest.raises(PriorError, match="2 rows with one"):
            values_of.ends("value")
        with pytest.raises(PriorError, match="2 rows with one"):
            summary_of(frame, secret=["secret"], public="value")
    for dtype in ("Int64", "int64[pyarrow]"):
        large = pd.Series([2**60 + 1, None, *[1] * (ROWS - 2)], dtype=dtype)
        with pytest.raises(PriorError, match="larger integers"):
            counts_of(pd.DataFrame({"secret": SECRETS["text"], "value": large}), ["secret"])
