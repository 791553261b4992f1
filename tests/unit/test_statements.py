"""No sentence of a certificate appears where it is not true: every sentence, held against a table.

Every case's certificate is written and read here too, so that it is made once.
"""

import json
import math
import re
from decimal import Decimal
from pathlib import Path

import jsonschema
import mpmath
import numpy as np
import pytest
from certificate_cases import CASES, certificate_of_case, flat
from sentence_table import BY_MEASURE, GROUPS, TABLE, columns, is_noisy, rows

from puffer_frames import Certificate
from puffer_frames.certificates.sentences import SENTENCES
from puffer_frames.certificates.text import headline, odds_of
from puffer_frames.numbers.presentation import bracket_text, lower_text, odds_text, upper_text

TABLE_SENTENCES = {key for key in SENTENCES if key.startswith("table")}
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)


@pytest.mark.parametrize("name", CASES)
def test_every_certificate(name):
    """Its sentences are those of the table, all of them are shown, and its record comes back."""
    case, certificate = flat(CASES[name]), certificate_of_case(name)
    found = {statement.key for statement in certificate.statements}
    assert found - BY_MEASURE == {key for key, appears in TABLE.items() if appears(case, name)}
    text = " ".join(str(certificate).split())
    for statement in certificate.statements:
        assert " ".join(statement.text.split()) in text
        assert "{" not in statement.text
        assert re.fullmatch(r"[A-Z0-9].*\.", statement.text, flags=re.DOTALL), statement.text
        if statement.key in ("adds-up", "shared", "adds-up-series"):
            assert ("delta" in statement.text) == (case.get("delta", 0) > 0)
    assert "<table>" in certificate._repr_html_()
    plain = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert Certificate.from_dict(plain) == certificate
    VALIDATOR.validate(plain)
    if case["verb"] in ("privatize", "release"):
        assert_title(certificate)
        assert_wider(certificate)


def assert_title(certificate):
    """It is what was asked for, but where the rows lose more."""
    exceeds = any(one.key == "observed-exceeds" for one in certificate.statements)
    stated = headline(certificate)
    assert stated.exceeds == exceeds
    assert exceeds or (stated.epsilon, stated.delta) == (certificate.epsilon, certificate.delta)


def assert_wider(certificate):
    """It says what is lost under wider laws in odds, or that it was not computed."""
    (said,) = [one.text for one in certificate.statements if one.key == "wider"]
    assert "does not refute at 95 %" in said
    assert "under any law" in said
    if any(one.key == "joint-any-law" for one in certificate.statements):  # a figure, and two lines later none
        assert "not computed" not in said.partition("under any law on")[2]
    for part in said.removeprefix("For comparison, rounded up: ").rstrip(".").split("; "):
        assert any(word in part for word in ("pure loss at most", "delta at most", "no bound", "not computed"))


def test_every_sentence_is_in_the_table_and_rendered():
    assert set(TABLE) | BY_MEASURE | TABLE_SENTENCES == set(SENTENCES)
    shown = {statement.key for name in CASES for statement in certificate_of_case(name).statements}
    # older files, more than 2,000 secrets, wider ranges, files, wide fits, strata of no use, channels whose tail is
    # lost, many merged rows, rounded shares, randomised response, and whole tables: tested where these are
    rare = {"absent-secrets", "few-rows-here", "observed-unknown", "range-exceeds", "from-file", "batches"}
    rare |= TABLE_SENTENCES | {"fit-left-out", "fit-decides", "fit-refuted", "useless-strata"}
    rare |= {"channel-tail", "channel-lost", "response-shares", "channel-much-merged", "after-rounding"}
    assert shown == set(SENTENCES) - rare
    VALIDATOR.check_schema(SCHEMA)


def test_a_warning_of_a_sentence_has_a_hint():
    assert all(bool(one.warning) == bool(one.hint) and bool(one.reason) <= bool(one.hint) for one in SENTENCES.values())


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if is_noisy(flat(case))])
def test_releases_add_only_where_the_scale_covers_a_coupling(name):
    """W-infinity (or the difference of means) over epsilon, computed here from the priors."""
    case, certificate = flat(CASES[name]), certificate_of_case(name)
    keys = {statement.key for statement in certificate.statements}
    assert len(keys & BY_MEASURE) == (
        0 if "adds-up-rows" in keys or ("releases" in case and not certificate.adds_up) else 1
    )
    assert ("adds-up" in keys) == certificate.adds_up
    if name in ("release, no noise", "release, remap of no noise") or columns(case):
        assert certificate.adds_up
    elif rows(case) or "other-rows" in keys:
        assert not certificate.adds_up
    elif (
        not set(case) & {"beliefs", "noise", "given", "unit", "releases", "refined"}
        and case.get("theorem") != "gaussian"
    ):
        values = case["frame"].assign(x=case["frame"][case["public"]]).dropna(subset=["x"])
        if "domain" in case:
            values["x"] = values["x"].clip(*case["domain"][case["public"]])
        named = sorted({label for pair in case.get("pairs", [GROUPS]) for label in pair})
        laws = [np.sort(part["x"]) for label, part in values.groupby("group") if label in named]
        levels = (np.arange(200_000) + 0.5) / 200_000
        quantiles = np.stack([law[np.ceil(levels * law.size).astype(int) - 1] for law in laws])
        distance = (quantiles.max(axis=0) - quantiles.min(axis=0)).max()
        assert certificate.adds_up == (certificate.scales[case["public"]] >= distance / case["epsilon"])


@pytest.mark.parametrize(
    ("name", "said", "not_said"),
    [
        ("sum of integers", ["discrete Laplace", "scale b"], ["gamma"]),
        ("release, stable noise", ["scale gamma"], ["scale b"]),
        ("release, Gaussian noise", ["standard deviation theta"], ["gamma"]),
        ("series with gaps, group", ["depend on one another in any way"], ["Markov chain", "gaps", "chain"]),
        ("columns", ["the released values of one row together"], ["one released value"]),
        ("release", ["one released value", "at most e^1 = 2.72:", "50 %", "74 %"], []),
        ("release, delta", ["at most e^1 = 2.72 times", "plus 1e-06"], ["odds"]),
        (
            "columns, domain",
            ["any prior on the domain", "alone: the odds of two secrets change by a factor of at most"],
            ["any prior on the domain belief"],
        ),
        ("series, Gaussian noise", ["their epsilons and deltas add"], ["epsilons add"]),
        ("release, an odd epsilon", ["epsilon = 0.3333333333333333", "e^0.3333333333333333 = 1.396"], []),
        ("sum of listed values", ["5", "of the same rows and listed pairs add up"], []),
        ("sum of a value", ["of the same rows add up"], ["listed"]),
        ("sum, listed units", ["each of these units of patient is in the table at all: 3;"], ["each patient"]),
        ("release, listed pairs that add up", ["of the same records and listed pairs add up"], []),
        ("release, remap", ["Which values of score the table has", "mean absolute noise score"], ["cell", "estimated"]),
        ("release, remap of cells", ["or the centre of a cell of them"], []),
        ("batch, remap", ["one that the table of the plan has before the noise"], []),
        ("release", ["3 values: 'a', 'b', 'c'", "not released group, age, town, some, hobby, pet"], []),
        (
            "labels",
            ["hobby: a random level for each value, with the least share of changed values", "at most 8;"],
            ["chess", "noise scale", "released values comes", "0.0"],
        ),
        ("labels, declared", ["levels chess, go, tag, golf, ludo"], ["they were learned", "expected error"]),
        ("labels, published", ["expected error 0.", "lower bound 0.", "chess", "they were learned"], ["table of prob"]),
        (
            "labels, matrix",
            ["the table of probabilities is in the record", "counts of every secret"],
            ["expected error"],
        ),
        ("labels, radius of a number", ["with probability 0.05, whatever its value"], ["sqrt"]),
        ("labels, radius of a mapping", ["with probability as given for its secret, whatever its value"], ["0.05"]),
        ("labels, brittle", ["may have no bound"], ["whatever its value", "any law of these levels at all"]),
        ("labels, shares kept", ["Their shares are kept on average."], ["Their mean"]),
        (
            "numbers, channel, mean kept",
            ["Their mean is kept on average.", "least mean absolute error"],
            ["Their shares"],
        ),
        ("labels, given cost", ["least mean of a given cost"], []),
        ("labels, delta", ["delta at most 0.0001 at epsilon 1", "plus 0.0001"], ["pure loss at most 1;"]),
        ("labels, population", ["population belief:"], ["empirical belief"]),
    ],
)
def test_words(name, said, not_said):
    text = " ".join(str(certificate_of_case(name)).split())
    for words in said:
        assert words in text
    for words in not_said:
        assert words not in text


def test_odds_and_brackets_in_words_are_on_the_safe_side():
    # Of what is printed, neither the factor nor the percentage is below the bound, and both are near it
    for epsilon in (1e-9, 0.01, *(k / 10 for k in range(1, 51)), 12.5, 29.9, 30.0, 700.0):
        check_odds(odds_text("a value", epsilon=epsilon, delta=0.0), epsilon)
    for loss in (1e-9, 0.01, *(k / 10 for k in range(1, 51))):
        factor = float(odds_of(loss).split("at most ")[1].split(" ")[0].replace(",", ""))
        assert math.exp(loss) <= factor <= 1.01 * math.exp(loss)
    below, above = bracket_text(0.12345678, 0.22345672).removeprefix("between ").split(" and ")
    assert float(below) <= 0.12345678 < 0.22345672 <= float(above)


def check_odds(text, epsilon):
    with mpmath.workdps(60):
        odds = mpmath.exp(mpmath.mpf(epsilon))
        if epsilon < 30:
            factor = mpmath.mpf(text.split(" = ")[1].split(": from")[0].replace(",", ""))
            assert odds <= factor <= 1 + (odds - 1) * 1.01
        percent, known = mpmath.mpf(text.split("50 % to at most ")[1].removesuffix(" %")), 100 * odds / (1 + odds)
        assert known <= percent
        assert percent - known <= max((100 - known) * 1.01 if epsilon >= 30 else (known - 50) / 10, 0) + 1e-300


@pytest.mark.parametrize(
    ("bound", "digits"), [(0.1234567, 6), (2.0, 3), (1 / 3, 3), (99999.95, 6), (0.0, 4), (math.inf, 4)]
)
def test_bounds_in_words(bound, digits):
    assert Decimal(upper_text(bound, digits=digits)) >= Decimal(bound) >= Decimal(lower_text(bound, digits=digits))
