"""Producers and consumers that run in this process: their settings, their work, what they have done."""
