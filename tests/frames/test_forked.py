"""A process that was forked after Polars had started its threads gets an error; others work."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

BEGIN = """
import os, sys, threading
import pandas as pd, polars as pl, pyarrow as pa
import puffer_frames
from puffer_frames import privatize, verify
from puffer_frames.frames import forked

forked.LIMIT = 60.0  # on a busy machine threads that are there may take seconds
data = {"group": ["a", "b", "b", "a"] * 50, "x": [1, 2, 3, 3] * 50, "id": list(range(200))}
asked = {"secret": "group", "public": "x", "epsilon": 0.5, "rng": 1}

def say(text):  # in one piece, whoever else writes
    os.write(1, f"{text}\\n".encode())

def start(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
            say("done")
        except Exception as error:
            say(type(error).__name__)
        finally:
            os._exit(0)
    return pid

def end(pid):
    assert os.waitpid(pid, 0)[1] == 0

def child(work):
    end(start(work))
"""

USED = {
    "a release": "privatize(pd.DataFrame(data), **asked)",
    "the usual engine": "pl.DataFrame(data).group_by('group').len()",
    "the streaming engine": "pl.LazyFrame(data).group_by('group').len().collect(engine='streaming')",
    "batches of a plan": "list(pl.LazyFrame(data).collect_batches(engine='streaming'))",
}

ALONE = "forked.LIMIT = 0.2"
"""From here on no threads will come, however long a child waits."""
VERBS = """
frame, table = pl.DataFrame(data), pd.DataFrame(data)
plan = table.puffer.calibrate(secret="group", public="x", epsilon=0.5)
released = plan.release(table, rng=1)
lazily = pl.LazyFrame(data).puffer.privatize(**asked)
certificate, path = released.puffer.certificate, sys.argv[1] + "/x.parquet"
released.puffer.write_parquet(path)
chain = [[0.6, 0.4], [0.4, 0.6]]

def verbs():
    for number, verb in enumerate([
        lambda: privatize(table, **asked),
        lambda: privatize(frame, **asked),
        lambda: privatize(frame.lazy(), **asked),
        lambda: privatize(pa.table(data), **asked),
        lambda: frame.puffer.calibrate(secret="group", public="x", epsilon=0.5),
        lambda: plan.release(table),
        lambda: table.puffer.aggregate(unit="id", value="x", query="sum", epsilon=1.0, domain=(0, 5)),
        lambda: table.puffer.histogram(state="group", time="id", epsilon=1.0, chain=chain),
        lambda: verify(released),
        lambda: certificate.verify(released),
        lambda: certificate.verify(path),
        lambda: released.puffer.write_parquet(path),
        lambda: lazily.puffer.collect(),
        lambda: lazily.puffer.sink_parquet(path),
    ]):
        try:
            verb()
            say(f"{number} done")
        except puffer_frames.PufferError as error:
            say(f"{number} {type(error).__name__}")
    say(f"waits: {threading.active_count() - 1}")
"""


def uses():
    """Each in a child of its own, that has used nothing before; they wait at the same time."""
    code = "started = []\n"
    for name, used in USED.items():
        code += f"""
def use():
    {used}
    {ALONE}
    child(lambda: privatize(pd.DataFrame(data), **asked))
    say({name!r})

started.append(start(use))
"""
    return f"{code}\nfor pid in started:\n    end(pid)"


PROCESSES = {
    "has used": uses(),
    "has imported": "child(lambda: print(privatize(pl.DataFrame(data), **asked)['x'].sum(), flush=True))\n"
    "child(lambda: None)\nprint(privatize(pl.DataFrame(data), **asked)['x'].sum())",
    "works": f"def work():\n    privatize(pl.DataFrame(data), **asked)\n    {ALONE}\n    child(work)\nchild(work)",
    "verbs": f"{VERBS}\n{ALONE}\nchild(verbs)",
    "ends": f"{USED['a release']}\n{ALONE}\nif os.fork() == 0:\n    privatize(pd.DataFrame(data), **asked)\n"
    "else:\n    print(os.wait()[1] >> 8)",
}
EACH = """
import json
pids = []
for name, code in json.loads(sys.argv[2]).items():
    pids.append(os.fork())
    if pids[-1] == 0:
        os.dup2(os.open(f"{sys.argv[1]}/{name}", os.O_WRONLY | os.O_CREAT), 1)
        exec(code)
        sys.exit()
for pid in pids:
    os.waitpid(pid, 0)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """The lines that each process prints, a child of one that has only imported the package; none waits for ever."""
    folder = tmp_path_factory.mktemp("said")
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGIN + EACH, str(folder), json.dumps(PROCESSES)],
        check=True,
        timeout=600,
    )
    return {name: (folder / name).read_text().splitlines() for name in PROCESSES}


def test_children_of_children_and_of_processes_that_imported_it(said):
    assert sorted(said["has used"]) == sorted([*["ForkedProcessError", "done"] * len(USED), *USED])
    there, done, again, here = said["has imported"]
    assert (done, again) == ("done", "done")
    assert there == here
    # It has used Polars itself
    assert said["works"] == ["ForkedProcessError", "done"]


def test_every_verb_says_so_at_once_and_the_child_ends_as_usual(said):
    # It waits once
    assert said["verbs"] == [*(f"{number} ForkedProcessError" for number in range(14)), "waits: 1", "done"]
    # The thread that never comes back does not hold the process up
    assert said["ends"] == ["1"]
