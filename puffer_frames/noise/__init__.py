"""Noise families."""
