"""Queries of users: their check, the tables they may name, and the filters that reach the source."""
