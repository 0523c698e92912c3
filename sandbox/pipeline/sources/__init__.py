"""Spark sources: a store directory, a journal."""
