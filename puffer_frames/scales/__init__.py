"""From priors to a confirmed scale, for every verb."""
