"""One running cluster: its servers and actors, what they stand on, and the record of what outlives the process."""
