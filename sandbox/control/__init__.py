"""Requests to the engine: typed actions and questions, rights, named limits."""
