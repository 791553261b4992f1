"""The loss of Laplace noise under discrete priors."""
