"""A draw that reads the secret and several public columns: the same on every kind of frame, and the secret stays."""

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import build_frame
from kinds import entries
from small_draw import OUTPUTS, SECRETS, TOWNS, SmallDraw

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.plans.source import collect_plan, sink_plan
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.noise.channel import JointLevels
from puffer_frames.noise.column_noise import ByStratum, ColumnNoise
from puffer_frames.noise.stream import Purpose, ReleaseKey

RNG = np.random.default_rng(17)
ROWS = 700
COLUMNS = {
    "group": RNG.choice(SECRETS, ROWS),
    "x": RNG.integers(0, 9, ROWS),
    "note": RNG.permutation(["u", "v"] * (ROWS // 2)),
    "town": RNG.choice(TOWNS, ROWS),
    "id": RNG.permutation(ROWS) * 3 - 50,
}
KEY = ReleaseKey.of(4)
ROLES = {"secret": ("group",), "public": ("x", "town"), "coded": ("town",)}


def opened(frame, **roles):
    return open_table(frame).complete(Roles(**ROLES | roles), nulls="raise", layout=RowOrder())


def released(frame, *, draw=None, **roles):
    return opened(frame, **roles).release([draw or SmallDraw(KEY)]).frame


def run(frame):
    return collect_plan(frame) if isinstance(frame, pl.LazyFrame) else frame


def expected(*, by=None):
    """Row by row, in plain Python."""
    stream = KEY.stream(Purpose.NOISE, "x")
    x, town = [], []
    for k in range(ROWS):
        row = k if by is None else int(COLUMNS[by][k])
        step = int(stream.words(np.array([row]))[0]) >> 61
        group = SECRETS.index(COLUMNS["group"][k])
        x.append(COLUMNS["x"][k] + 0.5 * step + 100.0 * group)
        town.append(OUTPUTS[(TOWNS.index(COLUMNS["town"][k]) + group + step) % 2])
    return {"x": x, "town": town}


@pytest.mark.parametrize("by", [None, "id"])
def test_every_kind_hands_it_the_same_columns(make_frame, kind, by):
    found = run(released(make_frame(COLUMNS), row_id=by, keep=("note", "id")))
    kept = {name: list(COLUMNS[name]) for name in ("note", "id")}
    columns = expected(by=by) | kept
    assert entries(found) == [(name, columns[name]) for name in ("x", "note", "town", "id")]


def parquet_bytes(frame, folder):
    """A release as a file, not compressed."""
    path = folder / "released.parquet"
    if hasattr(frame, "toArrow"):
        frame.write.option("compression", "none").parquet(str(path))
        return b"".join(part.read_bytes() for part in path.rglob("*") if part.is_file())
    if isinstance(frame, pl.LazyFrame):
        sink_plan(frame, path, lambda fingerprint, sample: {"told": [fingerprint, sorted(sample)]})
    elif isinstance(frame, pl.DataFrame):
        frame.write_parquet(path, compression="uncompressed")
    elif hasattr(frame, "to_parquet"):
        frame.to_parquet(path, compression=None)
    else:
        pq.write_table(frame, path, compression="none")
    assert pq.read_table(path).column_names == ["x", "note", "town"]
    return path.read_bytes()


def test_the_secret_stays_behind(make_frame, tmp_path):
    release = opened(make_frame(COLUMNS), keep=("note",)).release([SmallDraw(KEY)])
    assert set(release.sample) <= {"x"}  # what a certificate is told, with the number of rows and the fingerprint
    assert (release.rows, release.levels) == (ROWS, ())
    found = release.frame
    if isinstance(found, pl.LazyFrame):
        assert found.collect_schema().names() == ["x", "note", "town"]
        assert found.collect().columns == ["x", "note", "town"]
        assert found.filter(pl.col("town") == "north").select("note").collect().columns == ["note"]
    assert [name for name, _ in entries(run(found))] == ["x", "note", "town"]
    written = parquet_bytes(found, tmp_path)
    assert b"town" in written
    for text in ("group", "secret", "alpha", "beta", "gamma", *TOWNS):
        assert text.encode() not in written
        assert text not in repr(found)
        assert not isinstance(found, pl.LazyFrame) or text not in found.explain()


def test_a_secret_that_the_draw_does_not_know(make_frame):
    few = SmallDraw(KEY, secrets=SECRETS[:2])
    with pytest.raises(
        CalibrationError, match=r"'group' must be one of the levels that were counted; got .*rows? with another one"
    ) as info:
        run(released(make_frame(COLUMNS), draw=few, row_id="id"))
    assert "gamma" not in str(info.value)


@pytest.mark.parametrize("kind", ["pandas", "polars"], indirect=True)
@pytest.mark.parametrize("secrets", [list(range(3)), [True, False], [k * 10**6 for k in range(300)]])
def test_secrets_of_any_type(make_frame, secrets):
    """Numbers, booleans, and more of them than a channel may have levels."""
    columns = COLUMNS | {"group": [secrets[k % len(secrets)] for k in range(ROWS)]}
    draw = SmallDraw(KEY, secrets=tuple(secrets))
    moved = dict(entries(released(make_frame(columns), draw=draw)))["x"]
    words = KEY.stream(Purpose.NOISE, "x").words(range(ROWS)) >> np.uint64(61)
    places = np.arange(ROWS) % len(secrets)
    assert moved == (COLUMNS["x"] + 0.5 * words + 100.0 * places).tolist()


def test_categories_and_two_columns_as_secrets():
    frame = build_frame("pandas", COLUMNS)
    frame["group"] = frame["group"].astype("category").cat.add_categories(["never"])
    assert dict(entries(released(frame)))["x"] == expected()["x"]
    for kind in ("pandas", "polars", "polars-lazy", "pyarrow"):
        frame = build_frame(kind, COLUMNS | {"other": RNG.permutation(["e", "f"] * (ROWS // 2))})
        for secret in (("group", "other"), ("other", "group")):
            assert dict(entries(run(released(frame, secret=secret))))["x"] == expected()["x"]


def test_each_public_column_is_written_by_one_draw():
    rows = opened(build_frame("polars", COLUMNS))
    noise = ColumnNoise(column="x", noise=None, key=KEY, domain=None, remap=None, bounds=None, to_integers=False)
    for draws in ([noise], [SmallDraw(KEY), noise], []):
        with pytest.raises(ValueError, match="exactly one draw"):
            rows.release(draws)
    with pytest.raises(ValueError, match="exactly one draw"):
        opened(build_frame("polars", COLUMNS), public=("town",)).release([SmallDraw(KEY)])


def test_joint_levels_row_by_row():
    known = {("a", 1, None): 0, ("b", 1, "z"): 2, ("a", True, "z"): 1, ("b", 2, None): 0}
    joint = JointLevels(columns=("p", "q", "r"), numbers=known)
    assert joint.reads == {"p": ("a", "b"), "q": (1, True, 2), "r": (None, "z")}
    levels = list(joint.reads.values())
    codes = np.indices([len(own) for own in levels]).reshape(3, -1).astype(np.uint16)
    found = joint.prepared()(dict(zip("pqr", codes, strict=True)))
    typed = {tuple((type(level), level) for level in z): number for z, number in known.items()}
    rows = [tuple((type(own[k]), own[k]) for own, k in zip(levels, row, strict=True)) for row in codes.T]
    assert found.tolist() == [typed.get(row, joint.unknown) for row in rows]


def test_strata_that_draws_do_not_know_or_fit():
    part = (ColumnNoise(column="x", noise=None, key=KEY, domain=None, remap=None, bounds=None, to_integers=False),)
    draw = ByStratum(given=("p", "q"), strata=(("a", "a"), ("b", "b")), parts=(part, part))
    move, x = draw.prepared(), np.arange(4.0)
    columns = {"p": np.array([0, 1, 1, 0], dtype=np.uint16), "q": np.array([0, 1, 0, 0], dtype=np.uint16), "x": x}
    with pytest.raises(CalibrationError, match="strata of the plan; got 1 row of others"):
        move(columns, None)
    assert move({name: values[:2] for name, values in columns.items()}, None)["x"].tolist() == [0.0, 1.0]
    x, y = (
        (ColumnNoise(column=name, noise=None, key=KEY, domain=None, remap=None, bounds=None, to_integers=False),)
        for name in "xy"
    )
    for given, parts in (("p", (x, y)), ("x", (x, x)), ("p", (x + x, x + x))):
        with pytest.raises(ValueError, match="column"):
            ByStratum(given=(given,), strata=(("a",), ("b",)), parts=parts)
