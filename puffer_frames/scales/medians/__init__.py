"""Posterior medians: which value of a column has the least expected error, given a noisy one."""
