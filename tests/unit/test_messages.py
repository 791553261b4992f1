"""Every message names what is wrong, what was given, and a next step that works."""

import re

import pytest
from messages import CALLS, MARK, REQUESTS, ask, met

from puffer_frames import errors

FORM = re.compile(r"[^;]+ must [^;]+; got .+\.\n\nHint: .+[.?]", flags=re.DOTALL)


@pytest.mark.parametrize("name", REQUESTS)
def test_message(name):
    (message,) = ask(*REQUESTS[name][0])
    assert FORM.fullmatch(str(message))
    assert str(MARK) not in str(message).replace(",", "")


@pytest.mark.parametrize("name", REQUESTS)
def test_its_hint_works(name):
    assert ask(*REQUESTS[name][1]) == []


@pytest.mark.parametrize("name", CALLS)
def test_message_of_the_core(name):
    (message,) = met(CALLS[name][0])
    assert FORM.fullmatch(str(message))


@pytest.mark.parametrize("name", CALLS)
def test_its_hint_works_in_the_core(name):
    assert met(CALLS[name][1]) == []


def test_every_kind_of_error_and_warning_is_on_the_page():
    shown = {type(message) for name in REQUESTS for message in ask(*REQUESTS[name][0])}
    shown |= {type(message) for name in CALLS for message in met(CALLS[name][0])}
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Warning | Exception)}
    assert shown == kinds - {errors.PufferError, errors.PufferWarning}
