"""Transports of commands: in memory and over TCP."""
