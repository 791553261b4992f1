"""Whole tables: columns released one after another, each by a channel that sees the secret and what was released."""
