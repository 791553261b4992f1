"""Lazy Polars frames: plans that are counted, released, collected and written."""
