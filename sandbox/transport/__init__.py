"""Transports of remoting commands: in memory and over TCP."""
