"""scikit-learn's own checks of an estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from puffer_frames import PufferTransformer

OPTIONS = {"secret": "x0", "public": "x1", "epsilon": 0.01, "allow_drift": True}
EXPECTED = {
    "check_estimators_nan_inf": "the error is the package's: it speaks of nulls and infinities, and names the column"
}
SEEDED = {
    "check_estimators_pickle": "a seed does not travel, so a pickle draws other noise; without a seed the key travels",
    "check_methods_sample_order_invariance": "the noise of a row follows its place, not its values",
    "check_methods_subset_invariance": "the noise of a row follows its place in its batch",
}
FRESH = {"check_fit_idempotent": "a batch of few different rows is refused the second time: they may be other records"}
pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")


@parametrize_with_checks(
    [PufferTransformer(**OPTIONS, rng=0)], expected_failed_checks=lambda transformer: EXPECTED | SEEDED
)
def test_checks_of_scikit_learn_with_a_seed(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([PufferTransformer(**OPTIONS)], expected_failed_checks=lambda transformer: EXPECTED | FRESH)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
