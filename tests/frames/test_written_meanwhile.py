"""A frame in memory may be written to between the counts and the noise: the rows that were counted are released."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, few, thinned
from kinds import opened

import puffer_frames
from puffer_frames import Layout, Noise
from puffer_frames.frames import tally
from puffer_frames.frames.local.own import own_frame

ROWS = 4000
RNG = np.random.default_rng(8)
COLUMNS = {
    "float": RNG.integers(0, 6, ROWS) / 4,
    "integer": RNG.integers(0, 6, ROWS),
    "narrow": RNG.integers(0, 6, ROWS).astype(np.int16),
    "single": (RNG.integers(0, 6, ROWS) / 4).astype(np.float32),
    "truth": RNG.random(ROWS) < 0.4,
    "id": RNG.permutation(ROWS),
    "group": RNG.integers(0, 3, ROWS),
}


# name: (arrays to a frame, and arrays that share its memory)
SHARING = {
    "pandas": lambda arrays: (pd.DataFrame(arrays, copy=False), arrays),
    "pandas, pyarrow": lambda arrays: (
        pd.DataFrame({name: pd.arrays.ArrowExtensionArray(pa.array(array)) for name, array in arrays.items()}),
        arrays,
    ),
    "pandas, nullable": lambda arrays: (
        pd.DataFrame({name: nullable(array) for name, array in arrays.items()}, copy=False),
        arrays,
    ),
    "pyarrow": lambda arrays: (pa.table(arrays), arrays),
    "polars": lambda arrays: (pl.from_arrow(pa.table(arrays)), arrays),
    "polars, two chunks": lambda arrays: (
        pl.from_arrow(
            pa.table({name: pa.chunked_array([array[:99], array[99:]]) for name, array in arrays.items()}),
            rechunk=False,
        ),
        arrays,
    ),
}


if pd.__version__ >= "3":  # pandas 2 copies what it puts together
    SHARING["pandas, matrix"] = lambda arrays: of_matrices(arrays)


def nullable(array):
    """An array of pandas that shares the memory."""
    kinds = {"b": pd.arrays.BooleanArray, "i": pd.arrays.IntegerArray, "f": pd.arrays.FloatingArray}
    return kinds[array.dtype.kind](array, np.zeros(array.size, dtype=bool))


def of_matrices(arrays):
    """Columns whose entries are not beside one another."""
    matrices = {name: np.stack([array, array], axis=1) for name, array in arrays.items()}
    frames = [pd.DataFrame(matrix, columns=[name, f"{name} 2"], copy=False) for name, matrix in matrices.items()]
    return pd.concat(frames, axis=1), {name: matrix[:, 0] for name, matrix in matrices.items()}


def swap_two(array):
    """Another order: the same entries."""
    first = int(np.flatnonzero(array != array[-1])[0])
    array[[first, -1]] = array[[-1, first]]


def set_one(array):
    array[ROWS // 2] = array[ROWS // 2] + 1 if array.dtype != bool else not array[ROWS // 2]


def reorder(array):
    array[:] = np.random.default_rng(2).permutation(array)


CHANGES = {"two are swapped": swap_two, "one is another": set_one, "in another order": reorder}


def between(monkeypatch, change):
    """Changes something, in a thread, after everything was counted."""
    native = tally.count_values

    def counted(*args, **options):
        found = native(*args, **options)
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        return found

    monkeypatch.setattr(tally, "count_values", counted)


def ask(frame, public, **options):
    asked = {
        "secret": "group",
        "public": public,
        "epsilon": 0.1,
        "mechanism": Noise(theorem="auto"),
        "rng": 1,
        "allow_zero_noise": True,
    }
    return puffer_frames.privatize(frame, **asked | options)


NUMBERS = ("float", "integer", "narrow", "single")
SHARED = [(kind, name) for kind in SHARING for name in NUMBERS]
SHARED += [
    (kind, "truth") for kind in ("pandas", "pandas, matrix", "pandas, nullable") if kind in SHARING
]  # in Arrow eight are a byte


@few(16, rest="apart")
@pytest.mark.parametrize(("shared", "change"), thinned(SHARED, CHANGES))
def test_memory_that_is_written_to(monkeypatch, shared, change):
    kind, name = shared
    frame, arrays = SHARING[kind]({key: array.copy() for key, array in COLUMNS.items()})
    expected = ask(frame, name)
    between(monkeypatch, lambda: CHANGES[change](arrays[name]))
    assert ask(frame, name).equals(expected)


@pytest.mark.parametrize(("kind", "name"), thinned(list(SHARING), ["id", "group"]))
def test_row_numbers_and_secrets_too(monkeypatch, kind, name):
    """Equal numbers would have equal noise, and two public columns are counted one after another."""
    frame, arrays = SHARING[kind]({key: array.copy() for key, array in COLUMNS.items()})
    expected = ask(frame, ["float", "integer"], layout=Layout(row_id="id"))
    between(monkeypatch, lambda: np.copyto(arrays[name], 1))
    found = ask(frame, ["float", "integer"], layout=Layout(row_id="id"))
    assert found.equals(expected)


def put(frame, values):
    """Set the column x in place, as the library does that."""
    if isinstance(frame, pl.DataFrame):
        frame.replace_column(frame.columns.index("x"), pl.Series("x", values))
    else:
        frame.loc[:, "x"] = values


@pytest.mark.parametrize("values", [COLUMNS["float"], COLUMNS["integer"]], ids=["floats", "integers"])
@pytest.mark.parametrize("kind", ["pandas", "pandas-nullable", "pandas-pyarrow", "polars"])
def test_columns_that_are_set(monkeypatch, kind, values):
    frame = build_frame(kind, {"x": values, "group": COLUMNS["group"]})
    expected = ask(frame, "x")
    between(monkeypatch, lambda: put(frame, values[::-1].copy()))
    assert ask(frame, "x").equals(expected)


@pytest.mark.parametrize("values", [COLUMNS["float"], COLUMNS["integer"]], ids=["floats", "integers"])
def test_columns_that_go_or_become_something_else(monkeypatch, values):
    for change in (
        lambda frame: frame.pop("x"),
        lambda frame: frame.pop("first"),
        lambda frame: frame.insert(0, "new", 1),
        lambda frame: frame.isetitem(1, values.astype(str)),
        lambda frame: frame.isetitem(1, values * 2.0),
        lambda frame: frame.__setitem__("x", values > 1),
        lambda frame: frame.loc.__setitem__(ROWS, [0, values[0], 0]),
    ):
        frame = pd.DataFrame({"first": COLUMNS["id"], "x": values, "group": COLUMNS["group"]})
        expected = ask(frame, "x", layout=Layout(keep="first", index="drop"))
        with monkeypatch.context() as patch:
            between(patch, lambda change=change, frame=frame: change(frame))
            pd.testing.assert_frame_equal(ask(frame, "x", layout=Layout(keep="first", index="drop")), expected)


@pytest.mark.parametrize("public", ["float", "integer"])
def test_a_plan_of_an_earlier_step(monkeypatch, public):
    """The counts of the release itself are those of the plan; then the array changes."""
    arrays = {key: array.copy() for key, array in COLUMNS.items()}
    frame = pd.DataFrame(arrays, copy=False)
    plan = frame.puffer.calibrate(secret="group", public=public, epsilon=0.1, allow_zero_noise=True)
    expected = plan.release(frame, rng=1)
    between(monkeypatch, lambda: reorder(arrays[public]))
    assert plan.release(frame, rng=1).equals(expected)


def test_rows_that_were_left_out_are_a_copy(monkeypatch):
    """What is released is what was counted: it is nobody else's memory."""
    arrays = {key: array.copy() for key, array in COLUMNS.items()}
    arrays["float"][3] = np.nan
    frame = pd.DataFrame(arrays, copy=False)
    expected = ask(frame, "float", nulls="drop")
    between(monkeypatch, lambda: reorder(arrays["float"]))
    assert ask(frame, "float", nulls="drop").equals(expected)


EVERY = {
    "missing": [None, 1.5, None, 3.0] * 20,
    "integers, missing": [None, 1, 2] * 30,
    "truths, missing": [None, True, False] * 30,
    "truths": [True, False, False] * 30,
    "large integers": [2**62 + k for k in range(90)],
    "text": ["a", None, "b"] * 30,
}


@pytest.mark.parametrize("kind", ["pandas", "pandas-nullable", "pandas-pyarrow", "polars", "pyarrow"])
@pytest.mark.parametrize("name", EVERY)
def test_a_frame_of_its_own_has_the_same_entries(kind, name):
    """Parts of frames too, whose entries begin within a byte of their bits."""
    frame = opened(build_frame(kind, {"x": EVERY[name], "y": EVERY[name]}))
    for part in (frame, frame[1:41], frame[5:45], frame[9:49]):
        own = own_frame(part, ["x"])
        assert own is not part
        assert own.schema == part.schema
        assert own.to_native().equals(part.to_native())


def test_columns_of_128_bits():
    wide = pl.DataFrame({"x": COLUMNS["integer"], "group": COLUMNS["group"]}).with_columns(pl.col("x").cast(pl.Int128))
    assert ask(wide, "x").equals(ask(wide.with_columns(pl.col("x").cast(pl.Int64)), "x"))
