"""A Parquet file is written whole or not at all, to a file that may be replaced."""

import contextlib
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, few, thinned

import puffer_frames
from puffer_frames import read_certificate, write_parquet
from puffer_frames.errors import ArgumentError, CalibrationError, FaultError
from puffer_frames.frames.stamps import whole_file as target

PEOPLE = {"group": list("aabb") * 5, "score": [1, 2, 2, 4] * 5}
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0}
linux = pytest.mark.skipif(sys.platform != "linux", reason="files without a name are Linux's")


@pytest.fixture(params=["without a name", "with a hidden name"])
def system(request, monkeypatch):
    if request.param == "with a hidden name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


@pytest.fixture(params=["pandas", "polars", "polars-lazy", "pyarrow"])
def released(request, system):
    return puffer_frames.privatize(build_frame(request.param, PEOPLE), **ASKED)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def check(path):
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"
    assert not [name for name in names(path.parent) if name.startswith(".")]


def open_files(folder):
    """Those of the folder that this process holds open, where the system says it; what other threads open is theirs."""
    place = Path("/proc/self/fd")
    held = []
    for entry in place.iterdir() if place.exists() else ():
        with contextlib.suppress(OSError):  # closed meanwhile
            held.append(str(entry.readlink()))
    return [target for target in held if target.startswith(str(folder))]


def test_a_new_file(released, tmp_path):
    old = os.umask(0o027)
    try:
        write_parquet(released, tmp_path / "new.parquet")
    finally:
        os.umask(old)
    assert not open_files(tmp_path)  # a reader may keep the file open for a while
    check(tmp_path / "new.parquet")
    assert stat.S_IMODE((tmp_path / "new.parquet").stat().st_mode) == 0o640
    assert names(tmp_path) == ["new.parquet"]


@few(8, rest="apart")
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o777])
def test_the_mode_of_a_file_is_kept(released, tmp_path, mode):
    path = tmp_path / "old.parquet"
    path.write_text("old")
    path.chmod(mode)
    write_parquet(released, path)
    check(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@few(5, rest="apart")
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_followed(released, tmp_path, dangling):
    (tmp_path / "elsewhere").mkdir()
    real, link, second = tmp_path / "elsewhere" / "real.parquet", tmp_path / "link", tmp_path / "second"
    if not dangling:
        real.write_text("old")
    link.symlink_to("elsewhere/real.parquet")
    second.symlink_to(link)
    write_parquet(released, second)
    assert second.is_symlink()
    assert link.is_symlink()
    assert not real.is_symlink()
    check(real)


@pytest.fixture
def device(tmp_path):
    """Not the system's own: root could replace that."""
    if os.geteuid():
        return Path(os.devnull)
    os.mknod(tmp_path / "device", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    return tmp_path / "device"


@linux
def test_only_files_are_replaced(released, tmp_path, device):
    pipe, folder, link, plug = (tmp_path / name for name in ("pipe", "folder", "link", "plug"))
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(device)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(plug))
        kinds = {folder: "folder", link: "device", device: "device", plug: "socket", pipe: "pipe"}
        for path, what in kinds.items():
            before = path.stat()
            with pytest.raises(ArgumentError, match=f"that of a file, new or to replace; got a {what}"):
                write_parquet(released, path)
            assert os.path.samestat(path.stat(), before)
    os.close(reader)
    assert names(tmp_path) == sorted(path.name for path in kinds if path.parent == tmp_path)


def test_files_that_may_not_be_written_or_appear_meanwhile(released, tmp_path, system):
    with pytest.raises(FileNotFoundError):
        write_parquet(released, tmp_path / "nowhere" / "x.parquet")
    path = tmp_path / "x"
    with target.replacing(path) as file:
        file.write(b"new")
        path.write_bytes(b"other")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("x", b"new")]


@pytest.mark.parametrize("old", [None, b"old"])
def test_what_fails_leaves_all_as_it_was(system, tmp_path, old):
    path = tmp_path / "x.parquet"
    if old:
        path.write_bytes(old)

    def fail():
        with target.replacing(path) as file:
            file.write(b"half")
            raise EOFError

    with pytest.raises(EOFError):
        fail()
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([old] if old else [])


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_run_that_fails_leaves_all_as_it_was(system, tmp_path, old):
    rows, path = [pl.DataFrame(PEOPLE)], tmp_path / "x.parquet"
    if old:
        path.write_bytes(old)

    def read(with_columns, _predicate, _rows, _batch):
        yield rows[0].select(with_columns) if with_columns else rows[0]

    plan = pl.io.plugins.register_io_source(read, schema=rows[0].schema)
    released = plan.puffer.privatize(**ASKED)
    rows[0] = rows[0].reverse()
    with pytest.raises(CalibrationError):
        released.puffer.sink_parquet(path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([old] if old else [])


def test_a_table_that_cannot_be_written(system, tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"old")
    released = pd.DataFrame(PEOPLE).puffer.privatize(**ASKED)

    def fail(_table, file):
        file.write(b"half")
        raise pa.ArrowInvalid("no")

    monkeypatch.setattr("pyarrow.parquet.write_table", fail)
    with pytest.raises(FaultError, match="ArrowInvalid"):
        write_parquet(released, path)
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"old"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError), target.replacing(path):
        pass
    assert path.read_bytes() == b"old"


SLOW = """
import sys, time
import polars as pl, puffer_frames
from polars.io.plugins import register_io_source
rows, runs = pl.DataFrame({"group": list("aabb") * 300_000, "score": [1, 2, 2, 4] * 300_000}), []

def read(with_columns, predicate, n_rows, batch_size):
    for k in range(2):
        if runs and k:
            print("half", flush=True)
            time.sleep(60)
        part = rows[600_000 * k : 600_000 * (k + 1)]
        yield part.select(with_columns) if with_columns else part

plan = register_io_source(read, schema=rows.schema)
released = plan.puffer.privatize(secret="group", public="score", epsilon=1.0)
runs.append(1)
released.puffer.sink_parquet(sys.argv[1])
"""


@pytest.mark.apart
@linux
@pytest.mark.parametrize("how", thinned([signal.SIGTERM, signal.SIGKILL], few=[signal.SIGKILL]))
@pytest.mark.parametrize("old", thinned([b"old", None], few=[b"old"]))
def test_nothing_is_left_of_a_run_that_is_killed(tmp_path, how, old):
    path = tmp_path / "x.parquet"
    if old:
        path.write_bytes(old)
    with subprocess.Popen([sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half\n"
        process.send_signal(how)
        assert process.wait(timeout=60) == -how
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == ([old] if old else [])


@pytest.mark.apart
def test_nothing_is_left_at_the_end_of_python(tmp_path, in_a_process):
    """Of a block that never ended, where a file has a hidden name."""
    code = (
        "import os, sys; vars(os).pop('O_TMPFILE', None)\n"
        "from puffer_frames.frames.stamps.whole_file import replacing\n"
        "block = replacing(sys.argv[1]); block.__enter__().write(b'half')\n"
        "assert len(os.listdir(os.path.dirname(sys.argv[1]))) == 1\n"
    )
    assert in_a_process(code, tmp_path / "x").returncode == 0
    assert not list(tmp_path.iterdir())


def test_a_name_that_became_a_folder_is_not_replaced(system, tmp_path):
    path = tmp_path / "x"

    def write():
        with target.replacing(path) as file:
            file.write(b"new")
            path.mkdir()

    with pytest.raises(OSError, match="directory"):
        write()
    assert names(tmp_path) == ["x"]


def without_links(*_given, **_more):
    """`os.link` on a file system that has none."""
    raise OSError(errno.EPERM, "no links")


WAYS = {
    "without a name": {},
    "with a name of a moment": {"_unnamed": lambda *_: None},
    "without links": {"_unnamed": lambda *_: None, "link": without_links},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_new_file_replaces_none(tmp_path, monkeypatch, way):
    for name, made in WAYS[way].items():
        monkeypatch.setattr(target.os if name == "link" else target, name, made)
    with target.replacing(tmp_path / "a", new=True) as file:
        file.write(b"first")
    (tmp_path / "folder").mkdir()
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for name in ("a", "folder", "gone"):
        with (
            pytest.raises(ArgumentError, match="that of a new file"),
            target.replacing(tmp_path / name, new=True) as file,
        ):
            file.write(b"second")
    with pytest.raises(ArgumentError, match="that of a new file"), target.replacing(tmp_path / "b", new=True) as file:
        (tmp_path / "b").write_bytes(b"of somebody else")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert (tmp_path / "b").read_bytes() == b"of somebody else"
    assert not (tmp_path / "nowhere").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "folder", "gone"}


def test_a_link_that_was_made_and_answered_twice_is_made(tmp_path, monkeypatch):
    link = os.link

    def twice(*given):
        link(*given)
        link(*given)

    monkeypatch.setattr(target, "_unnamed", lambda *_: None)
    monkeypatch.setattr(os, "link", twice)
    with target.replacing(tmp_path / "a", new=True) as file:
        file.write(b"first")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_fails_after_a_file_has_its_name_is_no_error(tmp_path, monkeypatch):
    """Whoever gets an error may be sure that the file does not have its name."""

    def fail_of_folders(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "no folder is put on the disk")

    monkeypatch.setattr(os, "fsync", fail_of_folders)
    for unnamed in (target._unnamed, lambda *_: None):
        monkeypatch.setattr(target, "_unnamed", unnamed)
        with target.replacing(tmp_path / "a", durable=True) as file:
            file.write(b"first")
        (tmp_path / "a").unlink()
