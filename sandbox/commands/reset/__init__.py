"""Execution and undo of offset resets."""
