"""The page about plans: its code runs, and prints what the page says."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SHARED_DATA

import puffer_frames
from puffer_frames import Population

PAGE = (Path(__file__).parents[1] / "docs" / "plans.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\s*```text\n(.*?)```)?", PAGE, flags=re.DOTALL)
ADULT = "adult.data"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    """Blocks in their order; those of the adult table where it is there."""
    monkeypatch.chdir(SHARED_DATA if SHARED_DATA.is_dir() else tmp_path)
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
    names, ran = {}, 0
    for code, output in BLOCKS:
        if ADULT in code and not Path(ADULT).exists():
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/plans.md", "exec"), names)
        assert printed.getvalue().rstrip() == output.rstrip()
        ran += 1
    assert ran >= len(BLOCKS) - 1


def test_smaller_nights():
    """The number that the page gives without its code."""
    if not (SHARED_DATA / ADULT).exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    names = {}
    code = next(code for code, _ in BLOCKS if ADULT in code).partition("for beliefs")[0]
    with contextlib.chdir(SHARED_DATA):
        exec(compile("import pandas as pd, puffer_frames\n" + code, "docs/plans.md", "exec"), names)
    plan = names["adult"].puffer.calibrate(secret="sex", public="age", epsilon=1.0, beliefs="population")
    nights = [plan.check(names["later"][407 * k : 407 * (k + 1)]).verdict for k in range(40)]
    assert (nights.count("covered"), nights.count("refused")) == (29, 0)
    assert "of forty nights of 407 rows 29 are covered" in " ".join(PAGE.split())


def test_nights_that_a_confidence_keeps():
    """The numbers that the page gives without their code."""
    if not (SHARED_DATA / ADULT).exists():
        pytest.skip("the real tables of the papers (../shared/data) are not beside this checkout")
    how = {"header": None, "skipinitialspace": True, "usecols": [4, 9]}
    adult, later = (
        pd.read_csv(SHARED_DATA / file, skiprows=skip, **how).set_axis(["education_num", "sex"], axis=1)
        for file, skip in ((ADULT, 0), ("adult.test", 1))
    )
    rng = np.random.default_rng(1)
    sizes = np.linspace(1000, 5000, 30).astype(int)
    nights = [later.iloc[rng.choice(len(later), size, replace=False)] for size in sizes]
    asked = {"secret": "sex", "public": "education_num", "epsilon": 1.0}
    plans = [adult.puffer.calibrate(**asked, beliefs=Population(confidence)) for confidence in (0.95, 0.999)]
    kept = [[plan.check(night).verdict for night in nights].count("covered") for plan in plans]
    assert kept == [27, 30]
    assert round(plans[1].scale / plans[0].scale, 2) == 1.08
