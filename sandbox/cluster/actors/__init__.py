"""Actors: in-process producers and consumers, with their settings, listeners and statistics."""
