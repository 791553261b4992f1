"""The public statement that goes with a release: its record, its sentences, its text and its signature."""
