"""Exact loss of several rows of a unit that are independent given its secret."""
