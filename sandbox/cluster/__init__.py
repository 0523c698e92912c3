"""One running cluster: its servers, actors and environment, and the record that outlives its process."""
