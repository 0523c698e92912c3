"""Files of a store as NumPy columns: consume queue units, log records, their topics, properties and keys."""
