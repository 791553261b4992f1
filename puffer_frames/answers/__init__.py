"""Answers about all rows: what a unit or a value in a series may hide behind, and the noisy numbers."""
