"""Every message names what is wrong, what was given, and a next step that works."""

import ast
import contextlib
import functools
import inspect
import pickle
import re
from pathlib import Path

import pytest
from conftest import few
from messages import CALLS, ask, met
from request_messages import FRAME, MARK, REQUESTS

import puffer_frames
from puffer_frames import errors
from puffer_frames.doors import accessor
from puffer_frames.doors.command.options import OPTIONS
from puffer_frames.frames.csv_dialect import DIALECT

assert not REQUESTS.keys() & CALLS.keys()
LONG = (
    *("a quantile that the noise swamps", "a process that was forked"),
    *("too many secrets with a delta", "a plan file with another password"),
)
"""Messages that it takes a second to meet."""
NAMES = [pytest.param(name, marks=pytest.mark.apart) if name in LONG else name for name in (*REQUESTS, *CALLS)]
FORM = re.compile(r"[^;]+ must [^;]+; got .+\.\n\nHint: .+[.?]", flags=re.DOTALL)
WARNING = re.compile(r"(?!.* must ).+\.\n\nHint: .+[.?]", flags=re.DOTALL)


@functools.cache
def shown(name):
    """The messages that the call of this name meets; each call is made once, though several tests look at them."""
    return ask(*REQUESTS[name][0]) if name in REQUESTS else met(CALLS[name][0])


@pytest.mark.parametrize("name", NAMES)
def test_message(name):
    """It has its form, shows no value, and comes back from a worker that raises it or has warnings as errors."""
    (message,) = shown(name)
    assert (WARNING if isinstance(message, Warning) else FORM).fullmatch(str(message))
    assert name in CALLS or str(MARK) not in str(message).replace(",", "")
    again = pickle.loads(pickle.dumps(message))
    assert (type(again), str(again), again.args) == (type(message), str(message), message.args)
    assert {k: v for k, v in vars(message).items() if k != "levels"}.items() <= vars(again).items()
    assert not vars(again).get("levels")


@pytest.mark.parametrize("name", REQUESTS)
def test_its_hint_works(name):
    dropped = "the frame has missing values"  # which the hint leaves out
    assert [message for message in ask(*REQUESTS[name][1]) if not str(message).startswith(dropped)] == []


@few(40)
@pytest.mark.parametrize("name", NAMES[len(REQUESTS) :])
def test_its_hint_works_in_the_core(name):
    assert met(CALLS[name][1]) == []


def test_every_kind_of_error_and_warning_is_on_the_page():
    met_with = {type(message) for name in (*REQUESTS, *CALLS) if name not in LONG for message in shown(name)}
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning | Exception)}
    assert met_with == kinds - {
        errors.PufferError,
        errors.PufferWarning,
        errors.WideNoiseWarning,  # tests/unit/test_wide_noise.py
        errors.CallError,  # which speaks as Python does
        errors.UnreadColumnWarning,  # tests/frames/test_kept.py
        errors.ForkedProcessError,  # apart
    }


def hint_of(name):
    (message,) = shown(name)
    return str(message).partition("Hint: ")[2]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        (
            "text as the public column",
            'Write mechanism="channel", which releases random labels; text that holds numbers',
        ),
        ("labels beside another column", "Release the column of labels by itself"),
        ("times as the public column", "Take the day of each first: in pandas"),
        ("lists as the public column", "Of others make a column of yes or no for each answer: in pandas"),
        ("numbers in an object column", "Convert it to integers or floats first."),
        ("text as the value", "Name a column of numbers as value;"),
        ("dates as the value", "such as the days since"),
        ("times as text", "Convert it to datetimes or numbers first"),
        ("times as categories", "in a column of integers."),
        ("a time without end", "Leave out the rows with an infinite time"),
    ],
)
def test_hint_of_a_dtype_fits_it(name, step):
    """Text is not converted to integers, and an infinite time is not converted to a time."""
    assert step in hint_of(name)


def test_hints_that_would_only_lead_to_another_refusal_are_not_given():
    assert "given='ward'" in hint_of("a kept column that may be given")
    assert "given" not in hint_of("a kept column beside a belief without given ones")
    assert "given" not in hint_of("the secret kept under other labels")
    assert "table" not in hint_of("releases with and without noise, beside their table")
    assert "('" not in str(shown("given labels of a channel")[0])
    assert "expected_error" in hint_of("another word to publish")
    assert "for" not in hint_of("another word to publish")
    assert "a secret is" not in hint_of("a given column of floats")
    assert "'wage'" in str(shown("two columns that hold something else than in the plan")[0])


SOURCES = sorted(Path(puffer_frames.__file__).parent.rglob("*.py"))
FOREIGN = {
    *("abs", "cast", "checkpoint", "collect", "columns", "compute", "DataFrame", "filter", "generate", "get_context"),
    *("now", "orderBy", "parquet", "pl", "public_key", "rand", "range", "read_csv", "read_stata", "rename_axis"),
    *("row", "Series", "to_arrow_table", "to_pandas", "to_table", "toDF", "toPandas", "write_csv", "infer_schema"),
    *("replace_schema_metadata", "age", "astype", "col", "convert_categoricals"),
    *("array_contains", "CAST", "contains", "date", "date32", "drop", "epoch", "explode", "get_dummies", "join"),
    *("len", "list_contains", "lit", "map", "normalize", "otherwise", "over", "then", "to_date", "to_datetime"),
    *("Timestamp", "tz_localize", "unique", "value_counts", "when", "where", "with_columns", "columns", "format"),
}
"""Names of Python and of other libraries that hints mention."""


def assigned_hints(node):
    """What a variable `hint` is set to, alone or beside others."""
    target = node.targets[-1]
    several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
    pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
    return [given for name, given in pairs if getattr(name, "id", "") == "hint"]


def hints():
    """The texts of all hints in the sources, by file and line, with the parts that are filled in left out."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [word.value for word in getattr(node, "keywords", []) if word.arg == "hint"]
            named += assigned_hints(node) if isinstance(node, ast.Assign) else []
            short = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_not", "_wrong", "_refused")
            for given in named + (node.args[3:] if short else []):
                texts = [part.value for part in ast.walk(given) if isinstance(part, ast.Constant)]
                yield f"{path.name}:{given.lineno}", " ".join(filter(lambda text: isinstance(text, str), texts))


def public_names():
    """Names of the package, of the methods of its classes and of the accessors, and of all their arguments."""
    modules = [puffer_frames, puffer_frames.core, puffer_frames.papers, puffer_frames.errors]
    names, words = set().union(*map(dir, modules)) | set(dir(puffer_frames.pictures)), set()
    public = [entry for module in modules for entry in vars(module).values()]
    kinds = [kind for kind in public if inspect.isclass(kind)]
    kinds += [accessor.PufferAccessor, accessor.LazyPufferAccessor]
    functions = [call for call in public if inspect.isfunction(call)] + kinds
    for kind in kinds:
        names |= set(dir(kind))
        functions += [getattr(kind, name) for name in dir(kind) if callable(getattr(kind, name)) and name[0] != "_"]
    for function in functions:
        with contextlib.suppress(ValueError, TypeError):
            words |= set(inspect.signature(function).parameters)
    return names, words


def test_hints_name_what_there_is():
    """No function, option or keyword of a hint is made up, in hints that no table above meets, too."""
    names, words = public_names()
    options = {name.replace("_", "-") for name in OPTIONS}
    options |= {"certificate", "as", "plan", "help", "schema", "unit-rows", "overwrite", "log-format"}
    options |= {name.replace("_", "-") for name in DIALECT}
    found = list(hints())
    assert len(found) > 300
    for place, text in found:
        assert set(re.findall(r"puffer_frames\.(\w+)", text)) <= names, (place, text)
        assert set(re.findall(r"(\w+)\(", text)) <= names | FOREIGN, (place, text)
        assert set(re.findall(r"(?<![-\w])([a-z_]+)=(?=[\w\"\[{(]|$)", text)) <= words | FOREIGN, (place, text)
        assert set(re.findall(r"--([a-z-]+)", text)) <= options, (place, text)


@pytest.mark.parametrize("given", [(5, 1), {"wage": (5, 1)}])
def test_the_hint_of_a_domain_is_a_domain(given):
    with pytest.raises((errors.ArgumentError, errors.ArgumentTypeError)) as caught:
        FRAME.puffer.calibrate(secret="race", public="wage", epsilon=1.0, domain=given)
    written = re.search(r"domain=(\{[^}]*\}|\([^)]*\))", str(caught.value).partition("Hint:")[2])
    assert ast.literal_eval(written[1]) == {"wage": (0, 100)}
    with pytest.raises(errors.ArgumentError, match=r"Hint: Write domain=\(0, 100\) with"):
        FRAME.puffer.aggregate(value="wage", epsilon=1.0, protect="value", domain=(5, 1))


def test_the_domain_of_the_page_is_a_domain():
    text = (Path(__file__).parents[2] / "docs" / "guarantee.md").read_text()
    (written,) = re.findall(r"domain=(\{[^}]*\}), beliefs=Contamination", text)
    asked = {"domain": ast.literal_eval(written), "beliefs": puffer_frames.Contamination(share=1.0)}
    frame = FRAME.assign(age=FRAME["wage"] - MARK)
    frame.puffer.calibrate(secret="race", public="age", epsilon=1.0, mechanism="noise", **asked)
