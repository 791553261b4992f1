"""The command in this process, on small tables."""

import contextlib
import io
import json
from dataclasses import dataclass

import numpy as np
import polars as pl

from puffer_frames.doors.command.main import main


@dataclass
class Run:
    code: int
    out: str
    err: str

    @property
    def found(self):
        """The object for machines."""
        return json.loads(self.out)


def run(*words):
    """Run the command, and keep what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return Run(code, out.getvalue(), err.getvalue())


def ends(done, code, *said):
    """A run that has ended with this exit code and has said this."""
    assert (done.code, [text for text in said if text not in done.err]) == (code, []), done.err
    return done


def people(rows=240, *, seed=0):
    """A table with a secret, columns to release and one to keep."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.arange(rows) // 2)
    return pl.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], rows)[patient],
            "age": rng.integers(20, 60, rows),
            "occupation": rng.choice(["x", "y", "z"], rows),
            "region": rng.choice(["n", "s"], rows),
            "patient": patient,
        }
    )


ASKED = ("--secret", "race", "--public", "age", "--epsilon", "1")


def write_tables(folder):
    """The table in three formats, and in two parts."""
    table = people()
    table.write_parquet(folder / "in.parquet")
    table.write_csv(folder / "in.csv")
    table.write_ipc(folder / "in.arrow")
    (folder / "parts").mkdir()
    table.head(100).write_parquet(folder / "parts/0.parquet")
    table.tail(140).write_parquet(folder / "parts/1.parquet")
