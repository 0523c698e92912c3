"""Sandboxes of a simulated class, made by the engine in virtual time: test data for jobs over many students."""
