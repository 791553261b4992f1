"""Laws of the public values: priors, pairs, chains, fits, and the plain records that frames hand over."""
