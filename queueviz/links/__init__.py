"""Stored and shared parts of a run: share links, reproducible links, recordings, branches, the past."""
