"""Resets of offsets: execute and undo."""
