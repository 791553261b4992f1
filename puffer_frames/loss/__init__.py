"""Exact privacy loss, as proved brackets."""
