"""Every mechanism that applies, a row each."""
