"""Numbers and words that everything rests on: outward rounding, checks of arguments, powers, how results are shown."""
