"""The published conditions, by paper: pure functions from priors to a scale."""

from puffer_frames.papers.bernoulli import bernoulli_exact_scale, bernoulli_scale
from puffer_frames.papers.bounded import bounded_scales
from puffer_frames.papers.gaussian import (
    coupling_scale,
    gaussian_scale,
    mixture_scale,
    tau_star,
    tau_star_bound,
    translation_scale,
    ubm_scale,
)
from puffer_frames.papers.kantorovich import kantorovich_scale, relaxed_scale
from puffer_frames.papers.neighbours import neighbour_scale
from puffer_frames.papers.quilt.networks import network_quilt_scale
from puffer_frames.papers.quilt.scales import quilt_approx_scale, quilt_scale
from puffer_frames.papers.users import (
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    gaussian_presence_scale,
    presence_bound_scale,
    presence_scale,
    sum_of_users,
    value_scale,
)

__all__ = [
    "bernoulli_exact_scale",
    "bernoulli_neighbour_scale",
    "bernoulli_presence_scale",
    "bernoulli_scale",
    "bounded_scales",
    "coupling_scale",
    "gaussian_presence_scale",
    "gaussian_scale",
    "kantorovich_scale",
    "mixture_scale",
    "neighbour_scale",
    "network_quilt_scale",
    "presence_bound_scale",
    "presence_scale",
    "quilt_approx_scale",
    "quilt_scale",
    "relaxed_scale",
    "sum_of_users",
    "tau_star",
    "tau_star_bound",
    "translation_scale",
    "ubm_scale",
    "value_scale",
]
