"""Messages of ledgers."""

import tempfile
from pathlib import Path

from message_tables import FRAME

from puffer_frames import Ledger, privatize

NAMED = {"dataset": "wages of 2026"}


def _file(text=""):
    path = Path(tempfile.mkdtemp()) / "releases.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def _release(ledger, **options):
    return privatize(
        FRAME, **{"secret": "race", "public": "wage", "epsilon": 0.4, "about": NAMED, "ledger": ledger} | options
    )


def _written(**options):
    path = _file()
    _release(path, **options)
    return path


def _plan_that_was_withdrawn():
    """The released plan, and its ledger."""
    import polars as pl

    path = _file()
    plan = _release_of(pl.from_pandas(FRAME).lazy(), path)
    (entry,) = Ledger(path)
    Ledger(path).withdraw(entry.entry)
    return plan


def _release_of(frame, path):
    return frame.puffer.privatize(secret="race", public="wage", epsilon=0.4, about=NAMED, ledger=path)


def _run(plan):
    return plan.puffer.collect()


def _cut():
    path = _written()
    text = path.read_text(encoding="utf-8")
    return _file(text + text[:200])


LEDGERS = {
    "a release beyond the limit of its ledger": (
        lambda: _release(Ledger(_file(), limit=0.3)),
        lambda: _release(Ledger(_file(), limit=0.3), epsilon=0.3),
    ),
    "releases of which nothing is known together": (
        lambda: _release(Ledger(_written(), limit=2.0), noise="gaussian", delta=1e-6),
        lambda: _release(Ledger(_written(), limit=2.0)),
    ),
    "a ledger beside a data set without a name": (
        lambda: _release(_file(), about=None),
        lambda: _release(_file(), about={"dataset": "survey of 2026"}),
    ),
    "a ledger that is none": (lambda: _release(3), lambda: _release(_file())),
    "a folder as a ledger": (lambda: _release(_file().parent), lambda: _release(_file().parent / "other.jsonl")),
    "a delta without a limit": (
        lambda: Ledger(_file(), delta=1e-6),
        lambda: Ledger(_file(), limit=2.0, delta=1e-6),
    ),
    "a limit of 0": (lambda: Ledger(_file(), limit=0), lambda: Ledger(_file(), limit=2.0)),
    "a line that no release has written": (
        lambda: len(Ledger(_file("something else\n"))),
        lambda: len(Ledger(_file())),
    ),
    "a line that is cut off": (lambda: len(Ledger(_cut())), lambda: len(Ledger(_written()))),
    "a data set that the ledger does not have": (
        lambda: Ledger(_written()).total(dataset="wages"),
        lambda: Ledger(_written()).total(dataset=NAMED["dataset"]),
    ),
    "a total of no release": (lambda: Ledger(_file()).total(), lambda: Ledger(_written()).total()),
    "a release that was made from a seed": (
        lambda: Ledger(_written(rng=1)).total(),
        lambda: Ledger(_written()).total(),
    ),
    "a finished release withdrawn": (
        lambda: Ledger(path := _written()).withdraw(next(iter(Ledger(path))).entry),
        lambda: Ledger(_written()).frame["entry"],
    ),
    "a plan whose entry was withdrawn": (
        lambda: _run(_plan_that_was_withdrawn()),
        lambda: _release(_file()),
    ),
}
