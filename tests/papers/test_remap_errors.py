"""The table of docs/theory.md, section 15, and more of its kind: the numbers are another program's."""

import pytest
from conftest import table

from puffer_frames import Noise, calibrate

ADULT = {0: "age", 4: "education-num", 5: "marital-status", 8: "race", 9: "sex", 12: "hours-per-week"}
# table, public column, secret, epsilon, scale of the Laplace noise, mean absolute error after the remap
CASES = [
    ("adult", "education-num", "race", 1.0, 2.226604, 1.389601),
    ("adult", "education-num", "race", 0.3, 7.545519, 1.819028),
    ("adult", "education-num", "race", 2.0, 0.462979, 0.308722),
    ("adult", "hours-per-week", "sex", 1.0, 6.495158, 4.763123),
    ("adult", "age", "sex", 1.0, 0.636120, 0.568401),
    ("adult", "age", "marital-status", 1.0, 31.186313, 10.287749),
    ("bank-full.csv", "day", "housing", 1.0, 0.281020, 0.168102),
    ("bank-full.csv", "day", "housing", 0.3, 2.654868, 2.281545),
    ("bank-full.csv", "age", "marital", 1.0, 13.879967, 7.036537),
    ("student-mat.csv", "G3", "sex", 1.0, 0.749891, 0.601402),
    ("student-mat.csv", "G3", "sex", 0.3, 2.794954, 2.041422),
    ("student-mat.csv", "G3", "sex", 2.0, 0.395811, 0.265927),
    ("student-mat.csv", "absences", "romantic", 1.0, 13.210686, 4.474464),
    ("student-mat.csv", "absences", "romantic", 0.3, 21.822602, 4.654121),
    ("student-mat.csv", "absences", "romantic", 2.0, 9.848701, 4.196657),
]


def read(name):
    if name != "adult":
        return table(name, sep=";")
    return table("adult.data", header=None, skipinitialspace=True, usecols=list(ADULT)).rename(columns=ADULT)


@pytest.mark.parametrize(("name", "public", "secret", "epsilon", "scale", "error"), CASES)
def test_expected_error(name, public, secret, epsilon, scale, error):
    plan = calibrate(read(name), secret=secret, public=public, epsilon=epsilon, mechanism=Noise(remap=True))
    assert plan.scale == pytest.approx(scale, abs=1e-6)
    assert plan.expected_error[public] == pytest.approx(error, abs=6e-7)


def test_half_of_the_values_are_never_released():
    plan = calibrate(read("adult"), secret="race", public="education-num", epsilon=1.0, mechanism=Noise(remap=True))
    remap = plan.remap["education-num"]
    assert (remap.values.size, remap.values_before) == (8, 16)
