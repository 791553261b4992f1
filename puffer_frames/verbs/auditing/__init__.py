"""The tests of a release with the original at hand: statistics on arrays, of which no frame is known."""
