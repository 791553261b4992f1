"""Channels: the random table of levels with the least expected error under a guarantee."""
