"""`puffer compare`: the rows of `compare` as lines, and as JSON."""

import math

import pytest
from command_line import ends, people, run

from puffer_frames import Noise
from puffer_frames.doors.command.options import COMPARED, COMPARING, NOT_OPTIONS, OPTIONS
from puffer_frames.verbs.requests import CompareArguments

ASKED = ("compare", "in.parquet", "--secret", "race", "--public", "age")


def test_every_argument_is_an_option():
    assert set(CompareArguments.__dataclass_fields__) - set(NOT_OPTIONS) <= set(COMPARING) <= set(OPTIONS)
    assert set(COMPARED) <= set(COMPARING)


def test_the_rows_are_those_of_python(folder):
    words = ("--epsilon", "0.5,1", "--theorem", "kantorovich,bounded", "--beliefs", "empirical")
    done = run(*ASKED, *words, "--mechanism", "noise", "--json")
    expected = people().puffer.compare(
        secret="race",
        public="age",
        epsilon=[0.5, 1],
        beliefs="empirical",
        mechanism=[Noise(theorem="kantorovich"), Noise(theorem="bounded")],
    )
    assert (done.code, done.found["status"]) == (0, "compared")
    found = done.found["rows"]
    assert [row["scale"] for row in found] == expected["scale"].to_list()
    assert [row["published_scale"] for row in found] == [
        None if math.isnan(x) else x for x in expected["published_scale"].to_list()
    ]


def test_lines(folder):
    done = run(*ASKED, "--beliefs", "empirical", "--mechanism", "noise")
    head, *lines = done.out.splitlines()
    assert head.split()[:4] == ["epsilon", "belief", "mechanism", "noise"]
    assert len(lines) == 2
    assert len({line.index("noise") for line in lines}) == 1


def test_options_are_records(folder):
    """Of each word, noise and theorem; with a delta of two noises, where none is named."""
    words = ("--beliefs", "empirical", "--mechanism", "remap,noise", "--delta", "1e-3", "--theorem", "kantorovich")
    found = run(*ASKED, *words, "--json").found["rows"]
    rows = {(row["mechanism"], row["noise"]) for row in found}
    assert rows == {(word, noise) for word in ("remap", "noise") for noise in ("laplace", "gaussian")}
    labels = ("compare", "in.parquet", "--secret", "race", "--public", "occupation", "--merge-rare", "2")
    assert {row["mechanism"] for row in run(*labels, "--mechanism", "channel", "--json").found["rows"]} == {"channel"}


WRONG = ["--noise foo", "--epsilon 1,x", "--keep region", "--channel-cap 3", "--theorem x"]


@pytest.mark.parametrize("words", WRONG)
def test_wrong_words(folder, words):
    done = ends(run(*ASKED, *words.split()), 2)
    assert not done.out
