"""The loss of other noise: Gaussian and stable."""
