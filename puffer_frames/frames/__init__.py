"""The only modules that know dataframe libraries."""
