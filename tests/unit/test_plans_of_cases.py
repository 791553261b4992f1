"""Every kind of request that the tests of certificates know gives a plan that a file gives back."""

import warnings
from dataclasses import fields

import pytest
from certificate_cases import CASES
from conftest import few, thinned

from puffer_frames import calibrate, load_plan
from puffer_frames.verbs.requests.arguments import CalibrateArguments

ASKED = {each.name for each in fields(CalibrateArguments)}
NAMES = [name for name, case in CASES.items() if case["verb"] in ("privatize", "release")]


@few(3)
@pytest.mark.parametrize("name", thinned(NAMES, few=NAMES[::3]))
def test_a_file_gives_back_the_plan(name, tmp_path):
    case, path = CASES[name], tmp_path / "plan"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = calibrate(case["frame"], **{key: value for key, value in case.items() if key in ASKED})
    plan.save(path)
    again = load_plan(path)
    assert str(again).partition("\n  from a file")[0] == str(plan)
    assert again.checksum == plan.checksum
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
