"""[ZA]: symmetric alpha-stable noise."""

import math
from collections.abc import Iterator

from papers_rows import Row, Section, small_table
from scipy.integrate import quad

from puffer_frames import Laplace, Stable
from puffer_frames.core import Prior, smallest_scale

POINT = {"i": Prior.empirical([0.0]), "j": Prior.empirical([1.0])}
ALPHAS = (1.0, 1.2, 1.5, 1.8, 1.95)
EPSILONS = (0.1, 0.5, 1, 2)


def scales() -> Iterator[Row]:
    """The scale for a sensitivity, which serves any law within it."""
    for alpha in (1.0, 1.5, 1.95):
        law = {"i": Prior.bernoulli(0.2), "j": Prior.bernoulli(0.9)}
        noise = Stable(alpha=alpha)
        published = smallest_scale(POINT, epsilon=1, noise=noise)
        ours = smallest_scale(law, epsilon=1, noise=noise)
        setting = f"α = {alpha}, a shift of 1, which serves P(1) = .2 or .9 too; ε = 1"
        call = f"smallest_scale(shift, epsilon=1, noise=Stable(alpha={alpha}))"
        yield Row("[ZA] scale for a sensitivity", setting, published, ours, call, "scale γ")


def closed_form() -> Iterator[Row]:
    """Cauchy noise."""
    for epsilon in EPSILONS:
        published = 1 / (2 * math.sinh(epsilon / 2))
        ours = smallest_scale(POINT, epsilon=epsilon, noise=Stable(alpha=1.0))
        call = f"smallest_scale(shift, epsilon={epsilon}, noise=Stable(alpha=1.0))"
        setting = f"α = 1, a shift of 1, 1/(2 sinh(ε/2)); ε = {epsilon}"
        yield Row("[ZA] Cauchy noise", setting, published, ours, call, "the call gives the second number")


def sums_and_errors() -> Iterator[Row]:
    """Closure under sums, and the mean absolute error."""
    for clients, alpha in ((8, 1.5), (100, 1.7), (100, 1.0)):
        each = Stable(scale=1.0, alpha=alpha).share(clients)
        summed = (clients * each.scale**alpha) ** (1 / alpha)
        call = f"Stable(scale=1.0, alpha={alpha}).share({clients})"
        setting = f"{clients} clients, α = {alpha}: scale of each, times {clients}^(1/α), beside that of the sum, 1"
        yield Row("[ZA] closure under sums", setting, summed, 1.0, call)
    for alpha in (1.2, 1.5, 1.7, 1.95):
        noise = Stable(scale=1.0, alpha=alpha)
        near, _ = quad(lambda z, noise=noise: 2 * float(noise.survival(z)), 0, 1, limit=200)
        far, _ = quad(lambda t, noise=noise: 2 * float(noise.survival(math.exp(t))) * math.exp(t), 0, 250, limit=2000)
        call = f"Stable(scale=1.0, alpha={alpha}).expected_absolute_error"
        setting = f"E abs(N), α = {alpha}, (2γ/π) Γ(1 − 1/α) beside an integral; γ = 1"
        yield Row("[ZA] mean absolute error", setting, noise.expected_absolute_error, near + far, call)
    for alpha in (1.2, 1.7, 1.95):
        found = smallest_scale(POINT, epsilon=1, noise=Stable(alpha=alpha))
        published = Stable(scale=found, alpha=alpha).expected_absolute_error
        ours = Laplace(scale=smallest_scale(POINT, epsilon=1)).expected_absolute_error
        setting = f"E abs(N) of a shift of 1, α = {alpha}, beside Laplace noise; ε = 1"
        call = f"Stable(scale=c, alpha={alpha}).expected_absolute_error"
        yield Row("[ZA] error at one ε", setting, published, ours, call)


def constants() -> str:
    """c(epsilon, alpha): the scale for a shift of 1."""
    rows = [
        [alpha, *(smallest_scale(POINT, epsilon=e, noise=Stable(alpha=alpha)) for e in EPSILONS)] for alpha in ALPHAS
    ]
    heads = ["α", *(f"ε = {epsilon}" for epsilon in EPSILONS)]
    title = "The scale c(ε, α) for a shift of 1**: `smallest_scale(shift, epsilon=ε, noise=Stable(alpha=α))`"
    return f"\n**{title}\n\n{small_table(heads, rows)}"


STABLE = Section(
    title="Stable noise: [ZA]",
    text="`shift` is an atom at 0 and an atom at 1. Scales are γ.",
    parts=(scales, closed_form, sums_and_errors),
    extra=constants,
)
