"""Noise on numbers, with what may follow it, and randomised response of labels beside them."""
