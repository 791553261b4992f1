"""Any table and any request: a private release or a documented error."""

from conftest import sweep
from hypothesis import HealthCheck, given, settings
from odd_requests import cases
from release_property import check


@sweep(25, 300)
def test_a_private_release_or_a_documented_error(count):
    @settings(
        max_examples=count,
        deadline=None,  # a first fit of mixtures imports scikit-learn
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],  # a busy machine takes long to draw a frame
    )
    @given(cases())
    def holds(case):
        check(case)

    holds()
