"""Producers and consumers that run in this process: settings, listeners, statistics."""
