"""Long steps show a bar where somebody is looking, and nothing elsewhere."""

import io
import sys

import pytest

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.numbers import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def mixtures(count):
    return {k: Prior.mixture([0.5, 0.5], [k, 2 * k + 1], [1, 1 + 0.1 * k]) for k in range(count)}


@pytest.fixture
def stderr(monkeypatch):
    def use(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return use


def test_a_terminal_sees_a_bar_of_a_long_step(monkeypatch, stderr):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    terminal = stderr(Terminal())
    smallest_scale(mixtures(4), epsilon=1.0)
    assert "pairs of secrets" in terminal.getvalue()


def test_a_short_step_shows_nothing(stderr):
    terminal = stderr(Terminal())
    smallest_scale(mixtures(3), epsilon=1.0)
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_sees_nothing(monkeypatch, stderr):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # other tests import it where it is installed
    pipe = stderr(io.StringIO())
    smallest_scale(mixtures(4), epsilon=1.0)
    assert pipe.getvalue() == ""


def test_the_items_are_the_same(monkeypatch, stderr):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    stderr(Terminal())
    assert list(progress.watched(range(5), label="steps")) == list(range(5))
