"""The engine's requests: typed actions and questions, rights, named limits."""
