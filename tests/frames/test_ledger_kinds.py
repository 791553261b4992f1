"""A ledger has one entry for a release, whatever kind of frame it is of."""

import pytest
from conftest import run

import puffer_frames
from puffer_frames import Ledger, certificate_of
from puffer_frames.errors import LedgerError

NAMED = {"dataset": "people"}


def release(frame, ledger, **options):
    asked = {"secret": "group", "public": "score", "epsilon": 0.3, "about": NAMED, "ledger": ledger} | options
    return puffer_frames.privatize(frame, **asked)


def test_one_entry_and_the_limit_from_the_table(make_frame, people, tmp_path):
    frame, book = make_frame(people), Ledger(tmp_path / "releases.jsonl", limit=1.0)
    released = run(release(frame, book))
    (entry,) = book
    assert (entry.state, entry.certificate) == ("finished", certificate_of(released))
    run(release(frame, book, epsilon=0.1))
    total = book.total(frame=frame)
    assert (total.releases, 0.3 < total.epsilon <= 1.0) == (2, True)
    with pytest.raises(LedgerError, match="with this one"):
        release(frame, book, epsilon=0.9)
    assert [entry.state for entry in book] == ["finished"] * 2
