"""Scales of several columns that are released together."""
