"""Published and verified numbers of the Markov Quilt Mechanism: docs/theory.md, section 10; [SWC17]."""

import numpy as np
import pandas as pd
import pytest
from conftest import few

from puffer_frames import MarkovChain, Stable, binary_class
from puffer_frames.core import Prior, w_infinity
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers import quilt_approx_scale, quilt_scale
from puffer_frames.papers.quilt.influence import pair_influence, stationary_influence
from puffer_frames.scales.search import smallest_scale_of

EPSILONS = (0.2, 1, 5)
EXACT = {
    (0.5, 0.5): (5, 1, 0.2),
    (0.7, 0.7): (56.590047, 6.723597, 0.302535),
    (0.9, 0.9): (251.371098, 31.737789, 1.524929),
    (0.9, 0.6): (93.072994, 12.839964, 0.705975),
    (0.99, 0.9): (500, 98.596333, 11.105898),
}
TWICE = {
    (0.5, 0.5): (64.609071, 8.973048, 0.899691),
    (0.7, 0.7): (111.040508, 15.572372, 1.676384),
    (0.9, 0.9): (343.191323, 49.220197, 5.551656),
    (0.9, 0.6): (155.258422, 23.505955, 3.090518),
    (0.99, 0.9): (500, 100, 18.579586),
}


def matrix(p0, p1):
    return [[p0, 1 - p0], [1 - p1, p1]]


def rows(reference):
    return [(stay, epsilon, sigma) for stay, sigmas in reference.items() for epsilon, sigma in zip(EPSILONS, sigmas)]


@pytest.mark.parametrize(("stay", "epsilon", "sigma"), rows(EXACT))
def test_exact(stay, epsilon, sigma):
    chain = MarkovChain.of(matrix(*stay))
    assert quilt_scale(chain, length=100, epsilon=epsilon) == pytest.approx(sigma, abs=5e-7)


@pytest.mark.parametrize(("stay", "epsilon", "sigma"), rows(TWICE))
def test_approx_of_any_start(stay, epsilon, sigma):
    chain = MarkovChain.of(matrix(*stay), initial=[0.5, 0.5])
    assert quilt_approx_scale(chain, length=100, epsilon=epsilon, rule="published") == pytest.approx(sigma, abs=5e-7)


def test_longer_series():
    start = MarkovChain.of(matrix(0.99, 0.9), initial=[0.5, 0.5])
    found = [quilt_approx_scale(start, length=1000, epsilon=e, rule="published") for e in (0.2, 1)]
    assert found == pytest.approx([806.161127, 127.751196], abs=5e-7)
    assert quilt_scale(MarkovChain.of(matrix(0.9, 0.9)), length=1000, epsilon=1) == pytest.approx(31.737789, abs=5e-7)


def test_the_tight_rule_lies_between():
    for stay in EXACT:
        chain = MarkovChain.of(matrix(*stay))
        for epsilon in EPSILONS:
            exact = quilt_scale(chain, length=1000, epsilon=epsilon)
            tight = quilt_approx_scale(chain, length=1000, epsilon=epsilon)
            published = quilt_approx_scale(chain, length=1000, epsilon=epsilon, rule="published")
            assert exact <= tight * (1 + 1e-9)
            assert tight <= published


def test_the_reversible_rule_is_no_bound_for_other_chains():
    """The rule's own number for this chain, where the influence is infinite, is in test_theory_page.py."""
    chain = MarkovChain.of([[0, 1, 0], [0.46, 0, 0.54], [0.54, 0, 0.46]])
    assert not chain.is_reversible
    for rule in ("tight", "published"):
        for epsilon in (0.5, 2.0, 8.0):
            approx = quilt_approx_scale(chain, length=40, epsilon=epsilon, rule=rule)
            assert approx >= quilt_scale(chain, length=40, epsilon=epsilon) * (1 - 1e-12)


def test_both_sides_are_taken_for_the_same_pair():
    """max (U + D) over one pair is less than max U + max D for an asymmetric chain."""
    chain = MarkovChain.of([[0.2, 0.8, 0.0], [0.1, 0.1, 0.8], [0.7, 0.1, 0.2]])
    table = stationary_influence(chain, np.array([4]))
    together, _ = pair_influence(table, 0, 0)
    assert together < table.left.max() + table.right.max()


def test_exact_count():
    """p0 = p1 = .9, T = 100, epsilon = 1: exact 8.640 against 31.738; W-infinity 10."""
    loss = count_loss([MarkovChain.of(matrix(0.9, 0.9))], [False, True], length=100)
    assert smallest_scale_of(loss, Target(epsilon=1.0, delta=0.0)) == pytest.approx(8.640, abs=5e-4)
    laws = loss._weights(slice(None))
    middle = [Prior.mixture(laws[2 * 50 + s] / laws[2 * 50 + s].sum(), np.arange(101.0), np.zeros(101)) for s in (0, 1)]
    assert w_infinity(*middle) == 10


@pytest.mark.parametrize("low", [0.1, 0.3, 0.45])
def test_the_binary_class_is_stood_for_by_its_corners(low):
    corners = quilt_scale(binary_class(low), length=60, epsilon=1.0)
    rng = np.random.default_rng(5)
    inside = rng.uniform(low, 1 - low, size=(40, 2))
    others = [quilt_scale(MarkovChain.of(matrix(*stay)), length=60, epsilon=1.0) for stay in inside]
    assert max(others) <= corners
    both = [quilt_scale(chain, length=60, epsilon=1.0) for chain in binary_class(low)]
    assert both[0] == pytest.approx(both[1], rel=1e-9)


@few(15)
@pytest.mark.parametrize("initial", ["stationary", "any", [0.5, 0.5]])
@pytest.mark.parametrize(("stay", "epsilon", "sigma"), rows(TWICE))
def test_a_certificate_quotes_the_scale_as_printed(stay, epsilon, sigma, initial):
    """Of MQMApprox 2r(a) + r(b) for every start, beside the scale in use, which is smaller."""
    chain, frame = matrix(*stay), pd.DataFrame({"t": range(100), "s": list("ab") * 50})
    asked = {"state": "s", "time": "t", "epsilon": epsilon, "chain": chain, "initial": initial}
    released = frame.puffer.histogram(**asked, mechanism="quilt-approx")
    certificate = released.puffer.certificate
    assert certificate.published_scales["count"] == pytest.approx(sigma, abs=5e-7)
    tight = quilt_approx_scale(MarkovChain.of(chain, initial=initial), length=100, epsilon=epsilon)
    assert certificate.scales["count"] == pytest.approx(tight, rel=1e-9)
    assert type(certificate).from_dict(certificate.to_dict()) == certificate


def test_published_scales_of_the_other_mechanisms():
    """The Lipschitz constant of three counts is 2, of one it is 1; the exact loss and other noise have none."""
    frame = pd.DataFrame({"t": range(100), "s": list("abca") * 25})
    chain = 0.6 * np.eye(3) + 0.4 / 3
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": chain}

    def published(**options):
        return frame.puffer.histogram(**asked, **options).puffer.certificate.published_scales["count"]

    exact = quilt_scale(MarkovChain.of(chain), length=100, epsilon=1.0)
    assert published(mechanism="quilt") == pytest.approx(2 * exact, rel=1e-12)
    assert published(mechanism="quilt", bins=["a"]) == pytest.approx(exact, rel=1e-12)
    assert published() is published(mechanism="transport") is None
    assert published(mechanism="group") == 200
    assert published(mechanism="group", bins=["c"]) == 100
    approx = quilt_approx_scale(MarkovChain.of(chain, initial="any"), length=100, epsilon=1.0, rule="published")
    assert published(mechanism="quilt-approx") == pytest.approx(2 * approx, rel=1e-12)
    assert published(mechanism="exact", bins=["a"]) is None
    assert published(noise="gaussian", delta=1e-6) is None
    assert published(noise=Stable(alpha=1.5)) is None
