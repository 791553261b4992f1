"""Messages of ledgers and of refinements."""

import tempfile
from pathlib import Path
from unittest import mock

from message_tables import FRAME, MARK

from puffer_frames import Layout, Ledger, Noise, calibrate, privatize
from puffer_frames.verbs.ledgers import locked_lines
from puffer_frames.verbs.ledgers.locked_lines import locked

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


def _held():
    path = _file()
    with locked(path, what="the ledger"), mock.patch.object(locked_lines, "WAIT", 0.0):
        return len(Ledger(path))


def _cut():
    path = _written()
    text = path.read_text(encoding="utf-8")
    return _file(text + text[:200])


# wages far from 0 would hide their own noise from the curator: those of the other messages are
NEAR = FRAME.assign(wage=FRAME["wage"] - MARK)
PLAN = calibrate(NEAR, secret="race", public="wage", epsilon=0.4)


def _key(mode=0o600):
    path = Path(tempfile.mkdtemp()) / "refine.key"
    if mode != 0o600:
        path.touch()
        path.chmod(mode)
    return path


def _refine(*, epsilon=1.0, key=None, frame=NEAR, released=None):
    key = _key() if key is None else key
    released = PLAN.release(NEAR, layout=Layout(refine_key=key)) if released is None else released
    return PLAN.refine(frame, released, epsilon=epsilon, key=key)


def _refined(of_the_latest):
    key = _key()
    first = PLAN.release(NEAR)
    second = _refine(released=first, key=key)
    return _refine(released=second if of_the_latest else first, key=key, epsilon=2.0)


REFINEMENTS = {
    "a release that was refined already": (lambda: _refined(False), lambda: _refined(True)),
    "a refinement with no less noise": (lambda: _refine(epsilon=0.4), lambda: _refine(epsilon=0.8)),
    "a refinement with hardly less noise": (lambda: _refine(epsilon=0.4001), lambda: _refine(epsilon=0.8)),
    "a refinement of rows in another order": (
        lambda: _refine(frame=NEAR.iloc[::-1].reset_index(drop=True)),
        lambda: _refine(),
    ),
    "a key file that others can read": (lambda: _refine(key=_key(0o644)), lambda: _refine(key=_key())),
    "a key file that is none": (
        lambda: _refine(key=_file().parent),
        lambda: _refine(key=_file().parent / "refine.key"),
    ),
    "a key file beside shuffled rows": (
        lambda: PLAN.release(NEAR, layout=Layout(shuffle=True, refine_key=_key())),
        lambda: PLAN.release(NEAR, layout=Layout(shuffle=True)),
    ),
    "values too far from 0 to be refined": (
        lambda: calibrate(FRAME, secret="race", public="wage", epsilon=0.4).refine(
            FRAME, calibrate(FRAME, secret="race", public="wage", epsilon=0.4).release(FRAME), epsilon=1.0, key=_key()
        ),
        lambda: _refine(),
    ),
}
LEDGERS = {
    "a release beyond the limit of its ledger": (
        lambda: _release(Ledger(_file(), limit=0.3)),
        lambda: _release(Ledger(_file(), limit=0.3), epsilon=0.3),
    ),
    "releases of which nothing is known together": (
        lambda: _release(Ledger(_written(), limit=2.0), mechanism=Noise("gaussian"), delta=1e-6),
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
    "a ledger that another process holds": (
        lambda: _held(),
        lambda: len(Ledger(_file())),
    ),
    "a plan whose entry was withdrawn": (
        lambda: _run(_plan_that_was_withdrawn()),
        lambda: _release(_file()),
    ),
}
