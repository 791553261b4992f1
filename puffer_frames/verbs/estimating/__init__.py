"""Statistics of the values behind a release, from its noisy values and the law of the noise."""
