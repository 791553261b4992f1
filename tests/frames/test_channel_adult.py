"""Columns of adult.data through a channel, in one line."""

import functools

import pytest
from conftest import table

from puffer_frames import Layout

# A table of the papers

ADULT = {"workclass": 1, "education": 3, "marital_status": 5, "occupation": 6, "race": 8, "sex": 9, "income": 14}
PUBLISHED = {
    ("education", "race"): 0.174027,
    ("workclass", "race"): 0.183541,
    ("occupation", "sex"): 0.070032,
    ("income", "sex"): 0.010247,
}
"""Share of changed values at epsilon 1, radius 2/sqrt(n) and cap 8; of many secrets that of the stricter star form."""
ADULT_CASES = [(public, secret) for public in sorted(set(ADULT) - {"race", "sex"}) for secret in ("race", "sex")]


@functools.cache
def people():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=list(ADULT.values()))
    return frame.set_axis(list(ADULT), axis=1)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
@pytest.mark.parametrize(
    ("public", "secret"),
    [
        pytest.param(*case, marks=() if case in PUBLISHED or case == ("marital_status", "race") else pytest.mark.slow)
        for case in ADULT_CASES
    ],
)
def test_adult_in_one_line(public, secret):
    released = people().puffer.privatize(
        secret=secret, public=public, epsilon=1.0, rng=1, layout=Layout(publish="expected_error")
    )
    changed = float((released[public] != people()[public]).mean())
    expected = released.puffer.certificate.channels[public]["expected_error"]
    assert abs(changed - expected) < 5 * (expected * (1 - expected) / len(released)) ** 0.5
    if (public, secret) in PUBLISHED:
        most = PUBLISHED[public, secret]
        assert expected == pytest.approx(most, abs=1.5e-6) or (secret == "race" and 0.99 * most < expected < most)
    assert list(released.columns) == [public]
