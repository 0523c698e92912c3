"""Kept and shared parts of a run: share links, recipes, recordings, branches, the past."""
