"""The published conditions: pure functions from priors to a scale."""
