"""A certificate in the forms of public registries."""
