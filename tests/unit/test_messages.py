"""Every message names what is wrong, what was given, and a next step that works."""

import functools
import re

import pytest
from conftest import few
from message_tables import MARK
from messages import CALLS, ask, met
from request_messages import REQUESTS

from puffer_frames import errors

assert not REQUESTS.keys() & CALLS.keys()
FORM = re.compile(r"[^;]+ must [^;]+; got .+\.\n\nHint: .+[.?]", flags=re.DOTALL)


@functools.cache
def shown(name):
    """The messages that the call of this name meets; each call is made once, though several tests look at them."""
    return ask(*REQUESTS[name][0]) if name in REQUESTS else met(CALLS[name][0])


@pytest.mark.parametrize("name", REQUESTS)
def test_message(name):
    (message,) = shown(name)
    assert FORM.fullmatch(str(message))
    assert str(MARK) not in str(message).replace(",", "")


@pytest.mark.parametrize("name", REQUESTS)
def test_its_hint_works(name):
    assert ask(*REQUESTS[name][1]) == []


@pytest.mark.parametrize("name", CALLS)
def test_message_of_the_core(name):
    (message,) = shown(name)
    assert FORM.fullmatch(str(message))


@few(60)
@pytest.mark.parametrize("name", CALLS)
def test_its_hint_works_in_the_core(name):
    assert met(CALLS[name][1]) == []


def test_every_kind_of_error_and_warning_is_on_the_page():
    met_with = {type(message) for name in (*REQUESTS, *CALLS) for message in shown(name)}
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning | Exception)}
    assert met_with == kinds - {
        errors.PufferError,
        errors.PufferWarning,
        errors.WideNoiseWarning,  # tests/unit/test_wide_noise.py
        errors.CallError,
    }  # which speaks as Python does


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
        ("dates as the public column", "Convert it to a number first, such as the days since"),
        ("lists as the public column", "Name a column of one number per row as public."),
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
