"""What plans and certificates of channels say: no more than was proved."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from html_page import Page

import puffer_frames
from puffer_frames import Bootstrap, Channel, Contamination, Layout, WeakGuaranteeWarning, WideNoiseWarning, calibrate
from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.channel.best import best_channel

LAW = {"a": {"p": 1, "q": 1, "r": 0}, "b": {"p": 1, "q": 2, "r": 1}}


def some_rows():
    rng = np.random.default_rng(7)
    secrets = rng.choice(["a", "b"], 2000)
    first = rng.choice(list("pqr"), 2000, p=[0.5, 0.3, 0.2])
    second = rng.choice(list("pqr"), 2000, p=[0.2, 0.5, 0.3])
    return pd.DataFrame({"s": secrets, "x": np.where(secrets == "a", first, second)})


def released(frame=None, *, publish=(), **asked):
    asked = {"secret": "s", "public": "x", "epsilon": 0.5, "mechanism": "channel"} | asked
    frame = some_rows() if frame is None else frame
    plan = puffer_frames.calibrate(frame, **asked)
    certificate = puffer_frames.certificate_of(plan.release(frame, layout=Layout(publish=publish)))
    return plan, certificate, {line.key for line in certificate.statements}


@pytest.mark.parametrize("rows", [3, 16, 17, 2209, 10_000, 123_457, 10**13])
def test_the_radius_covers_the_share_that_the_certificate_names(rows):
    share = Fraction(repr(Channel().radius_of("a", rows)))
    assert share == Fraction(1, 2) or share**2 * rows >= 4
    assert share <= Fraction(2 / math.sqrt(rows)) + Fraction(1, 10**6)


@pytest.mark.parametrize(
    "beliefs",
    [["only", LAW], [Bootstrap(resamples=2)], [Contamination(share=0.01)]],
    ids=["only", "bootstrap", "share"],
)
@pytest.mark.parametrize("radius", ["auto", 0.1])
def test_a_radius_of_frequencies_that_are_no_belief(beliefs, radius):
    plan, certificate, said = released(beliefs=beliefs, mechanism=Channel(radius=radius, cap=None))
    assert "wrong values" not in str(plan)
    assert "THE VALUE ITSELF IS NOT PROTECTED" in str(plan).replace("\n" + " " * 20, " ").replace("  ", "")
    assert certificate.channels["x"]["radius"] is None
    assert "channel-radius" not in said
    assert "channel-brittle" in said


def test_a_radius_of_secrets_that_no_pair_names():
    frame = some_rows()
    frame.loc[np.random.default_rng(8).random(len(frame)) < 0.3, "s"] = "c"
    options = Channel(radius={"a": 0, "b": 0, "c": 0.5}, cap=None)
    _, certificate, said = released(frame, pairs=[("a", "b")], mechanism=options)
    assert certificate.channels["x"]["radius"] is None
    assert "channel-radius" not in said
    assert "channel-brittle" in said


@pytest.mark.parametrize(
    ("options", "brittle"), [({}, False), ({"cap": None}, True), ({"cap": None, "radius": 1}, False)]
)
def test_which_channels_are_brittle(options, brittle):
    plan, _, said = released(mechanism=Channel(**options))
    assert ("channel-brittle" in said) == brittle
    assert math.isfinite(plan.fitted.largest_loss) or brittle


def test_what_is_claimed_of_cells():
    frame = some_rows()
    frame["x"] = np.random.default_rng(3).normal(size=len(frame)) + (frame["s"] == "a")
    plan, certificate, _ = released(frame, publish="lower_bound")
    assert plan.lower_bound == {"x": 0.0}
    assert certificate.channels["x"]["lower_bound"] == 0.0
    assert "no mechanism with this guarantee" not in str(plan)
    assert "a cell with probability" in str(plan)
    frame = some_rows()
    frame["x"] = np.random.default_rng(3).lognormal(sigma=2, size=len(frame))
    plan, certificate, _ = released(frame, mechanism=Channel(preserve="mean", cells=4))
    channel = plan.channels["x"]
    kept = channel.problem.pooled @ channel.matrix @ np.array(channel.outputs)
    assert kept == pytest.approx(channel.problem.pooled @ np.array(channel.inputs))
    assert kept < 0.8 * frame["x"].mean()
    assert "medians of their cells is kept" in next(s.text for s in certificate.statements if s.key == "channel")
    assert "the mean of the medians kept" in " ".join(str(plan).split())
    assert "see the value alone and keep the mean of the medians" in " ".join(str(certificate).split())


@pytest.mark.parametrize(("publish", "said"), [((), False), ("levels", False), ("expected_error", True)])
def test_printed_figures_are_statistics_of_the_table(publish, said):
    assert ("channel-figures" in released(publish=publish)[2]) == said


def test_a_warning_of_rare_levels_names_none():
    frame = some_rows()
    frame.loc[:1, "x"] = "only-two-of-us"
    with pytest.warns(puffer_frames.RareLevelsWarning, match="1 level of the public column has fewer") as caught:
        puffer_frames.calibrate(frame, secret="s", public="x", epsilon=1.0)
    assert not any("only-two" in str(warning.message) for warning in caught)


@pytest.mark.filterwarnings("ignore::puffer_frames.RareLevelsWarning")
def test_rare_levels_are_said_of_several_secrets_apart():
    """Each row was counted once for each of them, and 3 rows were 6."""
    frame = some_rows().assign(t=np.random.default_rng(1).integers(0, 2, 2000))
    frame.loc[:2, "x"] = "three"
    asked = {"public": "x", "epsilon": 1.0}
    for secret in ("s", ["s", "t"]):
        own = {} if secret == "s" else {"secrets": "each"}
        found = puffer_frames.privatize(frame, secret=secret, **asked, **own)
        assert puffer_frames.certificate_of(found).warnings == ("rare-levels",)


@pytest.mark.parametrize("values", [list("uvwz"), [0, 1, 2, 5]])
def test_a_column_that_needs_no_channel(values):
    frame = pd.DataFrame({"s": ["a", "b"] * 400, "x": np.repeat(values, 200)})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": Channel(radius=0, cap=None)}
    with pytest.raises(puffer_frames.errors.CalibrationError, match="already private"):
        puffer_frames.calibrate(frame, **asked)
    assert puffer_frames.calibrate(frame, allow_zero_noise=True, **asked).observed["x"].pure_loss.upper < 1e-9


def test_costs_and_levels_that_are_refused():
    with pytest.raises(puffer_frames.errors.ArgumentError, match="cost must be positive for some change"):
        released(mechanism=Channel(cost=np.zeros((3, 3))))
    frame = some_rows()
    frame["x"] = frame["x"] == "p"
    with pytest.raises(puffer_frames.errors.ArgumentError, match="domain must be all levels of the column"):
        released(frame, domain={"x": [0, 1, 2]})


@pytest.mark.parametrize(
    "levels", [np.array(["p", "q", "r", "never"]), pd.Index(["p", "q", "r"])], ids=["array", "index"]
)
def test_levels_of_numpy(levels):
    assert released(domain={"x": levels})[1].channels["x"]["levels"] == levels.tolist()


def test_the_bound_is_of_what_sees_the_value_alone():
    """Income by sex in adult.data: a mechanism that sees the sex moves zeros of women alone, below the bound."""
    rows = {"f": (9592, 1179), "m": (15128, 6662)}
    frame = pd.DataFrame(
        [(s, x) for s, found in rows.items() for x in (0, 1) for _ in range(found[x])], columns=["s", "x"]
    )
    plan = frame.puffer.calibrate(secret="s", public="x", epsilon=1.0, mechanism=Channel(radius=0, cap=None))
    share = {s: Fraction(found[1], sum(found)) for s, found in rows.items()}
    moved = share["m"] / Fraction(27182818, 10**7)  # less than e
    assert moved / share["m"] >= Fraction(math.exp(-1))
    assert (1 - moved) / (1 - share["m"]) <= Fraction(math.exp(1))
    error = (moved - share["f"]) * Fraction(sum(rows["f"]), len(frame))
    assert float(error) == pytest.approx(0.000996886, abs=1e-8)
    assert plan.lower_bound["x"] == pytest.approx(0.003602240, abs=1e-8)
    assert "no mechanism with this guarantee that sees this value alone is below 0.0036022" in " ".join(
        str(plan).split()
    )


def of_integers(places):
    """Categories of integers, by their places in a list."""
    rng = np.random.default_rng(0)
    secrets = rng.choice(["a", "b"], 2000)
    found = (rng.integers(0, len(places), 2000) + ((secrets == "b") & (rng.random(2000) < 0.5))) % len(places)
    return pd.DataFrame({"s": secrets, "x": pd.Categorical(np.array(places)[found])})


def test_integers_among_categories():
    frame = of_integers([0, 10, 20, 30])
    plan, certificate, _ = released(frame)
    assert "(mean absolute error)" in str(plan)
    assert certificate.channels["x"]["cost"] == "absolute"
    assert "(share of changed values)" in str(released(frame, mechanism=Channel(cost="change"))[0])
    # 2**53 and 2**53 + 1 were at distance 0: each was released for the other, at no cost
    frame = of_integers([0, 5, 2**53, 2**53 + 1])
    plan, certificate, _ = released(frame)
    assert "(share of changed values)" in str(plan)
    assert certificate.channels["x"]["cost"] == "change"
    changed = (plan.release(frame)["x"].astype("int64") != frame["x"].astype("int64")).mean()
    assert changed == pytest.approx(plan.expected_error["x"], abs=6 * (plan.expected_error["x"] / 2000) ** 0.5)
    with pytest.raises(puffer_frames.errors.ArgumentError, match=r"cost must be .* of integers beyond 2\*\*53"):
        released(frame, mechanism=Channel(cost="absolute"))
    assert released(of_integers([2**60, 2**60 + 1, 2**60 + 2]))[1].channels["x"]["cost"] == "change"


def test_among_which_channels_the_error_is_the_least():
    """Two outputs had 'the least error that the guarantee allows', 8.5 times that of all outputs."""
    frame = of_integers([0, 10, 20, 30])
    every = released(frame)[1]
    assert "least mean absolute error that was found of channels with this guarantee that see the value alone" in (
        " ".join(str(every).split())
    )
    plan, few, _ = released(frame, mechanism=Channel(outputs=2))
    assert few.channels["x"]["outputs"] == 2
    assert "that see the value alone, release at most 2 levels, chosen beforehand" in " ".join(str(few).split())
    assert "sees this value alone, with any number of levels, is below" in " ".join(str(plan).split())
    kept = released(frame, mechanism=Channel(preserve="mean"))[1]
    assert "that see the value alone and keep the mean" in " ".join(str(kept).split())


def test_an_error_that_is_a_mean_over_the_secrets_is_called_that():
    frame = of_integers([0, 10, 20, 30])
    frame = pd.concat([frame[frame["s"] == "a"], frame[frame["s"] == "b"][:200]]).sample(frac=1, random_state=0)
    frame = frame.reset_index(drop=True)
    plan, certificate, _ = released(frame, mechanism=Channel(sees="secret", weights="secrets"))
    errors = plan.fitted.channel.errors.values()
    assert plan.expected_error["x"] == pytest.approx(sum(errors) / 2)
    said = " ".join(str(plan).split())
    assert "(mean absolute error, a mean over the secrets, each with the same weight)" in said
    assert "in this mean over the secrets" in said
    assert "that see the value and the secret; the error is a mean over the secrets, each with the same weight" in (
        " ".join(str(certificate).split())
    )
    rows = released(frame, mechanism=Channel(sees="secret"))
    assert "mean over the secrets" not in " ".join(f"{rows[0]} {rows[1]}".split())


# Programs that are badly scaled: far costs, far levels, losses that no float holds, means that need every level.

COUNTS = {"a": [60, 40, 3], "b": [20, 80, 0]}
EXACT = {"radius": 0, "cap": None}


@pytest.mark.parametrize("dear", [1e2, 1e9, 1e12, 1e300])
def test_a_dear_mistake_leaves_the_others_as_they_are(dear):
    cost = [[0, dear, 1], [1, 0, 1], [1, 1, 0]]
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=1.0, options=Channel(cost=cost, **EXACT))
    assert found.expected_error == pytest.approx(0.0225013209, rel=1e-6)
    assert found.lower_bound <= found.expected_error


@pytest.mark.parametrize("far", [20.0, 1e4, 1e8, 1e11, 1e12, 1e15, 1e300])
@pytest.mark.parametrize("options", [EXACT, {}], ids=["exact", "default"])
def test_a_far_level(far, options):
    rng = np.random.default_rng(0)
    first, second = rng.multinomial(1000, np.full(10, 0.1)), rng.multinomial(1000, np.arange(1, 11) / 55)
    counts = {"a": np.append(first, 1), "b": np.append(second, 0)}
    found = best_channel(counts, levels=[*range(10), far], epsilon=0.5, options=Channel(**options))
    assert found.lower_bound <= found.expected_error <= found.constant_error * (1 + 1e-12)


@pytest.mark.parametrize("far", [10.0, 1e6, 1e12])
def test_a_far_level_that_no_row_has(far):
    counts = {"a": [50, 50, 0], "b": [40, 60, 0]}
    found = best_channel(counts, levels=[0, 1, far], epsilon=0.1, options=Channel(radius=0, cap=8))
    near = best_channel(
        {s: n[:2] for s, n in counts.items()}, levels=[0, 1], epsilon=0.1, options=Channel(radius=0, cap=8)
    )
    assert found.expected_error == pytest.approx(near.expected_error, rel=1e-6)
    assert 0 < found.lower_bound <= near.expected_error


@pytest.mark.parametrize("cap", [36, 100.0, 1e300, np.float64(8.0)])
def test_large_caps(cap):
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=1.0, options=Channel(cap=cap))
    assert found.lower_bound <= found.expected_error < 0.085


@pytest.mark.parametrize("epsilon", [35.0, 50.0, 400.0])
def test_large_epsilons(epsilon):
    found = best_channel(COUNTS, levels=list("xyz"), epsilon=epsilon, options=Channel(**EXACT))
    assert found.lower_bound <= found.expected_error < 1e-10


@pytest.mark.parametrize("word", ["mean", "marginal"])
@pytest.mark.parametrize("options", [EXACT, {"cap": None}, {"radius": 0}, {}], ids=["exact", "radius", "cap", "both"])
def test_kept_means_beside_levels_that_no_row_has(word, options):
    counts = {"a": np.array([60, 0, 40, 3, 0]), "b": np.array([20, 0, 80, 1, 0])}
    levels = np.array([0.0, 1.0, 2.0, 5.0, 9.0])
    found = best_channel(counts, levels=levels.tolist(), epsilon=1.0, options=Channel(preserve=word, **options))
    pooled = sum(counts.values()) / 204
    kept = pooled @ found.matrix
    assert kept @ levels == pytest.approx(pooled @ levels, abs=1e-8)
    assert word == "mean" or kept == pytest.approx(pooled, abs=1e-8)


@pytest.mark.parametrize("word", ["mean", "marginal"])
def test_kept_means_of_too_many_levels(word):
    counts = {"a": [3] * 101, "b": [2] * 101}
    with pytest.raises(ArgumentError, match="preserve must be for a column of at most 100 levels"):
        best_channel(counts, levels=list(range(101)), epsilon=1.0, options=Channel(preserve=word))


@pytest.mark.parametrize("epsilon", [19.0, 45.0, 1e5])
@pytest.mark.parametrize(
    "options", [{"radius": {"a": 1.0, "b": 0.0}, "cap": 60.0}, {"cap": None}], ids=["wide", "auto"]
)
def test_plans_of_large_epsilons(epsilon, options):
    frame = pd.DataFrame({"s": ["a", "b"] * 300, "x": ["p", "q", "r", "p", "p", "p"] * 100})
    asked = {"secret": "s", "public": "x", "allow_zero_noise": True, "mechanism": Channel(**options)}
    with pytest.warns(WeakGuaranteeWarning):
        plan = calibrate(frame, epsilon=epsilon, delta=1e-9, **asked)
    assert plan.observed["x"].pure_loss.lower <= epsilon
    assert "pure" not in str(plan).splitlines()[0]


def test_levels_are_printed_with_twelve_digits_and_kept_with_all():
    frame = pd.DataFrame({"s": ["a", "b"] * 60, "x": [0.1 * (k % 4 + k % 2 + 1) for k in range(120)]})
    frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    plan, certificate, _ = released(frame, publish=["levels"])
    assert 0.30000000000000004 in certificate.channels["x"]["levels"]
    for text in (str(plan), str(certificate)):
        assert "0.3, " in text
        assert "0000004" not in text


def advice_of(certificate, folder):
    certificate.report(folder / "report.html", overwrite=True)
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    return next(section.text for section in page.all("section") if section.text.startswith("How to use"))


@pytest.mark.parametrize("preserve", [None, "marginal"])
def test_a_published_table_without_an_inverse_is_said_to_have_none(tmp_path, preserve):
    """'What a channel does can then be undone', said the hint, and 12 of 40 such releases had no figure."""
    frame = pd.DataFrame({"s": ["a", "b"] * 300, "x": ["p", "q", "p", "p", "r", "r"] * 100})
    frame = frame.sample(frac=1, random_state=0).reset_index(drop=True)
    asked = {"secret": "s", "public": "x", "epsilon": 0.1}
    with pytest.warns(WideNoiseWarning, match="no inverse") as caught:
        plan = calibrate(frame, **asked, mechanism=Channel(publish_matrix=True, preserve=preserve))
    assert "inverse" in {getattr(one.message, "reason", None) for one in caught}
    assert "SOME LEVELS CANNOT BE TOLD APART" in " ".join(str(plan).split())
    released = plan.release(frame)
    certificate = puffer_frames.certificate_of(released)
    assert "channel-lost" in certificate.warnings
    advice = advice_of(certificate, tmp_path)
    assert "it has no inverse" in advice
    assert ("Shares of levels are right" in advice) == (preserve == "marginal")
    assert "In Python" not in advice
    figures = released.puffer.estimate()
    if preserve:
        assert "keeps this on average" in str(figures.value_counts("x"))
    else:
        with pytest.raises(ArgumentError, match="cannot be told apart"):
            figures.value_counts("x")
    with pytest.raises(ArgumentError) as found:
        figures.var("x")
    assert "value_counts" not in str(found.value)


@pytest.mark.parametrize(
    ("options", "right"),
    [({"preserve": "mean"}, ""), ({"preserve": "marginal"}, "Shares of cells"), ({"publish_matrix": True}, "of cells")],
)
def test_no_mean_of_values_is_given_for_medians_of_cells(tmp_path, options, right):
    """Of lognormal costs 'the mean was right on average', with intervals that held in 0 of 12 tables."""
    rng, frame = np.random.default_rng(3), some_rows()
    frame["x"], frame["pay"] = rng.lognormal(sigma=1.5, size=len(frame)).round(4), rng.normal(size=len(frame))
    options = options | {"cells": 4, "cap": None, "radius": 0}
    asked = {"secret": "s", "public": "x", "epsilon": 3.0, "mechanism": Channel(**options)}
    released = frame.puffer.privatize(**asked, layout=Layout(keep="pay"))
    figures = released.puffer.estimate()
    for ask in (
        lambda: figures.mean("x"),
        lambda: figures.mean("x", by="pay"),
        lambda: figures.regress("x", on="pay"),
        lambda: figures.regress("pay", on="x"),
    ):
        with pytest.raises(ArgumentError, match="medians of cells"):
            ask()
    advice = advice_of(puffer_frames.certificate_of(released), tmp_path)
    assert "no mean or slope of the raw values can be computed" in advice
    assert "The mean of all rows" not in advice
    assert ".var(" not in advice
    assert right in advice
    if right:
        assert figures.value_counts("x").value.sum() == pytest.approx(len(frame))


def test_nothing_is_said_to_be_kept_of_rows_that_the_plan_was_not_made_for(tmp_path):
    frame = of_integers([0, 10, 20, 30])
    plan = calibrate(frame, secret="s", public="x", epsilon=1.0, mechanism=Channel(preserve="mean"))
    assert "The mean of all rows" in advice_of(puffer_frames.certificate_of(plan.release(frame)), tmp_path)
    other = plan.release(frame.head(len(frame) // 2), allow_other_frame=True)
    certificate = puffer_frames.certificate_of(other)
    assert "The mean of all rows" not in advice_of(certificate, tmp_path)
    assert "kept on average" not in str(certificate)
