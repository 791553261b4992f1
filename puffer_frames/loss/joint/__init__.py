"""Exact loss of several columns released together, with independent Laplace noise on each."""
