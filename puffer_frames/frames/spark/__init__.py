"""Spark frames."""
