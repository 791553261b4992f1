"""The Markov quilt conditions."""
