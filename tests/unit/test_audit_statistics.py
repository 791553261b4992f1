"""The statistics of audits, beside SciPy and brute force, and what readers of channels learn."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import few
from scipy import stats
from sklearn.metrics import roc_auc_score

import puffer_frames
from puffer_frames import Channel, Layout
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.rounding import epsilon_at_least, share_at_least, share_at_most
from puffer_frames.verbs.auditing.checks import is_clustered, is_same, is_same_order, runs_of, unique_share
from puffer_frames.verbs.auditing.guesser import largest_advantage
from puffer_frames.verbs.auditing.noise_tests import (
    label_ends,
    noise_ends,
    p_of_law,
    p_of_seeds,
    p_of_sum,
    repeats,
    uniform_noise,
)
from puffer_frames.verbs.auditing.readers import NAMES, _area, _few, _Known, _shown, _side_by_side, readers
from puffer_frames.verbs.auditing.rows import Secrets, rows_of


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (10, 10), (3, 17), (40, 400)])
def test_bounds_of_shares_are_those_of_scipy(hits, rows):
    both = stats.binomtest(hits, rows).proportion_ci(confidence_level=0.98, method="exact")
    assert share_at_least(hits, rows, 0.01) == pytest.approx(both.low)
    assert share_at_most(hits, rows, 0.01) == pytest.approx(both.high)


def test_bounds_hold_for_unequal_trials():
    """Of trials with probabilities 0.02, ..., 0.98 the mean of these is below the bound no more often than said."""
    shares = np.linspace(0.02, 0.98, 40)
    exact = np.array([1.0])
    for share in shares:  # the law of the number of hits
        exact = np.convolve(exact, [1 - share, share])
    hits = np.arange(41)
    assert exact[share_at_least(hits, 40, 0.05) > shares.mean()].sum() <= 0.05
    assert exact[share_at_most(hits, 40, 0.05) < shares.mean()].sum() <= 0.05


def test_epsilon_and_advantage():
    found = epsilon_at_least(np.array([0.6, 0.1]), np.array([0.2, 0.3]), 0.1)
    assert found == pytest.approx([math.log(2.5), 0.0])
    # randomised response with epsilon 1 has both error rates 1 / (1 + e)
    assert largest_advantage(1.0, 0.0) == pytest.approx(1 - 2 / (1 + math.e))
    assert largest_advantage(0.0, 0.2) == pytest.approx(0.2)
    assert largest_advantage(1e4, 0.0) == 1.0


def test_rounded_noise_and_labels_are_uniform():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, 20_000).astype(float)
    released = np.rint(values + rng.laplace(scale=2.0, size=values.size)).clip(-3, 6)
    low = np.where(released <= -3, -np.inf, released - 0.5) - values
    high = np.where(released >= 6, np.inf, released + 0.5) - values
    scale = np.full(values.size, 2.0)
    assert p_of_law(uniform_noise(noise_ends(low, high, Laplace(), scale), rng)) > 1e-3
    assert p_of_law(uniform_noise(noise_ends(low, high, Laplace(), 1.3 * scale), rng)) < 1e-9
    rng = np.random.default_rng(1)
    before = rng.integers(0, 4, 20_000).astype(float)
    after = np.where(rng.random(20_000) < 0.6, before, (before + rng.integers(1, 4, 20_000)) % 4)
    for kept, passes in ((0.6, True), (0.66, False)):
        ends = label_ends(before, after, np.full(20_000, kept), 4)
        assert (p_of_law(uniform_noise(ends, rng)) > 1e-3) is passes


@few(2)
@pytest.mark.parametrize("law", ["laplace", "normal"])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_streams_of_numpy_are_known(law, make):
    drawn = getattr(make(42), law)(size=(300, 2))
    assert p_of_seeds([drawn[:, 0] * 3, drawn[:, 1]])[1] < 1e-9
    fresh = np.random.default_rng(987654321).laplace(size=(2, 300))
    assert p_of_seeds(list(fresh))[1] > 1e-3


def test_repeats_are_counted():
    drawn = np.random.default_rng(2).laplace(size=5000)
    assert repeats(drawn, 1.0, Laplace(), largest=50.0) == (0, 1.0)
    count, p = repeats(np.append(drawn, drawn[:7]), 1.0, Laplace(), largest=50.0)
    assert count == 7
    assert p < 1e-9
    assert repeats(drawn, 1.0, Laplace(), largest=1e12) == (0, 1.0)  # floats of this size hold no noise so fine


def test_rows_in_a_random_order_show_the_scale():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 10, 4000).astype(float)
    released = rng.permutation(values + rng.laplace(scale=0.4, size=4000))
    assert p_of_sum(released, values, Laplace(), 0.4) > 1e-3
    assert p_of_sum(released, values, Laplace(), 0.8) < 1e-9


def test_runs_of_a_random_order():
    """Mean and variance of the number of runs, beside 4,000 random orders."""
    rng, codes = np.random.default_rng(4), np.repeat([0, 1, 2], [30, 20, 10])
    drawn = np.array([runs_of(rng.permutation(codes))[0] for _ in range(4000)])
    _, expected, p = runs_of(codes)
    assert drawn.mean() == pytest.approx(expected, abs=0.3)
    assert p < 1e-9
    low = np.quantile(drawn, 0.05)
    orders = (rng.permutation(codes) for _ in range(4000))
    order = next(each for each in orders if runs_of(each)[0] == low)
    assert runs_of(order)[2] == pytest.approx((drawn <= low).mean(), abs=0.02)
    assert is_clustered(3, expected, p, alpha=0.001)
    assert not is_clustered(30, expected, 1e-9, alpha=0.001)


def test_equal_columns():
    first = np.tile([0, 1, 2], 20)
    assert is_same(first, np.array([2, 0, 1])[first])
    assert not is_same(first, np.minimum(first, 1))
    assert not is_same(np.arange(60), np.arange(60)[::-1])  # as many levels as rows
    values = np.random.default_rng(5).normal(size=60)
    assert is_same_order(values, -np.exp(values))
    assert not is_same_order(values, values[::-1])
    assert unique_share([np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]) == 0.5


# What a release shows to readers who know the true value, or another column: beside planted laws and brute force.
LAW = np.array([[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
"""Of the released values given each true one."""


def drawn(rng, rows, loss):
    """Secrets, true values that depend on them, and released ones: of a true 0 the secret moves the odds by `loss`."""
    secret = (rng.random(rows) < 0.3).astype(int)
    value = np.where(rng.random(rows) < 0.3 + 0.4 * secret, 0, rng.integers(1, 3, rows))
    laws = np.stack([LAW, LAW])
    rare = LAW[0, 2] * math.exp(-loss)
    laws[1, 0] = [0.8 - rare, 0.2, rare]
    released = (rng.random(rows)[:, None] > np.cumsum(laws[secret, value], axis=1)).sum(axis=1)
    return secret, value, released


def shown_to(known, secret, released, *, alpha=1e-3, seed=0):
    group = Secrets(names=("s",), codes=secret, labels=("a", "b"), pairs=((0, 1),))
    rng = np.random.default_rng([seed, 99])  # not the bits of the rows
    who = _Known(name="x", exact=known, learned=_few(known, None))
    return _shown(who, group, (0, 1), released, rng.random(len(secret)) < 0.5, alpha=alpha, rng=rng)


def test_a_planted_loss_is_found_and_nothing_where_there_is_none():
    """The value itself tells the secret (its odds change by 1.7), which is not the release's doing."""
    rng = np.random.default_rng(0)
    for loss, least in ((0.0, 0.0), (0.5, 0.3), (2.0, 1.5)):
        secret, value, released = drawn(rng, 300_000, loss)
        found = shown_to(value, secret, released).epsilon
        assert least <= found <= loss
        assert shown_to(np.zeros_like(value), secret, released).epsilon > 0.2  # who knows nothing learns by the value


def test_the_bound_holds_as_often_as_is_said():
    """Of 300 releases with a loss of exactly 1 no more are beyond it than 25 % confidence lets be."""
    beyond = 0
    for seed in range(300):
        secret, value, released = drawn(np.random.default_rng([seed, 1]), 4000, 1.0)
        beyond += shown_to(value, secret, released, alpha=0.25, seed=seed).epsilon > 1.0
    assert beyond <= 95  # mean 75 at most, and 2.7 standard deviations


def test_rows_are_laid_side_by_side():
    rng = np.random.default_rng(2)
    known, second, held = rng.integers(0, 40, 3000), rng.integers(0, 2, 3000), rng.random(3000) < 0.5
    second[known < 5] = 0
    places = _side_by_side(known, second, held, rng)
    assert held[places].all()
    assert len(set(places.tolist())) == places.size
    table = pd.crosstab(known[places], second[places])
    assert (table[0] == table[1]).all()
    whole = pd.crosstab(known[held], second[held])
    assert table.sum().sum() == 2 * whole.min(axis=1).sum()


def test_areas_and_few_numbers():
    rng = np.random.default_rng(3)
    own, other = np.round(rng.normal(1, 1, 300), 1), np.round(rng.normal(0, 1, 200), 1)
    area = roc_auc_score(np.repeat([1, 0], [300, 200]), np.concatenate([own, other]))
    assert _area(own, other) == pytest.approx(area, abs=1e-12)
    assert _area(own, other[:0]) == 0.5
    numbers = np.append(rng.normal(size=5000), [np.nan, np.inf])
    cells = _few(np.zeros(5002, dtype=int), numbers)
    assert set(cells) == set(range(64))
    assert (np.diff(cells[np.argsort(numbers[:5000])]) >= 0).all()
    labels = np.concatenate([np.arange(1000), np.arange(200)])
    folded = _few(labels, None)
    assert folded.max() == 255
    assert all(len(set(folded[labels == k])) == 1 for k in range(1000))
    assert len(set(folded[:200])) == 200


# --- In an audit ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    group = rng.integers(0, 2, 24_000)
    town = (group * (rng.random(24_000) < 0.6) + rng.integers(0, 3, 24_000)) % 4
    return pd.DataFrame(
        {
            "group": np.array(["a", "b"])[group],
            "town": np.array(["bath", "cork", "hull", "york"])[town],
            "street": town * 100 + rng.integers(0, 30, 24_000),
            "score": rng.normal(size=24_000),
        }
    )


def released_of(people, *, shuffle=False, **options):
    asked = {"secret": "group", "public": "town", "epsilon": 0.5, "mechanism": Channel(**options)}
    released = people.puffer.privatize(**asked, layout=Layout(shuffle=shuffle))
    return released, released.puffer.certificate


def checks_of(people, released, certificate, *, secret=None):
    """The checks of readers, by name."""
    rows = rows_of(people, released, certificate, secret=secret)
    return {each.name: each for each in readers(rows, alpha=1e-6, rng=np.random.default_rng(0))}


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_an_audit_finds_a_release_without_the_reader_cap_of_its_certificate(people):
    released, certificate = released_of(people, sees="secret")
    checks = checks_of(people, released, certificate)
    assert [(checks[name].result, checks[name].limit) for name in NAMES] == [("passed", 1), ("passed", 8)]
    assert "1 allowed" in checks[NAMES[0]].why
    assert "8 allowed, and at most 1 more than the true values would show him; AUC for" in checks[NAMES[1]].why
    others, own = released_of(people, sees="secret", reader_cap=None)
    report = puffer_frames.audit(people, others, certificate=replace(certificate, fingerprint=own.fingerprint))
    assert NAMES[0] in report.failures
    alone = released_of(people)[0]
    assert checks_of(people, alone, certificate)[NAMES[0]].found == 0  # it sees the value alone


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_without_caps_nothing_is_allowed_or_forbidden(people):
    checks = checks_of(people, *released_of(people, sees="secret", reader_cap=None, cap=None, radius=0))
    for name in NAMES:
        assert checks[name].result == "information"
        assert checks[name].found > 1
        assert "nothing bounds it" in checks[name].why
        assert math.isnan(checks[name].limit)


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_where_there_are_no_readers(people):
    """A channel that sees the value alone, another secret, rows in a random order, no other column."""
    assert checks_of(people, *released_of(people)) == {}
    assert checks_of(people, *released_of(people, sees="secret", reader_cap=0)) == {}
    released, certificate = released_of(people, sees="secret")
    assert checks_of(people, released, certificate, secret=["street"]) == {}
    checks = checks_of(people[["group", "town"]], released, certificate)
    assert [checks[name].result for name in NAMES] == ["passed", "not applicable"]
    checks = checks_of(people, *released_of(people, sees="secret", shuffle=True))
    assert {checks[name].result for name in NAMES} == {"not applicable"}


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_all_pairs_and_columns_share_the_level(people, monkeypatch):
    """Of the reader of the value, and of those of three other columns: two pairs of secrets of three."""
    frame = people.assign(third=people["group"].where(people.index % 3 > 0, "c"))
    released = frame.puffer.privatize(
        secret="third", public="town", pairs=[("a", "b"), ("b", "c")], epsilon=0.5, mechanism=Channel(sees="secret")
    )
    asked = []
    monkeypatch.setattr(
        "puffer_frames.verbs.auditing.readers._shown",
        lambda known, *_, alpha, rng: asked.append((known.name, alpha)) or shown_to(np.arange(9) % 2, NINE, NINE),
    )
    checks_of(frame, released, released.puffer.certificate)
    alphas = pd.DataFrame(asked, columns=["known", "alpha"]).groupby("known", sort=False)["alpha"]
    assert alphas.size().to_dict() == {"the value": 2, "group": 2, "street": 2, "score": 2}
    assert alphas.sum()["the value"] == pytest.approx(1e-6, rel=1e-12)
    assert alphas.sum().iloc[1:].sum() == pytest.approx(1e-6, rel=1e-12)


NINE = np.array([0, 1, 0, 0, 1, 1, 0, 1, 0])
