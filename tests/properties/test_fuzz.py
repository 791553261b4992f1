"""Any table and any request: a private release or a documented error."""

from conftest import sweep
from hypothesis import given, settings
from odd_requests import cases
from release_property import check


@sweep(25, 300)
def test_a_private_release_or_a_documented_error(count):
    @settings(max_examples=count)
    @given(cases())
    def holds(case):
        check(case)

    holds()
