"""The reference numbers of docs/theory.md, section 14, on the tables of the papers."""

import pytest
from conftest import table

from puffer_frames import Contamination, Population, calibrate
from puffer_frames.core import Prior
from puffer_frames.loss.engine import privacy_loss

NAMES = {0: "age", 4: "education_num", 8: "race", 9: "sex", 12: "hours", 14: "income"}


@pytest.fixture(scope="module")
def people():
    return table("adult.data", header=None, skipinitialspace=True, usecols=list(NAMES)).rename(columns=NAMES)


@pytest.fixture(scope="module")
def others():
    read = table("adult.test", header=None, skipinitialspace=True, usecols=list(NAMES), skiprows=1)
    return read.rename(columns=NAMES)


# public column, secret, scale of the population, scale where 2/sqrt(n) of the records may be anything
CASES = [
    ("education_num", "race", 4.4331, 4.0900),
    ("education_num", "sex", 1.1069, 1.3151),
    ("hours", "sex", 11.723, 13.014),
    ("age", "income", 11.201, 10.171),
]


@pytest.mark.parametrize(("public", "secret", "population", "contaminated"), CASES)
def test_adult(people, public, secret, population, contaminated):
    for belief, scale in ((Population(), population), (Contamination(), contaminated)):
        plan = calibrate(people, secret=secret, public=public, epsilon=1.0, beliefs=belief)
        assert plan.scale == pytest.approx(scale, rel=1e-4)


def test_hungarian():
    patients = table("processed.hungarian.data", header=None, na_values="?").dropna(subset=[1, 4])
    plan = calibrate(patients, secret=1, public=4, epsilon=1.0, beliefs="population")
    assert plan.scale == pytest.approx(143.20, rel=1e-4)


def test_diabetes():
    from sklearn.datasets import load_diabetes

    patients = load_diabetes(scaled=False, as_frame=True).frame
    plan = calibrate(patients, secret="sex", public="s6", epsilon=1.0, beliefs="population")
    assert plan.scale == pytest.approx(15.149, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "columns", "scale"),
    [("bank-full.csv", ("day", "housing"), 0.7087), ("student-mat.csv", ("G3", "sex"), 3.5925)],
)
def test_contaminated_tables(name, columns, scale):
    public, secret = columns
    plan = calibrate(table(name, sep=";"), secret=secret, public=public, epsilon=1.0, beliefs=Contamination())
    assert plan.scale == pytest.approx(scale, rel=1e-4)


@pytest.mark.parametrize("secret", ["sex", "race"])
@pytest.mark.parametrize("public", ["age", "hours", "education_num"])
def test_the_scale_of_the_population_is_private_for_other_people_of_it(people, others, public, secret):
    plan = calibrate(people, secret=secret, public=public, epsilon=1.0, beliefs="population")
    laws = {label: Prior.empirical(rows[public]) for label, rows in others.groupby(secret)}
    assert privacy_loss(laws).pure(plan.scale).bracket.upper <= 1.0


def test_the_scale_of_the_frequencies_is_not(people, others):
    plan = calibrate(people, secret="sex", public="age", epsilon=1.0)
    laws = {label: Prior.empirical(rows["age"]) for label, rows in others.groupby("sex")}
    assert privacy_loss(laws).pure(plan.scale).bracket.lower == pytest.approx(1.745, abs=1e-3)


def test_three_figures(people):
    plan = calibrate(people, secret="race", public="education_num", epsilon=1.0)
    figures = plan.choice.wider
    assert plan.choice.observed.pure_loss.upper == pytest.approx(1.0)
    assert figures["population"].pure_loss.upper == pytest.approx(2.031, abs=1e-3)
    assert figures["any law"].pure_loss.upper == pytest.approx(6.7367, abs=1e-4)
