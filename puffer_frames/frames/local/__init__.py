"""Frames in memory."""
