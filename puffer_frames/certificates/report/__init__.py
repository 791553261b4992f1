"""A certificate as a page to read, to print and to sign."""
