"""What must hold of every scale, whatever the priors."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from puffer_frames.core import Prior, pure_loss, smallest_scale, w_infinity
from puffer_frames.papers import kantorovich_scale
from puffer_frames.scales.search import RELATIVE_TOLERANCE

CLOSE = 4 * RELATIVE_TOLERANCE

atoms = st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 9)), min_size=1, max_size=6)
priors = st.builds(lambda pairs: Prior.empirical(*zip(*pairs, strict=True)), atoms)
epsilons = st.floats(0.05, 3)
deltas = st.sampled_from([0.0, 1e-6, 1e-3, 0.05])


@settings(max_examples=25)
@given(priors, priors, epsilons, deltas)
def test_at_most_the_published_scale_and_monotone(p, q, epsilon, delta):
    pair = {0: p, 1: q}
    scale = smallest_scale(pair, epsilon=epsilon, delta=delta)
    assert scale <= kantorovich_scale(pair, epsilon=epsilon) * (1 + CLOSE)
    assert smallest_scale(pair, epsilon=2 * epsilon, delta=delta) <= scale * (1 + CLOSE)
    assert smallest_scale(pair, epsilon=epsilon, delta=2 * delta) <= scale * (1 + CLOSE)


@settings(max_examples=25)
@given(priors, priors, epsilons, deltas, st.integers(-1000, 1000), st.sampled_from([2.0**-10, 0.5, 1024.0]))
def test_shift_invariant_and_unit_equivariant(p, q, epsilon, delta, shift, unit):
    def moved(prior):
        return Prior.empirical(prior.means * unit + shift, prior.levels[0])

    scale = smallest_scale({0: p, 1: q}, epsilon=epsilon, delta=delta)
    again = smallest_scale({0: moved(p), 1: moved(q)}, epsilon=epsilon, delta=delta)
    assert again == pytest.approx(scale * unit, rel=CLOSE)


@settings(max_examples=20)
@given(priors, priors, priors, epsilons, deltas)
def test_order_of_secrets_and_pairs_does_not_matter(p, q, r, epsilon, delta):
    one = smallest_scale({0: p, 1: q, 2: r}, epsilon=epsilon, delta=delta)
    pairs = [(2, 1), (0, 2), (1, 0), (0, 1)]
    other = smallest_scale({2: r, 1: q, 0: p}, epsilon=epsilon, delta=delta, pairs=pairs)
    assert other == pytest.approx(one, rel=CLOSE)


@settings(max_examples=60)
@given(priors, priors, st.floats(0.01, 100))
def test_loss_never_grows_with_the_scale(p, q, scale):
    assume(p != q)
    assert pure_loss(p, q, scale=scale * 1.5).lower <= pure_loss(p, q, scale=scale).upper


@settings(max_examples=100)
@given(priors, priors, epsilons)
def test_published_scale_is_rounded_outward(p, q, epsilon):
    scale = kantorovich_scale({0: p, 1: q}, epsilon=epsilon)
    assert Fraction(scale) * Fraction(epsilon) >= Fraction(w_infinity(p, q))


@pytest.mark.parametrize("epsilon", [0.01, 50.0, 1530.0, 1e5])
def test_a_shift_by_one_needs_one_over_epsilon(epsilon):
    scale = smallest_scale({0: Prior.empirical([0.0]), 1: Prior.empirical([1.0])}, epsilon=epsilon)
    assert scale == pytest.approx(1 / epsilon, rel=1e-7)
