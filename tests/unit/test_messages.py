"""Every message names what is wrong, what was given, and a next step that works."""

import re

import pytest
from messages import MARK, REQUESTS, ask


@pytest.mark.parametrize("name", REQUESTS)
def test_message(name):
    met, _ = REQUESTS[name]
    (message,) = ask(*met)
    assert re.fullmatch(r"[^;]+ must [^;]+; got .+\.\n\nHint: .+[.?]", str(message), flags=re.DOTALL)
    assert str(MARK) not in str(message).replace(",", "")


@pytest.mark.parametrize("name", REQUESTS)
def test_its_hint_works(name):
    _, followed = REQUESTS[name]
    assert ask(*followed) == []
