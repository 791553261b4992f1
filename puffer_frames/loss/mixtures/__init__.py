"""The loss of Laplace noise under mixtures of Gaussians."""
