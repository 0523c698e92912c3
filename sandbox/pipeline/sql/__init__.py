"""Queries of users: checked before they run, the tables they may name, and the filters that reach the source."""
