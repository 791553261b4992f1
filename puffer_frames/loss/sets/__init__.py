"""Loss of sets of laws: the worst of every law that a belief allows."""
