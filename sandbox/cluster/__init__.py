"""One running cluster: its servers and actors, their environment, and the record kept after the process ends."""
