"""Attached clusters: their settings, metrics and resets."""
