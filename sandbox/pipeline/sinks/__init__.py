"""Spark sinks: a topic of a running broker."""
