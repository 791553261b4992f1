"""Records as JSON types, and back: nothing is lost, and nothing else comes in."""

import io
import json
import math
import sys
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.errors import PlanFileError
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers import threads
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.records import WIDTH, Codec, fits, readable


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    number: float
    word: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    leaves: tuple[Leaf, ...]
    sizes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stranger:
    number: float


CODEC = Codec(records={kind.__name__: kind for kind in (Leaf, Tree, Target, Laplace)})
LABELS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
VALUES = st.recursive(
    LABELS | st.fractions(),
    lambda inner: (
        st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=3)
        | st.dictionaries(st.tuples(LABELS, LABELS) | st.integers() | st.just("is"), inner, max_size=3)
    ),
    max_leaves=12,
)


def there_and_back(value):
    return CODEC.value(json.loads(readable(CODEC.plain(value))))


def types(value):
    """The types of all that a value holds; of a float its bits."""
    if isinstance(value, dict):
        return [(types(key), types(entry)) for key, entry in value.items()]
    if isinstance(value, tuple):
        return [types(entry) for entry in value]
    return type(value).__name__, value.hex() if isinstance(value, float) else value


@settings(max_examples=40)
@given(VALUES)
def test_every_value_comes_back_with_its_type(value):
    assert types(there_and_back(value)) == types(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf]),
        np.array([[1.5, 2.5], [3.5, 4.5]]),
        np.array([]),
        np.array([0, -1, 2**62, -(2**63), 2**63 - 1]),
        np.arange(6).reshape(2, 3),
    ],
    ids=["floats", "floats in rows", "none", "integers", "integers in rows"],
)
def test_arrays(array):
    found = there_and_back(array)
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


def test_records_and_sets():
    tree = Tree(leaves=(Leaf(number=0.1), Leaf(number=math.inf, word="ζ")), sizes={"is": 2, "a\x00b": 3})
    assert there_and_back(tree) == tree
    assert there_and_back(frozenset({"a", "b"})) == frozenset({"a", "b"})
    assert there_and_back((Laplace(scale=2.0), Target(epsilon=1.0))) == (Laplace(scale=2.0), Target(epsilon=1.0))


@pytest.mark.parametrize(
    "value",
    [Stranger(number=1.0), object(), Leaf, print, {1, object()}, math.nan, np.array([math.nan]), np.array(["a"])],
    ids=["another record", "an object", "a class", "a function", "a set of objects", "NaN", "NaNs", "texts"],
)
def test_what_a_file_cannot_hold(value):
    with pytest.raises(PlanFileError):
        CODEC.plain(value)


LEAF = {"is": "Leaf", "number": 1.0, "word": None}
WRONG = {
    "another class": {"is": "Stranger", "number": 1.0},
    "a class of Python": {"is": "object"},
    "a function": {"is": "print", "value": "x"},
    "a dotted name": {"is": "os.system", "command": "true"},
    "no name": {"is": 3},
    "a field less": {"is": "Leaf", "word": None},
    "a field more": LEAF | {"size": 3},
    "a field of another type": LEAF | {"number": "1.0"},
    "a truth value for a number": LEAF | {"number": True},
    "a number beyond floats": LEAF | {"number": 10**400},
    "a NaN": LEAF | {"number": math.nan},
    "an infinity that is none": LEAF | {"number": {"is": "number", "value": "infinite"}},
    "a NaN as a word": LEAF | {"number": {"is": "number", "value": "nan"}},
    "a record within another": {"is": "Tree", "leaves": [{"is": "Target", "epsilon": 1.0}]},
    "a record for a list": {"is": "Tree", "leaves": LEAF},
    "a text for a list": {"is": "Tree", "leaves": "ab"},
    "a truth value for a size": {"is": "Tree", "leaves": [], "sizes": {"a": True}},
    "a fraction by 0": {"is": "fraction", "value": "1/0"},
    "a fraction with an exponent": {"is": "fraction", "value": "1e999999999"},
    "a mapping with a key twice": {"is": "mapping", "entries": [[1, 2], [1, 3]]},
    "a mapping with a list as a key": {"is": "mapping", "entries": [[{"a": 1}, 2]]},
    "a mapping of single entries": {"is": "mapping", "entries": [[1]]},
    "a mapping of nothing": {"is": "mapping"},
    "an array of texts": {"is": "float64", "entries": ["a"]},
    "an array of floats for integers": {"is": "int64", "entries": [1.5]},
    "an array of truth values": {"is": "int64", "entries": [True]},
    "an array of large integers": {"is": "int64", "entries": [2**63]},
    "a ragged array": {"is": "float64", "entries": [[1.0], [1.0, 2.0]]},
    "an array that is none": {"is": "float64", "entries": 3},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_record(name):
    with pytest.raises(PlanFileError) as caught:
        CODEC.value(WRONG[name])
    assert "Stranger" not in str(caught.value)


def test_the_place_is_named_without_an_entry():
    plain = {"is": "Tree", "leaves": [LEAF, LEAF | {"word": 7}], "sizes": {"a secret level": 1}}
    with pytest.raises(PlanFileError, match=r"the entry of leaves / entry 2 / word in the plan file must be"):
        CODEC.value(plain)
    plain = {"is": "Tree", "leaves": [], "sizes": {"a secret level": {"is": "number"}}}
    with pytest.raises(PlanFileError, match="sizes / entry 1") as caught:
        CODEC.value(plain)
    assert "level" not in str(caught.value)


def test_fields_that_were_added_later():
    """A field with a default may be missing, as in a file of before it was there; so may one with a value for these."""
    assert CODEC.value({"is": "Leaf", "number": 2.0}) == Leaf(number=2.0)
    later = Codec(records={"Leaf": Leaf}, added={"Leaf": {"number": 3.0}})
    assert later.value({"is": "Leaf"}) == Leaf(number=3.0)


def test_text_is_for_people():
    plain = {"short": {"lower": 0.5, "upper": 1.0}, "long": list(range(200)), "deep": [{"a": [1.5] * 60}, {}]}
    text = readable(plain)
    assert json.loads(text) == plain
    assert '"short": {"lower": 0.5, "upper": 1.0}' in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) < 25
    assert readable({"ζ": "日本"}) == '{"ζ": "日本"}'
    assert readable("\u202e\x1b\ud800") == '"\\u202e\\u001b\\ud800"'  # turns text around; half of a pair


# Long steps show a bar where somebody is looking, and nothing elsewhere.
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
    monkeypatch.setattr(threads, "DELAY", 0.0)
    terminal = stderr(Terminal())
    smallest_scale(mixtures(4), epsilon=1.0)
    assert "pairs of secrets" in terminal.getvalue()


def test_a_short_step_shows_nothing(stderr):
    terminal = stderr(Terminal())
    smallest_scale(mixtures(3), epsilon=1.0)
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_sees_nothing(monkeypatch, stderr):
    monkeypatch.setattr(threads, "DELAY", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # other tests import it where it is installed
    pipe = stderr(io.StringIO())
    smallest_scale(mixtures(4), epsilon=1.0)
    assert pipe.getvalue() == ""


def test_the_items_are_the_same(monkeypatch, stderr):
    monkeypatch.setattr(threads, "DELAY", 0.0)
    stderr(Terminal())
    assert list(threads.watched(range(5), label="steps")) == list(range(5))


def test_an_alias_by_a_type_statement():
    """As NumPy 2.5 has NDArray, where Python has such statements."""
    extensions = pytest.importorskip("typing_extensions")
    entries = TypeVar("entries", bound=np.generic)
    array = np.ndarray[tuple[Any, ...], np.dtype[entries]]
    alias = extensions.TypeAliasType("alias", array, type_params=(entries,))
    assert fits(np.zeros(2), alias[np.float64])
    assert not fits(np.zeros(2), alias[np.int64])
