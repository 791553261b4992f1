"""Another table under a plan: what a check of a batch finds."""
