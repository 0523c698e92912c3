"""Resets of offsets, carried out and undone."""
