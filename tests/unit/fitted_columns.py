"""Columns to fit laws to, and scikit-learn's fit of them."""

import numpy as np
from sklearn.mixture import GaussianMixture

from puffer_frames.priors import fitting

N = 3000


def columns():
    rng = np.random.default_rng(7)
    return {
        "separated": np.r_[rng.normal(0, 1, N // 2), rng.normal(8, 1, N // 4), rng.normal(20, 3, N // 4)],
        "overlapping": np.r_[rng.normal(0, 1, N // 2), rng.normal(1.5, 1, N // 2)],
        "normal": rng.normal(50, 5, N),
        "skewed": rng.exponential(3, N),
        "log-normal": np.exp(rng.normal(0, 1, N)),
        "heavy tails": rng.standard_t(3, N),
        "integers": np.round(rng.gamma(4, 10, N)),
        "two decimals": np.round(rng.normal(0, 1, N), 2),
        "narrow part": np.r_[np.round(rng.normal(0, 1, N), 1), rng.normal(3, 0.05, N // 10)],
    }


COLUMNS = columns()


def counted(column):
    return np.unique(column, return_counts=True)


def scikit_learn(column, *, components, seed=0, grouped=True):
    """GaussianMixture on the rows themselves, from the start that fit_mixture takes."""
    sample = fitting._sample(*counted(column))
    points = fitting._compressed(sample.scores, sample.shares) if grouped else (sample.scores, sample.shares)
    weights, means, stds = fitting._start(*points, components=components, seed=seed)
    model = GaussianMixture(
        components,
        tol=1e-7,
        max_iter=10_000,
        reg_covar=1e-9,
        weights_init=weights / weights.sum(),
        means_init=(sample.mean + sample.std * means)[:, None],
        precisions_init=((sample.std * stds) ** -2.0)[:, None, None],
        init_params="random_from_data",
        random_state=0,
    ).fit(column[:, None])
    order = np.argsort(model.means_[:, 0])
    return model, model.weights_[order], model.means_[order, 0], np.sqrt(model.covariances_[order, 0, 0])
