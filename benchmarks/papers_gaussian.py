"""[D24]: conditions for Gaussian priors, sums of Gaussians, and mixtures of Gaussians."""

import math
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from papers_rows import NOT_SOUND, Row, Section

from puffer_frames import Gaussian, Noise, UnsoundTheoremWarning
from puffer_frames.core import Prior, fit_mixture, pure_loss, smallest_scale
from puffer_frames.papers import (
    gaussian_presence_scale,
    gaussian_scale,
    mixture_scale,
    tau_star,
    tau_star_bound,
    translation_scale,
    ubm_scale,
)


def gaussians(mean_i: float, std_i: float, mean_j: float, std_j: float) -> dict[str, Prior]:
    """Two Gaussian priors."""
    return {"i": Prior.gaussian(mean_i, std_i), "j": Prior.gaussian(mean_j, std_j)}


def shifts() -> Iterator[Row]:
    """Remark 1: priors that are shifts of one another, a user's value in a sum of Gaussians too."""
    shift = gaussians(0, 1, 1, 1)
    call = "translation_scale(priors, epsilon=0.5)"
    published, ours = translation_scale(shift, epsilon=0.5), smallest_scale(shift, epsilon=0.5)
    yield Row("[D24] Remark 1", "N(0, 1), N(1, 1); ε = .5, δ = 0", published, ours, call)
    others = 4 * 9
    sums = gaussians(5 + 4, math.sqrt(others), 3 + 4, math.sqrt(others))
    published, ours = translation_scale(sums, epsilon=1), smallest_scale(sums, epsilon=1)
    setting = "one user reports 5 or 3, four others N(1, 9) each; ε = 1, δ = 0"
    call, remark = (
        "translation_scale(sums, epsilon=1)",
        'asked of a table: `aggregate(protect="value", pairs=[(5, 3)])`',
    )
    yield Row("[D24] Corollary 1(b), by Remark 1", setting, published, ours, call, remark, printed="2/ε")


def conditions() -> Iterator[Row]:
    """Theorem 1, its quantile, and the two conditions for mixtures."""
    for delta in (0.3, 1e-3, 1e-5):
        published, ours = tau_star_bound(delta), tau_star(delta)
        yield Row("[D24] (20) by (22), (23)", f"τ*(δ), δ = {delta:g}", published, ours, f"tau_star_bound({delta:g})")
    education, chol = (9.486236, 2.297525, 10.960539, 2.810228), (247.675676, 61.774242, 252.040609, 69.535430)
    for title, law, epsilon, delta in [
        ("N(0, 1), N(1, 2²)", (0, 1, 1, 2), 0.5, 1e-5),
        ("N(0, 1), N(0, 2²)", (0, 1, 0, 2), 0.5, 1e-5),
        ("N(0, 10²), N(1, 10.5²)", (0, 10, 1, 10.5), 1, 1e-5),
        ("education-num, Black and Asian-Pac-Islander", education, 1, 1e-3),
        ("chol, female and male", chol, 1, 1e-3),
        ("chol, female and male", chol, 1, 1e-5),
    ]:
        priors = gaussians(*law)
        published = gaussian_scale(priors, epsilon=epsilon, delta=delta)
        ours = smallest_scale(priors, epsilon=epsilon, delta=delta)
        call = f"gaussian_scale(priors, epsilon={epsilon}, delta={delta})"
        yield Row("[D24] Theorem 1", f"{title}; ε = {epsilon}, δ = {delta:g}", published, ours, call)
    far = {"i": Prior.mixture([0.5, 0.5], [0, 100], [1, 1]), "j": Prior.mixture([0.5, 0.5], [0, 200], [1, 1])}
    setting = "½N(0, 1) + ½N(100, 1), ½N(0, 1) + ½N(200, 1); ε = 1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundTheoremWarning)
        mixed, shared = mixture_scale(far, epsilon=1, delta=0.1), ubm_scale(far, epsilon=1)
    loss = pure_loss(far["i"], far["j"], scale=50).upper
    ours, remark = smallest_scale(far, epsilon=1, delta=0.1), NOT_SOUND + "δ is .184 at its scale"
    yield Row(
        "[D24] Theorem 2", f"{setting}, δ = .1", mixed, ours, "mixture_scale(priors, epsilon=1, delta=0.1)", remark
    )
    remark = NOT_SOUND + f"the loss is {loss:.3f} at its scale"
    call = "ubm_scale(priors, epsilon=1)"
    yield Row("[D24] Corollary 2", f"{setting}, δ = 0", shared, smallest_scale(far, epsilon=1), call, remark)


def sums_of_gaussians() -> Iterator[Row]:
    """Corollary 1(a), (7) to (11): whether one user is in a sum of Gaussians."""
    alike = [(k, v, 0.3) for k, v in ((1, 9), (4, 9), (5, 1), (5, 9), (5, 25), (40, 25))]
    for users, variance, delta in [*alike, (5, 9, 1e-5)]:
        laws = {k: Prior.gaussian(1, math.sqrt(variance)) for k in range(users)}
        published, ours = gaussian_presence_scale(laws, epsilon=1, delta=delta), _presence(laws, delta=delta)
        setting = f"{users} of N(1, {variance}), one of them present or not; ε = 1, δ = {delta:g}"
        call = f"gaussian_presence_scale(laws, epsilon=1, delta={delta:g})"
        remark = "the sum needs no noise at this δ" if not ours else "spends the randomness of the other users"
        where = "[D24] (11), Figure 2" if delta == 0.3 else "[D24] (11)"
        yield Row(where, setting, published, ours, call, remark)
    laws = {k: Prior.gaussian(mean, std) for k, (mean, std) in enumerate(((1, 1), (2, 2), (3, 3)))}
    published, ours = gaussian_presence_scale(laws, epsilon=1, delta=1e-5), _presence(laws, delta=1e-5)
    setting = "N(1, 1), N(2, 2²), N(3, 3²), one of them present or not; ε = 1, δ = 1e-05"
    call = "gaussian_presence_scale(laws, epsilon=1, delta=1e-05)"
    yield Row("[D24] Corollary 1(a), (7) to (10)", setting, published, ours, call)


def _presence(laws: dict[int, Prior], *, delta: float) -> float:
    """Smallest scale under the same belief: the sum of all against that of all but one, whichever."""

    def total(left_out: int | None) -> Prior:
        summed = [law for k, law in laws.items() if k != left_out]
        mean = sum(float(law.means[0]) for law in summed)
        return Prior.gaussian(mean, math.sqrt(sum(float(law.stds[0]) ** 2 for law in summed)))

    pairs = ({"present": total(None), "absent": total(k)} for k in laws)
    return max(smallest_scale(pair, epsilon=1, delta=delta) for pair in pairs)


def gaussian_noise() -> Iterator[Row]:
    """Gaussian noise in place of Laplace noise."""
    shift = {"i": Prior.empirical([0.0]), "j": Prior.empirical([1.0])}
    classic = math.sqrt(2 * math.log(1.25 / 1e-5))
    ours = smallest_scale(shift, epsilon=1, delta=1e-5, noise=Gaussian())
    call = "smallest_scale(priors, epsilon=1, delta=1e-05, noise=Gaussian())"
    remark = "standard deviations: √(2 log(1.25/δ))/ε beside the analytic one"
    yield Row("[BW18]", "a shift of 1; ε = 1, δ = 1e-05", classic, ours, call, remark)
    ours = smallest_scale(gaussians(0, 1, 1, 2), epsilon=1, delta=1e-5, noise=Gaussian())
    remark = "standard deviation of Gaussian noise"
    yield Row("[D24] VI-B (16)", "N(0, 1), N(1, 2²); ε = 1, δ = 1e-05", None, ours, call, remark)


def mixtures(folder: Path) -> Iterator[Row]:
    """Figures 3 and 4: three Gaussians per secret, fitted to the real tables."""
    adult = pd.read_csv(folder / "adult.data", header=None, skipinitialspace=True)
    heart = pd.read_csv(folder / "processed.hungarian.data", header=None, na_values="?")[[1, 4]].dropna()
    races, sexes = ("Black", "Asian-Pac-Islander"), (0, 1)
    cases = {
        "[D24] Figure 3": ("education-num by race", adult[4], adult[8], races),
        "[D24] Figure 4": ("chol by sex", heart[4], heart[1], sexes),
    }
    for where, (title, public, secret, pair) in cases.items():
        laws = {s: fit_mixture(*np.unique(public[secret == s], return_counts=True), components=3) for s in pair}
        rows = pd.DataFrame({"secret": secret, "value": public})[secret.isin(pair)]
        for delta in (0.5, 0.3, 1e-5):
            mechanism = Noise(theorem="gmm", components=3, calibration="theorem")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the theorem, and of such a delta
                plan = rows.puffer.calibrate(
                    secret="secret", public="value", epsilon=1, delta=delta, mechanism=mechanism
                )
            published, ours = plan.scales["value"], smallest_scale(laws, epsilon=1, delta=delta)
            made = 'Noise(theorem="gmm", components=3, calibration="theorem")'
            call = f"rows.puffer.calibrate(secret=…, public=…, epsilon=1, delta={delta}, mechanism={made})"
            remark = "the fitted law needs no noise at this δ" if ours == 0 else "fitted by three Gaussians"
            yield Row(where, f"{title}; ε = 1, δ = {delta:g}", published, ours, call, remark)


GAUSSIAN = Section(
    title="Gaussian priors: [D24]",
    text="A figure of this paper is a curve; its rows are points of it. A δ of .3 or .5 protects nothing.",
    parts=(shifts, conditions, sums_of_gaussians, gaussian_noise),
    real=(mixtures,),
)
