"""Commands over nothing at all (and, later, over TCP)."""
