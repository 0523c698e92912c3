"""Attached clusters: their rows, figures and resets."""
