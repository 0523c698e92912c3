"""Spark sources: a store directory, a journal, a running cluster."""
