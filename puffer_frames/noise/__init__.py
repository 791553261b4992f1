"""Noise families, their keyed samplers, and what a release does to the values of a column."""
