"""Sums over users and counts of series."""
